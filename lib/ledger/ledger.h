/* The ledger of a cluster shared by runtime environments: how many nodes each RE holds, what its
 * manager wants, and the decisions by which nodes are granted, reclaimed and lent (the resource
 * provision service of 000 4 and 003 3). Composes lib/policy, lib/batch and lib/web; counts nodes,
 * does not name them. The daemon (through lib/core) and the simulator run this same code.
 *
 *                grant                     arrived
 *      free ────────────▶ coming (to an RE) ───────▶ held: idle ⇄ busy (a job)
 *        ▲                                              │ released, reclaimed
 *        └───────────── left ◀─────────── (coming to FREE or the other RE)
 *
 * Every call takes the time and appends actions to a list; the caller carries each out and confirms
 * it: phx_ledger_arrived() for MOVE, phx_ledger_job_killed() for KILL, phx_ledger_job_ended() when
 * a job of START ends. A simulation without delays confirms at once. Calls at one instant must be
 * made in the order of policies.md section 0 (ends, demand, arrivals of jobs, phx_ledger_tick(),
 * then one phx_ledger_pass()); results depend on this order (reading 1). Pure. */
#ifndef PHX_LEDGER_LEDGER_H
#define PHX_LEDGER_LEDGER_H

#include "batch/batch.h"
#include "types/re_kind.h"
#include "web/web.h"

#define PHX_LEDGER_FREE (-1) /* the free pool, in place of an RE */

enum phx_ledger_act { PHX_LEDGER_START, PHX_LEDGER_KILL, PHX_LEDGER_MOVE };

struct phx_ledger_action {
	int kind; /* enum phx_ledger_act */
	int re;   /* START, KILL: the job's RE; MOVE: from, or PHX_LEDGER_FREE */
	int to;   /* MOVE: to, or PHX_LEDGER_FREE */
	uint64_t job;
	uint32_t nodes; /* START: the job's size; KILL: nodes that come free; MOVE: how many */
	int reason;     /* MOVE, KILL: enum phx_policy_reason */
};

/** Sums since the RE became active; node·milliseconds are exact up to the last call's time. */
#define PHX_LEDGER_METER_FIELDS(F, S) \
	F(S, at_ms, I64) \
	F(S, held_node_ms, U64) /* idle + busy (+ coming) */ \
	F(S, busy_node_ms, U64) \
	/* web: nodes wanted and not in service; batch: nodes asked for and not granted */ \
	F(S, unmet_node_ms, U64) \
	F(S, lost_node_ms, U64) /* work of killed runs */ \
	F(S, peak, U32)         /* most nodes held for longer than an instant */ \
	/* decisions: requests, releases, provisions, returns; not those of the start (000 6.1; \
	 * reading 14) */ \
	F(S, n_adjusted, U64) \
	/* nodes obtained and released, including those of start and end (003) */ \
	F(S, nodes_moved, U64) \
	/* kills by forced returns and broken nodes; not cancelled jobs */ \
	F(S, n_kills, U64)
PHX_RECORD_STRUCT(phx_ledger_meter, PHX_LEDGER_METER_FIELDS);

/** The nodes of one RE now. */
struct phx_ledger_counts {
	/* busy nodes of a web RE are in service; owed: held or coming, and promised to others */
	uint32_t idle, busy, coming, owed;
	uint32_t away; /* silent, still counted as held: phx_ledger_away() */
	uint32_t want; /* web: instances wanted; batch: nodes asked for and not granted yet */
	struct phx_batch_counts batch; /* zero for a web RE */
};

struct phx_ledger;
struct phx_ledger_config {
	uint32_t nodes; /* the cluster's, all free at first */
	bool unlimited; /* the provider always grants: `nodes` does not matter */
};
/** A new ledger without REs, owned by the caller. -ENOMEM. */
int phx_ledger_new(const struct phx_ledger_config *config, struct phx_ledger **ret);
void phx_ledger_free(struct phx_ledger *l);

/** Activates an RE by its agreement (copied): its lower bound is granted, the policy starts. A web
 * RE wants its lower bound (at least 1) until phx_ledger_demand(). ret_re: the RE's number, small;
 * it is reused once this RE is deactivated and gone. A pair is complete when both are active: the
 * partner is the named RE, or the first active RE that fits (000 4.3 step 5). -EEXIST an RE of that
 * name is active, -ENOSPC the sum of lower bounds exceeds the cluster, -EINVAL (findings of the
 * agreement, or it does not fit the partner that it names). */
int phx_ledger_activate(struct phx_ledger *l, const struct phx_agreement *a, int64_t now_ms,
			int *ret_re, struct phx_list *ret_actions, struct phx_err *err);
/** The RE takes no new jobs, or takes them again. -ENOENT: no such active RE, here and below. */
int phx_ledger_suspend(struct phx_ledger *l, int re, bool suspended);
/** Kills the running jobs of the RE, forgets its waiting jobs, takes every node back; its partner
 * goes on alone. Complete when the RE holds no node (phx_ledger_counts). */
int phx_ledger_deactivate(struct phx_ledger *l, int re, int64_t now_ms,
			  struct phx_list *ret_actions);

/* ---- events: -EINVAL and no change if the event contradicts the ledger; -ENOMEM, after which the
 * ledger is unusable: restore it ---- */
/** -ENOMEM when any call so far has ended with -ENOMEM; otherwise 0. */
int phx_ledger_error(const struct phx_ledger *l);
/** A job joins the queue of its RE. -ESHUTDOWN the RE is suspended (jobs that an external engine
 * has accepted, and the head's own jobs of an RE with workflows, are taken all the same), -E2BIG
 * the job is wider than the cluster or than the upper bounds of the RE and its partner, and the
 * errors of phx_batch_submit(). */
int phx_ledger_submit(struct phx_ledger *l, int re, const struct phx_batch_job *job, int64_t now_ms,
		      struct phx_list *ret_actions, struct phx_err *err);
/** A job that the RE's deactivation took out of the queue joins it again, even while the RE is
 * suspended, and whatever the job's width. -EEXIST, -ENOENT. */
int phx_ledger_rejoin(struct phx_ledger *l, int re, const struct phx_batch_job *job, int64_t now_ms,
		      struct phx_list *ret_actions);
/** The most nodes that a batch RE can ever have while its partner keeps its least instances: the
 * size of the widest job that can run. (A demand series may want no instance, so
 * phx_ledger_submit() takes wider jobs.) */
uint32_t phx_ledger_widest(const struct phx_ledger *l, int re);
/** The external engine of the RE started a job that waits here, on `size` idle nodes. -ENOENT also
 * while the RE leaves, -EBUSY the job runs already, -ENOSPC fewer nodes are idle, -EINVAL the
 * engine is the built-in one. */
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
/** Hold a waiting job back, or let it wait again. */
int phx_ledger_job_hold(struct phx_ledger *l, int re, uint64_t job, bool hold, int64_t now_ms,
			struct phx_list *ret_actions);
/** The web RE wants `instances` from now on (a demand series, or phx_ledger_sample()'s result). */
int phx_ledger_demand(struct phx_ledger *l, int re, uint32_t instances, int64_t now_ms,
		      struct phx_list *ret_actions);
/** CPU use of one instance, in millionths of its quota; at the end of a window phx_ledger_tick()
 * turns its samples into a demand. When an instance arrives, the window begins anew, so that the
 * mean covers only instances that were there all the time. */
int phx_ledger_sample(struct phx_ledger *l, int re, uint32_t use_ppm, int64_t now_ms);
/** The results of the last windows of a web RE (struct phx_web_decision), the oldest first;
 * borrowed until the next call that changes something. NULL: no such RE. */
const struct phx_list *phx_ledger_decisions(const struct phx_ledger *l, int re);
/** `nodes` of the nodes that were coming to `re` (or FREE) have arrived. */
int phx_ledger_arrived(struct phx_ledger *l, int from, int re, uint32_t nodes, int64_t now_ms,
		       struct phx_list *ret_actions);
/** Nodes left the cluster (broken, pinned, quarantined). An RE loses idle nodes here (a web RE:
 * any); busy nodes by phx_ledger_lost_busy(). A node on the way is lost from the RE that it goes to
 * (COMING). Nodes that an RE loses below the lower bounds of its pair are obtained anew, as soon as
 * nodes are free. */
enum phx_ledger_place { PHX_LEDGER_THERE, PHX_LEDGER_COMING, PHX_LEDGER_AWAY };
int phx_ledger_lost(struct phx_ledger *l, int re, uint32_t nodes, enum phx_ledger_place place,
		    int64_t now_ms, struct phx_list *ret_actions);
/** True: the calls that follow are replayed from an older journal, under whose rule lost nodes were
 * replaced only at a timer. */
void phx_ledger_of_before(struct phx_ledger *l, bool before);
/** Nodes of an active RE are silent: it still holds them, within its bounds, but no job starts on
 * them and no other RE gets them. They are idle nodes, or nodes of the running job `job` (not 0),
 * which is then killed as by phx_ledger_lost_busy(). They stay away until phx_ledger_back(), or
 * until they are lost from PHX_LEDGER_AWAY, as they must be when their RE is deactivated. */
int phx_ledger_away(struct phx_ledger *l, int re, uint64_t job, uint32_t nodes, int64_t now_ms,
		    struct phx_list *ret_actions);
int phx_ledger_back(struct phx_ledger *l, int re, uint32_t nodes, int64_t now_ms,
		    struct phx_list *ret_actions);
/** Nodes of a running job left the cluster: the job is killed (KILL, unless it is being killed),
 * and only its other nodes come free at phx_ledger_job_killed(). */
int phx_ledger_lost_busy(struct phx_ledger *l, int re, uint64_t job, uint32_t nodes, int64_t now_ms,
			 struct phx_list *ret_actions);
/** Nodes of `from` (or FREE) that cannot go to RE `to`, though they could by count. */
struct phx_ledger_barred {
	int from, to;
	uint32_t nodes;
	uint32_t idle; /* how many of them are idle; in the free pool all are */
};
/** The whole list of such nodes (struct phx_ledger_barred, each from-to pair once); it replaces the
 * list of the last call. The nodes are neither granted nor promised to that RE; for other REs they
 * are like any node. The same list again changes nothing. */
int phx_ledger_barred(struct phx_ledger *l, const struct phx_list *barred, int64_t now_ms,
		      struct phx_list *ret_actions);
/** `nodes` that were sent from `from` (active, or FREE) to `to` cannot go: they return to `from`,
 * and `to` gets others as it does for lost nodes. Call phx_ledger_barred() first, or the same nodes
 * are sent again. */
int phx_ledger_refused(struct phx_ledger *l, int from, int to, uint32_t nodes, int64_t now_ms,
		       struct phx_list *ret_actions);
/** Nodes joined the cluster; they are free. */
int phx_ledger_found(struct phx_ledger *l, uint32_t nodes, int64_t now_ms,
		     struct phx_list *ret_actions);

/** Runs the timers that are due: web windows, leases, lease units, cycles, in this order
 * (policies.md section 0). */
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
/** Sums of the whole cluster; idle nodes that are reserved for pairs count as held (000 6.6:
 * 'total' and 'peak'). */
void phx_ledger_total(const struct phx_ledger *l, int64_t now_ms, struct phx_ledger_meter *ret);
/** Number of the RE that `re` shares its nodes with; -1 none. */
int phx_ledger_partner(const struct phx_ledger *l, int re);
const struct phx_batch *phx_ledger_batch(const struct phx_ledger *l, int re);
/** Checks the invariants: totals add up, and no reclaim took a pair below the sum of its lower
 * bounds. -EPROTO: the text says which does not hold. */
int phx_ledger_check(const struct phx_ledger *l, struct phx_err *err);

/* ---- as a record, for snapshots of the core ---- */
#define PHX_LEDGER_IMAGE_FIELDS(F, S) \
	/* agreement, counts, timers, leases, debts, jobs (internal.h) */ \
	F(S, res, LIST(phx_ledger_re)) \
	F(S, nodes, U32) \
	F(S, free, U32) \
	F(S, returning, U32) /* on the way to FREE */ \
	F(S, missing, U32)   /* lost and not found again */ \
	F(S, unlimited, BOOL) \
	F(S, seq, U64)    /* last number given to a request or a lease */ \
	F(S, now_ms, I64) /* time of the last event; INT64_MIN before the first */ \
	F(S, total, REC(phx_ledger_meter))
PHX_RECORD_STRUCT(phx_ledger_image, PHX_LEDGER_IMAGE_FIELDS);
/** save: a deep copy, which the caller frees by phx_record_fini(). restore: a ledger that decides
 * like the saved one; -EINVAL: the image is inconsistent. Both -ENOMEM. */
int phx_ledger_save(const struct phx_ledger *l, struct phx_ledger_image *ret);
int phx_ledger_restore(const struct phx_ledger_image *image, struct phx_ledger **ret);

#endif
