/* The manager of one batch RE: jobs come, wait, run, end, are killed; batch.h has
 * the diagram. Called by lib/ledger. Decides nothing: the schedulers (first_fit.c,
 * fcfs.c, sjf.c, easy.c) and kill orders (kill.c) do. */
#include "batch/internal.h"

#include <errno.h>

static const char *const scheduler_labels[] = {
#define SCHEDULER(name, label, ...) label,
#include "batch/scheduler.def"
#undef SCHEDULER
};
const struct phx_enum phx_scheduler_names = {"scheduler", scheduler_labels,
					     PHX_ARRAY_SIZE(scheduler_labels)};

static const struct phx_batch_scheduler schedulers[] = {
#define SCHEDULER(name, label, order, pass, ...) {phx_batch_order_##order, phx_batch_pass_##pass},
#include "batch/scheduler.def"
#undef SCHEDULER
};

int phx_batch_new(const struct phx_batch_config *config, struct phx_batch **ret)
{
	if (config->scheduler < 0 || config->scheduler >= PHX_SCHEDULER_COUNT_ ||
	    config->kill_order < 0 || config->kill_order >= PHX_KILL_ORDER_COUNT_)
		return -EINVAL;
	struct phx_batch *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->config = *config;
	b->scheduler = schedulers[config->scheduler];
	for (uint32_t k = 0; k < PHX_BATCH_CLASSES; k++)
		b->waiting[k].knows = PHX_BATCH_KNOWS_FIT;
	b->ends.knows = PHX_BATCH_KNOWS_SUM;
	*ret = b;
	return 0;
}

void phx_batch_free(struct phx_batch *b)
{
	if (!b)
		return;
	phx_batch_slots_fini(b);
	free(b);
}

void phx_batch_counts(const struct phx_batch *b, struct phx_batch_counts *ret)
{
	*ret = b->counts;
	/* every job of the last class is larger than all jobs of other classes */
	uint32_t root = b->classes ? b->waiting[63 - __builtin_clzll(b->classes)].root : 0;
	ret->waiting_biggest = root ? b->nodes[root].max_size : 0;
}

uint64_t phx_batch_first(const struct phx_batch *b)
{
	uint32_t first = 0;
	for (uint64_t classes = b->classes; classes; classes &= classes - 1) {
		uint32_t i = b->waiting[__builtin_ctzll(classes)].first;
		if (!first || phx_batch_node_before(&b->nodes[i], &b->nodes[first]))
			first = i;
	}
	return first ? b->jobs[first].id : 0;
}

const struct phx_batch_job *phx_batch_job(const struct phx_batch *b, uint64_t id)
{
	uint32_t i = phx_batch_find(b, id);
	return i ? &b->jobs[i] : NULL;
}

static bool runs(const struct phx_batch *b, uint32_t i)
{
	return b->jobs[i].state == PHX_BATCH_RUNNING || b->jobs[i].state == PHX_BATCH_KILLING;
}

/* Finds the slot of a job that runs or is being killed. -ENOENT, -EINVAL it does not run. */
static int find_running(const struct phx_batch *b, uint64_t id, uint32_t *ret_slot)
{
	uint32_t i = phx_batch_find(b, id);
	if (!i)
		return -ENOENT;
	if (!runs(b, i))
		return -EINVAL;
	*ret_slot = i;
	return 0;
}

/* ---- jobs come and go ---- */

static int take_in(struct phx_batch *b, const struct phx_batch_job *job)
{
	if (phx_batch_find(b, job->id))
		return -EEXIST;
	uint32_t i = phx_batch_slot_take(b, job->id);
	if (!i)
		return -ENOMEM;
	b->jobs[i] = *job;
	phx_batch_enter(b, i, (enum phx_batch_job_state)job->state);
	return 0;
}

static int ready_state(const struct phx_batch_job *j)
{
	return j->waits_for ? PHX_BATCH_BLOCKED : PHX_BATCH_WAITING;
}

int phx_batch_submit(struct phx_batch *b, const struct phx_batch_job *job)
{
	struct phx_batch_job j = *job;
	if (!j.size || j.state == PHX_BATCH_RUNNING || j.state == PHX_BATCH_KILLING)
		return -EINVAL;
	j.state = j.state == PHX_BATCH_HELD ? PHX_BATCH_HELD : ready_state(&j);
	j.start_ms = 0;
	j.kills = j.lost = 0;
	return take_in(b, &j);
}

int phx_batch_restore(struct phx_batch *b, const struct phx_batch_job *job)
{
	bool running = job->state == PHX_BATCH_RUNNING || job->state == PHX_BATCH_KILLING;
	if (!job->size || job->state < 0 || job->state > PHX_BATCH_KILLING ||
	    job->lost > (running ? job->size : 0) ||
	    (job->state != PHX_BATCH_HELD &&
	     (job->state == PHX_BATCH_BLOCKED) != (job->waits_for > 0)))
		return -EINVAL;
	return take_in(b, job);
}

int phx_batch_unblock(struct phx_batch *b, uint64_t id)
{
	uint32_t i = phx_batch_find(b, id);
	if (!i)
		return -ENOENT;
	if (!b->jobs[i].waits_for)
		return -EINVAL;
	if (--b->jobs[i].waits_for || b->jobs[i].state == PHX_BATCH_HELD)
		return 0;
	phx_batch_leave(b, i);
	phx_batch_enter(b, i, PHX_BATCH_WAITING);
	return 0;
}

int phx_batch_hold(struct phx_batch *b, uint64_t id)
{
	uint32_t i = phx_batch_find(b, id);
	if (!i)
		return -ENOENT;
	if (runs(b, i))
		return -EBUSY;
	phx_batch_leave(b, i);
	phx_batch_enter(b, i, PHX_BATCH_HELD);
	return 0;
}

int phx_batch_unhold(struct phx_batch *b, uint64_t id)
{
	uint32_t i = phx_batch_find(b, id);
	if (!i)
		return -ENOENT;
	if (b->jobs[i].state != PHX_BATCH_HELD)
		return 0;
	phx_batch_leave(b, i);
	phx_batch_enter(b, i, (enum phx_batch_job_state)ready_state(&b->jobs[i]));
	return 0;
}

int phx_batch_cancel(struct phx_batch *b, uint64_t id)
{
	uint32_t i = phx_batch_find(b, id);
	if (!i)
		return -ENOENT;
	if (runs(b, i))
		return -EBUSY;
	phx_batch_leave(b, i);
	phx_batch_slot_drop(b, i);
	return 0;
}

/* ---- runs begin and end ---- */

int phx_batch_started(struct phx_batch *b, uint64_t id, uint32_t size, int64_t start_ms)
{
	uint32_t i = phx_batch_find(b, id);
	if (!i)
		return -ENOENT;
	if (!size || !b->config.external)
		return -EINVAL;
	if (runs(b, i))
		return -EBUSY;
	if (size > b->counts.idle)
		return -ENOSPC;
	phx_batch_leave(b, i);
	b->counts.idle -= size;
	b->jobs[i].size = size;
	b->jobs[i].start_ms = start_ms;
	phx_batch_enter(b, i, PHX_BATCH_RUNNING);
	return 0;
}

/* Ends the run of job i; its nodes become idle. */
static void stop(struct phx_batch *b, uint32_t i)
{
	phx_batch_leave(b, i);
	b->counts.idle += phx_batch_held(&b->jobs[i]);
}

int phx_batch_ended(struct phx_batch *b, uint64_t id)
{
	uint32_t i;
	int r = find_running(b, id, &i);
	if (r < 0)
		return r;
	stop(b, i);
	phx_batch_slot_drop(b, i);
	return 0;
}

int phx_batch_kill(struct phx_batch *b, uint64_t id)
{
	uint32_t i;
	int r = find_running(b, id, &i);
	if (r < 0)
		return r;
	phx_batch_leave(b, i);
	phx_batch_enter(b, i, PHX_BATCH_KILLING);
	return 0;
}

int phx_batch_killed(struct phx_batch *b, uint64_t id)
{
	uint32_t i;
	int r = find_running(b, id, &i);
	if (r < 0)
		return r;
	struct phx_batch_job *j = &b->jobs[i];
	if (j->state != PHX_BATCH_KILLING)
		return -EINVAL;
	stop(b, i);
	if (j->no_requeue) {
		phx_batch_slot_drop(b, i);
		return 0;
	}
	j->start_ms = 0;
	j->lost = 0;
	j->kills++;
	phx_batch_enter(b, i, PHX_BATCH_WAITING);
	return 1;
}

/* ---- nodes come and go ---- */

void phx_batch_give(struct phx_batch *b, uint32_t nodes)
{
	b->counts.idle += nodes;
	b->due = true;
}

int phx_batch_take(struct phx_batch *b, uint32_t nodes)
{
	if (nodes > b->counts.idle)
		return -ENOSPC;
	b->counts.idle -= nodes;
	b->due = true;
	return 0;
}

int phx_batch_lose_busy(struct phx_batch *b, uint64_t id, uint32_t nodes)
{
	uint32_t i;
	int r = find_running(b, id, &i);
	if (r < 0)
		return r;
	if (nodes > phx_batch_held(&b->jobs[i]))
		return -EINVAL;
	enum phx_batch_job_state state = (enum phx_batch_job_state)b->jobs[i].state;
	phx_batch_leave(b, i);
	b->jobs[i].lost += nodes;
	phx_batch_enter(b, i, state);
	return 0;
}

/* ---- a pass ---- */

/* Makes room for `more` ids; false: out of memory. */
static bool make_room(struct phx_list *ids, uint32_t more)
{
	if (more <= ids->cap - ids->n)
		return true;
	uint32_t cap = ids->cap > more ? ids->cap * 2 : ids->n + more;
	void *items = cap > ids->cap ? reallocarray(ids->items, cap, sizeof(uint64_t)) : NULL;
	if (!items)
		return false;
	ids->items = items;
	ids->cap = cap;
	return true;
}

int phx_batch_pass(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids)
{
	uint32_t root = b->classes ? b->waiting[__builtin_ctzll(b->classes)].root : 0,
		 idle = b->counts.idle;
	b->due = false;
	if (b->config.external || !root || b->nodes[root].min_size > idle)
		return 0;
	uint32_t most = idle / b->nodes[root].min_size;
	b->due = true;
	if (!make_room(ret_ids, most < b->counts.n_waiting ? most : b->counts.n_waiting))
		return -ENOMEM;
	b->scheduler.pass(b, now_ms, ret_ids);
	b->due = false;
	return 0;
}

bool phx_batch_pass_due(const struct phx_batch *b)
{
	return b->due;
}

/* ---- all jobs ---- */

static int by_id(const void *a, const void *b)
{
	uint64_t x = ((const struct phx_batch_job *)a)->id,
		 y = ((const struct phx_batch_job *)b)->id;
	return x < y ? -1 : x > y;
}

int phx_batch_jobs(const struct phx_batch *b, struct phx_list *ret_jobs)
{
	uint32_t n = ret_jobs->n;
	for (uint32_t k = 0; k < b->n_buckets; k++)
		for (uint32_t i = b->buckets[k]; i; i = b->chain[i]) {
			struct phx_batch_job *j = phx_list_push(ret_jobs, sizeof(*j));
			if (!j) {
				ret_jobs->n = n;
				return -ENOMEM;
			}
			*j = b->jobs[i];
		}
	if (ret_jobs->n > n)
		qsort(PHX_LIST_AT(ret_jobs, struct phx_batch_job, n), ret_jobs->n - n,
		      sizeof(struct phx_batch_job), by_id);
	return 0;
}
