/* The IaaS study (002) run again: sections 5.3 and 5.4 with its own figures,
 * 5.1 and 5.2, which were measured on live clouds, with those of its
 * simulations. Used by the papers' tables and tests. Same seed, same figures. */
#ifndef PHX_STUDY_IAAS_STUDY_H
#define PHX_STUDY_IAAS_STUDY_H

#include "iaas/iaas.h"

struct phx_iaas_study; /* owned by whoever made it */

/** What the study is made with. */
struct phx_iaas_study_options {
	uint64_t seed;
	uint32_t repetitions; /* 1 to 1000 */
	/* 5.1 and 5.2, which 002 measured live and gives neither for: how long a node boots; how
	 * long it is kept idle, but by OD-S, which 5.1 has release nodes before they are ready */
	int64_t boot_ms, idle_ms;
	int64_t charge_ms; /* what is charged for */
};
/** The usual ones: times as 002 prints them for its simulations. */
#define PHX_IAAS_STUDY_OPTIONS \
	{ \
		.seed = 1, .repetitions = 10, .boot_ms = 600000, .idle_ms = 600000, \
		.charge_ms = 3600000 \
	}

/** Draw every workload `repetitions` times (seeds from `seed` on) and run all; figures are means
 * over the repetitions. 10 repetitions take about 0.3 s. -EINVAL, -ENOMEM with a text. */
int phx_iaas_study_new(const struct phx_iaas_study_options *options, struct phx_iaas_study **ret,
		       struct phx_err *err);
void phx_iaas_study_free(struct phx_iaas_study *s);

/** Our figure for the row (experiment, config, metric) of the list of published figures, as it is
 * printed: "64", "25/50/75"; experiments 002.T5, 002.T6, 002.T7, 002.text. -ENOENT: 002 has no such
 * row. */
int phx_iaas_study_experiment(const struct phx_iaas_study *s, const char *experiment,
			      const char *config, const char *metric, char ret[64]);

/* ---- what the study has run; for those who print it ---- */

/** Section 5.3: workload sr25, sr50, sr75 by pair: OD-S with FCFS, OD-S with SJF, OD-2Q with
 * FCFS-2Q. NULL out of range. */
const struct phx_iaas_result *phx_iaas_study_sizes(const struct phx_iaas_study *s,
						   unsigned workload, unsigned pair);
/** Section 5.4: workload Uniform, Periodic, Bursty; allocation FCFS, SJF; policy Startup, OD-S,
 * OD-G. NULL out of range. */
const struct phx_iaas_result *phx_iaas_study_pairs(const struct phx_iaas_study *s,
						   unsigned workload, unsigned allocation,
						   unsigned policy);

#endif
