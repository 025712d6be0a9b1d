/* Who is behind the balancers: the wanted table, derived from the nodes, so
 * that it is never kept and never wrong. Called for a director's orders and by
 * phxd, which wakes directors when the table is another one. Pure. */
#include "core/internal.h"

#include <errno.h>
#include <string.h>

bool phx_core_is_director(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_role *role = phx_state_role(s, n->role);
	return role && role->director && !phx_node_step(n) && n->state == PHX_NODE_ACTIVE && n->env == PHX_ENV_OS;
}

bool phx_director_there(const struct phx_state *s)
{
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
		if (phx_core_is_director(s, n))
			return true;
	return false;
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
	bool leaves = step && (step->kind == PHX_STEP_divert || step->kind == PHX_STEP_drain ||
			       step->kind == PHX_STEP_settle || step->kind == PHX_STEP_stop);
	return leaves && !strcmp(step->role, role->name);
}

/* Where it is heard from; an address that was only announced serves as well. */
const char *phx_core_web_address(const struct phx_node *n)
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
	const char *address = phx_core_web_address(n);
	if (weight < 0 || phx_web_address_parse(address, bytes) < 0)
		return 0;
	return phx_web_table_put(service, address, (uint32_t)weight);
}

static bool serves_somebody(const struct phx_web_service *service)
{
	PHX_LIST_EACH(struct phx_web_server, v, &service->servers)
		if (v->weight)
			return true;
	return false;
}

/* A service that would have nobody keeps those that are only quiet: it may be the head that did not listen. */
static int put_role(struct phx_web_table *t, const struct phx_state *s, const struct phx_role *role, bool quiet)
{
	struct phx_web_service *service =
		phx_web_table_service(t, role->web.address, role->web.port, role->web.scheduler);
	int r = service ? 0 : -ENOMEM;
	if (quiet && service && serves_somebody(service))
		return 0;
	PHX_LIST_EACH(struct phx_node, n, &s->nodes)
		if (r == 0 && n->quiet == quiet)
			r = put(service, role, n);
	return r;
}

bool phx_node_is_balanced(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_role *role = phx_state_role(s, n->role);
	return role && role->web.address[0];
}

int phx_core_web_table(const struct phx_state *s, struct phx_web_table *ret)
{
	struct phx_web_table t = { 0 };
	int r = 0;
	for (int quiet = 0; quiet < 2; quiet++)
		PHX_LIST_EACH(struct phx_role, role, &s->roles)
			if (r == 0 && role->web.address[0])
				r = put_role(&t, s, role, quiet);
	if (r < 0)
		phx_web_table_fini(&t);
	else
		*ret = t;
	return r;
}
