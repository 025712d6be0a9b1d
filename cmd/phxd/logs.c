/* What services of nodes write, asked for by people: the question goes to the
 * agent with the answer of its beat, like an order, and comes back by a request
 * of its own. Soft state: a restart forgets the questions, and who asked asks
 * again. Decides nothing.
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
#include "phxd/parse.h"

enum { ASKS_MAX = 64, ASKS_OF_NODE_MAX = 8, LINES_MAX = 10000, LINES = 50, WAIT_MAX_S = 25 };
enum { ANSWER_MS = 15000, CURSOR_MAX = 256 };

struct ask {
	uint64_t id;
	char node[PHX_NAME_MAX], service[PHX_NAME_MAX], cursor[CURSOR_MAX];
	uint64_t lines, wait_s;
	struct phx_http_request *q;
	int64_t until_ms; /* of phx_clock_ms() */
	bool sent;
	unsigned rights; /* when it was looked at last what its sender may */
};

struct logs {
	struct daemon *d;
	pthread_mutex_t lock;
	struct phx_list asks; /* struct ask */
	uint64_t last_id;
	bool stopped, running;
	pthread_t thread; /* answers those whose time is up, or who is gone */
	struct hang_ups hang_ups;
};

/* ---- to the agent ---- */

void logs_orders_put(struct logs *l, const char *node, struct phx_buf *b)
{
	pthread_mutex_lock(&l->lock);
	PHX_LIST_EACH(struct ask, a, &l->asks) {
		if (a->sent || strcmp(a->node, node))
			continue;
		a->sent = true;
		PHX_AUTO_JSON json_t *j = json_pack(
			"{s:s,s:I,s:{s:s,s:s,s:I,s:I}}", "kind", "logs", "id", (json_int_t)a->id,
			"logs", "service", a->service, "cursor", a->cursor, "lines",
			(json_int_t)a->lines, "wait_ms", (json_int_t)a->wait_s * 1000);
		phx_json_put_item(b);
		phx_json_put_tree(b, j);
	}
	pthread_mutex_unlock(&l->lock);
}

/* ---- from people ---- */

static int check_node(struct daemon *d, struct phx_http_request *q, const char *node,
		      struct phx_err *err)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	bool all = person_has_all(d, peer, PHX_RIGHT_logs);
	struct person person;
	/* before the engine is taken: it may ask the user database */
	person_of(d, peer, &person);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, node);
	int r = 0;
	if (!n)
		r = phx_err_set(err, -ENOENT, "there is no node '%s'", node);
	else if (!all && !person_holds(s, &person, n))
		r = phx_err_set(err, -EACCES,
				"%s: what its services write is for the resource provider and the "
				"owner of the RE that has it",
				node);
	else if (!n->up)
		r = phx_err_set(err, -EAGAIN, "%s is not heard: its agent cannot be asked", node);
	else if (n->env != PHX_ENV_OS)
		r = phx_err_set(err, -EBUSY, "%s is not in its system: no services run there",
				node);
	engine_unlock(d->engine);
	return r;
}

static bool parse_ask(struct phx_http_request *q, struct ask *a)
{
	const char *service = phx_http_query(q, "service"), *after = phx_http_query(q, "after");
	if (service && *service && !phx_name_valid(service)) {
		phx_http_reply_error(q, -EINVAL, "service: not a name");
		return false;
	}
	if (after && strlen(after) >= CURSOR_MAX) {
		phx_http_reply_error(q, -EINVAL, "after: not what an earlier answer had as cursor");
		return false;
	}
	PHX_STR_SET(a->service, service ? service : "");
	PHX_STR_SET(a->cursor, after ? after : "");
	return parse_query_number(q, "lines", LINES_MAX, LINES, &a->lines) &&
		parse_query_number(q, "wait", WAIT_MAX_S, 0, &a->wait_s);
}

/* Kept; -EBUSY when there are too many. */
static int keep(struct logs *l, struct ask *a)
{
	uint32_t of_node = 0;
	pthread_mutex_lock(&l->lock);
	PHX_LIST_EACH(struct ask, other, &l->asks)
		of_node += !strcmp(other->node, a->node);
	bool room = !l->stopped && l->asks.n < ASKS_MAX && of_node < ASKS_OF_NODE_MAX;
	struct ask *to = room ? phx_list_push(&l->asks, sizeof(*to)) : NULL;
	if (to) {
		a->id = ++l->last_id;
		*to = *a;
	}
	pthread_mutex_unlock(&l->lock);
	return to ? 0 : -EBUSY;
}

void api_node_logs(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct phx_err err = {0};
	struct ask a = {.q = q, .rights = d->rights};
	PHX_STR_SET(a.node, phx_http_param(q, 0));
	int r = check_node(d, q, a.node, &err);
	if (r < 0) {
		phx_http_reply_error(q, r, err.text);
		return;
	}
	if (!parse_ask(q, &a) || !phx_http_claim(q, PHX_HTTP_POLL, d->cfg.polls_per_user))
		return;
	a.until_ms = phx_clock_ms() + (int64_t)a.wait_s * 1000 + ANSWER_MS;
	phx_http_suspend(q);
	if (keep(d->logs, &a) < 0)
		phx_http_reply_error(q, -EBUSY, "too many ask for logs just now");
	else
		live_wake(d->live, a.node);
	hang_ups_tell(&d->logs->hang_ups);
}

/* ---- from the agent ---- */

/* The request that waits for this answer, taken out; NULL: none (any more). */
static struct phx_http_request *take(struct logs *l, const char *node, uint64_t id)
{
	struct phx_http_request *q = NULL;
	pthread_mutex_lock(&l->lock);
	for (uint32_t i = 0; i < l->asks.n && !q; i++) {
		const struct ask *a = PHX_LIST_AT(&l->asks, struct ask, i);
		if (a->id != id || strcmp(a->node, node))
			continue;
		q = a->q;
		phx_list_remove(&l->asks, sizeof(*a), i);
	}
	pthread_mutex_unlock(&l->lock);
	if (q) /* its connection is watched no longer, so that it can be closed */
		hang_ups_tell(&l->hang_ups);
	return q;
}

void api_agent_logs(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	char node[PHX_NAME_MAX];
	if (!person_agent(d, q, node))
		return;
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j)
		return;
	struct phx_http_request *asked = take(d->logs, node, (uint64_t)phx_json_int(j, "id", 0));
	const char *error = phx_json_str(j, "error", "");
	PHX_AUTO_JSON json_t *answer = json_pack(
		"{s:s,s:s,s:s,s:s}", "node", node, "service", phx_json_str(j, "service", ""),
		"text", phx_json_str(j, "text", ""), "cursor", phx_json_str(j, "cursor", ""));
	char text[400];
	snprintf(text, sizeof(text), "%s: %.300s", node, error);
	phx_utf8_repair(text);
	if (asked && *error)
		phx_http_reply_error(asked, -ENOENT, text);
	else if (asked)
		phx_http_reply_json(asked, 200, answer);
	PHX_AUTO_JSON json_t *empty = json_object();
	phx_http_reply_json(q, 200, empty);
}

/* ---- time ---- */

static bool take_due(struct logs *l, int64_t now, struct ask *ret)
{
	bool found = false;
	pthread_mutex_lock(&l->lock);
	for (uint32_t i = 0; i < l->asks.n && !found; i++) {
		const struct ask *a = PHX_LIST_AT(&l->asks, struct ask, i);
		if (now < a->until_ms && a->rights == l->d->rights && !phx_http_gone(a->q))
			continue;
		*ret = *a;
		phx_list_remove(&l->asks, sizeof(*a), i);
		found = true;
	}
	pthread_mutex_unlock(&l->lock);
	return found;
}

/* Rights were given or taken since it was looked at: it waits on, or its sender is refused. */
static void look_again(struct logs *l, struct ask *a)
{
	struct phx_err err = {0};
	a->rights = l->d->rights;
	if (!person_require(l->d, a->q, PHX_RIGHT_logs))
		return;
	int r = check_node(l->d, a->q, a->node, &err);
	pthread_mutex_lock(&l->lock);
	struct ask *to = r || l->stopped ? NULL : phx_list_push(&l->asks, sizeof(*to));
	if (to)
		*to = *a;
	pthread_mutex_unlock(&l->lock);
	if (!to)
		phx_http_reply_error(a->q, r ? r : -EAGAIN, r ? err.text : "phxd is ending");
}

static void answer_due(struct logs *l, int64_t now)
{
	struct ask a;
	while (take_due(l, now, &a)) {
		char text[160];
		if (now < a.until_ms && a.rights != l->d->rights && !phx_http_gone(a.q)) {
			look_again(l, &a);
			continue;
		}
		snprintf(text, sizeof(text), "%s did not answer in time", a.node);
		phx_http_reply_error(a.q, -EAGAIN, text);
	}
}

/* Until an ask is new or answered, its time is up, or who asked has hung up. False: it ends. */
static bool await(struct logs *l)
{
	int64_t until_ms = INT64_MAX;
	hang_ups_clear(&l->hang_ups);
	pthread_mutex_lock(&l->lock);
	PHX_LIST_EACH(struct ask, a, &l->asks) {
		hang_ups_add(&l->hang_ups, a->q);
		until_ms = a->until_ms < until_ms ? a->until_ms : until_ms;
	}
	bool stopped = l->stopped;
	pthread_mutex_unlock(&l->lock);
	if (!stopped)
		hang_ups_wait(&l->hang_ups, until_ms);
	return !stopped;
}

static void *run(void *arg)
{
	struct logs *l = arg;
	while (await(l))
		answer_due(l, phx_clock_ms());
	return NULL;
}

/* ---- life ---- */

void logs_wake(struct logs *l)
{
	hang_ups_tell(&l->hang_ups);
}

int logs_new(struct daemon *d, struct logs **ret)
{
	struct logs *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->d = d;
	/* answers to an earlier daemon are not taken for ours */
	l->last_id = (uint64_t)d->started_ms;
	pthread_mutex_init(&l->lock, NULL);
	*ret = l;
	int r = hang_ups_init(&l->hang_ups);
	r = r ? r : -pthread_create(&l->thread, NULL, run, l);
	l->running = r == 0;
	return r;
}

void logs_stop(struct logs *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stopped = true;
	pthread_mutex_unlock(&l->lock);
	hang_ups_tell(&l->hang_ups);
	if (l->running)
		pthread_join(l->thread, NULL);
	l->running = false;
	answer_due(l, INT64_MAX);
}

void logs_free(struct logs *l)
{
	if (!l)
		return;
	logs_stop(l);
	phx_list_fini(&l->asks);
	hang_ups_fini(&l->hang_ups);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
