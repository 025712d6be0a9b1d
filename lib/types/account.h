/* Accounts: the people whom a node knows by name. What the head gives a node (an order of kind
 * "accounts"), and what the node makes of it. One list is all that a node has of ours: the members
 * of the RE that it is in, and nobody else. Pure.
 *
 *	{"kind": "accounts", "id": ID, "accounts": {phx_accounts}}
 *
 * goes out with the answer to a beat that says ["accounts", OTHER] among what runs there, until the
 * node says ["accounts", ID]. An agent of before this says none, and is told none. */
#ifndef PHX_TYPES_ACCOUNT_H
#define PHX_TYPES_ACCOUNT_H

#include "base/key.h"

#define PHX_ACCOUNTS_MAX 1024       /* of one list */
#define PHX_ACCOUNT_GROUPS_MAX 1024 /* of one list */
#define PHX_ACCOUNT_NAME_MAX 33     /* longer names are no names to useradd and its like */

#define PHX_ACCOUNT_GROUP_FIELDS(F, S) \
	F(S, name, STR(PHX_ACCOUNT_NAME_MAX)) \
	F(S, gid, U32)
PHX_RECORD_STRUCT(phx_account_group, PHX_ACCOUNT_GROUP_FIELDS);

#define PHX_ACCOUNT_FIELDS(F, S) \
	F(S, name, STR(PHX_ACCOUNT_NAME_MAX)) \
	F(S, uid, U32) \
	F(S, gid, U32) \
	F(S, gecos, STR(128)) \
	F(S, home, STR(256)) \
	F(S, shell, STR(128)) \
	F(S, groups, LIST(phx_account_group)) /* beside his own */
PHX_RECORD_STRUCT(phx_account, PHX_ACCOUNT_FIELDS);

#define PHX_ACCOUNTS_FIELDS(F, S) \
	F(S, re, STR(PHX_NAME_MAX)) /* whose members they are; "": of none, and no scratch */ \
	F(S, list, LIST(phx_account)) \
	F(S, groups, LIST(phx_account_group)) /* that are made, those of the accounts among them */
PHX_RECORD_STRUCT(phx_accounts, PHX_ACCOUNTS_FIELDS);

/** Is it a person's number? Accounts of the system (below 1000), those that systemd makes for
 * services, and nobody (60001 to 65535) are none: the ranges of Debian's adduser and of systemd. */
bool phx_account_is_person(uint32_t id);

/** May a node make this one: a name as accounts have it, the numbers of a person (as group the
 * system's `users`, too), texts that a line of /etc/passwd can hold, a home that is a path without
 * dots? -EINVAL, -EPERM with a text that names it. */
int phx_account_check(const struct phx_account *a, struct phx_err *err);

/** The same of a list; and no name or number twice. -E2BIG, too. */
int phx_accounts_check(const struct phx_accounts *l, struct phx_err *err);

/** What a node says that has neither a list nor nothing. No list has this number. */
#define PHX_ACCOUNTS_UNKNOWN 1u
/** A number that equal lists share, and others do not; 0 of one without RE. */
uint64_t phx_accounts_id(const struct phx_accounts *l);

/** The account of that name and number; NULL. Borrowed. */
const struct phx_account *phx_accounts_find(const struct phx_accounts *l, const char *name,
					    uint32_t uid);

/** Put a group into a list of struct phx_account_group, if it is not there: 0 or -ENOMEM. */
int phx_account_group_add(struct phx_list *groups, const char *name, uint32_t gid);

#endif
