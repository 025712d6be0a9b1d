/* Hash tables from keys to numbers: places in a list or an array of the caller, which has the keys.
 * Pure.
 *
 *	uint32_t hash = phx_hash_text(name), i;
 *	for (uint32_t at = hash; phx_hash_next(&table, hash, &at, &i);)
 *		if (!strcmp(list[i].name, name))
 *			return &list[i];
 *
 * The order of what is in a table follows from the calls that made it and from nothing else. */
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
/** Room for `n` in all, so that phx_hash_put() of these cannot fail. -ENOMEM: the table is as
 * before. */
int phx_hash_reserve(struct phx_hash *h, uint32_t n);
/** Note `value` (less than UINT32_MAX) under `hash`. The caller knows that its key is not there.
 * -ENOMEM. */
int phx_hash_put(struct phx_hash *h, uint32_t hash, uint32_t value);
/** Forget this one, which is there. */
void phx_hash_drop(struct phx_hash *h, uint32_t hash, uint32_t value);
/** Forget all; the room stays. */
void phx_hash_clear(struct phx_hash *h);
void phx_hash_fini(struct phx_hash *h);

/** The next value under `hash`; false when there is no more. *at begins as `hash`. The table must
 * not change meanwhile. */
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
