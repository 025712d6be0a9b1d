/* Batch REs whose jobs Slurm starts. Each such RE has a thread, which asks the RE's Slurm, tells
 * the core what changed, and carries out what the core orders then. A restart of phxd may lose all
 * that is kept here: the first report after it is told as a whole. Decides nothing.
 *
 *   ask ──▶ changes as an event ──▶ orders of the core ──▶ commands ──▶ ask again soon
 *    │ no answer: the core is told once, no command runs    (no orders: in a second or five)
 *
 * Lock order: no function asks the engine while it holds the lock of this file. */
#include "phxd/daemon.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "job/job.h"
#include "phxd/runner.h"
#include "slurm/slurm.h"

enum {
	RETRY_MS = 1000,  /* until a worker that could not be started is started again */
	POLL_MS = 1000,   /* until Slurm, which reports nothing by itself, is asked again */
	QUIET_MS = 60000, /* so long after the last job Slurm is asked ... */
	SELDOM_MS = 5000, /* ... only after this time */
	AGAIN_MS = 100,   /* until Slurm is asked again after a command */
};

/** One RE and its Slurm. */
struct worker {
	struct slurm *owner;
	char re[PHX_NAME_MAX];
	char conf[PATH_MAX]; /* the slurm.conf that the agreement names */
	pthread_t thread;
	bool ended; /* the thread is to be joined; guarded by the lock */
	/* only the worker's thread uses these: */
	struct phx_slurm_report known; /* what the core was told */
	bool told;                     /* `known` is set */
	bool troubled;                 /* the core was told that Slurm does not answer */
	uint64_t seq;                  /* of the state that the last orders were taken from */
	int64_t busy_ms;               /* when Slurm last had a job, or something was done */
};

struct slot {
	struct worker *worker; /* its thread has a pointer to it, so it must not move */
};

struct slurm {
	struct daemon *d;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct phx_list workers; /* struct slot */
	uint64_t turns;          /* of the loop; the state may have changed after each */
	bool stop;
};

int slurm_new(struct daemon *d, struct slurm **ret)
{
	struct slurm *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->d = d;
	pthread_mutex_init(&s->lock, NULL);
	phx_cond_init(&s->changed);
	*ret = s;
	return 0;
}

/* ---- one round ---- */

/* Is Slurm still this RE's engine? Then w->conf becomes the path of its slurm.conf. The RE may be
 * another than before, or active anew: then the core knows nothing of what it was told. */
static bool attached(struct worker *w)
{
	const struct phx_state *s = engine_lock(w->owner->d->engine);
	const struct phx_re *re = phx_state_re(s, w->re);
	bool is = re && re->attached;
	if (is)
		phx_slurm_conf_path(w->owner->d->cfg.slurm_dir, re->agreement.slurm_conf, w->conf);
	w->told = w->told && is && !phx_engine_is_unheard(re);
	engine_unlock(w->owner->d->engine);
	return is;
}

static int submit(struct worker *w, struct phx_event *ev)
{
	struct phx_err err = {0};
	ev->kind = PHX_EV_re_queue;
	PHX_STR_SET(ev->by, "phxd");
	PHX_STR_SET(ev->re, w->re);
	int r = engine_submit(w->owner->d->engine, ev, NULL, &err);
	if (r < 0 && r != -ENOENT && r != -EINVAL)
		fprintf(stderr, "phxd: Slurm of RE %s: %s\n", w->re, err.text);
	return r;
}

static void tell_trouble(struct worker *w, const char *why)
{
	struct phx_event ev = {0};
	snprintf(ev.text, sizeof(ev.text), "%s", why);
	submit(w, &ev);
	if (!w->troubled)
		fprintf(stderr, "phxd: Slurm of RE %s: %s\n", w->re, why);
	w->troubled = true;
}

/* Takes `now`. If the core was told it, `now` is what the core knows from here on; if not, the next
 * report is told as a whole. */
static void remember(struct worker *w, struct phx_slurm_report *now, bool told)
{
	phx_slurm_report_fini(&w->known);
	w->known = (struct phx_slurm_report){0};
	if (told)
		w->known = *now;
	else
		phx_slurm_report_fini(now);
	w->told = told;
}

static int tell_changes(struct worker *w, const struct phx_slurm *slurm,
			struct phx_slurm_report *now)
{
	struct phx_event ev;
	int r = phx_slurm_changes(w->told ? &w->known : NULL, now, &ev);
	if (r < 0) {
		phx_slurm_report_fini(now);
		return r;
	}
	PHX_CARRIES(&ev, re_queue);
	/* jobs that Slurm does not list any more have ended: how, it is asked one by one */
	phx_slurm_ask_ends(slurm, &ev.re_queue.engine_jobs, NULL);
	const struct phx_event_re_queue *p = &ev.re_queue;
	if (p->whole || w->troubled || p->engine_jobs.n || p->engine_nodes.n ||
	    p->engine_partitions.n)
		r = submit(w, &ev);
	phx_event_fini(&ev);
	remember(w, now, r == 0);
	w->troubled = w->troubled && r < 0;
	return r;
}

static int take_orders(struct worker *w, struct phx_list *ret)
{
	const struct phx_state *s = engine_lock(w->owner->d->engine);
	int r = phx_engine_orders(s, w->re, ret);
	w->seq = s->seq;
	engine_unlock(w->owner->d->engine);
	return r;
}

/* Carries out the orders of the core, and returns how many there were. An order that fails ends the
 * round, because later orders may rely on it; the next round derives all of them anew. */
static uint32_t obey(struct worker *w, const struct phx_slurm *slurm)
{
	PHX_AUTO(phx_list_fini) struct phx_list orders = {0};
	struct phx_err err = {0};
	take_orders(w, &orders);
	PHX_LIST_EACH(struct phx_engine_order, o, &orders) {
		phx_slurm_forget(&w->known, o);
		if (phx_slurm_tell(slurm, o, &err) < 0) {
			fprintf(stderr, "phxd: Slurm of RE %s: %s %s: %s\n", w->re,
				phx_enum_name(&phx_engine_act_names, o->kind), o->target, err.text);
			break;
		}
	}
	return orders.n;
}

/* How long to wait before Slurm is asked again. `done`: a command was carried out. */
static int pause_ms(struct worker *w, bool done)
{
	int64_t now_ms = phx_clock_ms();
	if (done || w->known.jobs.n)
		w->busy_ms = now_ms;
	if (done)
		return AGAIN_MS;
	return now_ms - w->busy_ms < QUIET_MS ? POLL_MS : SELDOM_MS;
}

/* Returns in how many milliseconds the next round is to begin. */
static int do_round(struct worker *w)
{
	char conf[PATH_MAX];
	struct phx_slurm slurm = {.conf = conf, .run = runner_ask};
	struct phx_slurm_report now = {0};
	struct phx_apart *runner = NULL;
	struct phx_err err = {0};
	bool done = false;
	int fd, r = launch_runner(w->owner->d->launch, &fd, &err);
	r = r ? r : runner_new(fd, &runner);
	slurm.arg = runner;
	r = r ? r : phx_slurm_conf_find(w->conf, conf, &err);
	r = r ? r : phx_slurm_ask(&slurm, &now, &err);
	if (r < 0)
		tell_trouble(w, err.text[0] ? err.text : strerror(-r));
	else
		done = tell_changes(w, &slurm, &now) == 0 && obey(w, &slurm);
	phx_apart_end(runner);
	return pause_ms(w, done);
}

/* ---- its thread ---- */

static bool has_orders(struct worker *w)
{
	PHX_AUTO(phx_list_fini) struct phx_list orders = {0};
	uint64_t before = w->seq;
	const struct phx_state *s = engine_lock(w->owner->d->engine);
	bool same = s->seq == before;
	engine_unlock(w->owner->d->engine);
	return !same && take_orders(w, &orders) == 0 && orders.n;
}

/* Waits for `ms`, or until the core has orders. False: phxd is ending. */
static bool rest(struct worker *w, int ms)
{
	struct slurm *s = w->owner;
	struct timespec until = phx_clock_in(ms);
	bool due = false;
	pthread_mutex_lock(&s->lock);
	while (!s->stop && !due) {
		uint64_t seen = s->turns;
		pthread_mutex_unlock(&s->lock);
		due = !w->troubled && has_orders(w);
		pthread_mutex_lock(&s->lock);
		while (!s->stop && !due && s->turns == seen)
			due = pthread_cond_timedwait(&s->changed, &s->lock, &until) != 0;
	}
	bool go_on = !s->stop;
	pthread_mutex_unlock(&s->lock);
	return go_on;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	while (attached(w) && rest(w, do_round(w)))
		;
	phx_slurm_report_fini(&w->known);
	pthread_mutex_lock(&w->owner->lock);
	w->ended = true;
	pthread_mutex_unlock(&w->owner->lock);
	wake_in(w->owner->d->wake, 0);
	return NULL;
}

/* ---- REs come and go: called on the loop's thread ---- */

static bool has_worker(struct slurm *s, const char *re)
{
	PHX_LIST_EACH(struct slot, slot, &s->workers)
		if (!strcmp(slot->worker->re, re))
			return true;
	return false;
}

static bool start_worker(struct slurm *s, const char *re)
{
	struct worker *w = calloc(1, sizeof(*w));
	struct slot *slot = phx_list_push(&s->workers, sizeof(*slot));
	if (w && slot) {
		w->owner = s;
		w->busy_ms = phx_clock_ms();
		PHX_STR_SET(w->re, re);
		slot->worker = w;
		if (pthread_create(&w->thread, NULL, work, w) == 0)
			return true;
	}
	if (slot)
		s->workers.n--;
	free(w);
	return false;
}

static void join_ended(struct slurm *s, bool all)
{
	for (uint32_t i = s->workers.n; i-- > 0;) {
		struct worker *w = PHX_LIST_AT(&s->workers, struct slot, i)->worker;
		pthread_mutex_lock(&s->lock);
		bool ended = w->ended || all;
		pthread_mutex_unlock(&s->lock);
		if (!ended)
			continue;
		pthread_join(w->thread, NULL);
		phx_list_remove(&s->workers, sizeof(struct slot), i);
		free(w);
	}
}

int slurm_tick(struct slurm *s)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = {0};
	const struct phx_state *state = engine_lock(s->d->engine);
	PHX_LIST_EACH(struct phx_re, re, &state->res) {
		struct phx_word *name = re->attached ? phx_list_push(&names, sizeof(*name)) : NULL;
		if (name)
			PHX_STR_SET(name->text, re->name);
	}
	engine_unlock(s->d->engine);
	join_ended(s, false);
	bool all = true;
	PHX_LIST_EACH(struct phx_word, name, &names)
		all &= has_worker(s, name->text) || start_worker(s, name->text);
	pthread_mutex_lock(&s->lock);
	s->turns++;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return all ? WAKE_NEVER : RETRY_MS;
}

void slurm_free(struct slurm *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	join_ended(s, true);
	phx_list_fini(&s->workers);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
