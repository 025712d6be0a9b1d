/* Calls that fire triggers (cmd/phxd/hooks.c): who shows the token fires, once for one
 * Idempotency-Key; all others get one answer, and soon have to wait. The core is the real one;
 * requests, the clock and what people may have journalled are fakes. */
#include "fake/request.h"
#include "fake/engine.h"
#include "unit/phxd/trigger.h"

#include "phxd/hooks.c" /* a part of a program, not of the library */

#define TOKEN "the-token-of-t"

static struct world *w;
static struct daemon d;
static int64_t quota_wait_s, quota_n;
static char quota_of[PHX_IDENTITY_MAX];

int engine_submit(struct engine *e, struct phx_event *ev, struct phx_outcome *ret,
		  struct phx_err *err)
{
	(void)e;
	fake_engine_is_free();
	int r = world_apply(w, ev, ret);
	if (r < 0)
		*err = w->err;
	return r;
}
int64_t quota_take(struct quota *u, const char *identity, int64_t n)
{
	(void)u;
	snprintf(quota_of, sizeof(quota_of), "%s", identity);
	quota_n += quota_wait_s ? 0 : n;
	return quota_wait_s;
}
void person_name(const struct phx_http_peer *peer, char *ret, size_t ret_size)
{
	snprintf(ret, ret_size, "uid:%u", (unsigned)peer->uid);
}

static int setup(void **state)
{
	world_setup((void **)&w);
	*state = w;
	re_runs(w);
	trigger_made(
		w,
		&(struct made){
			.name = "t", .user = "alice", .kind = PHX_TRIGGER_HTTP, .token = TOKEN});
	fake_state = &w->s;
	fake_now_ms = w->now;
	quota_wait_s = quota_n = 0;
	d = (struct daemon){0};
	return hooks_new(&d, &d.hooks);
}

static int teardown(void **state)
{
	hooks_free(d.hooks);
	return world_teardown(state);
}

static const struct phx_trigger *trigger(void)
{
	return phx_state_trigger_named(&w->s, "t");
}

/* A call from 10.0.0.9. */
static struct phx_http_request call_of(const char *name, const char *token)
{
	struct phx_http_request q = {
		.params = {name},
		.peer = {.via = PHX_HTTP_TLS, .uid = (uid_t)-1, .address = "10.0.0.9"}};
	if (token)
		q.headers[0] = (struct fake_word){"Authorization", token};
	return q;
}

static int called(const char *name, const char *token)
{
	FAKE_REQUEST q = call_of(name, token);
	api_hook(&q, &d);
	return q.code;
}

/* ---- the token ---- */

static void who_shows_the_token_fires(void **state)
{
	FAKE_REQUEST q = call_of("t", "Bearer " TOKEN);
	(void)state;
	api_hook(&q, &d);
	assert_int_equal(q.code, 202);
	assert_true(phx_json_bool(q.json, "fired", false));
	assert_int_equal(phx_json_int(q.json, "run", 0), 1);
	assert_int_equal(trigger()->n_fired, 1);
	assert_int_equal(trigger()->n_begun, 1);
	const struct phx_trigger_firing *f =
		PHX_LIST_AT(&trigger()->last, struct phx_trigger_firing, 0);
	assert_string_equal(f->what, "call from 10.0.0.9");
	/* what it costs in the journal is its owner's */
	assert_string_equal(quota_of, "unix:alice");
	assert_int_equal(quota_n, EVENT_BYTES);
}

static void the_token_may_come_in_a_header_of_its_own(void **state)
{
	FAKE_REQUEST q = call_of("t", "Basic YWxhZGRpbg==");
	FAKE_REQUEST other = call_of("t", "Bearer wrong");
	q.headers[1] = other.headers[1] = (struct fake_word){"X-Phoenix-Token", TOKEN};
	(void)state;
	api_hook(&q, &d);
	assert_int_equal(q.code, 202);
	/* the one that is named first counts */
	api_hook(&other, &d);
	assert_int_equal(other.code, -EPERM);
	assert_int_equal(trigger()->n_fired, 1);
}

static void all_who_do_not_get_one_answer(void **state)
{
	static const struct {
		const char *name, *token;
	} rows[] = {
		{"t", "Bearer wrong"},     {"t", NULL},    {"t", ""},
		{"t", "Bearer "},          {"t", TOKEN},   {"t", "Bearer " TOKEN " "},
		{"none", "Bearer " TOKEN}, {"none", NULL},
	};
	char said[FAKE_TEXT] = "";
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		FAKE_REQUEST q = call_of(rows[i].name, rows[i].token);
		api_hook(&q, &d);
		assert_int_equal(q.code, -EPERM);
		if (said[0])
			assert_string_equal(q.text, said);
		snprintf(said, sizeof(said), "%s", q.text);
	}
	assert_int_equal(trigger()->n_fired, 0);
	assert_int_equal(quota_n, 0);
}

/* One of another kind is no hook, whatever digest its record has. */
static void only_triggers_of_calls_are_called(void **state)
{
	(void)state;
	struct phx_trigger *t = trigger_made(w,
					     &(struct made){.name = "clock",
							    .user = "alice",
							    .kind = PHX_TRIGGER_TIME,
							    .every_ms = 60000,
							    .token = TOKEN});
	assert_int_equal(strlen(t->token_sha256), 64);
	assert_int_equal(called("clock", "Bearer " TOKEN), -EPERM);
	assert_int_equal(phx_state_trigger_named(&w->s, "clock")->n_fired, 0);
}

/* A record without a digest is met by no token, nor by none. */
static void a_trigger_without_a_digest_is_called_by_nobody(void **state)
{
	(void)state;
	memset(phx_state_trigger_named(&w->s, "t")->token_sha256, 0, PHX_SHA256_HEX);
	assert_int_equal(called("t", NULL), -EPERM);
	assert_int_equal(called("t", "Bearer "), -EPERM);
	assert_int_equal(trigger()->n_fired, 0);
}

static void a_new_token_is_another_one_and_fits_its_digest(void **state)
{
	char a[HOOK_TOKEN_MAX], b[HOOK_TOKEN_MAX], sha_a[PHX_SHA256_HEX], sha_b[PHX_SHA256_HEX];
	char want[PHX_SHA256_HEX];
	(void)state;
	assert_int_equal(hooks_token(a, sha_a), 0);
	assert_int_equal(hooks_token(b, sha_b), 0);
	assert_int_equal(strlen(a), 2 * TOKEN_BYTES);
	assert_int_equal(strspn(a, "0123456789abcdef"), 2 * TOKEN_BYTES);
	assert_string_not_equal(a, b);
	assert_int_equal(phx_sha256_of(b, strlen(b), want), 0);
	assert_string_equal(sha_b, want);
	assert_null(strstr(sha_a, a));
}

/* ---- who guesses ---- */

static void who_guesses_has_to_wait(void **state)
{
	(void)state;
	for (int i = 0; i < WRONG_AT_ONCE; i++)
		assert_int_equal(called("t", "Bearer wrong"), -EPERM);
	FAKE_REQUEST q = call_of("t", "Bearer wrong");
	api_hook(&q, &d);
	assert_int_equal(q.code, FAKE_LATER);
	assert_int_equal(q.wait_s, WRONG_MS / 1000 + 1);
	/* nor is there another hook for the same address */
	assert_int_equal(called("none", NULL), FAKE_LATER);
	/* who comes from elsewhere is not held up, nor who has the token */
	FAKE_REQUEST other = call_of("t", "Bearer wrong");
	PHX_STR_SET(other.peer.address, "10.0.0.8");
	api_hook(&other, &d);
	assert_int_equal(other.code, -EPERM);
	assert_int_equal(called("t", "Bearer " TOKEN), 202);
	/* with time one more is let through, and no second one */
	fake_now_ms += WRONG_MS;
	assert_int_equal(called("t", "Bearer wrong"), -EPERM);
	assert_int_equal(called("t", "Bearer wrong"), FAKE_LATER);
}

/* Those of this machine have no address: each user waits for himself. */
static void users_of_this_machine_are_told_apart(void **state)
{
	(void)state;
	for (int i = 0; i <= WRONG_AT_ONCE; i++) {
		FAKE_REQUEST q = call_of("t", NULL);
		q.peer = (struct phx_http_peer){.via = PHX_HTTP_UNIX, .uid = 1000};
		api_hook(&q, &d);
		assert_int_equal(q.code, i < WRONG_AT_ONCE ? -EPERM : FAKE_LATER);
	}
	FAKE_REQUEST other = call_of("t", NULL);
	other.peer = (struct phx_http_peer){.via = PHX_HTTP_UNIX, .uid = 1001};
	api_hook(&other, &d);
	assert_int_equal(other.code, -EPERM);
}

/* More addresses than are remembered: who guesses most is not the one who is forgotten. */
static void many_addresses_hide_nobody(void **state)
{
	char key[KEY_MAX];
	(void)state;
	for (int i = 0; i < WRONG_AT_ONCE; i++)
		assert_int_equal(take(d.hooks, "wrong:10.0.0.9", WRONG_MS, WRONG_AT_ONCE), 0);
	for (int i = 0; i < 3 * CALLERS; i++) {
		snprintf(key, sizeof(key), "wrong:10.1.%d.%d", i / 256, i % 256);
		assert_int_equal(take(d.hooks, key, WRONG_MS, WRONG_AT_ONCE), 0);
	}
	assert_true(take(d.hooks, "wrong:10.0.0.9", WRONG_MS, WRONG_AT_ONCE) > 0);
}

/* ---- how often ---- */

static void a_hook_that_is_called_too_often_waits(void **state)
{
	(void)state;
	trigger_made(w,
		     &(struct made){.name = "other",
				    .user = "alice",
				    .kind = PHX_TRIGGER_HTTP,
				    .token = TOKEN});
	for (int i = 0; i < CALLS_AT_ONCE; i++)
		assert_int_equal(called("t", "Bearer " TOKEN), 202);
	FAKE_REQUEST q = call_of("t", "Bearer " TOKEN);
	api_hook(&q, &d);
	assert_int_equal(q.code, FAKE_LATER);
	assert_string_equal(q.text, "this hook is called too often");
	assert_int_equal(q.wait_s, 2);
	assert_int_equal(trigger()->n_fired, CALLS_AT_ONCE);
	assert_int_equal(called("other", "Bearer " TOKEN), 202);
	fake_now_ms += CALL_MS;
	assert_int_equal(called("t", "Bearer " TOKEN), 202);
	assert_int_equal(called("t", "Bearer " TOKEN), FAKE_LATER);
}

static void an_owner_who_has_journalled_enough_waits(void **state)
{
	FAKE_REQUEST q = call_of("t", "Bearer " TOKEN);
	(void)state;
	quota_wait_s = 7;
	api_hook(&q, &d);
	assert_int_equal(q.code, FAKE_LATER);
	assert_int_equal(q.wait_s, 7);
	assert_string_equal(quota_of, "unix:alice");
	assert_int_equal(trigger()->n_fired, 0);
}

/* ---- once ---- */

static bool fires(const char *key, const char *body)
{
	FAKE_REQUEST q = call_of("t", "Bearer " TOKEN);
	q.headers[1] = (struct fake_word){key ? "Idempotency-Key" : NULL, key};
	q.body = body;
	api_hook(&q, &d);
	assert_int_equal(q.code, 202);
	bool fired = phx_json_bool(q.json, "fired", false);
	assert_true(fired || !phx_json_int(q.json, "run", 0));
	return fired;
}

static void the_same_call_fires_once(void **state)
{
	(void)state;
	assert_true(fires("k", "{}"));
	assert_false(fires("k", "{}"));
	assert_true(fires("other", "{}"));
	assert_true(fires("k", "{\"n\":1}"));
	/* what is key and what is body makes a difference */
	assert_true(fires("ab", "c"));
	assert_true(fires("a", "bc"));
	assert_int_equal(trigger()->n_fired, 5);
}

static void without_a_key_each_call_fires(void **state)
{
	(void)state;
	assert_true(fires(NULL, "{}"));
	assert_true(fires(NULL, "{}"));
	assert_int_equal(trigger()->n_fired, 2);
	const struct phx_trigger_firing *f = trigger()->last.items;
	assert_string_equal(f[0].digest, f[1].digest); /* that of the body */
}

static void a_key_is_bounded(void **state)
{
	char key[IDEMPOTENCE_MAX + 2];
	FAKE_REQUEST q = call_of("t", "Bearer " TOKEN);
	(void)state;
	memset(key, 'k', sizeof(key));
	key[IDEMPOTENCE_MAX] = '\0';
	assert_true(fires(key, NULL));
	key[IDEMPOTENCE_MAX] = 'k';
	key[IDEMPOTENCE_MAX + 1] = '\0';
	q.headers[1] = (struct fake_word){"Idempotency-Key", key};
	api_hook(&q, &d);
	assert_int_equal(q.code, -EINVAL);
	assert_int_equal(trigger()->n_fired, 1);
}

static void what_the_core_refuses_is_told(void **state)
{
	FAKE_REQUEST q = call_of("t", "Bearer " TOKEN);
	(void)state;
	assert_int_equal(trigger_order(w, PHX_EV_trigger_pause, "t"), 0);
	api_hook(&q, &d);
	assert_int_equal(q.code, -EBUSY);
	assert_non_null(strstr(q.text, "trigger t is paused"));
	assert_int_equal(trigger()->n_fired, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_shows_the_token_fires),
		T(the_token_may_come_in_a_header_of_its_own),
		T(all_who_do_not_get_one_answer),
		T(only_triggers_of_calls_are_called),
		T(a_trigger_without_a_digest_is_called_by_nobody),
		T(a_new_token_is_another_one_and_fits_its_digest),
		T(who_guesses_has_to_wait),
		T(users_of_this_machine_are_told_apart),
		T(many_addresses_hide_nobody),
		T(a_hook_that_is_called_too_often_waits),
		T(an_owner_who_has_journalled_enough_waits),
		T(the_same_call_fires_once),
		T(without_a_key_each_call_fires),
		T(a_key_is_bounded),
		T(what_the_core_refuses_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
