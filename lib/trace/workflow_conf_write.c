/* Writes workflows in our own form: see workflow_conf.h. As people would write it: what is the
 * default is left out, and so is a parent whose output a task reads. Called by trace/workflow.c. */
#include "trace/workflow_conf.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "config/conf.h"

static void put_text(struct phx_buf *b, const char *text)
{
	phx_buf_addf(b, "\"");
	for (; *text; text++)
		phx_buf_addf(b, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	phx_buf_addf(b, "\"");
}

static void put_key_text(struct phx_buf *b, const char *key, const char *text)
{
	phx_buf_addf(b, " %s = ", key);
	put_text(b, text);
	phx_buf_addf(b, ";");
}

/* libconfig cuts numbers that are longer than an int, where no L says otherwise. */
static void put_number(struct phx_buf *b, const char *key, uint64_t value)
{
	phx_buf_addf(b, " %s = %" PRIu64 "%s;", key, value, value > INT32_MAX ? "L" : "");
}

static void put_seconds(struct phx_buf *b, const char *key, int64_t ms)
{
	if (ms % 1000)
		phx_buf_addf(b, " %s = %" PRId64 ".%03" PRId64 ";", key, ms / 1000, ms % 1000);
	else
		put_number(b, key, (uint64_t)ms / 1000);
}

/* Opens the list at its first item. */
static void next_item(struct phx_buf *b, const char *key, bool *began)
{
	if (*began)
		phx_buf_addf(b, ", ");
	else
		phx_buf_addf(b, "\n    %s = (", key);
	*began = true;
}

static void end_list(struct phx_buf *b, bool began)
{
	if (began)
		phx_buf_addf(b, ");");
}

static void put_file(struct phx_buf *b, const struct phx_flow_file *file, const char *name)
{
	if (!file->size_bytes) {
		put_text(b, name);
		return;
	}
	phx_buf_addf(b, "{");
	put_key_text(b, "name", name);
	put_number(b, "size", file->size_bytes);
	phx_buf_addf(b, " }");
}

/* ---- a task ---- */

static void put_words(struct phx_buf *b, const struct phx_flow *f, uint32_t i, const char *key,
		      enum phx_flow_list list)
{
	bool began = false;
	PHX_FLOW_EACH(it, f, i, list)
	{
		next_item(b, key, &began);
		put_text(b, phx_flow_text(f, *it));
	}
	end_list(b, began);
}

static void put_files(struct phx_buf *b, const struct phx_flow *f, uint32_t i, const char *key,
		      enum phx_flow_list list)
{
	bool began = false;
	PHX_FLOW_EACH(it, f, i, list)
	{
		struct phx_flow_file file = f->files[*it];
		next_item(b, key, &began);
		if (list == PHX_FLOW_INPUTS) /* told of once, where it comes from */
			file.size_bytes = 0;
		put_file(b, &file, phx_flow_file_name(f, *it));
	}
	end_list(b, began);
}

/* Does task i read what that one alone writes? */
static bool reads_of(const struct phx_flow *f, uint32_t i, uint32_t parent)
{
	PHX_FLOW_EACH(it, f, i, PHX_FLOW_INPUTS)
	if (f->files[*it].writer == parent && f->files[*it].n_writers == 1)
		return true;
	return false;
}

static void put_parents(struct phx_buf *b, const struct phx_flow *f, uint32_t i)
{
	bool began = false;
	PHX_FLOW_EACH(it, f, i, PHX_FLOW_PARENTS)
	{
		if (reads_of(f, i, *it))
			continue;
		next_item(b, "parents", &began);
		put_text(b, phx_flow_id(f, *it));
	}
	end_list(b, began);
}

static void put_wishes(struct phx_buf *b, const struct phx_flow_task *t)
{
	if (t->nodes != 1)
		put_number(b, "nodes", t->nodes);
	if (t->cores)
		put_number(b, "cores", t->cores);
	if (t->memory_bytes)
		put_number(b, "memory", t->memory_bytes);
	if (t->time_ms)
		put_seconds(b, "time", t->time_ms);
	if (t->run_ms >= 0)
		put_seconds(b, "run", t->run_ms);
	if (t->retries)
		put_number(b, "retries", t->retries);
	if (t->when_failed != PHX_FLOW_STOP)
		put_key_text(b, "when_failed",
			     phx_enum_name(&phx_flow_when_failed_names, (int)t->when_failed));
}

static void put_task(struct phx_buf *b, const struct phx_flow *f, uint32_t i)
{
	const struct phx_flow_task *t = &f->tasks[i];
	phx_buf_addf(b, "%s\n  {", i ? "," : "");
	put_key_text(b, "id", phx_flow_id(f, i));
	if (strcmp(phx_flow_text(f, t->name), phx_flow_id(f, i)) != 0)
		put_key_text(b, "name", phx_flow_text(f, t->name));
	put_wishes(b, t);
	put_words(b, f, i, "command", PHX_FLOW_ARGV);
	put_files(b, f, i, "inputs", PHX_FLOW_INPUTS);
	put_files(b, f, i, "outputs", PHX_FLOW_OUTPUTS);
	put_parents(b, f, i);
	put_words(b, f, i, "environment", PHX_FLOW_ENVIRONMENT);
	phx_buf_addf(b, " }");
}

/* ---- the whole ---- */

/* What no task makes; what nobody promised, either, is missed again when it is read. */
static void put_outside(struct phx_buf *b, const struct phx_flow *f)
{
	bool began = false;
	for (uint32_t i = 0; i < f->n_files; i++) {
		const struct phx_flow_file *file = &f->files[i];
		if (!file->outside && (file->n_writers || f->tells_outside))
			continue;
		next_item(b, "inputs", &began);
		put_file(b, file, phx_flow_file_name(f, i));
	}
	end_list(b, began);
}

static int check_texts(const struct phx_flow *f, struct phx_err *err)
{
	for (size_t at = 0; at < f->n_text; at += strlen(f->text + at) + 1)
		for (const char *p = f->text + at; *p; p++)
			if ((unsigned char)*p < ' ' || *p == 0x7f)
				return phx_err_set(
					err, -EINVAL,
					"a name, a word of a command or the environment has "
					"several "
					"lines, or a control character: the form by hand has no "
					"such texts; WfFormat has");
	return 0;
}

int phx_workflow_conf_write(const struct phx_flow *f, struct phx_buf *ret, struct phx_err *err)
{
	size_t n = ret->n;
	int r = check_texts(f, err);
	if (r < 0)
		return r;
	if (*phx_flow_text(f, f->name))
		put_key_text(ret, "name", phx_flow_text(f, f->name));
	put_outside(ret, f);
	phx_buf_addf(ret, "\ntasks = (");
	for (uint32_t i = 0; i < f->n_tasks; i++)
		put_task(ret, f, i);
	phx_buf_addf(ret, "\n);\n");
	if (!ret->failed && ret->n - n > PHX_CONF_FILE_MAX)
		return phx_err_set(err, -EFBIG,
				   "the workflow is too large for the form by hand, which has at "
				   "most %u bytes: WfFormat and DAX have more",
				   PHX_CONF_FILE_MAX);
	return ret->failed ? -ENOMEM : 0;
}
