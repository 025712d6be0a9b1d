/* phx node list: the table of nodes, of which --columns chooses and by which --sort orders. Changes
 * nothing. */
#include <string.h>

#include "base/json.h"
#include "phx/cli.h"

/* ---- columns ---- */

static void put_age(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)value;
	bool up = phx_json_bool(row, "up", false);
	cli_put_since(b, json_object_get(row, up ? "up_since_ms" : "missing_since_ms"), row);
}

void cli_put_turn(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const char *stopped = phx_json_str(value, "stopped", "");
	(void)row;
	if (!json_is_object(value))
		return;
	phx_buf_addf(b, "waits for its reboot (%lld of %lld done)%s",
		     (long long)phx_json_int(value, "done", 0),
		     (long long)phx_json_int(value, "of", 0), *stopped ? ", stopped: " : "");
	cli_put_clean(b, stopped);
}

static void put_note(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)value;
	const char *state = phx_json_str(row, "state", ""),
		   *reason = phx_json_str(row, "reason", "");
	const json_t *plan = json_object_get(row, "plan");
	const json_t *turn = json_object_get(row, "turn");
	if (turn && !json_is_null(turn)) {
		cli_put_turn(b, turn, row);
	} else if (cli_plan_active(plan)) {
		cli_plan_short(b, plan);
		const json_t *step = json_array_get(json_object_get(plan, "steps"),
						    (size_t)phx_json_int(plan, "cursor", 0));
		const char *error = phx_json_str(step, "error", "");
		if (!*error && phx_str_eq(phx_json_str(plan, "request", ""), "drain"))
			error = reason; /* what it goes into maintenance for */
		if (*error) {
			phx_buf_addf(b, ": ");
			cli_put_clean(b, error);
		}
	} else if (*reason) {
		cli_put_clean(b, reason);
	} else if (*phx_json_str(row, "soft_failed", "")) {
		phx_buf_addf(b, "is not off: ");
		cli_put_clean(b, phx_json_str(row, "soft_failed", ""));
	} else if (phx_json_int(row, "soft_until_ms", 0)) {
		phx_buf_addf(b, "switches itself off");
	} else if (*phx_json_str(row, "gave_up", "")) {
		cli_put_clean(b, phx_json_str(row, "gave_up", ""));
	} else if (phx_str_eq(state, "active") && !phx_json_bool(row, "up", false)) {
		phx_buf_addf(b, "%s%s%s",
			     phx_str_eq(phx_json_str(row, "power", ""), "off") ? "is off"
									       : "is not heard",
			     phx_str_eq(phx_json_str(row, "allocation", ""), "away")
				     ? ", its RE waits for it"
				     : "",
			     phx_json_int(row, "claimed_ms", 0) ? CLI_CLAIMED : "");
	} else if (phx_str_eq(state, "active") && phx_json_bool(row, "drift", false)) {
		phx_buf_addf(b, "drift: runs ");
		cli_put_clean(b, phx_json_str(row, "actual_identity", "something else"));
	} else if (phx_str_starts(phx_json_str(row, "site", ""), "failed")) {
		phx_buf_addf(b, "settings of the site: ");
		cli_put_clean(b, phx_json_str(row, "site", ""));
	} else if (phx_str_eq(state, "active") && !phx_json_bool(row, "healthy", false)) {
		const char *text = phx_json_str(row, "health_text", "");
		phx_buf_addf(b, "%s", *text ? "unhealthy: " : "its health is not told yet");
		cli_put_clean(b, text);
	} else if (phx_str_eq(state, "new")) {
		bool asked = phx_json_bool(row, "asked", false);
		phx_buf_addf(b, "%s", asked ? "wants phx node accept" : "announced, not seen yet");
	}
}

static void put_mac(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	cli_put_clean(b, phx_json_str(json_array_get(value, 0), "mac", ""));
}

static void put_disks(struct phx_buf *b, const json_t *value, const json_t *row)
{
	size_t i;
	json_t *disk;
	json_array_foreach((json_t *)value, i, disk) {
		phx_buf_addf(b, "%s", i ? ", " : "");
		cli_put_size(b, json_object_get(disk, "size_bytes"), row);
	}
}

static const struct cli_column list_columns[] = {
	{.head = "NODE", .path = "name"},
	{.head = "STATE", .path = "state"},
	{.head = "POOL", .path = "pool"},
	{.head = "ROLE", .path = "role"},
	{.head = "UP", .path = "up", .put = cli_put_yes},
	{.head = "AGE", .path = "", .put = put_age, .right = true},
	{.head = "POWER", .path = "power"},
	{.head = "ENV", .path = "env", .wide = true},
	{.head = "ADDRESS", .path = "address", .wide = true},
	{.head = "MAC", .path = "macs", .put = put_mac, .wide = true},
	{.head = "CPUS", .path = "facts.cpus", .wide = true, .right = true},
	{.head = "MEMORY",
	 .path = "facts.memory_bytes",
	 .put = cli_put_size,
	 .wide = true,
	 .right = true},
	{.head = "DISKS", .path = "facts.disks", .put = put_disks, .wide = true},
	{.head = "IMAGE", .path = "system_image", .wide = true},
	{.head = "BOOT", .path = "facts.boot_mode", .wide = true},
	{.head = "LABELS", .path = "labels", .put = cli_put_labels, .wide = true},
	{.head = "PINNED", .path = "pinned", .put = cli_put_yes, .wide = true},
	{.head = "SITE", .path = "site", .wide = true},
	{.head = "AGENT", .path = "agent_version", .wide = true},
	{.head = "CHECK", .path = "checks", .put = cli_put_checked, .wide = true},
	{.head = "NOTE", .path = "", .put = put_note},
};

/* What the columns that are no wide ones are made of. Of most nodes the half of it is empty, and is
 * not sent. */
static const char list_fields[] = "name,state,pool,role,up,up_since_ms,missing_since_ms,power,plan,"
				  "reason,gave_up,allocation,drift,"
				  "actual_identity,healthy,health_text,asked,claimed_ms,site,"
				  "soft_until_ms,soft_failed,turn&sparse=yes";

/* ---- which columns, and in which order ---- */

/* The column whose head is the first `n` letters of the word, in any case; NULL: none. */
static const struct cli_column *find_column(const char *word, size_t n)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(list_columns); i++)
		if (strlen(list_columns[i].head) == n &&
		    !strncasecmp(list_columns[i].head, word, n))
			return &list_columns[i];
	return NULL;
}

static int no_column(const char *option, const char *word, size_t n)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(list_columns); i++)
		phx_buf_addf(&b, "%s%s", i ? ", " : "", list_columns[i].head);
	return cli_fail(CLI_USAGE, "%s: there is no column '%.*s'; there are: %s", option, (int)n,
			word, b.data ? b.data : "?");
}

/* One key of --sort. */
struct key {
	const struct cli_column *column;
	bool down;
};

struct cell {
	char *text[4];
	json_t *row;
	size_t place; /* equal rows stay as they were */
};

struct sorting {
	struct key keys[4];
	size_t n_keys;
};

static int read_keys(struct cli *cli, struct sorting *ret)
{
	const char *p = cli_opt(cli, CLI_OPT_sort, "");
	for (; *p; p += strcspn(p, ","), p += *p == ',') {
		bool down = *p == '-';
		size_t n = strcspn(p + down, ",");
		const struct cli_column *c = find_column(p + down, n);
		if (!c)
			return no_column("--sort", p + down, n);
		if (ret->n_keys == PHX_ARRAY_SIZE(ret->keys))
			return cli_fail(CLI_USAGE, "--sort: at most %zu columns",
					PHX_ARRAY_SIZE(ret->keys));
		ret->keys[ret->n_keys++] = (struct key){c, down};
	}
	return CLI_OK;
}

/* n2 comes before n10. */
static int compare(const void *a, const void *b, void *arg)
{
	const struct sorting *by = arg;
	const struct cell *x = a, *y = b;
	for (size_t i = 0; i < by->n_keys; i++) {
		int order = strverscmp(x->text[i] ? x->text[i] : "", y->text[i] ? y->text[i] : "");
		if (order)
			return by->keys[i].down ? -order : order;
	}
	return x->place < y->place ? -1 : 1;
}

static int sort(const struct sorting *by, json_t *nodes)
{
	size_t n = json_array_size(nodes), i;
	struct cell *cells = calloc(n ? n : 1, sizeof(*cells));
	json_t *row;
	if (!cells)
		return cli_fail(CLI_PARTIAL, "out of memory");
	json_array_foreach(nodes, i, row) {
		cells[i] = (struct cell){.row = json_incref(row), .place = i};
		for (size_t k = 0; k < by->n_keys; k++)
			cells[i].text[k] = cli_cell_plain(by->keys[k].column, row);
	}
	qsort_r(cells, n, sizeof(*cells), compare, (void *)by);
	json_array_clear(nodes);
	for (i = 0; i < n; i++) {
		json_array_append_new(nodes, cells[i].row);
		for (size_t k = 0; k < by->n_keys; k++)
			free(cells[i].text[k]);
	}
	free(cells);
	return CLI_OK;
}

/* The columns of --columns; all of the table without it. */
static int read_columns(struct cli *cli, struct cli_column *ret, size_t *ret_n)
{
	const char *p = cli_opt(cli, CLI_OPT_columns, NULL);
	*ret_n = 0;
	if (!p) {
		memcpy(ret, list_columns, sizeof(list_columns));
		*ret_n = PHX_ARRAY_SIZE(list_columns);
		return CLI_OK;
	}
	for (; *p; p += strcspn(p, ","), p += *p == ',') {
		const struct cli_column *c = find_column(p, strcspn(p, ","));
		if (!c)
			return no_column("--columns", p, strcspn(p, ","));
		if (*ret_n == PHX_ARRAY_SIZE(list_columns))
			return cli_fail(CLI_USAGE, "--columns: a column is there twice");
		ret[*ret_n] = *c;
		ret[(*ret_n)++].wide = false;
	}
	return *ret_n ? CLI_OK : cli_fail(CLI_USAGE, "--columns: give names, such as NODE,STATE");
}

int cmd_node_list(struct cli *cli)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	struct cli_column columns[PHX_ARRAY_SIZE(list_columns)];
	struct sorting by = {.n_keys = 0};
	size_t n_columns;
	int code = read_columns(cli, columns, &n_columns);
	code = code ? code : read_keys(cli, &by);
	if (code)
		return code;
	bool all = cli_has(cli, CLI_OPT_columns) || by.n_keys;
	const char *fields = all           ? NULL
		: cli->format == CLI_TABLE ? list_fields
		: cli->format == CLI_NAME  ? "name"
					   : NULL;
	code = cli_nodes_select(cli, cli_arg(cli, 0), fields, &nodes);
	if (!code && by.n_keys)
		code = sort(&by, nodes);
	if (code)
		return code;
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "nodes", nodes);
	return cli_print_rows(cli, columns, n_columns, nodes, whole);
}
