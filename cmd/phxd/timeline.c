/* The thread that writes the series: see timeline.h. Between two writes it waits until the journal
 * grows or the minute ends.
 *
 *   committed ─▶ a second later: read events ─▶ look at the state ─▶ write what changed
 *
 * The database has, beside what was written, the number of the last event that it covers: a thread
 * that begins goes on from the next event, and nothing is counted twice or left out. A value that
 * does not change is written once a minute. */
#include "phxd/timeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum {
	GATHER_MS = 1000, /* between two writes */
	MINUTE_MS = 60000,
	HOUR_MS = 3600000,
	PAGE = 1000,        /* events that are read in one go */
	EVENTS_MAX = 10000, /* that are read between two writes */
	ROWS_MAX = 2000000, /* that a level may have: about 300 MB */
};

struct timeline {
	struct daemon *d;
	char path[PHX_CONFIG_TEXT_MAX + 32];
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	uint64_t seq;  /* last event of the journal */
	uint64_t seen; /* last event that is written, or is being read */
	bool ended;
	struct phx_list lines; /* struct timeline_line; the thread's, which locks to replace it */
	/* only the thread uses these: */
	struct phx_series *series;
	struct phx_store_reader *reader;
	uint64_t told;        /* last event that is written */
	struct phx_list uses; /* struct timeline_use: what was measured last */
	int64_t pruned_ms;
	bool failed; /* it was told that nothing can be written */
	bool last_turn;
};

const char *timeline_path(const struct timeline *t)
{
	return t->path;
}

/* ---- what is measured ---- */

static void take_uses(struct timeline *t, const struct timeline_news *n)
{
	PHX_LIST_EACH(struct timeline_use, u, &n->uses) {
		struct timeline_use *to = NULL;
		PHX_LIST_EACH(struct timeline_use, known, &t->uses)
			if (!strcmp(known->re, u->re))
				to = known;
		to = to ? to : phx_list_push(&t->uses, sizeof(*to));
		if (to)
			*to = *u;
	}
}

/* A pool without nodes has no use. */
static void put_uses(struct timeline *t, struct phx_list *lines)
{
	PHX_LIST_EACH(struct timeline_line, l, lines)
		PHX_LIST_EACH(struct timeline_use, u, &t->uses) {
			if (strcmp(u->re, l->pool) || !l->values[PHX_SERIES_Q_nodes])
				continue;
			l->values[PHX_SERIES_Q_measured] = 1;
			l->values[PHX_SERIES_Q_use] = u->ppm;
		}
}

static struct timeline_line *line_of(const struct phx_list *lines, const char *pool)
{
	PHX_LIST_EACH(struct timeline_line, l, lines)
		if (!strcmp(l->pool, pool))
			return l;
	return NULL;
}

/* ---- writing ---- */

/* Is the state of a pool not written yet? It is the same still, and no minute has ended. */
static bool is_kept(const struct timeline *t, const struct timeline_line *l,
		    const struct timeline_line *now, int64_t now_ms)
{
	bool same = now && !memcmp(l->values, now->values, sizeof(l->values));
	return same && l->at_ms / MINUTE_MS == now_ms / MINUTE_MS && !t->last_turn;
}

static int write_lines(struct timeline *t, struct phx_list *now, int64_t now_ms,
		       struct phx_err *err)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < t->lines.n; i++) {
		const struct timeline_line *l = PHX_LIST_AT(&t->lines, struct timeline_line, i);
		struct timeline_line *to = line_of(now, l->pool);
		bool ends = !is_kept(t, l, to, now_ms);
		if (ends)
			r = phx_series_lasted(t->series, l->pool, l->at_ms, now_ms, l->values, err);
		if (to)
			to->at_ms = ends ? now_ms : l->at_ms;
	}
	PHX_LIST_EACH(struct timeline_line, l, now)
		l->at_ms = l->at_ms ? l->at_ms : now_ms;
	return r;
}

static int write_kills(struct timeline *t, const struct timeline_news *n, struct phx_err *err)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < n->kills.n; i++) {
		const struct phx_series_mark *m = PHX_LIST_AT(&n->kills, struct phx_series_mark, i);
		const int64_t one[PHX_SERIES_QUANTITIES] = {[PHX_SERIES_Q_kills] = 1};
		r = phx_series_mark(t->series, m, err);
		r = r ? r : phx_series_happened(t->series, m->pool, m->at_ms, one, err);
	}
	return r;
}

static int write_news(struct timeline *t, const struct timeline_news *n, struct phx_err *err)
{
	int r = write_kills(t, n, err);
	for (uint32_t i = 0; r == 0 && i < n->happened.n; i++) {
		const struct timeline_happened *h =
			PHX_LIST_AT(&n->happened, struct timeline_happened, i);
		r = phx_series_happened(t->series, h->pool, h->at_ms, h->values, err);
	}
	for (uint32_t i = 0; r == 0 && i < n->nodes.n; i++) {
		const struct timeline_node *at = PHX_LIST_AT(&n->nodes, struct timeline_node, i);
		r = phx_series_hold(t->series, at->name, at->pool, at->at_ms, err);
	}
	return r;
}

static int write_all(struct timeline *t, const struct timeline_news *n, struct phx_list *lines,
		     int64_t now_ms, struct phx_err *err)
{
	const char *journal = phx_store_id(engine_store(t->d->engine));
	int r = phx_series_begin(t->series, err);
	r = r ? r : write_lines(t, lines, now_ms, err);
	r = r ? r : write_news(t, n, err);
	if (r < 0)
		phx_series_undo(t->series);
	r = r ? r : phx_series_commit(t->series, journal, n->last, err);
	if (r == 0)
		t->told = n->last;
	return r;
}

static int prune(struct timeline *t, int64_t now_ms, struct phx_err *err)
{
	if (now_ms / HOUR_MS == t->pruned_ms / HOUR_MS)
		return 0;
	t->pruned_ms = now_ms;
	return phx_series_prune(t->series, now_ms, ROWS_MAX, err);
}

/* ---- a turn ---- */

/* Reads the new events, at most EVENTS_MAX: the next turn reads the others. */
static int read_events(struct timeline *t, struct timeline_news *n, struct phx_err *err)
{
	int r = 0;
	n->last = t->told;
	for (uint32_t before = 0; r == 0 && n->n < EVENTS_MAX; before = n->n) {
		int64_t began_us = phx_clock_us();
		r = phx_store_reader_events(t->reader, n->last, PAGE, NULL, timeline_read_event, n,
					    err);
		if (n->n - before < PAGE)
			break;
		reads_breathe(began_us);
	}
	return r;
}

static int measure(struct timeline *t, struct phx_list *ret_lines)
{
	const struct phx_state *s = engine_lock(t->d->engine);
	int r = timeline_measure(s, ret_lines);
	engine_unlock(t->d->engine);
	put_uses(t, ret_lines);
	return r;
}

/* Tells people of a failure once, until a turn succeeds again. */
static void tell(struct timeline *t, int r, const struct phx_err *err)
{
	char text[240];
	bool news = r < 0 && !t->failed;
	t->failed = r < 0;
	if (!news)
		return;
	snprintf(text, sizeof(text), "what happens now will be missing in the time-line: %.160s",
		 err->text[0] ? err->text : strerror(-r));
	engine_notice(t->d->engine, "", text);
}

static int add_held(void *arg, const struct phx_series_holding *h)
{
	timeline_add_node(arg, h->node, 0);
	return 0;
}

/* At the start: notes all nodes that exist, and those that a pool held according to the database
 * and that may have been removed since. */
static int add_all(struct timeline *t, struct timeline_news *n, struct phx_err *err)
{
	int64_t now_ms = engine_now(t->d->engine);
	int r = phx_series_held(t->series, add_held, n, err);
	timeline_all_nodes(t->d, now_ms, n);
	PHX_LIST_EACH(struct timeline_node, at, &n->nodes)
		at->at_ms = now_ms;
	return r;
}

static void gather(struct timeline *t, bool all)
{
	struct timeline_news n = {0};
	struct phx_list lines = {0};
	struct phx_err err = {0};
	int r = all ? add_all(t, &n, &err) : 0;
	r = r ? r : read_events(t, &n, &err);
	take_uses(t, &n);
	timeline_look(t->d, &n);
	r = r ? r : measure(t, &lines);
	r = r || !n.failed ? r : -ENOMEM;
	int64_t now_ms = engine_now(t->d->engine);
	r = r ? r : write_all(t, &n, &lines, now_ms, &err);
	bool written = r == 0;
	r = r ? r : prune(t, now_ms, &err);
	tell(t, r, &err);
	if (written) {
		struct phx_list before = t->lines;
		pthread_mutex_lock(&t->lock);
		t->lines = lines;
		pthread_mutex_unlock(&t->lock);
		lines = before;
	}
	phx_list_fini(&lines);
	timeline_news_fini(&n);
}

/* Waits until a second after the journal has grown, or until the minute ends. Called with the lock,
 * which is released while it waits. */
static void pause_for_news(struct timeline *t)
{
	int64_t begun_ms = phx_clock_ms(),
		left_ms = MINUTE_MS - engine_now(t->d->engine) % MINUTE_MS;
	int64_t until_ms = begun_ms + left_ms;
	t->seen = t->told;
	while (!t->ended && t->seq <= t->seen && phx_cond_until(&t->wanted, &t->lock, until_ms))
		;
	int64_t gather_ms = begun_ms + GATHER_MS < until_ms ? begun_ms + GATHER_MS : until_ms;
	while (!t->ended && phx_cond_until(&t->wanted, &t->lock, gather_ms))
		;
}

static void *work(void *arg)
{
	struct timeline *t = arg;
	gather(t, true);
	pthread_mutex_lock(&t->lock);
	while (!t->last_turn) {
		pause_for_news(t);
		t->last_turn = t->ended;
		pthread_mutex_unlock(&t->lock);
		gather(t, false);
		pthread_mutex_lock(&t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

void timeline_committed(struct timeline *t, uint64_t seq)
{
	pthread_mutex_lock(&t->lock);
	bool first = t->seq <= t->seen;
	t->seq = seq > t->seq ? seq : t->seq;
	if (first)
		pthread_cond_signal(&t->wanted);
	pthread_mutex_unlock(&t->lock);
}

int timeline_now(struct timeline *t, struct phx_list *ret)
{
	int r = 0;
	pthread_mutex_lock(&t->lock);
	PHX_LIST_EACH(struct timeline_line, l, &t->lines) {
		struct timeline_line *to = phx_list_push(ret, sizeof(*to));
		if (to)
			*to = *l;
		r = to ? r : -ENOMEM;
	}
	pthread_mutex_unlock(&t->lock);
	return r;
}

/* ---- start and end ---- */

/* A damaged database is kept under another name, and a new one is begun: nothing is removed. */
static int open_series(struct timeline *t, struct phx_err *err)
{
	char aside[sizeof(t->path) + 16], text[200];
	int r = phx_series_open(t->path, &t->series, err);
	if (r != -EBADMSG)
		return r;
	snprintf(aside, sizeof(aside), "%s.damaged", t->path);
	snprintf(text, sizeof(text),
		 "the time-line is damaged: it is kept as %.120s, and begins anew", aside);
	if (rename(t->path, aside) < 0)
		return r;
	phx_err_clear(err);
	engine_notice(t->d->engine, "", text);
	return phx_series_open(t->path, &t->series, err);
}

/* Begins behind the last event that the database covers; if the database does not know this
 * journal, behind the journal's last event. */
static int begin(struct timeline *t, struct phx_err *err)
{
	struct phx_store *store = engine_store(t->d->engine);
	int r = open_series(t, err);
	r = r ? r : phx_store_reader_open(t->d->cfg.journal, &t->reader, err);
	if (r < 0)
		return r;
	t->seq = phx_store_last(store);
	t->told = phx_series_told(t->series, phx_store_id(store));
	if (!t->told || t->told > t->seq)
		t->told = t->seq;
	return -pthread_create(&t->thread, NULL, work, t);
}

int timeline_new(struct daemon *d, struct timeline **ret)
{
	struct timeline *t = calloc(1, sizeof(*t));
	struct phx_err err = {0};
	if (!t)
		return -ENOMEM;
	t->d = d;
	snprintf(t->path, sizeof(t->path), "%s/timeline.db", d->cfg.state_dir);
	pthread_mutex_init(&t->lock, NULL);
	phx_cond_init(&t->wanted);
	*ret = t;
	int r = begin(t, &err);
	t->started = r == 0;
	if (r < 0)
		tell(t, r, &err);
	return 0;
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->ended = true;
	pthread_cond_signal(&t->wanted);
	pthread_mutex_unlock(&t->lock);
	if (t->started)
		pthread_join(t->thread, NULL);
	phx_store_reader_close(t->reader);
	phx_series_close(t->series);
	phx_list_fini(&t->lines);
	phx_list_fini(&t->uses);
	pthread_cond_destroy(&t->wanted);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
