/* phx web: who is behind the balancers, and which of these has which address. Changes nothing. */
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

/* The directors that have addresses: "n1", "n1 and n2". */
static void put_acting(struct phx_buf *b, const json_t *answer)
{
	size_t i;
	json_t *director;
	json_array_foreach(json_object_get(answer, "directors"), i, director) {
		if (!phx_json_bool(director, "acting", false))
			continue;
		phx_buf_addf(b, "%s", b->n ? " and " : "");
		cli_put_clean(b, phx_json_str(director, "node", ""));
	}
	if (!b->n) /* an older head names one only */
		cli_put_clean(b, phx_json_str(answer, "director", ""));
}

/* A line below the table, for people: whether the kernels of the directors have it. */
static void print_director(const json_t *answer)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	put_acting(&b, answer);
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

/* What a command shows of the services. */
struct listing {
	void (*add)(json_t *rows, const json_t *service);
	const struct cli_column *columns;
	size_t n_columns;
	void (*below)(const json_t *answer, const json_t *rows); /* the table, for people */
};

static int print_services(struct cli *cli, const struct listing *l)
{
	PHX_AUTO_JSON json_t *answer = NULL, *rows = json_array();
	size_t i;
	json_t *service;
	int code = cli_get(cli, "/v1/balance", &answer);
	if (code)
		return code;
	json_array_foreach(json_object_get(answer, "services"), i, service)
		l->add(rows, service);
	code = cli_print_rows(cli, l->columns, l->n_columns, rows, answer);
	if (cli->format == CLI_TABLE)
		l->below(answer, rows);
	return code;
}

static void print_below(const json_t *answer, const json_t *rows)
{
	if (json_array_size(rows))
		print_director(answer);
	print_unknown(rows);
}

int cmd_web_list(struct cli *cli)
{
	const struct listing l = {add_rows, columns, PHX_ARRAY_SIZE(columns), print_below};
	return print_services(cli, &l);
}

/* ---- who has which address ---- */

static void put_director(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const char *name = json_string_value(value);
	(void)row;
	if (name && name[0])
		cli_put_clean(b, name);
	else if (!cli_plain())
		phx_buf_addf(b, "nobody");
}

static const struct cli_column addresses[] = {
	{.head = "SERVICE", .path = "service"},
	{.head = "DIRECTOR", .path = "director", .put = put_director},
	{.head = "SINCE", .path = "since_ms", .put = cli_put_when},
	{.head = "INSTANCES", .path = "instances", .right = true},
	{.head = "ACTIVE", .path = "active", .right = true},
};

/* A row a service; its connections are unknown (null) where those of one server are. */
static void add_address(json_t *rows, const json_t *service)
{
	json_int_t active = 0;
	bool known = true;
	size_t i;
	json_t *server, *row = json_object();
	json_array_foreach(json_object_get(service, "servers"), i, server) {
		const json_t *its = json_object_get(server, "active");
		known = known && json_is_integer(its);
		active += json_integer_value(its);
	}
	json_object_set_new(row, "service",
			    json_sprintf("%s:%d", phx_json_str(service, "address", "?"),
					 (int)phx_json_int(service, "port", 0)));
	json_object_set(row, "director", json_object_get(service, "director"));
	json_object_set(row, "since_ms", json_object_get(service, "since_ms"));
	json_object_set_new(row, "instances", json_integer((json_int_t)i));
	json_object_set_new(row, "active", known ? json_integer(active) : json_null());
	json_array_append_new(rows, row);
}

/* Lines below the table, for people: the directors that have no address. */
static void print_others(const json_t *answer, const json_t *rows)
{
	size_t i;
	json_t *director;
	(void)rows;
	json_array_foreach(json_object_get(answer, "directors"), i, director) {
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		if (phx_json_bool(director, "acting", false))
			continue;
		cli_put_clean(&b, phx_json_str(director, "node", "?"));
		fprintf(stderr, "%s %s\n", b.data ? b.data : "?",
			phx_json_bool(director, "up", false) ? "stands by" : "is not heard");
	}
}

int cmd_web_show(struct cli *cli)
{
	const struct listing l = {add_address, addresses, PHX_ARRAY_SIZE(addresses), print_others};
	return print_services(cli, &l);
}
