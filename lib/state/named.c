/* Pools, roles and REs by name: see named.h. Called by the index, and by all code that looks for a
 * pool, a role or an RE. Pure. */
#include "state/named.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { POOLS, ROLES, RES, LISTS };

struct phx_named {
	bool current; /* up to date: otherwise the lists are searched */
	struct phx_hash names[LISTS], numbers;
	struct phx_list ending; /* uint32_t: places of REs, ascending */
};

/* where in the state a list is, how large its items are, and where in an item its name is */
static const struct {
	size_t list, item, name;
} lists[LISTS] = {
#define LIST_OF(list, type) \
	{ \
		offsetof(struct phx_state, list), sizeof(type), offsetof(type, name) \
	}
	[POOLS] = LIST_OF(pools, struct phx_pool),
	[ROLES] = LIST_OF(roles, struct phx_role),
	[RES] = LIST_OF(res, struct phx_re),
#undef LIST_OF
};

static const struct phx_list *list_of(const struct phx_state *s, unsigned which)
{
	return (const struct phx_list *)(const void *)((const char *)s + lists[which].list);
}

static void *item_of(const struct phx_state *s, unsigned which, uint32_t i)
{
	return (char *)list_of(s, which)->items + (size_t)i * lists[which].item;
}

static const char *name_of(const struct phx_state *s, unsigned which, uint32_t i)
{
	return (const char *)item_of(s, which, i) + lists[which].name;
}

static struct phx_re *re_at(const struct phx_state *s, uint32_t i)
{
	return PHX_LIST_AT(&s->res, struct phx_re, i);
}

/* The REs that phx_res_drained() may act on: its conditions, one by one. */
static bool is_ending(const struct phx_re *re)
{
	return re->leaving || (re->active && re->state == PHX_RE_STATE_DEACTIVATED) ||
		(re->attached && !re->active);
}

static const struct phx_named *current(const struct phx_state *s)
{
	const struct phx_named *k = s->named;
	return k && k->current ? k : NULL;
}

/* ---- asking ---- */

static void *find(const struct phx_state *s, unsigned which, const char *name)
{
	const struct phx_named *k = current(s);
	uint32_t hash = phx_hash_text(name), i;
	if (k) {
		for (uint32_t at = hash; phx_hash_next(&k->names[which], hash, &at, &i);)
			if (!strcmp(name_of(s, which, i), name))
				return item_of(s, which, i);
		return NULL;
	}
	for (i = 0; i < list_of(s, which)->n; i++)
		if (!strcmp(name_of(s, which, i), name))
			return item_of(s, which, i);
	return NULL;
}

struct phx_pool *phx_state_pool(const struct phx_state *s, const char *name)
{
	return find(s, POOLS, name);
}

struct phx_role *phx_state_role(const struct phx_state *s, const char *name)
{
	return find(s, ROLES, name);
}

struct phx_re *phx_state_re(const struct phx_state *s, const char *name)
{
	return find(s, RES, name);
}

struct phx_re *phx_state_re_numbered(const struct phx_state *s, int number)
{
	const struct phx_named *k = current(s);
	uint32_t hash = (uint32_t)number, i;
	if (k) {
		for (uint32_t at = hash; phx_hash_next(&k->numbers, hash, &at, &i);)
			return re_at(s, i);
		return NULL;
	}
	PHX_LIST_EACH(struct phx_re, re, &s->res)
		if (re->active && (int)re->number == number)
			return re;
	return NULL;
}

struct phx_re *phx_state_re_ending(const struct phx_state *s, uint32_t at)
{
	const struct phx_named *k = current(s);
	if (k) {
		PHX_LIST_EACH(uint32_t, i, &k->ending)
			if (*i >= at)
				return re_at(s, *i);
		return NULL;
	}
	for (uint32_t i = at; i < s->res.n; i++)
		if (is_ending(re_at(s, i)))
			return re_at(s, i);
	return NULL;
}

/* ---- keeping ---- */

void phx_named_changed(struct phx_state *s)
{
	if (s->named)
		s->named->current = false;
}

int phx_named_ready(struct phx_state *s)
{
	if (!s->named)
		s->named = calloc(1, sizeof(*s->named));
	phx_named_changed(s);
	return s->named ? 0 : -ENOMEM;
}

void phx_named_free(struct phx_named *k)
{
	if (!k)
		return;
	for (unsigned which = 0; which < LISTS; which++)
		phx_hash_fini(&k->names[which]);
	phx_hash_fini(&k->numbers);
	phx_list_fini(&k->ending);
	free(k);
}

static int put_re(struct phx_named *k, const struct phx_state *s, uint32_t i)
{
	const struct phx_re *re = re_at(s, i);
	uint32_t *place = is_ending(re) ? phx_list_push(&k->ending, sizeof(*place)) : &i;
	if (!place)
		return -ENOMEM;
	*place = i;
	return re->active ? phx_hash_put(&k->numbers, re->number, i) : 0;
}

int phx_named_settle(struct phx_named *k, const struct phx_state *s)
{
	int r = 0;
	if (k->current)
		return 0;
	for (unsigned which = 0; which < LISTS; which++) {
		phx_hash_clear(&k->names[which]);
		for (uint32_t i = 0; r == 0 && i < list_of(s, which)->n; i++)
			r = phx_hash_put(&k->names[which], phx_hash_text(name_of(s, which, i)), i);
	}
	phx_hash_clear(&k->numbers);
	k->ending.n = 0;
	for (uint32_t i = 0; r == 0 && i < s->res.n; i++)
		r = put_re(k, s, i);
	k->current = r == 0;
	return r;
}

/* ---- checking ---- */

static bool is_found(const struct phx_state *s, unsigned which, uint32_t i)
{
	return find(s, which, name_of(s, which, i)) == item_of(s, which, i);
}

int phx_named_check(const struct phx_state *s, struct phx_err *err)
{
	const struct phx_named *k = current(s);
	uint32_t n_ending = 0, n_active = 0;
	if (!k)
		return 0;
	for (unsigned which = 0; which < LISTS; which++) {
		for (uint32_t i = 0; i < list_of(s, which)->n; i++)
			if (!is_found(s, which, i))
				return phx_err_set(err, -EPROTO, "%s is not found by its name",
						   name_of(s, which, i));
		if (k->names[which].n != list_of(s, which)->n)
			return phx_err_set(err, -EPROTO, "a name is known that is not there");
	}
	for (uint32_t i = 0; i < s->res.n; i++) {
		const struct phx_re *re = re_at(s, i);
		n_ending += is_ending(re);
		n_active += re->active;
		if (is_ending(re) && phx_state_re_ending(s, i) != re)
			return phx_err_set(err, -EPROTO, "RE %s ends, and is not looked at",
					   re->name);
		if (re->active && phx_state_re_numbered(s, (int)re->number) != re)
			return phx_err_set(err, -EPROTO, "RE %s is not found by its number",
					   re->name);
	}
	if (k->ending.n != n_ending || k->numbers.n != n_active)
		return phx_err_set(err, -EPROTO,
				   "an RE is looked at that does not end, or found "
				   "by a number that it does not have");
	return 0;
}
