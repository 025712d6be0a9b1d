/* The bytes of an archive of the head on their way into a file and out of it: as they are, or
 * sealed with a passphrase. A sealed file is
 *
 *	"phoenix-backup-1" SALT(16) CHUNK...
 *
 * each chunk 64 KiB (the last one less, and maybe nothing) by AES-256-GCM with its tag behind it.
 * The key comes from passphrase and salt by scrypt (N 2^17, r 8, p 1: 128 MiB, half a second a
 * guess); the nonce is the number of the chunk and whether it is the last one, so that none can be
 * altered, left out, moved or cut off unnoticed. Nothing that was not proven leaves
 * phx_backup_in_read(). */
#ifndef PHX_BACKUP_STREAM_H
#define PHX_BACKUP_STREAM_H

#include <sys/types.h>

#include "base/util.h"

enum { PHX_PASSPHRASE_MIN = 12, PHX_PASSPHRASE_MAX = 1024 };

/** The first line of a file that nobody else may read; the caller wipes `ret`. -EINVAL: it is
 * shorter than PHX_PASSPHRASE_MIN; -EPERM: others may read it. */
int phx_passphrase_read(const char *path, char ret[PHX_PASSPHRASE_MAX], struct phx_err *err);

struct phx_backup_out;
/** Write into `fd`, which is borrowed; `passphrase` NULL: not sealed. */
int phx_backup_out_open(int fd, const char *passphrase, struct phx_backup_out **ret,
			struct phx_err *err);
/** 0 or a negative errno, which stays. */
int phx_backup_out_write(struct phx_backup_out *o, const void *data, size_t n);
/** The end is written: without it a sealed file counts as cut off. */
int phx_backup_out_end(struct phx_backup_out *o);
/** Safe on NULL. */
void phx_backup_out_free(struct phx_backup_out *o);

struct phx_backup_in;
/** Read from `fd`, which is borrowed. -ENOKEY: it is sealed, and there is no passphrase. */
int phx_backup_in_open(int fd, const char *passphrase, struct phx_backup_in **ret,
		       struct phx_err *err);
bool phx_backup_in_sealed(const struct phx_backup_in *i);
/** The next bytes, borrowed until the next call: how many; 0 at the end. -EBADMSG: altered, cut
 * off, or another passphrase. */
ssize_t phx_backup_in_read(struct phx_backup_in *i, const void **ret, struct phx_err *err);
/** Safe on NULL. */
void phx_backup_in_free(struct phx_backup_in *i);

#endif
