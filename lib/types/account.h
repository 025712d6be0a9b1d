/* Accounts: the people whom a node knows by name. Here is what the head sends to a node (an order
 * of kind "accounts"), and its checks. A node has one such list: the members of the RE that it is
 * in, and nobody else. Pure.
 *
 *	{"kind": "accounts", "id": ID, "accounts": {phx_accounts}}
 *
 * is sent with the answer to a beat in which the node reports ["accounts", OTHER] among what runs
 * there, until it reports ["accounts", ID]. An older agent reports none, and gets none. */
#ifndef PHX_TYPES_ACCOUNT_H
#define PHX_TYPES_ACCOUNT_H

#include "base/key.h"

#define PHX_ACCOUNTS_MAX 1024       /* of one list */
#define PHX_ACCOUNT_GROUPS_MAX 1024 /* of one list */
#define PHX_ACCOUNT_NAME_MAX 33     /* the limit of useradd and similar programs */

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
	F(S, re, STR(PHX_NAME_MAX)) /* of which RE they are members; "": none, no scratch */ \
	F(S, list, LIST(phx_account)) \
	F(S, groups, LIST(phx_account_group)) /* to be made, those of the accounts included */
PHX_RECORD_STRUCT(phx_accounts, PHX_ACCOUNTS_FIELDS);

/** Is it the number of a person? System accounts (below 1000), those that systemd allocates for
 * services, and nobody (60001 to 65535) are not: the ranges of Debian's adduser and of systemd. */
bool phx_account_is_person(uint32_t id);

/** May a node make this account? It needs a valid account name, numbers of a person (the group may
 * also be the system's `users`), texts that fit into a line of /etc/passwd, and a home and shell
 * that are plain paths. -EINVAL, -EPERM with a text that names what is wrong. */
int phx_account_check(const struct phx_account *a, struct phx_err *err);

/** Checks a list in the same way; no name or number may occur twice. -E2BIG, too. */
int phx_accounts_check(const struct phx_accounts *l, struct phx_err *err);

/** What a node reports if it has neither a list nor an empty one. No list has this number. */
#define PHX_ACCOUNTS_UNKNOWN 1u
/** A hash of the list, at most 53 bits, by which lists are compared; 0 for one without RE. */
uint64_t phx_accounts_id(const struct phx_accounts *l);

/** The account with this name and number; NULL: none. Borrowed. */
const struct phx_account *phx_accounts_find(const struct phx_accounts *l, const char *name,
					    uint32_t uid);

/** Appends a group to a list of struct phx_account_group, unless its name or number is there or the
 * name is too long. 0 or -ENOMEM. */
int phx_account_group_add(struct phx_list *groups, const char *name, uint32_t gid);

#endif
