/* Who of several directors has which virtual address. Called by acting.c at the end of an event.
 * Pure. The rule:
 *
 *	a new address     is given to the director that is heard and has the fewest: of the same
 *			  service first, of all then
 *	a lost director   (silent, off, in another state or role) loses all that it had to the
 *			  others in the same way; is it to be seen off first, nobody has them until
 *			  then
 *	a director        that comes, or comes back, takes nothing that another one keeps up,
 *			  before address_back_s have passed: until then it may not know of
 *			  every connection. Then it is given one address after another of who has
 *			  two more than it
 */
#include "node/internal.h"

#include <errno.h>
#include <string.h>

enum { LINGER_S = 60 }; /* beside grace times */

/* An address that some service has. Those of one service have one group. */
struct wanted {
	char address[PHX_WEB_ADDRESS_MAX];
	const char *group;
};

struct wants {
	struct wanted of[PHX_WEB_SERVICES_MAX];
	uint32_t n;
};

/* ---- which addresses there are ---- */

/* Puts it in by its address; one that is there stays. What is too many is in no table either. */
static void want(struct wants *w, const char *address, const char *group)
{
	uint32_t at = 0;
	while (at < w->n && strcmp(w->of[at].address, address) < 0)
		at++;
	if (w->n == PHX_WEB_SERVICES_MAX || (at < w->n && !strcmp(w->of[at].address, address)))
		return;
	memmove(&w->of[at + 1], &w->of[at], (w->n++ - at) * sizeof(w->of[0]));
	w->of[at].group = group;
	PHX_STR_SET(w->of[at].address, address);
}

static void find_wants(const struct phx_state *s, struct wants *w)
{
	char address[PHX_WEB_ADDRESS_MAX];
	w->n = 0;
	PHX_LIST_EACH(struct phx_role, role, &s->roles)
		for (uint32_t i = 0; phx_role_web_address(&role->web, i, address); i++)
			want(w, address, role->name);
	PHX_LIST_EACH(struct phx_re, re, &s->res) {
		if (!phx_director_serves_re(re) || !phx_state_role(s, re->agreement.role))
			continue;
		for (uint32_t i = 0; phx_agreement_address(&re->agreement, i, address); i++)
			want(w, address, re->name);
	}
}

static struct phx_held *held_at(const struct phx_state *s, uint32_t i)
{
	return PHX_LIST_AT(&s->held, struct phx_held, i);
}

/* How long instances of a service that ended may serve: their requests end, and what leads to them
 * is taken away before and after, for the grace time of their role each. */
static int64_t linger_ms(const struct phx_state *s)
{
	uint32_t most_s = 0;
	PHX_LIST_EACH(struct phx_role, role, &s->roles)
		most_s = role->drain_grace_s > most_s ? role->drain_grace_s : most_s;
	return (3 * (int64_t)most_s + LINGER_S) * 1000;
}

static bool is_wanted(const struct wants *w, const char *address)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (!strcmp(w->of[i].address, address))
			return true;
	return false;
}

/* Addresses of services that ended stay for a while: requests are under way. */
static void add_lingering(struct phx_state *s, struct wants *w)
{
	PHX_LIST_EACH(struct phx_held, h, &s->held) {
		if (is_wanted(w, h->address)) {
			h->until_ms = 0;
			continue;
		}
		h->until_ms = h->until_ms ? h->until_ms : s->now_ms + linger_ms(s);
		if (s->now_ms < h->until_ms)
			want(w, h->address, "");
	}
}

static bool are_held(const struct phx_state *s, const struct wants *w)
{
	if (s->held.n != w->n)
		return false;
	for (uint32_t i = 0; i < w->n; i++)
		if (strcmp(held_at(s, i)->address, w->of[i].address))
			return false;
	return true;
}

/* Makes the list that of the wanted addresses; those that stay keep their director. One may
 * have had all of them, before they were shared. */
static int hold(struct phx_state *s, const struct wants *w)
{
	struct phx_list list = {0};
	for (uint32_t i = 0; i < w->n; i++) {
		struct phx_held *h = phx_list_push(&list, sizeof(*h));
		if (!h) {
			phx_list_fini(&list);
			return -ENOMEM;
		}
		PHX_STR_SET(h->address, w->of[i].address);
		PHX_STR_SET(h->director, s->director);
		PHX_LIST_EACH(struct phx_held, had, &s->held)
			if (!strcmp(had->address, h->address))
				*h = *had;
	}
	phx_list_fini(&s->held);
	s->held = list;
	return 0;
}

/* ---- who has them ---- */

static bool is_of(const struct phx_held *h, const struct phx_node *n)
{
	return !strcmp(h->director, n->name);
}

/* How many addresses a director has: of a group, and of all. */
struct load {
	uint32_t group, all;
};

static struct load load_of(const struct phx_state *s, const struct wants *w,
			   const struct phx_node *n, const char *group)
{
	struct load load = {0, 0};
	for (uint32_t i = 0; i < s->held.n; i++) {
		if (!is_of(held_at(s, i), n))
			continue;
		load.all++;
		load.group += !strcmp(w->of[i].group, group);
	}
	return load;
}

static const struct phx_node *least_loaded(const struct phx_state *s, const struct wants *w,
					   const char *group)
{
	const struct phx_node *best = NULL;
	struct load least = {0, 0};
	for (const struct phx_node *n = NULL; (n = phx_director_heard(s, n));) {
		struct load load = load_of(s, w, n, group);
		if (best &&
		    (load.group > least.group ||
		     (load.group == least.group && load.all >= least.all)))
			continue;
		best = n;
		least = load;
	}
	return best;
}

static void give(struct phx_apply *a, struct phx_held *h, const struct phx_node *to)
{
	if (h->director[0])
		phx_note(a, to, "%s has the virtual address %s now, which %s had", to->name,
			 h->address, h->director);
	PHX_STR_SET(h->director, to->name);
	h->since_ms = a->s->now_ms;
	a->out->changed = true;
}

/* Sees to it that somebody has the address. */
static void settle_one(struct phx_apply *a, const struct wants *w, uint32_t i)
{
	struct phx_held *h = held_at(a->s, i);
	struct phx_node *last = phx_director_named(a->s, h->director);
	if (last && last->up)
		return;
	if (phx_director_in_the_way(a->s, last)) {
		phx_director_fence(a, last);
		return;
	}
	const struct phx_node *next = least_loaded(a->s, w, w->of[i].group);
	if (next)
		give(a, h, next);
}

/* ---- who comes back ---- */

static int64_t heard_since(const struct phx_state *s, const char *director)
{
	PHX_LIST_EACH(struct phx_sharer, d, &s->sharers)
		if (!strcmp(d->director, director))
			return d->since_ms;
	return 0;
}

/* Are the directors that are heard those of the list? */
static bool are_sharers(const struct phx_state *s)
{
	uint32_t i = 0;
	for (const struct phx_node *n = NULL; (n = phx_director_heard(s, n)); i++)
		if (i >= s->sharers.n ||
		    strcmp(PHX_LIST_AT(&s->sharers, struct phx_sharer, i)->director, n->name))
			return false;
	return i == s->sharers.n;
}

static int note_sharers(struct phx_state *s)
{
	struct phx_list list = {0};
	for (const struct phx_node *n = NULL; (n = phx_director_heard(s, n));) {
		struct phx_sharer *d = phx_list_push(&list, sizeof(*d));
		if (!d) {
			phx_list_fini(&list);
			return -ENOMEM;
		}
		int64_t since_ms = heard_since(s, n->name);
		PHX_STR_SET(d->director, n->name);
		d->since_ms = since_ms ? since_ms : s->now_ms;
	}
	phx_list_fini(&s->sharers);
	s->sharers = list;
	return 0;
}

static uint32_t count_of(const struct phx_state *s, const char *director)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_held, h, &s->held)
		n += !strcmp(h->director, director);
	return n;
}

/* The most addresses that a director has which is heard. */
static uint32_t most_of_all(const struct phx_state *s)
{
	uint32_t most = 0;
	PHX_LIST_EACH(struct phx_sharer, d, &s->sharers) {
		uint32_t n = count_of(s, d->director);
		most = n > most ? n : most;
	}
	return most;
}

/* When the director may be given addresses of others; INT64_MAX: it has its share. */
static int64_t due_of(const struct phx_state *s, const struct phx_sharer *d, uint32_t most)
{
	if (!s->settings.address_back_s || count_of(s, d->director) + 2 > most)
		return INT64_MAX;
	return d->since_ms + (int64_t)s->settings.address_back_s * 1000;
}

int64_t phx_director_due_ms(const struct phx_state *s)
{
	int64_t due_ms = INT64_MAX;
	uint32_t most = s->sharers.n > 1 ? most_of_all(s) : 0;
	if (most < 2)
		return INT64_MAX;
	PHX_LIST_EACH(struct phx_sharer, d, &s->sharers) {
		int64_t at_ms = due_of(s, d, most);
		due_ms = at_ms < due_ms ? at_ms : due_ms;
	}
	return due_ms;
}

/* An address of one that has the most: of a service of which `to` has the fewest. */
static struct phx_held *to_pass_on(const struct phx_state *s, const struct wants *w,
				   const struct phx_node *to, uint32_t most)
{
	struct phx_held *best = NULL;
	uint32_t least = UINT32_MAX;
	for (uint32_t i = 0; i < s->held.n; i++) {
		struct phx_held *h = held_at(s, i);
		uint32_t group = load_of(s, w, to, w->of[i].group).group;
		const struct phx_node *has = phx_director_named(s, h->director);
		if (!has || !has->up || count_of(s, h->director) != most || group >= least)
			continue;
		best = h;
		least = group;
	}
	return best;
}

/* Gives one address to a director that is due; false: none is. */
static bool pass_one_on(struct phx_apply *a, const struct wants *w)
{
	uint32_t most = most_of_all(a->s);
	PHX_LIST_EACH(struct phx_sharer, d, &a->s->sharers) {
		if (due_of(a->s, d, most) > a->s->now_ms)
			continue;
		const struct phx_node *to = phx_state_node(a->s, d->director);
		struct phx_held *h = to_pass_on(a->s, w, to, most);
		if (h)
			give(a, h, to);
		return h;
	}
	return false;
}

/* ---- all of it ---- */

static int keep_lists(struct phx_state *s, const struct wants *w)
{
	int r = are_held(s, w) ? 0 : hold(s, w);
	s->director[0] = '\0';
	return r < 0 || are_sharers(s) ? r : note_sharers(s);
}

void phx_share_settle(struct phx_apply *a)
{
	struct wants w;
	if (!a->s->held.n && !phx_director_there(a->s))
		return;
	find_wants(a->s, &w);
	add_lingering(a->s, &w);
	int r = keep_lists(a->s, &w);
	if (r < 0) {
		a->out->error = r;
		return;
	}
	for (uint32_t i = 0; i < w.n; i++)
		settle_one(a, &w, i);
	while (pass_one_on(a, &w))
		;
}

bool phx_share_has_any(const struct phx_state *s, const struct phx_node *n)
{
	if (!n->up || !phx_director_is(s, n))
		return false;
	PHX_LIST_EACH(struct phx_held, h, &s->held)
		if (is_of(h, n))
			return true;
	return false;
}
