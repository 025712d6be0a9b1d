/* Files that may still change: a watcher waits until they have stayed as they are for long enough.
 * By the number of their path, in no order. Used by watcher.c. Pure. */
#ifndef PHXD_YOUNG_H
#define PHXD_YOUNG_H

#include <sys/stat.h>

#include "base/hash.h"
#include "base/util.h"
#include "phxd/watcher.h"

#define YOUNG_MAX 10000      /* at a time: 10 MB; with more all is looked at again */
#define YOUNG_PATH_BYTES 512 /* of a path, its end with it */

struct young {
	uint64_t key; /* of its path: phx_seen_path() */
	struct stat was;
	int64_t due_ms;
	int fd_of; /* of its directory, borrowed */
	char name[WATCH_TEXT_MAX + 1], path[YOUNG_PATH_BYTES];
};

/** All zero has none. */
struct young_files {
	struct phx_list list; /* struct young */
	struct phx_hash by_key;
};

/** Borrowed until the next call; NULL: it is not there. */
struct young *young_find(const struct young_files *all, uint64_t key);
/** The one of this path, new or as it was. NULL: there are YOUNG_MAX already, or no memory. */
struct young *young_take(struct young_files *all, uint64_t key);
/** Drop the one at place `i`: the last one takes its place, so that who walks backwards misses
 * none. */
void young_drop(struct young_files *all, uint32_t i);
void young_fini(struct young_files *all);

#endif
