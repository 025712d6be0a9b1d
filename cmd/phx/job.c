/* phx job: watch and read jobs. The queue is phxd's; job_submit.c fills it, job_order.c
 * ends what is in it. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "phx/cli.h"
#include "phx/job.h"

enum { CALL_MS = 60000 };

static void put_nodes(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	PHX_AUTO_JSON json_t *names = json_array();
	size_t i;
	json_t *part;
	json_array_foreach((json_t *)value, i, part)
		json_array_append(names, json_object_get(part, "node"));
	PHX_AUTO_FREE char *folded = cli_nodes_fold(names);
	phx_buf_addf(b, "%s", folded ? folded : "");
}

/* How long it ran, or has been running. */
static void put_time(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)value;
	int64_t begin = phx_json_int(row, "started_ms", 0), end = phx_json_int(row, "ended_ms", 0);
	if (begin > 0)
		cli_put_duration(b, (end > 0 ? end : phx_wall_ms()) - begin);
}

/* What the exit status of a command says: "exit status 3". */
static void put_status(struct phx_buf *b, int64_t status)
{
	phx_buf_addf(b, "exit status %lld", (long long)status);
	if (status == 126)
		phx_buf_addf(b, ": it could not be started");
	else if (status > 128 && status < 128 + NSIG)
		phx_buf_addf(b, ": ended by signal %lld", (long long)status - 128);
}

/* What phxd says; where it says nothing of a failure, how the command ended. */
static void put_reason(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const char *reason = json_string_value(value);
	if (reason && *reason)
		cli_put_clean(b, reason);
	else if (phx_str_eq(phx_json_str(row, "state", ""), "failed") &&
		 phx_json_int(row, "status", 0) > 0)
		put_status(b, phx_json_int(row, "status", 0));
}

static void put_state(struct phx_buf *b, const json_t *value, const json_t *row)
{
	bool queued = phx_str_eq(json_string_value(value), "queued");
	bool ends = phx_json_bool(row, "killing", false) || phx_json_bool(row, "overdue", false) ||
		phx_json_bool(row, "cancel", false);
	if (queued && phx_json_bool(row, "held", false))
		phx_buf_addf(b, "held");
	else
		phx_buf_addf(b, "%s",
			     ends && phx_str_eq(json_string_value(value), "running")
				     ? "ending"
				     : json_string_value(value));
}

/* ---- arrays ---- */

static bool is_alike(const json_t *a, const json_t *b)
{
	static const char *const texts[] = {"state", "reason", "user", "re"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(texts); i++)
		if (!phx_str_eq(phx_json_str(a, texts[i], ""), phx_json_str(b, texts[i], "")))
			return false;
	return phx_json_bool(a, "held", false) == phx_json_bool(b, "held", false) &&
		phx_json_int(a, "status", 0) == phx_json_int(b, "status", 0);
}

static int64_t step_to(const json_t *last, const json_t *row)
{
	return phx_json_int(row, "array_index", 0) - phx_json_int(last, "array_index", 0);
}

/* Members of an array in a row that wait, or have ended, alike, and whose indices are equally far
 * apart. */
static bool goes_with(const json_t *first, const json_t *last, const json_t *row)
{
	int64_t array = phx_json_int(first, "array", 0);
	return array && array == phx_json_int(row, "array", 0) &&
		phx_json_int(row, "id", 0) == phx_json_int(last, "id", 0) + 1 &&
		!phx_str_eq(phx_json_str(first, "state", ""), "running") && is_alike(first, row) &&
		phx_json_int(first, "index_step", step_to(last, row)) == step_to(last, row);
}

/* The row of several has the nodes of all; how long one of them ran says nothing of the others. */
static void add_member(json_t *first, const json_t *row, int64_t step)
{
	json_t *parts = json_copy(json_object_get(first, "parts"));
	json_object_set_new(first, "parts", parts ? parts : json_array());
	json_array_extend(json_object_get(first, "parts"), json_object_get(row, "parts"));
	json_object_set(first, "last_id", json_object_get(row, "id"));
	json_object_set(first, "last_index", json_object_get(row, "array_index"));
	json_object_set_new(first, "index_step", json_integer(step));
	json_object_del(first, "started_ms");
}

/* One row for each such row of members: the first one, with number and index of the last. New
 * reference. */
static json_t *fold_arrays(const json_t *jobs)
{
	json_t *rows = json_array(), *first = NULL, *last = NULL, *row;
	size_t i;
	json_array_foreach((json_t *)jobs, i, row) {
		if (first && goes_with(first, last, row)) {
			add_member(first, row, step_to(last, row));
		} else {
			first = json_copy(row);
			json_array_append_new(rows, first);
		}
		last = row;
	}
	return rows;
}

static void put_id(struct phx_buf *b, const json_t *value, const json_t *row)
{
	int64_t last = phx_json_int(row, "last_id", 0);
	phx_buf_addf(b, "%lld", (long long)json_integer_value(value));
	if (last)
		phx_buf_addf(b, "-%lld", (long long)last);
}

/* "100[2-40:2]": the members of array 100 with these indices. */
static void put_array(struct phx_buf *b, const json_t *value, const json_t *row)
{
	int64_t index = phx_json_int(row, "array_index", 0),
		last = phx_json_int(row, "last_index", index);
	if (json_integer_value(value) <= 0)
		return;
	phx_buf_addf(b, "%lld[%lld", (long long)json_integer_value(value), (long long)index);
	int64_t step = phx_json_int(row, "index_step", 1);
	if (last != index)
		phx_buf_addf(b, "-%lld", (long long)last);
	if (step != 1)
		phx_buf_addf(b, ":%lld", (long long)step);
	phx_buf_addf(b, "]");
}

static const struct cli_column job_columns[] = {
	/* stands second, or is left out: first here */
	{.head = "ARRAY", .path = "array", .put = put_array},
	{.head = "JOB", .path = "id", .put = put_id, .right = true},
	{.head = "STATE", .path = "state", .put = put_state},
	{.head = "USER", .path = "user"},
	{.head = "RE", .path = "re"},
	{.head = "N", .path = "nodes", .right = true},
	{.head = "NODES", .path = "parts", .put = put_nodes},
	{.head = "TIME", .path = "", .put = put_time, .right = true},
	{.head = "LIMIT", .path = "estimate_ms", .put = cli_put_ms, .wide = true, .right = true},
	{.head = "KILLS", .path = "kills", .wide = true, .right = true},
	{.head = "STATUS", .path = "status", .right = true},
	{.head = "REASON", .path = "reason", .put = put_reason},
	{.head = "SUBMITTED", .path = "submitted_ms", .put = cli_put_when, .wide = true},
	{.head = "SLURM", .path = "engine_id", .wide = true},
	{.head = "COMMAND", .path = "argv", .put = cli_put_words},
};

int cli_jobs(struct cli *cli, const char *re, json_t *jobs)
{
	int64_t after = 0;
	for (bool more = true; more;) {
		PHX_AUTO_JSON json_t *answer = NULL;
		PHX_AUTO_FREE char *path = NULL;
		if (asprintf(&path, "/v1/jobs?after=%lld%s%s", (long long)after, re ? "&re=" : "",
			     re ? re : "") < 0)
			return cli_fail(CLI_PARTIAL, "out of memory");
		int code = cli_get(cli, path, &answer);
		if (code)
			return code;
		json_array_extend(jobs, json_object_get(answer, "jobs"));
		after = phx_json_int(answer, "last", after);
		more = phx_json_bool(answer, "more", false);
	}
	return CLI_OK;
}

static bool has_arrays(const json_t *jobs)
{
	size_t i;
	json_t *job;
	json_array_foreach((json_t *)jobs, i, job)
		if (phx_json_int(job, "array", 0))
			return true;
	return false;
}

int cmd_job_list(struct cli *cli)
{
	PHX_AUTO_JSON json_t *jobs = json_array();
	PHX_AUTO_JSON json_t *answer = json_pack("{s:O}", "jobs", jobs);
	int code = cli_jobs(cli, cli_opt(cli, CLI_OPT_re, NULL), jobs);
	if (code)
		return code;
	bool human = cli->format == CLI_TABLE || cli->format == CLI_WIDE;
	PHX_AUTO_JSON json_t *rows = human ? fold_arrays(jobs) : json_incref(jobs);
	struct cli_column columns[PHX_ARRAY_SIZE(job_columns)];
	memcpy(columns, job_columns, sizeof(columns));
	columns[0] = job_columns[1];
	columns[1] = job_columns[0];
	if (!human || has_arrays(jobs))
		return cli_print_rows(cli, columns, PHX_ARRAY_SIZE(columns), rows, answer);
	return cli_print_rows(cli, job_columns + 1, PHX_ARRAY_SIZE(job_columns) - 1, rows, answer);
}

/* Now, or when it has ended or `hold_s` are over. */
static int ask_job(struct cli *cli, const char *id, int hold_s, json_t **ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = NULL;
	if (asprintf(&path, "/v1/jobs/%s?wait=%d", id, hold_s) < 0)
		return phx_err_set(err, CLI_PARTIAL, "out of memory");
	return cli_call_quiet(cli, "GET", path, NULL, CALL_MS, ret, err);
}

static int get_job(struct cli *cli, const char *id, json_t **ret)
{
	struct phx_err err = {0};
	int code = ask_job(cli, id, 0, ret, &err);
	/* a bad configuration has been told already */
	return code && err.text[0] ? cli_fail(code, "%s", err.text) : code;
}

/* With the run that is being killed now, or was and is not run again. */
static void put_kills(struct phx_buf *b, const json_t *value, const json_t *row)
{
	int64_t started = phx_json_int(row, "started_ms", 0),
		killed = phx_json_int(row, "killed_ms", 0);
	phx_buf_addf(b, "%lld",
		     (long long)json_integer_value(value) + (started > 0 && killed >= started));
}

/* What ended the run before, of a job that is to run again. */
static void put_last_run(struct phx_buf *b, const json_t *value, const json_t *row)
{
	if (phx_str_eq(phx_json_str(row, "state", ""), "queued"))
		cli_put_clean(b, json_string_value(value));
}

static const struct cli_column job_lines[] = {
	{.head = "State", .path = "state", .put = put_state},
	{.head = "Reason", .path = "reason", .put = put_reason},
	{.head = "Last run", .path = "why", .put = put_last_run},
	{.head = "Array", .path = "array", .put = put_array},
	{.head = "User", .path = "user"},
	{.head = "RE", .path = "re"},
	{.head = "Time limit", .path = "estimate_ms", .put = cli_put_ms},
	{.head = "Runs killed", .path = "kills", .put = put_kills},
	{.head = "Killed by", .path = "killed_by"},
	{.head = "Killed because", .path = "killed_why"},
	{.head = "Killed at", .path = "killed_ms", .put = cli_put_when},
	{.head = "Command", .path = "argv", .put = cli_put_words},
	{.head = "Nodes", .path = "nodes"},
	{.head = "Submitted", .path = "submitted_ms", .put = cli_put_when},
	{.head = "Started", .path = "started_ms", .put = cli_put_when},
	{.head = "Ended", .path = "ended_ms", .put = cli_put_when},
	{.head = "Status", .path = "status"},
};

/* Both are known when the part has ended. */
static void put_cpu(struct phx_buf *b, const json_t *value, const json_t *row)
{
	if (phx_json_bool(row, "ended", false))
		cli_put_duration(b, (int64_t)json_integer_value(value));
}

static void put_memory(struct phx_buf *b, const json_t *value, const json_t *row)
{
	if (phx_json_bool(row, "ended", false))
		cli_put_size(b, value, row);
}

/* What it wrote beyond what is kept. */
static void put_cut(struct phx_buf *b, const json_t *value, const json_t *row)
{
	if (json_integer_value(value) > 0)
		cli_put_size(b, value, row);
}

static const struct cli_column part_columns[] = {
	{.head = "NODE", .path = "node"},
	{.head = "ENDED", .path = "ended", .put = cli_put_yes},
	{.head = "STATUS", .path = "status", .right = true},
	{.head = "CPU", .path = "cpu_ms", .put = put_cpu, .right = true},
	{.head = "MEMORY", .path = "memory_peak_bytes", .put = put_memory, .right = true},
	{.head = "OUTPUT LOST", .path = "output_cut_bytes", .put = put_cut, .right = true},
};

int cmd_job_show(struct cli *cli)
{
	PHX_AUTO_JSON json_t *job = NULL;
	int code = get_job(cli, cli_arg(cli, 0), &job);
	if (code || cli_structured(cli))
		return code ? code : cli_print_value(cli, job);
	printf("job %s\n", cli_arg(cli, 0));
	cli_print_lines(job_lines, PHX_ARRAY_SIZE(job_lines), job);
	const json_t *parts = json_object_get(job, "parts");
	if (json_array_size(parts))
		putchar('\n');
	return cli_print_table(cli, part_columns, PHX_ARRAY_SIZE(part_columns), parts, 2);
}

static int print_output(struct cli *cli, const char *id, const char *node, const char *run)
{
	PHX_AUTO_FREE char *path = NULL, *text = NULL;
	size_t n = 0;
	if (asprintf(&path, "/v1/jobs/%s/output%s%s%s%s", id, node ? "?node=" : "",
		     node ? node : "",
		     !run           ? ""
			     : node ? "&run="
				    : "?run=",
		     run ? run : "") < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int code = cli_get_text(cli, path, &text, &n);
	if (!code)
		fwrite(text, 1, n, stdout);
	return code;
}

/* Says of which nodes (NULL: of any) something is lost. */
static int report_cut(const json_t *job, const char *node)
{
	int code = CLI_OK;
	size_t i;
	json_t *part;
	json_array_foreach(json_object_get(job, "parts"), i, part) {
		char size[32];
		int64_t cut = phx_json_int(part, "output_cut_bytes", 0);
		const char *name = phx_json_str(part, "node", "?");
		if (cut > 0 && (!node || phx_str_eq(node, name)))
			code = cli_fail(
				CLI_PARTIAL,
				"%s: the output was cut: %s behind it are lost (job_output_max_mb)",
				name, phx_size_format((uint64_t)cut, size, sizeof(size)));
	}
	return code;
}

int cmd_job_output(struct cli *cli)
{
	PHX_AUTO_JSON json_t *job = NULL;
	const char *id = cli_arg(cli, 0), *node = cli_opt(cli, CLI_OPT_node, NULL),
		   *run = cli_opt(cli, CLI_OPT_run, NULL);
	int code = print_output(cli, id, node, run);
	if (code)
		return code;
	fflush(stdout);
	/* of a run that is over only its end says it */
	code = get_job(cli, id, &job);
	uint64_t number = 0;
	bool last = !run ||
		(phx_u64_parse(run, 0, UINT32_MAX, &number) == 0 &&
		 (int64_t)number == phx_json_int(job, "kills", 0));
	return code || !last ? code : report_cut(job, node);
}

/* ---- following one ---- */

bool cli_job_ended(const json_t *job)
{
	const char *state = phx_json_str(job, "state", "");
	return state[0] && !phx_str_eq(state, "queued") && !phx_str_eq(state, "running");
}

static int wait_job(struct cli *cli, const char *id, json_t **ret_job)
{
	int64_t end = cli_deadline_ms(cli);
	bool away = false;
	struct phx_again again = cli_away_again();
	for (;;) {
		struct phx_err err = {0};
		PHX_AUTO_JSON json_t *job = NULL;
		int64_t asked = phx_clock_ms();
		int code = ask_job(cli, id, away ? 0 : cli_hold_s(end), &job, &err);
		if (code && !cli_passes(code))
			return cli_fail(code, "%s", err.text);
		cli_tell_away(&away, code, &err);
		if (cli_job_ended(job)) {
			*ret_job = json_incref(job);
			return CLI_OK;
		}
		if (phx_clock_ms() >= end)
			return cli_fail(CLI_TIMEOUT, "job %s has not ended in time; it goes on",
					id);
		cli_pause(&again, asked, end);
	}
}

/* What ended it, or, where that is nothing but statuses, the parts that ended badly, folded by
 * status. */
static int report_job(const json_t *job)
{
	const char *reason = phx_json_str(job, "reason", "");
	if (*reason)
		return cli_fail(CLI_PARTIAL, "job %lld: %s: %s",
				(long long)phx_json_int(job, "id", 0),
				phx_json_str(job, "state", ""), reason);
	PHX_AUTO(cli_report_fini) struct cli_report report = {0};
	size_t i;
	json_t *part;
	json_array_foreach(json_object_get(job, "parts"), i, part) {
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		int64_t status = phx_json_int(part, "status", 0);
		put_status(&b, status);
		if (status)
			cli_report_add(&report, phx_json_str(part, "node", "?"),
				       b.data ? b.data : "?");
	}
	cli_report_print(&report);
	if (phx_str_eq(phx_json_str(job, "state", ""), "cancelled"))
		return cli_fail(CLI_PARTIAL, "the job was cancelled");
	return report.n_failed || !phx_str_eq(phx_json_str(job, "state", ""), "done") ? CLI_PARTIAL
										      : CLI_OK;
}

int cli_job_follow(struct cli *cli, const char *id)
{
	PHX_AUTO_JSON json_t *job = NULL;
	int code = wait_job(cli, id, &job);
	if (code)
		return code;
	code = cli_structured(cli) ? cli_print_value(cli, job) : print_output(cli, id, NULL, NULL);
	fflush(stdout);
	int cut = code ? CLI_OK : report_cut(job, NULL);
	code = code ? code : report_job(job);
	return code ? code : cut;
}
