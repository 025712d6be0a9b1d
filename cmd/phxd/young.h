/* Files that may still change: a watcher waits until they have been unchanged for long enough.
 * Found by a hash of their path, in no order. Used by watcher.c. Pure. */
#ifndef PHXD_YOUNG_H
#define PHXD_YOUNG_H

#include <sys/stat.h>

#include "base/hash.h"
#include "base/util.h"
#include "phxd/watcher.h"

#define YOUNG_MAX 10000      /* entries, 10 MB; if there are more, all files are looked at again */
#define YOUNG_PATH_BYTES 512 /* of a path, with its NUL */

struct young {
	uint64_t key; /* of its path: phx_seen_path() */
	struct stat was;
	int64_t due_ms;
	int fd_of; /* of the file's directory, borrowed */
	char name[WATCH_TEXT_MAX + 1], path[YOUNG_PATH_BYTES];
};

/** Zeroed: empty. */
struct young_files {
	struct phx_list list; /* struct young */
	struct phx_hash by_key;
};

/** The entry of this path, borrowed until the next call; NULL: there is none. */
struct young *young_find(const struct young_files *all, uint64_t key);
/** The entry of this path, made if it is new; borrowed likewise. NULL: there are YOUNG_MAX already,
 * or no memory. */
struct young *young_take(struct young_files *all, uint64_t key);
/** Drops entry `i`; the last entry takes its place, so that a loop that goes backwards misses none.
 */
void young_drop(struct young_files *all, uint32_t i);
void young_fini(struct young_files *all);

#endif
