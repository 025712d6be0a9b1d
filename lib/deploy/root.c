/* Roots out of images: see root.h. Called by exec.c and difference.c. unsquashfs unpacks the form
 * for memory; where an image has only the one for disks, its file system is mounted where nobody
 * else sees it, and copied. */
#include "deploy/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "base/spawn.h"

enum { TOOL_TIMEOUT_MS = 3600 * 1000, LOOP_TRIES = 16 };

static int run(const char *const *argv, struct phx_err *err)
{
	const struct phx_run job = {
		.argv = argv, .timeout_ms = TOOL_TIMEOUT_MS, .dies_with_us = true};
	return phx_run_check(&job, NULL, err);
}

static int from_squashfs(const char *file, const char *root, struct phx_err *err)
{
	const char *const argv[] = {"unsquashfs", "-no-progress", "-quiet", "-force",
				    "-dest",      root,           file,     NULL};
	return run(argv, err);
}

/* ---- the form for disks ---- */

struct copying {
	const char *raw, *at; /* the file system, and where it is seen */
};

/* A loop device that goes when nobody uses it any more. Another process may take a free one
 * first. */
static int attach(const char *raw, char ret_device[32])
{
	int file = open(raw, O_RDONLY | O_CLOEXEC), control = open("/dev/loop-control", O_RDWR);
	int r = file < 0 || control < 0 ? -errno : -EBUSY;
	for (int i = 0; r == -EBUSY && i < LOOP_TRIES; i++) {
		const struct loop_config how = {.fd = (unsigned)file,
						.info.lo_flags =
							LO_FLAGS_AUTOCLEAR | LO_FLAGS_READ_ONLY};
		int n = ioctl(control, LOOP_CTL_GET_FREE);
		snprintf(ret_device, 32, "/dev/loop%d", n);
		int device = n < 0 ? -1 : open(ret_device, O_RDONLY | O_CLOEXEC);
		r = device < 0 ? -errno : ioctl(device, LOOP_CONFIGURE, &how) < 0 ? -errno : device;
		if (r < 0 && device >= 0)
			close(device);
	}
	if (file >= 0)
		close(file);
	if (control >= 0)
		close(control);
	return r;
}

/* In the process that becomes cp: the mount goes with it. */
static int mount_raw(const void *arg)
{
	const struct copying *c = arg;
	char device[32];
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	int fd = attach(c->raw, device);
	if (fd < 0)
		return fd;
	int r = mount(device, c->at, "ext4", MS_RDONLY | MS_NODEV | MS_NOSUID | MS_NOEXEC,
		      "noload") < 0
		? -errno
		: 0;
	close(fd);
	return r;
}

static int copy_out(const struct copying *c, const char *root, struct phx_err *err)
{
	PHX_AUTO_FREE char *from = phx_path("%s/.", c->at);
	const char *const argv[] = {"cp", "-a", from, root, NULL};
	const struct phx_launch l = {
		.argv = argv, .prepare = mount_raw, .arg = c, .death_signal = SIGKILL};
	struct phx_process p;
	int r = from ? phx_process_start(&l, &p, err) : -ENOMEM;
	if (r < 0)
		return r;
	r = phx_process_status(p.pidfd);
	close(p.pidfd);
	return r ? phx_err_set(err, -EIO, "cp: exit status %d", r) : 0;
}

static int from_disk(const char *file, const char *work, const char *root, struct phx_err *err)
{
	PHX_AUTO_FREE char *raw = phx_path("%s/unpacked.ext4", work);
	PHX_AUTO_FREE char *at = phx_path("%s/mounted", work);
	if (!raw || !at)
		return -ENOMEM;
	const char *const argv[] = {"zstd", "-q", "-d", "--sparse", file, "-o", raw, NULL};
	const struct copying c = {raw, at};
	int r = run(argv, err);
	r = r ? r : phx_dir_make(at, 0700, err);
	r = r ? r : copy_out(&c, root, err);
	unlink(raw);
	rmdir(at);
	return r;
}

int phx_root_unpack(const char *dir, const struct phx_image *im, const char *work, const char *root,
		    struct phx_err *err)
{
	PHX_AUTO_FREE char *ram =
		phx_path("%s/%s/%s/" PHX_IMAGE_ROOT_RAM, dir, im->name, im->version);
	PHX_AUTO_FREE char *disk =
		phx_path("%s/%s/%s/" PHX_IMAGE_ROOT_DISK, dir, im->name, im->version);
	if (!ram || !disk)
		return -ENOMEM;
	if (phx_image_file(im, PHX_IMAGE_ROOT_RAM))
		return from_squashfs(ram, root, err);
	if (phx_image_file(im, PHX_IMAGE_ROOT_DISK))
		return from_disk(disk, work, root, err);
	return phx_err_set(err, -EINVAL, "image %s %s is of kind %s: it has no root file system",
			   im->name, im->version, phx_enum_name(&phx_image_kind_names, im->kind));
}
