/* What the files of lib/site share. */
#ifndef PHX_SITE_INTERNAL_H
#define PHX_SITE_INTERNAL_H

#include "site/effective.h"

/** What is wrong, while settings are checked. */
struct phx_site_checking {
	phx_site_say_fn say;
	void *arg;
	int n;
};
/** Says "PLACE: what" and counts it. */
void phx_site_complain(struct phx_site_checking *c, const char *place, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** The value of the variable of that name; NULL: there is none. */
typedef const char *(*phx_site_variable_fn)(void *arg, const char *name);

/** Puts the values in for @NAME@; "@@" is one @, any other @ is itself. -EINVAL: a variable that
 * there is not, with a text ("@FOO@ is ...") and its line in *ret_line; -ENOMEM. `ret` NULL:
 * only checks. */
int phx_site_expand(const char *text, phx_site_variable_fn value, void *arg, char **ret,
		    unsigned *ret_line, struct phx_err *err);
/** Is it the name of a variable that every node has? */
bool phx_site_variable_is_own(const char *name);
/** Is it a name as a variable has one? */
bool phx_site_variable_is_name(const char *name);

/** What the variables of a node are looked up in. */
struct phx_site_values_of {
	const struct phx_site *s;
	const struct phx_site_node *n;
	const struct phx_site_effective *e;
};
/** A phx_site_variable_fn on struct phx_site_values_of. */
const char *phx_site_variable_of(void *arg, const char *name);
/** Has the node this file? (That of another scope may be in its place.) */
bool phx_site_file_is_on(const struct phx_site_file *f, const struct phx_site_node *n,
			 const struct phx_site_effective *e);

/** A node that a group names. */
struct phx_site_row {
	const char *node; /* borrowed */
	uint32_t group;   /* place in the settings' nodes */
	uint32_t place;   /* of the node in the group */
};
/** The next row of a node, in no order; NULL: no more. *at begins as phx_hash_text(node). */
const struct phx_site_row *phx_site_row_next(const struct phx_site_index *ix, const char *node,
					     uint32_t *at);

/** What is wrong with profiles and groups of nodes. False: one has a list that is so long that what
 * counts for a node is not to be looked for. */
bool phx_site_check_sets(const struct phx_site_index *ix, struct phx_site_checking *said);

/** What is wrong with network cards of nodes. -ENOMEM. */
int phx_site_check_nics(const struct phx_site_index *ix, struct phx_site_checking *said);

/** Something that is made for a node: where it goes. */
struct phx_site_making {
	const struct phx_site *s;
	const struct phx_site_node *n;
	const struct phx_site_effective *e;
	struct phx_site_bundle b;
};
/** The file of that path, emptied if there is one; NULL: no memory. */
struct phx_site_out *phx_site_out_of(struct phx_site_making *m, const char *path);
/** A file that the settings themselves bring; takes the text, whose lack is -ENOMEM. `run`: words
 * up to NULL, or NULL. */
int phx_site_out_add(struct phx_site_making *m, const char *path, uint32_t mode, char *text,
		     const char *const *run);
#define PHX_SITE_MADE "# made by phx-agent from the settings of the site\n"
/** The files of sysctl, modules, mounts, names, logs. -ENOMEM. */
int phx_site_make_system(struct phx_site_making *m);
/** The files of the network, for systemd-networkd or for NetworkManager. -ENOMEM. */
int phx_site_make_networkd(struct phx_site_making *m);
int phx_site_make_keyfiles(struct phx_site_making *m);
/** Is the node's network NetworkManager's, by what its system is? */
bool phx_site_has_network_manager(const struct phx_site_node *n);
/** The device, but `but`, that has this one as a member or port; NULL. */
const struct phx_site_found_nic *phx_site_nic_holder(const struct phx_site_effective *e,
						     const char *name,
						     const struct phx_site_found_nic *but);
/** Makes the files of one. */
typedef int (*phx_site_nic_fn)(struct phx_site_making *m, const struct phx_site_found_nic *f);
/** Calls fn for each of the node's, and for each member and port without settings of its own, which
 * is found by its name. What is not 0 ends it, and is returned. */
int phx_site_each_nic(struct phx_site_making *m, phx_site_nic_fn fn);

/** The group of that name in the settings; NULL. */
const struct phx_site_group *phx_site_group_named(const struct phx_site *s, const char *name);
/** The number of an owner or group of a file: root, one of the settings, or digits. -ENOENT. */
int phx_site_owner(const struct phx_site *s, const char *name, uint32_t *ret);
int phx_site_owner_group(const struct phx_site *s, const char *name, uint32_t *ret);
/** The mode of a file. -EINVAL: no octal digits. */
int phx_site_mode(const char *text, uint32_t *ret);
/** Has the node the account of this user? False without memory. */
bool phx_site_user_is_on(const struct phx_site_user *u, const struct phx_site_node *n);
/** The account as a node has it; its lists are the caller's. -ENOMEM. */
int phx_site_account(const struct phx_site *s, const struct phx_site_user *u,
		     struct phx_account *ret);
/** What a user may with sudo? */
static inline bool phx_site_has_sudo(const struct phx_site_user *u)
{
	return !u->locked && (u->sudo || u->sudo_rules.n);
}

#endif
