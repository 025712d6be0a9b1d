/* A silent machine that may have lost its key, since it was started anew and has the key in memory
 * alone. That somebody asks for its certificate from its address proves nothing: the claim is
 * recorded, and changes neither state, plan nor power. What lets the machine in again is a start
 * with a token (start.c), which a plan, a person or the head's own patience orders:
 *
 *   silent ──claim──▶ claimed ──phx node accept──▶ its start is awaited
 *          ──restart_silent_s are over, it has a BMC──▶ power cycled, its start is awaited
 *
 * Called by enrol.c and heard.c. Pure. */
#include "node/internal.h"

void phx_lost_claimed(struct phx_apply *a, struct phx_node *n)
{
	n->claimed_ms = a->s->now_ms;
	a->out->changed = true;
}

/* The start is given a token, whatever claimed to be the machine before. */
void phx_lost_accept(struct phx_apply *a, struct phx_node *n)
{
	if (!n->claimed_ms || n->up || phx_node_step(n))
		return;
	phx_start_await(a, n);
	phx_touch(a->s, n);
	a->out->changed = true;
	phx_note(a, n,
		 "%s is let in again: what asks from its address within 20 minutes is given a "
		 "certificate for another key",
		 n->name);
}

/* ---- the head's own patience ---- */

static int64_t patience_ms(const struct phx_state *s)
{
	return (int64_t)s->settings.restart_silent_s * 1000;
}

void phx_lost_missing(struct phx_apply *a, struct phx_node *n)
{
	n->restart_at_ms = patience_ms(a->s) ? a->s->now_ms + patience_ms(a->s) : 0;
	phx_touch(a->s, n);
}

void phx_lost_over(struct phx_apply *a, struct phx_node *n)
{
	n->claimed_ms = n->restart_at_ms = 0;
	phx_touch(a->s, n);
}

/* Does it serve, or is it free to? Nobody starts what people have taken out of service. */
static bool in_service(const struct phx_node *n)
{
	return n->state != PHX_NODE_NEW && n->state != PHX_NODE_QUARANTINED &&
		n->state != PHX_NODE_MAINTENANCE;
}

/* Does something else bring it back, or end its job first? */
static bool is_waited_for(const struct phx_node *n)
{
	return phx_node_step(n) || n->window || n->jobs_running;
}

void phx_lost_tick(struct phx_apply *a, struct phx_node *n)
{
	if (!n->restart_at_ms || n->restart_at_ms > a->s->now_ms)
		return;
	bool later = is_waited_for(n) && patience_ms(a->s);
	n->restart_at_ms = later ? a->s->now_ms + patience_ms(a->s) : 0;
	a->out->changed = true;
	if (later || !patience_ms(a->s) || !in_service(n) || !phx_node_has_bmc(n) ||
	    n->power == PHX_POWER_IS_OFF)
		return;
	phx_note(a, n, "%s has been silent for %u s (restart_silent_s): it is started again",
		 n->name, a->s->settings.restart_silent_s);
	phx_act_power(a, n, PHX_POWER_BOOT);
	phx_start_await(a, n);
}
