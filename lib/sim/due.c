/* The heap of what will happen in a run. Called by run.c for each start of a
 * job; never allocates but to grow. */
#include <errno.h>

#include "sim/due.h"

static bool before(const struct phx_sim_due *a, const struct phx_sim_due *b)
{
	if (a->at_ms != b->at_ms)
		return a->at_ms < b->at_ms;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	if (a->cluster != b->cluster)
		return a->cluster < b->cluster;
	if (a->to != b->to)
		return a->to < b->to;
	if (a->from != b->from)
		return a->from < b->from;
	return a->job != b->job ? a->job < b->job : a->run < b->run;
}

int phx_sim_due_push(struct phx_sim_dues *d, struct phx_sim_due due)
{
	if (d->n == d->cap) {
		size_t cap = d->cap ? 2 * d->cap : 256;
		struct phx_sim_due *heap = reallocarray(d->heap, cap, sizeof(*heap));
		if (!heap)
			return -ENOMEM;
		d->heap = heap;
		d->cap = cap;
	}
	size_t at = d->n++;
	while (at && before(&due, &d->heap[(at - 1) / 2])) {
		d->heap[at] = d->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	d->heap[at] = due;
	return 0;
}

struct phx_sim_due phx_sim_due_pop(struct phx_sim_dues *d)
{
	struct phx_sim_due top = d->heap[0], last = d->heap[--d->n];
	size_t at = 0;
	for (size_t child; (child = 2 * at + 1) < d->n; at = child) {
		if (child + 1 < d->n && before(&d->heap[child + 1], &d->heap[child]))
			child++;
		if (!before(&d->heap[child], &last))
			break;
		d->heap[at] = d->heap[child];
	}
	if (d->n)
		d->heap[at] = last;
	return top;
}

void phx_sim_due_fini(struct phx_sim_dues *d)
{
	free(d->heap);
	*d = (struct phx_sim_dues){0};
}
