/* A node: its state, identity, what it holds, and the plan it is following.
 *
 *                 accept            facts            assign
 *   (enrol) new ─────────▶ commissioning ──▶ ready ──────────▶ deploying ─▶ active
 *                                              ▲                   ▲          │ hand-over, release
 *                                              └──── cleaning ◀─ draining ◀───┘
 *   any ──▶ quarantined (fails closed)     ready, active ◀──▶ maintenance
 *
 * draining, cleaning and deploying are the phases of the steps of a plan. Pure. */
#ifndef PHX_NODE_NODE_H
#define PHX_NODE_NODE_H

#include "node/bmc.h"
#include "node/facts.h"
#include "node/role.h"
#include "node/setup.h"

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
#include "node/step.def"
#undef STEP
	PHX_STEP_COUNT_
};
extern const struct phx_enum phx_step_kind_names;

enum phx_step_executor { PHX_EXEC_AGENT, PHX_EXEC_POWER, PHX_EXEC_KEY, PHX_EXEC_CORE, PHX_EXEC_DIRECTOR };
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
struct phx_step {
	uint64_t id;
	int kind;   /* enum phx_step_kind */
	int status; /* enum phx_step_status */
	uint32_t attempt;
	uint32_t silences; /* attempts that ended because the node went silent: they do not count against it */
	uint32_t expected_ms;
	int64_t issued_ms, ended_ms, deadline_ms;
	bool started; /* boot: the BMC has done its part; what registered before that was another start */
	bool turned_up; /* boot: a new start has registered before the BMC was done; counts when it is heard afterwards */
	char role[PHX_NAME_MAX]; /* the role it is about: the old one for drain..leave, else the new */
	bool former; /* of that role, as it was before an update: plan.from_identity */
	char disk[160];		 /* wipe, image: disk id */
	int method;		 /* wipe: enum phx_wipe_method */
	char key_id[PHX_NAME_MAX]; /* keys, image with encryption, crypto wipe; "new" in a plan that is only printed */
	char error[256];	 /* of the last failed attempt */
};
extern const struct phx_record phx_step_record;

/** Three tiers of a hand-over, the cheapest that satisfies the agreement is taken (design.md). */
enum phx_tier { PHX_TIER_NONE, PHX_TIER_IN_PLACE, PHX_TIER_DEPLOY, PHX_TIER_KEXEC, PHX_TIER_POWER };
extern const struct phx_enum phx_tier_names;

/** What a node is doing and what for. No steps = idle. */
struct phx_plan {
	uint64_t epoch;
	int tier;
	int from_state; /* enum phx_node_state: where it was when the plan began */
	int64_t started_ms;
	uint32_t cursor;  /* steps before it are done */
	uint32_t repairs; /* steps that were put in to bring the node back to where a step needs it */
	uint32_t expected_ms;
	char to_role[PHX_NAME_MAX]; /* "" = release */
	char to_pool[PHX_NAME_MAX];
	char from_pool[PHX_NAME_MAX];
	char request[32]; /* "assign", "release", "rebuild", "wipe", "resume", "drain", "cancel" */
	char reason[200]; /* why this tier */
	char by[PHX_NAME_MAX]; /* who ordered it; "" = nobody, or before that was noted */
	bool waits;	  /* the step drain begins when the node's job has ended: by itself, or at kill_at_ms */
	bool has_grace;	  /* so long it is waited for, and then it is killed; without: until it has ended */
	uint32_t grace_ms;
	int64_t kill_at_ms; /* 0 = it is not waited for yet, or without an end */
	char from_identity[200]; /* an update in place: the version that the role goes back to if it fails; "" none */
	char back[200];	  /* it has failed, and goes back: why */
	char cause[256];  /* who wants it, and whose agreement says erase */
	struct phx_list steps; /* struct phx_step */
};
extern const struct phx_record phx_plan_record;

/** How the ledger of the runtime environments (ledger/ledger.h) counts a node. */
enum phx_node_share {
	PHX_SHARE_OUTSIDE, /* not at all: given by hand, pinned, broken, silent */
	PHX_SHARE_FREE,
	PHX_SHARE_HELD,	   /* by an RE */
	PHX_SHARE_COMING,  /* on its way to an RE, or to the free pool */
	PHX_SHARE_AWAY,	   /* held by an RE that counts on it, though it is not heard or starts again */
};
extern const struct phx_enum phx_node_share_names;

struct phx_mac {
	char mac[PHX_MAC_MAX];
};
extern const struct phx_record phx_mac_record;

/** A word of people's about a node, such as rack=3. Both parts are names (phx_name_valid()), short enough that
 * "@KEY=VALUE" is a group of a node list. */
struct phx_label {
	char key[32];
	char value[32];
};
extern const struct phx_record phx_label_record;
#define PHX_LABELS_MAX 32

/** An RE that a node cannot be handed over to. (Two of one role may differ: in how they want it erased.) */
struct phx_unfit {
	char re[PHX_NAME_MAX];
	char why[160];
};
extern const struct phx_record phx_unfit_record;

struct phx_node {
	char name[PHX_NAME_MAX];
	uint32_t number; /* stable, counts from 1 */
	int state;	 /* enum phx_node_state */
	char reason[256]; /* why quarantined or in maintenance */
	char pool[PHX_NAME_MAX]; /* "" while in none: new, quarantined */
	char role[PHX_NAME_MAX]; /* wanted */
	struct phx_list labels; /* struct phx_label, by key */
	bool pinned;
	bool accepted;
	bool hold;	/* announced, but still wants `phx node accept` */
	bool asked;	/* its agent has asked for a certificate */
	char token_sha256[65];
	/* identity */
	struct phx_list macs; /* struct phx_mac; the first is the boot NIC */
	char serial[64];
	char uuid[40];
	char ip[46];
	char key_fp[72];  /* fingerprint of the enrolled key */
	bool window;	  /* one new key will be certified: opened by our own power or kexec order */
	int64_t window_until_ms; /* then it closes by itself */
	int64_t refused_ms; /* when it was last told that somebody who is not it asked for its certificate; 0 = never */
	bool unserved; /* out of maintenance while silent, and what it is to do did not run: begun as soon as it is heard */
	bool awaited; /* resume was ordered, and somebody has to start it by hand: it may come while the window is open */
	struct phx_bmc bmc;
	/* liveness */
	int env; /* enum phx_node_env */
	bool up;
	bool quiet; /* up, but not heard for long enough to be given no new requests by the balancers */
	int64_t rests_until_ms; /* quiet: then they take it out; 0 = they have */
	int64_t up_since_ms, missing_since_ms;
	char boot_id[40];
	char address[64];
	int power; /* enum phx_power_known, as last observed */
	bool off_wanted;	/* quarantined with a failed cleaning, or a director in the way of its successor: off, until it is seen off */
	int64_t off_again_ms;	/* when it is told so again */
	char cut_by[PHX_NAME_MAX]; /* who had its power switched under what it runs, until that is known to be gone; "" */
	bool inspect; /* its facts were asked for again and have not come yet */
	/* what it holds */
	char system_image[PHX_NAME_MAX]; /* installed on disk */
	char system_digest[65];
	char system_disk[160];
	char disk_key_id[PHX_NAME_MAX]; /* root is encrypted with it */
	bool key_unread;	/* key destroyed while the node was dead: read back before use */
	bool dirty;		/* disks hold a tenant's data */
	char tenant[PHX_NAME_MAX]; /* owner of that data */
	char tenant_pool[PHX_NAME_MAX]; /* the pool it was written in: whose setup policy counts */
	bool mixed;	/* data of earlier tenants lies beneath, handed over without an erase */
	bool owes_wipe; /* an agreement wants that data erased before another owner has the node */
	bool plain;	/* part of it lies on the system disk outside any encryption: no key's end erases it */
	char actual_role[PHX_NAME_MAX]; /* as reported */
	char actual_identity[200]; /* phx_role_identity() as reported */
	bool healthy;
	char health_text[160];
	uint32_t jobs_running;
	int share; /* enum phx_node_share */
	char share_re[PHX_NAME_MAX];   /* HELD, COMING, AWAY: the RE; "" = the free pool */
	char share_from[PHX_NAME_MAX]; /* COMING: the RE it leaves; "" = the free pool */
	uint64_t share_job; /* HELD: the RE's job it is counted busy with, also when its own part has ended; 0 = idle */
	int64_t away_since_ms, away_until_ms; /* AWAY: then its RE gives it up; 0 = a plan brings it back */
	char gave_up[200]; /* why its RE counts on it no more, until something is done with it; "" = nothing of the kind */
	struct phx_list unfit_for; /* struct phx_unfit: REs that it cannot go to, until it or they tell news; by others it is counted on */
	bool unfit; /* in snapshots of before it was so for all REs alike: read, and not asked for */
	uint64_t epoch;
	struct phx_facts facts;
	struct phx_plan plan;
};
extern const struct phx_record phx_node_record;

/** Is the state one of a plan's phases? */
bool phx_node_state_transient(enum phx_node_state s);
/** Whether `to` may follow `from` (table of design.md); quarantined may follow any. */
bool phx_node_state_may(enum phx_node_state from, enum phx_node_state to);
/** Current step, NULL when idle. */
struct phx_step *phx_node_step(const struct phx_node *n);
bool phx_node_has_mac(const struct phx_node *n, const char *mac);
/** Will whoever asks first with its MAC address be given its certificate? Nothing else is known of the machine: no token,
 * no address of its own, no serial number, and no key yet. */
bool phx_node_by_mac_alone(const struct phx_node *n);

/* ---- planning ---- */

#define PHX_SYSTEM_DISK_MIN (1ULL << 30)

struct phx_plan_request {
	const struct phx_node *node;
	const struct phx_role *from; /* what the node runs now; NULL = nothing */
	const struct phx_role *to;   /* NULL = release to the free pool */
	const char *to_pool;
	struct phx_setup setup; /* effective: what must be done now; method AUTO is resolved here */
	bool agreed;		/* the method is an agreement's, nobody ordered it for this node: where `crypto` has no key
				 * to destroy, a plain disk gets the best method it can do */
	bool encrypt;		/* deploy the root encrypted */
	bool rebuild;		/* write the image even if it is there */
	bool power_cycle;	/* prove clean from reset: no kexec */
	bool deploy_env_only;	/* resume from quarantine: end in the deploy initramfs */
};

/** `plan_handover(from, to, setup policy, node facts) → steps`: pure, the same for --dry-run and the daemon.
 * ret (caller owns: phx_record_fini(&phx_plan_record, ret)) has no ids and epoch 0.
 * An encrypted node that is down and has no BMC, to be erased and given no role: the plan is `destroy_key` alone, tier
 * none; it leaves key_unread behind, and no further step when that is so already.
 * -EOPNOTSUPP a disk cannot do the method (names disk and what it can do), -EHOSTUNREACH the node must be
 * booted and has no BMC, -EINVAL the facts are ambiguous (two disks of one id), -ENODEV no disk. Zero steps = nothing to do. */
int phx_plan_handover(const struct phx_plan_request *q, struct phx_plan *ret, struct phx_err *err);

/** The steps that take `role`'s work off a node that goes on running it (maintenance): none where it has no jobs and
 * no balancer. Added to plan->steps, and their time. -ENOMEM. */
int phx_plan_drain(const struct phx_role *role, struct phx_plan *plan);

/** Which disk a system is installed on: the one that holds it already, else the smallest fixed, writable disk of at
 * least PHX_SYSTEM_DISK_MIN; by id among equals. NULL when there is none. */
const struct phx_disk_facts *phx_plan_system_disk(const struct phx_node *n);

#endif
