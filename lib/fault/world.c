/* The bottom floor of the fault simulation: what is going to happen, chance, the event list, the
 * verdict, and what a machine or the head is right now. Called by all other files; calls none. */
#include "fault/parts.h"

#include <stdarg.h>
#include <stdio.h>

void phx_fault_later(struct fault_sim *f, int64_t in_ms, enum fault_what what, uint32_t m,
		     uint32_t gen, uint64_t a)
{
	struct fault_item it = {.at = f->now + (in_ms > 0 ? in_ms : 0),
				.order = ++f->orders,
				.what = (uint16_t)what,
				.m = (uint16_t)m,
				.gen = gen,
				.a = a};
	if (phx_fault_item_push(&f->q, it) < 0)
		phx_fault_violated(f, "model", "out of memory");
}

int64_t phx_fault_between(struct fault_sim *f, int64_t low, int64_t high)
{
	return phx_rng_between(&f->rng, low, high);
}

bool phx_fault_chance(struct fault_sim *f, uint32_t per_mille)
{
	return phx_rng_chance(&f->rng, per_mille);
}

void phx_fault_mix(struct fault_sim *f, uint64_t x)
{
	f->hash = phx_mix_number(f->hash, x);
	f->hash ^= f->hash >> 29;
}

void phx_fault_note(struct fault_sim *f, int m, const char *fmt, ...)
{
	va_list ap;
	if (!f->notes_cap)
		return;
	struct fault_note *n = &f->notes[f->n_notes++ % f->notes_cap];
	n->at = f->now;
	n->m = m;
	va_start(ap, fmt);
	vsnprintf(n->text, sizeof(n->text), fmt, ap);
	va_end(ap);
}

void phx_fault_violated(struct fault_sim *f, const char *invariant, const char *fmt, ...)
{
	va_list ap;
	if (f->failed)
		return;
	f->failed = true;
	PHX_STR_SET(f->ret->invariant, invariant);
	va_start(ap, fmt);
	vsnprintf(f->ret->violation, sizeof(f->ret->violation), fmt, ap);
	va_end(ap);
}

bool phx_fault_on(const struct fault_machine *m)
{
	return m->stage != STAGE_OFF;
}

int phx_fault_env(const struct fault_machine *m)
{
	return m->stage == STAGE_DEPLOY ? PHX_ENV_DEPLOY
		: m->stage == STAGE_OS  ? PHX_ENV_OS
					: PHX_ENV_NONE;
}

struct phx_node *phx_fault_node(const struct fault_sim *f, const struct fault_machine *m)
{
	return m->node[0] ? phx_state_node(f->head.s, m->node) : NULL;
}

struct fault_machine *phx_fault_any(struct fault_sim *f)
{
	return &f->m[phx_rng_below(&f->rng, f->n)];
}

/* The observer asks while the journal has its lock. */
int64_t phx_fault_core_now(const struct fault_sim *f)
{
	int64_t now = f->now + f->head.core_ahead_ms;
	return now > f->head.s->now_ms ? now : f->head.s->now_ms;
}
