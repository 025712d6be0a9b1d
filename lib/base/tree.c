/* See tree.h. A directory within the tree is moved to the tree's top before it is emptied, so two
 * descriptors suffice for any depth; every file is reached by the descriptor of its directory.
 * Never follows a link, never enters a mount. */
#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/util.h"

/* How many rounds to try while somebody still writes there (a round also takes one level off a deep
 * tree), and how many mounts on top of each other to detach. */
enum { ROUNDS = 1 << 20, MOUNTS = 64 };

struct work {
	int top;
	bool keeps_mounts;
	unsigned moved; /* counter for the names of directories that were moved to the top */
	uint64_t done;  /* entries removed or moved up */
	int first;      /* negative errno of the first entry that stayed */
	char what[256];
};

static void stays(struct work *w, const char *name, int r)
{
	if (w->first)
		return;
	w->first = r;
	snprintf(w->what, sizeof(w->what), "%s", name);
}

/* ---- one name ---- */

/* -EXDEV: something is mounted on it. */
static int open_in(int dir, const char *name, int flags)
{
	const struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					     RESOLVE_NO_XDEV};
	int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

/* Detaches what is mounted on the name, which is not resolved further. */
static int unmount(int dir, const char *name)
{
	PHX_AUTO_FREE char *path = phx_path("/proc/self/fd/%d/%s", dir, name);
	if (!path)
		return -ENOMEM;
	return umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 ? -errno : 0;
}

/* Clears "immutable" and "append only" of an open file or directory; leaves anything else alone. */
static void unlock_fd(int path_fd)
{
	char name[64];
	int flags = 0;
	struct stat st;
	if (fstat(path_fd, &st) < 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	PHX_AUTO_CLOSE int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 &&
	    flags & (FS_IMMUTABLE_FL | FS_APPEND_FL)) {
		flags &= ~(FS_IMMUTABLE_FL | FS_APPEND_FL);
		ioctl(fd, FS_IOC_SETFLAGS, &flags);
	}
}

static void unlock(int dir, const char *name)
{
	PHX_AUTO_CLOSE int fd = open_in(dir, name, O_PATH);
	if (fd >= 0)
		unlock_fd(fd);
	unlock_fd(dir);
}

/* Calls `act` until nothing is mounted there and no flag protects it. */
static int insist(int dir, const char *name, int (*act)(struct work *w, int dir, const char *name),
		  struct work *w)
{
	int r = act(w, dir, name);
	for (int i = 0; i < MOUNTS && !w->keeps_mounts && (r == -EBUSY || r == -EXDEV); i++)
		r = unmount(dir, name) < 0 ? r : act(w, dir, name);
	if (r == -EPERM || r == -EACCES) {
		unlock(dir, name);
		r = act(w, dir, name);
	}
	return r == -ENOENT ? 0 : r;
}

static int take_file(struct work *w, int dir, const char *name)
{
	(void)w;
	return unlinkat(dir, name, 0) < 0 ? -errno : 0;
}

static int take_dir(struct work *w, int dir, const char *name)
{
	(void)w;
	return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int move_up(struct work *w, int dir, const char *name)
{
	char to[32];
	int r;
	do {
		snprintf(to, sizeof(to), ".phx-%u", w->moved++);
		r = renameat2(dir, name, w->top, to, RENAME_NOREPLACE) < 0 ? -errno : 0;
	} while (r == -EEXIST);
	return r;
}

/* ---- directories ---- */

static bool is_dir(int dir, const struct dirent *e)
{
	struct stat st;
	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_DIR;
	return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
		S_ISDIR(st.st_mode);
}

/* Calls act() for each entry; returns how many there were. */
static unsigned each_entry(int dir, struct work *w,
			   void (*act)(struct work *w, int dir, const struct dirent *e))
{
	unsigned n = 0;
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !d)
		close(fd);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		n++;
		act(w, dir, e);
	}
	if (d)
		closedir(d);
	return n;
}

static void note(struct work *w, const char *name, int r)
{
	if (r < 0)
		stays(w, name, r);
	else
		w->done++;
}

/* For entries of a directory within the tree: files are removed, directories move up. */
static void clear_entry(struct work *w, int dir, const struct dirent *e)
{
	note(w, e->d_name, insist(dir, e->d_name, is_dir(dir, e) ? move_up : take_file, w));
}

/* Repeats until nothing is left, or nothing more can be removed. */
static void clear(struct work *w, int dir,
		  void (*act)(struct work *w, int dir, const struct dirent *e))
{
	uint64_t before = w->done - 1;
	for (int i = 0; i < ROUNDS && w->done != before; i++) {
		before = w->done;
		if (!each_entry(dir, w, act))
			return;
	}
}

/* Whoever had the directory, and may have it open, adds nothing to it from now on. */
static void seize(int fd)
{
	if (geteuid() == 0 && (fchown(fd, 0, 0) < 0 || fchmod(fd, 0700) < 0))
		return; /* a race with its owner then ends when he does */
}

static int empty_dir(struct work *w, int dir, const char *name)
{
	PHX_AUTO_CLOSE int fd = open_in(dir, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	seize(fd);
	clear(w, fd, clear_entry);
	return 0;
}

static void clear_top_entry(struct work *w, int top, const struct dirent *e)
{
	bool dir = is_dir(top, e);
	int r = dir ? insist(top, e->d_name, empty_dir, w) : 0;
	note(w, e->d_name, r ? r : insist(top, e->d_name, dir ? take_dir : take_file, w));
}

static int open_top(struct work *w, int at, const char *name)
{
	/* what is mounted on the very directory is its content */
	w->top = w->keeps_mounts ? openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
				 : open_in(at, name, O_RDONLY | O_DIRECTORY);
	if (w->keeps_mounts && w->top < 0)
		w->top = -errno;
	if (w->top >= 0)
		seize(w->top);
	return w->top < 0 ? w->top : 0;
}

/* `said`: what the text calls it. */
static int remove_tree(int at, const char *name, bool keeps_mounts, const char *said,
		       struct phx_err *err)
{
	struct work w = {.top = -1, .keeps_mounts = keeps_mounts};
	struct stat st;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0
				       : phx_err_set(err, -errno, "%s: %s", said, strerror(errno));
	bool dir = S_ISDIR(st.st_mode);
	int r = dir ? insist(at, name, open_top, &w) : 0;
	if (w.top >= 0) {
		clear(&w, w.top, clear_top_entry);
		close(w.top);
	}
	r = r ? r : insist(at, name, dir ? take_dir : take_file, &w);
	if (r == -ENOTEMPTY && w.first)
		r = w.first;
	return r < 0 ? phx_err_set(err, r, "%s: %s%s%s", said, w.what, w.what[0] ? ": " : "",
				   strerror(-r))
		     : 0;
}

int phx_tree_remove(int at, const char *name, struct phx_err *err)
{
	if (!name[0] || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return phx_err_set(err, -EINVAL, "'%s' is not one part of a path", name);
	return remove_tree(at, name, false, name, err);
}

int phx_dir_remove(const char *path, struct phx_err *err)
{
	PHX_AUTO_FREE char *copy = strdup(path);
	size_t n = copy ? strlen(copy) : 0;
	while (n > 1 && copy[n - 1] == '/')
		copy[--n] = '\0';
	char *slash = copy ? strrchr(copy, '/') : NULL;
	const char *name = slash ? slash + 1 : copy, *above = slash == copy ? "/" : copy;
	if (!copy || !name[0])
		return copy ? phx_err_set(err, -EINVAL, "'%s' cannot be removed", path) : -ENOMEM;
	if (slash)
		*slash = '\0';
	PHX_AUTO_CLOSE int at = open(slash ? above : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return errno == ENOENT ? 0
				       : phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return remove_tree(at, name, true, path, err);
}
