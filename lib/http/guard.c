/* Counts the connections and requests of a listener: see guard.h. Called by the listener's
 * accepting thread (accept.c), by the threads of libmicrohttpd (peer.c, request.c, upload.c) and by
 * tests. Closes no socket: to end a connection it shuts the socket down, and the socket's owner
 * closes it as if the peer had gone. */
#include "http/guard.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"

enum {
	BODY_MS = 60000,        /* any body may take so long to come, */
	BODY_BYTES_PER_MS = 16, /* and as much longer as its bytes take at 16 KB/s */
	SECOND_US = 1000000,
	BURST_US = 20 * SECOND_US, /* a party's requests of so long may come at once */
};

struct phx_http_party {
	char key[PHX_HTTP_KEY_MAX];
	unsigned n_connections;
	unsigned claims[PHX_HTTP_CLAIMS];
	uint64_t spooled;
	/* when its last request would have come at the allowed rate; it is remembered until then */
	int64_t due_us;
	uint32_t place; /* in the list of parties */
};

/* First in, first out: all heads of requests have the same time to come, so the first entry is due
 * first. */
struct queue {
	struct phx_http_entry *first, *last;
};

struct phx_http_guard {
	struct phx_http_guard_limits limits;
	pthread_mutex_t lock;
	struct phx_list parties;        /* struct phx_http_party *, owned */
	struct phx_hash by_key;         /* their places */
	struct queue strangers, others; /* connections whose peer is waited for */
	unsigned n_admins, n_rest;
	uint64_t spooled;
	int64_t now_us; /* the time of the last tick */
	struct phx_http_refused refused[PHX_HTTP_LIMITS];
};

static struct phx_http_party **party_at(const struct phx_http_guard *g, uint32_t i)
{
	return PHX_LIST_AT(&g->parties, struct phx_http_party *, i);
}

struct phx_http_guard *phx_http_guard_new(const struct phx_http_guard_limits *limits)
{
	struct phx_http_guard *g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->limits = *limits;
	pthread_mutex_init(&g->lock, NULL);
	return g;
}

void phx_http_guard_free(struct phx_http_guard *g)
{
	if (!g)
		return;
	for (uint32_t i = 0; i < g->parties.n; i++)
		free(*party_at(g, i));
	phx_list_fini(&g->parties);
	phx_hash_fini(&g->by_key);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

/* ---- parties: addresses and persons ---- */

/* NULL: there is none. */
static struct phx_http_party *find(const struct phx_http_guard *g, const char *key)
{
	uint32_t hash = phx_hash_text(key), i;
	for (uint32_t at = hash; phx_hash_next(&g->by_key, hash, &at, &i);)
		if (!strcmp((*party_at(g, i))->key, key))
			return *party_at(g, i);
	return NULL;
}

/* NULL: out of memory. */
static struct phx_http_party *add(struct phx_http_guard *g, const char *key)
{
	uint32_t place = g->parties.n;
	struct phx_http_party *p = calloc(1, sizeof(*p));
	struct phx_http_party **to = p ? phx_list_push(&g->parties, sizeof(p)) : NULL;
	if (to)
		PHX_STR_SET(p->key, key);
	if (!to || phx_hash_put(&g->by_key, phx_hash_text(p->key), place) < 0) {
		g->parties.n = place;
		free(p);
		return NULL;
	}
	p->place = place;
	*to = p;
	return p;
}

static struct phx_http_party *party_of(struct phx_http_guard *g, const char *key)
{
	struct phx_http_party *p = find(g, key);
	return p ? p : add(g, key);
}

/* The last of the list takes its place. */
static void drop(struct phx_http_guard *g, struct phx_http_party *p)
{
	struct phx_http_party *last = *party_at(g, --g->parties.n);
	phx_hash_drop(&g->by_key, phx_hash_text(p->key), p->place);
	if (last != p) {
		uint32_t hash = phx_hash_text(last->key);
		phx_hash_drop(&g->by_key, hash, last->place);
		phx_hash_put(&g->by_key, hash, p->place); /* there is room */
		last->place = p->place;
		*party_at(g, p->place) = last;
	}
	free(p);
}

static void drop_if_idle(struct phx_http_guard *g, struct phx_http_party *p)
{
	if (!p->n_connections && p->due_us <= g->now_us)
		drop(g, p);
}

static unsigned share_of(const struct phx_http_guard *g, enum phx_http_rank rank)
{
	switch (rank) {
	case PHX_HTTP_STRANGER:
		return g->limits.per_stranger_max;
	case PHX_HTTP_KNOWN:
		return g->limits.per_known_max;
	case PHX_HTTP_ADMIN:
		return 0;
	}
	return 0;
}

static void count(struct phx_http_guard *g, struct phx_http_entry *e, unsigned by)
{
	*(e->rank == PHX_HTTP_ADMIN ? &g->n_admins : &g->n_rest) += by;
	e->party->n_connections += by;
}

/* ---- connections whose peer is waited for ---- */

static struct queue *queue_of(struct phx_http_guard *g, const struct phx_http_entry *e)
{
	return e->rank == PHX_HTTP_STRANGER ? &g->strangers : &g->others;
}

static void unlink_entry(struct phx_http_guard *g, struct phx_http_entry *e)
{
	struct queue *w = queue_of(g, e);
	if (e->pause == PHX_HTTP_NO_PAUSE)
		return;
	*(e->prev ? &e->prev->next : &w->first) = e->next;
	*(e->next ? &e->next->prev : &w->last) = e->prev;
	e->next = e->prev = NULL;
	e->pause = PHX_HTTP_NO_PAUSE;
}

static void link_entry(struct phx_http_guard *g, struct phx_http_entry *e,
		       enum phx_http_pause pause, int64_t until_ms)
{
	struct queue *w = queue_of(g, e);
	e->pause = pause;
	e->until_ms = until_ms;
	e->prev = w->last;
	*(w->last ? &w->last->next : &w->first) = e;
	w->last = e;
}

/* Shuts a connection down. Its owner then sees its end and calls phx_http_guard_leave(). */
static void cut(struct phx_http_guard *g, struct phx_http_entry *e)
{
	unlink_entry(g, e);
	shutdown(e->fd, SHUT_RDWR);
}

/* ---- refusals ---- */

static void refuse(struct phx_http_guard *g, enum phx_http_limit limit, const char *whom)
{
	g->refused[limit].n++;
	PHX_STR_SET(g->refused[limit].whom, whom);
	if (g->limits.refused)
		g->limits.refused(g->limits.arg);
}

void phx_http_guard_refuse(struct phx_http_guard *g, enum phx_http_limit limit, const char *whom)
{
	pthread_mutex_lock(&g->lock);
	refuse(g, limit, whom);
	pthread_mutex_unlock(&g->lock);
}

void phx_http_guard_refused(struct phx_http_guard *g, enum phx_http_limit limit,
			    struct phx_http_refused *ret)
{
	pthread_mutex_lock(&g->lock);
	*ret = g->refused[limit];
	pthread_mutex_unlock(&g->lock);
}

/* ---- connections come and go ---- */

static bool is_full(const struct phx_http_guard *g, enum phx_http_rank rank)
{
	unsigned left =
		g->n_rest < g->limits.connections_max ? g->limits.connections_max - g->n_rest : 0;
	/* administrators may also have the connections that others leave free */
	return rank == PHX_HTTP_ADMIN ? g->n_admins >= g->limits.reserve + left : !left;
}

/* Makes room for one more connection: shuts down that of the stranger who has been silent for
 * longest. */
static int make_room(struct phx_http_guard *g, enum phx_http_rank rank)
{
	if (!is_full(g, rank))
		return 0;
	/* that connection counts until its owner sees its end: until then a tenth more than the
	 * limit may be open */
	bool burst = g->n_rest >= g->limits.connections_max + g->limits.connections_max / 10;
	if (!g->strangers.first || burst)
		return -EAGAIN;
	refuse(g, PHX_HTTP_LIMIT_CONNECTIONS, g->strangers.first->party->key);
	cut(g, g->strangers.first);
	return 0;
}

/* Enters a connection into the counts. The party's own share is looked at first: a party that has
 * used up its share must not push a stranger out. */
static int enter(struct phx_http_guard *g, struct phx_http_entry *e, const char *key,
		 enum phx_http_rank rank)
{
	unsigned share = share_of(g, rank);
	struct phx_http_party *p = find(g, key);
	if (share && p && p->n_connections >= share) {
		refuse(g,
		       rank == PHX_HTTP_STRANGER ? PHX_HTTP_LIMIT_ADDRESS : PHX_HTTP_LIMIT_PERSON,
		       key);
		return -EDQUOT;
	}
	int r = make_room(g, rank);
	if (r < 0) {
		refuse(g, PHX_HTTP_LIMIT_CONNECTIONS, key);
		return r;
	}
	p = party_of(g, key);
	if (!p)
		return -ENOMEM;
	e->party = p;
	e->rank = rank;
	count(g, e, 1);
	return 0;
}

int phx_http_guard_admit(struct phx_http_guard *g, struct phx_http_entry *e, int fd,
			 const char *key, enum phx_http_rank rank, int64_t now_ms)
{
	pthread_mutex_lock(&g->lock);
	int r = enter(g, e, key, rank);
	if (r == 0) {
		e->fd = fd;
		link_entry(g, e, PHX_HTTP_HEADER, now_ms + g->limits.header_ms);
	}
	pthread_mutex_unlock(&g->lock);
	return r;
}

int phx_http_guard_know(struct phx_http_guard *g, struct phx_http_entry *e, const char *key,
			enum phx_http_rank rank)
{
	pthread_mutex_lock(&g->lock);
	unlink_entry(g, e);
	struct phx_http_entry was = *e;
	count(g, e, -1u); /* it may take the place that it has itself */
	int r = enter(g, e, key, rank);
	if (r < 0)
		count(g, e, 1);
	else
		drop_if_idle(g, was.party);
	pthread_mutex_unlock(&g->lock);
	return r;
}

void phx_http_guard_leave(struct phx_http_guard *g, struct phx_http_entry *e)
{
	pthread_mutex_lock(&g->lock);
	if (e->party) {
		unlink_entry(g, e);
		count(g, e, -1u);
		drop_if_idle(g, e->party);
		e->party = NULL;
	}
	pthread_mutex_unlock(&g->lock);
}

void phx_http_guard_wait(struct phx_http_guard *g, struct phx_http_entry *e,
			 enum phx_http_pause pause, uint64_t n, int64_t now_ms)
{
	int64_t body_ms = BODY_MS + (int64_t)(n / BODY_BYTES_PER_MS);
	pthread_mutex_lock(&g->lock);
	if (e->party) {
		unlink_entry(g, e);
		if (pause != PHX_HTTP_NO_PAUSE)
			link_entry(
				g, e, pause,
				now_ms + (pause == PHX_HTTP_BODY ? body_ms : g->limits.header_ms));
	}
	pthread_mutex_unlock(&g->lock);
}

static unsigned cut_overdue(struct phx_http_guard *g, struct queue *w, int64_t now_ms)
{
	unsigned n = 0;
	for (struct phx_http_entry *e = w->first, *next; e; e = next) {
		next = e->next;
		if (e->until_ms > now_ms)
			continue;
		cut(g, e);
		n++;
	}
	return n;
}

unsigned phx_http_guard_tick(struct phx_http_guard *g, int64_t now_ms)
{
	pthread_mutex_lock(&g->lock);
	unsigned n = cut_overdue(g, &g->strangers, now_ms) + cut_overdue(g, &g->others, now_ms);
	g->now_us = now_ms * 1000;
	for (uint32_t i = g->parties.n; i-- > 0;)
		drop_if_idle(g, *party_at(g, i));
	pthread_mutex_unlock(&g->lock);
	return n;
}

bool phx_http_guard_idle(struct phx_http_guard *g)
{
	pthread_mutex_lock(&g->lock);
	bool idle = !g->parties.n;
	pthread_mutex_unlock(&g->lock);
	return idle;
}

/* ---- shares of requests ---- */

bool phx_http_guard_claim(struct phx_http_guard *g, struct phx_http_entry *e,
			  enum phx_http_claim what, unsigned max)
{
	pthread_mutex_lock(&g->lock);
	bool may = e->party && (!max || e->rank == PHX_HTTP_ADMIN || e->party->claims[what] < max);
	if (may)
		e->party->claims[what]++;
	pthread_mutex_unlock(&g->lock);
	return may;
}

/* A request takes its share of a second (1 / requests_per_s). A party whose requests reach more
 * than BURST_US ahead of the time has to wait. */
unsigned phx_http_guard_request(struct phx_http_guard *g, struct phx_http_entry *e, int64_t now_ms)
{
	int64_t now_us = now_ms * 1000, wait_us = 0;
	pthread_mutex_lock(&g->lock);
	struct phx_http_party *p =
		g->limits.requests_per_s && e->rank != PHX_HTTP_ADMIN ? e->party : NULL;
	if (p) {
		p->due_us = p->due_us > now_us ? p->due_us : now_us;
		int64_t due_us = p->due_us + SECOND_US / g->limits.requests_per_s;
		wait_us = due_us - now_us - BURST_US;
		if (wait_us > 0)
			refuse(g, PHX_HTTP_LIMIT_REQUESTS, p->key);
		else
			p->due_us = due_us;
	}
	pthread_mutex_unlock(&g->lock);
	return wait_us > 0 ? (unsigned)((wait_us - 1) / SECOND_US) + 1 : 0;
}

bool phx_http_guard_spool(struct phx_http_guard *g, struct phx_http_entry *e, uint64_t n)
{
	uint64_t max = g->limits.spool_bytes_max;
	pthread_mutex_lock(&g->lock);
	bool may = e->party &&
		(!max || e->rank == PHX_HTTP_ADMIN || (n <= max && e->party->spooled <= max - n));
	if (may) {
		e->party->spooled += n;
		g->spooled += n;
	}
	pthread_mutex_unlock(&g->lock);
	return may;
}

void phx_http_guard_give_back(struct phx_http_guard *g, struct phx_http_entry *e,
			      const unsigned claims[PHX_HTTP_CLAIMS], uint64_t n_spooled)
{
	pthread_mutex_lock(&g->lock);
	for (size_t i = 0; e->party && i < PHX_HTTP_CLAIMS; i++)
		e->party->claims[i] -= claims[i];
	if (e->party)
		e->party->spooled -= n_spooled;
	g->spooled -= n_spooled;
	pthread_mutex_unlock(&g->lock);
}

uint64_t phx_http_guard_spooled(struct phx_http_guard *g)
{
	pthread_mutex_lock(&g->lock);
	uint64_t n = g->spooled;
	pthread_mutex_unlock(&g->lock);
	return n;
}
