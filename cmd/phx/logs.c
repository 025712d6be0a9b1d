/* phx node logs: what a service of a node wrote, as its agent has it; with -f what it writes
 * from now on, by long poll. phx node log: the same of its agent, kernel, or one step, too, or what
 * the head has kept. Changes nothing. */
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "phx/cli.h"

enum { FOLLOW_SECONDS = 20, CALL_MS = 60000, CURSOR_MAX = 512, STEP_MAX = 24, PLACES_MAX = 999 };

/* Whose words are asked for; NULL: a service's. An older head knows of no others. */
struct words {
	const char *of, *step;
};

static char *path_of(struct cli *cli, const struct words *w, const char *cursor, int seconds)
{
	const char *of = w->of, *step = w->step;
	PHX_AUTO_FREE char *node = cli_url_escape(cli_arg(cli, 0));
	PHX_AUTO_FREE char *service = cli_url_escape(cli->args.n_args > 1 ? cli_arg(cli, 1) : "");
	PHX_AUTO_FREE char *after = cli_url_escape(cursor);
	char *path = NULL;
	if (!node || !service || !after ||
	    asprintf(&path, "/v1/nodes/%s/logs?service=%s&after=%s&lines=%s&wait=%d%s%s%s%s", node,
		     service, after, cli_opt(cli, CLI_OPT_lines, "50"), seconds, of ? "&of=" : "",
		     of ? of : "", step ? "&step=" : "", step ? step : "") < 0)
		return NULL;
	return path;
}

static int get_logs(struct cli *cli, const struct words *w, const char *cursor, int seconds,
		    json_t **ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = path_of(cli, w, cursor, seconds);
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

/* Is the step that is asked for over by the last line of it? */
static bool step_over(const struct words *w, const json_t *answer)
{
	PHX_AUTO_FREE char *word = NULL;
	bool over = false;
	if (!w->step || asprintf(&word, "phx-agent: step %s ", w->step) < 0)
		return false;
	for (const char *at = phx_json_str(answer, "text", ""); (at = strstr(at, word));) {
		at += strlen(word);
		over = at[strcspn(at, " :\n")] == ':';
	}
	return over;
}

/* What is written from now on. Who follows stays: the head is away for a moment, or too many ask
 * just now. */
static int follow(struct cli *cli, const struct words *w, char cursor[CURSOR_MAX])
{
	bool away = false;
	struct phx_again again = cli_away_again();
	while (!cli_nobody_reads(away ? phx_again_ms(&again) : 0)) {
		struct phx_err err = {0};
		PHX_AUTO_JSON json_t *answer = NULL;
		int code = get_logs(cli, w, cursor, FOLLOW_SECONDS, &answer, &err);
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
		if (step_over(w, answer))
			break;
		phx_str_copy(cursor, CURSOR_MAX, phx_json_str(answer, "cursor", ""));
	}
	return CLI_OK; /* what could not be written, main tells */
}

/* What is there now, and then what comes. */
static int show(struct cli *cli, const struct words *w, const json_t *answer)
{
	char cursor[CURSOR_MAX];
	int code = print_answer(cli, answer);
	if (code || !cli_has(cli, CLI_OPT_follow) || step_over(w, answer))
		return code;
	phx_str_copy(cursor, CURSOR_MAX, phx_json_str(answer, "cursor", ""));
	code = cli_follow_begin(cli);
	return code ? code : follow(cli, w, cursor);
}

int cmd_node_logs(struct cli *cli)
{
	const struct words w = {0};
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = get_logs(cli, &w, "", 0, &answer, &err);
	if (code)
		/* a bad configuration has been told already */
		return err.text[0] ? cli_fail(code, "%s", err.text) : code;
	return show(cli, &w, answer);
}

/* The node did not answer, or has forgotten: what it told the head when something failed. */
static int show_kept(struct cli *cli, const struct words *asked, const struct phx_err *why)
{
	const struct words kept = {"kept", asked->step};
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = get_logs(cli, &kept, "", 0, &answer, &err);
	if (code || !phx_json_str(answer, "text", "")[0])
		return cli_fail(code ? code : CLI_TRY_AGAIN, "%s%s",
				why->text[0] ? why->text : "the node has nothing of it",
				code ? "" : "; nor has the head kept anything of its last start");
	fprintf(stderr, "phx: %s: this is what it told the head when something failed\n",
		why->text[0] ? why->text : "the node has nothing of it any more");
	return print_answer(cli, answer);
}

/* The id of the step at that place of the node's plan; what is no place is an id already. */
static int find_step(struct cli *cli, char ret[STEP_MAX])
{
	const char *word = cli_opt(cli, CLI_OPT_step, "");
	PHX_AUTO_FREE char *node = cli_url_escape(cli_arg(cli, 0));
	PHX_AUTO_FREE char *path = node ? phx_path("/v1/nodes/%s", node) : NULL;
	PHX_AUTO_JSON json_t *n = NULL;
	uint64_t place;
	phx_str_copy(ret, STEP_MAX, word);
	if (!*word || phx_u64_parse(word, 1, PLACES_MAX, &place) < 0)
		return CLI_OK;
	int code = path ? cli_get(cli, path, &n) : cli_fail(CLI_PARTIAL, "out of memory");
	if (code)
		return code;
	const json_t *steps = json_object_get(json_object_get(n, "plan"), "steps");
	if (place > json_array_size(steps))
		return cli_fail(CLI_USAGE, "--step %s: the last plan of %s has %zu steps", word,
				cli_arg(cli, 0), json_array_size(steps));
	snprintf(ret, STEP_MAX, "%lld",
		 (long long)phx_json_int(json_array_get(steps, place - 1), "id", 0));
	return CLI_OK;
}

int cmd_node_log(struct cli *cli)
{
	char id[STEP_MAX];
	const char *step = cli_has(cli, CLI_OPT_step) ? id : NULL;
	bool service = cli->args.n_args > 1, kernel = cli_has(cli, CLI_OPT_dmesg);
	const struct words w = {service ? NULL : kernel ? "kernel" : "agent", step};
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *answer = NULL;
	if ((step != NULL) + service + kernel > 1)
		return cli_fail(CLI_USAGE, "SERVICE, --step and --dmesg: only one of them");
	int code = find_step(cli, id);
	if (code)
		return code;
	code = get_logs(cli, &w, "", 0, &answer, &err);
	bool away = code && cli_passes(code);
	if (!service && !kernel &&
	    (away || (!code && step && !phx_json_str(answer, "text", "")[0])))
		return show_kept(cli, &w, &err);
	if (code)
		return err.text[0] ? cli_fail(code, "%s", err.text) : code;
	return show(cli, &w, answer);
}
