/* Records kept as files of JSON, each in a file of its own. */
#ifndef PHX_BASE_RECORD_FILE_H
#define PHX_BASE_RECORD_FILE_H

#include <sys/types.h>

#include "base/record.h"

/** Fills `ret` from the file at `path`, of at most `max` bytes; the caller frees it by
 * phx_record_fini(). Errors of phx_file_read() (-ENOENT, -EFBIG, …), -EINVAL with a text that names
 * the file and the member; -ENOMEM also if path is NULL. */
int phx_record_file_read(const char *path, size_t max, const struct phx_record *rec, void *ret,
			 struct phx_err *err);
/** The same for a file that one can do without: without it `ret` is zeroed, and one that is damaged
 * becomes PATH.damaged, beside it. 1: it was damaged, `err` says how. */
int phx_record_file_recover(const char *path, size_t max, const struct phx_record *rec, void *ret,
			    struct phx_err *err);
/** Replaces the file at `path` as phx_file_write() does. -ENOMEM also if path is NULL. */
int phx_record_file_write(const char *path, const struct phx_record *rec, const void *obj,
			  mode_t mode, struct phx_err *err);

#endif
