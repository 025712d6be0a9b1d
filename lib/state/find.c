/* Finds items of a state's lists: jobs, runs and triggers by number, certificates by serial number,
 * grants by identity. named.c finds pools, roles and REs by name; index.c finds nodes by name and
 * by what identifies their machines. Called by the pure rooms above and by the API. Pure. */
#include "state/state.h"

#include <string.h>

const struct phx_role *phx_state_role_in(const struct phx_state *s, const struct phx_role *role,
					 const char *pool, struct phx_role *store)
{
	const struct phx_re *re = role ? phx_state_re(s, pool) : NULL;
	if (!re || !re->agreement.image_digest[0] || strcmp(re->agreement.role, role->name))
		return role;
	*store = *role;
	PHX_STR_SET(store->image, re->agreement.image);
	PHX_STR_SET(store->image_version, re->agreement.image_version);
	PHX_STR_SET(store->image_digest, re->agreement.image_digest);
	PHX_STR_SET(store->image_kernel, re->agreement.image_kernel);
	return store;
}

const struct phx_revoked *phx_state_revoked(const struct phx_state *s, const char *serial)
{
	PHX_LIST_EACH(struct phx_revoked, c, &s->revoked)
		if (!strcmp(c->serial, serial))
			return c;
	return NULL;
}

unsigned phx_state_granted(const struct phx_state *s, const char *identity)
{
	unsigned roles = 0;
	PHX_LIST_EACH(struct phx_grant, g, &s->grants)
		if (!g->login[0] && !strcmp(g->identity, identity))
			roles |= 1u << g->role;
	return roles;
}

const char *phx_state_login(const struct phx_state *s, const char *identity)
{
	PHX_LIST_EACH(struct phx_grant, g, &s->grants)
		if (g->login[0] && !strcmp(g->identity, identity))
			return g->login;
	return "";
}

static uint64_t number_of_job(const void *item)
{
	return ((const struct phx_job *)item)->id;
}

uint32_t phx_state_job_place(const struct phx_state *s, uint64_t id)
{
	return phx_list_place(&s->jobs, sizeof(struct phx_job), number_of_job, id);
}

static uint64_t number_of_node(const void *item)
{
	return ((const struct phx_node *)item)->number;
}

uint32_t phx_state_node_place(const struct phx_state *s, uint64_t number)
{
	return phx_list_place(&s->nodes, sizeof(struct phx_node), number_of_node, number);
}

struct phx_node *phx_nodes_next(const struct phx_state *s, uint32_t place)
{
	for (; place < s->nodes.n; place++)
		if (!phx_node_is_gone(PHX_LIST_AT(&s->nodes, struct phx_node, place)))
			return PHX_LIST_AT(&s->nodes, struct phx_node, place);
	return NULL;
}

struct phx_node *phx_state_node_numbered(const struct phx_state *s, uint64_t number)
{
	uint32_t at = phx_state_node_place(s, number);
	struct phx_node *n = at < s->nodes.n ? PHX_LIST_AT(&s->nodes, struct phx_node, at) : NULL;
	return n && n->number == number && !phx_node_is_gone(n) ? n : NULL;
}

struct phx_job *phx_state_job(const struct phx_state *s, uint64_t id)
{
	uint32_t at = phx_state_job_place(s, id);
	struct phx_job *j = at < s->jobs.n ? PHX_LIST_AT(&s->jobs, struct phx_job, at) : NULL;
	return j && j->id == id ? j : NULL;
}

static uint64_t number_of_run(const void *item)
{
	return ((const struct phx_flowrun *)item)->id;
}

struct phx_flowrun *phx_state_flowrun(const struct phx_state *s, uint64_t id)
{
	uint32_t at = phx_list_place(&s->workflows, sizeof(struct phx_flowrun), number_of_run, id);
	struct phx_flowrun *w =
		at < s->workflows.n ? PHX_LIST_AT(&s->workflows, struct phx_flowrun, at) : NULL;
	return w && w->id == id ? w : NULL;
}

static uint64_t number_of_trigger(const void *item)
{
	return ((const struct phx_trigger *)item)->id;
}

struct phx_line *phx_state_line(const struct phx_state *s, uint64_t id)
{
	PHX_LIST_EACH(struct phx_line, line, &s->lines)
		if (line->id == id)
			return line;
	return NULL;
}

struct phx_trigger *phx_state_trigger(const struct phx_state *s, uint64_t id)
{
	uint32_t at =
		phx_list_place(&s->triggers, sizeof(struct phx_trigger), number_of_trigger, id);
	struct phx_trigger *t =
		at < s->triggers.n ? PHX_LIST_AT(&s->triggers, struct phx_trigger, at) : NULL;
	return t && t->id == id ? t : NULL;
}

struct phx_trigger *phx_state_trigger_named(const struct phx_state *s, const char *name)
{
	PHX_LIST_EACH(struct phx_trigger, t, &s->triggers)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}
