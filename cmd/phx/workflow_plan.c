/* phx workflow plan: what would happen on so many nodes, and what a failure would do: the tasks
 * live as they do when they are carried out. Needs no phxd. */
#include <string.h>

#include "base/json.h"
#include "flow/plan.h"
#include "phx/workflow.h"

/* Tasks that options name. */
struct named {
	bool *done, *fails; /* of each task; owned */
};

static void named_fini(struct named *n)
{
	free(n->done);
	free(n->fails);
}

static bool is_done(void *arg, uint32_t task)
{
	return ((struct named *)arg)->done[task];
}

static bool fails(void *arg, uint32_t task)
{
	return ((struct named *)arg)->fails[task];
}

/* Marks the tasks of an option, by their ids or by their names: all of that name. */
static int mark(struct cli *cli, const struct phx_flow *f, enum cli_option_id option, bool *marks)
{
	const struct cli_values *values = &cli->args.opt[option];
	for (unsigned k = 0; k < values->n; k++) {
		uint32_t n = 0;
		for (uint32_t i = 0; i < f->n_tasks; i++) {
			if (strcmp(values->v[k], phx_flow_id(f, i)) != 0 &&
			    strcmp(values->v[k], phx_flow_text(f, f->tasks[i].name)) != 0)
				continue;
			marks[i] = true;
			n++;
		}
		if (!n)
			return cli_fail(CLI_USAGE, "--%s %s: the workflow has no such task",
					cli_option_info(option)->name, values->v[k]);
	}
	return CLI_OK;
}

static int read_named(struct cli *cli, const struct phx_flow *f, struct named *ret)
{
	ret->done = calloc(f->n_tasks, sizeof(*ret->done));
	ret->fails = calloc(f->n_tasks, sizeof(*ret->fails));
	if (!ret->done || !ret->fails)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int code = mark(cli, f, CLI_OPT_done, ret->done);
	return code ? code : mark(cli, f, CLI_OPT_fails, ret->fails);
}

static uint32_t number_of(struct cli *cli, enum cli_option_id option)
{
	uint64_t value = 1;
	phx_u64_parse(cli_opt(cli, option, "1"), 0, UINT32_MAX, &value); /* checked by its type */
	return (uint32_t)value;
}

/* ---- printing ---- */

static void put_at(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	if (json_integer_value(value) >= 0)
		cli_put_duration(b, json_integer_value(value));
}

static void put_node(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	if (json_integer_value(value) > 0)
		phx_buf_addf(b, "%lld", (long long)json_integer_value(value));
}

static const struct cli_column columns[] = {
	{.head = "TASK", .path = "id"},
	{.head = "NAME", .path = "name"},
	{.head = "STATE", .path = "state"},
	{.head = "BEGIN", .path = "begin_ms", .put = put_at, .right = true},
	{.head = "END", .path = "end_ms", .put = put_at, .right = true},
	{.head = "NODE", .path = "node", .put = put_node, .right = true},
	{.head = "RUNS", .path = "n_runs", .right = true},
};

static json_t *tasks_json(const struct phx_flow *f, const struct phx_flow_plan *plan)
{
	json_t *tasks = json_array();
	for (uint32_t i = 0; i < f->n_tasks; i++) {
		const struct phx_flow_planned *t = &plan->tasks[i];
		json_int_t node = t->node == PHX_FLOW_NONE ? 0 : (json_int_t)t->node + 1;
		json_array_append_new(
			tasks,
			json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "id", phx_flow_id(f, i),
				  "name", phx_flow_text(f, f->tasks[i].name), "state",
				  phx_enum_name(&phx_flow_task_state_names, (int)t->state),
				  "begin_ms", (json_int_t)t->begin_ms, "end_ms",
				  (json_int_t)t->end_ms, "node", node, "n_runs",
				  (json_int_t)t->n_runs));
	}
	return tasks;
}

/* The last line, for people. */
static void tell_sums(const struct phx_flow_plan *plan, const struct phx_flow_plan_options *o)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	double all = (double)plan->end_ms * o->n_nodes * o->node.cores;
	phx_buf_addf(&b, "%s after ", phx_enum_name(&phx_flow_status_names, (int)plan->status));
	cli_put_duration(&b, plan->end_ms);
	phx_buf_addf(&b, ", runs of tasks: %u, cores in use: %.0f %%", plan->n_runs,
		     all > 0 ? 100 * (double)plan->busy_core_ms / all : 0);
	if (!b.failed)
		cli_fail(0, "%s", b.data);
}

static int print_plan(struct cli *cli, const struct phx_flow *f, const struct phx_flow_plan *plan,
		      const struct phx_flow_plan_options *o)
{
	json_t *tasks = tasks_json(f, plan);
	PHX_AUTO_JSON json_t *whole =
		json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "status",
			  phx_enum_name(&phx_flow_status_names, (int)plan->status), "nodes",
			  (json_int_t)o->n_nodes, "cores", (json_int_t)o->node.cores, "end_ms",
			  (json_int_t)plan->end_ms, "busy_core_ms", (json_int_t)plan->busy_core_ms,
			  "n_runs", (json_int_t)plan->n_runs, "tasks", tasks);
	if (!whole)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int code = cli_print_rows(cli, columns, PHX_ARRAY_SIZE(columns), tasks, whole);
	if (!code && (cli->format == CLI_TABLE || cli->format == CLI_WIDE))
		tell_sums(plan, o);
	return code;
}

int cmd_workflow_plan(struct cli *cli)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	PHX_AUTO(phx_flow_plan_fini) struct phx_flow_plan plan = {0};
	PHX_AUTO(named_fini) struct named named = {0};
	struct phx_flow_plan_options o = {.is_done = is_done, .fails = fails, .arg = &named};
	struct phx_err err = {0};
	enum phx_workflow_form form;
	int code = cli_workflow(cli_arg(cli, 0), &f, &form);
	code = code ? code : read_named(cli, &f, &named);
	if (code)
		return code;
	o.n_nodes = number_of(cli, CLI_OPT_nodes);
	o.node.cores = number_of(cli, CLI_OPT_cores);
	phx_size_parse(cli_opt(cli, CLI_OPT_memory, "0"), &o.node.memory_bytes); /* by its type */
	if (o.n_nodes > PHX_FLOW_NODES_MAX)
		return cli_fail(CLI_USAGE, "--nodes must be at most %d", PHX_FLOW_NODES_MAX);
	if (phx_flow_plan(&f, &o, &plan, &err) < 0)
		return cli_fail(CLI_CONFIG, "%s: %s", cli_arg(cli, 0), err.text);
	return print_plan(cli, &f, &plan, &o);
}
