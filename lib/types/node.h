/* A node: its state, its identity, the system and data on it, and its plan.
 *
 *                 accept            facts            assign
 *   (enrol) new ─────────▶ commissioning ──▶ ready ──────────▶ deploying ─▶ active
 *                                              ▲                   ▲          │ hand-over, release
 *                                              └──── cleaning ◀─ draining ◀───┘
 *   any ──▶ quarantined (fails closed)     ready, active ◀──▶ maintenance
 *
 * draining, cleaning and deploying are the phases of the steps of a plan. Pure. */
#ifndef PHX_TYPES_NODE_H
#define PHX_TYPES_NODE_H

#include "base/identity.h"
#include "types/bmc.h"
#include "types/check.h"
#include "types/facts.h"
#include "types/role.h"
#include "types/setup.h"

enum phx_node_state {
	PHX_NODE_NEW,
	PHX_NODE_COMMISSIONING,
	PHX_NODE_READY,
	PHX_NODE_DEPLOYING,
	PHX_NODE_ACTIVE,
	PHX_NODE_DRAINING,
	PHX_NODE_CLEANING,
	PHX_NODE_QUARANTINED,
	PHX_NODE_MAINTENANCE,
};
extern const struct phx_enum phx_node_state_names;

/** Where the agent of a node runs, by its last report. */
enum phx_node_env { PHX_ENV_NONE, PHX_ENV_DEPLOY, PHX_ENV_OS };
extern const struct phx_enum phx_node_env_names;

enum phx_step_kind {
#define STEP(name, ...) PHX_STEP_##name,
#include "types/step.def"
#undef STEP
	PHX_STEP_COUNT_
};
extern const struct phx_enum phx_step_kind_names;

enum phx_step_executor {
	PHX_EXEC_AGENT,
	PHX_EXEC_POWER,
	PHX_EXEC_KEY,
	PHX_EXEC_CORE,
	PHX_EXEC_DIRECTOR
};
enum phx_step_needs { PHX_NEEDS_NOWHERE, PHX_NEEDS_OS, PHX_NEEDS_DEPLOY };
enum phx_step_on_fail {
	PHX_ON_FAIL_ABORT,
	PHX_ON_FAIL_FALLBACK,
	PHX_ON_FAIL_QUARANTINE,
	PHX_ON_FAIL_ERASE,
	PHX_ON_FAIL_CUT
};

/** A row of step.def. */
struct phx_step_info {
	const char *name;
	enum phx_node_state phase;
	enum phx_step_executor executor;
	enum phx_step_needs needs;
	uint32_t deadline_s;
	uint32_t attempts;
	uint32_t expected_ms;
	enum phx_step_on_fail on_fail;
	const char *text;
};
const struct phx_step_info *phx_step_info(enum phx_step_kind kind);
/** Does a step of that kind start the machine anew, into the deploy environment? */
bool phx_step_starts(int kind);
/** Does the agent end with it, so that it is over when the node registers, and not by an answer? */
bool phx_step_leaves(int kind);
/** Is a step of that kind one of a check? ret_part (may be NULL): of what. */
bool phx_step_checks(int kind, enum phx_check_part *ret_part);

/* FAILED: the last attempt failed, too, or there was none, and the plan continued otherwise */
enum phx_step_status { PHX_STEP_PENDING, PHX_STEP_ISSUED, PHX_STEP_DONE, PHX_STEP_FAILED };
extern const struct phx_enum phx_step_status_names;

/** One idempotent act on a node. `id` is unique in the journal; 0 in a plan that is only
 * printed. */
#define PHX_STEP_FIELDS(F, S) \
	F(S, id, U64) \
	F(S, kind, ENUM(phx_step_kind)) \
	F(S, status, ENUM(phx_step_status)) \
	F(S, attempt, U32) \
	/* the head's random number for the attempt, which the agent's answer repeats: an answer \
	 * prepared before the attempt cannot know it. If the head only lost sight of an attempt, \
	 * the next one keeps the number. 0 = none: an older journal */ \
	F(S, nonce, U64) \
	/* attempts that ended because the node went silent; they do not count as failures */ \
	F(S, silences, U32) \
	F(S, expected_ms, U32) \
	F(S, issued_ms, I64) \
	F(S, ended_ms, I64) \
	F(S, deadline_ms, I64) \
	/* boot: the BMC has done its part; an agent that registered earlier belongs to a previous \
	 * start */ \
	F(S, started, BOOL) \
	/* boot: an agent registered before the BMC was done; it counts if it is heard \
	 * afterwards */ \
	F(S, turned_up, BOOL) \
	/* the step's role: the old role for drain..leave, else the new one */ \
	F(S, role, STR(PHX_NAME_MAX)) \
	F(S, former, BOOL)   /* the role as it was before an update: plan.from_identity */ \
	F(S, disk, STR(160)) /* wipe, image: disk id */ \
	F(S, method, ENUM(phx_wipe_method)) /* wipe */ \
	/* wipe: the plan chose the method: if the drive does not keep its promise, discard or \
	 * overwriting may replace it */ \
	F(S, or_less, BOOL) \
	F(S, verify, ENUM(phx_verify)) /* wipe */ \
	/* keys, image with encryption, crypto wipe; "new" in a plan that is only printed */ \
	F(S, key_id, STR(PHX_NAME_MAX)) \
	F(S, seconds, U32)    /* check_...: for how long */ \
	F(S, writes, BOOL)    /* check_disk: the disk is written, too */ \
	F(S, error, STR(256)) /* text of the last failed attempt */
PHX_RECORD_STRUCT(phx_step, PHX_STEP_FIELDS);

/** Tiers of a hand-over; the cheapest that satisfies the agreement is taken (design.md). */
enum phx_tier { PHX_TIER_NONE, PHX_TIER_IN_PLACE, PHX_TIER_DEPLOY, PHX_TIER_KEXEC, PHX_TIER_POWER };
extern const struct phx_enum phx_tier_names;

/** The request that a plan serves. */
enum phx_request {
	PHX_REQUEST_NONE, /* "" */
#define REQUEST(name) PHX_REQUEST_##name,
#include "types/request.def"
#undef REQUEST
};
extern const struct phx_enum phx_request_names;

/** What a node does at present, and why. No steps = idle. */
#define PHX_PLAN_FIELDS(F, S) \
	F(S, epoch, U64) \
	F(S, tier, ENUM(phx_tier)) \
	F(S, from_state, ENUM(phx_node_state)) /* the node's state when the plan began */ \
	F(S, started_ms, I64) \
	F(S, cursor, U32) /* steps before it are done */ \
	/* number of steps inserted to bring the node back to where a step needs it */ \
	F(S, repairs, U32) \
	F(S, expected_ms, U32) \
	F(S, to_role, STR(PHX_NAME_MAX)) /* "" = release */ \
	F(S, to_pool, STR(PHX_NAME_MAX)) \
	F(S, from_pool, STR(PHX_NAME_MAX)) \
	F(S, request, ENUM(phx_request)) \
	F(S, reason, STR(200))      /* why this tier */ \
	F(S, by, STR(PHX_NAME_MAX)) /* who ordered it; "" = no person, or an older journal */ \
	/* the step drain begins when the node's job has ended: by itself, or killed at \
	 * kill_at_ms */ \
	F(S, waits, BOOL) \
	/* the job is killed after grace_ms; without grace the plan waits until the job ends */ \
	F(S, has_grace, BOOL) \
	F(S, grace_ms, U32) \
	F(S, kill_at_ms, I64) /* 0 = the wait has not begun, or has no end */ \
	/* update in place: the version to go back to if it fails; "" none */ \
	F(S, from_identity, TEXT) \
	F(S, back, TEXT)  /* the update failed and the role goes back: why */ \
	F(S, cause, TEXT) /* who wants the plan, and whose agreement asks for an erase */ \
	/* the requirements on its erases, by which they are planned again: node/wipes.h */ \
	F(S, erase, REC(phx_setup)) \
	F(S, agreed, BOOL) \
	F(S, looks, BOOL) \
	F(S, attests, BOOL) \
	F(S, measures, BOOL) /* looks, attests, measures: the settings when the plan was made */ \
	F(S, apart, BOOL)    /* its erases are between two owners: only for a fresh agent */ \
	F(S, left, LIST(phx_left_disk)) /* that it does not erase, for they are protected */ \
	/* what the step layout makes, or opens if it is there already */ \
	F(S, layout, REC(phx_layout)) \
	F(S, keeps_layout, BOOL) \
	F(S, steps, LIST(phx_step))
PHX_RECORD_STRUCT(phx_plan, PHX_PLAN_FIELDS);

/** How the ledger of the REs (ledger/ledger.h) counts a node. */
enum phx_node_allocation {
	PHX_ALLOCATION_OUTSIDE, /* not counted: given by hand, pinned, broken, silent */
	PHX_ALLOCATION_FREE,
	PHX_ALLOCATION_HELD,   /* held by an RE */
	PHX_ALLOCATION_COMING, /* on its way to an RE, or to the free pool */
	/* held by an RE that waits for it: it is silent, or starts again */
	PHX_ALLOCATION_AWAY,
};
extern const struct phx_enum phx_node_allocation_names;

#define PHX_MAC_FIELDS(F, S) F(S, mac, STR(PHX_MAC_MAX))
PHX_RECORD_STRUCT(phx_mac, PHX_MAC_FIELDS);

#define PHX_NODE_MACS_MAX 64 /* MAC addresses of one machine */

/** The TPM that signed for a node, as the head last verified it. */
#define PHX_NODE_TPM_FIELDS(F, S) \
	F(S, key, STR(72))  /* fingerprint */ \
	F(S, resets, U32)   /* its count of the machine's resets */ \
	F(S, pcrs, STR(65)) /* digest of the PCRs that say what was started */ \
	F(S, epoch, U64)    /* of the plan at that time */
PHX_RECORD_STRUCT(phx_node_tpm, PHX_NODE_TPM_FIELDS);

/** A label that people give a node, such as rack=3. Both parts are names (phx_name_valid()), short
 * enough that "@KEY=VALUE" is a group of a node list. */
#define PHX_LABEL_FIELDS(F, S) \
	F(S, key, STR(32)) \
	F(S, value, STR(32))
PHX_RECORD_STRUCT(phx_label, PHX_LABEL_FIELDS);
#define PHX_LABELS_MAX 32

/** An RE to which the node cannot be handed over. (It may fit another RE of the same role that
 * wants another erase.) */
#define PHX_UNFIT_FIELDS(F, S) \
	F(S, re, STR(PHX_NAME_MAX)) \
	F(S, why, STR(160))
PHX_RECORD_STRUCT(phx_unfit, PHX_UNFIT_FIELDS);

/** What a person noted of a node, for others. */
#define PHX_NODE_NOTE_FIELDS(F, S) \
	F(S, at_ms, I64) \
	F(S, by, STR(PHX_NAME_MAX)) \
	F(S, text, STR(256))
PHX_RECORD_STRUCT(phx_node_note, PHX_NODE_NOTE_FIELDS);
/** A further one takes the place of the oldest. */
#define PHX_NOTES_MAX 16

#define PHX_NODE_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, number, U32) /* stable, counts from 1 */ \
	F(S, state, ENUM(phx_node_state)) \
	F(S, reason, STR(256))           /* why quarantined or in maintenance */ \
	F(S, pool, STR(PHX_NAME_MAX))    /* "" while in no pool: new, quarantined */ \
	F(S, role, STR(PHX_NAME_MAX))    /* the wanted role */ \
	F(S, labels, LIST(phx_label))    /* by key */ \
	F(S, notes, LIST(phx_node_note)) /* the newest last */ \
	F(S, pinned, BOOL) \
	F(S, accepted, BOOL) \
	F(S, hold, BOOL)  /* announced, but still needs `phx node accept` */ \
	F(S, asked, BOOL) /* its agent has asked for a certificate */ \
	F(S, token_sha256, STR(65)) \
	/* identity */ \
	F(S, macs, LIST(phx_mac)) /* the first is the boot NIC */ \
	F(S, serial, STR(64)) \
	F(S, uuid, STR(40)) \
	/* what a deploy environment saw after a start that the head ordered, or when the machine \
	 * was let in (node/facts.c): no other node has the same; "" = not known */ \
	F(S, proven_uuid, STR(40)) \
	F(S, ip, STR(46)) \
	F(S, key_fp, STR(72)) /* fingerprint of the enrolled key */ \
	/* brought: that key was certified by the token of a start; fresh: moreover, the machine \
	 * has registered with it from the deploy environment and been in no other since, so \
	 * nobody who was root on it before still has access */ \
	F(S, brought, BOOL) \
	F(S, fresh, BOOL) \
	/* the machine was not reset since the head ordered a kexec, which goes through the system \
	 * of its owner: what is fresh may still be no more than his word */ \
	F(S, by_kexec, BOOL) \
	F(S, rekeyed, U64) /* the step rekey that gave it that key; 0 = none did */ \
	/* one new key will be certified: our own power or kexec order opened the window */ \
	F(S, window, BOOL) \
	F(S, window_until_ms, I64) /* when the window closes by itself */ \
	/* the start whose token the new key must show; 0 = no window, or one that an older head \
	 * opened, which needs no token */ \
	F(S, start, U64) \
	/* when people were last told that another machine asked for its certificate; 0 = \
	 * never */ \
	F(S, refused_ms, I64) \
	/* silent: when it was last noted that somebody asked for its certificate from its own \
	 * address, without its key; 0 = nobody did (node/lost.c) */ \
	F(S, claimed_ms, I64) \
	F(S, restart_at_ms, I64) /* silent: when the head starts it again by itself; 0 = never */ \
	/* left maintenance without a running role, while silent or outside its system: the role \
	 * starts as soon as the node is heard there */ \
	F(S, unserved, BOOL) \
	/* resume was ordered and a person has to start the machine: it may register while the \
	 * window is open */ \
	F(S, awaited, BOOL) \
	F(S, bmc, REC(phx_bmc)) \
	/* liveness */ \
	F(S, env, ENUM(phx_node_env)) \
	F(S, up, BOOL) \
	/* up, but not heard for so long that the balancers give it no new requests */ \
	F(S, quiet, BOOL) \
	F(S, rests_until_ms, I64) /* quiet: when the balancers take it out; 0 = they have */ \
	F(S, up_since_ms, I64) \
	F(S, missing_since_ms, I64) \
	F(S, boot_id, STR(40)) \
	/* what it was started with, by its agent's word: phx_kernel_word() */ \
	F(S, kernel_word, TEXT) \
	F(S, echoes, \
	  BOOL) /* its agent answers with nonces; false: an older one, or never heard */ \
	F(S, rekeys, \
	  BOOL) /* its agent knows the step rekey; false: an older one, or never heard */ \
	F(S, scratches, BOOL) /* the same of the step scratch */ \
	F(S, protects, BOOL)  /* the same of protected disks */ \
	F(S, kernels, BOOL)   /* the same of kernels of images */ \
	F(S, layouts, BOOL)   /* the same of layouts of disks */ \
	F(S, shares, BOOL)    /* the same of addresses that several directors share */ \
	F(S, checker, BOOL)   /* the same of the steps of a check */ \
	F(S, address, STR(64)) \
	F(S, power, ENUM(phx_power_state)) /* as last observed */ \
	/* quarantined after a failed cleaning, or a director in the way of its successor: powered \
	 * off repeatedly until it is seen off */ \
	F(S, off_wanted, BOOL) \
	F(S, off_again_ms, I64) /* when power off is ordered again */ \
	/* its system was asked to end (node/power.c): when, until when that may take, and when \
	 * its BMC is asked next; 0 = it was not */ \
	F(S, soft_since_ms, I64) \
	F(S, soft_until_ms, I64) \
	F(S, soft_again_ms, I64) \
	F(S, soft_taken, BOOL) /* the BMC has taken that order */ \
	/* why that did not switch it off, until its power is switched; "" = nothing failed */ \
	F(S, soft_failed, TEXT) \
	/* who switched the power while the node ran work, until that work is known to be gone; "" \
	 * = nobody */ \
	F(S, cut_by, TEXT) \
	F(S, maintained_until_ms, I64) /* when its maintenance ends by itself; 0 = never */ \
	/* the line in which it is to be rebooted (state.lines), and whether its turn is to come; \
	 * 0 = none */ \
	F(S, line, U64) \
	F(S, line_waits, BOOL) \
	F(S, inspect, BOOL) /* its facts were asked for again and have not come yet */ \
	/* the system and the data on it */ \
	F(S, system_image, STR(PHX_NAME_MAX)) /* installed on disk */ \
	F(S, system_digest, STR(65)) \
	/* its version, and the release of its own kernel; "": brought before these were noted, or \
	 * it has none */ \
	F(S, system_version, STR(PHX_NAME_MAX)) \
	F(S, system_kernel, STR(PHX_RELEASE_MAX)) \
	F(S, system_disk, STR(160)) \
	F(S, layout, REC(phx_layout)) /* on its other disks; no volumes: none that is known */ \
	F(S, disk_key_id, STR(PHX_NAME_MAX)) /* root is encrypted with it */ \
	F(S, key_unread, BOOL) /* key destroyed while the node was dead: read back before use */ \
	F(S, dirty, BOOL)      /* disks hold a tenant's data */ \
	F(S, tenant, STR(PHX_IDENTITY_MAX)) /* owner of that data */ \
	/* the pool in which that data was written, whose setup policy applies */ \
	F(S, tenant_pool, STR(PHX_NAME_MAX)) \
	F(S, mixed, BOOL) /* data of earlier tenants lies beneath: handed over without an erase */ \
	/* an agreement requires that data to be erased before another owner gets the node */ \
	F(S, owes_wipe, BOOL) \
	/* the same for what jobs left in its scratch */ \
	F(S, owes_data, BOOL) \
	/* part of that data is unencrypted on the system disk: destroying a key does not erase \
	 * it */ \
	F(S, plain, BOOL) \
	F(S, ca, STR(72))                    /* the CA of the certificate that it showed */ \
	F(S, actual_role, STR(PHX_NAME_MAX)) /* as reported */ \
	F(S, actual_identity, STR(200))      /* phx_role_identity() as reported */ \
	F(S, healthy, BOOL) \
	F(S, health_text, TEXT) \
	F(S, jobs_running, U32) \
	F(S, allocation, ENUM(phx_node_allocation), WAS(share)) \
	/* HELD, COMING, AWAY: the RE; "" = the free pool */ \
	F(S, allocated_to, STR(PHX_NAME_MAX), WAS(share_re)) \
	/* COMING: the RE that the node leaves; "" = the free pool */ \
	F(S, allocated_from, STR(PHX_NAME_MAX), WAS(share_from)) \
	/* HELD: the job of the RE that keeps it busy, also when its own part has ended; 0 = \
	 * idle */ \
	F(S, allocated_job, U64, WAS(share_job)) \
	F(S, away_since_ms, I64) \
	F(S, away_until_ms, I64) /* AWAY: when its RE gives it up; 0 = a plan brings it back */ \
	/* why its RE gave it up, until the node gets another task; "" = its RE did not */ \
	F(S, gave_up, TEXT) \
	/* REs to which it cannot go, until there is news of the node or of the RE */ \
	F(S, unfit_for, LIST(phx_unfit)) \
	/* older snapshots: unfit for all REs alike; read, but never used */ \
	F(S, unfit, BOOL) \
	F(S, epoch, U64) \
	F(S, facts, REC(phx_facts)) \
	F(S, known_disks, LIST(phx_known_disk)) /* every disk with which it was ever seen */ \
	F(S, tpms, LIST(phx_node_tpm))          /* none or one */ \
	F(S, checks, LIST(phx_check)) /* what came of the last check of each part and disk */ \
	F(S, plan, REC(phx_plan))
PHX_RECORD_STRUCT(phx_node, PHX_NODE_FIELDS);

/** Was the node removed? Its place in a list of nodes is then kept for some time (state/gone.h): it
 * has no name any more, but its number. */
static inline bool phx_node_is_gone(const struct phx_node *n)
{
	return !n->name[0];
}
/** Is the state one of a plan's phases? */
bool phx_node_state_transient(enum phx_node_state s);
/** May `to` follow `from` (node_life.def)? Quarantined may follow any state. */
bool phx_node_state_may(enum phx_node_state from, enum phx_node_state to);
/** Put the node into state `to`; no other code writes a node's state. -EPROTO: `to` may not follow
 * the present state, which stays. */
int phx_node_become(struct phx_node *n, enum phx_node_state to);
/** The name of the plan's request, "" if it has none. */
static inline const char *phx_request_name(const struct phx_plan *p)
{
	return phx_enum_name(&phx_request_names, p->request);
}
/** Current step, NULL when idle. */
struct phx_step *phx_node_step(const struct phx_node *n);
/** A job ended on the node: a plan whose step drain waits for the job goes on at the next tick. */
void phx_node_job_ended(struct phx_node *n, int64_t now_ms);
/** The known disk of that id; borrowed. NULL: the node was never seen with it. */
struct phx_known_disk *phx_known_disk(const struct phx_node *n, const char *id);
bool phx_node_has_mac(const struct phx_node *n, const char *mac);
/** Has the node a BMC, that is, does its record name a driver other than "none"? */
bool phx_node_has_bmc(const struct phx_node *n);
/** Will the first machine that asks with its MAC address get its certificate? True when nothing
 * else is known of the machine: no token, no IP address, no serial number, and no key yet. */
bool phx_node_by_mac_alone(const struct phx_node *n);

#endif
