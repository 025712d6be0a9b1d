/* Workers: the head's own jobs, which keep the nodes of an RE with workflows while there are tasks
 * for them. To the ledger they are jobs of one node, so policies, bounds, kills and lost nodes need
 * no special case. Several tasks run on a worker's node at a time.
 *
 *   tasks wait ──ask──▶ queued ──ledger──▶ running ⇄ tasks ──none for a while──▶ done
 *                                            │ told to end: its tasks end first
 *                                            └──▶ failed; lost: its tasks run again elsewhere
 *
 * Runs are served in the order of their numbers, and the tasks of a run in the order in which they
 * became ready. If many tasks wait, a node is given twice what it has room for, so that it need not
 * ask. Called by the dispatcher before and after nodes and ledger are brought to agree. Pure. */
#include <errno.h>
#include <string.h>

#include "job/internal.h"
#include "state/crew.h"

enum {
	BLOCKED_MAX =
		8, /* runs that are passed over, because no node has room for their next task */
	PARENTS_ASKED = 4,
	KILLED = 143, /* exit status of a job that SIGTERM ended */
	GONE_KEPT = 256,
};

/* ---- giving ---- */

/* Does the node take tasks? It must be up, and no order may be taking it away. */
static bool takes(const struct phx_state *s, const struct phx_node *n)
{
	const struct phx_crew_node *c = phx_crew_node(s, n);
	const struct phx_job *worker = c && c->job ? phx_state_job(s, c->job) : NULL;
	return worker && !phx_job_is_told(worker) && n->up && n->env == PHX_ENV_OS &&
		!phx_node_step(n);
}

/* A node with room now on which one of the task's first parents ran: its inputs are there. NULL:
 * none. */
static struct phx_node *near(const struct phx_state *s, const struct phx_crew_re *re,
			     const struct phx_flowrun *w, uint32_t task)
{
	uint32_t n_parents;
	const uint32_t *parents = phx_flow_list(&w->live->flow, task, PHX_FLOW_PARENTS, &n_parents);
	for (uint32_t i = 0; i < n_parents && i < PARENTS_ASKED; i++) {
		struct phx_node *n = phx_state_node_numbered(s, w->live->at[parents[i]].node);
		const struct phx_crew_node *c = n ? phx_crew_node(s, n) : NULL;
		if (c && c->job && phx_crew_re(s, w->re) == re && takes(s, n) &&
		    phx_crew_fits(c, &w->live->flow.tasks[task], false) &&
		    !strcmp(n->allocated_to, re->name))
			return n;
	}
	return NULL;
}

static struct phx_node *place_for(const struct phx_state *s, const struct phx_crew_re *re,
				  const struct phx_flowrun *w, uint32_t task, bool ahead)
{
	const struct phx_flow_task *t = &w->live->flow.tasks[task];
	struct phx_node *n = ahead ? NULL : near(s, re, w, task);
	for (uint32_t number = 0; !n && (number = phx_crew_find(re, t, ahead, number));) {
		struct phx_node *it = phx_state_node_numbered(s, number);
		n = it && takes(s, it) ? it : NULL;
	}
	return n;
}

/* Gives the run's tasks to nodes while they fit; false: the next task fits nowhere. */
static bool give_run(struct phx_apply *a, const struct phx_crew_re *re, struct phx_flowrun *w,
		     bool ahead)
{
	uint32_t task;
	while ((task = phx_flow_run_next(&w->live->run)) != PHX_FLOW_NONE) {
		if (ahead && w->n_ready < re->n_nodes)
			return true; /* few tasks wait: keep them for nodes that become idle */
		struct phx_node *n = place_for(a->s, re, w, task, ahead);
		if (!n)
			return false;
		phx_given_begin(a, w, task, n);
		if (!phx_crew_is_whole(a->s))
			return false;
	}
	return true;
}

static void give(struct phx_apply *a, struct phx_crew_re *re)
{
	phx_wide_give(a, re);
	for (int ahead = 0; re->n_nodes && ahead < 2; ahead++) {
		uint32_t n_blocked = 0;
		for (uint32_t i = 0; i < re->runs.n && n_blocked < BLOCKED_MAX; i++) {
			struct phx_flowrun *w =
				phx_state_flowrun(a->s, *PHX_LIST_AT(&re->runs, uint64_t, i));
			if (w && w->live)
				n_blocked += !give_run(a, re, w, ahead);
		}
	}
}

/* ---- workers that end ---- */

static bool is_ordered_away(const struct phx_state *s, const struct phx_job *j)
{
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
		const struct phx_node *n = phx_state_node(s, p->node);
		if (n && phx_node_step(n))
			return true;
	}
	return false;
}

/* Ends a worker that was told to end, or starts its idle time. If it is idle already it ends when
 * that time is over: a head that restored a snapshot looks at all workers, and must decide as one
 * that did not. */
static void look_at(struct phx_apply *a, struct phx_node *n)
{
	const struct phx_crew_node *c = phx_crew_node(a->s, n);
	struct phx_job *j = phx_state_job(a->s, c->job);
	if (!j || c->given.n)
		return;
	if (phx_job_is_wide(j) && (phx_job_is_told(j) || j->broken)) {
		phx_worker_leave(a, j, n, KILLED);
	} else if (j->idle_ms || j->run) {
		return;
	} else if (phx_job_is_told(j)) {
		phx_worker_end(a, j, KILLED);
	} else if (j->leaves || is_ordered_away(a->s, j)) {
		phx_worker_end(a, j, 0);
	} else {
		j->idle_ms = a->s->now_ms;
		phx_index_job_due(a->s, j);
		a->out->changed = true;
	}
}

/* Drops workers that have ended: there are many, and nobody asks about them. */
static void forget_gone(struct phx_state *s)
{
	uint32_t n_gone = 0, kept = 0;
	PHX_LIST_EACH(struct phx_job, j, &s->jobs)
		n_gone += j->worker && !phx_job_is_open(j);
	if (n_gone < GONE_KEPT)
		return;
	PHX_LIST_EACH(struct phx_job, j, &s->jobs) {
		if (j->worker && !phx_job_is_open(j))
			phx_record_fini(&phx_job_record, j);
		else
			*PHX_LIST_AT(&s->jobs, struct phx_job, kept++) = *j;
	}
	s->jobs.n = kept;
}

/* ---- asking for nodes ---- */

struct wants {
	uint64_t cores, bytes, n_whole, n_tasks;
};

static struct wants wants_of(const struct phx_state *s, const struct phx_crew_re *re)
{
	struct wants all = {.cores = re->ahead};
	for (uint32_t i = 0; i < re->runs.n; i++) {
		const struct phx_flowrun *w =
			phx_state_flowrun(s, *PHX_LIST_AT(&re->runs, uint64_t, i));
		if (!w || !w->live || phx_flow_run_next(&w->live->run) == PHX_FLOW_NONE)
			continue;
		all.cores += w->live->run.ready_cores;
		all.bytes += w->live->run.ready_bytes;
		all.n_whole += w->live->run.n_whole;
		all.n_tasks += w->n_ready;
	}
	return all;
}

/* The size of a typical node: the mean of the RE's nodes, or else a node that it would get. */
static void node_like(struct phx_state *s, const struct phx_crew_re *re, uint64_t *ret_cores,
		      uint64_t *ret_memory)
{
	const struct phx_node *n = NULL;
	*ret_cores = re->n_nodes ? re->cores / re->n_nodes : 0;
	*ret_memory = re->n_nodes ? re->memory / re->n_nodes : 0;
	if (re->n_nodes)
		return;
	n = phx_index_next_idle(s, re->name, 0);
	n = n ? n : phx_index_next(s, PHX_SET_FREE, 0);
	if (!n)
		return;
	*ret_cores = phx_facts_cores(&n->facts);
	*ret_memory = n->facts.memory_bytes;
}

static uint64_t parts(uint64_t of, uint64_t size)
{
	return (of + size - 1) / size;
}

/* How many more nodes the waiting tasks would fill. */
static uint32_t nodes_wanted(struct phx_state *s, const struct phx_crew_re *re, uint32_t widest)
{
	struct wants w = wants_of(s, re);
	uint64_t cores, memory;
	if (!w.cores && !w.n_whole)
		return 0;
	node_like(s, re, &cores, &memory);
	uint64_t by_cores = parts(w.cores, cores ? cores : 1) + w.n_whole,
		 by_memory = memory ? parts(w.bytes, memory) : 0,
		 n = by_cores > by_memory ? by_cores : by_memory, most = w.n_tasks + re->ahead;
	n = n < most ? n : most;
	return n < widest ? (uint32_t)n : widest;
}

/* Cancels the last `n` workers of one node that wait. */
static void take_back(struct phx_apply *a, const struct phx_re *re, uint32_t n)
{
	for (uint32_t i = a->s->jobs.n; n && i-- > 0;) {
		struct phx_job *j = PHX_LIST_AT(&a->s->jobs, struct phx_job, i);
		if (!j->worker || phx_job_is_wide(j) || j->state != PHX_JOB_QUEUED ||
		    strcmp(j->re, re->name) != 0)
			continue;
		phx_worker_take_back(a, re, j);
		n--;
	}
}

static void ask_for(struct phx_apply *a, struct phx_crew_re *c)
{
	const struct phx_re *re = phx_state_re(a->s, c->name);
	struct phx_ledger_counts counts;
	if (!re || !re->active || re->state == PHX_RE_STATE_DEACTIVATED)
		return;
	uint32_t n_wide, widest = phx_ledger_widest(a->s->ledger, (int)re->number);
	/* those of several nodes whose turn it is come first */
	bool wait = phx_wide_ask(a, re, c, &n_wide);
	uint32_t wanted = wait ? 0 : nodes_wanted(a->s, c, widest);
	phx_ledger_counts(a->s->ledger, (int)re->number, &counts);
	uint32_t waits = counts.batch.n_waiting - n_wide;
	for (; waits < wanted && !a->out->error; wanted--) {
		phx_worker_ask(a, re, 1);
		if (a->s->last_job_id % GONE_KEPT == 0)
			forget_gone(a->s);
	}
	/* a small excess is soon of use: do not cancel workers one by one */
	if (waits > 2 * (uint64_t)wanted)
		take_back(a, re, waits - wanted);
}

void phx_workers_fill(struct phx_apply *a)
{
	for (struct phx_crew_re *re = NULL; (re = phx_crew_next(a->s, re));)
		give(a, re);
}

void phx_workers_ask(struct phx_apply *a)
{
	phx_workers_fill(a);
	for (struct phx_node *n; (n = phx_crew_looked(a->s));)
		look_at(a, n);
	for (struct phx_crew_re *re = NULL; a->s->ledger && (re = phx_crew_next(a->s, re));)
		ask_for(a, re);
}
