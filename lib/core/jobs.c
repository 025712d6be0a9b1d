/* Jobs on their nodes: submitted, started in parts, ended, killed. All parts of a
 * job start or none. Jobs of a batch RE are queued and chosen by the ledger
 * (share.c does what it wants); the others by order of submission, first fit
 * over the nodes that run jobs and belong to no RE. Pure. */
#include "core/index.h"
#include "core/internal.h"

#include <errno.h>
#include <string.h>

enum {
	JOBS_KEPT = 1000,    /* with the ended ones that stay to be asked about */
	JOBS_OPEN_MAX = 10000, /* queued or running */
	GRACE_MS = 5000,
	GRACE_MAX_MS = 3600 * 1000,
	SIGNAL_MAX = 64,
	STAGE_MAX = 64,
};

static struct phx_job_part *part_of(struct phx_job *j, const char *node)
{
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
		if (!strcmp(p->node, node))
			return p;
	return NULL;
}

bool phx_jobs_takes(const struct phx_state *s, const struct phx_node *n)
{
	if (n->state != PHX_NODE_ACTIVE || !n->up || n->env != PHX_ENV_OS || phx_node_step(n) ||
	    n->jobs_running || !n->healthy || n->share != PHX_SHARE_OUTSIDE || strcmp(n->actual_role, n->role))
		return false;
	/* last: it is searched for by name, and most nodes of a full cluster are busy */
	const struct phx_role *role = phx_state_role(s, n->role);
	/* what is pinned in the pool of an RE is that one's: jobs of anybody are not for it */
	return role && role->runs_jobs && !phx_engine_is_foreign(s, n) && !phx_state_re(s, n->pool);
}

void phx_job_count(struct phx_apply *a, const struct phx_job *j, uint32_t by)
{
	struct phx_index_jobs *c = phx_index_jobs(a->s);
	c->n_open += phx_job_is_open(j) ? by : 0;
	c->n_foreign += phx_job_is_open(j) && j->engine_id[0] ? by : 0;
	c->n_queued += j->state == PHX_JOB_QUEUED && !j->re[0] ? by : 0;
}

void phx_job_become(struct phx_apply *a, struct phx_job *j, enum phx_job_state state)
{
	phx_job_count(a, j, -1u);
	j->state = (int)state;
	phx_job_count(a, j, 1);
}

static struct phx_node *next_for(struct phx_state *s, const struct phx_job *j, uint32_t at)
{
	return j->re[0] ? phx_index_next_idle(s, j->re, at) : phx_index_next(s, PHX_SET_TAKES, at);
}

static int start_job(struct phx_apply *a, struct phx_job *j)
{
	struct phx_node *n;
	for (uint32_t at = 0; j->parts.n < j->nodes && (n = next_for(a->s, j, at)); at = phx_index_place(a->s, n) + 1) {
		struct phx_job_part *p = phx_list_push(&j->parts, sizeof(*p));
		if (!p)
			return -ENOMEM;
		PHX_STR_SET(p->node, n->name);
		n->jobs_running++;
		n->share_job = j->re[0] ? j->id : 0;
		phx_index_runs(a->s, n, j->id);
		phx_act(a, PHX_ACT_ORDER, n);
	}
	phx_job_become(a, j, PHX_JOB_RUNNING);
	j->started_ms = a->s->now_ms;
	j->lease_ms = a->s->settings.job_lease_ms;
	phx_index_job_due(a->s, j);
	return 0;
}

void phx_job_start_in_re(struct phx_apply *a, struct phx_job *j)
{
	start_job(a, j);
	a->out->changed = true;
}

void phx_job_tell(struct phx_apply *a, const struct phx_job *j)
{
	if (j->engine_id[0])
		return;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
	{
		struct phx_node *n = phx_state_node(a->s, p->node);
		if (!p->ended && n)
			phx_act(a, PHX_ACT_ORDER, n);
	}
}

void phx_job_kill(struct phx_apply *a, struct phx_job *j)
{
	if (j->state != PHX_JOB_RUNNING || j->killing)
		return;
	j->killing = true;
	a->out->changed = true;
	phx_job_tell(a, j);
}

void phx_jobs_start(struct phx_apply *a)
{
	uint32_t n_free = phx_index_jobs(a->s)->n_queued ? phx_index_count(a->s, PHX_SET_TAKES) : 0;
	if (!n_free)
		return;
	PHX_LIST_EACH(struct phx_job, j, &a->s->jobs)
	{
		if (j->state != PHX_JOB_QUEUED || j->re[0] || j->held || j->nodes > n_free)
			continue;
		start_job(a, j);
		n_free -= j->nodes;
		if (!n_free)
			return;
	}
}

static void queue_again(struct phx_apply *a, struct phx_job *j)
{
	phx_list_fini(&j->parts); /* a part owns nothing */
	phx_job_become(a, j, PHX_JOB_QUEUED);
	j->killing = j->broken = false;
	j->started_ms = j->status = 0;
	j->kills++;
}

/* Its RE is told; true when it is to run again. */
static bool leave_ledger(struct phx_apply *a, struct phx_job *j)
{
	const struct phx_re *re = phx_state_re(a->s, j->re);
	phx_share_job_over(a, j);
	if (!re || !re->active)
		return false;
	/* else it came to its own end first */
	bool told = j->cancel || j->overdue || (j->killing && j->status);
	if (!told) {
		phx_ledger_job_ended(a->s->ledger, (int)re->number, j->id, a->s->now_ms, a->todo);
		return false;
	}
	phx_ledger_job_killed(a->s->ledger, (int)re->number, j->id, a->s->now_ms, a->todo);
	return phx_batch_job(phx_ledger_batch(a->s->ledger, (int)re->number), j->id) != NULL;
}

static void finish_job(struct phx_apply *a, struct phx_job *j)
{
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
	{
		if (!p->ended)
			return;
		if (p->status)
			j->status = p->status;
	}
	if (j->re[0] && leave_ledger(a, j)) {
		queue_again(a, j);
		return;
	}
	phx_job_become(a, j, j->cancel ? PHX_JOB_CANCELLED : j->status ? PHX_JOB_FAILED : PHX_JOB_DONE);
	j->ended_ms = a->s->now_ms;
}

void phx_job_part_end(struct phx_apply *a, struct phx_job *j, struct phx_job_part *p, int64_t status)
{
	struct phx_node *n = phx_state_node(a->s, p->node);
	p->ended = true;
	p->status = status;
	p->lost_ms = 0;
	if (n && n->jobs_running) {
		n->jobs_running--;
		phx_touch(a->s, n);
	}
	/* all of a job or none: what is left of it is told to end */
	j->broken = j->broken || status;
	PHX_LIST_EACH(struct phx_job_part, o, &j->parts)
	{
		struct phx_node *other = phx_state_node(a->s, o->node);
		if (!o->ended && j->broken && other)
			phx_act(a, PHX_ACT_ORDER, other);
	}
	finish_job(a, j);
	a->out->changed = true;
}

/* The oldest that have ended go; one that never starts keeps none of them. */
void phx_jobs_forget_old(struct phx_state *s)
{
	uint32_t n_ended = s->jobs.n - phx_index_jobs(s)->n_open, i = 0, kept = 0;
	if (s->jobs.n <= JOBS_KEPT || !n_ended)
		return;
	uint32_t n_old = n_ended < s->jobs.n - JOBS_KEPT ? n_ended : s->jobs.n - JOBS_KEPT;
	for (; n_old; i++) {
		struct phx_job *j = PHX_LIST_AT(&s->jobs, struct phx_job, i);
		if (phx_job_is_open(j)) {
			*PHX_LIST_AT(&s->jobs, struct phx_job, kept++) = *j;
			continue;
		}
		phx_record_fini(&phx_job_record, j);
		n_old--;
	}
	memmove(PHX_LIST_AT(&s->jobs, struct phx_job, kept), PHX_LIST_AT(&s->jobs, struct phx_job, i),
		(s->jobs.n - i) * sizeof(struct phx_job));
	s->jobs.n -= i - kept;
}

static int copy_words(struct phx_list *dst, const struct phx_list *src)
{
	PHX_LIST_EACH(struct phx_word, w, src)
	{
		struct phx_word *to = phx_list_push(dst, sizeof(*to));
		if (!to)
			return -ENOMEM;
		*to = *w;
	}
	return 0;
}

/* The RE a job is for; NULL when it names none. */
static int need_re(struct phx_apply *a, const struct phx_re **ret)
{
	if (!a->ev->re[0])
		return 0;
	*ret = phx_state_re(a->s, a->ev->re);
	if (!*ret)
		return phx_err_set(a->err, -ENOENT, "there is no RE '%s'", a->ev->re);
	if ((*ret)->agreement.type != PHX_RE_BATCH)
		return phx_err_set(a->err, -EINVAL, "RE '%s' serves the web: jobs are for a batch RE", a->ev->re);
	if ((*ret)->agreement.engine != PHX_RE_ENGINE_BUILTIN)
		return phx_err_set(a->err, -EOPNOTSUPP, "jobs of RE '%s' are run by Slurm: submit them with sbatch",
				   a->ev->re);
	if ((*ret)->state != PHX_RE_STATE_RUNNING)
		return phx_err_set(a->err, -EBUSY, "RE '%s' is %s: it takes jobs while it is running", a->ev->re,
				   (*ret)->state == PHX_RE_STATE_NONE ? "only asked for" :
									phx_enum_name(&phx_re_state_names, (*ret)->state));
	return 0;
}

static int queue_in_re(struct phx_apply *a, const struct phx_re *re, const struct phx_job *j)
{
	struct phx_batch_job b = { .id = j->id,
				   .submit_ms = j->submitted_ms,
				   .estimate_ms = j->estimate_ms ? j->estimate_ms : -1,
				   .size = j->nodes,
				   .no_requeue = j->no_requeue,
				   .state = PHX_BATCH_WAITING };
	uint32_t widest = phx_ledger_widest(a->s->ledger, (int)re->number);
	if (j->nodes > widest)
		return phx_err_set(a->err, -E2BIG, "the job wants %u nodes, and %s can never have more than %u", j->nodes,
				   re->name, widest);
	int r = phx_ledger_submit(a->s->ledger, (int)re->number, &b, a->s->now_ms, a->todo, a->err);
	if (r == 0 && j->held)
		r = phx_ledger_job_hold(a->s->ledger, (int)re->number, j->id, true, a->s->now_ms, a->todo);
	return r;
}

/* How it wants to be killed. */
static int check_kill(const struct phx_event *ev, struct phx_err *err)
{
	if (ev->grace_ms > GRACE_MAX_MS || ev->checkpoint_ms > GRACE_MAX_MS)
		return phx_err_set(err, -EINVAL, "grace: at most an hour");
	if (ev->checkpoint_signal > SIGNAL_MAX)
		return phx_err_set(err, -EINVAL, "checkpoint signal: must be from 1 to %d", SIGNAL_MAX);
	return 0;
}

/* Files it wants from its RE's data directory, or brings there. */
static int check_stage(const struct phx_event *ev, const char *what, const struct phx_list *paths, struct phx_err *err)
{
	if (paths->n && !ev->re[0])
		return phx_err_set(err, -EINVAL, "%s: only an RE has a data directory: submit to one", what);
	if (paths->n > STAGE_MAX)
		return phx_err_set(err, -E2BIG, "%s: at most %d files", what, STAGE_MAX);
	PHX_LIST_EACH(struct phx_word, w, paths)
	{
		int r = phx_beneath_check(w->text, err);
		if (r < 0)
			return phx_err_prefix(err, r, "%s", what);
	}
	return 0;
}

static int check_chdir(const struct phx_event *ev, struct phx_err *err)
{
	if (ev->chdir[0] && ev->chdir[0] != '/')
		return phx_err_set(err, -EINVAL, "chdir: must be an absolute path on the job's nodes");
	return 0;
}

int phx_apply_job_submit(struct phx_apply *a)
{
	const struct phx_event *ev = a->ev;
	if (!ev->argv.n)
		return phx_err_set(a->err, -EINVAL, "argv: a job needs a command");
	if (!ev->uid || !ev->gid)
		return phx_err_set(a->err, -EPERM, "jobs never run as root: submit as the user, or name one");
	if (!ev->job_nodes || ev->job_nodes > 65536)
		return phx_err_set(a->err, -EINVAL, "nodes: must be from 1 to 65536");
	if (phx_index_jobs(a->s)->n_open - phx_index_jobs(a->s)->n_foreign >= JOBS_OPEN_MAX)
		return phx_err_set(a->err, -EAGAIN, "%d jobs are queued or running: no more are taken", JOBS_OPEN_MAX);
	const struct phx_re *re = NULL;
	int r = check_kill(ev, a->err);
	r = r ? r : check_chdir(ev, a->err);
	r = r ? r : check_stage(ev, "stage_in", &ev->stage_in, a->err);
	r = r ? r : check_stage(ev, "stage_out", &ev->stage_out, a->err);
	r = r ? r : need_re(a, &re);
	if (r < 0)
		return r;
	struct phx_job *j = phx_list_push(&a->s->jobs, sizeof(*j));
	if (!j)
		return -ENOMEM;
	if (copy_words(&j->argv, &ev->argv) < 0 || copy_words(&j->stage_in, &ev->stage_in) < 0 ||
	    copy_words(&j->stage_out, &ev->stage_out) < 0) {
		phx_record_fini(&phx_job_record, j);
		a->s->jobs.n--;
		return -ENOMEM;
	}
	j->id = ++a->s->last_job_id;
	j->nodes = ev->job_nodes;
	j->uid = ev->uid;
	j->gid = ev->gid;
	PHX_STR_SET(j->user, ev->user);
	PHX_STR_SET(j->re, ev->re);
	PHX_STR_SET(j->chdir, ev->chdir);
	j->estimate_ms = ev->estimate_ms;
	j->no_requeue = ev->no_requeue || (re && re->agreement.no_requeue);
	j->grace_ms = ev->grace_ms ? ev->grace_ms : re ? re->agreement.kill_grace_s * 1000 : GRACE_MS;
	j->checkpoint_signal = ev->checkpoint_signal;
	j->checkpoint_ms = ev->checkpoint_signal ? ev->checkpoint_ms : 0;
	j->submitted_ms = a->s->now_ms;
	j->held = ev->hold;
	r = re ? queue_in_re(a, re, j) : 0;
	if (r < 0) {
		phx_record_fini(&phx_job_record, j);
		a->s->jobs.n--;
		a->s->last_job_id--;
		return r;
	}
	phx_job_count(a, j, 1);
	a->out->job = j->id;
	a->out->changed = true;
	phx_jobs_forget_old(a->s);
	return 0;
}

static int need_job(struct phx_apply *a, struct phx_job **ret)
{
	*ret = phx_state_job(a->s, a->ev->job);
	if (!*ret)
		return phx_err_set(a->err, -ENOENT, "there is no job %llu", (unsigned long long)a->ev->job);
	if ((*ret)->engine_id[0])
		return phx_err_set(a->err, -EOPNOTSUPP, "job %llu is run by Slurm as %s: tell Slurm (scancel, scontrol)",
				   (unsigned long long)a->ev->job, (*ret)->engine_id);
	return 0;
}

int phx_apply_job_cancel(struct phx_apply *a)
{
	struct phx_job *j;
	int r = need_job(a, &j);
	if (r < 0 || j->cancel || (j->state != PHX_JOB_QUEUED && j->state != PHX_JOB_RUNNING))
		return r;
	j->cancel = true;
	a->out->changed = true;
	const struct phx_re *re = phx_state_re(a->s, j->re);
	if (re && re->active)
		phx_ledger_job_cancel(a->s->ledger, (int)re->number, j->id, a->s->now_ms, a->todo);
	if (j->state == PHX_JOB_QUEUED) {
		phx_job_become(a, j, PHX_JOB_CANCELLED);
		j->ended_ms = a->s->now_ms;
	}
	phx_job_tell(a, j);
	return 0;
}

int phx_apply_job_hold(struct phx_apply *a)
{
	struct phx_job *j;
	int r = need_job(a, &j);
	if (r < 0)
		return r;
	if (j->state != PHX_JOB_QUEUED)
		return phx_err_set(a->err, -EINVAL, "job %llu is %s: only a queued job is held back or let go",
				   (unsigned long long)j->id, phx_enum_name(&phx_job_state_names, j->state));
	if (j->held == a->ev->hold)
		return 0;
	const struct phx_re *re = phx_state_re(a->s, j->re);
	if (re && re->active)
		r = phx_ledger_job_hold(a->s->ledger, (int)re->number, j->id, a->ev->hold, a->s->now_ms, a->todo);
	if (r < 0)
		return phx_err_set(a->err, r, "job %llu cannot be held back or let go now", (unsigned long long)j->id);
	j->held = a->ev->hold;
	a->out->changed = true;
	return 0;
}

/* ---- time limits ---- */

static int64_t limit_ms(const struct phx_job *j)
{
	bool limited = j->state == PHX_JOB_RUNNING && !j->engine_id[0] && j->estimate_ms > 0 && !j->overdue && !j->cancel;
	return limited ? j->started_ms + j->estimate_ms : INT64_MAX;
}

int64_t phx_job_due(const struct phx_job *j)
{
	int64_t limit = limit_ms(j), lease = phx_lease_due(j);
	return limit < lease ? limit : lease;
}

void phx_jobs_tick(struct phx_apply *a)
{
	if (phx_index_jobs_due(a->s) > a->s->now_ms)
		return;
	PHX_LIST_EACH(struct phx_job, j, &a->s->jobs)
	{
		if (limit_ms(j) > a->s->now_ms)
			continue;
		j->overdue = true;
		a->out->changed = true;
		const struct phx_re *re = phx_state_re(a->s, j->re);
		if (re && re->active)
			phx_ledger_job_cancel(a->s->ledger, (int)re->number, j->id, a->s->now_ms, a->todo);
		phx_note_re(a, NULL, j->re, NULL, "job %llu ends: it has run for the %lld s that it may",
			    (unsigned long long)j->id, (long long)(j->estimate_ms / 1000));
		phx_job_tell(a, j);
	}
}

/* Its agent ended it, and nobody here had asked for that: all of it ends, to run again. */
static void end_by_force(struct phx_apply *a, struct phx_job *j)
{
	const struct phx_re *re = phx_state_re(a->s, j->re);
	if (j->killing || !re || !re->active)
		return;
	j->killing = true;
	phx_ledger_lost_busy(a->s->ledger, (int)re->number, j->id, 0, a->s->now_ms, a->todo);
}

int phx_apply_job_result(struct phx_apply *a)
{
	struct phx_job *j;
	int r = need_job(a, &j);
	if (r < 0)
		return r;
	if (a->ev->run != j->kills)
		return phx_err_set(a->err, -ESTALE, "job %llu is in run %u: run %u is of the past",
				   (unsigned long long)j->id, j->kills, a->ev->run);
	struct phx_job_part *p = part_of(j, a->ev->node);
	if (!p || p->ended)
		return phx_err_set(a->err, -ESTALE, "job %llu has no open part on %s", (unsigned long long)j->id,
				   a->ev->node);
	if (a->ev->forced && a->ev->result && j->re[0])
		end_by_force(a, j);
	p->cpu_ms = a->ev->cpu_ms;
	p->memory_peak_bytes = a->ev->memory_peak_bytes;
	phx_job_part_end(a, j, p, a->ev->result);
	return 0;
}
