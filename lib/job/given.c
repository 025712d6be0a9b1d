/* Tasks on nodes: they are given to a node or several, or lost with it; and how a run of a workflow
 * follows its tasks. Called by workers.c, wide.c, flowruns.c, and by parts.c when a worker ends;
 * calls none of them. Pure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "job/internal.h"
#include "state/crew.h"

/* Makes the node's agent fetch its orders; once an event, since it fetches all of them. */
static void tell(struct phx_apply *a, const struct phx_node *n)
{
	struct phx_crew_node *c = phx_crew_node(a->s, n);
	if (!c || c->told_seq == a->s->seq + 1)
		return;
	c->told_seq = a->s->seq + 1;
	phx_act(a, PHX_ACT_ORDER, n);
}

static const char *end_of(enum phx_flow_status status)
{
	static const char *const texts[] = {
		[PHX_FLOW_COMPLETE] = "all its tasks are done",
		[PHX_FLOW_BROKEN] = "it has failed",
		[PHX_FLOW_CANCELLED] = "it was cancelled",
	};
	return (size_t)status < PHX_ARRAY_SIZE(texts) ? texts[status] : NULL;
}

void phx_flowrun_settle(struct phx_apply *a, struct phx_flowrun *w)
{
	const uint32_t *n = w->live->run.n;
	w->n_waiting = n[PHX_FLOW_TASK_WAITING];
	w->n_ready = n[PHX_FLOW_TASK_READY];
	w->n_running = n[PHX_FLOW_TASK_RUNNING];
	w->n_done = n[PHX_FLOW_TASK_DONE];
	w->n_failed = n[PHX_FLOW_TASK_FAILED];
	w->n_skipped = n[PHX_FLOW_TASK_SKIPPED];
	w->status = (int)phx_flow_run_status(&w->live->run);
	a->out->changed = true;
	const char *end = end_of((enum phx_flow_status)w->status);
	/* running tasks end before the run does, even if the waiting ones will never begin */
	if (!end || w->n_running || w->ended_ms)
		return;
	w->ended_ms = a->s->now_ms;
	phx_crew_close(a->s, w);
	phx_note_re(a, NULL, w->re, NULL, "workflow run %llu of RE %s is over: %s",
		    (unsigned long long)w->id, w->re, end);
	if (w->status == PHX_FLOW_COMPLETE) {
		phx_stick(a, phx_flow_places_write(w->live, &w->places));
		phx_flow_progress_free(w->live);
		w->live = NULL;
	}
	phx_trigger_run_over(a, w);
}

void phx_given_begin(struct phx_apply *a, struct phx_flowrun *w, uint32_t task,
		     const struct phx_node *n)
{
	const struct phx_crew_node *c = phx_crew_node(a->s, n);
	struct phx_job *worker = phx_state_job(a->s, c->job);
	if (!worker || phx_flow_run_act(&w->live->run, PHX_FLOW_BEGIN, task) < 0)
		return;
	w->live->at[task].node = n->number;
	w->live->at[task].n_runs++;
	w->n_runs++;
	worker->idle_ms = 0;
	phx_crew_give(a->s, n, (struct phx_given){w->id, task}, &w->live->flow.tasks[task]);
	phx_flowrun_settle(a, w);
	tell(a, n);
}

int phx_given_end(struct phx_flowrun *w, enum phx_flow_act act, uint32_t task)
{
	int r = phx_flow_run_act(&w->live->run, act, task);
	if (r == 0 && act == PHX_FLOW_LOSE) {
		w->live->at[task].n_losses++;
		w->n_losses++;
	}
	return r;
}

/* ---- tasks of several nodes ---- */

void phx_given_begin_wide(struct phx_apply *a, struct phx_flowrun *w, uint32_t task,
			  struct phx_job *worker)
{
	const struct phx_node *first =
		phx_state_node(a->s, PHX_LIST_AT(&worker->parts, struct phx_job_part, 0)->node);
	if (!first || phx_flow_run_act(&w->live->run, PHX_FLOW_BEGIN, task) < 0)
		return;
	w->live->at[task].node = first->number;
	w->live->at[task].n_runs++;
	w->n_runs++;
	worker->run = w->id;
	worker->task = task;
	worker->task_end = PHX_TASK_END_GOOD;
	worker->idle_ms = 0;
	PHX_LIST_EACH(struct phx_job_part, p, &worker->parts) {
		const struct phx_node *n = phx_state_node(a->s, p->node);
		p->answered = false;
		if (!n)
			continue;
		phx_crew_give(a->s, n, (struct phx_given){w->id, task}, &w->live->flow.tasks[task]);
		tell(a, n);
	}
	phx_flowrun_settle(a, w);
}

/* Records the failure of the run in words, unless it has one. */
static void say_why(struct phx_apply *a, struct phx_flowrun *w, struct phx_job *worker)
{
	if (!w->why && worker->why)
		w->why = PHX_TAKE(worker->why);
	else if (!w->why)
		phx_put_text(a, &w->why, "task %u: was lost too often", worker->task + 1);
}

/* All nodes have answered. */
static void end_wide(struct phx_apply *a, struct phx_job *worker)
{
	struct phx_flowrun *w = phx_state_flowrun(a->s, worker->run);
	uint32_t task = worker->task;
	worker->run = 0;
	if (!w || !w->live)
		return;
	enum phx_flow_act act = worker->task_end == PHX_TASK_END_GOOD ? PHX_FLOW_DONE
		: worker->task_end == PHX_TASK_END_LOST &&
			w->live->at[task].n_losses < PHX_TASK_LOSSES_MAX
		? PHX_FLOW_LOSE
		: PHX_FLOW_FAIL;
	/* nobody looks at its outputs again: what is made of them is new */
	if (act == PHX_FLOW_DONE)
		phx_flow_run_note(&w->live->run, task, "");
	phx_given_end(w, act, task);
	if (w->live->run.tasks[task].state == PHX_FLOW_TASK_FAILED)
		say_why(a, w, worker);
	free(PHX_TAKE(worker->why));
	phx_flowrun_settle(a, w);
}

void phx_given_answer(struct phx_apply *a, struct phx_job *worker, const struct phx_node *n,
		      enum phx_task_end end)
{
	bool over = true, told = worker->task_end != PHX_TASK_END_GOOD;
	worker->task_end = (int)end > worker->task_end ? (int)end : worker->task_end;
	PHX_LIST_EACH(struct phx_job_part, p, &worker->parts) {
		p->answered = p->answered || !strcmp(p->node, n->name);
		over = over && (p->answered || p->ended);
	}
	a->out->changed = true;
	if (over)
		end_wide(a, worker);
	PHX_LIST_EACH(struct phx_job_part, p, &worker->parts) {
		const struct phx_node *other =
			p->answered || p->ended ? NULL : phx_state_node(a->s, p->node);
		if (other && !told && end != PHX_TASK_END_GOOD)
			tell(a, other);
	}
}

/* ---- nodes that are lost ---- */

static int by_task(const void *x, const void *y)
{
	const struct phx_given *a = x, *b = y;
	int runs = (a->run > b->run) - (a->run < b->run);
	return runs ? runs : (a->task > b->task) - (a->task < b->task);
}

/* Sorted, so that the order in which they are ready again does not depend on how they were given.
 */
void phx_given_lose(struct phx_apply *a, const struct phx_node *n)
{
	struct phx_crew_node *c = phx_crew_node(a->s, n);
	if (!c || !c->job)
		return;
	struct phx_job *worker = phx_state_job(a->s, c->job);
	if (worker && worker->run && c->given.n) {
		phx_crew_leave(a->s, n);
		phx_given_answer(a, worker, n, PHX_TASK_END_LOST);
		return;
	}
	if (c->given.n)
		qsort(c->given.items, c->given.n, sizeof(struct phx_given), by_task);
	PHX_LIST_EACH(struct phx_given, g, &c->given) {
		struct phx_flowrun *w = phx_state_flowrun(a->s, g->run);
		if (w && w->live && phx_given_end(w, PHX_FLOW_LOSE, g->task) == 0)
			phx_flowrun_settle(a, w);
	}
	phx_crew_leave(a->s, n);
}

static void tell_wide(struct phx_apply *a, const struct phx_flowrun *w)
{
	const struct phx_crew_re *re = phx_crew_re(a->s, w->re);
	for (uint32_t i = 0; re && i < re->wide.n; i++) {
		const struct phx_job *j = phx_state_job(a->s, *PHX_LIST_AT(&re->wide, uint64_t, i));
		if (!j || j->run != w->id)
			continue;
		PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
			const struct phx_node *n = phx_state_node(a->s, p->node);
			if (n && !p->ended)
				tell(a, n);
		}
	}
}

void phx_flowrun_tell(struct phx_apply *a, const struct phx_flowrun *w)
{
	tell_wide(a, w);
	for (uint32_t i = 0; w->n_running && i < w->n_tasks; i++) {
		if (w->live->run.tasks[i].state != PHX_FLOW_TASK_RUNNING)
			continue;
		const struct phx_node *n = phx_state_node_numbered(a->s, w->live->at[i].node);
		if (n)
			tell(a, n);
	}
}

static uint32_t rank_of(const struct phx_job *j, const struct phx_node *n)
{
	uint32_t rank = 0;
	while (rank < j->parts.n &&
	       strcmp(PHX_LIST_AT(&j->parts, struct phx_job_part, rank)->node, n->name))
		rank++;
	return rank;
}

int phx_tasks_on(const struct phx_state *s, const struct phx_node *n, struct phx_list *ret,
		 const struct phx_job **ret_worker)
{
	const struct phx_crew_node *c = phx_crew_node(s, n);
	const struct phx_job *worker = c && c->job ? phx_state_job(s, c->job) : NULL;
	*ret_worker = worker;
	if (!worker)
		return 0;
	uint32_t rank = phx_job_is_wide(worker) ? rank_of(worker, n) : 0;
	PHX_LIST_EACH(struct phx_given, g, &c->given) {
		const struct phx_flowrun *w = phx_state_flowrun(s, g->run);
		struct phx_task_given *to = w && w->live ? phx_list_push(ret, sizeof(*to)) : NULL;
		if (!w || !w->live)
			continue;
		if (!to)
			return -ENOMEM;
		bool ends = w->live->run.cancelled || phx_job_is_told(worker) || worker->broken ||
			(worker->run && worker->task_end != PHX_TASK_END_GOOD);
		*to = (struct phx_task_given){.run = w,
					      .task = g->task,
					      .attempt = w->live->at[g->task].n_runs,
					      .ends = ends,
					      .wide = phx_job_is_wide(worker),
					      .rank = rank};
		phx_flow_run_had(&w->live->run, g->task, to->had_sha256);
	}
	return 0;
}
