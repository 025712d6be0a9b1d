/* Hostlists: "node[001-016]", "n[1-10/3]", "a,b[2,4-6],!b5", "@group", "&".
 * Accepts the union of what Slurm and ClusterShell read, prints what both
 * read (style of names: libraries.md, trap 10). Pure. */
#ifndef PHX_BASE_NODESET_H
#define PHX_BASE_NODESET_H

#include "base/hash.h"
#include "base/util.h"

/** More names than this in one list is refused (-E2BIG). */
#define PHX_NODESET_MAX 65536

/** An ordered set of names (order of first mention). Zero-initialise. */
struct phx_nodeset {
	char **names; /* owned */
	uint32_t n, cap;
	struct phx_hash index; /* of names */
};

/** May this be the VALUE of a group "@KEY=VALUE"? A name; or a port of a switch, which is none:
 * "Ethernet1/7", "1:7". */
bool phx_nodeset_value_valid(const char *value);

/** Appends the names of a group "@NAME", "@KEY:VALUE" or "@KEY=VALUE" to `ret`; -ENOENT: there is
 * no such group. */
typedef int (*phx_nodeset_group_fn)(void *arg, const char *group, struct phx_nodeset *ret);

/** Parse `text`. Operators, left to right without precedence: ',' union,
 * '!' difference, '&' intersection, '^' symmetric difference. Brackets may
 * hold ranges with padding (001-016 keeps width) and steps; several brackets
 * in one name multiply. -EINVAL with the column and what would be right,
 * -E2BIG above PHX_NODESET_MAX. `group` may be NULL (groups are then refused).
 * `ret` (initialised by the caller, replaced) is untouched on failure. */
int phx_nodeset_parse(const char *text, phx_nodeset_group_fn group, void *arg,
		      struct phx_nodeset *ret, struct phx_err *err);

/** Adds one plain name if absent. -EINVAL: not a valid name; -E2BIG, -ENOMEM. Constant time, as is
 * phx_nodeset_has(). */
int phx_nodeset_add(struct phx_nodeset *s, const char *name);
bool phx_nodeset_has(const struct phx_nodeset *s, const char *name);

/** Folded text, malloc'd: sorted, "node[001-003,007],web1". "" when empty. */
char *phx_nodeset_fold(const struct phx_nodeset *s);

void phx_nodeset_fini(struct phx_nodeset *s);

#endif
