/* Hash tables that map keys to numbers: the places of items in a list or array of the caller, which
 * holds the keys. Pure.
 *
 *	uint32_t hash = phx_hash_text(name), i;
 *	for (uint32_t at = hash; phx_hash_next(&table, hash, &at, &i);)
 *		if (!strcmp(list[i].name, name))
 *			return &list[i];
 *
 * The order of a table's values depends only on the calls that filled it. */
#ifndef PHX_BASE_HASH_H
#define PHX_BASE_HASH_H

#include <stdbool.h>
#include <stdint.h>

struct phx_hash_slot {
	uint32_t hash;
	uint32_t value; /* plus 1; 0 = empty */
};

/** All zero is an empty table. */
struct phx_hash {
	struct phx_hash_slot *slots; /* owned */
	uint32_t n_slots;            /* a power of two, or 0; at most half of them are taken */
	uint32_t n;
};

/** FNV-1a. */
uint32_t phx_hash_text(const char *text);
/** Reserves room for `n` values in all, so that phx_hash_put() cannot fail up to that number.
 * -ENOMEM: the table is as before. */
int phx_hash_reserve(struct phx_hash *h, uint32_t n);
/** Puts `value` (less than UINT32_MAX) under `hash`. The caller has made sure that its key is not
 * in the table. -ENOMEM. */
int phx_hash_put(struct phx_hash *h, uint32_t hash, uint32_t value);
/** Removes a value that is in the table. */
void phx_hash_drop(struct phx_hash *h, uint32_t hash, uint32_t value);
/** Removes all values; the memory stays allocated. */
void phx_hash_clear(struct phx_hash *h);
void phx_hash_fini(struct phx_hash *h);

/** The next value under `hash`; false when there are no more. *at is initialised with `hash`. The
 * table must not change during the walk. */
static inline bool phx_hash_next(const struct phx_hash *h, uint32_t hash, uint32_t *at,
				 uint32_t *ret_value)
{
	while (h->n) {
		const struct phx_hash_slot *s = &h->slots[(*at)++ & (h->n_slots - 1)];
		if (!s->value)
			break;
		if (s->hash != hash)
			continue;
		*ret_value = s->value - 1;
		return true;
	}
	return false;
}

#endif
