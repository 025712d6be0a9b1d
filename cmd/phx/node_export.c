/* phx node export: nodes as phx node add --from reads them, by the same table of columns
 * (node_csv.c), so that what is exported and imported is the same. Prints no secret: of a BMC the
 * path of its password's file. */
#include <string.h>

#include "base/json.h"
#include "phx/node_add.h"
#include "types/bmc.h"

enum { COLUMNS_MAX = 32 };

/* ---- a node ---- */

static void take_text(json_t *to, const json_t *from, const char *key)
{
	const char *text = phx_json_str(from, key, "");
	if (*text)
		json_object_set_new(to, key, json_string(text));
}

static void take_bmc(json_t *to, const json_t *bmc)
{
	json_t *mine = json_object();
	for (size_t i = 0; i < phx_bmc_record.n_fields; i++) {
		const char *key = phx_bmc_record.fields[i].name;
		take_text(mine, bmc, key);
		if (phx_json_bool(bmc, key, false))
			json_object_set_new(mine, key, json_true());
	}
	/* its own name is what the head takes for it */
	if (phx_str_eq(phx_json_str(mine, "node", ""), phx_json_str(to, "name", "")))
		json_object_del(mine, "node");
	if (json_object_size(mine))
		json_object_set_new(to, "bmc", mine);
	else
		json_decref(mine);
}

/* The body that would announce it. One that nobody has accepted stays so. */
static json_t *body_of(const json_t *node)
{
	json_t *body = json_object(), *macs = json_array(), *mac;
	size_t i;
	for (const struct cli_node_column *k = cli_node_columns; k->name; k++)
		if (k->member && !k->put)
			take_text(body, node, k->member);
	json_array_foreach(json_object_get(node, "macs"), i, mac)
		json_array_append(macs, json_object_get(mac, "mac"));
	json_object_set_new(body, "macs", macs);
	if (!phx_json_bool(node, "accepted", false))
		json_object_set_new(body, "hold", json_true());
	take_bmc(body, json_object_get(node, "bmc"));
	return body;
}

/* ---- what cannot be exported ---- */

/* The head keeps of a token what it can be compared with, and no more. */
static bool is_known_by_token(const json_t *node)
{
	return !json_array_size(json_object_get(node, "macs")) &&
		!*phx_json_str(node, "serial", "");
}

static int gather(const json_t *nodes, json_t *bodies)
{
	PHX_AUTO_JSON json_t *without = json_array();
	size_t i;
	json_t *node;
	json_array_foreach((json_t *)nodes, i, node) {
		if (!json_object_get(node, "macs"))
			return cli_fail(CLI_NOT_PERMITTED,
					"node export: by what a machine is known the resource "
					"provider alone is shown");
		if (is_known_by_token(node))
			json_array_append(without, json_object_get(node, "name"));
		else
			json_array_append_new(bodies, body_of(node));
	}
	PHX_AUTO_FREE char *folded = cli_nodes_fold(without);
	return !json_array_size(without)
		? CLI_OK
		: cli_fail(CLI_PARTIAL,
			   "node export: %s: left out: by its token alone, which the head does not "
			   "keep, it would be recognised",
			   folded ? folded : "?");
}

/* ---- columns ---- */

struct table {
	struct cli_column columns[COLUMNS_MAX];
	char names[COLUMNS_MAX][64], paths[COLUMNS_MAX][64];
	size_t n;
};

static bool has_key(const json_t *bodies, const char *key)
{
	size_t i;
	json_t *body;
	json_array_foreach((json_t *)bodies, i, body) {
		if (json_object_get(json_object_get(body, "bmc"), key))
			return true;
	}
	return false;
}

/* Of BMCs those keys that one of the nodes has. */
static void make_columns(const json_t *bodies, struct table *t)
{
	for (const struct cli_node_column *k = cli_node_columns; k->name; k++)
		if (k->member)
			t->columns[t->n++] = (struct cli_column){
				.head = k->name, .path = k->member, .put = k->put};
	for (size_t i = 0; i < phx_bmc_record.n_fields && t->n < COLUMNS_MAX; i++) {
		const struct phx_field *f = &phx_bmc_record.fields[i];
		if (!has_key(bodies, f->name))
			continue;
		snprintf(t->names[t->n], sizeof(t->names[0]), "bmc_%s", f->name);
		snprintf(t->paths[t->n], sizeof(t->paths[0]), "bmc.%s", f->name);
		t->columns[t->n] =
			(struct cli_column){.head = t->names[t->n],
					    .path = t->paths[t->n],
					    .put = f->type == PHX_F_BOOL ? cli_put_true : NULL};
		t->n++;
	}
}

int cmd_node_export(struct cli *cli)
{
	PHX_AUTO_JSON json_t *nodes = NULL, *bodies = json_array();
	struct table t = {.n = 0};
	int code = cli_nodes_select(cli, cli_arg(cli, 0), "name,macs,serial,uuid,ip,accepted,bmc",
				    &nodes);
	int told = code ? code : gather(nodes, bodies);
	if (told && told != CLI_PARTIAL)
		return told;
	make_columns(bodies, &t);
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "nodes", bodies);
	cli->format = cli->format == CLI_TABLE ? CLI_CSV : cli->format;
	code = cli_print_rows(cli, t.columns, t.n, bodies, whole);
	return code ? code : told;
}
