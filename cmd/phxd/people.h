/* Who asks, and what he may: identities (identity.c), roles that were granted (access.c), people,
 * members of REs and agents (people.c). Included by daemon.h. */
#ifndef PHXD_PEOPLE_H
#define PHXD_PEOPLE_H

#include "http/http.h"
#include "state/members.h"
#include "types/rights.h"

struct daemon;

/* ---- identity.c ---- */

/** An owner as people write it, with its kind: as `known` (may be ""), if that is one of this name,
 * else the user of the head of that name, else the certificate. Asks the user database: not under
 * the engine's lock. */
int identity_settle(const char *word, const char *known, char ret[PHX_IDENTITY_MAX],
		    struct phx_err *err);
/** The same of each word of a list with blanks between them; "*" and group:NAME stay. -E2BIG: with
 * the kinds it does not fit. */
int identity_settle_list(char *list, size_t size, struct phx_err *err);
/** Member owner_name: the owner as people may write it and mean the same, without its kind where
 * that is found out rightly. Asks the user database: not under the engine's lock. */
void identity_add_name(json_t *j, const char *owner);
/** At the start: owners of before that have no kind get theirs, by an event. 0 also where nothing
 * can be journalled. */
int identity_settle_owners(struct daemon *d, struct phx_err *err);

/* ---- access.c ---- */

/** Somebody got or lost a right, which is journalled: whom phxd holds is looked at again. */
void access_changed(struct daemon *d);
/** A session has ended: the same of whom phxd holds, and of nothing else. */
void access_look_again(struct daemon *d);

/* ---- people ---- */

/** Is who asks a user of this machine: by the socket, or signed in with a browser? Then `uid` and
 * `gid` are his. */
bool person_is_user(const struct phx_http_peer *peer);
/** The roles (1u << enum phx_who) of who asks; 0: nobody, or one whose certificate is revoked. */
unsigned person_roles(struct daemon *d, const struct phx_http_peer *peer);
bool person_is_admin(struct daemon *d, const struct phx_http_peer *peer);
/** Of a certificate of that kind, by itself. */
unsigned person_kind_roles(enum phx_cert_kind kind);
/** The group of the head whose users have the role; "" none. */
const char *person_group(const struct daemon *d, enum phx_who who);
/** Is the user who asks on the socket in it? */
bool person_in_group(const struct daemon *d, const struct phx_http_peer *peer, enum phx_who who);
/** How far a right goes for who asks. */
enum phx_scope person_scope(struct daemon *d, const struct phx_http_peer *peer,
			    enum phx_right right);
/** Is it everybody's and everything, and not only his own? */
bool person_has_all(struct daemon *d, const struct phx_http_peer *peer, enum phx_right right);
/** "uid:1000", "node:n1", "cert:NAME" into an event's `by`. */
void person_name(const struct phx_http_peer *peer, char *ret, size_t ret_size);
/** "unix:alice", "cert:campus", "node:n1"; "" and false: nobody, or a user without a name. */
bool person_identity(const struct phx_http_peer *peer, char ret[PHX_IDENTITY_MAX]);
/** Who asks, found out before the engine is locked: it may ask the user database. */
struct person {
	char identity[PHX_IDENTITY_MAX];
	char login[PHX_NAME_MAX]; /* the user of the head as whom he works; "" none */
};
void person_of(struct daemon *d, const struct phx_http_peer *peer, struct person *ret);
/** Is he that owner: by his identity, or as the user of the head as whom he works? */
bool person_is(const struct person *p, const char *owner);
/** Is he the service provider whose RE has the node now? */
bool person_holds(const struct phx_state *s, const struct person *p, const struct phx_node *n);
/** A user of this machine. */
struct person_login {
	char name[PHX_NAME_MAX];
	uid_t uid;
	gid_t gid;
};
/** The user of that name; false: there is none. */
bool person_login(const char *name, struct person_login *ret);
/** The user `name`, or, by NULL, the one who asks: of the socket, or as whom his certificate was
 * granted to work. False after answering. */
bool person_works_as(struct daemon *d, struct phx_http_request *q, const char *name,
		     struct person_login *ret);
/** Names of the members of a group of the head, or, `group` NULL, of at most `max` of its users, as
 * struct phx_word, appended. Goes through all users. 0, -ENOENT or -ENOMEM. */
int person_members(const char *group, uint32_t max, struct phx_list *ret_words);
/** Who asks, as one of an RE's members: found out before the engine is locked, since the user
 * database may take long. */
struct member {
	struct person person;
	struct phx_list groups; /* struct phx_word: of his login */
};
/** Of the user `login`. Never fails: who lacks memory is in no group. */
void member_init(const struct person_login *login, struct member *ret);
/** Of who asks, by a right: where members do not have it he is a member of nothing. */
void member_of(struct daemon *d, const struct phx_http_request *q, enum phx_right right,
	       struct member *ret);
void member_fini(struct member *m);
/** Is he a member? `ret_group` (may be NULL): the group by which he is one, "" if by himself. */
bool member_is(const struct member *m, const struct phx_agreement *a, const char **ret_group);

/** False after answering 403. */
bool person_require(struct daemon *d, struct phx_http_request *q, enum phx_right right);
/** The node that a request of a node's certificate speaks for: the certificate must still be the
 * enrolled one (a newer key, or a removal, makes it worthless). False after answering 403. */
bool person_agent(struct daemon *d, struct phx_http_request *q, char ret_node[PHX_NAME_MAX]);

#endif
