/* Where the ledger's counts become nodes. The ledger says "two nodes from batch
 * to web"; here they are chosen and handed over, and what becomes of them is
 * told to it. At the end of every event both are brought to agree:
 *
 *   outside ──ready, in the free pool──▶ free ──MOVE──▶ coming ──serves──▶ held
 *      ▲                                  ▲               │                  │ MOVE
 *      │                                  └──released─────┤ ◀────────────────┘
 *      └──given up, pinned, broken, given by hand (lost)──┘      held ◀──▶ away (away.c)
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
	return n->state == PHX_NODE_READY && n->up && !n->pinned && !n->key_unread && !n->unfit &&
	       !strcmp(n->pool, PHX_POOL_FREE);
}

static void set_outside(struct phx_apply *a, struct phx_node *n)
{
	phx_touch(a->s, n);
	n->share = PHX_SHARE_OUTSIDE;
	n->share_re[0] = n->share_from[0] = '\0';
	n->share_job = 0;
	n->away_since_ms = n->away_until_ms = 0;
}

void phx_share_lose(struct phx_apply *a, struct phx_node *n)
{
	int number = number_of(a->s, n->share_re);
	const struct phx_re *re = n->share == PHX_SHARE_COMING ? NULL : re_by_number(a->s, number);
	enum phx_ledger_place place = n->share == PHX_SHARE_COMING ? PHX_LEDGER_COMING :
				      n->share == PHX_SHARE_AWAY   ? PHX_LEDGER_AWAY :
								     PHX_LEDGER_THERE;
	if (n->share_job)
		phx_ledger_lost_busy(a->s->ledger, number, n->share_job, 1, a->s->now_ms, a->todo);
	else
		phx_ledger_lost(a->s->ledger, number, 1, place, a->s->now_ms, a->todo);
	set_outside(a, n);
	a->out->changed = true;
	if (re && re->state == PHX_RE_STATE_DEACTIVATED && !phx_node_step(n))
		phx_away_give_up(a, n, re);
}

void phx_share_leave(struct phx_apply *a, struct phx_node *n)
{
	if (n->share != PHX_SHARE_OUTSIDE)
		phx_share_lose(a, n);
}

void phx_share_job_lost(struct phx_apply *a, struct phx_node *n)
{
	if (n->share == PHX_SHARE_HELD && phx_away_may(a->s, n))
		phx_away_begin(a, n);
	else if (n->share != PHX_SHARE_AWAY)
		phx_share_leave(a, n);
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
	n->share_from[0] = n->gave_up[0] = '\0';
	phx_touch(a->s, n);
	a->out->changed = true;
}

static void look_at_coming(struct phx_apply *a, struct phx_node *n)
{
	const char *to = n->share_re[0] ? n->share_re : PHX_POOL_FREE;
	if (phx_node_step(n)) {
		if (strcmp(n->plan.to_pool, to))
			phx_share_lose(a, n); /* somebody gave it another way */
		return;
	}
	if (n->share_re[0] ? serves_re(a->s, n) && !strcmp(n->pool, to) : phx_share_is_free(n))
		arrive(a, n);
	else
		phx_share_lose(a, n);
}

static bool serves_where_held(const struct phx_state *s, const struct phx_node *n)
{
	/* in the deploy initramfs it is on its way only; REs that count on nobody who is away never asked */
	bool there = n->env == PHX_ENV_OS || !phx_away_may(s, n);
	return !phx_node_step(n) && there && serves_re(s, n) && !strcmp(n->pool, n->share_re);
}

static void look_at_held(struct phx_apply *a, struct phx_node *n)
{
	/* with a job on it, it stays as long as the job does: lease.c tells when it broke */
	if (n->share_job || serves_where_held(a->s, n))
		return;
	if (phx_away_may(a->s, n))
		phx_away_begin(a, n);
	else
		phx_share_lose(a, n);
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
			phx_share_lose(a, n);
		return;
	case PHX_SHARE_HELD:
		look_at_held(a, n);
		return;
	case PHX_SHARE_COMING:
		look_at_coming(a, n);
		return;
	case PHX_SHARE_AWAY:
		phx_away_look(a, n);
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

/* Could it be handed over to `to`? What it says of itself, its BMC and the role decide that. */
static bool fits(const struct phx_state *s, const struct phx_node *n, const struct phx_re *to)
{
	struct phx_event ev = { .kind = PHX_EV_assign };
	struct phx_plan plan;
	if (!to)
		return true;
	PHX_STR_SET(ev.node, n->name);
	PHX_STR_SET(ev.role, to->agreement.role);
	PHX_STR_SET(ev.pool, to->name);
	if (phx_core_plan(s, &ev, &plan, NULL) < 0)
		return false;
	phx_record_fini(&phx_plan_record, &plan);
	return true;
}

/* The first of those that may go, from `n` on. */
static struct phx_node *next_to_go(struct phx_state *s, const struct phx_re *from, uint32_t at)
{
	return from ? phx_index_next_idle(s, from->name, at) : phx_index_next(s, PHX_SET_FREE, at);
}

struct choice {
	const struct phx_re *from, *to;
	struct phx_node *best;
	int rank;
};

static void consider(struct phx_state *s, struct choice *c, struct phx_node *n)
{
	int r = rank(n, c->to ? c->to->name : PHX_POOL_FREE);
	if (c->best && (r > c->rank || (r == c->rank && n >= c->best)))
		return;
	if (!fits(s, n, c->to))
		return;
	c->best = n;
	c->rank = r;
}

/* Those in an odd pool are ranked one by one, they are few; of the others the first without a mark is the best, and
 * where none is, the first. One that cannot serve is chosen only where there is no other: it is passed over then. */
static struct phx_node *choose(struct phx_state *s, const struct phx_re *from, const struct phx_re *to)
{
	struct choice c = { .from = from, .to = to };
	struct phx_node *n, *any = NULL;
	for (uint32_t at = 0; (n = phx_index_next(s, PHX_SET_ODD, at)); at = phx_index_place(s, n) + 1) {
		bool there = from ? n->share == PHX_SHARE_HELD && !strcmp(n->share_re, from->name) :
				    n->share == PHX_SHARE_FREE;
		any = there ? n : any;
		if (there)
			consider(s, &c, n);
	}
	for (uint32_t at = 0; (n = next_to_go(s, from, at)); at = phx_index_place(s, n) + 1) {
		any = any ? any : n;
		consider(s, &c, n);
		bool plain = !phx_index_has(s, PHX_SET_MARKED, n) && !phx_index_has(s, PHX_SET_ODD, n);
		if (plain && c.best && c.rank <= rank(n, to ? to->name : PHX_POOL_FREE))
			break;
	}
	return c.best ? c.best : any;
}

/* It cannot be handed over. A free one stays free, and waits for news of it; for another whoever looks after it must see
 * to it. */
static void give_up(struct phx_apply *a, struct phx_node *n, const char *to, const char *why)
{
	bool waits = n->state == PHX_NODE_READY;
	if (!n->pool[0]) { /* in maintenance it is already, for an RE that is no more: it would be tried at every event */
		phx_quarantine(a, n, why);
		phx_share_leave(a, n);
		return;
	}
	n->unfit = waits;
	if (!waits)
		n->state = PHX_NODE_MAINTENANCE;
	phx_touch(a->s, n);
	snprintf(n->reason, sizeof(n->reason), "cannot go to %.64s: %.180s", to, why);
	phx_note(a, n, "%s %s: %s", n->name, waits ? "is passed over" : "is in maintenance", n->reason);
	phx_share_leave(a, n);
}

void phx_share_fit_again(struct phx_apply *a, struct phx_node *n)
{
	if (!n->unfit)
		return;
	n->unfit = false;
	if (n->state == PHX_NODE_READY) /* it is about that; a quarantine has one of its own */
		n->reason[0] = '\0';
	a->out->changed = true;
	phx_touch(a->s, n);
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
		phx_share_lose(a, n);
		return;
	}
	phx_note_re(a, n, to ? to->name : from ? from->name : "", to && from ? from->name : NULL,
		    "%s goes from %s to %s: %s", n->name, from ? from->name : PHX_POOL_FREE, pool,
		    phx_policy_reason_text(reason));
	const char *cause = phx_policy_reason_text(reason);
	int r = to ? phx_order_by_itself(a, PHX_EV_assign, n, to->agreement.role, pool, cause, &why) :
		     phx_order_by_itself(a, PHX_EV_release, n, "", "", cause, &why);
	if (r < 0)
		give_up(a, n, pool, why.text);
}

static void move(struct phx_apply *a, const struct phx_ledger_action *act)
{
	const struct phx_re *from = re_by_number(a->s, act->re), *to = re_by_number(a->s, act->to);
	for (uint32_t i = 0; i < act->nodes; i++) {
		struct phx_node *n = choose(a->s, from, to);
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
		if (!j->cancel && !j->overdue)
			phx_job_blame(a, j, "phxd", "RE %s: %s", j->re,
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
		char cause[200];
		snprintf(cause, sizeof(cause), "%.190s", n->gave_up[0] ? n->gave_up : "no RE wants it where it serves");
		if (phx_order_by_itself(a, PHX_EV_release, n, "", "", cause, &why) < 0)
			give_up(a, n, PHX_POOL_FREE, why.text);
	}
}

/* What the ledger would do with one more free node, tried on a copy. */
static bool would_take(const struct phx_state *s, int number)
{
	struct phx_ledger_image image = { 0 };
	struct phx_ledger *l = NULL;
	struct phx_list todo = { 0 };
	bool takes = false;
	int r = phx_ledger_save(s->ledger, &image);
	r = r ? r : phx_ledger_restore(&image, &l);
	r = r ? r : phx_ledger_found(l, 1, s->now_ms, &todo);
	if (r == 0)
		r = phx_ledger_pass(l, s->now_ms, &todo);
	PHX_LIST_EACH(struct phx_ledger_action, act, &todo)
		takes = takes || (act->kind == PHX_LEDGER_MOVE && act->to == number);
	phx_list_fini(&todo);
	phx_ledger_free(l);
	phx_record_fini(&phx_ledger_image_record, &image);
	return takes || r < 0;
}

const struct phx_re *phx_share_full(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_re *re = phx_state_re(s, n->pool);
	if (!s->ledger || !re || !re->active || n->share != PHX_SHARE_OUTSIDE || n->pinned ||
	    strcmp(n->role, re->agreement.role))
		return NULL;
	return would_take(s, (int)re->number) ? NULL : re;
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
	uint32_t held = 0, coming = 0, away = 0;
	phx_ledger_counts(s->ledger, (int)re->number, &c);
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
	{
		bool its = !strcmp(n->share_re, re->name);
		held += n->share == PHX_SHARE_HELD && its;
		coming += n->share == PHX_SHARE_COMING && its;
		away += n->share == PHX_SHARE_AWAY && its;
	}
	if (held != c.idle + c.busy || coming != c.coming || away != c.away)
		return phx_err_set(err, -EPROTO,
				   "RE %s holds %u nodes, %u are coming and %u away, the ledger says %u, %u and %u",
				   re->name, held, coming, away, c.idle + c.busy, c.coming, c.away);
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
