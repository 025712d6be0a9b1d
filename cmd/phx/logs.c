/* phx node logs: what a service of a node wrote, as its agent has it; with -f
 * what it writes from now on, by long poll. */
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "phx/cli.h"

enum { FOLLOW_SECONDS = 20, CALL_MS = 60000, AWAY_SECONDS = 1 };

static char *path_of(struct cli *cli, const char *cursor, int seconds)
{
	PHX_AUTO_FREE char *node = cli_url_escape(cli_arg(cli, 0));
	PHX_AUTO_FREE char *service = cli_url_escape(cli->args.n_args > 1 ? cli_arg(cli, 1) : "");
	PHX_AUTO_FREE char *after = cli_url_escape(cursor);
	char *path = NULL;
	if (!node || !service || !after ||
	    asprintf(&path, "/v1/nodes/%s/logs?service=%s&after=%s&lines=%s&wait=%d", node, service, after,
		     cli_opt(cli, CLI_OPT_lines, "50"), seconds) < 0)
		return NULL;
	return path;
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

/* Who follows stays: the head is away for a moment, or too many ask just now. */
static bool is_passing(int code)
{
	return code == CLI_TRY_AGAIN || code == CLI_UNAVAILABLE;
}

int cmd_node_logs(struct cli *cli)
{
	char cursor[512] = "";
	bool follow = cli_has(cli, CLI_OPT_follow);
	for (int seconds = 0;; seconds = FOLLOW_SECONDS) {
		PHX_AUTO_JSON json_t *answer = NULL;
		PHX_AUTO_FREE char *path = path_of(cli, cursor, seconds);
		if (!path)
			return cli_fail(CLI_PARTIAL, "out of memory");
		struct phx_err err = {0};
		int code = cli_call_quiet(cli, "GET", path, NULL, CALL_MS, &answer, &err);
		if (code && !(seconds && is_passing(code)))
			return cli_fail(code, "%s", err.text);
		if (code) {
			sleep(AWAY_SECONDS);
			continue;
		}
		if (seconds == 0 || phx_json_str(answer, "text", "")[0])
			code = print_answer(cli, answer);
		if (code || !follow)
			return code;
		PHX_STR_SET(cursor, phx_json_str(answer, "cursor", ""));
	}
}
