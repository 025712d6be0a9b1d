/* Distributions drawn from the simulator's source of chance (base/rng.h). They use
 * libm: for generators of workloads, never for pure rooms. */
#ifndef PHX_TRACE_DRAW_H
#define PHX_TRACE_DRAW_H

#include "base/rng.h"

/** Uniform in (0, 1]: never 0, so that its logarithm exists. */
double phx_draw_uniform(struct phx_rng *r);
/** Exponential with the given mean: the gap of a Poisson stream. */
double phx_draw_exponential(struct phx_rng *r, double mean);
/** Standard normal; two numbers of the source each. */
double phx_draw_normal(struct phx_rng *r);
/** Log-normal with the given mean and standard deviation; mean > 0. */
double phx_draw_lognormal(struct phx_rng *r, double mean, double sd);

#endif
