/* phx_core_apply(): dispatches events by a table, and settles what follows from each. Called by the
 * daemon for each event and at replay, by tests and by the simulator. Pure. */
#include "core/core.h"

#include <errno.h>

#include "job/job.h"
#include "node/director.h"
#include "node/holding.h"
#include "node/node.h"
#include "re/re.h"
#include "state/crew.h"
#include "state/gone.h"
#include "state/index.h"

/* Handles deadlines of nodes, keys, jobs, silent nodes and triggers, and the ledger's timers, in
 * this order. */
int phx_apply_tick(struct phx_apply *a, const struct phx_event_none *p)
{
	(void)p;
	struct phx_node *n;
	for (uint32_t at = 0; (n = phx_index_next_due(a->s, at));
	     at = phx_index_place(a->s, n) + 1) {
		phx_node_tick(a, n);
		phx_work_settle(a);
	}
	phx_keys_tick(a);
	phx_jobs_tick(a);
	phx_silence_tick(a);
	phx_triggers_tick(a);
	if (phx_director_due_ms(a->s) <= a->s->now_ms)
		a->out->changed = true; /* addresses are shared anew at the end of the event */
	if (a->s->ledger && phx_ledger_next_ms(a->s->ledger) <= a->s->now_ms) {
		a->out->changed = true; /* the ledger's timers go on, even if no node moves */
		phx_ledger_tick(a->s->ledger, a->s->now_ms, a->todo);
	}
	return 0;
}

static int handle(struct phx_apply *a, const struct phx_event *ev)
{
	switch ((enum phx_event_kind)ev->kind) {
#define EVENT(name, text, payload, handler) \
	case PHX_EV_##name: \
		return handler(a, &ev->payload);
#include "state/event.def"
	case PHX_EV_COUNT_:
		break;
	}
	return -EINVAL;
}

/* Makes the ledger and the nodes agree, and ends the REs whose safe deactivation is complete after
 * that. If nothing changed they agree already. */
static void settle(struct phx_apply *a)
{
	if (!a->s->ledger || (!a->out->changed && !a->todo->n))
		return;
	do
		phx_allocation_agree(a);
	while (phx_res_drained(a));
}

static void engine_told(struct phx_apply *a, struct phx_node *n)
{
	(void)n;
	settle(a);
	phx_engine_count_runs(a);
}

static const phx_work_fn work[] = {
	[PHX_WORK_LINES] = phx_lines_settle,        [PHX_WORK_NODE_READY] = phx_auto_assign,
	[PHX_WORK_ENGINE_TOLD] = engine_told,       [PHX_WORK_NODE_LET_GO] = phx_handover_advance,
	[PHX_WORK_JOB_LOST] = phx_holding_job_lost, [PHX_WORK_JOB_UNHEARD] = phx_take_back_unheard,
};
_Static_assert(PHX_ARRAY_SIZE(work) == PHX_WORK_COUNT_,
	       "every kind of work has somebody who does it");

/* A role, or an RE: nodes that were unfit for it may be fit after such an event. */
static bool concerns_others(int kind)
{
	return kind == PHX_EV_role_put || kind == PHX_EV_role_remove ||
		(kind >= PHX_EV_re_request && kind <= PHX_EV_re_destroy);
}

static void choose_unfit_again(struct phx_apply *a)
{
	struct phx_node *n;
	for (uint32_t at = 0; (n = phx_index_candidate(a->s, PHX_SET_UNFIT, at));
	     at = phx_index_place(a->s, n) + 1)
		phx_choose_again(a, n);
}

/* Touches the event's node, which handlers change without touching it; they touch other nodes
 * themselves. */
static void touch(struct phx_apply *a)
{
	const char *name = a->ev->node[0] ? a->ev->node : a->out->node;
	struct phx_node *n = name[0] ? phx_state_node(a->s, name) : NULL;
	bool news = a->ev->kind == PHX_EV_hello || a->ev->kind == PHX_EV_inventory ||
		a->ev->kind == PHX_EV_node_bmc;
	if (n)
		phx_touch(a->s, n);
	if (n && news)
		phx_choose_again(a, n);
	if (concerns_others(a->ev->kind))
		choose_unfit_again(a);
}

/* Does the work that follows from the handler's changes. */
static void follow_up(struct phx_apply *a)
{
	phx_work_settle(a);
	touch(a);
	phx_jobs_start(a);
	phx_workers_ask(a);
	settle(a);
	phx_workers_fill(a);
	if (a->out->changed || a->out->actions.n)
		phx_director_settle(a);
}

/* The error that spoils the state; 0: none. */
static int spoilt(const struct phx_apply *a)
{
	bool lacks = !phx_index_is_whole(a->s) || !phx_crew_is_whole(a->s) ||
		(a->s->ledger && phx_ledger_error(a->s->ledger));
	return lacks ? -ENOMEM : a->out->error;
}

static void refuse(struct phx_outcome *out)
{
	struct phx_outcome refused = {0};
	PHX_STR_SET(refused.never, out->never);
	phx_outcome_fini(out);
	*out = refused;
}

int phx_core_apply_in_portion(struct phx_state *s, const struct phx_event *ev,
			      struct phx_outcome *ret, struct phx_err *err)
{
	*ret = (struct phx_outcome){0};
	if (ev->kind < 0 || ev->kind >= PHX_EV_COUNT_)
		return phx_err_set(err, -EINVAL, "%d is no kind of event", ev->kind);
	if (ev->now_ms < s->now_ms)
		return phx_err_set(err, -EINVAL,
				   "event time %lld lies before the last event's %lld",
				   (long long)ev->now_ms, (long long)s->now_ms);
	if (phx_index_ready(s) < 0 || phx_crew_ready(s) < 0)
		return -ENOMEM;
	int64_t before = s->now_ms;
	struct phx_incarnation was = phx_incarnation_begin(s, ev->incarnation);
	PHX_AUTO(phx_list_fini) struct phx_list todo = {0}, left = {0};
	struct phx_apply a = {s,    &ev->head, ret,   err,   ev->by, PHX_JOBS_UNSAID,
			      NULL, false,     &todo, &left, work};
	s->now_ms = ev->now_ms;
	if (s->ledger)
		phx_ledger_of_before(s->ledger, phx_of_before(s));
	int r = handle(&a, ev);
	if (r == 0)
		follow_up(&a);
	int error = spoilt(&a);
	r = error ? error : r;
	bool counts = r == 0 && (ret->changed || ret->actions.n);
	if (r < 0)
		s->now_ms = before;
	if (r < 0)
		refuse(ret);
	if (!counts)
		phx_incarnation_undo(s, was);
	phx_index_settle(s);
	s->seq += counts;
	return r;
}

void phx_core_portion_end(struct phx_state *s)
{
	phx_nodes_close_up(s);
	phx_index_settle(s);
}

int phx_core_apply(struct phx_state *s, const struct phx_event *ev, struct phx_outcome *ret,
		   struct phx_err *err)
{
	int r = phx_core_apply_in_portion(s, ev, ret, err);
	if (s->n_gone)
		phx_core_portion_end(s);
	return r;
}

int phx_core_ready(struct phx_state *s)
{
	int r = phx_index_ready(s);
	r = r ? r : phx_crew_ready(s);
	if (r == 0)
		phx_index_settle(s);
	return r;
}

int phx_core_try(const struct phx_state *s, const struct phx_event *ev, struct phx_outcome *ret,
		 struct phx_err *err)
{
	struct phx_state copy;
	int r = phx_record_copy(&phx_state_record, &copy, s);
	if (r < 0)
		return r;
	r = phx_core_apply(&copy, ev, ret, err);
	phx_state_fini(&copy);
	return r;
}
