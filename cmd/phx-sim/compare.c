/* phx sim compare: two scenarios, or results kept from -o json, side by side.
 * Needs no phxd. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "phx-sim/sim.h"

enum { RESULT_MAX = 16 << 20 };

static int load_result(const char *path, struct phx_sim_report *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	PHX_AUTO_JSON json_t *j = NULL;
	size_t n;
	int r = phx_file_read(path, RESULT_MAX, &text, &n, err);
	r = r < 0 ? r : phx_json_parse(text, n, &j, err);
	if (r < 0)
		return phx_err_prefix(err, r, "%s", path);
	return phx_sim_report_parse(path, j, ret, err);
}

static int run_one(const char *path, const struct cli_values *set, struct phx_trace_store *store,
		   struct phx_sim_report *ret, struct phx_err *err)
{
	const char *names[PHX_SIM_RES_MAX];
	struct phx_sim_scenario s = {0};
	struct phx_sim_result result = {0};
	int r = phx_sim_scenario_read(path, set->v, set->n, &s, err);
	for (uint32_t i = 0; r == 0 && i < s.res.n; i++)
		names[i] = PHX_LIST_AT(&s.res, struct phx_sim_scenario_re, i)->agreement.name;
	r = r < 0 ? r : phx_sim_scenario_run(&s, store, NULL, &result, err);
	r = r < 0 ? r : phx_sim_report_make(s.name, names, &result, ret);
	phx_sim_result_fini(&result);
	phx_sim_scenario_fini(&s);
	return r;
}

/* What ends in .json is a result, anything else a scenario. */
static int get_report(struct cli *cli, const char *path, struct phx_trace_store *store,
		      struct phx_sim_report *ret, struct phx_err *err)
{
	size_t n = strlen(path);
	if (n > 5 && !strcmp(path + n - 5, ".json"))
		return load_result(path, ret, err);
	return run_one(path, &cli->args.opt[CLI_OPT_set], store, ret, err);
}

static const struct phx_sim_report_row *find_row(const struct phx_sim_report *r, const char *name)
{
	PHX_LIST_EACH(const struct phx_sim_report_row, row, &r->rows) {
		if (!strcmp(row->name, name))
			return row;
	}
	return NULL;
}

static int print_pair(struct cli *cli, const struct phx_sim_report *a,
		      const struct phx_sim_report *b, const char *name)
{
	const struct phx_sim_report_row *of_a = find_row(a, name), *of_b = find_row(b, name);
	struct phx_sim_report_row rows[2];
	if (!of_a || !of_b)
		return CLI_OK;
	rows[0] = *of_a;
	rows[1] = *of_b;
	return sim_print_columns(cli, rows, (const char *[]){a->name, b->name}, 2, true);
}

/* Each RE that both have, then the total. */
static int print_both(struct cli *cli, const struct phx_sim_report *a,
		      const struct phx_sim_report *b)
{
	int code = CLI_OK;
	bool people = cli->format == CLI_TABLE || cli->format == CLI_WIDE;
	PHX_LIST_EACH(const struct phx_sim_report_row, row, &a->rows) {
		bool total = row + 1 == row_end_;
		if (!people || total || code || !find_row(b, row->name))
			continue;
		printf("%s\n", row->name);
		code = print_pair(cli, a, b, row->name);
		printf("\n");
	}
	if (!code && people && a->rows.n > 1)
		printf("total\n");
	return code ? code : print_pair(cli, a, b, "total");
}

static int print_json(struct cli *cli, const struct phx_sim_report *a,
		      const struct phx_sim_report *b)
{
	json_t *j =
		json_pack("{s:o, s:o}", "a", phx_sim_report_json(a), "b", phx_sim_report_json(b));
	int code = j ? cli_print_value(cli, j) : cli_fail(CLI_PARTIAL, "out of memory");
	json_decref(j);
	return code;
}

int cmd_sim_compare(struct cli *cli)
{
	struct phx_sim_report a = {0}, b = {0};
	struct phx_trace_store *store = NULL;
	struct phx_err err = {0};
	int r = phx_trace_store_new(sim_traces(cli), &store);
	r = r < 0 ? r : get_report(cli, cli_arg(cli, 0), store, &a, &err);
	r = r < 0 ? r : get_report(cli, cli_arg(cli, 1), store, &b, &err);
	int code = r < 0              ? sim_fail(r, &err)
		: cli_structured(cli) ? print_json(cli, &a, &b)
				      : print_both(cli, &a, &b);
	phx_sim_report_fini(&a);
	phx_sim_report_fini(&b);
	phx_trace_store_free(store);
	return code;
}
