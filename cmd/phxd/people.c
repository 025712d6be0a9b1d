/* The asker of a request and the asker's roles; the rights of a role are in types/rights.def. Roles
 * come from the user that the kernel reports and the configured groups, from the kind of a
 * certificate, or from a grant. Called by routes.c and by the handlers of requests. Changes
 * nothing. */
#include "phxd/starts.h"
#include "phxd/beat.h"
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/account.h"
#include "base/clock.h"

static bool in_group(uid_t uid, gid_t gid, const char *group)
{
	gid_t wanted;
	if (!group[0] || phx_group_named(group, &wanted) < 0)
		return false;
	return gid == wanted || phx_user_is_member(uid, wanted);
}

unsigned person_kind_roles(enum phx_cert_kind kind)
{
	switch (kind) {
	case PHX_CERT_PROVIDER:
		return 1u << PHX_WHO_ADMIN | 1u << PHX_WHO_USER;
	case PHX_CERT_SERVICE_PROVIDER:
		return 1u << PHX_WHO_PROVIDER | 1u << PHX_WHO_USER;
	case PHX_CERT_USER:
		return 1u << PHX_WHO_USER;
	case PHX_CERT_NODE:
		return 1u << PHX_WHO_NODE;
	case PHX_CERT_SERVER:
		return 0;
	}
	return 0;
}

bool person_is_user(const struct phx_http_peer *peer)
{
	return peer->via == PHX_HTTP_UNIX || peer->has_session;
}

/* Was the connection made with a certificate of a CA that has been retired? */
static bool is_of_former(const struct daemon *d, const struct phx_http_peer *peer)
{
	return peer->has_cert && !phx_pki_has_ca(d->pki, peer->cert.ca);
}

/* A revoked certificate is invalid from the event on. Certificates of nodes are checked by their
 * keys instead. */
static bool is_revoked(struct daemon *d, const struct phx_http_peer *peer)
{
	if (!peer->has_cert || peer->cert.kind == PHX_CERT_NODE)
		return false;
	const struct phx_state *s = engine_lock(d->engine);
	bool is = phx_state_revoked(s, peer->cert.serial);
	engine_unlock(d->engine);
	return is;
}

/* Roles that were granted to this identity. */
static unsigned granted_to(struct daemon *d, const char *identity)
{
	const struct phx_state *s = engine_lock(d->engine);
	unsigned roles = phx_state_granted(s, identity);
	engine_unlock(d->engine);
	return roles;
}

const char *person_group(const struct daemon *d, enum phx_who who)
{
	const char *const groups[PHX_WHO_COUNT_] = {
		[PHX_WHO_ADMIN] = d->cfg.socket_group,
		[PHX_WHO_OPERATOR] = d->cfg.operator_group,
		[PHX_WHO_AUDITOR] = d->cfg.auditor_group,
		[PHX_WHO_PROVIDER] = d->cfg.service_group,
	};
	return groups[who] ? groups[who] : "";
}

bool person_in_group(const struct daemon *d, const struct phx_http_peer *peer, enum phx_who who)
{
	return in_group(peer->uid, peer->gid, person_group(d, who));
}

/* Roles of a user of this machine, by the configured groups. */
static unsigned of_user(const struct daemon *d, const struct phx_http_peer *peer)
{
	unsigned roles = 1u << PHX_WHO_USER;
	if (peer->uid == 0)
		return roles | 1u << PHX_WHO_ADMIN;
	for (int who = PHX_WHO_ADMIN; who <= PHX_WHO_PROVIDER; who++)
		if (person_in_group(d, peer, (enum phx_who)who))
			roles |= 1u << who;
	return roles;
}

static bool user_name(uid_t uid, char ret[PHX_NAME_MAX])
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	return phx_user_numbered(uid, &pw, &texts) == 0 &&
		phx_str_copy(ret, PHX_NAME_MAX, pw.pw_name) == 0;
}

/* For held requests: the session may have ended since, or its user been removed. */
static bool has_ended(struct daemon *d, const struct phx_http_peer *peer)
{
	char name[PHX_NAME_MAX];
	return !phx_http_sessions_has(d->sessions, peer->session, phx_clock_ms()) ||
		!user_name(peer->uid, name);
}

unsigned person_roles(struct daemon *d, const struct phx_http_peer *peer)
{
	char identity[PHX_IDENTITY_MAX];
	unsigned roles = 0;
	if (peer->has_session && has_ended(d, peer))
		return 0;
	if (person_is_user(peer))
		roles = of_user(d, peer);
	else if (peer->has_cert && !is_of_former(d, peer) && !is_revoked(d, peer))
		roles = person_kind_roles(peer->cert.kind);
	if (roles & 1u << PHX_WHO_USER && person_identity(peer, identity))
		roles |= granted_to(d, identity);
	return roles;
}

bool person_is_admin(struct daemon *d, const struct phx_http_peer *peer)
{
	return person_roles(d, peer) & 1u << PHX_WHO_ADMIN;
}

enum phx_scope person_scope(struct daemon *d, const struct phx_http_peer *peer,
			    enum phx_right right)
{
	return phx_right_scope(right, person_roles(d, peer));
}

bool person_has_all(struct daemon *d, const struct phx_http_peer *peer, enum phx_right right)
{
	return person_scope(d, peer, right) == PHX_SCOPE_ALL;
}

void person_name(const struct phx_http_peer *peer, char *ret, size_t ret_size)
{
	if (person_is_user(peer))
		snprintf(ret, ret_size, "uid:%u", (unsigned)peer->uid);
	else if (peer->has_cert)
		snprintf(ret, ret_size, "%s:%.40s",
			 phx_enum_name(&phx_cert_kind_names, (int)peer->cert.kind),
			 peer->cert.name);
	else
		snprintf(ret, ret_size, "%.46s", peer->address);
}

bool person_identity(const struct phx_http_peer *peer, char ret[PHX_IDENTITY_MAX])
{
	char name[PHX_NAME_MAX];
	ret[0] = '\0';
	if (person_is_user(peer) && user_name(peer->uid, name))
		phx_identity_format(PHX_IDENTITY_UNIX, name, ret);
	else if (!person_is_user(peer) && peer->has_cert)
		phx_identity_format(peer->cert.kind == PHX_CERT_NODE ? PHX_IDENTITY_NODE
								     : PHX_IDENTITY_CERT,
				    peer->cert.name, ret);
	return ret[0];
}

void person_of(struct daemon *d, const struct phx_http_peer *peer, struct person *ret)
{
	*ret = (struct person){0};
	person_identity(peer, ret->identity);
	if (person_is_user(peer)) {
		user_name(peer->uid, ret->login);
		return;
	}
	const struct phx_state *s = engine_lock(d->engine);
	PHX_STR_SET(ret->login, phx_state_login(s, ret->identity));
	engine_unlock(d->engine);
}

bool person_is(const struct person *p, const char *owner)
{
	return owner[0] &&
		(!strcmp(p->identity, owner) ||
		 phx_identity_is(owner, PHX_IDENTITY_UNIX, p->login));
}

bool person_holds(const struct phx_state *s, const struct person *p, const struct phx_node *n)
{
	const struct phx_re *re = phx_state_re(s, n->pool);
	return re && re->state != PHX_RE_STATE_NONE && person_is(p, re->agreement.owner);
}

bool person_login(const char *name, struct person_login *ret)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	if (!name[0] || phx_user_named(name, &pw, &texts) < 0)
		return false;
	ret->uid = pw.pw_uid;
	ret->gid = pw.pw_gid;
	return phx_str_copy(ret->name, sizeof(ret->name), pw.pw_name) == 0;
}

bool person_works_as(struct daemon *d, struct phx_http_request *q, const char *name,
		     struct person_login *ret)
{
	struct person p;
	char text[2 * PHX_IDENTITY_MAX + 128] = "user: not known on the head";
	person_of(d, phx_http_peer(q), &p);
	if (person_login(name ? name : p.login, ret))
		return true;
	if (!name && phx_http_peer(q)->has_cert)
		snprintf(text, sizeof(text),
			 "user: %s works as no user of the head; an administrator grants it one: "
			 "phx access grant %s login:USER",
			 p.identity, p.identity);
	phx_http_reply_error(q, -EINVAL, text);
	return false;
}

int person_members(const char *group, uint32_t max, struct phx_list *ret_words)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&one_at_a_time); /* the list of all users allows one reader */
	int r = group ? phx_group_members(group, ret_words) : phx_user_names(max, ret_words);
	pthread_mutex_unlock(&one_at_a_time);
	return r;
}

void member_init(const struct person_login *login, struct member *ret)
{
	*ret = (struct member){0};
	PHX_STR_SET(ret->person.login, login->name);
	phx_user_groups(login->name, login->gid, &ret->groups);
}

void member_of(struct daemon *d, const struct phx_http_request *q, enum phx_right right,
	       struct member *ret)
{
	struct person_login login;
	struct person p;
	*ret = (struct member){0};
	if (phx_right_member(right) == PHX_SCOPE_NONE)
		return;
	person_of(d, phx_http_peer(q), &p);
	if (person_login(p.login, &login))
		member_init(&login, ret);
	ret->person = p;
}

void member_fini(struct member *m)
{
	phx_list_fini(&m->groups);
}

bool member_is(const struct member *m, const struct phx_agreement *a, const char **ret_group)
{
	const char *user = m->person.login;
	bool named = phx_agreement_names(a, m->person.identity);
	const char *by = named || phx_agreement_has_member(a, user, "") ? "" : NULL;
	PHX_LIST_EACH(struct phx_word, group, &m->groups)
		if (!by && phx_agreement_has_member(a, user, group->text))
			by = group->text;
	if (ret_group)
		*ret_group = by;
	return by;
}

static const char *const texts[PHX_WHO_COUNT_] = {
	[PHX_WHO_ADMIN] = "the resource provider",
	[PHX_WHO_OPERATOR] = "an operator",
	[PHX_WHO_AUDITOR] = "an auditor",
	[PHX_WHO_PROVIDER] = "a service provider",
	[PHX_WHO_USER] = "a user",
	[PHX_WHO_NODE] = "a node",
};

/* The least role that has the right, for people. */
static const char *least_of(enum phx_right right)
{
	static const enum phx_who order[] = {PHX_WHO_USER, PHX_WHO_PROVIDER, PHX_WHO_ADMIN};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(order); i++)
		if (phx_right_scope(right, 1u << order[i]))
			return texts[order[i]];
	return texts[PHX_WHO_NODE];
}

static const char *most_of(unsigned roles)
{
	for (int i = 0; i < PHX_WHO_COUNT_; i++)
		if (roles & 1u << i)
			return texts[i];
	return "nobody";
}

void person_refused(struct daemon *d, const struct phx_http_peer *peer, enum phx_right right)
{
	char who[PHX_NAME_MAX], text[150];
	person_name(peer, who, sizeof(who));
	snprintf(text, sizeof(text), "%s is refused: no right %s", who,
		 phx_enum_name(&phx_right_names, (int)right));
	seldom_tell(d->seldom, &(struct seldom_fact){.who = who, .kind = "refused", .text = text});
}

bool person_require(struct daemon *d, struct phx_http_request *q, enum phx_right right)
{
	unsigned roles = person_roles(d, phx_http_peer(q));
	char text[200];
	if (phx_right_scope(right, roles))
		return true;
	if (is_of_former(d, phx_http_peer(q)))
		snprintf(text, sizeof(text),
			 "not permitted: the CA of your certificate was retired; have another one "
			 "issued");
	else if (is_revoked(d, phx_http_peer(q)))
		snprintf(text, sizeof(text), "not permitted: your certificate %s is revoked",
			 phx_http_peer(q)->cert.serial);
	else
		snprintf(text, sizeof(text), "not permitted: %s may do this, and you are %s",
			 least_of(right), most_of(roles));
	if (person_is_user(phx_http_peer(q)) || phx_http_peer(q)->has_cert)
		person_refused(d, phx_http_peer(q), right);
	phx_http_reply_error(q, -EPERM, text);
	return false;
}

bool person_agent(struct daemon *d, struct phx_http_request *q, char ret_node[PHX_NAME_MAX])
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	const struct phx_state *s = engine_lock(d->engine);
	bool known = phx_core_key_holds(s, peer->cert.name, peer->cert.fingerprint);
	engine_unlock(d->engine);
	if (!known) {
		starts_no_cert(d, q, "this certificate is not the node's present one");
		phx_http_reply_error(q, -EACCES, "this certificate is not the node's present one");
		return false;
	}
	phx_str_copy(ret_node, PHX_NAME_MAX, peer->cert.name);
	return true;
}

json_t *body_json(struct phx_http_request *q)
{
	struct phx_err err = {0};
	size_t n = 0;
	json_t *j = NULL;
	const char *body = phx_http_body(q, &n);
	int r = phx_json_check_shape(body, n, BODY_SHAPE, &err);
	r = r ? r : phx_json_parse(n ? body : "{}", n ? n : 2, &j, &err);
	if (r == 0 && !json_is_object(j)) {
		json_decref(j);
		r = phx_err_set(&err, -EINVAL, "the body must be a JSON object");
	}
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return NULL;
	}
	return j;
}
