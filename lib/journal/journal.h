/* The rule of a crash: append the event, apply it, commit the event and the
 * actions it causes in one transaction, answer after the commit, then carry out
 * the actions. After a kill at any instant a start replays, and issues again
 * what was not confirmed. Linked by the daemon, by replay and by the fault
 * simulation; store, clock and points of death are arguments.
 *
 *	 submit ─▶ apply ─▶ commit ─▶ queue ─▶ answer ─▶ act, one by one
 *	             │         │                            │
 *	             │         ├ refused ─▶ read-only: reload, try again after a while
 *	             │         └ in doubt ─┐                │
 *	             └ out of memory ──────┴─▶ ended ◀──────┘ an action cannot be queued
 *
 * Ended is for good: memory may differ from the store, so the process ends and
 * a new one reads the store. Decides nothing: that is phx_core_apply().
 * Thread-safe. */
#ifndef PHX_JOURNAL_JOURNAL_H
#define PHX_JOURNAL_JOURNAL_H

#include "core/core.h"
#include "journal/core_clock.h"
#include "journal/store.h"

enum { PHX_JOURNAL_SIGNATURE_MAX = 160 };

struct phx_journal;

/** Where a process may die, in the order of one event. */
enum phx_journal_point { PHX_JOURNAL_APPLIED, PHX_JOURNAL_COMMITTED, PHX_JOURNAL_ACTED };

/** The calls get `arg`. All but sign, committed and at must be there. */
struct phx_journal_config {
	struct phx_journal_store store;
	struct phx_clock_source clock;
	bool accept_clock;           /* however far it is ahead of the last event */
	uint32_t snapshot_every;     /* events */
	uint32_t keep_days;          /* older events go after a snapshot; 0 = none */
	uint32_t (*draw)(void *arg); /* a random number */
	/** Carries out one action after its commit, without the lock: one at a time, in the order
	 * of the commits, perhaps on another thread than the one that submitted. Must not block for
	 * long. Negative: it could not be queued, and the journal ends: the next start issues it
	 * again. */
	int (*act)(void *arg, const struct phx_action *act);
	/** The signature of an erase record, hexadecimal digits. NULL: none are signed. */
	int (*sign)(void *arg, const char *record, char ret[PHX_JOURNAL_SIGNATURE_MAX],
		    struct phx_err *err);
	/** Told after the actions of each commit; `seq` is the last event's. */
	void (*committed)(void *arg, uint64_t seq);
	/** True: the process is dead from here on, and every call fails. With the lock at APPLIED
	 * and COMMITTED. For tests. */
	bool (*at)(void *arg, enum phx_journal_point point, uint64_t seq,
		   const struct phx_event *ev, const struct phx_outcome *out);
	void *arg;
};

/** Bring the state back (phx_journal_recall(): its errors) and begin an incarnation. `ret_damage`:
 * its text says which snapshot could not be used. Nothing is written until an event is
 * submitted. */
int phx_journal_open(const struct phx_journal_config *config, struct phx_journal **ret,
		     struct phx_err *ret_damage, struct phx_err *err);
/** Takes a last snapshot, if `snapshot`. The store stays. Safe on NULL. */
void phx_journal_close(struct phx_journal *j, bool snapshot);

/** Apply one event; ev->now_ms is set here. 0 after the commit (or when nothing had to change).
 * Negative: the event is not journalled and the state is as it was, but for: -EIO    it is not
 * known whether it is journalled; the journal has ended -EROFS  the store refuses events now
 * -EAGAIN the journal has ended ret (caller: phx_outcome_fini) may be NULL.
 */
int phx_journal_submit(struct phx_journal *j, struct phx_event *ev, struct phx_outcome *ret,
		       struct phx_err *err);

/** Issue again what was under way when the last process ended. Call once, after everything
 * stands. */
int phx_journal_resume(struct phx_journal *j);

/** Ask the store whether it still is what it was, and, after it refused, whether it takes events
 * again. */
void phx_journal_probe(struct phx_journal *j);
/** 0: it takes events; -EROFS: the store refuses them now; -EAGAIN: the journal has ended.
 * `ret_why` may be NULL. */
int phx_journal_status(struct phx_journal *j, struct phx_err *ret_why);

/** The state under the lock. */
const struct phx_state *phx_journal_lock(struct phx_journal *j);
void phx_journal_unlock(struct phx_journal *j);
/** The same without it: for who has the lock, or is alone. */
const struct phx_state *phx_journal_state(const struct phx_journal *j);

/** Core time, milliseconds: see core_clock.h. */
int64_t phx_journal_now(struct phx_journal *j);
/** By how much the clock was ahead when it was not believed; 0 = it is. */
int64_t phx_journal_clock_held(struct phx_journal *j);
/** True once, when a clock that was not believed now is. */
bool phx_journal_clock_believe(struct phx_journal *j);

/** The state as the text of a snapshot, under the lock. malloc'd; *ret_seq: of which event. NULL:
 * out of memory. */
char *phx_journal_state_text(struct phx_journal *j, uint64_t *ret_seq);
/** A snapshot of event `seq` was written by somebody else. */
void phx_journal_snapshotted(struct phx_journal *j, uint64_t seq);

#endif
