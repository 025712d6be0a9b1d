/* phx job cancel, hold, release: of jobs by number, by rows of numbers, by their
 * user or RE. What is named by more than numbers is looked up first, and whoever
 * would end several is asked. */
#include <inttypes.h>

#include "base/json.h"
#include "phx/job.h"

struct order {
	const char *name, *unchanged; /* "cancel", "had already ended" */
	bool rows;                    /* phxd takes a row of them at once */
};

static int send(struct cli *cli, const struct order *o, struct cli_job_row row)
{
	PHX_AUTO_JSON json_t *answer = NULL, *body = json_object();
	PHX_AUTO_FREE char *path = NULL;
	if (asprintf(&path, "/v1/jobs/%" PRIu64 "/%s", row.from, o->name) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	if (row.to > row.from)
		json_object_set_new(body, "last", json_integer((json_int_t)row.to));
	int code = cli_call(cli, "POST", path, body, &answer);
	if (!code && !phx_json_bool(answer, "changed", true))
		fprintf(stderr, "phx: job %" PRIu64 ": %s\n", row.from, o->unchanged);
	return code;
}

static bool is_wanted(const struct cli *cli, const struct phx_list *rows, const json_t *job)
{
	const char *state = phx_json_str(job, "state", "");
	uint64_t id = (uint64_t)phx_json_int(job, "id", 0);
	bool named = !rows->n;
	PHX_LIST_EACH(struct cli_job_row, row, rows)
		named = named || (id >= row->from && id <= row->to);
	return named && (phx_str_eq(state, "queued") || phx_str_eq(state, "running")) &&
		phx_str_eq(cli_opt(cli, CLI_OPT_user, phx_json_str(job, "user", "")),
			   phx_json_str(job, "user", "")) &&
		phx_str_eq(cli_opt(cli, CLI_OPT_re, phx_json_str(job, "re", "")),
			   phx_json_str(job, "re", ""));
}

/* Those of them that are there and have not ended, as rows. */
static int look_up(struct cli *cli, bool joined, struct phx_list *rows, size_t *ret_n)
{
	PHX_AUTO_JSON json_t *jobs = json_array();
	PHX_AUTO(phx_list_fini) struct phx_list found = {0};
	int code = cli_jobs(cli, cli_opt(cli, CLI_OPT_re, NULL), jobs);
	size_t i;
	json_t *job;
	*ret_n = 0;
	json_array_foreach(jobs, i, job) {
		uint64_t id = (uint64_t)phx_json_int(job, "id", 0);
		if (!is_wanted(cli, rows, job))
			continue;
		struct cli_job_row *last =
			found.n ? PHX_LIST_AT(&found, struct cli_job_row, found.n - 1) : NULL;
		if (joined && last && last->to + 1 == id)
			last->to = id;
		else if ((last = phx_list_push(&found, sizeof(*last))))
			*last = (struct cli_job_row){id, id};
		++*ret_n;
	}
	phx_list_fini(rows);
	*rows = found;
	found = (struct phx_list){0};
	return code;
}

/* Rows of numbers are looked up, and what says more than numbers. */
static bool is_looked_up(const struct cli *cli, const struct phx_list *rows)
{
	bool more =
		cli_has(cli, CLI_OPT_user) || cli_has(cli, CLI_OPT_re) || cli_has(cli, CLI_OPT_all);
	PHX_LIST_EACH(struct cli_job_row, row, rows)
		more = more || row->to > row->from;
	return more;
}

static int order_jobs(struct cli *cli, const struct order *o)
{
	PHX_AUTO(phx_list_fini) struct phx_list rows = {0};
	char question[64];
	size_t n = 0;
	int worst = CLI_OK;
	for (unsigned i = 0; i < cli->args.n_args; i++)
		cli_job_rows(cli_arg(cli, i), &rows);
	if (is_looked_up(cli, &rows)) {
		worst = look_up(cli, o->rows, &rows, &n);
		if (!worst && !n)
			fprintf(stderr, "phx: none of these jobs is queued or running\n");
		snprintf(question, sizeof(question), "%s %zu jobs", o->name, n);
		if (!worst && n > 1 && o->rows)
			worst = cli_confirm(cli, question, 1);
		if (worst || !n)
			return worst;
	} else if (!rows.n) {
		return cli_fail(CLI_USAGE,
				"job %s: name the jobs by numbers, --user, --re or --all", o->name);
	}
	PHX_LIST_EACH(struct cli_job_row, row, &rows) {
		int code = send(cli, o, *row);
		worst = code > worst ? code : worst;
	}
	return worst;
}

int cmd_job_cancel(struct cli *cli)
{
	return order_jobs(cli, &(struct order){"cancel", "had already ended", true});
}

int cmd_job_hold(struct cli *cli)
{
	return order_jobs(cli, &(struct order){"hold", "was held already", false});
}

int cmd_job_release(struct cli *cli)
{
	return order_jobs(cli, &(struct order){"release", "was not held", false});
}
