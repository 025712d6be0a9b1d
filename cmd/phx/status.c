/* phx status, phx reload, phx config: the daemon itself. */

#include "base/clock.h"
#include "base/json.h"
#include "phx/cli.h"
#include "types/setup.h"

/* ---- status ---- */

static void put_setup(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	const char *mode = phx_json_str(value, "mode", "?");
	struct phx_setup setup = {0};
	phx_buf_addf(b, "%s", mode);
	if (phx_enum_parse(&phx_setup_mode_names, mode, &setup.mode, NULL) < 0 || !setup.mode)
		return;
	if (phx_setup_does(&setup, PHX_SETUP_DISKS))
		phx_buf_addf(b, " %s", phx_json_str(value, "method", "?"));
	phx_buf_addf(b, " on %s", phx_json_str(value, "when", "?"));
}

static const struct cli_column pool_columns[] = {
	{.head = "POOL", .path = "name"},
	{.head = "OWNER", .path = "owner_name"},
	{.head = "SETUP", .path = "setup", .put = put_setup},
	{.head = "N", .path = "nodes", .right = true},
	{.head = "NODES", .path = "hosts"},
};

static const struct cli_column child_columns[] = {
	{.head = "PROGRAM", .path = "name"},
	{.head = "PID", .path = "pid", .right = true},
	{.head = "RUNNING", .path = "running", .put = cli_put_yes},
};

/* Files that phxd could not take: their roles are missing, or are as they were. */
static void print_mistakes(const json_t *mistakes)
{
	size_t i;
	json_t *text;
	json_array_foreach((json_t *)mistakes, i, text) {
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		cli_put_clean(&b, json_string_value(text));
		printf("phxd could not take %s\n", b.data ? b.data : "?");
	}
}

static void print_head(const json_t *s)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	cli_put_duration(&b, phx_json_int(s, "uptime_s", 0) * 1000);
	printf("phxd %s, up %s, event %lld\n", phx_json_str(s, "version", "?"),
	       b.data ? b.data : "?", (long long)phx_json_int(s, "seq", 0));
	const char *readonly = phx_json_str(s, "readonly", "");
	if (*readonly)
		printf("READ-ONLY, nothing can be ordered: %s\n", readonly);
	printf("%lld nodes, %lld up", (long long)phx_json_int(s, "nodes", 0),
	       (long long)phx_json_int(s, "up", 0));
	const char *state;
	json_t *n;
	json_object_foreach(json_object_get(s, "states"), state, n) {
		if (json_integer_value(n) > 0)
			printf(", %lld %s", (long long)json_integer_value(n), state);
	}
	printf("\n");
	const json_t *deploy = json_object_get(s, "deploy");
	if (*phx_json_str(deploy, "kernel", ""))
		printf("nodes run kernel %s, that of deploy image %s %s\n",
		       phx_json_str(deploy, "kernel", ""), phx_json_str(deploy, "image", "?"),
		       phx_json_str(deploy, "version", "?"));
	else if (deploy)
		printf("no node can boot: deploy image %s: %s\n",
		       phx_json_str(deploy, "image", "?"), phx_json_str(deploy, "error", "?"));
	print_mistakes(json_object_get(s, "mistakes"));
	if (*phx_json_str(s, "ca", ""))
		printf("%s\n", phx_json_str(s, "ca", ""));
}

/* Whom phxd turned away since its start, because of which limit. */
static void print_refused(const json_t *refused, int64_t now_ms)
{
	size_t i;
	json_t *it;
	json_array_foreach((json_t *)refused, i, it) {
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		const char *whom = phx_json_str(it, "whom", "");
		cli_put_duration(&b, now_ms - phx_json_int(it, "last_ms", now_ms));
		printf("%lld %s over %s were refused, by %s = %lld; the last %s%s%s ago\n",
		       (long long)phx_json_int(it, "n", 0), phx_json_str(it, "what", "?"),
		       phx_json_str(it, "over", "?"), phx_json_str(it, "limit", "?"),
		       (long long)phx_json_int(it, "value", 0), whom, *whom ? " " : "",
		       b.data ? b.data : "?");
	}
}

int cmd_status(struct cli *cli)
{
	PHX_AUTO_JSON json_t *s = NULL;
	int code = cli_get(cli, "/v1/status", &s);
	if (code || cli_structured(cli))
		return code ? code : cli_print_value(cli, s);
	const json_t *pools = json_object_get(s, "pools"),
		     *children = json_object_get(s, "children");
	print_head(s);
	print_refused(json_object_get(s, "refused"), phx_wall_ms());
	if (json_array_size(pools))
		putchar('\n');
	code = cli_print_table(cli, pool_columns, PHX_ARRAY_SIZE(pool_columns), pools, 0);
	if (json_array_size(children))
		putchar('\n');
	return code
		? code
		: cli_print_table(cli, child_columns, PHX_ARRAY_SIZE(child_columns), children, 0);
}

/* ---- reload ---- */

static void tell(const json_t *texts, const char *mark)
{
	size_t i;
	json_t *text;
	json_array_foreach((json_t *)texts, i, text)
		fprintf(stderr, "phx: %s%s\n", mark,
			json_string_value(text) ? json_string_value(text) : "?");
}

/* What phxd refused goes to stderr, each text after `mark`; what it took and may surprise is a
 * warning, if `warn`. */
static int reload(struct cli *cli, const char *mark, bool warn, json_t **ret)
{
	PHX_AUTO_JSON json_t *body = json_object();
	int code = cli_call(cli, "POST", "/v1/reload", body, ret);
	tell(json_object_get(*ret, "errors"), mark);
	tell(warn ? json_object_get(*ret, "warnings") : NULL, "warning: ");
	return code;
}

static void tell_counts(const json_t *answer)
{
	static const char *const things[] = {"role", "image", "package"};
	fputs("phx: phxd knows", stderr);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(things); i++) {
		char key[16];
		snprintf(key, sizeof(key), "%ss", things[i]);
		int64_t n = phx_json_int(answer, key, 0);
		fprintf(stderr, "%s %lld %s", i ? "," : "", (long long)n, n == 1 ? things[i] : key);
	}
	fputc('\n', stderr);
}

int cli_tell_changed(struct cli *cli, bool warn)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = reload(cli, "warning: ", warn, &answer);
	if (!code && !cli_structured(cli))
		tell_counts(answer);
	return code;
}

int cmd_reload(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = reload(cli, "", true, &answer);
	if (code)
		return code;
	if (cli_structured(cli))
		cli_print_value(cli, answer);
	else
		tell_counts(answer);
	return json_array_size(json_object_get(answer, "errors")) ? CLI_CONFIG : CLI_OK;
}

/* ---- who asks ---- */

static void print_who(const json_t *who)
{
	size_t i;
	json_t *name;
	const char *right;
	json_t *way;
	printf("%s", phx_json_str(who, "identity", "?"));
	json_array_foreach(json_object_get(who, "roles"), i, name)
		printf("%s %s", i ? "," : ":", json_string_value(name));
	printf("\n");
	json_array_foreach(json_object_get(who, "ways"), i, way)
		printf("  as %s by %s %s\n", phx_json_str(way, "role", "?"),
		       phx_json_str(way, "way", "?"), phx_json_str(way, "of", ""));
	json_object_foreach(json_object_get(who, "rights"), right, name)
		if (!phx_str_eq(json_string_value(name), "-"))
			printf("  %-12s %s\n", right, json_string_value(name));
}

int cmd_whoami(struct cli *cli)
{
	PHX_AUTO_JSON json_t *who = NULL;
	int code = cli_get(cli, "/v1/whoami", &who);
	if (code)
		return code;
	if (cli_structured(cli))
		cli_print_value(cli, who);
	else
		print_who(who);
	return CLI_OK;
}

/* ---- config ---- */

static const struct cli_column config_columns[] = {
	{.head = "KEY", .path = "key"},
	{.head = "VALUE", .path = "value"},
	{.head = "ORIGIN", .path = "origin"},
};

static int print_config(struct cli *cli, const json_t *whole)
{
	size_t n = PHX_ARRAY_SIZE(config_columns) - !cli_has(cli, CLI_OPT_origin);
	return cli_print_rows(cli, config_columns, n, json_object_get(whole, "config"), whole);
}

/* Leaves the keys that are asked for, in the order of the words. */
static int pick_keys(const struct cli *cli, json_t *whole)
{
	json_t *lines = json_object_get(whole, "config"), *picked = json_array();
	for (unsigned i = 0; i < cli->args.n_args; i++) {
		const char *key = cli_arg(cli, i), *nearest = cli_nearest(lines, "key", key);
		size_t at = 0;
		while (at < json_array_size(lines) &&
		       strcmp(phx_json_str(json_array_get(lines, at), "key", ""), key))
			at++;
		if (at == json_array_size(lines)) {
			json_decref(picked);
			return cli_fail(CLI_USAGE, "config show: there is no key '%s'%s%s%s", key,
					nearest ? "; did you mean '" : "", nearest ? nearest : "",
					nearest ? "'?" : "");
		}
		json_array_append(picked, json_array_get(lines, at));
	}
	json_object_set_new(whole, "config", picked);
	return CLI_OK;
}

int cmd_config_show(struct cli *cli)
{
	PHX_AUTO_JSON json_t *whole = NULL;
	int code = cli_get(cli, "/v1/config", &whole);
	if (code == CLI_OK && cli->args.n_args)
		code = pick_keys(cli, whole);
	return code ? code : print_config(cli, whole);
}

/* What the files name must be there, on the machine that this is asked on: the head. */
static int check_system(struct cli *cli, const char *path)
{
	struct phx_list missing = {0};
	int r = phx_config_check_system(&cli->config, path, &missing);
	for (uint32_t i = 0; i < missing.n; i++)
		cli_fail(CLI_CONFIG, "%s", phx_text_at(&missing, i));
	int code = r < 0 ? cli_fail(CLI_PARTIAL, "out of memory") : missing.n ? CLI_CONFIG : CLI_OK;
	for (uint32_t i = 0; i < missing.n; i++)
		free(PHX_LIST_AT(&missing, struct phx_text, i)->text);
	phx_list_fini(&missing);
	return code;
}

int cmd_config_check(struct cli *cli)
{
	const char *path = cli_arg(cli, 0);
	path = path ? path : cli_opt(cli, CLI_OPT_config, getenv("PHX_CONFIG"));
	/* that must be there, to be checked: defaults need none */
	path = path ? path : PHX_CONFIG_PATH;
	cli->args.opt[CLI_OPT_config] = (struct cli_values){.v = {path}, .n = 1};
	const struct phx_config *cfg = cli_config(cli);
	struct phx_list lines = {0};
	if (!cfg)
		return CLI_CONFIG;
	int code = check_system(cli, path);
	if (code)
		return code;
	if (phx_config_show(cfg, &lines) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	PHX_AUTO_JSON json_t *whole = json_pack("{s:[]}", "config");
	PHX_LIST_EACH(struct phx_config_line, line, &lines)
		json_array_append_new(json_object_get(whole, "config"),
				      phx_json_from_record(&phx_config_line_record, line));
	phx_list_fini(&lines);
	return print_config(cli, whole);
}
