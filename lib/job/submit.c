/* Submission of a job: makes all checks before it changes anything. parts.c has the job's further
 * life. Called by the table of events. Pure. */
#include "job/internal.h"

#include <errno.h>
#include <string.h>

enum {
	JOBS_OPEN_MAX = 10000, /* queued or running */
	JOBS_LAST = 1000,      /* the last places, for users with at most FEW jobs */
	FEW = 100,
	GRACE_MS = 5000,
	GRACE_MAX_MS = 3600 * 1000,
	SIGNAL_MAX = 64,
	STAGE_MAX = 64,
};

static int copy_words(struct phx_list *dst, const struct phx_list *src)
{
	PHX_LIST_EACH(struct phx_word, w, src) {
		struct phx_word *to = phx_list_push(dst, sizeof(*to));
		if (!to)
			return -ENOMEM;
		*to = *w;
	}
	return 0;
}

static int copy_texts(struct phx_list *dst, const struct phx_list *src)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < src->n; i++)
		r = phx_text_push(dst, phx_text_at(src, i));
	return r;
}

int phx_submit_need_re(struct phx_apply *a, const char *name, const struct phx_member_of *who,
		       const struct phx_re **ret)
{
	const struct phx_re *re = phx_state_re(a->s, name);
	/* to a user who is no member the RE does not exist */
	if (!re ||
	    (who->must_be && !phx_agreement_has_member(&re->agreement, who->user, who->group) &&
	     !phx_agreement_names(&re->agreement, who->identity)))
		return phx_err_set(a->err, -ENOENT, "there is no RE '%s'", name);
	*ret = re;
	return 0;
}

int phx_submit_re_runs(struct phx_apply *a, const struct phx_re *re)
{
	if (re->state == PHX_RE_STATE_RUNNING)
		return 0;
	return phx_err_set(
		a->err, -EBUSY, "RE '%s' is %s: it takes %s while it is running", re->name,
		re->state == PHX_RE_STATE_NONE ? "only asked for"
					       : phx_enum_name(&phx_re_state_names, re->state),
		phx_re_kind(&re->agreement)->has_tasks ? "workflows" : "jobs");
}

/* The RE that the event names, which must take jobs; NULL: it names none. */
static int need_re(struct phx_apply *a, const struct phx_event_job_submit *p,
		   const struct phx_re **ret)
{
	const struct phx_member_of who = {p->must_be_member, p->user, p->group, p->identity};
	if (!a->ev->re[0])
		return 0;
	int r = phx_submit_need_re(a, a->ev->re, &who, ret);
	if (r < 0)
		return r;
	if (phx_re_kind(&(*ret)->agreement)->has_tasks)
		return phx_err_set(a->err, -EINVAL,
				   "RE '%s' runs workflows (phx workflow submit) and jobs that "
				   "want --cores: jobs on whole nodes are for a "
				   "batch RE",
				   a->ev->re);
	if (!phx_re_kind(&(*ret)->agreement)->has_jobs)
		return phx_err_set(a->err, -EINVAL,
				   "RE '%s' serves the web: jobs are for a batch RE", a->ev->re);
	if ((*ret)->agreement.engine != PHX_RE_ENGINE_BUILTIN)
		return phx_err_set(a->err, -EOPNOTSUPP,
				   "jobs of RE '%s' are run by Slurm: submit them with sbatch",
				   a->ev->re);
	return phx_submit_re_runs(a, *ret);
}

static int queue_in_re(struct phx_apply *a, const struct phx_re *re, const struct phx_job *j)
{
	const struct phx_batch_job b = phx_job_in_queue(j);
	uint32_t widest = phx_ledger_widest(a->s->ledger, (int)re->number);
	if (j->nodes > widest)
		return phx_err_set(a->err, -E2BIG,
				   "the job wants %u nodes, and %s can never have more than %u",
				   j->nodes, re->name, widest);
	int r = phx_ledger_submit(a->s->ledger, (int)re->number, &b, a->s->now_ms, a->todo, a->err);
	if (r == 0 && (j->held || j->throttled))
		r = phx_ledger_job_hold(a->s->ledger, (int)re->number, j->id, true, a->s->now_ms,
					a->todo);
	return r;
}

/* Checks grace and checkpoint of the job. */
static int check_kill(const struct phx_event_job_submit *p, struct phx_err *err)
{
	if (p->grace_ms > GRACE_MAX_MS || p->checkpoint_ms > GRACE_MAX_MS)
		return phx_err_set(err, -EINVAL, "grace: must be at most an hour");
	if (p->checkpoint_signal > SIGNAL_MAX)
		return phx_err_set(err, -EINVAL, "checkpoint signal: must be from 1 to %d",
				   SIGNAL_MAX);
	return 0;
}

/* Checks paths that the job copies from its RE's data directory, or to it. */
static int check_stage(struct phx_apply *a, const char *what, const struct phx_list *paths)
{
	if (paths->n && !a->ev->re[0])
		return phx_err_set(a->err, -EINVAL,
				   "%s: only an RE has a data directory: submit to one", what);
	if (paths->n > STAGE_MAX)
		return phx_err_set(a->err, -E2BIG, "%s: can name at most %d files", what,
				   STAGE_MAX);
	PHX_LIST_EACH(struct phx_word, w, paths) {
		int r = phx_beneath_check(w->text, a->err);
		if (r < 0)
			return phx_err_prefix(a->err, r, "%s", what);
	}
	return 0;
}

static int check_chdir(const char *chdir, struct phx_err *err)
{
	if (chdir[0] && chdir[0] != '/')
		return phx_err_set(err, -EINVAL,
				   "chdir: must be an absolute path on the job's nodes");
	return 0;
}

/* Each word must be "NAME=value"; names that begin with PHX_ are reserved for Phoenix. */
static int check_env(const struct phx_list *env, struct phx_err *err)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	for (uint32_t i = 0; i < env->n; i++) {
		const char *word = phx_text_at(env, i);
		size_t n = strspn(
			word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
		if (!n || !strchr(first, word[0]) || word[n] != '=')
			return phx_err_set(err, -EINVAL, "env: '%.40s' is not NAME=value", word);
		if (!strncmp(word, "PHX_", 4))
			return phx_err_set(err, -EINVAL,
					   "env: names that begin with PHX_ are given by Phoenix, "
					   "not by '%.40s'",
					   word);
	}
	return 0;
}

/* Words, script and environment go to each node with the order: their size is bounded. */
static int check_size(const struct phx_event_job_submit *p, struct phx_err *err)
{
	size_t n = p->script ? strlen(p->script) : 0;
	for (uint32_t i = 0; i < p->argv.n; i++)
		n += strlen(phx_text_at(&p->argv, i)) + 1;
	for (uint32_t i = 0; i < p->job_env.n; i++)
		n += strlen(phx_text_at(&p->job_env, i)) + 1;
	if (n > PHX_TEXT_MAX)
		return phx_err_set(err, -E2BIG,
				   "the words, script and environment of a job can have at most %u "
				   "KiB in all",
				   PHX_TEXT_MAX >> 10);
	if (p->script && p->script[0] && (p->script[0] != '#' || p->script[1] != '!'))
		return phx_err_set(err, -EINVAL,
				   "script: the first line must name its interpreter (#!/bin/sh)");
	return 0;
}

/* Limits what one user may take, by the number of jobs and by their size in the state. */
static int check_room(struct phx_apply *a, const struct phx_event_job_submit *p)
{
	const struct phx_settings *set = &a->s->settings;
	uint32_t n_more = phx_array_size(p),
		 n_open = phx_index_jobs(a->s)->n_open - phx_index_jobs(a->s)->n_external;
	struct phx_tally t = phx_index_tally_of(a->s, p->uid);
	uint64_t size = phx_tally_size(&p->argv, &p->job_env, p->script);
	if (n_more > 1 && set->jobs_per_user && t.n_open + n_more > set->jobs_per_user)
		return phx_err_set(a->err, -EDQUOT,
				   "array: it has %u members, and user %s, who has %u jobs queued "
				   "or running, may have "
				   "%u (jobs_per_user)",
				   n_more, p->user, t.n_open, set->jobs_per_user);
	if (set->jobs_per_user && t.n_open + n_more > set->jobs_per_user)
		return phx_err_set(a->err, -EDQUOT,
				   "user %s has %u jobs queued or running, as many as one may have "
				   "(jobs_per_user): submit more when some have ended",
				   p->user, t.n_open);
	if (set->job_mb_per_user && t.size_bytes + size > (uint64_t)set->job_mb_per_user << 20)
		return phx_err_set(a->err, -EDQUOT,
				   "the words, scripts and environments of user %s's %u jobs take "
				   "%llu KiB, and "
				   "%u MiB is what one user may take (job_mb_per_user): submit "
				   "more when some have ended",
				   p->user, t.n_open, (unsigned long long)(t.size_bytes >> 10),
				   set->job_mb_per_user);
	if (n_open + n_more > JOBS_OPEN_MAX)
		return phx_err_set(a->err, -EAGAIN,
				   "%d jobs are queued or running: no more are taken",
				   JOBS_OPEN_MAX);
	if (set->jobs_per_user && n_open + n_more > JOBS_OPEN_MAX - JOBS_LAST &&
	    t.n_open + n_more > FEW)
		return phx_err_set(a->err, -EDQUOT,
				   "%u jobs are queued or running, and only users with fewer than "
				   "%d may submit more; user %s has %u: submit when some have "
				   "ended",
				   n_open, FEW, p->user, t.n_open);
	return 0;
}

/* Are there enough nodes for a job outside of the REs? A held job is not checked: it waits for a
 * person anyway. */
static int check_fit(struct phx_apply *a, const struct phx_event_job_submit *p,
		     const struct phx_re *re)
{
	if (re || !p->must_fit || p->hold)
		return 0;
	uint32_t n = phx_index_count(a->s, PHX_SET_COULD);
	if (!n)
		return phx_err_set(
			a->err, -EINVAL,
			"no node outside of the REs runs jobs: submit it to an RE (--re)");
	if (n < p->job_nodes)
		return phx_err_set(a->err, -EINVAL,
				   "the job wants %u nodes, and %u outside of the REs run%s jobs: "
				   "ask for fewer, or "
				   "submit it to an RE (--re)",
				   p->job_nodes, n, n == 1 ? "s" : "");
	return 0;
}

static int check(struct phx_apply *a, const struct phx_event_job_submit *p,
		 const struct phx_re **ret_re)
{
	if (!p->argv.n)
		return phx_err_set(a->err, -EINVAL, "argv: a job needs a command");
	if (!p->uid || !p->gid)
		return phx_err_set(a->err, -EPERM,
				   "jobs never run as root: submit as the user, or name one");
	if (!phx_id_valid(p->uid) || !phx_id_valid(p->gid))
		return phx_err_set(
			a->err, -EPERM,
			"%u is no number of a user or group: a job would run as root with it",
			UINT32_MAX);
	if (!p->job_nodes || p->job_nodes > 65536)
		return phx_err_set(a->err, -EINVAL, "nodes: must be from 1 to 65536");
	int r = phx_array_check(p, a->err);
	r = r ? r : check_room(a, p);
	r = r ? r : need_re(a, p, ret_re);
	r = r ? r : check_fit(a, p, *ret_re);
	r = r ? r : check_size(p, a->err);
	r = r ? r : check_env(&p->job_env, a->err);
	r = r ? r : check_kill(p, a->err);
	r = r ? r : check_chdir(p->chdir, a->err);
	r = r ? r : check_stage(a, "stage_in", &p->stage_in);
	return r ? r : check_stage(a, "stage_out", &p->stage_out);
}

/* Fills in all members of the job except its number. */
static int fill(struct phx_apply *a, const struct phx_event_job_submit *p, const struct phx_re *re,
		struct phx_job *j)
{
	j->nodes = p->job_nodes;
	j->uid = p->uid;
	j->gid = p->gid;
	PHX_STR_SET(j->user, p->user);
	PHX_STR_SET(j->re, a->ev->re);
	PHX_STR_SET(j->chdir, p->chdir);
	j->estimate_ms = p->estimate_ms;
	j->no_requeue = p->no_requeue || (re && re->agreement.no_requeue);
	j->grace_ms = p->grace_ms ? p->grace_ms : re ? re->agreement.kill_grace_s * 1000 : GRACE_MS;
	j->checkpoint_signal = p->checkpoint_signal;
	j->checkpoint_ms = p->checkpoint_signal ? p->checkpoint_ms : 0;
	j->submitted_ms = a->s->now_ms;
	j->held = p->hold;
	j->script = p->script && p->script[0] ? strdup(p->script) : NULL;
	int r = p->script && p->script[0] && !j->script ? -ENOMEM : 0;
	r = r ? r : copy_texts(&j->argv, &p->argv);
	r = r ? r : copy_texts(&j->env, &p->job_env);
	r = r ? r : copy_words(&j->stage_in, &p->stage_in);
	return r ? r : copy_words(&j->stage_out, &p->stage_out);
}

/* Removes the jobs from `at` on; the first `n_queued` of them are in the RE's queue. */
static void undo(struct phx_apply *a, const struct phx_re *re, uint32_t at, uint32_t n_queued)
{
	for (uint32_t i = a->s->jobs.n; i-- > at;) {
		struct phx_job *j = PHX_LIST_AT(&a->s->jobs, struct phx_job, i);
		if (re && i < at + n_queued)
			phx_ledger_job_cancel(a->s->ledger, (int)re->number, j->id, a->s->now_ms,
					      a->todo);
		phx_record_fini(&phx_job_record, j);
	}
	a->s->jobs.n = at;
}

/* Puts the jobs from `at` on into the queue of their RE: all or none. */
static int queue_all(struct phx_apply *a, const struct phx_re *re, uint32_t at)
{
	int r = 0;
	for (uint32_t i = at; re && i < a->s->jobs.n; i++) {
		r = queue_in_re(a, re, PHX_LIST_AT(&a->s->jobs, struct phx_job, i));
		if (r < 0) {
			undo(a, re, at, i - at);
			return r;
		}
	}
	return 0;
}

int phx_apply_job_submit(struct phx_apply *a, const struct phx_event_job_submit *p)
{
	const struct phx_re *re = NULL;
	uint32_t at = a->s->jobs.n;
	int r = check(a, p, &re);
	struct phx_job *j = r == 0 ? phx_grow(a, &a->s->jobs, sizeof(*j)) : NULL;
	if (!j)
		return r ? r : -ENOMEM;
	j->id = a->s->last_job_id + 1;
	r = fill(a, p, re, j);
	if (r == 0 && phx_array_is(p))
		r = phx_array_make(a, p);
	if (r < 0) {
		undo(a, NULL, at, 0);
		return r;
	}
	r = queue_all(a, re, at);
	if (r < 0)
		return r;
	a->out->job = a->s->last_job_id + 1;
	for (uint32_t i = at; i < a->s->jobs.n; i++)
		phx_index_job(a->s, PHX_LIST_AT(&a->s->jobs, struct phx_job, i), true);
	a->s->last_job_id += a->s->jobs.n - at;
	a->out->changed = true;
	phx_jobs_forget_old(a->s);
	return 0;
}
