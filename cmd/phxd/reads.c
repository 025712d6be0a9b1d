/* Requests that read much: long lists, the journal. The threads of the listeners, which serve
 * beats, hand these requests over to two threads of this file: one carries out those of
 * administrators, one after the other, and one those of everybody else. So a user who asks for all
 * that there is makes only other users wait, and each of them has only a few such requests
 * (reads_per_user). */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>

#include "base/clock.h"

enum { BREATH_MIN_US = 1000, BREATH_MAX_US = 100000 };
enum { ADMINS, OTHERS, LANES };

struct task {
	struct phx_http_request *q;
	phx_http_handler handler;
};

struct lane {
	struct reads *reads;
	pthread_t thread;
	bool running;
	pthread_cond_t filled;
	struct phx_list tasks; /* struct task, the next first */
};

struct reads {
	struct daemon *d;
	pthread_mutex_t lock;
	bool stopped;
	struct lane lanes[LANES];
};

static bool next_task(struct lane *l, struct task *ret)
{
	struct reads *r = l->reads;
	pthread_mutex_lock(&r->lock);
	while (!l->tasks.n && !r->stopped)
		pthread_cond_wait(&l->filled, &r->lock);
	bool is = l->tasks.n && !r->stopped;
	if (is) {
		*ret = *PHX_LIST_AT(&l->tasks, struct task, 0);
		phx_list_remove(&l->tasks, sizeof(*ret), 0);
	}
	pthread_mutex_unlock(&r->lock);
	return is;
}

static void *run(void *arg)
{
	struct lane *l = arg;
	struct task t;
	while (next_task(l, &t)) {
		int64_t began_us = phx_clock_us();
		if (phx_http_gone(t.q))
			phx_http_reply_error(t.q, -EAGAIN, "nobody waits for this answer");
		else
			t.handler(t.q, l->reads->d);
		reads_breathe(began_us);
	}
	return NULL;
}

int reads_new(struct daemon *d, struct reads **ret)
{
	struct reads *r = calloc(1, sizeof(*r));
	int code = 0;
	if (!r)
		return -ENOMEM;
	r->d = d;
	pthread_mutex_init(&r->lock, NULL);
	*ret = r;
	for (size_t i = 0; i < LANES && code == 0; i++) {
		struct lane *l = &r->lanes[i];
		l->reads = r;
		pthread_cond_init(&l->filled, NULL);
		code = pthread_create(&l->thread, NULL, run, l);
		l->running = code == 0;
	}
	return -code;
}

void reads_take(struct reads *r, struct phx_http_request *q, phx_http_handler handler)
{
	bool admin = person_is_admin(r->d, phx_http_peer(q));
	struct lane *l = &r->lanes[admin ? ADMINS : OTHERS];
	if (!phx_http_claim(q, PHX_HTTP_HEAVY, r->d->cfg.reads_per_user))
		return;
	phx_http_suspend(q);
	pthread_mutex_lock(&r->lock);
	struct task *t = r->stopped ? NULL : phx_list_push(&l->tasks, sizeof(*t));
	if (t)
		*t = (struct task){q, handler};
	pthread_cond_signal(&l->filled);
	pthread_mutex_unlock(&r->lock);
	if (!t)
		phx_http_reply_error(q, -EAGAIN, "phxd is ending");
}

int reads_page(struct phx_store_reader *r, uint64_t after, uint32_t limit, const char *name,
	       phx_store_event_fn fn, void *arg, struct phx_err *err)
{
	if (name[0] && after >= phx_store_reader_unsaid(r))
		return phx_store_reader_about(r, after, limit, name, fn, arg, err);
	return phx_store_reader_events(r, after, limit, NULL, fn, arg, err);
}

void reads_breathe(int64_t since_us)
{
	/* a mutex is not fair: a thread that unlocks it and locks it again at once keeps it */
	int64_t us = phx_clock_us() - since_us;
	us = us < BREATH_MIN_US ? BREATH_MIN_US : us > BREATH_MAX_US ? BREATH_MAX_US : us;
	phx_sleep_ms((uint32_t)((us + 999) / 1000));
}

void reads_stop(struct reads *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->stopped = true;
	for (size_t i = 0; i < LANES; i++)
		pthread_cond_signal(&r->lanes[i].filled);
	pthread_mutex_unlock(&r->lock);
	for (size_t i = 0; i < LANES; i++) {
		struct lane *l = &r->lanes[i];
		if (l->running)
			pthread_join(l->thread, NULL);
		l->running = false;
		PHX_LIST_EACH(struct task, t, &l->tasks)
			phx_http_reply_error(t->q, -EAGAIN, "phxd is ending");
		phx_list_fini(&l->tasks);
	}
}

void reads_free(struct reads *r)
{
	if (!r)
		return;
	reads_stop(r);
	for (size_t i = 0; i < LANES; i++)
		pthread_cond_destroy(&r->lanes[i].filled);
	pthread_mutex_destroy(&r->lock);
	free(r);
}
