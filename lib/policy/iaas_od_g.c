/* OD-G (002 3.1, 3): while tasks wait, it leases 1, n, n*n, ... nodes in successive
 * control periods; while nodes are idle for long, its releases grow the same way.
 * `adaptive` is the variant of 5.4: the number is multiplied by n each time a node
 * is lacking and divided by n each time a node was idle for long. Such nodes are
 * released, and never more nodes are leased than tasks lack: only so is it slower
 * than od-s, as 5.4 finds. A rule of provisioning.def; never acts. */
#include "policy/iaas_rules.h"

/* n to the power of `step`, at most `limit`. */
static uint32_t power_within(uint32_t n, uint32_t step, uint32_t limit)
{
	uint64_t value = 1;
	while (step-- > 0 && value < limit)
		value *= n;
	return value < limit ? (uint32_t)value : limit;
}

static void tick_anew(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
		      struct phx_iaas_state *s, struct phx_iaas_wish *ret)
{
	const struct phx_iaas_pool_view *pool = &v->pool[PHX_IAAS_SHORT];

	if (pool->n_queued)
		s->shrink = 0;
	else
		s->grow = 0;
	if (phx_iaas_uncovered(pool) && phx_iaas_room(v))
		ret->lease[PHX_IAAS_SHORT] = power_within(p->growth, s->grow++, phx_iaas_room(v));
	else if (!pool->n_queued && pool->expired)
		ret->release[PHX_IAAS_SHORT] = power_within(p->growth, s->shrink++, pool->expired);
}

static void tick_adaptive(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
			  struct phx_iaas_state *s, struct phx_iaas_wish *ret)
{
	const struct phx_iaas_pool_view *pool = &v->pool[PHX_IAAS_SHORT];
	uint32_t room = phx_iaas_room(v), wanting = phx_iaas_uncovered(pool),
		 most = wanting < room ? wanting : room;

	if (most) {
		s->grow = s->grow ? s->grow : 1;
		ret->lease[PHX_IAAS_SHORT] = s->grow < most ? s->grow : most;
		if (s->grow < v->max)
			s->grow *= p->growth;
	} else if (pool->expired) {
		s->grow /= p->growth;
		ret->release[PHX_IAAS_SHORT] = pool->expired;
	}
}

static void tick(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
		 struct phx_iaas_state *s, struct phx_iaas_wish *ret)
{
	if (p->adaptive)
		tick_adaptive(p, v, s, ret);
	else
		tick_anew(p, v, s, ret);
}

const struct phx_iaas_rules phx_iaas_rules_od_g = {.tick = tick};
