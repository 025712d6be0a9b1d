/* Calls that fire triggers: POST /hook/NAME with the trigger's token, and no other identity. A
 * missing token, a wrong one and a trigger that does not exist get the same answer, and the caller
 * soon has to wait. Calls of a trigger are rate-limited, and what they journal counts as its
 * owner's. Called by way of routes.def. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum {
	CALLERS = 512,      /* addresses that are remembered, and triggers */
	WRONG_AT_ONCE = 10, /* wrong tokens of one address at once; then one per WRONG_MS */
	WRONG_MS = 6000,
	CALLS_AT_ONCE = 60, /* calls of one trigger at once; then one per CALL_MS */
	CALL_MS = 1000,
	EVENT_BYTES = 512, /* of a call, in the journal */
	KEY_MAX = 80,      /* of one key, an address or a trigger */
	IDEMPOTENCE_MAX = 200,
	TOKEN_BYTES = 20,
};

/* A leaky bucket: it is empty at empty_ms and later. */
struct bucket {
	char key[KEY_MAX];
	int64_t empty_ms;
};

struct hooks {
	struct daemon *d;
	pthread_mutex_t lock;
	struct bucket buckets[CALLERS];
};

int hooks_new(struct daemon *d, struct hooks **ret)
{
	struct hooks *h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->d = d;
	pthread_mutex_init(&h->lock, NULL);
	*ret = h;
	return 0;
}

void hooks_free(struct hooks *h)
{
	if (!h)
		return;
	pthread_mutex_destroy(&h->lock);
	free(h);
}

int hooks_token(char ret_token[HOOK_TOKEN_MAX], char ret_sha256[PHX_SHA256_HEX])
{
	unsigned char bytes[TOKEN_BYTES];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret_token + 2 * i, 3, "%02x", bytes[i]);
	explicit_bzero(bytes, sizeof(bytes));
	return phx_sha256_of(ret_token, strlen(ret_token), ret_sha256);
}

/* ---- limits ---- */

/* The bucket of the key; if it has none, the one that has been empty for longest. */
static struct bucket *bucket_of(struct hooks *h, const char *key)
{
	struct bucket *oldest = &h->buckets[0];
	for (size_t i = 0; i < CALLERS; i++) {
		struct bucket *b = &h->buckets[i];
		if (!strcmp(b->key, key))
			return b;
		oldest = b->empty_ms < oldest->empty_ms ? b : oldest;
	}
	*oldest = (struct bucket){0};
	PHX_STR_SET(oldest->key, key);
	return oldest;
}

/* Counts one more; 0, or the seconds to wait if there are too many. */
static int64_t take(struct hooks *h, const char *key, int64_t each_ms, int64_t at_once)
{
	int64_t now = engine_now(h->d->engine), wait_ms;
	pthread_mutex_lock(&h->lock);
	struct bucket *b = bucket_of(h, key);
	b->empty_ms = b->empty_ms > now ? b->empty_ms : now;
	wait_ms = b->empty_ms + each_ms - now - at_once * each_ms;
	if (wait_ms <= 0)
		b->empty_ms += each_ms;
	pthread_mutex_unlock(&h->lock);
	return wait_ms <= 0 ? 0 : wait_ms / 1000 + 1;
}

/* ---- the token ---- */

/* What the head knows of a trigger by its name; zeroed if there is none. */
struct called {
	uint64_t id;
	char token_sha256[PHX_SHA256_HEX], owner[PHX_IDENTITY_MAX];
};

static struct called find(struct daemon *d, const char *name)
{
	struct called c = {0};
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_trigger *t = phx_state_trigger_named(s, name);
	if (t && t->kind == PHX_TRIGGER_HTTP) {
		c.id = t->id;
		PHX_STR_SET(c.token_sha256, t->token_sha256);
		PHX_STR_SET(c.owner, t->owner);
	}
	engine_unlock(d->engine);
	return c;
}

/* Compares in constant time. */
static bool is_same(const char a[PHX_SHA256_HEX], const char b[PHX_SHA256_HEX])
{
	unsigned char differ = 0;
	for (size_t i = 0; i < PHX_SHA256_HEX; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return !differ;
}

static bool shows_token(const struct phx_http_request *q, const struct called *c)
{
	static const char bearer[] = "Bearer ";
	const char *sent = phx_http_header(q, "Authorization");
	const char *token = sent && phx_str_starts(sent, bearer)
		? sent + strlen(bearer)
		: phx_http_header(q, "X-Phoenix-Token");
	char sha256[PHX_SHA256_HEX] = "";
	bool there = token && phx_sha256_of(token, strlen(token), sha256) == 0;
	/* compared even if there is no such trigger, to take the same time */
	bool same = is_same(sha256, c->token_sha256);
	return same && there && c->id;
}

static void refuse(struct hooks *h, struct phx_http_request *q)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	char who[PHX_NAME_MAX], key[KEY_MAX];
	person_name(peer, who, sizeof(who));
	snprintf(key, sizeof(key), "wrong:%.70s", peer->address[0] ? peer->address : who);
	int64_t wait_s = take(h, key, WRONG_MS, WRONG_AT_ONCE);
	if (wait_s)
		phx_http_reply_later(q, (unsigned)wait_s, "too many wrong tokens: try again later");
	else
		phx_http_reply_error(q, -EPERM,
				     "there is no such hook, or its token (header Authorization: "
				     "Bearer TOKEN) is another one");
}

/* ---- a call ---- */

/* Digest of a call's body, with its Idempotency-Key if there is one: a repeated call then has the
 * same digest. */
static int digest_of(const struct phx_http_request *q, const char *key, char ret[PHX_SHA256_HEX])
{
	struct phx_sha256 *sum = NULL;
	size_t n;
	const char *body = phx_http_body(q, &n);
	int r = phx_sha256_new(&sum);
	r = r || !key ? r : phx_sha256_add(sum, key, strlen(key) + 1);
	r = r || !n ? r : phx_sha256_add(sum, body, n);
	if (r == 0)
		phx_sha256_hex(sum, ret);
	phx_sha256_free(sum);
	return r;
}

/* False after answering. */
static bool may_call(struct hooks *h, struct phx_http_request *q, const struct called *c)
{
	char key[KEY_MAX];
	snprintf(key, sizeof(key), "call:%llu", (unsigned long long)c->id);
	int64_t wait_s = take(h, key, CALL_MS, CALLS_AT_ONCE);
	wait_s = wait_s ? wait_s : quota_take(h->d->quota, c->owner, EVENT_BYTES);
	if (wait_s)
		phx_http_reply_later(q, (unsigned)wait_s, "this hook is called too often");
	return !wait_s;
}

static void fire(struct daemon *d, struct phx_http_request *q, const struct called *c)
{
	struct phx_event ev = {.kind = PHX_EV_trigger_hook, .trigger_order.trigger = c->id};
	const char *key = phx_http_header(q, "Idempotency-Key");
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	const char *address = phx_http_peer(q)->address;
	if (key && strlen(key) > IDEMPOTENCE_MAX) {
		phx_http_reply_error(q, -EINVAL, "Idempotency-Key: at most 200 bytes");
		return;
	}
	snprintf(ev.by, sizeof(ev.by), "hook:%.50s", phx_http_param(q, 0));
	snprintf(ev.trigger_order.what, sizeof(ev.trigger_order.what), "call from %s",
		 address[0] ? address : "this machine");
	ev.trigger_order.once = key != NULL;
	int r = digest_of(q, key, ev.trigger_order.digest);
	r = r ? r : engine_submit(d->engine, &ev, &out, &err);
	PHX_AUTO_JSON json_t *answer =
		json_pack("{s:b,s:I}", "fired", out.changed, "run", (json_int_t)out.workflow);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 202, answer);
	phx_outcome_fini(&out);
}

void api_hook(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	const struct called c = find(d, phx_http_param(q, 0));
	if (!shows_token(q, &c))
		refuse(d->hooks, q);
	else if (may_call(d->hooks, q, &c))
		fire(d, q, &c);
}
