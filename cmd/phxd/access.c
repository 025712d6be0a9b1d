/* Who has which role, and from what: a group of the head, the kind of a certificate, a grant; and
 * giving and taking grants. The rights of a role are in types/rights.def. Called by way of
 * routes.def, and by handlers that end certificates, CAs or sessions. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/account.h"
#include "phxd/accounts.h"
#include "phxd/parse.h"

static void add_way(json_t *to, const char *identity, const char *role, const char *way,
		    const char *of)
{
	json_array_append_new(to,
			      json_pack("{s:s,s:s,s:s,s:s}", "identity", identity, "role", role,
					"way", way, "of", of));
}

static const char *role_name(enum phx_who who)
{
	return phx_enum_name(&phx_who_names, (int)who);
}

/* Grants of one identity, or (NULL) all grants. */
static void add_grants(struct daemon *d, json_t *to, const char *identity)
{
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_grant, g, &s->grants) {
		char role[PHX_NAME_MAX + 8];
		if (identity && strcmp(g->identity, identity))
			continue;
		snprintf(role, sizeof(role), "%s%s", g->login[0] ? "login:" : "",
			 g->login[0] ? g->login : role_name((enum phx_who)g->role));
		add_way(to, g->identity, role, "grant", g->by);
	}
	engine_unlock(d->engine);
}

static json_t *ways_of(struct daemon *d, const struct phx_http_peer *peer)
{
	char identity[PHX_IDENTITY_MAX];
	json_t *to = json_array();
	person_identity(peer, identity);
	if (person_is_user(peer) && peer->uid == 0)
		add_way(to, identity, role_name(PHX_WHO_ADMIN), "root", "");
	for (int who = PHX_WHO_ADMIN; who <= PHX_WHO_PROVIDER && person_is_user(peer); who++)
		if (person_in_group(d, peer, (enum phx_who)who))
			add_way(to, identity, role_name((enum phx_who)who), "group",
				person_group(d, (enum phx_who)who));
	for (int who = 0; who < PHX_WHO_USER && peer->has_cert; who++)
		if (person_kind_roles(peer->cert.kind) & 1u << who)
			add_way(to, identity, role_name((enum phx_who)who), "certificate",
				peer->cert.serial);
	if (identity[0])
		add_grants(d, to, identity);
	return to;
}

static void add_group(const struct daemon *d, json_t *to, enum phx_who who)
{
	struct phx_list members = {0};
	const char *group = person_group(d, who);
	if (group[0])
		person_members(group, 0, &members);
	PHX_LIST_EACH(struct phx_word, w, &members) {
		char identity[PHX_IDENTITY_MAX];
		phx_identity_format(PHX_IDENTITY_UNIX, w->text, identity);
		if (identity[0])
			add_way(to, identity, role_name(who), "group", group);
	}
	phx_list_fini(&members);
}

void api_access(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO_JSON json_t *rows = json_array();
	add_way(rows, "unix:root", role_name(PHX_WHO_ADMIN), "root", "");
	for (int who = PHX_WHO_ADMIN; who <= PHX_WHO_PROVIDER; who++)
		add_group(d, rows, (enum phx_who)who);
	add_grants(d, rows, NULL);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "access", rows);
	phx_http_reply_json(q, 200, j);
}

/* "operator", or "login:alice": the user of the head as whom a certificate works. */
static bool parse_right(struct phx_http_request *q, const json_t *j, struct phx_event_access *p)
{
	static const char login[] = "login:";
	struct phx_err err = {0};
	struct person_login user;
	char word[PHX_NAME_MAX + sizeof(login)] = "";
	if (!TAKE(q, j, "role", word))
		return false;
	int r = 0;
	if (!phx_str_starts(word, login)) {
		r = phx_enum_parse(&phx_who_names, word, &p->role, &err);
	} else {
		PHX_STR_SET(p->login, word + strlen(login));
		/* the grant of a user that is gone can still be taken */
		if (!p->revoke && !person_login(p->login, &user))
			r = phx_err_set(&err, -EINVAL, "login: there is no user %s on the head",
					p->login);
		else if (!p->revoke && user.uid == 0)
			r = phx_err_set(&err, -EINVAL, "login: nobody works as root");
	}
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	return r == 0;
}

void access_look_again(struct daemon *d)
{
	d->rights++;
	waits_wake(d->waits, 0);
	holds_wake(d->holds);
	asks_wake(d->asks);
	feed_wake(d->feed, 0);
}

void access_changed(struct daemon *d)
{
	accounts_look(d->accounts);
	access_look_again(d);
}

void api_access_order(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = {"identity", "role", "revoke"};
	struct daemon *d = arg;
	struct phx_err err = {0};
	struct phx_outcome out = {0};
	struct phx_event ev = {.kind = PHX_EV_access};
	char word[PHX_IDENTITY_MAX] = "";
	PHX_AUTO_JSON json_t *body = body_json(q);
	if (!body || !parse_only(q, body, members, PHX_ARRAY_SIZE(members)) ||
	    !TAKE(q, body, "identity", word) || !parse_bool(q, body, "revoke", &ev.access.revoke) ||
	    !parse_right(q, body, &ev.access))
		return;
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	int r = identity_settle(word, "", ev.access.identity, &err);
	r = r ? phx_err_prefix(&err, r, "identity") : engine_submit(d->engine, &ev, &out, &err);
	if (out.changed)
		access_changed(d);
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:s,s:b}", "identity", ev.access.identity, "changed", out.changed);
	phx_outcome_fini(&out);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, j);
}

void api_whoami(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	const struct phx_http_peer *peer = phx_http_peer(q);
	unsigned roles = person_roles(d, peer);
	char by[PHX_NAME_MAX];
	struct person p;
	PHX_AUTO_JSON json_t *names = json_array(), *rights = json_object();
	person_name(peer, by, sizeof(by));
	person_of(d, peer, &p);
	for (int i = 0; i < PHX_WHO_COUNT_; i++)
		if (roles & 1u << i)
			json_array_append_new(names, json_string(phx_enum_name(&phx_who_names, i)));
	for (int i = 0; i < PHX_RIGHT_COUNT_; i++)
		json_object_set_new(
			rights, phx_enum_name(&phx_right_names, i),
			json_string(phx_enum_name(&phx_scope_names,
						  (int)phx_right_scope((enum phx_right)i, roles))));
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:s,s:s,s:s,s:O,s:O,s:o}", "identity", p.identity, "login", p.login,
			  "by", by, "roles", names, "rights", rights, "ways", ways_of(d, peer));
	phx_http_reply_json(q, 200, j);
}
