/* Writes workflows as WfFormat 1.5: see wfformat.h. What WfFormat wants of a run that there was
 * none of is what the workflow expects: the makespan is the longest way. Called by
 * trace/workflow.c. */
#include <inttypes.h>

#include "base/json.h"
#include "trace/wfformat.h"

static void put_member_text(struct phx_buf *b, const char *name, const char *text)
{
	phx_json_put_member(b, name);
	phx_json_put_text(b, text);
}

static void put_member_number(struct phx_buf *b, const char *name, uint64_t value)
{
	phx_json_put_member(b, name);
	phx_buf_addf(b, "%" PRIu64, value);
}

static void put_member_seconds(struct phx_buf *b, const char *name, int64_t ms)
{
	phx_json_put_member(b, name);
	phx_buf_addf(b, "%" PRId64 ".%03" PRId64, ms / 1000, ms % 1000);
}

static void open_list(struct phx_buf *b, const char *name)
{
	phx_json_put_member(b, name);
	phx_buf_addf(b, "[");
}

static void put_list(struct phx_buf *b, const struct phx_flow *f, uint32_t task, const char *name,
		     enum phx_flow_list list,
		     const char *(*text)(const struct phx_flow *, uint32_t))
{
	open_list(b, name);
	PHX_FLOW_EACH(it, f, task, list)
	{
		phx_json_put_item(b);
		phx_json_put_text(b, text(f, *it));
	}
	phx_buf_addf(b, "]");
}

/* ---- specification ---- */

static void put_task(struct phx_buf *b, const struct phx_flow *f, uint32_t i)
{
	phx_buf_addf(b, "\n      {");
	put_member_text(b, "name", phx_flow_text(f, f->tasks[i].name));
	put_member_text(b, "id", phx_flow_id(f, i));
	put_list(b, f, i, "parents", PHX_FLOW_PARENTS, phx_flow_id);
	put_list(b, f, i, "children", PHX_FLOW_CHILDREN, phx_flow_id);
	put_list(b, f, i, "inputFiles", PHX_FLOW_INPUTS, phx_flow_file_name);
	put_list(b, f, i, "outputFiles", PHX_FLOW_OUTPUTS, phx_flow_file_name);
	phx_buf_addf(b, "}");
}

/* A file that nobody makes and nobody promised is left out: read back, it is missed again. */
static bool is_promised(const struct phx_flow *f, const struct phx_flow_file *file)
{
	return !f->tells_outside || file->outside || file->n_writers;
}

static void put_file(struct phx_buf *b, const struct phx_flow *f, uint32_t i)
{
	phx_buf_addf(b, "\n      {");
	put_member_text(b, "id", phx_flow_file_name(f, i));
	put_member_number(b, "sizeInBytes", f->files[i].size_bytes);
	phx_buf_addf(b, "}");
}

static void put_specification(struct phx_buf *b, const struct phx_flow *f)
{
	phx_buf_addf(b, "{");
	open_list(b, "tasks");
	for (uint32_t i = 0; i < f->n_tasks; i++) {
		phx_json_put_item(b);
		put_task(b, f, i);
	}
	phx_buf_addf(b, "]");
	open_list(b, "files");
	for (uint32_t i = 0; i < f->n_files; i++) {
		if (!is_promised(f, &f->files[i]))
			continue;
		phx_json_put_item(b);
		put_file(b, f, i);
	}
	phx_buf_addf(b, "]}");
}

/* ---- execution ---- */

static void put_command(struct phx_buf *b, const struct phx_flow *f, uint32_t i)
{
	uint32_t n;
	const uint32_t *words = phx_flow_list(f, i, PHX_FLOW_ARGV, &n);
	if (!n)
		return;
	phx_json_put_member(b, "command");
	phx_buf_addf(b, "{");
	put_member_text(b, "program", phx_flow_text(f, words[0]));
	open_list(b, "arguments");
	for (uint32_t k = 1; k < n; k++) {
		phx_json_put_item(b);
		phx_json_put_text(b, phx_flow_text(f, words[k]));
	}
	phx_buf_addf(b, "]}");
}

static void put_phoenix(struct phx_buf *b, const struct phx_flow *f, uint32_t i)
{
	const struct phx_flow_task *t = &f->tasks[i];
	phx_json_put_member(b, "phoenix");
	phx_buf_addf(b, "{");
	put_member_number(b, "nodes", t->nodes);
	put_member_number(b, "retries", t->retries);
	put_member_text(b, "when_failed",
			phx_enum_name(&phx_flow_when_failed_names, (int)t->when_failed));
	if (t->time_ms)
		put_member_seconds(b, "timeInSeconds", t->time_ms);
	put_list(b, f, i, "environment", PHX_FLOW_ENVIRONMENT, phx_flow_text);
	phx_json_put_member(b, "runtimeKnown");
	phx_buf_addf(b, "%s}", t->run_ms < 0 ? "false" : "true");
}

static void put_executed(struct phx_buf *b, const struct phx_flow *f, uint32_t i)
{
	const struct phx_flow_task *t = &f->tasks[i];
	phx_buf_addf(b, "\n      {");
	put_member_text(b, "id", phx_flow_id(f, i));
	put_member_seconds(b, "runtimeInSeconds", t->run_ms < 0 ? 0 : t->run_ms);
	if (t->cores)
		put_member_number(b, "coreCount", t->cores);
	if (t->memory_bytes)
		put_member_number(b, "memoryInBytes", t->memory_bytes);
	put_command(b, f, i);
	put_phoenix(b, f, i);
	phx_buf_addf(b, "}");
}

void phx_wfformat_write(const struct phx_flow *f, struct phx_buf *ret)
{
	const char *name = phx_flow_text(f, f->name);
	struct phx_flow_sums sums;
	if (phx_flow_sum(f, &sums) < 0) {
		ret->failed = true;
		return;
	}
	phx_buf_addf(ret, "{");
	put_member_text(ret, "name", *name ? name : "workflow");
	put_member_text(ret, "schemaVersion", "1.5");
	phx_json_put_member(ret, "workflow");
	phx_buf_addf(ret, "{");
	phx_json_put_member(ret, "specification");
	put_specification(ret, f);
	phx_json_put_member(ret, "execution");
	phx_buf_addf(ret, "{");
	put_member_seconds(ret, "makespanInSeconds", sums.longest_ms);
	put_member_text(ret, "executedAt", "1970-01-01T00:00:00Z");
	open_list(ret, "tasks");
	for (uint32_t i = 0; i < f->n_tasks; i++) {
		phx_json_put_item(ret);
		put_executed(ret, f, i);
	}
	phx_buf_addf(ret, "]}}}\n");
}
