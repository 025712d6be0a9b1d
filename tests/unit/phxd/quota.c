/* What people may have journalled (cmd/phxd/quota.c): a bucket each, which empties with time.
 * People, peers and the clock are fakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "phxd/quota.c" /* a part of a program, not of the library */

enum { MIB = 1 << 20 };
static int64_t now_ms;
static size_t body_bytes;
static const char *who;
static int code;
static char said[400];

int64_t engine_now(struct engine *e)
{
	(void)e;
	return now_ms;
}
const struct phx_http_peer *phx_http_peer(const struct phx_http_request *q)
{
	(void)q;
	return NULL;
}
const char *phx_http_body(const struct phx_http_request *q, size_t *ret_n)
{
	(void)q;
	*ret_n = body_bytes;
	return "";
}
bool person_is_admin(struct daemon *d, const struct phx_http_peer *peer)
{
	(void)d;
	(void)peer;
	return !strcmp(who, "root");
}
bool person_identity(const struct phx_http_peer *peer, char ret[PHX_IDENTITY_MAX])
{
	(void)peer;
	snprintf(ret, PHX_IDENTITY_MAX, "%s", who);
	return true;
}
void person_name(const struct phx_http_peer *peer, char *dst, size_t size)
{
	(void)peer;
	(void)dst;
	(void)size;
	fail_msg("somebody without a name");
}
void phx_http_reply_later(struct phx_http_request *q, unsigned wait_s, const char *text)
{
	char when[32];
	(void)q;
	code = -EDQUOT;
	snprintf(said, sizeof(said), "%s", text);
	/* the number of seconds is that of the sentence */
	snprintf(when, sizeof(when), "try again in %u s", wait_s);
	assert_non_null(strstr(said, when));
}

static struct daemon d;
static struct quota *u;

static int setup(void **state)
{
	(void)state;
	d.cfg.journal_mb_per_user = 1;
	now_ms = 1000000;
	body_bytes = MIB / 4 - BESIDE_BYTES;
	who = "ann";
	code = 0;
	return quota_new(&d, &u);
}
static int teardown(void **state)
{
	(void)state;
	quota_free(u);
	return 0;
}
static bool writes(const char *name)
{
	who = name;
	return quota_may_write(u, NULL);
}

static void who_has_written_enough_waits(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		assert_true(writes("ann"));
	assert_false(writes("ann"));
	assert_int_equal(code, -EDQUOT);
	/* a quarter of the bucket is empty after a quarter of 1,024 s */
	assert_non_null(strstr(said, "1 MiB"));
	assert_non_null(strstr(said, "try again in 257 s"));
	now_ms += 255000;
	assert_false(writes("ann"));
	now_ms += 2000;
	assert_true(writes("ann"));
	assert_false(writes("ann"));
}

static void others_are_not_held_up(void **state)
{
	(void)state;
	while (writes("ann"))
		;
	assert_true(writes("bob"));
	assert_false(writes("ann"));
}

static void the_provider_is_never_asked(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		assert_true(writes("root"));
	assert_int_equal(u->buckets.n, 0);
}

/* An event costs something beside what was sent: an empty body without end fills the journal,
 * too. */
static void empty_bodies_count(void **state)
{
	unsigned n = 0;
	(void)state;
	body_bytes = 0;
	while (writes("ann"))
		n++;
	assert_int_equal(n, MIB / BESIDE_BYTES);
}

/* Whoever wrote once is not remembered for ever. */
static void empty_buckets_go(void **state)
{
	char name[16];
	(void)state;
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "user%d", i);
		assert_true(writes(name));
	}
	assert_int_equal(u->buckets.n, 50);
	now_ms += 1024 * 1000;
	assert_true(writes("ann"));
	assert_int_equal(u->buckets.n, 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(who_has_written_enough_waits),
		T(others_are_not_held_up),
		T(the_provider_is_never_asked),
		T(empty_bodies_count),
		T(empty_buckets_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
