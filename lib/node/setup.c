/* Which setup policy holds when a node goes from one pool to another: what both agreements say,
 * what was put off within one owner, and what an order may ask for instead. Asked before a plan is
 * made, and again before the node enters its new pool. Changes nothing. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct phx_setup noop = {.mode = PHX_SETUP_NOOP};

/* Does the policy `s` of the pool that the node leaves do `what` on release? */
static bool adds(const struct phx_setup *s, unsigned what)
{
	return phx_setup_does(s, what) && phx_setup_acts(s, PHX_WHEN_RELEASE);
}

bool phx_noop_consented(const struct phx_state *s, const struct phx_node *n,
			const struct phx_pool *to)
{
	const struct phx_re *from = phx_state_re(s, n->tenant_pool),
			    *re = phx_state_re(s, to->name);
	if (!from || !re || !from->agreement.noop_between_owners ||
	    !re->agreement.noop_between_owners)
		return false;
	const struct phx_setup *mine = &from->agreement.setup;
	if (!phx_setup_covers(&noop, mine) && !phx_setup_covers(&noop, &re->agreement.setup))
		return false; /* neither agreement says noop */
	/* an agreement cannot waive an erase that is owed from an earlier pool */
	if (n->owes_data && !adds(mine, PHX_SETUP_SCRATCH))
		return false;
	return !n->owes_wipe || phx_setup_wipes(mine, PHX_WHEN_RELEASE);
}

/* Adds the setup policy of one pool. The pool that is added last says how disks are erased. */
static void add_setup(struct phx_setup *setup, const struct phx_pool *pool,
		      enum phx_setup_when moment, struct phx_why_erase *ret_why)
{
	if (!phx_setup_acts(&pool->setup, moment))
		return;
	int both = phx_setup_both(setup, &pool->setup);
	*setup = pool->setup;
	setup->mode = both;
	snprintf(ret_why->text, sizeof(ret_why->text), "the agreement of %.63s says %s on %s",
		 pool->name, phx_enum_name(&phx_setup_mode_names, pool->setup.mode),
		 phx_enum_name(&phx_setup_when_names, (int)moment));
}

/* The setup policy that both pools' agreements demand together, for a node that holds data. */
static struct phx_setup agreed_setup(const struct phx_pool *from, const struct phx_pool *to,
				     struct phx_why_erase *ret_why)
{
	struct phx_setup setup = noop;
	add_setup(&setup, to, PHX_WHEN_ASSIGN, ret_why);
	if (from)
		add_setup(&setup, from, PHX_WHEN_RELEASE, ret_why);
	return setup;
}

/* Has the plan a step that writes a system, done or not? */
static bool writes_system(const struct phx_node *n)
{
	return phx_plan_has(&n->plan, PHX_STEP_image) || phx_plan_has(&n->plan, PHX_STEP_ram);
}

bool phx_setup_owed(const struct phx_state *s, const struct phx_node *n, const struct phx_pool *to)
{
	struct phx_why_erase why;
	if (!phx_changes_owner(n, to) || phx_noop_consented(s, n, to))
		return false;
	if (n->owes_wipe || n->owes_data || phx_setup_wipes(&to->setup, PHX_WHEN_ASSIGN))
		return true;
	const struct phx_setup agreed = agreed_setup(phx_state_pool(s, n->tenant_pool), to, &why);
	if (phx_setup_does(&agreed, PHX_SETUP_DISKS))
		return false;
	return (phx_setup_does(&agreed, PHX_SETUP_SYSTEM) && !writes_system(n)) ||
		(phx_setup_does(&agreed, PHX_SETUP_SCRATCH) &&
		 !phx_plan_has(&n->plan, PHX_STEP_scratch));
}

bool phx_setup_encrypts(const struct phx_pool *to, const struct phx_role *role)
{
	return role && phx_role_boot(role)->on_disk &&
		phx_setup_does(&to->setup, PHX_SETUP_DISKS) && to->setup.method == PHX_WIPE_CRYPTO;
}

/* A pool may demand a reset on its own, but kexec only if the other pool agrees. */
static int agreed_start(const struct phx_pool *from, const struct phx_pool *to)
{
	int mine = from ? from->setup.start : PHX_SETUP_START_AUTO, its = to->setup.start;
	if (mine == PHX_SETUP_START_POWER || its == PHX_SETUP_START_POWER)
		return PHX_SETUP_START_POWER;
	return mine == its ? mine : PHX_SETUP_START_AUTO;
}

const char *phx_release_words(const struct phx_state *s, const struct phx_node *n)
{
	struct phx_why_erase why;
	const struct phx_pool *from = phx_state_pool(s, n->tenant_pool),
			      *to = phx_state_pool(s, PHX_POOL_FREE);
	const struct phx_setup agreed = agreed_setup(from, to, &why);
	bool erased = n->dirty && (n->owes_wipe || phx_setup_does(&agreed, PHX_SETUP_DISKS));
	return erased ? "released, and erased as agreed" : "released, and not erased, as agreed";
}

int phx_setup_effective(const struct phx_state *s, const struct phx_node *n,
			const struct phx_pool *to, const struct phx_setup *asked,
			struct phx_setup *ret, struct phx_why_erase *ret_why, struct phx_err *err)
{
	const struct phx_pool *from = phx_state_pool(s, n->tenant_pool);
	struct phx_setup setup = noop;
	bool leaves = phx_changes_owner(n, to), others = n->dirty && n->mixed;
	if (n->dirty && from != to)
		setup = agreed_setup(from, to, ret_why);
	/* an erase that was put off inside one owner is due when another owner comes */
	if (leaves && n->owes_wipe && !phx_setup_does(&setup, PHX_SETUP_DISKS)) {
		setup.mode = PHX_SETUP_WIPE;
		snprintf(ret_why->text, sizeof(ret_why->text),
			 "it holds data of %.63s that is to be erased before others have it",
			 n->tenant);
	}
	const struct phx_setup data = {.mode = PHX_SETUP_DATA};
	if (leaves && n->owes_data && !phx_setup_covers(&setup, &data)) {
		setup.mode = phx_setup_both(&setup, &data);
		snprintf(ret_why->text, sizeof(ret_why->text),
			 "jobs of %.63s left what is to be destroyed before others have it",
			 n->tenant);
	}
	if (leaves && phx_noop_consented(s, n, to))
		setup.mode = noop.mode;
	if (asked && !phx_setup_covers(asked, &setup) && (leaves || others))
		return phx_err_set(err, -EPERM,
				   "%s holds data of %s%s, and the agreement of pool %s or %s "
				   "wants a %s: %s is refused",
				   n->name, n->tenant, others ? " and of others" : "",
				   n->tenant_pool, to->name,
				   phx_enum_name(&phx_setup_mode_names, setup.mode),
				   phx_enum_name(&phx_setup_mode_names, asked->mode));
	if (asked) {
		setup = *asked;
		snprintf(ret_why->text, sizeof(ret_why->text), "the order says so");
	}
	/* read back at least as much of an erase as either pool wants */
	if (from && from->setup.verify > setup.verify)
		setup.verify = from->setup.verify;
	if (to->setup.verify > setup.verify)
		setup.verify = to->setup.verify;
	setup.start = agreed_start(from, to);
	if (n->key_unread) {
		snprintf(ret_why->text, sizeof(ret_why->text),
			 "its key was destroyed while it was away");
		setup.mode = PHX_SETUP_WIPE;
		setup.method = PHX_WIPE_AUTO;
	}
	*ret = setup;
	return 0;
}
