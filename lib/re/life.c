/* The life of REs after their request: activated, suspended, deactivated, destroyed
 * (types/re_life.def says from which state and by whom); create.c creates them. An RE's pool has
 * the RE's name; the ledger counts its nodes. Called by the table of events. Pure. */
#include "re/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void phx_re_become(struct phx_apply *a, struct phx_re *re, enum phx_re_state state)
{
	re->state = (int)state;
	re->changed_ms = a->s->now_ms;
	a->out->changed = true;
	phx_named_changed(a->s);
	phx_touch_re(a->s, re->name);
}

/* 000 4.3 step 5: the partner is found by name, or is the first RE that allows sharing. */
static void tell_pair(struct phx_apply *a, const struct phx_re *re)
{
	const struct phx_re *other = phx_re_partner(a->s, re);
	if (!other)
		return;
	bool named = re->agreement.partner[0] || other->agreement.partner[0];
	phx_note_re(a, NULL, re->name, other->name, "RE %s shares its nodes with %s, %u together%s",
		    re->name, other->name, re->agreement.lower + other->agreement.lower,
		    named ? "" : ": no partner was named, and both allow it");
}

static int activate(struct phx_apply *a, struct phx_re *re)
{
	int number;
	if (re->active)
		return phx_err_set(a->err, -EBUSY, "RE '%s' still gives back its nodes", re->name);
	int r = phx_ledger_activate(a->s->ledger, &re->agreement, a->s->now_ms, &number, a->todo,
				    a->err);
	if (r < 0)
		return r;
	re->active = true;
	re->number = (uint32_t)number;
	re->leaving = false;
	phx_named_changed(a->s);
	phx_away_activated(a, re);
	phx_engine_begin(re);
	tell_pair(a, re);
	phx_jobs_go_on(a, re);
	phx_triggers_go_on(a, re);
	return 0;
}

static int suspend(struct phx_apply *a, struct phx_re *re)
{
	int r = phx_ledger_suspend(a->s->ledger, (int)re->number, true);
	if (r < 0)
		return r;
	re->leaving = a->ev->kind == PHX_EV_re_safe_deactivate;
	phx_engine_suspended(re);
	return 0;
}

static int resume(struct phx_apply *a, struct phx_re *re)
{
	int r = phx_ledger_suspend(a->s->ledger, (int)re->number, false);
	if (r < 0)
		return r;
	re->leaving = false;
	phx_triggers_go_on(a, re);
	return 0;
}

static int deactivate(struct phx_apply *a, struct phx_re *re)
{
	int r = a->ev->kind == PHX_EV_re_deactivate ? phx_order_jobs_allow_re(a, re) : 0;
	r = r ? r : phx_ledger_deactivate(a->s->ledger, (int)re->number, a->s->now_ms, a->todo);
	if (r < 0)
		return r;
	phx_jobs_end_of_re(a, re, a->tells);
	phx_away_deactivated(a, re);
	re->leaving = false;
	return 0;
}

static void forget(struct phx_apply *a, struct phx_re *re)
{
	phx_named_changed(a->s);
	phx_touch_re(a->s, re->name);
	phx_record_fini(&phx_re_record, re);
	phx_list_remove(&a->s->res, sizeof(*re),
			(uint32_t)(re - PHX_LIST_AT(&a->s->res, struct phx_re, 0)));
}

/* Removes the pool. Free nodes whose data the agreement leaves unerased keep their tenant, but not
 * the pool: a later pool of the same name is another one. */
static void forget_pool(struct phx_apply *a, const char *name)
{
	phx_named_changed(a->s);
	PHX_NODES_EACH(n, a->s)
		if (!strcmp(n->tenant_pool, name))
			n->tenant_pool[0] = '\0';
	struct phx_pool *p = phx_state_pool(a->s, name);
	if (p)
		phx_list_remove(&a->s->pools, sizeof(*p),
				(uint32_t)(p - PHX_LIST_AT(&a->s->pools, struct phx_pool, 0)));
}

/* The RE gave the node up and the node is not heard: it is released when it is heard again, whether
 * the RE still exists or not. */
static bool is_gone(const struct phx_node *n, const char *pool)
{
	return n->gave_up && !n->up && n->state == PHX_NODE_ACTIVE && !phx_node_step(n) &&
		!strcmp(n->pool, pool);
}

/* The first node that keeps the RE from being destroyed; NULL: none. */
static const struct phx_node *in_the_way(const struct phx_state *s, const char *pool)
{
	PHX_NODES_EACH(n, s)
		if (phx_node_is_of(n, pool) && !is_gone(n, pool))
			return n;
	return NULL;
}

static int refuse_destroy(struct phx_apply *a, const struct phx_re *re, const struct phx_node *n)
{
	const struct phx_step *step = n ? phx_node_step(n) : NULL;
	char what[160] = "";
	if (step)
		snprintf(what, sizeof(what), ": %.60s, at step %s (%u of %u)", n->name,
			 phx_enum_name(&phx_step_kind_names, step->kind), n->plan.cursor + 1,
			 n->plan.steps.n);
	else if (n)
		snprintf(what, sizeof(what), ": %.60s, which is %s: phx node release %.60s",
			 n->name,
			 n->pinned ? "pinned" : phx_enum_name(&phx_node_state_names, n->state),
			 n->name);
	/* -EBUSY means "try again", which does not help where a person has to act */
	return phx_err_set(a->err, n && !step ? -EINVAL : -EBUSY,
			   "RE '%s' still gives back its nodes%s", re->name, what);
}

static int destroy(struct phx_apply *a, struct phx_re *re)
{
	const struct phx_node *n = in_the_way(a->s, re->name);
	if (re->active || n)
		return refuse_destroy(a, re, n);
	if (re->attached)
		return phx_err_set(a->err, -EBUSY, "RE '%s' still tells %s to take jobs again",
				   re->name,
				   phx_enum_name(&phx_re_engine_names, re->agreement.engine));
	PHX_NODES_EACH(gone, a->s)
		if (is_gone(gone, re->name))
			phx_away_detach(a, gone);
	phx_jobs_forsake(a, re);
	phx_flowruns_end_of_re(a, re);
	phx_triggers_end_of_re(a, re);
	forget_pool(a, re->name);
	phx_note_re(a, NULL, re->name, NULL, "RE %s is destroyed", re->name);
	forget(a, re);
	return 0;
}

static int refuse(struct phx_apply *a, struct phx_re *re)
{
	phx_note_re(a, NULL, re->name, NULL, "the request for RE %s is refused%s%s", re->name,
		    a->ev->text[0] ? ": " : "", a->ev->text);
	phx_refusal_keep(a, re);
	forget(a, re);
	return 0;
}

static int withdraw(struct phx_apply *a, struct phx_re *re)
{
	phx_note_re(a, NULL, re->name, NULL, "the request for RE %s is withdrawn", re->name);
	forget(a, re);
	return 0;
}

static const struct {
	enum phx_event_kind kind;
	enum phx_re_op op;
	int (*act)(struct phx_apply *a, struct phx_re *re);
} operations[] = {
	{PHX_EV_re_activate, PHX_RE_OP_activate, activate},
	{PHX_EV_re_suspend, PHX_RE_OP_suspend, suspend},
	{PHX_EV_re_resume, PHX_RE_OP_resume, resume},
	{PHX_EV_re_deactivate, PHX_RE_OP_deactivate, deactivate},
	{PHX_EV_re_safe_deactivate, PHX_RE_OP_safe_deactivate, suspend},
	{PHX_EV_re_destroy, PHX_RE_OP_destroy, destroy},
	{PHX_EV_re_refuse, PHX_RE_OP_refuse, refuse},
	{PHX_EV_re_withdraw, PHX_RE_OP_withdraw, withdraw},
};

static int operate(struct phx_apply *a, enum phx_re_who who, struct phx_re *re, size_t i)
{
	enum phx_re_state state;
	struct phx_err why = {0};
	int r = phx_re_life_apply((enum phx_re_state)re->state, operations[i].op, who, &state,
				  &why);
	if (r == -EINVAL && re->state == PHX_RE_STATE_NONE)
		return phx_err_set(
			a->err, r,
			"RE '%s' is only asked for: the resource provider has not created it",
			re->name);
	if (r < 0)
		return phx_err_set(a->err, r, "RE '%s': %s", re->name, why.text);
	r = operations[i].act(a, re);
	if (r < 0)
		return r;
	a->out->changed = true;
	if (state == PHX_RE_STATE_DESTROYED)
		return 0;
	phx_re_become(a, re, state);
	phx_note_re(a, NULL, re->name, NULL, "RE %s is %s", re->name,
		    phx_enum_name(&phx_re_state_names, re->state));
	return 0;
}

static int need_re(struct phx_apply *a, struct phx_re **ret)
{
	*ret = phx_state_re(a->s, a->ev->re);
	return *ret ? 0 : phx_err_set(a->err, -ENOENT, "there is no RE '%s'", a->ev->re);
}

int phx_apply_re_operate(struct phx_apply *a, const struct phx_event_re_order *p)
{
	struct phx_re *re;
	int r = need_re(a, &re);
	if (r < 0)
		return r;
	a->jobs = (enum phx_jobs_say)p->jobs;
	a->may_end = &p->may_end;
	a->tells = p->tells;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(operations); i++)
		if ((int)operations[i].kind == a->ev->kind)
			return operate(a, (enum phx_re_who)p->who, re, i);
	return -EINVAL;
}

int phx_apply_re_use(struct phx_apply *a, const struct phx_event_re_use *p)
{
	struct phx_re *re;
	int r = need_re(a, &re);
	if (r < 0)
		return r;
	bool serves = re->state == PHX_RE_STATE_RUNNING || re->state == PHX_RE_STATE_SUSPENDED;
	if (!phx_re_kind(&re->agreement)->has_demand || !serves)
		return phx_err_set(a->err, -EINVAL, "RE '%s' is no web RE that serves", re->name);
	if (p->use_ppm > 1000000)
		return phx_err_set(a->err, -EINVAL, "use_ppm: must be at most 1000000");
	r = phx_ledger_sample(a->s->ledger, (int)re->number, p->use_ppm, a->s->now_ms);
	a->out->changed = r == 0;
	return r;
}

/* ---- what ends by itself ---- */

static bool holds_nothing(const struct phx_state *s, const struct phx_re *re)
{
	struct phx_ledger_counts c;
	phx_ledger_counts(s->ledger, (int)re->number, &c);
	return !c.idle && !c.busy && !c.coming && !c.away;
}

static bool has_jobs(const struct phx_state *s, const struct phx_re *re)
{
	struct phx_ledger_counts c;
	phx_ledger_counts(s->ledger, (int)re->number, &c);
	return c.batch.n_waiting || c.batch.n_running || c.batch.n_held || c.batch.n_blocked ||
		c.batch.killing || phx_flowruns_open(s, re);
}

static struct phx_re *next_ending(const struct phx_state *s, const struct phx_re *re)
{
	return phx_state_re_ending(s, (uint32_t)(re - PHX_LIST_AT(&s->res, struct phx_re, 0)) + 1);
}

/* Only REs that is_ending() of state/named.c names are visited: a new reason to act on an RE here
 * belongs there, too. */
bool phx_res_drained(struct phx_apply *a)
{
	bool ended = false;
	for (struct phx_re *re = phx_state_re_ending(a->s, 0); re; re = next_ending(a->s, re)) {
		enum phx_re_state state;
		if (re->active && re->state == PHX_RE_STATE_DEACTIVATED &&
		    holds_nothing(a->s, re)) {
			re->active = false;
			phx_named_changed(a->s);
			phx_touch_re(a->s, re->name);
		}
		phx_engine_end(a, re);
		if (!re->leaving || has_jobs(a->s, re) ||
		    phx_re_life_apply((enum phx_re_state)re->state, PHX_RE_OP_drained,
				      PHX_RE_WHO_PHXD, &state, a->err) < 0)
			continue;
		deactivate(a, re);
		phx_re_become(a, re, state);
		phx_note_re(a, NULL, re->name, NULL, "RE %s is %s: its last job has ended",
			    re->name, phx_enum_name(&phx_re_state_names, re->state));
		ended = true;
	}
	return ended;
}
