/* Files: read whole with a limit, publish by write-fsync-rename, directories. */
#ifndef PHX_BASE_FILE_H
#define PHX_BASE_FILE_H

#include <sys/types.h>

#include "base/util.h"

/** Whole file into malloc'd, NUL-terminated `*ret_data`. -EFBIG above `max`. */
int phx_file_read(const char *path, size_t max, char **ret_data, size_t *ret_n,
		  struct phx_err *err);

/** Publishes `data` at `path`: writes a temporary beside it, fsync, rename, fsync of the directory.
 * On failure the old file stays and no temporary remains; a killed process leaves one,
 * NAME.TID.tmp. */
int phx_file_write(const char *path, const void *data, size_t n, mode_t mode, struct phx_err *err);

/** Is `name` that of such a temporary, and of which thread (ret_tid, may be NULL)? */
bool phx_file_is_temporary(const char *name, pid_t *ret_tid);

/** Removes all temporaries in `dir`, if it exists. For the only process that writes in it, before
 * its first write. */
void phx_file_sweep(const char *dir);
/** Removes the temporaries of the file `path` whose threads no longer exist, in a directory where
 * others write, too. */
void phx_file_sweep_of(const char *path);
/** Is `name` that of a temporary whose thread no longer exists? */
bool phx_file_is_abandoned(const char *name);

/** Publishes the finished file `from` at `to`, in the same file system: fsync, rename, fsync of the
 * directory. On failure the file stays at `from`, unless only the last fsync failed. */
int phx_file_publish(const char *from, const char *to, struct phx_err *err);

/** Waits until `path` exists, which the process `pidfd` is about to make (-1: unknown). -ETIMEDOUT;
 * -ESRCH: that process ended without making it; another -errno: its directory cannot be watched. */
int phx_file_await(const char *path, int pidfd, uint32_t timeout_ms);

/** Is `path` safe from changes by anybody but root and our own user? It and all directories above
 * must belong to one of these two, and nobody else may write there, except in sticky directories
 * (/tmp). Links are followed, and every directory on their way is checked, too. -EPERM with a text
 * that names what others could change; -EINVAL if `path` is not absolute. */
int phx_file_trusted(const char *path, struct phx_err *err);

/** mkdir -p. An existing directory is no error. */
int phx_dir_make(const char *path, mode_t mode, struct phx_err *err);

/** malloc'd path made by printf; NULL on ENOMEM. */
char *phx_path(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** close(*fd) at scope exit: `PHX_AUTO_CLOSE int fd = -1;` */
void phx_close_fd(int *fd);
#define PHX_AUTO_CLOSE PHX_AUTO(phx_close_fd)

/** write() everything or -errno. */
int phx_write_all(int fd, const void *data, size_t n);

#endif
