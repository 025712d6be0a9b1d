/* Files that have fired a trigger, or that existed before it: the digest of each path. A live
 * object (base/record.h) of the core's state, so that a file fires once, even over crashes. Path
 * and digest are kept as 64 bits each: among a hundred thousand files the chance of a collision is
 * below one in a thousand million. Used by flow/trigger.h. Pure. */
#ifndef PHX_FLOW_SEEN_H
#define PHX_FLOW_SEEN_H

#include "base/record.h"

#define PHX_SEEN_MAX 100000 /* files of one trigger */
#define PHX_SEEN_KEY 17     /* room for a path's key as lower-case hexadecimal digits */

struct phx_seen_file {
	uint64_t path, digest;
};

struct phx_seen {
	struct phx_seen_file *files; /* sorted by path */
	uint32_t n, cap;
};

struct phx_seen *phx_seen_new(void);
void phx_seen_free(struct phx_seen *s);

/** The key of a path. */
uint64_t phx_seen_path(const char *path);
void phx_seen_format(uint64_t path, char ret[PHX_SEEN_KEY]);
/** Parses the key of a path. -EINVAL. */
int phx_seen_parse(const char *text, uint64_t *ret);
/** Is the file recorded with this digest (64 hexadecimal digits)? NULL: nothing is. */
bool phx_seen_has(const struct phx_seen *s, uint64_t path, const char *digest);
/** Records the digest of a file. 1: it is new or another one; 0: it was the same; -ENOSPC: too many
 * files; -EINVAL: malformed digest; -ENOMEM. */
int phx_seen_put(struct phx_seen *s, uint64_t path, const char *digest);
/** Forgets a file; false: it was not there. */
bool phx_seen_drop(struct phx_seen *s, uint64_t path);

#define PHX_SEEN_IMAGE_FIELDS(F, S) \
	F(S, n, U32) \
	F(S, files, LIST(phx_text)) /* 32 hexadecimal digits each: path and digest, in pieces */
PHX_RECORD_STRUCT(phx_seen_image, PHX_SEEN_IMAGE_FIELDS);

/** The functions of a struct phx_live: see base/record.h. */
extern const struct phx_live phx_seen_live;

#endif
