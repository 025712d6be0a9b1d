/* The observer of runtime environments: a reclaim never takes a coordinated pair below the sum of
 * its lower bounds, and a node that is away for a moment stays with its RE. Called by check.c. */
#include "fault/parts.h"

#include <string.h>

static bool in_pair(const char *re)
{
	return !strcmp(re, phx_fault_re_name(0)) || !strcmp(re, phx_fault_re_name(1));
}

static bool pair_runs(const struct fault_sim *f)
{
	for (int i = 0; i < 2; i++) {
		const struct phx_re *re = phx_state_re(f->head.s, phx_fault_re_name(i));
		if (!re || !re->active || re->state != PHX_RE_STATE_RUNNING ||
		    phx_ledger_partner(f->head.s->ledger, (int)re->number) < 0)
			return false;
	}
	return true;
}

void phx_fault_re_check(struct fault_sim *f, struct fault_machine *m, const struct phx_node *n)
{
	struct fault_seen *seen = &m->seen;
	bool is =
		(n->allocation == PHX_ALLOCATION_HELD || n->allocation == PHX_ALLOCATION_COMING) &&
		in_pair(n->allocated_to);
	/* to the free pool is no reclaim: while the pair lacks nodes they are reserved for it
	 * there; and from there none */
	bool taken = seen->in_pair && !is && n->allocation == PHX_ALLOCATION_COMING &&
		n->allocated_to[0] && in_pair(n->allocated_from);
	uint32_t count = 0, lower = phx_fault_re_lower(f, 0) + phx_fault_re_lower(f, 1);
	seen->in_pair = is;
	if (!taken || !pair_runs(f))
		return;
	PHX_NODES_EACH(o, f->head.s)
		count += (o->allocation == PHX_ALLOCATION_HELD ||
			  o->allocation == PHX_ALLOCATION_COMING) &&
			in_pair(o->allocated_to);
	if (count < lower)
		phx_fault_violated(f, "bounds",
				   "%s is taken from the pair of REs, which keeps %u nodes of %u",
				   m->node, count, lower);
}

/* Ended for good by this event? */
static bool ended_now(const struct fault_sim *f, const struct phx_job *j)
{
	return j->end == PHX_JOB_END_CANCELLED && j->killed_ms == f->head.s->now_ms &&
		strstr(j->killed_why, "deactivated");
}

void phx_fault_re_check_kept(struct fault_sim *f, const struct phx_event *ev)
{
	const struct phx_re *re =
		ev->kind == PHX_EV_re_deactivate ? phx_state_re(f->head.s, ev->re) : NULL;
	if (!re || !re->agreement.keep_jobs)
		return;
	PHX_LIST_EACH(struct phx_job, j, &f->head.s->jobs)
		if (!strcmp(j->re, re->name) && !j->no_requeue && !j->broken && ended_now(f, j))
			phx_fault_violated(
				f, "jobs",
				"RE %s keeps its jobs, is deactivated, and ends job %llu", re->name,
				(unsigned long long)j->id);
}

/* In the RE's pool, in its role, and wanted there by both. */
static bool belongs(const struct fault_sim *f, const struct phx_node *n, const char *re_name)
{
	const struct phx_re *re = re_name[0] ? phx_state_re(f->head.s, re_name) : NULL;
	bool lives = re && re->active &&
		(re->state == PHX_RE_STATE_RUNNING || re->state == PHX_RE_STATE_SUSPENDED);
	return lives && n->state == PHX_NODE_ACTIVE && !n->pinned && !strcmp(n->pool, re_name) &&
		!strcmp(n->role, re->agreement.role) && n->plan.cursor >= n->plan.steps.n;
}

static bool is_its(const struct phx_node *n, const char *re)
{
	return (n->allocation == PHX_ALLOCATION_HELD || n->allocation == PHX_ALLOCATION_AWAY) &&
		!strcmp(n->allocated_to, re);
}

void phx_fault_re_adopt(struct fault_machine *m, const struct phx_node *n)
{
	struct fault_seen *seen = &m->seen;
	bool its =
		n && (n->allocation == PHX_ALLOCATION_HELD || n->allocation == PHX_ALLOCATION_AWAY);
	phx_str_copy(seen->its_re, sizeof(seen->its_re), its ? n->allocated_to : "");
	seen->gone_at = !its ? 0 : n->away_since_ms ? n->away_since_ms : n->missing_since_ms;
}

void phx_fault_re_check_away(struct fault_sim *f, struct fault_machine *m, const struct phx_node *n,
			     bool ordered)
{
	struct fault_seen *seen = &m->seen;
	int64_t now = phx_fault_core_now(f);
	bool was = seen->its_re[0] && !ordered && belongs(f, n, seen->its_re);
	bool moved =
		n->allocation == PHX_ALLOCATION_COMING && !strcmp(n->allocated_from, seen->its_re);
	if (was && !is_its(n, seen->its_re) && !moved) {
		const struct phx_re *re = phx_state_re(f->head.s, seen->its_re);
		int64_t waits = (int64_t)re->agreement.replace_after_s * SECOND;
		if (!seen->gone_at || now - seen->gone_at < waits)
			phx_fault_violated(f, "kept",
					   "%s serves RE %s, was away for %lld ms of %lld, and is "
					   "counted there no more",
					   m->node, seen->its_re,
					   (long long)(seen->gone_at ? now - seen->gone_at : 0),
					   (long long)waits);
	}
	int64_t gone_at = seen->gone_at;
	bool same = seen->its_re[0] && is_its(n, seen->its_re);
	phx_fault_re_adopt(m, n);
	bool there = n->up && n->allocation != PHX_ALLOCATION_AWAY;
	/* as it was seen, not as the core says */
	seen->gone_at = !seen->its_re[0] || there ? 0 : same && gone_at ? gone_at : now;
}

bool phx_fault_re_moves(const struct phx_node *n)
{
	int to = phx_fault_pool_index(n->plan.to_pool), from = phx_fault_pool_index(n->tenant_pool);
	return n->allocation == PHX_ALLOCATION_COMING || to >= FAULT_PUT_POOLS ||
		(to == 0 && from >= FAULT_PUT_POOLS);
}
