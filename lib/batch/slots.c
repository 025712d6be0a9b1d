/* Storage for the jobs of a manager: slots in arrays that grow, free slots that
 * are used again, and a hash table from id to slot. Called by batch.c; knows no
 * queue.
 *
 * The table is its own and not base/hash.h: a bucket is half as large as a slot there, a removal
 * moves nothing, and the chain's array is that of the free slots, too. With base/hash.h, an end, a
 * submission and a pass with 1,000 waiting jobs took 6 to 13 % longer, and a trace of 20,000 jobs
 * 6 to 12 % (medians and minima of five alternating runs of tests/bench/batch). */
#include "batch/internal.h"

#include <string.h>

#define SLOTS_MIN 64u

/* Ids are consecutive: sixteen neighbours share a cache line, and the lines are scattered. */
static uint32_t *bucket(const struct phx_batch *b, uint64_t id)
{
	return &b->buckets[(phx_batch_mix(id / 16) * 16 + id % 16) & (b->n_buckets - 1)];
}

uint32_t phx_batch_find(const struct phx_batch *b, uint64_t id)
{
	if (!b->n_buckets)
		return 0;
	uint32_t i = *bucket(b, id);
	while (i && b->jobs[i].id != id)
		i = b->chain[i];
	return i;
}

/* Doubles the buckets and moves the slots in use to their new buckets. */
static bool grow_buckets(struct phx_batch *b)
{
	uint32_t n = b->n_buckets ? b->n_buckets * 2 : SLOTS_MIN, n_old = b->n_buckets;
	uint32_t *old = b->buckets, *new = n > n_old ? calloc(n, sizeof(*new)) : NULL;
	if (!new)
		return false;
	b->buckets = new;
	b->n_buckets = n;
	for (uint32_t k = 0; k < n_old; k++)
		for (uint32_t i = old[k], next; i; i = next) {
			uint32_t *head = bucket(b, b->jobs[i].id);
			next = b->chain[i];
			b->chain[i] = *head;
			*head = i;
		}
	free(old);
	return true;
}

/* Makes room for `cap` items in an array; on failure the array is as it was. */
static bool grow_array(void *array, uint32_t cap, size_t item_size)
{
	void *old, *items;
	memcpy(&old, array, sizeof(old)); /* `array` points to a pointer of any type */
	items = reallocarray(old, cap, item_size);
	if (items)
		memcpy(array, &items, sizeof(items));
	return items;
}

/* The trees borrow these arrays, which move when they grow. */
static void lend_nodes(struct phx_batch *b)
{
	for (uint32_t k = 0; k < PHX_BATCH_CLASSES; k++)
		b->waiting[k].nodes = b->nodes;
	b->running.nodes = b->nodes;
	b->ends.nodes = b->end_nodes;
}

static bool grow_slots(struct phx_batch *b)
{
	uint32_t cap = b->cap ? b->cap * 2 : SLOTS_MIN;
	bool easy = b->config.scheduler == PHX_SCHEDULER_easy;
	bool grown = cap > b->cap && grow_array(&b->jobs, cap, sizeof(*b->jobs)) &&
		grow_array(&b->nodes, cap, sizeof(*b->nodes)) &&
		grow_array(&b->chain, cap, sizeof(*b->chain)) &&
		(!easy || grow_array(&b->end_nodes, cap, sizeof(*b->end_nodes)));
	lend_nodes(b); /* even on failure: one array may have moved before another could not grow */
	if (!grown)
		return false;
	b->cap = cap;
	b->used = b->used ? b->used : 1;
	b->nodes[0] = phx_batch_nil;
	if (easy)
		b->end_nodes[0] = phx_batch_nil;
	return true;
}

uint32_t phx_batch_slot_take(struct phx_batch *b, uint64_t id)
{
	if (b->n_jobs >= b->n_buckets / 2 && !grow_buckets(b))
		return 0;
	if (!b->free && b->used == b->cap && !grow_slots(b))
		return 0;
	uint32_t i = b->free ? b->free : b->used++;
	b->free = i == b->free ? b->chain[i] : b->free;
	b->jobs[i] = (struct phx_batch_job){.id = id};
	uint32_t *head = bucket(b, id);
	b->chain[i] = *head;
	*head = i;
	b->n_jobs++;
	return i;
}

void phx_batch_slot_drop(struct phx_batch *b, uint32_t i)
{
	uint32_t *at = bucket(b, b->jobs[i].id);
	while (*at != i)
		at = &b->chain[*at];
	*at = b->chain[i];
	b->chain[i] = b->free;
	b->free = i;
	b->n_jobs--;
}

void phx_batch_slots_fini(struct phx_batch *b)
{
	free(b->jobs);
	free(b->nodes);
	free(b->end_nodes);
	free(b->chain);
	free(b->buckets);
}
