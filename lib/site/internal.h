/* What the files of lib/site share. */
#ifndef PHX_SITE_INTERNAL_H
#define PHX_SITE_INTERNAL_H

#include "site/site.h"

/** What is wrong, while settings are checked. */
struct phx_site_checking {
	phx_site_say_fn say;
	void *arg;
	int n;
};
/** Says "PLACE: what" and counts it. */
void phx_site_complain(struct phx_site_checking *c, const char *place, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Values of the variables of a text, in the order of phx_site_variables. */
enum phx_site_variable {
	PHX_SITE_VAR_NODE,
	PHX_SITE_VAR_ADDRESS,
	PHX_SITE_VAR_ROLE,
	PHX_SITE_VAR_POOL,
	PHX_SITE_VAR_DOMAIN,
	PHX_SITE_VAR_COUNT_
};

/** Puts the values in for @NAME@; "@@" is one @, any other @ is itself. -EINVAL: a variable that
 * there is not, with a text ("@FOO@ is ...") and its line in *ret_line; -ENOMEM. `values` NULL:
 * only checks, and ret is not used. */
int phx_site_expand(const char *text, const char *const values[PHX_SITE_VAR_COUNT_], char **ret,
		    unsigned *ret_line, struct phx_err *err);

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
