/* Turns the ledger's counts into nodes. The ledger says "two nodes from batch
 * to web"; allocation.c chooses the nodes, hands them over, and tells the ledger the
 * outcome. At the end of every event nodes and ledger are brought to agree:
 *
 *   outside ──ready, in the free pool──▶ free ──MOVE──▶ coming ──serves──▶ held
 *      ▲                                  ▲               │                  │ MOVE
 *      │                                  └──released─────┤ ◀────────────────┘
 *      └──given up, pinned, broken, given by hand (lost)──┘      held ◀──▶ away (node/holding.c)
 *
 * The allocation of a node follows from the node itself (its state, pool, plan), so a hand-over
 * that is retried, quarantined or cut by a restart needs no case of its own. How many nodes move
 * is decided in lib/ledger. Called by core/apply.c at the end of an event. Pure. */
#include "re/internal.h"

#include <stdio.h>
#include <string.h>

/* ---- what a node is now ---- */

/* The node serves the RE whose pool it is in. */
static bool serves_re(const struct phx_state *s, const struct phx_node *n)
{
	if (n->state != PHX_NODE_ACTIVE || !n->up || n->pinned)
		/* health is not asked: its first report comes after the end of the hand-over */
		return false;
	const struct phx_re *re = phx_state_re(s, n->pool);
	return re && re->active && !strcmp(n->role, re->agreement.role);
}

static void arrive(struct phx_apply *a, struct phx_node *n)
{
	phx_ledger_arrived(a->s->ledger, phx_holding_number(a->s, n->allocated_from),
			   phx_holding_number(a->s, n->allocated_to), 1, a->s->now_ms, a->todo);
	n->allocation = n->allocated_to[0] ? PHX_ALLOCATION_HELD : PHX_ALLOCATION_FREE;
	n->allocated_from[0] = '\0';
	phx_text_clear(&n->gave_up);
	phx_touch(a->s, n);
	a->out->changed = true;
}

static void look_at_coming(struct phx_apply *a, struct phx_node *n)
{
	const char *to = n->allocated_to[0] ? n->allocated_to : PHX_POOL_FREE;
	if (phx_node_step(n)) {
		if (strcmp(n->plan.to_pool, to))
			phx_holding_lose(a, n); /* an order by hand sends the node elsewhere */
		return;
	}
	if (n->allocated_to[0] ? serves_re(a->s, n) && !strcmp(n->pool, to)
			       : phx_node_is_available(n))
		arrive(a, n);
	else
		phx_holding_lose(a, n);
}

static bool serves_where_held(const struct phx_state *s, const struct phx_node *n)
{
	/* a node in the deploy initramfs is only on its way; for an RE that keeps no absent nodes
	 * its environment does not count */
	bool there = n->env == PHX_ENV_OS || !phx_away_may(s, n);
	return !phx_node_step(n) && there && serves_re(s, n) && !strcmp(n->pool, n->allocated_to);
}

static void look_at_held(struct phx_apply *a, struct phx_node *n)
{
	/* a node with a job is held as long as the job runs: job/silence.c tells when it broke */
	if (n->allocated_job || serves_where_held(a->s, n))
		return;
	if (phx_away_may(a->s, n))
		phx_away_begin(a, n);
	else
		phx_holding_lose(a, n);
}

static void look_at(struct phx_apply *a, struct phx_node *n)
{
	switch ((enum phx_node_allocation)n->allocation) {
	case PHX_ALLOCATION_OUTSIDE:
		if (phx_node_step(n) || (!phx_node_is_available(n) && !serves_re(a->s, n)) ||
		    n->jobs_running)
			return;
		n->allocation = PHX_ALLOCATION_FREE;
		phx_touch(a->s, n);
		phx_ledger_found(a->s->ledger, 1, a->s->now_ms, a->todo);
		a->out->changed = true;
		return;
	case PHX_ALLOCATION_FREE:
		if (phx_node_step(n) || (!phx_node_is_available(n) && !serves_re(a->s, n)))
			phx_holding_lose(a, n);
		return;
	case PHX_ALLOCATION_HELD:
		look_at_held(a, n);
		return;
	case PHX_ALLOCATION_COMING:
		look_at_coming(a, n);
		return;
	case PHX_ALLOCATION_AWAY:
		phx_away_look(a, n);
		return;
	}
}

/* ---- doing what the ledger wants ---- */

/* Gives up a node whose hand-over cannot begin: an administrator has to look after it. */
static void give_up(struct phx_apply *a, struct phx_node *n, const char *to, const char *why)
{
	/* a node of no pool in maintenance would be tried again at every event, for an RE that no
	 * longer exists */
	if (!n->pool[0] && n->state != PHX_NODE_QUARANTINED)
		phx_quarantine(a, n, why);
	if (n->state != PHX_NODE_QUARANTINED) { /* a quarantine has its own reason */
		char text[sizeof(n->reason)];
		snprintf(text, sizeof(text), "cannot go to %.64s: %.180s", to, why);
		phx_maintain(a, n, text);
	}
	phx_touch(a->s, n);
	phx_holding_leave(a, n);
}

static void send(struct phx_apply *a, struct phx_node *n, const struct phx_re *from,
		 const struct phx_re *to, int reason)
{
	const char *pool = to ? to->name : PHX_POOL_FREE;
	struct phx_err why = {0};
	n->allocation = PHX_ALLOCATION_COMING;
	phx_touch(a->s, n);
	phx_str_copy(n->allocated_to, sizeof(n->allocated_to), to ? to->name : "");
	phx_str_copy(n->allocated_from, sizeof(n->allocated_from), from ? from->name : "");
	a->out->changed = true;
	if (n->pinned) { /* the node stays, and the ledger looks for another one */
		phx_holding_lose(a, n);
		return;
	}
	phx_note_re(a, n,
		    to             ? to->name
			    : from ? from->name
				   : "",
		    to && from ? from->name : NULL, "%s goes from %s to %s: %s", n->name,
		    from ? from->name : PHX_POOL_FREE, pool, phx_policy_reason_text(reason));
	struct phx_node_order o = phx_order_own(to ? PHX_EV_assign : PHX_EV_release, n,
						phx_policy_reason_text(reason));
	if (to) {
		o.role = to->agreement.role;
		o.pool = pool;
	}
	if (phx_order_by_itself(a, &o, &why) < 0)
		give_up(a, n, pool, why.text);
}

static void move(struct phx_apply *a, const struct phx_ledger_action *act)
{
	const struct phx_re *from = phx_state_re_numbered(a->s, act->re),
			    *to = phx_state_re_numbered(a->s, act->to);
	PHX_AUTO(phx_list_fini) struct phx_list chosen = {0};
	phx_choose(a, from, to, act->nodes, &chosen);
	PHX_LIST_EACH(uint32_t, place, &chosen)
		send(a, PHX_LIST_AT(&a->s->nodes, struct phx_node, *place), from, to, act->reason);
	if (chosen.n == act->nodes || !to)
		return;
	phx_choose_tell(a); /* first, or the ledger wants the same nodes again */
	phx_ledger_refused(a->s->ledger, act->re, act->to, act->nodes - chosen.n, a->s->now_ms,
			   a->todo);
}

/* Is a job killed because its RE gives nodes away, and not for its own sake? */
static bool must_return(int reason)
{
	return reason != PHX_REASON_cancel && reason != PHX_REASON_node_lost;
}

static void do_action(struct phx_apply *a, const struct phx_ledger_action *act)
{
	struct phx_job *j = phx_state_job(a->s, act->job);
	switch ((enum phx_ledger_act)act->kind) {
	case PHX_LEDGER_START:
		if (j)
			phx_job_start_in_re(a, j);
		return;
	case PHX_LEDGER_KILL:
		if (j && must_return(act->reason))
			phx_job_await_end(a, j);
		if (!j || phx_job_is_killed(j))
			return;
		if (!phx_job_ends_for_good(j)) {
			phx_note_re(a, NULL, j->re, NULL, "job %s of RE %s is killed%s: %s",
				    phx_job_title(j).text, j->re,
				    j->no_requeue ? "" : " and queued again",
				    phx_policy_reason_text(act->reason));
			phx_job_blame(a, j, "phxd", "RE %s: %s", j->re,
				      phx_policy_reason_text(act->reason));
		}
		phx_job_kill(a, j);
		return;
	case PHX_LEDGER_MOVE:
		move(a, act);
		return;
	}
}

/* Carries out actions until the list is empty: an action may add others. */
static void do_all(struct phx_apply *a)
{
	for (uint32_t i = 0; i < a->todo->n; i++) {
		struct phx_ledger_action act = *PHX_LIST_AT(a->todo, struct phx_ledger_action, i);
		do_action(a, &act);
	}
	a->todo->n = 0;
}

/* Looks at nodes that were touched; the other nodes have not changed. */
static void look_at_touched(struct phx_apply *a)
{
	struct phx_node *n;
	for (uint32_t at = 0; (n = phx_index_next(a->s, PHX_SET_LOOK, at));
	     at = phx_index_place(a->s, n) + 1) {
		phx_index_looked(a->s, n);
		look_at(a, n);
	}
}

/* Releases nodes that serve where no RE wants them: they go to the free pool. */
static void release_strays(struct phx_apply *a)
{
	struct phx_node *n;
	for (uint32_t at = 0; (n = phx_index_next(a->s, PHX_SET_STRAY, at));
	     at = phx_index_place(a->s, n) + 1) {
		struct phx_err why = {0};
		char cause[200];
		snprintf(cause, sizeof(cause), "%.190s",
			 n->gave_up ? n->gave_up : "no RE wants it where it serves");
		const struct phx_node_order o = phx_order_own(PHX_EV_release, n, cause);
		if (phx_order_by_itself(a, &o, &why) < 0)
			give_up(a, n, PHX_POOL_FREE, why.text);
	}
}

static void settle(struct phx_apply *a)
{
	/* in each round some node or job moves; only a defect moves one twice at the same
	 * instant */
	for (uint32_t round = 0; round < 2 * a->s->nodes.n + 100; round++) {
		do_all(a);
		look_at_touched(a);
		phx_choose_tell(a);
		if (!a->todo->n && a->out->changed)
			phx_ledger_pass(a->s->ledger, a->s->now_ms, a->todo);
		if (!a->todo->n)
			return;
	}
}

void phx_allocation_agree(struct phx_apply *a)
{
	settle(a);
	release_strays(a);
	settle(a);
}
