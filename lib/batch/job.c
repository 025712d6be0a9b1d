/* Lets one job of a manager enter and leave a state, and keeps counts and trees
 * right. Called by batch.c, and by the schedulers for a job that starts. Decides
 * nothing. */
#include "batch/internal.h"

static const char *const job_states[] = {"blocked", "held", "waiting", "running", "killing"};
const struct phx_enum phx_batch_job_state_names = {"job state", job_states,
						   PHX_ARRAY_SIZE(job_states)};

PHX_RECORD_TABLE(phx_batch_job, PHX_BATCH_JOB_FIELDS);

/* When a running job should end by its estimate: at most INT64_MAX - 1; INT64_MAX when unknown. */
static int64_t expected_end(const struct phx_batch_job *j)
{
	int64_t end;
	if (j->estimate_ms < 0)
		return INT64_MAX;
	return __builtin_add_overflow(j->start_ms, j->estimate_ms, &end) || end == INT64_MAX
		? INT64_MAX - 1
		: end;
}

static void enter_waiting(struct phx_batch *b, uint32_t i)
{
	const struct phx_batch_job *j = &b->jobs[i];
	b->scheduler.order(j, &b->nodes[i]);
	b->nodes[i].size = j->size;
	b->nodes[i].estimate = phx_batch_estimate(j);
	uint32_t class = phx_batch_class(b, j->size);
	phx_batch_tree_insert(&b->waiting[class], i);
	b->classes |= 1ull << class;
	b->counts.waiting_nodes += j->size;
	b->counts.n_waiting++;
}

static void leave_waiting(struct phx_batch *b, uint32_t i)
{
	uint32_t class = phx_batch_class(b, b->jobs[i].size);
	phx_batch_tree_erase(&b->waiting[class], i);
	if (!b->waiting[class].root)
		b->classes &= ~(1ull << class);
	b->counts.waiting_nodes -= b->jobs[i].size;
	b->counts.n_waiting--;
}

static void enter_running(struct phx_batch *b, uint32_t i)
{
	const struct phx_batch_job *j = &b->jobs[i];
	phx_batch_order_kill((enum phx_kill_order)b->config.kill_order, j, &b->nodes[i]);
	phx_batch_tree_insert(&b->running, i);
	if (b->end_nodes && j->estimate_ms >= 0) {
		struct phx_batch_node *n = &b->end_nodes[i];
		n->a = expected_end(j);
		n->b = 0;
		n->c = j->id;
		n->size = phx_batch_held(j);
		phx_batch_tree_insert(&b->ends, i);
	}
	b->counts.busy += phx_batch_held(j);
	b->counts.n_running++;
}

static void leave_running(struct phx_batch *b, uint32_t i)
{
	const struct phx_batch_job *j = &b->jobs[i];
	phx_batch_tree_erase(&b->running, i);
	if (b->end_nodes && j->estimate_ms >= 0)
		phx_batch_tree_erase(&b->ends, i);
	b->counts.busy -= phx_batch_held(j);
	b->counts.n_running--;
}

/* Nodes of a killing job are still busy. */
static void count_killing(struct phx_batch *b, uint32_t i, int sign)
{
	uint32_t held = phx_batch_held(&b->jobs[i]);
	b->counts.busy += sign > 0 ? held : -held;
	b->counts.killing += sign > 0 ? held : -held;
}

void phx_batch_enter(struct phx_batch *b, uint32_t i, enum phx_batch_job_state state)
{
	b->jobs[i].state = (int)state;
	b->due = true;
	switch (state) {
	case PHX_BATCH_BLOCKED:
		b->counts.n_blocked++;
		break;
	case PHX_BATCH_HELD:
		b->counts.n_held++;
		break;
	case PHX_BATCH_WAITING:
		enter_waiting(b, i);
		break;
	case PHX_BATCH_RUNNING:
		enter_running(b, i);
		break;
	case PHX_BATCH_KILLING:
		count_killing(b, i, 1);
		break;
	}
}

void phx_batch_leave(struct phx_batch *b, uint32_t i)
{
	b->due = true;
	switch ((enum phx_batch_job_state)b->jobs[i].state) {
	case PHX_BATCH_BLOCKED:
		b->counts.n_blocked--;
		break;
	case PHX_BATCH_HELD:
		b->counts.n_held--;
		break;
	case PHX_BATCH_WAITING:
		leave_waiting(b, i);
		break;
	case PHX_BATCH_RUNNING:
		leave_running(b, i);
		break;
	case PHX_BATCH_KILLING:
		count_killing(b, i, -1);
		break;
	}
}

void phx_batch_start(struct phx_batch *b, uint32_t i, int64_t now_ms, struct phx_list *ret_ids)
{
	struct phx_batch_job *j = &b->jobs[i];
	phx_batch_leave(b, i);
	b->counts.idle -= j->size;
	j->start_ms = now_ms;
	phx_batch_enter(b, i, PHX_BATCH_RUNNING);
	((uint64_t *)ret_ids->items)[ret_ids->n++] = j->id;
}
