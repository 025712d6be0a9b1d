/* Signing in to the portal: the first byte chooses what is asked for, the second who asks; the rest
 * is the body, or a number of a session, in which a $ stands for the word of a link that was
 * given. A session begins by that word alone, once and not by a look at it; a password is handed
 * on as it was typed, with a name and nothing else; nobody ends a session of another.
 * Parsers: cmd/phxd/api_portal.c */
#include "fuzz/fuzz.h"

/* parts of a program, not of the library */
#include "phxd/api_portal.c"
#include "phxd/parse.c"

enum { NOBODY, ROOT, UNNAMED, CERT, ASKERS };
enum { OTHER_UID = 4000000 };

static struct phx_http_peer peer;
#include "fuzz/request.h"

static const char *param;
static unsigned handed_on;
static char begun[PHX_HTTP_SECRET_MAX]; /* the secret of a session; "": none began */
static const json_t *given;             /* the body */
static struct daemon head;

/* ---- the request ---- */

void phx_http_reply_json(struct phx_http_request *q, int status, const json_t *j)
{
	(void)q;
	fuzz_never(!j || status != 200);
	answers++;
}

void phx_http_reply_session(struct phx_http_request *q, const json_t *j, const char *secret)
{
	phx_http_reply_json(q, 200, j);
	snprintf(begun, sizeof(begun), "%s", secret ? secret : "");
}

const char *phx_http_param(const struct phx_http_request *q, int index)
{
	(void)q, (void)index;
	return param;
}

const char *phx_http_session_token(const struct phx_http_request *q)
{
	(void)q;
	return "";
}

void phx_http_session_end(struct phx_http_request *q)
{
	(void)q;
}

void phx_http_user_agent(const struct phx_http_request *q, char ret[PHX_HTTP_AGENT_MAX])
{
	(void)q;
	strcpy(ret, "a browser");
}

uint16_t phx_http_server_port(const struct phx_http_server *s, enum phx_http_listener which)
{
	(void)s, (void)which;
	return 8443;
}

/* ---- who asks ---- */

bool person_is_user(const struct phx_http_peer *p)
{
	return p->uid != (uid_t)-1;
}

bool person_identity(const struct phx_http_peer *p, char ret[PHX_IDENTITY_MAX])
{
	strcpy(ret, p->uid == 0 ? "unix:root" : "");
	return ret[0];
}

unsigned person_roles(struct daemon *d, const struct phx_http_peer *p)
{
	(void)d;
	return p->uid == 0 ? 1u << PHX_WHO_USER : 0;
}

bool person_login(const char *name, struct person_login *ret)
{
	*ret = (struct person_login){.uid = OTHER_UID, .gid = 7};
	return !strcmp(name, "alice") && PHX_STR_SET(ret->name, name) == 0;
}

/* ---- what is behind it ---- */

/* As it was typed, and what can be the user's. */
void passwords_take(struct passwords *p, struct phx_http_request *q, const char *name,
		    const char *password)
{
	(void)p;
	fuzz_never(!name[0] || strlen(password) >= PHX_DOOR_PASSWORD_MAX);
	fuzz_never(strcmp(name, json_string_value(json_object_get(given, "user"))));
	fuzz_never(strcmp(password, json_string_value(json_object_get(given, "password"))));
	fuzz_never(json_object_get(given, "word") != NULL);
	for (const char *c = name; *c; c++)
		fuzz_never((unsigned char)*c < 0x20 || *c == 0x7f);
	handed_on++;
	if (!strcmp(password, "right"))
		session_begin_as(&head, q, name);
	else
		phx_http_reply_error(q, -EACCES, "wrong");
}

json_t *portal_names(const struct portal *p)
{
	(void)p;
	return json_array();
}

void access_look_again(struct daemon *d)
{
	(void)d;
}

void seldom_tell(struct seldom *s, const struct seldom_fact *f)
{
	(void)s;
	fuzz_never(!f->who[0] || !f->text[0]);
}

int64_t engine_now(struct engine *e)
{
	(void)e;
	return 0;
}

/* ---- an input ---- */

/* The input with the word in place of each $. */
static char *fill(const char *text, const char *word)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (; *text; text++)
		phx_buf_add(&b, *text == '$' ? word : text, *text == '$' ? strlen(word) : 1);
	return fuzz_text(b.data, b.n);
}

static bool is_good(const struct daemon *d, const char *word)
{
	uid_t uid;
	return phx_http_sessions_whose(d->sessions, word, phx_clock_ms(), &uid);
}

/* By the word as it was given, by nobody who only looks, and for whom it was. */
static void check_begun(struct daemon *d, const char *word)
{
	struct phx_http_session is;
	char from[PHX_HTTP_ADDRESS_MAX];
	bool by_word = !strcmp(phx_text(json_string_value(json_object_get(given, "word"))), word);
	fuzz_never(is_good(d, word) != (!begun[0] || handed_on));
	if (!begun[0])
		return;
	fuzz_never(!phx_http_sessions_find(d->sessions, begun, peer.address, true, phx_clock_ms(),
					   &is, from));
	fuzz_never(!handed_on &&
		   (!by_word || is.uid || json_is_true(json_object_get(given, "look"))));
	fuzz_never(handed_on &&
		   (is.uid != OTHER_UID ||
		    strcmp(json_string_value(json_object_get(given, "user")), "alice")));
}

static void ask(struct daemon *d, char what)
{
	static const phx_http_handler handlers[] = {
		api_session_begin, api_session,  api_portal_link, api_portal_sign_out,
		api_session_end,   api_sessions, api_sessions_end};
	handlers[(unsigned char)(what - '0') % PHX_ARRAY_SIZE(handlers)](NULL, d);
	fuzz_never(answers != 1 || handed_on > 1);
}

static void ask_as(struct daemon *d, char what, unsigned who, char *text)
{
	char word[PHX_HTTP_SECRET_MAX], theirs[PHX_HTTP_SECRET_MAX], own[PHX_HTTP_SECRET_MAX];
	struct phx_http_place at = {"link", "10.0.0.1", "a browser"};
	struct phx_http_session is;
	char from[PHX_HTTP_ADDRESS_MAX];
	int64_t now = phx_clock_ms();
	fuzz_never(phx_http_sessions_new(&d->sessions) < 0 ||
		   phx_http_sessions_offer(d->sessions, 0, 0, now, word) < 0 ||
		   phx_http_sessions_open(d->sessions, OTHER_UID + 1, 7, &at, now, theirs) < 0 ||
		   phx_http_sessions_open(d->sessions, OTHER_UID, 7, &at, now, own) < 0);
	PHX_AUTO_FREE char *filled = fill(text, word);
	PHX_AUTO_JSON json_t *j = NULL;
	phx_json_parse(filled, strlen(filled), &j, NULL);
	body = param = filled;
	given = j;
	peer = (struct phx_http_peer){.via = PHX_HTTP_TLS,
				      .uid = who == ROOT       ? 0
					      : who == UNNAMED ? OTHER_UID
							       : (uid_t)-1,
				      .has_cert = who == CERT,
				      .address = "10.0.0.1"};
	ask(d, what);
	if (what == '0')
		check_begun(d, word);
	fuzz_never(!phx_http_sessions_find(d->sessions, theirs, "10.0.0.1", true, now, &is, from));
	if (who != UNNAMED)
		fuzz_never(!phx_http_sessions_find(d->sessions, own, "10.0.0.1", true, now, &is,
						   from));
	phx_http_sessions_free(d->sessions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n < 2)
		return 0;
	PHX_AUTO_FREE char *text = fuzz_text(data + 2, n - 2);
	answers = handed_on = 0;
	begun[0] = '\0';
	PHX_STR_SET(head.cfg.address, "head");
	ask_as(&head, (char)data[0], data[1] % ASKERS, text);
	return 0;
}
