/* The random numbers of the simulators: 64 bits of state, set by a seed. The same seed gives the
 * same sequence on every machine. Pure; not for secrets. */
#ifndef PHX_BASE_RNG_H
#define PHX_BASE_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct phx_rng {
	uint64_t state; /* any value is a seed */
};

/** The next 64 bits (SplitMix64): a counter that grows by an odd number, mixed twice. */
static inline uint64_t phx_rng_next(struct phx_rng *r)
{
	uint64_t x = r->state += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/** A number from 0 to n - 1; 0 when n is 0. */
static inline uint64_t phx_rng_below(struct phx_rng *r, uint64_t n)
{
	return n ? (uint64_t)((unsigned __int128)phx_rng_next(r) * n >> 64) : 0;
}

/** A number from `low` to `high`, both included; low <= high. */
static inline int64_t phx_rng_between(struct phx_rng *r, int64_t low, int64_t high)
{
	return low + (int64_t)phx_rng_below(r, (uint64_t)(high - low) + 1);
}

/** True in `per_mille` of a thousand cases. */
static inline bool phx_rng_chance(struct phx_rng *r, uint32_t per_mille)
{
	return phx_rng_below(r, 1000) < per_mille;
}

#endif
