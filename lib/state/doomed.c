/* Disk keys that are to be destroyed, by name: see doomed.h. Pure. */
#include "state/doomed.h"

#include <errno.h>
#include <string.h>

#include "state/index_parts.h"

enum { SHORT = 64 }; /* a list that is not longer closes up at once */

static struct phx_doomed_key *key_at(const struct phx_state *s, uint32_t i)
{
	return PHX_LIST_AT(&s->doomed_keys, struct phx_doomed_key, i);
}

static uint32_t place_of(const struct phx_state *s, const struct phx_doomed_key *k)
{
	return (uint32_t)(k - key_at(s, 0));
}

/* NULL: it is missing, or lacks keys. */
static struct phx_doomed *index_of(const struct phx_state *s)
{
	return s->index && !s->index->untrue ? &s->index->doomed : NULL;
}

struct phx_doomed_key *phx_doomed_find(const struct phx_state *s, const char *key_id)
{
	const struct phx_doomed *d = index_of(s);
	uint32_t hash = phx_hash_text(key_id), i;
	for (uint32_t at = hash; d && phx_hash_next(&d->places, hash, &at, &i);)
		if (!strcmp(key_at(s, i)->key_id, key_id))
			return key_at(s, i);
	for (i = 0; !d && key_id[0] && i < s->doomed_keys.n; i++)
		if (!strcmp(key_at(s, i)->key_id, key_id))
			return key_at(s, i);
	return NULL;
}

void phx_doomed_named(struct phx_state *s, const struct phx_doomed_key *k)
{
	struct phx_doomed *d = index_of(s);
	if (d && phx_hash_put(&d->places, phx_hash_text(k->key_id), place_of(s, k)) < 0)
		s->index->untrue = true;
}

static uint32_t count_empty(const struct phx_state *s)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_doomed_key, k, &s->doomed_keys)
		n += !k->key_id[0];
	return n;
}

int phx_doomed_init(struct phx_doomed *ret, const struct phx_state *s)
{
	int r = 0;
	phx_hash_clear(&ret->places);
	ret->n_empty = count_empty(s);
	PHX_LIST_EACH(struct phx_doomed_key, k, &s->doomed_keys)
		if (r == 0 && k->key_id[0])
			r = phx_hash_put(&ret->places, phx_hash_text(k->key_id), place_of(s, k));
	return r;
}

void phx_doomed_fini(struct phx_doomed *d)
{
	phx_hash_fini(&d->places);
}

static void close_up(struct phx_state *s)
{
	struct phx_doomed *d = index_of(s);
	uint32_t kept = 0;
	PHX_LIST_EACH(struct phx_doomed_key, k, &s->doomed_keys)
		if (k->key_id[0])
			*key_at(s, kept++) = *k;
	s->doomed_keys.n = kept;
	phx_timed_moved(s, PHX_TIMED_KEY);
	if (d && phx_doomed_init(d, s) < 0)
		s->index->untrue = true;
}

void phx_doomed_gone(struct phx_state *s, struct phx_doomed_key *k)
{
	struct phx_doomed *d = index_of(s);
	if (d)
		phx_hash_drop(&d->places, phx_hash_text(k->key_id), place_of(s, k));
	*k = (struct phx_doomed_key){.again_ms = INT64_MAX};
	phx_timed_set(s, PHX_TIMED_KEY, k);
	uint32_t n = s->doomed_keys.n, n_empty = d ? ++d->n_empty : count_empty(s);
	if (n <= SHORT || n_empty > n / 2)
		close_up(s);
}

int phx_doomed_check(const struct phx_state *s, struct phx_err *err)
{
	const struct phx_doomed *d = &s->index->doomed;
	PHX_LIST_EACH(struct phx_doomed_key, k, &s->doomed_keys)
		if (k->key_id[0] && phx_doomed_find(s, k->key_id) != k)
			return phx_err_set(err, -EPROTO, "key %s is not found by its name",
					   k->key_id);
	if (d->n_empty != count_empty(s) || d->places.n != s->doomed_keys.n - d->n_empty)
		return phx_err_set(
			err, -EPROTO,
			"%u keys are to be destroyed, and %u places are empty; the index "
			"has %u and %u",
			s->doomed_keys.n - count_empty(s), count_empty(s), d->places.n, d->n_empty);
	return 0;
}
