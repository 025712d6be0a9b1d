/* phx web: who is behind the balancers. */
#include "base/json.h"
#include "phx/cli.h"

static const struct cli_column columns[] = {
	{.head = "SERVICE", .path = "service"},	  {.head = "SCHEDULER", .path = "scheduler"},
	{.head = "NODE", .path = "node"},	  {.head = "ADDRESS", .path = "address"},
	{.head = "POOL", .path = "pool"},	  {.head = "WEIGHT", .path = "weight", .right = true},
	{.head = "ACTIVE", .path = "active", .right = true}, {.head = "INACTIVE", .path = "inactive", .right = true},
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
		fprintf(stderr, "in force on %s\n", b.data);
	else
		fprintf(stderr, "not in force yet on %s\n", b.data);
}

int cmd_web_list(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL, *rows = json_array();
	size_t i;
	json_t *service;
	int code = cli_get(cli, "/v1/balance", &answer);
	if (code)
		return code;
	json_array_foreach(json_object_get(answer, "services"), i, service) add_rows(rows, service);
	code = cli_print_rows(cli, columns, PHX_ARRAY_SIZE(columns), rows, answer);
	if (cli->format == CLI_TABLE && json_array_size(rows))
		print_director(answer);
	return code;
}
