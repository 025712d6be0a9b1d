/* What people ask and agents alone can answer: what services of nodes write (logs.c), what tasks
 * printed (api_flows.c). The question goes to the agent with the answer of its beat, like an order,
 * and comes back by a request of its own. Soft state: a restart forgets the questions, and who
 * asked asks again. An answer to what nobody asked, or another node was asked, reaches nobody.
 * Decides nothing.
 *
 *   people ──GET──▶ ask ──beat's answer──▶ agent ──POST──▶ reply to people
 *
 * Lock order: nothing asks the engine, or live, while it holds this lock. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "phxd/hang_ups.h"

enum { ASKS_MAX = 64, ASKS_OF_NODE_MAX = 8, ANSWER_MS = 15000 };

struct ask {
	uint64_t id;
	const struct asks_kind *kind;
	char node[PHX_NAME_MAX];
	json_t *words; /* owned; NULL: they were sent */
	json_t *frame; /* owned; may be NULL */
	struct phx_http_request *q;
	int64_t until_ms; /* of phx_clock_ms() */
	unsigned rights;  /* when it was looked at last what its sender may */
};

struct asks {
	struct daemon *d;
	pthread_mutex_t lock;
	struct phx_list asks; /* struct ask */
	uint64_t last_id;
	bool stopped, running;
	pthread_t thread; /* answers those whose time is up, or who is gone */
	struct hang_ups hang_ups;
};

static void ask_fini(struct ask *a)
{
	json_decref(a->words);
	json_decref(a->frame);
}

/* ---- to the agent ---- */

void asks_orders_put(struct asks *k, const char *node, struct phx_buf *b)
{
	pthread_mutex_lock(&k->lock);
	PHX_LIST_EACH(struct ask, a, &k->asks) {
		if (!a->words || strcmp(a->node, node) != 0)
			continue;
		const char *kind = phx_order_name(a->kind->order);
		PHX_AUTO_JSON json_t *j = json_pack("{s:s,s:I,s:o}", "kind", kind, "id",
						    (json_int_t)a->id, kind, PHX_TAKE(a->words));
		phx_json_put_item(b);
		phx_json_put_tree(b, j);
	}
	pthread_mutex_unlock(&k->lock);
}

/* ---- from people ---- */

/* Kept; -EBUSY when there are too many. */
static int keep(struct asks *k, struct ask *a)
{
	uint32_t of_node = 0;
	pthread_mutex_lock(&k->lock);
	PHX_LIST_EACH(struct ask, other, &k->asks)
		of_node += !strcmp(other->node, a->node);
	bool room = !k->stopped && k->asks.n < ASKS_MAX && of_node < ASKS_OF_NODE_MAX;
	struct ask *to = room ? phx_list_push(&k->asks, sizeof(*to)) : NULL;
	if (to) {
		a->id = ++k->last_id;
		*to = *a;
	}
	pthread_mutex_unlock(&k->lock);
	return to ? 0 : -EBUSY;
}

void asks_put(struct asks *k, struct phx_http_request *q, const struct asks_wish *wish)
{
	struct daemon *d = k->d;
	struct ask a = {.kind = wish->kind,
			.q = q,
			.words = wish->words,
			.frame = wish->frame,
			.until_ms = phx_clock_ms() + wish->wait_ms + ANSWER_MS,
			.rights = wish->rights};
	PHX_STR_SET(a.node, wish->node);
	if (!phx_http_claim(q, PHX_HTTP_POLL, d->cfg.polls_per_user)) {
		ask_fini(&a);
		return;
	}
	phx_http_suspend(q);
	int r = a.words ? keep(k, &a) : -ENOMEM;
	if (r < 0) {
		ask_fini(&a);
		phx_http_reply_error(q, r,
				     r == -EBUSY ? "too many ask nodes just now" : "out of memory");
	} else {
		live_wake(d->live, a.node);
	}
	hang_ups_tell(&k->hang_ups);
}

/* ---- from the agent ---- */

/* The question that waits for this answer, taken out; false: none does (any more). */
static bool take(struct asks *k, const struct asks_kind *kind, const char *node, uint64_t id,
		 struct ask *ret)
{
	bool found = false;
	pthread_mutex_lock(&k->lock);
	for (uint32_t i = 0; i < k->asks.n && !found; i++) {
		const struct ask *a = PHX_LIST_AT(&k->asks, struct ask, i);
		if (a->id != id || a->words || a->kind != kind || strcmp(a->node, node) != 0)
			continue;
		*ret = *a;
		phx_list_remove(&k->asks, sizeof(*a), i);
		found = true;
	}
	pthread_mutex_unlock(&k->lock);
	if (found) /* its connection is watched no longer, so that it can be closed */
		hang_ups_tell(&k->hang_ups);
	return found;
}

/* Looks again what the sender may if rights were given or taken since. False: he was refused. */
static bool may_be_told(struct asks *k, struct ask *a)
{
	struct phx_err err = {0};
	while (a->rights != k->d->rights) {
		a->rights = k->d->rights;
		bool may = person_require(k->d, a->q, a->kind->right);
		int r = may ? a->kind->may(k->d, a->q, a->node, &err) : 0;
		if (r < 0)
			phx_http_reply_error(a->q, r, err.text);
		if (!may || r < 0) {
			ask_fini(a);
			return false;
		}
	}
	return true;
}

void asks_told(struct asks *k, const struct asks_kind *kind, const char *node, uint64_t id,
	       const char *error, json_t *answer)
{
	struct ask asked;
	char text[400];
	if (!take(k, kind, node, id, &asked) || !may_be_told(k, &asked))
		return;
	snprintf(text, sizeof(text), "%s: %.300s", node, error);
	phx_utf8_repair(text);
	if (asked.frame)
		json_object_update(answer, asked.frame);
	if (*error)
		phx_http_reply_error(asked.q, -ENOENT, text);
	else
		phx_http_reply_json(asked.q, 200, answer);
	ask_fini(&asked);
}

/* ---- time ---- */

static bool take_due(struct asks *k, int64_t now, struct ask *ret)
{
	bool found = false;
	pthread_mutex_lock(&k->lock);
	for (uint32_t i = 0; i < k->asks.n && !found; i++) {
		const struct ask *a = PHX_LIST_AT(&k->asks, struct ask, i);
		if (now < a->until_ms && a->rights == k->d->rights && !phx_http_gone(a->q))
			continue;
		*ret = *a;
		phx_list_remove(&k->asks, sizeof(*a), i);
		found = true;
	}
	pthread_mutex_unlock(&k->lock);
	return found;
}

/* Rights were given or taken since it was looked at: it waits on, or its sender is refused. */
static void look_again(struct asks *k, struct ask *a)
{
	if (!may_be_told(k, a))
		return;
	pthread_mutex_lock(&k->lock);
	struct ask *to = k->stopped ? NULL : phx_list_push(&k->asks, sizeof(*to));
	if (to)
		*to = *a;
	pthread_mutex_unlock(&k->lock);
	if (to)
		return;
	ask_fini(a);
	phx_http_reply_error(a->q, -EAGAIN, "phxd is ending");
}

static void answer_due(struct asks *k, int64_t now)
{
	struct ask a;
	while (take_due(k, now, &a)) {
		char text[160];
		if (now < a.until_ms && a.rights != k->d->rights && !phx_http_gone(a.q)) {
			look_again(k, &a);
			continue;
		}
		ask_fini(&a);
		snprintf(text, sizeof(text), "%s did not answer in time", a.node);
		phx_http_reply_error(a.q, -EAGAIN, text);
	}
}

/* Until an ask is new or answered, its time is up, or who asked has hung up. False: it ends. */
static bool await(struct asks *k)
{
	int64_t until_ms = INT64_MAX;
	hang_ups_clear(&k->hang_ups);
	pthread_mutex_lock(&k->lock);
	PHX_LIST_EACH(struct ask, a, &k->asks) {
		hang_ups_add(&k->hang_ups, a->q);
		until_ms = a->until_ms < until_ms ? a->until_ms : until_ms;
	}
	bool stopped = k->stopped;
	pthread_mutex_unlock(&k->lock);
	if (!stopped)
		hang_ups_wait(&k->hang_ups, until_ms);
	return !stopped;
}

static void *run(void *arg)
{
	struct asks *k = arg;
	while (await(k))
		answer_due(k, phx_clock_ms());
	return NULL;
}

/* ---- life ---- */

void asks_wake(struct asks *k)
{
	hang_ups_tell(&k->hang_ups);
}

int asks_new(struct daemon *d, struct asks **ret)
{
	struct asks *k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->d = d;
	/* answers to an earlier daemon are not taken for ours */
	k->last_id = (uint64_t)d->started_ms;
	pthread_mutex_init(&k->lock, NULL);
	*ret = k;
	int r = hang_ups_init(&k->hang_ups);
	r = r ? r : -pthread_create(&k->thread, NULL, run, k);
	k->running = r == 0;
	return r;
}

void asks_stop(struct asks *k)
{
	if (!k)
		return;
	pthread_mutex_lock(&k->lock);
	k->stopped = true;
	pthread_mutex_unlock(&k->lock);
	hang_ups_tell(&k->hang_ups);
	if (k->running)
		pthread_join(k->thread, NULL);
	k->running = false;
	answer_due(k, INT64_MAX);
}

void asks_free(struct asks *k)
{
	if (!k)
		return;
	asks_stop(k);
	phx_list_fini(&k->asks);
	hang_ups_fini(&k->hang_ups);
	pthread_mutex_destroy(&k->lock);
	free(k);
}
