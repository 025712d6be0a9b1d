/* phx node console: a terminal on the console of a node, and what it said before. The console's
 * bytes come by long polls on a thread of their own, what is typed goes by requests of its own:
 * so it works over whatever way phxd is reached, and phxd looks at each whether its sender still
 * may. Called by the table of commands.
 *
 *   terminal ──read──▶ escapes ──POST──▶ phxd ──▶ conserver ──▶ node
 *            ◀────── thread ◀──GET, held── */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "http/http.h"
#include "phx/cli.h"

enum { HOLD_S = 20, CALL_MS = 60000, ATTACH_MS = 30000, READ_BYTES = 1024, BASE64_MAX = 3000 };

struct terminal {
	struct cli *cli;   /* asks for what the console says */
	struct cli typing; /* its copy, with a connection of its own */
	char path[200];
	int over; /* eventfd: the console's side has ended */
	int code;
	struct phx_err err;
};

/* ---- what the console says ---- */

static int put_data(const char *text)
{
	const size_t n = strlen(text);
	PHX_AUTO_FREE unsigned char *data = malloc(n / 4 * 3 + 4);
	int got = data ? EVP_DecodeBlock(data, (const unsigned char *)text, (int)n) : -1;
	if (got < 0)
		return -EIO;
	size_t padding = n && text[n - 1] == '=' ? 1 + (text[n - 2] == '=') : 0;
	return phx_write_all(STDOUT_FILENO, data, (size_t)got - padding);
}

/* False: the console's side has ended. */
static bool hear_once(struct terminal *t, json_int_t *after)
{
	PHX_AUTO_FREE char *path =
		phx_path("%s?after=%lld&wait=%d", t->path, (long long)*after, HOLD_S);
	PHX_AUTO_JSON json_t *j = NULL;
	t->code = path ? cli_call_quiet(t->cli, "GET", path, NULL, CALL_MS, &j, &t->err)
		       : CLI_PARTIAL;
	if (t->code)
		return false;
	json_int_t lost = json_integer_value(json_object_get(j, "lost"));
	if (lost > 0)
		fprintf(stderr, "\r\n[phx: %lld bytes came too fast and are left out]\r\n",
			(long long)lost);
	*after = json_integer_value(json_object_get(j, "at"));
	const char *ended = phx_json_str(j, "ended", "");
	if (put_data(phx_json_str(j, "data", "")) < 0)
		t->code = CLI_PARTIAL;
	else if (ended[0])
		t->code = phx_err_set(&t->err, CLI_UNAVAILABLE, "%s", ended);
	return !t->code;
}

static void *hear(void *arg)
{
	struct terminal *t = arg;
	const uint64_t one = 1;
	json_int_t after = 0;
	while (hear_once(t, &after))
		;
	(void)!write(t->over, &one, sizeof(one));
	return NULL;
}

/* ---- what is typed ---- */

static int type(struct terminal *t, const char *data, size_t n, const char *flag)
{
	unsigned char text[BASE64_MAX] = "";
	PHX_AUTO_JSON json_t *body = NULL;
	struct phx_err err = {0};
	if (n)
		EVP_EncodeBlock(text, (const unsigned char *)data, (int)n);
	body = flag ? json_pack("{s:s,s:b}", "data", (char *)text, flag, 1)
		    : json_pack("{s:s}", "data", (char *)text);
	int code = body ? cli_call_quiet(&t->typing, "POST", t->path, body, CALL_MS, NULL, &err)
			: CLI_PARTIAL;
	if (code && !(flag && !strcmp(flag, "end")))
		fprintf(stderr, "\r\n[phx: %s]\r\n", err.text);
	return code;
}

static void help(void)
{
	fprintf(stderr, "\r\n[phx: after Enter: ~. leaves, ~B is a serial break, ~~ is a ~]\r\n");
}

/* Where the escapes are: after the end of a line, after a ~ there, or elsewhere. */
enum place { AT_START, AFTER_TILDE, WITHIN };

/* Takes the escapes out of what was typed; true: to leave. */
static bool take_escapes(struct terminal *t, enum place *place, const char *in, size_t n, char *out,
			 size_t *ret_n)
{
	size_t to = 0;
	for (size_t i = 0; i < n; i++) {
		const char c = in[i];
		if (*place == AT_START && c == '~') {
			*place = AFTER_TILDE;
			continue;
		}
		if (*place == AFTER_TILDE) {
			*place = WITHIN;
			if (c == '.')
				return true;
			if (c == 'B' || c == '?') {
				*place = AT_START;
				if (c == '?')
					help();
				else
					type(t, NULL, 0, "break");
				continue;
			}
			if (c != '~')
				out[to++] = '~';
		}
		out[to++] = c;
		*place = c == '\r' || c == '\n' ? AT_START : WITHIN;
	}
	*ret_n = to;
	return false;
}

static void talk(struct terminal *t, bool reads)
{
	char in[READ_BYTES], out[2 * READ_BYTES];
	enum place place = AT_START;
	struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {t->over, POLLIN, 0}};
	for (;;) {
		poll(fds, PHX_ARRAY_SIZE(fds), -1);
		if (fds[1].revents)
			return;
		ssize_t n = fds[0].revents ? read(STDIN_FILENO, in, sizeof(in)) : 0;
		size_t n_out = 0;
		if (fds[0].revents && n <= 0) {
			if (isatty(STDIN_FILENO) || !reads)
				return;
			fds[0].fd = -1; /* who only reads may have no input at all */
		}
		if (n > 0 && take_escapes(t, &place, in, (size_t)n, out, &n_out))
			return;
		if (n_out && !reads && type(t, out, n_out, NULL) == CLI_NOT_PERMITTED)
			reads = true;
	}
}

/* ---- attached ---- */

static bool begin_raw(struct termios *ret_was)
{
	struct termios raw;
	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, ret_was) < 0)
		return false;
	raw = *ret_was;
	cfmakeraw(&raw);
	return tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

/* Conserver may have to be told of the console first: of a node that has just come, or after a
 * start of its own. */
static int attach(struct cli *cli, const char *node, json_t **ret)
{
	PHX_AUTO_FREE char *path = phx_path("/v1/nodes/%s/console", node);
	PHX_AUTO_JSON json_t *body = json_pack("{s:b,s:b}", "read", cli_has(cli, CLI_OPT_read),
					       "steal", cli_has(cli, CLI_OPT_steal));
	struct phx_again again = {.first_ms = 200, .most_ms = 2000};
	const int64_t end_ms = phx_clock_ms() + ATTACH_MS;
	for (;;) {
		PHX_AUTO_JSON json_t *j = NULL;
		int code = path && body ? cli_call(cli, "POST", path, body, &j) : CLI_PARTIAL;
		const bool is = !code && phx_json_str(j, "session", "")[0];
		if (is)
			*ret = PHX_TAKE(j);
		if (code || is)
			return code;
		if (!again.last_ms)
			fprintf(stderr, "%s: %s\n", node, phx_json_str(j, "said", ""));
		if (!phx_again(&again, end_ms))
			return cli_fail(CLI_TRY_AGAIN, "%s", phx_json_str(j, "said", ""));
	}
}

static void tell_begin(const char *node, const json_t *j, bool reads)
{
	const char *before = phx_json_str(j, "before", ""), *said = phx_json_str(j, "said", "");
	if (before[0])
		fprintf(stderr, reads ? "%s: %s writes there\n" : "%s: taken from %s\n", node,
			before);
	if (!json_is_true(json_object_get(j, "up")))
		fprintf(stderr, "%s: the console is not open yet%s%s\n", node, said[0] ? ": " : "",
			said);
	fprintf(stderr, "%s: attached%s; Enter, then ~. leaves\n", node, reads ? " to read" : "");
}

static int attached(struct cli *cli, const char *node, const json_t *j)
{
	const bool reads = cli_has(cli, CLI_OPT_read);
	struct terminal t = {.cli = cli, .typing = *cli};
	struct termios was;
	pthread_t thread;
	t.typing.http = NULL;
	snprintf(t.path, sizeof(t.path), "/v1/nodes/%s/console/%s", node,
		 phx_json_str(j, "session", ""));
	t.over = eventfd(0, EFD_CLOEXEC);
	int code = cli_client_open(&t.typing, &t.err);
	if (code || t.over < 0)
		return cli_fail(code ? code : CLI_PARTIAL, "%s", t.err.text);
	tell_begin(node, j, reads);
	bool raw = begin_raw(&was);
	if (pthread_create(&thread, NULL, hear, &t) == 0) {
		talk(&t, reads);
		type(&t, NULL, 0, "end"); /* its held request is answered by that */
		pthread_join(thread, NULL);
	}
	if (raw)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &was);
	fprintf(stderr, "\n%s: left the console\n", node);
	phx_http_client_free(t.typing.http);
	close(t.over);
	return t.code && t.code == CLI_UNAVAILABLE ? cli_fail(t.code, "%s", t.err.text) : CLI_OK;
}

/* ---- its log ---- */

static int show_log(struct cli *cli, const char *node)
{
	PHX_AUTO_FREE char *word = cli_url_escape(cli_opt(cli, CLI_OPT_grep, ""));
	PHX_AUTO_FREE char *path = word ? phx_path("/v1/nodes/%s/console?lines=%s&grep=%s", node,
						   cli_opt(cli, CLI_OPT_lines, "50"), word)
					: NULL;
	PHX_AUTO_JSON json_t *j = NULL;
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	int code = path ? cli_call(cli, "GET", path, NULL, &j) : CLI_PARTIAL;
	if (code || cli_structured(cli))
		return code ? code : cli_print_value(cli, j);
	cli_put_clean(&b, phx_json_str(j, "text", ""));
	if (b.n)
		printf("%s", b.data);
	if (!json_is_true(json_object_get(j, "had")))
		fprintf(stderr, "%s has no console (phx node bmc)\n", node);
	return CLI_OK;
}

int cmd_node_console(struct cli *cli)
{
	PHX_AUTO_FREE char *node = cli_url_escape(cli_arg(cli, 0));
	PHX_AUTO_JSON json_t *j = NULL;
	if (!node)
		return cli_fail(CLI_PARTIAL, "out of memory");
	if (cli_has(cli, CLI_OPT_log))
		return show_log(cli, node);
	if (cli_has(cli, CLI_OPT_grep))
		return cli_fail(CLI_USAGE, "--grep searches the log: --log is missing");
	int code = attach(cli, node, &j);
	return code ? code : attached(cli, node, j);
}
