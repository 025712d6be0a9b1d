/* What counts for one node of all that profiles and groups of nodes say, and of which set each
 * value is. An index is made once for given settings; a node costs what it has itself, however
 * many nodes there are. Pure.
 *
 *	settings ──phx_site_index_new()──▶ index ──phx_site_effective()──▶ what counts for a node */
#ifndef PHX_SITE_EFFECTIVE_H
#define PHX_SITE_EFFECTIVE_H

#include "site/site.h"

/** Which groups name which nodes. Borrows the settings, which must not change. */
struct phx_site_index;
/** -ENOMEM. Lists of nodes that do not parse name nobody. The caller frees it. */
int phx_site_index_new(const struct phx_site *s, struct phx_site_index **ret);
void phx_site_index_free(struct phx_site_index *ix);
/** The settings that it is of. */
const struct phx_site *phx_site_index_of(const struct phx_site_index *ix);
/** The profile of that name; NULL. */
const struct phx_site_set *phx_site_profile(const struct phx_site_index *ix, const char *name);
/** Calls `fn` with each name that a group lists, once a group. */
void phx_site_each_name(const struct phx_site_index *ix,
			void (*fn)(void *arg, const struct phx_site_set *group, const char *name),
			void *arg);

/** A value that counts, or a mount, and the set that it is of. Both borrowed. */
struct phx_site_found {
	const struct phx_site_set *set;
	union {
		const struct phx_site_value *value;
		const struct phx_site_mount *mount;
	};
};

/** A card, bond, VLAN or bridge that counts. Its lists are borrowed, and so are the sets. */
struct phx_site_found_nic {
	struct phx_site_nic nic;        /* put together of all sets that name it */
	const struct phx_site_set *set; /* the last of them, for complaints */
	const struct phx_site_set *address_set;
	uint32_t address_line, place; /* of the set of the address: of the node in its group */
};

struct phx_site_effective {
	struct phx_list sets;                          /* struct phx_site_from, the last wins */
	struct phx_list values[PHX_SITE_VALUE_COUNT_]; /* struct phx_site_found */
	struct phx_list mounts;                        /* the same */
	struct phx_list nics;                          /* struct phx_site_found_nic */
};
/** A set that counts for a node. */
struct phx_site_from {
	const struct phx_site_set *set;
	uint32_t place; /* of the node in the list of nodes of a group, from 0 */
};
/** -ENOMEM. The caller frees it by phx_site_effective_fini(). */
int phx_site_effective(const struct phx_site_index *ix, const char *node,
		       struct phx_site_effective *ret);
void phx_site_effective_fini(struct phx_site_effective *e);

/** Has the node that profile? */
bool phx_site_has_profile(const struct phx_site_effective *e, const char *name);
/** The value of that kind and name; NULL. */
const char *phx_site_value_of(const struct phx_site_effective *e, enum phx_site_value_kind kind,
			      const char *name);

/** The card, bond, VLAN or bridge of that name; NULL. */
const struct phx_site_found_nic *phx_site_nic_of(const struct phx_site_effective *e,
						 const char *name);
/** Its IPv4 address as a number. 1: it has one; 0: none, or by DHCP; -EINVAL: that is none;
 * -ERANGE: the pool has no more for this node. */
int phx_site_nic_address(const struct phx_site_found_nic *f, uint32_t *ret);

/** Is told each value that counts for a node: "sysctl", "vm.swappiness", "10", "FILE:LINE". */
typedef void (*phx_site_origin_fn)(void *arg, const char *key, const char *name, const char *text,
				   const char *place);
/** -ENOMEM. */
int phx_site_origins(const struct phx_site_index *ix, const char *node, phx_site_origin_fn fn,
		     void *arg);

/** The kernel's arguments of profiles and node, with blanks between, "" without; malloc'd, NULL:
 * -ENOMEM. They stand behind those of the head and the role. */
char *phx_site_kernel_args(const struct phx_site_index *ix, const char *node);

/** Which disks are protected on which nodes, besides what phoenix.conf says: struct
 * phx_protect_group, each node in at most one. -E2BIG with a text that names a node: it has more
 * selectors than there may be; -ENOMEM. The caller frees *ret by phx_site_protected_fini(). */
int phx_site_protected(const struct phx_site_index *ix, struct phx_list *ret, struct phx_err *err);
void phx_site_protected_fini(struct phx_list *groups);

#endif
