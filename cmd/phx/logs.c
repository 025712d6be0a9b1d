/* phx node logs: what a service of a node wrote, as its agent has it; with -f what it writes
 * from now on, by long poll. Changes nothing. */
#include "base/clock.h"
#include "base/json.h"
#include "phx/cli.h"

enum { FOLLOW_SECONDS = 20, CALL_MS = 60000, CURSOR_MAX = 512 };

static char *path_of(struct cli *cli, const char *cursor, int seconds)
{
	PHX_AUTO_FREE char *node = cli_url_escape(cli_arg(cli, 0));
	PHX_AUTO_FREE char *service = cli_url_escape(cli->args.n_args > 1 ? cli_arg(cli, 1) : "");
	PHX_AUTO_FREE char *after = cli_url_escape(cursor);
	char *path = NULL;
	if (!node || !service || !after ||
	    asprintf(&path, "/v1/nodes/%s/logs?service=%s&after=%s&lines=%s&wait=%d", node, service,
		     after, cli_opt(cli, CLI_OPT_lines, "50"), seconds) < 0)
		return NULL;
	return path;
}

static int get_logs(struct cli *cli, const char *cursor, int seconds, json_t **ret,
		    struct phx_err *err)
{
	PHX_AUTO_FREE char *path = path_of(cli, cursor, seconds);
	if (!path)
		return phx_err_set(err, CLI_PARTIAL, "out of memory");
	return cli_call_quiet(cli, "GET", path, NULL, CALL_MS, ret, err);
}

static int print_answer(struct cli *cli, const json_t *answer)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	const char *text = phx_json_str(answer, "text", "");
	if (cli_structured(cli))
		return cli_print_value(cli, answer);
	cli_put_clean(&b, text);
	if (b.n)
		printf("%s%s", b.data, b.data[b.n - 1] == '\n' ? "" : "\n");
	fflush(stdout);
	return CLI_OK;
}

/* What is written from now on. Who follows stays: the head is away for a moment, or too many ask
 * just now. */
static int follow(struct cli *cli, char cursor[CURSOR_MAX])
{
	bool away = false;
	struct phx_again again = cli_away_again();
	while (!cli_nobody_reads(away ? phx_again_ms(&again) : 0)) {
		struct phx_err err = {0};
		PHX_AUTO_JSON json_t *answer = NULL;
		int code = get_logs(cli, cursor, FOLLOW_SECONDS, &answer, &err);
		if (cli_nobody_reads(0))
			break;
		if (code && !cli_passes(code))
			return cli_fail(code, "%s", err.text);
		cli_tell_away(&away, code, &err);
		if (away)
			continue;
		again.last_ms = 0;
		if (phx_json_str(answer, "text", "")[0])
			code = print_answer(cli, answer);
		if (code)
			return code;
		phx_str_copy(cursor, CURSOR_MAX, phx_json_str(answer, "cursor", ""));
	}
	return CLI_OK; /* what could not be written, main tells */
}

int cmd_node_logs(struct cli *cli)
{
	struct phx_err err = {0};
	char cursor[CURSOR_MAX] = "";
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = get_logs(cli, cursor, 0, &answer, &err);
	if (code)
		/* a bad configuration has been told already */
		return err.text[0] ? cli_fail(code, "%s", err.text) : code;
	code = print_answer(cli, answer);
	if (code || !cli_has(cli, CLI_OPT_follow))
		return code;
	phx_str_copy(cursor, CURSOR_MAX, phx_json_str(answer, "cursor", ""));
	code = cli_follow_begin(cli);
	return code ? code : follow(cli, cursor);
}
