/* The rule of a crash: apply the event (or one event for each of many nodes),
 * commit it and the actions it causes in one transaction, answer only after the
 * commit, then carry out the actions. After a kill at any instant a start replays, and issues again
 * the actions that were not confirmed. Linked by the daemon, by replay and by the fault
 * simulation; store, clock and points of death are arguments.
 *
 *	 submit ─▶ apply ─▶ commit ─▶ queue ─▶ answer ─▶ act, one by one
 *	             │         │                            │
 *	             │         ├ refused ─▶ read-only: reload, try again after a while
 *	             │         └ in doubt ─┐                │
 *	             └ out of memory ──────┴─▶ ended ◀──────┘ an action cannot be queued
 *
 * Ended is final: memory may differ from the store, so the process ends and a new
 * one reads the store. Decides nothing: phx_core_apply() does.
 *
 * Thread-safe. What several threads submit while the store syncs is one commit (turns.h): all
 * of it lasts, or none; each is answered for itself. */
#ifndef PHX_JOURNAL_JOURNAL_H
#define PHX_JOURNAL_JOURNAL_H

#include "core/core.h"
#include "journal/core_clock.h"
#include "journal/attest.h"
#include "journal/store.h"

enum { PHX_JOURNAL_SIGNATURE_MAX = 160 };

struct phx_journal;

/** Where a process may die, in the order of one event. */
enum phx_journal_point { PHX_JOURNAL_APPLIED, PHX_JOURNAL_COMMITTED, PHX_JOURNAL_ACTED };

/** Every function gets `arg`. All but sign, committed and at must be set. */
struct phx_journal_config {
	struct phx_journal_store store;
	struct phx_clock_source clock;
	bool accept_clock;           /* believe the clock however far it is ahead */
	uint32_t snapshot_every;     /* events between two snapshots */
	uint32_t keep_days;          /* older events are forgotten at a snapshot; 0 = none */
	uint64_t (*draw)(void *arg); /* a random number that nobody can guess */
	/** Carries out one action after its commit, without the lock: one at a time, in the order
	 * of the commits, perhaps on another thread than the one that submitted. Must not block for
	 * long. Negative: the action could not be queued; the journal ends, and the next start
	 * issues the action again. */
	int (*act)(void *arg, const struct phx_action *act);
	/** Signs an erase record: hexadecimal digits. NULL: records are not signed. */
	int (*sign)(void *arg, const char *record, char ret[PHX_JOURNAL_SIGNATURE_MAX],
		    struct phx_err *err);
	/** Who attests hand-overs with erases. */
	struct phx_attester attester;
	/** A snapshot is due; another thread has to call phx_journal_snapshot() soon. NULL: the
	 * submission that made it due takes it. */
	void (*snapshot_due)(void *arg);
	/** Called after the actions of each commit; `seq` is the last event's number. */
	void (*committed)(void *arg, uint64_t seq);
	/** For tests. True: the process counts as dead from here on, and every call fails. Called
	 * with the lock at APPLIED and COMMITTED. */
	bool (*at)(void *arg, enum phx_journal_point point, uint64_t seq,
		   const struct phx_event *ev, const struct phx_outcome *out);
	void *arg;
};

/** Bring the state back (errors of phx_journal_recall()) and begin an incarnation. The text of
 * `ret_damage` (may be NULL) says which snapshot could not be used. Writes nothing until an event
 * is submitted. The caller owns *ret; the store is borrowed until phx_journal_close(). */
int phx_journal_open(const struct phx_journal_config *config, struct phx_journal **ret,
		     struct phx_err *ret_damage, struct phx_err *err);
/** Writes a last snapshot, if `snapshot`. The store stays open. Safe on NULL. */
void phx_journal_close(struct phx_journal *j, bool snapshot);

/** Apply one event; ev->now_ms is set here. 0 after the commit (or when nothing had to change).
 * Negative: the event is not journalled and the state is as it was. Beside the errors of
 * phx_core_apply(): -EROFS the store refuses events now, -EAGAIN
 * the journal has ended, -EIO the journal has ended and it is not known whether the event is
 * journalled. The caller frees *ret (may be NULL) by phx_outcome_fini().
 *
 * -EPROTO, that a node was about to take a state that no table lists, is an error of the program.
 * The event would come again where no person sent it (a deadline, a report of an agent), so that
 * node is quarantined then, by an event of its own with the text: its data stays as it is, and all
 * others are served. */
int phx_journal_submit(struct phx_journal *j, struct phx_event *ev, struct phx_outcome *ret,
		       struct phx_err *err);

/** One of the nodes to which an event is applied. */
struct phx_each {
	const char *node;     /* borrowed */
	struct phx_event *ev; /* borrowed: the event for it; NULL: the one that is for all */
	/** Results, from here on: as of phx_journal_submit(). */
	int result;
	struct phx_outcome out; /* the caller: phx_outcome_fini() */
	struct phx_err err;
	uint64_t seq; /* number of its event; 0 = nothing had to change */
};

/** Applies `ev` (NULL where each has its own) to one node after the other (ev->node is set here),
 * and commits the results in one transaction: all that the core does not refuse, or none. The lock
 * is held throughout, so a caller with thousands of nodes submits portions of PHX_JOURNAL_PORTION.
 * In `each` only the nodes, and events of their own, are set, the rest is zero; a node whose result
 * is already negative is skipped. */
void phx_journal_submit_each(struct phx_journal *j, struct phx_event *ev, struct phx_each *each,
			     uint32_t n);

enum { PHX_JOURNAL_PORTION = 256 };

/** Issue again the actions that were under way when the last process ended. Call once, when all
 * drivers are ready. -ENOMEM: the journal has ended. */
int phx_journal_resume(struct phx_journal *j);

/** Asks the store whether its files are still the same, and, after a refusal, whether it takes
 * events again. */
void phx_journal_probe(struct phx_journal *j);
/** 0: the journal takes events; -EROFS: the store refuses them now; -EAGAIN: the journal has ended.
 * `ret_why` may be NULL. */
int phx_journal_status(struct phx_journal *j, struct phx_err *ret_why);
/** Milliseconds until a store that refuses events is asked again; 0: it takes them, or is asked by
 * the next call. Until then no submission can succeed. */
int64_t phx_journal_retry_in(struct phx_journal *j);

/** Take the lock; the state is borrowed until phx_journal_unlock(). */
const struct phx_state *phx_journal_lock(struct phx_journal *j);
void phx_journal_unlock(struct phx_journal *j);
/** The state for a caller that has the lock already, or is the only thread. */
const struct phx_state *phx_journal_state(const struct phx_journal *j);

/** Core time, milliseconds: see core_clock.h. */
int64_t phx_journal_now(struct phx_journal *j);
/** How far the wall clock is ahead while it is not believed, milliseconds; 0 = it is believed. */
int64_t phx_journal_clock_held(struct phx_journal *j);
/** True once, when a clock that was not believed is believed. */
bool phx_journal_clock_believe(struct phx_journal *j);

/** The state as the text of a snapshot; the caller holds the lock and frees the text. *ret_seq: the
 * last event in it. NULL: out of memory. */
char *phx_journal_state_text(struct phx_journal *j, uint64_t *ret_seq);
/** Takes a snapshot of the present state. Submissions wait while the state is turned into text and
 * written; phx_journal_lock() does not. A snapshot that fails is due again after the next event; no
 * event is lost by it. One thread at a time. */
void phx_journal_snapshot(struct phx_journal *j);
/** The caller has written a snapshot of event `seq` itself. */
void phx_journal_snapshotted(struct phx_journal *j, uint64_t seq);

#endif
