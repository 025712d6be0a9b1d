/* Distributions for generators of workloads; keeps nothing between draws. Called by the
 * generators. */
#include <math.h>

#include "trace/draw.h"

double phx_draw_uniform(struct phx_rng *r)
{
	return (double)((phx_rng_next(r) >> 11) + 1) * 0x1p-53;
}

double phx_draw_exponential(struct phx_rng *r, double mean)
{
	return -mean * log(phx_draw_uniform(r));
}

double phx_draw_normal(struct phx_rng *r)
{
	double radius = sqrt(-2 * log(phx_draw_uniform(r)));
	return radius * cos(2 * M_PI * phx_draw_uniform(r));
}

double phx_draw_lognormal(struct phx_rng *r, double mean, double sd)
{
	double variance = log(1 + sd * sd / (mean * mean)); /* of the logarithm */
	return exp(log(mean) - variance / 2 + sqrt(variance) * phx_draw_normal(r));
}
