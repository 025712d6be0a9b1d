/* Holdings: how the ledger counts a node, and how a node leaves it. A node that is silent or
 * restarts stays with its RE, with its role and data, for as long as the agreement says
 * (replace_after). Then the RE gives it up and gets another one. If the node comes back later, it
 * is cleaned as that agreement wants, before another RE gets it:
 *
 *          silent, off, started again            replace_after
 *   held ───────────────────────────────▶ away ───────────────▶ outside, given up
 *    ▲                                     │                          │ heard
 *    └──── serves its role, in good health ┘       RE takes it back, or it is released
 *
 * Called by handlers that change a node, and by re/allocation.c. Of what lies outside the node, it
 * changes only the ledger. Pure. */
#include "node/internal.h"

#include <stdio.h>
#include <string.h>

/* A span of time for people to read: "5 min 3 s", in its two largest units. */
struct span {
	char text[32];
};

static struct span span_of(int64_t ms)
{
	static const struct {
		const char *name;
		int64_t s;
	} units[] = {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};
	struct span ret = {"0 s"};
	int64_t s = ms / 1000;
	size_t i = 0;
	while (i < PHX_ARRAY_SIZE(units) - 1 && s < units[i].s)
		i++;
	int n = snprintf(ret.text, sizeof(ret.text), "%lld %s", (long long)(s / units[i].s),
			 units[i].name);
	s %= units[i].s;
	if (n > 0 && i + 1 < PHX_ARRAY_SIZE(units) && s >= units[i + 1].s)
		snprintf(ret.text + n, sizeof(ret.text) - (size_t)n, " %lld %s",
			 (long long)(s / units[i + 1].s), units[i + 1].name);
	return ret;
}

/* The RE that counts the node, if the RE is running or suspended; else NULL. */
static const struct phx_re *re_of(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_re *re = n->allocated_to[0] ? phx_state_re(s, n->allocated_to) : NULL;
	bool lives = re && re->active &&
		(re->state == PHX_RE_STATE_RUNNING || re->state == PHX_RE_STATE_SUSPENDED);
	return lives ? re : NULL;
}

static int64_t patience_ms(const struct phx_re *re)
{
	return (int64_t)re->agreement.replace_after_s * 1000;
}

bool phx_away_may(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_re *re = re_of(s, n);
	if (!re || !patience_ms(re) || n->pinned || strcmp(n->pool, re->name) ||
	    strcmp(n->role, re->agreement.role))
		return false;
	if (!phx_node_step(n))
		return n->state == PHX_NODE_ACTIVE;
	/* a plan that brings the node back to where it was */
	return !strcmp(n->plan.to_pool, re->name) && !strcmp(n->plan.to_role, n->role);
}

/* ---- lost to the ledger ---- */

int phx_holding_number(const struct phx_state *s, const char *name)
{
	const struct phx_re *re = name[0] ? phx_state_re(s, name) : NULL;
	return re && re->active ? (int)re->number : PHX_LEDGER_FREE;
}

static void set_outside(struct phx_apply *a, struct phx_node *n)
{
	phx_touch(a->s, n);
	n->allocation = PHX_ALLOCATION_OUTSIDE;
	n->allocated_to[0] = n->allocated_from[0] = '\0';
	n->allocated_job = 0;
	n->away_since_ms = n->away_until_ms = 0;
}

void phx_holding_lose(struct phx_apply *a, struct phx_node *n)
{
	int number = phx_holding_number(a->s, n->allocated_to);
	const struct phx_re *re =
		number == PHX_LEDGER_FREE || n->allocation == PHX_ALLOCATION_COMING
		? NULL
		: phx_state_re(a->s, n->allocated_to);
	enum phx_ledger_place place = n->allocation == PHX_ALLOCATION_COMING ? PHX_LEDGER_COMING
		: n->allocation == PHX_ALLOCATION_AWAY                       ? PHX_LEDGER_AWAY
									     : PHX_LEDGER_THERE;
	if (n->allocated_job)
		phx_ledger_lost_busy(a->s->ledger, number, n->allocated_job, 1, a->s->now_ms,
				     a->todo);
	else
		phx_ledger_lost(a->s->ledger, number, 1, place, a->s->now_ms, a->todo);
	set_outside(a, n);
	a->out->changed = true;
	if (re && re->state == PHX_RE_STATE_DEACTIVATED && !phx_node_step(n))
		phx_away_give_up(a, n, re);
}

void phx_holding_leave(struct phx_apply *a, struct phx_node *n)
{
	if (n->allocation != PHX_ALLOCATION_OUTSIDE)
		phx_holding_lose(a, n);
}

void phx_holding_job_lost(struct phx_apply *a, struct phx_node *n)
{
	if (n->allocation == PHX_ALLOCATION_HELD && phx_away_may(a->s, n))
		phx_away_begin(a, n);
	else if (n->allocation != PHX_ALLOCATION_AWAY)
		phx_holding_leave(a, n);
}

/* ---- given up ---- */

/* Says why the RE gave the node up, which waits for its nodes for `patience_ms`. */
static void say_why(struct phx_apply *a, struct phx_node *n, int64_t patience_ms)
{
	struct span since = span_of(a->s->now_ms - n->away_since_ms), most = span_of(patience_ms);
	const char *sick = phx_text(n->health_text);
	char why[200];
	if (!n->up)
		snprintf(why, sizeof(why),
			 "RE %.63s gave it up: silent for %s%s, replace_after is %s",
			 n->allocated_to, since.text,
			 n->power == PHX_POWER_IS_OFF ? ", it is off" : "", most.text);
	else
		snprintf(why, sizeof(why),
			 "RE %.63s gave it up: not in service again for %s%s%.60s, "
			 "replace_after is %s",
			 n->allocated_to, since.text, sick[0] ? ": " : "", sick, most.text);
	phx_put_text(a, &n->gave_up, "%s", why);
}

static void replace(struct phx_apply *a, struct phx_node *n, const struct phx_re *re)
{
	say_why(a, n, patience_ms(re));
	phx_note_re(a, n, re->name, NULL, "%s is replaced: %s", n->name, phx_text(n->gave_up));
	phx_holding_lose(a, n);
}

void phx_away_give_up(struct phx_apply *a, struct phx_node *n, const struct phx_re *re)
{
	if (phx_of_before(a->s) || n->pinned || n->gave_up || strcmp(n->pool, re->name) ||
	    (n->state != PHX_NODE_ACTIVE && n->state != PHX_NODE_MAINTENANCE))
		return;
	phx_put_text(a, &n->gave_up, "RE %.63s was deactivated while it was %s", re->name,
		     n->state == PHX_NODE_MAINTENANCE ? "in maintenance"
			     : n->up                  ? "not counted on"
						      : "away");
	phx_touch(a->s, n);
	phx_note_re(a, n, re->name, NULL, "%s is released when it %s: %s", n->name,
		    n->state == PHX_NODE_MAINTENANCE ? "is resumed" : "is heard",
		    phx_text(n->gave_up));
}

void phx_away_deactivated(struct phx_apply *a, const struct phx_re *re)
{
	PHX_INDEX_EACH_OF_RE(n, a->s, re->name) {
		if (n->allocation == PHX_ALLOCATION_AWAY && !strcmp(n->allocated_to, re->name))
			phx_holding_lose(a, n);
		if (n->allocation == PHX_ALLOCATION_OUTSIDE && !phx_node_step(n))
			phx_away_give_up(a, n, re);
	}
}

void phx_away_activated(struct phx_apply *a, const struct phx_re *re)
{
	PHX_INDEX_EACH_OF_RE(n, a->s, re->name)
		if (!strcmp(n->pool, re->name))
			phx_text_clear(&n->gave_up);
}

void phx_away_end(struct phx_apply *a, struct phx_node *n)
{
	const struct phx_re *re =
		n->allocation == PHX_ALLOCATION_OUTSIDE ? phx_state_re(a->s, n->pool) : NULL;
	/* a plan that was made after the deactivation brings the node into that pool on purpose */
	if (re && re->state == PHX_RE_STATE_DEACTIVATED && re->changed_ms >= n->plan.started_ms)
		phx_away_give_up(a, n, re);
}

void phx_away_settle(const struct phx_state *s, struct phx_node *n)
{
	/* a node that did not leave the pool still has to be released */
	if (strcmp(n->plan.to_pool, n->plan.from_pool) || !phx_pool_is_deserted(s, n->pool))
		phx_text_clear(&n->gave_up);
}

void phx_maintain(struct phx_apply *a, struct phx_node *n, const char *why)
{
	phx_node_must_become(a, n, PHX_NODE_MAINTENANCE);
	PHX_STR_SET(n->reason, why);
	n->maintained_until_ms = 0;
	phx_touch(a->s, n);
	phx_note(a, n, "%s is in maintenance: %s", n->name, n->reason);
}

void phx_away_detach(struct phx_apply *a, struct phx_node *n)
{
	n->pool[0] = '\0';
	char why[sizeof(n->reason)];
	snprintf(why, sizeof(why), "it is released when it is heard: %.200s", phx_text(n->gave_up));
	phx_maintain(a, n, why);
}

/* ---- away ---- */

void phx_away_begin(struct phx_apply *a, struct phx_node *n)
{
	const struct phx_re *re = re_of(a->s, n);
	int64_t now = a->s->now_ms;
	n->away_since_ms = n->up || !n->missing_since_ms ? now : n->missing_since_ms;
	n->away_until_ms = phx_node_step(n) ? 0 : n->away_since_ms + patience_ms(re);
	phx_touch(a->s, n);
	a->out->changed = true;
	if (n->away_until_ms && n->away_until_ms <= now) {
		/* its job kept it in the RE until now, and the time is over already */
		replace(a, n, re);
		return;
	}
	phx_ledger_away(a->s->ledger, (int)re->number, n->allocated_job, 1, now, a->todo);
	n->allocation = PHX_ALLOCATION_AWAY;
	n->allocated_job = 0;
	phx_note_re(a, n, re->name, NULL, "%s of RE %s is away, with its role and its data: %s",
		    n->name, re->name,
		    phx_node_step(n) ? "it is set up again"
			    : n->up  ? "it starts again"
				     : "it is not heard");
}

static bool serves_again(const struct phx_node *n)
{
	return !phx_node_step(n) && n->up && n->env == PHX_ENV_OS && n->healthy &&
		!strcmp(n->actual_role, n->role);
}

static void come_back(struct phx_apply *a, struct phx_node *n, const struct phx_re *re)
{
	phx_note_re(a, n, re->name, NULL, "%s is back in RE %s after %s", n->name, re->name,
		    span_of(a->s->now_ms - n->away_since_ms).text);
	phx_ledger_back(a->s->ledger, (int)re->number, 1, a->s->now_ms, a->todo);
	n->allocation = PHX_ALLOCATION_HELD;
	n->away_since_ms = n->away_until_ms = 0;
	phx_touch(a->s, n);
	a->out->changed = true;
}

void phx_away_look(struct phx_apply *a, struct phx_node *n)
{
	const struct phx_re *re = re_of(a->s, n);
	if (!re || !phx_away_may(a->s, n)) {
		phx_holding_lose(a, n);
		return;
	}
	if (serves_again(n)) {
		come_back(a, n, re);
		return;
	}
	/* a plan ends by itself, well or badly: the time starts anew after it */
	int64_t until = phx_node_step(n) ? 0
		: n->away_until_ms       ? n->away_until_ms
					 : a->s->now_ms + patience_ms(re);
	a->out->changed = a->out->changed || until != n->away_until_ms;
	n->away_until_ms = until;
	phx_touch(a->s, n);
}

void phx_away_tick(struct phx_apply *a, struct phx_node *n)
{
	const struct phx_re *re = re_of(a->s, n);
	if (n->allocation != PHX_ALLOCATION_AWAY || !n->away_until_ms ||
	    n->away_until_ms > a->s->now_ms || !re)
		return;
	a->out->changed = true;
	replace(a, n, re);
}

/* ---- would the RE take the node back? ---- */

/* Would the ledger give one more free node to this RE? Tried on a copy. */
static bool would_take(struct phx_apply *a, int number)
{
	const struct phx_state *s = a->s;
	struct phx_ledger_image image = {0};
	struct phx_ledger *l = NULL;
	struct phx_list todo = {0};
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
	phx_stick(a, r);
	return takes || r < 0;
}

const struct phx_re *phx_holding_full(struct phx_apply *a, const struct phx_node *n)
{
	const struct phx_state *s = a->s;
	const struct phx_re *re = phx_state_re(s, n->pool);
	if (!s->ledger || !re || !re->active || n->allocation != PHX_ALLOCATION_OUTSIDE ||
	    n->pinned || strcmp(n->role, re->agreement.role))
		return NULL;
	return would_take(a, (int)re->number) ? NULL : re;
}
