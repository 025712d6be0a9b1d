/* What a node runs ahead: the services of a web RE's role, idle, while the node still belongs to
 * the RE with jobs that shares its nodes, so that a hand-over finds them running. Both agreements
 * must allow it, whoever owns them. Both must leave nodes as they are: nothing runs for one RE on a
 * node that must be cleaned for the other. The services must not be in the way of those that run.
 * The agent has the role as a standing order, like the packages to prefetch. It is derived from the
 * state, so it is in no journal and is right after a restart. Called for a node's orders. Pure. */
#include "re/internal.h"

#include <errno.h>
#include <string.h>

#include "base/mix.h"

static const struct phx_setup noop = {.mode = PHX_SETUP_NOOP};

static bool allows(const struct phx_state *s, const struct phx_re *re)
{
	const struct phx_pool *pool = phx_state_pool(s, re->name);
	return re->active && re->agreement.start_ahead && pool &&
		phx_setup_covers(&noop, &pool->setup);
}

/* The RE with jobs that holds the node, which runs its role. */
static const struct phx_re *holder(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_re *re =
		n->allocation == PHX_ALLOCATION_HELD ? phx_state_re(s, n->allocated_to) : NULL;
	bool at_home = re && !strcmp(n->pool, re->name) && !strcmp(n->role, re->agreement.role) &&
		!strcmp(n->actual_role, n->role);
	return at_home && !phx_re_kind(&re->agreement)->has_demand && allows(s, re) ? re : NULL;
}

/* The partner of the RE `at`, if the partner has a demand, which may come suddenly. */
static const struct phx_re *partner(const struct phx_state *s, const struct phx_re *at)
{
	const struct phx_re *re = phx_re_partner(s, at);
	return re && phx_re_kind(&re->agreement)->has_demand && allows(s, re) ? re : NULL;
}

static bool has_word(const struct phx_list *words, const char *text)
{
	PHX_LIST_EACH(struct phx_word, w, words)
		if (!strcmp(w->text, text))
			return true;
	return false;
}

static bool has_service(const struct phx_role *role, const char *name)
{
	PHX_LIST_EACH(struct phx_service, v, &role->services)
		if (!strcmp(v->name, name))
			return true;
	return false;
}

/* Can the services of both roles run on one node at a time? Not if they share a name or a port, nor
 * if the running role has a CPU quota, which is for one role only. */
static bool fit_beside(const struct phx_role *runs, const struct phx_role *ahead)
{
	PHX_LIST_EACH(struct phx_service, v, &ahead->services)
		if (has_service(runs, v->name))
			return false;
	PHX_LIST_EACH(struct phx_word, port, &ahead->ports)
		if (has_word(&runs->ports, port->text))
			return false;
	return ahead->services.n && !runs->director && !runs->web.cpu_milli;
}

static bool has_step(const struct phx_plan *p, enum phx_step_kind kind)
{
	PHX_LIST_EACH(struct phx_step, step, &p->steps)
		if (step->kind == (int)kind)
			return true;
	return false;
}

/* Would the services still run when the node comes to the RE? Not if the hand-over restarts the
 * node, or destroys what the node holds. */
static bool would_live(const struct phx_state *s, const struct phx_node *n, const struct phx_re *re)
{
	struct phx_node_order o = phx_order_own(PHX_EV_assign, n, "");
	struct phx_plan plan = {0};
	o.role = re->agreement.role;
	o.pool = re->name;
	if (phx_order_plan(s, &o, &plan, NULL) < 0)
		return false;
	bool lives = plan.tier == PHX_TIER_IN_PLACE && plan.steps.n &&
		!has_step(&plan, PHX_STEP_scratch);
	phx_record_fini(&phx_plan_record, &plan);
	return lives;
}

/* The RE whose role is started ahead; NULL: none. */
static const struct phx_re *wanted(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_re *at = phx_is_prefetched(n) ? holder(s, n) : NULL,
			    *re = at ? partner(s, at) : NULL;
	const struct phx_role *runs = at ? phx_state_role(s, n->role) : NULL,
			      *ahead = re ? phx_state_role(s, re->agreement.role) : NULL;
	if (!runs || !ahead || !fit_beside(runs, ahead) || n->owes_wipe || n->owes_data)
		return NULL;
	return would_live(s, n, re) ? re : NULL;
}

/* A copy of the role as the step `start` will have it. */
static int copy_role(const struct phx_state *s, const struct phx_re *re, struct phx_role *ret)
{
	struct phx_role store;
	const struct phx_role *role = phx_state_role(s, re->agreement.role);
	role = phx_state_role_in(s, role, re->name, &store);
	int r = phx_record_copy(&phx_role_record, ret, role);
	if (r == 0)
		ret->web = phx_web_of_pool(s, re->name, role);
	return r;
}

static uint64_t mix_words(uint64_t h, const struct phx_list *words)
{
	PHX_LIST_EACH(struct phx_word, w, words)
		h = phx_mix_text(h, w->text);
	return phx_mix_text(h, "");
}

static uint64_t mix_service(uint64_t h, const struct phx_service *v)
{
	h = phx_mix_text(phx_mix_text(phx_mix_text(h, v->name), v->package), v->user);
	h = mix_words(mix_words(mix_words(h, &v->argv), &v->env), &v->after);
	h = phx_mix_number(phx_mix_number(h, v->stop_grace_s), v->settle_s);
	return phx_mix_number(phx_mix_number(h, v->restart), (uint32_t)v->drain_signal);
}

static uint64_t mix_check(uint64_t h, const struct phx_health *c)
{
	h = phx_mix_text(mix_words(phx_mix_number(h, (uint32_t)c->kind), &c->argv), c->target);
	return phx_mix_number(phx_mix_number(phx_mix_number(h, c->interval_s), c->timeout_s),
			      c->failures);
}

static uint64_t mix_web(uint64_t h, const struct phx_role_web *web)
{
	h = phx_mix_text(phx_mix_text(h, web->address), web->scheduler);
	h = web->more[0] ? phx_mix_text(h, web->more) : h;
	return phx_mix_number(phx_mix_number(h, web->port), web->cpu_milli);
}

/* Like the id of a table (web/table.h): never 0, and exact in every JSON reader. It covers all that
 * people change in a role: `start` takes over the services of exactly the same role only. */
static uint64_t id_of(const struct phx_role *role)
{
	uint64_t h = phx_mix_text(
		phx_mix_text(phx_mix_text(PHX_MIX_NONE, role->name), role->summary), role->pool);
	h = phx_mix_text(phx_mix_text(phx_mix_text(h, role->image), role->image_version),
			 role->image_digest);
	PHX_LIST_EACH(struct phx_package_ref, p, &role->packages)
		h = phx_mix_text(phx_mix_text(phx_mix_text(h, p->name), p->version), p->sha256);
	PHX_LIST_EACH(struct phx_service, v, &role->services)
		h = mix_service(h, v);
	h = mix_words(mix_words(mix_words(h, &role->ports), &role->leave_remove),
		      &role->allow_older);
	h = mix_web(mix_check(h, &role->health), &role->web);
	h = phx_mix_number(phx_mix_number(h, role->drain_grace_s), role->runs_jobs);
	return phx_mix_id(h);
}

int phx_re_ahead(const struct phx_state *s, const struct phx_node *n, struct phx_role *ret_role,
		 uint64_t *ret_id)
{
	struct phx_role role = {0};
	if (phx_node_step(n) || !n->up || n->env != PHX_ENV_OS)
		return -ENOENT;
	const struct phx_re *re = wanted(s, n);
	int r = re ? copy_role(s, re, &role) : 0;
	if (r < 0)
		return r;
	*ret_role = role;
	*ret_id = id_of(&role);
	return 0;
}
