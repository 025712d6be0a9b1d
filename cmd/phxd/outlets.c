/* Which outlets there are, and how they stand: see outlets.h. One thread, the manager, looks into
 * event_dir when it is told to, and begins and ends the threads of outlets (outlet_tell.c). Called
 * by main.c, and by way of routes.def. */
#include "phxd/outlets_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"
#include "metrics/metrics.h"

enum { LIST_MS = 30000 };

static const char *const kind_names[] = {"log", "program", "webhook"};

/* ---- one ---- */

static void free_outlet(struct outlet *x)
{
	phx_list_fini(&x->kinds);
	free(x);
}

/* Ends its thread, whatever it waits for. */
static void end_outlet(struct outlet *x)
{
	pthread_mutex_lock(&x->o->lock);
	x->ended = true;
	if (x->stop_fd)
		shutdown(x->stop_fd, SHUT_RDWR);
	pthread_cond_broadcast(&x->o->news);
	pthread_mutex_unlock(&x->o->lock);
	if (x->started)
		pthread_join(x->thread, NULL);
}

static int copy_words(const struct phx_list *from, struct phx_list *to)
{
	PHX_LIST_EACH(struct phx_word, w, from) {
		struct phx_word *copy = phx_list_push(to, sizeof(*copy));
		if (!copy)
			return -ENOMEM;
		*copy = *w;
	}
	return 0;
}

struct wanted {
	enum outlet_kind kind;
	const char *name;
	const struct phx_list *kinds;
	uint32_t timeout_s;
	const char *refused; /* "": it is told */
};

static void put(struct outlets *o, struct outlet *x)
{
	pthread_mutex_lock(&o->lock);
	o->all[o->n++] = x;
	pthread_mutex_unlock(&o->lock);
}

static int add(struct outlets *o, const struct wanted *w)
{
	struct outlet *x = o->n < OUTLETS_MAX ? calloc(1, sizeof(*x)) : NULL;
	if (!x)
		return -ENOMEM;
	x->o = o;
	x->kind = w->kind;
	x->timeout_ms = w->timeout_s * 1000;
	PHX_STR_SET(x->name, w->name);
	snprintf(x->error, sizeof(x->error), "%s", w->refused);
	snprintf(x->cursor_path, sizeof(x->cursor_path), "%s/outlets/%s.%s", o->d->cfg.state_dir,
		 kind_names[w->kind], w->name);
	int r = copy_words(w->kinds, &x->kinds);
	if (r == 0 && !w->refused[0]) {
		outlet_begin(x);
		r = -pthread_create(&x->thread, NULL, outlet_run, x);
		x->started = r == 0;
	}
	if (r < 0)
		free_outlet(x);
	else
		put(o, x);
	return r;
}

/* ---- programs come and go ---- */

static bool is_same(const struct outlet *x, const struct phx_program *p)
{
	bool same = x->kinds.n == p->kinds.n && x->timeout_ms == p->timeout_s * 1000 &&
		x->started == !p->error[0];
	for (uint32_t i = 0; same && i < p->kinds.n; i++)
		same = !strcmp(PHX_LIST_AT(&x->kinds, struct phx_word, i)->text,
			       PHX_LIST_AT(&p->kinds, struct phx_word, i)->text);
	return same && (x->started || !strcmp(x->error, p->error));
}

static struct outlet *find(struct outlets *o, enum outlet_kind kind, const char *name)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->all[i]->kind == kind && !strcmp(o->all[i]->name, name))
			return o->all[i];
	return NULL;
}

static const struct phx_program *listed(const struct phx_list *programs, const char *name)
{
	PHX_LIST_EACH(struct phx_program, p, programs)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

/* Takes out those that are gone or otherwise than they were. */
static void end_changed(struct outlets *o, const struct phx_list *programs)
{
	for (uint32_t i = o->n; i-- > 0;) {
		struct outlet *x = o->all[i];
		const struct phx_program *p =
			x->kind == OUTLET_PROGRAM ? listed(programs, x->name) : NULL;
		if (x->kind != OUTLET_PROGRAM || (p && is_same(x, p)))
			continue;
		pthread_mutex_lock(&o->lock);
		o->all[i] = o->all[--o->n];
		pthread_mutex_unlock(&o->lock);
		end_outlet(x);
		free_outlet(x);
	}
}

static void take_programs(struct outlets *o, const struct phx_list *programs)
{
	end_changed(o, programs);
	PHX_LIST_EACH(struct phx_program, p, programs) {
		const struct wanted w = {OUTLET_PROGRAM, p->name, &p->kinds, p->timeout_s,
					 p->error};
		if (find(o, OUTLET_PROGRAM, p->name))
			continue;
		if (p->error[0])
			fprintf(stderr, "phxd: event_dir: %s is not told what happens: %s\n",
				p->name, p->error);
		add(o, &w);
	}
}

static int ask_list(struct outlets *o, struct phx_list *ret, struct phx_err *err)
{
	const struct phx_apart_question q = {.op = PHX_OUTLET_list};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	PHX_AUTO_JSON json_t *j = NULL;
	struct phx_apart *process = NULL;
	int stop = 0, r = outlet_process(o->d, OUTLET_PROGRAMS, &process, &stop, err);
	r = r ? r : phx_apart_ask(process, &q, LIST_MS, &reply, err);
	r = r ? r : phx_json_parse(reply.body.data ? reply.body.data : "", reply.body.n, &j, err);
	size_t i;
	json_t *row;
	json_array_foreach(j, i, row) {
		struct phx_program *p =
			r || ret->n >= 2 * PHX_PROGRAMS_MAX ? NULL : phx_list_push(ret, sizeof(*p));
		r = p ? phx_json_to_record(&phx_program_record, row, p, err) : r;
	}
	if (stop)
		close(stop);
	phx_apart_end(process);
	return r;
}

/* A head whose event_dir is not there starts nothing. */
static void look(struct outlets *o)
{
	struct phx_list programs = {0};
	struct phx_err err = {0};
	bool there = access(o->d->cfg.event_dir, F_OK) == 0 || errno != ENOENT;
	int r = there ? ask_list(o, &programs, &err) : 0;
	pthread_mutex_lock(&o->lock);
	snprintf(o->wrong, sizeof(o->wrong), "%s",
		 r == 0                ? ""
			 : err.text[0] ? err.text
				       : strerror(-r));
	phx_utf8_repair(o->wrong);
	pthread_mutex_unlock(&o->lock);
	if (r < 0)
		fprintf(stderr, "phxd: event_dir: %s\n", o->wrong);
	else
		take_programs(o, &programs);
	PHX_LIST_EACH(struct phx_program, p, &programs)
		phx_record_fini(&phx_program_record, p);
	phx_list_fini(&programs);
}

static void *manage(void *arg)
{
	struct outlets *o = arg;
	pthread_mutex_lock(&o->lock);
	while (!o->ended) {
		if (!o->reload) {
			pthread_cond_wait(&o->news, &o->lock);
			continue;
		}
		o->reload = false;
		for (uint32_t i = 0; i < o->n; i++)
			o->all[i]->kicked = true;
		pthread_cond_broadcast(&o->news);
		pthread_mutex_unlock(&o->lock);
		look(o);
		pthread_mutex_lock(&o->lock);
	}
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

/* ---- start and end ---- */

static int add_fixed(struct outlets *o)
{
	static const struct phx_list all;
	const struct wanted log = {OUTLET_LOG, "journald", &all, 0, ""};
	int r = phx_news_log_is_there() ? add(o, &log) : 0;
	PHX_LIST_EACH(struct phx_webhook, h, &o->d->cfg.webhooks) {
		const struct wanted w = {OUTLET_WEBHOOK, h->name, &h->kinds, h->timeout_s, ""};
		r = r ? r : add(o, &w);
	}
	return r;
}

int outlets_new(struct daemon *d, struct outlets **ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *dir = phx_path("%s/outlets", d->cfg.state_dir);
	struct outlets *o = calloc(1, sizeof(*o));
	int r = dir && o ? phx_dir_make(dir, 0700, err) : -ENOMEM;
	if (r < 0) {
		free(o);
		return r;
	}
	o->d = d;
	*ret = o; /* what the threads journal is news, too */
	o->reload = true;
	o->last = phx_store_last(engine_store(d->engine));
	pthread_mutex_init(&o->lock, NULL);
	phx_cond_init(&o->news);
	r = add_fixed(o);
	r = r ? r : -pthread_create(&o->manager, NULL, manage, o);
	o->managed = r == 0;
	return r;
}

void outlets_committed(struct outlets *o, uint64_t seq)
{
	pthread_mutex_lock(&o->lock);
	bool news = seq > o->last;
	o->last = news ? seq : o->last;
	if (news && o->n)
		pthread_cond_broadcast(&o->news);
	pthread_mutex_unlock(&o->lock);
}

void outlets_reload(struct outlets *o)
{
	pthread_mutex_lock(&o->lock);
	o->reload = true;
	pthread_cond_broadcast(&o->news);
	pthread_mutex_unlock(&o->lock);
}

void outlets_stop(struct outlets *o)
{
	if (!o || o->ended)
		return;
	pthread_mutex_lock(&o->lock);
	o->ended = true;
	pthread_cond_broadcast(&o->news);
	pthread_mutex_unlock(&o->lock);
	if (o->managed)
		pthread_join(o->manager, NULL);
	for (uint32_t i = 0; i < o->n; i++)
		end_outlet(o->all[i]);
}

void outlets_free(struct outlets *o)
{
	if (!o)
		return;
	outlets_stop(o);
	for (uint32_t i = 0; i < o->n; i++)
		free_outlet(o->all[i]);
	pthread_cond_destroy(&o->news);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

/* ---- to people ---- */

void outlets_put_metrics(struct outlets *o, struct phx_buf *b)
{
	phx_metric_head(b, PHX_METRIC_outlet_events_total);
	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	for (uint32_t i = 0; i < o->n; i++) {
		const struct outlet *x = o->all[i];
		const struct {
			const char *result;
			uint64_t n;
		} rows[] = {{"told", x->told}, {"dropped", x->dropped}, {"aside", x->aside}};
		for (size_t k = 0; k < PHX_ARRAY_SIZE(rows); k++) {
			const char *labels[] = {kind_names[x->kind], x->name, rows[k].result};
			phx_metric_put(b, PHX_METRIC_outlet_events_total, labels,
				       (int64_t)rows[k].n, 0);
		}
	}
	pthread_mutex_unlock(&o->lock);
}

static json_t *view(const struct outlet *x, uint64_t last)
{
	json_t *kinds = json_array();
	PHX_LIST_EACH(struct phx_word, w, &x->kinds)
		json_array_append_new(kinds, json_string(w->text));
	uint64_t behind = x->started && last > x->cursor ? last - x->cursor : 0;
	return json_pack("{s:s,s:s,s:o,s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:I,s:I,s:s}", "name",
			 x->name, "kind", kind_names[x->kind], "kinds", kinds, "refused",
			 !x->started, "cursor", (json_int_t)x->cursor, "behind", (json_int_t)behind,
			 "told", (json_int_t)x->told, "dropped", (json_int_t)x->dropped, "attempts",
			 (json_int_t)x->attempts, "aside", (json_int_t)x->aside, "error", x->error,
			 "since_ms", (json_int_t)x->since_ms, "aside_seq", (json_int_t)x->aside_seq,
			 "aside_error", x->aside_error);
}

void api_outlets(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	struct outlets *o = d->outlets;
	PHX_AUTO_JSON json_t *list = json_array();
	pthread_mutex_lock(&o->lock);
	for (uint32_t i = 0; i < o->n; i++)
		json_array_append_new(list, view(o->all[i], o->last));
	PHX_AUTO_JSON json_t *j = json_pack("{s:O,s:I,s:s}", "outlets", list, "last",
					    (json_int_t)o->last, "wrong", o->wrong);
	pthread_mutex_unlock(&o->lock);
	phx_http_reply_json(q, 200, j);
}
