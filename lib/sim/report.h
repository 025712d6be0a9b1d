/* Results as JSON and back, as CSV, and as time-lines. Used by phx sim. */
#ifndef PHX_SIM_REPORT_H
#define PHX_SIM_REPORT_H

#include <jansson.h>

#include "sim/metrics.h"

/** A result that has names: what is printed, compared and kept in files. */
struct phx_sim_report {
	char name[128];       /* of the scenario */
	struct phx_list rows; /* struct phx_sim_report_row: one an RE, the last is "total" */
	int64_t end_ms;
	bool stuck;
};
struct phx_sim_report_row {
	char name[PHX_NAME_MAX];
	struct phx_sim_metrics metrics;
};
void phx_sim_report_fini(struct phx_sim_report *r);

/** From a run; `names` are those of the REs, in the run's order. */
int phx_sim_report_make(const char *name, const char *const *names,
			const struct phx_sim_result *result, struct phx_sim_report *ret);

/** {"jobs": ..., ...}: every metric under its name, numbers with six decimals at most, null for
 * none. NULL on ENOMEM.
 */
json_t *phx_sim_metrics_json(const struct phx_sim_metrics *m);
/** {"scenario", "end_s", "stuck", "res": [{"name", metrics...}], "total": {metrics...}}. NULL on
 * ENOMEM. */
json_t *phx_sim_report_json(const struct phx_sim_report *r);
/** Back from either form (one object of metrics becomes the row "total"). -EINVAL with a text that
 * names the member. */
int phx_sim_report_parse(const char *what, const json_t *j, struct phx_sim_report *ret,
			 struct phx_err *err);
/** A line a row: name and every metric; a heading first. Check ret->failed. */
void phx_sim_report_csv(const struct phx_sim_report *r, bool heading, struct phx_buf *ret);

/** Time-lines of a run, gathered by its watcher. Zero-initialise; phx_sim_timeline_fini(). */
struct phx_sim_timeline {
	unsigned n_res;
	struct phx_list *res; /* n_res lists of struct phx_sim_moment */
	int64_t end_ms;
	bool failed; /* memory ran out: the picture would lie */
};
struct phx_sim_moment {
	double at_s, held, busy, waiting;
};
int phx_sim_timeline_init(struct phx_sim_timeline *t, unsigned n_res);
void phx_sim_timeline_fini(struct phx_sim_timeline *t);
/** For struct phx_sim_watch; arg is the time-line. */
void phx_sim_timeline_point(void *arg, int64_t now_ms, unsigned re, const struct phx_sim_point *p);
/** Nodes held, nodes busy, nodes waited for, as one SVG; names of the REs as in the run.
 * -ENOMEM. */
int phx_sim_timeline_svg(const struct phx_sim_timeline *t, const char *title,
			 const char *const *names, struct phx_buf *ret);

#endif
