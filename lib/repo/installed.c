/* Packages unpacked on a node: which version is current, going back, removal.
 * Called by the agent's steps; every act may be repeated. */
#include "repo/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"

#define CURRENT "current"
#define PREVIOUS "previous"

int phx_package_lock(const char *root, int *ret_fd, struct phx_err *err)
{
	int r = phx_dir_make(root, 0755, err);
	if (r < 0)
		return r;
	PHX_AUTO_CLOSE int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return phx_err_set(err, -errno, "%s: %s", root, strerror(errno));
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static int check_names(const char *name, const char *version, struct phx_err *err)
{
	if (!phx_name_valid(name))
		return phx_err_set(err, -EINVAL, "\"%s\" is no package name", name);
	if (version && !phx_version_valid(version))
		return phx_err_set(err, -EINVAL, "\"%s\" is no package version", version);
	return 0;
}

/* Open ROOT/NAME with ROOT locked; -ENOENT when nothing of NAME is there. */
static int open_package_dir(const char *root, const char *name, int *ret_lock, int *ret_dir,
			    struct phx_err *err)
{
	PHX_AUTO_CLOSE int lock = -1;
	int r = phx_package_lock(root, &lock, err);
	if (r < 0)
		return r;
	int dir = openat(lock, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return phx_err_set(err, -errno, "%s/%s: %s", root, name,
				   errno == ENOENT ? "not unpacked here" : strerror(errno));
	*ret_lock = lock;
	lock = -1;
	*ret_dir = dir;
	return 0;
}

int phx_package_unpacked(const char *root, const char *name, const char *version,
			 char ret_sha256[65])
{
	int r = check_names(name, version, NULL);
	PHX_AUTO_FREE char *path =
		r == 0 ? phx_path("%s/%s/%s/" PHX_PACKAGE_DIGEST, root, name, version) : NULL;
	PHX_AUTO_FREE char *hex = NULL;
	size_t n = 0;
	if (r < 0 || !path)
		return r < 0 ? r : -ENOMEM;
	if (phx_file_read(path, PHX_SHA256_HEX, &hex, &n, NULL) < 0 || n != PHX_SHA256_HEX - 1)
		return -ENOENT;
	return phx_str_copy(ret_sha256, 65, hex);
}

/* Version that the link `which` names; -ENOENT none. */
static int read_link(int dir, const char *which, char ret_version[PHX_NAME_MAX])
{
	char version[PHX_NAME_MAX];
	ssize_t n = readlinkat(dir, which, version, sizeof(version));
	if (n < 0)
		return -errno;
	if (n == sizeof(version))
		return -EBADMSG;
	version[n] = '\0';
	if (!phx_version_valid(version))
		return -EBADMSG;
	return phx_str_copy(ret_version, PHX_NAME_MAX, version);
}

/* One rename: the link is the old one or the new one, never absent. */
static int write_link(int dir, const char *which, const char *version)
{
	static const char tmp[] = ".link.tmp";
	if (unlinkat(dir, tmp, 0) < 0 && errno != ENOENT)
		return -errno;
	if (symlinkat(version, dir, tmp) < 0 || renameat(dir, tmp, dir, which) < 0 ||
	    fsync(dir) < 0)
		return -errno;
	return 0;
}

static int drop_link(int dir, const char *which)
{
	return unlinkat(dir, which, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static int activate(int dir, const char *version)
{
	char had[PHX_NAME_MAX];
	int r = read_link(dir, CURRENT, had);
	if (r == 0 && phx_str_eq(had, version))
		return 0;
	if (r == 0)
		r = write_link(dir, PREVIOUS, had);
	else if (r == -ENOENT || r == -EBADMSG)
		r = drop_link(dir, PREVIOUS);
	return r < 0 ? r : write_link(dir, CURRENT, version);
}

int phx_package_activate(const char *root, const char *name, const char *version,
			 struct phx_err *err)
{
	PHX_AUTO_CLOSE int lock = -1, dir = -1;
	int r = check_names(name, version, err);
	if (r == 0)
		r = open_package_dir(root, name, &lock, &dir, err);
	if (r < 0)
		return r;
	struct stat st;
	if (fstatat(dir, version, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return phx_err_set(err, -ENOENT, "%s/%s: version %s is not unpacked here", root,
				   name, version);
	r = activate(dir, version);
	return r < 0 ? phx_err_set(err, r, "%s/%s: %s", root, name, strerror(-r)) : 0;
}

int phx_package_current(const char *root, const char *name, char ret_version[PHX_NAME_MAX],
			struct phx_err *err)
{
	int r = check_names(name, NULL, err);
	if (r < 0)
		return r;
	PHX_AUTO_FREE char *path = phx_path("%s/%s", root, name);
	if (!path)
		return -ENOMEM;
	PHX_AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = dir < 0 ? -errno : read_link(dir, CURRENT, ret_version);
	return r < 0 ? phx_err_set(err, r, "%s/" CURRENT ": %s", path, strerror(-r)) : 0;
}

/* Renamed first, so that half of a package never passes for a whole one. */
static int remove_tree(int dir, const char *dir_path, const char *what, struct phx_err *err)
{
	PHX_AUTO_FREE char *hidden = phx_path(".%s.tmp", what);
	PHX_AUTO_FREE char *path = phx_path("%s/.%s.tmp", dir_path, what);
	if (!hidden || !path)
		return -ENOMEM;
	int r = phx_dir_remove(path, err);
	if (r == 0 && renameat(dir, what, dir, hidden) < 0 && errno != ENOENT)
		r = phx_err_set(err, -errno, "%s/%s: %s", dir_path, what, strerror(errno));
	return r < 0 ? r : phx_dir_remove(path, err);
}

static int remove_version(const char *root, const char *name, const char *version, int dir,
			  struct phx_err *err)
{
	char linked[PHX_NAME_MAX];
	PHX_AUTO_FREE char *path = phx_path("%s/%s", root, name);
	if (!path)
		return -ENOMEM;
	if (read_link(dir, CURRENT, linked) == 0 && phx_str_eq(linked, version))
		return phx_err_set(err, -EBUSY, "%s: version %s is the current one", path, version);
	int r = 0;
	if (read_link(dir, PREVIOUS, linked) == 0 && phx_str_eq(linked, version))
		r = drop_link(dir, PREVIOUS);
	return r < 0 ? phx_err_set(err, r, "%s: %s", path, strerror(-r))
		     : remove_tree(dir, path, version, err);
}

int phx_package_remove(const char *root, const char *name, const char *version, struct phx_err *err)
{
	PHX_AUTO_CLOSE int lock = -1, dir = -1;
	struct phx_err why = {0};
	int r = check_names(name, version, err);
	if (r < 0)
		return r;
	if (!version) {
		r = phx_package_lock(root, &lock, err);
		return r < 0 ? r : remove_tree(lock, root, name, err);
	}
	r = open_package_dir(root, name, &lock, &dir, &why);
	if (r == -ENOENT)
		return 0;
	return r < 0 ? phx_err_set(err, r, "%s", why.text)
		     : remove_version(root, name, version, dir, err);
}
