/* The earliest of the times of many places: see earliest.h. Pure. */
#include "state/earliest.h"

#include <errno.h>
#include <stdlib.h>

int phx_earliest_init(struct phx_earliest *e, uint32_t cap)
{
	*e = (struct phx_earliest){.cap = cap, .ms = calloc(2 * (size_t)cap, sizeof(*e->ms))};
	if (!e->ms)
		return -ENOMEM;
	phx_earliest_clear(e);
	return 0;
}

void phx_earliest_fini(struct phx_earliest *e)
{
	free(e->ms);
	*e = (struct phx_earliest){0};
}

void phx_earliest_clear(struct phx_earliest *e)
{
	for (uint32_t k = 0; k < 2 * e->cap; k++)
		e->ms[k] = INT64_MAX;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void phx_earliest_set(struct phx_earliest *e, uint32_t i, int64_t ms)
{
	uint32_t k = e->cap + i;
	e->ms[k] = ms;
	for (k /= 2; k; k /= 2) {
		int64_t first = smaller(e->ms[2 * k], e->ms[2 * k + 1]);
		if (e->ms[k] == first)
			break; /* nothing changes above it */
		e->ms[k] = first;
	}
}

int64_t phx_earliest_get(const struct phx_earliest *e, uint32_t i)
{
	return e->ms[e->cap + i];
}

int64_t phx_earliest_first(const struct phx_earliest *e)
{
	return e->ms[1];
}

uint32_t phx_earliest_next(const struct phx_earliest *e, uint32_t at, int64_t now_ms)
{
	uint32_t k = e->cap + at;
	if (at >= e->cap)
		return e->cap;
	/* up to the next subtree to the right that has such a time; the root and what lies at the
	 * right edge have none beside them */
	while (e->ms[k] > now_ms) {
		while (k & 1)
			k /= 2;
		if (!k)
			return e->cap;
		k++;
	}
	while (k < e->cap)
		k = 2 * k + (e->ms[2 * k] > now_ms);
	return k - e->cap;
}
