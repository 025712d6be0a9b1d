/* The ledger of a cluster shared by runtime environments: how many nodes each
 * RE holds, what its manager wants, and the decisions by which nodes are
 * granted, reclaimed and lent (the resource provision service of 000 4 and
 * 003 3). Composes lib/policy, lib/batch and lib/web; in counts, not names.
 * The daemon (through lib/core) and the simulator run this same code.
 *
 *                grant                     arrived
 *      free ────────────▶ coming (to an RE) ───────▶ held: idle ⇄ busy (a job)
 *        ▲                                              │ released, reclaimed
 *        └───────────── left ◀─────────── (coming to FREE or the other RE)
 *
 * Every call takes the time and appends what is to be done to a list of
 * actions; the caller does it and confirms: phx_ledger_arrived() for MOVE,
 * phx_ledger_job_killed() for KILL, phx_ledger_job_ended() when a job of START
 * ends. A simulation without delays confirms at once. Calls at one instant are
 * made in the order of policies.md section 0 (ends, demand, arrivals of jobs, phx_ledger_tick(),
 * then one phx_ledger_pass()); this order is a promise (reading 1). Pure. */
#ifndef PHX_LEDGER_LEDGER_H
#define PHX_LEDGER_LEDGER_H

#include "batch/batch.h"
#include "types/agreement.h"
#include "web/web.h"

#define PHX_LEDGER_FREE (-1) /* instead of an RE: nobody's */

enum phx_ledger_act { PHX_LEDGER_START, PHX_LEDGER_KILL, PHX_LEDGER_MOVE };
extern const struct phx_enum phx_ledger_act_names;

struct phx_ledger_action {
	int kind; /* enum phx_ledger_act */
	int re;   /* START, KILL: whose job; MOVE: from, or PHX_LEDGER_FREE */
	int to;   /* MOVE: to, or PHX_LEDGER_FREE */
	uint64_t job;
	uint32_t nodes; /* START: the job's size; KILL: what comes free; MOVE: how many */
	int reason;     /* MOVE, KILL: enum phx_policy_reason */
};

/** Sums since the RE became active; node·milliseconds are exact up to the last call's time. */
struct phx_ledger_meter {
	int64_t at_ms;
	uint64_t held_node_ms; /* idle + busy (+ coming) */
	uint64_t busy_node_ms;
	/* web: wanted and not in service; batch: asked for and not granted */
	uint64_t unmet_node_ms;
	uint64_t lost_node_ms; /* work of killed runs */
	uint32_t peak;         /* most nodes held for longer than an instant */
	/* decisions: requests, releases, provisions, returns; not the start's (000 6.1; reading
	 * 14) */
	uint64_t n_adjusted;
	/* nodes obtained and released, the start's and the end's too (003) */
	uint64_t nodes_moved;
	uint64_t n_kills; /* by forced returns and broken nodes; not cancelled jobs */
};
extern const struct phx_record phx_ledger_meter_record;

/** What is held by one RE now; nodes. */
struct phx_ledger_counts {
	/* busy of a web RE: in service; owed: of what it has and what is coming, promised away */
	uint32_t idle, busy, coming, owed;
	uint32_t away; /* not heard and counted on still: phx_ledger_away() */
	uint32_t want; /* web: instances wanted; batch: asked for and not granted yet */
	struct phx_batch_counts batch; /* zero for a web RE */
};

struct phx_ledger;
struct phx_ledger_config {
	uint32_t nodes; /* of the cluster, all free at first */
	bool unlimited; /* a provider that always grants: `nodes` does not count */
};
int phx_ledger_new(const struct phx_ledger_config *config, struct phx_ledger **ret);
void phx_ledger_free(struct phx_ledger *l);

/** Activate an RE by its agreement (copied): its lower bound is granted, the policy starts; a web
 * RE wants its lower bound (at least 1) until told otherwise. ret_re: its number, small and stable
 * until it is deactivated, done, and another is activated. A pair is complete when both are active:
 * the partner is the one named, or the first active RE that fits (000 4.3 step 5). -EEXIST the name
 * is active, -ENOSPC the sum of lower bounds exceeds the cluster, -EINVAL (findings of the
 * agreement, or it does not fit the partner that it names). */
int phx_ledger_activate(struct phx_ledger *l, const struct phx_agreement *a, int64_t now_ms,
			int *ret_re, struct phx_list *ret_actions, struct phx_err *err);
/** No new jobs / again. -ENOENT: no such active RE, here and below. */
int phx_ledger_suspend(struct phx_ledger *l, int re, bool suspended);
/** Kill its jobs, forget those that wait, take every node back; its partner goes on alone. Done
 * when it holds nothing (phx_ledger_counts). */
int phx_ledger_deactivate(struct phx_ledger *l, int re, int64_t now_ms,
			  struct phx_list *ret_actions);

/* ---- events: -EINVAL and no change for what cannot be, -ENOMEM (the ledger is of no use any more:
 * restore it) ---- */
/** -ENOMEM when any call so far has ended with that; 0. */
int phx_ledger_error(const struct phx_ledger *l);
/** -ESHUTDOWN suspended (jobs of another engine are taken: it let them in), -E2BIG wider than the
 * cluster or than the upper bounds of the RE and its partner, and as phx_batch_submit(). */
int phx_ledger_submit(struct phx_ledger *l, int re, const struct phx_batch_job *job, int64_t now_ms,
		      struct phx_list *ret_actions, struct phx_err *err);
/** Nodes that a batch RE can ever have while its partner wants what it measures: the widest job
 * that can run. (A demand series may want nothing: phx_ledger_submit() takes wider ones.) */
uint32_t phx_ledger_widest(const struct phx_ledger *l, int re);
/** The engine of the RE, not being ours, started a job that waits here, on `size` idle nodes.
 * -ENOENT also while the RE leaves, -EBUSY it runs already, -ENOSPC fewer are idle, -EINVAL the
 * engine is ours. */
int phx_ledger_job_started(struct phx_ledger *l, int re, uint64_t job, uint32_t size,
			   int64_t start_ms, int64_t now_ms, struct phx_list *ret_actions);
int phx_ledger_job_ended(struct phx_ledger *l, int re, uint64_t job, int64_t now_ms,
			 struct phx_list *ret_actions);
int phx_ledger_job_killed(struct phx_ledger *l, int re, uint64_t job, int64_t now_ms,
			  struct phx_list *ret_actions);
/** Forget a waiting job, kill a running one for good. */
int phx_ledger_job_cancel(struct phx_ledger *l, int re, uint64_t job, int64_t now_ms,
			  struct phx_list *ret_actions);
/** A parent of a blocked job is complete. */
int phx_ledger_job_unblock(struct phx_ledger *l, int re, uint64_t job, int64_t now_ms,
			   struct phx_list *ret_actions);
/** Hold a waiting job back / let it wait again. */
int phx_ledger_job_hold(struct phx_ledger *l, int re, uint64_t job, bool hold, int64_t now_ms,
			struct phx_list *ret_actions);
/** The web RE wants `instances` from now on (a demand series, or phx_ledger_sample()'s result). */
int phx_ledger_demand(struct phx_ledger *l, int re, uint32_t instances, int64_t now_ms,
		      struct phx_list *ret_actions);
/** CPU use of one instance, millionths of its quota; the window's end (in phx_ledger_tick) makes it
 * a demand. A window in which an instance arrived begins anew there: its mean is over instances
 * that were all there. */
int phx_ledger_sample(struct phx_ledger *l, int re, uint32_t use_ppm, int64_t now_ms);
/** Nodes that were told to move have: `nodes` of what was coming to `re` (or FREE). */
int phx_ledger_arrived(struct phx_ledger *l, int from, int re, uint32_t nodes, int64_t now_ms,
		       struct phx_list *ret_actions);
/** Nodes left the cluster (broken, pinned, quarantined) or came into it, free. lost from an RE:
 * idle ones (of a web RE: any); busy ones by phx_ledger_lost_busy(). A node on the way is lost from
 * where it goes (coming). What an RE loses below the lower bounds of its pair is obtained anew at
 * once, and as soon as nodes are free. */
enum phx_ledger_place { PHX_LEDGER_THERE, PHX_LEDGER_COMING, PHX_LEDGER_AWAY };
int phx_ledger_lost(struct phx_ledger *l, int re, uint32_t nodes, enum phx_ledger_place place,
		    int64_t now_ms, struct phx_list *ret_actions);
/** The calls that follow are replayed from a journal of before that was so: what is lost waits for
 * a timer. */
void phx_ledger_of_before(struct phx_ledger *l, bool before);
/** Nodes of an active RE are not heard: they stay its own (held, towards its bounds), but nothing
 * starts on them and they are given to nobody. Idle ones, or those of running job `job` (not 0),
 * which is then killed as by phx_ledger_lost_busy(). Until phx_ledger_back(), or they are lost from
 * PHX_LEDGER_AWAY; those of an RE that is deactivated are lost then. */
int phx_ledger_away(struct phx_ledger *l, int re, uint64_t job, uint32_t nodes, int64_t now_ms,
		    struct phx_list *ret_actions);
int phx_ledger_back(struct phx_ledger *l, int re, uint32_t nodes, int64_t now_ms,
		    struct phx_list *ret_actions);
/** Nodes of a running job left the cluster: the job is killed (KILL, unless it was already), and
 * only its other nodes come free at phx_ledger_job_killed(). */
int phx_ledger_lost_busy(struct phx_ledger *l, int re, uint64_t job, uint32_t nodes, int64_t now_ms,
			 struct phx_list *ret_actions);
/** Nodes of `from` (or FREE) that are known not to be able to go to RE `to`, though they could by
 * count. */
struct phx_ledger_barred {
	int from, to;
	uint32_t nodes;
	uint32_t idle; /* of those; of the free pool: all */
};
/** All that is known of such nodes now (struct phx_ledger_barred, each pair once): what was told
 * before counts no more. They are neither granted nor promised to that RE; for everybody else they
 * are as others. Told the same again: nothing. */
int phx_ledger_barred(struct phx_ledger *l, const struct phx_list *barred, int64_t now_ms,
		      struct phx_list *ret_actions);
/** `nodes` that were told to move from `from` (active, or FREE) to `to` cannot: they are where they
 * were, and the RE gets others as it does for lost ones. Tell phx_ledger_barred() first, or they
 * are sent again. */
int phx_ledger_refused(struct phx_ledger *l, int from, int to, uint32_t nodes, int64_t now_ms,
		       struct phx_list *ret_actions);
int phx_ledger_found(struct phx_ledger *l, uint32_t nodes, int64_t now_ms,
		     struct phx_list *ret_actions);

/** Timers that are due: lease units, cycles, leases, web windows, in the order of policies.md
 * section 0. */
int phx_ledger_tick(struct phx_ledger *l, int64_t now_ms, struct phx_list *ret_actions);
/** When the next timer is due; INT64_MAX when none. */
int64_t phx_ledger_next_ms(const struct phx_ledger *l);
/** One scheduling pass of every batch RE whose queue or idle nodes changed. */
int phx_ledger_pass(struct phx_ledger *l, int64_t now_ms, struct phx_list *ret_actions);

/* ---- looking ---- */
void phx_ledger_counts(const struct phx_ledger *l, int re, struct phx_ledger_counts *ret);
uint32_t phx_ledger_free_nodes(const struct phx_ledger *l);
void phx_ledger_meter(const struct phx_ledger *l, int re, int64_t now_ms,
		      struct phx_ledger_meter *ret);
/** Of the whole cluster, with nodes reserved for pairs while idle (000 6.6: 'total' and 'peak'). */
void phx_ledger_total(const struct phx_ledger *l, int64_t now_ms, struct phx_ledger_meter *ret);
/** Number of the RE that `re` shares its nodes with; -1 none. */
int phx_ledger_partner(const struct phx_ledger *l, int re);
const struct phx_batch *phx_ledger_batch(const struct phx_ledger *l, int re);
/** Totals add up, no pair below the sum of its lower bounds by a reclaim, nothing negative: -EPROTO
 * with the first that does not hold. */
int phx_ledger_check(const struct phx_ledger *l, struct phx_err *err);

/* ---- as a record, for snapshots of the core ---- */
struct phx_ledger_image {
	/* struct phx_ledger_re: agreement, counts, timers, leases, debts, jobs (internal.h) */
	struct phx_list res;
	uint32_t nodes, free;
	uint32_t returning; /* on the way to FREE */
	uint32_t missing;   /* lost and not found again */
	bool unlimited;
	uint64_t seq;   /* of requests and leases */
	int64_t now_ms; /* of the last event; INT64_MIN before the first */
	struct phx_ledger_meter total;
};
extern const struct phx_record phx_ledger_image_record;
/** Deep copy out, to be freed by phx_record_fini() / a ledger that decides as the one it was taken
 * from. -EINVAL: the image contradicts itself. */
int phx_ledger_save(const struct phx_ledger *l, struct phx_ledger_image *ret);
int phx_ledger_restore(const struct phx_ledger_image *image, struct phx_ledger **ret);

#endif
