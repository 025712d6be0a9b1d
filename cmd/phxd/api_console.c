/* Consoles of nodes, for who may power them: attach, read, type, leave; what a console said before.
 * Called by way of routes.def. Each attach is journalled. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>

#include "phxd/consoles.h"
#include "phxd/parse.h"

enum { WAIT_MAX_S = 25, LINES_MAX = 100000, LINES = 100, TYPED_MAX = 16384 };

/* The process; NULL after answering. */
static struct phx_consoles *process_of(struct daemon *d, struct phx_http_request *q)
{
	const char *node = phx_http_param(q, 0);
	struct phx_consoles *c = consoles_process(d->consoles);
	char text[200];
	if (!c) {
		phx_http_reply_error(q, -EOPNOTSUPP,
				     "this head has no consoles: consoles = true of phoenix.conf");
		return NULL;
	}
	const struct phx_state *s = engine_lock(d->engine);
	bool there = phx_state_node(s, node);
	engine_unlock(d->engine);
	snprintf(text, sizeof(text), "there is no node '%.100s'", node);
	if (!there)
		phx_http_reply_error(q, -ENOENT, text);
	return there ? c : NULL;
}

static void identity_of(struct phx_http_request *q, char ret[PHX_IDENTITY_MAX])
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	if (!person_identity(peer, ret))
		person_name(peer, ret, PHX_IDENTITY_MAX);
}

static void journal(struct daemon *d, struct phx_http_request *q, const char *before,
		    unsigned flags)
{
	struct phx_event ev = {.kind = PHX_EV_notice};
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	snprintf(ev.text, sizeof(ev.text), "console of %.63s: attached%s%s%.100s",
		 phx_http_param(q, 0), flags & PHX_CONSOLES_WRITE ? "" : " to read",
		 before[0] && flags & PHX_CONSOLES_WRITE ? ", taken from " : "",
		 flags & PHX_CONSOLES_WRITE ? before : "");
	(void)engine_submit(d->engine, &ev, NULL, NULL);
}

static void attach(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = {"read", "steal"};
	struct daemon *d = arg;
	struct phx_err err = {0};
	struct phx_console_state state = {0};
	char identity[PHX_IDENTITY_MAX], before[PHX_IDENTITY_MAX], id[SESSION_ID_MAX];
	bool reads, steals;
	PHX_AUTO_JSON json_t *body = body_json(q);
	if (!body || !parse_only(q, body, members, PHX_ARRAY_SIZE(members)) ||
	    !parse_bool(q, body, "read", &reads) || !parse_bool(q, body, "steal", &steals))
		return;
	struct phx_consoles *process = process_of(d, q);
	if (!process)
		return;
	identity_of(q, identity);
	struct sessions_wish wish = {.node = phx_http_param(q, 0), .identity = identity};
	wish.flags = (reads ? 0 : PHX_CONSOLES_WRITE) | (steals && !reads ? PHX_CONSOLES_STEAL : 0);
	int r = sessions_attach(consoles_sessions(d->consoles), process, &wish, id, before, &err);
	if (r < 0 && r != -EAGAIN) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	if (r == -EAGAIN) {
		id[0] = '\0';
		PHX_STR_SET(state.said, err.text);
	} else {
		journal(d, q, before, wish.flags);
		(void)phx_consoles_state(process, wish.node, &state, NULL);
	}
	PHX_AUTO_JSON json_t *j = json_pack("{s:s,s:s,s:b,s:s}", "session", id, "before", before,
					    "up", state.up, "said", state.said);
	phx_http_reply_json(q, 200, j);
}

/* Beside, because conserver may take seconds to answer; but it counts as what people order. */
void api_console_attach(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	reads_take(d->reads, q, attach);
}

void api_console_log(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = {0};
	struct phx_console_state state = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	const char *word = phx_http_query(q, "grep");
	uint64_t lines;
	struct phx_consoles *process = process_of(d, q);
	if (!process || !parse_query_number(q, "lines", LINES_MAX, LINES, &lines))
		return;
	int r = phx_consoles_read(process, phx_http_param(q, 0), lines ? (uint32_t)lines : LINES,
				  word ? word : "", &b, &err);
	r = r ? r : phx_consoles_state(process, phx_http_param(q, 0), &state, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:s,s:s,s:b,s:b,s:s}", "node", phx_http_param(q, 0), "text",
			  b.n ? b.data : "", "had", state.had, "up", state.up, "said", state.said);
	phx_http_reply_json(q, 200, j);
}

void api_console_read(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	char identity[PHX_IDENTITY_MAX];
	uint64_t after, wait_s;
	if (!process_of(d, q) || !parse_query_number(q, "after", UINT64_MAX / 2, 0, &after) ||
	    !parse_query_number(q, "wait", WAIT_MAX_S, 0, &wait_s) ||
	    !phx_http_claim(q, PHX_HTTP_POLL, d->cfg.polls_per_user))
		return;
	identity_of(q, identity);
	sessions_read(consoles_sessions(d->consoles), q, phx_http_param(q, 0), phx_http_param(q, 1),
		      identity, after, (int64_t)wait_s * 1000);
}

/* What is typed, in base64; -EINVAL: it is none. */
static int decode(const char *text, char **ret, size_t *ret_n)
{
	const size_t n = strlen(text);
	if (n % 4 || n > TYPED_MAX)
		return -EINVAL;
	PHX_AUTO_FREE char *data = malloc(n / 4 * 3 + 1);
	int got = data ? EVP_DecodeBlock((unsigned char *)data, (const unsigned char *)text, (int)n)
		       : -1;
	if (got < 0)
		return data ? -EINVAL : -ENOMEM;
	size_t padding = n && text[n - 1] == '=' ? 1 + (text[n - 2] == '=') : 0;
	*ret_n = (size_t)got - padding;
	*ret = PHX_TAKE(data);
	return 0;
}

void api_console_type(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = {"data", "break", "end"};
	struct daemon *d = arg;
	struct phx_err err = {0};
	char identity[PHX_IDENTITY_MAX];
	PHX_AUTO_FREE char *data = NULL;
	size_t n = 0;
	bool as_break, ends;
	PHX_AUTO_JSON json_t *body = body_json(q);
	if (!body || !parse_only(q, body, members, PHX_ARRAY_SIZE(members)) ||
	    !parse_bool(q, body, "break", &as_break) || !parse_bool(q, body, "end", &ends) ||
	    !process_of(d, q))
		return;
	struct sessions *s = consoles_sessions(d->consoles);
	const char *node = phx_http_param(q, 0), *id = phx_http_param(q, 1);
	identity_of(q, identity);
	int r = decode(phx_json_str(body, "data", ""), &data, &n);
	if (r < 0)
		phx_err_set(&err, r, "data: not base64 of what is typed, or too much at once");
	r = r          ? r
		: ends ? sessions_end(s, node, id, identity)
		       : sessions_type(s, node, id, identity, data, n, as_break, &err);
	PHX_AUTO_JSON json_t *empty = json_object();
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, empty);
}
