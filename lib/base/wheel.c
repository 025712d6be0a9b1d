/* Timer wheels: see wheel.h. Pure. */
#include "base/wheel.h"

#include <stddef.h>

#include "base/util.h"

static struct phx_wheel_entry **slot_of(struct phx_wheel *w, int64_t slot)
{
	return &w->slots[slot % PHX_WHEEL_SLOTS];
}

/* A slot comes when it is over: nothing in it is early. */
static int64_t end_of(int64_t slot)
{
	return (slot + 1) * PHX_WHEEL_SLOT_MS;
}

void phx_wheel_init(struct phx_wheel *w, int64_t now_ms)
{
	*w = (struct phx_wheel){.turned = now_ms / PHX_WHEEL_SLOT_MS};
}

static int64_t of_phase(int64_t slot, int phase)
{
	return phase < 0 ? slot
			 : slot +
			(phase % PHX_WHEEL_PHASES - slot % PHX_WHEEL_PHASES + PHX_WHEEL_PHASES) %
				PHX_WHEEL_PHASES;
}

int64_t phx_wheel_put(struct phx_wheel *w, struct phx_wheel_entry *e, int64_t due_ms, int phase)
{
	int64_t last = w->turned + PHX_WHEEL_SLOTS - 1, first = w->turned + 1;
	int64_t slot = due_ms / PHX_WHEEL_SLOT_MS;
	slot = of_phase(slot < first ? first : slot, phase);
	slot = slot > last ? last : slot;
	if (e->slot && e->slot <= slot)
		return INT64_MAX;
	phx_wheel_out(w, e);
	struct phx_wheel_entry **head = slot_of(w, slot);
	*e = (struct phx_wheel_entry){.slot = slot, .next = *head};
	if (e->next)
		e->next->prev = e;
	*head = e;
	return end_of(slot);
}

void phx_wheel_out(struct phx_wheel *w, struct phx_wheel_entry *e)
{
	if (!e->slot)
		return;
	*(e->prev ? &e->prev->next : slot_of(w, e->slot)) = e->next;
	if (e->next)
		e->next->prev = e->prev;
	*e = (struct phx_wheel_entry){0};
}

struct phx_wheel_entry *phx_wheel_turn(struct phx_wheel *w, int64_t now_ms)
{
	int64_t to = now_ms / PHX_WHEEL_SLOT_MS - 1;
	/* after a long sleep each slot is looked at once */
	int64_t from = to - w->turned > PHX_WHEEL_SLOTS ? to - PHX_WHEEL_SLOTS : w->turned;
	struct phx_wheel_entry *come = NULL;
	for (int64_t slot = from + 1; slot <= to; slot++)
		for (struct phx_wheel_entry *e; (e = *slot_of(w, slot));) {
			phx_wheel_out(w, e);
			e->next = come;
			come = e;
		}
	w->turned = to > w->turned ? to : w->turned;
	return come;
}

int64_t phx_wheel_next_ms(const struct phx_wheel *w)
{
	for (int64_t slot = w->turned + 1; slot < w->turned + PHX_WHEEL_SLOTS; slot++)
		if (w->slots[slot % PHX_WHEEL_SLOTS])
			return end_of(slot);
	return INT64_MAX;
}
