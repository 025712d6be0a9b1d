/* See site_files.h. */
#include "agent/site_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { MODE_DIR = 0755, MODE_BITS = 07777 };

/* ---- the way ---- */

static int check_ours(int fd, const char *path, struct phx_err *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return st.st_uid == geteuid() && !(st.st_mode & 022)
		? 0
		: phx_err_set(err, -EPERM,
			      "%s: a directory on the way may be written by others (owner %u, mode "
			      "%04o)",
			      path, (unsigned)st.st_uid, (unsigned)st.st_mode & MODE_BITS);
}

/* Opens the directory `name` in `at`, which it closes, and makes the directory where it is missing,
 * if the caller wants that. */
static int enter(int at, const char *name, const char *path, bool make, struct phx_err *err)
{
	PHX_AUTO_CLOSE int above = at;
	int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && make) {
		if (mkdirat(above, name, MODE_DIR) < 0 && errno != EEXIST)
			return phx_err_set(err, -errno, "%s: %s: %s", path, name, strerror(errno));
		fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s: %s", path, name, strerror(errno));
	int r = check_ours(fd, path, err);
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

/* Opens the directory of the file; *ret_name: the file's name in it, borrowed from `path`. */
static int open_above(const char *root, const char *path, bool make, const char **ret_name,
		      struct phx_err *err)
{
	char part[256];
	if (!phx_site_path_is_plain(path))
		return phx_err_set(err, -EINVAL, "%s: is no plain path", path);
	int fd = open(root[0] ? root : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? phx_err_set(err, -errno, "%s/: %s", root, strerror(errno))
		       : check_ours(fd, path, err);
	if (r < 0) {
		phx_close_fd(&fd);
		return r;
	}
	const char *at = path + 1, *end;
	for (; fd >= 0 && (end = strchr(at, '/')); at = end + 1) {
		snprintf(part, sizeof(part), "%.*s", (int)(end - at), at);
		fd = enter(fd, part, path, make, err);
	}
	*ret_name = at;
	return fd;
}

/* ---- reading ---- */

static int read_text(int fd, struct phx_site_out *ret)
{
	PHX_AUTO_FREE char *text = malloc(PHX_SITE_FILE_MAX + 2);
	size_t n = 0;
	if (!text)
		return -ENOMEM;
	for (ssize_t k = 1; k > 0 && n <= PHX_SITE_FILE_MAX; n += k > 0 ? (size_t)k : 0) {
		k = read(fd, text + n, PHX_SITE_FILE_MAX + 1 - n);
		if (k < 0)
			return -errno;
	}
	text[n] = '\0';
	if (n > PHX_SITE_FILE_MAX)
		return -EFBIG;
	if (strlen(text) != n)
		return -EINVAL;
	ret->text = PHX_TAKE(text);
	return 0;
}

int site_file_read(const char *root, const char *path, struct phx_site_out *ret,
		   struct phx_err *err)
{
	const char *name;
	struct stat st;
	struct phx_site_out f = {0};
	struct phx_err why = {0};
	PHX_AUTO_CLOSE int dir = open_above(root, path, false, &name, &why);
	if (dir < 0)
		return dir == -ENOENT ? 0 : phx_err_set(err, dir, "%s", why.text);
	PHX_AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	r = r ? r : read_text(fd, &f);
	if (r < 0)
		return phx_err_set(err, r, "%s: %s", path, strerror(-r));
	PHX_STR_SET(f.path, path);
	f.uid = st.st_uid;
	f.gid = st.st_gid;
	f.mode = st.st_mode & MODE_BITS;
	*ret = f;
	return 1;
}

/* ---- writing ---- */

static bool is_so_already(int dir, const char *name, const struct phx_site_out *f)
{
	struct stat st;
	const char *text = phx_text(f->text);
	size_t n = strlen(text), got = 0;
	PHX_AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size != n ||
	    st.st_uid != f->uid || st.st_gid != f->gid || (st.st_mode & MODE_BITS) != f->mode)
		return false;
	PHX_AUTO_FREE char *is = malloc(n + 1);
	for (ssize_t k = 1; is && k > 0 && got<n; got += k> 0 ? (size_t)k : 0)
		k = read(fd, is + got, n - got);
	return is && got == n && !memcmp(is, text, n);
}

/* Sets the owner before the mode: somebody to whom the file belonged for a moment could keep it
 * open. */
static int fill(int fd, const struct phx_site_out *f)
{
	const char *text = phx_text(f->text);
	int r = phx_write_all(fd, text, strlen(text));
	if (r == 0 && (fchown(fd, f->uid, f->gid) < 0 || fchmod(fd, f->mode) < 0 || fsync(fd) < 0))
		r = -errno;
	return r;
}

static int replace(int dir, const char *name, const char *tmp, const struct phx_site_out *f)
{
	unlinkat(dir, tmp, 0); /* an agent that was killed may have left it */
	PHX_AUTO_CLOSE int fd =
		openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : fill(fd, f);
	if (r == 0 && (renameat(dir, tmp, dir, name) < 0 || fsync(dir) < 0))
		r = -errno;
	if (r < 0 && fd >= 0)
		unlinkat(dir, tmp, 0);
	return r;
}

int site_file_write(const char *root, const struct phx_site_out *f, struct phx_err *err)
{
	const char *name;
	PHX_AUTO_CLOSE int dir = open_above(root, f->path, true, &name, err);
	if (dir < 0)
		return dir;
	/* neither sudo nor sshd takes files of such a name */
	PHX_AUTO_FREE char *tmp = phx_path(".%s.phx~", name);
	if (is_so_already(dir, name, f))
		return 0;
	int r = tmp ? replace(dir, name, tmp, f) : -ENOMEM;
	return r < 0 ? phx_err_set(err, r, "%s: %s", f->path, strerror(-r)) : 1;
}

int site_file_remove(const char *root, const char *path, struct phx_err *err)
{
	const char *name;
	struct phx_err why = {0};
	PHX_AUTO_CLOSE int dir = open_above(root, path, false, &name, &why);
	if (dir == -ENOENT)
		return 0;
	if (dir < 0)
		return phx_err_set(err, dir, "%s", why.text);
	if (unlinkat(dir, name, 0) == 0)
		return fsync(dir) < 0 ? -errno : 1;
	return errno == ENOENT ? 0 : phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
}
