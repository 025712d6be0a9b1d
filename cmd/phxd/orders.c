/* What an agent is told with the answer to its beat: orders of the core, questions of people, the
 * journal's last anchor. Called by live.c, through a callback: it holds the beats and does not know
 * what is in an answer. Reads only. */
#include "phxd/daemon.h"
#include "phxd/metrics.h"

#include "node/protect.h"
#include "phxd/accounts.h"
#include "phxd/beat.h"
#include "phxd/orders.h"
#include "phxd/site.h"

static bool is_same(const struct beat_running *r, const struct phx_order *o)
{
	return (int)r->kind == o->kind && (uint64_t)r->id == o->id &&
		(o->kind != PHX_ORDER_job || r->run == (int64_t)o->run);
}

/* A kill concerns what runs, which is reported as a job: so it is always sent. */
static bool is_running(const struct phx_list *running, const struct phx_order *o)
{
	PHX_LIST_EACH(struct beat_running, r, running)
		if (is_same(r, o))
			return true;
	return false;
}

/* Is the order new for the agent? One that does not say which role it has started ahead, even none,
 * is older than this kind of order. */
static bool goes_out(const struct phx_list *running, const struct phx_order *o)
{
	return !is_running(running, o) &&
		(o->kind != PHX_ORDER_ahead || beat_running_of(running, PHX_ORDER_ahead));
}

/* The RE that the node is in, or that its hand-over leads to; "": none. */
static void find_re(const struct phx_state *s, const char *node, bool *ret_moves,
		    char ret[PHX_NAME_MAX])
{
	const struct phx_node *n = phx_state_node(s, node);
	*ret_moves = n && phx_node_step(n);
	const char *pool = !n ? "" : *ret_moves ? n->plan.to_pool : n->pool;
	const struct phx_re *re = phx_state_re(s, pool);
	phx_str_copy(ret, PHX_NAME_MAX, re && re->state != PHX_RE_STATE_NONE ? pool : "");
}

/* An agent that does not know of protected disks would refuse the order. */
static void find_protected(const struct phx_state *s, const char *node, struct order_beside *ret)
{
	const struct phx_node *n = phx_state_node(s, node);
	ret->protects = n && n->protects && phx_protect_of(s, n, &ret->protect);
}

/* Has this hand-over erased all disks of the layout? */
static bool has_erased(const struct phx_plan *p)
{
	PHX_LIST_EACH(struct phx_layout_part, part, &p->layout.parts) {
		bool erased = false;
		PHX_LIST_EACH(struct phx_step, s, &p->steps)
			erased = erased ||
				(s->kind == PHX_STEP_wipe && s->status == PHX_STEP_DONE &&
				 !strcmp(s->disk, part->disk));
		if (!erased)
			return false;
	}
	return true;
}

/* The same of layouts. */
static void find_layout(const struct phx_state *s, const char *node, struct order_beside *ret)
{
	const struct phx_node *n = phx_state_node(s, node);
	const struct phx_step *step = n ? phx_node_step(n) : NULL;
	ret->layouts = n && n->layouts;
	if (!ret->layouts || !step || step->kind != PHX_STEP_layout)
		return;
	ret->keeps_layout = n->plan.keeps_layout;
	ret->layout_erased = has_erased(&n->plan);
	if (phx_record_copy(&phx_layout_record, &ret->layout, &n->plan.layout) < 0)
		ret->layout = (struct phx_layout){0}; /* it is told at its next beat */
}

/* Nor of addresses beside the first one. */
static void forget_more(struct phx_list *orders)
{
	PHX_LIST_EACH(struct phx_order, o, orders)
		o->role.web.more[0] = '\0';
}

static void forget_layout(struct phx_list *orders)
{
	PHX_LIST_EACH(struct phx_order, o, orders) {
		PHX_LIST_EACH(struct phx_layout_volume, v, &o->role.layout)
			phx_record_fini(&phx_layout_volume_record, v);
		phx_list_fini(&o->role.layout);
	}
}

/* Nor does one that does not know of kernels of images. */
static void find_kernel(const struct phx_state *s, const char *node, struct order_beside *ret)
{
	const struct phx_node *n = phx_state_node(s, node);
	ret->kernels = n && n->kernels;
	if (ret->kernels)
		phx_kernel_of(s, n, &ret->kernel);
}

static void forget_kernel(struct phx_list *orders)
{
	PHX_LIST_EACH(struct phx_order, o, orders)
		o->role.image_kernel[0] = o->role.kernel_args[0] = '\0';
}

void orders_put(struct daemon *d, const char *node, const char *key_fp,
		const struct phx_list *running, struct phx_buf *b)
{
	struct phx_list orders = {0};
	char re[PHX_NAME_MAX], address[64];
	struct order_beside beside = {0};
	struct site_facts facts;
	bool moves, knows = accounts_are_known(running);
	const struct phx_state *s = engine_lock(d->engine);
	bool holds = phx_core_key_holds(s, node, key_fp);
	if (holds)
		phx_core_orders(s, node, &orders);
	find_re(s, node, &moves, re);
	find_protected(s, node, &beside);
	if (holds)
		find_layout(s, node, &beside);
	find_kernel(s, node, &beside);
	if (!beside.layouts)
		forget_layout(&orders);
	if (!beside.kernels)
		forget_kernel(&orders);
	const struct phx_node *n = phx_state_node(s, node);
	beside.shares = n && n->shares;
	if (!beside.shares)
		forget_more(&orders);
	bool sited = holds && site_facts_of(s, n, &facts);
	PHX_STR_SET(address, n ? n->address : "");
	engine_unlock(d->engine);
	if (!holds)
		return; /* the beat is older than the node's present key */
	/* before the step activate: the services of a role find their files */
	if (sited) {
		site_orders_put(d->site, &facts, running, b);
		site_facts_fini(&facts);
	}
	/* before a job of these accounts. During a hand-over the node is in no RE */
	if (!moves)
		accounts_orders_put(d->accounts, re, running, b);
	beside.re = knows ? re : NULL;
	site_head(d, address, beside.head);
	PHX_LIST_EACH(struct phx_order, o, &orders) {
		if (goes_out(running, o)) {
			view_order_put(d, node, o, &beside, b);
			metrics_order(d->metrics, o->kind);
		}
		phx_record_fini(&phx_order_record, o);
	}
	phx_list_fini(&orders);
	phx_record_fini(&phx_layout_record, &beside.layout);
	tasks_orders_put(d->tasks, node, running, b);
	asks_orders_put(d->asks, node, b);
	anchors_orders_put(d->anchors, running, b);
	keys_orders_put(d->keys, running, b);
}
