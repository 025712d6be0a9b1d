/* The whole core under faults: the daemon's core_apply with model machines,
 * BMCs, disks and a network that misbehave, and a head that is killed and comes
 * back from its journal. One seed draws everything; after every event the
 * invariants are checked against what is true of the machines, not against what
 * the core believes. Called by `phx sim faults` and tests/sim. */
#ifndef PHX_FAULT_FAULT_H
#define PHX_FAULT_FAULT_H

#include "base/util.h"

/** One row of fault.def. */
struct phx_fault_info {
	uint32_t number;   /* in the list of faults */
	const char *name;  /* "dead_bmc" */
	const char *what;  /* what is done to the cluster */
	const char *holds; /* what must hold nevertheless */
	bool of_flows;     /* only in lives with workflows */
};
/** The table of faults and its length; by number. */
const struct phx_fault_info *phx_fault_infos(uint32_t *ret_n);

#define PHX_FAULTS_MAX 40

struct phx_fault_options {
	uint64_t seed;
	uint32_t hours;        /* simulated, with faults; 0 = 24 */
	uint32_t nodes;        /* 1 to 999; 0 = 64 */
	uint32_t rate_percent; /* of the usual rate of faults; 0 = 100 */
	uint32_t only;         /* number of the only fault injected; 0 = all */
	bool res;              /* runtime environments too: a coordinated pair and one alone */
	/* with res: the batch RE of the pair has an engine of its own, a fake of Slurm with its
	 * faults */
	bool external;
	/* with res: an RE with workflows too, whose tasks agents keep and tell of */
	bool flows;
	bool wide;            /* with flows: some of its tasks have several nodes */
	uint32_t events_kept; /* lines of the event list; 0 = 200 */
	/* events between two checks of everything (what an event touches is always checked); 0 =
	 * 256 */
	uint32_t whole_every;
};

struct phx_fault_line {
	int64_t time_ms; /* simulated, from the start */
	char text[200];
};

struct phx_fault_result {
	uint64_t seed;
	bool ok;
	char violation[400]; /* of the first invariant that did not hold; "" when ok */
	char invariant[32];  /* its name */
	int64_t time_ms;     /* simulated, at the end */
	uint64_t hash;       /* of every event, its answer and its actions */
	uint64_t events, journalled, refused;
	uint64_t checks; /* invariants looked at */
	uint64_t plans, erasures, jobs, crashes, quarantines;
	/* workflows that were over at the end, tasks that began, and runs of them that were lost */
	uint64_t flows, tasks, losses;
	/* by row of the table; what waits for its instant counts when it happens */
	uint64_t injected[PHX_FAULTS_MAX];
	/* struct phx_fault_line: the last events, oldest first; none when ok */
	struct phx_list lines;
};

/** Lives through one seed. 0 also when an invariant was violated (ret->ok tells); -EINVAL
 * impossible options with a text, -ENOMEM. The caller owns ret: phx_fault_result_fini(). */
int phx_fault_run(const struct phx_fault_options *options, struct phx_fault_result *ret,
		  struct phx_err *err);
void phx_fault_result_fini(struct phx_fault_result *r);

#endif
