/* Starts of machines that the head orders or awaits. A known node gets a certificate for another
 * key only by the token of such a start, which can be used once:
 *
 *   kexec, kernel ──── the token is in the order ──────┐
 *   boot ──BMC done──▶ in the answer to /boot/MAC ─────┼──▶ open ──enrolled──▶ open, another token
 *   by hand, awaited ─ in the answer to /boot/MAC ─────┘     │                   │ restarts, enrols
 *                                          20 minutes, its system entered, idle ─┴──▶ closed
 *
 * The vault makes the token from the number of the start and the node's key (pki/token.h), so that
 * it is the same if it has to be given again: after a lost answer, or a crash of the head. From its
 * enrolment until its installed system runs, a machine has its key in memory only and may be reset:
 * so it is given the next token. Called where steps begin and end, and by heard.c and enrol.c.
 * Pure.
 */
#include "node/internal.h"

#include <string.h>

enum { WINDOW_MS = 1200 * 1000 };

static void open_start(struct phx_apply *a, struct phx_node *n, uint64_t start)
{
	n->window = true;
	n->window_until_ms = a->s->now_ms + WINDOW_MS;
	n->start = a->s->settings.tokens ? start : 0;
	a->out->changed = true;
}

static uint64_t next_start(struct phx_apply *a)
{
	return a->s->settings.tokens ? ++a->s->last_step_id : 0;
}

void phx_start_begin(struct phx_apply *a, struct phx_node *n, const struct phx_step *step)
{
	if (step->kind == PHX_STEP_boot && a->s->settings.tokens)
		phx_start_close(n); /* until it is off, its tenant may use its address */
	else
		open_start(a, n, step->id);
}

void phx_start_done(struct phx_apply *a, struct phx_node *n, const struct phx_step *step)
{
	open_start(a, n, step->id);
}

void phx_start_await(struct phx_apply *a, struct phx_node *n)
{
	if (n->window && n->start)
		n->window_until_ms = a->s->now_ms + WINDOW_MS;
	else
		open_start(a, n, next_start(a));
}

void phx_start_used(struct phx_apply *a, struct phx_node *n)
{
	open_start(a, n, next_start(a));
}

void phx_start_close(struct phx_node *n)
{
	n->window = false;
	n->start = 0;
}

void phx_start_over(struct phx_apply *a, struct phx_node *n)
{
	if (a->s->settings.tokens)
		phx_start_close(n);
}

void phx_start_entered(struct phx_apply *a, struct phx_node *n)
{
	n->fresh = false;
	phx_start_over(a, n);
}

void phx_start_registered(struct phx_node *n, bool new_boot)
{
	bool was = n->fresh && !new_boot;
	n->fresh = n->env == PHX_ENV_DEPLOY && (n->brought || was);
	n->brought = false;
}

bool phx_start_wants_key(const struct phx_node *n)
{
	const struct phx_step *step = phx_node_step(n);
	return step && step->status == PHX_STEP_ISSUED && n->start == step->id &&
		phx_step_starts(step->kind);
}

void phx_start_arrived(struct phx_apply *a, struct phx_node *n)
{
	bool goes_on = n->env == PHX_ENV_DEPLOY && phx_node_boots_local(a->s, n);
	if (goes_on)
		n->fresh = false; /* it enters its tenant's system */
	if (!phx_node_step(n) && !goes_on)
		phx_start_over(a, n);
}

/* Is the current step of that kind, and does it still await the machine that it starts? */
static bool awaits(const struct phx_node *n, enum phx_step_kind kind)
{
	const struct phx_step *step = phx_node_step(n);
	return step && step->kind == (int)kind && phx_start_wants_key(n);
}

uint64_t phx_start_given(const struct phx_node *n, const char *address)
{
	const char *its = n->ip[0] ? n->ip : n->address;
	bool heard = n->up && !awaits(n, PHX_STEP_kexec) && !awaits(n, PHX_STEP_kernel);
	return n->window && !heard && its[0] && !strcmp(its, address) ? n->start : 0;
}

bool phx_node_key_holds(const struct phx_node *n, const char *key_fp)
{
	return !strcmp(n->key_fp, key_fp) && !awaits(n, PHX_STEP_boot);
}
