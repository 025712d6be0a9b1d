/* phx workflow submit, list, show RUN, hold, release, cancel, resume: workflows that the head
 * carries out. What is wrong with a file is told here, before phxd is asked. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "phx/workflow.h"
#include "trace/wfformat.h"

/* ---- submit ---- */

static void told(void *arg, uint32_t task, uint32_t line, const char *text)
{
	(void)task;
	cli_fail(0, "%s:%u: %s", (const char *)arg, line, text);
}

/* The text as a file without a name, which the upload reads; negative after telling. */
static int file_of(const struct phx_buf *text, const char *what)
{
	int fd = memfd_create(what, MFD_CLOEXEC);
	int r = fd < 0 ? -errno : phx_write_all(fd, text->data, text->n);
	if (r == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return cli_fail(-1, "the %s cannot be kept: %s", what, strerror(-r));
}

int cli_upload_text(struct cli *cli, const char *url, const char *what, const struct phx_buf *text,
		    json_t **ret)
{
	char path[32];
	int fd = file_of(text, what);
	if (fd < 0)
		return CLI_PARTIAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int code = cli_upload(cli, url, path, ret);
	close(fd);
	return code;
}

static char *submit_url(struct cli *cli)
{
	struct phx_buf b = {0};
	PHX_AUTO_FREE char *re = cli_url_escape(cli_opt(cli, CLI_OPT_re, ""));
	PHX_AUTO_FREE char *user = cli_url_escape(cli_opt(cli, CLI_OPT_user, ""));
	phx_buf_addf(&b, "/v1/workflows?re=%s", re ? re : "");
	if (cli_has(cli, CLI_OPT_hold))
		phx_buf_addf(&b, "&hold=true");
	if (cli_has(cli, CLI_OPT_user))
		phx_buf_addf(&b, "&user=%s", user ? user : "");
	return phx_buf_take(&b);
}

int cli_workflow_send(struct cli *cli, const struct phx_flow *f, json_t **ret)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	PHX_AUTO_FREE char *url = submit_url(cli);
	phx_wfformat_write(f, &text);
	if (text.failed || !url)
		return cli_fail(CLI_PARTIAL, "out of memory");
	return cli_upload_text(cli, url, "workflow", &text, ret);
}

int cmd_workflow_submit(struct cli *cli)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	PHX_AUTO_JSON json_t *answer = NULL;
	const char *path = cli_arg(cli, 0);
	enum phx_workflow_form form;
	if (!cli_has(cli, CLI_OPT_re))
		return cli_fail(CLI_USAGE,
				"workflow submit: --re names the RE that carries it out");
	int code = cli_workflow(path, &f, &form);
	if (code)
		return code;
	if (phx_flow_check(&f, told, (void *)(uintptr_t)path))
		return CLI_CONFIG;
	code = cli_workflow_send(cli, &f, &answer);
	if (code)
		return code;
	if (cli_structured(cli))
		return cli_print_value(cli, answer);
	printf("%" PRId64 "\n", (int64_t)phx_json_int(answer, "id", 0));
	return CLI_OK;
}

/* ---- list, show ---- */

static void put_done(struct phx_buf *b, const json_t *value, const json_t *row)
{
	phx_buf_addf(b, "%" PRId64 "/%" PRId64, (int64_t)json_integer_value(value),
		     (int64_t)phx_json_int(row, "n_tasks", 0));
}

static const struct cli_column columns[] = {
	{.head = "RUN", .path = "id", .right = true},
	{.head = "NAME", .path = "name"},
	{.head = "RE", .path = "re"},
	{.head = "USER", .path = "user"},
	{.head = "STATUS", .path = "status"},
	{.head = "DONE", .path = "n_done", .put = put_done, .right = true},
	{.head = "RUNNING", .path = "n_running", .right = true},
	{.head = "FAILED", .path = "n_failed", .right = true},
	{.head = "RUNS", .path = "n_runs", .wide = true, .right = true},
	{.head = "LOST", .path = "n_losses", .wide = true, .right = true},
	{.head = "AGE", .path = "submitted_ms", .put = cli_put_since, .right = true},
	{.head = "REASON", .path = "why"},
};

int cli_list_of_re(struct cli *cli, const char *path, const char *member,
		   const struct cli_column *of, size_t n_columns)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_FREE char *re = cli_url_escape(cli_opt(cli, CLI_OPT_re, ""));
	PHX_AUTO(phx_buf_fini) struct phx_buf url = {0};
	phx_buf_addf(&url, "%s%s%s", path, cli_has(cli, CLI_OPT_re) ? "?re=" : "", re ? re : "");
	int code = url.failed ? cli_fail(CLI_PARTIAL, "out of memory")
			      : cli_get(cli, url.data, &answer);
	return code ? code
		    : cli_print_rows(cli, of, n_columns, json_object_get(answer, member), answer);
}

int cmd_workflow_list(struct cli *cli)
{
	return cli_list_of_re(cli, "/v1/workflows", "workflows", columns, PHX_ARRAY_SIZE(columns));
}

static const struct cli_column level_columns[] = {
	{.head = "LEVEL", .path = "level", .right = true},
	{.head = "TASKS", .path = "n_tasks", .right = true},
	{.head = "WAITING", .path = "waiting", .right = true},
	{.head = "READY", .path = "ready", .right = true},
	{.head = "RUNNING", .path = "running", .right = true},
	{.head = "DONE", .path = "done", .right = true},
	{.head = "FAILED", .path = "failed", .right = true},
	{.head = "SKIPPED", .path = "skipped", .right = true},
};

/* Its tasks too, page by page, where they are to be printed whole. */
static int get_run(struct cli *cli, uint64_t id, bool tasks, json_t **ret)
{
	char url[96];
	PHX_AUTO_JSON json_t *all = json_array();
	int64_t last = 0, n = 1;
	int code = CLI_OK;
	for (bool more = true; more && !code; more = tasks && !code && last < n) {
		json_t *page = NULL;
		snprintf(url, sizeof(url), "/v1/workflows/%" PRIu64 "?after=%" PRId64 "&limit=%d",
			 id, last, tasks ? 1000 : 0);
		code = cli_get(cli, url, &page);
		if (code)
			break;
		int64_t before = last;
		json_array_extend(all, json_object_get(page, "tasks"));
		last = phx_json_int(page, "last", n);
		n = phx_json_int(page, "n_tasks", 0);
		if (last == before)
			n = last; /* their text is not there */
		json_decref(*ret);
		*ret = page;
	}
	if (!code)
		json_object_set(*ret, "tasks", all);
	return code;
}

int cli_workflow_run(struct cli *cli, uint64_t id)
{
	PHX_AUTO_JSON json_t *run = NULL;
	int code = get_run(cli, id, cli_structured(cli), &run);
	if (code)
		return code;
	if (!cli_structured(cli))
		cli_print_lines(columns, PHX_ARRAY_SIZE(columns), run);
	return cli_print_rows(cli, level_columns, PHX_ARRAY_SIZE(level_columns),
			      json_object_get(run, "levels"), run);
}

int cli_workflow_of_run(struct cli *cli, uint64_t id, struct phx_flow *ret)
{
	char url[64];
	PHX_AUTO_FREE char *text = NULL;
	size_t n = 0;
	struct phx_err err = {0};
	snprintf(url, sizeof(url), "/v1/workflows/%" PRIu64 "/text", id);
	int code = cli_get_text(cli, url, &text, &n);
	if (code)
		return code;
	int r = phx_wfformat_read("workflow", text, n, ret, &err);
	return r < 0 ? cli_fail_err(r, &err) : CLI_OK;
}

/* ---- orders ---- */

/* `query`: behind the name in the request; "" for none. */
static int order(struct cli *cli, const char *name, const char *query, const char *unchanged)
{
	int worst = CLI_OK;
	for (unsigned i = 0; i < cli->args.n_args; i++) {
		char url[96];
		uint64_t id = 0;
		PHX_AUTO_JSON json_t *answer = NULL, *body = json_object();
		phx_u64_parse(cli_arg(cli, i), 1, INT64_MAX, &id); /* checked by its type */
		snprintf(url, sizeof(url), "/v1/workflows/%" PRIu64 "/%s%s", id, name, query);
		int code = cli_call(cli, "POST", url, body, &answer);
		if (!code && !phx_json_bool(answer, "changed", true))
			fprintf(stderr, "phx: workflow run %" PRIu64 ": %s\n", id, unchanged);
		worst = code > worst ? code : worst;
	}
	return worst;
}

int cmd_workflow_hold(struct cli *cli)
{
	return order(cli, "hold", "", "was held already");
}

int cmd_workflow_release(struct cli *cli)
{
	return order(cli, "release", "", "was not held");
}

int cmd_workflow_cancel(struct cli *cli)
{
	return order(cli, "cancel", "", "was over already");
}

int cmd_workflow_resume(struct cli *cli)
{
	const char *query = cli_has(cli, CLI_OPT_unchecked) ? "?check=false" : "";
	return order(cli, "resume", query, "has nothing to resume");
}
