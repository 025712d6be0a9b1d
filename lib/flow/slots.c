/* Nodes with tasks side by side: see slots.h. Pure. */
#include "flow/slots.h"

#include <errno.h>

int phx_flow_slots_init(uint32_t n_nodes, struct phx_flow_slot node, struct phx_flow_slots *ret)
{
	struct phx_flow_slot *slots = calloc((size_t)n_nodes + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_nodes; i++)
		slots[i] = node;
	*ret = (struct phx_flow_slots){slots, n_nodes, node};
	return 0;
}

void phx_flow_slots_fini(struct phx_flow_slots *s)
{
	free(s->free);
	*s = (struct phx_flow_slots){0};
}

/* What a task takes on each of its nodes. */
static struct phx_flow_slot want_of(const struct phx_flow_slots *s, const struct phx_flow_task *t)
{
	bool whole = !t->cores || phx_flow_is_wide(t);
	return (struct phx_flow_slot){whole ? s->node.cores : t->cores,
				      s->node.memory_bytes ? t->memory_bytes : 0};
}

static bool fits(struct phx_flow_slot want, struct phx_flow_slot have)
{
	return want.cores <= have.cores && want.memory_bytes <= have.memory_bytes;
}

bool phx_flow_slots_can(const struct phx_flow_slots *s, const struct phx_flow_task *t)
{
	return t->nodes <= s->n_nodes && fits(want_of(s, t), s->node);
}

static void take(struct phx_flow_slots *s, uint32_t node, struct phx_flow_slot want)
{
	s->free[node].cores -= want.cores;
	s->free[node].memory_bytes -= want.memory_bytes;
}

/* The node with the fewest free cores on which it fits. */
static uint32_t fullest(const struct phx_flow_slots *s, struct phx_flow_slot want)
{
	uint32_t best = PHX_FLOW_NONE;
	for (uint32_t i = 0; i < s->n_nodes; i++) {
		if (!fits(want, s->free[i]))
			continue;
		if (s->free[i].cores == want.cores)
			return i;
		if (best == PHX_FLOW_NONE || s->free[i].cores < s->free[best].cores)
			best = i;
	}
	return best;
}

/* A task of several nodes takes the first ones on which it fits, each once. */
static bool take_several(struct phx_flow_slots *s, uint32_t n, struct phx_flow_slot want,
			 uint32_t *ret_nodes)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < s->n_nodes && found < n; i++)
		if (fits(want, s->free[i]))
			ret_nodes[found++] = i;
	for (uint32_t i = 0; found == n && i < n; i++)
		take(s, ret_nodes[i], want);
	return found == n;
}

bool phx_flow_slots_take(struct phx_flow_slots *s, const struct phx_flow_task *t, uint32_t wanted,
			 uint32_t *ret_nodes)
{
	struct phx_flow_slot want = want_of(s, t);
	if (t->nodes > 1)
		return take_several(s, t->nodes, want, ret_nodes);
	bool good = wanted < s->n_nodes && fits(want, s->free[wanted]);
	uint32_t node = good ? wanted : fullest(s, want);
	if (node == PHX_FLOW_NONE)
		return false;
	take(s, node, want);
	*ret_nodes = node;
	return true;
}

void phx_flow_slots_give(struct phx_flow_slots *s, const struct phx_flow_task *t,
			 const uint32_t *nodes)
{
	struct phx_flow_slot want = want_of(s, t);
	for (uint32_t i = 0; i < t->nodes; i++) {
		s->free[nodes[i]].cores += want.cores;
		s->free[nodes[i]].memory_bytes += want.memory_bytes;
	}
}
