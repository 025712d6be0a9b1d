/* Where the ledger's counts become nodes. The ledger says "two nodes from batch
 * to web"; here they are chosen and handed over, and what becomes of them is
 * told to it. At the end of every event both are brought to agree:
 *
 *   outside ──ready, in the free pool──▶ free ──MOVE──▶ coming ──serves──▶ held
 *      ▲                                  ▲               │                  │ MOVE
 *      │                                  └──released─────┤ ◀────────────────┘
 *      └──silent, pinned, broken, given by hand (lost)────┘
 *
 * What a node is now is read from the node itself (its state, pool, plan), so
 * that a hand-over that is retried, quarantined or cut by a restart needs no
 * case of its own. Decides nothing about how many: that is lib/re. Pure. */
#include "core/index.h"
#include "core/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct phx_re *re_by_number(const struct phx_state *s, int number)
{
	PHX_LIST_EACH(struct phx_re, re, &s->res)
		if (re->active && (int)re->number == number)
			return re;
	return NULL;
}

/* The ledger's number of an RE by name; "" = the free pool. */
static int number_of(const struct phx_state *s, const char *name)
{
	const struct phx_re *re = name[0] ? phx_state_re(s, name) : NULL;
	return re && re->active ? (int)re->number : PHX_LEDGER_FREE;
}

/* ---- what a node is now ---- */

/* Serves the RE whose pool it is in. */
static bool serves_re(const struct phx_state *s, const struct phx_node *n)
{
	if (n->state != PHX_NODE_ACTIVE || !n->up || n->pinned)
		return false; /* what its agent says of its health comes later than the end of its hand-over */
	const struct phx_re *re = phx_state_re(s, n->pool);
	return re && re->active && !strcmp(n->role, re->agreement.role);
}

bool phx_share_is_free(const struct phx_node *n)
{
	return n->state == PHX_NODE_READY && n->up && !n->pinned && !n->key_unread && !strcmp(n->pool, PHX_POOL_FREE);
}

static void set_outside(struct phx_apply *a, struct phx_node *n)
{
	phx_touch(a->s, n);
	n->share = PHX_SHARE_OUTSIDE;
	n->share_re[0] = n->share_from[0] = '\0';
	n->share_job = 0;
}

static void lose(struct phx_apply *a, struct phx_node *n)
{
	int re = number_of(a->s, n->share_re);
	if (n->share_job)
		phx_ledger_lost_busy(a->s->ledger, re, n->share_job, 1, a->s->now_ms, a->todo);
	else
		phx_ledger_lost(a->s->ledger, re, 1, n->share == PHX_SHARE_COMING, a->s->now_ms, a->todo);
	set_outside(a, n);
	a->out->changed = true;
}

void phx_share_leave(struct phx_apply *a, struct phx_node *n)
{
	if (n->share != PHX_SHARE_OUTSIDE)
		lose(a, n);
}

void phx_share_job_over(struct phx_apply *a, const struct phx_job *j)
{
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
	{
		struct phx_node *n = phx_state_node(a->s, p->node);
		if (!n || n->share_job != j->id)
			continue;
		n->share_job = 0;
		phx_touch(a->s, n);
	}
}

static void arrive(struct phx_apply *a, struct phx_node *n)
{
	phx_ledger_arrived(a->s->ledger, number_of(a->s, n->share_from), number_of(a->s, n->share_re), 1, a->s->now_ms,
			   a->todo);
	n->share = n->share_re[0] ? PHX_SHARE_HELD : PHX_SHARE_FREE;
	n->share_from[0] = '\0';
	phx_touch(a->s, n);
	a->out->changed = true;
}

static void look_at_coming(struct phx_apply *a, struct phx_node *n)
{
	const char *to = n->share_re[0] ? n->share_re : PHX_POOL_FREE;
	if (phx_node_step(n)) {
		if (strcmp(n->plan.to_pool, to))
			lose(a, n); /* somebody gave it another way */
		return;
	}
	if (n->share_re[0] ? serves_re(a->s, n) && !strcmp(n->pool, to) : phx_share_is_free(n))
		arrive(a, n);
	else
		lose(a, n);
}

static void look_at(struct phx_apply *a, struct phx_node *n)
{
	switch ((enum phx_node_share)n->share) {
	case PHX_SHARE_OUTSIDE:
		if (phx_node_step(n) || (!phx_share_is_free(n) && !serves_re(a->s, n)) || n->jobs_running)
			return;
		n->share = PHX_SHARE_FREE;
		phx_touch(a->s, n);
		phx_ledger_found(a->s->ledger, 1, a->s->now_ms, a->todo);
		a->out->changed = true;
		return;
	case PHX_SHARE_FREE:
		if (phx_node_step(n) || (!phx_share_is_free(n) && !serves_re(a->s, n)))
			lose(a, n);
		return;
	case PHX_SHARE_HELD:
		/* with a job on it, it stays as long as the job does: lease.c tells when it broke */
		if (!n->share_job && (phx_node_step(n) || !serves_re(a->s, n) || strcmp(n->pool, n->share_re)))
			lose(a, n);
		return;
	case PHX_SHARE_COMING:
		look_at_coming(a, n);
		return;
	}
}

/* ---- doing what the ledger wants ---- */

/* Nothing to be done for it, or less, comes first: last of all one that was pinned while a job was on it, one where an engine that is not ours began nothing just now, a node
 * that is there already, then one that never gave trouble. */
static int rank(const struct phx_node *n, const char *to_pool)
{
	return (n->pinned ? 8 : 0) + (n->jobs_running ? 4 : 0) + (strcmp(n->pool, to_pool) ? 2 : 0) + (n->reason[0] ? 1 : 0);
}

/* The first of those that may go, from `n` on. */
static struct phx_node *next_to_go(struct phx_state *s, const struct phx_re *from, uint32_t at)
{
	return from ? phx_index_next_idle(s, from->name, at) : phx_index_next(s, PHX_SET_FREE, at);
}

/* Those in an odd pool are ranked one by one, they are few; of the others the first without a mark is the best, and
 * where none is, the first. */
static struct phx_node *choose(struct phx_state *s, const struct phx_re *from, const char *to_pool)
{
	struct phx_node *best = NULL, *n;
	for (uint32_t at = 0; (n = phx_index_next(s, PHX_SET_ODD, at)); at = phx_index_place(s, n) + 1) {
		bool there = from ? n->share == PHX_SHARE_HELD && !strcmp(n->share_re, from->name) :
				    n->share == PHX_SHARE_FREE;
		if (there && (!best || rank(n, to_pool) < rank(best, to_pool)))
			best = n;
	}
	for (uint32_t at = 0; (n = next_to_go(s, from, at)); at = phx_index_place(s, n) + 1) {
		int d = best ? rank(n, to_pool) - rank(best, to_pool) : -1;
		if (d < 0 || (d == 0 && n < best))
			best = n;
		if (!phx_index_has(s, PHX_SET_MARKED, n) && !phx_index_has(s, PHX_SET_ODD, n))
			break;
	}
	return best;
}

/* It cannot be handed over at all: whoever looks after it must see to it. */
static void give_up(struct phx_apply *a, struct phx_node *n, const char *to, const char *why)
{
	n->state = PHX_NODE_MAINTENANCE;
	phx_touch(a->s, n);
	snprintf(n->reason, sizeof(n->reason), "cannot go to %.64s: %.180s", to, why);
	phx_note(a, n, "%s is in maintenance: %s", n->name, n->reason);
	lose(a, n);
}

static void send(struct phx_apply *a, struct phx_node *n, const struct phx_re *from, const struct phx_re *to,
		 enum phx_policy_reason reason)
{
	const char *pool = to ? to->name : PHX_POOL_FREE;
	struct phx_err why = { 0 };
	n->share = PHX_SHARE_COMING;
	phx_touch(a->s, n);
	phx_str_copy(n->share_re, sizeof(n->share_re), to ? to->name : "");
	phx_str_copy(n->share_from, sizeof(n->share_from), from ? from->name : "");
	a->out->changed = true;
	if (n->pinned) { /* it stays, and whoever was to have it has to look for another one */
		lose(a, n);
		return;
	}
	phx_note_re(a, n, to ? to->name : from ? from->name : "", to && from ? from->name : NULL,
		    "%s goes from %s to %s: %s", n->name, from ? from->name : PHX_POOL_FREE, pool,
		    phx_policy_reason_text(reason));
	int r = to ? phx_order_by_itself(a, PHX_EV_assign, n, to->agreement.role, pool, &why) :
		     phx_order_by_itself(a, PHX_EV_release, n, "", "", &why);
	if (r < 0)
		give_up(a, n, pool, why.text);
}

static void move(struct phx_apply *a, const struct phx_ledger_action *act)
{
	const struct phx_re *from = re_by_number(a->s, act->re), *to = re_by_number(a->s, act->to);
	for (uint32_t i = 0; i < act->nodes; i++) {
		struct phx_node *n = choose(a->s, from, to ? to->name : PHX_POOL_FREE);
		if (!n)
			return;
		send(a, n, from, to, (enum phx_policy_reason)act->reason);
	}
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
		if (!j || j->killing)
			return;
		if (!j->cancel && !j->overdue)
			phx_note_re(a, NULL, j->re, NULL, "job %s of RE %s is killed%s: %s", phx_job_title(j).text, j->re,
				    j->no_requeue ? "" : " and queued again",
				    phx_policy_reason_text((enum phx_policy_reason)act->reason));
		phx_job_kill(a, j);
		return;
	case PHX_LEDGER_MOVE:
		move(a, act);
		return;
	}
}

/* Until the list is empty: doing one may add others. */
static void do_all(struct phx_apply *a)
{
	for (uint32_t i = 0; i < a->todo->n; i++) {
		struct phx_ledger_action act = *PHX_LIST_AT(a->todo, struct phx_ledger_action, i);
		do_action(a, &act);
	}
	a->todo->n = 0;
}

/* At those that were touched; the others are as they were. */
static void look_at_touched(struct phx_apply *a)
{
	struct phx_node *n;
	for (uint32_t at = 0; (n = phx_index_next(a->s, PHX_SET_LOOK, at)); at = phx_index_place(a->s, n) + 1) {
		phx_index_looked(a->s, n);
		look_at(a, n);
	}
}

/* A node that nobody wanted back where it serves: it goes to the free pool. */
static void release_strays(struct phx_apply *a)
{
	struct phx_node *n;
	for (uint32_t at = 0; (n = phx_index_next(a->s, PHX_SET_STRAY, at)); at = phx_index_place(a->s, n) + 1) {
		struct phx_err why = { 0 };
		if (phx_order_by_itself(a, PHX_EV_release, n, "", "", &why) < 0)
			give_up(a, n, PHX_POOL_FREE, why.text);
	}
}

static void agree(struct phx_apply *a)
{
	/* each round some node or job changes its place; nobody moves twice at one instant but by a defect */
	for (uint32_t round = 0; round < 2 * a->s->nodes.n + 100; round++) {
		do_all(a);
		look_at_touched(a);
		if (!a->todo->n && a->out->changed)
			phx_ledger_pass(a->s->ledger, a->s->now_ms, a->todo);
		if (!a->todo->n)
			return;
	}
}

void phx_share_settle(struct phx_apply *a)
{
	/* where nothing changed they agree already */
	if (!a->s->ledger || (!a->out->changed && !a->todo->n))
		return;
	do {
		agree(a);
		release_strays(a);
		agree(a);
	} while (phx_res_drained(a));
}

/* ---- checking ---- */

static int check_re(const struct phx_state *s, const struct phx_re *re, struct phx_err *err)
{
	struct phx_ledger_counts c;
	uint32_t held = 0, coming = 0;
	phx_ledger_counts(s->ledger, (int)re->number, &c);
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
	{
		bool its = !strcmp(n->share_re, re->name);
		held += n->share == PHX_SHARE_HELD && its;
		coming += n->share == PHX_SHARE_COMING && its;
	}
	if (held != c.idle + c.busy || coming != c.coming)
		return phx_err_set(err, -EPROTO, "RE %s holds %u nodes and %u are coming, the ledger says %u and %u",
				   re->name, held, coming, c.idle + c.busy, c.coming);
	return 0;
}

int phx_share_check(const struct phx_state *s, struct phx_err *err)
{
	uint32_t n_free = 0;
	if (!s->ledger)
		return 0;
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
		n_free += n->share == PHX_SHARE_FREE;
	if (n_free != phx_ledger_free_nodes(s->ledger))
		return phx_err_set(err, -EPROTO, "%u nodes are free, the ledger says %u", n_free,
				   phx_ledger_free_nodes(s->ledger));
	PHX_LIST_EACH(struct phx_re, re, &s->res)
	{
		int r = re->active ? check_re(s, re, err) : 0;
		if (r < 0)
			return r;
	}
	return phx_ledger_check(s->ledger, err);
}
