/* phx role: what roles there are, and which role the rules would give. Roles are
 * edited as files; nothing here changes one. Checking them is in role_check.c. */

#include "base/json.h"
#include "phx/cli.h"

/* "nginx-1.0 page-2" of a list of packages. */
static void put_packages(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	size_t i;
	json_t *package;
	json_array_foreach((json_t *)value, i, package)
		phx_buf_addf(b, "%s%s-%s", i ? " " : "", phx_json_str(package, "name", ""),
			     phx_json_str(package, "version", ""));
}

/* A time of a role's file; 0 is one too. */
static void put_seconds(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	if (json_is_integer(value))
		cli_put_duration(b, 1000 * json_integer_value(value));
}

static void put_image(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const char *version = phx_json_str(row, "image_version", "");
	phx_buf_addf(b, "%s%s%s", json_string_value(value) ? json_string_value(value) : "",
		     *version ? " " : "", version);
}

/* These and "yes" are absent in what a user is told, who reads names alone. */
static void put_health(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	if (!value)
		return;
	const char *kind = phx_json_str(value, "kind", "none");
	phx_buf_addf(b, "%s", kind);
	if (phx_str_eq(kind, "none"))
		return;
	phx_buf_addf(b, " %s", phx_json_str(value, "target", ""));
	cli_put_words(b, json_object_get(value, "argv"), NULL);
	phx_buf_addf(b, " every %lld s, %lld failures",
		     (long long)phx_json_int(value, "interval_s", 0),
		     (long long)phx_json_int(value, "failures", 0));
}

static void put_yes(struct phx_buf *b, const json_t *value, const json_t *row)
{
	if (value)
		cli_put_yes(b, value, row);
}

static const struct cli_column role_columns[] = {
	{.head = "ROLE", .path = "name"},
	{.head = "POOL", .path = "pool"},
	{.head = "BOOT", .path = "boot"},
	{.head = "IMAGE", .path = "image", .put = put_image},
	{.head = "PACKAGES", .path = "packages", .put = put_packages},
	{.head = "JOBS", .path = "runs_jobs", .put = put_yes, .wide = true},
	{.head = "HEALTH", .path = "health", .put = put_health, .wide = true},
	{.head = "SUMMARY", .path = "summary"},
};

int cmd_role_list(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = cli_get(cli, "/v1/roles", &answer);
	return code ? code
		    : cli_print_rows(cli, role_columns, PHX_ARRAY_SIZE(role_columns),
				     json_object_get(answer, "roles"), answer);
}

static const struct cli_column service_columns[] = {
	{.head = "SERVICE", .path = "name"},
	{.head = "PACKAGE", .path = "package"},
	{.head = "USER", .path = "user"},
	{.head = "RESTART", .path = "restart", .put = put_yes},
	{.head = "SETTLE", .path = "settle_s", .put = put_seconds, .right = true},
	{.head = "AFTER", .path = "after", .put = cli_put_words},
	{.head = "COMMAND", .path = "argv", .put = cli_put_words},
};

static const struct cli_column show_lines[] = {
	{.head = "Summary", .path = "summary"},
	{.head = "Pool", .path = "pool"},
	{.head = "Boot", .path = "boot"},
	{.head = "Image", .path = "image", .put = put_image},
	{.head = "Packages", .path = "packages", .put = put_packages},
	{.head = "Jobs", .path = "runs_jobs", .put = put_yes},
	{.head = "Drain grace", .path = "drain_grace_s", .put = put_seconds},
	{.head = "Ports", .path = "ports", .put = cli_put_words},
	{.head = "On leave", .path = "leave_remove", .put = cli_put_words},
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

/* ---- match ---- */

static const struct cli_column match_columns[] = {
	{.head = "NODE", .path = "node"},
	{.head = "ROLE", .path = "role"},
	{.head = "REASON", .path = "reason"},
};

int cmd_role_match(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL, *nodes = NULL, *rows = json_array();
	int code = cli_nodes_select(cli, cli_arg(cli, 0), "name", &nodes);
	if (!code)
		code = cli_get(cli, "/v1/rules/match", &answer);
	if (code)
		return code;
	size_t i;
	json_t *match;
	json_array_foreach(json_object_get(answer, "matches"), i, match) {
		if (cli_node_find(nodes, phx_json_str(match, "node", "")))
			json_array_append(rows, match);
	}
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "matches", rows);
	return cli_print_rows(cli, match_columns, PHX_ARRAY_SIZE(match_columns), rows, whole);
}
