/* A timer wheel: entries that come when their times have come, in slots of a fixed width. To put
 * one in, to take one out and to turn by a slot cost the same whatever the number of entries. The
 * times are the caller's clock's, in milliseconds. Pure.
 *
 * Entries that are best handled together have a phase in common: an entry with a phase comes only
 * in slots of that phase, of which each stretch of PHX_WHEEL_PHASES slots has one. */
#ifndef PHX_BASE_WHEEL_H
#define PHX_BASE_WHEEL_H

#include <stdint.h>

enum {
	PHX_WHEEL_SLOT_MS = 50,
	PHX_WHEEL_PHASES = 8,
	PHX_WHEEL_SLOTS = 2048, /* what is due later comes once in vain, and is put in again */
	PHX_WHEEL_ANY = -1,     /* no phase */
};

/** Part of what is put in. Zero: it is in no wheel. */
struct phx_wheel_entry {
	int64_t slot; /* since the clock's zero; 0: none */
	struct phx_wheel_entry *next, *prev;
};

struct phx_wheel {
	struct phx_wheel_entry *slots[PHX_WHEEL_SLOTS];
	int64_t turned; /* all slots up to this one were handled */
};

/** An empty one, whose time is `now_ms`. */
void phx_wheel_init(struct phx_wheel *w, int64_t now_ms);
/** Puts `e` in so that it comes at `due_ms` or later, by less than one stretch of phases (none: one
 * slot). `phase`: any number, of which the remainder counts, or PHX_WHEEL_ANY. Returns the time
 * when it comes; INT64_MAX if it is in an earlier slot already and stays there, to come in vain. */
int64_t phx_wheel_put(struct phx_wheel *w, struct phx_wheel_entry *e, int64_t due_ms, int phase);
/** Takes `e` out, if it is in. */
void phx_wheel_out(struct phx_wheel *w, struct phx_wheel_entry *e);
/** Takes out all whose slots are over at `now_ms`: a list by `next`, in no order. */
struct phx_wheel_entry *phx_wheel_turn(struct phx_wheel *w, int64_t now_ms);
/** When the next one comes; INT64_MAX: there is none. */
int64_t phx_wheel_next_ms(const struct phx_wheel *w);

#endif
