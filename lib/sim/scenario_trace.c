/* One group of a scenario's traces into a definition. Which member names the
 * file says what kind of trace it is. Called by scenario.c. */
#include <errno.h>

#include "sim/scenario_internal.h"

#define NAME_ROW(F, S) \
	F(S, name, STR(PHX_NAME_MAX), KEY(name, NAME, PHX_REQUIRED, "By which REs name it."))

/* how requests become a demand */
#define RULE_ROWS(F, S) \
	F(S, peak, U32, \
	  KEY(peak, COUNT, "", \
	      "How many instances the busiest time wants; this or capacity is wanted.")) \
	F(S, scale_to, U32, \
	  KEY(scale_to, COUNT, "", "The demand is multiplied so that this is its highest.")) \
	F(S, rule.start, U32, KEY(start, COUNT, "", "Instances at the beginning. Default: 2.")) \
	F(S, rule.web.lower, U32, KEY(lower, COUNT, "", "The fewest instances. Default: 1.")) \
	F(S, rule.web.upper, U32, KEY(upper, COUNT, "", "The most instances.")) \
	F(S, rule.capacity_milli, U64, \
	  KEY(capacity, FRACTION, "", "Requests a second that keep one instance fully used.")) \
	F(S, rule.factor_milli, U32, \
	  KEY(factor, FRACTION, "", "Requests are multiplied by it. Default: 1.")) \
	F(S, rule.web.threshold_milli, U32, \
	  KEY(threshold, FRACTION, "0.8", \
	      "The use above which an instance is added; below threshold x (n - 1) / n one is " \
	      "taken away.")) \
	F(S, rule.web.window_ms, I64, KEY(window, SPAN, "20s", "How often that is decided."))
/* what drawn workloads share; `gen` is gen_jobs or gen_load */
#define RATE_ROWS(F, S, gen) \
	F(S, gen.rate.periods, U32, \
	  KEY(periods, COUNT, "", \
	      "Of bursts and periods how many there are; of an increasing rate how many steps. " \
	      "Default: 4.")) \
	F(S, gen.seed, U64, KEY(seed, SIZE, "", "Another seed draws another workload.")) \
	F(S, gen.rate.length_ms, I64, KEY(length, SPAN, "", "How long it lasts.")) \
	F(S, gen.rate.swing_milli, U32, \
	  KEY(swing, FRACTION, "", "The highest rate over the lowest. Default: 10.")) \
	F(S, gen.rate.burst_milli, U32, \
	  KEY(burst, FRACTION, "", "Which share of a period is a burst. Default: 0.1."))
/* of files with times; `begin` is read by read_series() */
#define SERIES_ROWS(F, S) \
	F(S, series.lenient, BOOL, \
	  KEY(lenient, YES, "", "Rows that are malformed are left out and counted.")) \
	F(S, series.period_ms, I64, \
	  KEY(period, SPAN, "", \
	      "For how long one row holds, where the times of the rows do not say it.")) \
	F(S, series.begin_s, I64, \
	  KEY(begin, OTHER, "", \
	      "From then on, and not from the first row, like \"1998-06-07\" or \"1998-06-07 " \
	      "12:00:00\" (GMT).")) \
	F(S, series.length_ms, I64, \
	  KEY(length, SPAN, "", "How much of it from there. Default: to the end."))

#define SWF_ROWS(F, S) \
	NAME_ROW(F, S) \
	F(S, file, STR(PHX_TRACE_PATH_MAX), \
	  KEY(swf, LINE, "", "A job log, Standard Workload Format 2.2.")) \
	F(S, swf.per_node, U32, \
	  KEY(processors_per_node, COUNT, "", \
	      "A job gets as many nodes as hold its processors. Default: 1.")) \
	F(S, swf.nodes, U32, \
	  KEY(nodes, COUNT, "", \
	      "Of the cluster, for jobs that are wider. Without it any width fits.")) \
	F(S, swf.sizes, ENUM(phx_swf_sizes), \
	  KEY(sizes, CHOICE, "", \
	      "Whether the processors count that a job was given, or where that is not known " \
	      "those that it asked for.")) \
	F(S, swf.wide, ENUM(phx_swf_wide), \
	  KEY(wide, CHOICE, "", \
	      "What becomes of wider jobs: they are left out, kept and wait for ever, or cut.")) \
	F(S, swf.from_first, BOOL, \
	  KEY(from_first, YES, "", \
	      "Times count from the first job that is kept, and not from the log's start.")) \
	F(S, swf.lenient, BOOL, \
	  KEY(lenient, YES, "", "Rows that are malformed are left out and counted.")) \
	F(S, swf.size_milli, U32, \
	  KEY(size_factor, FRACTION, "", "Sizes are multiplied by it and rounded. Default: 1.")) \
	F(S, swf.gap_milli, U32, \
	  KEY(gap_factor, FRACTION, "", \
	      "Times of submission are multiplied by it: 0.5 is twice the load. Default: 1.")) \
	F(S, swf.from_ms, I64, KEY(from, SPAN, "", "Where in the log the workload begins.")) \
	F(S, swf.length_ms, I64, \
	  KEY(length, SPAN, "", "How much of it from there. Default: to the end."))
#define REQUESTS_ROWS(F, S) \
	NAME_ROW(F, S) \
	F(S, file, STR(PHX_TRACE_PATH_MAX), \
	  KEY(requests, LINE, "", \
	      "A web log as CSV: a time, and the requests of the period that begins then. It " \
	      "becomes a demand by the rule of the web manager.")) \
	RULE_ROWS(F, S) SERIES_ROWS(F, S)
#define DEMAND_ROWS(F, S) \
	NAME_ROW(F, S) \
	F(S, file, STR(PHX_TRACE_PATH_MAX), \
	  KEY(demand, LINE, "", \
	      "Ready demand as CSV: a time, and the instances wanted from then on.")) \
	F(S, scale_to, U32, \
	  KEY(scale_to, COUNT, "", "The demand is multiplied so that this is its highest.")) \
	SERIES_ROWS(F, S)
#define COPIES_ROWS(F, S) \
	F(S, copies, U32, KEY(copies, COUNT, "", "How many of it.")) \
	F(S, every_ms, I64, KEY(every, SPAN, "", "How long after one the next begins."))
#define WORKFLOW_ROWS(F, S) \
	NAME_ROW(F, S) \
	F(S, file, STR(PHX_TRACE_PATH_MAX), \
	  KEY(workflow, LINE, "", \
	      "A workflow in any form of phoenix-workflow(5): a task waits for its parents, and " \
	      "is submitted when the last has ended.")) \
	COPIES_ROWS(F, S)
#define DAX_ROWS(F, S) \
	NAME_ROW(F, S) \
	F(S, file, STR(PHX_TRACE_PATH_MAX), \
	  KEY(dax, LINE, "", "The same by the name of one of the forms.")) \
	COPIES_ROWS(F, S)
#define JOBS_ROWS(F, S) \
	NAME_ROW(F, S) \
	F(S, gen_jobs.rate.form, ENUM(phx_gen_form), \
	  KEY(draw_jobs, CHOICE, "", "Jobs are drawn, their rate of this form.")) \
	F(S, gen_jobs.n, U32, KEY(count, COUNT, "", "About how many.")) \
	F(S, gen_jobs.law, ENUM(phx_gen_law), \
	  KEY(law, CHOICE, "", "How run times are distributed.")) \
	F(S, gen_jobs.nodes_max, U32, \
	  KEY(widest, COUNT, "", \
	      "The most nodes of one job; there are powers of two, small ones more often. " \
	      "Default: 1.")) \
	F(S, gen_jobs.users, U32, \
	  KEY(users, COUNT, "", "How many users they are of. Default: 1.")) \
	RATE_ROWS(F, S, gen_jobs) \
	F(S, gen_jobs.run_ms, I64, KEY(run, SPAN, "", "Their mean run time.")) \
	F(S, gen_jobs.sd_ms, I64, \
	  KEY(deviation, SPAN, "", "Its standard deviation, for lognormal.")) \
	F(S, gen_jobs.estimate_milli, U32, \
	  KEY(estimate, FRACTION, "", \
	      "Estimates are up to so many times the run time. Without it none is known."))
#define LOAD_ROWS(F, S) \
	NAME_ROW(F, S) \
	F(S, gen_load.rate.form, ENUM(phx_gen_form), \
	  KEY(draw_requests, CHOICE, "", "Requests are drawn, their rate of this form.")) \
	RATE_ROWS(F, S, gen_load) \
	F(S, gen_load.period_ms, I64, \
	  KEY(period, SPAN, "", "For how long one value holds. Default: 1m.")) \
	F(S, gen_load.mean_milli, U64, KEY(mean, FRACTION, "", "Requests a second.")) \
	F(S, gen_load.noise_milli, U32, \
	  KEY(noise, FRACTION, "", "Each value is off by up to this share.")) \
	RULE_ROWS(F, S)
PHX_RECORD_LOCAL(swf, phx_trace, SWF_ROWS);
PHX_RECORD_LOCAL(requests, phx_trace, REQUESTS_ROWS);
PHX_RECORD_LOCAL(demand, phx_trace, DEMAND_ROWS);
PHX_RECORD_LOCAL(dax, phx_trace, DAX_ROWS);
PHX_RECORD_LOCAL(workflow, phx_trace, WORKFLOW_ROWS);
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
	[PHX_TRACE_WORKFLOW] = {"workflow", &workflow_record, read_nothing},
	[PHX_TRACE_JOBS] = {"draw_jobs", &jobs_record, read_nothing},
	[PHX_TRACE_LOAD] = {"draw_requests", &load_record, read_rule},
};

const struct phx_record *phx_sim_scenario_trace_table(const char *kind)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++)
		if (phx_str_eq(kinds[i].key, kind))
			return kinds[i].rows;
	return NULL;
}

int phx_sim_scenario_trace(const struct phx_conf *c, const config_setting_t *s,
			   struct phx_trace *ret, struct phx_err *err)
{
	size_t kind = 0;
	while (kind < PHX_ARRAY_SIZE(kinds) && !config_setting_get_member(s, kinds[kind].key))
		kind++;
	if (kind == PHX_ARRAY_SIZE(kinds))
		return phx_conf_fail(
			c, s, -EINVAL, err,
			"a trace is one of swf, requests, demand, workflow, dax, draw_jobs, "
			"draw_requests: like swf = "
			"\"jobs.swf\"");
	ret->kind = (int)kind;
	int r = phx_conf_group(c, s, kinds[kind].rows, ret, err);
	return r < 0 ? r : kinds[kind].check(c, s, ret, err);
}
