/* OD-ExecKN (002 3.1, 6): every queued task is taken to run as long as the k ended
 * tasks nearest to it in input size, on average. Ended tasks are kept by input
 * size, as many of each size as can ever count. A rule of provisioning.def; never
 * acts. */
#include <errno.h>
#include <string.h>

#include "policy/iaas_rules.h"

/* Index of the first group whose input is not smaller. */
static uint32_t lower_bound(const struct phx_list *groups, uint64_t input)
{
	const struct phx_iaas_group *g = groups->items;
	uint32_t low = 0, high = groups->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (g[middle].input < input)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int phx_iaas_remember(struct phx_iaas_state *s, uint64_t input, int64_t run_ms)
{
	uint32_t at = lower_bound(&s->groups, input);
	struct phx_iaas_group *groups = s->groups.items;

	if (at == s->groups.n || groups[at].input != input) {
		if (!phx_list_push(&s->groups, sizeof(*groups)))
			return -ENOMEM;
		groups = s->groups.items;
		memmove(&groups[at + 1], &groups[at], (s->groups.n - 1 - at) * sizeof(*groups));
		groups[at] = (struct phx_iaas_group){.input = input};
	}
	groups[at].run_ms[groups[at].n++ % PHX_IAAS_NEIGHBOURS_MAX] = run_ms;
	return 0;
}

/* Adds up the latest `want` tasks of a group, or all that it keeps; returns how many. */
static uint32_t take(const struct phx_iaas_group *g, uint32_t want, int64_t *sum)
{
	uint32_t kept = g->n < PHX_IAAS_NEIGHBOURS_MAX ? g->n : PHX_IAAS_NEIGHBOURS_MAX;
	uint32_t n = kept < want ? kept : want;
	for (uint32_t i = 0; i < n; i++)
		*sum += g->run_ms[(g->n - 1 - i) % PHX_IAAS_NEIGHBOURS_MAX];
	return n;
}

/* Mean run time of the `neighbours` ended tasks nearest to `input`; guess_ms before any task ended.
 * Of two sizes equally near, the smaller comes first; of tasks of one size, the latest. */
static int64_t nearest_mean(const struct phx_iaas_params *p, const struct phx_iaas_state *s,
			    uint64_t input)
{
	const struct phx_iaas_group *groups = s->groups.items;
	uint32_t right = lower_bound(&s->groups, input), left = right, n = 0;
	int64_t sum = 0;

	while (n < p->neighbours && (left > 0 || right < s->groups.n)) {
		bool go_left = left > 0 &&
			(right == s->groups.n ||
			 input - groups[left - 1].input <= groups[right].input - input);
		n += take(go_left ? &groups[--left] : &groups[right++], p->neighbours - n, &sum);
	}
	return n ? sum / n : p->guess_ms;
}

static int64_t weigh(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
		     const struct phx_iaas_state *s, const struct phx_iaas_task *task)
{
	(void)v;
	return nearest_mean(p, s, task->input);
}

static void tick(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
		 struct phx_iaas_state *s, struct phx_iaas_wish *ret)
{
	phx_iaas_threshold(p, v, s, weigh, ret);
}

const struct phx_iaas_rules phx_iaas_rules_od_execkn = {.tick = tick};
