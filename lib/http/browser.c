/* What comes from pages. A browser sends cookies, and certificates, by itself, whichever page has
 * it ask: so it is looked at whose page it is, and what changes something shows beside the cookie a
 * token that only our own pages can read. Called by request.c for each request; a session is looked
 * for in sessions.c.
 *
 *   Unix socket, plain   a browser asks for nothing there: a page of whatever origin is refused
 *   TLS, Origin          another one than the head's own is refused
 *   TLS, cookie          counts on requests of our own pages alone, and not beside a certificate */
#include "http/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* The prefix has browsers demand Secure and Path=/, and no Domain. */
#define COOKIE "__Host-phoenix"
#define TOKEN_HEADER "Phoenix-Token"
/* A page that shows what is, and asks again by itself: nobody is there who acts. */
#define WATCH_HEADER "Phoenix-Watch"

static const char *header(const struct phx_http_request *q, const char *name)
{
	return MHD_lookup_connection_value(q->mhd, MHD_HEADER_KIND, name);
}

static const char *cookie(const struct phx_http_request *q)
{
	return MHD_lookup_connection_value(q->mhd, MHD_COOKIE_KIND, COOKIE);
}

bool phx_http_browser_has_cookie(const struct phx_http_request *q)
{
	return cookie(q);
}

/* Who is no browser sends none of both. */
static bool is_own_page(const struct phx_http_request *q)
{
	static const char https[] = "https://";
	const char *origin = header(q, MHD_HTTP_HEADER_ORIGIN);
	const char *host = header(q, MHD_HTTP_HEADER_HOST);
	if (!origin)
		return true;
	return q->connection->peer.via == PHX_HTTP_TLS && host && phx_str_starts(origin, https) &&
		!strcmp(origin + strlen(https), host);
}

/* "none": typed by a person, or from a bookmark. */
static bool is_own_site(const struct phx_http_request *q)
{
	const char *site = header(q, "Sec-Fetch-Site");
	return !site || !strcmp(site, "same-origin") || !strcmp(site, "none");
}

static bool changes(const struct phx_http_request *q)
{
	return strcmp(q->method, "GET") != 0 && strcmp(q->method, "HEAD") != 0;
}

/* Both are of one length, which is no secret. */
static bool same_secret(const char *a, const char *b)
{
	unsigned char differs = strlen(a) != strlen(b);
	for (size_t i = 0; !differs && a[i]; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return !differs;
}

/* Its connection counts as one of his from now on, not of its address: who shares that with others
 * takes nothing of theirs. */
static void count_as_his(struct phx_http_request *q)
{
	struct phx_http_connection *c = q->connection;
	const struct phx_http_peer *peer = &q->signed_in->peer;
	char key[PHX_HTTP_KEY_MAX];
	if (c->signed_in == peer->uid)
		return;
	snprintf(key, sizeof(key), "uid:%u", (unsigned)peer->uid);
	enum phx_http_rank rank =
		q->server->rank ? q->server->rank(q->server->arg, peer) : PHX_HTTP_KNOWN;
	c->refused = phx_http_guard_know(c->listener->guard, &c->entry, key, rank);
	if (c->refused == 0)
		c->signed_in = peer->uid;
}

static struct phx_http_signed_in *find(const struct phx_http_request *q)
{
	const struct phx_http_server *s = q->server;
	struct phx_http_signed_in *to = calloc(1, sizeof(*to));
	char from[PHX_HTTP_ADDRESS_MAX];
	bool acts = !header(q, WATCH_HEADER);
	if (!to ||
	    !phx_http_sessions_find(s->sessions, cookie(q), q->connection->peer.address, acts,
				    phx_clock_ms(), &to->session, from)) {
		free(to);
		return NULL;
	}
	to->peer = q->connection->peer;
	to->peer.has_session = true;
	to->peer.session = to->session.id;
	to->peer.uid = to->session.uid;
	to->peer.gid = to->session.gid;
	if (from[0] && s->moved)
		s->moved(s->arg, &to->peer, from);
	return to;
}

void phx_http_browser_check(struct phx_http_request *q)
{
	const struct phx_http_peer *peer = &q->connection->peer;
	if (!is_own_page(q)) {
		phx_http_refuse(q, 403, -EPERM, "not permitted: a page of another origin asks",
				NULL);
		return;
	}
	if (!q->server->sessions || peer->via != PHX_HTTP_TLS || peer->has_cert || !cookie(q) ||
	    !is_own_site(q))
		return;
	q->signed_in = find(q);
	if (!q->signed_in)
		return;
	const char *token = header(q, TOKEN_HEADER);
	if (changes(q) && !(token && same_secret(token, q->signed_in->session.token)))
		phx_http_refuse(q, 403, -EPERM,
				"not permitted: what changes something shows the token of its "
				"session (" TOKEN_HEADER ")",
				NULL);
	else
		count_as_his(q);
}

void phx_http_reply_session(struct phx_http_request *q, const json_t *j, const char *secret)
{
	char text[PHX_HTTP_SECRET_MAX + 120];
	snprintf(text, sizeof(text), COOKIE "=%s; Path=/; Secure; HttpOnly; SameSite=Strict%s",
		 secret ? secret : "", secret ? "" : "; Max-Age=0");
	phx_http_reply_json_with(q, 200, j, MHD_HTTP_HEADER_SET_COOKIE, text);
	explicit_bzero(text, sizeof(text));
}

void phx_http_user_agent(const struct phx_http_request *q, char ret[PHX_HTTP_AGENT_MAX])
{
	const char *said = header(q, MHD_HTTP_HEADER_USER_AGENT);
	size_t n = 0;
	for (; said && said[n] && n < PHX_HTTP_AGENT_MAX - 1; n++)
		ret[n] = said[n] >= ' ' && said[n] <= '~' ? said[n] : '?';
	ret[n] = '\0';
}

const char *phx_http_session_token(const struct phx_http_request *q)
{
	return q->signed_in ? q->signed_in->session.token : "";
}

void phx_http_session_end(struct phx_http_request *q)
{
	if (q->signed_in)
		phx_http_sessions_end(q->server->sessions, cookie(q));
}
