/* Threads that take the next piece until none is left. Called by sweep.c and
 * plan.c. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "sim/threads.h"

enum { WORKERS_MAX = 1024, PROGRESS_MS = 100 };

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	phx_sim_piece_fn piece;
	void *arg;
	size_t n, next, n_done;
	unsigned n_running;
	size_t failed; /* number of the failed piece; n = none */
	int error;
	struct phx_err err;
};

static void take_error(struct pool *p, size_t i, int r, const struct phx_err *err)
{
	if (i >= p->failed)
		return;
	p->failed = i;
	p->error = r;
	p->err = *err;
}

static void *work(void *arg)
{
	struct pool *p = arg;
	pthread_mutex_lock(&p->lock);
	while (p->next < p->n && p->failed == p->n) {
		size_t i = p->next++;
		struct phx_err err = {0};
		pthread_mutex_unlock(&p->lock);
		int r = p->piece(p->arg, i, &err);
		pthread_mutex_lock(&p->lock);
		p->n_done++;
		if (r < 0)
			take_error(p, i, r, &err);
	}
	p->n_running--;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void wait_for_end(struct pool *p, phx_sim_pool_progress_fn progress)
{
	pthread_mutex_lock(&p->lock);
	while (p->n_running) {
		struct timespec until = phx_clock_in(PROGRESS_MS);
		pthread_cond_timedwait(&p->changed, &p->lock, &until);
		if (progress)
			progress(p->arg, p->n_done, p->n);
	}
	pthread_mutex_unlock(&p->lock);
}

int phx_sim_pool_run(unsigned workers, size_t n, phx_sim_piece_fn piece,
		     phx_sim_pool_progress_fn progress, void *arg, struct phx_err *err)
{
	struct pool p = {.piece = piece, .arg = arg, .n = n, .failed = n};
	size_t wanted = workers < n ? workers : n;
	if (wanted > WORKERS_MAX)
		wanted = WORKERS_MAX;
	wanted += !wanted;
	PHX_AUTO_FREE pthread_t *threads = calloc(wanted, sizeof(*threads));
	unsigned started = 0;
	int r = 0;
	if (!threads)
		return -ENOMEM;
	pthread_mutex_init(&p.lock, NULL);
	phx_cond_init(&p.changed);
	pthread_mutex_lock(&p.lock);
	while (started < wanted && !(r = pthread_create(&threads[started], NULL, work, &p)))
		started++;
	p.n_running = started;
	pthread_mutex_unlock(&p.lock);
	wait_for_end(&p, progress);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_cond_destroy(&p.changed);
	pthread_mutex_destroy(&p.lock);
	if (!started)
		return phx_err_set(err, -r, "no thread can be started: %s", strerror(r));
	return p.error < 0 ? phx_err_set(err, p.error, "%s", p.err.text) : 0;
}
