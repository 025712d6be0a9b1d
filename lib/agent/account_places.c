/* See account_places.h. Every directory is reached through the descriptor of the one above it,
 * which nobody but root may write to; so no name that a member made is ever resolved. */
#include "agent/account_places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"

/* -EPERM unless the directory is ours, and writable by nobody else. */
static int check_ours(int fd, const char *path, struct phx_err *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (st.st_uid == geteuid() && !(st.st_mode & 022))
		return 0;
	return phx_err_set(
		err, -EPERM,
		"%s: others may write there (owner %u, mode %04o): what members have below "
		"it would not be theirs alone",
		path, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
}

/* Opens directory `name` below `at`. `path`: of the directory above, for error texts. */
static int open_below(int at, const char *path, const char *name, struct phx_err *err)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? phx_err_set(err, -errno, "%s/%s: %s", path, name, strerror(errno)) : fd;
}

static int open_ours(int at, const char *path, const char *name, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open_below(at, path, name, err);
	int r = fd < 0 ? fd : check_ours(fd, path, err);
	if (r < 0)
		return r;
	int taken = fd;
	fd = -1;
	return taken;
}

/* Makes a directory that belongs to the account. One that a crash left may safely change its owner:
 * nobody else writes to the directory above it. */
static int make_his(int at, const char *path, const struct phx_account *a, const char *name,
		    struct phx_err *err)
{
	struct stat st;
	if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return phx_err_set(err, -errno, "%s/%s: %s", path, name, strerror(errno));
	PHX_AUTO_CLOSE int fd = open_below(at, path, name, err);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 ||
	    ((st.st_uid != a->uid || st.st_gid != a->gid) && fchown(fd, a->uid, a->gid) < 0))
		return phx_err_set(err, -errno, "%s/%s: %s", path, name, strerror(errno));
	return 0;
}

/* ---- scratch ---- */

static int open_scratch(const char *scratch, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? phx_err_set(err, -errno, "%s: %s", scratch, strerror(errno))
		       : check_ours(fd, scratch, err);
	if (r < 0)
		return r;
	int taken = fd;
	fd = -1;
	return taken;
}

int account_scratch_make(const char *scratch, const char *re, const struct phx_account *a,
			 struct phx_err *err)
{
	if (access(scratch, F_OK) < 0) {
		int r = phx_dir_make(scratch, 0755, err);
		if (r < 0)
			return r;
	}
	PHX_AUTO_CLOSE int above = open_scratch(scratch, err);
	if (above < 0)
		return above;
	if (mkdirat(above, re, 0711) == 0 && fchmodat(above, re, 0711, 0) < 0)
		return phx_err_set(err, -errno, "%s/%s: %s", scratch, re, strerror(errno));
	PHX_AUTO_CLOSE int dir = open_ours(above, scratch, re, err);
	return dir < 0 ? dir : make_his(dir, re, a, a->name, err);
}

int account_scratch_remove(const char *scratch, const char *re, const char *name,
			   struct phx_err *err)
{
	struct phx_err why = {0};
	PHX_AUTO_CLOSE int above = open_scratch(scratch, &why);
	if (above == -ENOENT || above == -EPERM) /* we never make anything there */
		return 0;
	if (above < 0)
		return phx_err_set(err, above, "%s", why.text);
	if (!name)
		return phx_tree_remove(above, re, err);
	PHX_AUTO_CLOSE int dir = open_ours(above, scratch, re, &why);
	if (dir == -ENOENT)
		return 0;
	return dir < 0 ? phx_err_set(err, dir, "%s", why.text) : phx_tree_remove(dir, name, err);
}

static bool has_his(int above, const char *re, const struct phx_list *accounts)
{
	struct stat st;
	PHX_AUTO_CLOSE int dir = openat(above, re, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	PHX_LIST_EACH(struct phx_account, a, accounts)
		if (dir >= 0 && fstatat(dir, a->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode) && st.st_uid == a->uid)
			return true;
	return false;
}

bool account_scratch_find(const char *scratch, const struct phx_list *accounts,
			  char ret_re[PHX_NAME_MAX])
{
	char found[PHX_NAME_MAX];
	unsigned n = 0;
	int above = open_scratch(scratch, NULL);
	DIR *d = above < 0 ? NULL : fdopendir(above);
	if (!d && above >= 0)
		close(above);
	for (const struct dirent *e; d && (e = readdir(d));)
		if (phx_name_valid(e->d_name) && has_his(dirfd(d), e->d_name, accounts) &&
		    PHX_STR_SET(found, e->d_name) == 0)
			n++;
	if (d)
		closedir(d);
	if (n == 1)
		phx_str_copy(ret_re, PHX_NAME_MAX, found);
	return n == 1;
}

/* ---- homes ---- */

/* Opens the directory `name` of the way to a home, and closes the one above it, to which nobody but
 * root may write: a link there is root's. */
static int enter(int above, const char *home, const char *name, struct phx_err *err)
{
	PHX_AUTO_CLOSE int at = above;
	PHX_AUTO_CLOSE int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? phx_err_set(err, -errno, "%s: %s: %s", home, name, strerror(errno))
		       : check_ours(fd, home, err);
	if (r < 0)
		return r;
	int taken = fd;
	fd = -1;
	return taken;
}

/* Opens the directory above a home. ret_name: the home's name in it, borrowed from `home`. */
static int open_above(const char *root, const char *home, const char **ret_name,
		      struct phx_err *err)
{
	struct stat st, top;
	char part[sizeof(((struct phx_account *)0)->home)];
	const char *at = home + 1, *end;
	if (home[0] != '/' || !strrchr(home, '/')[1])
		return phx_err_set(err, -EINVAL, "%s: is no home", home);
	int fd = enter(AT_FDCWD, home, root[0] ? root : "/", err);
	if (fd >= 0 && fstat(fd, &top) < 0)
		memset(&top, 0, sizeof(top));
	for (; fd >= 0 && (end = strchr(at, '/')); at = end + 1) {
		snprintf(part, sizeof(part), "%.*s", (int)(end - at), at);
		fd = enter(fd, home, part, err);
	}
	int r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : st.st_dev == top.st_dev ? 0 : -EXDEV;
	if (fd >= 0 && r < 0) {
		close(fd);
		return phx_err_set(err, r, "%s: is not on the node's own file system", home);
	}
	if (fd >= 0)
		*ret_name = at;
	return fd;
}

bool account_home_lacks(const char *root, const struct phx_account *a)
{
	struct stat st;
	const char *name;
	PHX_AUTO_CLOSE int above = open_above(root, a->home, &name, NULL);
	return above >= 0 && fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

int account_home_make(const char *root, const struct phx_account *a, struct phx_err *err)
{
	const char *name;
	PHX_AUTO_CLOSE int above = open_above(root, a->home, &name, err);
	return above < 0 ? above : make_his(above, root, a, name, err);
}

int account_home_remove(const char *root, const char *home, struct phx_err *err)
{
	const char *name;
	struct phx_err why = {0};
	PHX_AUTO_CLOSE int above = open_above(root, home, &name, &why);
	if (above == -ENOENT)
		return 0;
	return above < 0 ? phx_err_set(err, above, "%s", why.text)
			 : phx_tree_remove(above, name, err);
}
