/* Whom limits refused (cmd/phxd/refused.c): it is told at once and then at most once a minute, and
 * whom only to who may know. The server's counters and the clock are fakes. */
#include "fake/engine.h"

#include "phxd/refused.c" /* a part of a program, not of the library */

static struct phx_http_refused counts[PHX_HTTP_LISTENERS][PHX_HTTP_LIMITS];

void phx_http_server_refused(struct phx_http_server *s, enum phx_http_listener which,
			     enum phx_http_limit limit, struct phx_http_refused *ret)
{
	(void)s;
	*ret = counts[which][limit];
}

static struct daemon d;
static struct refused *f;

static int setup(void **state)
{
	(void)state;
	memset(counts, 0, sizeof(counts));
	d = (struct daemon){.cfg = {.connections_max = 100,
				    .connections_per_address = 8,
				    .connections_per_user = 9,
				    .requests_per_s = 50}};
	fake_now_ms = 1000000;
	return refused_new(&d, &f);
}

static int teardown(void **state)
{
	(void)state;
	refused_free(f);
	return 0;
}

static void happens(enum phx_http_listener which, enum phx_http_limit limit, uint64_t n,
		    const char *whom)
{
	counts[which][limit].n += n;
	PHX_STR_SET(counts[which][limit].whom, whom);
}

/* What a tick says, and when it wants the next. */
static int ticks(char said[1024])
{
	FILE *err = stderr, *to = fmemopen(said, 1024, "w");
	said[0] = '\0';
	stderr = to;
	int ms = refused_tick(f);
	stderr = err;
	fclose(to);
	return ms;
}

static void nothing_is_said_of_nothing(void **state)
{
	char said[1024];
	(void)state;
	assert_int_equal(ticks(said), WAKE_NEVER);
	assert_string_equal(said, "");
	PHX_AUTO_JSON json_t *view = refused_view(f, true);
	assert_int_equal(json_array_size(view), 0);
}

static void the_first_is_told_at_once_the_others_once_a_minute(void **state)
{
	char said[1024];
	(void)state;
	happens(PHX_HTTP_TLS, PHX_HTTP_LIMIT_ADDRESS, 1, "addr:10.0.0.9");
	assert_int_equal(ticks(said), WAKE_NEVER);
	assert_string_equal(said,
			    "phxd: 1 connections over HTTPS refused: connections_per_address = 8 "
			    "is reached, last by addr:10.0.0.9\n");
	fake_now_ms += TELL_AGAIN_MS - 1;
	happens(PHX_HTTP_TLS, PHX_HTTP_LIMIT_ADDRESS, 5, "addr:10.0.0.8");
	assert_int_equal(ticks(said), 1);
	assert_string_equal(said, "");
	happens(PHX_HTTP_TLS, PHX_HTTP_LIMIT_ADDRESS, 2, "");
	fake_now_ms++;
	assert_int_equal(ticks(said), WAKE_NEVER);
	assert_non_null(strstr(said, "phxd: 7 connections over HTTPS"));
	assert_non_null(strstr(said, "last by all together"));
	/* and no more is said of what was told */
	fake_now_ms += 2 * TELL_AGAIN_MS;
	assert_int_equal(ticks(said), WAKE_NEVER);
	assert_string_equal(said, "");
}

static void each_limit_of_each_listener_is_told_by_itself(void **state)
{
	char said[1024];
	(void)state;
	happens(PHX_HTTP_UNIX, PHX_HTTP_LIMIT_PERSON, 1, "uid:1000");
	ticks(said);
	assert_non_null(strstr(said, "over the socket refused: connections_per_user = 9"));
	happens(PHX_HTTP_PLAIN, PHX_HTTP_LIMIT_CONNECTIONS, 1, "");
	happens(PHX_HTTP_UNIX, PHX_HTTP_LIMIT_REQUESTS, 3, "uid:1000");
	ticks(said);
	assert_non_null(strstr(said, "1 connections over HTTP refused: connections_max = 100"));
	assert_non_null(strstr(said, "3 requests over the socket refused: requests_per_s = 50"));
	assert_null(strstr(said, "connections_per_user"));
	/* the soonest of those that wait wakes the loop */
	fake_now_ms += 20000;
	happens(PHX_HTTP_UNIX, PHX_HTTP_LIMIT_PERSON, 1, "uid:1001");
	assert_int_equal(ticks(said), TELL_AGAIN_MS - 20000);
}

static void whom_it_was_only_some_may_see(void **state)
{
	char said[1024];
	(void)state;
	happens(PHX_HTTP_TLS, PHX_HTTP_LIMIT_ADDRESS, 3, "addr:10.0.0.9");
	ticks(said);
	fake_now_ms += 5000;
	ticks(said); /* nothing more has happened since */
	for (int whole = 0; whole < 2; whole++) {
		PHX_AUTO_JSON json_t *view = refused_view(f, whole);
		const json_t *row = json_array_get(view, 0);
		assert_int_equal(json_array_size(view), 1);
		assert_string_equal(phx_json_str(row, "what", ""), "connections");
		assert_string_equal(phx_json_str(row, "over", ""), "HTTPS");
		assert_string_equal(phx_json_str(row, "limit", ""), "connections_per_address");
		assert_int_equal(phx_json_int(row, "value", 0), 8);
		assert_int_equal(phx_json_int(row, "n", 0), 3);
		assert_int_equal(phx_json_int(row, "last_ms", 0), 1000000);
		assert_string_equal(phx_json_str(row, "whom", "?"), whole ? "addr:10.0.0.9" : "");
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_is_said_of_nothing),
		T(the_first_is_told_at_once_the_others_once_a_minute),
		T(each_limit_of_each_listener_is_told_by_itself),
		T(whom_it_was_only_some_may_see),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
