/* See layout.h. Called by root.c and by the step layout. Makes no file system: lib/disk does. */
#include "agent/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/record_file.h"
#include "base/spawn.h"

/* what is open now: it must be closed before a disk of it is written */
#define OPENED_DIR "/run/phoenix"
#define OPENED OPENED_DIR "/" LAYOUT_FILE

enum { LAYOUT_FILE_MAX = 1 << 18, MOUNT_MS = 300 * 1000 };

/* ---- places below a root ---- */

static int enter(int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && mkdirat(dir, name, 0755) == 0)
		fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Makes the directory and those above it. A link of an owner would lead out of his root. */
static int make_place(const char *root, const char *mount, struct phx_err *err)
{
	char path[256], *save = NULL;
	PHX_AUTO_CLOSE int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = dir < 0 ? -errno : 0;
	PHX_STR_SET(path, mount);
	for (char *name = strtok_r(path, "/", &save); r == 0 && name;
	     name = strtok_r(NULL, "/", &save)) {
		int next = enter(dir, name);
		r = next < 0 ? next : 0;
		if (r == 0) {
			close(dir);
			dir = next;
		}
	}
	return r < 0 ? phx_err_set(err, r, "%s%s: %s", root, mount,
				   r == -ENOTDIR || r == -ELOOP ? "must be a directory, not a link"
								: strerror(-r))
		     : 0;
}

static bool is_mounted(const char *dir)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	bool found = false;
	for (const struct mntent *m; !found && f && (m = getmntent(f));)
		found = !strcmp(m->mnt_dir, dir);
	if (f)
		endmntent(f);
	return found;
}

static int is_device(void *device, const char *path)
{
	const struct stat *wanted = device;
	struct stat st;
	return stat(path, &st) == 0 && st.st_rdev == wanted->st_rdev;
}

static bool is_swap(const char *device)
{
	struct stat st;
	return stat(device, &st) == 0 && phx_swaps_each(is_device, &st) == 1;
}

/* ---- mounting ---- */

static int swap_on(const char *device, struct phx_err *err)
{
	if (is_swap(device) || swapon(device, 0) == 0)
		return 0;
	return phx_err_set(err, -errno, "%s: no swap: %s", device, strerror(errno));
}

static int run_mount(const struct phx_layout_volume *v, const char *device, const char *dir,
		     struct phx_err *err)
{
	const char *const argv[] = {"mount",
				    "-t",
				    phx_enum_name(&phx_layout_type_names, v->type),
				    "-o",
				    v->options[0] ? v->options : "rw",
				    device,
				    dir,
				    NULL};
	return phx_run_check(&(struct phx_run){.argv = argv, .timeout_ms = MOUNT_MS}, NULL, err);
}

static int mount_one(const struct phx_layout_volume *v, const char *device, const char *root,
		     bool fresh, struct phx_err *err)
{
	if (v->type == PHX_LAYOUT_SWAP)
		return swap_on(device, err);
	PHX_AUTO_FREE char *dir = phx_path("%s%s", root, v->mount);
	int r = dir ? make_place(root, v->mount, err) : -ENOMEM;
	if (r < 0 || is_mounted(dir))
		return r;
	r = run_mount(v, device, dir, err);
	if (r == 0 && fresh && v->scratch && chmod(dir, 01777) < 0)
		r = phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	return r;
}

static int by_mount(const void *a, const void *b)
{
	const struct phx_layout_volume *const *x = a, *const *y = b;
	return strcmp((*x)->mount, (*y)->mount);
}

/* The volumes so that each comes behind the one that its place is on. */
static const struct phx_layout_volume **in_order(const struct phx_layout *l)
{
	const struct phx_layout_volume **all = calloc(l->volumes.n + 1, sizeof(*all));
	for (uint32_t i = 0; all && i < l->volumes.n; i++)
		all[i] = PHX_LIST_AT(&l->volumes, struct phx_layout_volume, i);
	if (all && l->volumes.n)
		qsort(all, l->volumes.n, sizeof(const struct phx_layout_volume *), by_mount);
	return all;
}

static int mount_all(const struct phx_layout *l, char (*devices)[PHX_VOLUME_DEVICE_MAX],
		     const char *root, bool fresh, struct phx_err *err)
{
	const struct phx_layout_volume **all = in_order(l), *first = l->volumes.items;
	int r = all ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < l->volumes.n; i++) {
		r = mount_one(all[i], devices[all[i] - first], root, fresh, err);
		if (r < 0)
			phx_err_prefix(err, r, "layout: volume '%s'", all[i]->name);
	}
	free(all);
	return r;
}

/* What is open: the layout, and below which root. */
#define OPENED_FIELDS(F, S) \
	F(S, layout, REC(phx_layout)) \
	F(S, root, STR(256))
struct opened {
	PHX_MEMBERS(opened, OPENED_FIELDS)
};
PHX_RECORD_LOCAL(opened, opened, OPENED_FIELDS);

static int note_opened(const struct phx_layout *l, const char *root, struct phx_err *err)
{
	struct opened o = {.layout = *l};
	PHX_STR_SET(o.root, root);
	int r = phx_dir_make(OPENED_DIR, 0755, err);
	return r ? r : phx_record_file_write(OPENED, &opened_record, &o, 0600, err);
}

int layout_mount(const struct phx_layout *l, const struct phx_list *disks, const char *root,
		 bool fresh, struct phx_err *err)
{
	char(*devices)[PHX_VOLUME_DEVICE_MAX] = calloc(l->volumes.n + 1, sizeof(*devices));
	int r = devices ? note_opened(l, root, err) : -ENOMEM;
	r = r ? r : phx_volumes_open(l, disks, devices, err);
	r = r ? r : mount_all(l, devices, root, fresh, err);
	free(devices);
	if (r < 0)
		layout_close(NULL);
	return r;
}

/* ---- closing ---- */

static int swap_off(void *arg, const char *path)
{
	(void)arg;
	swapoff(path);
	return 0;
}

int layout_close(struct phx_err *err)
{
	struct opened o;
	if (access(OPENED, F_OK) < 0)
		return 0;
	int r = phx_record_file_read(OPENED, LAYOUT_FILE_MAX, &opened_record, &o, err);
	if (r < 0)
		return r;
	const struct phx_layout_volume **all = in_order(&o.layout);
	for (uint32_t i = all ? o.layout.volumes.n : 0; i-- > 0;) {
		PHX_AUTO_FREE char *dir = phx_path("%s%s", o.root, all[i]->mount);
		while (all[i]->mount[0] && dir && umount2(dir, UMOUNT_NOFOLLOW) == 0)
			;
	}
	free(all);
	phx_swaps_each(swap_off, NULL); /* all: the deploy environment has none but the layout's */
	r = phx_volumes_close(&o.layout, err);
	phx_record_fini(&opened_record, &o);
	if (r == 0)
		unlink(OPENED);
	return r;
}

/* ---- the file in the system ---- */

int layout_save(const struct phx_layout *l, const char *state_dir, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/" LAYOUT_FILE, state_dir);
	return path ? phx_record_file_write(path, &phx_layout_record, l, 0600, err) : -ENOMEM;
}

static int read_saved(const char *state_dir, struct phx_layout *ret, struct phx_err *err)
{
	char opened[32];
	uint64_t size;
	PHX_AUTO_CLOSE int dir = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	PHX_AUTO_CLOSE int fd = dir < 0
		? phx_err_set(err, -errno, "%s: %s", state_dir, strerror(errno))
		: phx_beneath_open(dir, LAYOUT_FILE, LAYOUT_FILE_MAX, &size, err);
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	if (fd < 0)
		return fd;
	int r = phx_record_file_read(opened, LAYOUT_FILE_MAX, &phx_layout_record, ret, err);
	if (r == 0 && (r = phx_layout_check(&ret->volumes, NULL, err)) < 0)
		phx_record_fini(&phx_layout_record, ret);
	return r;
}

int layout_mount_saved(const char *state_dir, const char *root, struct phx_err *err)
{
	struct phx_layout l;
	struct phx_list disks = {0};
	int r = read_saved(state_dir, &l, err);
	if (r == -ENOENT)
		phx_err_clear(err);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = phx_disk_list("", &disks, err);
	r = r ? r : layout_mount(&l, &disks, root, false, err);
	phx_list_fini(&disks);
	phx_record_fini(&phx_layout_record, &l);
	return r;
}
