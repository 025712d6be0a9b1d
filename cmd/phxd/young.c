/* See young.h. */
#include "phxd/young.h"

/* A key is a digest, so half of it spreads as well as the whole. */
static uint32_t hash_of(uint64_t key)
{
	return (uint32_t)key;
}

static struct young *at(const struct young_files *all, uint32_t i)
{
	return PHX_LIST_AT(&all->list, struct young, i);
}

struct young *young_find(const struct young_files *all, uint64_t key)
{
	uint32_t i;
	for (uint32_t slot = hash_of(key); phx_hash_next(&all->by_key, hash_of(key), &slot, &i);)
		if (at(all, i)->key == key)
			return at(all, i);
	return NULL;
}

struct young *young_take(struct young_files *all, uint64_t key)
{
	struct young *y = young_find(all, key);
	if (y || all->list.n >= YOUNG_MAX ||
	    phx_hash_put(&all->by_key, hash_of(key), all->list.n) < 0)
		return y;
	y = phx_list_push(&all->list, sizeof(*y));
	if (y)
		y->key = key;
	else
		phx_hash_drop(&all->by_key, hash_of(key), all->list.n);
	return y;
}

void young_drop(struct young_files *all, uint32_t i)
{
	struct young *y = at(all, i), *last = at(all, all->list.n - 1);
	phx_hash_drop(&all->by_key, hash_of(y->key), i);
	if (y != last) {
		/* this cannot fail for want of room: an entry was dropped before */
		phx_hash_drop(&all->by_key, hash_of(last->key), all->list.n - 1);
		(void)phx_hash_put(&all->by_key, hash_of(last->key), i);
		*y = *last;
	}
	all->list.n--;
}

void young_fini(struct young_files *all)
{
	phx_hash_fini(&all->by_key);
	phx_list_fini(&all->list);
}
