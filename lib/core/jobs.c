/* Jobs in their simplest form: a queue in order of submission, first fit over
 * idle nodes that run jobs. All parts of a job start or none. Pure. */
#include "core/internal.h"

#include <errno.h>
#include <string.h>

enum { JOBS_KEPT = 1000 }; /* ended jobs that stay to be asked about */

static struct phx_job_part *part_of(struct phx_job *j, const char *node)
{
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
		if (!strcmp(p->node, node))
			return p;
	return NULL;
}

static bool takes_jobs(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_role *role = phx_state_role(s, n->role);
	return n->state == PHX_NODE_ACTIVE && n->up && n->env == PHX_ENV_OS && n->plan.cursor >= n->plan.steps.n &&
	       !n->jobs_running && role && role->runs_jobs && !strcmp(n->actual_role, n->role);
}

static uint32_t count_free(const struct phx_state *s)
{
	uint32_t n_free = 0;
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
		n_free += takes_jobs(s, n);
	return n_free;
}

static int start_job(struct phx_apply *a, struct phx_job *j)
{
	PHX_LIST_EACH(struct phx_node, n, &a->s->nodes)
	{
		if (j->parts.n == j->nodes)
			break;
		if (!takes_jobs(a->s, n))
			continue;
		struct phx_job_part *p = phx_list_push(&j->parts, sizeof(*p));
		if (!p)
			return -ENOMEM;
		PHX_STR_SET(p->node, n->name);
		n->jobs_running++;
		phx_act(a, PHX_ACT_ORDER, n);
	}
	j->state = PHX_JOB_RUNNING;
	j->started_ms = a->s->now_ms;
	return 0;
}

void phx_jobs_start(struct phx_apply *a)
{
	PHX_LIST_EACH(struct phx_job, j, &a->s->jobs)
		if (j->state == PHX_JOB_QUEUED && j->nodes <= count_free(a->s))
			start_job(a, j);
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
	j->state = j->cancel ? PHX_JOB_CANCELLED : j->status ? PHX_JOB_FAILED : PHX_JOB_DONE;
	j->ended_ms = a->s->now_ms;
}

static void end_part(struct phx_apply *a, struct phx_job *j, struct phx_job_part *p, int64_t status)
{
	struct phx_node *n = phx_state_node(a->s, p->node);
	p->ended = true;
	p->status = status;
	if (n && n->jobs_running)
		n->jobs_running--;
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

void phx_jobs_lost(struct phx_apply *a, struct phx_node *n, int64_t status)
{
	PHX_LIST_EACH(struct phx_job, j, &a->s->jobs)
	{
		struct phx_job_part *p = j->state == PHX_JOB_RUNNING ? part_of(j, n->name) : NULL;
		if (p && !p->ended)
			end_part(a, j, p, status);
	}
}

static void forget_old_jobs(struct phx_state *s)
{
	while (s->jobs.n > JOBS_KEPT) {
		struct phx_job *oldest = PHX_LIST_AT(&s->jobs, struct phx_job, 0);
		if (oldest->state == PHX_JOB_QUEUED || oldest->state == PHX_JOB_RUNNING)
			return;
		phx_record_fini(&phx_job_record, oldest);
		phx_list_remove(&s->jobs, sizeof(*oldest), 0);
	}
}

static int copy_argv(struct phx_list *dst, const struct phx_list *src)
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

int phx_apply_job_submit(struct phx_apply *a)
{
	const struct phx_event *ev = a->ev;
	if (!ev->argv.n)
		return phx_err_set(a->err, -EINVAL, "argv: a job needs a command");
	if (!ev->uid || !ev->gid)
		return phx_err_set(a->err, -EPERM, "jobs never run as root: submit as the user, or name one");
	if (!ev->job_nodes || ev->job_nodes > 65536)
		return phx_err_set(a->err, -EINVAL, "nodes: must be from 1 to 65536");
	struct phx_job *j = phx_list_push(&a->s->jobs, sizeof(*j));
	if (!j)
		return -ENOMEM;
	if (copy_argv(&j->argv, &ev->argv) < 0) {
		phx_record_fini(&phx_job_record, j);
		a->s->jobs.n--;
		return -ENOMEM;
	}
	j->id = ++a->s->last_job_id;
	j->nodes = ev->job_nodes;
	j->uid = ev->uid;
	j->gid = ev->gid;
	PHX_STR_SET(j->user, ev->user);
	j->submitted_ms = a->s->now_ms;
	a->out->job = j->id;
	a->out->changed = true;
	forget_old_jobs(a->s);
	return 0;
}

static int need_job(struct phx_apply *a, struct phx_job **ret)
{
	*ret = phx_state_job(a->s, a->ev->job);
	return *ret ? 0 :
		      phx_err_set(a->err, -ENOENT, "there is no job %llu", (unsigned long long)a->ev->job);
}

int phx_apply_job_cancel(struct phx_apply *a)
{
	struct phx_job *j;
	int r = need_job(a, &j);
	if (r < 0 || j->cancel || (j->state != PHX_JOB_QUEUED && j->state != PHX_JOB_RUNNING))
		return r;
	j->cancel = true;
	a->out->changed = true;
	if (j->state == PHX_JOB_QUEUED) {
		j->state = PHX_JOB_CANCELLED;
		j->ended_ms = a->s->now_ms;
	}
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
	{
		struct phx_node *n = phx_state_node(a->s, p->node);
		if (!p->ended && n)
			phx_act(a, PHX_ACT_ORDER, n);
	}
	return 0;
}

int phx_apply_job_result(struct phx_apply *a)
{
	struct phx_job *j;
	int r = need_job(a, &j);
	if (r < 0)
		return r;
	struct phx_job_part *p = part_of(j, a->ev->node);
	if (!p || p->ended)
		return phx_err_set(a->err, -ESTALE, "job %llu has no open part on %s", (unsigned long long)j->id,
				   a->ev->node);
	end_part(a, j, p, a->ev->result);
	return 0;
}
