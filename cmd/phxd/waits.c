/* Clients that ask for events (`phx events`), and with -f or --wait wait until there are some. A
 * client is answered when there is an event for it, or when its time is over; events of others do
 * not end its wait. People who are not the resource provider are told what happened, not the whole
 * event; of jobs only what they did themselves; of REs, workflows and triggers what concerns their
 * own.
 *
 * Two threads read the journal, one for administrators and one for everybody else, each with its
 * own connection to the database: neither a commit nor a beat waits for a reader. One request looks
 * at LOOKED_MAX events at most; if it has found nothing by then its answer says how far it got, and
 * the client asks on from there. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "phxd/hang_ups.h"
#include "phxd/view_hide.h"
#include "phxd/viewer.h"

enum {
	LOOKED_MAX = 20000,  /* events, in one request */
	BYTES_MAX = 4 << 20, /* of events in one answer, which has one event at least */
	PAGE = 1000,         /* events that are read in one go */
};
enum { ADMINS, OTHERS, LANES };

struct wait {
	struct phx_http_request *q;
	uint64_t after; /* up to this event there is nothing for it */
	uint32_t limit;
	char node[PHX_NAME_MAX];
	bool all;              /* its sender sees whole events, of everybody */
	char by[PHX_NAME_MAX]; /* else: its sender, who sees what he did himself, */
	bool sees_res;         /* what concerns his REs, whoever ordered it, */
	struct viewer viewer;  /* and what concerns his workflows and triggers */
	int64_t until_ms;
	bool looked;     /* it was looked for at least once */
	bool gone;       /* its client has hung up */
	unsigned rights; /* daemon.rights when its sender's rights were last looked at */
};

struct lane {
	struct waits *waits;
	pthread_t thread;
	bool running;
	struct phx_store_reader *reader;
	struct phx_list list; /* struct wait; only the thread takes waits out */
	struct hang_ups hang_ups;
};

struct waits {
	struct daemon *d;
	pthread_mutex_t lock;
	uint64_t last; /* last event of the journal */
	bool stopped;
	struct lane lanes[LANES];
};

/* A service provider is not told either what services wrote: when the event happened another one
 * may have held the node. He reads it where the node is shown, while it is his. */
static json_t *note_of(const json_t *act, bool all)
{
	PHX_AUTO_FREE char *text = strdup(phx_json_str(act, "text", ""));
	if (text && !all)
		view_hide(text, VIEW_HIDE_ALL, false);
	return text ? json_pack("{s:s,s:s}", "node", phx_json_str(act, "node", ""), "text", text)
		    : NULL;
}

/* The sentences that say what came of the event, each with the node that it is about: {node, text}.
 * Sentences about an RE are for the resource provider only; the RE's owner asks for its history. */
static json_t *notes_of(const json_t *actions, bool all)
{
	json_t *notes = json_array();
	size_t i;
	json_t *act;
	json_array_foreach((json_t *)actions, i, act) {
		if (!strcmp(phx_json_str(act, "kind", ""), "note") &&
		    (all || !*phx_json_str(act, "re", "")))
			json_array_append_new(notes, note_of(act, all));
	}
	return notes;
}

/* What came of the event: the last of its sentences that is about the event's node. An event
 * without a node: its last sentence. NULL: there is none. */
static const char *text_of(const json_t *notes, const char *node)
{
	const char *text = NULL;
	size_t i;
	json_t *note;
	json_array_foreach((json_t *)notes, i, note) {
		if (!*node || !strcmp(phx_json_str(note, "node", ""), node))
			text = phx_json_str(note, "text", "");
	}
	return text;
}

struct collector {
	struct daemon *d;
	const struct wait *x;
	json_t *list;
	size_t n_bytes;
	uint32_t n_looked;
	uint64_t looked; /* the last event that was looked at */
	bool full;
};

/* The RE that an event of REs is about. */
static const char *re_of(const json_t *event, const char *kind)
{
	const json_t *agreement = json_object_get(json_object_get(event, kind), "agreement");
	const char *name = phx_json_str(event, "re", "");
	return *name ? name : phx_json_str(agreement, "name", "");
}

/* Was the RE his when the event happened? Other people may have had an RE of that name before, or
 * after a request of his was refused. */
static bool is_of_his_re(struct daemon *d, const struct person *p, const char *name,
			 const struct phx_store_event *ev)
{
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_re *re = phx_state_re(s, name);
	bool his = re && person_is(p, re->agreement.owner) && ev->seq >= re->asked_seq;
	PHX_LIST_EACH(struct phx_re_refusal, it, &s->refusals)
		his = his ||
			(!strcmp(it->name, name) && person_is(p, it->owner) &&
			 ev->time_ms >= it->asked_ms && ev->time_ms <= it->at_ms);
	engine_unlock(d->engine);
	return his;
}

static bool is_his_re(struct daemon *d, const struct wait *x, const json_t *event,
		      const struct phx_store_event *ev)
{
	return x->sees_res && is_of_his_re(d, &x->viewer.person, re_of(event, ev->kind), ev);
}

static bool sees_run(const struct phx_state *s, const struct viewer *v, const json_t *of,
		     const char *member)
{
	const struct phx_flowrun *w = phx_state_flowrun(s, (uint64_t)phx_json_int(of, member, 0));
	return w && viewer_sees_flowrun(v, s, w);
}

static bool is_his_run(struct daemon *d, const struct wait *x, const json_t *event,
		       const struct phx_store_event *ev)
{
	(void)ev;
	const struct phx_state *s = engine_lock(d->engine);
	bool his = sees_run(s, &x->viewer, event, "workflow");
	engine_unlock(d->engine);
	return his;
}

/* A report of a node may tell of tasks of several people. */
static bool has_task_of_his(struct daemon *d, const struct wait *x, const json_t *event,
			    const struct phx_store_event *ev)
{
	(void)ev;
	bool his = false;
	size_t i;
	json_t *row;
	const struct phx_state *s = engine_lock(d->engine);
	json_array_foreach(json_object_get(event, "rows"), i, row)
		his = his || sees_run(s, &x->viewer, row, "run");
	engine_unlock(d->engine);
	return his;
}

static bool is_his_trigger(struct daemon *d, const struct wait *x, const json_t *event,
			   const struct phx_store_event *ev)
{
	(void)ev;
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_trigger *t =
		phx_state_trigger(s, (uint64_t)phx_json_int(event, "trigger", 0));
	bool his = t && viewer_sees_trigger(&x->viewer, s, t);
	engine_unlock(d->engine);
	return his;
}

/* Events of which only those whom they concern are told. `begins`: the kind of the event begins so;
 * `is_his`: does such an event of somebody else concern the person who asks (NULL: none does);
 * `whole`: he is shown the whole event. */
static const struct private_kind {
	const char *begins;
	bool whole;
	bool (*is_his)(struct daemon *d, const struct wait *x, const json_t *event,
		       const struct phx_store_event *ev);
} private_kinds[] = {
	{"notice", false, NULL}, /* who was refused what, which certificate was made */
	{"job_", true, NULL},    /* the list of jobs shows what became of those of others */
	{"re_", true, is_his_re},
	{"workflow_", true, is_his_run},
	{"trigger_", true, is_his_trigger},
	{"task_results", false, has_task_of_his},
};

static const struct private_kind *private_kind(const char *kind)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(private_kinds); i++)
		if (phx_str_starts(kind, private_kinds[i].begins))
			return &private_kinds[i];
	return NULL;
}

static bool hidden(const struct collector *c, const struct phx_store_event *ev, const json_t *event)
{
	const struct private_kind *kind = private_kind(ev->kind);
	return kind && !c->x->all && strcmp(phx_json_str(event, "by", ""), c->x->by) != 0 &&
		!(kind->is_his && kind->is_his(c->d, c->x, event, ev));
}

/* May the event be about the node that is asked for? Looks at its text only, without parsing it:
 * most events of a journal are about other nodes. */
static bool may_concern(const struct wait *x, const struct phx_store_event *ev)
{
	char word[PHX_NAME_MAX + 2];
	snprintf(word, sizeof(word), "\"%s\"", x->node);
	return !x->node[0] || !strcmp(ev->node, x->node) || strstr(ev->actions, word);
}

/* Is the event about the node that is asked for, or did something come of it for that node? */
static bool concerns(const struct wait *x, const struct phx_store_event *ev, const json_t *notes)
{
	return !x->node[0] || !strcmp(ev->node, x->node) || text_of(notes, x->node);
}

static json_t *tell(const struct wait *x, const struct phx_store_event *ev, json_t *event,
		    json_t *actions, json_t *notes)
{
	int kind = 0;
	phx_enum_parse(&phx_event_kind_names, ev->kind, &kind, NULL);
	const char *note = text_of(notes, ev->node), *by = phx_json_str(event, "by", "");
	/* an agent without a certificate is named by its address */
	if (!x->all && view_is_address(by, strlen(by)))
		by = "";
	json_t *j = json_pack("{s:I,s:I,s:s,s:s,s:s,s:s,s:O}", "seq", (json_int_t)ev->seq,
			      "time_ms", (json_int_t)ev->time_ms, "kind", ev->kind, "text",
			      note ? note : phx_event_text((enum phx_event_kind)kind), "node",
			      ev->node, "by", by, "notes", notes);
	const struct private_kind *private = private_kind(ev->kind);
	if (x->all || (private && private->whole)) /* these were his own, else they were hidden */
		json_object_set(j, "event", event);
	if (x->all)
		json_object_set(j, "actions", actions);
	return j;
}

static int add(struct collector *c, const struct phx_store_event *ev)
{
	PHX_AUTO_JSON json_t *event = json_loads(ev->event, 0, NULL);
	if (hidden(c, ev, event))
		return 0;
	PHX_AUTO_JSON json_t *actions = json_loads(ev->actions, 0, NULL);
	PHX_AUTO_JSON json_t *notes = notes_of(actions, c->x->all);
	if (!concerns(c->x, ev, notes))
		return 0;
	json_t *j = tell(c->x, ev, event, actions, notes);
	if (!j || json_array_append_new(c->list, j))
		return -ENOMEM;
	c->n_bytes += strlen(ev->event) + strlen(ev->actions);
	return 0;
}

static int collect(void *arg, const struct phx_store_event *ev)
{
	struct collector *c = arg;
	c->n_looked++;
	int r = may_concern(c->x, ev) ? add(c, ev) : 0;
	if (r < 0)
		return r;
	c->looked = ev->seq;
	c->full = json_array_size(c->list) >= c->x->limit || c->n_bytes >= BYTES_MAX;
	return c->full; /* ends the walk */
}

/* Reads page by page until the answer is full, LOOKED_MAX events were read, or none is left.
 * *ret_more: some may be left. */
static int look(struct lane *l, struct collector *c, bool *ret_more, struct phx_err *err)
{
	*ret_more = true;
	while (!c->full && c->n_looked < LOOKED_MAX) {
		uint32_t before = c->n_looked;
		int r = reads_page(l->reader, c->looked, PAGE, c->x->node, collect, c, err);
		if (r < 0)
			return r;
		if (r == 0 && c->n_looked - before < PAGE) {
			*ret_more = false;
			return 0;
		}
		reads_breathe(phx_clock_us());
	}
	return 0;
}

/* Looks at the sender's rights again if rights were given or taken since. False: he may know less
 * than when he asked, and the request is answered. */
static bool may_go_on(struct lane *l, struct wait *x)
{
	struct daemon *d = l->waits->d;
	unsigned now = d->rights;
	if (x->rights == now || x->gone)
		return true;
	x->rights = now;
	if (!person_require(d, x->q, PHX_RIGHT_events))
		return false;
	x->sees_res = person_scope(d, phx_http_peer(x->q), PHX_RIGHT_re_history) != PHX_SCOPE_NONE;
	x->viewer = viewer_of(d, phx_http_peer(x->q), PHX_RIGHT_job_see);
	if (!x->all || person_has_all(d, phx_http_peer(x->q), PHX_RIGHT_events))
		return true;
	phx_http_reply_error(x->q, -EPERM, "you may know less than when you asked: ask again");
	return false;
}

/* Answers the request if there are events for it, or if `at_last`; else remembers how far it has
 * looked, and returns false. */
static bool answer(struct lane *l, struct wait *x, uint64_t last, bool at_last)
{
	PHX_AUTO_JSON json_t *list = json_array();
	struct collector c = {.d = l->waits->d, .x = x, .list = list, .looked = x->after};
	struct phx_err err = {0};
	bool more = false;
	int r = look(l, &c, &more, &err);
	x->looked = true;
	if (r < 0) {
		phx_http_reply_error(x->q, r, err.text);
		return true;
	}
	/* rights were taken while it looked: what it has read is not for him, perhaps */
	if (x->rights != c.d->rights && !x->gone)
		return !may_go_on(l, x) || answer(l, x, last, at_last);
	uint64_t told = more || c.looked > last ? c.looked : last;
	x->after = told > x->after ? told : x->after;
	if (!json_array_size(list) && !more && !at_last)
		return false;
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:O,s:I,s:b}", "events", list, "last", (json_int_t)told, "more", more);
	phx_http_reply_json(x->q, 200, j);
	return true;
}

/* Is the wait to be looked at now? `last` is the last event of the journal. */
static bool is_due(const struct lane *l, const struct wait *x, uint64_t last, int64_t now)
{
	return !x->looked || x->after < last || now >= x->until_ms || x->gone ||
		x->rights != l->waits->d->rights;
}

/* Takes the waits out that are due. The caller has the lock. */
static struct phx_list take_due(struct lane *l, uint64_t last, int64_t now)
{
	struct phx_list due = {0};
	for (uint32_t i = 0; i < l->list.n;) {
		struct wait *x = PHX_LIST_AT(&l->list, struct wait, i), *to;
		if (!is_due(l, x, last, now) || !(to = phx_list_push(&due, sizeof(*to)))) {
			i++;
			continue;
		}
		*to = *x;
		phx_list_remove(&l->list, sizeof(*x), i);
	}
	return due;
}

/* Puts a wait into the list; false: phxd is ending, or there is no memory. */
static bool keep(struct lane *l, const struct wait *x)
{
	struct waits *w = l->waits;
	pthread_mutex_lock(&w->lock);
	struct wait *to = w->stopped ? NULL : phx_list_push(&l->list, sizeof(*to));
	if (to)
		*to = *x;
	pthread_mutex_unlock(&w->lock);
	return to;
}

static void answer_all(struct lane *l, struct phx_list *due, uint64_t last, int64_t now)
{
	PHX_LIST_EACH(struct wait, x, due) {
		bool at_last = now >= x->until_ms || x->gone;
		int64_t began_us = phx_clock_us();
		if (may_go_on(l, x) && !answer(l, x, last, at_last) && !keep(l, x))
			answer(l, x, last, true);
		if (due->n > 1) /* agents must not wait because there are many followers */
			reads_breathe(began_us);
	}
	phx_list_fini(due);
}

/* Waits until there is a new event, a client hangs up, or the time of a wait is over. Called with
 * the lock, which is released meanwhile. */
static void pause_for_news(struct lane *l)
{
	int64_t until_ms = INT64_MAX;
	hang_ups_clear(&l->hang_ups);
	PHX_LIST_EACH(struct wait, x, &l->list) {
		hang_ups_add(&l->hang_ups, x->q);
		until_ms = x->until_ms < until_ms ? x->until_ms : until_ms;
	}
	pthread_mutex_unlock(&l->waits->lock);
	hang_ups_wait(&l->hang_ups, until_ms);
	pthread_mutex_lock(&l->waits->lock);
	/* new waits were put behind these, and no other thread took one out */
	for (uint32_t i = 0; i < l->list.n; i++)
		PHX_LIST_AT(&l->list, struct wait, i)->gone = hang_ups_has(&l->hang_ups, i);
}

static void tell_lanes(struct waits *w)
{
	for (size_t i = 0; i < LANES; i++)
		hang_ups_tell(&w->lanes[i].hang_ups);
}

static void *run(void *arg)
{
	struct lane *l = arg;
	struct waits *w = l->waits;
	for (bool stopped = false; !stopped;) {
		pthread_mutex_lock(&w->lock);
		int64_t now = phx_clock_ms();
		stopped = w->stopped;
		uint64_t last = w->last;
		struct phx_list due =
			take_due(l, stopped ? UINT64_MAX : last, stopped ? INT64_MAX : now);
		if (!due.n && !stopped)
			pause_for_news(l);
		pthread_mutex_unlock(&w->lock);
		answer_all(l, &due, last, stopped ? INT64_MAX : now);
	}
	return NULL;
}

static int start_lane(struct waits *w, struct lane *l, struct phx_err *err)
{
	l->waits = w;
	int r = phx_store_reader_open(w->d->cfg.journal, &l->reader, err);
	r = r ? r : -pthread_create(&l->thread, NULL, run, l);
	l->running = r == 0;
	return r;
}

int waits_new(struct daemon *d, struct waits **ret, struct phx_err *err)
{
	struct waits *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->d = d;
	w->last = phx_store_last(engine_store(d->engine));
	pthread_mutex_init(&w->lock, NULL);
	*ret = w;
	int r = 0;
	for (size_t i = 0; i < LANES; i++) {
		int failed = hang_ups_init(&w->lanes[i].hang_ups);
		r = r ? r : failed;
	}
	for (size_t i = 0; i < LANES && r == 0; i++)
		r = start_lane(w, &w->lanes[i], err);
	return r;
}

void waits_wake(struct waits *w, uint64_t seq)
{
	pthread_mutex_lock(&w->lock);
	if (seq > w->last)
		w->last = seq;
	tell_lanes(w);
	pthread_mutex_unlock(&w->lock);
}

void waits_hold(struct waits *w, struct phx_http_request *q, uint64_t after, uint32_t limit,
		const char *node, int64_t wait_ms)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	struct wait x = {.q = q, .after = after, .limit = limit};
	x.until_ms = wait_ms > 0 ? phx_clock_ms() + wait_ms : 0;
	PHX_STR_SET(x.node, node);
	x.rights = w->d->rights; /* read before the rights: a later change is noticed */
	if (!person_require(w->d, q, PHX_RIGHT_events))
		return;
	x.all = person_has_all(w->d, peer, PHX_RIGHT_events);
	x.sees_res = person_scope(w->d, peer, PHX_RIGHT_re_history) != PHX_SCOPE_NONE;
	person_name(peer, x.by, sizeof(x.by));
	x.viewer = viewer_of(w->d, peer, PHX_RIGHT_job_see);
	if (!phx_http_claim(q, PHX_HTTP_POLL, w->d->cfg.polls_per_user))
		return;
	phx_http_suspend(q);
	if (!keep(&w->lanes[x.all ? ADMINS : OTHERS], &x)) {
		phx_http_reply_error(q, -EAGAIN, "phxd is ending");
		return;
	}
	waits_wake(w, 0);
}

void waits_stop(struct waits *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stopped = true;
	tell_lanes(w);
	pthread_mutex_unlock(&w->lock);
	for (size_t i = 0; i < LANES; i++) {
		if (w->lanes[i].running)
			pthread_join(w->lanes[i].thread, NULL);
		w->lanes[i].running = false;
	}
}

void waits_free(struct waits *w)
{
	if (!w)
		return;
	waits_stop(w);
	for (size_t i = 0; i < LANES; i++) {
		phx_store_reader_close(w->lanes[i].reader);
		phx_list_fini(&w->lanes[i].list);
		hang_ups_fini(&w->lanes[i].hang_ups);
	}
	pthread_mutex_destroy(&w->lock);
	free(w);
}
