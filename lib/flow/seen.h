/* Files that have fired a trigger, or that were there before it: of each path the digest that it
 * had. It is an object of the core's state, so that a file fires once over every crash. Both are
 * kept as 64 bits: of a hundred thousand files two are taken for the same once in a thousand
 * million. Used by flow/trigger.h. Pure. */
#ifndef PHX_FLOW_SEEN_H
#define PHX_FLOW_SEEN_H

#include "base/record.h"

#define PHX_SEEN_MAX 100000 /* files of one trigger */
#define PHX_SEEN_KEY 17     /* a path's as lower-case hexadecimal digits */

struct phx_seen_file {
	uint64_t path, digest;
};

struct phx_seen {
	struct phx_seen_file *files; /* by path */
	uint32_t n, cap;
};

struct phx_seen *phx_seen_new(void);
void phx_seen_free(struct phx_seen *s);

/** What a path is known by. */
uint64_t phx_seen_path(const char *path);
void phx_seen_format(uint64_t path, char ret[PHX_SEEN_KEY]);
/** -EINVAL. */
int phx_seen_parse(const char *text, uint64_t *ret);
/** Is the file there with this digest (64 hexadecimal digits)? NULL: nothing is. */
bool phx_seen_has(const struct phx_seen *s, uint64_t path, const char *digest);
/** It has this digest from now on. 1: it had not before; 0; -ENOSPC: there are too many;
 * -EINVAL: that is none; -ENOMEM. */
int phx_seen_put(struct phx_seen *s, uint64_t path, const char *digest);
/** It is gone; false: it was not there. */
bool phx_seen_drop(struct phx_seen *s, uint64_t path);

#define PHX_SEEN_IMAGE_FIELDS(F, S) \
	F(S, n, U32) \
	F(S, files, LIST(phx_text)) /* 32 hexadecimal digits each: path and digest, in pieces */
PHX_RECORD_STRUCT(phx_seen_image, PHX_SEEN_IMAGE_FIELDS);

/** What phx_live wants: see base/record.h. */
extern const struct phx_live phx_seen_live;

#endif
