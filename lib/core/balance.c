/* Who is behind the balancers: the wanted table, derived from the nodes, so
 * that it is never kept and never wrong. Called for a director's orders and by
 * phxd, which wakes directors when the table is another one. Pure. */
#include "core/core.h"

#include <errno.h>
#include <string.h>

bool phx_core_is_director(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_role *role = phx_state_role(s, n->role);
	return role && role->director && !phx_node_step(n) && n->state == PHX_NODE_ACTIVE && n->env == PHX_ENV_OS;
}

const struct phx_node *phx_core_acting_director(const struct phx_state *s)
{
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
		if (n->up && phx_core_is_director(s, n))
			return n;
	return NULL;
}

/* Packages of the next role are fetched while this one serves. */
static bool serves(const struct phx_node *n, const struct phx_step *step)
{
	if (!step)
		return n->state == PHX_NODE_ACTIVE;
	return step->kind == PHX_STEP_prefetch && n->plan.from_state == PHX_NODE_ACTIVE;
}

static bool stops(const struct phx_step *step, const struct phx_role *role)
{
	return step && (step->kind == PHX_STEP_drain || step->kind == PHX_STEP_stop) && !strcmp(step->role, role->name);
}

/* Where it is heard from; an address that was only announced serves as well. */
static const char *address_of(const struct phx_node *n)
{
	uint8_t bytes[4];
	return phx_web_address_parse(n->address, bytes) == 0 ? n->address : n->ip;
}

static int put(struct phx_web_service *service, const struct phx_role *role, const struct phx_node *n)
{
	const struct phx_step *step = phx_node_step(n);
	uint8_t bytes[4];
	struct phx_web_instance i = {
		.heard = n->up,
		.runs = !strcmp(n->actual_role, role->name),
		.healthy = n->healthy,
		.serves = serves(n, step),
		.stopping = stops(step, role),
	};
	int weight = phx_web_weight(&i);
	if (weight < 0 || phx_web_address_parse(address_of(n), bytes) < 0)
		return 0;
	return phx_web_table_put(service, address_of(n), (uint32_t)weight);
}

static int put_role(struct phx_web_table *t, const struct phx_state *s, const struct phx_role *role)
{
	struct phx_web_service *service =
		phx_web_table_service(t, role->web.address, role->web.port, role->web.scheduler);
	int r = service ? 0 : -ENOMEM;
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
		r = r ? r : put(service, role, n);
	return r;
}

int phx_core_web_table(const struct phx_state *s, struct phx_web_table *ret)
{
	struct phx_web_table t = { 0 };
	int r = 0;
	PHX_LIST_EACH(struct phx_role, role, &s->roles)
		if (r == 0 && role->web.address[0])
			r = put_role(&t, s, role);
	if (r < 0)
		phx_web_table_fini(&t);
	else
		*ret = t;
	return r;
}
