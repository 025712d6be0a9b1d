/* phx web: who is behind the balancers. Changes nothing. */
#include "base/json.h"
#include "phx/cli.h"

static void put_use(struct phx_buf *b, const json_t *value, const json_t *row)
{
	if (json_is_integer(value) && cli_plain())
		phx_buf_addf(b, "%.4f", (double)json_integer_value(value) / 1e6);
	else if (json_is_integer(value))
		phx_buf_addf(b, "%.1f %%", (double)json_integer_value(value) / 10000);
	else if (phx_json_str(row, "node", "")[0] && !cli_plain())
		phx_buf_addf(b, "unknown");
}

static const struct cli_column columns[] = {
	{.head = "SERVICE", .path = "service"},
	{.head = "SCHEDULER", .path = "scheduler"},
	{.head = "NODE", .path = "node"},
	{.head = "ADDRESS", .path = "address"},
	{.head = "POOL", .path = "pool"},
	{.head = "WEIGHT", .path = "weight", .right = true},
	{.head = "ACTIVE", .path = "active", .right = true},
	{.head = "INACTIVE", .path = "inactive", .right = true},
	{.head = "USE", .path = "use_ppm", .put = put_use, .right = true},
};

/* A row a server; a service without any is a row too. */
static void add_rows(json_t *rows, const json_t *service)
{
	const json_t *servers = json_object_get(service, "servers");
	size_t n = json_array_size(servers);
	for (size_t i = 0; i < n || i == 0; i++) {
		const json_t *server = json_array_get(servers, i);
		json_t *row = server ? json_copy((json_t *)server) : json_object();
		json_object_set_new(row, "service",
				    json_sprintf("%s:%d", phx_json_str(service, "address", "?"),
						 (int)phx_json_int(service, "port", 0)));
		json_object_set(row, "scheduler", json_object_get(service, "scheduler"));
		json_array_append_new(rows, row);
	}
}

/* A line below the table, for people: whether the kernel of the director has it. */
static void print_director(const json_t *answer)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	cli_put_clean(&b, phx_json_str(answer, "director", ""));
	if (!b.n)
		fprintf(stderr, "no director is up: nobody forwards requests\n");
	else if (phx_json_bool(answer, "in_force", false))
		fprintf(stderr, "the table is in force on %s\n", b.data);
	else
		fprintf(stderr, "the table is not in force yet on %s\n", b.data);
}

/* Why a use is unknown: below the table too, a line a node. */
static void print_unknown(const json_t *rows)
{
	size_t i;
	json_t *row;
	json_array_foreach((json_t *)rows, i, row) {
		const char *reason = phx_json_str(row, "use_reason", "");
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		if (!reason[0])
			continue;
		cli_put_clean(&b, reason);
		fprintf(stderr, "use of %s is unknown: %s\n", phx_json_str(row, "node", "?"),
			b.data ? b.data : "");
	}
}

int cmd_web_list(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL, *rows = json_array();
	size_t i;
	json_t *service;
	int code = cli_get(cli, "/v1/balance", &answer);
	if (code)
		return code;
	json_array_foreach(json_object_get(answer, "services"), i, service)
		add_rows(rows, service);
	code = cli_print_rows(cli, columns, PHX_ARRAY_SIZE(columns), rows, answer);
	if (cli->format == CLI_TABLE && json_array_size(rows))
		print_director(answer);
	if (cli->format == CLI_TABLE)
		print_unknown(rows);
	return code;
}
