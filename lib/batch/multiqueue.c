/* Several queues, one for each range of run times: see multiqueue.h. Called by the
 * model of the IaaS study; a job never moves between ranges. */
#include <errno.h>

#include "batch/multiqueue.h"

struct phx_multiqueue {
	struct phx_multiqueue_config config;
	struct phx_batch *part[PHX_MULTIQUEUE_MAX];
};

static int check(const struct phx_multiqueue_config *config, struct phx_err *err)
{
	if (!config->n || config->n > PHX_MULTIQUEUE_MAX)
		return phx_err_set(err, -EINVAL, "%u queues: from 1 to %d are possible", config->n,
				   PHX_MULTIQUEUE_MAX);
	for (uint32_t i = 0; i + 1 < config->n; i++)
		if (config->cut_ms[i] < 0 || (i && config->cut_ms[i] <= config->cut_ms[i - 1]))
			return phx_err_set(err, -EINVAL,
					   "cut %u between queues, %lld ms: cuts rise from 0 on",
					   i + 1, (long long)config->cut_ms[i]);
	return 0;
}

int phx_multiqueue_new(const struct phx_multiqueue_config *config, struct phx_multiqueue **ret,
		       struct phx_err *err)
{
	int r = check(config, err);
	if (r)
		return r;
	struct phx_multiqueue *q = calloc(1, sizeof(*q));
	if (!q)
		return phx_err_set(err, -ENOMEM, "out of memory");
	q->config = *config;
	const struct phx_batch_config part = {.scheduler = config->scheduler};
	for (uint32_t i = 0; i < config->n && !r; i++)
		r = phx_batch_new(&part, &q->part[i]);
	if (r) {
		phx_multiqueue_free(q);
		return phx_err_set(err, r, "out of memory");
	}
	*ret = q;
	return 0;
}

void phx_multiqueue_free(struct phx_multiqueue *q)
{
	if (!q)
		return;
	for (uint32_t i = 0; i < q->config.n; i++)
		phx_batch_free(q->part[i]);
	free(q);
}

uint32_t phx_multiqueue_range(const struct phx_multiqueue *q, int64_t estimate_ms)
{
	uint32_t range = 0, last = q->config.n - 1;
	if (estimate_ms < 0)
		return last;
	while (range < last && estimate_ms > q->config.cut_ms[range])
		range++;
	return range;
}

struct phx_batch *phx_multiqueue_part(const struct phx_multiqueue *q, uint32_t range)
{
	return q->part[range];
}

static struct phx_batch *part_of(const struct phx_multiqueue *q, uint64_t id)
{
	for (uint32_t i = 0; i < q->config.n; i++)
		if (phx_batch_job(q->part[i], id))
			return q->part[i];
	return NULL;
}

int phx_multiqueue_submit(struct phx_multiqueue *q, const struct phx_batch_job *job)
{
	if (part_of(q, job->id))
		return -EEXIST;
	return phx_batch_submit(q->part[phx_multiqueue_range(q, job->estimate_ms)], job);
}

int phx_multiqueue_ended(struct phx_multiqueue *q, uint64_t id)
{
	struct phx_batch *part = part_of(q, id);
	return part ? phx_batch_ended(part, id) : -ENOENT;
}

int phx_multiqueue_pass(struct phx_multiqueue *q, int64_t now_ms, struct phx_list *ret_ids)
{
	int r = 0;
	for (uint32_t i = 0; i < q->config.n && !r; i++)
		r = phx_batch_pass(q->part[i], now_ms, ret_ids);
	return r;
}
