/* Who asks, and which roles he has; what a role may is types/rights.def. Roles come from what
 * the kernel says of a user of this machine and the groups of the configuration, or from the
 * kind of a certificate. Called by routes.c and by the handlers of requests. Changes nothing. */
#include "phxd/beat.h"
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/account.h"

static bool in_group(uid_t uid, gid_t gid, const char *group)
{
	gid_t wanted;
	if (!group[0] || phx_group_named(group, &wanted) < 0)
		return false;
	return gid == wanted || phx_user_is_member(uid, wanted);
}

static unsigned of_certificate(enum phx_cert_kind kind)
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

/* A certificate that was revoked is none, from the event on. Those of nodes are told by their
 * keys. */
static bool is_revoked(struct daemon *d, const struct phx_http_peer *peer)
{
	if (peer->via == PHX_HTTP_UNIX || !peer->has_cert || peer->cert.kind == PHX_CERT_NODE)
		return false;
	const struct phx_state *s = engine_lock(d->engine);
	bool is = phx_state_revoked(s, peer->cert.serial);
	engine_unlock(d->engine);
	return is;
}

/* Of a user of this machine, by the groups of the configuration. */
static unsigned of_user(const struct daemon *d, uid_t uid, gid_t gid)
{
	const struct {
		enum phx_who who;
		const char *group;
	} rows[] = {
		{PHX_WHO_ADMIN, d->cfg.socket_group},
		{PHX_WHO_OPERATOR, d->cfg.operator_group},
		{PHX_WHO_AUDITOR, d->cfg.auditor_group},
		{PHX_WHO_PROVIDER, d->cfg.service_group},
	};
	unsigned roles = 1u << PHX_WHO_USER;
	if (uid == 0)
		return roles | 1u << PHX_WHO_ADMIN;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (in_group(uid, gid, rows[i].group))
			roles |= 1u << rows[i].who;
	return roles;
}

unsigned person_roles(struct daemon *d, const struct phx_http_peer *peer)
{
	if (peer->via == PHX_HTTP_UNIX)
		return of_user(d, peer->uid, peer->gid);
	return peer->has_cert && !is_revoked(d, peer) ? of_certificate(peer->cert.kind) : 0;
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
	if (peer->via == PHX_HTTP_UNIX)
		snprintf(ret, ret_size, "uid:%u", (unsigned)peer->uid);
	else if (peer->has_cert)
		snprintf(ret, ret_size, "%s:%.40s",
			 phx_enum_name(&phx_cert_kind_names, (int)peer->cert.kind),
			 peer->cert.name);
	else
		snprintf(ret, ret_size, "%.46s", peer->address);
}

bool person_account(const struct phx_http_peer *peer, char ret[PHX_NAME_MAX])
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	ret[0] = '\0';
	if (peer->via != PHX_HTTP_UNIX)
		return peer->has_cert && phx_str_copy(ret, PHX_NAME_MAX, peer->cert.name) == 0;
	return phx_user_numbered(peer->uid, &pw, &texts) == 0 &&
		phx_str_copy(ret, PHX_NAME_MAX, pw.pw_name) == 0;
}

bool person_holds(const struct phx_state *s, const char *account, const struct phx_node *n)
{
	const struct phx_re *re = phx_state_re(s, n->pool);
	return re && re->state != PHX_RE_STATE_NONE && account[0] &&
		!strcmp(re->agreement.owner, account);
}

/* -ENOENT and its like: he is no user of this machine. */
static int login_of(const struct phx_http_peer *peer, const char *name, struct person_login *ret)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	if (!name && peer->via == PHX_HTTP_TLS)
		name = peer->cert.name;
	int r = name ? phx_user_named(name, &pw, &texts)
		     : phx_user_numbered(peer->uid, &pw, &texts);
	if (r < 0)
		return r;
	ret->uid = pw.pw_uid;
	ret->gid = pw.pw_gid;
	return phx_str_copy(ret->name, sizeof(ret->name), pw.pw_name);
}

bool person_login(struct phx_http_request *q, const char *name, struct person_login *ret)
{
	int r = login_of(phx_http_peer(q), name, ret);
	if (r < 0)
		phx_http_reply_error(q, -EINVAL, "user: not known on the head");
	return r == 0;
}

void member_init(const struct person_login *login, struct member *ret)
{
	*ret = (struct member){0};
	PHX_STR_SET(ret->user, login->name);
	phx_user_groups(login->name, login->gid, &ret->groups);
}

void member_of(const struct phx_http_request *q, struct member *ret)
{
	struct person_login login;
	*ret = (struct member){0};
	if (login_of(phx_http_peer(q), NULL, &login) == 0)
		member_init(&login, ret);
}

void member_fini(struct member *m)
{
	phx_list_fini(&m->groups);
}

bool member_is(const struct member *m, const struct phx_agreement *a, const char **ret_group)
{
	const char *by = phx_agreement_has_member(a, m->user, "") ? "" : NULL;
	PHX_LIST_EACH(struct phx_word, group, &m->groups)
		if (!by && phx_agreement_has_member(a, m->user, group->text))
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

/* Who needs least to have the right; what he who asks has most. */
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

static void tell_refused(struct daemon *d, const struct phx_http_peer *peer, enum phx_right right)
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
	if (is_revoked(d, phx_http_peer(q)))
		snprintf(text, sizeof(text), "not permitted: your certificate %s is revoked",
			 phx_http_peer(q)->cert.serial);
	else
		snprintf(text, sizeof(text), "not permitted: %s may do this, and you are %s",
			 least_of(right), most_of(roles));
	if (phx_http_peer(q)->via == PHX_HTTP_UNIX || phx_http_peer(q)->has_cert)
		tell_refused(d, phx_http_peer(q), right);
	phx_http_reply_error(q, -EPERM, text);
	return false;
}

void api_whoami(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	const struct phx_http_peer *peer = phx_http_peer(q);
	unsigned roles = person_roles(d, peer);
	char by[PHX_NAME_MAX], account[PHX_NAME_MAX];
	PHX_AUTO_JSON json_t *names = json_array(), *rights = json_object();
	person_name(peer, by, sizeof(by));
	person_account(peer, account);
	for (int i = 0; i < PHX_WHO_COUNT_; i++)
		if (roles & 1u << i)
			json_array_append_new(names, json_string(phx_enum_name(&phx_who_names, i)));
	for (int i = 0; i < PHX_RIGHT_COUNT_; i++)
		json_object_set_new(
			rights, phx_enum_name(&phx_right_names, i),
			json_string(phx_enum_name(&phx_scope_names,
						  (int)phx_right_scope((enum phx_right)i, roles))));
	PHX_AUTO_JSON json_t *j = json_pack("{s:s,s:s,s:O,s:O}", "identity", by, "name", account,
					    "roles", names, "rights", rights);
	phx_http_reply_json(q, 200, j);
}

bool person_agent(struct daemon *d, struct phx_http_request *q, char ret_node[PHX_NAME_MAX])
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	const struct phx_state *s = engine_lock(d->engine);
	bool known = phx_core_key_holds(s, peer->cert.name, peer->cert.fingerprint);
	engine_unlock(d->engine);
	if (!known) {
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
	int r = phx_json_check_shape(body, n, BODY_DEPTH_MAX, BODY_CONTAINERS_MAX, &err);
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
