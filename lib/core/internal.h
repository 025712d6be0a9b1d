/* Declarations that the files of lib/core share. No other file includes this one. */
#ifndef PHX_CORE_INTERNAL_H
#define PHX_CORE_INTERNAL_H

#include <assert.h>

#include "core/core.h"
#include "job/job.h"
#include "state/apply.h"
#include "state/counts.h"

/** An order on one node, by an event or by the core itself. Borrows all of it. No text is NULL. */
struct phx_node_order {
	/* assign, release, rebuild, wipe, resume, drain; for spare.c others that may end jobs */
	enum phx_event_kind kind;
	const struct phx_node *node;
	const char *by;   /* who; "" = the core */
	const char *text; /* why, or what the event says beside */
	const char *role;
	const char *pool; /* "" = the role's */
	bool has_setup;   /* setup was asked for */
	struct phx_setup setup;
	bool encrypt, pin, power_cycle, force;
	enum phx_jobs_say jobs;
	const struct phx_list *may_end; /* struct phx_job_ref: NAMED */
	bool has_grace;
	uint32_t grace_ms;
};

/* order.c */
/** What the event says of `n`, which may be NULL where the caller looks at that. */
struct phx_node_order phx_order_of(const struct phx_event *ev, const struct phx_node *n);
/** What the core wants of `n` by itself; the caller adds the rest. `why`: for events and
 * histories. */
struct phx_node_order phx_order_own(enum phx_event_kind kind, const struct phx_node *n,
				    const char *why);
/** The event's node, and what it orders of it; -ENOENT with a text. */
int phx_need_order(struct phx_apply *a, struct phx_node **ret_node, struct phx_node_order *ret);

/* setup.c */
/** Who says that a node has to be erased. */
struct phx_why_erase {
	char text[160];
};
/** The node's data may stay on it though `to` is another owner's: one of both agreements asks for
 * NOOP, and both consent. */
bool phx_noop_consented(const struct phx_state *s, const struct phx_node *n,
			const struct phx_pool *to);
/** What becomes of a node that its RE gives up, for a sentence: "released, and erased as agreed",
 * or that it is not erased. */
const char *phx_release_words(const struct phx_state *s, const struct phx_node *n);
/** What must be done to `n` on its way to pool `to`. An order may ask for more than the agreement
 * (`asked`, NULL: it asks for nothing), and for less only inside one owner: -EPERM with a text
 * otherwise. */
int phx_setup_effective(const struct phx_state *s, const struct phx_node *n,
			const struct phx_pool *to, const struct phx_setup *asked,
			struct phx_setup *ret, struct phx_why_erase *ret_why, struct phx_err *err);

/* planning.c */
/** May a plan be made for the node as it is now? -EPERM, -EBUSY with a text. */
int phx_plan_may(const struct phx_node *n, enum phx_event_kind kind, struct phx_err *err);
/** The plan that the order would make now. Changes nothing. */
int phx_order_plan(const struct phx_state *s, const struct phx_node_order *o, struct phx_plan *ret,
		   struct phx_err *err);
/** Plan it, and begin. 0 also where nothing is to be done, or the same is under way; an error has
 * changed nothing. */
int phx_order_begin(struct phx_apply *a, const struct phx_node_order *o);
/** The event as the core goes on by itself after it: for nobody. */
struct phx_apply phx_by_itself(const struct phx_apply *a, struct phx_err *err);
/** Begin what nobody ordered now; `err` takes why it cannot be. */
int phx_order_by_itself(struct phx_apply *a, const struct phx_node_order *o, struct phx_err *err);

/** The handler has seen to it that this may follow (types/node_life.def). */
static inline void phx_node_must_become(struct phx_node *n, enum phx_node_state to)
{
	int r = phx_node_become(n, to);
	assert(r == 0);
	(void)r;
}

/* handover.c */
/** Our own order starts the node: it may come back without its key, for a time. */
void phx_window_open(struct phx_apply *a, struct phx_node *n);
int phx_handover_begin(struct phx_apply *a, struct phx_node *n, struct phx_plan *plan,
		       const char *request);
/** Issue what can be issued, finish what is finished. Safe to call at any time. */
void phx_handover_advance(struct phx_apply *a, struct phx_node *n);
/** The node is in its system after a restart. If its health is what the plan waits for: the
 * services that were started are gone, and are started again. */
void phx_handover_restarted(struct phx_apply *a, struct phx_node *n);

/* back.c: an update that failed */
/** Before a role is replaced: its old definition stays known for as long as nodes run it.
 * -ENOMEM. */
int phx_former_keep(struct phx_apply *a, const struct phx_role *old, const struct phx_role *put);
/** A plan begins: if it updates the node's role in place, the version that it may go back to is
 * written into it. */
void phx_back_prepare(struct phx_apply *a, struct phx_node *n);
/** The step has failed for good: true when the node goes back to the version that it ran; its plan
 * then goes on. */
bool phx_back_begin(struct phx_apply *a, struct phx_node *n, struct phx_step *failed,
		    const char *why);
/** The plan has ended: says so if it went back. */
void phx_back_done(struct phx_apply *a, struct phx_node *n);
/** The role that a step is about, in the version that it is about; NULL: none, or gone. */
const struct phx_role *phx_step_role(const struct phx_state *s, const struct phx_node *n,
				     const struct phx_step *step);
/** The current step is done. */
void phx_handover_done(struct phx_apply *a, struct phx_node *n);
/** The current attempt failed: again, fall back, abort or quarantine, by the step's row. */
void phx_handover_failed(struct phx_apply *a, struct phx_node *n, const char *why);
/** The plan is dropped, and the node is what it was: its steps have changed nothing yet. */
void phx_handover_abort(struct phx_apply *a, struct phx_node *n, const char *why);
void phx_quarantine(struct phx_apply *a, struct phx_node *n, const char *why);

/* cancel.c */
int phx_apply_cancel(struct phx_apply *a);

/* spare.c: jobs that an order would end */
/** -EBUSY and its name, if the order would end a job that it does not allow to end. */
int phx_spare_order(struct phx_apply *a, const struct phx_node_order *o);
/** The same of the open jobs of an RE. */
int phx_spare_re(struct phx_apply *a, const struct phx_re *re);
/** What the order says of jobs becomes part of the plan that is made for its node, which runs
 * `from` (may be NULL): who ordered it, how long its job is waited for, and how long that is
 * expected to be. */
void phx_spare_plan(const struct phx_state *s, const struct phx_node_order *o,
		    const struct phx_role *from, struct phx_plan *plan);
/** The hand-over of `n` begins: a job that nothing waits for ends now. */
void phx_spare_begin(struct phx_apply *a, struct phx_node *n);
/** The step drain of `n` has to wait, for a job or for an engine that is not ours; it is looked at
 * again then. */
bool phx_spare_waits(struct phx_apply *a, struct phx_node *n, struct phx_step *step);

/* result.c */
int phx_apply_step_result(struct phx_apply *a);
int phx_apply_balanced(struct phx_apply *a);
int phx_apply_power_result(struct phx_apply *a);
int phx_apply_key_result(struct phx_apply *a);

/* keys.c */
/** The step of a plan that begins: a key that is to be made gets its name. */
void phx_key_name(const struct phx_node *n, struct phx_step *step);
/** A key that no node has any more: destroyed, and told so again until it is. Twice is once; "" is
 * none. */
void phx_key_doom(struct phx_apply *a, const char *key_id);
/** The plan is given up while its key is being made: it may be there. */
void phx_key_doom_unsure(struct phx_apply *a, const struct phx_node *n);
/** What the key store says of a doomed key (event: name, result). */
int phx_key_gone(struct phx_apply *a);
void phx_keys_tick(struct phx_apply *a);

/* balance.c */
/** Is there a director that serves, heard or not? */
bool phx_director_there(const struct phx_state *s);
/** Another director takes over where the acting one is not heard any more; that one is switched off
 * first if its role says so. At the end of an event that changed something. */
void phx_director_settle(struct phx_apply *a);
/** A node is heard: if it is a director it need not be switched off any more. */
void phx_fence_over(struct phx_apply *a, struct phx_node *n);

/* request.c */
int phx_apply_assign(struct phx_apply *a);
int phx_apply_release(struct phx_apply *a);
int phx_apply_rebuild(struct phx_apply *a);
int phx_apply_wipe(struct phx_apply *a);
int phx_apply_drain(struct phx_apply *a);
int phx_apply_resume(struct phx_apply *a);
int phx_apply_quarantine(struct phx_apply *a);
int phx_apply_power(struct phx_apply *a);
/** Rules give a ready, idle node its role, if automatic assignment is on. */
void phx_auto_assign(struct phx_apply *a, struct phx_node *n);
/** A serving node that waits in the deploy initramfs without a system: one in memory is brought
 * there again, one that was on a disk is missing (quarantine). Others: nothing. */
void phx_restore_system(struct phx_apply *a, struct phx_node *n);
/** A node whose key was destroyed while nobody could reach it is there again: the erase that was
 * ordered is finished and read back. Others: nothing. */
void phx_read_back(struct phx_apply *a, struct phx_node *n);

/** A quarantined node that somebody had to start by hand is there: its resume goes on. Others:
 * nothing. */
void phx_resume_awaited(struct phx_apply *a, struct phx_node *n);
/** The node is heard: if it was resumed while it was silent and did not serve, it begins now. */
int phx_resume_unserved(struct phx_apply *a, struct phx_node *n);

/* enrol.c */
int phx_apply_node_add(struct phx_apply *a);
int phx_apply_node_remove(struct phx_apply *a);
int phx_apply_node_accept(struct phx_apply *a);
int phx_apply_node_bmc(struct phx_apply *a);
int phx_apply_enrol(struct phx_apply *a);

/* label.c */
int phx_apply_node_label(struct phx_apply *a);

/* people.c */
int phx_apply_cert_revoke(struct phx_apply *a);

/* memory.c */
/** The machine has started anew: what its plan had fetched into its memory counts no more. */
void phx_memory_reset(struct phx_apply *a, struct phx_node *n);
/** The plan had a system fetched into memory that is gone: it has to be fetched again before
 * anything is entered. */
bool phx_memory_lacks(const struct phx_node *n);

/* facts.c */
/** Another node that is let in and reports the same system UUID; NULL. */
struct phx_node *phx_facts_twin(const struct phx_state *s, const struct phx_node *n);
/** A machine does not change its UUID: are these of another one under the node's name (faults.md
 * 10)? */
bool phx_facts_of_another(const struct phx_node *n, const struct phx_facts *facts);
/** A copy of them is the node's from now on. -ENOMEM: it has those of before. */
int phx_facts_take(struct phx_node *n, const struct phx_facts *facts);
/** May the node not be let in as it describes itself (disks or addresses that are ambiguous,
 * another node's UUID)? */
bool phx_facts_unsound(struct phx_apply *a, const struct phx_node *n, struct phx_err *ret_why);

/* live.c */
/** A deadline of the node has passed. */
void phx_node_tick(struct phx_apply *a, struct phx_node *n);
int phx_apply_hello(struct phx_apply *a);
int phx_apply_missing(struct phx_apply *a);
int phx_apply_quiet(struct phx_apply *a);
/** The node is heard again, or known to be missing. */
void phx_quiet_over(struct phx_node *n);
int phx_apply_back(struct phx_apply *a);
int phx_apply_report(struct phx_apply *a);
int phx_apply_inventory(struct phx_apply *a);
int phx_apply_inspect(struct phx_apply *a);

/* agree.c */
int phx_apply_re_request(struct phx_apply *a);
int phx_apply_re_create(struct phx_apply *a);

/* res.c */
/** Every other operation of the life of an RE: re_refuse .. re_destroy. */
int phx_apply_re_operate(struct phx_apply *a);
int phx_apply_re_use(struct phx_apply *a);
/** Ends safe deactivations whose jobs have ended; true when there was one. */
bool phx_res_drained(struct phx_apply *a);

/* share.c */
/** Does what the ledger wants, tells it what has become of its nodes, until both agree. At the end
 * of every event. */
void phx_share_agree(struct phx_apply *a);

/* choose.c: which nodes go */
/** Up to `n` nodes of `from` (NULL = free ones) that can go to `to` (NULL = the free pool), the
 * best first: appended to ret_places (uint32_t, by phx_index_place()). Fewer: there are no more,
 * and those that cannot are marked. */
void phx_choose(struct phx_apply *a, const struct phx_re *from, const struct phx_re *to, uint32_t n,
		struct phx_list *ret_places);
/** The ledger knows which nodes are marked, and where. */
void phx_choose_tell(struct phx_apply *a);
/** The node has told news, or something has changed for all: it may be chosen by everybody
 * again. */
void phx_choose_again(struct phx_apply *a, struct phx_node *n);

/* cause.c */
bool phx_plan_has(const struct phx_plan *p, enum phx_step_kind kind);
/** The plan is about to begin by the order: its cause, and where it erases or installs a note that
 * tells it. why_erase: whose agreement, or which order, wants an erase. */
void phx_say_cause(struct phx_apply *a, const struct phx_node_order *o, const char *why_erase,
		   struct phx_plan *plan);

/* holding.c: what the ledger counts a node as */
/** The ledger's number of an RE by name, or PHX_LEDGER_FREE: "" and those that are not active. */
int phx_holding_number(const struct phx_state *s, const char *name);
/** The ledger counts it no more, whatever it was counted as. */
void phx_holding_lose(struct phx_apply *a, struct phx_node *n);
/** The ledger loses the node now: it is about to be forgotten, or broke under a job. */
void phx_holding_leave(struct phx_apply *a, struct phx_node *n);
/** A job on it is lost with its node: that leaves the ledger, or is away. */
void phx_holding_job_lost(struct phx_apply *a, struct phx_node *n);
/** The RE in whose pool it is, out of service, that would not take it back as it is now: in service
 * again it is released. NULL: it would, or nothing takes it from there. Works on a copy of the
 * ledger: for orders by hand. */
const struct phx_re *phx_holding_full(struct phx_apply *a, const struct phx_node *n);
/** Does its RE go on counting on it, though it does not serve just now? */
bool phx_away_may(const struct phx_state *s, const struct phx_node *n);
/** It is held, and does not serve: from now on it is away, with its job if it has one. */
void phx_away_begin(struct phx_apply *a, struct phx_node *n);
/** It is away: back, lost, or as it was. */
void phx_away_look(struct phx_apply *a, struct phx_node *n);
void phx_away_tick(struct phx_apply *a, struct phx_node *n);
/** The RE is deactivated: those that are not there to be released are when they come. Activated
 * again: they are not. */
void phx_away_deactivated(struct phx_apply *a, const struct phx_re *re);
void phx_away_activated(struct phx_apply *a, const struct phx_re *re);
/** The deactivated RE counts on it no more: it is released as soon as that can be done. Twice is
 * once. */
void phx_away_give_up(struct phx_apply *a, struct phx_node *n, const struct phx_re *re);
/** Its plan is at its end, in the pool of an RE that was deactivated meanwhile: the same. */
void phx_away_end(struct phx_apply *a, struct phx_node *n);
/** Its plan is at its end: where that brought it out of the pool, or its RE is there again, it is
 * given up no more. */
void phx_away_settle(const struct phx_state *s, struct phx_node *n);
/** Its pool goes while it is away: it waits for its release in no pool. */
void phx_away_detach(struct phx_apply *a, struct phx_node *n);

#endif
