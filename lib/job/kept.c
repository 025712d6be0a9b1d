/* Jobs whose RE is deactivated: they end with the RE, or the RE keeps them (003 2 resumes them at
 * the next activation):
 *
 *   queued ───────deactivated────────────────▶ queued, kept ───activated──▶ queued
 *                                                 ▲      └──destroyed──▶ cancelled
 *   running ──deactivated──▶ running, kept ──its last part has ended
 *
 * A kept job is in no queue of the ledger. It keeps its number, its time of submission and its
 * count of runs, so that it returns to its former place in the queue. If its node is silent until
 * after the next activation, the job joins the queue only once that run has surely ended. Called by
 * re/life.c, and by parts.c when a run has ended. Pure. */
#include "job/internal.h"

bool phx_job_outlives(const struct phx_re *re, const struct phx_job *j)
{
	if (!re->agreement.keep_jobs || j->engine_id[0] || phx_job_ends_for_good(j))
		return false;
	if (j->state == PHX_JOB_QUEUED)
		return true;
	/* a job that failed without an order to end is not kept */
	return j->state == PHX_JOB_RUNNING && !j->no_requeue &&
		(!j->broken || phx_job_is_killed(j));
}

static void keep(struct phx_apply *a, const struct phx_re *re, struct phx_job *j)
{
	j->kept = true;
	if (j->state == PHX_JOB_QUEUED || !phx_job_end_for(a, j, PHX_JOB_END_KILLED))
		return;
	phx_job_blame(a, j, a->ev->by, "RE %s is deactivated, and keeps it", re->name);
	phx_job_tell(a, j);
}

static void end(struct phx_apply *a, const struct phx_re *re, struct phx_job *j, const char *what)
{
	if (phx_job_end_for(a, j, PHX_JOB_END_CANCELLED))
		phx_job_blame(a, j, a->ev->by, "RE %s is %s", re->name, what);
	if (j->state != PHX_JOB_QUEUED)
		return;
	phx_job_become(a, j, PHX_JOB_CANCELLED);
	j->ended_ms = a->s->now_ms;
}

static const char *jobs(uint32_t n)
{
	return n == 1 ? "job" : "jobs";
}

static void tell(struct phx_apply *a, const struct phx_re *re, uint32_t n_kept, uint32_t n_told,
		 uint32_t n_ended)
{
	if (n_kept)
		phx_note_re(
			a, NULL, re->name, NULL,
			"RE %s keeps %u %s until it is activated again; %u of them %s and %s told "
			"to end",
			re->name, n_kept, jobs(n_kept), n_told, n_told == 1 ? "runs" : "run",
			n_told == 1 ? "is" : "are");
	if (n_ended)
		phx_note_re(a, NULL, re->name, NULL, "%u %s of RE %s end%s for good", n_ended,
			    jobs(n_ended), re->name, n_ended == 1 ? "s" : "");
}

void phx_jobs_end_of_re(struct phx_apply *a, const struct phx_re *re, bool tells)
{
	uint32_t n_kept = 0, n_told = 0, n_ended = 0;
	PHX_INDEX_EACH_JOB_OF(j, a->s, re->name) {
		if (j->engine_id[0] || !phx_job_is_open(j))
			continue;
		if (j->state == PHX_JOB_RUNNING)
			phx_job_await_end(a, j);
		if (!phx_job_outlives(re, j)) {
			end(a, re, j, "deactivated");
			n_ended += !j->worker; /* people are not told of workers */
			continue;
		}
		keep(a, re, j);
		n_kept++;
		n_told += j->state == PHX_JOB_RUNNING;
	}
	tell(a, re, n_kept, n_told, tells ? n_ended : 0);
}

static void rejoin(struct phx_apply *a, const struct phx_re *re, struct phx_job *j)
{
	const struct phx_batch_job b = phx_job_in_queue(j);
	int r = phx_ledger_rejoin(a->s->ledger, (int)re->number, &b, a->s->now_ms, a->todo);
	if (r == 0 && (j->held || j->throttled))
		r = phx_ledger_job_hold(a->s->ledger, (int)re->number, j->id, true, a->s->now_ms,
					a->todo);
	phx_stick(a, r);
	j->kept = false;
	a->out->changed = true;
}

void phx_job_wait_on(struct phx_apply *a, struct phx_job *j)
{
	const struct phx_re *re = phx_state_re(a->s, j->re);
	/* an RE that is being deactivated stays active until it has returned its nodes */
	if (j->kept && re && re->active && re->state != PHX_RE_STATE_DEACTIVATED)
		rejoin(a, re, j);
}

void phx_jobs_go_on(struct phx_apply *a, const struct phx_re *re)
{
	uint32_t n = 0;
	PHX_INDEX_EACH_JOB_OF(j, a->s, re->name) {
		if (!j->kept || j->state != PHX_JOB_QUEUED)
			continue;
		rejoin(a, re, j);
		n++;
	}
	if (n)
		phx_note_re(a, NULL, re->name, NULL,
			    "%u kept %s of RE %s wait%s in its queue again", n, jobs(n), re->name,
			    n == 1 ? "s" : "");
}

void phx_jobs_forsake(struct phx_apply *a, const struct phx_re *re)
{
	uint32_t n = 0;
	PHX_INDEX_EACH_JOB_OF(j, a->s, re->name) {
		if (!j->kept || j->end == PHX_JOB_END_CANCELLED)
			continue;
		end(a, re, j, "destroyed");
		phx_job_tell(a, j);
		n++;
	}
	if (n)
		phx_note_re(a, NULL, re->name, NULL, "%u kept %s of RE %s %s cancelled", n, jobs(n),
			    re->name, n == 1 ? "is" : "are");
}
