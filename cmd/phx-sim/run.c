/* phx sim run: one simulation, of a scenario file or of a job log by options.
 * Needs no phxd. */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "phx-sim/sim.h"

enum { PROGRESS_MS = 200 };

/* Options of the other form of the command are a mistake, not something to be passed over. */
static int check_form(struct cli *cli)
{
	static const enum cli_option_id quick[] = {CLI_OPT_nodes, CLI_OPT_scheduler,
						   CLI_OPT_processors_per_node, CLI_OPT_lenient};
	static const enum cli_option_id of_logs[] = {CLI_OPT_processors_per_node, CLI_OPT_lenient};
	bool file = cli_arg(cli, 0) != NULL, swf = cli_has(cli, CLI_OPT_swf),
	     workflow = cli_has(cli, CLI_OPT_workflow);
	if (file + swf + workflow != 1)
		return cli_fail(CLI_USAGE,
				"sim run: one of a scenario file, --swf FILE and "
				"--workflow FILE is wanted");
	for (size_t i = 0; file && i < PHX_ARRAY_SIZE(quick); i++)
		if (cli_has(cli, quick[i]))
			return cli_fail(CLI_USAGE,
					"sim run: --%s goes with --swf and --workflow; a scenario "
					"says it itself "
					"(--set changes it)",
					cli_option_info(quick[i])->name);
	for (size_t i = 0; workflow && i < PHX_ARRAY_SIZE(of_logs); i++)
		if (cli_has(cli, of_logs[i]))
			return cli_fail(CLI_USAGE, "sim run: --%s goes with --swf",
					cli_option_info(of_logs[i])->name);
	if (!file && cli_has(cli, CLI_OPT_set))
		return cli_fail(CLI_USAGE, "sim run: --set goes with a scenario file");
	return CLI_OK;
}

/* ---- one run, whatever it is of ---- */

struct run {
	struct cli *cli;
	const char *title;
	const char *const *names;
	unsigned n_res;
	struct phx_sim_timeline timeline;
	struct phx_sim_watch watch;
	size_t n_jobs;     /* 0: not known */
	int64_t window_ms; /* 0: none */
	int64_t told_ms;
};

static int tell_progress(void *arg, int64_t now_ms, size_t n_ended)
{
	struct run *run = arg;
	int64_t now = phx_clock_ms();
	double done = run->window_ms ? (double)now_ms / (double)run->window_ms
		: run->n_jobs        ? (double)n_ended / (double)run->n_jobs
				     : 0;
	if (now - run->told_ms >= PROGRESS_MS)
		sim_progress(run->cli, run->title, done);
	run->told_ms = now - run->told_ms >= PROGRESS_MS ? now : run->told_ms;
	return 0;
}

/* The watcher's arg is one: a time-line's point finds its run before it. */
static void take_point(void *arg, int64_t now_ms, unsigned re, const struct phx_sim_point *p)
{
	phx_sim_timeline_point(&((struct run *)arg)->timeline, now_ms, re, p);
}

static int watch_run(struct run *run)
{
	bool svg = cli_has(run->cli, CLI_OPT_svg);
	run->watch = (struct phx_sim_watch){.arg = run,
					    .point = svg ? take_point : NULL,
					    .progress = run->cli->progress ? tell_progress : NULL};
	return svg ? phx_sim_timeline_init(&run->timeline, run->n_res) : 0;
}

static int draw_run(struct run *run, int64_t end_ms)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf svg = {0};
	if (!cli_has(run->cli, CLI_OPT_svg))
		return CLI_OK;
	run->timeline.end_ms = end_ms;
	if (phx_sim_timeline_svg(&run->timeline, run->title, run->names, &svg) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	return sim_write_svg(run->cli, &svg);
}

/* ---- a scenario ---- */

static int print_run(struct run *run, const struct phx_sim_result *result)
{
	struct phx_sim_report report = {0};
	if (phx_sim_report_make(run->title, run->names, result, &report) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int code = sim_print_report(run->cli, &report);
	phx_sim_report_fini(&report);
	if (result->stuck)
		cli_fail(0, "%s: the run ended with jobs that can never start", run->title);
	return code ? code : draw_run(run, result->end_ms);
}

static int run_scenario(struct cli *cli, struct phx_sim_scenario *s, struct phx_trace_store *store)
{
	const char *names[PHX_SIM_RES_MAX];
	struct run run = {.cli = cli,
			  .title = s->name,
			  .names = names,
			  .n_res = s->res.n,
			  .window_ms = (int64_t)s->window_s * 1000};
	struct phx_sim_result result = {0};
	struct phx_err err = {0};
	for (uint32_t i = 0; i < s->res.n; i++)
		names[i] = PHX_LIST_AT(&s->res, struct phx_sim_scenario_re, i)->agreement.name;
	int r = watch_run(&run);
	r = r < 0 ? r : phx_sim_scenario_run(s, store, &run.watch, &result, &err);
	sim_progress(cli, "", -1);
	int code = r < 0 ? sim_fail(r, &err) : print_run(&run, &result);
	phx_sim_result_fini(&result);
	phx_sim_timeline_fini(&run.timeline);
	return code;
}

/* --weeks and --estimates hold for both forms. */
static int take_options(struct cli *cli, uint32_t *window_s, int *estimates, struct phx_err *err)
{
	uint64_t weeks;
	if (cli_has(cli, CLI_OPT_weeks)) {
		if (phx_u64_parse(cli_opt(cli, CLI_OPT_weeks, ""), 1, 1000, &weeks) < 0)
			return phx_err_set(err, CLI_USAGE,
					   "--weeks: a number from 1 to 1000 is wanted");
		*window_s = (uint32_t)weeks * 7 * 86400;
	}
	if (cli_has(cli, CLI_OPT_estimates) &&
	    phx_enum_parse(&phx_sim_estimates_names, cli_opt(cli, CLI_OPT_estimates, ""), estimates,
			   err) < 0)
		return phx_err_prefix(err, CLI_USAGE, "--estimates");
	return CLI_OK;
}

static int run_file(struct cli *cli, const char *path)
{
	const struct cli_values *set = &cli->args.opt[CLI_OPT_set];
	struct phx_sim_scenario s = {0};
	struct phx_trace_store *store = NULL;
	struct phx_err err = {0};
	int r = phx_sim_scenario_read(path, set->v, set->n, &s, &err);
	r = r < 0 ? r : phx_trace_store_new(sim_traces(cli), &store);
	int code = r < 0 ? sim_fail(r, &err) : take_options(cli, &s.window_s, &s.estimates, &err);
	if (r == 0 && code)
		cli_fail(0, "%s", err.text);
	if (!code)
		code = run_scenario(cli, &s, store);
	phx_trace_store_free(store);
	phx_sim_scenario_fini(&s);
	return code;
}

/* ---- the quick form ---- */

/* The log with the options, and the RE that runs it. */
struct quick {
	struct phx_trace trace;
	struct phx_trace_workload workload;
	struct phx_agreement agreement;
	uint32_t window_s, nodes;
	int estimates;
};

static int read_quick(struct cli *cli, struct quick *q, struct phx_err *err)
{
	struct phx_trace *t = &q->trace;
	bool workflow = cli_has(cli, CLI_OPT_workflow);
	const enum cli_option_id source = workflow ? CLI_OPT_workflow : CLI_OPT_swf;
	t->kind = workflow ? PHX_TRACE_WORKFLOW : PHX_TRACE_SWF;
	int code = take_options(cli, &q->window_s, &q->estimates, err);
	if (code)
		return code;
	if (PHX_STR_SET(t->file, cli_opt(cli, source, "")) < 0)
		return phx_err_set(err, CLI_USAGE, "--%s: the name is too long",
				   cli_option_info(source)->name);
	t->swf.per_node = sim_number(cli, CLI_OPT_processors_per_node);
	t->swf.nodes = sim_number(cli, CLI_OPT_nodes);
	t->swf.length_ms = (int64_t)q->window_s * 1000;
	t->swf.lenient = cli_has(cli, CLI_OPT_lenient);
	phx_agreement_init(&q->agreement);
	PHX_STR_SET(q->agreement.name, "batch");
	q->agreement.type = PHX_RE_BATCH;
	q->agreement.model = PHX_POLICY_dcs;
	if (phx_enum_parse(&phx_scheduler_names,
			   cli_opt(cli, CLI_OPT_scheduler, workflow ? "fcfs" : "first-fit"),
			   &q->agreement.scheduler, err) < 0)
		return phx_err_prefix(err, CLI_USAGE, "--scheduler");
	return CLI_OK;
}

static int load_quick(struct cli *cli, struct quick *q, struct phx_err *err)
{
	int r = phx_trace_load(&q->trace, sim_traces(cli), &q->workload, err);
	if (r < 0)
		return r;
	const struct phx_trace *t = &q->trace;
	const struct phx_trace_jobs *jobs = &q->workload.jobs;
	q->nodes = q->trace.swf.nodes ? q->trace.swf.nodes : jobs->max_nodes;
	if (!q->nodes && t->kind == PHX_TRACE_WORKFLOW)
		return phx_err_set(err, -EINVAL, "%s: on how many nodes? say --nodes COUNT",
				   t->file);
	if (!q->nodes)
		return phx_err_set(
			err, -EINVAL,
			"%s: its header does not say how many nodes there were; say --nodes COUNT",
			q->trace.file);
	q->agreement.lower = q->nodes;
	return 0;
}

/* One flat object: the metrics, and what was read. */
static int print_quick_json(struct cli *cli, const struct quick *q, const struct phx_sim_metrics *m)
{
	const struct phx_trace_jobs *w = &q->workload.jobs;
	json_t *j = phx_sim_metrics_json(m);
	json_t *more = json_pack(
		"{s:s, s:I, s:s, s:s, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I}}",
		q->trace.kind == PHX_TRACE_SWF ? "swf" : "workflow", q->trace.file, "nodes",
		(json_int_t)q->nodes, "scheduler",
		phx_enum_name(&phx_scheduler_names, q->agreement.scheduler), "estimates",
		phx_enum_name(&phx_sim_estimates_names, q->estimates), "input", "rows",
		(json_int_t)w->n_rows, "too_wide", (json_int_t)w->n_too_wide, "skipped_size",
		(json_int_t)w->n_skipped_size, "negative_run", (json_int_t)w->n_negative_run,
		"zero_run", (json_int_t)w->n_zero_run, "unsorted", (json_int_t)w->n_unsorted,
		"malformed", (json_int_t)w->n_malformed);
	int code = CLI_PARTIAL;
	if (j && more && json_object_update(j, more) == 0)
		code = cli_print_value(cli, j);
	json_decref(j);
	json_decref(more);
	return code;
}

/* What was not taken as it stands is said once, on stderr. */
static void tell_input(const struct quick *q)
{
	const struct phx_trace_jobs *w = &q->workload.jobs;
	const struct {
		size_t n;
		const char *text;
	} odd[] = {{w->n_malformed, "malformed rows skipped"},
		   {w->n_too_wide, "jobs wider than the cluster left out"},
		   {w->n_skipped_size, "rows without processors left out"},
		   {w->n_negative_run, "rows without a run time left out"},
		   {w->n_unsorted, "rows sorted to their place"}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(odd); i++)
		if (odd[i].n)
			fprintf(stderr, "phx: %s: %zu %s\n", q->trace.file, odd[i].n, odd[i].text);
}

static int run_quick(struct cli *cli, struct quick *q)
{
	static const char *const names[] = {"batch"};
	struct phx_sim_cluster cluster = {"cluster", {.nodes = q->nodes}};
	struct phx_sim_re re = {.agreement = &q->agreement, .jobs = &q->workload.jobs};
	struct run run = {.cli = cli,
			  .title = q->trace.file,
			  .names = names,
			  .n_res = 1,
			  .n_jobs = q->workload.jobs.n,
			  .window_ms = (int64_t)q->window_s * 1000};
	struct phx_sim_config config = {.clusters = &cluster,
					.n_clusters = 1,
					.res = &re,
					.n_res = 1,
					.window_ms = (int64_t)q->window_s * 1000,
					.estimates = q->estimates,
					.watch = &run.watch};
	struct phx_sim_result result = {0};
	struct phx_err err = {0};
	int r = watch_run(&run);
	r = r < 0 ? r : phx_sim_run(&config, &result, &err);
	sim_progress(cli, "", -1);
	int code;
	if (r < 0)
		code = sim_fail(r, &err);
	else if (cli_structured(cli))
		code = print_quick_json(cli, q, &result.total);
	else
		code = print_run(&run, &result);
	if (!code && cli_structured(cli))
		code = draw_run(&run, result.end_ms);
	if (!code)
		tell_input(q);
	phx_sim_result_fini(&result);
	phx_sim_timeline_fini(&run.timeline);
	return code;
}

int cmd_sim_run(struct cli *cli)
{
	struct quick q = {0};
	struct phx_err err = {0};
	int code = check_form(cli);
	sim_prepare_heap();
	if (code)
		return code;
	if (cli_arg(cli, 0))
		return run_file(cli, cli_arg(cli, 0));
	code = read_quick(cli, &q, &err);
	if (code)
		return cli_fail(code, "sim run: %s", err.text);
	int r = load_quick(cli, &q, &err);
	code = r < 0 ? sim_fail(r, &err) : run_quick(cli, &q);
	phx_trace_workload_fini(&q.workload);
	return code;
}
