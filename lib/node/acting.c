/* Which directors have addresses now, and what each is ordered. Called by the dispatcher, for a
 * director's orders, and by phxd between two events. Who has which address is decided in share.c;
 * in older journals, and until there are addresses, one director acts for all. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

/* The one that acts, where one has all addresses. */
static const struct phx_node *acting_alone(const struct phx_state *s)
{
	const struct phx_node *last = phx_director_named(s, s->director);
	if (last && last->up)
		return last;
	return phx_director_in_the_way(s, last) ? NULL : phx_director_heard(s, NULL);
}

bool phx_director_acts(const struct phx_state *s, const struct phx_node *n)
{
	if (s->settings.shares_addresses && s->held.n)
		return phx_share_has_any(s, n);
	return acting_alone(s) == n;
}

const struct phx_node *phx_director_next_acting(const struct phx_state *s,
						const struct phx_node *after)
{
	const struct phx_node *n = after;
	while ((n = phx_director_heard(s, n)) && !phx_director_acts(s, n))
		;
	return n;
}

const struct phx_node *phx_director_acting(const struct phx_state *s)
{
	return phx_director_next_acting(s, NULL);
}

void phx_director_settle(struct phx_apply *a)
{
	if (a->s->settings.shares_addresses) {
		phx_share_settle(a);
		return;
	}
	const struct phx_node *acts = acting_alone(a->s);
	struct phx_node *last = phx_director_named(a->s, a->s->director);
	if (acts)
		PHX_STR_SET(a->s->director, acts->name);
	else if (phx_director_in_the_way(a->s, last))
		phx_director_fence(a, last);
}

const struct phx_node *phx_director_of(const struct phx_state *s, const char *address,
				       int64_t *ret_since_ms)
{
	const struct phx_node *n = NULL;
	*ret_since_ms = 0;
	if (!s->settings.shares_addresses)
		return phx_director_acting(s);
	PHX_LIST_EACH(struct phx_held, h, &s->held)
		if (!strcmp(h->address, address) && (n = phx_director_named(s, h->director)))
			*ret_since_ms = h->since_ms;
	return n && n->up ? n : NULL;
}

/* ---- what a director is ordered ---- */

static int put_held(const struct phx_state *s, const struct phx_node *n, struct phx_list *ret)
{
	PHX_LIST_EACH(struct phx_held, h, &s->held) {
		if (strcmp(h->director, n->name))
			continue;
		struct phx_web_held *to = phx_list_push(ret, sizeof(*to));
		if (!to)
			return -ENOMEM;
		PHX_STR_SET(to->address, h->address);
	}
	return 0;
}

/* The number under which directors of this table tell each other of connections. */
static uint32_t sync_id_of(const struct phx_state *s)
{
	const struct phx_node *first = phx_director_next(s, NULL);
	bool several = first && phx_director_next(s, first);
	return several && s->held.n
		? 1 + phx_hash_text(PHX_LIST_AT(&s->held, struct phx_held, 0)->address) % 255
		: 0;
}

/* Leaves services out whose address is another's: an older agent takes all that are there. */
static void leave_own(struct phx_web_table *t, const struct phx_web_share *share)
{
	for (uint32_t i = t->services.n; i > 0; i--) {
		struct phx_web_service *s =
			PHX_LIST_AT(&t->services, struct phx_web_service, i - 1);
		if (phx_web_share_holds(share, s->address))
			continue;
		phx_list_fini(&s->servers);
		phx_list_remove(&t->services, sizeof(*s), i - 1);
	}
}

static int make_order(const struct phx_state *s, const struct phx_node *n, struct phx_web_table *t,
		      struct phx_web_share *share)
{
	int r = phx_director_table(s, t);
	r = r ? r : put_held(s, n, &share->held);
	share->on = n->shares;
	share->sync_id = sync_id_of(s);
	if (r < 0 || n->shares)
		return r;
	leave_own(t, share);
	phx_list_fini(&share->held);
	*share = (struct phx_web_share){0};
	return 0;
}

int phx_director_order(const struct phx_state *s, const struct phx_node *n,
		       struct phx_web_table *ret_table, struct phx_web_share *ret_share)
{
	struct phx_web_table t = {0};
	struct phx_web_share share = {0};
	int r = 0;
	if (!phx_director_is(s, n))
		; /* it is to have nothing */
	else if (s->settings.shares_addresses)
		r = make_order(s, n, &t, &share);
	else if (phx_director_acting(s) == n)
		r = phx_director_table(s, &t);
	if (r < 0) {
		phx_web_table_fini(&t);
		phx_list_fini(&share.held);
		return r;
	}
	*ret_table = t;
	*ret_share = share;
	return 0;
}
