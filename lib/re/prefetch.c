/* The packages that a node prefetches: those of the roles that the policy may give it next without
 * touching its system, so that a hand-over finds them on the node. The agent has them as a standing
 * order, like a director's table, and fetches them when it is idle. The order is derived from the
 * state, so it is in no journal and is right after a restart. Called for a node's orders. Pure. */
#include "re/internal.h"

#include <errno.h>
#include <string.h>

#include "base/mix.h"

bool phx_is_prefetched(const struct phx_node *n)
{
	bool at_rest = n->state == PHX_NODE_ACTIVE || n->state == PHX_NODE_READY;
	bool counted = n->allocation == PHX_ALLOCATION_FREE || n->allocation == PHX_ALLOCATION_HELD;
	return counted && at_rest && !phx_node_step(n) && n->up && !n->quiet &&
		n->env == PHX_ENV_OS && !n->pinned && !n->key_unread;
}

/* Would prefetched packages stay on the node? An erase or a new installation loses them. */
static bool would_stay(const struct phx_state *s, const struct phx_node *n, const struct phx_re *re)
{
	struct phx_node_order o = phx_order_own(PHX_EV_assign, n, "");
	struct phx_plan plan = {0};
	if (!strcmp(n->pool, re->name))
		return true;
	o.role = re->agreement.role;
	o.pool = re->name;
	if (phx_order_plan(s, &o, &plan, NULL) < 0)
		return false;
	bool stays = plan.tier == PHX_TIER_IN_PLACE;
	phx_record_fini(&phx_plan_record, &plan);
	return stays;
}

static bool has(const struct phx_list *packages, const struct phx_package_ref *p)
{
	PHX_LIST_EACH(struct phx_package_ref, other, packages)
		if (!strcmp(other->name, p->name) && !strcmp(other->version, p->version))
			return true;
	return false;
}

static int add_packages(const struct phx_role *role, struct phx_list *ret)
{
	PHX_LIST_EACH(struct phx_package_ref, p, &role->packages) {
		struct phx_package_ref *to = has(ret, p) ? NULL : phx_list_push(ret, sizeof(*to));
		if (to)
			*to = *p;
		else if (!has(ret, p))
			return -ENOMEM;
	}
	return 0;
}

/* Like the id of a table (web/table.h): never 0, and exact in every JSON reader. */
static uint64_t id_of(const struct phx_list *packages)
{
	uint64_t h = PHX_MIX_NONE;
	PHX_LIST_EACH(struct phx_package_ref, p, packages)
		h = phx_mix_text(phx_mix_text(phx_mix_text(h, p->name), p->version), p->sha256);
	return phx_mix_id(h);
}

/* The packages of one RE to which the node may go. */
static int add_of(const struct phx_state *s, const struct phx_node *n, const struct phx_re *re,
		  struct phx_list *ret)
{
	const struct phx_role *role = re->active ? phx_state_role(s, re->agreement.role) : NULL;
	return role && would_stay(s, n, re) ? add_packages(role, ret) : 0;
}

/* A free node may go to any RE. */
static int add_of_all(const struct phx_state *s, const struct phx_node *n, struct phx_list *ret)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_re, re, &s->res)
		r = r ? r : add_of(s, n, re, ret);
	return r;
}

/* A node of an RE may go to its partner, since the two share their nodes. The one that stands first
 * in the list of REs comes first, so that the order does not change with the node's RE. */
static int add_of_pair(const struct phx_state *s, const struct phx_node *n, struct phx_list *ret)
{
	const struct phx_re *at = phx_state_re(s, n->allocated_to);
	if (!at || !at->active)
		return 0;
	const struct phx_re *partner = phx_re_partner(s, at);
	const struct phx_re *first = partner && partner < at ? partner : at,
			    *second = first == at ? partner : at;
	int r = add_of(s, n, first, ret);
	return r || !second ? r : add_of(s, n, second, ret);
}

int phx_re_prefetch(const struct phx_state *s, const struct phx_node *n,
		    struct phx_list *ret_packages, uint64_t *ret_id)
{
	struct phx_list packages = {0};
	if (!phx_is_prefetched(n))
		return -ENOENT;
	int r = n->allocation == PHX_ALLOCATION_HELD ? add_of_pair(s, n, &packages)
						     : add_of_all(s, n, &packages);
	if (r < 0) {
		phx_list_fini(&packages);
		return r;
	}
	*ret_packages = packages;
	*ret_id = id_of(&packages);
	return 0;
}
