/* A tar of somebody else, looked at before it is unpacked: how much it holds, and whether a name in
 * it leads out. Inside lib/deploy; writes nothing. */
#ifndef PHX_DEPLOY_LAYER_H
#define PHX_DEPLOY_LAYER_H

#include "base/util.h"

/** What was counted, over all layers, and how much may be. */
struct phx_layer_count {
	uint64_t bytes, entries; /* bytes as they take place on a disk, in blocks of 4 KiB */
	uint64_t bytes_max, entries_max;
};

/** Reads the tar in `file` (gzip, bzip2, xz, zstd, or none) to its end, and adds what it holds to
 * `count`. `whiteouts`: it is a layer of a container, in which ".wh.NAME" takes NAME away. Every
 * name stays below the root once leading slashes are off; links may point where they like, for
 * they are followed inside the root. -EINVAL names the entry: "..", a name that cannot be read, a
 * whiteout of nothing or of a whiteout; cut short or no tar at all. -E2BIG: it unpacks to more than
 * may be. */
int phx_layer_scan(const char *file, bool whiteouts, struct phx_layer_count *count,
		   struct phx_err *err);

/** The file `name` of the tar in `file`, at most `max` bytes, malloc'd and NUL-terminated.
 * -ENOENT: there is none in it; -EINVAL. */
int phx_layer_read(const char *file, const char *name, size_t max, char **ret, size_t *ret_n,
		   struct phx_err *err);

#endif
