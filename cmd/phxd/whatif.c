/* See whatif.h. A thread takes one question after the other: it reads the journal by a reader of
 * its own, tells the planner the events, page by page, and looks how far it is. Called by
 * api_whatif.c. */
#include "phxd/whatif.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "phxd/planner.h"

enum {
	PAGE_EVENTS = 2000,
	READ_SHARE = 500, /* of 1000: reading; the rest is simulated */
	ANSWER_MAX = 16 << 20
};

static const char *const state_names[] = {"waiting", "reading", "simulating",
					  "done",    "failed",  "cancelled"};

struct question {
	uint64_t id;
	char person[PHX_IDENTITY_MAX];
	struct phx_past_wish wish;
	int64_t asked_ms; /* core time */
	enum whatif_state state;
	bool cancelled;
	unsigned milli;
	char error[PHX_ERR_TEXT_MAX];
	char *answer; /* JSON, malloc'd; NULL: there is none */
};

struct whatif {
	struct daemon *d;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	bool stopped;
	uint64_t last_id;
	/* struct question *: the oldest first; one that the thread works at is not removed */
	struct phx_list list;
};

static struct question *at(const struct whatif *w, uint32_t i)
{
	return *PHX_LIST_AT(&w->list, struct question *, i);
}

static bool is_open(const struct question *q)
{
	return q->state < WHATIF_DONE;
}

static void question_free(struct question *q)
{
	phx_record_fini(&phx_past_wish_record, &q->wish);
	free(q->answer);
	free(q);
}

static void forget(struct whatif *w, uint32_t i)
{
	question_free(at(w, i));
	phx_list_remove(&w->list, sizeof(struct question *), i);
}

/* ---- one question ---- */

struct work {
	struct whatif *w;
	struct question *q;
	struct phx_apart *planner;
	struct phx_store_reader *reader;
	struct phx_past_source source;
	struct phx_buf packed;
	uint64_t last; /* event that was packed */
	uint32_t n;    /* events that were read in this page */
	int64_t until_ms;
};

/* Nobody wants it any more, or it has taken too long. */
static int is_over(struct work *k, struct phx_err *err)
{
	pthread_mutex_lock(&k->w->lock);
	bool cancelled = k->q->cancelled || k->w->stopped;
	pthread_mutex_unlock(&k->w->lock);
	if (cancelled)
		return -ECANCELED;
	return phx_clock_ms() < k->until_ms
		? 0
		: phx_err_set(err, -ETIME, "it took more than %d minutes: ask for a shorter time",
			      WHATIF_LONG_S / 60);
}

static void tell(struct work *k, enum whatif_state state, unsigned milli)
{
	pthread_mutex_lock(&k->w->lock);
	k->q->state = state;
	k->q->milli = milli;
	pthread_mutex_unlock(&k->w->lock);
}

static int pack(void *arg, const struct phx_store_event *ev)
{
	struct work *k = arg;
	planner_pack(&k->packed, ev);
	k->last = ev->seq;
	k->n++;
	return k->packed.n >= PLANNER_PAGE;
}

/* 0: there is more; 1: that was all. */
static int read_page(struct work *k, struct phx_err *err)
{
	int64_t began_us = phx_clock_us();
	k->packed.n = 0;
	k->n = 0;
	int r = phx_store_reader_events(k->reader, k->last, PAGE_EVENTS, NULL, pack, k, err);
	r = r < 0 ? r : k->n ? planner_tell(k->planner, &k->packed, err) : 1;
	reads_breathe(began_us);
	return r || k->last < k->source.last ? r : 1;
}

static int read_all(struct work *k, struct phx_err *err)
{
	uint64_t n = k->source.last > k->source.after ? k->source.last - k->source.after : 1;
	int r = is_over(k, err);
	k->last = k->source.after;
	while (r == 0) {
		r = read_page(k, err);
		tell(k, WHATIF_READS, (unsigned)((k->last - k->source.after) * READ_SHARE / n));
		r = r ? r : is_over(k, err);
	}
	return r < 0 ? r : 0;
}

static int simulate(struct work *k, char **ret, struct phx_err *err)
{
	int r = planner_simulate(k->planner, err);
	while (r == 0) {
		unsigned milli = 0;
		r = planner_look(k->planner, &milli, ret, err);
		tell(k, WHATIF_SIMULATES, READ_SHARE + milli * (1000 - READ_SHARE) / 1000);
		r = r ? r : is_over(k, err);
	}
	return r < 0 ? r : 0;
}

static int begin(struct work *k, struct phx_err *err)
{
	struct daemon *d = k->w->d;
	int fd = -1;
	int r = phx_store_reader_open(d->cfg.journal, &k->reader, err);
	r = r ? r : phx_past_source(k->reader, &k->q->wish, &k->source, err);
	r = r ? r : launch_planner(d->launch, &fd, err);
	r = r ? r : planner_new(fd, &k->planner);
	r = r ? r : planner_begin(k->planner, &k->q->wish, k->source.snapshot, err);
	free(PHX_TAKE(k->source.snapshot));
	return r;
}

static void work_fini(struct work *k)
{
	phx_apart_end(k->planner);
	phx_store_reader_close(k->reader);
	phx_buf_fini(&k->packed);
}

/* The planner read words of many people, and may say anything. */
static int check_answer(const char *text, struct phx_err *err)
{
	static const struct phx_json_shape shape = {
		.depth = 8, .containers = 20000, .values = 4000000};
	size_t n = strlen(text);
	if (n > ANSWER_MAX)
		return phx_err_set(err, -E2BIG, "the answer is too long: ask about one RE");
	json_t *tree = NULL;
	int r = phx_json_check_shape(text, n, &shape, err);
	r = r ? r : phx_json_parse(text, n, &tree, err);
	json_decref(tree);
	return r;
}

static int carry_out(struct work *k, char **ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	tell(k, WHATIF_READS, 0);
	int r = begin(k, err);
	r = r ? r : read_all(k, err);
	r = r ? r : simulate(k, &text, err);
	r = r ? r : check_answer(text, err);
	if (r == 0)
		*ret = PHX_TAKE(text);
	return r;
}

static void answer(struct whatif *w, struct question *q)
{
	struct work k = {
		.w = w, .q = q, .until_ms = phx_clock_ms() + WHATIF_LONG_S * INT64_C(1000)};
	struct phx_err err = {0};
	char *answer = NULL;
	int r = carry_out(&k, &answer, &err);
	work_fini(&k);
	pthread_mutex_lock(&w->lock);
	q->state = r == 0 ? WHATIF_DONE : r == -ECANCELED ? WHATIF_CANCELLED : WHATIF_FAILED;
	q->milli = r == 0 ? 1000 : q->milli;
	q->answer = answer;
	if (r < 0 && r != -ECANCELED)
		PHX_STR_SET(q->error, err.text[0] ? err.text : strerror(-r));
	pthread_mutex_unlock(&w->lock);
}

/* ---- its thread ---- */

static struct question *next(struct whatif *w)
{
	for (uint32_t i = 0; i < w->list.n; i++)
		if (at(w, i)->state == WHATIF_WAITS)
			return at(w, i);
	return NULL;
}

static void *run(void *arg)
{
	struct whatif *w = arg;
	pthread_mutex_lock(&w->lock);
	while (!w->stopped) {
		struct question *q = next(w);
		if (!q) {
			pthread_cond_wait(&w->wanted, &w->lock);
			continue;
		}
		q->state = WHATIF_READS;
		pthread_mutex_unlock(&w->lock);
		answer(w, q);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int whatif_new(struct daemon *d, struct whatif **ret)
{
	struct whatif *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->d = d;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wanted, NULL);
	*ret = w;
	int r = -pthread_create(&w->thread, NULL, run, w);
	w->started = r == 0;
	return r;
}

void whatif_free(struct whatif *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stopped = true;
	pthread_cond_signal(&w->wanted);
	pthread_mutex_unlock(&w->lock);
	if (w->started)
		pthread_join(w->thread, NULL);
	while (w->list.n)
		forget(w, w->list.n - 1);
	phx_list_fini(&w->list);
	pthread_cond_destroy(&w->wanted);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* ---- who asks ---- */

static struct question *find(const struct whatif *w, const char *person, uint64_t id)
{
	for (uint32_t i = 0; i < w->list.n; i++)
		if (at(w, i)->id == id && !strcmp(at(w, i)->person, person))
			return at(w, i);
	return NULL;
}

static struct question *find_same(const struct whatif *w, const char *person,
				  const struct phx_past_wish *wish)
{
	for (uint32_t i = 0; i < w->list.n; i++)
		if (is_open(at(w, i)) && !at(w, i)->cancelled &&
		    !strcmp(at(w, i)->person, person) &&
		    phx_record_equal(&phx_past_wish_record, &at(w, i)->wish, wish))
			return at(w, i);
	return NULL;
}

/* Questions that are open, or over; of `person`, or of all. */
static uint32_t count(const struct whatif *w, const char *person, bool open)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < w->list.n; i++)
		n += is_open(at(w, i)) == open && (!person || !strcmp(at(w, i)->person, person));
	return n;
}

static void forget_oldest(struct whatif *w, const char *person)
{
	for (uint32_t i = 0; i < w->list.n; i++)
		if (!is_open(at(w, i)) && (!person || !strcmp(at(w, i)->person, person))) {
			forget(w, i);
			return;
		}
}

static int add(struct whatif *w, const char *person, const struct phx_past_wish *wish,
	       struct question **ret)
{
	struct question *q = calloc(1, sizeof(*q));
	struct question **to = q ? phx_list_push(&w->list, sizeof(q)) : NULL;
	if (!to || PHX_STR_SET(q->person, person) < 0 ||
	    phx_record_copy(&phx_past_wish_record, &q->wish, wish) < 0) {
		if (to)
			w->list.n--;
		free(q);
		return -ENOMEM;
	}
	q->id = ++w->last_id;
	q->asked_ms = engine_now(w->d->engine);
	*to = *ret = q;
	pthread_cond_signal(&w->wanted);
	return 0;
}

static int ask(struct whatif *w, const char *person, const struct phx_past_wish *wish,
	       struct question **ret, struct phx_err *err)
{
	*ret = find_same(w, person, wish);
	if (*ret)
		return 0;
	if (count(w, person, true) >= WHATIF_OPEN_EACH)
		return phx_err_set(
			err, -EDQUOT,
			"%d questions of yours are not answered yet: cancel one, or wait",
			WHATIF_OPEN_EACH);
	if (count(w, NULL, true) >= WHATIF_OPEN_MAX)
		return phx_err_set(err, -EAGAIN, "%d questions wait: try again later",
				   WHATIF_OPEN_MAX);
	if (count(w, person, false) >= WHATIF_KEPT_EACH)
		forget_oldest(w, person);
	if (count(w, NULL, false) >= WHATIF_KEPT)
		forget_oldest(w, NULL);
	return add(w, person, wish, ret);
}

int whatif_ask(struct whatif *w, const char *person, const struct phx_past_wish *wish,
	       uint64_t *ret_id, struct phx_err *err)
{
	struct question *q = NULL;
	pthread_mutex_lock(&w->lock);
	int r = ask(w, person, wish, &q, err);
	if (r == 0)
		*ret_id = q->id;
	pthread_mutex_unlock(&w->lock);
	return r;
}

static json_t *question_json(const struct question *q)
{
	json_t *wish = phx_json_from_record(&phx_past_wish_record, &q->wish);
	json_object_del(wish, "agreement");
	return json_pack("{s:I, s:I, s:s, s:f, s:s, s:o}", "id", (json_int_t)q->id, "asked_ms",
			 (json_int_t)q->asked_ms, "state", state_names[q->state], "progress",
			 q->milli / 1000.0, "error", q->error, "wish", wish);
}

char *whatif_text(struct whatif *w, const char *person, uint64_t id)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	pthread_mutex_lock(&w->lock);
	const struct question *q = find(w, person, id);
	PHX_AUTO_JSON json_t *j = q ? question_json(q) : NULL;
	phx_buf_addf(&b, "{\"question\":");
	phx_json_put_tree(&b, j);
	phx_buf_addf(&b, ",\"answer\":");
	if (j && q->answer)
		phx_buf_add(&b, q->answer, strlen(q->answer));
	else
		phx_buf_addf(&b, "null");
	pthread_mutex_unlock(&w->lock);
	phx_buf_addf(&b, "}");
	return j ? phx_buf_take(&b) : NULL;
}

json_t *whatif_list(struct whatif *w, const char *person)
{
	json_t *list = json_array();
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = w->list.n; list && i-- > 0;)
		if (!strcmp(at(w, i)->person, person))
			json_array_append_new(list, question_json(at(w, i)));
	pthread_mutex_unlock(&w->lock);
	return list;
}

int whatif_cancel(struct whatif *w, const char *person, uint64_t id)
{
	pthread_mutex_lock(&w->lock);
	struct question *q = find(w, person, id);
	if (q && is_open(q))
		q->cancelled = true;
	if (q && q->state == WHATIF_WAITS)
		q->state = WHATIF_CANCELLED;
	pthread_mutex_unlock(&w->lock);
	return q ? 0 : -ENOENT;
}
