/* FCFS without waiting: tasks share nodes (see nowait.h). Called by the model of the
 * IaaS study; reads no clock.
 *
 * Each node has a clock of its own, which shows the work done for every task on
 * the node: with n tasks it goes at 1/n of real time. A task ends when the clock
 * has gone on by the task's work since the task came. Each node has a heap of its
 * tasks by their ends; a heap of busy nodes says which task ends next. */
#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "batch/nowait.h"

enum { PART_BITS = 10 }; /* a node's clock counts 1/1024 ms */

struct task {
	uint64_t id, seq; /* seq: order of placement, for ends at one instant */
	int64_t end;      /* on the clock of the node */
	int64_t work_ms;
};

struct node {
	struct phx_list heap; /* struct task, the first to end on top */
	int64_t clock;        /* work done for each task, 1/1024 ms */
	int64_t at_ms;        /* when the clock was read */
	int64_t next_ms;      /* when its first task ends, while it has any */
	uint32_t rank;        /* its place in the heap of busy nodes, while it has any */
	bool there;
};

struct phx_nowait {
	struct phx_list nodes; /* indexed by number */
	struct phx_list free;  /* a bit a node, 64 a word: the node is there and has no task */
	struct phx_list
		/* uint32_t: heap of the n_busy nodes with tasks, the next to end one on top; room
		 * for all */
		busy;
	uint32_t n_busy;
	struct phx_list unplaced; /* struct task */
	uint64_t seq;
	uint32_t round; /* the round robin continues at this node, or the next existing one */
};

int phx_nowait_new(struct phx_nowait **ret)
{
	struct phx_nowait *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	*ret = w;
	return 0;
}

void phx_nowait_free(struct phx_nowait *w)
{
	if (!w)
		return;
	PHX_LIST_EACH(struct node, n, &w->nodes) {
		phx_list_fini(&n->heap);
	}
	phx_list_fini(&w->nodes);
	phx_list_fini(&w->free);
	phx_list_fini(&w->busy);
	phx_list_fini(&w->unplaced);
	free(w);
}

static struct node *find(const struct phx_nowait *w, uint32_t node)
{
	struct node *n = node < w->nodes.n ? PHX_LIST_AT(&w->nodes, struct node, node) : NULL;
	return n && n->there ? n : NULL;
}

static void set_free(struct phx_nowait *w, uint32_t node, bool is_free)
{
	uint64_t *word = PHX_LIST_AT(&w->free, uint64_t, node / 64), bit = UINT64_C(1) << node % 64;
	*word = is_free ? *word | bit : *word & ~bit;
}

/* Makes room for one more node in all three lists. */
static int grow(struct phx_nowait *w)
{
	if (w->free.n * 64 <= w->nodes.n && !phx_list_push(&w->free, sizeof(uint64_t)))
		return -ENOMEM;
	if (w->busy.n <= w->nodes.n && !phx_list_push(&w->busy, sizeof(uint32_t)))
		return -ENOMEM;
	return phx_list_push(&w->nodes, sizeof(struct node)) ? 0 : -ENOMEM;
}

int phx_nowait_give(struct phx_nowait *w, uint32_t node)
{
	if (find(w, node))
		return -EEXIST;
	while (node >= w->nodes.n)
		if (grow(w))
			return -ENOMEM;
	PHX_LIST_AT(&w->nodes, struct node, node)->there = true;
	set_free(w, node, true);
	return 0;
}

int phx_nowait_take(struct phx_nowait *w, uint32_t node)
{
	struct node *n = find(w, node);
	if (!n)
		return -ENOENT;
	if (n->heap.n)
		return -EBUSY;
	n->there = false;
	set_free(w, node, false);
	return 0;
}

/* ---- the tasks of a node ---- */

static bool earlier(const struct task *a, const struct task *b)
{
	return a->end != b->end ? a->end < b->end : a->seq < b->seq;
}
PHX_HEAP(task, struct task, earlier)

/* Brings the clock of a node to now. */
static void advance(struct node *n, int64_t now_ms)
{
	if (n->heap.n)
		n->clock += ((now_ms - n->at_ms) << PART_BITS) / n->heap.n;
	n->at_ms = now_ms;
}

/* When the first task of a node ends; its clock then shows at least the task's end. */
static int64_t first_end_ms(const struct node *n)
{
	const struct task *first = task_top(&n->heap);
	int64_t left = (first->end - n->clock) * n->heap.n;
	return n->at_ms + ((left + (1 << PART_BITS) - 1) >> PART_BITS);
}

/* ---- the busy nodes, by their next end ---- */

static bool sooner(const struct phx_nowait *w, const uint32_t *a, const uint32_t *b)
{
	const struct node *nodes = w->nodes.items;
	return nodes[*a].next_ms != nodes[*b].next_ms ? nodes[*a].next_ms < nodes[*b].next_ms
						      : *a < *b;
}

static void note_rank(struct phx_nowait *w, const uint32_t *node, uint32_t rank)
{
	PHX_LIST_AT(&w->nodes, struct node, *node)->rank = rank;
}
PHX_HEAP_SETTLE(busy, struct phx_nowait *, uint32_t, sooner, note_rank)

/* Keeps both heaps right after the tasks of a node changed; it had `before` tasks. */
static void reorder(struct phx_nowait *w, uint32_t number, uint32_t before)
{
	struct node *n = PHX_LIST_AT(&w->nodes, struct node, number);
	uint32_t *busy = w->busy.items;
	if (n->heap.n) {
		n->next_ms = first_end_ms(n);
		w->n_busy += !before;
		busy_settle(w, busy, w->n_busy, before ? n->rank : w->n_busy - 1, number);
	} else if (before && n->rank < --w->n_busy) {
		busy_settle(w, busy, w->n_busy, n->rank, busy[w->n_busy]);
	}
	set_free(w, number, n->there && !n->heap.n);
}

/* ---- tasks come and end ---- */

int phx_nowait_submit(struct phx_nowait *w, uint64_t id, int64_t work_ms)
{
	if (work_ms < 0 || work_ms > PHX_NOWAIT_WORK_MAX_MS)
		return -EINVAL;
	struct task *t = phx_list_push(&w->unplaced, sizeof(*t));
	if (!t)
		return -ENOMEM;
	*t = (struct task){.id = id, .work_ms = work_ms};
	return 0;
}

/* The free node with the lowest number, else the next node of the round robin; UINT32_MAX: there is
 * no node. */
static uint32_t choose(struct phx_nowait *w)
{
	const struct node *nodes = w->nodes.items;
	const uint64_t *bits = w->free.items;
	for (uint32_t i = 0; i < w->free.n; i++)
		if (bits[i])
			return i * 64 + (uint32_t)__builtin_ctzll(bits[i]);
	for (uint32_t step = 0; step < w->nodes.n; step++) {
		uint32_t i = (uint32_t)(((uint64_t)w->round + step) % w->nodes.n);
		if (nodes[i].there) {
			w->round = i + 1;
			return i;
		}
	}
	return UINT32_MAX;
}

static int place(struct phx_nowait *w, uint32_t number, const struct task *task, int64_t now_ms)
{
	struct node *n = PHX_LIST_AT(&w->nodes, struct node, number);
	if (n->heap.n >= PHX_NOWAIT_SHARE_MAX)
		return -ENOSPC;
	advance(n, now_ms);
	struct task t = *task;
	t.seq = w->seq;
	t.end = n->clock + (task->work_ms << PART_BITS);
	if (task_push(&n->heap, t) < 0)
		return -ENOMEM;
	w->seq++;
	reorder(w, number, n->heap.n - 1);
	return 0;
}

/* Places one task and appends it to ret_placed; 1 when there is no node. */
static int place_next(struct phx_nowait *w, uint32_t i, int64_t now_ms, struct phx_list *ret_placed)
{
	const struct task *task = PHX_LIST_AT(&w->unplaced, struct task, i);
	uint32_t number = choose(w);
	if (number == UINT32_MAX)
		return 1;
	struct phx_nowait_task *told = phx_list_push(ret_placed, sizeof(*told));
	if (!told)
		return -ENOMEM;
	*told = (struct phx_nowait_task){task->id, number};
	int r = place(w, number, task, now_ms);
	if (r)
		ret_placed->n--;
	return r;
}

int phx_nowait_pass(struct phx_nowait *w, int64_t now_ms, struct phx_list *ret_placed)
{
	uint32_t done = 0;
	int r = 0;
	while (done < w->unplaced.n && !(r = place_next(w, done, now_ms, ret_placed)))
		done++;
	if (done) {
		struct task *left = w->unplaced.items;
		memmove(left, left + done, (w->unplaced.n - done) * sizeof(*left));
		w->unplaced.n -= done;
	}
	return r < 0 ? r : 0;
}

int64_t phx_nowait_next_ms(const struct phx_nowait *w)
{
	if (!w->n_busy)
		return INT64_MAX;
	return PHX_LIST_AT(&w->nodes, struct node, *PHX_LIST_AT(&w->busy, uint32_t, 0))->next_ms;
}

/* Takes tasks off a node that have ended by its clock. */
static int end_tasks(struct phx_nowait *w, uint32_t number, int64_t now_ms,
		     struct phx_list *ret_ended)
{
	struct node *n = PHX_LIST_AT(&w->nodes, struct node, number);
	uint32_t before = n->heap.n;
	int r = 0;
	advance(n, now_ms);
	while (n->heap.n && task_top(&n->heap)->end <= n->clock) {
		struct phx_nowait_task *told = phx_list_push(ret_ended, sizeof(*told));
		if (!told) {
			r = -ENOMEM;
			break;
		}
		*told = (struct phx_nowait_task){task_pop(&n->heap).id, number};
	}
	reorder(w, number, before);
	return r;
}

int phx_nowait_ended(struct phx_nowait *w, int64_t now_ms, struct phx_list *ret_ended)
{
	int r = 0;
	while (!r && phx_nowait_next_ms(w) <= now_ms)
		r = end_tasks(w, *PHX_LIST_AT(&w->busy, uint32_t, 0), now_ms, ret_ended);
	return r;
}

uint32_t phx_nowait_load(const struct phx_nowait *w, uint32_t node)
{
	const struct node *n = find(w, node);
	return n ? n->heap.n : 0;
}

uint32_t phx_nowait_unplaced(const struct phx_nowait *w)
{
	return w->unplaced.n;
}
