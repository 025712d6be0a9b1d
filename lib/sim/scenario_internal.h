/* What the parts of the scenario reader share. */
#ifndef PHX_SIM_SCENARIO_INTERNAL_H
#define PHX_SIM_SCENARIO_INTERNAL_H

#include "config/conf.h"
#include "sim/scenario.h"

/** Apply "PATH=VALUE" to the tree. -EINVAL with a text that names PATH and what is there. */
int phx_sim_scenario_set(struct phx_conf *c, const char *set, struct phx_err *err);

/** One group of `traces` into `ret` (zeroed). */
int phx_sim_scenario_trace(const struct phx_conf *c, const config_setting_t *s,
			   struct phx_trace *ret, struct phx_err *err);
/** The keys of one kind of trace, by the one that names its file; NULL: there is no such kind. */
const struct phx_record *phx_sim_scenario_trace_table(const char *kind);

#endif
