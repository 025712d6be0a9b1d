/* Which setup policy must hold when a node goes from one pool to another: what
 * the agreements of both say, what one owner may put off, and what an order may
 * ask for instead. Asked before a plan is made, and again before the node
 * enters its new pool. Changes nothing. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool phx_noop_consented(const struct phx_state *s, const struct phx_node *n,
			const struct phx_pool *to)
{
	const struct phx_re *from = phx_state_re(s, n->tenant_pool),
			    *re = phx_state_re(s, to->name);
	if (!from || !re || !from->agreement.noop_between_owners ||
	    !re->agreement.noop_between_owners)
		return false;
	const struct phx_setup *mine = &from->agreement.setup;
	if (mine->mode == PHX_SETUP_WIPE && re->agreement.setup.mode == PHX_SETUP_WIPE)
		return false; /* neither agreement says noop */
	/* an agreement cannot waive an erase that is owed since an earlier pool */
	return !n->owes_wipe || phx_setup_wipes(mine, PHX_WHEN_RELEASE);
}

/* The stricter of what both pools' agreements say, for a node that holds data. */
static struct phx_setup agreed_setup(const struct phx_pool *from, const struct phx_pool *to,
				     struct phx_why_erase *ret_why)
{
	struct phx_setup setup = {.mode = PHX_SETUP_NOOP};
	if (phx_setup_wipes(&to->setup, PHX_WHEN_ASSIGN)) {
		setup = to->setup;
		snprintf(ret_why->text, sizeof(ret_why->text),
			 "the agreement of %.63s says wipe on assign", to->name);
	}
	if (from && phx_setup_wipes(&from->setup, PHX_WHEN_RELEASE)) {
		setup = from->setup;
		snprintf(ret_why->text, sizeof(ret_why->text),
			 "the agreement of %.63s says wipe on release", from->name);
	}
	return setup;
}

/* Each of both may want more than the other, and less only with it. */
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
	bool erased =
		n->dirty && (n->owes_wipe || agreed_setup(from, to, &why).mode == PHX_SETUP_WIPE);
	return erased ? "released, and erased as agreed" : "released, and not erased, as agreed";
}

int phx_setup_effective(const struct phx_state *s, const struct phx_node *n,
			const struct phx_pool *to, const struct phx_setup *asked,
			struct phx_setup *ret, struct phx_why_erase *ret_why, struct phx_err *err)
{
	const struct phx_pool *from = phx_state_pool(s, n->tenant_pool);
	struct phx_setup setup = {.mode = PHX_SETUP_NOOP};
	bool leaves = phx_changes_owner(n, to), others = n->dirty && n->mixed;
	if (n->dirty && from != to)
		setup = agreed_setup(from, to, ret_why);
	/* an erase that was put off inside one owner is due when another owner comes */
	if (leaves && n->owes_wipe && setup.mode != PHX_SETUP_WIPE) {
		setup.mode = PHX_SETUP_WIPE;
		snprintf(ret_why->text, sizeof(ret_why->text),
			 "it holds data of %.63s that is to be erased before others have it",
			 n->tenant);
	}
	if (leaves && phx_noop_consented(s, n, to))
		setup.mode = PHX_SETUP_NOOP;
	if (asked && asked->mode == PHX_SETUP_NOOP && setup.mode == PHX_SETUP_WIPE &&
	    (leaves || others))
		return phx_err_set(err, -EPERM,
				   "%s holds data of %s%s, and the agreement of pool %s or %s "
				   "wants a wipe: noop is refused",
				   n->name, n->tenant, others ? " and of others" : "",
				   n->tenant_pool, to->name);
	if (asked) {
		setup = *asked;
		snprintf(ret_why->text, sizeof(ret_why->text), "the order says so");
	}
	/* of an erase at least as much is read back as either pool wants */
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
