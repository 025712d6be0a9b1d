/* Attributes of sysfs and procfs below a root directory: "" is the running
 * machine, anything else a fixture. Used by lib/inventory and lib/disk. */
#ifndef PHX_BASE_SYSFS_H
#define PHX_BASE_SYSFS_H

#include <sys/types.h>

#include "base/util.h"

/** The first `size - 1` bytes of ROOT/PATH as text: cut at the first NUL, blanks at both ends
 * removed, bytes that are not printable ASCII replaced by '?' (text from firmware must be valid in
 * JSON; newlines stay). -errno leaves ret "". */
int phx_sys_text(const char *root, char *ret, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/** The unsigned decimal number in ROOT/PATH, or `fallback` when there is none. */
uint64_t phx_sys_u64(const char *root, uint64_t fallback, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Raw bytes: how many were read (at most `size`), or -errno. */
ssize_t phx_sys_bytes(const char *root, void *ret, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/** Whether ROOT/PATH exists. */
bool phx_sys_has(const char *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** The final target of the link ROOT/PATH, without ROOT in front; -ENAMETOOLONG if `ret` is too
 * small. */
int phx_sys_target(const char *root, char *ret, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/** Calls `fn` for each name in the directory ROOT/PATH, sorted, without dot files. A result other
 * than 0 stops the walk and is returned. -errno if the directory cannot be read. */
int phx_sys_each(const char *root, const char *path, int (*fn)(void *arg, const char *name),
		 void *arg);

/** Trim and clean as phx_sys_text() does, in place. */
void phx_sys_clean(char *text);

#endif
