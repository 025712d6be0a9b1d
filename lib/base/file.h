/* Files: read whole with a limit, publish by write-fsync-rename, directories. */
#ifndef PHX_BASE_FILE_H
#define PHX_BASE_FILE_H

#include <sys/types.h>

#include "base/util.h"

/** Whole file into malloc'd, NUL-terminated `*ret_data`. -EFBIG above `max`. */
int phx_file_read(const char *path, size_t max, char **ret_data, size_t *ret_n,
		  struct phx_err *err);

/** Publish `data` at `path`: temporary beside it, fsync, rename, fsync of the directory. On failure
 * the old file stays and no temporary remains; who is killed leaves one, NAME.TID.tmp. */
int phx_file_write(const char *path, const void *data, size_t n, mode_t mode, struct phx_err *err);

/** Is this the name of such a temporary, and of which thread? */
bool phx_file_is_temporary(const char *name, pid_t *ret_tid);

/** Removes the temporaries in `dir`, if it is there: for whoever alone writes in it, before he
 * does. */
void phx_file_sweep(const char *dir);
/** Removes the temporaries of what is published at `path`, where others write beside it: of threads
 * that are no more. */
void phx_file_sweep_of(const char *path);
/** Is this the name of a temporary of a thread that is no more? */
bool phx_file_is_abandoned(const char *name);

/** Publish the file `from`, which somebody wrote, at `to` of the same file system: fsync, rename,
 * fsync of the directory. On failure it stays where it was, except where only the last of these
 * failed. */
int phx_file_publish(const char *from, const char *to, struct phx_err *err);

/** Wait until there is something at `path`, which `pidfd` (-1: nobody knows who) is about to make.
 * -ETIMEDOUT; -ESRCH: that process has ended without; another -errno: its folder cannot be watched.
 */
int phx_file_await(const char *path, int pidfd, uint32_t timeout_ms);

/** Can nobody change what `path` is but root, and who we are? It and all directories above belong
 * to these two and nobody else may write there, but for directories in which everybody keeps what
 * is his (/tmp). Links are followed, and all that they lead through counts. -EPERM names what
 * somebody could change. */
int phx_file_trusted(const char *path, struct phx_err *err);

/** mkdir -p. An existing directory is no error. */
int phx_dir_make(const char *path, mode_t mode, struct phx_err *err);

/** rm -rf below and including `path`, never following symbolic links, never
 * crossing into another file system. A missing path is no error. */
int phx_dir_remove(const char *path, struct phx_err *err);

/** malloc'd path made by printf; NULL on ENOMEM. */
char *phx_path(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** close(*fd) at scope exit: `PHX_AUTO_CLOSE int fd = -1;` */
void phx_close_fd(int *fd);
#define PHX_AUTO_CLOSE PHX_AUTO(phx_close_fd)

/** write() everything or -errno. */
int phx_write_all(int fd, const void *data, size_t n);

#endif
