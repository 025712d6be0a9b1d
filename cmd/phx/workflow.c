/* phx workflow: files of workflows, checked, shown, drawn and converted by the functions that the
 * simulator reads them with. Needs no phxd, but for a run of the head. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "flow/graph.h"
#include "phx/workflow.h"

/* ---- check ---- */

/* A file of which nothing is right is told by its beginning: -o json has all. */
enum { FOUND_TOLD_MAX = 20 };

struct checking {
	const char *path;
	json_t *findings;
	uint32_t n;
};

static void found(void *arg, uint32_t task, uint32_t line, const char *text)
{
	struct checking *c = arg;
	(void)task;
	if (c->n++ < FOUND_TOLD_MAX)
		cli_fail(0, "%s:%u: %s", c->path, line, text);
	json_array_append_new(c->findings, json_pack("{s:i,s:s}", "line", (int)line, "text", text));
}

static json_t *sums_json(const struct phx_flow *f, const char *path, enum phx_workflow_form form)
{
	struct phx_flow_sums s;
	if (phx_flow_sum(f, &s) < 0)
		return NULL;
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "file",
			 path, "form", phx_enum_name(&phx_workflow_form_names, (int)form), "name",
			 phx_flow_text(f, f->name), "n_tasks", (json_int_t)f->n_tasks, "n_kinds",
			 (json_int_t)s.n_kinds, "n_files", (json_int_t)f->n_files, "n_dependencies",
			 (json_int_t)s.n_dependencies, "n_levels", (json_int_t)f->n_levels,
			 "widest", (json_int_t)s.widest, "n_run_unknown", (json_int_t)s.n_unknown,
			 "longest_ms", (json_int_t)s.longest_ms, "work_ms", (json_int_t)s.work_ms);
}

static void print_sums(const json_t *sums)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	cli_put_clean(&b, phx_json_str(sums, "file", ""));
	phx_buf_addf(&b, ": the workflow is right: %lld tasks on %lld levels, at most %lld at once",
		     (long long)phx_json_int(sums, "n_tasks", 0),
		     (long long)phx_json_int(sums, "n_levels", 0),
		     (long long)phx_json_int(sums, "widest", 0));
	if (!phx_json_int(sums, "n_run_unknown", 0)) {
		phx_buf_addf(&b, "; the longest way takes ");
		cli_put_duration(&b, phx_json_int(sums, "longest_ms", 0));
	}
	if (!b.failed)
		puts(b.data);
}

static int check_file(struct cli *cli, const char *path, json_t *all)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	PHX_AUTO_JSON json_t *findings = json_array();
	struct checking c = {path, findings, 0};
	enum phx_workflow_form form;
	int code = cli_workflow(path, &f, &form);
	if (code)
		return code;
	uint32_t n = phx_flow_check(&f, found, &c);
	if (n > FOUND_TOLD_MAX)
		cli_fail(0, "%s: there are %u more mistakes; -o json tells all", path,
			 n - FOUND_TOLD_MAX);
	json_t *sums = sums_json(&f, path, form);
	if (!sums)
		return cli_fail(CLI_PARTIAL, "out of memory");
	json_object_set(sums, "findings", findings);
	json_array_append_new(all, sums);
	if (!n && !cli_structured(cli))
		print_sums(sums);
	return n ? CLI_CONFIG : CLI_OK;
}

int cmd_workflow_check(struct cli *cli)
{
	PHX_AUTO_JSON json_t *all = json_array(), *whole = NULL;
	int code = CLI_OK;
	for (unsigned i = 0; i < cli->args.n_args; i++) {
		int c = check_file(cli, cli_arg(cli, i), all);
		code = c ? c : code;
	}
	if (!cli_structured(cli))
		return code;
	whole = json_pack("{s:O}", "workflows", all);
	int c = cli_print_value(cli, whole);
	return code ? code : c;
}

/* ---- show ---- */

static void put_run(struct phx_buf *b, const json_t *value, const json_t *row)
{
	if (json_integer_value(value) >= 0)
		cli_put_ms(b, value, row);
}

static const struct cli_column columns[] = {
	{.head = "TASK", .path = "id"},
	{.head = "NAME", .path = "name"},
	{.head = "LEVEL", .path = "level", .right = true},
	{.head = "NODES", .path = "nodes", .right = true},
	{.head = "CORES", .path = "cores", .right = true},
	{.head = "MEMORY",
	 .path = "memory_bytes",
	 .put = cli_put_size,
	 .wide = true,
	 .right = true},
	{.head = "RUN", .path = "run_ms", .put = put_run, .right = true},
	{.head = "RETRIES", .path = "retries", .wide = true, .right = true},
	{.head = "WHEN FAILED", .path = "when_failed", .wide = true},
	{.head = "PARENTS", .path = "parents", .put = cli_put_words},
	{.head = "COMMAND", .path = "command", .put = cli_put_words, .wide = true},
};

static json_t *list_json(const struct phx_flow *f, uint32_t task, enum phx_flow_list list,
			 const char *(*text)(const struct phx_flow *, uint32_t))
{
	json_t *j = json_array();
	PHX_FLOW_EACH(it, f, task, list)
	json_array_append_new(j, json_string(text(f, *it)));
	return j;
}

static json_t *task_json(const struct phx_flow *f, uint32_t i)
{
	const struct phx_flow_task *t = &f->tasks[i];
	return json_pack(
		"{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:I, s:o, s:o, s:o, s:o, s:o}",
		"id", phx_flow_id(f, i), "name", phx_flow_text(f, t->name), "line",
		(json_int_t)t->line, "level", (json_int_t)t->level, "nodes", (json_int_t)t->nodes,
		"cores", (json_int_t)t->cores, "memory_bytes", (json_int_t)t->memory_bytes,
		"time_ms", (json_int_t)t->time_ms, "run_ms", (json_int_t)t->run_ms, "when_failed",
		phx_enum_name(&phx_flow_when_failed_names, (int)t->when_failed), "retries",
		(json_int_t)t->retries, "parents", list_json(f, i, PHX_FLOW_PARENTS, phx_flow_id),
		"command", list_json(f, i, PHX_FLOW_ARGV, phx_flow_text), "environment",
		list_json(f, i, PHX_FLOW_ENVIRONMENT, phx_flow_text), "inputs",
		list_json(f, i, PHX_FLOW_INPUTS, phx_flow_file_name), "outputs",
		list_json(f, i, PHX_FLOW_OUTPUTS, phx_flow_file_name));
}

/* The tasks of the longest way by time. */
static json_t *longest_json(const struct phx_flow *f)
{
	PHX_AUTO_FREE uint32_t *way = NULL;
	uint32_t n;
	json_t *j = json_array();
	if (phx_flow_longest(f, &way, &n) < 0)
		return j;
	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(j, json_string(phx_flow_id(f, way[i])));
	return j;
}

static int print_tasks(struct cli *cli, const struct phx_flow *f, json_t *whole)
{
	json_t *tasks = json_array();
	for (uint32_t i = 0; i < f->n_tasks; i++)
		json_array_append_new(tasks, task_json(f, i));
	json_object_set_new(whole, "longest", longest_json(f));
	json_object_set_new(whole, "tasks", tasks);
	return cli_print_rows(cli, columns, PHX_ARRAY_SIZE(columns), tasks, whole);
}

static int print_graph(const struct phx_flow *f, const char *name)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf picture = {0};
	int graph;
	struct phx_err err = {0};
	if (phx_enum_parse(&phx_flow_graph_names, name, &graph, &err) < 0)
		return cli_fail(CLI_USAGE, "--graph: %s", err.text);
	phx_flow_draw(f, (enum phx_flow_graph)graph, &picture);
	if (picture.failed)
		return cli_fail(CLI_PARTIAL, "out of memory");
	fwrite(picture.data, 1, picture.n, stdout); /* its names are printable */
	return CLI_OK;
}

uint64_t cli_workflow_number(const char *word)
{
	uint64_t id = 0;
	bool number = phx_u64_parse(word, 1, INT64_MAX, &id) == 0;
	return number && access(word, F_OK) < 0 ? id : 0;
}

int cmd_workflow_show(struct cli *cli)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	enum phx_workflow_form form;
	uint64_t id = cli_workflow_number(cli_arg(cli, 0));
	if (id && !cli_has(cli, CLI_OPT_graph))
		return cli_workflow_run(cli, id);
	int code = id ? cli_workflow_of_run(cli, id, &f) : cli_workflow(cli_arg(cli, 0), &f, &form);
	if (code)
		return code;
	if (cli_has(cli, CLI_OPT_graph))
		return print_graph(&f, cli_opt(cli, CLI_OPT_graph, ""));
	PHX_AUTO_JSON json_t *whole = sums_json(&f, cli_arg(cli, 0), form);
	return whole ? print_tasks(cli, &f, whole) : cli_fail(CLI_PARTIAL, "out of memory");
}

/* ---- convert ---- */

int cmd_workflow_convert(struct cli *cli)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	enum phx_workflow_form form;
	int code = cli_workflow(cli_arg(cli, 0), &f, &form);
	if (code)
		return code;
	int to = PHX_WORKFLOW_WFFORMAT, r;
	struct phx_err err = {0};
	if (cli_has(cli, CLI_OPT_to)) /* its type was checked */
		phx_enum_parse(&phx_workflow_form_names, cli_opt(cli, CLI_OPT_to, ""), &to, &err);
	r = phx_workflow_write(&f, (enum phx_workflow_form)to, &text, &err);
	if (r < 0)
		return r == -ENOMEM ? cli_fail(CLI_PARTIAL, "out of memory")
				    : cli_fail(CLI_CONFIG, "%s: %s", cli_arg(cli, 0), err.text);
	fwrite(text.data, 1, text.n, stdout);
	return CLI_OK;
}
