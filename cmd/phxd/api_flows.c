/* Workflows: submitted as WfFormat, shown, held, ended; and the answers of agents about their
 * tasks. Mistakes in a text are found here, those in an order by the core. Called by way of
 * routes.def. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "flow/shape.h"
#include "job/job.h"
#include "phxd/parse.h"
#include "phxd/viewer.h"
#include "types/task.h"

enum { TASKS_SHOWN_MAX = 1000 };

static json_t *run_json(const struct phx_flowrun *w)
{
	struct phx_flowrun copy = *w; /* borrows */
	copy.live = NULL;
	json_t *j = phx_json_from_record(&phx_flowrun_record, &copy);
	if (j) {
		json_object_del(j, "live");
		json_object_del(j, "places");
	}
	return j;
}

/* ---- submission ---- */

bool workflow_may_post(struct phx_http_request *q, void *arg)
{
	(void)q;
	(void)arg;
	/* the route has checked the right to submit jobs; the core checks membership */
	return true;
}

/* Reads the text of the body into the event, and keeps it in a file named by its digest. */
static int take_text(struct daemon *d, const char *body, struct phx_event_workflow_submit *p,
		     struct phx_err *err)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	int r = flows_read(body, p->digest, &f, err);
	r = r ? r : flow_check_first(&f, err);
	if (r < 0)
		return r;
	p->n_tasks = f.n_tasks;
	phx_str_copy(p->name, sizeof(p->name),
		     phx_name_valid(phx_flow_text(&f, f.name)) ? phx_flow_text(&f, f.name) : "");
	r = phx_flow_shape_write(&f, &p->shape);
	return r ? phx_err_set(err, r, "the workflow is too large")
		 : flows_keep(d->flows, body, p->digest, err);
}

/* Finds the group that makes the user a member of the RE. */
static void find_group(struct daemon *d, const char *name, struct flow_user *u)
{
	struct member member;
	const char *group = "";
	member_init(&u->login, &member);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_re *re = phx_state_re(s, name);
	if (re && member_is(&member, &re->agreement, &group))
		PHX_STR_SET(u->group, group);
	engine_unlock(d->engine);
	member_fini(&member);
}

bool flow_user_find(struct daemon *d, struct phx_http_request *q, const char *re,
		    struct flow_user *ret)
{
	const char *asked = phx_http_query(q, "user");
	bool provider = person_has_all(d, phx_http_peer(q), PHX_RIGHT_job_submit);
	*ret = (struct flow_user){.must_be_member = !provider};
	if (asked && !provider) {
		phx_http_reply_error(q, -EPERM,
				     "user: only the resource provider submits for somebody else");
		return false;
	}
	if (!person_works_as(d, q, asked, &ret->login))
		return false;
	person_identity(phx_http_peer(q), ret->identity);
	if (ret->must_be_member)
		find_group(d, re, ret);
	return true;
}

/* Sets the user as whom the tasks run; false after answering. */
static bool find_user(struct daemon *d, struct phx_http_request *q, struct phx_event *ev)
{
	struct phx_event_workflow_submit *p = &ev->workflow_submit;
	struct flow_user u;
	PHX_CARRIES(ev, workflow_submit);
	if (!flow_user_find(d, q, ev->re, &u))
		return false;
	p->uid = u.login.uid;
	p->gid = u.login.gid;
	PHX_STR_SET(p->user, u.login.name);
	p->must_be_member = u.must_be_member;
	PHX_STR_SET(p->group, u.group);
	PHX_STR_SET(p->identity, u.identity);
	return true;
}

void api_workflow_submit(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_event ev = {.kind = PHX_EV_workflow_submit};
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	const char *re = phx_http_query(q, "re"), *body = phx_http_body_path(q);
	ev.workflow_submit.hold = phx_str_eq(phx_http_query(q, "hold"), "true");
	if (!re || !body || PHX_STR_SET(ev.re, re) < 0) {
		phx_http_reply_error(q, -EINVAL,
				     "re: must name an RE, and the body be a workflow (WfFormat)");
		return;
	}
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	if (!find_user(d, q, &ev))
		return;
	int r = take_text(d, body, &ev.workflow_submit, &err);
	bool kept = r == 0;
	r = r ? r : engine_submit(d->engine, &ev, &out, &err);
	if (kept)
		flows_settle(d->flows, ev.workflow_submit.digest, r);
	PHX_AUTO_JSON json_t *answer = json_pack("{s:I,s:I}", "id", (json_int_t)out.workflow,
						 "n_tasks", (json_int_t)ev.workflow_submit.n_tasks);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, answer);
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
}

/* ---- looking ---- */

void api_workflows(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	const char *re = phx_http_query(q, "re");
	struct viewer viewer = viewer_of(d, phx_http_peer(q), PHX_RIGHT_job_see);
	PHX_AUTO_JSON json_t *list = json_array();
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_flowrun, w, &s->workflows)
		if (viewer_sees_flowrun(&viewer, s, w) && phx_str_eq(re ? re : w->re, w->re))
			json_array_append_new(list, run_json(w));
	engine_unlock(d->engine);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "workflows", list);
	phx_http_reply_json(q, 200, j);
}

/* What is shown of a run, copied from the state: states and nodes of its tasks. */
struct shown {
	json_t *run;
	uint64_t id;
	int64_t submitted_ms;
	char digest[PHX_SHA256_HEX];
	uint32_t n;
	uint8_t *states;
	struct phx_flow_place *at;
	struct phx_list nodes; /* struct phx_word: names of the nodes in `at` on this page */
};

static void shown_fini(struct shown *w)
{
	json_decref(w->run);
	free(w->states);
	free(w->at);
	phx_list_fini(&w->nodes);
}

static void copy_tasks(const struct phx_flowrun *w, struct shown *ret)
{
	ret->n = w->n_tasks;
	ret->states = calloc(w->n_tasks, 1);
	ret->at = calloc(w->n_tasks, sizeof(*ret->at));
	for (uint32_t i = 0; ret->states && ret->at && i < w->n_tasks; i++) {
		ret->states[i] = w->live ? w->live->run.tasks[i].state : PHX_FLOW_TASK_DONE;
		if (w->live)
			ret->at[i] = w->live->at[i];
	}
	/* a run that ended under an older phxd has no places */
	if (ret->at && w->places.n)
		phx_flow_places_read(&w->places, w->n_tasks, ret->at);
}

/* The run of the path, if the asker has that right to it. */
static bool find_run(struct daemon *d, const struct phx_http_request *q, enum phx_right right,
		     bool tasks, struct shown *ret)
{
	struct viewer viewer = viewer_of(d, phx_http_peer(q), right);
	if (phx_u64_parse(phx_http_param(q, 0), 1, INT64_MAX, &ret->id) < 0)
		return false;
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_flowrun *w = phx_state_flowrun(s, ret->id);
	if (w && viewer_sees_flowrun(&viewer, s, w)) {
		ret->run = run_json(w);
		ret->submitted_ms = w->submitted_ms;
		PHX_STR_SET(ret->digest, w->digest);
		if (tasks)
			copy_tasks(w, ret);
	}
	engine_unlock(d->engine);
	return ret->run;
}

/* False after answering. */
static bool run_of_path(struct daemon *d, struct phx_http_request *q, enum phx_right right,
			bool tasks, struct shown *ret)
{
	if (find_run(d, q, right, tasks, ret))
		return true;
	phx_http_reply_error(q, -ENOENT, "there is no such workflow run");
	return false;
}

static json_t *levels_json(const struct phx_flow *f, const struct shown *w)
{
	PHX_AUTO_FREE uint32_t *n =
		calloc(f->n_levels ? f->n_levels : 1, PHX_FLOW_TASK_STATES * sizeof(*n));
	json_t *list = json_array();
	for (uint32_t i = 0; n && w->states && i < f->n_tasks; i++)
		n[f->tasks[i].level * PHX_FLOW_TASK_STATES + w->states[i]]++;
	for (uint32_t l = 0; n && l < f->n_levels; l++) {
		json_t *row = json_object();
		uint32_t sum = 0;
		for (int k = 0; k < PHX_FLOW_TASK_STATES; k++) {
			uint32_t of = n[l * PHX_FLOW_TASK_STATES + (uint32_t)k];
			sum += of;
			json_object_set_new(row, phx_enum_name(&phx_flow_task_state_names, k),
					    json_integer(of));
		}
		json_object_set_new(row, "level", json_integer(l));
		json_object_set_new(row, "n_tasks", json_integer(sum));
		json_array_append_new(list, row);
	}
	return list;
}

static json_t *task_json(const struct phx_flow *f, const struct shown *w, uint32_t i)
{
	return json_pack("{s:s,s:s,s:I,s:s,s:I,s:I,s:I}", "id", phx_flow_id(f, i), "name",
			 phx_flow_text(f, f->tasks[i].name), "level", (json_int_t)f->tasks[i].level,
			 "state", phx_enum_name(&phx_flow_task_state_names, w->states[i]),
			 "node_number", (json_int_t)w->at[i].node, "runs",
			 (json_int_t)w->at[i].n_runs, "losses", (json_int_t)w->at[i].n_losses);
}

/* Replaces the numbers of nodes in the rows by names. */
static void name_nodes(struct daemon *d, json_t *rows)
{
	size_t i;
	json_t *row;
	const struct phx_state *s = engine_lock(d->engine);
	json_array_foreach(rows, i, row) {
		uint64_t number = (uint64_t)phx_json_int(row, "node_number", 0);
		const struct phx_node *n = phx_state_node_numbered(s, number);
		json_object_set_new(row, "node", json_string(n ? n->name : ""));
		json_object_del(row, "node_number");
	}
	engine_unlock(d->engine);
}

/* What the asker may do with the run, for clients that show buttons. */
static json_t *may_json(struct daemon *d, const struct phx_http_request *q)
{
	static const struct {
		const char *name;
		enum phx_right right;
	} acts[] = {
		{"hold", PHX_RIGHT_job_hold},
		{"cancel", PHX_RIGHT_job_cancel},
		{"output", PHX_RIGHT_job_output},
	};
	unsigned roles = person_roles(d, phx_http_peer(q));
	json_t *list = json_array();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(acts); i++) {
		PHX_AUTO(shown_fini) struct shown w = {0};
		bool may = phx_right_scope(acts[i].right, roles) != PHX_SCOPE_NONE;
		if (may && find_run(d, q, acts[i].right, false, &w))
			json_array_append_new(list, json_string(acts[i].name));
	}
	return list;
}

void api_workflow(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO(shown_fini) struct shown w = {0};
	struct phx_err err = {0};
	uint64_t after, limit;
	if (!parse_query_number(q, "after", UINT32_MAX, 0, &after) ||
	    !parse_query_number(q, "limit", TASKS_SHOWN_MAX, 0, &limit) ||
	    !run_of_path(d, q, PHX_RIGHT_job_see, true, &w))
		return;
	const struct phx_flow *f = flows_lock(d->flows, w.digest, &err);
	PHX_AUTO_JSON json_t *tasks = json_array();
	uint64_t i = after;
	if (f && w.states && w.at && f->n_tasks == w.n) {
		json_object_set_new(w.run, "levels", levels_json(f, &w));
		for (; i < w.n && json_array_size(tasks) < limit; i++)
			json_array_append_new(tasks, task_json(f, &w, (uint32_t)i));
	}
	if (f)
		flows_unlock(d->flows);
	else
		json_object_set_new(w.run, "error", json_string(err.text));
	name_nodes(d, tasks);
	json_object_set(w.run, "tasks", tasks);
	json_object_set_new(w.run, "may", may_json(d, q));
	json_object_set_new(w.run, "last", json_integer((json_int_t)i));
	phx_http_reply_json(q, 200, w.run);
}

void api_workflow_text(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO(shown_fini) struct shown w = {0};
	if (!run_of_path(d, q, PHX_RIGHT_job_see, false, &w))
		return;
	PHX_AUTO_FREE char *path = flows_path(d->flows, w.digest);
	if (path)
		phx_http_reply_file(q, path, NULL, "application/json");
	else
		phx_http_reply_error(q, -ENOMEM, "out of memory");
}

/* ---- what a task printed ---- */

/* Finds a task by its id, or else by its number in the file, from 1. */
static bool find_task(struct daemon *d, const struct shown *w, const char *asked, uint32_t *ret)
{
	struct phx_err err = {0};
	uint64_t number;
	bool found = false;
	const struct phx_flow *f = flows_lock(d->flows, w->digest, &err);
	for (uint32_t i = 0; f && !found && i < f->n_tasks && i < w->n; i++) {
		found = !strcmp(phx_flow_id(f, i), asked);
		*ret = i;
	}
	if (f)
		flows_unlock(d->flows);
	if (found || phx_u64_parse(asked, 1, w->n, &number) < 0)
		return found;
	*ret = (uint32_t)number - 1;
	return true;
}

/* The node of that number, if its agent can be asked. */
static int find_node(struct daemon *d, uint32_t number, char ret[PHX_NAME_MAX], struct phx_err *err)
{
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node_numbered(s, number);
	int r = 0;
	if (!n)
		r = phx_err_set(err, -ENOENT,
				"the node that it ran on is not there any more, nor what it "
				"printed");
	else if (!n->up || n->env != PHX_ENV_OS)
		r = phx_err_set(err, -EAGAIN,
				"what it printed is on %s, which %s: it cannot be asked now",
				n->name, n->up ? "is not in its system" : "is not heard");
	else
		phx_str_copy(ret, PHX_NAME_MAX, n->name);
	engine_unlock(d->engine);
	return r;
}

/* Whom to ask for the output of a task's last attempt, and the question. */
static int output_of(struct daemon *d, struct phx_http_request *q, const struct shown *w,
		     char ret_node[PHX_NAME_MAX], struct phx_task_ask *ret, struct phx_err *err)
{
	const char *asked = phx_http_query(q, "task"), *attempt = phx_http_query(q, "attempt");
	uint64_t of = 0;
	if (!w->at)
		return -ENOMEM;
	if (!asked || !find_task(d, w, asked, &ret->task))
		return phx_err_set(err, -ENOENT,
				   "task: the workflow has no such task: its id, or its number in "
				   "the file, is wanted");
	const struct phx_flow_place *at = &w->at[ret->task];
	if (!at->n_runs)
		return phx_err_set(err, -ENOENT, "the task has not begun: it has printed nothing");
	if (attempt && (phx_u64_parse(attempt, 1, UINT32_MAX, &of) < 0 || of != at->n_runs))
		return phx_err_set(err, -ESTALE,
				   "attempt: the task has begun %u times, and what it printed last "
				   "can be had",
				   at->n_runs);
	ret->run = w->id;
	ret->submitted_ms = w->submitted_ms;
	ret->attempt = at->n_runs;
	return find_node(d, at->node, ret_node, err);
}

static int output_may(struct daemon *d, struct phx_http_request *q, const char *node,
		      struct phx_err *err)
{
	PHX_AUTO(shown_fini) struct shown w = {0};
	(void)node;
	return find_run(d, q, PHX_RIGHT_job_output, false, &w)
		? 0
		: phx_err_set(err, -ENOENT, "there is no such workflow run");
}

static const struct asks_kind output_kind = {PHX_ORDER_output, PHX_RIGHT_job_output, output_may};

void api_workflow_output(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO(shown_fini) struct shown w = {0};
	char node[PHX_NAME_MAX] = "";
	struct phx_task_ask ask = {0};
	struct phx_err err = {0};
	struct asks_wish wish = {.kind = &output_kind, .node = node, .rights = d->rights};
	if (!parse_query_number(q, "from", INT64_MAX, 0, &ask.from) ||
	    !run_of_path(d, q, PHX_RIGHT_job_output, true, &w))
		return;
	int r = output_of(d, q, &w, node, &ask, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, r == -ENOMEM ? "out of memory" : err.text);
		return;
	}
	wish.words = phx_json_from_record(&phx_task_ask_record, &ask);
	wish.frame = json_pack("{s:I,s:I,s:I,s:I,s:s}", "run", (json_int_t)w.id, "task",
			       (json_int_t)ask.task + 1, "attempt", (json_int_t)ask.attempt, "from",
			       (json_int_t)ask.from, "node", node);
	asks_put(d->asks, q, &wish);
}

/* ---- orders ---- */

static const struct {
	const char *name;
	enum phx_event_kind kind;
	enum phx_right right;
} orders[] = {
	{"hold", PHX_EV_workflow_hold, PHX_RIGHT_job_hold},
	{"release", PHX_EV_workflow_release, PHX_RIGHT_job_hold},
	{"cancel", PHX_EV_workflow_cancel, PHX_RIGHT_job_cancel},
	{"resume", PHX_EV_workflow_resume, PHX_RIGHT_job_hold},
};

static void give_order(struct daemon *d, struct phx_http_request *q, size_t i)
{
	PHX_AUTO(shown_fini) struct shown w = {0};
	struct phx_event ev = {.kind = (int)orders[i].kind};
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	PHX_CARRIES(&ev, workflow_order);
	if (!person_require(d, q, orders[i].right) ||
	    !run_of_path(d, q, orders[i].right, false, &w))
		return;
	ev.workflow_order.workflow = (uint64_t)phx_json_int(w.run, "id", 0);
	ev.workflow_order.check = ev.kind == PHX_EV_workflow_resume &&
		!phx_str_eq(phx_http_query(q, "check"), "false");
	person_name(phx_http_peer(q), ev.by, sizeof(ev.by));
	int r = engine_submit(d->engine, &ev, &out, &err);
	PHX_AUTO_JSON json_t *answer = json_pack(
		"{s:I,s:b}", "id", (json_int_t)ev.workflow_order.workflow, "changed", out.changed);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, answer);
	phx_outcome_fini(&out);
}

void api_workflow_order(struct phx_http_request *q, void *arg)
{
	const char *name = phx_http_param(q, 1);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(orders); i++)
		if (!strcmp(orders[i].name, name)) {
			give_order(arg, q, i);
			return;
		}
	phx_http_reply_error(q, -ENOENT, "there is no such operation on a workflow run");
}

/* ---- agents ---- */

void api_tasks(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_event ev = {.kind = PHX_EV_task_results};
	struct phx_task_results rows;
	struct phx_err err = {0};
	if (!person_agent(d, q, ev.node))
		return;
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j)
		return;
	int r = phx_json_to_record(&phx_task_results_record, j, &rows, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	ev.task_results.rows = rows.rows;
	snprintf(ev.by, sizeof(ev.by), "node:%.50s", ev.node);
	live_heard(d->live, ev.node);
	r = phx_task_results_check(&rows, &err);
	r = r ? r : engine_submit(d->engine, &ev, NULL, &err);
	PHX_AUTO_JSON json_t *empty = json_object();
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, empty);
	phx_event_fini(&ev);
}

void api_task_output(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	char node[PHX_NAME_MAX];
	struct phx_task_output o = {0};
	struct phx_err err = {0};
	if (!person_agent(d, q, node))
		return;
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j)
		return;
	uint64_t id = (uint64_t)phx_json_int(j, "id", 0);
	int r = phx_json_to_record(&phx_task_output_record, j, &o, &err);
	r = r ? r : phx_task_output_check(&o, &err);
	PHX_AUTO_JSON json_t *answer =
		json_pack("{s:I,s:s}", "size_bytes", (json_int_t)o.size_bytes, "hex",
			  r == 0 && o.hex ? o.hex : "");
	asks_told(d->asks, &output_kind, node, id,
		  r < 0 ? "what its agent answered is no output" : o.error, answer);
	PHX_AUTO_JSON json_t *empty = json_object();
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else
		phx_http_reply_json(q, 200, empty);
	phx_record_fini(&phx_task_output_record, &o);
}
