/* phx workflow output RUN TASK: what a task printed, as its node has it, fetched piece by piece.
 * Changes nothing. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "phx/workflow.h"

/* More than any agent keeps of one task: who goes on for ever is not listened to. */
enum { OUTPUT_MAX = 256 << 20, CALL_MS = 60000 };

/* The bytes of a piece; -EPROTO: it is none. */
static int add_piece(struct phx_buf *b, const char *hex)
{
	size_t n = strlen(hex) / 2;
	PHX_AUTO_FREE char *bytes = malloc(n + 1);
	if (!phx_is_hex(hex, 2 * n))
		return -EPROTO;
	b->failed = b->failed || !bytes;
	if (bytes && phx_unhex(hex, n, bytes))
		phx_buf_add(b, bytes, n);
	return 0;
}

/* The piece that follows what is there already; the last attempt, of the first piece. */
static int get_piece(struct cli *cli, const char *run, const char *id, const struct phx_buf *has,
		     const json_t *first, json_t **ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *task = cli_url_escape(id);
	PHX_AUTO(phx_buf_fini) struct phx_buf url = {0};
	phx_buf_addf(&url, "/v1/workflows/%s/output?task=%s&from=%zu", run, task ? task : "",
		     has->n);
	if (first)
		phx_buf_addf(&url, "&attempt=%" PRId64, (int64_t)phx_json_int(first, "attempt", 0));
	return url.failed || !task ? phx_err_set(err, CLI_PARTIAL, "out of memory")
				   : cli_call_quiet(cli, "GET", url.data, NULL, CALL_MS, ret, err);
}

/* All that there is by now; *ret_about is what is said of it. An exit status, with its reason in
 * err. */
static int get_output(struct cli *cli, const char *run, const char *id, struct phx_buf *ret,
		      json_t **ret_about, struct phx_err *err)
{
	for (bool more = true; more;) {
		PHX_AUTO_JSON json_t *piece = NULL;
		size_t had = ret->n;
		int code = get_piece(cli, run, id, ret, *ret_about, &piece, err);
		if (code)
			return code;
		if (add_piece(ret, phx_json_str(piece, "hex", "")) < 0)
			return phx_err_set(err, CLI_PARTIAL, "phxd's answer holds no output");
		if (ret->failed || ret->n > OUTPUT_MAX)
			return phx_err_set(err, CLI_PARTIAL, "the output is too long");
		more = ret->n > had && (int64_t)ret->n < phx_json_int(piece, "size_bytes", 0);
		if (!*ret_about)
			*ret_about = PHX_TAKE(piece);
	}
	return CLI_OK;
}

/* Where the last `lines` of it begin; 0: all of it. */
static size_t tail_of(const struct phx_buf *b, uint64_t lines)
{
	size_t at = b->n;
	if (!lines || !at)
		return 0;
	at -= b->data[at - 1] == '\n';
	for (; at; at--)
		if (b->data[at - 1] == '\n' && !--lines)
			break;
	return at;
}

/* JSON takes no NUL, and nothing that is no text. */
static int print_structured(struct cli *cli, json_t *about, const char *data, size_t n)
{
	PHX_AUTO_FREE char *text = malloc(n + 1);
	if (!text)
		return cli_fail(CLI_PARTIAL, "out of memory");
	for (size_t i = 0; i < n; i++)
		text[i] = data[i] ? data[i] : '?';
	text[n] = '\0';
	phx_utf8_repair(text);
	json_object_del(about, "hex");
	json_object_del(about, "from");
	json_object_set_new(about, "text", json_string(text));
	return cli_print_value(cli, about);
}

int cli_workflow_print_output(struct cli *cli, const char *run, const char *task)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_AUTO_JSON json_t *about = NULL;
	struct phx_err err = {0};
	int code = get_output(cli, run, task, &b, &about, &err);
	if (code == CLI_USAGE) /* nothing is kept of it */
		return CLI_OK;
	if (code)
		return cli_fail(code, "%s", err.text);
	fwrite(b.n ? b.data : "", 1, b.n, stdout);
	return CLI_OK;
}

int cmd_workflow_output(struct cli *cli)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_AUTO_JSON json_t *about = NULL;
	struct phx_err err = {0};
	uint64_t lines = 0;
	if (cli_has(cli, CLI_OPT_tail))
		phx_u64_parse(cli_opt(cli, CLI_OPT_tail, "0"), 0, INT64_MAX, &lines);
	int code = get_output(cli, cli_arg(cli, 0), cli_arg(cli, 1), &b, &about, &err);
	if (code)
		return cli_fail(code, "%s", err.text);
	size_t from = tail_of(&b, lines);
	const char *data = b.n ? b.data + from : "";
	if (cli_structured(cli))
		return print_structured(cli, about, data, b.n - from);
	fwrite(data, 1, b.n - from, stdout);
	return CLI_OK;
}
