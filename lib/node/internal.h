/* Declarations that the files of lib/node share. No other file includes this one. */
#ifndef PHX_NODE_INTERNAL_H
#define PHX_NODE_INTERNAL_H

#include <string.h>

#include "job/job.h"
#include "node/director.h"
#include "node/holding.h"
#include "node/node.h"
#include "node/order.h"
#include "state/node_sets.h"
#include "state/index.h"
#include "state/timed.h"

/** Changes the state; the caller has made sure that types/node_life.def allows it: else see
 * phx_stick_never(). */
static inline void phx_node_must_become(struct phx_apply *a, struct phx_node *n,
					enum phx_node_state to)
{
	if (phx_node_become(n, to) < 0)
		phx_stick_never(a, n, "%s cannot become %s: it is %s", n->name,
				phx_enum_name(&phx_node_state_names, (int)to),
				phx_enum_name(&phx_node_state_names, n->state));
}

/* setup.c */
/** The reason for an erase: whose agreement or which order wants it. */
struct phx_why_erase {
	char text[160];
};
/** Does the node hold data of an owner other than that of pool `to`? */
static inline bool phx_changes_owner(const struct phx_node *n, const struct phx_pool *to)
{
	return n->dirty && strcmp(n->tenant, to->owner) != 0;
}
/** May the node's data stay on it although `to` has another owner? One agreement must ask for NOOP,
 * and both must consent. */
bool phx_noop_consented(const struct phx_state *s, const struct phx_node *n,
			const struct phx_pool *to);
/** Says for a sentence how a node that its RE gives up is released: "released, and erased as
 * agreed", or not erased. A constant. */
const char *phx_release_words(const struct phx_state *s, const struct phx_node *n);
/** Is the root to be encrypted, because the pool erases by destroying its key? */
bool phx_setup_encrypts(const struct phx_pool *to, const struct phx_role *role);
/** The node is about to serve `to`: would the data on it violate an agreement? A second check: the
 * plan should have seen to it, but it may be wrong, or the agreement may have changed. */
bool phx_setup_owed(const struct phx_state *s, const struct phx_node *n, const struct phx_pool *to);
/** Computes the setup policy for the way of `n` to pool `to`, and the reason for an erase, if there
 * is one. `asked`: the policy that an order asks for; NULL: none. An order may ask for less than
 * the agreements only if the node stays with its owner, and has data of nobody else; otherwise
 * -EPERM with a text. */
int phx_setup_effective(const struct phx_state *s, const struct phx_node *n,
			const struct phx_pool *to, const struct phx_setup *asked,
			struct phx_setup *ret, struct phx_why_erase *ret_why, struct phx_err *err);

/* start.c: starts that the head orders or awaits; a node may come from one with another key */
/** Step kexec or boot is issued. The token of a kexec goes with its order. The token of a boot is
 * given only after the BMC has switched the machine off and on; tokens given before are void. */
void phx_start_begin(struct phx_apply *a, struct phx_node *n, const struct phx_step *step);
/** The BMC has switched the machine off and on for step boot. */
void phx_start_done(struct phx_apply *a, struct phx_node *n, const struct phx_step *step);
/** Awaits a start that is no step: by hand, or of the machine's own accord. If one is awaited
 * already, extends the wait. */
void phx_start_await(struct phx_apply *a, struct phx_node *n);
/** The token was used. Opens another start, since the machine may restart before it has an
 * installed system that keeps its key. */
void phx_start_used(struct phx_apply *a, struct phx_node *n);
/** No start is awaited any more. Does nothing in older journals (settings.tokens is false). */
void phx_start_over(struct phx_apply *a, struct phx_node *n);
/** Step enter is issued: the node is ordered to enter its system. */
void phx_start_entered(struct phx_apply *a, struct phx_node *n);
/** The node has registered, from n->env: records whether it comes from a start that we ordered. */
void phx_start_registered(struct phx_node *n, bool new_boot);
/** As phx_start_over(), also in older journals. */
void phx_start_close(struct phx_node *n);
/** Is a start of the current step still awaited, so that the node's present key is older than it?
 * What is said under that key does not come from the machine that was started. */
bool phx_start_wants_key(const struct phx_node *n);
/** The node has registered in another boot or environment than before: ends the wait for a start
 * unless a plan goes on. */
void phx_start_arrived(struct phx_apply *a, struct phx_node *n);

/* lost.c: silent machines that may have lost their key */
/** Somebody asks for the silent node's certificate from its address, without its key, and that is
 * noted. */
void phx_lost_claimed(struct phx_apply *a, struct phx_node *n);
/** A person lets a node in again that was claimed: awaits a start of it. Does nothing for other
 * nodes. */
void phx_lost_accept(struct phx_apply *a, struct phx_node *n);
/** The node is missing from now on. */
void phx_lost_missing(struct phx_apply *a, struct phx_node *n);
/** The node is heard. */
void phx_lost_over(struct phx_apply *a, struct phx_node *n);
/** Starts a node again that has been silent for as long as the settings say. */
void phx_lost_tick(struct phx_apply *a, struct phx_node *n);

/* handover.c */
/** Begins the plan, whose contents are taken: `plan` is empty afterwards. Always 0. */
int phx_handover_begin(struct phx_apply *a, struct phx_node *n, struct phx_plan *plan,
		       enum phx_request request);
/** Gives the step's next attempt a new nonce, so that no remembered answer of the agent fits it. */
void phx_step_renew(struct phx_apply *a, struct phx_step *step);

/* attest.c */
/** Writes into `act` the owners before and after the node's erase. */
void phx_erase_owners(const struct phx_apply *a, const struct phx_node *n, struct phx_action *act);
/** The plan's last erase is done: leaves the action that makes the attestation of the hand-over, if
 * the plan attests. Call it before the node forgets whose data it held. */
void phx_attest(struct phx_apply *a, const struct phx_node *n);

/** Was the node switched off and on, or reset, between its former system and its first erase? */
bool phx_was_power_cycled(const struct phx_node *n);

/* rekey.c */
/** Why the answer to a step rekey does not count; NULL: it does. */
const char *phx_rekey_fault(const struct phx_node *n, const struct phx_step *step);

/* tpm.c */
/** Why the TPM's signature, or the lack of one, leaves the erase unproven; NULL: it does not. */
const char *phx_tpm_fault(const struct phx_node *n, const struct phx_event_answer *p);
/** The erase counts: records the TPM that signed it as the node's from now on. */
void phx_tpm_keep(struct phx_apply *a, const struct phx_event_answer *p, struct phx_node *n);

/* turn.c: where a node stands in the line in which it is rebooted; nothing for other nodes. Whose
 * turn has come then begins at the end of the event (line.c). */
/** How the reason of a node begins whose reboot failed. */
extern const char phx_reboot_failed[];
/** The node leaves its line. True: it was waiting for its turn. */
bool phx_line_leave(struct phx_apply *a, struct phx_node *n);
/** A plan of the node has come to its end. */
void phx_line_done(struct phx_apply *a, struct phx_node *n);
/** The node was given up: where that is its reboot, no other begins any more. */
void phx_line_lost(struct phx_apply *a, struct phx_node *n, const char *why);
/** The node is heard again. */
void phx_line_look(struct phx_apply *a, const struct phx_node *n);
/** The node has not come back: it is out of service now, and keeps role and data. */
void phx_reboot_given_up(struct phx_apply *a, struct phx_node *n, const char *why);

/* edit.c */
/** Does nobody else have these MAC addresses and this address ("": none)? `name`: the node that is
 * to have them. -EINVAL, -EEXIST with a text. */
int phx_identity_free(struct phx_apply *a, const char *name, const struct phx_list *macs,
		      const char *ip);

/* steps.c */
/** Appends a step to a plan that is being made, for phx_handover_begin(). -ENOMEM, which sticks. */
int phx_steps_add(struct phx_apply *a, struct phx_plan *plan, enum phx_step_kind kind,
		  const char *role);
/** Inserts a step of `kind` at place `at` of the plan; invalidates pointers to its steps. NULL: no
 * memory, which sticks. */
struct phx_step *phx_steps_insert(struct phx_apply *a, struct phx_node *n, uint32_t at,
				  enum phx_step_kind kind);

/* erase_instead.c */
/** A step that was to destroy what jobs left has failed for good: replaces the rest of the plan by
 * erasing the disks. False: that is not possible. */
bool phx_erase_instead(struct phx_apply *a, struct phx_node *n, struct phx_step *failed,
		       const char *why);

/** The row of a step. */
static inline const struct phx_step_info *info_of(const struct phx_step *s)
{
	return phx_step_info((enum phx_step_kind)s->kind);
}

/* way_out.c: how a plan leaves the system that its node runs */
/** The step of the plan that ends what runs on the machine, by a power cycle; NULL: there is none,
 * or a step before it has to be believed. A kexec is one between two owners: a power cycle may
 * replace it. */
struct phx_step *phx_way_out(const struct phx_node *n);
/** The deadline of an attempt at the step that begins now. A step that a director has to confirm
 * waits for the drain grace of its role. */
int64_t phx_step_due_ms(const struct phx_apply *a, const struct phx_node *n,
			const struct phx_step *step);
/** May steps of the node's agent before that be left out? */
bool phx_cut_follows(const struct phx_state *s, const struct phx_node *n);

/* take_back.c: hand-overs that do not wait for an agent that refuses */
/** The current step is not done by the node's agent: leaves it out if the plan goes on with a power
 * cycle, and ends the node's job. The caller advances the plan. False: nothing is done. */
bool phx_take_back(struct phx_apply *a, struct phx_node *n, struct phx_step *step, const char *why);
/** The same for a current step that the node cannot do: it is silent, or not in its system. */
bool phx_take_back_gone(struct phx_apply *a, struct phx_node *n, struct phx_step *step);
/** Turns a step that leads into the deploy environment into a power cycle. */
void phx_step_cut(struct phx_apply *a, struct phx_step *step);

/* role_update.c: an update that failed; and phx_handover_*() of handover.c */
/** A plan begins. If it updates the node's role in place, records in it the version that the node
 * may go back to. */
void phx_update_prepare(struct phx_apply *a, struct phx_node *n);
/** The step has failed for good. True: the node goes back to its former version, and its plan goes
 * on. */
bool phx_update_go_back(struct phx_apply *a, struct phx_node *n, struct phx_step *failed,
			const char *why);
/** The plan has ended: notes it if the node went back to its former version. */
void phx_update_gone_back(struct phx_apply *a, struct phx_node *n);
/** The current step is done. */
void phx_handover_done(struct phx_apply *a, struct phx_node *n);
/** The current attempt failed: tries again, or, after the last attempt, does what the step's row
 * says (aborts, falls back, erases, leaves the step out, quarantines). */
void phx_handover_failed(struct phx_apply *a, struct phx_node *n, const char *why);
/** Drops the plan, whose steps have changed nothing yet: the node returns to its former state. */
void phx_handover_abort(struct phx_apply *a, struct phx_node *n, const char *why);

/* order_jobs.c: jobs that an order would end */
/** Writes into the plan of the order: who ordered it, the grace of the node's job, and the expected
 * time until that job ends. `from`: the role that the node runs; may be NULL. */
void phx_order_jobs_plan(const struct phx_state *s, const struct phx_node_order *o,
			 const struct phx_role *from, struct phx_plan *plan);
/** The hand-over of `n` begins: kills its job if no step drain waits for it, unless the request is
 * a drain. */
void phx_order_jobs_begin(struct phx_apply *a, struct phx_node *n);
/** Must step drain of `n` wait, for a job or for an external engine? If so, its deadline becomes
 * the time of the next check. */
bool phx_order_jobs_wait(struct phx_apply *a, struct phx_node *n, struct phx_step *step);
/** The machine of `n` is about to be power cycled: kills its job, if it has one that was not told
 * to end yet. */
void phx_order_jobs_end(struct phx_apply *a, const struct phx_node *n);

/* keys.c */
/** Gives the key that a step of a beginning plan will make its final name. */
void phx_key_name(const struct phx_node *n, struct phx_step *step);
/** Orders the destruction of a key that no node uses any more, again and again until it is
 * confirmed. Idempotent; "" is no key. */
void phx_key_doom(struct phx_apply *a, const char *key_id);
/** The plan is given up. If its key is just being made, that key may exist: dooms it. */
void phx_key_doom_unsure(struct phx_apply *a, const struct phx_node *n);
/** Takes the key store's answer for a doomed key (event: name, result). -ESTALE: no such key is
 * doomed. */
int phx_key_gone(struct phx_apply *a, const struct phx_event_answer *p);

/* director.c */
/** Does a director serve, up or not? */
bool phx_director_there(const struct phx_state *s);
/** The next director behind `after` that is up. */
const struct phx_node *phx_director_heard(const struct phx_state *s, const struct phx_node *after);
/** Is this director silent, so that it may still have its addresses? If its role has a fence, no
 * other one gets them before it is seen off. False for NULL. */
bool phx_director_in_the_way(const struct phx_state *s, const struct phx_node *n);
/** The node of that name, if it is a director; it need not be up. NULL: it is none, or "". */
struct phx_node *phx_director_named(const struct phx_state *s, const char *name);
/** Switches such a director off if another one is up to take its place. */
void phx_director_fence(struct phx_apply *a, struct phx_node *silent);
/* share.c */
/** Does the node have an address now, where they are shared? */
bool phx_share_has_any(const struct phx_state *s, const struct phx_node *n);
/** Shares the addresses. */
void phx_share_settle(struct phx_apply *a);
/** A node is heard: if it is a director that was to be switched off, it need not be any more. */
void phx_fence_over(struct phx_apply *a, struct phx_node *n);

/* request.c */
/** For a serving node that waits in the deploy environment: deploys its system in memory again, or
 * quarantines the node if its system should be on a disk. Does nothing for other nodes. */
void phx_restore_system(struct phx_apply *a, struct phx_node *n);
/** For a node whose disk key was destroyed while it was away: now that it is up, finishes the
 * ordered erase and reads it back. Does nothing for other nodes. */
void phx_read_back(struct phx_apply *a, struct phx_node *n);
/** Ends the node's maintenance if it is time for that. */
void phx_maintenance_tick(struct phx_apply *a, struct phx_node *n);
/** Continues the resume of a quarantined node whose start was awaited. Does nothing for other
 * nodes. */
void phx_resume_awaited(struct phx_apply *a, struct phx_node *n);
/** The node is heard: starts its role if it was resumed while it was silent. -ENOMEM. */
int phx_resume_unserved(struct phx_apply *a, struct phx_node *n);

/* ram_system.c */
/** The machine has restarted: a system that its plan had fetched into memory is lost. */
void phx_ram_system_reset(struct phx_apply *a, struct phx_node *n);
/** Is the system lost that the plan had fetched into memory? It must then be fetched again before
 * the node enters it. */
bool phx_ram_system_lost(const struct phx_node *n);

/* facts.c */
/** Another node, not a new one, that reports the same system UUID, which is proven to be its own,
 * or in older journals may be anybody's; NULL: none. */
struct phx_node *phx_facts_twin(const struct phx_state *s, const struct phx_node *n);
/** Another node, not a new one, that reports the same system UUID, whatever is proven; NULL: none,
 * and in older journals. */
struct phx_node *phx_facts_claimant(const struct phx_state *s, const struct phx_node *n);
/** The UUID that the node reports is its own if its deploy environment came with the token of a
 * start, or when it was let in, and no other node has it or says so. */
void phx_facts_prove(struct phx_apply *a, struct phx_node *n);
/** Do the facts come from another machine under the node's name? A machine does not change its UUID
 * (faults.md 10). */
bool phx_facts_of_another(const struct phx_node *n, const struct phx_facts *facts);
/** Copies the facts into the node. One that says no UUID keeps the one that it had: else it could
 * say another one next. -ENOMEM: it keeps its former facts. */
int phx_facts_take(const struct phx_apply *a, struct phx_node *n, const struct phx_facts *facts);
/** Do the node's facts forbid that it goes into service (ambiguous disks or addresses, another
 * node's UUID)? */
bool phx_facts_unsound(struct phx_apply *a, const struct phx_node *n, struct phx_err *ret_why);

/* heard.c */
/** Ends the node's quiet time: it is heard again, or known to be missing. */
void phx_quiet_over(struct phx_node *n);

/* cause.c */
bool phx_plan_has(const struct phx_plan *p, enum phx_step_kind kind);
/** A plan is about to begin: writes its cause into it, and notes the cause if the plan erases or
 * installs. `why_erase`: whose agreement or which order wants the erase. */
void phx_say_cause(struct phx_apply *a, const struct phx_node_order *o, const char *why_erase,
		   struct phx_plan *plan);

/* order.c */
/** Finds the event's node; -ENOENT with a text. */
int phx_need_node(struct phx_apply *a, struct phx_node **ret);

/* power.c */
/** Orders the node's power off, again and again until it is seen off. */
void phx_power_off(struct phx_apply *a, struct phx_node *n);
/** Orders that the node's system ends; from now on its BMC is asked whether it is off. */
void phx_soft_begin(struct phx_apply *a, struct phx_node *n);
/** Something else decides about the node's power from now on. Does nothing for other nodes. */
void phx_soft_over(struct phx_apply *a, struct phx_node *n);
/** A BMC has answered: has the system ended, or is it too late for that? */
void phx_soft_answer(struct phx_apply *a, struct phx_node *n, const struct phx_event_answer *p);
/** Asks the BMC again if it is time for that. */
void phx_soft_tick(struct phx_apply *a, struct phx_node *n);

#endif
