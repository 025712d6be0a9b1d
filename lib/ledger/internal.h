/* Declarations that the files of the ledger share; used within lib/ledger only. Each file calls
 * only files before it: record.c (field tables), re.c (finds an RE, counts its nodes), meter.c
 * (sums), lease.c, grant.c (how nodes move and who may have them), check.c, allocate.c (asks
 * policies, carries out their wishes, serves all REs), and the calls: ledger.c, node.c (nodes
 * arrive, break, join), timer.c, snapshot.c (save and restore).
 *
 * A pair is a batch RE and a web RE that are each other's partner; an RE without a partner is a
 * pair by itself. Figures of a pair, in nodes:
 *   net      nodes that it holds (also away), that are coming or owed to it, less those it owes
 *   lower    sum of its lower bounds; lower - net free nodes are its reserve, for no other pair
 *   entitled sum of its upper bounds (lower where it has none): up to this sum the pair may claim
 *            lent nodes; above it the pair holds nodes by grace and gives them back on demand
 *   cap      sum of its upper bounds, no limit where it has none
 */
#ifndef PHX_LEDGER_INTERNAL_H
#define PHX_LEDGER_INTERNAL_H

#include "ledger/ledger.h"

enum re_state {
	RE_GONE, /* a free slot */
	RE_ACTIVE,
	RE_LEAVING, /* deactivated, still holds nodes */
};

/** A promise: nodes of this RE go to another RE as they come free. Oldest first. */
#define PHX_LEDGER_DEBT_FIELDS(F, S) \
	F(S, to, I64) /* RE, or PHX_LEDGER_FREE */ \
	F(S, nodes, U32) \
	F(S, reason, ENUM(phx_policy_reason))
PHX_RECORD_STRUCT(phx_ledger_debt, PHX_LEDGER_DEBT_FIELDS);

/** Under DR: dynamic nodes obtained together (003 3.5). Under job leases: nodes that a finished job
 * has paid for. A heap by (end_ms, seq). */
#define PHX_LEDGER_LEASE_FIELDS(F, S) \
	F(S, end_ms, I64) \
	F(S, seq, U64) \
	F(S, size, U32) \
	/* its own idle nodes; only where a lease releases its own (reading 16) */ \
	F(S, idle, U32)
PHX_RECORD_STRUCT(phx_ledger_lease, PHX_LEDGER_LEASE_FIELDS);

/** Nodes of a lease that a running job has; only where a lease releases its own. */
#define PHX_LEDGER_PART_FIELDS(F, S) \
	F(S, job, U64) \
	F(S, lease, U64) /* its seq */ \
	F(S, nodes, U32)
PHX_RECORD_STRUCT(phx_ledger_part, PHX_LEDGER_PART_FIELDS);

/** A job that waits for its lease (job leases), in order. */
#define PHX_LEDGER_ASK_FIELDS(F, S) \
	F(S, job, U64) \
	F(S, nodes, U32)
PHX_RECORD_STRUCT(phx_ledger_ask, PHX_LEDGER_ASK_FIELDS);

/** Nodes that cannot go to this RE, though they could by count: struct phx_ledger_barred. */
#define PHX_LEDGER_UNFIT_FIELDS(F, S) \
	F(S, from, I64) /* RE that has them, or PHX_LEDGER_FREE */ \
	F(S, nodes, U32) \
	F(S, idle, U32) /* how many of them are idle; in the free pool all are */
PHX_RECORD_STRUCT(phx_ledger_unfit, PHX_LEDGER_UNFIT_FIELDS);

/** A job that is forgotten, not queued again, when its kill is confirmed. */
#define PHX_LEDGER_GONE_FIELDS(F, S) F(S, job, U64)
PHX_RECORD_STRUCT(phx_ledger_gone, PHX_LEDGER_GONE_FIELDS);

/** One RE without the indexes of its jobs. Fields without a comment belong to policies or
 * timers. */
#define PHX_LEDGER_RE_FIELDS(F, S) \
	F(S, state, ENUM(re_state)) \
	F(S, agreement, REC(phx_agreement)) \
	F(S, partner, U32) /* number + 1; 0 none */ \
	F(S, suspended, BOOL) \
	F(S, idle, U32) /* web: held; batch: in images only */ \
	F(S, coming, U32) \
	F(S, owed, U32) \
	F(S, owed_in, U32) \
	F(S, kept, U32) /* idle nodes of job leases, reserved until the lease ends */ \
	/* silent nodes: still held, but neither idle nor busy, and not for other REs */ \
	F(S, away, U32) \
	/* nodes that the RE lost and that are replaced at once, as far as its lower bound \
	 * asks */ \
	F(S, lack, U32) \
	F(S, want, U32)  /* web */ \
	F(S, asked, U32) /* batch: nodes requested by its policy and not granted */ \
	/* the RE that asked first is served first; 0 = asks for nothing */ \
	F(S, asked_seq, U64) \
	F(S, asked_lease, BOOL) \
	F(S, asked_reason, ENUM(phx_policy_reason)) \
	F(S, cycle_open, BOOL)   /* now is an instant of the cycle: a pass may start jobs */ \
	F(S, began_ms, I64)      /* activation */ \
	F(S, last_cycle_ms, I64) /* when the cycle last ran */ \
	/* INT64_MAX while no job waits: then a cycle changes nothing */ \
	F(S, next_cycle_ms, I64) \
	F(S, next_unit_ms, I64) \
	F(S, window, REC(phx_web_window)) \
	F(S, decisions, LIST(phx_web_decision)) /* of its last windows, for display only */ \
	F(S, meter, REC(phx_ledger_meter)) \
	F(S, leased, U32)   /* sum of the sizes of leases */ \
	F(S, unleased, U32) /* sum of asks */ \
	F(S, leases, LIST(phx_ledger_lease)) \
	F(S, parts, LIST(phx_ledger_part)) \
	F(S, debts, LIST(phx_ledger_debt)) \
	F(S, asks, LIST(phx_ledger_ask)) \
	F(S, gone, LIST(phx_ledger_gone)) \
	F(S, unfit, LIST(phx_ledger_unfit)) /* each of at least one node */ \
	F(S, jobs, LIST(phx_batch_job))     /* in images only */
PHX_RECORD_STRUCT(phx_ledger_re, PHX_LEDGER_RE_FIELDS);

struct re {
	struct phx_ledger_re r;
	struct phx_batch *batch; /* NULL for a kind without jobs */
	const struct phx_re_kind *kind;
	const struct phx_policy *policy;
	struct phx_policy_params params;
	bool scoped; /* leases release their own nodes: parts are kept */
};

struct phx_ledger {
	struct phx_list res; /* struct re */
	uint32_t nodes, free, returning, missing;
	bool unlimited;
	uint64_t seq;
	struct phx_ledger_meter total;
	bool of_before; /* phx_ledger_of_before() */
	/* the present call */
	int64_t now_ms;
	struct phx_list *out; /* struct phx_ledger_action */
	struct phx_list ids;  /* scratch of uint64_t */
	/* set to -ENOMEM once memory was lacking: this call and all later ones fail */
	int error;
};

static inline struct re *re_at(const struct phx_ledger *l, uint32_t i)
{
	return PHX_LIST_AT(&l->res, struct re, i);
}
static inline uint32_t re_min(uint32_t a, uint64_t b)
{
	return b < a ? (uint32_t)b : a;
}

/** The lower bound of an active RE. */
static inline uint32_t re_lower(const struct re *re)
{
	return re->r.state == RE_ACTIVE ? re->r.agreement.lower : 0;
}

/* ---- re.c ---- */
/** Appends an item to a list. NULL: out of memory, which l->error notes. */
void *phx_ledger_push(struct phx_ledger *l, struct phx_list *list, size_t item_size);
/** Sets the parts of a struct re that follow from its agreement. -ENOMEM. */
int phx_ledger_equip(struct re *re);
void phx_ledger_fini(struct re *re);
/** The RE of number i if it is active or leaving; otherwise NULL. */
struct re *phx_ledger_get(const struct phx_ledger *l, int i);
struct re *phx_ledger_get_batch(const struct phx_ledger *l, int i);
uint32_t phx_ledger_idle(const struct re *re); /* web: all its nodes but those away */
uint32_t phx_ledger_owned(const struct re *re);
/** Nodes owned (but not away) or coming, and not promised to another RE. */
uint32_t phx_ledger_free_to_owe(const struct re *re);

/* ---- meter.c ---- */
/** Adds up all sums until now_ms, which never goes back. */
void phx_ledger_advance(struct phx_ledger *l, int64_t now_ms);

/* ---- lease.c ---- */
void phx_ledger_lease_open(struct phx_ledger *l, uint32_t i, uint32_t size);
/** A job of `size` nodes that started at start_ms has ended: its nodes stay for the rest of the
 * paid time. False: no time is left, and the caller gives the nodes back. */
bool phx_ledger_lease_keep(struct phx_ledger *l, uint32_t i, uint32_t size, int64_t start_ms);
/** Takes `n` of the kept nodes out of their leases; leases that end soonest come first. */
void phx_ledger_lease_unkeep(struct re *re, uint32_t n);
/** Leases cover at most the dynamic nodes: shortens the newest leases. */
void phx_ledger_lease_trim(struct re *re);
/** Puts a lease into the heap; takes out the lease that ends first. */
void phx_ledger_lease_push(struct phx_ledger *l, struct re *re, struct phx_ledger_lease lease);
void phx_ledger_lease_drop_first(struct re *re);
void phx_ledger_parts_take(struct phx_ledger *l, struct re *re, uint64_t job, uint32_t nodes,
			   uint32_t idle_before);
void phx_ledger_parts_give(struct re *re, uint64_t job);
/** Queues a job that waits for its lease, or takes it out of that queue. */
void phx_ledger_ask(struct phx_ledger *l, uint32_t i, uint64_t job, uint32_t nodes);
void phx_ledger_unask(struct re *re, uint64_t job);

/* ---- grant.c ---- */
struct phx_ledger_pair {
	uint64_t lower, entitled, cap, net;
};
struct phx_ledger_pair phx_ledger_pair(const struct phx_ledger *l, uint32_t i);
/** Nodes that the pair of `i` could be granted if the free pool held `free` nodes. */
uint32_t phx_ledger_available(const struct phx_ledger *l, uint32_t i, uint32_t free);
/** Idle nodes of `from` (or PHX_LEDGER_FREE) that are not known to be unfit for `to`. */
uint32_t phx_ledger_idle_for(const struct phx_ledger *l, int64_t from, int64_t to);
/** Nodes that other pairs hold by grace and the pair of `i` may claim, beyond the free ones. */
uint32_t phx_ledger_lent(const struct phx_ledger *l, uint32_t i);
/** Nodes that will be free without a further request: on their way to the free pool, owed to it, or
 * held by REs that leave. */
uint32_t phx_ledger_returning(const struct phx_ledger *l);
void phx_ledger_act(struct phx_ledger *l, struct phx_ledger_action a);
/** Sends `n` idle nodes on their way; `from`, `to` may be PHX_LEDGER_FREE. The caller has made sure
 * that `from` has that many. */
void phx_ledger_move(struct phx_ledger *l, int64_t from, int64_t to, uint32_t n, int reason);
/** Reverts phx_ledger_move() for `n` nodes, which cannot go. */
void phx_ledger_move_back(struct phx_ledger *l, int64_t from, uint32_t to, uint32_t n);
/** Grants free nodes, then claims lent ones; returns how many nodes come. */
uint32_t phx_ledger_obtain(struct phx_ledger *l, uint32_t i, uint32_t n, int reason, bool lease);
/** At activation: obtains the lower bound of RE i; its partner's reserve stays covered. */
void phx_ledger_obtain_lower(struct phx_ledger *l, uint32_t i);
/** Makes `from` return up to `n` nodes to `to`: idle nodes at once, others as its jobs are killed.
 * Returns how many. */
uint32_t phx_ledger_reclaim(struct phx_ledger *l, uint32_t from, int64_t to, uint32_t n,
			    int reason);
/** Pays debts with idle nodes, kills enough jobs for the rest, cancels debts that can never be
 * paid. */
void phx_ledger_settle(struct phx_ledger *l, uint32_t i);
/** Cancels debts of `i`, up to `n` nodes: those to `to`, or (RE_ANYBODY) to all, or (RE_OUTSIDE) to
 * all but its pair. Returns how many nodes. */
#define RE_ANYBODY (-2)
#define RE_OUTSIDE (-3)
uint32_t phx_ledger_cancel_debts(struct phx_ledger *l, uint32_t i, int64_t to, uint32_t n);

/** Up to `n` nodes that `i` owes to `to` go to the free pool instead. Returns how many. */
uint32_t phx_ledger_redirect_debts(struct phx_ledger *l, uint32_t i, int64_t to, uint32_t n);
/** How many nodes beyond its lower bounds the pair of `i` has or could get from the free pool,
 * nodes on their way there included; negative: how many it lacks. */
int64_t phx_ledger_spare(const struct phx_ledger *l, uint32_t i);

/* ---- allocate.c ---- */
/** Every call that changes something begins by adding up the sums (begin), notes its event, and
 * ends by serving all REs (finish: 0 or -ENOMEM). */
void phx_ledger_begin(struct phx_ledger *l, int64_t now_ms, struct phx_list *out);
int phx_ledger_finish(struct phx_ledger *l);
/** Serves all REs: debts, lost nodes, web REs, batch requests by age, idle nodes. */
void phx_ledger_allocate(struct phx_ledger *l);
/** Ask the policy at one of its timers, or at the start, and carry out its wishes. A timer renews
 * the batch RE's request. */
void phx_ledger_lease_unit(struct phx_ledger *l, uint32_t i);
void phx_ledger_cycle(struct phx_ledger *l, uint32_t i);
void phx_ledger_start(struct phx_ledger *l, uint32_t i);
void phx_ledger_view(const struct phx_ledger *l, uint32_t i, struct phx_policy_view *ret);

#endif
