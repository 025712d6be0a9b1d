/* The asker of a request and its rights: identities (identity.c), granted roles (access.c), people,
 * members of REs and agents (people.c). Included by daemon.h. */
#ifndef PHXD_PEOPLE_H
#define PHXD_PEOPLE_H

#include "http/http.h"
#include "state/members.h"
#include "types/rights.h"

struct daemon;

/* ---- identity.c ---- */

/** Adds the kind to an owner `word` that may have none: the kind of `known` (may be "") if that has
 * the same name, else a user of the head if there is one of that name, else a certificate. -EINVAL.
 * Asks the user database: not under the engine's lock. */
int identity_settle(const char *word, const char *known, char ret[PHX_IDENTITY_MAX],
		    struct phx_err *err);
/** The same for each word of a list that is separated by blanks; "*" and group:NAME stay. -E2BIG:
 * the result does not fit. */
int identity_settle_list(char *list, size_t size, struct phx_err *err);
/** Adds member owner_name: the owner as people may write it, without its kind if identity_settle()
 * would find the same one. Asks the user database: not under the engine's lock. */
void identity_add_name(json_t *j, const char *owner);
/** At the start: adds the kind to owners of older journals that have none, by events. 0 also if the
 * journal is read-only. */
int identity_settle_owners(struct daemon *d, struct phx_err *err);

/* ---- access.c ---- */

/** A right was granted or taken, and journalled: held requests are checked again, and lists of
 * accounts. */
void access_changed(struct daemon *d);
/** A session has ended: only held requests are checked again. */
void access_look_again(struct daemon *d);

/* ---- people ---- */

/** Is the asker a user of this machine, by the socket or signed in with a browser? Only then are
 * `uid` and `gid` valid. */
bool person_is_user(const struct phx_http_peer *peer);
/** The roles (1u << enum phx_who) of the asker; 0: none, or the certificate is revoked, or the
 * session has ended. */
unsigned person_roles(struct daemon *d, const struct phx_http_peer *peer);
bool person_is_admin(struct daemon *d, const struct phx_http_peer *peer);
/** The roles of any certificate of that kind. */
unsigned person_kind_roles(enum phx_cert_kind kind);
/** The group of the head whose users have the role; "": none. */
const char *person_group(const struct daemon *d, enum phx_who who);
/** Is the user (person_is_user()) in that group? */
bool person_in_group(const struct daemon *d, const struct phx_http_peer *peer, enum phx_who who);
/** The scope of a right for the asker. */
enum phx_scope person_scope(struct daemon *d, const struct phx_http_peer *peer,
			    enum phx_right right);
/** Is that scope everything, and not only the asker's own? */
bool person_has_all(struct daemon *d, const struct phx_http_peer *peer, enum phx_right right);
/** The asker for an event's `by`: "uid:1000", "node:n1", "provider:campus"; without user and
 * certificate the IP address. */
void person_name(const struct phx_http_peer *peer, char *ret, size_t ret_size);
/** The asker's identity: "unix:alice", "cert:campus", "node:n1". "" and false: none, or a user
 * without a name. */
bool person_identity(const struct phx_http_peer *peer, char ret[PHX_IDENTITY_MAX]);
/** The asker. Call person_of() before the engine is locked: it may ask the user database. */
struct person {
	char identity[PHX_IDENTITY_MAX];
	char login[PHX_NAME_MAX]; /* the user of the head as whom this person works; "": none */
};
void person_of(struct daemon *d, const struct phx_http_peer *peer, struct person *ret);
/** Is this person that owner, by identity, or by the user of the head as whom the person works? */
bool person_is(const struct person *p, const char *owner);
/** Is this person the service provider whose RE has the node now? */
bool person_holds(const struct phx_state *s, const struct person *p, const struct phx_node *n);
/** A user of this machine. */
struct person_login {
	char name[PHX_NAME_MAX];
	uid_t uid;
	gid_t gid;
};
/** The user of that name; false: there is none. */
bool person_login(const char *name, struct person_login *ret);
/** The user `name`; NULL: the user that the asker is, or as whom the asker's certificate was
 * granted to work. False after answering. */
bool person_works_as(struct daemon *d, struct phx_http_request *q, const char *name,
		     struct person_login *ret);
/** Appends the names (struct phx_word) of the members of a group of the head; `group` NULL: of at
 * most `max` of its users. Goes through all users, so it may take long. 0, -ENOENT or -ENOMEM. */
int person_members(const char *group, uint32_t max, struct phx_list *ret_words);
/** A person with groups, to be compared with the members of an RE. Fill it before the engine is
 * locked, since the user database may take long. */
struct member {
	struct person person;
	struct phx_list groups; /* struct phx_word: of the login */
};
/** From the user `login`. Never fails: without memory the user is in no group. */
void member_init(const struct person_login *login, struct member *ret);
/** From the asker. If members do not have this right, the result is a member of no RE. */
void member_of(struct daemon *d, const struct phx_http_request *q, enum phx_right right,
	       struct member *ret);
void member_fini(struct member *m);
/** Is this a member of the agreement's RE? `ret_group` (may be NULL): the group that makes it one,
 * "" if it is named itself, NULL if it is none. */
bool member_is(const struct member *m, const struct phx_agreement *a, const char **ret_group);

/** Has the asker that right, for anything at all? False after answering 403. */
bool person_require(struct daemon *d, struct phx_http_request *q, enum phx_right right);
/** Journals, at most once a minute, that the asker lacks that right. */
void person_refused(struct daemon *d, const struct phx_http_peer *peer, enum phx_right right);
/** The node whose certificate sent the request. The certificate must still be the enrolled one: a
 * newer key or the node's removal makes it invalid. False after answering 403. */
bool person_agent(struct daemon *d, struct phx_http_request *q, char ret_node[PHX_NAME_MAX]);

#endif
