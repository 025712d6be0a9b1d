/* phx trigger create, list, show, pause, resume, fire, delete: what submits a workflow by itself.
 * What is wrong with a file is told here, before phxd is asked. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "config/conf.h"
#include "flow/trigger.h"
#include "phx/workflow.h"
#include "trace/wfformat.h"

/* ---- create ---- */

static int read_keys(const struct phx_conf *c, struct phx_trigger_spec *ret, struct phx_err *err)
{
	const config_setting_t *root = config_root_setting(&c->cfg);
	enum phx_trigger_kind kind;
	int r = phx_conf_group(c, root, &phx_trigger_spec_record, ret, err);
	if (r < 0)
		return r;
	r = phx_trigger_spec_check(ret, &kind, err);
	const config_setting_t *when = config_setting_get_member(root, "when");
	return r < 0 ? phx_conf_place(c, when ? when : root, r, err) : 0;
}

/* Owned: phx_record_fini(). */
static int read_spec(const char *path, struct phx_trigger_spec *ret)
{
	struct phx_conf c = {0};
	struct phx_trigger_spec spec = {0};
	struct phx_err err = {0};
	int r = phx_conf_read(path, &c, &err);
	if (r < 0)
		return cli_fail(r == -EINVAL ? CLI_CONFIG : CLI_USAGE, "%s", err.text);
	r = read_keys(&c, &spec, &err);
	phx_conf_fini(&c);
	if (r < 0) {
		phx_record_fini(&phx_trigger_spec_record, &spec);
		return cli_fail(CLI_CONFIG, "%s", err.text);
	}
	*ret = spec;
	return CLI_OK;
}

static void told(void *arg, uint32_t task, uint32_t line, const char *text)
{
	(void)task;
	cli_fail(0, "%s:%u: %s", (const char *)arg, line, text);
}

/* Its path leads from the directory of the trigger's file. */
static int read_workflow(const char *from, const char *path, struct phx_flow *ret)
{
	const char *slash = strrchr(from, '/');
	enum phx_workflow_form form;
	PHX_AUTO_FREE char *at = slash && path[0] != '/'
		? phx_path("%.*s/%s", (int)(slash - from), from, path)
		: strdup(path);
	if (!at)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int code = cli_workflow(at, ret, &form);
	return code ? code : phx_flow_check(ret, told, at) ? CLI_CONFIG : CLI_OK;
}

static char *create_url(struct cli *cli)
{
	struct phx_buf b = {0};
	PHX_AUTO_FREE char *re = cli_url_escape(cli_opt(cli, CLI_OPT_re, ""));
	PHX_AUTO_FREE char *user = cli_url_escape(cli_opt(cli, CLI_OPT_user, ""));
	phx_buf_addf(&b, "/v1/triggers");
	if (cli_has(cli, CLI_OPT_re))
		phx_buf_addf(&b, "?re=%s", re ? re : "");
	if (cli_has(cli, CLI_OPT_user))
		phx_buf_addf(&b, "%cuser=%s", cli_has(cli, CLI_OPT_re) ? '&' : '?',
			     user ? user : "");
	return phx_buf_take(&b);
}

/* A line with the trigger, and the workflow behind it. */
static int send(struct cli *cli, const struct phx_trigger_spec *spec, const struct phx_flow *f,
		json_t **ret)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	PHX_AUTO_FREE char *line = phx_json_record_text_sparse(&phx_trigger_spec_record, spec);
	PHX_AUTO_FREE char *url = create_url(cli);
	phx_buf_addf(&text, "%s\n", line ? line : "");
	phx_wfformat_write(f, &text);
	if (text.failed || !line || !url)
		return cli_fail(CLI_PARTIAL, "out of memory");
	return cli_upload_text(cli, url, "trigger", &text, ret);
}

static int print_made(struct cli *cli, const json_t *answer)
{
	const char *token = phx_json_str(answer, "token", NULL);
	if (cli_structured(cli))
		return cli_print_value(cli, answer);
	if (token)
		printf("%s\n", token);
	if (token && isatty(STDOUT_FILENO))
		fprintf(stderr,
			"phx: this token is told once: curl -H 'Authorization: Bearer TOKEN' -X "
			"POST https://HEAD:PORT%s\n",
			phx_json_str(answer, "path", ""));
	return CLI_OK;
}

int cmd_trigger_create(struct cli *cli)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	PHX_AUTO_JSON json_t *answer = NULL;
	struct phx_trigger_spec spec = {0};
	const char *path = cli_arg(cli, 0);
	int code = read_spec(path, &spec);
	if (!code && !spec.re[0] && !cli_has(cli, CLI_OPT_re))
		code = cli_fail(CLI_USAGE, "trigger create: --re, or re in the file, names the RE");
	code = code ? code : read_workflow(path, spec.workflow, &f);
	code = code ? code : send(cli, &spec, &f, &answer);
	phx_record_fini(&phx_trigger_spec_record, &spec);
	return code ? code : print_made(cli, answer);
}

/* ---- list, show ---- */

static void put_when(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const char *kind = phx_json_str(row, "kind", "");
	if (phx_str_eq(kind, "file"))
		cli_put_clean(b, phx_json_str(value, "file", ""));
	else if (phx_str_eq(kind, "http"))
		cli_put_clean(b, phx_json_str(value, "http", ""));
	else {
		phx_buf_addf(b, "every ");
		cli_put_duration(b, phx_json_int(value, "every_ms", 0));
	}
}

static const struct cli_column columns[] = {
	{.head = "NAME", .path = "name"},
	{.head = "RE", .path = "re"},
	{.head = "USER", .path = "user"},
	{.head = "KIND", .path = "kind"},
	{.head = "WHEN", .path = "when", .put = put_when},
	{.head = "STATE", .path = "state"},
	{.head = "FIRED", .path = "n_fired", .right = true},
	{.head = "RUNS", .path = "n_begun", .right = true},
	{.head = "OPEN", .path = "n_open", .right = true},
	{.head = "WAITING", .path = "n_waiting", .right = true},
	{.head = "SKIPPED", .path = "n_skipped", .right = true},
	{.head = "BUSY", .path = "when_busy", .wide = true},
	{.head = "WATCH", .path = "watch", .wide = true},
	{.head = "REASON", .path = "why"},
};

int cmd_trigger_list(struct cli *cli)
{
	return cli_list_of_re(cli, "/v1/triggers", "triggers", columns, PHX_ARRAY_SIZE(columns));
}

static const struct cli_column firing_columns[] = {
	{.head = "AGE", .path = "at_ms", .put = cli_put_since, .right = true},
	{.head = "WHAT", .path = "what"},
	{.head = "CAME", .path = "came"},
	{.head = "RUN", .path = "run", .right = true},
	{.head = "DIGEST", .path = "digest", .wide = true},
};

static char *url_of(const char *name, const char *order)
{
	PHX_AUTO_FREE char *escaped = cli_url_escape(name);
	return escaped
		? phx_path("/v1/triggers/%s%s%s", escaped, order ? "/" : "", order ? order : "")
		: NULL;
}

int cmd_trigger_show(struct cli *cli)
{
	PHX_AUTO_JSON json_t *t = NULL;
	PHX_AUTO_FREE char *url = url_of(cli_arg(cli, 0), NULL);
	int code = url ? cli_get(cli, url, &t) : cli_fail(CLI_PARTIAL, "out of memory");
	if (code)
		return code;
	if (!cli_structured(cli))
		cli_print_lines(columns, PHX_ARRAY_SIZE(columns), t);
	return cli_print_rows(cli, firing_columns, PHX_ARRAY_SIZE(firing_columns),
			      json_object_get(t, "last"), t);
}

/* ---- orders ---- */

static int order(struct cli *cli, const char *name, const char *unchanged, bool prints)
{
	int worst = CLI_OK;
	for (unsigned i = 0; i < cli->args.n_args; i++) {
		PHX_AUTO_JSON json_t *answer = NULL, *body = json_object();
		PHX_AUTO_FREE char *url = url_of(cli_arg(cli, i), name);
		int code = url ? cli_call(cli, "POST", url, body, &answer)
			       : cli_fail(CLI_PARTIAL, "out of memory");
		int64_t run = code ? 0 : phx_json_int(answer, "run", 0);
		if (!code && !phx_json_bool(answer, "changed", true))
			fprintf(stderr, "phx: trigger %s: %s\n", cli_arg(cli, i), unchanged);
		if (!code && prints && run)
			printf("%" PRId64 "\n", run);
		else if (!code && prints)
			fprintf(stderr,
				"phx: trigger %s: it fired, and its run waits: phx trigger "
				"show %s\n",
				cli_arg(cli, i), cli_arg(cli, i));
		worst = code > worst ? code : worst;
	}
	return worst;
}

int cmd_trigger_pause(struct cli *cli)
{
	return order(cli, "pause", "was paused already", false);
}

int cmd_trigger_resume(struct cli *cli)
{
	return order(cli, "resume", "was not paused", false);
}

int cmd_trigger_fire(struct cli *cli)
{
	return order(cli, "fire", "has nothing to do", true);
}

int cmd_trigger_delete(struct cli *cli)
{
	return order(cli, "delete", "is not there", false);
}
