/* phx job submit: a command, or a script with what it says of itself, into a
 * queue of phxd's. Judges nothing that phxd judges. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "phx/job.h"

static void add_seconds(struct cli *cli, enum cli_option_id option, const char *fallback,
			json_t *body, const char *key)
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
	for (char *path = strtok_r(text ? text : NULL, ",", &rest); path;
	     path = strtok_r(NULL, ",", &rest))
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
		json_object_set_new(
			body, "checkpoint_signal",
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
	if (cli_has(cli, CLI_OPT_array))
		json_object_set_new(body, "array", json_string(cli_opt(cli, CLI_OPT_array, "")));
}

/* "K=V" as it is; "K" with the value that it has here. */
static int add_env(struct cli *cli, json_t *body)
{
	json_t *list = json_array();
	const struct cli_values *given = &cli->args.opt[CLI_OPT_env];
	if (given->n)
		json_object_set_new(body, "env", list);
	for (unsigned i = 0; i < given->n; i++) {
		const char *word = given->v[i], *value = strchr(word, '=') ? "" : getenv(word);
		if (!value)
			return cli_fail(CLI_USAGE, "job submit: --env: %s is not set here", word);
		json_t *text =
			strchr(word, '=') ? json_string(word) : json_sprintf("%s=%s", word, value);
		if (!text)
			return cli_fail(CLI_USAGE, "job submit: --env: %s is no UTF-8 text", word);
		json_array_append_new(list, text);
	}
	if (!given->n)
		json_decref(list);
	return CLI_OK;
}

/* The words of the job; of a script its name in place of its path. */
static int add_words(struct cli *cli, const struct cli_script *script, json_t *body)
{
	json_t *argv = json_object_get(body, "argv");
	for (unsigned i = 0; i < cli->args.n_args; i++) {
		const char *word = cli_arg(cli, i), *slash = strrchr(word, '/');
		json_t *text = json_string(!i && script->text && slash ? slash + 1 : word);
		if (!text)
			return cli_fail(CLI_USAGE, "job submit: word %u is no UTF-8 text", i + 1);
		json_array_append_new(argv, text);
	}
	if (!script->text)
		return CLI_OK;
	json_t *text = json_string(script->text);
	if (!text)
		return cli_fail(CLI_USAGE, "%s: is no UTF-8 text", cli_arg(cli, 0));
	json_object_set_new(body, "script", text);
	return CLI_OK;
}

static int make_body(struct cli *cli, const struct cli_script *script, json_t **ret)
{
	uint64_t nodes = 0; /* what is no such number phxd refuses */
	phx_u64_parse(cli_opt(cli, CLI_OPT_nodes, "1"), 1, UINT32_MAX, &nodes);
	*ret = json_pack("{s:I, s:[]}", "nodes", (json_int_t)nodes, "argv");
	if (cli_has(cli, CLI_OPT_user))
		json_object_set_new(*ret, "user", json_string(cli_opt(cli, CLI_OPT_user, "")));
	add_queue_options(cli, *ret);
	int code = add_env(cli, *ret);
	return code ? code : add_words(cli, script, *ret);
}

static int print_submitted(struct cli *cli, const json_t *answer)
{
	char id[24];
	int64_t last = phx_json_int(answer, "last", 0);
	snprintf(id, sizeof(id), "%lld", (long long)phx_json_int(answer, "id", 0));
	if (cli_has(cli, CLI_OPT_wait) && last) {
		fprintf(stderr, "phx: jobs %s-%lld\n", id, (long long)last);
		return cli_job_follow_array(cli, phx_json_int(answer, "id", 0), last);
	}
	if (cli_has(cli, CLI_OPT_wait)) {
		fprintf(stderr, "phx: job %s\n", id);
		return cli_job_follow(cli, id);
	}
	if (cli_structured(cli))
		return cli_print_value(cli, answer);
	if (last)
		printf("%s-%lld\n", id, (long long)last);
	else
		printf("%s\n", id);
	return CLI_OK;
}

int cmd_job_submit(struct cli *cli)
{
	PHX_AUTO(cli_script_fini) struct cli_script script = {0};
	PHX_AUTO_JSON json_t *body = NULL, *answer = NULL;
	int code = cli->args.foreign ? CLI_OK : cli_script_read(cli, cli_arg(cli, 0), &script);
	code = code ? code : make_body(cli, &script, &body);
	if (!code && cli_has(cli, CLI_OPT_cores))
		return cli_job_submit_cores(cli, body);
	if (!code && cli_has(cli, CLI_OPT_memory))
		return cli_fail(CLI_USAGE, "job submit: --memory goes with --cores");
	code = code ? code : cli_call(cli, "POST", "/v1/jobs", body, &answer);
	return code ? code : print_submitted(cli, answer);
}
