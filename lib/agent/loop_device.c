/* See loop_device.h. Called by the step `ram`. */
#include "agent/loop_device.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/file.h"

enum { TRIES = 16 };

/* -EBUSY: another program took the free device first. */
static int try_attach(int control, int file, char ret_device[64])
{
	struct loop_config config = {.fd = (uint32_t)file,
				     .info = {.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR}};
	int number = ioctl(control, LOOP_CTL_GET_FREE);
	if (number < 0)
		return -errno;
	snprintf(ret_device, 64, "/dev/loop%d", number);
	PHX_AUTO_CLOSE int fd = open(ret_device, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, LOOP_CONFIGURE, &config) < 0)
		return -errno;
	int keep = fd;
	fd = -1;
	return keep;
}

int loop_device_attach(const char *file, char ret_device[64], struct phx_err *err)
{
	PHX_AUTO_CLOSE int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	PHX_AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
	int r = control < 0 || fd < 0 ? -errno : -EBUSY;
	for (int i = 0; r == -EBUSY && i < TRIES; i++)
		r = try_attach(control, fd, ret_device);
	return r < 0 ? phx_err_set(err, r, "loop device for %s: %s", file, strerror(-r)) : r;
}
