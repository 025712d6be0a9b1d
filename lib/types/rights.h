/* Rights: what each role of a person, or a node, may do (rights.def). Asked by the daemon for every
 * request; the manual's table is printed from it. Pure. */
#ifndef PHX_TYPES_RIGHTS_H
#define PHX_TYPES_RIGHTS_H

#include "base/util.h"

/** The role of a caller; several combine, as bits 1u << role. */
enum phx_who {
	PHX_WHO_ADMIN,    /* root, the socket's group, a provider certificate */
	PHX_WHO_OPERATOR, /* operator_group */
	PHX_WHO_AUDITOR,  /* auditor_group */
	PHX_WHO_PROVIDER, /* of services: service_group, a service-provider certificate */
	PHX_WHO_USER,     /* every person */
	PHX_WHO_NODE,     /* the certificate of a node */
	PHX_WHO_COUNT_
};
extern const struct phx_enum phx_who_names;

enum phx_scope { PHX_SCOPE_NONE, PHX_SCOPE_OWN, PHX_SCOPE_ALL };
extern const struct phx_enum phx_scope_names;

enum phx_right {
#define RIGHT(name, text, ...) PHX_RIGHT_##name,
#include "types/rights.def"
#undef RIGHT
	PHX_RIGHT_COUNT_
};
extern const struct phx_enum phx_right_names;
/** One phrase for people. */
const char *phx_right_text(enum phx_right right);

/** One cell of the table. */
enum phx_scope phx_right_cell(enum phx_right right, enum phx_who who);
/** The scope of the right for a user, in an RE whose agreement names him as a member. */
enum phx_scope phx_right_member(enum phx_right right);

/** The scope of the right for a caller with these roles; nobody (0) has the right `public` alone.
 * Any user may be a member of some RE, so a user's scope includes a member's; of which REs is
 * checked later. */
enum phx_scope phx_right_scope(enum phx_right right, unsigned roles);
/** Has the caller the right in an RE whose service provider is the resource provider, because one
 * of these roles acts for the resource provider (it grants all REs)? */
bool phx_right_as_provider(enum phx_right right, unsigned roles);

#endif
