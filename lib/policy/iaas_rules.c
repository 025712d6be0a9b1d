/* Code that several provisioning rules share: see iaas_rules.h. Called by the rules
 * (iaas_ID.c). */
#include "policy/iaas_rules.h"

int64_t phx_iaas_boot_mean(const struct phx_iaas_params *p, const struct phx_iaas_state *s)
{
	return s->n_boots ? s->boot_sum_ms / s->n_boots : p->boot_ms;
}

uint32_t phx_iaas_leased(const struct phx_iaas_view *v)
{
	uint32_t n = 0;
	for (int c = 0; c < PHX_IAAS_CLASS_COUNT_; c++)
		n += v->pool[c].booting + v->pool[c].busy + v->pool[c].idle;
	return n;
}

uint32_t phx_iaas_room(const struct phx_iaas_view *v)
{
	uint32_t leased = phx_iaas_leased(v);
	return leased < v->max ? v->max - leased : 0;
}

uint32_t phx_iaas_uncovered(const struct phx_iaas_pool_view *pool)
{
	return pool->n_queued > pool->booting ? pool->n_queued - pool->booting : 0;
}

void phx_iaas_let_go(const struct phx_iaas_params *p, const struct phx_iaas_view *v, int class,
		     struct phx_iaas_wish *ret)
{
	const struct phx_iaas_pool_view *pool = &v->pool[class];
	ret->release[class] = pool->expired;
	if (!p->idle_ms[class] && pool->booting > pool->n_queued)
		ret->cancel[class] = pool->booting - pool->n_queued;
}

/* Do the queued tasks weigh more than `factor` mean boots? Stops adding as soon as the answer is
 * known: queues are long, thresholds low. */
static bool exceeds(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
		    const struct phx_iaas_state *s, phx_iaas_weigh_fn weigh)
{
	const struct phx_iaas_pool_view *pool = &v->pool[PHX_IAAS_SHORT];
	int64_t limit = phx_iaas_boot_mean(p, s) * p->factor, sum = 0;

	for (uint32_t i = 0; i < pool->n_queued; i++) {
		sum += weigh(p, v, s, &v->tasks[pool->queue[i]]);
		if (sum > limit)
			return true;
	}
	return false;
}

void phx_iaas_threshold(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
			const struct phx_iaas_state *s, phx_iaas_weigh_fn weigh,
			struct phx_iaas_wish *ret)
{
	const struct phx_iaas_pool_view *pool = &v->pool[PHX_IAAS_SHORT];

	if (!pool->n_queued) {
		ret->release[PHX_IAAS_SHORT] = pool->expired;
		return;
	}
	/* without any node, tasks below the threshold would never run */
	if (phx_iaas_room(v) && (!phx_iaas_leased(v) || exceeds(p, v, s, weigh)))
		ret->lease[PHX_IAAS_SHORT] = 1;
}
