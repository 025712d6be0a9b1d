/* A node: its state, identity, what it holds, and the plan it is following.
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

#include "types/bmc.h"
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

/** Where the agent of a node last said it runs. */
enum phx_node_env { PHX_ENV_NONE, PHX_ENV_DEPLOY, PHX_ENV_OS };
extern const struct phx_enum phx_node_env_names;

/** What the BMC last said. */
enum phx_power_known { PHX_POWER_KNOWN_NOT, PHX_POWER_KNOWN_ON, PHX_POWER_KNOWN_OFF };
extern const struct phx_enum phx_power_names;

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
enum phx_step_on_fail { PHX_ON_FAIL_ABORT, PHX_ON_FAIL_FALLBACK, PHX_ON_FAIL_QUARANTINE };

/** What the table says of a kind of step. */
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

/* failed: for the last time, and the plan went another way */
enum phx_step_status { PHX_STEP_PENDING, PHX_STEP_ISSUED, PHX_STEP_DONE, PHX_STEP_FAILED };
extern const struct phx_enum phx_step_status_names;

/** One idempotent act. `id` is unique in the journal's life; 0 in a plan that is only printed. */
#define PHX_STEP_FIELDS(F, S) \
	F(S, id, U64) \
	F(S, kind, ENUM(phx_step_kind)) \
	F(S, status, ENUM(phx_step_status)) \
	F(S, attempt, U32) \
	/* attempts that ended because the node went silent: they do not count against it */ \
	F(S, silences, U32) \
	F(S, expected_ms, U32) \
	F(S, issued_ms, I64) \
	F(S, ended_ms, I64) \
	F(S, deadline_ms, I64) \
	/* boot: the BMC has done its part; what registered before that was another start */ \
	F(S, started, BOOL) \
	/* boot: a new start has registered before the BMC was done; counts when it is heard \
	 * afterwards */ \
	F(S, turned_up, BOOL) \
	/* the role it is about: the old one for drain..leave, else the new */ \
	F(S, role, STR(PHX_NAME_MAX)) \
	F(S, former, BOOL)   /* of that role, as it was before an update: plan.from_identity */ \
	F(S, disk, STR(160)) /* wipe, image: disk id */ \
	F(S, method, ENUM(phx_wipe_method)) /* wipe */ \
	/* keys, image with encryption, crypto wipe; "new" in a plan that is only printed */ \
	F(S, key_id, STR(PHX_NAME_MAX)) \
	F(S, error, STR(256)) /* of the last failed attempt */
PHX_RECORD_STRUCT(phx_step, PHX_STEP_FIELDS);

/** Three tiers of a hand-over, the cheapest that satisfies the agreement is taken (design.md). */
enum phx_tier { PHX_TIER_NONE, PHX_TIER_IN_PLACE, PHX_TIER_DEPLOY, PHX_TIER_KEXEC, PHX_TIER_POWER };
extern const struct phx_enum phx_tier_names;

/** What a node is doing and what for. No steps = idle. */
#define PHX_PLAN_FIELDS(F, S) \
	F(S, epoch, U64) \
	F(S, tier, ENUM(phx_tier)) \
	F(S, from_state, ENUM(phx_node_state)) /* where it was when the plan began */ \
	F(S, started_ms, I64) \
	F(S, cursor, U32) /* steps before it are done */ \
	/* steps that were put in to bring the node back to where a step needs it */ \
	F(S, repairs, U32) \
	F(S, expected_ms, U32) \
	F(S, to_role, STR(PHX_NAME_MAX)) /* "" = release */ \
	F(S, to_pool, STR(PHX_NAME_MAX)) \
	F(S, from_pool, STR(PHX_NAME_MAX)) \
	/* "assign", "release", "rebuild", "wipe", "resume", "drain", "cancel" */ \
	F(S, request, STR(32)) \
	F(S, reason, STR(200))      /* why this tier */ \
	F(S, by, STR(PHX_NAME_MAX)) /* who ordered it; "" = nobody, or before that was noted */ \
	/* the step drain begins when the node's job has ended: by itself, or at kill_at_ms */ \
	F(S, waits, BOOL) \
	/* so long it is waited for, and then it is killed; without: until it has ended */ \
	F(S, has_grace, BOOL) \
	F(S, grace_ms, U32) \
	F(S, kill_at_ms, I64) /* 0 = it is not waited for yet, or without an end */ \
	/* an update in place: the version that the role goes back to if it fails; "" none */ \
	F(S, from_identity, STR(200)) \
	F(S, back, STR(200))  /* it has failed, and goes back: why */ \
	F(S, cause, STR(256)) /* who wants it, and whose agreement says erase */ \
	F(S, steps, LIST(phx_step))
PHX_RECORD_STRUCT(phx_plan, PHX_PLAN_FIELDS);

/** How the ledger of the runtime environments (ledger/ledger.h) counts a node. */
enum phx_node_share {
	PHX_SHARE_OUTSIDE, /* not at all: given by hand, pinned, broken, silent */
	PHX_SHARE_FREE,
	PHX_SHARE_HELD,   /* by an RE */
	PHX_SHARE_COMING, /* on its way to an RE, or to the free pool */
	/* held by an RE that counts on it, though it is not heard or starts again */
	PHX_SHARE_AWAY,
};
extern const struct phx_enum phx_node_share_names;

#define PHX_MAC_FIELDS(F, S) F(S, mac, STR(PHX_MAC_MAX))
PHX_RECORD_STRUCT(phx_mac, PHX_MAC_FIELDS);

/** A word of people's about a node, such as rack=3. Both parts are names (phx_name_valid()), short
 * enough that "@KEY=VALUE" is a group of a node list. */
#define PHX_LABEL_FIELDS(F, S) \
	F(S, key, STR(32)) \
	F(S, value, STR(32))
PHX_RECORD_STRUCT(phx_label, PHX_LABEL_FIELDS);
#define PHX_LABELS_MAX 32

/** An RE that a node cannot be handed over to. (Two of one role may differ: in how they want it
 * erased.) */
#define PHX_UNFIT_FIELDS(F, S) \
	F(S, re, STR(PHX_NAME_MAX)) \
	F(S, why, STR(160))
PHX_RECORD_STRUCT(phx_unfit, PHX_UNFIT_FIELDS);

#define PHX_NODE_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, number, U32) /* stable, counts from 1 */ \
	F(S, state, ENUM(phx_node_state)) \
	F(S, reason, STR(256))        /* why quarantined or in maintenance */ \
	F(S, pool, STR(PHX_NAME_MAX)) /* "" while in none: new, quarantined */ \
	F(S, role, STR(PHX_NAME_MAX)) /* wanted */ \
	F(S, labels, LIST(phx_label)) /* by key */ \
	F(S, pinned, BOOL) \
	F(S, accepted, BOOL) \
	F(S, hold, BOOL)  /* announced, but still wants `phx node accept` */ \
	F(S, asked, BOOL) /* its agent has asked for a certificate */ \
	F(S, token_sha256, STR(65)) \
	/* identity */ \
	F(S, macs, LIST(phx_mac)) /* the first is the boot NIC */ \
	F(S, serial, STR(64)) \
	F(S, uuid, STR(40)) \
	F(S, ip, STR(46)) \
	F(S, key_fp, STR(72)) /* fingerprint of the enrolled key */ \
	/* one new key will be certified: opened by our own power or kexec order */ \
	F(S, window, BOOL) \
	F(S, window_until_ms, I64) /* then it closes by itself */ \
	/* when it was last told that somebody who is not it asked for its certificate; 0 = \
	 * never */ \
	F(S, refused_ms, I64) \
	/* out of maintenance while silent, and what it is to do did not run: begun as soon as \
	 * it is heard */ \
	F(S, unserved, BOOL) \
	/* resume was ordered, and somebody has to start it by hand: it may come while the \
	 * window is open */ \
	F(S, awaited, BOOL) \
	F(S, bmc, REC(phx_bmc)) \
	/* liveness */ \
	F(S, env, ENUM(phx_node_env)) \
	F(S, up, BOOL) \
	/* up, but not heard for long enough to be given no new requests by the balancers */ \
	F(S, quiet, BOOL) \
	F(S, rests_until_ms, I64) /* quiet: then they take it out; 0 = they have */ \
	F(S, up_since_ms, I64) \
	F(S, missing_since_ms, I64) \
	F(S, boot_id, STR(40)) \
	F(S, address, STR(64)) \
	F(S, power, ENUM(phx_power)) /* enum phx_power_known, as last observed */ \
	/* quarantined with a failed cleaning, or a director in the way of its successor: off, \
	 * until it is seen off */ \
	F(S, off_wanted, BOOL) \
	F(S, off_again_ms, I64) /* when it is told so again */ \
	/* who had its power switched under what it runs, until that is known to be gone; "" */ \
	F(S, cut_by, STR(PHX_NAME_MAX)) \
	F(S, inspect, BOOL) /* its facts were asked for again and have not come yet */ \
	/* what it holds */ \
	F(S, system_image, STR(PHX_NAME_MAX)) /* installed on disk */ \
	F(S, system_digest, STR(65)) \
	F(S, system_disk, STR(160)) \
	F(S, disk_key_id, STR(PHX_NAME_MAX)) /* root is encrypted with it */ \
	F(S, key_unread, BOOL) /* key destroyed while the node was dead: read back before use */ \
	F(S, dirty, BOOL)      /* disks hold a tenant's data */ \
	F(S, tenant, STR(PHX_NAME_MAX)) /* owner of that data */ \
	/* the pool it was written in: whose setup policy counts */ \
	F(S, tenant_pool, STR(PHX_NAME_MAX)) \
	F(S, mixed, BOOL) /* data of earlier tenants lies beneath, handed over without an erase */ \
	/* an agreement wants that data erased before another owner has the node */ \
	F(S, owes_wipe, BOOL) \
	/* part of it lies on the system disk outside any encryption: no key's end erases it */ \
	F(S, plain, BOOL) \
	F(S, actual_role, STR(PHX_NAME_MAX)) /* as reported */ \
	F(S, actual_identity, STR(200))      /* phx_role_identity() as reported */ \
	F(S, healthy, BOOL) \
	F(S, health_text, STR(160)) \
	F(S, jobs_running, U32) \
	F(S, share, ENUM(phx_node_share)) \
	F(S, share_re, STR(PHX_NAME_MAX))   /* HELD, COMING, AWAY: the RE; "" = the free pool */ \
	F(S, share_from, STR(PHX_NAME_MAX)) /* COMING: the RE it leaves; "" = the free pool */ \
	/* HELD: the RE's job it is counted busy with, also when its own part has ended; 0 = \
	 * idle */ \
	F(S, share_job, U64) \
	F(S, away_since_ms, I64) \
	F(S, away_until_ms, I64) /* AWAY: then its RE gives it up; 0 = a plan brings it back */ \
	/* why its RE counts on it no more, until something is done with it; "" = nothing of the \
	 * kind */ \
	F(S, gave_up, STR(200)) \
	/* REs that it cannot go to, until it or they tell news; by others it is counted on */ \
	F(S, unfit_for, LIST(phx_unfit)) \
	/* in snapshots of before it was so for all REs alike: read, and not asked for */ \
	F(S, unfit, BOOL) \
	F(S, epoch, U64) \
	F(S, facts, REC(phx_facts)) \
	F(S, plan, REC(phx_plan))
PHX_RECORD_STRUCT(phx_node, PHX_NODE_FIELDS);

/** Is the state one of a plan's phases? */
bool phx_node_state_transient(enum phx_node_state s);
/** Whether `to` may follow `from` (node_life.def); quarantined may follow any. */
bool phx_node_state_may(enum phx_node_state from, enum phx_node_state to);
/** The node is in state `to` from now on; the only way to say so. -EPROTO where that may not
 * follow: it stays what it is. */
int phx_node_become(struct phx_node *n, enum phx_node_state to);
/** Current step, NULL when idle. */
struct phx_step *phx_node_step(const struct phx_node *n);
/** A job ended on it: a step drain that waits for that in front of it goes on with the next
 * tick. */
void phx_node_job_ended(struct phx_node *n, int64_t now_ms);
bool phx_node_has_mac(const struct phx_node *n, const char *mac);
/** Can something be asked for its power: its record names a driver, and not "none". */
bool phx_node_has_bmc(const struct phx_node *n);
/** Will whoever asks first with its MAC address be given its certificate? Nothing else is known of
 * the machine: no token, no address of its own, no serial number, and no key yet. */
bool phx_node_by_mac_alone(const struct phx_node *n);

#endif
