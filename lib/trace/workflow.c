/* Workflows in whichever form: see workflow.h. Called by who has the text of a file. */
#include "trace/workflow.h"

#include <errno.h>
#include <string.h>

#include "trace/dax.h"
#include "trace/wfformat.h"
#include "trace/workflow_conf.h"

static const char *const form_names[] = {"conf", "wfformat", "dax"};
const struct phx_enum phx_workflow_form_names = {"form of a workflow", form_names,
						 PHX_ARRAY_SIZE(form_names)};

enum phx_workflow_form phx_workflow_form_of(const char *text, size_t n)
{
	size_t i = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
	while (i < n && strchr(" \t\r\n", text[i]) && text[i])
		i++;
	char c = i < n ? text[i] : '\0';
	return c == '<' ? PHX_WORKFLOW_DAX : c == '{' ? PHX_WORKFLOW_WFFORMAT : PHX_WORKFLOW_CONF;
}

int phx_workflow_read(const char *name, const char *text, size_t n, struct phx_flow *ret,
		      struct phx_err *err)
{
	static int (*const read[])(const char *, const char *, size_t, struct phx_flow *,
				   struct phx_err *) = {
		[PHX_WORKFLOW_CONF] = phx_workflow_conf_read,
		[PHX_WORKFLOW_WFFORMAT] = phx_wfformat_read,
		[PHX_WORKFLOW_DAX] = phx_dax_read,
	};
	return read[phx_workflow_form_of(text, n)](name, text, n, ret, err);
}

int phx_workflow_write(const struct phx_flow *f, enum phx_workflow_form form, struct phx_buf *ret,
		       struct phx_err *err)
{
	switch (form) {
	case PHX_WORKFLOW_CONF:
		return phx_workflow_conf_write(f, ret, err);
	case PHX_WORKFLOW_DAX:
		return phx_dax_write(f, ret, err);
	case PHX_WORKFLOW_WFFORMAT:
		phx_wfformat_write(f, ret);
		break;
	}
	return ret->failed ? -ENOMEM : 0;
}

int phx_workflow_jobs(const struct phx_flow *f, const char *what, struct phx_trace_jobs *ret,
		      struct phx_err *err)
{
	struct phx_trace_jobs w = {.n = f->n_tasks, .n_rows = f->n_tasks};
	for (uint32_t i = 0; i < f->n_tasks; i++)
		if (f->tasks[i].run_ms < 0)
			return phx_err_set(err, -EINVAL,
					   "%s:%u: task \"%.60s\": how long it runs (run, runtime) "
					   "is missing: a simulation needs it",
					   what, f->tasks[i].line, phx_flow_id(f, i));
	w.jobs = calloc((size_t)f->n_tasks + 1, sizeof(*w.jobs));
	w.children = calloc((size_t)f->n_refs + 1, sizeof(*w.children));
	if (!w.jobs || !w.children) {
		phx_trace_jobs_fini(&w);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < f->n_tasks; i++) {
		const struct phx_flow_task *t = &f->tasks[i];
		struct phx_trace_job *j = &w.jobs[i];
		*j = (struct phx_trace_job){.id = (uint64_t)i + 1,
					    .run_ms = t->run_ms,
					    .estimate_ms = -1,
					    .size = t->nodes,
					    .class = t->level,
					    .first_child = (uint32_t)w.n_children};
		phx_flow_list(f, i, PHX_FLOW_PARENTS, &j->n_parents);
		PHX_FLOW_EACH(c, f, i, PHX_FLOW_CHILDREN)
		w.children[w.n_children++] = *c;
		j->n_children = (uint32_t)w.n_children - j->first_child;
	}
	*ret = w;
	return 0;
}
