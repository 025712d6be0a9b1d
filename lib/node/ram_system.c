/* Systems that run from memory: a reset destroys them, also between the step that fetches a system
 * and the step that enters it. A system on the disk is then that of an earlier role, and must not
 * be entered: the plan fetches again. Called by heard.c and handover.c. Pure. */
#include "node/internal.h"

#include <stdio.h>

/* Where the next system has been entered: behind the steps that bring the node there. */
static uint32_t next_inside(const struct phx_plan *p)
{
	uint32_t at = p->cursor;
	while (at < p->steps.n) {
		int kind = PHX_LIST_AT(&p->steps, struct phx_step, at)->kind;
		if (!phx_step_starts(kind) && !phx_step_leaves(kind) && kind != PHX_STEP_ram)
			break;
		at++;
	}
	return at;
}

static bool fills_system(int kind)
{
	return kind == PHX_STEP_activate || kind == PHX_STEP_start || kind == PHX_STEP_health;
}

/* The packages of the role and its services are gone with the system that step `ram` had fetched:
 * what was done there since is done again in the next one. */
static void redo_role(struct phx_apply *a, struct phx_node *n, uint32_t ram)
{
	uint32_t end = n->plan.cursor, first = next_inside(&n->plan), at = first;
	for (uint32_t i = ram + 1; i < end; i++) {
		const struct phx_step was = *PHX_LIST_AT(&n->plan.steps, struct phx_step, i);
		struct phx_step *again = fills_system(was.kind)
			? phx_steps_insert(a, n, at, (enum phx_step_kind)was.kind)
			: NULL;
		if (!again)
			continue;
		again->former = was.former;
		PHX_STR_SET(again->role, was.role);
		at++;
	}
	if (at == first || first != end || at >= n->plan.steps.n)
		return;
	struct phx_step *interrupted = PHX_LIST_AT(&n->plan.steps, struct phx_step, at);
	interrupted->status = PHX_STEP_PENDING;
	interrupted->deadline_ms = a->s->now_ms;
}

void phx_ram_system_reset(struct phx_apply *a, struct phx_node *n)
{
	uint32_t lost = UINT32_MAX;
	if (phx_of_before(a->s) || !phx_node_step(n))
		return;
	for (uint32_t i = 0; i < n->plan.cursor; i++) {
		struct phx_step *step = PHX_LIST_AT(&n->plan.steps, struct phx_step, i);
		if (step->kind != PHX_STEP_ram || step->status != PHX_STEP_DONE)
			continue;
		step->status = PHX_STEP_FAILED;
		lost = i;
		snprintf(step->error, sizeof(step->error),
			 "the node started again: what was in its memory is gone");
		phx_note(a, n,
			 "%s: the system in its memory is gone with a reset: it is fetched again",
			 n->name);
	}
	if (lost != UINT32_MAX && a->s->settings.redoes_role)
		redo_role(a, n, lost);
}

bool phx_ram_system_lost(const struct phx_node *n)
{
	bool lacks = false;
	for (uint32_t i = 0; i < n->plan.cursor; i++) {
		const struct phx_step *step = PHX_LIST_AT(&n->plan.steps, struct phx_step, i);
		if (step->kind == PHX_STEP_ram)
			lacks = step->status == PHX_STEP_FAILED;
	}
	return lacks;
}
