/* Hash tables: see hash.h. Open addressing; when a value is removed, later ones move up, so that no
 * tombstones are needed. Pure. */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 16, MOST = 1u << 30 };

uint32_t phx_hash_text(const char *text)
{
	uint32_t h = 2166136261u;
	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619u;
	return h ^ h >> 15;
}

static void place(struct phx_hash *h, struct phx_hash_slot slot)
{
	uint32_t at = slot.hash;
	while (h->slots[at & (h->n_slots - 1)].value)
		at++;
	h->slots[at & (h->n_slots - 1)] = slot;
	h->n++;
}

int phx_hash_reserve(struct phx_hash *h, uint32_t n)
{
	struct phx_hash grown = {.n_slots = h->n_slots ? h->n_slots : LEAST};
	if (n > MOST)
		return -ENOMEM;
	while (grown.n_slots / 2 < n)
		grown.n_slots *= 2;
	if (grown.n_slots == h->n_slots)
		return 0;
	grown.slots = calloc(grown.n_slots, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->n_slots; i++)
		if (h->slots[i].value)
			place(&grown, h->slots[i]);
	free(h->slots);
	*h = grown;
	return 0;
}

int phx_hash_put(struct phx_hash *h, uint32_t hash, uint32_t value)
{
	int r = phx_hash_reserve(h, h->n + 1);
	if (r == 0)
		place(h, (struct phx_hash_slot){hash, value + 1});
	return r;
}

void phx_hash_drop(struct phx_hash *h, uint32_t hash, uint32_t value)
{
	uint32_t mask = h->n_slots - 1, hole = hash & mask;
	while (h->slots[hole].hash != hash || h->slots[hole].value != value + 1)
		hole = (hole + 1) & mask;
	/* a value that would not come before its own place by it moves into the hole and leaves
	 * another */
	for (uint32_t at = (hole + 1) & mask; h->slots[at].value; at = (at + 1) & mask)
		if (((at - h->slots[at].hash) & mask) >= ((at - hole) & mask)) {
			h->slots[hole] = h->slots[at];
			hole = at;
		}
	h->slots[hole] = (struct phx_hash_slot){0};
	h->n--;
}

void phx_hash_clear(struct phx_hash *h)
{
	if (h->slots)
		memset(h->slots, 0, h->n_slots * sizeof(*h->slots));
	h->n = 0;
}

void phx_hash_fini(struct phx_hash *h)
{
	free(h->slots);
	*h = (struct phx_hash){0};
}
