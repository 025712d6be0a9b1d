/* Signing in with a browser. A user of this machine asks for a link on the socket, where the kernel
 * tells the user's identity (phx portal). The secret word in the link is valid once, for a minute,
 * and begins a session of that identity (lib/http/sessions.h). It stands behind the # of the link,
 * which browsers do not send and logs do not hold; the page shows whose link it is before it is
 * used, so that a link from somebody else signs nobody in unnoticed. Called by way of routes.def.
 */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/account.h"
#include "base/clock.h"
#include "door/door.h"
#include "phxd/parse.h"

static bool name_of(uid_t uid, gid_t *ret_gid, char ret[PHX_IDENTITY_MAX])
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	if (phx_user_numbered(uid, &pw, &texts) < 0)
		return false;
	*ret_gid = pw.pw_gid;
	phx_identity_format(PHX_IDENTITY_UNIX, pw.pw_name, ret);
	return ret[0];
}

/* The host in links: the first name of the head that the certificate has. */
static const char *host_of(const struct phx_config *cfg)
{
	return cfg->server_names.n ? PHX_LIST_AT(&cfg->server_names, struct phx_word, 0)->text
				   : cfg->address;
}

void api_portal_link(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	char word[PHX_HTTP_SECRET_MAX], identity[PHX_IDENTITY_MAX], url[512];
	uid_t uid = phx_http_peer(q)->uid;
	gid_t gid;
	if (!name_of(uid, &gid, identity)) {
		phx_http_reply_error(q, -EINVAL,
				     "your number has no name on this head: nobody signs in so");
		return;
	}
	int r = phx_http_sessions_offer(d->sessions, uid, gid, phx_clock_ms(), word);
	if (r < 0) {
		phx_http_reply_error(q, r, "no link can be made");
		return;
	}
	snprintf(url, sizeof(url), "https://%s:%u/portal/#link=%s", host_of(&d->cfg),
		 (unsigned)phx_http_server_port(d->http, PHX_HTTP_TLS), word);
	PHX_AUTO_JSON json_t *j = json_pack("{s:s,s:s,s:i}", "url", url, "identity", identity,
					    "expires_s", PHX_HTTP_WORD_MS / 1000);
	phx_http_reply_json(q, 200, j);
}

void api_portal_sign_out(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	unsigned n = phx_http_sessions_end_all(d->sessions, phx_http_peer(q)->uid);
	access_look_again(d);
	PHX_AUTO_JSON json_t *j = json_pack("{s:i}", "ended", (int)n);
	phx_http_reply_json(q, 200, j);
}

/* The session of the asker. Without one, the asker is told only that, when this head started and
 * which pages it has, so that a page knows why it is signed out and whether it is outdated. */
static json_t *session_json(struct daemon *d, const struct phx_http_request *q)
{
	char identity[PHX_IDENTITY_MAX];
	bool known = person_identity(phx_http_peer(q), identity) &&
		person_roles(d, phx_http_peer(q)) & 1u << PHX_WHO_USER;
	return json_pack("{s:b,s:s,s:s,s:I,s:b,s:o}", "signed_in", known, "identity",
			 known ? identity : "", "token", phx_http_session_token(q), "started_ms",
			 (json_int_t)d->started_ms, "passwords", d->passwords != NULL, "pages",
			 portal_names(d->portal));
}

void api_session(struct phx_http_request *q, void *arg)
{
	PHX_AUTO_JSON json_t *j = session_json(arg, q);
	phx_http_reply_json(q, 200, j);
}

/* Somebody who signs in again and again, from one address, is one row a minute. */
static void tell(struct daemon *d, const struct phx_http_peer *peer, const char *identity,
		 const char *how)
{
	char text[PHX_IDENTITY_MAX + 160], kind[2 * PHX_NAME_MAX];
	snprintf(text, sizeof(text), "%s signed in with a browser from %s, by a %s", identity,
		 peer->address, how);
	snprintf(kind, sizeof(kind), "sign-in by %s from %s", how, peer->address);
	seldom_tell(d->seldom, &(struct seldom_fact){.who = identity, .kind = kind, .text = text});
}

void session_moved(void *arg, const struct phx_http_peer *peer, const char *from)
{
	struct daemon *d = arg;
	char text[PHX_IDENTITY_MAX + 200], identity[PHX_IDENTITY_MAX];
	if (!person_identity(peer, identity))
		return;
	snprintf(text, sizeof(text), "a session of %s is used from %s, and was from %s before",
		 identity, peer->address, from);
	struct seldom_fact f = {.who = identity, .kind = "session", .text = text};
	seldom_tell(d->seldom, &f);
}

/* ---- signing in ---- */

static void refuse_word(struct phx_http_request *q)
{
	phx_http_reply_error(q, -EACCES,
			     "this link is used, or older than a minute: ask for another one with "
			     "phx portal");
}

/* Signing in ends the browser's former session: nothing of it is taken over. */
static void reply_signed_in(struct daemon *d, struct phx_http_request *q, const char *identity,
			    const char *how, char secret[PHX_HTTP_SECRET_MAX])
{
	PHX_AUTO_JSON json_t *j = json_pack("{s:s}", "identity", identity);
	phx_http_session_end(q);
	tell(d, phx_http_peer(q), identity, how);
	phx_http_reply_session(q, j, secret);
	explicit_bzero(secret, PHX_HTTP_SECRET_MAX);
}

static void begin_by_word(struct daemon *d, struct phx_http_request *q, const char *word, bool look)
{
	char secret[PHX_HTTP_SECRET_MAX], identity[PHX_IDENTITY_MAX], agent[PHX_HTTP_AGENT_MAX];
	struct phx_http_place at = {"link", phx_http_peer(q)->address, agent};
	int64_t now = phx_clock_ms();
	uid_t uid = (uid_t)-1;
	gid_t gid;
	phx_http_user_agent(q, agent);
	if (!phx_http_sessions_whose(d->sessions, word, now, &uid) ||
	    !name_of(uid, &gid, identity)) {
		refuse_word(q);
	} else if (look) {
		PHX_AUTO_JSON json_t *j = json_pack("{s:s}", "identity", identity);
		phx_http_reply_json(q, 200, j);
	} else if (phx_http_sessions_begin(d->sessions, word, &at, now, secret) < 0) {
		refuse_word(q);
	} else {
		reply_signed_in(d, q, identity, "link", secret);
	}
}

void session_begin_as(struct daemon *d, struct phx_http_request *q, const char *name)
{
	char secret[PHX_HTTP_SECRET_MAX], identity[PHX_IDENTITY_MAX], agent[PHX_HTTP_AGENT_MAX];
	struct phx_http_place at = {"password", phx_http_peer(q)->address, agent};
	struct person_login who;
	phx_http_user_agent(q, agent);
	int r = person_login(name, &who) ? 0 : -EACCES;
	r = r ? r
	      : phx_http_sessions_open(d->sessions, who.uid, who.gid, &at, phx_clock_ms(), secret);
	if (r < 0) {
		phx_http_reply_error(q, r, "no session can begin");
		return;
	}
	phx_identity_format(PHX_IDENTITY_UNIX, who.name, identity);
	reply_signed_in(d, q, identity, "password", secret);
}

/* Takes both name and password, or none; a password may hold any characters. */
static bool take_password(struct phx_http_request *q, const json_t *body, char *name, size_t n_name,
			  const char **ret_password)
{
	const json_t *j = json_object_get(body, "password");
	bool well = parse_text(q, body, "user", name, n_name);
	*ret_password = json_string_value(j);
	if (well &&
	    (!name[0] || !*ret_password || json_object_get(body, "word") ||
	     json_string_length(j) >= PHX_DOOR_PASSWORD_MAX)) {
		phx_http_reply_error(q, -EINVAL,
				     "user and password: both, of less than 512 bytes, or the word "
				     "of a link");
		return false;
	}
	return well;
}

void api_session_begin(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = {"word", "look", "user", "password"};
	struct daemon *d = arg;
	char word[PHX_HTTP_SECRET_MAX + 1] = "", name[PHX_DOOR_NAME_MAX] = "";
	const char *password = NULL;
	bool look = false;
	PHX_AUTO_JSON json_t *body = body_json(q);
	if (!body || !parse_only(q, body, members, PHX_ARRAY_SIZE(members)))
		return;
	if (json_object_get(body, "user") || json_object_get(body, "password")) {
		if (take_password(q, body, name, sizeof(name), &password))
			passwords_take(d->passwords, q, name, password);
	} else if (TAKE(q, body, "word", word) && parse_bool(q, body, "look", &look)) {
		begin_by_word(d, q, word, look);
	}
}

/* ---- the asker's sessions ---- */

void api_session_end(struct phx_http_request *q, void *arg)
{
	PHX_AUTO_JSON json_t *j = json_object();
	phx_http_session_end(q);
	access_look_again(arg);
	phx_http_reply_session(q, j, NULL);
}

/* A certificate has no sessions: its key authenticates each connection. */
static bool is_user(struct phx_http_request *q)
{
	if (person_is_user(phx_http_peer(q)))
		return true;
	phx_http_reply_error(q, -EPERM,
			     "a certificate has no sessions: it signs in by itself, until it is "
			     "revoked (phx cert revoke)");
	return false;
}

static json_t *view_json(const struct daemon *d, const struct phx_http_session_view *v,
			 uint64_t here)
{
	int64_t ahead = engine_now(d->engine) - phx_clock_ms();
	return json_pack("{s:I,s:b,s:s,s:s,s:s,s:s,s:I,s:I,s:I}", "id", (json_int_t)v->id, "here",
			 v->id == here, "by", v->how, "browser", v->agent, "address", v->address,
			 "used_at", v->used_at, "began_ms", (json_int_t)(v->began_ms + ahead),
			 "used_ms", (json_int_t)(v->used_ms + ahead), "ends_ms",
			 (json_int_t)(v->until_ms + ahead));
}

void api_sessions(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	const struct phx_http_peer *peer = phx_http_peer(q);
	PHX_AUTO(phx_list_fini) struct phx_list list = {0};
	if (!is_user(q))
		return;
	int r = phx_http_sessions_list(d->sessions, peer->uid, phx_clock_ms(), &list);
	PHX_AUTO_JSON json_t *a = json_array();
	PHX_LIST_EACH(struct phx_http_session_view, v, &list)
		json_array_append_new(a, view_json(d, v, peer->session));
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "sessions", a);
	if (r < 0)
		phx_http_reply_error(q, r, "out of memory");
	else
		phx_http_reply_json(q, 200, j);
}

void api_sessions_end(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	uint64_t id = 0;
	PHX_AUTO_JSON json_t *j = json_object();
	if (!is_user(q))
		return;
	if (phx_u64_parse(phx_http_param(q, 0), 1, UINT64_MAX, &id) < 0 ||
	    !phx_http_sessions_end_one(d->sessions, phx_http_peer(q)->uid, id, phx_clock_ms())) {
		phx_http_reply_error(q, -ENOENT, "you have no session of this number");
		return;
	}
	access_look_again(d);
	phx_http_reply_json(q, 200, j);
}
