/* Jobs on silent nodes: no job ever runs twice at once. An agent that does not reach the head for
 * the heartbeat timeout of a job ends the job itself. Here the job's part counts as running until
 * that has surely happened, or until its node was seen off or has restarted:
 *
 *              silence               heartbeat timeout, seen off, new start
 *   heard ───────────────────▶ silent ──────────────────────────────────────▶ lost
 *     ▲                          │
 *     └──── heard, same start ───┘
 *
 * An agent that is heard, and does not say that a run has ended which was told to for its node, may
 * belong to an owner who wants to keep the node: it is taken back (node/unheard.c), and the run
 * counts until the node was seen off or has restarted.
 *
 * Called where a node is lost, silent or heard again, and where a run is told to end. Pure. */
#include "job/internal.h"

#include <string.h>

/* Allows for clocks that differ, a keeper that wakes late, and a process that takes time to die. */
enum { MARGIN_MS = 10000 };

/* A deadline that is met so late was met by a head that was down, or whose disk took no events: it
 * could not hear anybody either. */
enum { DEAF_MS = 5000 };

static struct phx_job_part *open_part(struct phx_job *j, const char *node)
{
	if (j->state != PHX_JOB_RUNNING)
		return NULL;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
		if (!p->ended && !strcmp(p->node, node))
			return p;
	return NULL;
}

/* The job that has an open part on `n`: there is one at most. NULL: none. */
static struct phx_job *job_on(const struct phx_apply *a, const struct phx_node *n,
			      struct phx_job_part **ret_part)
{
	struct phx_job *j = phx_index_job_on(a->s, n);
	*ret_part = j ? open_part(j, n->name) : NULL;
	return *ret_part ? j : NULL;
}

/* As job_on(), but NULL for a job of an external engine, which handles silent nodes itself. */
static struct phx_job *own_job_on(const struct phx_apply *a, const struct phx_node *n,
				  struct phx_job_part **ret_part)
{
	struct phx_job *j = job_on(a, n, ret_part);
	return j && !j->engine_id[0] ? j : NULL;
}

/* The part may run for at most wait_ms from now; an earlier end of the wait stays. */
static void count_silence(const struct phx_apply *a, const struct phx_job *j,
			  struct phx_job_part *p, int64_t wait_ms)
{
	int64_t end = a->s->now_ms + wait_ms;
	if (!p->lost_ms || p->lost_ms > end)
		p->lost_ms = end;
	phx_index_job_due(a->s, j);
}

/* Waits until the agent has surely ended the part: it begins to after the heartbeat timeout, and
 * then gives the job its checkpoint and grace times. */
static void begin_silence(const struct phx_apply *a, const struct phx_job *j,
			  struct phx_job_part *p)
{
	int64_t wait_ms = (int64_t)j->heartbeat_timeout_ms + j->checkpoint_ms + j->grace_ms;
	count_silence(a, j, p, wait_ms + MARGIN_MS);
}

/* The nodes on which the run has not ended, of agents that are heard. */
static void take_unheard(struct phx_apply *a, struct phx_job *j)
{
	if (j->state != PHX_JOB_RUNNING || !j->unheard_ms || j->unheard_ms > a->s->now_ms)
		return;
	bool was_deaf = a->s->now_ms - j->unheard_ms > DEAF_MS;
	a->out->changed = true;
	j->unheard_ms =
		0; /* again after the same time: the node may be silent, or not let go now */
	phx_job_await_end(a, j);
	if (was_deaf)
		return;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
		const struct phx_node *n = p->ended ? NULL : phx_state_node(a->s, p->node);
		if (n && n->up)
			phx_work_add(a, PHX_WORK_JOB_UNHEARD, n);
	}
}

void phx_jobs_silent(struct phx_apply *a, struct phx_node *n)
{
	struct phx_job_part *p;
	struct phx_job *j = own_job_on(a, n, &p);
	if (j)
		begin_silence(a, j, p);
}

void phx_jobs_seen_off(struct phx_apply *a, struct phx_node *n)
{
	struct phx_job_part *p;
	struct phx_job *j = own_job_on(a, n, &p);
	if (j)
		count_silence(a, j, p, a->s->settings.missing_after_ms);
}

void phx_jobs_heard(struct phx_apply *a, struct phx_node *n)
{
	struct phx_job_part *p;
	phx_text_clear(&n->cut_by); /* the ordered power operation did not happen */
	if (own_job_on(a, n, &p))
		p->lost_ms = 0;
}

/* A running job's RE loses a node: so does the ledger, and the job ends on all nodes, to run again.
 */
static void lose_in_ledger(struct phx_apply *a, struct phx_job *j, struct phx_node *n)
{
	const struct phx_re *re = phx_state_re(a->s, j->re);
	phx_job_end_for(a, j, PHX_JOB_END_KILLED);
	if (re && re->active)
		phx_work_now(a, PHX_WORK_JOB_LOST, n);
}

/* Records why the job ends: its node was lost, or somebody switched the node's power. In the second
 * case a job outside of the REs runs again too. */
static void blame_loss(struct phx_apply *a, struct phx_job *j, struct phx_node *n)
{
	if (!n->cut_by) {
		if (j->re[0] && !j->end)
			phx_job_blame(a, j, "phxd", "%s was lost", n->name);
		return;
	}
	phx_job_blame(a, j, n->cut_by, "%s was %s", n->name,
		      a->ev->kind == PHX_EV_node_remove ? "removed"
							: "switched off or started anew");
	phx_job_end_for(a, j, PHX_JOB_END_KILLED);
}

void phx_jobs_lost(struct phx_apply *a, struct phx_node *n, int64_t status)
{
	struct phx_job_part *p;
	struct phx_job *j = own_job_on(a, n, &p);
	if (j)
		blame_loss(a, j, n);
	phx_text_clear(&n->cut_by);
	if (!j)
		return;
	phx_job_why(a, j, "%s was lost while it ran", n->name);
	if (j->re[0])
		lose_in_ledger(a, j, n);
	phx_job_part_end(a, j, p, status);
}

void phx_jobs_leave(struct phx_apply *a, struct phx_node *n, const char *why)
{
	struct phx_job_part *p;
	struct phx_job *j = job_on(a, n, &p);
	if (!j)
		return;
	if (!j->end)
		phx_job_blame(a, j, a->by, "%s left: %s", n->name, why);
	if (j->re[0])
		lose_in_ledger(a, j, n);
	else if (a->jobs != PHX_JOBS_UNSAID)
		phx_job_end_for(a, j, PHX_JOB_END_KILLED);
	else
		j->broken = true;
	if (!n->up && !j->engine_id[0])
		begin_silence(a, j, p);
	phx_job_tell(a, j);
	a->out->changed = true;
}

/* phxd has restarted, and its clock may have been set meanwhile, unlike the agents' clocks: silence
 * is counted from now on. */
int phx_apply_restart(struct phx_apply *a, const struct phx_event_none *none)
{
	(void)none;
	PHX_LIST_EACH(struct phx_job, j, &a->s->jobs) {
		if (j->state == PHX_JOB_RUNNING && j->unheard_ms) {
			j->unheard_ms = 0;
			phx_job_await_end(a, j);
			a->out->changed = true;
		}
		PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
			if (j->state != PHX_JOB_RUNNING || p->ended || !p->lost_ms)
				continue;
			p->lost_ms = 0;
			begin_silence(a, j, p);
			a->out->changed = true;
		}
	}
	return 0;
}

/* A part of `j` that its agent must have ended by now; NULL: none. */
static struct phx_job_part *overdue_part(struct phx_job *j, int64_t now)
{
	if (j->state != PHX_JOB_RUNNING)
		return NULL;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
		if (!p->ended && p->lost_ms && p->lost_ms <= now)
			return p;
	return NULL;
}

static void say_silence(struct phx_apply *a, const struct phx_job *j, const struct phx_job_part *p,
			const struct phx_node *n)
{
	/* the second text is in older journals, whose replay compares it: the "lease" is the
	 * heartbeat timeout */
	bool off = n && n->power == PHX_POWER_IS_OFF && !phx_of_before(a->s);
	phx_note_re(a, n, j->re, NULL,
		    off ? "%s is silent and was seen off: job %llu does not run there any more"
			: "%s is silent and the lease of job %llu has ended: it does not run there "
			  "any more",
		    p->node, (unsigned long long)j->id);
}

void phx_silence_tick(struct phx_apply *a)
{
	if (phx_index_jobs_due(a->s) > a->s->now_ms)
		return;
	PHX_AUTO(phx_list_fini) struct phx_list due = {0};
	phx_stick(a, phx_index_due_jobs(a->s, &due));
	PHX_LIST_EACH(uint64_t, id, &due) {
		struct phx_job *j = phx_state_job(a->s, *id);
		for (struct phx_job_part *p; j && (p = overdue_part(j, a->s->now_ms));) {
			struct phx_node *n = phx_state_node(a->s, p->node);
			say_silence(a, j, p, n);
			if (n)
				blame_loss(a, j, n);
			phx_job_why(a, j, "%s was lost while it ran", p->node);
			if (n && j->re[0])
				lose_in_ledger(a, j, n);
			phx_job_part_end(a, j, p, 255);
		}
		if (j)
			take_unheard(a, j);
	}
}
