/* phx role: what roles there are, whether role files are right, and which role
 * the rules would give. Roles are edited as files; nothing here changes one. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "config/role.h"
#include "phx/cli.h"

/* "nginx-1.0 page-2" of a list of packages. */
static void put_packages(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	size_t i;
	json_t *package;
	json_array_foreach((json_t *)value, i, package) phx_buf_addf(
		b, "%s%s-%s", i ? " " : "", phx_json_str(package, "name", ""), phx_json_str(package, "version", ""));
}

static void put_words(struct phx_buf *b, const json_t *value)
{
	size_t i;
	json_t *word;
	json_array_foreach((json_t *)value, i, word)
	{
		phx_buf_addf(b, "%s", i ? " " : "");
		cli_put_clean(b, json_is_string(word) ? json_string_value(word) : phx_json_str(word, "text", ""));
	}
}

static void put_word_list(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	put_words(b, value);
}

static void put_image(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const char *version = phx_json_str(row, "image_version", "");
	phx_buf_addf(b, "%s%s%s", json_string_value(value) ? json_string_value(value) : "", *version ? " " : "",
		     version);
}

static void put_health(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	const char *kind = phx_json_str(value, "kind", "none");
	phx_buf_addf(b, "%s", kind);
	if (phx_str_eq(kind, "none"))
		return;
	phx_buf_addf(b, " %s", phx_json_str(value, "target", ""));
	put_words(b, json_object_get(value, "argv"));
	phx_buf_addf(b, " every %lld s, %lld failures", (long long)phx_json_int(value, "interval_s", 0),
		     (long long)phx_json_int(value, "failures", 0));
}

static const struct cli_column role_columns[] = {
	{.head = "ROLE", .path = "name"},
	{.head = "POOL", .path = "pool"},
	{.head = "BOOT", .path = "boot"},
	{.head = "IMAGE", .path = "image", .put = put_image},
	{.head = "PACKAGES", .path = "packages", .put = put_packages},
	{.head = "JOBS", .path = "runs_jobs", .put = cli_put_yes, .wide = true},
	{.head = "HEALTH", .path = "health", .put = put_health, .wide = true},
	{.head = "SUMMARY", .path = "summary"},
};

int cmd_role_list(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = cli_get(cli, "/v1/roles", &answer);
	return code ? code
		    : cli_print_rows(cli, role_columns, PHX_ARRAY_SIZE(role_columns), json_object_get(answer, "roles"),
				     answer);
}

static const struct cli_column service_columns[] = {
	{.head = "SERVICE", .path = "name"},
	{.head = "PACKAGE", .path = "package"},
	{.head = "USER", .path = "user"},
	{.head = "RESTART", .path = "restart", .put = cli_put_yes},
	{.head = "AFTER", .path = "after", .put = put_word_list},
	{.head = "COMMAND", .path = "argv", .put = put_word_list},
};

static const struct cli_column show_lines[] = {
	{.head = "Summary", .path = "summary"},
	{.head = "Pool", .path = "pool"},
	{.head = "Boot", .path = "boot"},
	{.head = "Image", .path = "image", .put = put_image},
	{.head = "Packages", .path = "packages", .put = put_packages},
	{.head = "Jobs", .path = "runs_jobs", .put = cli_put_yes},
	{.head = "Drain grace", .path = "drain_grace_s"},
	{.head = "Ports", .path = "ports", .put = put_word_list},
	{.head = "On leave", .path = "leave_remove", .put = put_word_list},
	{.head = "Health", .path = "health", .put = put_health},
};

int cmd_role_show(struct cli *cli)
{
	const char *name = cli_arg(cli, 0);
	PHX_AUTO_JSON json_t *role = NULL;
	PHX_AUTO_FREE char *path = NULL;
	int code = cli_known(cli, "role", "/v1/roles", "roles", name);
	if (code)
		return code;
	if (asprintf(&path, "/v1/roles/%s", name) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	code = cli_get(cli, path, &role);
	if (code || cli_structured(cli))
		return code ? code : cli_print_value(cli, role);
	printf("%s\n", name);
	cli_print_lines(show_lines, PHX_ARRAY_SIZE(show_lines), role);
	const json_t *services = json_object_get(role, "services");
	if (json_array_size(services))
		putchar('\n');
	return cli_print_table(cli, service_columns, PHX_ARRAY_SIZE(service_columns), services, 2);
}

/* ---- check ---- */

static int check_file(const char *path)
{
	static const struct phx_role_lookup nothing = {0};
	struct phx_err err = {0};
	struct phx_role role;
	int r = phx_role_load(path, &nothing, &role, &err);
	if (r < 0)
		return cli_fail(CLI_CONFIG, "%s", err.text);
	printf("%s: role %s is well formed\n", path, role.name);
	phx_record_fini(&phx_role_record, &role);
	return CLI_OK;
}

static int check_rules(const char *path, const struct phx_list *roles)
{
	struct phx_list rules = {0};
	struct phx_err err = {0};
	int r = phx_rules_load(path, roles, &rules, &err);
	if (r < 0)
		return cli_fail(CLI_CONFIG, "%s", err.text);
	printf("%s: %u rules are well formed\n", path, rules.n);
	phx_rules_fini(&rules);
	return CLI_OK;
}

static int check_all(struct cli *cli)
{
	static const struct phx_role_lookup nothing = {0};
	const struct phx_config *cfg = cli_config(cli);
	struct phx_err err = {0};
	struct phx_list roles = {0}, bad = {0};
	if (!cfg)
		return CLI_CONFIG;
	int r = phx_roles_load(cfg->role_dir, &nothing, &roles, &bad, &err);
	if (r < 0)
		return cli_fail(CLI_CONFIG, "%s", err.text);
	int code = bad.n ? CLI_CONFIG : CLI_OK;
	PHX_LIST_EACH(struct phx_role_bad, b, &bad)
	cli_fail(CLI_CONFIG, "%s", b->reason);
	printf("%s: %u roles are well formed, %u are not\n", cfg->role_dir, roles.n, bad.n);
	int rules_code = check_rules(cfg->rules_file, &roles);
	phx_roles_fini(&roles);
	phx_list_fini(&bad);
	return code ? code : rules_code;
}

int cmd_role_check(struct cli *cli)
{
	int code = CLI_OK;
	for (unsigned i = 0; i < cli->args.n_args; i++) {
		const char *path = cli_arg(cli, i), *slash = strrchr(path, '/');
		bool rules = phx_str_eq(slash ? slash + 1 : path, "rules.conf");
		int c = rules ? check_rules(path, NULL) : check_file(path);
		code = c ? c : code;
	}
	return cli->args.n_args ? code : check_all(cli);
}

/* ---- match ---- */

static const struct cli_column match_columns[] = {
	{.head = "NODE", .path = "node"},
	{.head = "ROLE", .path = "role"},
	{.head = "REASON", .path = "reason"},
};

int cmd_role_match(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL, *nodes = NULL, *rows = json_array();
	int code = cli_nodes_select(cli, cli_arg(cli, 0), &nodes);
	if (!code)
		code = cli_get(cli, "/v1/rules/match", &answer);
	if (code)
		return code;
	size_t i;
	json_t *match;
	json_array_foreach(json_object_get(answer, "matches"), i, match)
	{
		if (cli_node_find(nodes, phx_json_str(match, "node", "")))
			json_array_append(rows, match);
	}
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "matches", rows);
	return cli_print_rows(cli, match_columns, PHX_ARRAY_SIZE(match_columns), rows, whole);
}
