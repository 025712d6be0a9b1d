/* Problems of carrying out a workflow: see phx_flow_check(). Passes over every task and every file
 * once. Pure. */
#include <stdio.h>

#include "base/utf8.h"
#include "flow/flow.h"

struct checking {
	const struct phx_flow *f;
	phx_flow_found_fn *found;
	void *arg;
	uint32_t n;
};

static void find(struct checking *c, uint32_t task, uint32_t line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void find(struct checking *c, uint32_t task, uint32_t line, const char *fmt, ...)
{
	char text[PHX_ERR_TEXT_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	phx_utf8_repair(text);
	c->n++;
	c->found(c->arg, task, line, text);
}

/* A file must be written before it is read. The dependency may be indirect: it is only checked that
 * the writer is on a lower level, since searching for a path would be too slow. */
static void check_input(struct checking *c, uint32_t task, uint32_t file)
{
	const struct phx_flow *f = c->f;
	const struct phx_flow_task *t = &f->tasks[task];
	uint32_t writer = f->files[file].writer;
	if (writer == PHX_FLOW_NONE || f->files[file].n_writers > 1)
		return;
	if (writer == task)
		find(c, task, t->line,
		     "task \"%.60s\": inputs: \"%.120s\" is written by the task itself",
		     phx_flow_id(f, task), phx_flow_file_name(f, file));
	else if (f->tasks[writer].level >= t->level)
		find(c, task, t->line,
		     "task \"%.60s\": inputs: \"%.120s\" is written by task \"%.60s\", for which "
		     "it does not wait",
		     phx_flow_id(f, task), phx_flow_file_name(f, file), phx_flow_id(f, writer));
}

static void check_task(struct checking *c, uint32_t task)
{
	const struct phx_flow *f = c->f;
	uint32_t n;
	phx_flow_list(f, task, PHX_FLOW_ARGV, &n);
	if (!n)
		find(c, task, f->tasks[task].line,
		     "task \"%.60s\": command: missing: what does it run?", phx_flow_id(f, task));
	PHX_FLOW_EACH(i, f, task, PHX_FLOW_INPUTS)
	check_input(c, task, *i);
}

static void check_file(struct checking *c, uint32_t i)
{
	const struct phx_flow *f = c->f;
	const struct phx_flow_file *file = &f->files[i];
	const char *name = phx_flow_file_name(f, i);
	struct phx_err err = {0};
	if (phx_beneath_check(name, &err) < 0)
		find(c, PHX_FLOW_NONE, file->line, "file %s", err.text);
	if (file->n_writers > 1)
		find(c, file->other, f->tasks[file->other].line,
		     "task \"%.60s\": outputs: \"%.120s\" is written by task \"%.60s\", too",
		     phx_flow_id(f, file->other), name, phx_flow_id(f, file->writer));
	if (file->outside && file->n_writers)
		find(c, file->writer, file->line,
		     "file \"%.120s\" is declared as an input of the workflow, but task \"%.60s\" "
		     "writes it",
		     name, phx_flow_id(f, file->writer));
	if (f->tells_outside && !file->outside && !file->n_writers && file->n_readers)
		find(c, PHX_FLOW_NONE, file->line,
		     "file \"%.120s\": no task makes it, and it is not declared as an input of "
		     "the workflow",
		     name);
}

uint32_t phx_flow_check(const struct phx_flow *f, phx_flow_found_fn *found, void *arg)
{
	struct checking c = {.f = f, .found = found, .arg = arg};
	for (uint32_t i = 0; i < f->n_tasks; i++)
		check_task(&c, i);
	for (uint32_t i = 0; i < f->n_files; i++)
		check_file(&c, i);
	return c.n;
}
