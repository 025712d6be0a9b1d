/* What the files of lib/node share. Nobody else includes this. */
#ifndef PHX_NODE_INTERNAL_H
#define PHX_NODE_INTERNAL_H

#include "job/job.h"
#include "node/director.h"
#include "node/holding.h"
#include "node/node.h"
#include "node/order.h"
#include "state/counts.h"
#include "state/index.h"

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

/* handover.c */
/** Our own order starts the node: it may come back without its key, for a time. */
void phx_window_open(struct phx_apply *a, struct phx_node *n);
int phx_handover_begin(struct phx_apply *a, struct phx_node *n, struct phx_plan *plan,
		       const char *request);
/** The node is in its system after a restart. If its health is what the plan waits for: the
 * services that were started are gone, and are started again. */
void phx_handover_restarted(struct phx_apply *a, struct phx_node *n);

/* back.c: an update that failed */
/** A plan begins: if it updates the node's role in place, the version that it may go back to is
 * written into it. */
void phx_back_prepare(struct phx_apply *a, struct phx_node *n);
/** The step has failed for good: true when the node goes back to the version that it ran; its plan
 * then goes on. */
bool phx_back_begin(struct phx_apply *a, struct phx_node *n, struct phx_step *failed,
		    const char *why);
/** The plan has ended: says so if it went back. */
void phx_back_done(struct phx_apply *a, struct phx_node *n);
/** The current step is done. */
void phx_handover_done(struct phx_apply *a, struct phx_node *n);
/** The current attempt failed: again, fall back, abort or quarantine, by the step's row. */
void phx_handover_failed(struct phx_apply *a, struct phx_node *n, const char *why);
/** The plan is dropped, and the node is what it was: its steps have changed nothing yet. */
void phx_handover_abort(struct phx_apply *a, struct phx_node *n, const char *why);

/* spare.c: jobs that an order would end */
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

/* director.c */
/** Is there a director that serves, heard or not? */
bool phx_director_there(const struct phx_state *s);
/** A node is heard: if it is a director it need not be switched off any more. */
void phx_fence_over(struct phx_apply *a, struct phx_node *n);

/* request.c */
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
/** The node is heard again, or known to be missing. */
void phx_quiet_over(struct phx_node *n);

/* cause.c */
bool phx_plan_has(const struct phx_plan *p, enum phx_step_kind kind);
/** The plan is about to begin by the order: its cause, and where it erases or installs a note that
 * tells it. why_erase: whose agreement, or which order, wants an erase. */
void phx_say_cause(struct phx_apply *a, const struct phx_node_order *o, const char *why_erase,
		   struct phx_plan *plan);

/* order.c */
/** Find the event's node; -ENOENT with a text. */
int phx_need_node(struct phx_apply *a, struct phx_node **ret);

/* power.c */
/** Order the node's power off, again and again until it is seen off. */
void phx_power_off(struct phx_apply *a, struct phx_node *n);

#endif
