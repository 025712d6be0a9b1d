/* Sends changes to all open browsers (GET /v1/feed): changed nodes as they are now, at most four
 * times a second, formatted once for all readers who may see the same. Which nodes have changed
 * follows from the journal's events; all nodes are never walked, and without readers nothing is
 * done. Called by the API and when events are committed. Decides nothing. */
#include "phxd/daemon.h"
#include "phxd/view.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "http/hub.h"

enum {
	ALL,   /* readers who see hardware */
	NAMES, /* all other readers */
	CHANNELS,
	FRAME_MS = 250,
	QUIET_MS = 15000, /* after that an empty message finds readers that are gone */
	KEEP_BYTES = 4 << 20,
	PAGE = 1000,
	PORTION_US = 1000,
	NODES_MAX =
		4000, /* changed at once; with more, browsers read all again, which costs less */
};

#define FIELDS "name,number,state,pool,role,labels,up,reason,pinned,missing_since_ms"

struct feed {
	struct daemon *d;
	struct phx_http_hub *hub;
	struct phx_store_reader *reader;
	_Atomic uint64_t last; /* event of the journal */
	_Atomic bool stopped;
	pthread_t thread;
	bool running;
	/* from the look at somebody's rights until he reads, or is sent what was made for him */
	pthread_mutex_t joining;
	_Atomic uint64_t told; /* event up to which readers were told */
	bool failed;           /* reading the changes failed */
	/* the rest is used by the thread alone */
	unsigned rights;           /* daemon.rights when readers were checked last */
	int64_t said_ms, frame_ms; /* when anything was published last, and when nodes were */
	/* members of nodes at rest; of moving nodes, also the steps, which are most of a record */
	struct view_members still[CHANNELS], moving[CHANNELS];
};

/* ---- which nodes ---- */

struct changed {
	struct phx_list names; /* struct phx_word */
	struct phx_hash places;
	uint64_t looked;
};

static void changed_fini(struct changed *c)
{
	phx_list_fini(&c->names);
	phx_hash_fini(&c->places);
}

static int note(struct changed *c, const char *name)
{
	uint32_t hash = phx_hash_text(name), i;
	if (!name[0])
		return 0;
	for (uint32_t at = hash; phx_hash_next(&c->places, hash, &at, &i);)
		if (!strcmp(PHX_LIST_AT(&c->names, struct phx_word, i)->text, name))
			return 0;
	struct phx_word *to = phx_list_push(&c->names, sizeof(*to));
	if (!to)
		return -ENOMEM;
	PHX_STR_SET(to->text, name);
	return phx_hash_put(&c->places, hash, c->names.n - 1);
}

/* Notes the event's own node, and the nodes that its notes are about. */
static int note_event(void *arg, const struct phx_store_event *ev)
{
	struct changed *c = arg;
	int r = note(c, ev->node);
	c->looked = ev->seq;
	if (r < 0 || strlen(ev->actions) <= strlen("[]"))
		return r;
	PHX_AUTO_JSON json_t *actions = json_loads(ev->actions, 0, NULL);
	size_t i;
	json_t *act;
	json_array_foreach(actions, i, act) {
		r = r ? r : note(c, phx_json_str(act, "node", ""));
	}
	return r;
}

static int read_changed(struct feed *f, uint64_t last, struct changed *ret, struct phx_err *err)
{
	ret->looked = f->told;
	for (uint64_t before = 0; ret->looked < last && ret->looked != before;) {
		before = ret->looked;
		int r = phx_store_reader_events(f->reader, before, PAGE, NULL, note_event, ret,
						err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- who reads ---- */

static unsigned n_readers(struct feed *f)
{
	unsigned n = 0;
	for (unsigned i = 0; i < CHANNELS; i++)
		n += phx_http_hub_readers(f->hub, i);
	return n;
}

/* The auditor, who sees hardware and not what services write, is told names. */
static bool sees_all(struct daemon *d, const struct phx_http_peer *peer)
{
	return person_has_all(d, peer, PHX_RIGHT_hardware) &&
		person_has_all(d, peer, PHX_RIGHT_logs) &&
		person_has_all(d, peer, PHX_RIGHT_catalog);
}

static bool may_read(void *arg, const struct phx_http_peer *peer, unsigned channel)
{
	struct feed *f = arg;
	return channel == ALL ? sees_all(f->d, peer)
			      : person_scope(f->d, peer, PHX_RIGHT_look) != PHX_SCOPE_NONE;
}

/* Checks the readers again: rights have changed, or (`quiet`) a session may have ended. With the
 * lock `joining`. */
static void look_at_readers(struct feed *f, bool quiet)
{
	unsigned rights = f->d->rights;
	if (rights == f->rights && !quiet)
		return;
	f->rights = rights;
	phx_http_hub_end(f->hub, may_read, f);
}

/* ---- a frame ---- */

static void put_node(struct feed *f, const struct phx_state *s, const char *name, int channel,
		     struct phx_buf *nodes, struct phx_buf *gone)
{
	const struct phx_node *n = phx_state_node(s, name);
	if (!n) {
		phx_json_put_item(gone);
		phx_json_put_text(gone, name);
		return;
	}
	bool moves = phx_node_state_transient(n->state);
	phx_json_put_item(nodes);
	view_node_put(f->d, s, n, moves ? &f->moving[channel] : &f->still[channel], nodes);
}

/* Unlocks the engine now and then. */
static void put_nodes(struct feed *f, const struct changed *c, int channel, struct phx_buf *nodes,
		      struct phx_buf *gone)
{
	for (uint32_t i = 0; i < c->names.n;) {
		const struct phx_state *s = engine_lock(f->d->engine);
		int64_t until_us = phx_clock_us() + PORTION_US;
		for (; i < c->names.n && phx_clock_us() < until_us; i++)
			put_node(f, s, PHX_LIST_AT(&c->names, struct phx_word, i)->text, channel,
				 nodes, gone);
		engine_unlock(f->d->engine);
		if (i < c->names.n)
			reads_breathe(phx_clock_us());
	}
}

/* What was made while rights were taken is not for all who read before. */
static void send_frame(struct feed *f, int channel, char *text, size_t n)
{
	pthread_mutex_lock(&f->joining);
	look_at_readers(f, false);
	phx_http_hub_publish(f->hub, (unsigned)channel, text, n);
	pthread_mutex_unlock(&f->joining);
}

static void publish(struct feed *f, const struct changed *c, int channel)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf nodes = {0}, gone = {0};
	struct phx_buf frame = {0};
	bool many = c->names.n > NODES_MAX;
	phx_buf_addf(&nodes, "[");
	phx_buf_addf(&gone, "[");
	if (!many)
		put_nodes(f, c, channel, &nodes, &gone);
	phx_buf_addf(&nodes, "]");
	phx_buf_addf(&gone, "]");
	phx_buf_addf(&frame, "%sdata: {\"seq\":%llu,\"nodes\":", many ? "event: lost\n" : "",
		     (unsigned long long)c->looked);
	phx_buf_add(&frame, nodes.data, nodes.n);
	phx_buf_addf(&frame, ",\"gone\":");
	phx_buf_add(&frame, gone.data, gone.n);
	phx_buf_addf(&frame, "}\n\n");
	bool failed = frame.failed || nodes.failed || gone.failed;
	size_t n = frame.n;
	char *text = failed ? NULL : phx_buf_take(&frame);
	phx_buf_fini(&frame);
	send_frame(f, channel, text, n);
}

static void publish_all(struct feed *f, const struct changed *c)
{
	for (int i = 0; i < CHANNELS; i++)
		if (phx_http_hub_readers(f->hub, (unsigned)i))
			publish(f, c, i);
	f->said_ms = phx_clock_ms();
}

/* The same to all readers; NULL: they missed something, and ask for all. */
static void tell_all(struct feed *f, const char *text)
{
	for (unsigned i = 0; i < CHANNELS; i++)
		if (phx_http_hub_readers(f->hub, i))
			phx_http_hub_publish(f->hub, i, text ? strdup(text) : NULL,
					     text ? strlen(text) : 0);
	f->said_ms = phx_clock_ms();
}

/* ---- the thread ---- */

static void tell_news(struct feed *f, uint64_t last)
{
	PHX_AUTO(changed_fini) struct changed c = {0};
	struct phx_err err = {0};
	bool failed = read_changed(f, last, &c, &err) < 0;
	/* browsers read all again, now and once changes can be read again */
	if (failed && !f->failed)
		fprintf(stderr, "phxd: what changed cannot be told to browsers: %s\n", err.text);
	if (failed != f->failed)
		tell_all(f, NULL);
	else if (c.names.n && !failed)
		publish_all(f, &c);
	f->failed = failed;
	f->told = last;
	f->frame_ms = phx_clock_ms();
}

/* Ms until there is something to do; -1: never, nobody reads. */
static int64_t rest_ms(const struct feed *f, unsigned n, int64_t now)
{
	int64_t frame = f->frame_ms + FRAME_MS - now, quiet = f->said_ms + QUIET_MS - now;
	if (!n)
		return -1;
	if (f->rights != f->d->rights || quiet <= 0)
		return 0;
	if (f->told < f->last)
		return frame < quiet ? frame < 0 ? 0 : frame : quiet;
	return quiet;
}

/* Changes within one frame's time go into one frame. */
static void *run(void *arg)
{
	struct feed *f = arg;
	while (!f->stopped) {
		int64_t now = phx_clock_ms(), rest = rest_ms(f, n_readers(f), now);
		uint64_t last = f->last;
		if (rest != 0) {
			phx_http_hub_wait(f->hub, (int)rest);
			continue;
		}
		bool quiet = now - f->said_ms >= QUIET_MS;
		pthread_mutex_lock(&f->joining);
		look_at_readers(f, quiet);
		pthread_mutex_unlock(&f->joining);
		if (f->told < last)
			tell_news(f, last);
		if (quiet)
			tell_all(f, ": nothing\n\n");
	}
	return NULL;
}

/* ---- the daemon's side ---- */

static int pick_members(struct feed *f, struct phx_err *err)
{
	static const struct view_scopes sees[CHANNELS] = {
		[ALL] = {PHX_SCOPE_ALL, PHX_SCOPE_ALL, PHX_SCOPE_ALL}};
	int r = 0;
	for (int i = 0; r == 0 && i < CHANNELS; i++) {
		r = view_members(FIELDS, &sees[i], &f->still[i], err);
		r = r ? r : view_members(FIELDS ",plan", &sees[i], &f->moving[i], err);
		f->still[i].less.empty = f->moving[i].less.empty = true;
	}
	return r;
}

int feed_new(struct daemon *d, struct feed **ret, struct phx_err *err)
{
	struct feed *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->d = d;
	f->last = phx_store_last(engine_store(d->engine));
	pthread_mutex_init(&f->joining, NULL);
	*ret = f;
	int r = pick_members(f, err);
	r = r ? r : phx_http_hub_new(CHANNELS, KEEP_BYTES, &f->hub);
	r = r ? r : phx_store_reader_open(d->cfg.journal, &f->reader, err);
	r = r ? r : -pthread_create(&f->thread, NULL, run, f);
	f->running = r == 0;
	return r;
}

void feed_wake(struct feed *f, uint64_t seq)
{
	if (seq > f->last)
		f->last = seq;
	if (n_readers(f))
		phx_http_hub_tell(f->hub);
}

void feed_stop(struct feed *f)
{
	if (!f || !f->running)
		return;
	f->stopped = true;
	phx_http_hub_tell(f->hub);
	pthread_join(f->thread, NULL);
	f->running = false;
	phx_http_hub_end(f->hub, NULL, NULL);
}

void feed_free(struct feed *f)
{
	if (!f)
		return;
	feed_stop(f);
	phx_store_reader_close(f->reader);
	phx_http_hub_free(f->hub);
	pthread_mutex_destroy(&f->joining);
	free(f);
}

/* The first reader is told what changes from now on, and nothing from the time without readers. */
void api_feed(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct feed *f = d->feed;
	if (!phx_http_claim(q, PHX_HTTP_POLL, d->cfg.polls_per_user))
		return;
	pthread_mutex_lock(&f->joining);
	if (person_require(d, q, PHX_RIGHT_look)) {
		if (!n_readers(f))
			f->told = f->last;
		phx_http_hub_read(f->hub, q, sees_all(d, phx_http_peer(q)) ? ALL : NAMES);
	}
	pthread_mutex_unlock(&f->joining);
}
