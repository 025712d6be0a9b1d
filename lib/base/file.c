/* Files: see file.h. Called by drivers and commands, never by pure rooms. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define TEMPORARY "%s.%d.tmp" /* of a path, by a thread */

void phx_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int phx_write_all(int fd, const void *data, size_t n)
{
	const char *p = data;
	while (n) {
		ssize_t w = write(fd, p, n);
		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

static int read_all(int fd, size_t max, struct phx_buf *b)
{
	char chunk[16384];
	for (;;) {
		ssize_t r = read(fd, chunk, sizeof(chunk));
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			return 0;
		if (b->n + (size_t)r > max)
			return -EFBIG;
		phx_buf_add(b, chunk, (size_t)r);
	}
}

int phx_file_read(const char *path, size_t max, char **ret_data, size_t *ret_n, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	int r = read_all(fd, max, &b);
	if (r < 0)
		return phx_err_set(err, r, "%s: %s", path,
				   r == -EFBIG ? "larger than expected" : strerror(-r));
	size_t n = b.n;
	char *data = phx_buf_take(&b);
	if (!data)
		return -ENOMEM;
	*ret_data = data;
	if (ret_n)
		*ret_n = n;
	return 0;
}

static int sync_parent(const char *path)
{
	PHX_AUTO_FREE char *copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	PHX_AUTO_CLOSE int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

static int write_temporary(const char *tmp, const void *data, size_t n, mode_t mode)
{
	PHX_AUTO_CLOSE int fd =
		open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, mode) < 0)
		return -errno;
	int r = phx_write_all(fd, data, n);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r;
}

int phx_file_write(const char *path, const void *data, size_t n, mode_t mode, struct phx_err *err)
{
	PHX_AUTO_FREE char *tmp = phx_path(TEMPORARY, path, (int)gettid());
	if (!tmp)
		return -ENOMEM;
	int r = write_temporary(tmp, data, n, mode);
	if (r == 0 && rename(tmp, path) < 0)
		r = -errno;
	if (r < 0) {
		unlink(tmp);
		return phx_err_set(err, r, "%s: %s", path, strerror(-r));
	}
	r = sync_parent(path);
	return r < 0 ? phx_err_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}

bool phx_file_is_temporary(const char *name, pid_t *ret_tid)
{
	static const char suffix[] = ".tmp";
	char digits[24];
	uint64_t tid;
	size_t n = strlen(name);
	if (n <= strlen(suffix) || strcmp(name + n - strlen(suffix), suffix) != 0)
		return false;
	n -= strlen(suffix);
	const char *dot = memrchr(name, '.', n);
	snprintf(digits, sizeof(digits), "%.*s", dot ? (int)(name + n - dot - 1) : 0,
		 dot ? dot + 1 : "");
	if (dot == name || phx_u64_parse(digits, 1, INT32_MAX, &tid) < 0)
		return false;
	if (ret_tid)
		*ret_tid = (pid_t)tid;
	return true;
}

bool phx_file_is_abandoned(const char *name)
{
	char proc[40];
	pid_t tid;
	if (!phx_file_is_temporary(name, &tid))
		return false;
	snprintf(proc, sizeof(proc), "/proc/%d", (int)tid);
	return access(proc, F_OK) < 0;
}

void phx_file_sweep_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	PHX_AUTO_FREE char *dir = slash ? strndup(path, (size_t)(name - path)) : strdup(".");
	DIR *d = dir ? opendir(dir) : NULL;
	pid_t tid;
	for (struct dirent *e; d && (e = readdir(d));) {
		PHX_AUTO_FREE char *its = phx_file_is_temporary(e->d_name, &tid)
			? phx_path(TEMPORARY, name, (int)tid)
			: NULL;
		if (its && phx_str_eq(e->d_name, its) && phx_file_is_abandoned(its))
			unlinkat(dirfd(d), its, 0);
	}
	if (d)
		closedir(d);
}

void phx_file_sweep(const char *dir)
{
	DIR *d = opendir(dir);
	pid_t tid;
	for (struct dirent *e; d && (e = readdir(d));)
		if (phx_file_is_temporary(e->d_name, &tid))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

int phx_file_publish(const char *from, const char *to, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 || fsync(fd) < 0 || rename(from, to) < 0 ? -errno : sync_parent(to);
	return r < 0 ? phx_err_set(err, r, "%s: %s", to, strerror(-r)) : 0;
}

/* The content of the events does not matter: the caller looks at the path. */
static void drain(int watch)
{
	char events[4096];
	while (read(watch, events, sizeof(events)) > 0)
		;
}

static int await(const char *path, int watch, int pidfd, int64_t end_ms)
{
	struct pollfd p[] = {{.fd = watch, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	for (bool ended = false;; drain(watch)) {
		if (access(path, F_OK) == 0)
			return 0;
		if (ended)
			return -ESRCH;
		int64_t left_ms = end_ms - phx_clock_ms();
		if (left_ms <= 0)
			return -ETIMEDOUT;
		poll(p, PHX_ARRAY_SIZE(p), (int)left_ms);
		ended = p[1].revents; /* the path is checked once more after that */
	}
}

int phx_file_await(const char *path, int pidfd, uint32_t timeout_ms)
{
	int64_t end_ms = phx_clock_ms() + timeout_ms;
	PHX_AUTO_FREE char *copy = strdup(path);
	PHX_AUTO_CLOSE int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (!copy)
		return -ENOMEM;
	if (watch < 0 || inotify_add_watch(watch, dirname(copy), IN_CREATE | IN_MOVED_TO) < 0)
		return -errno;
	return await(path, watch, pidfd, end_ms);
}

int phx_dir_make(const char *path, mode_t mode, struct phx_err *err)
{
	if (!*path)
		return phx_err_set(err, -EINVAL, "a directory without a name");
	PHX_AUTO_FREE char *copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	for (char *p = copy + 1;; p++) {
		if (*p && *p != '/')
			continue;
		char had = *p;
		*p = '\0';
		if (mkdir(copy, mode) < 0 && errno != EEXIST)
			return phx_err_set(err, -errno, "%s: %s", copy, strerror(errno));
		*p = had;
		if (!had)
			break;
	}
	struct stat st;
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return phx_err_set(err, -ENOTDIR, "%s: not a directory", path);
	return 0;
}

static int check_trusted(const char *path, struct phx_err *err)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	bool ours = st.st_uid == 0 || st.st_uid == geteuid();
	bool open_to_all = (st.st_mode & (S_IWGRP | S_IWOTH)) && !S_ISLNK(st.st_mode) &&
		!(S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX));
	if (ours && !open_to_all)
		return 0;
	return phx_err_set(err, -EPERM, "%s: others may change it (owner %u, mode %04o)", path,
			   (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
}

/* Checks `path` and all directories above it, by their names alone; modifies `path`. */
static int check_up(char *path, struct phx_err *err)
{
	int r = check_trusted(path, err);
	for (char *slash; r == 0 && (slash = strrchr(path, '/')) && path[1];) {
		slash[slash == path] = '\0';
		r = check_trusted(path, err);
	}
	return r;
}

int phx_file_trusted(const char *path, struct phx_err *err)
{
	PHX_AUTO_FREE char *written = strdup(path);
	PHX_AUTO_FREE char *real = realpath(path, NULL);
	if (!written || path[0] != '/')
		return written ? phx_err_set(err, -EINVAL, "%s: must begin with /", path) : -ENOMEM;
	if (!real)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	int r = check_up(written, err);
	return r ? r : check_up(real, err);
}

char *phx_path(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *s = NULL;
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return s;
}
