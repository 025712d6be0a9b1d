/* What the files of the ledger share, each calling only those before it: record.c (field tables),
 * re.c (one RE: found, what it holds), meter.c (sums), lease.c, flow.c (how nodes move and who may
 * have them), check.c, allocate.c (policies asked, wishes done, everybody served), and the calls:
 * ledger.c, node.c (nodes arrive, break, come), timer.c, image.c (out and back). Used within
 * lib/ledger only.
 *
 * A pair is a batch and a web RE that are each other's partner; an RE without
 * one is a pair by itself. Of a pair, in nodes:
 *   net      what it holds (also away), what is coming and what is owed to it, less what it owes to
 *            others
 *   lower    sum of lower bounds. Of `free`, lower - net is its reserve: nobody else's
 *   entitled sum of its upper bounds (lower where there is none): up to that it may claim
 *            what is lent out; above it, it holds by grace and gives back on demand
 *   cap      sum of its upper bounds, no limit where there is none */
#ifndef PHX_LEDGER_INTERNAL_H
#define PHX_LEDGER_INTERNAL_H

#include "ledger/ledger.h"

enum re_state {
	RE_GONE, /* a slot to be used again */
	RE_ACTIVE,
	RE_LEAVING, /* deactivated, holds nodes still */
};

/** A promise: nodes of this RE go to another as they come free. Oldest first. */
struct phx_ledger_debt {
	int64_t to; /* RE, or PHX_LEDGER_FREE */
	uint32_t nodes;
	int reason; /* enum phx_policy_reason */
};

/** Under DR: dynamic nodes obtained together (003 3.5). Under job leases: nodes that a finished job
 * has paid for. A heap by (end_ms, seq). */
struct phx_ledger_lease {
	int64_t end_ms;
	uint64_t seq;
	uint32_t size;
	uint32_t idle; /* of its own nodes; kept only where a lease releases its own (reading 16) */
};

/** Nodes of a lease that a running job has; only where a lease releases its own. */
struct phx_ledger_part {
	uint64_t job, lease; /* lease: its seq */
	uint32_t nodes;
};

/** A job without lease yet (job leases), in order. */
struct phx_ledger_ask {
	uint64_t job;
	uint32_t nodes;
};

/** Nodes that are known not to be able to go to this RE, though they could by count. */
struct phx_ledger_unfit {
	int64_t from; /* RE that has them, or PHX_LEDGER_FREE */
	uint32_t nodes;
	uint32_t idle; /* of those; of the free pool: all */
};

/** A job that is gone when its kill is confirmed. */
struct phx_ledger_gone {
	uint64_t job;
};

/** One RE, all of it but the indexes of its jobs. Fields without a word are policies' or
 * timers'. */
struct phx_ledger_re {
	int state; /* enum re_state */
	struct phx_agreement agreement;
	uint32_t partner; /* number + 1; 0 none */
	bool suspended;
	uint32_t idle; /* web: held; batch: in images only */
	uint32_t coming, owed, owed_in;
	uint32_t kept; /* idle nodes of job leases: nobody else's until the lease ends */
	/* not heard, and counted on still: held, neither idle nor busy, and nobody else's */
	uint32_t away;
	/* nodes that it lost and that are replaced at once, as far as its lower bound wants them */
	uint32_t lack;
	uint32_t want;      /* web */
	uint32_t asked;     /* batch: requested by its policy and not granted */
	uint64_t asked_seq; /* who asked first is served first; 0 = asks for nothing */
	bool asked_lease;
	int asked_reason;
	bool cycle_open;       /* a pass may start jobs: it is the cycle's instant */
	int64_t began_ms;      /* activation */
	int64_t last_cycle_ms; /* when the cycle was used last */
	int64_t next_cycle_ms; /* INT64_MAX while no job waits: then a cycle changes nothing */
	int64_t next_unit_ms;
	struct phx_web_window window;
	struct phx_ledger_meter meter;
	uint32_t leased;        /* sum of the sizes of leases */
	uint32_t unleased;      /* sum of asks */
	struct phx_list leases; /* struct phx_ledger_lease */
	struct phx_list parts;  /* struct phx_ledger_part */
	struct phx_list debts;  /* struct phx_ledger_debt */
	struct phx_list asks;   /* struct phx_ledger_ask */
	struct phx_list gone;   /* struct phx_ledger_gone */
	struct phx_list unfit;  /* struct phx_ledger_unfit, none of no nodes */
	struct phx_list jobs;   /* struct phx_batch_job; in images only */
};
extern const struct phx_record phx_ledger_re_record;

struct re {
	struct phx_ledger_re r;
	struct phx_batch *batch; /* NULL for a web RE */
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
	/* of the call that is being made */
	int64_t now_ms;
	struct phx_list *out; /* struct phx_ledger_action */
	struct phx_list ids;  /* scratch of uint64_t */
	/* -ENOMEM from the first time that memory lacked: this call and all that follow */
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
static inline bool re_is_web(const struct re *re)
{
	return re->r.agreement.type == PHX_RE_WEB;
}
/** The lower bound of an active RE. */
static inline uint32_t re_lower(const struct re *re)
{
	return re->r.state == RE_ACTIVE ? re->r.agreement.lower : 0;
}
/** Below which the manager of a web RE never goes, whatever it measures. */
static inline uint32_t re_least_instances(const struct re *re)
{
	return re->r.agreement.lower ? re->r.agreement.lower : 1;
}

/* ---- re.c ---- */
/** Grows a list; on ENOMEM notes it, and the call fails. */
void *phx_ledger_push(struct phx_ledger *l, struct phx_list *list, size_t item_size);
/** The parts of a struct re that follow from its agreement. -ENOMEM. */
int phx_ledger_equip(struct re *re);
void phx_ledger_fini(struct re *re);
/** An RE that is active or leaving; NULL. */
struct re *phx_ledger_get(const struct phx_ledger *l, int i);
struct re *phx_ledger_get_batch(const struct phx_ledger *l, int i);
uint32_t phx_ledger_idle(const struct re *re); /* web: all that it has */
uint32_t phx_ledger_owned(const struct re *re);
/** Owned and coming, not promised away. */
uint32_t phx_ledger_free_to_owe(const struct re *re);

/* ---- meter.c ---- */
/** Sums up to now_ms, which never goes back. */
void phx_ledger_advance(struct phx_ledger *l, int64_t now_ms);

/* ---- lease.c ---- */
void phx_ledger_lease_open(struct phx_ledger *l, uint32_t i, uint32_t size);
/** A job of `size` nodes that started at start_ms is over: its nodes stay for the time that is paid
 * for. False: none is, and the caller gives them back. */
bool phx_ledger_lease_keep(struct phx_ledger *l, uint32_t i, uint32_t size, int64_t start_ms);
/** Take `n` of the kept nodes out of their leases, those that end soonest first. */
void phx_ledger_lease_unkeep(struct re *re, uint32_t n);
/** Leases cover no more than the dynamic nodes: shorten the newest. */
void phx_ledger_lease_trim(struct re *re);
/** A lease into the heap; the one that ends first out of it. */
void phx_ledger_lease_push(struct phx_ledger *l, struct re *re, struct phx_ledger_lease lease);
void phx_ledger_lease_drop_first(struct re *re);
void phx_ledger_parts_take(struct phx_ledger *l, struct re *re, uint64_t job, uint32_t nodes,
			   uint32_t idle_before);
void phx_ledger_parts_give(struct re *re, uint64_t job);
/** Jobs without a lease. */
void phx_ledger_ask(struct phx_ledger *l, uint32_t i, uint64_t job, uint32_t nodes);
void phx_ledger_unask(struct re *re, uint64_t job);

/* ---- flow.c ---- */
struct phx_ledger_pair {
	uint64_t lower, entitled, cap, net;
};
struct phx_ledger_pair phx_ledger_pair(const struct phx_ledger *l, uint32_t i);
/** Free nodes that the pair of `i` may be granted, if `free` were free. */
uint32_t phx_ledger_available(const struct phx_ledger *l, uint32_t i, uint32_t free);
/** Idle nodes of `from` (or PHX_LEDGER_FREE) that may go to `to`, for all that is known. */
uint32_t phx_ledger_idle_for(const struct phx_ledger *l, int64_t from, int64_t to);
/** Nodes that others hold by grace and the pair of `i` may claim, beyond what is free. */
uint32_t phx_ledger_lent(const struct phx_ledger *l, uint32_t i);
/** Nodes that will be free without anybody being asked: on their way, owed, or of REs that
 * leave. */
uint32_t phx_ledger_returning(const struct phx_ledger *l);
void phx_ledger_act(struct phx_ledger *l, struct phx_ledger_action a);
/** Send `n` idle nodes on their way; `from`, `to` may be PHX_LEDGER_FREE. The caller knows that
 * there are so many. */
void phx_ledger_move(struct phx_ledger *l, int64_t from, int64_t to, uint32_t n, int reason);
/** What phx_ledger_move() sent does not go after all. */
void phx_ledger_move_back(struct phx_ledger *l, int64_t from, uint32_t to, uint32_t n);
/** Grant what is free, claim what is lent; returns how many nodes come. */
uint32_t phx_ledger_obtain(struct phx_ledger *l, uint32_t i, uint32_t n, int reason, bool lease);
/** At activation: its lower bound, so that what its partner has reserved stays covered. */
void phx_ledger_obtain_lower(struct phx_ledger *l, uint32_t i);
/** `from` must return up to `n` nodes to `to`: idle ones at once, the others as its jobs are
 * killed. Returns how many. */
uint32_t phx_ledger_reclaim(struct phx_ledger *l, uint32_t from, int64_t to, uint32_t n,
			    int reason);
/** Pay debts from what is idle, see that enough jobs are killed, cancel what can never be paid. */
void phx_ledger_settle(struct phx_ledger *l, uint32_t i);
/** Cancel up to `n` nodes of what `i` owes: to `to`, or (to == RE_ANYBODY) to anybody, or to others
 * than its pair. */
#define RE_ANYBODY (-2)
#define RE_OUTSIDE (-3)
uint32_t phx_ledger_cancel_debts(struct phx_ledger *l, uint32_t i, int64_t to, uint32_t n);

/** What `i` owes to `to`, up to `n` nodes, goes to the free pool instead. */
uint32_t phx_ledger_redirect_debts(struct phx_ledger *l, uint32_t i, int64_t to, uint32_t n);
/** How many nodes more than its lower bounds the pair of `i` has or will have, what is free for it
 * and what is on its way to the free pool counted; negative: how many it lacks. */
int64_t phx_ledger_spare(const struct phx_ledger *l, uint32_t i);

/* ---- allocate.c ---- */
/** Every call that changes something: sums first, then the event, then everybody is served. finish:
 * 0 or -ENOMEM. */
void phx_ledger_begin(struct phx_ledger *l, int64_t now_ms, struct phx_list *out);
int phx_ledger_finish(struct phx_ledger *l);
/** Everybody is served in between: debts, the web, requests in their order, what is idle. */
void phx_ledger_allocate(struct phx_ledger *l);
/** Ask the policy about its timers and do what it wishes; the batch RE's request is put anew. */
void phx_ledger_lease_unit(struct phx_ledger *l, uint32_t i);
void phx_ledger_cycle(struct phx_ledger *l, uint32_t i);
void phx_ledger_start(struct phx_ledger *l, uint32_t i);
void phx_ledger_view(const struct phx_ledger *l, uint32_t i, struct phx_policy_view *ret);

#endif
