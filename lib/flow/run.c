/* Workflows that are being carried out: see run.h; the life of a task is in task_life.def. Pure. */
#include "flow/run.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const char *const state_names[] = {"waiting", "ready",  "running",
					  "done",    "failed", "skipped"};
const struct phx_enum phx_flow_task_state_names = {"state of a task", state_names,
						   PHX_ARRAY_SIZE(state_names)};
static const char *const status_names[] = {"active", "held",   "ending",
					   "done",   "failed", "cancelled"};
const struct phx_enum phx_flow_status_names = {"state of a workflow", status_names,
					       PHX_ARRAY_SIZE(status_names)};

/* No task is ready. */
#define NO_READY .first = {PHX_FLOW_NONE, PHX_FLOW_NONE}, .last = {PHX_FLOW_NONE, PHX_FLOW_NONE}

bool phx_flow_task_may(enum phx_flow_task_state from, enum phx_flow_task_state to)
{
	static const struct {
		enum phx_flow_task_state from, to;
	} life[] = {
#define TASK_LIFE(from, to) {PHX_FLOW_TASK_##from, PHX_FLOW_TASK_##to},
#include "flow/task_life.def"
#undef TASK_LIFE
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(life); i++)
		if (life[i].from == from && life[i].to == to)
			return true;
	return false;
}

/* ---- one task ---- */

/* Adds (`by` 1) what the task requires to the sums of ready tasks, or subtracts it (-1). */
static void count_ready(struct phx_flow_run *run, uint32_t task, int by)
{
	const struct phx_flow_task *t = &run->flow->tasks[task];
	if (phx_flow_is_wide(t))
		return;
	run->ready_cores += (uint64_t)by * t->cores;
	run->ready_bytes += (uint64_t)by * t->memory_bytes;
	run->n_whole += (uint32_t)by * (t->cores == 0);
}

static void push_ready(struct phx_flow_run *run, uint32_t task)
{
	struct phx_flow_run_task *t = &run->tasks[task];
	bool wide = phx_flow_is_wide(&run->flow->tasks[task]);
	count_ready(run, task, 1);
	t->prev = run->last[wide];
	t->next = PHX_FLOW_NONE;
	if (t->prev == PHX_FLOW_NONE)
		run->first[wide] = task;
	else
		run->tasks[t->prev].next = task;
	run->last[wide] = task;
}

static void drop_ready(struct phx_flow_run *run, uint32_t task)
{
	const struct phx_flow_run_task *t = &run->tasks[task];
	bool wide = phx_flow_is_wide(&run->flow->tasks[task]);
	count_ready(run, task, -1);
	if (t->prev == PHX_FLOW_NONE)
		run->first[wide] = t->next;
	else
		run->tasks[t->prev].next = t->next;
	if (t->next == PHX_FLOW_NONE)
		run->last[wide] = t->prev;
	else
		run->tasks[t->next].prev = t->prev;
}

/* The only place that writes a state. */
static void become(struct phx_flow_run *run, uint32_t task, enum phx_flow_task_state to)
{
	struct phx_flow_run_task *t = &run->tasks[task];
	assert(phx_flow_task_may((enum phx_flow_task_state)t->state, to));
	if (t->state == PHX_FLOW_TASK_READY)
		drop_ready(run, task);
	run->n[t->state]--;
	run->n[to]++;
	t->state = (uint8_t)to;
	if (to == PHX_FLOW_TASK_READY)
		push_ready(run, task);
}

static bool is_closed(const struct phx_flow_run *run)
{
	return run->stopped || run->cancelled;
}

static bool passes(const struct phx_flow_run *run, uint32_t task)
{
	return run->had && run->had[task].kind == PHX_FLOW_HAD_PASSES;
}

/* The task has nothing to wait for any more: it is ready, or goes before those of `top`: done
 * by themselves, they are linked by `next`, which otherwise only ready tasks use. */
static uint32_t come_up(struct phx_flow_run *run, uint32_t task, uint32_t top)
{
	if (passes(run, task)) {
		run->tasks[task].next = top;
		return task;
	}
	become(run, task, PHX_FLOW_TASK_READY);
	return top;
}

static uint32_t pop(const struct phx_flow_run *run, uint32_t *top)
{
	uint32_t first = *top;
	*top = first == PHX_FLOW_NONE ? first : run->tasks[first].next;
	return first;
}

/* Tasks that waited for this one only come up, and then those that waited for them alone and they
 * are done by themselves. */
static void finish(struct phx_flow_run *run, uint32_t task)
{
	uint32_t top = PHX_FLOW_NONE, at = task;
	do {
		become(run, at, PHX_FLOW_TASK_DONE);
		PHX_FLOW_EACH(c, run->flow, at, PHX_FLOW_CHILDREN)
		{
			struct phx_flow_run_task *child = &run->tasks[*c];
			if (--child->n_left == 0 && child->state == PHX_FLOW_TASK_WAITING)
				top = come_up(run, *c, top);
		}
		at = pop(run, &top);
	} while (at != PHX_FLOW_NONE);
}

/* Skips all tasks that depend on this one, also indirectly, each once. Those still to be visited
 * are linked by `next`, which otherwise only ready tasks use. */
static void skip_below(struct phx_flow_run *run, uint32_t task)
{
	uint32_t top = PHX_FLOW_NONE;
	for (uint32_t at = task; at != PHX_FLOW_NONE;) {
		PHX_FLOW_EACH(c, run->flow, at, PHX_FLOW_CHILDREN)
		{
			if (run->tasks[*c].state != PHX_FLOW_TASK_WAITING)
				continue;
			become(run, *c, PHX_FLOW_TASK_SKIPPED);
			run->tasks[*c].next = top;
			top = *c;
		}
		at = top;
		top = at == PHX_FLOW_NONE ? at : run->tasks[at].next;
	}
}

static void skip_rest(struct phx_flow_run *run)
{
	for (uint32_t i = 0; i < run->flow->n_tasks; i++)
		if (run->tasks[i].state == PHX_FLOW_TASK_WAITING ||
		    run->tasks[i].state == PHX_FLOW_TASK_READY)
			become(run, i, PHX_FLOW_TASK_SKIPPED);
}

/* ---- acts on a task ---- */

static int begin(struct phx_flow_run *run, uint32_t task)
{
	if (run->tasks[task].state == PHX_FLOW_TASK_RUNNING)
		return -EALREADY;
	if (run->tasks[task].state != PHX_FLOW_TASK_READY || run->held || is_closed(run))
		return -EINVAL;
	become(run, task, PHX_FLOW_TASK_RUNNING);
	return 0;
}

/* Only a running task can end; -EALREADY for a result that is reported twice. */
static int check_end(const struct phx_flow_run *run, uint32_t task)
{
	enum phx_flow_task_state state = (enum phx_flow_task_state)run->tasks[task].state;
	if (state == PHX_FLOW_TASK_RUNNING)
		return 0;
	return state == PHX_FLOW_TASK_DONE || state == PHX_FLOW_TASK_FAILED ? -EALREADY : -EINVAL;
}

static int done(struct phx_flow_run *run, uint32_t task)
{
	int r = check_end(run, task);
	if (r == 0)
		finish(run, task);
	return r;
}

static void fail_for_good(struct phx_flow_run *run, uint32_t task)
{
	become(run, task, PHX_FLOW_TASK_FAILED);
	if (is_closed(run))
		return;
	switch ((enum phx_flow_when_failed)run->flow->tasks[task].when_failed) {
	case PHX_FLOW_STOP:
		run->stopped = true;
		skip_rest(run);
		break;
	case PHX_FLOW_GO_ON:
		skip_below(run, task);
		break;
	case PHX_FLOW_HOLD:
		run->held = true;
		break;
	}
}

static int fail(struct phx_flow_run *run, uint32_t task)
{
	struct phx_flow_run_task *t = &run->tasks[task];
	int r = check_end(run, task);
	if (r < 0)
		return r;
	if (++t->n_failures > run->flow->tasks[task].retries)
		fail_for_good(run, task);
	else
		become(run, task, is_closed(run) ? PHX_FLOW_TASK_SKIPPED : PHX_FLOW_TASK_READY);
	return 0;
}

static int lose(struct phx_flow_run *run, uint32_t task)
{
	int r = check_end(run, task);
	if (r == 0)
		become(run, task, is_closed(run) ? PHX_FLOW_TASK_SKIPPED : PHX_FLOW_TASK_READY);
	return r;
}

/* ---- acts on the whole ---- */

static int hold(struct phx_flow_run *run, uint32_t task)
{
	(void)task;
	if (run->held || is_closed(run))
		return run->held ? -EALREADY : -EINVAL;
	run->held = true;
	return 0;
}

/* Tasks that depend on a failed one will not be done. */
static int release(struct phx_flow_run *run, uint32_t task)
{
	(void)task;
	if (!run->held)
		return -EALREADY;
	run->held = false;
	for (uint32_t i = 0; i < run->flow->n_tasks; i++)
		if (run->tasks[i].state == PHX_FLOW_TASK_FAILED)
			skip_below(run, i);
	return 0;
}

static int cancel(struct phx_flow_run *run, uint32_t task)
{
	(void)task;
	if (run->cancelled)
		return -EALREADY;
	run->cancelled = true;
	run->held = false;
	skip_rest(run);
	return 0;
}

static int resume(struct phx_flow_run *run, uint32_t task)
{
	(void)task;
	if (!is_closed(run) && !run->held && !run->n[PHX_FLOW_TASK_FAILED] &&
	    !run->n[PHX_FLOW_TASK_SKIPPED])
		return -EALREADY;
	run->held = run->stopped = run->cancelled = false;
	for (uint32_t i = 0; i < run->flow->n_tasks; i++) {
		struct phx_flow_run_task *t = &run->tasks[i];
		if (t->state != PHX_FLOW_TASK_FAILED && t->state != PHX_FLOW_TASK_SKIPPED)
			continue;
		t->n_failures = 0;
		become(run, i, t->n_left ? PHX_FLOW_TASK_WAITING : PHX_FLOW_TASK_READY);
	}
	return 0;
}

/* All that is done is undone at once, so that no task begins before those for which it waits are
 * known to be as they were. */
static void undo(struct phx_flow_run *run)
{
	const struct phx_flow *f = run->flow;
	for (uint32_t i = 0; i < f->n_tasks; i++) {
		if (run->tasks[i].state != PHX_FLOW_TASK_DONE)
			continue;
		PHX_FLOW_EACH(c, f, i, PHX_FLOW_CHILDREN)
		run->tasks[*c].n_left++;
		if (run->had[i].kind != PHX_FLOW_HAD_SUM || phx_flow_is_wide(&f->tasks[i]))
			run->had[i].kind = PHX_FLOW_HAD_PASSES;
	}
	for (uint32_t i = 0; i < f->n_tasks; i++)
		if (run->tasks[i].state == PHX_FLOW_TASK_DONE ||
		    (run->tasks[i].state == PHX_FLOW_TASK_READY && run->tasks[i].n_left))
			become(run, i, PHX_FLOW_TASK_WAITING);
}

static int check(struct phx_flow_run *run, uint32_t task)
{
	(void)task;
	if (run->n[PHX_FLOW_TASK_RUNNING])
		return -EBUSY;
	if (is_closed(run))
		return -EINVAL;
	if (!run->had)
		return -EALREADY;
	undo(run);
	for (uint32_t i = 0; i < run->flow->n_tasks; i++) {
		if (run->tasks[i].state != PHX_FLOW_TASK_WAITING || run->tasks[i].n_left)
			continue;
		if (passes(run, i))
			finish(run, i);
		else
			become(run, i, PHX_FLOW_TASK_READY);
	}
	return 0;
}

int phx_flow_run_act(struct phx_flow_run *run, enum phx_flow_act act, uint32_t task)
{
	static const struct {
		int (*act)(struct phx_flow_run *run, uint32_t task);
		bool of_all;
	} acts[] = {
		[PHX_FLOW_BEGIN] = {begin, false},  [PHX_FLOW_DONE] = {done, false},
		[PHX_FLOW_FAIL] = {fail, false},    [PHX_FLOW_LOSE] = {lose, false},
		[PHX_FLOW_HOLD_ALL] = {hold, true}, [PHX_FLOW_RELEASE] = {release, true},
		[PHX_FLOW_CANCEL] = {cancel, true}, [PHX_FLOW_RESUME] = {resume, true},
		[PHX_FLOW_CHECK] = {check, true},
	};
	if (!acts[act].of_all && task >= run->flow->n_tasks)
		return -EINVAL;
	return acts[act].act(run, task);
}

enum phx_flow_status phx_flow_run_status(const struct phx_flow_run *run)
{
	const uint32_t *n = run->n;
	bool more = n[PHX_FLOW_TASK_WAITING] || n[PHX_FLOW_TASK_READY];
	if (n[PHX_FLOW_TASK_DONE] == run->flow->n_tasks)
		return PHX_FLOW_COMPLETE;
	if (is_closed(run) && n[PHX_FLOW_TASK_RUNNING])
		return PHX_FLOW_ENDING;
	if (run->cancelled)
		return PHX_FLOW_CANCELLED;
	if (run->held)
		return PHX_FLOW_ON_HOLD;
	return more || n[PHX_FLOW_TASK_RUNNING] ? PHX_FLOW_ACTIVE : PHX_FLOW_BROKEN;
}

/* ---- outputs ---- */

static bool has_sum(const struct phx_flow_had *had)
{
	return had->kind == PHX_FLOW_HAD_SUM || had->kind == PHX_FLOW_HAD_STALE;
}

int phx_flow_run_note(struct phx_flow_run *run, uint32_t task, const char *sha256)
{
	const struct phx_flow *f = run->flow;
	struct phx_flow_had now = {.kind = sha256[0] ? PHX_FLOW_HAD_SUM : PHX_FLOW_HAD_NONE};
	if (sha256[0] && (!phx_is_sha256(sha256) || !phx_unhex(sha256, 32, now.sha256)))
		return -EINVAL;
	if (!run->had && (!sha256[0] || f->n_tasks > PHX_FLOW_HAD_MAX))
		return 0;
	if (!run->had && !(run->had = calloc(f->n_tasks, sizeof(*run->had))))
		return -ENOMEM;
	struct phx_flow_had *had = &run->had[task];
	bool same =
		sha256[0] && has_sum(had) && !memcmp(had->sha256, now.sha256, sizeof(now.sha256));
	*had = now;
	PHX_FLOW_EACH(c, f, task, PHX_FLOW_CHILDREN)
	if (!same)
		run->had[*c].kind = has_sum(&run->had[*c]) ? PHX_FLOW_HAD_STALE : PHX_FLOW_HAD_NONE;
	return 0;
}

void phx_flow_run_had(const struct phx_flow_run *run, uint32_t task, char ret[65])
{
	const struct phx_flow_had *had = run->had ? &run->had[task] : NULL;
	ret[0] = '\0';
	if (had && had->kind == PHX_FLOW_HAD_SUM && !phx_flow_is_wide(&run->flow->tasks[task]))
		phx_hex(had->sha256, sizeof(had->sha256), ret);
}

/* ---- beginning and end ---- */

/* Marks tasks as done whose outputs already exist, level by level: those for which they wait were
 * asked about before them. */
static int restart(struct phx_flow_run *run, bool (*is_done)(void *arg, uint32_t task), void *arg)
{
	const struct phx_flow *f = run->flow;
	PHX_AUTO_FREE uint32_t *queue = malloc(((size_t)f->n_tasks + 1) * sizeof(*queue));
	uint32_t head = 0, tail = 0;
	if (!queue)
		return -ENOMEM;
	for (int wide = 0; wide < 2; wide++)
		for (uint32_t i = run->first[wide]; i != PHX_FLOW_NONE; i = run->tasks[i].next)
			queue[tail++] = i;
	for (; head < tail; head++) {
		if (!is_done(arg, queue[head]))
			continue;
		finish(run, queue[head]);
		PHX_FLOW_EACH(c, f, queue[head], PHX_FLOW_CHILDREN)
		if (run->tasks[*c].state == PHX_FLOW_TASK_READY)
			queue[tail++] = *c;
	}
	return 0;
}

int phx_flow_run_init(const struct phx_flow *flow, bool (*is_done)(void *arg, uint32_t task),
		      void *arg, struct phx_flow_run *ret)
{
	struct phx_flow_run run = {.flow = flow, NO_READY};
	run.tasks = calloc((size_t)flow->n_tasks + 1, sizeof(*run.tasks));
	if (!run.tasks)
		return -ENOMEM;
	run.n[PHX_FLOW_TASK_WAITING] = flow->n_tasks;
	for (uint32_t i = 0; i < flow->n_tasks; i++) {
		phx_flow_list(flow, i, PHX_FLOW_PARENTS, &run.tasks[i].n_left);
		if (!run.tasks[i].n_left)
			become(&run, i, PHX_FLOW_TASK_READY);
	}
	int r = is_done ? restart(&run, is_done, arg) : 0;
	if (r < 0)
		phx_flow_run_fini(&run);
	else
		*ret = run;
	return r;
}

/* Counts the states, and for each task its unfinished parents. -EINVAL: a state is impossible. */
static int count(struct phx_flow_run *run)
{
	for (uint32_t i = 0; i < run->flow->n_tasks; i++) {
		struct phx_flow_run_task *t = &run->tasks[i];
		if (t->state >= PHX_FLOW_TASK_STATES)
			return -EINVAL;
		run->n[t->state]++;
		t->n_left = 0;
		PHX_FLOW_EACH(p, run->flow, i, PHX_FLOW_PARENTS)
		t->n_left += run->tasks[*p].state != PHX_FLOW_TASK_DONE;
		bool waits = t->state == PHX_FLOW_TASK_WAITING;
		if (waits != (t->n_left > 0) && t->state != PHX_FLOW_TASK_SKIPPED)
			return -EINVAL;
		t->prev = t->next = PHX_FLOW_NONE;
	}
	return 0;
}

int phx_flow_run_restore(const struct phx_flow *flow, struct phx_flow_run_task *tasks,
			 const uint32_t *ready, uint32_t n_ready, struct phx_flow_run *ret)
{
	struct phx_flow_run run = {.flow = flow, .tasks = tasks, NO_READY};
	int r = count(&run);
	r = r == 0 && n_ready != run.n[PHX_FLOW_TASK_READY] ? -EINVAL : r;
	for (uint32_t i = 0; r == 0 && i < n_ready; i++) {
		uint32_t task = ready[i];
		bool good = task < flow->n_tasks && tasks[task].state == PHX_FLOW_TASK_READY &&
			tasks[task].prev == PHX_FLOW_NONE && run.first[0] != task &&
			run.first[1] != task;
		if (good)
			push_ready(&run, task);
		else
			r = -EINVAL;
	}
	if (r < 0)
		phx_flow_run_fini(&run);
	else
		*ret = run;
	return r;
}

void phx_flow_run_fini(struct phx_flow_run *run)
{
	if (!run)
		return;
	free(run->tasks);
	free(run->had);
	*run = (struct phx_flow_run){0};
}
