/* What a node is to a balancer: who is still connected, how much of its share it uses, tables below
 * --root. */
#include "unit/agent/scratch.h"

#include "base/json.h"
#include "agent/web.h"

/* lines as the kernel writes them; addresses in memory order: 10.77.0.250 is FA004D0A */
#define HEAD \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  " \
	"timeout inode\n"
#define LINE(local, state, timer) \
	"   0: " local " 0100000A:C350 " state " 00000000:00000000 " timer \
	" 00000000     0        0 0 1\n"

static void test_connections(void **state)
{
	static const struct {
		const char *text;
		uint32_t open, closed_ms;
	} rows[] = {
		{"", 0, UINT32_MAX},
		{HEAD, 0, UINT32_MAX},
		/* listening, on its own and on any address */
		{HEAD LINE("FA004D0A:0050", "0A", "00:00000000")
			 LINE("00000000:0050", "0A", "00:00000000"),
		 0, UINT32_MAX},
		/* open, being opened, being closed */
		{HEAD LINE("FA004D0A:0050", "01", "00:00000000")
			 LINE("FA004D0A:0050", "03", "01:00000014")
				 LINE("FA004D0A:0050", "09", "01:00000014"),
		 3, UINT32_MAX},
		/* another port, another address */
		{HEAD LINE("FA004D0A:0051", "01", "00:00000000")
			 LINE("0C004D0A:0050", "01", "00:00000000"),
		 0, UINT32_MAX},
		/* closed by us 60 s, 2 s and 0.5 s ago: 6000, 5800 and 5950 of its 6000 ticks are
		 * left */
		{HEAD LINE("FA004D0A:0050", "06", "03:00000000"), 0, 60000},
		{HEAD LINE("FA004D0A:0050", "06", "03:000016A8")
			 LINE("FA004D0A:0050", "06", "03:0000173E")
				 LINE("FA004D0A:0050", "06", "03:00000001"),
		 0, 500},
		{HEAD LINE("FA004D0A:0050", "06", "03:00001800"), 0, 0},
		/* cut short */
		{HEAD "   0: FA004D0A:0050 0100000A:C350 01", 0, UINT32_MAX},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct web_connections c;
		web_connections(rows[i].text, "10.77.0.250", 80, &c);
		assert_int_equal(c.open, rows[i].open);
		assert_int_equal(c.closed_ms, rows[i].closed_ms);
		assert_int_equal(c.unaccepted, 0);
	}
	/* came and was not taken yet; on another port */
	struct web_connections c;
	web_connections(HEAD "   0: 00000000:0050 00000000:0000 0A 00000000:00000003 00:00000000 "
			     "00000000     0        0 0 1\n"
			     "   0: 00000000:0051 00000000:0000 0A 00000000:00000004 00:00000000 "
			     "00000000     0        0 0 1\n",
			"10.77.0.250", 80, &c);
	assert_int_equal(c.unaccepted, 3);
	assert_int_equal(c.open, 0);
}

static void test_share(void **state)
{
	(void)state;
	assert_int_equal(web_share_ppm(0, 1000000, 100), 0);
	assert_int_equal(web_share_ppm(50000, 1000000, 100), 500000);
	assert_int_equal(web_share_ppm(100000, 1000000, 100), 1000000);
	/* a quota is kept over 100 ms, not at once */
	assert_int_equal(web_share_ppm(180000, 1000000, 100), 1000000);
	assert_int_equal(web_share_ppm(1500000, 1000000, 2000), 750000);
	assert_int_equal(web_share_ppm(10, 0, 100), 0);
	assert_int_equal(web_share_ppm(10, 10, 0), 0);
}

static bool never(void *arg, uint32_t ms)
{
	(void)arg;
	(void)ms;
	return false;
}

/* Below --root: no address, no balancer, but tables are checked and remembered. */
static void test_nothing_is_touched(void **state)
{
	struct phx_role role = {.web = {.port = 80, .cpu_milli = 100}};
	struct phx_web_table t = {0};
	struct phx_err err = {0};
	struct web *w;
	struct loop *loop = loop_started();
	PHX_AUTO_JSON json_t *monitor = json_object();
	struct phx_web_share share = {0};
	(void)state;
	PHX_STR_SET(role.web.address, "10.77.0.250");
	assert_int_equal(web_new(loop, false, &w), 0);
	assert_int_equal(web_enter(w, &role, &err), 0);
	const struct web_drain_calls calls = {.wait_ms = never};
	assert_int_equal(web_drain(w, &role, 10000, &calls, &err), 0);
	assert_false(web_measures(w));
	web_monitor(w, NULL, monitor); /* what is not measured is not asked for */
	assert_int_equal(json_object_size(monitor), 0);
	assert_int_equal(web_leave(w, &role, &err), 0);
	assert_int_equal(director_apply(w, 7, &t, &share, &err), 0);
	assert_int_equal(director_id(w), 7);
	struct phx_web_service *s = phx_web_table_service(&t, "10.77.0.250", 80, "fast");
	assert_non_null(s);
	assert_int_equal(director_apply(w, 8, &t, &share, &err), -EINVAL);
	assert_non_null(strstr(err.text, "scheduler"));
	PHX_STR_SET(s->scheduler, "wlc");
	phx_err_clear(&err);
	share = (struct phx_web_share){.on = true, .sync_id = 256};
	assert_int_equal(director_apply(w, 8, &t, &share, &err), -EINVAL);
	assert_non_null(strstr(err.text, "sync_id"));
	assert_int_equal(director_id(w), 7); /* what is in force stays */
	assert_int_equal(director_clear(w, &err), 0);
	assert_int_equal(director_id(w), 0);
	phx_web_table_fini(&t);
	web_free(w);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_nothing_is_touched),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
