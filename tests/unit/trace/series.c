/* Series of counts and demand: the CSV, times, windows, gaps, and the way from load to
 * instances. */
#include "trace/series.h"
#include "unit/trace/traces.h"

static struct phx_trace_series s, d;
static struct phx_err err;

static int teardown(void **state)
{
	(void)state;
	phx_trace_series_fini(&s);
	phx_trace_series_fini(&d);
	return 0;
}

static int read_text(const char *text, struct phx_series_options o)
{
	phx_trace_series_fini(&s);
	phx_err_clear(&err);
	return phx_series_read("web.csv", text, strlen(text), &o, &s, NULL, &err);
}

#define FROM_FIRST .begin_s = INT64_MIN

static void expect(const struct phx_trace_series *of, const int64_t (*rows)[2], size_t n,
		   int64_t end_ms)
{
	assert_int_equal(of->n, n);
	assert_int_equal(of->end_ms, end_ms);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(of->at_ms[i], rows[i][0]);
		assert_int_equal(of->value[i], rows[i][1]);
	}
}
#define EXPECT(of, end_ms, ...) \
	do { \
		static const int64_t rows_[][2] = {__VA_ARGS__}; \
		expect(of, rows_, PHX_ARRAY_SIZE(rows_), end_ms); \
	} while (0)

static void test_times(void **state)
{
	static const struct {
		const char *text;
		int64_t s;
	} good[] = {{"1970-01-01", 0},
		    {"1970-01-01 00:00:01", 1},
		    {"1998-06-07", 897177600},
		    {"1998-06-15T14:29:00", 897920940},
		    {"2000-02-29 23:59:59", 951868799},
		    {"1999-12-31 23:59:59", 946684799},
		    {"0", 0},
		    {"86400", 86400},
		    {"2100-03-01", 4107542400}};
	static const char *const bad[] = {"",
					  "x",
					  "1998-13-01",
					  "1998-06-00",
					  "1998-02-30",
					  "1998-06-07 24:00:00",
					  "1998-06-07 1:00:00",
					  "1998-06-07x",
					  "12 ",
					  "1998-06",
					  "999999999999999",
					  "-5",
					  "1998-06-07 00:00:00.5555555555555"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(good); i++) {
		int64_t at_s = -1;
		assert_int_equal(phx_series_time(good[i].text, &at_s), 0);
		assert_int_equal(at_s, good[i].s);
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		int64_t at_s = 77;
		if (phx_series_time(bad[i], &at_s) != -EINVAL)
			fail_msg("'%s' is no time", bad[i]);
		assert_int_equal(at_s, 77);
	}
}

/* 120 requests in 60 s are 2 a second; a minute without a row had none. */
static void test_counts(void **state)
{
	(void)state;
	assert_int_equal(read_text("period,count\n1998-06-07 00:00:00,120\n1998-06-07 "
				   "00:01:00,6\n1998-06-07 00:04:00,1\n",
				   (struct phx_series_options){FROM_FIRST}),
			 0);
	EXPECT(&s, 300000, {0, 2000}, {60000, 100}, {120000, 0}, {240000, 17});
	assert_int_equal(phx_series_peak(&s), 2000);
	assert_int_equal(phx_series_integral(&s), 2000 * 60000 + 100 * 60000 + 17 * 60000);
	/* the period said, not guessed: the second row's count is of 20 s */
	assert_int_equal(read_text("0,120\n60,6\n",
				   (struct phx_series_options){FROM_FIRST, .period_ms = 20000}),
			 0);
	EXPECT(&s, 80000, {0, 6000}, {20000, 0}, {60000, 300});
}

static void test_demand(void **state)
{
	(void)state;
	assert_int_equal(
		read_text("at,instances\r\n0,2\r\n20,3\r\n100,1\r\n",
			  (struct phx_series_options){.kind = PHX_SERIES_DEMAND, FROM_FIRST}),
		0);
	EXPECT(&s, 120000, {0, 2}, {20000, 3}, {100000, 1});
}

static void test_windows(void **state)
{
	const char *text = "100,60\n160,120\n220,180\n";
	(void)state;
	assert_int_equal(
		read_text(text, (struct phx_series_options){.begin_s = 130, .length_ms = 60000}),
		0);
	EXPECT(&s, 60000, {0, 1000}, {30000, 2000});
	assert_int_equal(read_text(text, (struct phx_series_options){.begin_s = 40}), 0);
	EXPECT(&s, 240000, {0, 0}, {60000, 1000}, {120000, 2000}, {180000, 3000});
	assert_int_equal(
		read_text(text, (struct phx_series_options){.begin_s = 220, .length_ms = 100000}),
		0);
	EXPECT(&s, 100000, {0, 3000}, {60000, 0});
	assert_int_equal(read_text(text, (struct phx_series_options){.begin_s = 280}), -EINVAL);
	assert_says(&err, "web.csv: no row within the window");
	assert_int_equal(
		read_text(text, (struct phx_series_options){.begin_s = 0, .length_ms = 100000}),
		-EINVAL);
	assert_int_equal(read_text(text, (struct phx_series_options){.begin_s = INT64_MAX}),
			 -EINVAL);
	assert_int_equal(read_text("period,count\n", (struct phx_series_options){FROM_FIRST}),
			 -EINVAL);
	assert_says(&err, "web.csv: no row in it");
}

static void test_malformed(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"0,1\n60,x\n", "web.csv:2: count: \"x\": expected a whole number"},
		{"period,count\n0,1\n60,-1\n", "web.csv:3: count: \"-1\""},
		{"0,1\n60,1.5\n", "web.csv:2: count: \"1.5\""},
		{"0,1\n60,\n", "web.csv:2: count: \"\""},
		{"0,1\n60\n", "web.csv:2: time: \"60\": expected YYYY-MM-DD HH:MM:SS or seconds"},
		{"0,1\n1998-06-31 00:00,1\n", "web.csv:2: time: \"1998-06-31 00:00\""},
		{"60,1\n60,1\n",
		 "web.csv:2: time: \"60\": expected YYYY-MM-DD HH:MM:SS or seconds, later than the "
		 "row above"},
		{"60,1\n0,1\n", "web.csv:2: time"},
		{"0,1\n60,1000000000001\n", "web.csv:2: count"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_text(cases[i].text, (struct phx_series_options){FROM_FIRST}),
				 -EINVAL);
		assert_says(&err, cases[i].says);
		assert_null(s.value);
	}
}

static void test_lenient(void **state)
{
	const char *text = "0,60\nbad\n60,x\n120,60\n60,60\n";
	struct phx_series_options o = {FROM_FIRST, .lenient = true, .period_ms = 60000};
	size_t n_malformed = 0;
	(void)state;
	phx_trace_series_fini(&s);
	assert_int_equal(phx_series_read("web.csv", text, strlen(text), &o, &s, &n_malformed, NULL),
			 0);
	assert_int_equal(n_malformed, 3);
	EXPECT(&s, 180000, {0, 1000}, {60000, 0}, {120000, 1000});
}

/* ---- load to demand ---- */

static const struct phx_series_rule rule = {
	.web = {.window_ms = 20000, .threshold_milli = 800, .lower = 1, .upper = UINT32_MAX},
	.start = 2,
	.capacity_milli = 10000};

/* 10 a second an instance, T = 0.8: 3 instances for 20 a second, one more a window; down again when
 * it falls. Worked by hand: 20/20 > 0.8: 3; 20/30 = 0.67, neither above 0.8 nor below 0.53; then
 * 5/30 < 0.53: 2; 5/20 < 0.4: 1. */
static void test_convert(void **state)
{
	(void)state;
	assert_int_equal(
		read_text("0,1200\n60,300\n120,300\n", (struct phx_series_options){FROM_FIRST}), 0);
	phx_trace_series_fini(&d);
	assert_int_equal(phx_series_convert(&s, &rule, &d, &err), 0);
	EXPECT(&d, 180000, {0, 2}, {20000, 3}, {80000, 2}, {100000, 1});
	struct phx_series_rule twice = rule;
	twice.factor_milli = 500;
	phx_trace_series_fini(&d);
	/* 10 a second: 0.5 of two, then 2.5: one */
	assert_int_equal(phx_series_convert(&s, &twice, &d, &err), 0);
	EXPECT(&d, 180000, {0, 2}, {80000, 1});
}

/* A window over the border of two rows sees their mean: 10 s of 20 and 10 s of 0 are 10 a
 * second. */
static void test_windows_across_rows(void **state)
{
	static int64_t at[] = {0, 30000, 50000};
	static uint64_t load[] = {20000, 0, 17000};
	struct phx_trace_series across = {.at_ms = at, .value = load, .n = 3, .end_ms = 80000};
	(void)state;
	phx_trace_series_fini(&d);
	assert_int_equal(phx_series_convert(&across, &rule, &d, &err), 0);
	/* windows: 20 (of 2: 3 instances), 10 (of 3: 0.33, 2), 8.5 (of 2: 0.425, stays), 17 (of 2:
	 * 0.85, 3 at the end)
	 */
	EXPECT(&d, 80000, {0, 2}, {20000, 3}, {40000, 2});
}

static void test_convert_refuses(void **state)
{
	struct phx_series_rule bad = rule;
	struct phx_trace_series none = {0};
	(void)state;
	phx_trace_series_fini(&d);
	assert_int_equal(phx_series_convert(&none, &rule, &d, &err), -EINVAL);
	assert_int_equal(read_text("0,1\n60,1\n", (struct phx_series_options){FROM_FIRST}), 0);
	bad.capacity_milli = 0;
	assert_int_equal(phx_series_convert(&s, &bad, &d, &err), -EINVAL);
	bad = rule;
	bad.web.window_ms = 0;
	assert_int_equal(phx_series_convert(&s, &bad, &d, &err), -EINVAL);
	assert_null(d.value);
}

/* The answer peaks as wanted, and a little less capacity rises above. */
static void check_calibrated(uint32_t peak)
{
	struct phx_series_rule r = rule;
	phx_err_clear(&err);
	if (phx_series_calibrate(&s, &r, peak, &r.capacity_milli, &err) < 0)
		fail_msg("%s", err.text);
	for (int less = 0; less < 2; less++) {
		phx_trace_series_fini(&d);
		r.capacity_milli -= (uint64_t)less;
		assert_int_equal(phx_series_convert(&s, &r, &d, &err), 0);
		assert_int_equal(phx_series_peak(&d), peak + (unsigned)less);
	}
}

static void test_calibrate(void **state)
{
	struct phx_series_rule r = rule;
	(void)state;
	assert_int_equal(read_text("0,60000\n60,120000\n120,180000\n180,240000\n240,60000\n300,0\n",
				   (struct phx_series_options){FROM_FIRST}),
			 0);
	for (uint32_t peak = 3; peak < 12; peak++)
		check_calibrated(peak);
	/* five minutes of load raise it by 15 instances at most */
	assert_int_equal(phx_series_calibrate(&s, &r, 40, &r.capacity_milli, &err), -ERANGE);
	assert_says(&err, "exactly 40");
}

static void test_scale(void **state)
{
	(void)state;
	assert_int_equal(
		read_text("0,1\n20,2\n40,3\n60,64\n",
			  (struct phx_series_options){.kind = PHX_SERIES_DEMAND, FROM_FIRST}),
		0);
	phx_series_scale(&s, 16, 64); /* 0.25, 0.5, 0.75, 16: at least one, half up */
	EXPECT(&s, 80000, {0, 1}, {60000, 16});
	phx_series_scale(&s, 256, 16);
	EXPECT(&s, 80000, {0, 16}, {60000, 256});
}

/* ---- the archives' trace: the figures of its description ---- */

static void test_world_cup(void **state)
{
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	struct phx_series_options o = {.kind = PHX_SERIES_DEMAND, FROM_FIRST};
	(void)state;
	read_trace("wc98-per-minute.csv", &in);
	phx_trace_series_fini(&s);
	assert_int_equal(phx_series_read("wc98", in.data, in.n, &o, &s, NULL, &err), 0);
	assert_int_equal(s.n, 125300);
	uint64_t sum = 0;
	for (size_t i = 0; i < s.n; i++)
		sum += s.value[i];
	assert_int_equal(sum, 1352804107);
	o.length_ms = INT64_C(14) * 86400 * 1000;
	assert_int_equal(phx_series_time("1998-06-07", &o.begin_s), 0);
	phx_trace_series_fini(&s);
	assert_int_equal(phx_series_read("wc98", in.data, in.n, &o, &s, NULL, &err), 0);
	assert_int_equal(s.n, 20160);
	assert_int_equal(phx_series_peak(&s), 153878);
	assert_int_equal(phx_series_integral(&s), INT64_C(461234022) * 60000);
	o.kind = PHX_SERIES_COUNTS;
	phx_trace_series_fini(&s);
	assert_int_equal(phx_series_read("wc98", in.data, in.n, &o, &s, NULL, &err), 0);
	assert_int_equal(phx_series_peak(&s), 2564633);
	check_calibrated(64);
	check_calibrated(128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),           cmocka_unit_test(test_counts),
		cmocka_unit_test(test_demand),          cmocka_unit_test(test_windows),
		cmocka_unit_test(test_malformed),       cmocka_unit_test(test_lenient),
		cmocka_unit_test(test_convert),         cmocka_unit_test(test_windows_across_rows),
		cmocka_unit_test(test_convert_refuses), cmocka_unit_test(test_calibrate),
		cmocka_unit_test(test_scale),           cmocka_unit_test(test_world_cup),
	};
	return cmocka_run_group_tests(tests, NULL, teardown);
}
