/* phx sim tables: the papers' experiments run again, every published figure
 * beside ours. Needs no phxd. */
#include <errno.h>
#include <math.h>

#include "phx-sim/sim.h"
#include "study/papers.h"

/* Is the experiment one of those asked for? */
static bool is_wanted(const struct cli *cli, const char *experiment)
{
	for (size_t i = 0; i < cli->args.n_args; i++)
		if (phx_str_starts(experiment, cli->args.arg[i]))
			return true;
	return cli->args.n_args == 0;
}

static json_t *row_json(const struct phx_paper_row *row, const struct phx_paper_value *v)
{
	char difference[32] = "";
	if (!isnan(v->difference) && v->near != PHX_PAPER_EXACT)
		snprintf(difference, sizeof(difference), "%+.2f %%", v->difference * 100);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "experiment",
			 row->experiment, "config", row->config, "metric", row->metric, "published",
			 row->published, "ours", v->ours, "difference", difference, "near",
			 *row->published ? phx_enum_name(&phx_paper_near_names, v->near) : "", "is",
			 phx_enum_name(&phx_paper_kind_names, row->kind), "note",
			 v->near == PHX_PAPER_EXACT ? "" : row->note);
}

/* Rows that want a trace which is not there stay, without a figure. */
static int collect(struct cli *cli, struct phx_papers *p, json_t *rows, size_t *ret_missing,
		   struct phx_err *err)
{
	*ret_missing = 0;
	for (size_t i = 0; i < phx_papers_rows(p); i++) {
		struct phx_paper_value v = {.near = PHX_PAPER_NONE, .difference = NAN};
		const struct phx_paper_row *row = phx_papers_row(p, i);
		if (!is_wanted(cli, row->experiment))
			continue;
		struct phx_err why = {0};
		int r = phx_papers_value(p, i, &v, &why);
		if (r < 0)
			phx_err_set(err, r, "%s", why.text); /* the first is told */
		if (r < 0 && r != -ENOENT)
			return r;
		*ret_missing += r < 0;
		json_array_append_new(rows, row_json(phx_papers_row(p, i), &v));
	}
	return 0;
}

static int print_rows(struct cli *cli, const json_t *rows)
{
	bool people =
		cli->format == CLI_TABLE || cli->format == CLI_WIDE || cli->format == CLI_MARKDOWN;
	const struct cli_column columns[] = {
		{.head = people ? "EXPERIMENT" : "experiment", .path = "experiment"},
		{.head = people ? "CONFIG" : "config", .path = "config"},
		{.head = people ? "METRIC" : "metric", .path = "metric"},
		{.head = people ? "PUBLISHED" : "published", .path = "published", .right = true},
		{.head = people ? "OURS" : "ours", .path = "ours", .right = true},
		{.head = people ? "OURS IS" : "is", .path = "is"},
		{.head = "DIFFERENCE", .path = "difference", .right = true},
		{.head = "NEAR", .path = "near"},
	};
	return cli_print_rows(cli, columns, people ? PHX_ARRAY_SIZE(columns) : 6, rows, rows);
}

static int print_markdown(struct cli *cli, struct phx_papers *p)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_err err = {0};
	int r = phx_papers_markdown(p, sim_traces(cli), sim_workers(cli), &b, &err);
	if (r < 0)
		return sim_fail(r, &err);
	fputs(b.data, stdout);
	return CLI_OK;
}

static int print_tables(struct cli *cli, struct phx_papers *p)
{
	struct phx_err err = {0};
	size_t missing;
	int r = cli->args.n_args ? 0 : phx_papers_prepare(p, sim_workers(cli), &err);
	if (r < 0 && r != -ENOENT)
		return sim_fail(r, &err);
	if (cli->format == CLI_MARKDOWN && cli->args.n_args == 0)
		return r < 0 ? sim_fail(r, &err) : print_markdown(cli, p);
	phx_err_clear(&err);
	json_t *rows = json_array();
	r = collect(cli, p, rows, &missing, &err);
	int code = r < 0 ? sim_fail(r, &err)
		: !json_array_size(rows)
		? cli_fail(CLI_USAGE, "sim tables: no experiment begins with %s", cli_arg(cli, 0))
		: print_rows(cli, rows);
	json_decref(rows);
	if (code == CLI_OK && missing)
		code = cli_fail(CLI_PARTIAL, "%zu rows have no figure: %s", missing, err.text);
	return code;
}

int cmd_sim_tables(struct cli *cli)
{
	struct phx_papers *p;
	if (phx_papers_new(sim_traces(cli), NULL, &p) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int code = print_tables(cli, p);
	phx_papers_free(p);
	return code;
}
