/* phx job: submit, watch and read jobs. The queue is phxd's. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "phx/cli.h"

enum { POLL_MS = 200 };

static void put_argv(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	size_t i;
	json_t *word;
	json_array_foreach((json_t *)value, i, word)
	{
		phx_buf_addf(b, "%s", i ? " " : "");
		cli_put_clean(b, json_is_string(word) ? json_string_value(word) : phx_json_str(word, "text", ""));
	}
}

static void put_nodes(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	PHX_AUTO_JSON json_t *names = json_array();
	size_t i;
	json_t *part;
	json_array_foreach((json_t *)value, i, part) json_array_append(names, json_object_get(part, "node"));
	PHX_AUTO_FREE char *folded = cli_nodes_fold(names);
	phx_buf_addf(b, "%s", folded ? folded : "");
}

/* How long it ran, or has been running. */
static void put_time(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)value;
	int64_t begin = phx_json_int(row, "started_ms", 0), end = phx_json_int(row, "ended_ms", 0);
	if (begin > 0)
		cli_put_duration(b, (end > 0 ? end : cli_now_ms()) - begin);
}

static void put_state(struct phx_buf *b, const json_t *value, const json_t *row)
{
	bool queued = phx_str_eq(json_string_value(value), "queued");
	bool ends = phx_json_bool(row, "killing", false) || phx_json_bool(row, "overdue", false);
	if (queued && phx_json_bool(row, "held", false))
		phx_buf_addf(b, "held");
	else
		phx_buf_addf(b, "%s", ends && phx_str_eq(json_string_value(value), "running") ? "ending" : json_string_value(value));
}

/* A time limit; nothing when there is none. */
static void put_limit(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	if (json_integer_value(value) > 0)
		cli_put_duration(b, json_integer_value(value));
}

static const struct cli_column job_columns[] = {
	{.head = "JOB", .path = "id", .right = true},
	{.head = "STATE", .path = "state", .put = put_state},
	{.head = "USER", .path = "user"},
	{.head = "RE", .path = "re"},
	{.head = "N", .path = "nodes", .right = true},
	{.head = "NODES", .path = "parts", .put = put_nodes},
	{.head = "TIME", .path = "", .put = put_time, .right = true},
	{.head = "LIMIT", .path = "estimate_ms", .put = put_limit, .wide = true, .right = true},
	{.head = "KILLS", .path = "kills", .wide = true, .right = true},
	{.head = "STATUS", .path = "status", .right = true},
	{.head = "SUBMITTED", .path = "submitted_ms", .put = cli_put_when, .wide = true},
	{.head = "SLURM", .path = "engine_id", .wide = true},
	{.head = "COMMAND", .path = "argv", .put = put_argv},
};

int cmd_job_list(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_FREE char *path = NULL;
	const char *re = cli_opt(cli, CLI_OPT_re, NULL);
	if (asprintf(&path, "/v1/jobs%s%s", re ? "?re=" : "", re ? re : "") < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int code = cli_get(cli, path, &answer);
	return code ? code
		    : cli_print_rows(cli, job_columns, PHX_ARRAY_SIZE(job_columns), json_object_get(answer, "jobs"),
				     answer);
}

static int get_job(struct cli *cli, const char *id, json_t **ret)
{
	PHX_AUTO_FREE char *path = NULL;
	if (asprintf(&path, "/v1/jobs/%s", id) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	return cli_get(cli, path, ret);
}

static const struct cli_column job_lines[] = {
	{.head = "State", .path = "state", .put = put_state},
	{.head = "User", .path = "user"},
	{.head = "RE", .path = "re"},
	{.head = "Time limit", .path = "estimate_ms", .put = put_limit},
	{.head = "Runs killed", .path = "kills"},
	{.head = "Command", .path = "argv", .put = put_argv},
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

static const struct cli_column part_columns[] = {
	{.head = "NODE", .path = "node"},
	{.head = "ENDED", .path = "ended", .put = cli_put_yes},
	{.head = "STATUS", .path = "status", .right = true},
	{.head = "CPU", .path = "cpu_ms", .put = put_cpu, .right = true},
	{.head = "MEMORY", .path = "memory_peak_bytes", .put = put_memory, .right = true},
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

static int order_jobs(struct cli *cli, const char *order, const char *unchanged)
{
	int worst = CLI_OK;
	for (unsigned i = 0; i < cli->args.n_args; i++) {
		PHX_AUTO_JSON json_t *answer = NULL, *body = json_object();
		PHX_AUTO_FREE char *path = NULL;
		if (asprintf(&path, "/v1/jobs/%s/%s", cli_arg(cli, i), order) < 0)
			return cli_fail(CLI_PARTIAL, "out of memory");
		int code = cli_call(cli, "POST", path, body, &answer);
		if (!code && !phx_json_bool(answer, "changed", true))
			fprintf(stderr, "phx: job %s: %s\n", cli_arg(cli, i), unchanged);
		worst = code > worst ? code : worst;
	}
	return worst;
}

int cmd_job_cancel(struct cli *cli)
{
	return order_jobs(cli, "cancel", "had already ended");
}

int cmd_job_hold(struct cli *cli)
{
	return order_jobs(cli, "hold", "was held already");
}

int cmd_job_release(struct cli *cli)
{
	return order_jobs(cli, "release", "was not held");
}

static int print_output(struct cli *cli, const char *id, const char *node, const char *run)
{
	PHX_AUTO_FREE char *path = NULL, *text = NULL;
	size_t n = 0;
	if (asprintf(&path, "/v1/jobs/%s/output%s%s%s%s", id, node ? "?node=" : "", node ? node : "",
		     !run ? "" : node ? "&run=" : "?run=", run ? run : "") < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int code = cli_get_text(cli, path, &text, &n);
	if (!code)
		fwrite(text, 1, n, stdout);
	return code;
}

int cmd_job_output(struct cli *cli)
{
	return print_output(cli, cli_arg(cli, 0), cli_opt(cli, CLI_OPT_node, NULL), cli_opt(cli, CLI_OPT_run, NULL));
}

/* ---- submit ---- */

static bool job_ended(const json_t *job)
{
	const char *state = phx_json_str(job, "state", "");
	return phx_str_eq(state, "done") || phx_str_eq(state, "failed") || phx_str_eq(state, "cancelled");
}

static int wait_job(struct cli *cli, const char *id, json_t **ret_job)
{
	uint64_t seconds = 0;
	phx_duration_parse(cli_opt(cli, CLI_OPT_timeout, "0"), &seconds);
	int64_t end = seconds ? cli_clock_ms() + (int64_t)seconds * 1000 : INT64_MAX;
	for (;;) {
		PHX_AUTO_JSON json_t *job = NULL;
		int code = get_job(cli, id, &job);
		if (code && code != CLI_UNAVAILABLE)
			return code;
		if (job_ended(job)) {
			*ret_job = json_incref(job);
			return CLI_OK;
		}
		if (cli_clock_ms() >= end)
			return cli_fail(CLI_TIMEOUT, "job %s: not ended in time; it goes on", id);
		usleep(1000 * POLL_MS);
	}
}

/* Parts that ended badly, folded by status. */
static int report_job(const json_t *job)
{
	PHX_AUTO(cli_report_fini) struct cli_report report = {0};
	size_t i;
	json_t *part;
	json_array_foreach(json_object_get(job, "parts"), i, part)
	{
		char reason[64];
		long long status = phx_json_int(part, "status", 0);
		snprintf(reason, sizeof(reason), "exit status %lld", status);
		if (status)
			cli_report_add(&report, phx_json_str(part, "node", "?"), reason);
	}
	cli_report_print(&report);
	if (phx_str_eq(phx_json_str(job, "state", ""), "cancelled"))
		return cli_fail(CLI_PARTIAL, "the job was cancelled");
	return report.n_failed || !phx_str_eq(phx_json_str(job, "state", ""), "done") ? CLI_PARTIAL : CLI_OK;
}

static int follow_job(struct cli *cli, const char *id)
{
	PHX_AUTO_JSON json_t *job = NULL;
	int code = wait_job(cli, id, &job);
	if (code)
		return code;
	code = cli_structured(cli) ? cli_print_value(cli, job) : print_output(cli, id, NULL, NULL);
	return code ? code : report_job(job);
}

static void add_seconds(struct cli *cli, enum cli_option_id option, const char *fallback, json_t *body, const char *key)
{
	uint64_t seconds = 0;
	if (phx_duration_parse(cli_opt(cli, option, fallback), &seconds) == 0)
		json_object_set_new(body, key, json_integer((json_int_t)seconds));
}

/* "a,b/c": a list of words. */
static void add_paths(struct cli *cli, enum cli_option_id option, json_t *body, const char *key)
{
	if (!cli_has(cli, option))
		return;
	json_t *list = json_array();
	PHX_AUTO_FREE char *text = strdup(cli_opt(cli, option, ""));
	char *rest = NULL;
	for (char *path = strtok_r(text ? text : NULL, ",", &rest); path; path = strtok_r(NULL, ",", &rest))
		json_array_append_new(list, json_string(path));
	json_object_set_new(body, key, list);
}

static void add_queue_options(struct cli *cli, json_t *body)
{
	if (cli_has(cli, CLI_OPT_re))
		json_object_set_new(body, "re", json_string(cli_opt(cli, CLI_OPT_re, "")));
	add_seconds(cli, CLI_OPT_time, "", body, "time_s");
	add_seconds(cli, CLI_OPT_grace, "", body, "grace_s");
	if (cli_has(cli, CLI_OPT_checkpoint_signal)) {
		json_object_set_new(body, "checkpoint_signal",
				    json_integer(cli_signal(cli_opt(cli, CLI_OPT_checkpoint_signal, ""))));
		add_seconds(cli, CLI_OPT_checkpoint_time, "10s", body, "checkpoint_s");
	}
	if (cli_has(cli, CLI_OPT_chdir))
		json_object_set_new(body, "chdir", json_string(cli_opt(cli, CLI_OPT_chdir, "")));
	add_paths(cli, CLI_OPT_stage_in, body, "stage_in");
	add_paths(cli, CLI_OPT_stage_out, body, "stage_out");
	if (cli_has(cli, CLI_OPT_no_requeue))
		json_object_set_new(body, "no_requeue", json_true());
	if (cli_has(cli, CLI_OPT_hold))
		json_object_set_new(body, "hold", json_true());
}

int cmd_job_submit(struct cli *cli)
{
	uint64_t nodes = 0; /* what is no such number phxd refuses */
	phx_u64_parse(cli_opt(cli, CLI_OPT_nodes, "1"), 1, UINT32_MAX, &nodes);
	PHX_AUTO_JSON json_t *body = json_pack("{s:I, s:[]}", "nodes", (json_int_t)nodes, "argv");
	PHX_AUTO_JSON json_t *answer = NULL;
	for (unsigned i = 0; i < cli->args.n_args; i++)
		json_array_append_new(json_object_get(body, "argv"), json_string(cli_arg(cli, i)));
	if (cli_has(cli, CLI_OPT_user))
		json_object_set_new(body, "user", json_string(cli_opt(cli, CLI_OPT_user, "")));
	add_queue_options(cli, body);
	int code = cli_call(cli, "POST", "/v1/jobs", body, &answer);
	if (code)
		return code;
	char id[24];
	snprintf(id, sizeof(id), "%lld", (long long)phx_json_int(answer, "id", 0));
	if (cli_has(cli, CLI_OPT_wait)) {
		fprintf(stderr, "phx: job %s\n", id);
		return follow_job(cli, id);
	}
	if (cli_structured(cli))
		return cli_print_value(cli, answer);
	printf("%s\n", id);
	return CLI_OK;
}
