/* Switches a node off: hard, again and again until its BMC says that it is off; or softly, by
 * having its system end:
 *
 *   asked ──▶ its BMC is asked after 5 s, 10, 20, ... ──▶ off
 *     │                                            └ soft_off_s are over ──▶ left on, and told of
 *     └ refused ──▶ left on, and told of
 *
 * A soft switch never becomes a hard one: a person orders that. phx_power_off() is called where a
 * node is given up, or where nobody may count on it. Pure. */
#include "node/internal.h"

#include <stdio.h>

enum {
	OFF_AGAIN_MS = 300 * 1000, /* a node that is still on is switched off again */
	SOFT_FIRST_MS = 5 * 1000,
	SOFT_ANSWER_MS = 120 * 1000, /* for the BMC to answer the last question */
};

void phx_power_off(struct phx_apply *a, struct phx_node *n)
{
	phx_act_power(a, n, PHX_POWER_OFF);
	phx_soft_over(a, n);
	n->off_wanted = true;
	n->off_again_ms = a->s->now_ms + OFF_AGAIN_MS;
}

void phx_soft_begin(struct phx_apply *a, struct phx_node *n)
{
	phx_act_power(a, n, PHX_POWER_SOFT);
	n->soft_since_ms = a->s->now_ms;
	n->soft_until_ms = a->s->now_ms + (int64_t)a->s->settings.soft_off_s * 1000;
	n->soft_again_ms = a->s->now_ms + SOFT_FIRST_MS;
}

static void end(struct phx_apply *a, struct phx_node *n)
{
	n->soft_since_ms = n->soft_until_ms = n->soft_again_ms = 0;
	n->soft_taken = false;
	phx_touch(a->s, n);
}

void phx_soft_over(struct phx_apply *a, struct phx_node *n)
{
	phx_text_clear(&n->soft_failed);
	end(a, n);
}

/* Nobody cuts its power now: whoever is to says so. */
static void fail(struct phx_apply *a, struct phx_node *n, const char *why)
{
	char said[200];
	end(a, n);
	phx_text_clear(&n->cut_by);
	a->out->changed = true;
	snprintf(said, sizeof(said), "%.120s; phx node power %s off --hard cuts its power", why,
		 n->name);
	phx_put_text(a, &n->soft_failed, "%s", said);
	phx_note(a, n, "%s is not off: %s", n->name, phx_text(n->soft_failed));
}

/* Why the node is not off although its time is over. `said`: what its BMC said at last, or "". */
static void fail_late(struct phx_apply *a, struct phx_node *n, const char *said)
{
	char why[160];
	snprintf(why, sizeof(why), "its system did not end within %lld s%s%.80s",
		 (long long)(n->soft_until_ms - n->soft_since_ms) / 1000, said[0] ? ": " : "",
		 said);
	fail(a, n, why);
}

void phx_soft_answer(struct phx_apply *a, struct phx_node *n, const struct phx_event_answer *p)
{
	n->soft_taken |= n->soft_until_ms && p->op == PHX_POWER_SOFT;
	if (p->power == PHX_POWER_IS_OFF && n->soft_until_ms)
		phx_note(a, n, "%s has switched itself off after %lld s", n->name,
			 (long long)(a->s->now_ms - n->soft_since_ms) / 1000);
	if (p->power == PHX_POWER_IS_OFF)
		phx_soft_over(a, n);
	else if (n->soft_until_ms && p->op == PHX_POWER_SOFT && p->result < 0)
		fail(a, n, a->ev->text);
	else if (n->soft_until_ms && p->op == PHX_POWER_STATUS && n->soft_until_ms <= a->s->now_ms)
		fail_late(a, n, p->result < 0 ? a->ev->text : "");
}

void phx_soft_tick(struct phx_apply *a, struct phx_node *n)
{
	int64_t now = a->s->now_ms;
	if (!n->soft_again_ms || n->soft_again_ms > now)
		return;
	a->out->changed = true;
	if (now >= n->soft_until_ms + SOFT_ANSWER_MS) {
		fail_late(a, n, "its BMC does not answer");
		return;
	}
	int64_t next = now + (now - n->soft_since_ms);
	n->soft_again_ms = now >= n->soft_until_ms ? n->soft_until_ms + SOFT_ANSWER_MS
		: next < n->soft_until_ms          ? next
						   : n->soft_until_ms;
	phx_act_power(a, n, PHX_POWER_STATUS);
}
