/* phx node why: why a node did not boot, in a sentence, with what to do next; with --verbose what
 * was seen of its start, row by row. Changes nothing. */
#include <stdio.h>
#include <time.h>

#include "base/json.h"
#include "phx/cli.h"
#include "types/start.h"

enum { CALL_MS = 60000 };

static void put_clock(struct phx_buf *b, int64_t us)
{
	char text[32] = "";
	struct tm tm;
	time_t t = (time_t)(us / 1000000);
	if (localtime_r(&t, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	phx_buf_addf(b, "%s.%03d", text, (int)(us / 1000 % 1000));
}

/* What nobody has proven is marked. */
static void put_row(struct phx_buf *b, const json_t *row)
{
	int64_t bytes = phx_json_int(row, "bytes", 0), total = phx_json_int(row, "total", 0);
	int kind;
	const char *what = phx_json_str(row, "kind", "");
	if (phx_enum_parse(&phx_start_kind_names, what, &kind, NULL) == 0)
		what = phx_start_says((enum phx_start_kind)kind);
	put_clock(b, phx_json_int(row, "at_us", 0));
	phx_buf_addf(b, " %c ", json_is_true(json_object_get(row, "proven")) ? ' ' : '?');
	cli_put_line(b, what);
	phx_buf_addf(b, ": ");
	cli_put_line(b, phx_json_str(row, "text", ""));
	if (total)
		phx_buf_addf(b, " (%lld of %lld bytes)", (long long)bytes, (long long)total);
	phx_buf_addf(b, "\n");
}

static void put_verdict(struct phx_buf *b, const json_t *v)
{
	const char *act = phx_json_str(v, "act", "");
	cli_put_line(b, phx_json_str(v, "text", ""));
	if (!json_is_true(json_object_get(v, "proven")))
		phx_buf_addf(b, " (unproven: the machine says so of itself)");
	phx_buf_addf(b, "\n");
	if (act[0]) {
		phx_buf_addf(b, "  next: ");
		cli_put_line(b, act);
		phx_buf_addf(b, "\n");
	}
}

void cli_why_put(struct phx_buf *b, const json_t *answer)
{
	const json_t *before = json_object_get(answer, "before");
	const json_t *rows = json_object_get(answer, "rows");
	int64_t start = phx_json_int(answer, "start", 0);
	size_t i;
	json_t *row;
	cli_put_line(b, phx_json_str(answer, "node", ""));
	phx_buf_addf(b, ": ");
	put_verdict(b, answer);
	if (before) {
		phx_buf_addf(b, "the start before (%lld) ended so: ",
			     (long long)phx_json_int(before, "start", 0));
		put_verdict(b, before);
	}
	if (rows && start)
		phx_buf_addf(b, "start %lld, what was seen (? is not proven):\n", (long long)start);
	json_array_foreach(rows, i, row)
		put_row(b, row);
}

int cmd_node_why(struct cli *cli)
{
	struct phx_err err = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_FREE char *node = cli_url_escape(cli_arg(cli, 0)), *path = NULL;
	if (!node ||
	    asprintf(&path, "/v1/nodes/%s/why?start=%s&rows=%s", node,
		     cli_opt(cli, CLI_OPT_start, "0"),
		     cli_has(cli, CLI_OPT_verbose) ? "yes" : "no") < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int code = cli_call_quiet(cli, "GET", path, NULL, CALL_MS, &answer, &err);
	if (code)
		return err.text[0] ? cli_fail(code, "%s", err.text) : code;
	if (cli_structured(cli))
		return cli_print_value(cli, answer);
	cli_why_put(&b, answer);
	if (b.n)
		printf("%s", b.data);
	return CLI_OK;
}
