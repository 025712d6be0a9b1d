/* The ledger's calls: REs come and go, events of jobs and demand. Each call notes
 * what happened and lets allocate.c serve all REs. Called by lib/core and the
 * simulator. Pure. */
#include <errno.h>
#include <string.h>

#include "ledger/internal.h"

/* ---- REs come ---- */

struct finding {
	struct phx_err *err;
	const char *name;
};

static void note_finding(void *arg, const char *field, const char *text)
{
	const struct finding *f = arg;

	phx_err_set(f->err, -EINVAL, "agreement of %s: %s %s", f->name, field, text);
}

static int check_bounds(const struct phx_ledger *l, const struct phx_agreement *a,
			struct phx_err *err)
{
	uint64_t sum = a->lower;

	for (uint32_t i = 0; i < l->res.n; i++)
		sum += re_lower(re_at(l, i));
	if (l->unlimited || sum <= l->nodes)
		return 0;
	return phx_err_set(err, -ENOSPC,
			   "the lower bounds of all active REs would be %llu nodes with %s, and %u "
			   "nodes are free or held by REs",
			   (unsigned long long)sum, a->name, l->nodes);
}

static int check_new(const struct phx_ledger *l, const struct phx_agreement *a, struct phx_err *err)
{
	struct finding f = {err, a->name};

	if (phx_agreement_check(a, note_finding, &f))
		return -EINVAL;
	for (uint32_t i = 0; i < l->res.n; i++)
		if (re_at(l, i)->r.state == RE_ACTIVE &&
		    !strcmp(re_at(l, i)->r.agreement.name, a->name))
			return phx_err_set(err, -EEXIST, "RE %s is active already", a->name);
	return check_bounds(l, a, err);
}

/* ret_partner: number + 1, 0 none. -EINVAL: an RE that one of the two agreements names as its
 * partner does not fit. */
static int find_partner(const struct phx_ledger *l, const struct phx_agreement *a,
			uint32_t *ret_partner, struct phx_err *err)
{
	*ret_partner = 0;
	if (a->coordination == PHX_RE_COORDINATED_NONE)
		return 0;
	for (uint32_t i = 0; i < l->res.n; i++) {
		const struct re *re = re_at(l, i);
		const struct phx_agreement *b = &re->r.agreement;
		if (re->r.state != RE_ACTIVE || re->r.partner)
			continue;
		bool named = !strcmp(a->partner, b->name) || !strcmp(b->partner, a->name);
		int r = phx_agreement_check_pair(a, b, named ? err : NULL);
		if (r < 0 && named)
			return r;
		if (r < 0 || *ret_partner)
			continue;
		*ret_partner = i + 1;
	}
	return 0;
}

static int slot_for(struct phx_ledger *l, uint32_t *ret_i)
{
	for (uint32_t i = 0; i < l->res.n; i++)
		if (re_at(l, i)->r.state == RE_GONE) {
			phx_ledger_fini(re_at(l, i));
			*ret_i = i;
			return 0;
		}
	if (!phx_list_push(&l->res, sizeof(struct re)))
		return -ENOMEM;
	*ret_i = l->res.n - 1;
	return 0;
}

static void set_timers(struct phx_ledger *l, struct re *re)
{
	re->r.began_ms = re->r.last_cycle_ms = l->now_ms;
	re->r.window.began_ms = l->now_ms;
	re->r.next_unit_ms = re->r.next_cycle_ms = INT64_MAX;
	if (re->batch && re->policy->lease_unit && re->params.lease_ms > 0)
		re->r.next_unit_ms = l->now_ms + re->params.lease_ms;
	re->r.meter.at_ms = l->now_ms;
}

static int install(struct phx_ledger *l, const struct phx_agreement *a, uint32_t partner,
		   uint32_t *ret_i)
{
	uint32_t i;
	int r = slot_for(l, &i);

	if (r < 0)
		return r;
	struct re *re = re_at(l, i);
	r = phx_record_copy(&phx_agreement_record, &re->r.agreement, a);
	if (r == 0)
		r = phx_ledger_equip(re);
	if (r < 0) {
		phx_ledger_fini(re);
		return r;
	}
	re->r.state = RE_ACTIVE;
	re->r.partner = partner;
	if (partner)
		re_at(l, partner - 1)->r.partner = i + 1;
	re->r.want = re->kind->has_demand ? phx_agreement_begins(a) : 0;
	set_timers(l, re);
	*ret_i = i;
	return 0;
}

int phx_ledger_activate(struct phx_ledger *l, const struct phx_agreement *a, int64_t now_ms,
			int *ret_re, struct phx_list *ret_actions, struct phx_err *err)
{
	uint32_t i, partner = 0;
	int r = check_new(l, a, err);

	if (r == 0)
		r = find_partner(l, a, &partner, err);
	if (r < 0)
		return r;
	phx_ledger_begin(l, now_ms, ret_actions);
	r = install(l, a, partner, &i);
	l->error = r;
	if (r < 0)
		return r;
	*ret_re = (int)i;
	phx_ledger_obtain_lower(l, i);
	phx_ledger_start(l, i);
	return phx_ledger_finish(l);
}

int phx_ledger_suspend(struct phx_ledger *l, int re, bool suspended)
{
	struct re *it = phx_ledger_get(l, re);

	if (!it || it->r.state != RE_ACTIVE)
		return -ENOENT;
	it->r.suspended = suspended;
	return 0;
}

/* ---- and go ---- */

static bool forget_gone(struct re *re, uint64_t id)
{
	for (uint32_t k = 0; k < re->r.gone.n; k++)
		if (PHX_LIST_AT(&re->r.gone, struct phx_ledger_gone, k)->job == id) {
			phx_list_remove(&re->r.gone, sizeof(struct phx_ledger_gone), k);
			return true;
		}
	return false;
}

static void kill_for_good(struct phx_ledger *l, uint32_t i, uint64_t id, int reason)
{
	struct re *re = re_at(l, i);
	const struct phx_batch_job *job = phx_batch_job(re->batch, id);
	bool running = job->state == PHX_BATCH_RUNNING;
	uint32_t nodes = job->size - job->lost;

	forget_gone(re, id); /* a second kill order notes it again */
	struct phx_ledger_gone *gone = phx_ledger_push(l, &re->r.gone, sizeof(*gone));

	if (gone)
		gone->job = id;
	if (!running || phx_batch_kill(re->batch, id) < 0)
		return;
	phx_ledger_act(l,
		       (struct phx_ledger_action){.kind = PHX_LEDGER_KILL,
						  .re = (int)i,
						  .to = PHX_LEDGER_FREE,
						  .job = id,
						  .nodes = nodes,
						  .reason = reason});
}

static void end_jobs(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);
	struct phx_list jobs = {0};

	if (phx_batch_jobs(re->batch, &jobs) < 0)
		l->error = -ENOMEM;
	PHX_LIST_EACH(struct phx_batch_job, job, &jobs) {
		if (job->state == PHX_BATCH_RUNNING || job->state == PHX_BATCH_KILLING)
			kill_for_good(l, i, job->id, PHX_REASON_deactivate);
		else
			phx_batch_cancel(re->batch, job->id);
	}
	phx_list_fini(&jobs);
}

/* Debts to an RE that leaves are cancelled. Nodes that its partner needs for its lower bound go to
 * the free pool instead. */
static void let_debtors_go(struct phx_ledger *l, uint32_t i, uint32_t partner)
{
	for (uint32_t j = 0; j < l->res.n; j++) {
		int64_t spare = partner ? phx_ledger_spare(l, partner - 1) : 0;
		if (spare < 0 && j + 1 != partner)
			phx_ledger_redirect_debts(l, j, i, re_min(UINT32_MAX, (uint64_t)-spare));
		phx_ledger_cancel_debts(l, j, i, UINT32_MAX);
	}
}

static void leave(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);
	uint32_t partner = re->r.partner;

	if (partner)
		re_at(l, partner - 1)->r.partner = 0;
	re->r.partner = 0;
	re->r.state = RE_LEAVING;
	re->r.want = re->r.asked = re->r.unleased = re->r.lack = 0;
	re->r.asked_seq = 0;
	re->r.asks.n = re->r.parts.n = 0;
	if (re->batch && !re->policy->per_job_lease)
		re->r.leases.n = re->r.leased = 0;
	let_debtors_go(l, i, partner);
	if (re->batch)
		end_jobs(l, i);
}

int phx_ledger_deactivate(struct phx_ledger *l, int re, int64_t now_ms,
			  struct phx_list *ret_actions)
{
	struct re *it = phx_ledger_get(l, re);

	if (!it || it->r.state != RE_ACTIVE)
		return -ENOENT;
	phx_ledger_begin(l, now_ms, ret_actions);
	leave(l, (uint32_t)re);
	return phx_ledger_finish(l);
}

/* ---- jobs ---- */

/* The most nodes that RE i can have: all nodes of the cluster (missing ones included), at most the
 * bounds of the RE and its partner. While a partner may still come, bounds do not count. */
static uint64_t most_nodes(const struct phx_ledger *l, uint32_t i)
{
	const struct re *re = re_at(l, i);
	uint64_t most = l->unlimited ? UINT32_MAX : (uint64_t)l->nodes + l->missing;
	bool alone = !re->r.partner && re->r.agreement.coordination != PHX_RE_COORDINATED_NONE;
	uint64_t cap = re->policy->fixed ? re->r.agreement.lower
		: alone                  ? UINT32_MAX
					 : phx_ledger_pair(l, i).cap;

	return cap < most ? cap : most;
}

uint32_t phx_ledger_widest(const struct phx_ledger *l, int re)
{
	const struct re *it = phx_ledger_get_batch(l, re);

	if (!it)
		return 0;
	uint64_t most = most_nodes(l, (uint32_t)re);
	uint32_t web =
		it->r.partner ? phx_agreement_least(&re_at(l, it->r.partner - 1)->r.agreement) : 0;
	return most > web ? re_min(UINT32_MAX, most - web) : 0;
}

static int check_width(const struct phx_ledger *l, uint32_t i, uint32_t size, struct phx_err *err)
{
	const struct re *re = re_at(l, i);
	uint64_t most = most_nodes(l, i);

	if (size <= most)
		return 0;
	return phx_err_set(err, -E2BIG,
			   "the job wants %u nodes, and %s can never have more than %llu", size,
			   re->r.agreement.name, (unsigned long long)most);
}

static void wait_for_lease(struct phx_ledger *l, uint32_t i, uint64_t id)
{
	struct re *re = re_at(l, i);
	const struct phx_batch_job *job = phx_batch_job(re->batch, id);

	if (re->policy->per_job_lease && job && job->state == PHX_BATCH_WAITING)
		phx_ledger_ask(l, i, id, job->size);
}

static int join(struct phx_ledger *l, int re, const struct phx_batch_job *job, int64_t now_ms,
		struct phx_list *ret_actions)
{
	struct re *it = re_at(l, (uint32_t)re);
	struct phx_batch_job mine = *job;

	mine.no_requeue = job->no_requeue || it->r.agreement.no_requeue;
	int r = phx_batch_submit(it->batch, &mine);
	if (r == -ENOMEM)
		l->error = r;
	if (r < 0)
		return r;
	phx_ledger_begin(l, now_ms, ret_actions);
	wait_for_lease(l, (uint32_t)re, job->id);
	return phx_ledger_finish(l);
}

int phx_ledger_submit(struct phx_ledger *l, int re, const struct phx_batch_job *job, int64_t now_ms,
		      struct phx_list *ret_actions, struct phx_err *err)
{
	struct re *it = phx_ledger_get_batch(l, re);

	if (!it || it->r.state != RE_ACTIVE)
		return phx_err_set(err, -ENOENT, "there is no such active RE for batch jobs");
	if (it->r.suspended && it->r.agreement.engine == PHX_RE_ENGINE_BUILTIN &&
	    !it->kind->has_tasks)
		return phx_err_set(err, -ESHUTDOWN, "RE %s is suspended: it takes no new jobs",
				   it->r.agreement.name);
	int r = check_width(l, (uint32_t)re, job->size, err);
	if (r < 0)
		return r;
	r = join(l, re, job, now_ms, ret_actions);
	if (r < 0)
		return phx_err_set(err, r, "job %llu is refused%s", (unsigned long long)job->id,
				   r == -EEXIST ? ": its number is taken" : "");
	return 0;
}

int phx_ledger_rejoin(struct phx_ledger *l, int re, const struct phx_batch_job *job, int64_t now_ms,
		      struct phx_list *ret_actions)
{
	struct re *it = phx_ledger_get_batch(l, re);

	if (!it || it->r.state != RE_ACTIVE)
		return -ENOENT;
	return join(l, re, job, now_ms, ret_actions);
}

int phx_ledger_job_started(struct phx_ledger *l, int re, uint64_t job, uint32_t size,
			   int64_t start_ms, int64_t now_ms, struct phx_list *ret_actions)
{
	struct re *it = phx_ledger_get_batch(l, re);
	struct phx_batch_counts c;

	if (!it || it->r.state != RE_ACTIVE)
		return -ENOENT;
	phx_batch_counts(it->batch, &c);
	phx_ledger_advance(l, now_ms);
	int r = phx_batch_started(it->batch, job, size, start_ms);
	if (r < 0)
		return r;
	phx_ledger_begin(l, now_ms, ret_actions);
	if (it->scoped)
		phx_ledger_parts_take(l, it, job, size, c.idle);
	return phx_ledger_finish(l);
}

int phx_ledger_job_ended(struct phx_ledger *l, int re, uint64_t job, int64_t now_ms,
			 struct phx_list *ret_actions)
{
	struct re *it = phx_ledger_get_batch(l, re);
	const struct phx_batch_job *j = it ? phx_batch_job(it->batch, job) : NULL;
	struct phx_batch_counts c;

	if (!j)
		return -ENOENT;
	if (j->state != PHX_BATCH_RUNNING && j->state != PHX_BATCH_KILLING)
		return -EINVAL;
	int64_t start_ms = j->start_ms;
	uint32_t nodes = j->size - j->lost;
	phx_ledger_begin(l, now_ms, ret_actions);
	phx_batch_ended(it->batch, job);
	forget_gone(it, job);
	phx_ledger_parts_give(it, job);
	phx_ledger_settle(l, (uint32_t)re);
	phx_batch_counts(it->batch, &c);
	nodes = re_min(nodes, c.idle);
	if (it->policy->per_job_lease && it->r.state == RE_ACTIVE &&
	    !phx_ledger_lease_keep(l, (uint32_t)re, nodes, start_ms))
		phx_ledger_move(l, re, PHX_LEDGER_FREE, nodes, PHX_REASON_job_lease_end);
	return phx_ledger_finish(l);
}

static void count_kill(struct phx_ledger *l, struct re *re, const struct phx_batch_job *j)
{
	int64_t ran_ms = l->now_ms - j->start_ms;
	uint64_t lost = ran_ms > 0 ? (uint64_t)ran_ms * j->size : 0;

	re->r.meter.n_kills++;
	l->total.n_kills++;
	re->r.meter.lost_node_ms += lost;
	l->total.lost_node_ms += lost;
}

int phx_ledger_job_killed(struct phx_ledger *l, int re, uint64_t job, int64_t now_ms,
			  struct phx_list *ret_actions)
{
	struct re *it = phx_ledger_get_batch(l, re);
	const struct phx_batch_job *j = it ? phx_batch_job(it->batch, job) : NULL;

	if (!j)
		return -ENOENT;
	if (j->state != PHX_BATCH_KILLING)
		return -EINVAL;
	phx_ledger_begin(l, now_ms, ret_actions);
	bool gone = forget_gone(it, job);
	if (!gone)
		count_kill(l, it, j);
	int requeued = phx_batch_killed(it->batch, job);
	if (gone && requeued == 1)
		phx_batch_cancel(it->batch, job);
	else if (requeued == 1)
		wait_for_lease(l, (uint32_t)re, job);
	phx_ledger_parts_give(it, job);
	return phx_ledger_finish(l);
}

int phx_ledger_job_cancel(struct phx_ledger *l, int re, uint64_t job, int64_t now_ms,
			  struct phx_list *ret_actions)
{
	struct re *it = phx_ledger_get_batch(l, re);
	const struct phx_batch_job *j = it ? phx_batch_job(it->batch, job) : NULL;

	if (!j)
		return -ENOENT;
	phx_ledger_begin(l, now_ms, ret_actions);
	if (j->state == PHX_BATCH_RUNNING || j->state == PHX_BATCH_KILLING) {
		kill_for_good(l, (uint32_t)re, job, PHX_REASON_cancel);
	} else {
		phx_ledger_unask(it, job);
		phx_batch_cancel(it->batch, job);
	}
	return phx_ledger_finish(l);
}

int phx_ledger_job_unblock(struct phx_ledger *l, int re, uint64_t job, int64_t now_ms,
			   struct phx_list *ret_actions)
{
	struct re *it = phx_ledger_get_batch(l, re);
	int r = it ? phx_batch_unblock(it->batch, job) : -ENOENT;

	if (r < 0)
		return r;
	phx_ledger_begin(l, now_ms, ret_actions);
	wait_for_lease(l, (uint32_t)re, job);
	return phx_ledger_finish(l);
}

int phx_ledger_job_hold(struct phx_ledger *l, int re, uint64_t job, bool hold, int64_t now_ms,
			struct phx_list *ret_actions)
{
	struct re *it = phx_ledger_get_batch(l, re);
	int r = -ENOENT;

	if (it)
		r = hold ? phx_batch_hold(it->batch, job) : phx_batch_unhold(it->batch, job);
	if (r < 0)
		return r;
	phx_ledger_begin(l, now_ms, ret_actions);
	phx_ledger_unask(it, job);
	if (!hold)
		wait_for_lease(l, (uint32_t)re, job);
	return phx_ledger_finish(l);
}

/* ---- demand ---- */

int phx_ledger_demand(struct phx_ledger *l, int re, uint32_t instances, int64_t now_ms,
		      struct phx_list *ret_actions)
{
	struct re *it = phx_ledger_get(l, re);

	if (!it || it->r.state != RE_ACTIVE)
		return -ENOENT;
	if (it->batch)
		return -EINVAL;
	phx_ledger_begin(l, now_ms, ret_actions);
	it->r.want = instances;
	return phx_ledger_finish(l);
}
