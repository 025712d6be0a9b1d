/* Chooses the nodes that go from one pool to another; the ledger says how many. A node that cannot
 * be handed over to an RE (because of its disks, its BMC or the role) stays where it is and is
 * marked: no plan for that RE is tried again until there is news of the node or of an RE. The
 * ledger is told how many nodes are marked, so that it counts them for all REs but that one. Called
 * by allocation.c. Pure. */
#include "re/internal.h"

#include <stdio.h>
#include <string.h>

/* ---- marks ---- */

static struct phx_unfit *mark_of(const struct phx_node *n, const struct phx_re *to)
{
	PHX_LIST_EACH(struct phx_unfit, u, &n->unfit_for)
		if (!strcmp(u->re, to->name))
			return u;
	return NULL;
}

struct reason {
	char text[sizeof(((struct phx_node *)0)->reason)];
};

static struct reason reason_of(const struct phx_unfit *u)
{
	struct reason r;
	snprintf(r.text, sizeof(r.text), "cannot go to %.64s: %s", u->re, u->why);
	return r;
}

static void pass_over(struct phx_apply *a, struct phx_node *n, const struct phx_re *to,
		      const char *why)
{
	struct phx_unfit *u = phx_grow(a, &n->unfit_for, sizeof(*u));
	phx_touch(a->s, n);
	a->out->changed = true;
	if (!u)
		return;
	PHX_STR_SET(u->re, to->name);
	snprintf(u->why, sizeof(u->why), "%s", why);
	struct reason r = reason_of(u);
	if (n->state == PHX_NODE_QUARANTINED) /* the node leaves the ledger in this event */
		return;
	if (!n->reason[0])
		PHX_STR_SET(n->reason, r.text);
	phx_note_re(a, n, to->name, NULL, "%s is passed over: %s", n->name, r.text);
}

void phx_choose_again(struct phx_apply *a, struct phx_node *n)
{
	if (!n->unfit_for.n)
		return;
	PHX_LIST_EACH(struct phx_unfit, u, &n->unfit_for)
		if (!strcmp(n->reason, reason_of(u).text))
			n->reason[0] = '\0';
	phx_list_fini(&n->unfit_for);
	a->out->changed = true;
	phx_touch(a->s, n);
}

/* ---- marks, for the ledger ---- */

static void count(struct phx_apply *a, struct phx_list *barred, const struct phx_node *n,
		  const struct phx_unfit *u)
{
	const struct phx_state *s = a->s;
	int from = n->allocation == PHX_ALLOCATION_FREE ? PHX_LEDGER_FREE
							: phx_holding_number(s, n->allocated_to);
	int to = phx_holding_number(s, u->re);
	struct phx_ledger_barred *b = NULL;
	if (to == PHX_LEDGER_FREE || from == to)
		return;
	PHX_LIST_EACH(struct phx_ledger_barred, other, barred)
		b = other->from == from && other->to == to ? other : b;
	if (!b && (b = phx_grow(a, barred, sizeof(*b))))
		*b = (struct phx_ledger_barred){.from = from, .to = to};
	if (!b)
		return;
	b->nodes++;
	b->idle += !n->allocated_job;
}

void phx_choose_tell(struct phx_apply *a)
{
	PHX_AUTO(phx_list_fini) struct phx_list barred = {0};
	struct phx_node *n;
	for (uint32_t at = 0; (n = phx_index_next(a->s, PHX_SET_UNFIT, at));
	     at = phx_index_place(a->s, n) + 1) {
		if (n->allocation != PHX_ALLOCATION_FREE && n->allocation != PHX_ALLOCATION_HELD)
			continue;
		PHX_LIST_EACH(struct phx_unfit, u, &n->unfit_for)
			count(a, &barred, n, u);
	}
	phx_ledger_barred(a->s->ledger, &barred, a->s->now_ms, a->todo);
}

/* ---- choosing ---- */

/* The rank of a node; the lowest comes first. Nodes that are in the pool already, and nodes without
 * a reason, come early; nodes on which an external engine has just begun a job, and pinned nodes,
 * come last. */
static int rank(const struct phx_node *n, const char *to_pool)
{
	return (n->pinned ? 8 : 0) + (n->jobs_running ? 4 : 0) +
		(strcmp(n->pool, to_pool) ? 2 : 0) + (n->reason[0] ? 1 : 0);
}

/* the rank of nearly all nodes: they are in another pool and have no reason */
enum { PLAIN = 2 };

struct candidate {
	int rank;
	uint32_t place;
};

struct choice {
	struct phx_apply *a;
	const struct phx_re *from, *to;
	uint32_t wanted;
	struct phx_list *chosen; /* uint32_t */
};

/* Can the node be handed over? Its facts, its BMC and the role decide, so a plan is tried. */
static bool fits(const struct choice *c, const struct phx_node *n, struct phx_err *why)
{
	struct phx_node_order o = phx_order_own(PHX_EV_assign, n, "");
	struct phx_plan plan;
	if (!c->to || phx_of_before(c->a->s))
		return true;
	++*phx_index_visits(c->a->s);
	o.role = c->to->agreement.role;
	o.pool = c->to->name;
	if (phx_stick(c->a, phx_order_plan(c->a->s, &o, &plan, why)) < 0)
		return false;
	phx_record_fini(&phx_plan_record, &plan);
	return true;
}

static void try(struct choice *c, uint32_t place)
{
	struct phx_node *n = PHX_LIST_AT(&c->a->s->nodes, struct phx_node, place);
	struct phx_err why = {0};
	if (c->chosen->n == c->wanted || (c->to && mark_of(n, c->to)))
		return;
	if (!fits(c, n, &why)) {
		pass_over(c->a, n, c->to, why.text);
		return;
	}
	uint32_t *slot = phx_grow(c->a, c->chosen, sizeof(*slot));
	if (slot)
		*slot = place;
}

static int compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static void try_all(struct choice *c, struct phx_list *candidates)
{
	if (candidates->n)
		qsort(candidates->items, candidates->n, sizeof(struct candidate), compare);
	PHX_LIST_EACH(struct candidate, it, candidates)
		try(c, it->place);
	candidates->n = 0;
}

static void put_off(struct phx_apply *a, struct phx_list *candidates, int r, uint32_t place)
{
	struct candidate *it = phx_grow(a, candidates, sizeof(*it));
	if (it)
		*it = (struct candidate){r, place};
}

/* The first node at or after place `at` that may go. */
static struct phx_node *next_to_go(const struct choice *c, uint32_t at)
{
	struct phx_state *s = c->a->s;
	return c->from ? phx_index_next_idle(s, c->from->name, at)
		       : phx_index_next(s, PHX_SET_FREE, at);
}

/* Tries nodes that are counted in one pool and are in another: they are few, and some are in the
 * new pool already. */
static void try_odd(struct choice *c, const char *to_pool, struct phx_list *candidates)
{
	struct phx_state *s = c->a->s;
	struct phx_node *n;
	for (uint32_t at = 0; (n = phx_index_next(s, PHX_SET_ODD, at));
	     at = phx_index_place(s, n) + 1) {
		bool there = c->from ? n->allocation == PHX_ALLOCATION_HELD &&
				!strcmp(n->allocated_to, c->from->name)
				     : n->allocation == PHX_ALLOCATION_FREE;
		if (there && rank(n, to_pool) < PLAIN)
			put_off(c->a, candidates, rank(n, to_pool), phx_index_place(s, n));
	}
	try_all(c, candidates);
}

/* Chooses by rank, and by place within a rank. Plain nodes are tried as they come, so that no more
 * of them are looked at than needed. */
void phx_choose(struct phx_apply *a, const struct phx_re *from, const struct phx_re *to, uint32_t n,
		struct phx_list *ret_places)
{
	struct choice c = {a, from, to, n, ret_places};
	PHX_AUTO(phx_list_fini) struct phx_list later = {0};
	const char *to_pool = to ? to->name : PHX_POOL_FREE;
	const struct phx_node *it;
	try_odd(&c, to_pool, &later);
	for (uint32_t at = 0; ret_places->n < n && (it = next_to_go(&c, at)); at++) {
		at = phx_index_place(a->s, it);
		int r = rank(it, to_pool);
		if (r == PLAIN)
			try(&c, at);
		else if (r > PLAIN)
			put_off(a, &later, r, at);
	}
	try_all(&c, &later);
}
