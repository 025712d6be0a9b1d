/* See copy.h. Called when the agent installs itself into another root, and when it adopts files of
 * an installed system. */
#include "agent/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"

enum { DEPTH_MAX = 8 };

static int copy_bytes(int from, int to, off_t n)
{
	while (n > 0) {
		ssize_t done = sendfile(to, from, NULL, (size_t)n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		n -= done;
	}
	return 0;
}

static int copy_open(int from, const char *to, bool sync_it, struct phx_err *err)
{
	struct stat st;
	if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return phx_err_set(err, -EINVAL, "%s: its source is no regular file", to);
	PHX_AUTO_CLOSE int fd =
		open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, st.st_mode & 0777);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", to, strerror(errno));
	int r = copy_bytes(from, fd, st.st_size);
	if (r == 0 && (fchmod(fd, st.st_mode & 0777) < 0 || (sync_it && fsync(fd) < 0)))
		r = -errno;
	return r < 0 ? phx_err_set(err, r, "%s: %s", to, strerror(-r)) : 0;
}

static int copy_regular(const char *from, const char *to, bool sync_it, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open(from, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", from, strerror(errno));
	return copy_open(fd, to, sync_it, err);
}

int copy_file(const char *from, const char *to, struct phx_err *err)
{
	PHX_AUTO_FREE char *tmp = phx_path("%s.tmp", to);
	if (!tmp)
		return -ENOMEM;
	int r = copy_regular(from, tmp, true, err);
	if (r == 0 && rename(tmp, to) < 0)
		r = phx_err_set(err, -errno, "%s: %s", to, strerror(errno));
	if (r < 0)
		unlink(tmp);
	return r;
}

static int copy_dir(const char *from, const char *to, int depth, struct phx_err *err);

static int copy_entry(const char *from, const char *to, int depth, struct phx_err *err)
{
	struct stat st;
	char target[PATH_MAX] = "";
	if (lstat(from, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", from, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return copy_dir(from, to, depth + 1, err);
	if (S_ISREG(st.st_mode))
		return copy_regular(from, to, false, err);
	if (!S_ISLNK(st.st_mode))
		return phx_err_set(err, -EINVAL, "%s: neither file, directory nor link", from);
	if (readlink(from, target, sizeof(target) - 1) < 0 || symlink(target, to) < 0)
		return phx_err_set(err, -errno, "%s: %s", to, strerror(errno));
	return 0;
}

static int copy_dir(const char *from, const char *to, int depth, struct phx_err *err)
{
	if (depth > DEPTH_MAX)
		return phx_err_set(err, -ELOOP, "%s: too deep", from);
	int r = phx_dir_make(to, 0755, err);
	DIR *d = r == 0 ? opendir(from) : NULL;
	if (!d)
		return r < 0 ? r : phx_err_set(err, -errno, "%s: %s", from, strerror(errno));
	for (const struct dirent *e; r == 0 && (e = readdir(d));) {
		if (phx_str_eq(e->d_name, ".") || phx_str_eq(e->d_name, ".."))
			continue;
		PHX_AUTO_FREE char *a = phx_path("%s/%s", from, e->d_name);
		PHX_AUTO_FREE char *b = phx_path("%s/%s", to, e->d_name);
		r = a && b ? copy_entry(a, b, depth, err) : -ENOMEM;
	}
	closedir(d);
	return r;
}

/* Syncs the whole file system: a sync for each of many small files takes seconds on a slow disk. */
static int sync_tree(const char *dir, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || syncfs(fd) < 0)
		return phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	return 0;
}

int copy_tree(const char *from, const char *to, struct phx_err *err)
{
	PHX_AUTO_FREE char *tmp = phx_path("%s.tmp", to);
	int r = tmp ? phx_dir_remove(tmp, err) : -ENOMEM;
	if (r == 0)
		r = copy_dir(from, tmp, 0, err);
	if (r == 0)
		r = sync_tree(tmp, err);
	if (r == 0 && renameat2(AT_FDCWD, tmp, AT_FDCWD, to, RENAME_EXCHANGE) < 0 &&
	    (errno != ENOENT || rename(tmp, to) < 0))
		r = phx_err_set(err, -errno, "%s: %s", to, strerror(errno));
	if (tmp)
		phx_dir_remove(tmp, NULL);
	return r;
}
