/* Predicates of nodes: see node_sets.h. Called by index.c for touched nodes, and by the pure rooms
 * above for single nodes. Changes nothing. Pure. */
#include "state/node_sets.h"

#include <stdio.h>
#include <string.h>

#include "state/event.h"

bool phx_node_counts_free(const struct phx_state *s, const struct phx_node *n)
{
	(void)s;
	return n->allocation == PHX_ALLOCATION_FREE;
}

bool phx_node_is_idle(const struct phx_state *s, const struct phx_node *n)
{
	(void)s;
	return n->allocation == PHX_ALLOCATION_HELD && !n->allocated_job;
}

bool phx_node_is_odd(const struct phx_state *s, const struct phx_node *n)
{
	if (phx_node_counts_free(s, n))
		return strcmp(n->pool, PHX_POOL_FREE);
	return phx_node_is_idle(s, n) && strcmp(n->pool, n->allocated_to);
}

bool phx_node_is_unfit(const struct phx_state *s, const struct phx_node *n)
{
	(void)s;
	return n->unfit_for.n;
}

bool phx_node_is_stranger(const struct phx_state *s, const struct phx_node *n)
{
	(void)s;
	return n->state == PHX_NODE_NEW && !n->accepted && !n->hold;
}

bool phx_node_is_available(const struct phx_node *n)
{
	return n->state == PHX_NODE_READY && n->up && !n->pinned && !n->key_unread &&
		!strcmp(n->pool, PHX_POOL_FREE);
}

/* ---- given up by its RE ---- */

bool phx_pool_is_deserted(const struct phx_state *s, const char *pool)
{
	const struct phx_re *re = phx_state_re(s, pool);
	return !re || !re->active || re->state == PHX_RE_STATE_DEACTIVATED;
}

bool phx_node_is_given_up(const struct phx_state *s, const struct phx_node *n)
{
	return n->gave_up && !n->pinned && phx_pool_is_deserted(s, n->pool);
}

/* Is the node given up and can it be released now? */
static bool is_releasable(const struct phx_state *s, const struct phx_node *n)
{
	bool waits =
		n->state == PHX_NODE_ACTIVE || (n->state == PHX_NODE_MAINTENANCE && !n->pool[0]);
	return phx_node_is_given_up(s, n) && waits && n->up && !n->jobs_running &&
		!phx_node_step(n) && n->allocation == PHX_ALLOCATION_OUTSIDE;
}

bool phx_node_is_stray(const struct phx_state *s, const struct phx_node *n)
{
	return (phx_node_counts_free(s, n) && !phx_node_is_available(n)) || is_releasable(s, n);
}

/* ---- jobs of no RE ---- */

bool phx_node_takes_jobs(const struct phx_state *s, const struct phx_node *n)
{
	if (n->state != PHX_NODE_ACTIVE || !n->up || n->env != PHX_ENV_OS || phx_node_step(n) ||
	    n->jobs_running || !n->healthy || n->allocation != PHX_ALLOCATION_OUTSIDE ||
	    strcmp(n->actual_role, n->role))
		return false;
	/* last, since it looks up a role by name: most nodes of a full cluster are busy */
	return phx_node_could_take_jobs(s, n);
}

bool phx_node_could_take_jobs(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_role *role = n->role[0] ? phx_state_role(s, n->role) : NULL;
	/* a node that is pinned in the pool of an RE runs only jobs of that RE */
	return role && role->runs_jobs && !phx_state_re(s, n->pool);
}

/* ---- behind a balancer ---- */

/* The addresses of the RE behind its first one. */
static void put_more(const struct phx_agreement *g, char ret[PHX_WEB_ADDRESSES_TEXT_MAX])
{
	char address[PHX_WEB_ADDRESS_MAX];
	size_t n = 0;
	ret[0] = '\0';
	for (uint32_t i = 1; phx_agreement_address(g, i, address); i++)
		n += (size_t)snprintf(ret + n, PHX_WEB_ADDRESSES_TEXT_MAX - n, "%s%s", n ? " " : "",
				      address);
}

struct phx_role_web phx_web_of_pool(const struct phx_state *s, const char *pool,
				    const struct phx_role *role)
{
	const struct phx_re *re = phx_state_re(s, pool);
	const struct phx_agreement *g = re ? &re->agreement : NULL;
	struct phx_role_web web = role->web;
	if (!g || !phx_re_kind(g)->has_demand || !phx_agreement_address(g, 0, web.address) ||
	    strcmp(g->role, role->name))
		return role->web;
	put_more(g, web.more);
	web.port = phx_agreement_port(g);
	if (!web.scheduler[0])
		PHX_STR_SET(web.scheduler, "wlc");
	return web;
}

struct phx_role_web phx_node_web_of(const struct phx_state *s, const struct phx_node *n,
				    const struct phx_role *role)
{
	return phx_web_of_pool(s, n->pool, role);
}

static bool has_address(const struct phx_state *s, const struct phx_node *n, const char *role_name)
{
	const struct phx_role *role = phx_state_role(s, role_name);
	return role && phx_node_web_of(s, n, role).address[0];
}

bool phx_node_is_instance(const struct phx_state *s, const struct phx_node *n)
{
	return has_address(s, n, n->actual_role);
}

bool phx_node_is_balanced(const struct phx_state *s, const struct phx_node *n)
{
	return has_address(s, n, n->role);
}

bool phx_node_is_to_direct(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_role *role = phx_state_role(s, n->role);
	return role && role->director;
}

bool phx_node_waits_for_director(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_step *step = phx_node_step(n);
	(void)s;
	return step && step->status == PHX_STEP_ISSUED &&
		phx_step_info((enum phx_step_kind)step->kind)->executor == PHX_EXEC_DIRECTOR;
}

bool phx_node_boots_local(const struct phx_state *s, const struct phx_node *n)
{
	(void)s;
	return !phx_node_step(n) && n->system_digest[0] && n->system_disk[0] && !n->key_unread &&
		(n->state == PHX_NODE_ACTIVE || n->state == PHX_NODE_READY ||
		 n->state == PHX_NODE_MAINTENANCE);
}

const struct phx_role *phx_core_role_wanted(const struct phx_state *s, const struct phx_node *n,
					    struct phx_role *store)
{
	const struct phx_step *step = phx_node_step(n);
	const struct phx_role *role = NULL;
	if (step && (step->kind == PHX_STEP_health || step->kind == PHX_STEP_join))
		role = phx_state_role(s, step->role);
	else if (n->state == PHX_NODE_ACTIVE && n->role[0])
		role = phx_state_role(s, n->role);
	return phx_state_role_in(s, role, n->pool, store);
}

/* ---- deadlines ---- */

int64_t phx_node_due(const struct phx_node *n)
{
	const struct phx_step *step = phx_node_step(n);
	int64_t due = step ? step->deadline_ms : INT64_MAX;
	if (n->window && n->window_until_ms < due)
		due = n->window_until_ms;
	if (n->off_wanted && n->off_again_ms < due)
		due = n->off_again_ms;
	if (n->maintained_until_ms && n->state == PHX_NODE_MAINTENANCE && !step &&
	    n->maintained_until_ms < due)
		due = n->maintained_until_ms;
	if (n->soft_again_ms && n->soft_again_ms < due)
		due = n->soft_again_ms;
	if (n->rests_until_ms && n->rests_until_ms < due)
		due = n->rests_until_ms;
	if (n->allocation == PHX_ALLOCATION_AWAY && n->away_until_ms && n->away_until_ms < due)
		due = n->away_until_ms;
	if (n->restart_at_ms && n->restart_at_ms < due)
		due = n->restart_at_ms;
	return due;
}

int64_t phx_job_limit_due(const struct phx_job *j)
{
	bool limited = j->state == PHX_JOB_RUNNING && !j->engine_id[0] && j->estimate_ms > 0 &&
		!phx_job_ends_for_good(j);
	if (j->state == PHX_JOB_RUNNING && j->idle_ms)
		return j->idle_ms + PHX_WORKER_IDLE_MS;
	return limited ? j->started_ms + j->estimate_ms : INT64_MAX;
}

int64_t phx_job_due(const struct phx_job *j)
{
	int64_t next = phx_job_limit_due(j);
	if (j->state != PHX_JOB_RUNNING)
		return next;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
		if (!p->ended && p->lost_ms && p->lost_ms < next)
			next = p->lost_ms;
	return j->unheard_ms && j->unheard_ms < next ? j->unheard_ms : next;
}

bool phx_node_is_of(const struct phx_node *n, const char *pool)
{
	return !strcmp(n->pool, pool) || (phx_node_step(n) && !strcmp(n->plan.to_pool, pool));
}
