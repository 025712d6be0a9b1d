/* See result_queue.h. */
#include "agent/result_queue.h"

#include <errno.h>

#include "agent/decide.h"

void result_queue_init(struct result_queue *q)
{
	*q = (struct result_queue){.retry_ms = RESULT_RETRY_MS};
}

void result_queue_open(struct result_queue *q)
{
	q->open = true;
}

int result_queue_put(struct result_queue *q, struct result_subject about, void *body)
{
	struct result_item *it = phx_list_push(&q->items, sizeof(*it));
	if (it)
		*it = (struct result_item){about, body};
	return it ? 0 : -ENOMEM;
}

bool result_queue_begin(struct result_queue *q)
{
	if (!q->open || q->sends || q->waits || !q->items.n)
		return false;
	q->sends = true;
	return true;
}

uint32_t result_queue_put_off(struct result_queue *q)
{
	q->sends = false;
	q->waits = true;
	return RESULT_RETRY_MS;
}

bool result_queue_first(struct result_queue *q, struct result_item *ret)
{
	q->sends = q->items.n;
	if (q->sends)
		*ret = *PHX_LIST_AT(&q->items, struct result_item, 0);
	return q->sends;
}

uint32_t result_queue_answered(struct result_queue *q, int r)
{
	uint32_t wait_ms = q->retry_ms;
	if (!decide_again(r)) {
		q->retry_ms = RESULT_RETRY_MS;
		return 0;
	}
	q->sends = false;
	q->waits = true;
	q->retry_ms = 2 * wait_ms > RESULT_RETRY_MAX_MS ? RESULT_RETRY_MAX_MS : 2 * wait_ms;
	return wait_ms;
}

void result_queue_drop(struct result_queue *q)
{
	phx_list_remove(&q->items, sizeof(struct result_item), 0);
}

void result_queue_due(struct result_queue *q)
{
	q->waits = false;
}

bool result_queue_has_step(const struct result_queue *q, uint64_t id)
{
	PHX_LIST_EACH(struct result_item, it, &q->items)
		if (!it->about.is_job && !it->about.is_tasks && it->about.id == id)
			return true;
	return false;
}

uint32_t result_queue_list(const struct result_queue *q, bool jobs, struct result_subject *ret,
			   uint32_t max)
{
	uint32_t n = 0;
	PHX_LIST_EACH(struct result_item, it, &q->items) {
		if (it->about.is_job != jobs || it->about.is_tasks)
			continue;
		if (n < max)
			ret[n] = it->about;
		n++;
	}
	return n;
}
