/* phx sim plan --journal: what would have been, by a cluster's own journal. Beside a running phxd,
 * too: it only reads. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "past/past.h"
#include "phx-sim/sim.h"
#include "trace/series.h"

enum { PROGRESS_MS = 200 };

struct past_run {
	struct cli *cli;
	const char *path;
	struct phx_past_wish wish;
	struct phx_past_source source;
	struct phx_past *past;
	struct phx_past_walk walk;
	int64_t told_ms;
};

static void past_run_fini(struct past_run *p)
{
	free(p->source.snapshot);
	phx_past_free(p->past);
}

static void tell(struct past_run *p, const char *what, double done)
{
	int64_t now = phx_clock_ms();
	if (now - p->told_ms < PROGRESS_MS)
		return;
	p->told_ms = now;
	sim_progress(p->cli, what, done);
}

/* ---- what is asked ---- */

/* Options of the other form are a mistake, not something to be passed over. */
static int check_form(const struct cli *cli, struct phx_err *err)
{
	static const enum cli_option_id of_logs[] = {CLI_OPT_swf,       CLI_OPT_requests,
						     CLI_OPT_demand,    CLI_OPT_peak,
						     CLI_OPT_capacity,  CLI_OPT_lost,
						     CLI_OPT_slower,    CLI_OPT_estimates,
						     CLI_OPT_lenient,   CLI_OPT_processors_per_node,
						     CLI_OPT_scheduler, CLI_OPT_nodes,
						     CLI_OPT_svg};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(of_logs); i++)
		if (cli_has(cli, of_logs[i]))
			return phx_err_set(err, -EINVAL,
					   "--%s is for logs, and does not go with --journal",
					   cli_option_info(of_logs[i])->name);
	return 0;
}

static int read_more(const struct cli *cli, int64_t *ret, struct phx_err *err)
{
	const char *text = cli_opt(cli, CLI_OPT_more_nodes, "0");
	uint64_t n;
	bool fewer = *text == '-';
	if (phx_u64_parse(text + (fewer || *text == '+'), 0, 1000000, &n) < 0)
		return phx_err_set(err, -EINVAL,
				   "--more-nodes: \"%s\": a number is wanted, like 10 or -3", text);
	*ret = fewer ? -(int64_t)n : (int64_t)n;
	return 0;
}

static int read_changes(struct past_run *p, struct phx_err *err)
{
	const char *setup = cli_opt(p->cli, CLI_OPT_setup, NULL);
	struct phx_past_wish *w = &p->wish;
	w->handover_ms = PHX_PAST_HANDOVER_MS;
	w->wipe_ms = PHX_PAST_WIPE_MS;
	w->wipes = setup != NULL;
	w->has_model = cli_has(p->cli, CLI_OPT_model);
	if (setup && strcmp(setup, "wipe"))
		return phx_err_set(err, -EINVAL, "--setup: with --journal only wipe is wanted");
	int r = read_more(p->cli, &w->nodes, err);
	return r || !w->has_model
		? r
		: phx_enum_parse(&phx_policy_names, cli_opt(p->cli, CLI_OPT_model, ""), &w->model,
				 err);
}

/* The last so many weeks of the journal, or so many from --begin on. */
static int read_time(struct past_run *p, int64_t last_ms, struct phx_err *err)
{
	const char *begin = cli_opt(p->cli, CLI_OPT_begin, NULL);
	uint64_t weeks = 1;
	int64_t begin_s = 0;
	if (phx_u64_parse(cli_opt(p->cli, CLI_OPT_weeks, "1"), 1, 1000, &weeks) < 0)
		return phx_err_set(err, -EINVAL, "--weeks: a number from 1 to 1000 is wanted");
	if (begin && phx_series_time(begin, &begin_s) < 0)
		return phx_err_set(err, -EINVAL,
				   "--begin: \"%s\": a time is wanted, like 2026-06-07", begin);
	int64_t long_ms = (int64_t)weeks * PHX_SIM_WEEK_MS;
	p->wish.from_ms = begin ? begin_s * 1000 : last_ms - long_ms;
	p->wish.from_ms = p->wish.from_ms > 0 ? p->wish.from_ms : 0;
	p->wish.until_ms =
		begin && begin_s * 1000 + long_ms < last_ms ? begin_s * 1000 + long_ms : last_ms;
	return 0;
}

/* ---- the journal ---- */

static int keep_time(void *arg, const struct phx_store_event *ev)
{
	*(int64_t *)arg = ev->time_ms;
	return 0;
}

/* When the last event was. */
static int last_of(struct phx_store_reader *r, int64_t *ret, struct phx_err *err)
{
	uint64_t behind = 0;
	int code = phx_store_search_time(r, INT64_MAX, &behind, err);
	if (code == 0 && !behind)
		return phx_err_set(err, -ENOENT, "the journal is empty");
	return code ? code : phx_store_reader_events(r, behind - 2, 1, NULL, keep_time, ret, err);
}

static int take_event(void *arg, const struct phx_store_event *ev)
{
	struct past_run *p = arg;
	tell(p, p->path,
	     (double)(ev->seq - p->source.after) / (double)(p->source.last - p->source.after));
	return phx_past_walk(&p->walk, ev);
}

static int read_journal(struct past_run *p, struct phx_store_reader *r, struct phx_err *err)
{
	int64_t last_ms = 0;
	int code = last_of(r, &last_ms, err);
	code = code ? code : read_time(p, last_ms, err);
	code = code ? code : phx_past_source(r, &p->wish, &p->source, err);
	code = code ? code : phx_past_new(&p->wish, &p->past, err);
	if (code == 0 && p->source.snapshot)
		code = phx_past_state(p->past, p->source.snapshot, err);
	p->walk = (struct phx_past_walk){p->past, err};
	code = code ? code
		    : phx_store_reader_events(r, p->source.after, 0, NULL, take_event, p, err);
	return code > 0 ? 0 : code;
}

/* ---- the answer ---- */

static int tell_run(void *arg, unsigned milli)
{
	tell(arg, "what if", milli / 1000.0);
	return 0;
}

static int read_total(const json_t *side, struct phx_sim_report *ret, struct phx_err *err)
{
	const json_t *error = json_object_get(side, "error");
	if (error)
		return phx_err_set(err, -EINVAL, "%s", json_string_value(error));
	return phx_sim_report_parse("total", json_object_get(side, "total"), ret, err);
}

static int print_answer(struct past_run *p, const json_t *answer)
{
	static const char *const heads[] = {"AS AGREED", "CHANGED"};
	struct phx_sim_report sides[2] = {0};
	struct phx_err err = {0};
	int r = read_total(json_object_get(answer, "agreed"), &sides[0], &err);
	r = r ? r : read_total(json_object_get(answer, "changed"), &sides[1], &err);
	int code = CLI_OK;
	if (r == 0) {
		struct phx_sim_report_row rows[2];
		for (size_t i = 0; i < 2; i++)
			rows[i] = *PHX_LIST_AT(&sides[i].rows, struct phx_sim_report_row, 0);
		code = sim_print_columns(p->cli, rows, heads, 2, true);
	}
	phx_sim_report_fini(&sides[0]);
	phx_sim_report_fini(&sides[1]);
	if (r < 0)
		cli_fail(0, "the cluster could not have been so: %s", err.text);
	return r < 0 ? CLI_PARTIAL : code;
}

static int run_past(struct past_run *p)
{
	struct phx_store_reader *reader = NULL;
	struct phx_err err = {0};
	json_t *answer = NULL;
	int r = phx_store_reader_open(p->path, &reader, &err);
	r = r ? r : read_journal(p, reader, &err);
	phx_store_reader_close(reader);
	r = r ? r : phx_past_run(p->past, p->cli->progress ? tell_run : NULL, p, &answer, &err);
	sim_progress(p->cli, "", -1);
	if (r < 0)
		return sim_fail(r, &err);
	int code =
		cli_structured(p->cli) ? cli_print_value(p->cli, answer) : print_answer(p, answer);
	json_decref(answer);
	return code;
}

int sim_plan_past(struct cli *cli)
{
	PHX_AUTO(past_run_fini)
	struct past_run p = {.cli = cli, .path = cli_opt(cli, CLI_OPT_journal, "")};
	struct phx_err err = {0};
	int r = check_form(cli, &err);
	r = r ? r : read_changes(&p, &err);
	return r < 0 ? cli_fail(CLI_USAGE, "sim plan: %s", err.text) : run_past(&p);
}
