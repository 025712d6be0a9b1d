/* An image out of a root file system: see store.h. Called by `phx image import`, and by exec.c
 * with a root of its own; blocks for minutes. mkfs.ext4, zstd and mksquashfs do the work, what
 * source.c starts unpacks. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"
#include "base/tree.h"
#include "deploy/import.h"
#include "deploy/packages.h"
#include "deploy/publish.h"
#include "deploy/source.h"
#include "deploy/store.h"
#include "deploy/system.h"
#include "disk/disk.h"
#include "pki/pki.h"

#define MAX_BYTES (64ULL << 30)
#define FIRST_VERSION "1"
enum { TOOL_TIMEOUT_MS = 3600 * 1000, ZSTD_LEVEL = 6, ZSTD_LEVEL_MAX = 19 };
#define DISK_ALIGN (4ULL << 20)
#define DISK_SPARE (64ULL << 20)

struct importing {
	const struct phx_image_import *im;
	char *work, *root, *out; /* below the store, so that publishing is a rename */
	uint64_t disk_bytes;
	uint64_t n_files;
	struct phx_source_found found;
	struct phx_system system;
	const char *dir; /* the store */
	struct phx_image image;
};

static int check_absent(const struct importing *w, struct phx_err *err)
{
	const struct phx_image *im = &w->image;
	struct phx_image had;
	struct phx_err none = {0};
	int r = phx_images_find(w->dir, im->name, im->version, &had, &none);
	if (r < 0)
		return r == -ENOENT ? 0 : phx_err_set(err, r, "%s", none.text);
	phx_record_fini(&phx_image_record, &had);
	return phx_err_set(err, -EEXIST, "image '%s' of version '%s' is there already", im->name,
			   im->version);
}

static int run(const char *const *argv, struct phx_err *err)
{
	const struct phx_run job = {.argv = argv, .timeout_ms = TOOL_TIMEOUT_MS};
	return phx_run_check(&job, NULL, err);
}

static int unpack(struct importing *w, struct phx_err *err)
{
	const struct phx_source_place at = {
		.source = w->im->source,
		.work = w->work,
		.root = w->root,
		.max_bytes = w->im->max_bytes ? w->im->max_bytes : MAX_BYTES,
	};
	return w->im->fill ? w->im->fill(w->im, w->work, w->root, err)
			   : phx_source_unpack(&at, &w->found, err);
}

/* What the source calls itself is a name where nobody gave it another. */
static int take_names(struct importing *w, struct phx_err *err)
{
	const char *title = w->found.title, *version = w->found.version;
	if (!w->im->name && !phx_name_valid(title))
		return phx_err_set(err, -EINVAL,
				   title[0]
					   ? "%s: it calls itself '%.100s', which is no name of an "
					     "image: --image-name"
					   : "%s: it has no name of its own (a container's label "
					     "org.opencontainers.image.title): --image-name",
				   w->im->source, title);
	PHX_STR_SET(w->image.name, w->im->name ? w->im->name : title);
	PHX_STR_SET(w->image.version,
		    w->im->version                    ? w->im->version
			    : phx_name_valid(version) ? version
						      : FIRST_VERSION);
	PHX_STR_SET(w->image.source, w->found.source);
	PHX_STR_SET(w->image.parent, w->im->parent ? w->im->parent : "");
	return check_absent(w, err);
}

static int read_system(struct importing *w, struct phx_err *err)
{
	(void)err;
	phx_system_read(w->root, &w->system);
	PHX_STR_SET(w->image.os_id, w->system.id);
	return PHX_STR_SET(w->image.os, w->system.name);
}

/* Its programs are to run on machines like this one. */
static int check_machine(const struct importing *w, struct phx_err *err)
{
	char machine[PHX_MACHINE_MAX];
	struct utsname u;
	phx_system_machine(w->root, machine);
	if (!machine[0] || (uname(&u) == 0 && !strcmp(machine, u.machine)))
		return 0;
	return phx_err_set(err, -EINVAL, "%s: its programs are for processor %s, not %s",
			   w->im->source, machine, u.machine);
}

static int check_init(struct importing *w, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = phx_rooted_open(w->root, "sbin/init", O_PATH);
	PHX_AUTO_CLOSE int merged = phx_rooted_open(w->root, "usr/lib/systemd/systemd", O_PATH);
	PHX_AUTO_CLOSE int split = phx_rooted_open(w->root, "lib/systemd/systemd", O_PATH);
	if (fd < 0)
		return phx_err_set(err, -EINVAL,
				   "%s: no /sbin/init in it; is it a whole root file system?",
				   w->im->source);
	if (merged < 0 && split < 0)
		return phx_err_set(err, -EINVAL,
				   "%s: no systemd in it, which is what runs the agent on a node",
				   w->im->source);
	return check_machine(w, err);
}

/* Before it enters a system the deploy image puts the modules of the kernel that runs there, if
 * they are missing: it wants the place for them. */
static int have_modules_dir(struct importing *w, struct phx_err *err)
{
	PHX_AUTO_CLOSE int lib = phx_rooted_open(w->root, "lib", O_PATH | O_DIRECTORY);
	if (lib >= 0 && mkdirat(lib, "modules", 0755) < 0 && errno != EEXIST)
		return phx_err_set(err, -errno, "%s: /lib/modules: %s", w->im->source,
				   strerror(errno));
	return 0;
}

/* What the tree takes on a disk, and how many entries it has. */
static int measure(struct importing *w, struct phx_err *err)
{
	char *const roots[] = {w->root, NULL};
	uint64_t used = 0, files = 0;
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	if (!walk)
		return phx_err_set(err, -errno, "%s: %s", w->root, strerror(errno));
	for (FTSENT *e; (e = fts_read(walk)); files++)
		if (e->fts_info != FTS_DP && e->fts_statp)
			used += (uint64_t)e->fts_statp->st_blocks * 512;
	fts_close(walk);
	w->n_files = files + files / 4 + 1024;
	uint64_t bytes = used + used / 4 + w->n_files * 256 + DISK_SPARE;
	w->disk_bytes = w->im->disk_bytes ? w->im->disk_bytes
					  : (bytes + DISK_ALIGN - 1) / DISK_ALIGN * DISK_ALIGN;
	return 0;
}

static int make_disk(struct importing *w, struct phx_err *err)
{
	PHX_AUTO_FREE char *raw = phx_path("%s/root.ext4", w->work);
	PHX_AUTO_FREE char *packed = phx_path("%s/" PHX_IMAGE_ROOT_DISK, w->out);
	PHX_AUTO_FREE char *blocks = phx_path("%lluk", (unsigned long long)(w->disk_bytes / 1024));
	PHX_AUTO_FREE char *inodes = phx_path("%llu", (unsigned long long)w->n_files);
	PHX_AUTO_FREE char *level =
		phx_path("-%d", w->im->zstd_level ? w->im->zstd_level : ZSTD_LEVEL);
	if (!raw || !packed || !blocks || !inodes || !level)
		return -ENOMEM;
	const char *const mkfs[] = {"mkfs.ext4",
				    "-q",
				    "-F",
				    "-m",
				    "1",
				    "-L",
				    PHX_DISK_ROOT_LABEL,
				    "-E",
				    "lazy_itable_init=1,lazy_journal_init=1",
				    "-N",
				    inodes,
				    "-d",
				    w->root,
				    raw,
				    blocks,
				    NULL};
	const char *const zstd[] = {"zstd", "-q", "-T0", level, raw, "-o", packed, NULL};
	int r = run(mkfs, err);
	if (r == 0)
		r = run(zstd, err);
	unlink(raw);
	return r;
}

static int make_squashfs(struct importing *w, struct phx_err *err)
{
	PHX_AUTO_FREE char *to = phx_path("%s/" PHX_IMAGE_ROOT_RAM, w->out);
	if (w->im->no_squashfs)
		return 0;
	if (!to)
		return -ENOMEM;
	const char *const argv[] = {"mksquashfs", w->root,        to,       "-comp", "zstd",
				    "-noappend",  "-no-progress", "-quiet", NULL};
	return run(argv, err);
}

static int find_kernels(struct importing *w, struct phx_err *err)
{
	return phx_import_kernels(w->root, w->im, &w->image, err);
}

static int make_kernels(struct importing *w, struct phx_err *err)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_image_own, k, &w->image.kernels)
		r = r ? r : phx_import_kernel(w->root, w->im, k, w->out, err);
	return r;
}

/* Programs wrote it, which leave the rest to the kernel: after a power cut an image that was
 * published would be empty. */
static int sync_file(const char *path, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? phx_err_set(err, -errno, "%s: %s", path, strerror(errno))
				       : 0;
}

static int add_file(struct importing *w, const char *name, uint64_t raw_size, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", w->out, name);
	struct phx_image_file *f = phx_list_push(&w->image.files, sizeof(*f));
	if (!path || !f)
		return -ENOMEM;
	PHX_STR_SET(f->name, name);
	f->raw_size = raw_size;
	int r = sync_file(path, err);
	return r ? r : phx_sha256_file(path, f->sha256, &f->size, err);
}

static int write_list(struct importing *w, const char *name, char *text, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", w->out, name);
	PHX_AUTO_FREE char *lines = text;
	if (!path || !lines)
		return -ENOMEM;
	if (!lines[0]) /* an image has no empty files */
		return 0;
	int r = phx_file_write(path, lines, strlen(lines), 0644, err);
	return r ? r : add_file(w, name, 0, err);
}

/* The packages in it, and, of what was made of another image, which of them that had otherwise. */
static int add_lists(struct importing *w, struct phx_err *err)
{
	struct phx_list packages, changes = {0};
	int r = phx_system_packages(w->root, &packages, err);
	if (r < 0)
		return phx_err_prefix(err, r, "%s", w->im->source);
	r = write_list(w, PHX_IMAGE_PACKAGES, phx_packages_format(&packages), err);
	if (r == 0 && w->im->parent_packages)
		r = phx_packages_compare(w->im->parent_packages, &packages, &changes);
	if (r == 0)
		r = write_list(w, PHX_IMAGE_CHANGES, phx_changes_format(&changes), err);
	phx_list_fini(&packages);
	phx_list_fini(&changes);
	return r;
}

static int make_manifest(struct importing *w, struct phx_err *err)
{
	struct utsname u;
	uname(&u);
	w->image.kind = PHX_IMAGE_ROOTFS;
	int r = PHX_STR_SET(w->image.architecture,
			    strcmp(u.machine, "x86_64") ? u.machine : "amd64");
	PHX_LIST_EACH(struct phx_image_own, k, &w->image.kernels) {
		r = r ? r : add_file(w, k->kernel, 0, err);
		r = r ? r : add_file(w, k->modules, 0, err);
	}
	if (r == 0)
		r = add_file(w, PHX_IMAGE_ROOT_DISK, w->disk_bytes, err);
	if (r == 0 && !w->im->no_squashfs)
		r = add_file(w, PHX_IMAGE_ROOT_RAM, 0, err);
	if (r == 0)
		r = add_lists(w, err);
	PHX_AUTO_FREE char *text = r == 0 ? phx_image_format(&w->image) : NULL;
	PHX_AUTO_FREE char *path = phx_path("%s/" PHX_IMAGE_MANIFEST, w->out);
	if (r == 0 && (!text || !path))
		r = -ENOMEM;
	return r < 0 ? r : phx_file_write(path, text, strlen(text), 0644, err);
}

static int check_name(const char *name, const char *what, struct phx_err *err)
{
	return !name || phx_name_valid(name)
		? 0
		: phx_err_set(err, -EINVAL,
			      "%s '%s' is no name of an image: letters, digits, '-', '_', '.'",
			      what, name);
}

/* As far as it can be said before anything is unpacked. */
static int check_request(struct importing *w, struct phx_err *err)
{
	const struct phx_image_import *im = w->im;
	int r = check_name(im->name, "image", err);
	r = r ? r : check_name(im->version, "version", err);
	if (r < 0)
		return r;
	if (im->zstd_level < 0 || im->zstd_level > ZSTD_LEVEL_MAX)
		return phx_err_set(err, -EINVAL, "compression level %d: it must be 1 to %d",
				   im->zstd_level, ZSTD_LEVEL_MAX);
	if (!im->fill && (r = phx_source_check(im->source, err)) < 0)
		return r;
	if (geteuid() != 0)
		return phx_err_set(err, -EPERM,
				   "importing an image needs root: owners and devices are kept");
	/* a container may say more of itself, once it is there */
	bool known = (im->name && im->version) || !phx_source_is_container(im->source);
	return known ? take_names(w, err) : 0;
}

static int prepare(struct importing *w, struct phx_err *err)
{
	const char *dir = w->dir;
	w->work = phx_path("%s/.import.%d", dir, (int)gettid());
	w->root = phx_path("%s/.import.%d/root", dir, (int)gettid());
	w->out = phx_path("%s/.import.%d/out", dir, (int)gettid());
	if (!w->work || !w->root || !w->out)
		return -ENOMEM;
	phx_images_sweep(dir);
	int r = phx_dir_remove(w->work, err);
	if (r == 0)
		r = phx_dir_make(w->root, 0755, err);
	if (r == 0)
		r = phx_dir_make(w->out, 0755, err);
	/* others have no business in a half unpacked system */
	return r == 0 && chmod(w->work, 0700) < 0 ? -errno : r;
}

static void finish(struct importing *w)
{
	if (w->work)
		phx_dir_remove(w->work, NULL);
	free(w->work);
	free(w->root);
	free(w->out);
	phx_record_fini(&phx_image_record, &w->image);
}

/* What a container that was not made to boot lacks, and how it gets that. */
static int say_how(const struct importing *w, int r, struct phx_err *err)
{
	size_t n = err ? strlen(err->text) : 0;
	if (r == -EINVAL && n && w->system.add_kernel[0])
		snprintf(err->text + n, sizeof(err->text) - n, "; in it: %s", w->system.add_kernel);
	return r;
}

/* What a root must have to be an image; then the image of it, in w->out. */
static int make(struct importing *w, struct phx_err *err)
{
	static int (*const looks[])(struct importing * w, struct phx_err * err) = {
		check_init, have_modules_dir, find_kernels, make_kernels};
	static int (*const acts[])(struct importing * w, struct phx_err * err) = {
		measure, make_disk, make_squashfs, make_manifest};
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(looks); i++)
		r = say_how(w, looks[i](w, err), err);
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(acts); i++)
		r = acts[i](w, err);
	return r;
}

int phx_images_import(const char *dir, const struct phx_image_import *im, struct phx_image *ret,
		      struct phx_err *err)
{
	static int (*const acts[])(struct importing * w, struct phx_err * err) = {
		check_request, prepare, unpack, take_names, read_system, make};
	PHX_AUTO(finish) struct importing w = {.im = im, .dir = dir};
	struct phx_image made;
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(acts); i++)
		r = acts[i](&w, err);
	if (r == 0)
		r = phx_image_dir_verify(w.out, &made, err);
	if (r != 0)
		return r;
	r = phx_image_publish(dir, w.out, &made, err);
	if (r < 0)
		phx_record_fini(&phx_image_record, &made);
	else
		*ret = made;
	return r;
}
