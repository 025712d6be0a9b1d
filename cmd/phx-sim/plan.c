/* phx sim plan: how many nodes a consolidated cluster needs, and what users
 * feel. Needs no phxd. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "phx-sim/sim.h"
#include "sim/plan.h"

struct plan_run {
	struct cli *cli;
	struct phx_trace batch, web;
	struct phx_trace_workload jobs, demand;
	struct phx_sim_plan_config config;
	struct phx_sim_plan plan;
};

/* "5" or "5%" or "2.5%" in thousandths. */
static int percent_option(const struct cli *cli, enum cli_option_id id, uint32_t *ret,
			  struct phx_err *err)
{
	const char *text = cli_opt(cli, id, NULL);
	char *end;
	if (!text)
		return 0;
	double v = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "%")) || !(v >= 0 && v <= 10000))
		return phx_err_set(err, -EINVAL,
				   "--%s: \"%s\": percent are wanted, like 5 or 2.5%%",
				   cli_option_info(id)->name, text);
	*ret = (uint32_t)(v * 10 + 0.5);
	return 0;
}

/* ---- the two workloads ---- */

static int set_window(struct plan_run *p, struct phx_err *err)
{
	uint64_t weeks = 2;
	if (phx_u64_parse(cli_opt(p->cli, CLI_OPT_weeks, "2"), 1, 1000, &weeks) < 0)
		return phx_err_set(err, -EINVAL, "--weeks: a number from 1 to 1000 is wanted");
	p->config.window_ms = (int64_t)weeks * PHX_SIM_WEEK_MS;
	return 0;
}

static int set_batch(struct plan_run *p, struct phx_err *err)
{
	struct cli *cli = p->cli;
	if (!cli_has(cli, CLI_OPT_swf) ||
	    PHX_STR_SET(p->batch.file, cli_opt(cli, CLI_OPT_swf, "")) < 0)
		return phx_err_set(err, -EINVAL,
				   "--swf FILE is wanted: the log of the batch cluster");
	p->batch.kind = PHX_TRACE_SWF;
	p->batch.swf.per_node = sim_number(cli, CLI_OPT_processors_per_node);
	p->batch.swf.nodes = sim_number(cli, CLI_OPT_nodes);
	p->batch.swf.length_ms = p->config.window_ms;
	p->batch.swf.lenient = cli_has(cli, CLI_OPT_lenient);
	return 0;
}

static int set_web(struct plan_run *p, struct phx_err *err)
{
	struct cli *cli = p->cli;
	bool requests = cli_has(cli, CLI_OPT_requests);
	const char *file = cli_opt(cli, requests ? CLI_OPT_requests : CLI_OPT_demand, NULL),
		   *begin = cli_opt(cli, CLI_OPT_begin, NULL);
	if (!file || requests == cli_has(cli, CLI_OPT_demand) || PHX_STR_SET(p->web.file, file) < 0)
		return phx_err_set(err, -EINVAL,
				   "either --requests FILE (a count a period) or --demand FILE "
				   "(instances) is wanted");
	p->web.kind = requests ? PHX_TRACE_REQUESTS : PHX_TRACE_DEMAND;
	p->web.series = (struct phx_series_options){.kind = requests ? PHX_SERIES_COUNTS
								     : PHX_SERIES_DEMAND,
						    .begin_s = INT64_MIN,
						    .length_ms = p->config.window_ms,
						    .lenient = cli_has(cli, CLI_OPT_lenient)};
	if (begin && phx_series_time(begin, &p->web.series.begin_s) < 0)
		return phx_err_set(err, -EINVAL,
				   "--begin: \"%s\": a time is wanted, like 1998-06-07 or "
				   "\"1998-06-07 12:00:00\"",
				   begin);
	p->web.rule = (struct phx_series_rule){.web = {20000, 800, 1, UINT32_MAX}, .start = 2};
	p->web.peak = sim_number(cli, CLI_OPT_peak);
	p->web.rule.capacity_milli = (uint64_t)sim_number(cli, CLI_OPT_capacity) * 1000;
	if (requests && !p->web.peak == !p->web.rule.capacity_milli)
		return phx_err_set(
			err, -EINVAL,
			"--requests wants either --capacity (requests a second that keep one node "
			"fully used) or --peak (nodes at the busiest time)");
	return 0;
}

static int set_limits(struct plan_run *p, struct phx_err *err)
{
	struct phx_sim_plan_config *c = &p->config;
	struct phx_agreement a;
	phx_agreement_init(&a);
	c->model = PHX_POLICY_fb;
	c->scheduler = a.scheduler;
	c->kill_order = a.kill_order;
	c->lease_s = a.lease_s;
	c->lost_milli = 0;
	c->slower_milli = 100;
	c->workers = sim_workers(p->cli);
	int r = percent_option(p->cli, CLI_OPT_lost, &c->lost_milli, err);
	r = r < 0 ? r : percent_option(p->cli, CLI_OPT_slower, &c->slower_milli, err);
	if (r == 0 && cli_has(p->cli, CLI_OPT_model))
		r = phx_enum_parse(&phx_policy_names, cli_opt(p->cli, CLI_OPT_model, ""), &c->model,
				   err);
	if (r == 0 && cli_has(p->cli, CLI_OPT_scheduler))
		r = phx_enum_parse(&phx_scheduler_names, cli_opt(p->cli, CLI_OPT_scheduler, ""),
				   &c->scheduler, err);
	if (r == 0 && cli_has(p->cli, CLI_OPT_estimates))
		r = phx_enum_parse(&phx_sim_estimates_names, cli_opt(p->cli, CLI_OPT_estimates, ""),
				   &c->estimates, err);
	return r;
}

static int read_options(struct plan_run *p, struct phx_err *err)
{
	int r = set_window(p, err);
	r = r < 0 ? r : set_batch(p, err);
	r = r < 0 ? r : set_web(p, err);
	return r < 0 ? r : set_limits(p, err);
}

static int load(struct plan_run *p, struct phx_err *err)
{
	const char *traces = sim_traces(p->cli);
	int r = phx_trace_load(&p->batch, traces, &p->jobs, err);
	r = r < 0 ? r : phx_trace_load(&p->web, traces, &p->demand, err);
	p->config.jobs = &p->jobs.jobs;
	p->config.demand = &p->demand.demand;
	p->config.batch_nodes = p->batch.swf.nodes ? p->batch.swf.nodes : p->jobs.jobs.max_nodes;
	if (r == 0 && !p->config.batch_nodes)
		r = phx_err_set(
			err, -EINVAL,
			"%s: its header does not say how many nodes there were; say --nodes COUNT",
			p->batch.file);
	return r;
}

/* ---- the answer ---- */

static void put_point(json_t *j, const struct phx_sim_plan_point *p)
{
	json_object_set_new(j, "nodes", json_integer(p->nodes));
	json_object_set_new(j, "enough", json_boolean(p->enough));
	json_object_set_new(j, "batch", phx_sim_metrics_json(&p->batch));
	json_object_set_new(j, "web", phx_sim_metrics_json(&p->web));
	json_object_set_new(j, "total", phx_sim_metrics_json(&p->total));
}

static json_t *whole_json(const struct plan_run *p)
{
	json_t *points = json_array(), *before = json_object();
	PHX_LIST_EACH(const struct phx_sim_plan_point, point, &p->plan.points) {
		json_t *j = json_object();
		put_point(j, point);
		json_array_append_new(points, j);
	}
	put_point(before, &p->plan.before);
	json_t *j = json_pack("{s:s, s:I, s:I, s:f, s:f, s:o, s:o}", "model",
			      phx_enum_name(&phx_policy_names, p->config.model), "batch_nodes",
			      (json_int_t)p->config.batch_nodes, "web_nodes",
			      (json_int_t)p->plan.web_nodes, "lost_percent",
			      p->config.lost_milli / 10.0, "slower_percent",
			      p->config.slower_milli / 10.0, "before", before, "points", points);
	json_object_set_new(
		j, "answer_nodes",
		p->plan.best < 0 ? json_null()
				 : json_integer(PHX_LIST_AT(&p->plan.points,
							    struct phx_sim_plan_point, p->plan.best)
							->nodes));
	return j;
}

static json_t *point_row(const struct plan_run *p, const struct phx_sim_plan_point *point,
			 const char *note)
{
	char text[4][32];
	double before = p->plan.before.batch.mean_turnaround_s,
	       saved = 1 - (double)point->nodes / p->plan.before.nodes;
	double slower = point->batch.mean_turnaround_s / before - 1;
	snprintf(text[0], sizeof(text[0]), "%.0f", saved * 100);
	snprintf(text[1], sizeof(text[1]), "%.0f", point->batch.mean_turnaround_s);
	snprintf(text[2], sizeof(text[2]), "%+.1f", slower * 100);
	snprintf(text[3], sizeof(text[3]), "%.1f", point->web.unmet_node_hours);
	return json_pack("{s:I, s:s, s:I, s:s, s:s, s:I, s:s, s:s}", "nodes",
			 (json_int_t)point->nodes, "saved", text[0], "completed",
			 (json_int_t)point->batch.completed, "turnaround",
			 isfinite(slower) ? text[1] : "", "slower", isfinite(slower) ? text[2] : "",
			 "killed", (json_int_t)point->batch.killed, "unmet", text[3], "note", note);
}

static const struct cli_column columns[] = {
	{.head = "NODES", .path = "nodes", .right = true},
	{.head = "SAVED %", .path = "saved", .right = true},
	{.head = "COMPLETED", .path = "completed", .right = true},
	{.head = "TURNAROUND s", .path = "turnaround", .right = true},
	{.head = "SLOWER %", .path = "slower", .right = true},
	{.head = "KILLED", .path = "killed", .right = true},
	{.head = "WEB UNMET node h", .path = "unmet", .right = true},
	{.head = "", .path = "note"},
};

static json_t *curve_rows(const struct plan_run *p)
{
	json_t *rows = json_array();
	for (uint32_t i = 0; i < p->plan.points.n; i++) {
		const struct phx_sim_plan_point *point =
			PHX_LIST_AT(&p->plan.points, struct phx_sim_plan_point, i);
		bool best = (int)i == p->plan.best;
		json_array_append_new(rows,
				      point_row(p, point,
						best ? "<- smallest that is enough"
							: point->enough ? "enough"
									: ""));
	}
	json_array_append_new(rows, point_row(p, &p->plan.before, "two dedicated clusters"));
	return rows;
}

static void print_answer(const struct plan_run *p)
{
	const struct phx_sim_plan_config *c = &p->config;
	const struct phx_sim_plan_point *before = &p->plan.before;
	printf("Dedicated: %u nodes for batch and %u for the web, %u together; %llu of %llu jobs "
	       "completed, mean "
	       "turnaround %.0f s.\n",
	       c->batch_nodes, p->plan.web_nodes, before->nodes,
	       (unsigned long long)before->batch.completed, (unsigned long long)before->batch.jobs,
	       before->batch.mean_turnaround_s);
	if (p->plan.best < 0) {
		printf("No shared cluster of up to %u nodes completes as many jobs (less %.1f %%) "
		       "with a turnaround at "
		       "most %.1f %% "
		       "longer.\n",
		       PHX_LIST_AT(&p->plan.points, struct phx_sim_plan_point, p->plan.points.n - 1)
			       ->nodes,
		       c->lost_milli / 10.0, c->slower_milli / 10.0);
		return;
	}
	const struct phx_sim_plan_point *best =
		PHX_LIST_AT(&p->plan.points, struct phx_sim_plan_point, p->plan.best);
	printf("Shared (%s): %u nodes are enough, %.0f %% fewer; %llu jobs completed, mean "
	       "turnaround %.0f s (%+.1f "
	       "%%), %llu runs "
	       "killed and requeued, web demand met%s.\n\n",
	       phx_enum_name(&phx_policy_names, c->model), best->nodes,
	       (1 - (double)best->nodes / before->nodes) * 100,
	       (unsigned long long)best->batch.completed, best->batch.mean_turnaround_s,
	       (best->batch.mean_turnaround_s / before->batch.mean_turnaround_s - 1) * 100,
	       (unsigned long long)best->batch.killed,
	       best->web.unmet_node_hours > 0 ? " as before" : " at all times");
}

static int print_plan(struct plan_run *p)
{
	if (cli_structured(p->cli)) {
		json_t *whole = whole_json(p);
		int code = cli_print_value(p->cli, whole);
		json_decref(whole);
		return code;
	}
	if (p->cli->format == CLI_TABLE || p->cli->format == CLI_WIDE)
		print_answer(p);
	json_t *rows = curve_rows(p);
	int code = cli_print_rows(p->cli, columns, PHX_ARRAY_SIZE(columns), rows, rows);
	json_decref(rows);
	return code;
}

static int draw_plan(struct plan_run *p)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf svg = {0};
	char title[256];
	if (!cli_has(p->cli, CLI_OPT_svg))
		return CLI_OK;
	snprintf(title, sizeof(title), "Consolidating %s and %s", basename(p->batch.file),
		 basename(p->web.file));
	if (phx_sim_plan_svg(&p->config, &p->plan, title, &svg) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	return sim_write_svg(p->cli, &svg);
}

static void tell(void *arg, size_t n_done, size_t n)
{
	sim_progress(arg, "plan", (double)n_done / (double)n);
}

static int run_plan(struct plan_run *p)
{
	struct phx_err err = {0};
	p->config.progress = p->cli->progress ? tell : NULL;
	p->config.progress_arg = p->cli;
	int r = load(p, &err);
	r = r < 0 ? r : phx_sim_plan_make(&p->config, &p->plan, &err);
	sim_progress(p->cli, "", -1);
	if (r < 0)
		return sim_fail(r, &err);
	int code = print_plan(p);
	code = code ? code : draw_plan(p);
	/* no size is enough: the question has no answer within the limits */
	return code ? code : p->plan.best < 0 ? CLI_PARTIAL : CLI_OK;
}

int cmd_sim_plan(struct cli *cli)
{
	struct plan_run p = {.cli = cli};
	struct phx_err err = {0};
	sim_prepare_heap();
	if (cli_has(cli, CLI_OPT_journal))
		return sim_plan_past(cli);
	if (cli_has(cli, CLI_OPT_more_nodes) || cli_has(cli, CLI_OPT_setup))
		return cli_fail(CLI_USAGE, "sim plan: --more-nodes and --setup go with --journal");
	int code = read_options(&p, &err) < 0 ? cli_fail(CLI_USAGE, "sim plan: %s", err.text)
					      : run_plan(&p);
	phx_trace_workload_fini(&p.jobs);
	phx_trace_workload_fini(&p.demand);
	phx_sim_plan_fini(&p.plan);
	return code;
}
