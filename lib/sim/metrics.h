/* Metrics of a run: gathered while it goes, finished at its end, and the table
 * that names them for every output. Used by run.c and by whoever prints
 * results. Definitions: metric.def and phx-sim(1). */
#ifndef PHX_SIM_METRICS_H
#define PHX_SIM_METRICS_H

#include "sim/run.h"

/** One row of metric.def. */
struct phx_sim_metric {
	const char *name, *unit, *head, *text, *source;
	bool count; /* a whole number */
	size_t offset;
};
/** The table, in the order of metric.def. */
size_t phx_sim_metric_table(const struct phx_sim_metric **ret);
/** The row called `name`; NULL when there is none. */
const struct phx_sim_metric *phx_sim_metric_find(const char *name);
/** Value of a row; NaN where there is none. */
double phx_sim_metric_value(const struct phx_sim_metric *m, const struct phx_sim_metrics *of);
/** The value as text for people and CSV: whole numbers as such, the rest with `digits` decimals, ""
 * for none. Returns buf. */
const char *phx_sim_metric_format(const struct phx_sim_metric *m, const struct phx_sim_metrics *of,
				  int digits, char *buf, size_t buf_size);

/** Nodes obtained at one time and not released yet. */
struct phx_sim_lease {
	int64_t from_ms;
	uint32_t nodes;
};

/** What is gathered of one RE. Zero-initialise; phx_sim_tally_fini(). Times in ms. */
struct phx_sim_tally {
	uint64_t jobs, completed, refused, killed, requeued;
	int64_t exec_ms, turnaround_ms, wait_ms, max_wait_ms;
	double work_s; /* run time x nodes, of completed jobs */
	double slowdown, bounded_slowdown;
	uint64_t n_slowdown; /* completed jobs with a run time */
	int64_t first_submit_ms, last_finish_ms,
		last_ideal_ms;  /* ideal: had it started at once; valid with jobs, completed */
	struct phx_list leases; /* struct phx_sim_lease, oldest first */
	uint32_t first_lease;   /* those before it are over */
	double actual_h, charged_h;
};
void phx_sim_tally_fini(struct phx_sim_tally *t);

void phx_sim_tally_submit(struct phx_sim_tally *t, int64_t submit_ms);
void phx_sim_tally_end(struct phx_sim_tally *t, const struct phx_trace_job *job, int64_t submit_ms,
		       int64_t start_ms, int64_t end_ms);
/** Nodes became the RE's / it gave the oldest back. -ENOMEM. */
int phx_sim_tally_obtain(struct phx_sim_tally *t, uint32_t nodes, int64_t now_ms);
void phx_sim_tally_release(struct phx_sim_tally *t, uint32_t nodes, int64_t now_ms);
/** Add `more` to `t` (the leases that ended). */
void phx_sim_tally_add(struct phx_sim_tally *t, const struct phx_sim_tally *more);
/** The metrics of `t`, with what the ledger measured. */
void phx_sim_tally_finish(const struct phx_sim_tally *t, const struct phx_ledger_meter *meter,
			  struct phx_sim_metrics *ret);

#endif
