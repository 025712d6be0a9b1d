/* The IaaS study (002) run again: sections 5.3 and 5.4 with its own figures,
 * 5.1 and 5.2, which were measured on live clouds, with those of its
 * simulations. Used by the papers' tables and tests. Same seed, same figures. */
#ifndef PHX_STUDY_IAAS_STUDY_H
#define PHX_STUDY_IAAS_STUDY_H

#include "iaas/iaas.h"

struct phx_iaas_study; /* owned by whoever made it */

/** Draw every workload `repetitions` times (1 to 1000; seeds from `seed` on) and run all; figures
 * are means over the repetitions. 10 repetitions take about 0.3 s. -EINVAL, -ENOMEM with a text. */
int phx_iaas_study_new(uint64_t seed, uint32_t repetitions, struct phx_iaas_study **ret,
		       struct phx_err *err);
void phx_iaas_study_free(struct phx_iaas_study *s);

/** Our figure for one published row. */
struct phx_iaas_study_figure {
	/* only a live experiment could give it: `ours` is empty, `note` says why and what
	 * simulation gives */
	bool live;
	char ours[64];  /* as it is printed: "64", "25/50/75" */
	char note[256]; /* "" where there is nothing to say */
};
/** The row (experiment, config, metric) of the list of published figures: experiments 002.T5,
 * 002.T6, 002.T7, 002.text. -ENOENT: 002 has no such row. */
int phx_iaas_study_experiment(const struct phx_iaas_study *s, const char *experiment,
			      const char *config, const char *metric,
			      struct phx_iaas_study_figure *ret);

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
