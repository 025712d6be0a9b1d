/* What the readers of other tools' files (import_xcat.c, import_warewulf.c; import_read.c is what
 * these have in common) and the writer of our settings (import.c) share. */
#ifndef PHX_IMPORT_H
#define PHX_IMPORT_H

#include <jansson.h>

#include "base/ip.h"
#include "phx/cli.h"

/** What was read so far. */
struct import {
	const char *path;
	unsigned n_wrong; /* mistakes, told with their lines */
	/* lists of groups, with the keys of networks.conf, profiles.conf and nodes.conf */
	json_t *networks, *profiles, *nodes;
	/* bodies of POST /v1/nodes; "password" of a "bmc" is its password, yet in no file */
	json_t *machines;
	size_t n_machines;   /* those of them that can be announced */
	struct phx_buf left; /* "LINE: what" for each thing that has no place here */
	unsigned n_left;
};

/** Something that has no place in our settings. */
void import_left(struct import *im, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** A mistake of the file: nothing will be written. */
void import_wrong(struct import *im, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** The group of that name in a list ("name" of profiles and networks, "nodes" of nodes), made if it
 * is not there. Borrowed. */
json_t *import_group(json_t *list, const char *key, const char *name);
/** The list `key` of a group, made if it is not there. Borrowed. */
json_t *import_list(json_t *group, const char *key);
/** The words of `text`, cut at any of `between`, appended to the list `key` of a group. */
void import_words(json_t *group, const char *key, const char *text, const char *between);
/** The network that an address lies in; NULL: none. Borrowed. */
json_t *import_network_of(const struct import *im, const char *address);
/** "10.1.0.0/16" of an address or network and a mask, "255.255.0.0" or "/16". -EINVAL. */
int import_subnet(const char *address, const char *mask, char ret[32]);

/** The readers: `text` is the file, which they may change. They tell mistakes, and go on. */
void import_xcat(struct import *im, char *text);
void import_warewulf(struct import *im, const char *text, size_t n);

#endif
