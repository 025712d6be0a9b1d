/* Beats of agents (cmd/phxd/beat.c): what is taken of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "phxd/beat.c" /* a part of a program, not of the library */

#define AUTO_BEAT PHX_AUTO(beat_fini) struct beat

static void parsed(const char *text, struct beat *ret)
{
	struct phx_err err = {0};
	if (beat_parse(text, ret, &err) < 0)
		fail_msg("%s: %s", text, err.text);
}

static void a_beat_is_read(void **state)
{
	AUTO_BEAT b = {0};
	(void)state;
	parsed("{\"boot_id\":\"b1\",\"env\":\"os\",\"actual_role\":\"web\",\"actual_identity\":"
	       "\"i1\",\"healthy\":true,\"health_text\":\"all \\u00e4 well\",\"running\":[],"
	       "\"monitor\":{\"load\":1.5},\"wait_ms\":2000,\"version\":\"0.2.0\"}",
	       &b);
	assert_string_equal(b.report.boot_id, "b1");
	assert_int_equal(b.report.env, PHX_ENV_OS);
	assert_string_equal(b.report.actual_role, "web");
	assert_string_equal(b.report.actual_identity, "i1");
	assert_string_equal(b.report.health_text, "all \u00e4 well");
	assert_true(b.report.healthy);
	assert_int_equal(b.wait_ms, 2000);
	assert_string_equal(b.version, "0.2.0");
	assert_int_equal(b.running.n, 0);
	assert_string_equal(b.monitor, "{\"load\":1.5}");
	assert_null(b.sessions);
	assert_int_equal(b.use_ppm, -1);
	assert_false(b.balancer);
}

/* What a node claims of its machine: a number from 0 on, or nothing. */
static void figures_are_numbers_or_absent(void **state)
{
	AUTO_BEAT b = {0};
	(void)state;
	parsed("{\"monitor\":{\"cpu_permille\":17,\"memory_total_bytes\":\"much\",\"net_rx_bytes\":"
	       "-5,"
	       "\"net_tx_bytes\":1.5,\"swap_used_bytes\":0,\"disk_read_bytes\":9223372036854775807,"
	       "\"uptime_s\":{\"a\":[1]},\"cpu_permilles\":3}}",
	       &b);
	assert_int_equal(b.figures.of[BEAT_FIGURE_cpu_permille], 17);
	assert_int_equal(b.figures.of[BEAT_FIGURE_memory_total_bytes], -1);
	assert_int_equal(b.figures.of[BEAT_FIGURE_net_rx_bytes], -1);
	assert_int_equal(b.figures.of[BEAT_FIGURE_net_tx_bytes], -1);
	assert_int_equal(b.figures.of[BEAT_FIGURE_swap_used_bytes], 0);
	assert_true(b.figures.of[BEAT_FIGURE_disk_read_bytes] == INT64_MAX);
	assert_int_equal(b.figures.of[BEAT_FIGURE_uptime_s], -1);
	assert_int_equal(b.figures.of[BEAT_FIGURE_load1_centi], -1);
	assert_non_null(strstr(b.monitor, "\"cpu_permille\":17")); /* it is kept as well */
}

static void what_runs_is_of_three_forms(void **state)
{
	static const struct beat_running wanted[] = {
		{PHX_ORDER_step, 7, 0}, {PHX_ORDER_job, 8, 2},    {PHX_ORDER_table, 9, 0},
		{PHX_ORDER_step, 0, 0}, {PHX_ORDER_job, 1, 2},    {PHX_ORDER_NONE, 4, 0},
		{PHX_ORDER_job, 5, 0},  {PHX_ORDER_anchor, 3, 1}, {PHX_ORDER_anchor, 2, 0}};
	AUTO_BEAT b = {0};
	(void)state;
	parsed("{\"running\":[7, [8, 2],[\"table\",9] ,{\"id\":5},[1,2,3,\"x\"],"
	       "[\"of tomorrow\",4],[\"job\",5,6],[\"anchor\",3,1],[\"anchor\",2]]}",
	       &b);
	assert_int_equal(b.running.n, PHX_ARRAY_SIZE(wanted));
	for (uint32_t i = 0; i < b.running.n; i++) {
		const struct beat_running *r = PHX_LIST_AT(&b.running, struct beat_running, i);
		assert_int_equal(r->kind, wanted[i].kind);
		assert_int_equal(r->id, wanted[i].id);
		assert_int_equal(r->run, wanted[i].run);
	}
}

/* Who is logged in stands apart from the rest, wherever it stands. */
static void sessions_stand_apart(void **state)
{
	static const struct {
		const char *text, *monitor, *sessions;
	} rows[] = {
		{"{}", "{}", NULL},
		{"{\"a\":1,\"b\":[2]}", "{\"a\":1,\"b\":[2]}", NULL},
		{"{\"sessions\":[{\"user\":\"x\"}]}", "{}", "[{\"user\":\"x\"}]"},
		{"{\"sessions\":[],\"a\":1}", "{\"a\":1}", "[]"},
		{"{\"a\":1,\"sessions\":[],\"b\":2}", "{\"a\":1,\"b\":2}", "[]"},
		{" { \"sessions\" : [ ] , \"a\" : 1 , \"b\" : 2 } ", "{ \"a\" : 1, \"b\" : 2}",
		 "[ ]"},
		{"{\"a\":1,\"sessions\":null}", "{\"a\":1}", NULL},
		{"[]", NULL, NULL},
		{"7", NULL, NULL},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		AUTO_BEAT b = {0};
		PHX_AUTO_FREE char *text = NULL;
		assert_true(asprintf(&text, "{\"monitor\":%s}", rows[i].text) > 0);
		parsed(text, &b);
		assert_true(phx_str_eq(b.monitor ? b.monitor : "-",
				       rows[i].monitor ? rows[i].monitor : "-"));
		assert_true(phx_str_eq(b.sessions ? b.sessions : "-",
				       rows[i].sessions ? rows[i].sessions : "-"));
	}
}

static void what_the_head_wants_of_a_monitor_is_read(void **state)
{
	AUTO_BEAT b = {0};
	(void)state;
	parsed("{\"monitor\":{\"web_use_ppm\":5,\"web_use_error\":\"no\",\"balancer\":{}}}", &b);
	assert_int_equal(b.use_ppm, 5);
	assert_string_equal(b.use_error, "no");
	assert_true(b.balancer);
	assert_string_equal(b.monitor,
			    "{\"web_use_ppm\":5,\"web_use_error\":\"no\",\"balancer\":{}}");
}

/* Of another type it is as if it were not there; what is too long is cut; what comes twice is what
 * came last. */
static void odd_members_count_as_absent(void **state)
{
	AUTO_BEAT b = {0};
	(void)state;
	parsed("{\"env\":3,\"boot_id\":null,\"healthy\":1,\"wait_ms\":\"9\",\"running\":{},"
	       "\"other\":[{}],\"monitor\":{\"a\":1},\"monitor\":{\"web_use_ppm\":0.5},\"actual_"
	       "role\":"
	       "\"a234567890123456789012345678901234567890123456789012345678901234567890\"}",
	       &b);
	assert_int_equal(b.report.env, PHX_ENV_NONE);
	assert_string_equal(b.report.boot_id, "");
	assert_false(b.report.healthy);
	assert_int_equal(b.wait_ms, 0);
	assert_int_equal(b.running.n, 0);
	assert_int_equal(strlen(b.report.actual_role), PHX_NAME_MAX - 1);
	assert_string_equal(b.monitor, "{\"web_use_ppm\":0.5}");
	assert_int_equal(b.use_ppm, -1);
}

static void what_is_no_object_is_refused(void **state)
{
	static const char *const rows[] = {"",
					   "[]",
					   "{\"env\"}",
					   "{\"env\":\"os\"",
					   "{\"env\":\"os\"}x",
					   "{\"monitor\":{\"a\":}}",
					   "{\"monitor\":{\"a\":1]}",
					   "{\"monitor\":{\"sessions\":[}}",
					   "{\"running\":[[1,]]}",
					   "{\"health_text\":\"\xff\"}"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		AUTO_BEAT b = {0};
		struct phx_err err = {0};
		assert_int_equal(beat_parse(rows[i], &b, &err), -EINVAL);
		assert_non_null(strstr(err.text, "is expected"));
	}
}

/* A monitor is shown to others with lists of nodes, within which it stands deeper still. */
static void what_is_nested_too_deep_is_refused(void **state)
{
	(void)state;
	for (int n = 30; n <= 31; n++) {
		char text[128];
		AUTO_BEAT b = {0};
		struct phx_err err = {0};
		snprintf(text, sizeof(text), "{\"monitor\":{\"a\":%.*s%.*s}}", n,
			 "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", n, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
		assert_int_equal(beat_parse(text, &b, &err), n == 30 ? 0 : -EINVAL);
		assert_int_equal(!!strstr(err.text, "nested deeper than 32"), n == 31);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_beat_is_read),
		cmocka_unit_test(figures_are_numbers_or_absent),
		cmocka_unit_test(what_runs_is_of_three_forms),
		cmocka_unit_test(sessions_stand_apart),
		cmocka_unit_test(what_the_head_wants_of_a_monitor_is_read),
		cmocka_unit_test(odd_members_count_as_absent),
		cmocka_unit_test(what_is_no_object_is_refused),
		cmocka_unit_test(what_is_nested_too_deep_is_refused)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
