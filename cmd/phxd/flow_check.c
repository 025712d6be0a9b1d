/* Checks workflows, or converts them, without submitting them; the findings are the reasons for
 * which the head would refuse to run one. Called by way of routes.def on the threads of reads.c,
 * and by api_flows.c and api_triggers.c. Keeps nothing. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "trace/workflow.h"
#include "types/task.h"

enum { WORDS_MAX = 48 << 10, FINDINGS_MAX = 1000 };
#define WHAT "workflow" /* stands for the file in errors */

/* ---- tasks that an order cannot hold ---- */

struct telling {
	const struct phx_flow *f;
	phx_flow_found_fn *found;
	void *arg;
	uint32_t n;
};

static void tell(struct telling *t, uint32_t task, const char *text)
{
	t->n++;
	t->found(t->arg, task, t->f->tasks[task].line, text);
}

static size_t words_of(const struct phx_flow *f, uint32_t task)
{
	static const enum phx_flow_list texts[] = {PHX_FLOW_ARGV, PHX_FLOW_ENVIRONMENT};
	size_t n = 0;
	for (size_t k = 0; k < PHX_ARRAY_SIZE(texts); k++)
		PHX_FLOW_EACH(it, f, task, texts[k])
	n += strlen(phx_flow_text(f, *it)) + 1;
	return n;
}

static void check_task(struct telling *t, uint32_t i)
{
	const struct phx_flow *f = t->f;
	const char *id = phx_flow_id(f, i);
	char text[PHX_ERR_TEXT_MAX];
	uint32_t n_in, n_out;
	phx_flow_list(f, i, PHX_FLOW_INPUTS, &n_in);
	phx_flow_list(f, i, PHX_FLOW_OUTPUTS, &n_out);
	if (n_in > PHX_TASK_PATHS_MAX || n_out > PHX_TASK_PATHS_MAX) {
		snprintf(text, sizeof(text), "task \"%.60s\" has more than %d inputs or outputs",
			 id, PHX_TASK_PATHS_MAX);
		tell(t, i, text);
	}
	if (words_of(f, i) > WORDS_MAX) {
		snprintf(text, sizeof(text),
			 "the command and environment of task \"%.60s\" are longer than %d KiB", id,
			 WORDS_MAX >> 10);
		tell(t, i, text);
	}
}

uint32_t flow_check(const struct phx_flow *f, phx_flow_found_fn *found, void *arg)
{
	struct telling t = {.f = f, .found = found, .arg = arg};
	uint32_t n = phx_flow_check(f, found, arg);
	for (uint32_t i = 0; i < f->n_tasks; i++)
		check_task(&t, i);
	return n + t.n;
}

static void first_found(void *arg, uint32_t task, uint32_t line, const char *text)
{
	struct phx_err *err = arg;
	(void)task;
	if (!err->text[0])
		phx_err_set(err, -EINVAL, "workflow:%u: %s", line, text);
}

int flow_check_first(const struct phx_flow *f, struct phx_err *err)
{
	return flow_check(f, first_found, err) ? -EINVAL : 0;
}

/* ---- the text of a request ---- */

/* False after answering. */
static bool take_text(struct phx_http_request *q, char **ret, size_t *ret_n)
{
	const char *path = phx_http_body_path(q);
	struct phx_err err = {0};
	int r = path ? phx_file_read(path, (size_t)FLOW_LOOK_MAX_MB << 20, ret, ret_n, &err) : 0;
	if (path && r == 0 && *ret_n)
		return true;
	phx_http_reply_error(q, r < 0 ? r : -EINVAL,
			     r < 0 ? err.text : "the body must be a workflow");
	return false;
}

/* ---- check ---- */

struct looking {
	const struct phx_flow *f;
	json_t *findings;
};

static void add_finding(json_t *list, uint32_t line, const char *task, const char *text)
{
	if (json_array_size(list) < FINDINGS_MAX)
		json_array_append_new(list,
				      json_pack("{s:I,s:s,s:s}", "line", (json_int_t)line, "task",
						task, "text", text));
}

static void found(void *arg, uint32_t task, uint32_t line, const char *text)
{
	const struct looking *l = arg;
	add_finding(l->findings, line, task == PHX_FLOW_NONE ? "" : phx_flow_id(l->f, task), text);
}

/* "workflow:LINE: TEXT" of a text that cannot be read. */
static void add_unread(json_t *list, const struct phx_err *err)
{
	const char *text = err->text;
	char *end = NULL;
	unsigned long line = 1;
	if (phx_str_starts(text, WHAT ":"))
		line = strtoul(text + strlen(WHAT ":"), &end, 10);
	bool told = end && phx_str_starts(end, ": ");
	add_finding(list, told ? (uint32_t)line : 1, "", told ? end + 2 : text);
}

static int add_sums(json_t *to, const struct phx_flow *f)
{
	struct phx_flow_sums s;
	int r = phx_flow_sum(f, &s);
	if (r < 0)
		return r;
	PHX_AUTO_JSON json_t *sums = json_pack(
		"{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "name", phx_flow_text(f, f->name),
		"n_tasks", (json_int_t)f->n_tasks, "n_files", (json_int_t)f->n_files,
		"n_dependencies", (json_int_t)s.n_dependencies, "n_levels", (json_int_t)f->n_levels,
		"widest", (json_int_t)s.widest, "n_run_unknown", (json_int_t)s.n_unknown,
		"longest_ms", (json_int_t)s.longest_ms, "work_ms", (json_int_t)s.work_ms);
	return json_object_update(to, sums) ? -ENOMEM : 0;
}

static int look(const char *text, size_t n, json_t *ret)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	PHX_AUTO_JSON json_t *findings = json_array();
	struct looking l = {&f, findings};
	struct phx_err err = {0};
	uint32_t n_findings = 1;
	int r = phx_workflow_read(WHAT, text, n, &f, &err);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		add_unread(findings, &err);
	else
		n_findings = flow_check(&f, found, &l);
	json_object_set_new(ret, "form",
			    json_string(phx_enum_name(&phx_workflow_form_names,
						      (int)phx_workflow_form_of(text, n))));
	json_object_set_new(ret, "n_findings", json_integer(n_findings));
	json_object_set(ret, "findings", findings);
	return r < 0 ? 0 : add_sums(ret, &f);
}

void api_workflow_check(struct phx_http_request *q, void *arg)
{
	PHX_AUTO_FREE char *text = NULL;
	PHX_AUTO_JSON json_t *answer = json_object();
	size_t n = 0;
	(void)arg;
	if (!take_text(q, &text, &n))
		return;
	if (look(text, n, answer) < 0)
		phx_http_reply_error(q, -ENOMEM, "out of memory");
	else
		phx_http_reply_json(q, 200, answer);
}

/* ---- convert ---- */

/* Browsers must show any content only as text. */
static const char *type_of(enum phx_workflow_form form)
{
	return form == PHX_WORKFLOW_WFFORMAT ? "application/json" : "text/plain; charset=utf-8";
}

void api_workflow_convert(struct phx_http_request *q, void *arg)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf other = {0};
	PHX_AUTO_FREE char *text = NULL;
	const char *to = phx_http_query(q, "to");
	struct phx_err err = {0};
	size_t n = 0;
	int form;
	(void)arg;
	if (phx_enum_parse(&phx_workflow_form_names, to ? to : "", &form, &err) < 0) {
		phx_http_reply_error(q, -EINVAL, "to: must be wfformat, dax or conf");
		return;
	}
	if (!take_text(q, &text, &n))
		return;
	int r = phx_workflow_read(WHAT, text, n, &f, &err);
	r = r ? r : phx_workflow_write(&f, (enum phx_workflow_form)form, &other, &err);
	if (r < 0)
		phx_http_reply_error(q, r, r == -ENOMEM ? "out of memory" : err.text);
	else
		phx_http_reply_text(q, 200, type_of((enum phx_workflow_form)form), other.data);
}
