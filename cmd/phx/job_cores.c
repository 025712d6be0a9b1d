/* phx job submit --cores: a job that wants a part of a node and leaves the rest to others. It is a
 * workflow of one task, or of one for each index of an array, in an RE of type many_tasks, which
 * has several tasks side by side on a node. Called by job_submit.c; judges nothing that phxd
 * judges. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "flow/draft.h"
#include "job/job.h"
#include "phx/job.h"
#include "phx/workflow.h"
#include "state/event.h"
#include "trace/wfformat.h"

enum { ID_SIZE = 24, CALL_MS = 60000 };

/* What jobs on whole nodes have, and parts of them have not. */
static const struct {
	enum cli_option_id option;
	const char *name;
} whole_only[] = {
	{CLI_OPT_nodes, "nodes"},
	{CLI_OPT_no_requeue, "no-requeue"},
	{CLI_OPT_checkpoint_signal, "checkpoint-signal"},
	{CLI_OPT_checkpoint_time, "checkpoint-time"},
	{CLI_OPT_grace, "grace"},
	{CLI_OPT_chdir, "chdir"},
};

/* A script finds its own text as $0, and is a file that can be executed while it runs. */
static const char run_script[] =
	"f=$(mktemp) && printf %s \"$0\" >\"$f\" && chmod 700 \"$f\" || exit 126\n"
	"\"$f\" \"$@\"\ns=$?\nrm -f \"$f\"\nexit $s";

struct part {
	struct cli *cli;
	struct phx_flow_draft draft;
	const json_t *body; /* what phx job submit says of a job */
	struct phx_err err;
};

/* ---- the task ---- */

static int add_text(struct part *p, enum phx_flow_link_kind kind, const char *text)
{
	return phx_flow_draft_link(&p->draft, p->draft.tasks.n - 1, kind, text, strlen(text), 1,
				   &p->err);
}

static int add_words(struct part *p, enum phx_flow_link_kind kind, const char *key, size_t from)
{
	const json_t *list = json_object_get(p->body, key);
	int r = 0;
	for (size_t i = from; r == 0 && i < json_array_size(list); i++)
		r = add_text(p, kind, json_string_value(json_array_get(list, i)));
	return r;
}

static int add_command(struct part *p)
{
	const char *script = phx_json_str(p->body, "script", NULL);
	if (!script)
		return add_words(p, PHX_FLOW_LINK_ARGV, "argv", 0);
	int r = add_text(p, PHX_FLOW_LINK_ARGV, "/bin/sh");
	r = r ? r : add_text(p, PHX_FLOW_LINK_ARGV, "-c");
	r = r ? r : add_text(p, PHX_FLOW_LINK_ARGV, run_script);
	r = r ? r : add_text(p, PHX_FLOW_LINK_ARGV, script);
	return r ? r : add_words(p, PHX_FLOW_LINK_ARGV, "argv", 1);
}

static int add_wants(struct part *p, const char *id)
{
	uint64_t cores = 0;
	struct phx_flow_task *t = phx_flow_draft_task(&p->draft, 1, &p->err);
	int r = t ? phx_flow_draft_text(&p->draft, id, strlen(id), &t->id, &p->err) : -ENOMEM;
	if (r < 0)
		return r;
	/* by their types they are right */
	phx_u64_parse(cli_opt(p->cli, CLI_OPT_cores, "1"), 1, UINT32_MAX, &cores);
	phx_size_parse(cli_opt(p->cli, CLI_OPT_memory, "0"), &t->memory_bytes);
	t->cores = (uint32_t)cores;
	t->time_ms = phx_json_int(p->body, "time_s", 0) * 1000;
	return 0;
}

static int add_index(struct part *p, const uint32_t *index)
{
	char word[40];
	if (!index)
		return 0;
	snprintf(word, sizeof(word), "PHX_ARRAY_INDEX=%" PRIu32, *index);
	return add_text(p, PHX_FLOW_LINK_ENVIRONMENT, word);
}

static int add_task(struct part *p, const uint32_t *index)
{
	char id[ID_SIZE] = "job";
	if (index)
		snprintf(id, sizeof(id), "job.%" PRIu32, *index);
	int r = add_wants(p, id);
	r = r ? r : add_command(p);
	r = r ? r : add_words(p, PHX_FLOW_LINK_ENVIRONMENT, "env", 0);
	r = r ? r : add_index(p, index);
	r = r ? r : add_words(p, PHX_FLOW_LINK_INPUT, "stage_in", 0);
	return r ? r : add_words(p, PHX_FLOW_LINK_OUTPUT, "stage_out", 0);
}

static int add_array(struct part *p, const char *text)
{
	PHX_AUTO(phx_list_fini) struct phx_list rows = {0};
	uint32_t at_once = 0;
	int r = phx_array_parse(text, &rows, &at_once, &p->err);
	if (r == 0 && at_once)
		return phx_err_set(&p->err, -EINVAL,
				   "array: with --cores as many run at a time as the nodes have "
				   "cores for: leave %%%u out",
				   at_once);
	for (uint32_t i = 0; i < rows.n && r == 0; i++) {
		const struct phx_index_row *row = PHX_LIST_AT(&rows, struct phx_index_row, i);
		for (uint32_t index = row->from; r == 0 && index <= row->to; index += row->step)
			r = add_task(p, &index);
	}
	return r;
}

static int make(struct part *p, struct phx_flow *ret)
{
	const char *array = phx_json_str(p->body, "array", NULL);
	int r = phx_flow_draft_text(&p->draft, "job", 3, &p->draft.name, &p->err);
	r = r ? r : array ? add_array(p, array) : add_task(p, NULL);
	return r ? r : phx_flow_make(&p->draft, ret, &p->err);
}

/* ---- phxd ---- */

static bool is_over(const char *status)
{
	return phx_str_eq(status, "done") || phx_str_eq(status, "failed") ||
		phx_str_eq(status, "cancelled");
}

/* Until the run is over; *ret is what is said of it then. */
static int await(struct cli *cli, int64_t run, json_t **ret)
{
	PHX_AUTO_FREE char *path = phx_path("/v1/workflows/%" PRId64, run);
	int64_t end = cli_deadline_ms(cli);
	struct phx_again again = cli_away_again();
	for (bool away = false; path;) {
		struct phx_err err = {0};
		int64_t asked = phx_clock_ms();
		int code = cli_call_quiet(cli, "GET", path, NULL, CALL_MS, ret, &err);
		if (code && !cli_passes(code))
			return cli_fail(code, "%s", err.text);
		cli_tell_away(&away, code, &err);
		if (!code && is_over(phx_json_str(*ret, "status", "")))
			return CLI_OK;
		if (phx_clock_ms() >= end)
			return cli_fail(CLI_TIMEOUT,
					"workflow %" PRId64 " is not over in time; it goes on",
					run);
		json_decref(*ret);
		*ret = NULL;
		cli_pause(&again, asked, end);
	}
	return cli_fail(CLI_PARTIAL, "out of memory");
}

static int print_output(struct cli *cli, const json_t *seen)
{
	char run[ID_SIZE];
	snprintf(run, sizeof(run), "%" PRId64, (int64_t)phx_json_int(seen, "id", 0));
	return phx_json_int(seen, "n_runs", 0) ? cli_workflow_print_output(cli, run, "job")
					       : CLI_OK;
}

static int follow(struct cli *cli, int64_t run, bool one)
{
	PHX_AUTO_JSON json_t *seen = NULL;
	fprintf(stderr, "phx: workflow %" PRId64 "\n", run);
	int code = await(cli, run, &seen);
	if (code)
		return code;
	if (cli_structured(cli))
		code = cli_print_value(cli, seen);
	else if (one)
		code = print_output(cli, seen);
	bool done = phx_str_eq(phx_json_str(seen, "status", ""), "done");
	if (!code && !done)
		code = cli_fail(CLI_PARTIAL, "workflow %" PRId64 ": %s: %s", run,
				phx_json_str(seen, "status", ""), phx_json_str(seen, "why", ""));
	return code;
}

int cli_job_submit_cores(struct cli *cli, const json_t *body)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	PHX_AUTO_JSON json_t *answer = NULL;
	struct part p = {.cli = cli, .draft = {.what = "job submit"}, .body = body};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(whole_only); i++)
		if (cli_has(cli, whole_only[i].option))
			return cli_fail(CLI_USAGE,
					"job submit: --%s is for jobs that have whole nodes, and "
					"does not go with --cores",
					whole_only[i].name);
	if (!cli_has(cli, CLI_OPT_re))
		return cli_fail(CLI_USAGE,
				"job submit: with --cores, --re names an RE of type many_tasks");
	int r = make(&p, &f);
	phx_flow_draft_fini(&p.draft);
	if (r < 0)
		return cli_fail(r == -ENOMEM ? CLI_PARTIAL : CLI_USAGE, "%s",
				p.err.text[0] ? p.err.text : strerror(-r));
	int code = cli_workflow_send(cli, &f, &answer);
	if (code)
		return code;
	int64_t run = phx_json_int(answer, "id", 0);
	if (cli_has(cli, CLI_OPT_wait))
		return follow(cli, run, f.n_tasks == 1);
	if (cli_structured(cli))
		return cli_print_value(cli, answer);
	printf("workflow %" PRId64 "\n", run);
	return CLI_OK;
}
