/* Tasks on nodes: they are given to a node, or lost with it; and how a run of a workflow follows
 * its tasks. Called by workers.c, flowruns.c, and by parts.c when a worker ends; calls none of
 * them. Pure. */
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
	if (c->given.n)
		qsort(c->given.items, c->given.n, sizeof(struct phx_given), by_task);
	PHX_LIST_EACH(struct phx_given, g, &c->given) {
		struct phx_flowrun *w = phx_state_flowrun(a->s, g->run);
		if (!w || !w->live || phx_flow_run_act(&w->live->run, PHX_FLOW_LOSE, g->task) < 0)
			continue;
		w->live->at[g->task].n_losses++;
		w->n_losses++;
		phx_flowrun_settle(a, w);
	}
	phx_crew_leave(a->s, n);
}

void phx_flowrun_tell(struct phx_apply *a, const struct phx_flowrun *w)
{
	for (uint32_t i = 0; w->n_running && i < w->n_tasks; i++) {
		if (w->live->run.tasks[i].state != PHX_FLOW_TASK_RUNNING)
			continue;
		const struct phx_node *n = phx_state_node_numbered(a->s, w->live->at[i].node);
		if (n)
			tell(a, n);
	}
}

int phx_tasks_on(const struct phx_state *s, const struct phx_node *n, struct phx_list *ret,
		 const struct phx_job **ret_worker)
{
	const struct phx_crew_node *c = phx_crew_node(s, n);
	const struct phx_job *worker = c && c->job ? phx_state_job(s, c->job) : NULL;
	*ret_worker = worker;
	if (!worker)
		return 0;
	PHX_LIST_EACH(struct phx_given, g, &c->given) {
		const struct phx_flowrun *w = phx_state_flowrun(s, g->run);
		struct phx_task_given *to = w && w->live ? phx_list_push(ret, sizeof(*to)) : NULL;
		if (!w || !w->live)
			continue;
		if (!to)
			return -ENOMEM;
		*to = (struct phx_task_given){w, g->task, w->live->at[g->task].n_runs,
					      w->live->run.cancelled || phx_job_is_told(worker)};
	}
	return 0;
}
