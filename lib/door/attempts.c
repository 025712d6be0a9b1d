/* Who guesses passwords waits: see door.h. Two tables of counts, of names and of addresses, in
 * which a hash finds the place: no number of names makes it larger or puts a count out of it.
 * Called by the head for each attempt. Reads no clock. */
#include "door/door.h"

#include <errno.h>
#include <pthread.h>

#include "base/hash.h"

enum { PLACES = 4096, DOUBLE_MAX = 16 };

struct place {
	uint32_t n; /* wrong ones */
	int64_t last_ms;
};

struct phx_attempts {
	pthread_mutex_t lock;
	struct place names[PLACES], addresses[PLACES];
};

int phx_attempts_new(struct phx_attempts **ret)
{
	struct phx_attempts *a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	pthread_mutex_init(&a->lock, NULL);
	*ret = a;
	return 0;
}

void phx_attempts_free(struct phx_attempts *a)
{
	if (!a)
		return;
	pthread_mutex_destroy(&a->lock);
	free(a);
}

static struct place *find(struct place *table, const char *key)
{
	return &table[phx_hash_text(key) % PLACES];
}

/* How long it is until the next one. */
static int64_t wait_ms(const struct place *p, int64_t now_ms)
{
	if (p->n < PHX_ATTEMPTS_FREE)
		return 0;
	uint32_t more = p->n - PHX_ATTEMPTS_FREE;
	int64_t wait = (int64_t)PHX_ATTEMPTS_WAIT_MS << (more < DOUBLE_MAX ? more : DOUBLE_MAX);
	wait = wait < PHX_ATTEMPTS_WAIT_MAX_MS ? wait : PHX_ATTEMPTS_WAIT_MAX_MS;
	return p->last_ms + wait > now_ms ? p->last_ms + wait - now_ms : 0;
}

static void count(struct place *p, int64_t now_ms)
{
	p->n++;
	p->last_ms = now_ms;
}

static void forget(struct place *p, int64_t now_ms)
{
	if (p->n && now_ms - p->last_ms >= PHX_ATTEMPTS_FORGET_MS)
		p->n = 0;
}

unsigned phx_attempts_begin(struct phx_attempts *a, const char *name, const char *address,
			    int64_t now_ms)
{
	struct place *of_name = find(a->names, name), *of_address = find(a->addresses, address);
	pthread_mutex_lock(&a->lock);
	forget(of_name, now_ms);
	forget(of_address, now_ms);
	int64_t by_name = wait_ms(of_name, now_ms), by_address = wait_ms(of_address, now_ms);
	int64_t wait = by_name > by_address ? by_name : by_address;
	if (!wait) {
		count(of_name, now_ms);
		count(of_address, now_ms);
	}
	pthread_mutex_unlock(&a->lock);
	return (unsigned)((wait + 999) / 1000);
}

void phx_attempts_right(struct phx_attempts *a, const char *name, const char *address)
{
	struct place *places[] = {find(a->names, name), find(a->addresses, address)};
	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(places); i++)
		if (places[i]->n)
			places[i]->n--;
	pthread_mutex_unlock(&a->lock);
}
