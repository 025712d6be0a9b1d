/* Reads workflows in our own form (libconfig): see workflow_conf.h. Called by trace/workflow.c. */
#include "trace/workflow_conf.h"

#include <errno.h>
#include <string.h>

#include "config/conf.h"
#include "flow/draft.h"

PHX_RECORD_TABLE(phx_workflow_file, PHX_WORKFLOW_FILE_FIELDS);
PHX_RECORD_TABLE(phx_workflow_task, PHX_WORKFLOW_TASK_FIELDS);
PHX_RECORD_TABLE(phx_workflow, PHX_WORKFLOW_FIELDS);

struct reading {
	struct phx_flow_draft d;
	struct phx_conf c;
	struct phx_err *err;
	uint32_t task;                /* the one that is being read */
	enum phx_flow_link_kind kind; /* of the list that is being read */
};

/* Calls `read` with each item of the list `key` of a group, which may be absent. */
static int each_item(struct reading *rd, const config_setting_t *group, const char *key,
		     int (*read)(struct reading *rd, const config_setting_t *item))
{
	const config_setting_t *list = config_setting_get_member(group, key);
	int type = list ? config_setting_type(list) : CONFIG_TYPE_LIST, r = 0;
	if (type != CONFIG_TYPE_LIST && type != CONFIG_TYPE_ARRAY)
		return phx_conf_fail(&rd->c, list, -EINVAL, rd->err,
				     "%s must be a list, like [ \"a\", \"b\" ]", key);
	int n = list ? config_setting_length(list) : 0;
	for (int i = 0; r == 0 && i < n; i++)
		r = read(rd, config_setting_get_elem(list, (unsigned)i));
	return r;
}

/* A name, or a group that says more of the file. */
static int read_file(struct reading *rd, const config_setting_t *s, struct phx_workflow_file *ret)
{
	const char *text;
	if (config_setting_is_group(s))
		return phx_conf_group(&rd->c, s, &phx_workflow_file_record, ret, rd->err);
	int r = phx_conf_text(&rd->c, s, &text, rd->err);
	if (r == 0 && PHX_STR_SET(ret->name, text) < 0)
		return phx_conf_fail(&rd->c, s, -EINVAL, rd->err,
				     "the name of a file has at most %d bytes",
				     PHX_FLOW_NAME_MAX - 1);
	return r;
}

static int read_input_of_all(struct reading *rd, const config_setting_t *s)
{
	struct phx_workflow_file file = {0};
	int r = read_file(rd, s, &file);
	return r < 0 ? r
		     : phx_flow_draft_file(&rd->d, file.name, strlen(file.name), file.size_bytes,
					   true, phx_conf_line(s), rd->err);
}

static int read_file_link(struct reading *rd, const config_setting_t *s)
{
	struct phx_workflow_file file = {0};
	int r = read_file(rd, s, &file);
	r = r < 0 ? r
		  : phx_flow_draft_link(&rd->d, rd->task, rd->kind, file.name, strlen(file.name),
					phx_conf_line(s), rd->err);
	if (r == 0)
		phx_flow_draft_size(&rd->d, file.size_bytes);
	return r;
}

static int read_text_link(struct reading *rd, const config_setting_t *s)
{
	const char *text;
	int r = phx_conf_text(&rd->c, s, &text, rd->err);
	return r < 0 ? r
		     : phx_flow_draft_link(&rd->d, rd->task, rd->kind, text, strlen(text),
					   phx_conf_line(s), rd->err);
}

static int read_lists(struct reading *rd, const config_setting_t *s)
{
	static const struct {
		const char *key;
		enum phx_flow_link_kind kind;
		int (*read)(struct reading *rd, const config_setting_t *item);
	} lists[] = {
		{"command", PHX_FLOW_LINK_ARGV, read_text_link},
		{"inputs", PHX_FLOW_LINK_INPUT, read_file_link},
		{"outputs", PHX_FLOW_LINK_OUTPUT, read_file_link},
		{"parents", PHX_FLOW_LINK_PARENT, read_text_link},
		{"environment", PHX_FLOW_LINK_ENVIRONMENT, read_text_link},
	};
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(lists); i++) {
		rd->kind = lists[i].kind;
		r = each_item(rd, s, lists[i].key, lists[i].read);
	}
	return r;
}

static int read_task(struct reading *rd, const config_setting_t *s)
{
	struct phx_workflow_task keys = {.run_ms = -1};
	if (!config_setting_is_group(s))
		return phx_conf_fail(&rd->c, s, -EINVAL, rd->err,
				     "a task must be a group: { id = \"...\"; command = [...]; }");
	int r = phx_conf_group(&rd->c, s, &phx_workflow_task_record, &keys, rd->err);
	if (r < 0)
		return r;
	struct phx_flow_task *t = phx_flow_draft_task(&rd->d, phx_conf_line(s), rd->err);
	if (!t)
		return -EINVAL;
	rd->task = rd->d.tasks.n - 1;
	t->nodes = keys.nodes;
	t->cores = keys.cores;
	t->memory_bytes = keys.memory_bytes;
	t->time_ms = keys.time_ms;
	t->run_ms = keys.run_ms;
	t->retries = keys.retries;
	t->when_failed = (uint32_t)keys.when_failed;
	r = phx_flow_draft_text(&rd->d, keys.id, strlen(keys.id), &t->id, rd->err);
	if (r == 0 && *keys.name)
		r = phx_flow_draft_text(&rd->d, keys.name, strlen(keys.name), &t->name, rd->err);
	return r < 0 ? r : read_lists(rd, s);
}

static int read_root(struct reading *rd)
{
	const config_setting_t *root = config_root_setting(&rd->c.cfg);
	struct phx_workflow keys = {0};
	int r = phx_conf_group(&rd->c, root, &phx_workflow_record, &keys, rd->err);
	if (r == 0 && *keys.name)
		r = phx_flow_draft_text(&rd->d, keys.name, strlen(keys.name), &rd->d.name, rd->err);
	r = r < 0 ? r : each_item(rd, root, "inputs", read_input_of_all);
	return r < 0 ? r : each_item(rd, root, "tasks", read_task);
}

int phx_workflow_conf_read(const char *name, const char *text, size_t n, struct phx_flow *ret,
			   struct phx_err *err)
{
	struct reading rd = {.d = {.what = name, .by_files = true, .tells_outside = true},
			     .err = err};
	int r = phx_conf_parse(text, n, name, &rd.c, err);
	if (r < 0)
		return r;
	r = read_root(&rd);
	r = r < 0 ? r : phx_flow_make(&rd.d, ret, err);
	phx_flow_draft_fini(&rd.d);
	phx_conf_fini(&rd.c);
	return r;
}
