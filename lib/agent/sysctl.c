/* See sysctl.h. Called by web.c and director.c. */
#include "agent/sysctl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

int sysctl_write(const char *name, const char *value, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("/proc/sys/%s", name);
	PHX_AUTO_CLOSE int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		return phx_err_set(err, -errno, "/proc/sys/%s: %s", name, strerror(errno));
	return 0;
}
