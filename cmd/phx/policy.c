/* phx policy: the policies that can be named in agreements and simulations,
 * from the tables of which they are made. Needs no phxd. */
#include <string.h>

#include "base/json.h"
#include "batch/batch.h"
#include "phx/cli.h"
#include "phx/policy_rows.h"
#include "policy/policy.h"

static int add_row(json_t *rows, const char *kind, const struct policy_row *row)
{
	if (kind && strcmp(kind, row->kind))
		return 0;
	return json_array_append_new(rows,
				     json_pack("{s:s, s:s, s:s, s:s, s:s}", "kind", row->kind,
					       "name", row->name, "parameters", row->params,
					       "source", row->source, "text", row->text));
}

static int add_models(json_t *rows, const char *kind)
{
	int r = 0;
	for (int id = 0; r == 0 && id < PHX_POLICY_COUNT_; id++) {
		const struct phx_policy *p = phx_policy((enum phx_policy_id)id);
		r = add_row(rows, kind,
			    &(struct policy_row){"coordination", p->name, p->params, p->text,
						 p->source, NULL});
	}
	return r;
}

static int add_kill_orders(json_t *rows, const char *kind)
{
	int r = 0;
	for (int id = 0; r == 0 && id < PHX_KILL_ORDER_COUNT_; id++)
		r = add_row(rows, kind,
			    &(struct policy_row){
				    "kill-order", phx_enum_name(&phx_kill_order_names, id), "",
				    phx_kill_order_text((enum phx_kill_order)id), "", NULL});
	return r;
}

static int add_tables(json_t *rows, const char *kind)
{
	const struct policy_row *table;
	size_t n = policy_rows(&table);
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_row(rows, kind, &table[i]);
	return r;
}

static const struct cli_column columns[] = {
	{.head = "NAME", .path = "name"},
	{.head = "KIND", .path = "kind"},
	{.head = "PARAMETERS", .path = "parameters"},
	{.head = "SOURCE", .path = "source", .wide = true},
	{.head = "WHAT IT DOES", .path = "text"},
};

int cmd_policy_list(struct cli *cli)
{
	const char *kind = cli_arg(cli, 0);
	PHX_AUTO_JSON json_t *whole = json_pack("{s:[]}", "policies");
	json_t *rows = json_object_get(whole, "policies");
	if (!rows || add_models(rows, kind) || add_kill_orders(rows, kind) ||
	    add_tables(rows, kind))
		return cli_fail(CLI_PARTIAL, "out of memory");
	return cli_print_rows(cli, columns, PHX_ARRAY_SIZE(columns), rows, whole);
}
