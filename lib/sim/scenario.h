/* A scenario file (libconfig): clusters, REs with their agreements, traces,
 * delays. Form and keys: phx-sim(1). Used by phx sim run, sweep, compare, plan.
 * Reads the file; the traces are read by phx_sim_scenario_run(). */
#ifndef PHX_SIM_SCENARIO_H
#define PHX_SIM_SCENARIO_H

#include "sim/run.h"
#include "trace/trace.h"

struct phx_sim_scenario_cluster {
	char name[PHX_NAME_MAX];
	uint32_t nodes;
	bool unlimited;
};

struct phx_sim_scenario_re {
	struct phx_agreement agreement;
	char cluster[PHX_NAME_MAX];
	char jobs[PHX_NAME_MAX], demand[PHX_NAME_MAX]; /* names of traces; "" = none */
	uint32_t line;                                 /* in the file */
	bool takes_rest; /* fixed bounds, none given: what the others leave of the cluster */
};

struct phx_sim_scenario {
	char *file; /* for messages; owned */
	char name[128];
	uint32_t window_s; /* 0 = none */
	int estimates;
	struct phx_sim_delays delays;
	struct phx_list clusters; /* struct phx_sim_scenario_cluster */
	struct phx_list res;      /* struct phx_sim_scenario_re */
	struct phx_list traces;   /* struct phx_trace */
};

/** Read `path`; `set` are n_set texts "PATH=VALUE" that replace or add settings before anything is
 * checked: PATH goes through groups by member and through lists by the `name` of an item or its
 * number ("res.batch.lease=30m", "clusters.shared.nodes=120"). -ENOENT, -EINVAL "FILE:LINE: ...";
 * ret (uninitialised is fine) untouched then. */
int phx_sim_scenario_read(const char *path, const char *const *set, size_t n_set,
			  struct phx_sim_scenario *ret, struct phx_err *err);
/** The same with a text at hand; `what` stands for the file. */
int phx_sim_scenario_parse(const char *text, size_t n, const char *what, const char *const *set,
			   size_t n_set, struct phx_sim_scenario *ret, struct phx_err *err);
/** The keys of one part of such a file, for the manual: "scenario", "delays", "cluster",
 * "scenario-re" (beside those of its agreement), and of a trace by the key that names its file
 * ("swf"). NULL: there is no such part. */
const struct phx_record *phx_sim_scenario_table(const char *part);
/** Those keys of an agreement that the simulator knows how to use; NULL behind the last. */
const char *phx_sim_scenario_agreed(size_t i);
/** Safe on a zeroed one. */
void phx_sim_scenario_fini(struct phx_sim_scenario *s);

/** Load what it needs from `store` and run it; `watch` may be NULL. */
int phx_sim_scenario_run(const struct phx_sim_scenario *s, struct phx_trace_store *store,
			 const struct phx_sim_watch *watch, struct phx_sim_result *ret,
			 struct phx_err *err);

#endif
