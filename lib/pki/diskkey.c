/* The disk-key store: one file a key. Called by the daemon, which hands keys to deploying nodes
 * over TLS and destroys them as an erase; never logs a key and never makes a second copy.
 *
 * A key is written in place, not beside and renamed: destroying it must reach the only blocks
 * it ever lay in. A file that is short, or all zeros, is the trace of a crash in the middle
 * of making or destroying: no node was ever given such a key, so it counts as absent. */
#include "pki/pki.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static int open_dir(const char *dir, struct phx_err *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? phx_err_set(err, -errno, "%s: %s", dir, strerror(errno)) : fd;
}

static int check_id(const char *key_id, struct phx_err *err)
{
	return phx_name_valid(key_id)
		? 0
		: phx_err_set(err, -EINVAL, "'%s' is not a key id", key_id ? key_id : "");
}

static int read_key(int fd, uint8_t ret_key[PHX_DISK_KEY_SIZE])
{
	static const uint8_t zeros[PHX_DISK_KEY_SIZE];
	uint8_t more;
	ssize_t n = pread(fd, ret_key, PHX_DISK_KEY_SIZE, 0);
	if (n < 0)
		return -errno;
	if (n < PHX_DISK_KEY_SIZE || !memcmp(ret_key, zeros, sizeof(zeros)))
		return -ENOENT;
	return pread(fd, &more, 1, PHX_DISK_KEY_SIZE) == 0 ? 0 : -EBADMSG;
}

static int write_key(int fd, const uint8_t key[PHX_DISK_KEY_SIZE])
{
	ssize_t n = pwrite(fd, key, PHX_DISK_KEY_SIZE, 0);
	if (n < 0)
		return -errno;
	if (n < PHX_DISK_KEY_SIZE)
		return -ENOSPC;
	return fsync(fd) < 0 ? -errno : 0;
}

/* With the file locked: -EEXIST when it holds a key, else fill it. */
static int fill_key(int fd, int dir_fd)
{
	uint8_t key[PHX_DISK_KEY_SIZE];
	int r = read_key(fd, key);
	if (r == 0 || r == -EBADMSG)
		r = -EEXIST;
	else if (r == -ENOENT)
		r = getrandom(key, sizeof(key), 0) == sizeof(key) ? write_key(fd, key) : -EIO;
	explicit_bzero(key, sizeof(key));
	if (r == 0 && fsync(dir_fd) < 0)
		r = -errno;
	return r;
}

/* Open and lock, knowing that another may unlink it in between. */
static int open_locked(int dir_fd, const char *key_id, int flags)
{
	for (;;) {
		struct stat held, named;
		int fd = openat(dir_fd, key_id, flags | O_SYNC | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX) < 0 || fstat(fd, &held) < 0) {
			int r = -errno;
			close(fd);
			return r;
		}
		if (fstatat(dir_fd, key_id, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		    named.st_ino == held.st_ino)
			return fd;
		close(fd);
	}
}

int phx_diskkey_make(const char *dir, const char *key_id, struct phx_err *err)
{
	int r = check_id(key_id, err);
	if (r == 0)
		r = phx_dir_make(dir, 0700, err);
	if (r < 0)
		return r;
	PHX_AUTO_CLOSE int dir_fd = open_dir(dir, err);
	if (dir_fd < 0)
		return dir_fd;
	if (fchmod(dir_fd, 0700) < 0)
		return phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	PHX_AUTO_CLOSE int fd = open_locked(dir_fd, key_id, O_RDWR | O_CREAT);
	r = fd < 0 ? fd : fill_key(fd, dir_fd);
	if (r == -EEXIST)
		return phx_err_set(err, r, "disk key '%s': exists already", key_id);
	return r < 0 ? phx_err_set(err, r, "disk key '%s': %s", key_id, strerror(-r)) : 0;
}

int phx_diskkey_read(const char *dir, const char *key_id, uint8_t ret_key[PHX_DISK_KEY_SIZE],
		     struct phx_err *err)
{
	int r = check_id(key_id, err);
	if (r < 0)
		return r;
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, key_id);
	PHX_AUTO_CLOSE int fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	uint8_t key[PHX_DISK_KEY_SIZE];
	r = fd < 0 ? -errno : read_key(fd, key);
	if (r == 0)
		memcpy(ret_key, key, sizeof(key));
	explicit_bzero(key, sizeof(key));
	if (r == -ENOENT)
		return phx_err_set(
			err, r, "disk key '%s': there is none (never made, or destroyed)", key_id);
	if (r == -EBADMSG)
		return phx_err_set(err, r, "disk key '%s': not %d bytes long", key_id,
				   PHX_DISK_KEY_SIZE);
	return r < 0 ? phx_err_set(err, r, "disk key '%s': %s", key_id, strerror(-r)) : 0;
}

/* Zeros over all of a file's bytes, on the disk when this returns. */
static int overwrite(int fd)
{
	static const uint8_t zeros[PHX_DISK_KEY_SIZE];
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	for (off_t at = 0; at < st.st_size; at += (off_t)sizeof(zeros))
		if (pwrite(fd, zeros, sizeof(zeros), at) != sizeof(zeros))
			return errno ? -errno : -EIO;
	return fsync(fd) < 0 ? -errno : 0;
}

int phx_diskkey_destroy(const char *dir, const char *key_id, struct phx_err *err)
{
	int r = check_id(key_id, err);
	if (r < 0)
		return r;
	PHX_AUTO_CLOSE int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 && errno == ENOENT)
		return 0;
	if (dir_fd < 0)
		return phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	PHX_AUTO_CLOSE int fd = open_locked(dir_fd, key_id, O_RDWR);
	r = fd < 0 ? fd : overwrite(fd);
	if (r == 0 && unlinkat(dir_fd, key_id, 0) < 0)
		r = -errno;
	/* A missing key too: it may have been unlinked just before a crash. */
	if ((r == 0 || r == -ENOENT) && fsync(dir_fd) < 0)
		r = -errno;
	return r < 0 && r != -ENOENT
		? phx_err_set(err, r, "disk key '%s': %s", key_id, strerror(-r))
		: 0;
}
