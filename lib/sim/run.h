/* One run of the simulator: runtime environments with their workloads on one
 * or several clusters, each cluster under a ledger (ledger/ledger.h), until a
 * window ends or all work is done. The same ledger decides in phxd.
 *
 * At one instant events happen in the order of policies.md section 0: ends of
 * jobs, confirmations that were delayed, web demand, submissions, timers, one
 * scheduling pass; when a pass leads to an end at the same instant (a job of
 * run time 0), the instant is gone through again. Everything is a function of
 * the configuration: the same run twice gives the same result, bit by bit.
 * Called by the scenarios, plan, and the papers' tables. Reads no file, no
 * clock, draws no number. */
#ifndef PHX_SIM_RUN_H
#define PHX_SIM_RUN_H

#include "ledger/ledger.h"
#include "trace/workload.h"

#define PHX_SIM_CLUSTERS_MAX 16
#define PHX_SIM_RES_MAX 64
#define PHX_SIM_WEEK_MS (7 * 86400 * INT64_C(1000))

/** Where a scheduler's estimates come from. */
enum phx_sim_estimates {
	PHX_SIM_ESTIMATE_LOG,    /* the log's, or the run time where it has none */
	PHX_SIM_ESTIMATE_EXACT,  /* the run time */
	PHX_SIM_ESTIMATE_STRICT, /* the log's; unknown stays unknown */
};
extern const struct phx_enum phx_sim_estimates_names; /* "log", "exact", "strict" */

/** How long what phxd does by drivers takes; all 0: confirmed at once (the papers' simulations). */
struct phx_sim_delays {
	/* of each node that moves, in parallel (003: 15,743) */
	uint32_t handover_ms;
	/* and, where the setup policy of either side erases, by method */
	uint32_t wipe_ms[PHX_WIPE_SECURE_ERASE + 1];
	/* from the kill of a job until its nodes are idle */
	uint32_t kill_ms;
};

struct phx_sim_cluster {
	const char *name; /* borrowed */
	struct phx_ledger_config ledger;
};

/** An RE; everything is borrowed for the run. */
struct phx_sim_re {
	const struct phx_agreement *agreement; /* agreement->name is its name */
	unsigned cluster;                      /* index */
	const struct phx_trace_jobs *jobs;     /* batch: NULL = none */
	const struct phx_trace_series *demand; /* web: instances wanted; NULL = none */
};

/** What a watcher is told of an RE; nodes. */
struct phx_sim_point {
	/* busy: with jobs (batch); serving (web: = held). want: as in phx_ledger_counts */
	uint32_t held, busy, want;
	uint64_t waiting_nodes; /* Q */
};

/** How a job ended well. */
struct phx_sim_end {
	int64_t start_ms, end_ms; /* of the successful run */
	uint32_t kills;
};

/** Callbacks; any may be NULL. They are told in order of time. */
struct phx_sim_watch {
	void *arg;
	/** After an instant in which something of the RE changed. */
	void (*point)(void *arg, int64_t now_ms, unsigned re, const struct phx_sim_point *p);
	/** A job has finished; `job` is of the RE's workload. */
	void (*end)(void *arg, unsigned re, const struct phx_trace_job *job,
		    const struct phx_sim_end *end);
	/** Every action of a ledger, after it was carried out or put on its way. */
	void (*action)(void *arg, int64_t now_ms, unsigned cluster,
		       const struct phx_ledger_action *a);
	/** Now and then, for a progress display: how far the run is. A non-zero result ends it with
	 * -ECANCELED. */
	int (*progress)(void *arg, int64_t now_ms, size_t n_ended);
};

struct phx_sim_config {
	const struct phx_sim_cluster *clusters;
	unsigned n_clusters;
	const struct phx_sim_re *res;
	unsigned n_res;
	/** Jobs submitted before this count, those that finish by it are completed, and the run
	 * ends there; from the start of the workloads. 0: no window; the run ends when all jobs
	 * have ended and the series are over. */
	int64_t window_ms;
	int estimates; /* enum phx_sim_estimates */
	struct phx_sim_delays delays;
	bool check;                        /* phx_ledger_check() after every instant: for tests */
	const struct phx_sim_watch *watch; /* NULL = none */
};

/** One member a row of metric.def. */
struct phx_sim_metrics {
#define COUNT(name, ...) uint64_t name;
#define REAL(name, ...) double name;
#include "sim/metric.def"
#undef COUNT
#undef REAL
};

struct phx_sim_result {
	struct phx_sim_metrics *res; /* n_res, in the order of the configuration; owned */
	unsigned n_res;
	/** Of all: jobs together; nodes as phx_ledger_total(), clusters added up (their peaks
	 * too). */
	struct phx_sim_metrics total;
	int64_t end_ms; /* when the run ended */
	uint64_t n_instants;
	/** The run ended because nothing could happen any more though jobs wait (without a
	 * window). */
	bool stuck;
};

/** Run. -EINVAL with a text (an agreement's findings, a workload that does not fit the type of its
 * RE, bounds beyond the cluster), -ENOMEM, -ECANCELED, -EPROTO a ledger's check failed. ret is
 * untouched on failure; owned by the caller: phx_sim_result_fini(). */
int phx_sim_run(const struct phx_sim_config *config, struct phx_sim_result *ret,
		struct phx_err *err);
/** Safe on a zeroed one. */
void phx_sim_result_fini(struct phx_sim_result *r);

#endif
