/* One group of a scenario's traces into a definition. Which member names the
 * file says what kind of trace it is. Called by scenario.c. */
#include <errno.h>
#include <string.h>

#include "sim/scenario_internal.h"

#define MEMBER(key, type, member, names)                                                                               \
	{                                                                                                              \
		key, type, offsetof(struct phx_trace, member), sizeof(((struct phx_trace *)0)->member), false, 0,      \
			UINT32_MAX, names                                                                              \
	}
#define OTHER(key)                                                                                                     \
	{                                                                                                              \
		key, PHX_CONF_OTHER, 0, 0, false, 0, 0, NULL                                                           \
	}
#define NAME                                                                                                           \
	{                                                                                                              \
		"name", PHX_CONF_NAME, offsetof(struct phx_trace, name), PHX_NAME_MAX, true, 0, 0, NULL                \
	}

/* how requests become a demand */
#define RULE                                                                                                           \
	MEMBER("peak", PHX_CONF_U32, peak, NULL), MEMBER("scale_to", PHX_CONF_U32, scale_to, NULL),                    \
		MEMBER("start", PHX_CONF_U32, rule.start, NULL), MEMBER("lower", PHX_CONF_U32, rule.web.lower, NULL),  \
		MEMBER("upper", PHX_CONF_U32, rule.web.upper, NULL), OTHER("capacity"), OTHER("factor"),               \
		OTHER("threshold"), OTHER("window")
/* what drawn workloads share; MEMBER is gen_jobs or gen_load */
#define RATE(member)                                                                                                   \
	MEMBER("periods", PHX_CONF_U32, member.rate.periods, NULL), MEMBER("seed", PHX_CONF_SIZE, member.seed, NULL),  \
		OTHER("length"), OTHER("swing"), OTHER("burst")

static const struct phx_conf_key swf_keys[] = {
	NAME,
	MEMBER("swf", PHX_CONF_STR, file, NULL),
	MEMBER("processors_per_node", PHX_CONF_U32, swf.per_node, NULL),
	MEMBER("nodes", PHX_CONF_U32, swf.nodes, NULL),
	MEMBER("sizes", PHX_CONF_ENUM, swf.sizes, &phx_swf_sizes_names),
	MEMBER("wide", PHX_CONF_ENUM, swf.wide, &phx_swf_wide_names),
	MEMBER("from_first", PHX_CONF_BOOL, swf.from_first, NULL),
	MEMBER("lenient", PHX_CONF_BOOL, swf.lenient, NULL),
	OTHER("size_factor"),
	OTHER("gap_factor"),
	OTHER("from"),
	OTHER("length"),
};

static const struct phx_conf_key requests_keys[] = {
	NAME,
	MEMBER("requests", PHX_CONF_STR, file, NULL),
	MEMBER("lenient", PHX_CONF_BOOL, series.lenient, NULL),
	RULE,
	OTHER("period"),
	OTHER("begin"),
	OTHER("length"),
};

static const struct phx_conf_key demand_keys[] = {
	NAME,
	MEMBER("demand", PHX_CONF_STR, file, NULL),
	MEMBER("scale_to", PHX_CONF_U32, scale_to, NULL),
	MEMBER("lenient", PHX_CONF_BOOL, series.lenient, NULL),
	OTHER("period"),
	OTHER("begin"),
	OTHER("length"),
};

static const struct phx_conf_key dax_keys[] = {
	NAME,
	MEMBER("dax", PHX_CONF_STR, file, NULL),
	MEMBER("copies", PHX_CONF_U32, copies, NULL),
	OTHER("every"),
};

static const struct phx_conf_key jobs_keys[] = {
	NAME,
	MEMBER("draw_jobs", PHX_CONF_ENUM, gen_jobs.rate.form, &phx_gen_form_names),
	MEMBER("count", PHX_CONF_U32, gen_jobs.n, NULL),
	MEMBER("law", PHX_CONF_ENUM, gen_jobs.law, &phx_gen_law_names),
	MEMBER("widest", PHX_CONF_U32, gen_jobs.nodes_max, NULL),
	MEMBER("users", PHX_CONF_U32, gen_jobs.users, NULL),
	RATE(gen_jobs),
	OTHER("run"),
	OTHER("deviation"),
	OTHER("estimate"),
};

static const struct phx_conf_key load_keys[] = {
	NAME,           MEMBER("draw_requests", PHX_CONF_ENUM, gen_load.rate.form, &phx_gen_form_names),
	RATE(gen_load), OTHER("period"),
	OTHER("mean"),  OTHER("noise"),
	RULE,
};

static int read_swf(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t, struct phx_err *err)
{
	int r = phx_sim_scenario_milli(c, s, "size_factor", &t->swf.size_milli, err);
	r = r < 0 ? r : phx_sim_scenario_milli(c, s, "gap_factor", &t->swf.gap_milli, err);
	r = r < 0 ? r : phx_sim_scenario_ms(c, s, "from", &t->swf.from_ms, err);
	return r < 0 ? r : phx_sim_scenario_ms(c, s, "length", &t->swf.length_ms, err);
}

static int read_series(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t, struct phx_err *err)
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
	r = r < 0 ? r : phx_sim_scenario_ms(c, s, "period", &t->series.period_ms, err);
	return r < 0 ? r : phx_sim_scenario_ms(c, s, "length", &t->series.length_ms, err);
}

static int read_demand(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t, struct phx_err *err)
{
	t->series.kind = PHX_SERIES_DEMAND;
	return read_series(c, s, t, err);
}

static int read_rule(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t, struct phx_err *err)
{
	uint32_t capacity = 0;
	t->rule.web.window_ms = 20000;
	t->rule.web.threshold_milli = 800;
	t->rule.web.lower = t->rule.web.lower ? t->rule.web.lower : 1;
	t->rule.web.upper = t->rule.web.upper ? t->rule.web.upper : UINT32_MAX;
	t->rule.start = t->rule.start ? t->rule.start : 2;
	int r = phx_sim_scenario_milli(c, s, "capacity", &capacity, err);
	r = r < 0 ? r : phx_sim_scenario_milli(c, s, "factor", &t->rule.factor_milli, err);
	r = r < 0 ? r : phx_sim_scenario_milli(c, s, "threshold", &t->rule.web.threshold_milli, err);
	r = r < 0 ? r : phx_sim_scenario_ms(c, s, "window", &t->rule.web.window_ms, err);
	t->rule.capacity_milli = capacity;
	if (r == 0 && !t->peak == !capacity)
		r = phx_conf_fail(c, s, -EINVAL, err,
				  "a trace of requests wants either capacity (requests a second that keep "
				  "one instance fully used) or peak (instances at the busiest time)");
	return r;
}

static int read_requests(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t, struct phx_err *err)
{
	t->series.kind = PHX_SERIES_COUNTS;
	int r = read_series(c, s, t, err);
	return r < 0 ? r : read_rule(c, s, t, err);
}

static int read_dax(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t, struct phx_err *err)
{
	return phx_sim_scenario_ms(c, s, "every", &t->every_ms, err);
}

static int read_rate(const struct phx_conf *c, const config_setting_t *s, struct phx_gen_rate *rate,
		     struct phx_err *err)
{
	int r = phx_sim_scenario_ms(c, s, "length", &rate->length_ms, err);
	r = r < 0 ? r : phx_sim_scenario_milli(c, s, "swing", &rate->swing_milli, err);
	return r < 0 ? r : phx_sim_scenario_milli(c, s, "burst", &rate->burst_milli, err);
}

static int read_jobs(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t, struct phx_err *err)
{
	int r = read_rate(c, s, &t->gen_jobs.rate, err);
	r = r < 0 ? r : phx_sim_scenario_ms(c, s, "run", &t->gen_jobs.run_ms, err);
	r = r < 0 ? r : phx_sim_scenario_ms(c, s, "deviation", &t->gen_jobs.sd_ms, err);
	return r < 0 ? r : phx_sim_scenario_milli(c, s, "estimate", &t->gen_jobs.estimate_milli, err);
}

static int read_load(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t, struct phx_err *err)
{
	uint32_t mean = 0;
	int r = read_rate(c, s, &t->gen_load.rate, err);
	r = r < 0 ? r : phx_sim_scenario_ms(c, s, "period", &t->gen_load.period_ms, err);
	r = r < 0 ? r : phx_sim_scenario_milli(c, s, "mean", &mean, err);
	r = r < 0 ? r : phx_sim_scenario_milli(c, s, "noise", &t->gen_load.noise_milli, err);
	t->gen_load.mean_milli = mean;
	return r < 0 ? r : read_rule(c, s, t, err);
}
static const struct {
	const char *key; /* that names the file */
	const struct phx_conf_key *keys;
	size_t n_keys;
	int (*read)(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *t, struct phx_err *err);
} kinds[] = {
	[PHX_TRACE_SWF] = {"swf", swf_keys, PHX_ARRAY_SIZE(swf_keys), read_swf},
	[PHX_TRACE_REQUESTS] = {"requests", requests_keys, PHX_ARRAY_SIZE(requests_keys), read_requests},
	[PHX_TRACE_DEMAND] = {"demand", demand_keys, PHX_ARRAY_SIZE(demand_keys), read_demand},
	[PHX_TRACE_DAX] = {"dax", dax_keys, PHX_ARRAY_SIZE(dax_keys), read_dax},
	[PHX_TRACE_JOBS] = {"draw_jobs", jobs_keys, PHX_ARRAY_SIZE(jobs_keys), read_jobs},
	[PHX_TRACE_LOAD] = {"draw_requests", load_keys, PHX_ARRAY_SIZE(load_keys), read_load},
};

int phx_sim_scenario_trace(const struct phx_conf *c, const config_setting_t *s, struct phx_trace *ret,
			   struct phx_err *err)
{
	size_t kind = 0;
	while (kind < PHX_ARRAY_SIZE(kinds) && !config_setting_get_member(s, kinds[kind].key))
		kind++;
	if (kind == PHX_ARRAY_SIZE(kinds))
		return phx_conf_fail(
			c, s, -EINVAL, err,
			"a trace is one of swf, requests, demand, dax, draw_jobs, draw_requests: like swf = "
			"\"jobs.swf\"");
	ret->kind = (int)kind;
	int r = phx_conf_group(c, s, kinds[kind].keys, kinds[kind].n_keys, ret, err);
	return r < 0 ? r : kinds[kind].read(c, s, ret, err);
}
