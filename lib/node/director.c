/* The table that the balancers should have. It is derived from the nodes whenever it is asked for,
 * so it is never stored and never stale. Called for a director's orders, and by phxd, which wakes
 * directors when the table has changed. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <string.h>

bool phx_director_is(const struct phx_state *s, const struct phx_node *n)
{
	return n->state == PHX_NODE_ACTIVE && n->env == PHX_ENV_OS && !phx_node_step(n) &&
		phx_node_is_to_direct(s, n);
}

/* The first candidate of `set` behind node `after`, or from the beginning. */
static const struct phx_node *next_of(const struct phx_state *s, enum phx_node_set set,
				      const struct phx_node *after)
{
	return phx_index_candidate(s, set, after ? phx_index_place(s, after) + 1 : 0);
}

const struct phx_node *phx_director_next(const struct phx_state *s, const struct phx_node *after)
{
	const struct phx_node *n = after;
	while ((n = next_of(s, PHX_SET_DIRECTOR, n)) && !phx_director_is(s, n))
		;
	return n;
}

bool phx_director_there(const struct phx_state *s)
{
	return phx_director_next(s, NULL);
}

struct phx_node *phx_director_named(const struct phx_state *s, const char *name)
{
	struct phx_node *n = name[0] ? phx_state_node(s, name) : NULL;
	return n && phx_director_is(s, n) ? n : NULL;
}

/* Is the last director silent, so that it may still have the addresses? If its role has a fence, no
 * other director gets them before it is seen off. */
bool phx_director_in_the_way(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_role *role = n && !n->up ? phx_state_role(s, n->role) : NULL;
	return role && role->fence == PHX_ROLE_FENCE_POWER && phx_node_has_bmc(n) &&
		n->power != PHX_POWER_IS_OFF;
}

const struct phx_node *phx_director_heard(const struct phx_state *s, const struct phx_node *after)
{
	const struct phx_node *n = after;
	while ((n = phx_director_next(s, n)) && !n->up)
		;
	return n;
}

void phx_director_fence(struct phx_apply *a, struct phx_node *silent)
{
	const struct phx_node *next = phx_director_heard(a->s, NULL);
	if (!next || silent->off_wanted)
		return;
	phx_touch(a->s, silent);
	phx_power_off(a, silent);
	phx_note(a, silent, "%s is not heard: it is switched off before %s takes its place",
		 silent->name, next->name);
}

void phx_fence_over(struct phx_apply *a, struct phx_node *n)
{
	if (n->off_wanted && n->state == PHX_NODE_ACTIVE) {
		n->off_wanted = false;
		a->out->changed = true;
	}
}

const struct phx_node *phx_director_next_leaving(const struct phx_state *s,
						 const struct phx_node *after)
{
	const struct phx_node *n = after;
	while ((n = next_of(s, PHX_SET_LEAVES, n)) && !phx_node_waits_for_director(s, n))
		;
	return n;
}

/* Does the node serve? It does while packages of its next role are fetched. */
static bool serves(const struct phx_node *n, const struct phx_step *step)
{
	if (!step)
		return n->state == PHX_NODE_ACTIVE;
	return step->kind == PHX_STEP_prefetch && n->plan.from_state == PHX_NODE_ACTIVE;
}

static bool stops(const struct phx_step *step, const struct phx_role *role)
{
	bool leaves = step &&
		(step->kind == PHX_STEP_divert || step->kind == PHX_STEP_drain ||
		 step->kind == PHX_STEP_settle || step->kind == PHX_STEP_stop);
	return leaves && !strcmp(step->role, role->name);
}

/* The address that the node is heard from, or else the announced one. */
const char *phx_director_address(const struct phx_node *n)
{
	uint8_t bytes[4];
	return phx_web_address_parse(n->address, bytes) == 0 ? n->address : n->ip;
}

/* The services of all addresses of `web`, made where they are new. */
static int put_service(struct phx_web_table *t, const struct phx_role_web *web)
{
	char address[PHX_WEB_ADDRESS_MAX];
	for (uint32_t i = 0; phx_role_web_address(web, i, address); i++)
		if (!phx_web_table_service(t, address, web->port, web->scheduler))
			return -ENOMEM;
	return 0;
}

/* An older agent has its first address only. */
static int put_server(struct phx_web_table *t, const struct phx_node *n,
		      const struct phx_role_web *web, int weight)
{
	char address[PHX_WEB_ADDRESS_MAX];
	uint8_t bytes[4];
	int r = 0;
	if (weight < 0 || phx_web_address_parse(phx_director_address(n), bytes) < 0)
		return 0;
	for (uint32_t i = 0; r == 0 && (!i || n->shares) && phx_role_web_address(web, i, address);
	     i++) {
		struct phx_web_service *s =
			phx_web_table_service(t, address, web->port, web->scheduler);
		r = s ? phx_web_table_put(s, phx_director_address(n), (uint32_t)weight) : -ENOMEM;
	}
	return r;
}

/* How silent a node is. A service uses nodes of the least silence at which it has any server. */
enum silence { HEARD, RESTING, OUT, SILENCES };

static enum silence silence_of(const struct phx_node *n)
{
	return !n->quiet ? HEARD : n->rests_until_ms ? RESTING : OUT;
}

static int put(struct phx_web_table *t, const struct phx_state *s, const struct phx_node *n,
	       enum silence allowed)
{
	const struct phx_role *role = phx_state_role(s, n->actual_role);
	if (!role)
		return 0;
	struct phx_role_web web = phx_node_web_of(s, n, role);
	if (!web.address[0])
		return 0;
	const struct phx_step *step = phx_node_step(n);
	enum silence silence = silence_of(n);
	struct phx_web_instance i = {
		.heard = n->up && (silence < OUT || allowed == OUT),
		.runs = true,
		.healthy = n->healthy,
		.serves = serves(n, step),
		.stopping = stops(step, role),
		.resting = silence > allowed,
	};
	int r = put_service(t, &web);
	return r ? r : put_server(t, n, &web, phx_web_weight(&i));
}

bool phx_director_serves_re(const struct phx_re *re)
{
	char address[PHX_WEB_ADDRESS_MAX];
	return re->active && phx_re_kind(&re->agreement)->has_demand &&
		phx_agreement_address(&re->agreement, 0, address);
}

/* Puts services into the table, also those without an instance. */
static int put_services(struct phx_web_table *t, const struct phx_state *s)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_role, role, &s->roles)
		r = r ? r : put_service(t, &role->web);
	PHX_LIST_EACH(struct phx_re, re, &s->res) {
		const struct phx_role *role =
			phx_director_serves_re(re) ? phx_state_role(s, re->agreement.role) : NULL;
		struct phx_role_web web =
			role ? phx_web_of_pool(s, re->name, role) : (struct phx_role_web){0};
		r = r ? r : put_service(t, &web);
	}
	return r;
}

static int make_table(const struct phx_state *s, enum silence allowed, struct phx_web_table *ret)
{
	struct phx_web_table t = {0};
	int r = put_services(&t, s);
	for (const struct phx_node *n = NULL; r == 0 && (n = next_of(s, PHX_SET_BALANCED, n));)
		r = put(&t, s, n, allowed);
	if (r < 0)
		phx_web_table_fini(&t);
	else
		*ret = t;
	return r;
}

static bool serves_somebody(const struct phx_web_service *service)
{
	PHX_LIST_EACH(struct phx_web_server, v, &service->servers)
		if (v->weight)
			return true;
	return false;
}

static bool any_quiet(const struct phx_state *s)
{
	for (const struct phx_node *n = NULL; (n = next_of(s, PHX_SET_BALANCED, n));)
		if (n->quiet)
			return true;
	return false;
}

/* A service without a server keeps nodes that are only quiet: perhaps it was the head that did not
 * listen. */
static int keep_the_last(const struct phx_state *s, enum silence allowed, struct phx_web_table *t)
{
	PHX_AUTO(phx_web_table_fini) struct phx_web_table all = {0};
	int r = make_table(s, allowed, &all);
	/* both tables have the same services in the same order */
	for (uint32_t i = 0; r == 0 && i < t->services.n; i++) {
		struct phx_web_service *service =
			PHX_LIST_AT(&t->services, struct phx_web_service, i);
		if (serves_somebody(service))
			continue;
		struct phx_list none = service->servers;
		struct phx_web_service *with =
			PHX_LIST_AT(&all.services, struct phx_web_service, i);
		service->servers = with->servers;
		with->servers = none;
	}
	return r;
}

int phx_director_table(const struct phx_state *s, struct phx_web_table *ret)
{
	struct phx_web_table t = {0};
	int r = make_table(s, HEARD, &t);
	bool quiet = any_quiet(s);
	for (enum silence allowed = RESTING; r == 0 && quiet && allowed < SILENCES; allowed++)
		r = keep_the_last(s, allowed, &t);
	if (r < 0)
		phx_web_table_fini(&t);
	else
		*ret = t;
	return r;
}
