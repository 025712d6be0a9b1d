/* One group of a scenario's traces into a definition. Which member names the
 * file says what kind of trace it is. Called by scenario.c. */
#include <errno.h>

#include "sim/scenario_internal.h"

#define NAME_ROW(F, S) F(S, name, STR(PHX_NAME_MAX), KEY(name, NAME, PHX_REQUIRED, ""))

/* how requests become a demand */
#define RULE_ROWS(F, S) \
	F(S, peak, U32, KEY(peak, COUNT, "", "")) \
	F(S, scale_to, U32, KEY(scale_to, COUNT, "", "")) \
	F(S, rule.start, U32, KEY(start, COUNT, "", "")) \
	F(S, rule.web.lower, U32, KEY(lower, COUNT, "", "")) \
	F(S, rule.web.upper, U32, KEY(upper, COUNT, "", "")) \
	F(S, rule.capacity_milli, U64, KEY(capacity, FRACTION, "", "")) \
	F(S, rule.factor_milli, U32, KEY(factor, FRACTION, "", "")) \
	F(S, rule.web.threshold_milli, U32, KEY(threshold, FRACTION, "0.8", "")) \
	F(S, rule.web.window_ms, I64, KEY(window, SPAN, "20s", ""))
/* what drawn workloads share; `gen` is gen_jobs or gen_load */
#define RATE_ROWS(F, S, gen) \
	F(S, gen.rate.periods, U32, KEY(periods, COUNT, "", "")) \
	F(S, gen.seed, U64, KEY(seed, SIZE, "", "")) \
	F(S, gen.rate.length_ms, I64, KEY(length, SPAN, "", "")) \
	F(S, gen.rate.swing_milli, U32, KEY(swing, FRACTION, "", "")) \
	F(S, gen.rate.burst_milli, U32, KEY(burst, FRACTION, "", ""))
/* of files with times; `begin` is read by read_series() */
#define SERIES_ROWS(F, S) \
	F(S, series.lenient, BOOL, KEY(lenient, YES, "", "")) \
	F(S, series.period_ms, I64, KEY(period, SPAN, "", "")) \
	F(S, series.begin_s, I64, KEY(begin, OTHER, "", "")) \
	F(S, series.length_ms, I64, KEY(length, SPAN, "", ""))

#define SWF_ROWS(F, S) \
	NAME_ROW(F, S) \
	F(S, file, STR(PHX_TRACE_PATH_MAX), KEY(swf, LINE, "", "")) \
	F(S, swf.per_node, U32, KEY(processors_per_node, COUNT, "", "")) \
	F(S, swf.nodes, U32, KEY(nodes, COUNT, "", "")) \
	F(S, swf.sizes, ENUM(phx_swf_sizes), KEY(sizes, CHOICE, "", "")) \
	F(S, swf.wide, ENUM(phx_swf_wide), KEY(wide, CHOICE, "", "")) \
	F(S, swf.from_first, BOOL, KEY(from_first, YES, "", "")) \
	F(S, swf.lenient, BOOL, KEY(lenient, YES, "", "")) \
	F(S, swf.size_milli, U32, KEY(size_factor, FRACTION, "", "")) \
	F(S, swf.gap_milli, U32, KEY(gap_factor, FRACTION, "", "")) \
	F(S, swf.from_ms, I64, KEY(from, SPAN, "", "")) \
	F(S, swf.length_ms, I64, KEY(length, SPAN, "", ""))
#define REQUESTS_ROWS(F, S) \
	NAME_ROW(F, S) \
	F(S, file, STR(PHX_TRACE_PATH_MAX), KEY(requests, LINE, "", "")) \
	RULE_ROWS(F, S) SERIES_ROWS(F, S)
#define DEMAND_ROWS(F, S) \
	NAME_ROW(F, S) \
	F(S, file, STR(PHX_TRACE_PATH_MAX), KEY(demand, LINE, "", "")) \
	F(S, scale_to, U32, KEY(scale_to, COUNT, "", "")) \
	SERIES_ROWS(F, S)
#define DAX_ROWS(F, S) \
	NAME_ROW(F, S) \
	F(S, file, STR(PHX_TRACE_PATH_MAX), KEY(dax, LINE, "", "")) \
	F(S, copies, U32, KEY(copies, COUNT, "", "")) \
	F(S, every_ms, I64, KEY(every, SPAN, "", ""))
#define JOBS_ROWS(F, S) \
	NAME_ROW(F, S) \
	F(S, gen_jobs.rate.form, ENUM(phx_gen_form), KEY(draw_jobs, CHOICE, "", "")) \
	F(S, gen_jobs.n, U32, KEY(count, COUNT, "", "")) \
	F(S, gen_jobs.law, ENUM(phx_gen_law), KEY(law, CHOICE, "", "")) \
	F(S, gen_jobs.nodes_max, U32, KEY(widest, COUNT, "", "")) \
	F(S, gen_jobs.users, U32, KEY(users, COUNT, "", "")) \
	RATE_ROWS(F, S, gen_jobs) \
	F(S, gen_jobs.run_ms, I64, KEY(run, SPAN, "", "")) \
	F(S, gen_jobs.sd_ms, I64, KEY(deviation, SPAN, "", "")) \
	F(S, gen_jobs.estimate_milli, U32, KEY(estimate, FRACTION, "", ""))
#define LOAD_ROWS(F, S) \
	NAME_ROW(F, S) \
	F(S, gen_load.rate.form, ENUM(phx_gen_form), KEY(draw_requests, CHOICE, "", "")) \
	RATE_ROWS(F, S, gen_load) \
	F(S, gen_load.period_ms, I64, KEY(period, SPAN, "", "")) \
	F(S, gen_load.mean_milli, U64, KEY(mean, FRACTION, "", "")) \
	F(S, gen_load.noise_milli, U32, KEY(noise, FRACTION, "", "")) \
	RULE_ROWS(F, S)
PHX_RECORD_LOCAL(swf, phx_trace, SWF_ROWS);
PHX_RECORD_LOCAL(requests, phx_trace, REQUESTS_ROWS);
PHX_RECORD_LOCAL(demand, phx_trace, DEMAND_ROWS);
PHX_RECORD_LOCAL(dax, phx_trace, DAX_ROWS);
PHX_RECORD_LOCAL(jobs, phx_trace, JOBS_ROWS);
PHX_RECORD_LOCAL(load, phx_trace, LOAD_ROWS);

static int read_nothing(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t,
			struct phx_err *err)
{
	(void)c, (void)s, (void)t, (void)err;
	return 0;
}

static int read_series(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t,
		       struct phx_err *err)
{
	const config_setting_t *begin = config_setting_get_member(s, "begin");
	const char *text;
	t->series.begin_s = INT64_MIN;
	int r = begin ? phx_conf_text(c, begin, &text, err) : 0;
	if (r == 0 && begin && phx_series_time(text, &t->series.begin_s) < 0)
		r = phx_conf_fail(c, begin, -EINVAL, err,
				  "begin = \"%s\" must be a time, like \"1998-06-07\" or "
				  "\"1998-06-07 12:00:00\" (GMT)",
				  text);
	return r;
}

static int read_demand(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t,
		       struct phx_err *err)
{
	t->series.kind = PHX_SERIES_DEMAND;
	return read_series(c, s, t, err);
}

static int read_rule(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t,
		     struct phx_err *err)
{
	struct phx_series_rule *rule = &t->rule;
	rule->web.lower = rule->web.lower ? rule->web.lower : 1;
	rule->web.upper = rule->web.upper ? rule->web.upper : UINT32_MAX;
	rule->start = rule->start ? rule->start : 2;
	if (!t->peak == !rule->capacity_milli)
		return phx_conf_fail(
			c, s, -EINVAL, err,
			"a trace of requests wants either capacity (requests a second that keep "
			"one instance fully used) or peak (instances at the busiest time)");
	return 0;
}

static int read_requests(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t,
			 struct phx_err *err)
{
	t->series.kind = PHX_SERIES_COUNTS;
	int r = read_series(c, s, t, err);
	return r < 0 ? r : read_rule(c, s, t, err);
}

static const struct {
	const char *key; /* that names the file */
	const struct phx_record *rows;
	int (*check)(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t,
		     struct phx_err *err);
} kinds[] = {
	[PHX_TRACE_SWF] = {"swf", &swf_record, read_nothing},
	[PHX_TRACE_REQUESTS] = {"requests", &requests_record, read_requests},
	[PHX_TRACE_DEMAND] = {"demand", &demand_record, read_demand},
	[PHX_TRACE_DAX] = {"dax", &dax_record, read_nothing},
	[PHX_TRACE_JOBS] = {"draw_jobs", &jobs_record, read_nothing},
	[PHX_TRACE_LOAD] = {"draw_requests", &load_record, read_rule},
};

int phx_sim_scenario_trace(const struct phx_conf *c, const config_setting_t *s,
			   struct phx_trace *ret, struct phx_err *err)
{
	size_t kind = 0;
	while (kind < PHX_ARRAY_SIZE(kinds) && !config_setting_get_member(s, kinds[kind].key))
		kind++;
	if (kind == PHX_ARRAY_SIZE(kinds))
		return phx_conf_fail(c, s, -EINVAL, err,
				     "a trace is one of swf, requests, demand, dax, draw_jobs, "
				     "draw_requests: like swf = "
				     "\"jobs.swf\"");
	ret->kind = (int)kind;
	int r = phx_conf_group(c, s, kinds[kind].rows, ret, err);
	return r < 0 ? r : kinds[kind].check(c, s, ret, err);
}
