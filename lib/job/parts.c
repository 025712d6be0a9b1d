/* Jobs on their nodes: start, end, kill. A job has one part per node; either all parts start or
 * none. The ledger queues and chooses jobs of batch REs (re/allocation.c carries that out). Jobs
 * outside of the REs have a queue of lib/batch of their own (state/index.h), on those nodes that
 * run jobs and belong to no RE. Called by the table of events, by the allocation, and where nodes
 * are lost. Pure. */
#include "job/internal.h"
#include "state/crew.h"

#include <errno.h>
#include <string.h>

/* Jobs that are kept, including ended ones, which people may still ask about; and how many ended
 * ones are forgotten at a time: the list is gone through once for all of them. */
enum { JOBS_KEPT = 1000, JOBS_FORGOTTEN = 256 };

static struct phx_job_part *part_of(struct phx_job *j, const char *node)
{
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
		if (!strcmp(p->node, node))
			return p;
	return NULL;
}

static struct phx_node *next_for(struct phx_state *s, const struct phx_job *j, uint32_t at)
{
	return j->re[0] ? phx_index_next_idle(s, j->re, at) : phx_index_next(s, PHX_SET_TAKES, at);
}

/* The cores and memory that tasks may use on each of the worker's nodes, which is what the least of
 * them has; fixed when the worker starts. */
static void note_room(struct phx_job *j, const struct phx_node *n)
{
	const struct phx_facts *f = &n->facts;
	uint32_t cores = f->cpus ? f->cpus : f->cores ? f->cores : 1;
	bool first = j->parts.n == 1;
	j->cores = first || cores < j->cores ? cores : j->cores;
	j->memory_bytes =
		first || f->memory_bytes < j->memory_bytes ? f->memory_bytes : j->memory_bytes;
}

static void start_job(struct phx_apply *a, struct phx_job *j)
{
	struct phx_node *n;
	for (uint32_t at = 0; j->parts.n < j->nodes && (n = next_for(a->s, j, at));
	     at = phx_index_place(a->s, n) + 1) {
		struct phx_job_part *p = phx_grow(a, &j->parts, sizeof(*p));
		if (!p)
			return;
		PHX_STR_SET(p->node, n->name);
		n->jobs_running++;
		n->allocated_job = j->re[0] ? j->id : 0;
		if (j->worker)
			note_room(j, n);
		phx_index_runs(a->s, n, j->id);
		phx_act(a, PHX_ACT_ORDER, n);
	}
	free(PHX_TAKE(j->why));
	phx_job_become(a, j, PHX_JOB_RUNNING);
	j->started_ms = a->s->now_ms;
	j->heartbeat_timeout_ms = a->s->settings.job_heartbeat_timeout_ms;
	j->output_max_mb = a->s->settings.job_output_max_mb;
	j->idle_ms = j->worker ? j->started_ms : 0; /* idle until it is given a task */
	phx_index_job_due(a->s, j);
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
		if (j->worker)
			phx_crew_join(a->s, phx_state_node(a->s, p->node), j);
}

void phx_job_start_in_re(struct phx_apply *a, struct phx_job *j)
{
	start_job(a, j);
	a->out->changed = true;
}

void phx_job_kill(struct phx_apply *a, struct phx_job *j)
{
	if (j->state != PHX_JOB_RUNNING || phx_job_is_killed(j))
		return;
	phx_job_end_for(a, j, PHX_JOB_END_KILLED);
	a->out->changed = true;
	phx_job_tell(a, j);
}

void phx_jobs_start(struct phx_apply *a)
{
	struct phx_batch *outside = phx_index_outside(a->s);
	PHX_AUTO(phx_list_fini) struct phx_list ids = {0};
	if (!phx_batch_first(outside))
		return;
	uint32_t n_free = phx_index_count(a->s, PHX_SET_TAKES);
	phx_batch_give(outside, n_free);
	phx_stick(a, phx_batch_pass(outside, a->s->now_ms, &ids));
	PHX_LIST_EACH(uint64_t, id, &ids)
		start_job(a, phx_state_job(a->s, *id));
	phx_batch_take(outside, n_free);
}

static void queue_again(struct phx_apply *a, struct phx_job *j)
{
	phx_list_fini(&j->parts); /* a part owns nothing */
	phx_job_become(a, j, PHX_JOB_QUEUED);
	j->broken = j->timed_out = false;
	j->started_ms = j->status = j->unheard_ms = 0;
	j->kills++;
}

/* Was the run ended, rather than that it came to its own end in that moment? */
static bool was_killed(const struct phx_job *j)
{
	return phx_job_is_killed(j) && j->status;
}

/* Tells the job's RE of the end of its run; true: the job runs again. */
static bool leave_ledger(struct phx_apply *a, struct phx_job *j)
{
	const struct phx_re *re = phx_state_re(a->s, j->re);
	phx_job_left_nodes(a, j);
	if (!re)
		return false;
	/* false: the job ended by itself before it was told to */
	bool told = phx_job_ends_for_good(j) || was_killed(j);
	bool kept = j->kept && was_killed(j);
	if (!re->active)
		return kept;
	if (!told) {
		phx_ledger_job_ended(a->s->ledger, (int)re->number, j->id, a->s->now_ms, a->todo);
		return false;
	}
	phx_ledger_job_killed(a->s->ledger, (int)re->number, j->id, a->s->now_ms, a->todo);
	/* an RE that lost all its nodes while it was deactivated still has the job in its list;
	 * older journals have it queued again */
	bool over = a->s->settings.takes_unheard && phx_job_ends_for_good(j);
	return kept ||
		(!over && phx_batch_job(phx_ledger_batch(a->s->ledger, (int)re->number), j->id));
}

static void finish_job(struct phx_apply *a, struct phx_job *j)
{
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
		if (!p->ended)
			return;
		if (p->status)
			j->status = p->status;
	}
	if (j->re[0] ? leave_ledger(a, j) : was_killed(j) && !j->no_requeue) {
		queue_again(a, j);
		phx_job_wait_on(a, j);
		return;
	}
	phx_job_become(a, j,
		       j->end == PHX_JOB_END_CANCELLED ? PHX_JOB_CANCELLED
			       : j->timed_out          ? PHX_JOB_TIMEOUT
			       : j->status             ? PHX_JOB_FAILED
						       : PHX_JOB_DONE);
	if (j->state == PHX_JOB_DONE)
		free(PHX_TAKE(j->why));
	j->ended_ms = a->s->now_ms;
}

void phx_job_part_end(struct phx_apply *a, struct phx_job *j, struct phx_job_part *p,
		      int64_t status)
{
	struct phx_node *n = phx_state_node(a->s, p->node);
	if (n && j->worker)
		phx_given_lose(a, n);
	p->ended = true;
	p->status = status;
	p->lost_ms = 0;
	if (n && n->jobs_running) {
		n->jobs_running--;
		phx_touch(a->s, n);
		phx_node_job_ended(n, a->s->now_ms);
	}
	/* if one part fails, the other parts are told to end */
	j->broken = j->broken || status;
	PHX_LIST_EACH(struct phx_job_part, o, &j->parts) {
		struct phx_node *other = phx_state_node(a->s, o->node);
		if (o->ended || !j->broken || !other)
			continue;
		phx_act(a, PHX_ACT_ORDER, other);
		phx_crew_look(a->s, other);
	}
	finish_job(a, j);
	a->out->changed = true;
}

/* Drops the oldest ended jobs; an old job that never starts does not keep them. The first member of
 * an array stays while others are open, since it stores their words. */
void phx_jobs_forget_old(struct phx_state *s)
{
	uint32_t n_ended = s->jobs.n - phx_index_jobs(s)->n_open, i = 0, kept = 0;
	if (s->jobs.n < JOBS_KEPT + JOBS_FORGOTTEN || n_ended < JOBS_FORGOTTEN)
		return;
	uint32_t n_old = n_ended < s->jobs.n - JOBS_KEPT ? n_ended : s->jobs.n - JOBS_KEPT;
	for (; n_old && i < s->jobs.n; i++) {
		struct phx_job *j = PHX_LIST_AT(&s->jobs, struct phx_job, i);
		if (phx_job_is_open(j) || j->array_open) {
			*PHX_LIST_AT(&s->jobs, struct phx_job, kept++) = *j;
			continue;
		}
		phx_record_fini(&phx_job_record, j);
		n_old--;
	}
	memmove(PHX_LIST_AT(&s->jobs, struct phx_job, kept),
		PHX_LIST_AT(&s->jobs, struct phx_job, i), (s->jobs.n - i) * sizeof(struct phx_job));
	s->jobs.n -= i - kept;
}

static int need_job(struct phx_apply *a, uint64_t id, struct phx_job **ret)
{
	*ret = phx_state_job(a->s, id);
	if (!*ret)
		return phx_err_set(a->err, -ENOENT, "there is no job %llu", (unsigned long long)id);
	if ((*ret)->engine_id[0])
		return phx_err_set(a->err, -EOPNOTSUPP,
				   "job %llu is run by Slurm as %s: tell Slurm (scancel, scontrol)",
				   (unsigned long long)id, (*ret)->engine_id);
	return 0;
}

static void cancel(struct phx_apply *a, struct phx_job *j)
{
	if (!phx_job_is_open(j) || !phx_job_end_early(a, j, PHX_JOB_END_CANCELLED))
		return;
	if (j->state == PHX_JOB_QUEUED) {
		phx_job_become(a, j, PHX_JOB_CANCELLED);
		j->ended_ms = a->s->now_ms;
	}
	phx_job_tell(a, j);
}

/* Cancels a range of jobs from its end, so that no throttled member starts before it is cancelled
 * itself. */
int phx_apply_job_cancel(struct phx_apply *a, const struct phx_event_job_order *p)
{
	struct phx_job *j;
	int r = need_job(a, p->job, &j);
	if (r < 0)
		return r;
	uint32_t first = (uint32_t)(j - PHX_LIST_AT(&a->s->jobs, struct phx_job, 0)), n = first + 1;
	while (n < a->s->jobs.n && PHX_LIST_AT(&a->s->jobs, struct phx_job, n)->id <= p->job_last)
		n++;
	for (uint32_t i = n; i-- > first;)
		if (!PHX_LIST_AT(&a->s->jobs, struct phx_job, i)->engine_id[0])
			cancel(a, PHX_LIST_AT(&a->s->jobs, struct phx_job, i));
	return 0;
}

int phx_apply_job_hold(struct phx_apply *a, const struct phx_event_job_order *p)
{
	struct phx_job *j;
	int r = need_job(a, p->job, &j);
	if (r < 0)
		return r;
	if (j->state != PHX_JOB_QUEUED)
		return phx_err_set(
			a->err, -EINVAL, "job %llu is %s: only a queued job is held back or let go",
			(unsigned long long)j->id, phx_enum_name(&phx_job_state_names, j->state));
	if (j->held == p->hold)
		return 0;
	r = phx_job_hold_back(a, j, p->hold, j->throttled);
	if (r < 0)
		return phx_err_set(a->err, r, "job %llu cannot be held back or let go now",
				   (unsigned long long)j->id);
	a->out->changed = true;
	return 0;
}

/* ---- time limits ---- */

void phx_worker_end(struct phx_apply *a, struct phx_job *j, int64_t status)
{
	j->idle_ms = 0;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
		if (!p->ended)
			phx_job_part_end(a, j, p, status);
}

void phx_worker_leave(struct phx_apply *a, struct phx_job *j, const struct phx_node *n,
		      int64_t status)
{
	struct phx_job_part *p = part_of(j, n->name);
	if (!p || p->ended)
		return;
	j->idle_ms = 0;
	phx_job_part_end(a, j, p, status);
}

static void say_limit(struct phx_apply *a, struct phx_job *j)
{
	phx_job_why(a, j, "it ran for the %lld s that it may", (long long)(j->estimate_ms / 1000));
}

void phx_jobs_tick(struct phx_apply *a)
{
	if (phx_index_jobs_due(a->s) > a->s->now_ms)
		return;
	PHX_AUTO(phx_list_fini) struct phx_list due = {0};
	phx_stick(a, phx_index_due_jobs(a->s, &due));
	PHX_LIST_EACH(uint64_t, id, &due) {
		struct phx_job *j = phx_state_job(a->s, *id);
		if (!j || phx_job_limit_due(j) > a->s->now_ms)
			continue;
		if (j->worker) {
			phx_worker_end(a, j, 0);
			continue;
		}
		phx_job_end_early(a, j, PHX_JOB_END_OVERDUE);
		say_limit(a, j);
		phx_note_re(a, NULL, j->re, NULL,
			    "job %llu ends: it has run for the %lld s that it may",
			    (unsigned long long)j->id, (long long)(j->estimate_ms / 1000));
		phx_job_tell(a, j);
	}
}

/* The agent ended a part without an order: all parts of the job are ended, and it runs again. */
static void end_by_force(struct phx_apply *a, struct phx_job *j)
{
	const struct phx_re *re = phx_state_re(a->s, j->re);
	if (!re || !re->active || !phx_job_end_early(a, j, PHX_JOB_END_KILLED))
		return;
	phx_job_blame(a, j, "phxd",
		      "the agent of %s ended it: it had not heard the head for the heartbeat "
		      "timeout, or its node drained",
		      a->ev->node);
}

/* Records why the job ended, from its agent's report; the first report of a failure counts. */
static void judge_end(struct phx_apply *a, const struct phx_event_job_result *p, struct phx_job *j)
{
	bool limit = p->ended_by == PHX_ENDED_LIMIT;
	j->timed_out = j->timed_out || limit ||
		(j->end == PHX_JOB_END_OVERDUE && (p->result || p->ended_by == PHX_ENDED_TOLD));
	if (limit)
		say_limit(a, j);
	else if (p->result && a->ev->text[0])
		phx_job_why(a, j, "%s: %s", a->ev->node, a->ev->text);
}

int phx_apply_job_result(struct phx_apply *a, const struct phx_event_job_result *p)
{
	struct phx_job *j;
	int r = need_job(a, p->job, &j);
	if (r < 0)
		return r;
	if (p->run != j->kills)
		return phx_err_set(a->err, -ESTALE, "job %llu is in run %u: run %u is of the past",
				   (unsigned long long)j->id, j->kills, p->run);
	struct phx_job_part *part = part_of(j, a->ev->node);
	if (!part || part->ended)
		return phx_err_set(a->err, -ESTALE, "job %llu has no open part on %s",
				   (unsigned long long)j->id, a->ev->node);
	if (p->forced && p->result && j->re[0])
		end_by_force(a, j);
	judge_end(a, p, j);
	part->cpu_ms = p->cpu_ms;
	part->memory_peak_bytes = p->memory_peak_bytes;
	part->output_cut_bytes = p->output_cut_bytes;
	phx_job_part_end(a, j, part, p->result);
	return 0;
}
