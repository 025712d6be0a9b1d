/* Steps that write to disks or memory in the deploy environment: wipe, image, ram, enter. Called
 * through the table of step_table.c. A disk is only ever named by its id, and only written to when
 * this machine runs from RAM. */
#include "agent/step.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "config/image.h"
#include "agent/fetch.h"
#include "agent/install.h"
#include "agent/log.h"
#include "agent/loop_device.h"
#include "agent/order.h"
#include "agent/root.h"
#include "agent/state.h"
#include "tpm/tpm.h"

#define RAM_DIR "/run/phoenix/ram"
#define RAM_MAX (8ull << 30)

enum { PROGRESS_MS = 10000 };

int step_need_ram(struct phx_err *err)
{
	struct statfs fs;
	if (statfs("/", &fs) == 0 && (fs.f_type == RAMFS_MAGIC || fs.f_type == TMPFS_MAGIC))
		return 0;
	return phx_err_set(err, -EPERM, "this system runs from a disk: no disk is touched");
}

/* The same by this machine's own eyes as by the head's: is the disk one of the protected? Nor may
 * it be a part of something that is on one of those. */
static int check_unprotected(const struct phx_protect *p, const struct phx_list *disks,
			     const struct phx_disk_facts *target, const char *path,
			     struct phx_err *err)
{
	char why[PHX_PROTECTED_WHY_MAX], other[64];
	int r = 0;
	if (phx_disk_protected(p, target, why))
		return phx_err_set(err, -EPERM,
				   "disk %s is protected: %s: nothing is written to it", target->id,
				   why);
	PHX_LIST_EACH(struct phx_disk_facts, d, disks) {
		if (r < 0 || !phx_disk_protected(p, d, why))
			continue;
		snprintf(other, sizeof(other), "/dev/%s", d->dev);
		r = phx_disk_check_apart(path, other, err);
		if (r < 0)
			phx_err_prefix(err, r, "disk %s, beside %s, which is protected (%s)",
				       target->id, d->id, why);
	}
	return r;
}

int step_check_protection(struct step_run *s, const struct phx_disk_facts *target, const char *path,
			  struct phx_err *err)
{
	struct phx_protect protect;
	struct phx_list disks = {0};
	int r = order_protect(s->extra, &protect, err);
	if (r == 0)
		r = phx_disk_list("", &disks, err);
	if (r == 0)
		r = check_unprotected(&protect, &disks, target, path, err);
	phx_list_fini(&disks);
	return r;
}

int step_disk_find(struct step_run *s, struct phx_disk_facts *ret_facts, char ret_path[64],
		   struct phx_err *err)
{
	struct agent *a = s->agent;
	const char *id = s->order->step.disk;
	int r = step_need_ram(err);
	if (r == 0)
		r = agent_read_facts(a, err);
	if (r < 0)
		return r;
	loop_hold(a->loop);
	const struct phx_disk_facts *d = phx_facts_disk(&a->facts, id);
	if (d)
		*ret_facts = *d;
	loop_release(a->loop);
	if (!d)
		return phx_err_set(err, -ENODEV,
				   "disk %s: this machine has no such disk, or two of them", id);
	r = root_unmount(err);
	if (r == 0)
		r = phx_disk_find(ret_facts, ret_path, err);
	if (r == 0)
		r = phx_disk_check_paths(ret_facts, err);
	return r ? r : step_check_protection(s, ret_facts, ret_path, err);
}

/* Forgets the system on this disk before it is written to: after a failure too the disk must not
 * count as having one. */
static void forget_system(const struct agent *a, const char *path)
{
	struct phx_disk_system sys;
	PHX_AUTO_FREE char *file = phx_path("%s/system.json", a->cfg.state_dir);
	if (file && (phx_disk_find_system(&sys, NULL) < 0 || phx_str_eq(sys.disk, path)))
		unlink(file);
}

/* ---- wipe ---- */

static void show_progress(void *arg, const struct phx_wipe_progress *p)
{
	int64_t *next_ms = arg;
	if (phx_clock_ms() < *next_ms || !p->total_bytes)
		return;
	*next_ms = phx_clock_ms() + PROGRESS_MS;
	agent_log("wipe: %" PRIu64 " %%", p->done_bytes * 100 / p->total_bytes);
}

/* Has the TPM sign the statement. Without a TPM, or if it fails, there is no quote: the head judges
 * that, since it knows whether the machine has a TPM. */
static void quote(struct step_run *s, const struct phx_statement *said)
{
	struct phx_err err = {0};
	uint8_t data[PHX_QUOTE_DATA_SIZE];
	int r = phx_statement_digest(said, data);
	r = r ? r : phx_tpm_quote(PHX_TPM_DEVICE, data, &s->quote, &err);
	if (r < 0 && r != -ENODEV)
		agent_log("step %" PRIu64 ": %s", s->order->id,
			  err.text[0] ? err.text : strerror(-r));
}

/* Signs what was done, with the node's key and for this attempt alone, and shows its
 * certificate. */
static int seal(struct step_run *s, struct phx_err *err)
{
	const struct phx_wipe_result *w = &s->wipe;
	struct phx_statement said = {.step_id = s->order->id,
				     .epoch = s->order->epoch,
				     .nonce = s->order->step.nonce,
				     .size_bytes = w->size_bytes};
	PHX_AUTO_FREE char *key = phx_path("%s/agent.key", s->agent->cfg.state_dir);
	PHX_AUTO_FREE char *cert = phx_path("%s/agent.pem", s->agent->cfg.state_dir);
	PHX_MEMBERS_COPY(PHX_ERASED_SAID_FIELDS, &said, w);
	agent_node_name(s->agent, said.node);
	PHX_STR_SET(said.boot_id, s->agent->boot_id);
	PHX_STR_SET(said.image_sha256, s->agent->cfg.image_sha256);
	PHX_STR_SET(said.disk_id, w->disk_id);
	PHX_STR_SET(said.method, phx_enum_name(&phx_wipe_method_names, w->method));
	PHX_STR_SET(said.used, phx_enum_name(&phx_wipe_method_names, w->used));
	PHX_STR_SET(said.detail, w->detail);
	int r = key && cert ? phx_statement_sign(&said, key, &s->seal, err) : -ENOMEM;
	if (r == 0)
		r = phx_seal_certify(cert, &s->seal, err);
	if (r == 0)
		quote(s, &said);
	return r;
}

/* What the head reads in a statement holds for the deploy image with its own kernel. */
static int check_erases_here(const struct agent *a, struct phx_err *err)
{
	return a->cfg.kernel_word[0]
		? phx_err_set(err, -EPERM,
			      "this is kernel %s, of an image of a system: disks are erased under "
			      "that of the deploy image",
			      a->cfg.kernel_word)
		: 0;
}

int step_wipe(struct step_run *s, struct phx_err *err)
{
	struct phx_disk_facts facts;
	char path[64];
	int64_t next_ms = phx_clock_ms() + PROGRESS_MS;
	int r = check_erases_here(s->agent, err);
	r = r ? r : step_disk_find(s, &facts, path, err);
	if (r < 0)
		return r;
	forget_system(s->agent, path);
	const struct phx_step *step = &s->order->step;
	const struct phx_wipe_order order = {.method = (enum phx_wipe_method)step->method,
					     .or_less = step->or_less,
					     .full = step->verify == PHX_VERIFY_FULL,
					     .seed = step->nonce};
	r = phx_disk_wipe(path, &facts, &order, show_progress, &next_ms, &s->wipe, err);
	s->has_wipe = r == 0 || r == -EUCLEAN;
	return r == 0 ? seal(s, err) : r;
}

/* ---- image ---- */

static int need_file(struct step_run *s, const char *name, struct phx_image *image,
		     const struct phx_image_file **ret, struct phx_err *err)
{
	int r = order_image_believed(&s->agent->cfg, s->extra, "image", image, err);
	if (r < 0)
		return r;
	*ret = phx_image_file(image, name);
	return *ret ? 0
		    : phx_err_set(err, -ENOENT, "image %s %s has no %s", image->name,
				  image->version, name);
}

int step_image_client(struct step_run *s, struct phx_http_client **ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *url = phx_path("http://%s", s->agent->cfg.http);
	struct phx_http_client_config config = {.base_url = url};
	if (!s->agent->cfg.http[0])
		return agent_client(s->agent, ret, err);
	return url ? phx_http_client_new(&config, ret, err) : -ENOMEM;
}

/* Has the disk itself make the whole device read zero, if it can: blocks of zeros need not be
 * written then. */
static bool zero_device(const char *device)
{
	PHX_AUTO_CLOSE int fd = open(device, O_RDWR | O_CLOEXEC);
	uint64_t size = 0;
	return fd >= 0 && ioctl(fd, BLKGETSIZE64, &size) == 0 &&
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)size) == 0;
}

static int sink_write(void *arg, const void *data, size_t n, struct phx_err *err)
{
	return phx_image_sink_write(arg, data, n, err);
}

static int stream_image(struct step_run *s, const struct phx_image *image,
			const struct phx_image_file *file, const char *device, struct phx_err *err)
{
	PHX_AUTO_FREE char *path =
		phx_path("/images/%s/%s/%s", image->name, image->version, file->name);
	struct phx_http_client *c = NULL;
	struct phx_image_sink *sink = NULL;
	bool encrypted = s->order->step.key_id[0];
	int r = path ? step_image_client(s, &c, err) : -ENOMEM;
	if (r == 0)
		r = phx_image_sink_open(device, !encrypted && zero_device(device), &sink, err);
	if (r == 0)
		r = phx_http_fetch(c, path, sink_write, sink, NULL, err);
	if (r == 0)
		r = phx_image_sink_finish(PHX_TAKE(sink), file->sha256, file->size, file->raw_size,
					  err);
	phx_image_sink_free(sink);
	phx_http_client_free(c);
	return r < 0
		? phx_err_prefix(err, r, "image %s %s, %s", image->name, image->version, file->name)
		: r;
}

static int make_partitions(struct step_run *s, const char *disk, char ret_root[64],
			   struct phx_err *err)
{
	const char *key_id = s->order->step.key_id;
	uint8_t key[PHX_DISK_KEY_SIZE];
	struct phx_http_client *c;
	if (!key_id[0])
		return phx_disk_layout(disk, NULL, 0, NULL, ret_root, err);
	int r = step_http(s, &c, err);
	if (r == 0)
		r = root_disk_key(s->agent, c, key_id, key, err);
	if (r == 0)
		r = phx_disk_layout(disk, key, sizeof(key), key_id, ret_root, err);
	explicit_bzero(key, sizeof(key));
	return r;
}

static int layout(struct step_run *s, const char *disk, char ret_root[64], struct phx_err *err)
{
	struct phx_disk_system sys;
	forget_system(s->agent, disk);
	int r = make_partitions(s, disk, ret_root, err);
	if (r == 0)
		r = phx_disk_find_system(&sys, err);
	if (r == 0 && !phx_str_eq(sys.disk, disk))
		r = phx_err_set(err, -ENOTUNIQ, "disk %s carries a system too", sys.disk);
	/* a reset while the image is written must not lose the node's key */
	return r ? r : root_keep_state(s->agent, sys.state, err);
}

static int write_system(const struct phx_image *image, const char *state_dir, struct phx_err *err)
{
	struct system_state sys = {0};
	PHX_STR_SET(sys.image, image->name);
	PHX_STR_SET(sys.version, image->version);
	PHX_STR_SET(sys.digest, image->digest);
	return system_state_write(state_dir, &sys, err);
}

/* Writes this node's identity into the new root. The record of the system comes last: it says that
 * the root is complete. */
static int personalise(struct step_run *s, const struct phx_image *image, struct phx_err *err)
{
	int r = install_agent(s->agent, ROOT_DIR, err);
	if (r == 0)
		r = install_state(s->agent, ROOT_STATE_DIR, err);
	if (r == 0)
		r = write_system(image, ROOT_STATE_DIR, err);
	if (r == 0)
		r = write_system(image, s->agent->cfg.state_dir, err);
	if (r == 0)
		sync();
	return r;
}

static int mount_written(const char *root_device, struct phx_err *err)
{
	struct phx_disk_system sys;
	int r = phx_disk_grow(root_device, err);
	if (r == 0)
		r = phx_disk_find_system(&sys, err);
	return r ? r : root_mount(root_device, sys.state, err);
}

int step_image(struct step_run *s, struct phx_err *err)
{
	struct phx_disk_facts facts;
	struct phx_image image = {0};
	const struct phx_image_file *file;
	char disk[64], root_device[64];
	int r = need_file(s, PHX_IMAGE_ROOT_DISK, &image, &file, err);
	if (r == 0)
		r = step_disk_find(s, &facts, disk, err);
	if (r == 0)
		r = layout(s, disk, root_device, err);
	if (r == 0)
		r = stream_image(s, &image, file, root_device, err);
	if (r == 0)
		r = mount_written(root_device, err);
	if (r == 0)
		r = personalise(s, &image, err);
	if (r < 0)
		root_unmount(NULL);
	phx_record_fini(&phx_image_record, &image);
	return r;
}

/* ---- ram ---- */

static int mount_ram(const char *squashfs, struct phx_err *err)
{
	char loop[64];
	PHX_AUTO_CLOSE int keep = loop_device_attach(squashfs, loop, err);
	int r = keep < 0 ? keep : phx_dir_make(RAM_DIR "/lower", 0755, err);
	if (r == 0)
		r = phx_dir_make(RAM_DIR "/upper", 0755, err);
	if (r == 0)
		r = phx_dir_make(RAM_DIR "/work", 0755, err);
	if (r == 0)
		r = phx_dir_make(ROOT_DIR, 0755, err);
	if (r == 0 && mount(loop, RAM_DIR "/lower", "squashfs", MS_RDONLY, "") < 0)
		r = phx_err_set(err, -errno, "squashfs: %s", strerror(errno));
	if (r == 0 &&
	    mount("overlay", ROOT_DIR, "overlay", 0,
		  "lowerdir=" RAM_DIR "/lower,upperdir=" RAM_DIR "/upper,workdir=" RAM_DIR
		  "/work") < 0)
		r = phx_err_set(err, -errno, "overlay: %s", strerror(errno));
	return r;
}

static int unmount_ram(struct phx_err *err)
{
	int r = root_unmount(err);
	umount2(RAM_DIR "/lower", 0);
	while (r == 0 && umount2(RAM_DIR, 0) == 0)
		;
	return r;
}

static int make_ram(struct phx_err *err)
{
	int r = unmount_ram(err);
	if (r == 0)
		r = phx_dir_make(RAM_DIR, 0755, err);
	if (r == 0 && mount("tmpfs", RAM_DIR, "tmpfs", 0, "mode=0755,size=90%") < 0)
		r = phx_err_set(err, -errno, RAM_DIR ": tmpfs: %s", strerror(errno));
	return r;
}

int step_ram(struct step_run *s, struct phx_err *err)
{
	struct phx_image image = {0};
	const struct phx_image_file *file;
	struct phx_http_client *c = NULL;
	int r = need_file(s, PHX_IMAGE_ROOT_RAM, &image, &file, err);
	PHX_AUTO_FREE char *path =
		r == 0 ? phx_path("/images/%s/%s/%s", image.name, image.version, file->name) : NULL;
	if (r == 0)
		r = step_need_ram(err);
	if (r == 0)
		r = make_ram(err);
	if (r == 0)
		r = path ? step_image_client(s, &c, err) : -ENOMEM;
	if (r == 0)
		r = fetch_file(c, path, RAM_DIR "/root.squashfs", file->size, RAM_MAX, file->sha256,
			       NULL, err);
	if (r == 0)
		r = mount_ram(RAM_DIR "/root.squashfs", err);
	if (r == 0)
		r = personalise(s, &image, err);
	if (r < 0)
		unmount_ram(NULL);
	phx_http_client_free(c);
	phx_record_fini(&phx_image_record, &image);
	return r;
}

/* ---- enter ---- */

int step_enter(struct step_run *s, struct phx_err *err)
{
	struct phx_http_client *c;
	int r = step_need_ram(err);
	r = r ? r : root_check_kernel(phx_json_str(s->extra, "kernel_release", ""), err);
	if (r == 0 && !root_mounted()) {
		r = step_http(s, &c, err);
		r = r ? r : root_open_installed(s->agent, c, err);
	}
	if (r == 0)
		r = root_enter(s->agent, err);
	return r < 0 ? r : STEP_LEAVES;
}
