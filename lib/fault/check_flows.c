/* The observer of workflows: what really began and ended on machines against what the head makes of
 * it. A task never runs twice at once, begins after what it needs, and no machine carries more than
 * it has; what is done stays done, is done in truth, and is tried no more often than it may be; and
 * when faults have stopped each run ends. Called by check.c and by keepers; changes nothing but its
 * own memory. */
#include "fault/parts.h"

#include "state/crew.h"

/* What is known of a run of a workflow; NULL: no memory. */
static struct fault_flow *flow_of(struct fault_sim *f, uint64_t id, int64_t submitted_ms,
				  uint32_t n_tasks)
{
	for (uint32_t i = f->flows.n; i-- > 0;) {
		struct fault_flow *w = PHX_LIST_AT(&f->flows, struct fault_flow, i);
		if (w->id == id && w->submitted_ms == submitted_ms)
			return w;
	}
	struct fault_flow_task *tasks = n_tasks ? calloc(n_tasks, sizeof(*tasks)) : NULL;
	struct fault_flow *w = tasks ? phx_list_push(&f->flows, sizeof(*w)) : NULL;
	if (w)
		*w = (struct fault_flow){id, submitted_ms, n_tasks, tasks, 0};
	else
		free(tasks);
	return w;
}

static const struct phx_flowrun *run_of(const struct fault_sim *f, uint64_t id,
					int64_t submitted_ms)
{
	const struct phx_flowrun *w = phx_state_flowrun((struct phx_state *)f->head.s, id);
	return w && w->submitted_ms == submitted_ms ? w : NULL;
}

/* ---- on machines ---- */

/* It runs once or, on `nodes` machines, once on each; other attempts do not run meanwhile. */
static void check_alone(struct fault_sim *f, const struct fault_machine *m,
			const struct task_key *key, uint32_t nodes)
{
	uint32_t n = 0, here = 0, others = 0;
	for (const struct fault_machine *o = f->m; o < f->m + f->n; o++) {
		const struct task_book *b = &o->keeper.book;
		for (uint32_t i = o->keeper.up ? b->first[TASK_RUNS] : TASK_NONE; i != TASK_NONE;
		     i = task_book_at(b, i)->next) {
			const struct task_key *k = &task_book_at(b, i)->key;
			bool is = k->run == key->run && k->submitted_ms == key->submitted_ms &&
				k->task == key->task;
			n += is;
			here += is && o == m;
			others += is && k->attempt != key->attempt;
		}
	}
	if (n > nodes || here != 1 || others)
		phx_fault_violated(f, "alone",
				   "%s begins task %u of workflow run %llu, which runs %u times",
				   m->node, key->task, (unsigned long long)key->run, n);
}

static void check_load(struct fault_sim *f, const struct fault_machine *m)
{
	struct phx_facts facts = {0};
	const struct task_book *b = &m->keeper.book;
	uint64_t cores = 0, memory = 0;
	phx_fault_facts(m, &facts);
	for (uint32_t i = b->first[TASK_RUNS]; i != TASK_NONE; i = task_book_at(b, i)->next) {
		cores += task_book_at(b, i)->cores;
		memory += task_book_at(b, i)->memory_bytes;
	}
	if (cores > facts.cpus || memory > facts.memory_bytes)
		phx_fault_violated(f, "load",
				   "%s has %u cores, %llu bytes, and runs tasks for %llu, %llu",
				   m->node, facts.cpus, (unsigned long long)facts.memory_bytes,
				   (unsigned long long)cores, (unsigned long long)memory);
	phx_record_fini(&phx_facts_record, &facts);
}

static void check_parents(struct fault_sim *f, const struct fault_flow *w,
			  const struct phx_flowrun *run, const struct task_key *key)
{
	PHX_FLOW_EACH(p, &run->live->flow, key->task, PHX_FLOW_PARENTS)
	{
		if (!w->tasks[*p].good)
			phx_fault_violated(
				f, "parents",
				"task %u of workflow run %llu begins, and task %u never ended well",
				key->task, (unsigned long long)key->run, *p);
	}
}

void phx_fault_flow_begins(struct fault_sim *f, const struct fault_machine *m,
			   const struct task_key *key)
{
	const struct phx_flowrun *run = run_of(f, key->run, key->submitted_ms);
	struct fault_flow *w = run ? flow_of(f, key->run, key->submitted_ms, run->n_tasks) : NULL;
	f->ret->tasks++;
	f->ret->checks++;
	if (!w || !run->live || key->task >= run->n_tasks) {
		phx_fault_violated(f, "begins",
				   "%s begins task %u of workflow run %llu, which is over", m->node,
				   key->task, (unsigned long long)key->run);
		return;
	}
	struct fault_flow_task *t = &w->tasks[key->task];
	if (t->begun >= key->attempt && t->log == m->keeper.log)
		phx_fault_violated(f, "again",
				   "%s begins attempt %u at task %u of workflow run %llu again",
				   m->node, key->attempt, key->task, (unsigned long long)key->run);
	t->begun = key->attempt;
	t->log = m->keeper.log;
	check_alone(f, m, key, run->live->flow.tasks[key->task].nodes);
	check_load(f, m);
	check_parents(f, w, run, key);
}

void phx_fault_flow_ended(struct fault_sim *f, const struct phx_task_result *row)
{
	struct fault_flow *w = flow_of(f, row->run, row->submitted_ms, 0);
	f->ret->losses += row->outcome == PHX_TASK_LOST;
	if (w && row->task < w->n_tasks && row->outcome == PHX_TASK_EXITED && !row->status)
		w->tasks[row->task].good = row->attempt;
}

void phx_fault_flow_taken(struct fault_sim *f, const struct fault_machine *m,
			  const struct phx_task_order *o)
{
	const struct task_book *b = &m->keeper.book;
	PHX_LIST_EACH(struct phx_task_cancel, c, &o->cancels) {
		struct task_key key = TASK_KEY(c);
		uint32_t i;
		enum decide_job is = task_book_judge(b, &key, &i);
		f->ret->checks++;
		if (is == DECIDE_JOB_NEW || is == DECIDE_JOB_NEWER ||
		    (is == DECIDE_JOB_SAME && task_book_at(b, i)->state == TASK_WAITS))
			phx_fault_violated(f, "cancelled",
					   "%s has cancelled attempt %u at task %u of workflow run "
					   "%llu, which is to begin yet, or is never answered for",
					   m->node, key.attempt, key.task,
					   (unsigned long long)key.run);
	}
}

static bool is_done(const struct phx_flowrun *run, uint32_t task)
{
	return !run->live || run->live->run.tasks[task].state == PHX_FLOW_TASK_DONE;
}

void phx_fault_flow_acked(struct fault_sim *f, const struct phx_list *rows)
{
	PHX_LIST_EACH(struct phx_task_result, row, rows) {
		const struct phx_flowrun *run = run_of(f, row->run, row->submitted_ms);
		struct fault_flow *w =
			run ? flow_of(f, row->run, row->submitted_ms, run->n_tasks) : NULL;
		if (w && row->task < w->n_tasks && is_done(run, row->task))
			w->tasks[row->task].acked = true;
	}
}

/* ---- in the head ---- */

static void check_task(struct fault_sim *f, struct fault_flow *w, const struct phx_flowrun *run,
		       uint32_t i)
{
	struct fault_flow_task *t = &w->tasks[i];
	const struct phx_flow_task *of = &run->live->flow.tasks[i];
	const struct phx_flow_place *at = &run->live->at[i];
	unsigned state = run->live->run.tasks[i].state;
	uint64_t most = (1 + (uint64_t)run->n_resumes) * (1 + of->retries) + at->n_losses;
	bool done = state == PHX_FLOW_TASK_DONE;
	const char *what = NULL;
	if (t->done && !done)
		what = "was done, and is so no more";
	else if (done && t->good != at->n_runs)
		what = "is done, and its last attempt did not end well";
	else if (at->n_runs > most)
		what = "was tried more often than it may be";
	if (done || state == PHX_FLOW_TASK_RUNNING)
		PHX_FLOW_EACH(p, &run->live->flow, i, PHX_FLOW_PARENTS)
		{
			what = is_done(run, *p) ? what : "was begun before what it needs was done";
		}
	t->done = done;
	if (what)
		phx_fault_violated(f, "task", "task %u of workflow run %llu %s (attempt %u)", i,
				   (unsigned long long)run->id, what, at->n_runs);
}

static void check_complete(struct fault_sim *f, struct fault_flow *w)
{
	for (uint32_t i = 0; i < w->n_tasks; i++) {
		w->tasks[i].done = true;
		if (!w->tasks[i].good)
			phx_fault_violated(f, "complete",
					   "workflow run %llu is done, and its task %u is not",
					   (unsigned long long)w->id, i);
	}
}

static uint64_t add_up(uint64_t sum, const uint64_t *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum = phx_mix_number(sum, parts[i]);
	return sum;
}

/* What is the same as before need not be looked at. */
static uint64_t sum_of(const struct phx_flowrun *w)
{
	const uint64_t parts[] = {w->n_waiting, w->n_ready,         w->n_running, w->n_done,
				  w->n_failed,  w->n_skipped,       w->n_runs,    w->n_losses,
				  w->n_resumes, (uint64_t)w->status};
	return add_up(PHX_MIX_NONE, parts, PHX_ARRAY_SIZE(parts));
}

uint64_t phx_fault_flows_told(const struct fault_sim *f)
{
	uint64_t sum = 0;
	PHX_LIST_EACH(struct phx_flowrun, w, &f->head.s->workflows) {
		const uint64_t parts[] = {w->n_done, w->n_failed, w->n_skipped, w->n_losses,
					  w->cpu_ms};
		sum = add_up(sum, parts, PHX_ARRAY_SIZE(parts));
	}
	return sum;
}

static void check_run(struct fault_sim *f, const struct phx_flowrun *run)
{
	struct fault_flow *w = flow_of(f, run->id, run->submitted_ms, run->n_tasks);
	uint64_t sum = sum_of(run);
	if (!w || w->seen == sum)
		return;
	w->seen = sum;
	f->ret->checks++;
	for (uint32_t i = 0; run->live && i < run->n_tasks; i++)
		check_task(f, w, run, i);
	if (!run->live)
		check_complete(f, w);
}

/* What runs, and what waits there so that it need not ask. */
static void check_room(struct fault_sim *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		const struct phx_node *n = phx_fault_node(f, &f->m[i]);
		const struct phx_crew_node *c = n ? phx_crew_node(f->head.s, n) : NULL;
		if (c &&
		    (c->used > 2 * (uint64_t)c->cores ||
		     (c->memory && c->used_memory > 2 * c->memory)))
			phx_fault_violated(f, "room", "%s was given more than twice what it has",
					   n->name);
	}
}

void phx_fault_flows_check(struct fault_sim *f)
{
	if (!f->o.flows)
		return;
	PHX_LIST_EACH(struct phx_flowrun, w, &f->head.s->workflows)
		check_run(f, w);
	check_room(f);
}

void phx_fault_flows_reset(struct fault_sim *f)
{
	PHX_LIST_EACH(struct fault_flow, w, &f->flows) {
		const struct phx_flowrun *run = run_of(f, w->id, w->submitted_ms);
		w->seen = 0;
		for (uint32_t i = 0; run && i < w->n_tasks; i++) {
			w->tasks[i].done = is_done(run, i);
			if (w->tasks[i].acked && !w->tasks[i].done)
				phx_fault_violated(
					f, "answered",
					"task %u of workflow run %llu was done, its agent knows, "
					"and phxd has forgotten",
					i, (unsigned long long)w->id);
		}
	}
}

bool phx_fault_flows_open(const struct fault_sim *f)
{
	PHX_LIST_EACH(struct phx_flowrun, w, &f->head.s->workflows)
		if (phx_flowrun_is_open(w))
			return true;
	return false;
}

/* Why it may be that it does not end. */
static void tell_open(struct fault_sim *f, const struct phx_flowrun *w)
{
	const struct phx_re *re = phx_state_re(f->head.s, w->re);
	for (uint32_t i = 0; i < w->n_tasks; i++)
		if (w->live->run.tasks[i].state == PHX_FLOW_TASK_READY)
			phx_fault_note(f, -1, "task %u is ready: %u cores, %llu bytes", i,
				       w->live->flow.tasks[i].cores,
				       (unsigned long long)w->live->flow.tasks[i].memory_bytes);
	PHX_LIST_EACH(struct phx_job, j, &f->head.s->jobs)
		if (j->worker && phx_job_is_open(j))
			phx_fault_note(f, -1, "worker %llu is %s, held %d, told to end: '%s'",
				       (unsigned long long)j->id,
				       phx_enum_name(&phx_job_state_names, j->state), j->held,
				       phx_enum_name(&phx_job_end_names, j->end));
	PHX_NODES_EACH(n, f->head.s)
		phx_fault_note(f, -1, "%s is %s in pool %s, allocated to %s, up %d, %u parts",
			       n->name, phx_enum_name(&phx_node_state_names, n->state), n->pool,
			       n->allocated_to, n->up, n->jobs_running);
	phx_fault_note(f, -1, "RE %s is %s, active %d", w->re,
		       re ? phx_enum_name(&phx_re_state_names, re->state) : "not there",
		       re && re->active);
}

void phx_fault_flows_check_rest(struct fault_sim *f)
{
	PHX_LIST_EACH(struct phx_flowrun, w, &f->head.s->workflows) {
		f->ret->flows += !phx_flowrun_is_open(w);
		if (phx_flowrun_is_open(w) && !f->failed)
			tell_open(f, w);
		if (phx_flowrun_is_open(w))
			phx_fault_violated(
				f, "ends",
				"faults have stopped, and workflow run %llu is %s: %u tasks wait, "
				"%u are ready, %u run",
				(unsigned long long)w->id,
				phx_enum_name(&phx_flow_status_names, w->status), w->n_waiting,
				w->n_ready, w->n_running);
	}
}

void phx_fault_flows_fini(struct fault_sim *f)
{
	PHX_LIST_EACH(struct fault_flow, w, &f->flows)
		free(w->tasks);
	phx_list_fini(&f->flows);
}
