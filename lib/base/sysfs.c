/* Reading sysfs and procfs: see sysfs.h. Called by the inventory and the disk
 * room; never writes, never logs. */
#include "base/sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static int format_path(char ret[PATH_MAX], const char *root, const char *fmt, va_list ap)
{
	int n = snprintf(ret, PATH_MAX, "%s/", root);
	if (n < 0 || n >= PATH_MAX)
		return -ENAMETOOLONG;
	int m = vsnprintf(ret + n, (size_t)(PATH_MAX - n), fmt, ap);
	return m < 0 || m >= PATH_MAX - n ? -ENAMETOOLONG : 0;
}

static ssize_t read_bytes(const char *path, void *ret, size_t size)
{
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	size_t n = 0;
	while (n < size) {
		ssize_t r = read(fd, (char *)ret + n, size - n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		n += (size_t)r;
	}
	return (ssize_t)n;
}

void phx_sys_clean(char *text)
{
	size_t from = strspn(text, " \t\r\n"), n = strlen(text + from);
	memmove(text, text + from, n + 1);
	while (n && isspace((unsigned char)text[n - 1]))
		text[--n] = '\0';
	for (char *p = text; *p; p++)
		if (*p != '\n' && *p != '\t' && (*p < 0x20 || *p > 0x7e))
			*p = '?';
}

static int read_text(const char *path, char *ret, size_t size)
{
	ssize_t n = read_bytes(path, ret, size - 1);
	ret[n < 0 ? 0 : n] = '\0';
	phx_sys_clean(ret);
	return n < 0 ? (int)n : 0;
}

int phx_sys_text(const char *root, char *ret, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	ret[0] = '\0';
	va_start(ap, fmt);
	int r = format_path(path, root, fmt, ap);
	va_end(ap);
	return r < 0 ? r : read_text(path, ret, size);
}

uint64_t phx_sys_u64(const char *root, uint64_t fallback, const char *fmt, ...)
{
	char path[PATH_MAX], text[32];
	uint64_t value;
	va_list ap;
	va_start(ap, fmt);
	int r = format_path(path, root, fmt, ap);
	va_end(ap);
	if (r < 0 || read_text(path, text, sizeof(text)) < 0)
		return fallback;
	return phx_u64_parse(text, 0, UINT64_MAX, &value) < 0 ? fallback : value;
}

ssize_t phx_sys_bytes(const char *root, void *ret, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	va_start(ap, fmt);
	int r = format_path(path, root, fmt, ap);
	va_end(ap);
	return r < 0 ? r : read_bytes(path, ret, size);
}

bool phx_sys_has(const char *root, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	va_start(ap, fmt);
	int r = format_path(path, root, fmt, ap);
	va_end(ap);
	return r == 0 && access(path, F_OK) == 0;
}

int phx_sys_target(const char *root, char *ret, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX], real[PATH_MAX], real_root[PATH_MAX];
	va_list ap;
	va_start(ap, fmt);
	int r = format_path(path, root, fmt, ap);
	va_end(ap);
	if (r < 0)
		return r;
	if (!realpath(path, real) || !realpath(*root ? root : "/", real_root))
		return -errno;
	size_t skip = strcmp(real_root, "/") ? strlen(real_root) : 0;
	return phx_str_copy(ret, size, phx_str_starts(real, real_root) ? real + skip : real);
}

static int visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

int phx_sys_each(const char *root, const char *path, int (*fn)(void *arg, const char *name),
		 void *arg)
{
	PHX_AUTO_FREE char *dir = phx_path("%s/%s", root, path);
	struct dirent **names;
	int n = dir ? scandir(dir, &names, visible, alphasort) : -1, r = 0;
	if (n < 0)
		return dir ? -errno : -ENOMEM;
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = fn(arg, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return r;
}
