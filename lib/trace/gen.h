/* Generated workloads: jobs that come in, and web load, in four forms. Drawn
 * from a seed: the same parameters give the same workload. Used by phx sim and
 * for the samples in etc/sim/samples.
 *
 * The form says how the rate runs over the time: */
#ifndef PHX_TRACE_GEN_H
#define PHX_TRACE_GEN_H

#include "trace/workload.h"

/** One row a form (gen.def). */
enum phx_gen_form {
#define FORM(name, ...) PHX_GEN_##name,
#include "trace/gen.def"
#undef FORM
	PHX_GEN_FORM_COUNT_
};
extern const struct phx_enum phx_gen_form_names; /* "poisson", "increasing", "bursty", "periodic" */

/** What the four forms share. */
struct phx_gen_rate {
	int form;             /* enum phx_gen_form */
	int64_t length_ms;    /* of the workload */
	uint32_t periods;     /* bursty, periodic: how often; increasing: steps. 0 = 4 */
	uint32_t swing_milli; /* highest rate over lowest, in thousandths; 0 = 10,000 */
	uint32_t burst_milli; /* bursty: share of a period that is high; 0 = 100 */
};

/** How long jobs run; how many nodes they take. */
enum phx_gen_law { PHX_GEN_FIXED, PHX_GEN_EXPONENTIAL, PHX_GEN_LOGNORMAL };
extern const struct phx_enum phx_gen_law_names; /* "fixed", "exponential", "lognormal" */

struct phx_gen_jobs {
	struct phx_gen_rate rate;
	uint64_t seed;
	uint32_t n;            /* jobs, about: the mean rate is n / length */
	int law;               /* of run times: enum phx_gen_law */
	int64_t run_ms, sd_ms; /* mean; deviation for lognormal */
	/* sizes: powers of two up to it, small ones more often (each as often as all larger); 0 =
	 * 1 */
	uint32_t nodes_max;
	/* estimates: up to this many thousandths of the run time, at least it; 0 = none known */
	uint32_t estimate_milli;
	uint32_t users; /* 0 = 1 */
};
/** Draw jobs. Owned by the caller. -EINVAL (a length, a run time, more than 10 million jobs),
 * -ENOMEM. */
int phx_gen_jobs(const struct phx_gen_jobs *g, struct phx_trace_jobs *ret, struct phx_err *err);

struct phx_gen_load {
	struct phx_gen_rate rate;
	uint64_t seed;
	int64_t period_ms;    /* of a value; 0 = 60,000 */
	uint64_t mean_milli;  /* requests a second, in thousandths */
	uint32_t noise_milli; /* each value is off by up to this share; 0 = none */
};
/** Draw a load series. As phx_gen_jobs(). */
int phx_gen_load(const struct phx_gen_load *g, struct phx_trace_series *ret, struct phx_err *err);

/** Rate at `at_ms` over the mean rate. */
double phx_gen_rate(const struct phx_gen_rate *r, int64_t at_ms);

#endif
