/* Block devices and files that stand for them: see block.h. Called by the
 * wipe, read-back and image code of this room; never chooses a device. */
#include "disk/block.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { ZERO_CHUNK = 4 * PHX_MIB };
#define DISCARD_CHUNK (1024ull * PHX_MIB)

int phx_block_measure(struct phx_block *b, struct phx_err *err)
{
	struct stat st;
	int sector = 512;
	if (fstat(b->fd, &st) < 0)
		return phx_err_set(err, -errno, "%s: %s", b->path, strerror(errno));
	b->is_file = S_ISREG(st.st_mode);
	if (b->is_file)
		b->size_bytes = (uint64_t)st.st_size;
	else if (!S_ISBLK(st.st_mode))
		return phx_err_set(err, -ENOTBLK, "%s: is neither a block device nor a file",
				   b->path);
	else if (ioctl(b->fd, BLKGETSIZE64, &b->size_bytes) < 0 ||
		 ioctl(b->fd, BLKSSZGET, &sector) < 0)
		return phx_err_set(err, -errno, "%s: size: %s", b->path, strerror(errno));
	b->sector_bytes = (uint32_t)sector;
	return 0;
}

/* Direct I/O where the file system can; a file on tmpfs cannot. */
static int open_direct(const char *path, int flags)
{
	int fd = open(path, flags | O_DIRECT);
	return fd < 0 && errno == EINVAL ? open(path, flags) : fd;
}

int phx_block_open(const char *path, bool writable, bool exclusive, struct phx_block *ret,
		   struct phx_err *err)
{
	struct phx_block b = {.fd = -1};
	if (PHX_STR_SET(b.path, path) < 0)
		return phx_err_set(err, -ENAMETOOLONG, "%s: the path is longer than %zu bytes",
				   path, sizeof(b.path) - 1);
	b.fd = open_direct(path,
			   O_CLOEXEC | (writable ? O_RDWR : O_RDONLY) | (exclusive ? O_EXCL : 0));
	if (b.fd < 0)
		return phx_err_set(err, -errno, "%s: %s", path,
				   errno == EBUSY ? "is in use by the kernel" : strerror(errno));
	int r = phx_block_measure(&b, err);
	if (r < 0)
		phx_block_close(&b);
	else
		*ret = b;
	return r;
}

void phx_block_close(struct phx_block *b)
{
	phx_close_fd(&b->fd);
}

void *phx_block_buffer(size_t n)
{
	void *p = NULL;
	if (posix_memalign(&p, PHX_BLOCK_ALIGN, n))
		return NULL;
	return memset(p, 0, n);
}

int phx_block_read(const struct phx_block *b, uint64_t offset, void *ret, size_t n,
		   struct phx_err *err)
{
	for (size_t done = 0; done < n;) {
		ssize_t r = pread(b->fd, (char *)ret + done, n - done, (off_t)(offset + done));
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return phx_err_set(
				err, r ? -errno : -EIO, "%s: reading at byte %" PRIu64 ": %s",
				b->path, offset + done, r ? strerror(errno) : "end of the device");
		done += (size_t)r;
	}
	return 0;
}

int phx_block_write(const struct phx_block *b, uint64_t offset, const void *data, size_t n,
		    struct phx_err *err)
{
	for (size_t done = 0; done < n;) {
		ssize_t w =
			pwrite(b->fd, (const char *)data + done, n - done, (off_t)(offset + done));
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return phx_err_set(err, w ? -errno : -EIO,
					   "%s: writing at byte %" PRIu64 ": %s", b->path,
					   offset + done, w ? strerror(errno) : "nothing written");
		done += (size_t)w;
	}
	return 0;
}

int phx_block_zero(const struct phx_block *b, uint64_t offset, uint64_t n, phx_block_step_fn step,
		   void *arg, struct phx_err *err)
{
	size_t chunk = n < ZERO_CHUNK ? (size_t)n : ZERO_CHUNK;
	PHX_AUTO_FREE void *zeros = phx_block_buffer(chunk ? chunk : 1);
	if (!zeros)
		return phx_err_set(err, -ENOMEM, "out of memory");
	for (uint64_t done = 0; done < n;) {
		size_t now = n - done < chunk ? (size_t)(n - done) : chunk;
		int r = phx_block_write(b, offset + done, zeros, now, err);
		if (r < 0)
			return r;
		done += now;
		if (step)
			step(arg, done);
	}
	return 0;
}

static int discard_range(const struct phx_block *b, uint64_t offset, uint64_t n)
{
	uint64_t range[2] = {offset, n};
	if (b->is_file)
		return fallocate(b->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
				 (off_t)n);
	return ioctl(b->fd, BLKDISCARD, range);
}

int phx_block_discard(const struct phx_block *b, uint64_t offset, uint64_t n,
		      phx_block_step_fn step, void *arg, struct phx_err *err)
{
	for (uint64_t done = 0; done < n;) {
		uint64_t now = n - done < DISCARD_CHUNK ? n - done : DISCARD_CHUNK;
		if (discard_range(b, offset + done, now) < 0)
			return phx_err_set(err, -errno, "%s: discard at byte %" PRIu64 ": %s",
					   b->path, offset + done, strerror(errno));
		done += now;
		if (step)
			step(arg, done);
	}
	return 0;
}

int phx_block_flush(const struct phx_block *b, struct phx_err *err)
{
	if (fsync(b->fd) < 0)
		return phx_err_set(err, -errno, "%s: flushing: %s", b->path, strerror(errno));
	if (b->is_file)
		posix_fadvise(b->fd, 0, 0, POSIX_FADV_DONTNEED);
	else if (ioctl(b->fd, BLKFLSBUF) < 0)
		return phx_err_set(err, -errno, "%s: emptying the cache: %s", b->path,
				   strerror(errno));
	return 0;
}

bool phx_block_is_all(const void *data, size_t n, uint8_t byte)
{
	const uint8_t *p = data;
	return n == 0 || (p[0] == byte && memcmp(p, p + 1, n - 1) == 0);
}
