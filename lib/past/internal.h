/* What the files of lib/past share. */
#ifndef PHX_PAST_INTERNAL_H
#define PHX_PAST_INTERNAL_H

#include "base/hash.h"
#include "past/past.h"
#include "sim/run.h"
#include "state/state.h"

/** A job as it was when it was seen last; core time. */
struct past_job {
	uint64_t id;
	uint32_t re; /* index */
	uint32_t nodes;
	int64_t submitted_ms, started_ms, ended_ms; /* 0: not yet */
	int64_t estimate_ms;                        /* 0: none */
};

/** How many instances a web service wanted from then on. */
struct past_want {
	int64_t at_ms;
	uint32_t want;
};

/** An RE that was active in that time. */
struct past_re {
	struct phx_agreement agreement; /* the last */
	struct phx_list wants;          /* struct past_want */
};

struct phx_past {
	struct phx_past_wish wish;
	struct phx_state state;
	bool begun;           /* an event of the wished time was seen */
	struct phx_list res;  /* struct past_re */
	struct phx_list jobs; /* struct past_job */
	struct phx_hash jobs_by_id;
	uint32_t since_look; /* events since all jobs were looked at */
	uint32_t nodes;      /* the most that there were */
};

/** Look at the state after an event of that time. -ENOMEM, -E2BIG. */
int past_look(struct phx_past *p, bool all_jobs, struct phx_err *err);

/** One side of the answer, while it is simulated. `bins`: PHX_PAST_STEPS an RE. */
struct past_bin;
struct past_drawing {
	int64_t from_ms, until_ms;
	const struct phx_sim_re *res;
	unsigned n_res;
	struct past_bin *bins;
	struct past_now *now;
	unsigned from_milli;
	phx_past_progress_fn progress;
	void *arg;
	struct phx_sim_watch watch;
};
/** -ENOMEM. `watch` is ready for the run then. */
int past_drawing_begin(struct past_drawing *d);
void past_drawing_fini(struct past_drawing *d);
/** After the run. NULL: -ENOMEM. */
json_t *past_drawing_pools(struct past_drawing *d);

#endif
