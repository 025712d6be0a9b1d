/* Requests that are held until a state is reached: the end of a job, an RE that has its nodes. Each
 * is answered with what its wish shows when that is so, or when its time is up. A thread of its own
 * checks all of them when the journal has grown, rights have changed, a client has hung up, or the
 * time of one is up. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>

#include "base/clock.h"
#include "phxd/hang_ups.h"

struct held {
	struct phx_http_request *q;
	struct holds_wish wish;
	int64_t until_ms;
	bool gone;       /* its client has hung up */
	unsigned rights; /* daemon.rights when the sender's right was checked last */
	enum phx_scope scope;
	bool lost; /* the sender has a smaller right than at first */
};

struct holds {
	struct daemon *d;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	bool stopped;
	struct hang_ups hang_ups;
	struct phx_list fresh; /* struct held, not looked at yet */
	struct phx_list list;  /* of the thread alone */
};

static int64_t next_ms(const struct holds *h)
{
	int64_t ms = INT64_MAX;
	PHX_LIST_EACH(struct held, x, &h->list)
		ms = x->until_ms < ms ? x->until_ms : ms;
	return ms;
}

/* Waits until there is something to check. False: stopped. */
static bool await_news(struct holds *h)
{
	hang_ups_clear(&h->hang_ups);
	PHX_LIST_EACH(struct held, x, &h->list)
		hang_ups_add(&h->hang_ups, x->q);
	hang_ups_wait(&h->hang_ups, next_ms(h));
	for (uint32_t i = 0; i < h->list.n; i++)
		PHX_LIST_AT(&h->list, struct held, i)->gone = hang_ups_has(&h->hang_ups, i);
	pthread_mutex_lock(&h->lock);
	PHX_LIST_EACH(struct held, x, &h->fresh) {
		struct held *to = phx_list_push(&h->list, sizeof(*to));
		if (to)
			*to = *x;
		else
			phx_http_reply_error(x->q, -ENOMEM, "");
	}
	phx_list_fini(&h->fresh);
	bool goes_on = !h->stopped;
	pthread_mutex_unlock(&h->lock);
	return goes_on;
}

/* Looks at the sender's right again if rights were given or taken since: it is lost if it is
 * smaller than at first. Call it before the engine is locked: it may ask the user database. */
static void look_at_right(const struct holds *h, struct held *x)
{
	unsigned now = h->d->rights;
	if (x->rights == now || x->gone)
		return;
	x->rights = now;
	x->lost = x->lost || person_scope(h->d, phx_http_peer(x->q), x->wish.right) < x->scope;
}

static void look_at_rights(struct holds *h)
{
	for (uint32_t i = 0; i < h->list.n; i++)
		look_at_right(h, PHX_LIST_AT(&h->list, struct held, i));
}

/* Takes out the requests to answer now. */
static struct phx_list take_due(struct holds *h, bool all)
{
	struct phx_list due = {0};
	int64_t now = phx_clock_ms();
	const struct phx_state *s = engine_lock(h->d->engine);
	for (uint32_t i = 0; i < h->list.n;) {
		struct held *x = PHX_LIST_AT(&h->list, struct held, i), *to;
		bool is_due =
			all || x->gone || x->lost || now >= x->until_ms || x->wish.reached(s, x->q);
		if (!is_due || !(to = phx_list_push(&due, sizeof(*to)))) {
			i++;
			continue;
		}
		*to = *x;
		phx_list_remove(&h->list, sizeof(*x), i);
	}
	engine_unlock(h->d->engine);
	return due;
}

/* Rights that are taken while the answer is made may make it another. */
static void answer(struct holds *h, struct held *x)
{
	if (x->gone) {
		phx_http_reply_error(x->q, -EAGAIN, "nobody waits for this answer");
		return;
	}
	for (;;) {
		look_at_right(h, x);
		if (x->lost && !person_require(h->d, x->q, x->wish.right))
			return;
		PHX_AUTO_JSON json_t *j = x->wish.show(x->q, h->d);
		if (j && x->rights != h->d->rights)
			continue;
		if (j)
			phx_http_reply_json(x->q, 200, j);
		return;
	}
}

static void *run(void *arg)
{
	struct holds *h = arg;
	for (bool goes_on = true; goes_on;) {
		goes_on = await_news(h);
		int64_t began_us = phx_clock_us();
		look_at_rights(h);
		struct phx_list due = take_due(h, !goes_on);
		PHX_LIST_EACH(struct held, x, &due)
			answer(h, x);
		phx_list_fini(&due);
		if (h->list.n) /* events that come together are checked together */
			reads_breathe(began_us);
	}
	return NULL;
}

int holds_new(struct daemon *d, struct holds **ret)
{
	struct holds *h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->d = d;
	pthread_mutex_init(&h->lock, NULL);
	int r = hang_ups_init(&h->hang_ups);
	r = r ? r : -pthread_create(&h->thread, NULL, run, h);
	h->running = r == 0;
	*ret = h;
	return r;
}

void holds_take(struct holds *h, struct phx_http_request *q, const struct holds_wish *wish,
		unsigned rights, int64_t wait_ms)
{
	struct held held = {.q = q, .wish = *wish, .rights = rights};
	held.until_ms = phx_clock_ms() + wait_ms;
	held.scope = person_scope(h->d, phx_http_peer(q), wish->right);
	held.lost = h->d->rights != rights; /* perhaps: the scope may be a smaller one already */
	if (!phx_http_claim(q, PHX_HTTP_POLL, h->d->cfg.polls_per_user))
		return;
	phx_http_suspend(q);
	pthread_mutex_lock(&h->lock);
	struct held *x = h->stopped ? NULL : phx_list_push(&h->fresh, sizeof(*x));
	if (x)
		*x = held;
	pthread_mutex_unlock(&h->lock);
	hang_ups_tell(&h->hang_ups);
	if (!x)
		phx_http_reply_error(q, -EAGAIN, "phxd is ending");
}

void holds_wake(struct holds *h)
{
	hang_ups_tell(&h->hang_ups);
}

void holds_stop(struct holds *h)
{
	if (!h || !h->running)
		return;
	pthread_mutex_lock(&h->lock);
	h->stopped = true;
	pthread_mutex_unlock(&h->lock);
	hang_ups_tell(&h->hang_ups);
	pthread_join(h->thread, NULL);
	h->running = false;
}

void holds_free(struct holds *h)
{
	if (!h)
		return;
	holds_stop(h);
	phx_list_fini(&h->list);
	phx_list_fini(&h->fresh);
	hang_ups_fini(&h->hang_ups);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
