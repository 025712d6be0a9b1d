/* A manager that is slow and plain: jobs in an array, every pass and every choice by looking at all
 * of them, in the words of policies.md. What lib/batch is compared with. */
#ifndef TEST_BATCH_NAIVE_H
#define TEST_BATCH_NAIVE_H

#include <assert.h>
#include <string.h>

#include "batch/batch.h"

#define NAIVE_MAX 400

struct naive {
	struct phx_batch_config config;
	struct phx_batch_job jobs[NAIVE_MAX];
	uint32_t n, idle;
};

static inline struct phx_batch_job *naive_job(struct naive *m, uint64_t id)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->jobs[i].id == id)
			return &m->jobs[i];
	return NULL;
}

static inline void naive_drop(struct naive *m, struct phx_batch_job *j)
{
	*j = m->jobs[--m->n];
}

/* Is x looked at before y? */
static inline bool naive_queue_before(const struct naive *m, const struct phx_batch_job *x,
				      const struct phx_batch_job *y)
{
	if (m->config.scheduler == PHX_SCHEDULER_sjf && x->estimate_ms != y->estimate_ms) {
		if (x->estimate_ms < 0 || y->estimate_ms < 0)
			return y->estimate_ms < 0;
		return x->estimate_ms < y->estimate_ms;
	}
	return x->submit_ms != y->submit_ms ? x->submit_ms < y->submit_ms : x->id < y->id;
}

/* Is x killed before y? */
static inline bool naive_kill_before(const struct naive *m, const struct phx_batch_job *x,
				     const struct phx_batch_job *y)
{
	switch ((enum phx_kill_order)m->config.kill_order) {
	case PHX_KILL_ORDER_smallest_latest:
		if (x->size != y->size)
			return x->size < y->size;
		break;
	case PHX_KILL_ORDER_latest:
		break;
	case PHX_KILL_ORDER_smallest:
		return x->size != y->size ? x->size < y->size : x->id > y->id;
	case PHX_KILL_ORDER_largest:
		if (x->size != y->size)
			return x->size > y->size;
		break;
	case PHX_KILL_ORDER_COUNT_:
		assert(0);
	}
	return x->start_ms != y->start_ms ? x->start_ms > y->start_ms : x->id > y->id;
}

/* The jobs of one state in an order, by selection sort. */
static inline uint32_t naive_sorted(struct naive *m, int state, bool kill,
				    struct phx_batch_job **ret)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < m->n; i++)
		if (m->jobs[i].state == state)
			ret[n++] = &m->jobs[i];
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = i + 1; k < n; k++)
			if (kill ? naive_kill_before(m, ret[k], ret[i])
				 : naive_queue_before(m, ret[k], ret[i])) {
				struct phx_batch_job *t = ret[i];
				ret[i] = ret[k];
				ret[k] = t;
			}
	return n;
}

/* Idle nodes at `time` if those that run keep to their estimates. */
static inline uint32_t naive_idle_at(const struct naive *m, int64_t time)
{
	uint32_t idle = m->idle;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct phx_batch_job *j = &m->jobs[i];
		if (j->state == PHX_BATCH_RUNNING && j->estimate_ms >= 0 &&
		    j->start_ms + j->estimate_ms <= time)
			idle += j->size - j->lost;
	}
	return idle;
}

/* The earliest end at which `size` nodes are idle, INT64_MAX when there is none. */
static inline int64_t naive_shadow(const struct naive *m, uint32_t size)
{
	int64_t best = INT64_MAX;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct phx_batch_job *j = &m->jobs[i];
		int64_t end = j->start_ms + j->estimate_ms;
		if (j->state == PHX_BATCH_RUNNING && j->estimate_ms >= 0 && end < best &&
		    naive_idle_at(m, end) >= size)
			best = end;
	}
	return best;
}

/* May j start without delaying `head`? By what EASY promises, not by how it is computed: with j
 * running, would the head still find its nodes at the shadow time? */
static inline bool naive_harmless(struct naive *m, const struct phx_batch_job *head,
				  struct phx_batch_job *j, int64_t now)
{
	int64_t shadow = naive_shadow(m, head->size);
	if (shadow == INT64_MAX)
		return j->estimate_ms >= 0;
	struct phx_batch_job before = *j;
	m->idle -= j->size;
	j->state = PHX_BATCH_RUNNING;
	j->start_ms = now;
	bool fine = naive_idle_at(m, shadow) >= head->size;
	*j = before;
	m->idle += j->size;
	return fine;
}

/* Ids of those started, in order; returns how many. */
static inline uint32_t naive_pass(struct naive *m, int64_t now, uint64_t *ret_ids)
{
	struct phx_batch_job *queue[NAIVE_MAX], *head = NULL;
	uint32_t n = naive_sorted(m, PHX_BATCH_WAITING, false, queue), started = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct phx_batch_job *j = queue[i];
		bool may = j->size <= m->idle;
		if (m->config.scheduler == PHX_SCHEDULER_easy && head)
			may = may && naive_harmless(m, head, j, now);
		else if (m->config.scheduler != PHX_SCHEDULER_first_fit)
			may = may && !head;
		if (!may) {
			head = head ? head : j;
			continue;
		}
		m->idle -= j->size;
		j->state = PHX_BATCH_RUNNING;
		j->start_ms = now;
		ret_ids[started++] = j->id;
	}
	return started;
}

static inline uint32_t naive_victims(struct naive *m, uint32_t nodes, uint64_t *ret_ids)
{
	struct phx_batch_job *order[NAIVE_MAX];
	uint32_t n = naive_sorted(m, PHX_BATCH_RUNNING, true, order), sum = 0, chosen = 0;
	for (uint32_t i = 0; i < n && sum < nodes; i++) {
		if (order[i]->size == order[i]->lost)
			continue;
		sum += order[i]->size - order[i]->lost;
		ret_ids[chosen++] = order[i]->id;
	}
	return chosen;
}

static inline void naive_counts(const struct naive *m, struct phx_batch_counts *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->idle = m->idle;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct phx_batch_job *j = &m->jobs[i];
		bool runs = j->state == PHX_BATCH_RUNNING || j->state == PHX_BATCH_KILLING;
		ret->busy += runs ? j->size - j->lost : 0;
		ret->killing += j->state == PHX_BATCH_KILLING ? j->size - j->lost : 0;
		ret->n_running += j->state == PHX_BATCH_RUNNING;
		ret->n_held += j->state == PHX_BATCH_HELD;
		ret->n_blocked += j->state == PHX_BATCH_BLOCKED;
		if (j->state != PHX_BATCH_WAITING)
			continue;
		ret->n_waiting++;
		ret->waiting_nodes += j->size;
		ret->waiting_biggest =
			j->size > ret->waiting_biggest ? j->size : ret->waiting_biggest;
	}
}

#endif
