/* Clients that wait for events: `phx events -f` and --wait. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { TICK_MS = 100 };

struct wait {
	struct phx_http_request *q;
	uint64_t after;
	uint32_t limit;
	char node[PHX_NAME_MAX];
	int64_t until_ms;
};

struct waits {
	struct daemon *d;
	pthread_mutex_t lock;
	struct phx_list list; /* struct wait */
};

int waits_new(struct daemon *d, struct waits **ret)
{
	struct waits *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->d = d;
	pthread_mutex_init(&w->lock, NULL);
	*ret = w;
	return 0;
}

/* The last note among an event's actions becomes its text: it tells in a sentence what came of it. */
static const char *note_of(const json_t *actions)
{
	const char *note = NULL;
	size_t i;
	json_t *act;
	json_array_foreach((json_t *)actions, i, act)
	{
		if (!strcmp(phx_json_str(act, "kind", ""), "note"))
			note = phx_json_str(act, "text", "");
	}
	return note;
}

static int collect(void *arg, const struct phx_store_event *ev)
{
	json_t *list = arg;
	PHX_AUTO_JSON json_t *event = json_loads(ev->event, 0, NULL);
	PHX_AUTO_JSON json_t *actions = json_loads(ev->actions, 0, NULL);
	int kind = 0;
	phx_enum_parse(&phx_event_kind_names, ev->kind, &kind, NULL);
	const char *note = note_of(actions);
	json_t *j = json_pack("{s:I,s:I,s:s,s:s,s:s,s:s,s:O?,s:O?}", "seq", (json_int_t)ev->seq, "time_ms",
			      (json_int_t)ev->time_ms, "kind", ev->kind, "text",
			      note ? note : phx_event_text((enum phx_event_kind)kind), "node", ev->node, "by",
			      phx_json_str(event, "by", ""), "event", event, "actions", actions);
	return j && json_array_append_new(list, j) == 0 ? 0 : -ENOMEM;
}

/* Answers when there is something to tell, or `at_last`. */
static bool answer(struct waits *w, const struct wait *x, bool at_last)
{
	PHX_AUTO_JSON json_t *list = json_array();
	struct phx_err err = { 0 };
	int r = phx_store_events(engine_store(w->d->engine), x->after, x->limit, x->node[0] ? x->node : NULL, collect,
				 list, &err);
	if (r < 0) {
		phx_http_reply_error(x->q, r, err.text);
		return true;
	}
	if (!json_array_size(list) && !at_last)
		return false;
	uint64_t last = phx_store_last(engine_store(w->d->engine));
	PHX_AUTO_JSON json_t *j = json_pack("{s:O,s:I}", "events", list, "last", (json_int_t)last);
	phx_http_reply_json(x->q, 200, j);
	return true;
}

void waits_hold(struct waits *w, struct phx_http_request *q, uint64_t after, uint32_t limit, const char *node,
		int64_t wait_ms)
{
	struct wait x = { .q = q, .after = after, .limit = limit, .until_ms = engine_now(w->d->engine) + wait_ms };
	PHX_STR_SET(x.node, node);
	if (answer(w, &x, wait_ms <= 0))
		return;
	phx_http_suspend(q);
	pthread_mutex_lock(&w->lock);
	struct wait *to = phx_list_push(&w->list, sizeof(*to));
	if (to)
		*to = x;
	pthread_mutex_unlock(&w->lock);
	if (!to)
		answer(w, &x, true);
	else if (phx_store_last(engine_store(w->d->engine)) > after)
		waits_wake(w, phx_store_last(engine_store(w->d->engine)));
}

/* Takes the waits that `due` says are to be answered, and answers them without the lock. */
static void answer_due(struct waits *w, uint64_t seq, int64_t now)
{
	struct phx_list due = { 0 };
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = 0; i < w->list.n;) {
		struct wait *x = PHX_LIST_AT(&w->list, struct wait, i);
		if (x->after >= seq && now < x->until_ms && !phx_http_gone(x->q)) {
			i++;
			continue;
		}
		struct wait *to = phx_list_push(&due, sizeof(*to));
		if (!to)
			break;
		*to = *x;
		phx_list_remove(&w->list, sizeof(*x), i);
	}
	pthread_mutex_unlock(&w->lock);
	PHX_LIST_EACH(struct wait, x, &due)
		answer(w, x, true);
	phx_list_fini(&due);
}

void waits_wake(struct waits *w, uint64_t seq)
{
	answer_due(w, seq, 0);
}

int waits_tick(struct waits *w)
{
	answer_due(w, 0, engine_now(w->d->engine));
	return TICK_MS;
}

void waits_free(struct waits *w)
{
	if (!w)
		return;
	answer_due(w, UINT64_MAX, INT64_MAX);
	phx_list_fini(&w->list);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
