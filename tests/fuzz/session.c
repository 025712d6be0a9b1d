/* Who is signed in with a browser: a line each, somebody is given a link, uses one, is asked for a
 * password, ends sessions, time passes, or a request comes with its headers. A digit behind $
 * stands for a secret that was given out, behind % for the token of its session. A request is
 * somebody's by a secret as it was given out, of a session that has not ended, from a page of our
 * own, and changes something with the token of that session alone.
 * Parsers: lib/http/browser.c lib/http/sessions.c */
#include <errno.h>

#include "base/clock.h"
#include "fuzz/fuzz.h"
#include "http/internal.h"

enum { SECRETS = 40, HEADERS = 10 };

/* what was given out: a word of a link, or the secret of a session */
struct secret {
	bool is_session, over;
	uid_t uid;
	uint64_t id;
	char text[PHX_HTTP_SECRET_MAX], token[PHX_HTTP_SECRET_MAX];
	char used_at[PHX_HTTP_ADDRESS_MAX];
	int64_t until_ms, idle_ms;
};

static struct secret secrets[SECRETS];
static unsigned n_secrets;
static int64_t now_ms;
static struct {
	const char *name, *value;
} headers[HEADERS];
static unsigned n_headers, n_refused, n_moved;
static char cookie_set[400], counted[80];

/* ---- what is around it ---- */

static const char *lookup(struct MHD_Connection *mhd, enum MHD_ValueKind kind, const char *name)
{
	(void)mhd;
	const char *of = kind == MHD_COOKIE_KIND ? "cookie " : "";
	for (unsigned i = 0; i < n_headers; i++)
		if (phx_str_starts(headers[i].name, of) &&
		    !strcasecmp(headers[i].name + strlen(of), name))
			return headers[i].value;
	return NULL;
}

void phx_http_refuse(struct phx_http_request *q, int status, int code, const char *text,
		     const char *allow)
{
	(void)q, (void)allow;
	fuzz_never(status != 403 || code != -EPERM || !text[0]);
	n_refused++;
}

void phx_http_reply_json_with(struct phx_http_request *q, int status, const json_t *j,
			      const char *header, const char *value)
{
	(void)q, (void)j;
	fuzz_never(status != 200 || strcmp(header, "Set-Cookie") ||
		   strlen(value) >= sizeof(cookie_set));
	strcpy(cookie_set, value);
}

static int know(struct phx_http_guard *g, struct phx_http_entry *e, const char *key,
		enum phx_http_rank rank)
{
	(void)g, (void)e;
	fuzz_never(rank != PHX_HTTP_KNOWN);
	snprintf(counted, sizeof(counted), "%s", key);
	return 0;
}

static void moved(void *arg, const struct phx_http_peer *peer, const char *from)
{
	(void)arg;
	fuzz_never(!from[0] || !strcmp(from, peer->address));
	n_moved++;
}

static int64_t now(void)
{
	return now_ms;
}

#define MHD_lookup_connection_value lookup
#define phx_http_guard_know know
#define phx_clock_ms now
#include "http/browser.c"

/* ---- what was given out ---- */

static bool is_live(const struct secret *s)
{
	return !s->over && now_ms < s->until_ms && (!s->is_session || now_ms < s->idle_ms);
}

static struct secret *find_secret(const char *text, bool session)
{
	for (unsigned i = 0; i < n_secrets; i++)
		if (secrets[i].is_session == session && is_live(&secrets[i]) &&
		    !strcmp(secrets[i].text, text))
			return &secrets[i];
	return NULL;
}

/* One more of a user: of those before it so many stay, the newest. */
static struct secret *give(uid_t uid, bool session, unsigned most)
{
	unsigned n = 0;
	for (unsigned i = n_secrets; i-- > 0;)
		if (secrets[i].is_session == session && secrets[i].uid == uid &&
		    is_live(&secrets[i]) && ++n >= most)
			secrets[i].over = true;
	struct secret *s = &secrets[n_secrets++];
	*s = (struct secret){.is_session = session, .uid = uid};
	s->until_ms = now_ms + (session ? PHX_HTTP_SESSION_MS : PHX_HTTP_WORD_MS);
	s->idle_ms = now_ms + PHX_HTTP_IDLE_MS;
	strcpy(s->used_at, "10.0.0.1");
	return s;
}

static const struct phx_http_place at_home = {"link", "10.0.0.1", "a browser"};

static void note_session(struct phx_http_sessions *all, struct secret *s)
{
	struct phx_http_session is;
	char from[PHX_HTTP_ADDRESS_MAX];
	fuzz_never(strlen(s->text) != PHX_HTTP_SECRET_MAX - 1);
	fuzz_never(!phx_http_sessions_find(all, s->text, "10.0.0.1", true, now_ms, &is, from));
	fuzz_never(is.uid != s->uid || !is.id || from[0] || !strcmp(is.token, s->text));
	s->id = is.id;
	strcpy(s->token, is.token);
}

static void use_word(struct phx_http_sessions *all, const char *text)
{
	char secret[PHX_HTTP_SECRET_MAX] = "";
	struct secret *word = find_secret(text, false);
	uid_t uid = (uid_t)-1;
	fuzz_never(phx_http_sessions_whose(all, text, now_ms, &uid) != (word != NULL));
	fuzz_never(uid != (word ? word->uid : (uid_t)-1));
	if (word && n_secrets == SECRETS)
		return;
	int r = phx_http_sessions_begin(all, text, &at_home, now_ms, secret);
	fuzz_never(r != (word ? 0 : -ENOENT));
	if (!word)
		return;
	word->over = true;
	struct secret *s = give(uid, true, PHX_HTTP_SESSIONS_EACH);
	strcpy(s->text, secret);
	note_session(all, s);
	fuzz_never(phx_http_sessions_begin(all, text, &at_home, now_ms, secret) != -ENOENT);
}

static void sign_in(struct phx_http_sessions *all, uid_t uid)
{
	if (n_secrets == SECRETS)
		return;
	struct secret *s = give(uid, true, PHX_HTTP_SESSIONS_EACH);
	fuzz_never(phx_http_sessions_open(all, uid, 7, &at_home, now_ms, s->text) < 0);
	note_session(all, s);
}

static void offer(struct phx_http_sessions *all, uid_t uid)
{
	if (n_secrets == SECRETS)
		return;
	struct secret *s = give(uid, false, PHX_HTTP_WORDS_EACH);
	fuzz_never(phx_http_sessions_offer(all, uid, 7, now_ms, s->text) < 0);
}

/* ---- their ends ---- */

static void end_all(struct phx_http_sessions *all, uid_t uid)
{
	unsigned n = 0;
	for (unsigned i = 0; i < n_secrets; i++) {
		if (secrets[i].uid != uid)
			continue;
		n += secrets[i].is_session && is_live(&secrets[i]);
		secrets[i].over = true;
	}
	/* some of them may have ended by themselves, which is noticed later */
	fuzz_never(phx_http_sessions_end_all(all, uid) < n);
}

static void end_one(struct phx_http_sessions *all, uid_t uid, uint64_t id)
{
	struct secret *s = NULL;
	for (unsigned i = 0; i < n_secrets; i++)
		if (secrets[i].is_session && secrets[i].id == id && is_live(&secrets[i]))
			s = &secrets[i];
	bool is_his = s && s->uid == uid;
	fuzz_never(phx_http_sessions_has(all, id, now_ms) != (s != NULL));
	fuzz_never(phx_http_sessions_end_one(all, uid, id, now_ms) != is_his);
	if (is_his)
		s->over = true;
}

static void list(struct phx_http_sessions *all, uid_t uid)
{
	PHX_AUTO(phx_list_fini) struct phx_list is = {0};
	unsigned n = 0;
	fuzz_never(phx_http_sessions_list(all, uid, now_ms, &is) < 0);
	for (unsigned i = 0; i < n_secrets; i++) {
		const struct secret *s = &secrets[i];
		if (!s->is_session || s->uid != uid || !is_live(s))
			continue;
		const struct phx_http_session_view *v =
			n < is.n ? PHX_LIST_AT(&is, struct phx_http_session_view, n++) : NULL;
		fuzz_never(!v || v->id != s->id || strcmp(v->used_at, s->used_at));
	}
	fuzz_never(n != is.n);
}

/* ---- requests ---- */

/* "$3" and "%3" of the secrets that were given out; anything else is itself. */
static const char *meant(const char *text)
{
	unsigned k = (unsigned)(text[0] && text[1] && !text[2] ? text[1] - '0' : SECRETS);
	if (k >= n_secrets || (text[0] != '$' && text[0] != '%'))
		return text;
	return text[0] == '$' ? secrets[k].text : secrets[k].token;
}

/* "NAME: VALUE" with | between them; "cookie NAME" is a cookie. */
static void read_headers(char *text)
{
	n_headers = 0;
	for (char *one, *rest = text; n_headers < HEADERS && (one = strsep(&rest, "|"));) {
		char *colon = strstr(one, ": ");
		if (!colon)
			continue;
		*colon = '\0';
		headers[n_headers].name = one;
		headers[n_headers++].value = meant(colon + 2);
	}
}

static const char *given(const char *name, const char *otherwise)
{
	const char *value = lookup(NULL, MHD_HEADER_KIND, name);
	return value ? value : otherwise;
}

/* By the words of the header of this file. */
static struct secret *signed_in(const struct phx_http_peer *peer)
{
	const char *value = lookup(NULL, MHD_COOKIE_KIND, "__Host-phoenix");
	const char *site = given("Sec-Fetch-Site", "none");
	bool ours = !strcmp(site, "none") || !strcmp(site, "same-origin");
	if (peer->via != PHX_HTTP_TLS || peer->has_cert || !ours || !value)
		return NULL;
	return find_secret(value, true);
}

static bool is_from_ours(const struct phx_http_peer *peer)
{
	char own[600];
	const char *origin = given("Origin", NULL), *host = given("Host", NULL);
	snprintf(own, sizeof(own), "https://%.512s", host ? host : "");
	return !origin || (peer->via == PHX_HTTP_TLS && host && !strcmp(origin, own));
}

static void check_user(struct phx_http_request *q, struct secret *who, const char *token)
{
	const struct phx_http_peer *peer = &q->connection->peer;
	bool changes_it = strcmp(q->method, "GET") != 0 && strcmp(q->method, "HEAD") != 0;
	bool may = !changes_it || (token && !strcmp(token, who->token));
	char key[80];
	snprintf(key, sizeof(key), "uid:%u", (unsigned)who->uid);
	fuzz_never(n_refused != !may || strcmp(counted, may ? key : ""));
	fuzz_never(!q->signed_in || q->signed_in->peer.uid != who->uid ||
		   q->signed_in->peer.session != who->id ||
		   strcmp(phx_http_session_token(q), who->token));
	fuzz_never(n_moved != (strcmp(who->used_at, peer->address) != 0));
	strcpy(who->used_at, peer->address);
	if (!given("Phoenix-Watch", NULL))
		who->idle_ms = now_ms + PHX_HTTP_IDLE_MS;
}

static void check_answers(struct phx_http_request *q)
{
	char agent[PHX_HTTP_AGENT_MAX];
	const char *session = "__Host-phoenix=abc; Path=/; Secure; HttpOnly; SameSite=Strict";
	phx_http_user_agent(q, agent);
	for (const char *c = agent; *c; c++)
		fuzz_never(*c < ' ' || *c > '~');
	fuzz_never(strlen(agent) > strlen(given("User-Agent", "")));
	phx_http_reply_session(q, NULL, "abc");
	fuzz_never(strcmp(cookie_set, session) != 0);
	phx_http_reply_session(q, NULL, NULL);
	fuzz_never(!strstr(cookie_set, "__Host-phoenix=; ") || !strstr(cookie_set, "Max-Age=0"));
}

/* "VIA METHOD ADDRESS HEADERS": u, t, c (with a certificate) or p. */
static void ask(struct phx_http_sessions *all, char *text)
{
	struct phx_http_server server = {.sessions = all, .moved = moved};
	struct phx_http_listener_state listener = {.server = &server};
	struct phx_http_connection c = {.listener = &listener, .signed_in = (uid_t)-1};
	struct phx_http_request q = {.server = &server, .connection = &c};
	char *via = strsep(&text, " "), *method = strsep(&text, " "), *at = strsep(&text, " ");
	if (!text)
		return;
	c.peer = (struct phx_http_peer){.via = *via == 'u'    ? PHX_HTTP_UNIX
						: *via == 'p' ? PHX_HTTP_PLAIN
							      : PHX_HTTP_TLS,
					.uid = (uid_t)-1,
					.has_cert = *via == 'c'};
	snprintf(q.method, sizeof(q.method), "%s", method);
	snprintf(c.peer.address, sizeof(c.peer.address), "%s", at);
	read_headers(text);
	n_refused = n_moved = 0;
	counted[0] = '\0';
	struct secret *who = is_from_ours(&c.peer) ? signed_in(&c.peer) : NULL;
	phx_http_browser_check(&q);
	fuzz_never(phx_http_browser_has_cookie(&q) !=
		   (lookup(NULL, MHD_COOKIE_KIND, "__Host-phoenix") != NULL));
	if (who)
		check_user(&q, who, given("Phoenix-Token", NULL));
	else
		fuzz_never(n_refused != !is_from_ours(&c.peer) || q.signed_in || counted[0] ||
			   phx_http_session_token(&q)[0]);
	check_answers(&q);
	if (who && !strcmp(q.method, "DELETE") && !n_refused) {
		phx_http_session_end(&q);
		who->over = true;
	}
	free(q.signed_in);
}

/* ---- an input ---- */

static void line(struct phx_http_sessions *all, char *text)
{
	char *rest = text[0] ? text + 1 : text;
	uid_t uid = (unsigned char)*rest % 4;
	switch (text[0]) {
	case 't':
		now_ms += (int64_t)(strtoul(rest, NULL, 10) % 100000) * 1000;
		break;
	case 'l':
		offer(all, uid);
		break;
	case 'p':
		sign_in(all, uid);
		break;
	case 'u':
		use_word(all, meant(rest));
		break;
	case 'a':
		end_all(all, uid);
		break;
	case 'e':
		end_one(all, uid, strtoull(rest + (*rest != '\0'), NULL, 10));
		break;
	case 's':
		list(all, uid);
		break;
	case 'r':
		ask(all, rest);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct phx_http_sessions *all = NULL;
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	n_secrets = 0;
	now_ms = 5000;
	fuzz_never(phx_http_sessions_new(&all) < 0);
	for (char *at = text, *next; *at; at = next) {
		next = fuzz_line(at);
		line(all, at);
	}
	phx_http_sessions_free(all);
	return 0;
}
