/* Counters that count nothing, for unit programs that are not about metrics: what phxd/metrics.h
 * declares. A fake. */
#ifndef FAKE_METRICS_H
#define FAKE_METRICS_H

#include "phxd/metrics.h"

void metrics_beat(struct metrics *m, const char *node, const struct beat_figures *f, int64_t us)
{
	(void)m, (void)node, (void)f, (void)us;
}

void metrics_order(struct metrics *m, int kind)
{
	(void)m, (void)kind;
}

void metrics_power(struct metrics *m, enum phx_power_op op, bool failed)
{
	(void)m, (void)op, (void)failed;
}

#endif
