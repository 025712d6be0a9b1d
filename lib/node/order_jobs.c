/* Jobs that an order would end. An order that does not allow jobs to end is refused, with the job's
 * name. If the job may end, or the order only waits for it, the hand-over waits before its step
 * drain:
 *
 *   drain pending ──no job──▶ drain ordered from the agent
 *        │ job                    ▲
 *        ▼                        │ the job's part has ended, or its time for that is over and
 *     waiting ──grace is over──▶ killed, to run again        the machine is power cycled anyway
 *
 * Events of older journals say nothing of jobs, and end them as they did then. Called by the
 * handlers of orders, and by handover.c. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	ENGINE_AGAIN_MS = 300 * 1000, /* fallback: the engine reports by itself */
	JOB_AGAIN_MS = 3600 * 1000,   /* fallback: the agent reports by itself */
};

/* ---- which job, and may it end ---- */

/* Would the order end the job on its node? */
static bool ends_jobs(const struct phx_node_order *o)
{
	switch (o->kind) {
	case PHX_EV_assign:
	case PHX_EV_release:
	case PHX_EV_rebuild:
	case PHX_EV_wipe:
	case PHX_EV_quarantine:
		return true;
	case PHX_EV_drain:
		return o->has_grace;
	case PHX_EV_reboot:
		return !o->when_idle;
	case PHX_EV_node_remove:
		return o->force;
	case PHX_EV_resume:
		return o->node->state == PHX_NODE_QUARANTINED;
	case PHX_EV_power:
		return phx_power_ends(o->op);
	default: /* the kinds of events are far more than those of orders on nodes */
		return false;
	}
}

/* The job that runs on the node and was not told to end yet; NULL: none. */
static const struct phx_job *waited_for(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_job *j = phx_index_job_on(s, n);
	return j && j->state == PHX_JOB_RUNNING && !phx_job_is_told(j) ? j : NULL;
}

const struct phx_job *phx_event_waits_for_job(const struct phx_state *s, const struct phx_event *ev)
{
	const struct phx_node *n = phx_state_node(s, ev->node);
	return n ? waited_for(s, n) : NULL;
}

const struct phx_job *phx_order_ends(const struct phx_state *s, const struct phx_node_order *o)
{
	return ends_jobs(o) ? waited_for(s, o->node) : NULL;
}

const struct phx_job *phx_event_ends_job(const struct phx_state *s, const struct phx_event *ev)
{
	const struct phx_node *n = phx_state_node(s, ev->node);
	if (!n || phx_event_payload((enum phx_event_kind)ev->kind) != PHX_PAYLOAD_order)
		return NULL;
	const struct phx_node_order o = phx_order_of(&ev->head, &ev->order, n);
	return phx_order_ends(s, &o);
}

static int compare_ref(const void *id, const void *ref)
{
	uint64_t a = *(const uint64_t *)id, b = ((const struct phx_job_ref *)ref)->id;
	return a < b ? -1 : a > b;
}

static bool may_end(enum phx_jobs_say jobs, const struct phx_list *named, const struct phx_job *j)
{
	if (jobs == PHX_JOBS_NAMED && named->n)
		return bsearch(&j->id, named->items, named->n, sizeof(struct phx_job_ref),
			       compare_ref);
	return jobs == PHX_JOBS_ANY || jobs == PHX_JOBS_UNSAID;
}

int phx_order_jobs_allow(struct phx_apply *a, const struct phx_node_order *o)
{
	const struct phx_job *j = phx_order_ends(a->s, o);
	if (!j || may_end(o->jobs, o->may_end, j))
		return 0;
	return phx_err_set(a->err, -EBUSY,
			   "job %s of %s has run on %s for %lld s and would end: let it (drain), "
			   "or say that it may",
			   phx_job_title(j).text, j->user[0] ? j->user : "?", o->node->name,
			   (long long)((a->s->now_ms - j->started_ms) / 1000));
}

int phx_order_jobs_allow_re(struct phx_apply *a, const struct phx_re *re)
{
	const struct phx_job *first = NULL;
	uint32_t n_open = 0;
	if (a->jobs == PHX_JOBS_UNSAID || a->jobs == PHX_JOBS_ANY)
		return 0;
	PHX_INDEX_EACH_JOB_OF(j, a->s, re->name) {
		if (!phx_job_is_open(j) || j->end == PHX_JOB_END_CANCELLED ||
		    may_end(a->jobs, a->may_end, j) ||
		    (phx_job_outlives(re, j) && (j->state == PHX_JOB_QUEUED || phx_job_is_told(j))))
			continue;
		first = first ? first : j;
		n_open++;
	}
	if (!n_open)
		return 0;
	return phx_err_set(a->err, -EBUSY,
			   "RE '%s' has %u job%s that would end, such as %s of %s: wait for them "
			   "(safe), or say that they may",
			   re->name, n_open, n_open == 1 ? "" : "s", phx_job_title(first).text,
			   first->user[0] ? first->user : "?");
}

/* ---- ending a job ---- */

/* Puts the node's plan into words. */
static void say_why(const struct phx_node *n, char *buf, size_t n_buf)
{
	const struct phx_plan *p = &n->plan;
	const char *request = phx_request_name(p);
	if (p->to_role[0] && p->request != PHX_REQUEST_drain)
		snprintf(buf, n_buf, "%s: %s of role %s", n->name, request, p->to_role);
	else
		snprintf(buf, n_buf, "%s: %s", n->name, request);
}

/* Kills the job for the order on its node; the job runs again unless it has no_requeue. */
static void end_job(struct phx_apply *a, struct phx_job *j, const struct phx_node *n)
{
	char why[160];
	const char *by = n->plan.by;
	if (phx_job_is_told(j))
		return;
	say_why(n, why, sizeof(why));
	phx_job_blame(a, j, by, "%s", why);
	phx_note_re(a, n, j->re, NULL, "job %s is killed%s (kill %u): %s, by order of %s",
		    phx_job_title(j).text, j->no_requeue ? "" : " and queued again", j->kills + 1,
		    why, by[0] ? by : "phxd");
	phx_job_end_early(a, j, PHX_JOB_END_KILLED);
	phx_job_tell(a, j);
}

void phx_order_jobs_end(struct phx_apply *a, const struct phx_node *n)
{
	struct phx_job *j = phx_index_job_on(a->s, n);
	if (j && j->state == PHX_JOB_RUNNING)
		end_job(a, j, n);
}

/* ---- hand-overs ---- */

static struct phx_step *drain_of(struct phx_plan *p)
{
	for (uint32_t i = p->cursor; i < p->steps.n; i++) {
		struct phx_step *step = PHX_LIST_AT(&p->steps, struct phx_step, i);
		if (step->kind == PHX_STEP_drain)
			return step;
	}
	return NULL;
}

/* How long the job may still run, by its time limit or the end of the grace; 0: unknown. */
static int64_t expected_ms(const struct phx_state *s, const struct phx_job *j,
			   const struct phx_plan *p)
{
	int64_t left = j->estimate_ms > 0 ? j->started_ms + j->estimate_ms - s->now_ms : INT64_MAX;
	if (p->has_grace && p->grace_ms < left)
		return (int64_t)p->grace_ms + j->checkpoint_ms + j->grace_ms;
	return left == INT64_MAX || left < 0 ? 0 : left;
}

void phx_order_jobs_plan(const struct phx_state *s, const struct phx_node_order *o,
			 const struct phx_role *from, struct phx_plan *plan)
{
	struct phx_step *drain = drain_of(plan);
	const struct phx_job *j = waited_for(s, o->node);
	PHX_STR_SET(plan->by, o->by);
	if (o->jobs == PHX_JOBS_UNSAID)
		return;
	plan->waits = true;
	plan->has_grace = (o->has_grace || o->kind != PHX_EV_drain) && !o->when_idle;
	if (plan->has_grace)
		plan->grace_ms = o->has_grace ? o->grace_ms : from ? from->drain_grace_s * 1000 : 0;
	if (!drain || !j || !o->node->up)
		return;
	int64_t more = expected_ms(s, j, plan);
	drain->expected_ms += more < INT32_MAX ? (uint32_t)more : INT32_MAX;
	plan->expected_ms += more < INT32_MAX ? (uint32_t)more : INT32_MAX;
}

void phx_order_jobs_begin(struct phx_apply *a, struct phx_node *n)
{
	struct phx_job *j = n->plan.waits ? phx_index_job_on(a->s, n) : NULL;
	/* a silent node that is drained may still run its job to the end */
	if (!j || drain_of(&n->plan) || n->plan.request == PHX_REQUEST_drain)
		return;
	end_job(a, j, n);
}

static void begin_waiting(struct phx_apply *a, struct phx_node *n, const struct phx_job *j)
{
	char at_most[80] = "";
	if (n->plan.has_grace)
		snprintf(at_most, sizeof(at_most), ", for %u s at most", n->plan.grace_ms / 1000);
	n->plan.kill_at_ms = n->plan.has_grace ? a->s->now_ms + n->plan.grace_ms : INT64_MAX;
	phx_node_must_become(a, n, PHX_NODE_DRAINING);
	a->out->changed = true;
	phx_note(a, n, "%s waits for job %s of %s to end%s", n->name, phx_job_title(j).text,
		 j->user[0] ? j->user : "?", at_most);
}

/* When the plan goes on without the report that the killed job has ended. Not if its system stays
 * up: only the agent knows. */
static int64_t waits_until(const struct phx_state *s, const struct phx_node *n,
			   const struct phx_job *j)
{
	if (!n->up || n->plan.kill_at_ms == INT64_MAX || !phx_cut_follows(s, n))
		return INT64_MAX;
	return n->plan.kill_at_ms + phx_job_ends_within_ms(j);
}

/* Does the node's job still run? Kills it when the grace, if there is one, is over. */
static bool job_waits(struct phx_apply *a, struct phx_node *n, struct phx_step *step)
{
	struct phx_job *j = n->plan.waits ? phx_index_job_on(a->s, n) : NULL;
	if (!j || j->state != PHX_JOB_RUNNING)
		return false;
	if (!n->plan.kill_at_ms)
		begin_waiting(a, n, j);
	if (n->plan.kill_at_ms <= a->s->now_ms)
		end_job(a, j, n);
	int64_t until = waits_until(a->s, n, j);
	if (until <= a->s->now_ms)
		return false;
	step->deadline_ms = a->s->now_ms + JOB_AGAIN_MS;
	if (until < step->deadline_ms)
		step->deadline_ms = until;
	if (!phx_job_is_told(j) && n->plan.kill_at_ms < step->deadline_ms)
		step->deadline_ms = n->plan.kill_at_ms;
	return true;
}

bool phx_order_jobs_wait(struct phx_apply *a, struct phx_node *n, struct phx_step *step)
{
	if (step->kind != PHX_STEP_drain || step->attempt)
		return false;
	if (job_waits(a, n, step))
		return true;
	if (!phx_engine_holds(a, n))
		return false;
	step->deadline_ms = a->s->now_ms + ENGINE_AGAIN_MS;
	return true;
}
