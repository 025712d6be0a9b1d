/* phx sim iaas: the provisioning policies of the IaaS study on a workload of
 * the study or a job log. Needs no phxd. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "phx-sim/sim.h"
#include "iaas/iaas.h"
#include "iaas/workload.h"
#include "sim/svg.h"

struct iaas_run {
	int policy, allocation;
	struct phx_iaas_result result;
	struct phx_list samples; /* struct phx_iaas_sample, for --svg */
};

struct iaas {
	struct cli *cli;
	const char *workload; /* a name of the study, or a file */
	uint64_t seed;
	struct phx_iaas_config config;
	struct phx_trace_workload input;
	struct iaas_run runs[PHX_PROVISIONING_COUNT_];
	size_t n_runs;
	/* of the same workload and allocation; what utility is measured by */
	double startup_utility;
};

/* ---- options ---- */

static int64_t time_ms(const struct cli *cli, enum cli_option_id id, int64_t fallback_ms)
{
	uint64_t seconds;
	if (!cli_has(cli, id) || phx_duration_parse(cli_opt(cli, id, ""), &seconds) < 0 ||
	    seconds > INT64_MAX / 1000)
		return fallback_ms;
	return (int64_t)seconds * 1000;
}

static void take_times(struct iaas *s)
{
	struct phx_iaas_config *c = &s->config;
	struct phx_iaas_params *p = &c->params;
	p->idle_ms[PHX_IAAS_SHORT] = time_ms(s->cli, CLI_OPT_idle, p->idle_ms[PHX_IAAS_SHORT]);
	p->idle_ms[PHX_IAAS_LONG] = time_ms(s->cli, CLI_OPT_idle_long, p->idle_ms[PHX_IAAS_LONG]);
	c->boot_ms = p->boot_ms = time_ms(s->cli, CLI_OPT_boot, c->boot_ms);
	c->period_ms = time_ms(s->cli, CLI_OPT_period, c->period_ms);
	p->adaptive = cli_has(s->cli, CLI_OPT_adaptive);
}

/* The workload by its name or file, and as many nodes as the command or, without it, the workload
 * says. */
static int take_workload(struct iaas *s, struct phx_err *err)
{
	uint64_t nodes = 0, seed = 1;
	int named;
	phx_u64_parse(cli_opt(s->cli, CLI_OPT_nodes, "0"), 0, UINT32_MAX, &nodes);
	phx_u64_parse(cli_opt(s->cli, CLI_OPT_seed, "1"), 0, UINT32_MAX, &seed);
	s->workload = cli_opt(s->cli, CLI_OPT_workload, "uniform");
	s->seed = seed;
	if (phx_enum_parse(&phx_iaas_workload_names, s->workload, &named, NULL) == 0) {
		uint32_t own = phx_iaas_workload_nodes((enum phx_iaas_workload)named);
		s->config.max = nodes ? (uint32_t)nodes : own ? own : s->config.max;
		return phx_iaas_workload_draw((enum phx_iaas_workload)named, s->config.max, seed,
					      PHX_IAAS_SPREAD_NONE, &s->input.jobs);
	}
	struct phx_trace trace = {.kind = PHX_TRACE_SWF};
	if (PHX_STR_SET(trace.file, s->workload) < 0)
		return phx_err_set(err, -EINVAL, "--workload: the name is too long");
	trace.swf.lenient = cli_has(s->cli, CLI_OPT_lenient);
	int r = phx_trace_load(&trace, sim_traces(s->cli), &s->input, err);
	if (r == -ENOENT) {
		phx_err_clear(err);
		phx_enum_parse(&phx_iaas_workload_names, s->workload, &named, err);
		phx_err_prefix(err, r, "--workload: no such job log, and");
	}
	if (r < 0)
		return r;
	s->config.max = nodes ? (uint32_t)nodes : s->input.jobs.max_nodes;
	return s->config.max
		? 0
		: phx_err_set(err, -EINVAL,
			      "%s does not say how many nodes there were; say --nodes COUNT",
			      s->workload);
}

/* The policies asked for, each with an allocation that goes with it. */
static int take_policies(struct iaas *s, struct phx_err *err)
{
	const char *policy = cli_opt(s->cli, CLI_OPT_policy, NULL),
		   *allocation = cli_opt(s->cli, CLI_OPT_allocation, NULL);
	int only = -1, wanted = -1;
	if (policy && phx_enum_parse(&phx_provisioning_names, policy, &only, err) < 0)
		return -EINVAL;
	if (allocation && phx_enum_parse(&phx_allocation_names, allocation, &wanted, err) < 0)
		return -EINVAL;
	for (int p = 0; p < PHX_PROVISIONING_COUNT_; p++) {
		struct phx_iaas_config c = s->config;
		if (only >= 0 && p != only)
			continue;
		c.provisioning = p;
		c.allocation = wanted >= 0            ? wanted
			: p == PHX_PROVISIONING_od_2q ? PHX_ALLOCATION_fcfs_2q
						      : PHX_ALLOCATION_fcfs;
		/* one that was named must go with the allocation; of all, those that do are run */
		int r = phx_iaas_config_check(&c, only >= 0 ? err : NULL);
		if (r == 0)
			s->runs[s->n_runs++] =
				(struct iaas_run){.policy = p, .allocation = c.allocation};
		else if (only >= 0)
			return r;
	}
	return s->n_runs ? 0 : phx_iaas_config_check(&s->config, err);
}

/* ---- running ---- */

static int run_one(struct iaas *s, int policy, int allocation, struct phx_iaas_result *ret,
		   struct phx_list *samples, struct phx_err *err)
{
	struct phx_iaas_config c = s->config;
	c.provisioning = policy;
	c.allocation = allocation;
	return phx_iaas_run(&c, &s->input.jobs, ret, samples, err);
}

static int run_all(struct iaas *s, struct phx_err *err)
{
	struct phx_iaas_result startup;
	bool svg = cli_has(s->cli, CLI_OPT_svg);
	int r = run_one(s, PHX_PROVISIONING_startup, PHX_ALLOCATION_fcfs, &startup, NULL, err);
	s->startup_utility = r < 0 ? 0 : startup.utility;
	for (size_t i = 0; i < s->n_runs && r == 0; i++)
		r = run_one(s, s->runs[i].policy, s->runs[i].allocation, &s->runs[i].result,
			    svg ? &s->runs[i].samples : NULL, err);
	return r;
}

/* ---- printing ---- */

/* Numbers with six decimals at most: what differs beyond is noise of the arithmetic. */
static json_t *real(double value)
{
	return json_real(round(value * 1e6) / 1e6);
}

/* Names as those of phx sim run, where there is the same metric. */
static json_t *run_json(const struct iaas *s, const struct iaas_run *run)
{
	const struct phx_iaas_result *r = &run->result;
	double relative = s->startup_utility > 0 ? r->utility / s->startup_utility : 0;
	return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, "
			 "s:I, s:I, s:I}",
			 "policy", phx_enum_name(&phx_provisioning_names, run->policy),
			 "allocation", phx_enum_name(&phx_allocation_names, run->allocation),
			 "jobs", (json_int_t)r->n_tasks, "makespan_s",
			 real((double)r->makespan_ms / 1000), "mean_wait_s", real(r->mean_wait_s),
			 "mean_slowdown", real(r->slowdown), "speedup", real(r->speedup),
			 "speedup_inf", real(r->speedup_inf), "actual_cost_h", real(r->actual_h),
			 "charged_cost_h", real(r->charged_h), "cost_efficiency",
			 real(r->efficiency), "utility", real(r->utility), "utility_vs_startup",
			 real(relative), "leases", (json_int_t)r->n_leases, "cancelled",
			 (json_int_t)r->n_cancelled, "peak_nodes", (json_int_t)r->peak_nodes,
			 "peak_waiting", (json_int_t)r->peak_queue);
}

static void put_number(struct phx_buf *b, const json_t *value, const json_t *row)
{
	double v = json_number_value(value);
	(void)row;
	phx_buf_addf(b, "%.*f",
		     fabs(v) >= 1000          ? 0
			     : fabs(v) >= 10  ? 1
			     : fabs(v) >= 0.1 ? 2
					      : 4,
		     v);
}

static const struct cli_column columns[] = {
	{.head = "POLICY", .path = "policy"},
	{.head = "ALLOCATION", .path = "allocation"},
	{.head = "JOBS", .path = "jobs", .right = true, .wide = true},
	{.head = "MAKESPAN S", .path = "makespan_s", .put = put_number, .right = true},
	{.head = "WAIT S", .path = "mean_wait_s", .put = put_number, .right = true},
	{.head = "SLOWDOWN", .path = "mean_slowdown", .put = put_number, .right = true},
	{.head = "SU", .path = "speedup", .put = put_number, .right = true},
	{.head = "SU INF", .path = "speedup_inf", .put = put_number, .right = true},
	{.head = "ACTUAL H", .path = "actual_cost_h", .put = put_number, .right = true},
	{.head = "CHARGED H", .path = "charged_cost_h", .put = put_number, .right = true},
	{.head = "COST EFF", .path = "cost_efficiency", .put = put_number, .right = true},
	{.head = "UTILITY", .path = "utility", .put = put_number, .right = true, .wide = true},
	{.head = "VS STARTUP", .path = "utility_vs_startup", .put = put_number, .right = true},
	{.head = "LEASES", .path = "leases", .right = true},
	{.head = "CANCELLED", .path = "cancelled", .right = true, .wide = true},
	{.head = "PEAK", .path = "peak_nodes", .right = true},
	{.head = "PEAK WAITING", .path = "peak_waiting", .right = true, .wide = true},
};

static int print_all(const struct iaas *s)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < s->n_runs; i++)
		json_array_append_new(rows, run_json(s, &s->runs[i]));
	PHX_AUTO_JSON json_t *whole =
		json_pack("{s:s, s:I, s:I, s:o}", "workload", s->workload, "nodes",
			  (json_int_t)s->config.max, "seed", (json_int_t)s->seed, "runs", rows);
	return whole ? cli_print_rows(s->cli, columns, PHX_ARRAY_SIZE(columns), rows, whole)
		     : cli_fail(CLI_PARTIAL, "out of memory");
}

/* ---- the picture: nodes over time, a panel a policy (002 figures 10-12, 18) ---- */

enum { LINES = 3 };

struct panel_data {
	double *x, *y[LINES];
	struct phx_svg_series series[LINES];
	char title[128];
};

static void panel_fini(struct panel_data *d)
{
	free(d->x);
	for (int k = 0; k < LINES; k++)
		free(d->y[k]);
}

static int panel_make(const struct iaas_run *run, struct panel_data *d, struct phx_svg_panel *ret)
{
	static const char *const names[LINES] = {"leased", "ready", "busy"};
	size_t n = run->samples.n;
	bool failed = !(d->x = calloc(n, sizeof(double)));
	for (int k = 0; k < LINES; k++)
		failed = !(d->y[k] = calloc(n, sizeof(double))) || failed;
	if (failed)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct phx_iaas_sample *s =
			PHX_LIST_AT(&run->samples, struct phx_iaas_sample, i);
		d->x[i] = (double)s->at_ms / 1000;
		d->y[0][i] = s->leased;
		d->y[1][i] = s->ready;
		d->y[2][i] = s->busy;
	}
	for (int k = 0; k < LINES; k++)
		d->series[k] = (struct phx_svg_series){names[k], d->x, d->y[k], n, PHX_SVG_STEP};
	snprintf(d->title, sizeof(d->title), "%s, %s",
		 phx_enum_name(&phx_provisioning_names, run->policy),
		 phx_enum_name(&phx_allocation_names, run->allocation));
	*ret = (struct phx_svg_panel){.title = d->title,
				      .x_label = "time",
				      .y_label = "nodes",
				      .series = d->series,
				      .n_series = LINES,
				      .x_is_time = true,
				      .y_from_zero = true,
				      .mark_x = NAN,
				      .limit_y = NAN};
	return 0;
}

static int draw_all(const struct iaas *s)
{
	struct panel_data data[PHX_PROVISIONING_COUNT_] = {0};
	struct phx_svg_panel panels[PHX_PROVISIONING_COUNT_];
	PHX_AUTO(phx_buf_fini) struct phx_buf svg = {0};
	int r = 0;
	if (!cli_has(s->cli, CLI_OPT_svg))
		return CLI_OK;
	for (size_t i = 0; i < s->n_runs && r == 0; i++)
		r = panel_make(&s->runs[i], &data[i], &panels[i]);
	if (r == 0)
		phx_svg_chart(s->workload, panels, s->n_runs, &svg);
	for (size_t i = 0; i < s->n_runs; i++)
		panel_fini(&data[i]);
	return r < 0 ? cli_fail(CLI_PARTIAL, "out of memory") : sim_write_svg(s->cli, &svg);
}

int cmd_sim_iaas(struct cli *cli)
{
	struct iaas s = {.cli = cli};
	struct phx_err err = {0};
	phx_iaas_config_default(&s.config);
	take_times(&s);
	int r = take_workload(&s, &err);
	bool usage = false;
	if (r == 0) {
		r = take_policies(&s, &err);
		usage = r < 0;
	}
	if (r == 0)
		r = run_all(&s, &err);
	int code = usage ? cli_fail(CLI_USAGE, "sim iaas: %s", err.text)
		: r < 0  ? sim_fail(r, &err)
			 : print_all(&s);
	if (!code)
		code = draw_all(&s);
	for (size_t i = 0; i < s.n_runs; i++)
		phx_list_fini(&s.runs[i].samples);
	phx_trace_workload_fini(&s.input);
	return code;
}
