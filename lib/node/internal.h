/* Declarations that the files of lib/node share. No other file includes this one. */
#ifndef PHX_NODE_INTERNAL_H
#define PHX_NODE_INTERNAL_H

#include <assert.h>
#include <string.h>

#include "job/job.h"
#include "node/director.h"
#include "node/holding.h"
#include "node/node.h"
#include "node/order.h"
#include "state/node_sets.h"
#include "state/index.h"

/** Changes the state; the caller knows that types/node_life.def allows it. */
static inline void phx_node_must_become(struct phx_node *n, enum phx_node_state to)
{
	int r = phx_node_become(n, to);
	assert(r == 0);
	(void)r;
}

/* setup.c */
/** The reason for an erase: whose agreement, or which order, wants it. */
struct phx_why_erase {
	char text[160];
};
/** Does the node hold data of another owner than that of pool `to`? */
static inline bool phx_changes_owner(const struct phx_node *n, const struct phx_pool *to)
{
	return n->dirty && strcmp(n->tenant, to->owner) != 0;
}
/** May the node's data stay on it although `to` has another owner? One of the agreements has to ask
 * for NOOP, and both have to consent. */
bool phx_noop_consented(const struct phx_state *s, const struct phx_node *n,
			const struct phx_pool *to);
/** How a node is released that its RE gives up, for a sentence: "released, and erased as agreed",
 * or that it is not erased. */
const char *phx_release_words(const struct phx_state *s, const struct phx_node *n);
/** Is the root encrypted because the pool erases by destroying its key? */
bool phx_setup_encrypts(const struct phx_pool *to, const struct phx_role *role);
/** The node is about to serve `to`: would what is on it break an agreement? The plan should see to
 * that; this holds if the plan is wrong or the agreement has changed meanwhile. */
bool phx_setup_owed(const struct phx_state *s, const struct phx_node *n, const struct phx_pool *to);
/** The setup policy for `n` on its way to pool `to`. An order may ask for another one (`asked`;
 * NULL: it does not), but for less than the agreements only inside one owner: -EPERM with a text
 * otherwise. */
int phx_setup_effective(const struct phx_state *s, const struct phx_node *n,
			const struct phx_pool *to, const struct phx_setup *asked,
			struct phx_setup *ret, struct phx_why_erase *ret_why, struct phx_err *err);

/* start.c: starts that the head ordered or awaits, after which a node may have another key */
/** Step kexec or boot is ordered. The token of a kexec goes with its order; that of a boot is given
 * when the BMC has switched the machine off and on, and what was given before is void. */
void phx_start_begin(struct phx_apply *a, struct phx_node *n, const struct phx_step *step);
/** The BMC has done its part of step boot. */
void phx_start_done(struct phx_apply *a, struct phx_node *n, const struct phx_step *step);
/** A start is awaited that is no step: by hand, or by itself. A start that is awaited already is
 * awaited longer. */
void phx_start_await(struct phx_apply *a, struct phx_node *n);
/** The token was used. The machine may start again before it has a system with its key, so that
 * another token is ready for it. */
void phx_start_used(struct phx_apply *a, struct phx_node *n);
/** No start is awaited any more; in journals of before, nothing. */
void phx_start_over(struct phx_apply *a, struct phx_node *n);
/** The node is told to enter its system. */
void phx_start_entered(struct phx_apply *a, struct phx_node *n);
/** The node has registered, from n->env. */
void phx_start_registered(struct phx_node *n, bool new_boot);
/** As phx_start_over(), whatever the journal. */
void phx_start_close(struct phx_node *n);
/** Its present key is of before the start that the current step has ordered: what is said under it
 * is not said by the machine that was started. */
bool phx_start_wants_key(const struct phx_node *n);
/** The node has registered, in another boot or environment than before. */
void phx_start_arrived(struct phx_apply *a, struct phx_node *n);

/* handover.c */
int phx_handover_begin(struct phx_apply *a, struct phx_node *n, struct phx_plan *plan,
		       enum phx_request request);
/** The step's next attempt is another one, also for the agent: nothing that it remembers answers
 * it. */
void phx_step_renew(struct phx_apply *a, struct phx_step *step);
/** The node is in its system after a restart. If the plan waits for its health, the services are
 * started again. */
void phx_handover_restarted(struct phx_apply *a, struct phx_node *n);

/* attest.c */
/** Between whom an erase of the node stands. */
void phx_erase_owners(const struct phx_apply *a, const struct phx_node *n, struct phx_action *act);
/** The last erase of the plan is done, and those before it: leaves the action by which the
 * hand-over gets its attestation, if it is to have one. Call it before it is forgotten whose data
 * was there. */
void phx_attest(struct phx_apply *a, const struct phx_node *n);

/** Was the node switched off and on, or reset, after what ran there and before its first erase? */
bool phx_was_power_cycled(const struct phx_node *n);

/* rekey.c */
/** Why the answer of a step rekey does not count; NULL: it does. */
const char *phx_rekey_fault(const struct phx_node *n, const struct phx_step *step);

/* tpm.c */
/** Why what its TPM signed, or did not, leaves the erase unproven; NULL: it does not. */
const char *phx_tpm_fault(const struct phx_node *n, const struct phx_event_answer *p);
/** The erase counts: the TPM that signed it is the node's from now on. */
void phx_tpm_keep(struct phx_apply *a, const struct phx_event_answer *p, struct phx_node *n);

/* steps.c */
/** Puts a step of that kind at place `at` of the plan; steps that were borrowed before are not any
 * more. NULL: no memory, which sticks. */
struct phx_step *phx_steps_insert(struct phx_apply *a, struct phx_node *n, uint32_t at,
				  enum phx_step_kind kind);

/* erase_instead.c */
/** The step, which was to destroy what jobs left, has failed for good: its plan goes on by erasing
 * the disks. False: that cannot be. */
bool phx_erase_instead(struct phx_apply *a, struct phx_node *n, struct phx_step *failed,
		       const char *why);

/* role_update.c: an update that failed */
/** A plan begins: if it updates the node's role in place, the plan records the version that the
 * node may go back to. */
void phx_update_prepare(struct phx_apply *a, struct phx_node *n);
/** The step has failed for good: true when the node goes back to the version that it ran; its plan
 * then goes on. */
bool phx_update_go_back(struct phx_apply *a, struct phx_node *n, struct phx_step *failed,
			const char *why);
/** The plan has ended: notes it if the node went back. */
void phx_update_gone_back(struct phx_apply *a, struct phx_node *n);
/** The current step is done. */
void phx_handover_done(struct phx_apply *a, struct phx_node *n);
/** The current attempt failed: tries again, falls back, aborts or quarantines, by the step's row.
 */
void phx_handover_failed(struct phx_apply *a, struct phx_node *n, const char *why);
/** Drops the plan, whose steps have changed nothing yet: the node has its former state. */
void phx_handover_abort(struct phx_apply *a, struct phx_node *n, const char *why);

/* order_jobs.c: jobs that an order would end */
/** Writes into the plan of the order's node, which runs `from` (may be NULL): who ordered it, the
 * grace of the node's job, and the expected time until the job ends. */
void phx_order_jobs_plan(const struct phx_state *s, const struct phx_node_order *o,
			 const struct phx_role *from, struct phx_plan *plan);
/** The hand-over of `n` begins: a job that no drain step waits for is killed now. */
void phx_order_jobs_begin(struct phx_apply *a, struct phx_node *n);
/** Does the step drain of `n` have to wait, for a job or for an external engine? Its deadline is
 * then the time of the next look. */
bool phx_order_jobs_wait(struct phx_apply *a, struct phx_node *n, struct phx_step *step);

/* keys.c */
/** Names the key that a step of a beginning plan will make. */
void phx_key_name(const struct phx_node *n, struct phx_step *step);
/** Has a key destroyed that no node has any more; the order is repeated until it succeeds. Twice is
 * once; "" is no key. */
void phx_key_doom(struct phx_apply *a, const char *key_id);
/** The plan is given up while its key is being made: dooms the key, which may exist. */
void phx_key_doom_unsure(struct phx_apply *a, const struct phx_node *n);
/** The key store's answer for a doomed key (event: name, result). */
int phx_key_gone(struct phx_apply *a, const struct phx_event_answer *p);

/* director.c */
/** Does a director serve, heard or not? */
bool phx_director_there(const struct phx_state *s);
/** A node is heard: a director need not be switched off any more. */
void phx_fence_over(struct phx_apply *a, struct phx_node *n);

/* request.c */
/** For a serving node that waits in the deploy initramfs: brings a system in memory there again, or
 * quarantines the node if its system should be on a disk. Other nodes: nothing. */
void phx_restore_system(struct phx_apply *a, struct phx_node *n);
/** For a node whose key was destroyed while it could not be reached, and that is heard again:
 * finishes the ordered erase and reads it back. Other nodes: nothing. */
void phx_read_back(struct phx_apply *a, struct phx_node *n);
/** A quarantined node whose start was awaited is heard: its resume goes on. Other nodes: nothing.
 */
void phx_resume_awaited(struct phx_apply *a, struct phx_node *n);
/** The node is heard: if it was resumed while it was silent, it starts to serve. */
int phx_resume_unserved(struct phx_apply *a, struct phx_node *n);

/* ram_system.c */
/** The machine has started anew: a system that its plan had fetched into memory is gone. */
void phx_ram_system_reset(struct phx_apply *a, struct phx_node *n);
/** Is the system gone that the plan had fetched into memory? It must be fetched again before the
 * node enters it. */
bool phx_ram_system_lost(const struct phx_node *n);

/* facts.c */
/** Another accepted node that reports the same system UUID; NULL: none does. */
struct phx_node *phx_facts_twin(const struct phx_state *s, const struct phx_node *n);
/** Are the facts of another machine under the node's name? A machine does not change its UUID
 * (faults.md 10). */
bool phx_facts_of_another(const struct phx_node *n, const struct phx_facts *facts);
/** Copies the facts to the node. -ENOMEM: it keeps the facts of before. */
int phx_facts_take(struct phx_node *n, const struct phx_facts *facts);
/** Do the node's facts forbid to accept it (ambiguous disks or addresses, another node's UUID)? */
bool phx_facts_unsound(struct phx_apply *a, const struct phx_node *n, struct phx_err *ret_why);

/* live.c */
/** The node is heard again, or known to be missing. */
void phx_quiet_over(struct phx_node *n);

/* cause.c */
bool phx_plan_has(const struct phx_plan *p, enum phx_step_kind kind);
/** Before a plan begins: writes its cause into it, and notes the cause if the plan erases or
 * installs. why_erase: whose agreement, or which order, wants an erase. */
void phx_say_cause(struct phx_apply *a, const struct phx_node_order *o, const char *why_erase,
		   struct phx_plan *plan);

/* order.c */
/** Find the event's node; -ENOENT with a text. */
int phx_need_node(struct phx_apply *a, struct phx_node **ret);

/* power.c */
/** Order the node's power off, again and again until it is seen off. */
void phx_power_off(struct phx_apply *a, struct phx_node *n);

#endif
