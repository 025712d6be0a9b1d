/* See beneath.h. Called by phxd for the data of runtime environments and by the agent for the
 * directories of jobs. Opens a path part by part without following links, so renaming a directory
 * meanwhile leads nowhere else. */
#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/util.h"

enum { PATH_BYTES_MAX = 255, BLOCK = 65536, TEMP_MAX = 40 };

/* A file that already has this owner is left alone: without root even the attempt would fail. */
static int give(int to, struct phx_beneath_owner owner)
{
	struct stat st;
	if (fstat(to, &st) < 0)
		return -errno;
	bool his = st.st_uid == owner.uid && st.st_gid == owner.gid;
	return his || fchown(to, owner.uid, owner.gid) == 0 ? 0 : -errno;
}

static int enter(int dir, const char *name, const struct phx_beneath_owner *make)
{
	bool made = make && mkdirat(dir, name, 0755) == 0;
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTDIR ? -ELOOP : -errno;
	int r = made ? give(fd, *make) : 0;
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

/* Opens the directory of `path`; ret_name is its last part. Missing directories are made for the
 * owner `make`, if given. */
static int open_parent(int dir, const char *path, const struct phx_beneath_owner *make,
		       const char **ret_name, struct phx_err *err)
{
	char part[PATH_BYTES_MAX + 1];
	int r = phx_beneath_check(path, err);
	if (r < 0)
		return r;
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *at = path;
	r = fd < 0 ? -errno : 0;
	for (const char *slash; r >= 0 && (slash = strchr(at, '/')); at = slash + 1) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - at), at);
		r = enter(fd, part, make);
		close(fd);
		fd = r;
	}
	*ret_name = at;
	return r >= 0 ? fd : phx_err_set(err, r, "%s: %s", path, strerror(-r));
}

int phx_beneath_open(int dir, const char *path, uint64_t max, uint64_t *ret_size,
		     struct phx_err *err)
{
	const char *name;
	struct stat st;
	PHX_AUTO_CLOSE int parent = open_parent(dir, path, NULL, &name, err);
	if (parent < 0)
		return parent;
	/* opening a device may already have an effect on it, and a socket cannot be opened at
	 * all */
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) &&
	    !S_ISLNK(st.st_mode))
		return phx_err_set(err, -EINVAL, "%s: is no regular file", path);
	int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	int r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r < 0 || !S_ISREG(st.st_mode))
		r = phx_err_set(err, r ? r : -EINVAL, "%s: is no regular file", path);
	else if ((uint64_t)st.st_size > max)
		r = phx_err_set(err, -EFBIG, "%s: %llu bytes, at most %llu are carried", path,
				(unsigned long long)st.st_size, (unsigned long long)max);
	if (r < 0) {
		close(fd);
		return r;
	}
	*ret_size = (uint64_t)st.st_size;
	return fd;
}

int phx_beneath_remove(int dir, const char *path, struct phx_err *err)
{
	const char *name;
	struct stat st;
	PHX_AUTO_CLOSE int parent = open_parent(dir, path, NULL, &name, err);
	if (parent < 0)
		return parent;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return phx_err_set(err, -EINVAL, "%s: is no regular file", path);
	if (unlinkat(parent, name, 0) < 0 || fsync(parent) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

static int write_all(int to, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(to, p, n);
		if (w < 0 && errno != EINTR)
			return -errno;
		p += w > 0 ? w : 0;
		n -= w > 0 ? (size_t)w : 0;
	}
	return 0;
}

static int copy(int from, int to, uint64_t max)
{
	PHX_AUTO_FREE char *block = malloc(BLOCK);
	uint64_t n = 0;
	int r = block ? 0 : -ENOMEM;
	for (ssize_t got; r == 0 && (got = read(from, block, BLOCK)) != 0;) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		n += (uint64_t)got;
		r = n > max ? -EFBIG : write_all(to, block, (size_t)got);
	}
	return r;
}

static int fill(int to, int from, uint64_t max, struct phx_beneath_owner owner)
{
	int r = copy(from, to, max);
	r = r ? r : give(to, owner);
	mode_t mode = owner.mode ? owner.mode & 0777 : 0644;
	return r == 0 && (fchmod(to, mode) < 0 || fsync(to) < 0) ? -errno : r;
}

/* Opens a file without a name if the file system supports it, so that a killed process leaves
 * nothing; otherwise one named `temp`. */
static int open_temporary(int parent, const char *temp, bool *ret_named)
{
	int fd = openat(parent, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	*ret_named = fd < 0;
	if (fd < 0)
		fd = openat(parent, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
	return fd < 0 ? -errno : fd;
}

static int link_to(int fd, int parent, const char *name)
{
	char opened[32];
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, opened, parent, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* Gives the complete file its name, always by a rename: that replaces a file, and who watches the
 * directory is told that a file has come whole. Of one that is linked to its name he is told only
 * that it begins, and never that it is complete. */
static int take_name(int fd, int parent, const char *temp, const char *name, bool named)
{
	int r = named ? 0 : link_to(fd, parent, temp);
	return r == 0 && renameat(parent, temp, parent, name) < 0 ? -errno : r;
}

static const char temporary[] = ".phx-";

bool phx_beneath_is_temporary(const char *name)
{
	size_t n = sizeof(temporary) - 1;
	return !strncmp(name, temporary, n) && strlen(name) == n + 16 &&
		strspn(name + n, "0123456789abcdef") == 16;
}

static void name_temporary(char ret[TEMP_MAX])
{
	uint64_t draw = 0;
	(void)!getrandom(&draw, sizeof(draw), 0);
	snprintf(ret, TEMP_MAX, "%s%016llx", temporary, (unsigned long long)draw);
}

/* Made beside it and renamed, so that a link is there before and after. */
static int replace_link(int parent, const char *name, const char *target,
			struct phx_beneath_owner owner)
{
	char temp[TEMP_MAX];
	struct stat st;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode))
		return -EEXIST;
	name_temporary(temp);
	if (symlinkat(target, parent, temp) < 0)
		return -errno;
	bool his = fstatat(parent, temp, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == owner.uid &&
		st.st_gid == owner.gid;
	int r = his || fchownat(parent, temp, owner.uid, owner.gid, AT_SYMLINK_NOFOLLOW) == 0
		? 0
		: -errno;
	if (r == 0 && (renameat(parent, temp, parent, name) < 0 || fsync(parent) < 0))
		r = -errno;
	if (r < 0)
		unlinkat(parent, temp, 0);
	return r;
}

int phx_beneath_link(int dir, const char *path, const char *target, struct phx_beneath_owner owner,
		     struct phx_err *err)
{
	const char *name;
	const struct phx_beneath_owner above = {.uid = owner.uid, .gid = owner.gid};
	if (!target[0] || strlen(target) > PATH_BYTES_MAX)
		return phx_err_set(err, -EINVAL, "%s: a link leads somewhere, in %d bytes at most",
				   path, PATH_BYTES_MAX);
	PHX_AUTO_CLOSE int parent = open_parent(dir, path, &above, &name, err);
	int r = parent < 0 ? 0 : replace_link(parent, name, target, owner);
	if (parent < 0)
		return parent;
	return r < 0 ? phx_err_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}

int phx_beneath_dir(int dir, const char *path, struct phx_beneath_owner owner, struct phx_err *err)
{
	const char *name;
	const struct phx_beneath_owner above = {.uid = owner.uid, .gid = owner.gid};
	PHX_AUTO_CLOSE int parent = open_parent(dir, path, &above, &name, err);
	if (parent < 0)
		return parent;
	PHX_AUTO_CLOSE int fd = enter(parent, name, &above);
	int r = fd < 0 ? fd : 0;
	if (r == 0 && owner.mode && fchmod(fd, owner.mode & 0777) < 0)
		r = -errno;
	if (r == 0 && fsync(parent) < 0)
		r = -errno;
	return r < 0 ? phx_err_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}

int phx_beneath_publish(int dir, const char *path, int from, uint64_t max,
			struct phx_beneath_owner owner, struct phx_err *err)
{
	const char *name;
	char temp[TEMP_MAX];
	bool named = false;
	if (!phx_id_valid(owner.uid) || !phx_id_valid(owner.gid))
		return phx_err_set(err, -EINVAL, "%s: %u is no number of a user or group", path,
				   UINT32_MAX);
	PHX_AUTO_CLOSE int parent = open_parent(dir, path, &owner, &name, err);
	if (parent < 0)
		return parent;
	name_temporary(temp);
	PHX_AUTO_CLOSE int to = open_temporary(parent, temp, &named);
	int r = to < 0 ? to : fill(to, from, max, owner);
	if (r == 0)
		r = take_name(to, parent, temp, name, named);
	if (r == 0 && fsync(parent) < 0)
		r = -errno;
	if (r < 0 && to >= 0)
		unlinkat(parent, temp, 0);
	return r < 0 ? phx_err_set(err, r, "%s: %s", path,
				   r == -EFBIG ? "is larger than may be carried" : strerror(-r))
		     : 0;
}
