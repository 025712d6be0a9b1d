/* The power queue: see power.h. Called by phxd's loop (add, free); its workers
 * call the owner's `run` and `done`. Never runs two operations on one BMC.
 *
 *   add ─▶ jobs (in order) ─▶ pick(): BMC idle, lane free ─▶ worker ─▶ done ─▶ forgotten
 *
 * A BMC that was silent is a suspect: its jobs wait behind those of others and
 * hold at most half of the workers, so that a rack without power cannot stop
 * the rest of the room. */
#include "power/power.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "power/driver.h"

enum {
	THREADS_MAX = 256,
	WAITING_MAX = 65536, /* in all */
	PER_BMC_MAX = 8,
	KEY_SIZE = 300,
};

struct job {
	struct job *next;
	struct phx_bmc bmc;
	char key[KEY_SIZE]; /* what tells one BMC from another */
	enum phx_power_op op;
	uint32_t timeout_ms;
	uint64_t ticket;
	bool suspect; /* kept up to date while waiting; as of its start while running */
};

struct suspect {
	char key[KEY_SIZE];
};

struct phx_power_queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job *waiting; /* in the order added */
	struct job *running; /* at most one a worker */
	uint32_t n_waiting;
	unsigned n_suspects_running;
	struct phx_list suspects; /* struct suspect: BMCs silent the last time */
	bool closing;
	phx_power_run_fn run;
	phx_power_done_fn done;
	void *arg; /* of both */
	unsigned n_threads;
	pthread_t threads[];
};

static void make_key(const struct phx_bmc *bmc, char *ret, size_t size)
{
	const struct phx_power_driver *driver = NULL;
	bool by_node = phx_power_driver(bmc, &driver, NULL) == 0 && driver->by_node;
	const char *where = bmc->address[0] ? bmc->address : bmc->mac[0] ? bmc->mac : bmc->node;
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(&b, "%s %s %s", bmc->driver, where, by_node ? bmc->node : bmc->system);
	phx_str_copy(ret, size, b.data);
}

static int find_suspect(const struct phx_power_queue *q, const char *key)
{
	for (uint32_t i = 0; i < q->suspects.n; i++)
		if (!strcmp(PHX_LIST_AT(&q->suspects, struct suspect, i)->key, key))
			return (int)i;
	return -1;
}

/* Learn from a result: is this BMC a suspect from now on? */
static void judge(struct phx_power_queue *q, const char *key, int result)
{
	bool silent = result == -EHOSTUNREACH || result == -ETIMEDOUT;
	int i = find_suspect(q, key);
	if (silent == (i >= 0))
		return;
	if (i >= 0) {
		phx_list_remove(&q->suspects, sizeof(struct suspect), (uint32_t)i);
	} else {
		struct suspect *s = phx_list_push(&q->suspects, sizeof(*s));
		if (!s)
			return;
		PHX_STR_SET(s->key, key);
	}
	for (struct job *j = q->waiting; j; j = j->next)
		if (!strcmp(j->key, key))
			j->suspect = silent;
}

static bool is_busy(const struct phx_power_queue *q, const char *key)
{
	for (const struct job *j = q->running; j; j = j->next)
		if (!strcmp(j->key, key))
			return true;
	return false;
}

/* The first job that may start now: of a BMC not suspected, else of a suspect
 * while half of the workers are free of those. */
static struct job *pick(const struct phx_power_queue *q)
{
	unsigned lane = q->n_threads > 1 ? q->n_threads / 2 : 1;
	struct job *later = NULL;
	for (struct job *j = q->waiting; j; j = j->next) {
		if ((j->suspect && (later || q->n_suspects_running >= lane)) || is_busy(q, j->key))
			continue;
		if (!j->suspect)
			return j;
		later = j;
	}
	return later;
}

static void take_out(struct job **list, struct job *job)
{
	while (*list != job)
		list = &(*list)->next;
	*list = job->next;
}

static void start_job(struct phx_power_queue *q, struct job *job)
{
	take_out(&q->waiting, job);
	q->n_waiting--;
	job->next = q->running;
	q->running = job;
	q->n_suspects_running += job->suspect;
}

static void end_job(struct phx_power_queue *q, struct job *job, int result)
{
	take_out(&q->running, job);
	q->n_suspects_running -= job->suspect;
	judge(q, job->key, result);
	free(job);
	pthread_cond_broadcast(&q->changed);
}

/* Called with the lock held, and returns so. The job stays known until `done`
 * has returned: the same ticket cannot slip in between. */
static void run_job(struct phx_power_queue *q, struct job *job)
{
	start_job(q, job);
	pthread_mutex_unlock(&q->lock);
	enum phx_power_state state = PHX_POWER_UNKNOWN;
	struct phx_err err = {0};
	int r = q->run(q->arg, &job->bmc, job->op, job->timeout_ms, &state, &err);
	q->done(q->arg, job->ticket, r, state, r < 0 ? err.text : "");
	pthread_mutex_lock(&q->lock);
	end_job(q, job, r);
}

static void *work(void *arg)
{
	struct phx_power_queue *q = arg;
	pthread_mutex_lock(&q->lock);
	while (!q->closing) {
		struct job *job = pick(q);
		if (job)
			run_job(q, job);
		else
			pthread_cond_wait(&q->changed, &q->lock);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

int phx_power_queue_new(unsigned threads, phx_power_run_fn run, phx_power_done_fn done, void *arg,
			struct phx_power_queue **ret, struct phx_err *err)
{
	if (threads < 1 || threads > THREADS_MAX)
		return phx_err_set(err, -EINVAL, "power queue: 1 to %d threads are possible",
				   THREADS_MAX);
	struct phx_power_queue *q = calloc(1, sizeof(*q) + threads * sizeof(q->threads[0]));
	if (!q)
		return -ENOMEM;
	q->run = run;
	q->done = done;
	q->arg = arg;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->changed, NULL);
	int r = 0;
	/* The workers read n_threads, under the lock. */
	pthread_mutex_lock(&q->lock);
	while (r == 0 && q->n_threads < threads) {
		r = pthread_create(&q->threads[q->n_threads], NULL, work, q);
		q->n_threads += r == 0;
	}
	pthread_mutex_unlock(&q->lock);
	if (r) {
		phx_power_queue_free(q);
		return phx_err_set(err, -r, "power queue: thread: %s", strerror(r));
	}
	*ret = q;
	return 0;
}

/* How many jobs of the list go to the BMC of `job`; -EALREADY when one of them is the job
 * itself. */
static int count_same(const struct job *list, const struct job *job)
{
	int n = 0;
	for (const struct job *j = list; j; j = j->next) {
		if (j->ticket == job->ticket)
			return -EALREADY;
		n += !strcmp(j->key, job->key);
	}
	return n;
}

/* 0 when the job may join. */
static int admit(const struct phx_power_queue *q, const struct job *job, struct phx_err *err)
{
	int n_running = count_same(q->running, job), n_waiting = count_same(q->waiting, job);
	if (n_running < 0 || n_waiting < 0)
		return phx_err_set(err, -EALREADY, "power operation %llu is under way",
				   (unsigned long long)job->ticket);
	if (n_waiting >= PER_BMC_MAX)
		return phx_err_set(err, -EBUSY, "%d operations wait for this BMC already",
				   PER_BMC_MAX);
	if (q->n_waiting >= WAITING_MAX)
		return phx_err_set(err, -EBUSY, "%d power operations wait already", WAITING_MAX);
	return 0;
}

int phx_power_queue_add(struct phx_power_queue *q, const struct phx_bmc *bmc, enum phx_power_op op,
			uint32_t timeout_ms, uint64_t ticket, struct phx_err *err)
{
	struct job *job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	*job = (struct job){.bmc = *bmc, .op = op, .timeout_ms = timeout_ms, .ticket = ticket};
	make_key(bmc, job->key, sizeof(job->key));
	pthread_mutex_lock(&q->lock);
	int r = admit(q, job, err);
	if (r == 0) {
		struct job **at = &q->waiting;
		while (*at)
			at = &(*at)->next;
		job->suspect = find_suspect(q, job->key) >= 0;
		*at = PHX_TAKE(job);
		q->n_waiting++;
		pthread_cond_broadcast(&q->changed);
	}
	pthread_mutex_unlock(&q->lock);
	free(job);
	return r;
}

void phx_power_queue_free(struct phx_power_queue *q)
{
	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	q->closing = true;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	for (unsigned i = 0; i < q->n_threads; i++)
		pthread_join(q->threads[i], NULL);
	while (q->waiting) {
		struct job *job = q->waiting;
		take_out(&q->waiting, job);
		free(job);
	}
	phx_list_fini(&q->suspects);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q);
}
