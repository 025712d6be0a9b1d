/* What is going to happen, by time and, at one instant, in the order in which
 * it was planned: a binary heap. Called by fault.c alone. Pure. */
#include "fault/world.h"

#include <errno.h>

static bool before(const struct fault_item *a, const struct fault_item *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

int phx_fault_queue_add(struct fault_queue *q, const struct fault_item *it)
{
	if (q->n == q->cap) {
		uint32_t cap = q->cap ? q->cap * 2 : 1024;
		struct fault_item *grown = reallocarray(q->items, cap, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		q->items = grown;
		q->cap = cap;
	}
	struct fault_item mine = *it;
	mine.order = ++q->orders;
	uint32_t i = q->n++;
	while (i && before(&mine, &q->items[(i - 1) / 2])) {
		q->items[i] = q->items[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	q->items[i] = mine;
	return 0;
}

bool phx_fault_queue_take(struct fault_queue *q, struct fault_item *ret)
{
	if (!q->n)
		return false;
	*ret = q->items[0];
	struct fault_item last = q->items[--q->n];
	uint32_t i = 0;
	for (uint32_t child; (child = 2 * i + 1) < q->n; i = child) {
		if (child + 1 < q->n && before(&q->items[child + 1], &q->items[child]))
			child++;
		if (!before(&q->items[child], &last))
			break;
		q->items[i] = q->items[child];
	}
	q->items[i] = last;
	return true;
}

void phx_fault_queue_fini(struct fault_queue *q)
{
	free(q->items);
	*q = (struct fault_queue){ 0 };
}
