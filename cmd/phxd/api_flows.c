/* Workflows: submitted as WfFormat, shown, held, ended; and what agents answer for their tasks.
 * What is wrong with a text is said here, what is wrong with the order by the core. Called by way
 * of routes.def. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "flow/shape.h"
#include "job/job.h"
#include "phxd/parse.h"
#include "types/task.h"

enum { TASKS_SHOWN_MAX = 1000, WORDS_MAX = 48 << 10 };

/* Whose runs the asker sees: found out before the engine's lock is taken. */
struct asker {
	const struct phx_http_peer *peer;
	bool all, provider;
	struct person person;
};

static struct asker asker_of(struct daemon *d, const struct phx_http_request *q,
			     enum phx_right right)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	struct asker a = {.peer = peer, .all = person_has_all(d, peer, right)};
	a.provider = person_roles(d, peer) & 1u << PHX_WHO_PROVIDER;
	person_of(d, peer, &a.person);
	return a;
}

/* His own; and a service provider's what runs in his REs. */
static bool may_see(const struct phx_state *s, const struct asker *a, const struct phx_flowrun *w)
{
	const struct phx_re *re = a->provider ? phx_state_re(s, w->re) : NULL;
	bool own = a->peer->via == PHX_HTTP_UNIX ? w->uid == a->peer->uid
						 : !strcmp(w->user, a->person.login);
	/* runs of an RE that had this name before were somebody else's */
	return a->all || own ||
		(re && person_is(&a->person, re->agreement.owner) &&
		 w->submitted_ms >= re->created_ms);
}

static json_t *run_json(const struct phx_flowrun *w)
{
	struct phx_flowrun copy = *w; /* borrows */
	copy.live = NULL;
	json_t *j = phx_json_from_record(&phx_flowrun_record, &copy);
	if (j)
		json_object_del(j, "live");
	return j;
}

/* ---- submission ---- */

bool workflow_may_post(struct phx_http_request *q, void *arg)
{
	(void)q;
	(void)arg;
	return true; /* who submits jobs was asked for; of which RE he is a member says the core */
}

static void first_found(void *arg, uint32_t line, const char *text)
{
	struct phx_err *err = arg;
	if (!err->text[0])
		phx_err_set(err, -EINVAL, "workflow:%u: %s", line, text);
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

/* What an agent could not be told of. */
static int check_task(const struct phx_flow *f, uint32_t i, struct phx_err *err)
{
	const struct phx_flow_task *t = &f->tasks[i];
	uint32_t n_in, n_out;
	phx_flow_list(f, i, PHX_FLOW_INPUTS, &n_in);
	phx_flow_list(f, i, PHX_FLOW_OUTPUTS, &n_out);
	if (t->nodes != 1)
		return phx_err_set(
			err, -EINVAL,
			"workflow:%u: task \"%.60s\" wants %u nodes: a task runs on one; "
			"what needs several is a job (phx job submit)",
			t->line, phx_flow_id(f, i), t->nodes);
	if (n_in > PHX_TASK_PATHS_MAX || n_out > PHX_TASK_PATHS_MAX)
		return phx_err_set(err, -E2BIG,
				   "workflow:%u: task \"%.60s\" has more than %d inputs or outputs",
				   t->line, phx_flow_id(f, i), PHX_TASK_PATHS_MAX);
	if (words_of(f, i) > WORDS_MAX)
		return phx_err_set(err, -E2BIG,
				   "workflow:%u: the command and environment of task \"%.60s\" are "
				   "longer than %d KiB",
				   t->line, phx_flow_id(f, i), WORDS_MAX >> 10);
	return 0;
}

static int check_flow(const struct phx_flow *f, struct phx_err *err)
{
	int r = phx_flow_check(f, first_found, err) ? -EINVAL : 0;
	for (uint32_t i = 0; r == 0 && i < f->n_tasks; i++)
		r = check_task(f, i, err);
	return r;
}

/* The text of the body becomes what the core needs of it, and a file of its digest. */
static int take_text(struct daemon *d, const char *body, struct phx_event_workflow_submit *p,
		     struct phx_err *err)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	int r = flows_read(body, p->digest, &f, err);
	r = r ? r : check_flow(&f, err);
	if (r < 0)
		return r;
	p->n_tasks = f.n_tasks;
	phx_str_copy(p->name, sizeof(p->name),
		     phx_name_valid(phx_flow_text(&f, f.name)) ? phx_flow_text(&f, f.name) : "");
	r = phx_flow_shape_write(&f, &p->shape);
	return r ? phx_err_set(err, r, "the workflow is too large")
		 : flows_keep(d->flows, body, p->digest, err);
}

/* By which of his groups is its user a member of the RE? */
static void find_group(struct daemon *d, const struct person_login *login, struct phx_event *ev)
{
	struct member member;
	const char *group = "";
	PHX_CARRIES(ev, workflow_submit);
	member_init(login, &member);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_re *re = phx_state_re(s, ev->re);
	if (re && member_is(&member, &re->agreement, &group))
		PHX_STR_SET(ev->workflow_submit.group, group);
	engine_unlock(d->engine);
	member_fini(&member);
}

/* As whom its tasks run; false after answering. */
static bool find_user(struct daemon *d, struct phx_http_request *q, struct phx_event *ev)
{
	struct phx_event_workflow_submit *p = &ev->workflow_submit;
	const char *asked = phx_http_query(q, "user");
	bool provider = person_has_all(d, phx_http_peer(q), PHX_RIGHT_job_submit);
	struct person_login login;
	PHX_CARRIES(ev, workflow_submit);
	if (asked && !provider) {
		phx_http_reply_error(q, -EPERM,
				     "user: only the resource provider submits for somebody else");
		return false;
	}
	if (!person_works_as(d, q, asked, &login))
		return false;
	p->uid = login.uid;
	p->gid = login.gid;
	PHX_STR_SET(p->user, login.name);
	p->must_be_member = !provider;
	person_identity(phx_http_peer(q), p->identity);
	if (p->must_be_member)
		find_group(d, &login, ev);
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
	r = r ? r : engine_submit(d->engine, &ev, &out, &err);
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
	struct asker asker = asker_of(d, q, PHX_RIGHT_job_see);
	PHX_AUTO_JSON json_t *list = json_array();
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_flowrun, w, &s->workflows)
		if (may_see(s, &asker, w) && phx_str_eq(re ? re : w->re, w->re))
			json_array_append_new(list, run_json(w));
	engine_unlock(d->engine);
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "workflows", list);
	phx_http_reply_json(q, 200, j);
}

/* What is shown of a run, copied from the state: its tasks' states and places. */
struct shown {
	json_t *run;
	char digest[PHX_SHA256_HEX];
	uint32_t n;
	uint8_t *states;
	struct phx_flow_place *at;
	struct phx_list nodes; /* struct phx_word: the names of `at`, of the page */
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
}

/* False after answering. */
static bool run_of_path(struct daemon *d, struct phx_http_request *q, enum phx_right right,
			bool tasks, struct shown *ret)
{
	uint64_t id;
	struct asker asker = asker_of(d, q, right);
	if (phx_u64_parse(phx_http_param(q, 0), 1, INT64_MAX, &id) == 0) {
		const struct phx_state *s = engine_lock(d->engine);
		const struct phx_flowrun *w = phx_state_flowrun(s, id);
		if (w && may_see(s, &asker, w)) {
			ret->run = run_json(w);
			PHX_STR_SET(ret->digest, w->digest);
			if (tasks)
				copy_tasks(w, ret);
		}
		engine_unlock(d->engine);
	}
	if (!ret->run)
		phx_http_reply_error(q, -ENOENT, "there is no such workflow run");
	return ret->run;
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

/* The names of the nodes that the rows have by their numbers. */
static void name_nodes(struct daemon *d, json_t *rows)
{
	size_t i;
	json_t *row;
	const struct phx_state *s = engine_lock(d->engine);
	json_array_foreach(rows, i, row) {
		uint64_t number = (uint64_t)phx_json_int(row, "node_number", 0);
		uint32_t at = phx_state_node_place(s, number);
		const struct phx_node *n =
			at < s->nodes.n ? PHX_LIST_AT(&s->nodes, struct phx_node, at) : NULL;
		bool there = number && n && n->number == number;
		json_object_set_new(row, "node", json_string(there ? n->name : ""));
		json_object_del(row, "node_number");
	}
	engine_unlock(d->engine);
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
