/* What the files of the IaaS study share: the runs (iaas_study.c) and the rows of the published
 * list (iaas_facts.c). A test reads the runs too. */
#ifndef PHX_STUDY_IAAS_STUDY_INTERNAL_H
#define PHX_STUDY_IAAS_STUDY_INTERNAL_H

#include "study/iaas_study.h"
#include "iaas/workload.h"

enum {
	STUDY_CLOUDS = 3,
	STUDY_LIVE = 6,
	STUDY_HOURS = 3,
	STUDY_ALLOCATIONS = 3,
	STUDY_SIZES = 3,
	STUDY_PAIRS = 3,
	STUDY_MIXED = 3
};

/** A name of the published list and what it stands for. */
struct study_name {
	const char *name;
	int value;
};
extern const struct study_name study_clouds[STUDY_CLOUDS]; /* value: nodes (002 table 3) */
/* value: enum phx_provisioning; the first is Startup */
extern const struct study_name study_live[STUDY_LIVE];
extern const struct study_name study_hours[STUDY_HOURS]; /* value: enum phx_iaas_workload */

/** A row of 002.text with our figure. */
struct study_fact {
	const char *config, *metric;
	char ours[64];
};

struct phx_iaas_study {
	struct phx_iaas_study_options options;
	/* 5.1: cloud, policy, workload; 5.2: cloud, allocation, workload */
	struct phx_iaas_result cloud[STUDY_CLOUDS][STUDY_LIVE][STUDY_HOURS];
	struct phx_iaas_result allocation[STUDY_CLOUDS][STUDY_ALLOCATIONS][STUDY_HOURS];
	struct phx_iaas_result sizes[STUDY_SIZES][STUDY_PAIRS];
	struct phx_iaas_result pairs[STUDY_MIXED][2][3];
	struct phx_list facts; /* struct study_fact */
};

/** Parameters of a run: those of 5.3 and 5.4; of 5.1 and 5.2 with `live`. */
void study_config(int provisioning, int allocation, uint32_t nodes,
		  const struct phx_iaas_study_options *live, struct phx_iaas_config *ret);
/** Fill s->facts from the workloads and parameters. -ENOMEM. */
int study_measure(struct phx_iaas_study *s);

#endif
