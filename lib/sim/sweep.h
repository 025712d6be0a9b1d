/* A scenario under all combinations of values of some of its settings. Used by
 * phx sim sweep. */
#ifndef PHX_SIM_SWEEP_H
#define PHX_SIM_SWEEP_H

#include "sim/threads.h"
#include "sim/scenario.h"

#define PHX_SIM_SWEEP_VARIED_MAX 8
#define PHX_SIM_SWEEP_POINTS_MAX 100000

/** One setting and its values, as texts. */
struct phx_sim_varied {
	char path[128];
	char **values; /* owned */
	size_t n;
};
/** Read "PATH=V1,V2,V3" or "PATH=FROM..TO" or "PATH=FROM..TO:STEP" (numbers; the step may have a
 * fraction; the default is 1). -EINVAL with a text, -E2BIG beyond PHX_SIM_SWEEP_POINTS_MAX
 * values. */
int phx_sim_varied_parse(const char *text, struct phx_sim_varied *ret, struct phx_err *err);
void phx_sim_varied_fini(struct phx_sim_varied *v);

struct phx_sim_sweep_config {
	const char *scenario;
	const char *const *set; /* as of phx_sim_scenario_read(), for every point */
	size_t n_set;
	const struct phx_sim_varied *varied;
	size_t n_varied;
	struct phx_trace_store *store;
	unsigned workers;
	phx_sim_pool_progress_fn progress; /* or NULL; gets progress_arg */
	void *progress_arg;
};

/** One combination: value[i] is of varied[i] (borrowed). The last of the varied runs through its
 * values first. */
struct phx_sim_sweep_point {
	const char *value[PHX_SIM_SWEEP_VARIED_MAX];
	struct phx_sim_result result;
};

/** Run all points. -EINVAL with a text that names the combination, -E2BIG, -ENOMEM; ret untouched
 * then. ret_points: *ret_n of them, owned: phx_sim_sweep_free(). */
int phx_sim_sweep(const struct phx_sim_sweep_config *config,
		  struct phx_sim_sweep_point **ret_points, size_t *ret_n, struct phx_err *err);
void phx_sim_sweep_free(struct phx_sim_sweep_point *points, size_t n);

#endif
