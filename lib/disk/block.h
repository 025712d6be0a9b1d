/* A block device (or, in tests and for image files, a regular file) opened for
 * large aligned reads and writes that bypass the page cache where they can. */
#ifndef PHX_DISK_BLOCK_H
#define PHX_DISK_BLOCK_H

#include "base/util.h"

#define PHX_BLOCK_ALIGN 4096u
#define PHX_MIB (1024u * 1024u)

struct phx_block {
	int fd;
	bool is_file;
	uint32_t sector_bytes;
	uint64_t size_bytes;
	char path[64];
};

/** Called with the bytes done so far; may be NULL. */
typedef void (*phx_block_step_fn)(void *arg, uint64_t done_bytes);

/** Open; `exclusive` claims a block device (O_EXCL), so that -EBUSY says the
 * kernel uses it. Caller closes. */
int phx_block_open(const char *path, bool writable, bool exclusive, struct phx_block *ret,
		   struct phx_err *err);
/** Read size and sector anew. */
int phx_block_measure(struct phx_block *b, struct phx_err *err);
/** Safe on a zeroed or closed one (fd < 0). */
void phx_block_close(struct phx_block *b);

/** Aligned, zeroed memory; free(). NULL on ENOMEM. */
void *phx_block_buffer(size_t n);

/** Read or write all of [offset, offset + n), n and offset multiples of the
 * sector, data from phx_block_buffer(). Errors name the offset. */
int phx_block_read(const struct phx_block *b, uint64_t offset, void *ret, size_t n,
		   struct phx_err *err);
int phx_block_write(const struct phx_block *b, uint64_t offset, const void *data, size_t n,
		    struct phx_err *err);

/** Write zeros over a range with large direct writes. */
int phx_block_zero(const struct phx_block *b, uint64_t offset, uint64_t n, phx_block_step_fn step,
		   void *arg, struct phx_err *err);

/** Discard a range; -EOPNOTSUPP when the device cannot. */
int phx_block_discard(const struct phx_block *b, uint64_t offset, uint64_t n,
		      phx_block_step_fn step, void *arg, struct phx_err *err);

/** Flush what was written to the medium and forget what is cached of it. */
int phx_block_flush(const struct phx_block *b, struct phx_err *err);

/** Whether all bytes are `byte`. */
bool phx_block_is_all(const void *data, size_t n, uint8_t byte);

#endif
