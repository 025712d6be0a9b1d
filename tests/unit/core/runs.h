/* Runs of workflows in an RE "mtc", for tests: submitted, their tasks on nodes ended, a state that
 * was saved and restored beside the one that was not. */
#ifndef TESTS_CORE_RUNS_H
#define TESTS_CORE_RUNS_H

#include "unit/core/pair.h"

#include "base/json.h"
#include "state/crew.h"

static const char digest[] __attribute__((unused)) =
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* An RE "mtc" with `lower` of the nodes, and as many more as it asks for. */
static inline void mtc_running(struct world *w, uint32_t lower)
{
	const struct phx_agreement a = mtc_agreement("hpc", lower);
	nodes_ready(w);
	assert_int_equal(create(w, &a), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "mtc"), 0);
	settle(w);
	assert_int_equal(held(w, "mtc"), lower);
}

static inline int submit_as(struct world *w, const char *re, uint32_t uid, uint32_t n_tasks,
			    const char *shape, struct phx_outcome *out)
{
	struct phx_event ev = {.kind = PHX_EV_workflow_submit,
			       .workflow_submit = {.n_tasks = n_tasks, .uid = uid, .gid = uid}};
	PHX_STR_SET(ev.workflow_submit.digest, digest);
	PHX_STR_SET(ev.re, re);
	assert_int_equal(phx_text_push(&ev.workflow_submit.shape, shape), 0);
	int r = world_apply(w, &ev, out);
	phx_event_fini(&ev);
	return r;
}

static inline uint64_t submit_flow(struct world *w, uint32_t n_tasks, const char *shape)
{
	struct phx_outcome out = {0};
	assert_int_equal(submit_as(w, "mtc", 1000, n_tasks, shape, &out), 0);
	uint64_t id = out.workflow;
	phx_outcome_fini(&out);
	return id;
}

static inline struct phx_flowrun *run_of(struct world *w, uint64_t id)
{
	struct phx_flowrun *run = phx_state_flowrun(&w->s, id);
	assert_non_null(run);
	return run;
}

static inline int order(struct world *w, int kind, uint64_t id)
{
	struct phx_event ev = {.kind = kind, .workflow_order.workflow = id};
	return world_apply(w, &ev, NULL);
}

/* What the node has, by now. */
static inline struct phx_list on(struct world *w, const char *node)
{
	struct phx_list l = {0};
	const struct phx_job *worker;
	assert_int_equal(phx_tasks_on(&w->s, world_node(w, node), &l, &worker), 0);
	if (l.n)
		assert_int_equal(worker->cores, 2);
	return l;
}

/* How long its agent lets them run on, after it last heard the head. */
static inline uint32_t timeout_on(struct world *w, const char *node)
{
	struct phx_list l = {0};
	const struct phx_job *worker;
	assert_int_equal(phx_tasks_on(&w->s, world_node(w, node), &l, &worker), 0);
	phx_list_fini(&l);
	assert_true(worker->heartbeat_timeout_ms > 0);
	return worker->heartbeat_timeout_ms;
}

static inline uint32_t n_on(struct world *w, const char *node)
{
	struct phx_list l = on(w, node);
	uint32_t n = l.n;
	phx_list_fini(&l);
	return n;
}

static inline void push_row(struct phx_event *ev, const struct phx_task_given *g, int outcome,
			    uint32_t status)
{
	struct phx_task_result *row = phx_list_push(&ev->task_results.rows, sizeof(*row));
	row->run = g->run->id;
	row->submitted_ms = g->run->submitted_ms;
	row->task = g->task;
	row->attempt = g->attempt;
	row->outcome = outcome;
	row->status = status;
	row->begin_ms = 1;
	row->end_ms = 2;
}

/* The last row, if it ended well, made outputs with a digest of this digit; '0': none. */
static inline void makes(struct phx_event *ev, char digit)
{
	struct phx_list *rows = &ev->task_results.rows;
	struct phx_task_result *row = PHX_LIST_AT(rows, struct phx_task_result, rows->n - 1);
	if (digit != '0' && row->outcome == PHX_TASK_EXITED && !row->status)
		memset(row->outputs_sha256, digit, sizeof(row->outputs_sha256) - 1);
}

/* All that the node has ends so. */
static inline uint32_t end_all(struct world *w, const char *node, int outcome, uint32_t status)
{
	struct phx_event ev = {.kind = PHX_EV_task_results};
	struct phx_list l = on(w, node);
	PHX_STR_SET(ev.node, node);
	PHX_LIST_EACH(struct phx_task_given, g, &l)
		push_row(&ev, g, outcome, status);
	uint32_t n = l.n;
	phx_list_fini(&l);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	return n;
}

static inline uint32_t end_everywhere(struct world *w, int outcome, uint32_t status)
{
	uint32_t n = 0;
	for (unsigned i = 1; i <= NODES; i++) {
		char name[8];
		snprintf(name, sizeof(name), "n%u", i);
		n += end_all(w, name, outcome, status);
	}
	return n;
}

/* Ends all tasks well until there are none. */
static inline void finish(struct world *w, uint64_t id)
{
	for (unsigned i = 0; i < 100 && !run_of(w, id)->ended_ms; i++) {
		end_everywhere(w, PHX_TASK_EXITED, 0);
		tick(w, 1000);
		settle(w);
	}
	assert_int_equal(run_of(w, id)->status, PHX_FLOW_COMPLETE);
}

static inline const char *first_with_tasks(struct world *w)
{
	static char name[8];
	for (unsigned i = 1; i <= NODES; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		if (n_on(w, name))
			return name;
	}
	fail_msg("no node has a task");
	return NULL;
}

static inline struct phx_state restored(const struct phx_state *s)
{
	struct phx_state copy;
	struct phx_err err = {0};
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_state_record, s);
	assert_non_null(text);
	if (phx_json_text_to_record(&phx_state_record, text, &copy, &err) < 0)
		fail_msg("%s", err.text);
	return copy;
}

/* Applies the event to the state, and to one that was saved before it and restored. */
static inline void both(struct world *w, struct phx_event *ev)
{
	struct phx_state other = restored(&w->s);
	struct phx_outcome a = {0}, b = {0};
	struct phx_err err = {0};
	uint64_t random = w->random;
	int r = world_apply(w, ev, &a);
	(void)random;
	assert_int_equal(phx_core_apply(&other, ev, &b, &err), r);
	if (!phx_record_equal(&phx_state_record, &w->s, &other))
		fail_msg("after %s the restored state is another one",
			 phx_enum_name(&phx_event_kind_names, ev->kind));
	assert_int_equal(a.actions.n, b.actions.n);
	for (uint32_t i = 0; i < a.actions.n; i++)
		assert_true(phx_record_equal(&phx_action_record,
					     PHX_LIST_AT(&a.actions, struct phx_action, i),
					     PHX_LIST_AT(&b.actions, struct phx_action, i)));
	phx_outcome_fini(&a);
	phx_outcome_fini(&b);
	phx_state_fini(&other);
}

#endif
