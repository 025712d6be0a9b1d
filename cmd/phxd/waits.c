/* Clients that wait for events: `phx events -f` and --wait. Each is answered when
 * there is something for it, never before its time because of events of others.
 * People who are not the resource provider are told what happened, not the whole
 * event; of jobs only what they did themselves. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { TICK_MS = 100 };

struct wait {
	struct phx_http_request *q;
	uint64_t after; /* nothing for it up to here */
	uint32_t limit;
	char node[PHX_NAME_MAX];
	bool all;		/* sees whole events, of everybody */
	char by[PHX_NAME_MAX];	/* else: who it is */
	int64_t until_ms;
};

struct waits {
	struct daemon *d;
	pthread_mutex_t lock;
	struct phx_list list; /* struct wait */
	bool stopped;
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

/* The last note among an event's actions becomes its text: it tells in a sentence what came of it. What concerns an RE is
 * for the resource provider; its owner asks for its history. */
static const char *note_of(const json_t *actions, bool all)
{
	const char *note = NULL;
	size_t i;
	json_t *act;
	json_array_foreach((json_t *)actions, i, act)
	{
		if (!strcmp(phx_json_str(act, "kind", ""), "note") && (all || !*phx_json_str(act, "re", "")))
			note = phx_json_str(act, "text", "");
	}
	return note;
}

struct collector {
	const struct wait *x;
	json_t *list;
};

static bool hidden(const struct wait *x, const char *kind, const char *by)
{
	bool private = phx_str_starts(kind, "job_") || phx_str_starts(kind, "re_");
	return !x->all && private && strcmp(by, x->by) != 0;
}

static int collect(void *arg, const struct phx_store_event *ev)
{
	struct collector *c = arg;
	PHX_AUTO_JSON json_t *event = json_loads(ev->event, 0, NULL);
	PHX_AUTO_JSON json_t *actions = json_loads(ev->actions, 0, NULL);
	const char *by = phx_json_str(event, "by", "");
	int kind = 0;
	if (hidden(c->x, ev->kind, by))
		return 0;
	phx_enum_parse(&phx_event_kind_names, ev->kind, &kind, NULL);
	const char *note = note_of(actions, c->x->all);
	json_t *j = json_pack("{s:I,s:I,s:s,s:s,s:s,s:s}", "seq", (json_int_t)ev->seq, "time_ms",
			      (json_int_t)ev->time_ms, "kind", ev->kind, "text",
			      note ? note : phx_event_text((enum phx_event_kind)kind), "node", ev->node, "by", by);
	if (c->x->all) {
		json_object_set(j, "event", event);
		json_object_set(j, "actions", actions);
	}
	if (!j || json_array_append_new(c->list, j))
		return -ENOMEM;
	return json_array_size(c->list) >= c->x->limit; /* ends the walk */
}

/* Answers when there is something to tell, or `at_last`; else remembers how far it has looked. */
static bool answer(struct waits *w, struct wait *x, bool at_last)
{
	PHX_AUTO_JSON json_t *list = json_array();
	struct collector c = { x, list };
	struct phx_err err = { 0 };
	uint64_t last = phx_store_last(engine_store(w->d->engine)); /* before looking: what comes then is not lost */
	int r = phx_store_events(engine_store(w->d->engine), x->after, x->all ? x->limit : 0,
				 x->node[0] ? x->node : NULL, collect, &c, &err);
	if (r < 0) {
		phx_http_reply_error(x->q, r, err.text);
		return true;
	}
	size_t n = json_array_size(list);
	if (!n && !at_last) {
		x->after = last > x->after ? last : x->after;
		return false;
	}
	uint64_t listed = n ? (uint64_t)phx_json_int(json_array_get(list, n - 1), "seq", 0) : 0;
	/* a full batch may have more behind it */
	uint64_t told = n >= x->limit || listed > last ? listed : last;
	PHX_AUTO_JSON json_t *j = json_pack("{s:O,s:I}", "events", list, "last", (json_int_t)told);
	phx_http_reply_json(x->q, 200, j);
	return true;
}

/* Keeps a wait, or answers it when that is not possible. True when it was kept and there may be news for it. */
static bool keep(struct waits *w, struct wait *x)
{
	pthread_mutex_lock(&w->lock);
	struct wait *to = w->stopped ? NULL : phx_list_push(&w->list, sizeof(*to));
	if (to)
		*to = *x;
	pthread_mutex_unlock(&w->lock);
	if (!to)
		answer(w, x, true);
	return to && phx_store_last(engine_store(w->d->engine)) > x->after;
}

/* Takes the waits out that `seq` or `now` makes due. */
static struct phx_list take_due(struct waits *w, uint64_t seq, int64_t now)
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
	return due;
}

/* Answers what is due, without the lock. True when it should be called again, up to the journal's end. */
static bool answer_due(struct waits *w, uint64_t seq, int64_t now)
{
	bool again = false;
	struct phx_list due = take_due(w, seq, now);
	PHX_LIST_EACH(struct wait, x, &due)
		if (!answer(w, x, now >= x->until_ms || phx_http_gone(x->q)))
			again = keep(w, x) || again;
	phx_list_fini(&due);
	return again;
}

void waits_wake(struct waits *w, uint64_t seq)
{
	while (answer_due(w, seq, 0))
		seq = phx_store_last(engine_store(w->d->engine));
}

void waits_hold(struct waits *w, struct phx_http_request *q, uint64_t after, uint32_t limit, const char *node,
		int64_t wait_ms)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	struct wait x = { .q = q, .after = after, .limit = limit, .until_ms = engine_now(w->d->engine) + wait_ms };
	PHX_STR_SET(x.node, node);
	x.all = person_of(w->d, peer) == PERSON_PROVIDER;
	person_name(peer, x.by, sizeof(x.by));
	if (answer(w, &x, wait_ms <= 0))
		return;
	phx_http_suspend(q);
	if (keep(w, &x))
		waits_wake(w, phx_store_last(engine_store(w->d->engine)));
}

int waits_tick(struct waits *w)
{
	answer_due(w, 0, engine_now(w->d->engine));
	return TICK_MS;
}

void waits_stop(struct waits *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stopped = true;
	pthread_mutex_unlock(&w->lock);
	answer_due(w, UINT64_MAX, INT64_MAX);
}

void waits_free(struct waits *w)
{
	if (!w)
		return;
	phx_list_fini(&w->list);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
