/* Batch REs whose jobs an external engine starts: Slurm. It reports its jobs and nodes (re_queue).
 * Here they become jobs of the RE that the ledger counts, so that demand, idle nodes, kill order
 * and forced returns work as for every RE. Orders for the engine are derived from that
 * (external_orders.c). A node is handed over only after a report that shows it closed and empty.
 * Without reports all this stops, but nothing is lost. Called by the table of events. Pure. */
#include "job/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "state/named.h"

enum { JOBS_MAX = 100000, HOSTS_MAX = 65536 };

/* ---- its jobs ---- */

/* A reported job, and the job of the state that it belongs to. */
struct told {
	const struct phx_engine_job *job;
	uint32_t at; /* index in the list of jobs + 1; 0 = a new job */
};

/* The jobs of one report, indexed: there are thousands, and each is looked up. */
struct report {
	struct told *items;  /* in the report's order, in which new jobs get their numbers */
	struct told **by_id; /* the same, sorted by name */
	uint32_t n;
	const struct phx_event_re_queue *event;
};

static void report_fini(struct report *r)
{
	free(r->items);
	free(r->by_id);
}

static int compare_told(const void *a, const void *b)
{
	return strcmp((*(struct told *const *)a)->job->id, (*(struct told *const *)b)->job->id);
}

static int compare_id(const void *id, const void *b)
{
	return strcmp(id, (*(struct told *const *)b)->job->id);
}

static struct told *told_of(const struct report *r, const char *id)
{
	struct told **found =
		r->n ? bsearch(id, r->by_id, r->n, sizeof(*r->by_id), compare_id) : NULL;
	return found ? *found : NULL;
}

static int report_init(struct phx_apply *a, const struct phx_event_re_queue *p, struct report *ret)
{
	const struct phx_list *jobs = &p->engine_jobs;
	struct report r = {calloc(jobs->n + 1u, sizeof(*r.items)),
			   calloc(jobs->n + 1u, sizeof(*r.by_id)), jobs->n, p};
	*ret = r;
	if (!r.items || !r.by_id)
		return -ENOMEM;
	for (uint32_t i = 0; i < r.n; i++) {
		r.items[i].job = PHX_LIST_AT(jobs, struct phx_engine_job, i);
		r.by_id[i] = &r.items[i];
	}
	qsort(r.by_id, r.n, sizeof(*r.by_id), compare_told);
	for (uint32_t i = 1; i < r.n; i++)
		if (!compare_told(&r.by_id[i - 1], &r.by_id[i]))
			return phx_err_set(a->err, -EINVAL,
					   "the engine's report names job '%s' twice",
					   r.by_id[i]->job->id);
	return 0;
}

static const struct phx_batch_job *in_ledger(const struct phx_apply *a, const struct phx_re *re,
					     const struct phx_job *j)
{
	return re->active ? phx_batch_job(phx_ledger_batch(a->s->ledger, (int)re->number), j->id)
			  : NULL;
}

static bool is_there(int state)
{
	return state == PHX_ENGINE_JOB_RUNNING || state == PHX_ENGINE_JOB_ENDING;
}

static bool is_over(int state)
{
	return state >= PHX_ENGINE_JOB_DONE;
}

static void end_part(struct phx_apply *a, struct phx_job_part *p)
{
	struct phx_node *n = p->ended ? NULL : phx_state_node(a->s, p->node);
	p->ended = true;
	if (!n || !n->jobs_running)
		return;
	n->jobs_running--;
	phx_index_runs(a->s, n, 0);
	phx_touch(a->s, n);
}

/* The run of `j` is over on all nodes; `waits`: the engine has queued it again. */
static void end_run(struct phx_apply *a, const struct phx_re *re, struct phx_job *j, bool waits)
{
	const struct phx_batch_job *b = in_ledger(a, re, j);
	bool runs = b && (b->state == PHX_BATCH_RUNNING || b->state == PHX_BATCH_KILLING);
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
		end_part(a, p);
	phx_job_left_nodes(a, j);
	if (runs && waits && b->state == PHX_BATCH_KILLING)
		phx_ledger_job_killed(a->s->ledger, phx_engine_number(re), j->id, a->s->now_ms,
				      a->todo);
	else if (runs)
		phx_ledger_job_ended(a->s->ledger, phx_engine_number(re), j->id, a->s->now_ms,
				     a->todo);
	phx_list_fini(&j->parts);
	phx_job_become(a, j, PHX_JOB_QUEUED);
	j->ending = false;
	j->started_ms = 0;
}

/* The job is over for good. */
static void end_job(struct phx_apply *a, const struct phx_re *re, struct phx_job *j, int state,
		    int64_t status)
{
	if (j->state == PHX_JOB_RUNNING)
		end_run(a, re, j, false);
	else if (in_ledger(a, re, j))
		phx_ledger_job_cancel(a->s->ledger, phx_engine_number(re), j->id, a->s->now_ms,
				      a->todo);
	phx_job_become(a, j,
		       state == PHX_ENGINE_JOB_FAILED              ? PHX_JOB_FAILED
			       : state == PHX_ENGINE_JOB_CANCELLED ? PHX_JOB_CANCELLED
								   : PHX_JOB_DONE);
	j->status = status;
	j->ended_ms = a->s->now_ms;
	a->out->changed = true;
}

static bool on_host(const struct phx_engine_job *t, const char *node)
{
	PHX_LIST_EACH(struct phx_engine_host, h, &t->hosts)
		if (!strcmp(h->node, node))
			return true;
	return false;
}

/* If we ended the run, the engine is told to start the job as soon as it can. It is told until it
 * reports another begin time (look_at_new), so that this takes effect once. */
static void run_again(struct phx_apply *a, const struct phx_re *re, struct phx_job *j,
		      const struct phx_engine_job *t)
{
	j->expedite = phx_job_is_killed(j) && !is_there(t->state);
	j->begin_ms = 0;
	end_run(a, re, j, true);
}

static void look_at_one(struct phx_apply *a, const struct phx_re *re, struct phx_job *j,
			const struct phx_engine_job *t)
{
	if (is_over(t->state))
		end_job(a, re, j, t->state, t->status);
	else if (j->state == PHX_JOB_RUNNING &&
		 (!is_there(t->state) ||
		  (t->state == PHX_ENGINE_JOB_RUNNING && t->started_ms != j->started_ms)))
		run_again(a, re, j, t);
	else if (j->state == PHX_JOB_RUNNING)
		PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
			if (!on_host(t, p->node))
				end_part(a, p);
}

/* Ends runs that are over, before runs that began on the same nodes are counted. Records for each
 * reported job the open job that it belongs to. */
static void look_at_old(struct phx_apply *a, const struct phx_re *re, const struct report *report)
{
	PHX_INDEX_EACH_JOB_OF(j, a->s, re->name) {
		if (!j->engine_id[0] || j->ended_ms)
			continue;
		struct told *t = told_of(report, j->engine_id);
		if (t)
			look_at_one(a, re, j, t->job);
		else if (report->event->whole)
			end_job(a, re, j, PHX_ENGINE_JOB_DONE, 0);
		if (t && phx_job_is_open(j))
			t->at = (uint32_t)(j - PHX_LIST_AT(&a->s->jobs, struct phx_job, 0)) + 1;
	}
}

/* Queues the job in the ledger too, if the ledger accepts it: a job that is wider than the RE can
 * ever be waits only in the engine. */
static void queue_in_ledger(struct phx_apply *a, const struct phx_re *re, const struct phx_job *j)
{
	struct phx_err why = {0};
	struct phx_batch_job b = {.id = j->id,
				  .submit_ms = j->submitted_ms,
				  .estimate_ms = j->estimate_ms ? j->estimate_ms : -1,
				  .size = j->nodes,
				  .no_requeue = j->no_requeue,
				  .state = j->held ? PHX_BATCH_HELD : PHX_BATCH_WAITING};
	const struct phx_batch_job *now = in_ledger(a, re, j);
	if (!now)
		phx_ledger_submit(a->s->ledger, phx_engine_number(re), &b, a->s->now_ms, a->todo,
				  &why);
	else if ((now->state == PHX_BATCH_HELD) != j->held)
		phx_ledger_job_hold(a->s->ledger, phx_engine_number(re), j->id, j->held,
				    a->s->now_ms, a->todo);
}

static int add_parts(struct phx_apply *a, struct phx_job *j, const struct phx_engine_job *t)
{
	PHX_LIST_EACH(struct phx_engine_host, h, &t->hosts) {
		struct phx_node *n = phx_state_node(a->s, h->node);
		struct phx_job_part *p = phx_grow(a, &j->parts, sizeof(*p));
		if (!p)
			return -ENOMEM;
		PHX_STR_SET(p->node, h->node);
		p->ended = n && n->jobs_running; /* a node counts one job only */
		if (!n || p->ended)
			continue;
		n->jobs_running++;
		phx_index_runs(a->s, n, j->id);
		phx_touch(a->s, n);
	}
	return 0;
}

/* Does the ledger count the node as idle in the RE? */
static bool counts_idle(const struct phx_re *re, const struct phx_node *n)
{
	return n && n->allocation == PHX_ALLOCATION_HELD && !n->allocated_job &&
		!strcmp(n->allocated_to, re->name);
}

/* How many nodes of the job the ledger counts as idle in the RE; ret_taken: a node that is on its
 * way out of the RE. */
static uint32_t count_held(const struct phx_apply *a, const struct phx_re *re,
			   const struct phx_job *j, const struct phx_node **ret_taken)
{
	uint32_t n_held = 0;
	*ret_taken = NULL;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
		const struct phx_node *n = phx_state_node(a->s, p->node);
		n_held += !p->ended && counts_idle(re, n);
		if (n && !phx_engine_serves(re, n))
			*ret_taken = n;
	}
	return n_held;
}

/* Tells the ledger of a run that the engine began. If one of its nodes was promised away just
 * before, the job is sent back to the queue at once, and the ledger never learns that it ran. */
static void count_run(struct phx_apply *a, const struct phx_re *re, struct phx_job *j)
{
	const struct phx_node *taken;
	uint32_t n_held = count_held(a, re, j, &taken);
	if (taken) {
		phx_engine_send_away(a, re, j, taken);
		return;
	}
	queue_in_ledger(a, re, j);
	if (!n_held) { /* runs only on nodes that the ledger does not count: no demand either */
		phx_ledger_job_cancel(a->s->ledger, phx_engine_number(re), j->id, a->s->now_ms,
				      a->todo);
		return;
	}
	if (phx_ledger_job_started(a->s->ledger, phx_engine_number(re), j->id, n_held,
				   j->started_ms, a->s->now_ms, a->todo) < 0)
		return;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
		struct phx_node *n = phx_state_node(a->s, p->node);
		if (!counts_idle(re, n) || p->ended)
			continue;
		n->allocated_job = j->id;
		phx_touch(a->s, n);
	}
}

static bool counts_run(const struct phx_apply *a, const struct phx_re *re, const struct phx_job *j)
{
	const struct phx_batch_job *b = in_ledger(a, re, j);
	return b && (b->state == PHX_BATCH_RUNNING || b->state == PHX_BATCH_KILLING);
}

static void count_runs(struct phx_apply *a, const struct phx_re *re)
{
	PHX_INDEX_EACH_JOB_OF(j, a->s, re->name)
		if (phx_engine_runs(j, re) && !phx_job_is_killed(j) && !counts_run(a, re, j))
			count_run(a, re, j);
}

static struct phx_job *add_job(struct phx_apply *a, const struct phx_re *re,
			       const struct phx_engine_job *t)
{
	struct phx_job *j = phx_grow(a, &a->s->jobs, sizeof(*j));
	if (!j)
		return NULL;
	char name[64];
	snprintf(name, sizeof(name), "(Slurm's job %s)", t->id);
	phx_stick(a, phx_text_push(&j->argv, name)); /* the report does not say what it runs */
	j->id = ++a->s->last_job_id;
	PHX_STR_SET(j->re, re->name);
	PHX_STR_SET(j->engine_id, t->id);
	phx_index_job(a->s, j, true);
	return j;
}

/* Copies the reported state into the job, after look_at_old() has ended its old run. */
static int look_at_new(struct phx_apply *a, const struct phx_re *re, const struct told *told)
{
	const struct phx_engine_job *t = told->job;
	if (is_over(t->state))
		return 0;
	struct phx_job *j = told->at ? PHX_LIST_AT(&a->s->jobs, struct phx_job, told->at - 1)
				     : add_job(a, re, t);
	if (!j)
		return -ENOMEM;
	j->nodes = t->nodes;
	j->uid = t->uid;
	PHX_STR_SET(j->user, t->user);
	j->estimate_ms = t->limit_ms;
	j->no_requeue = t->no_requeue || re->agreement.no_requeue;
	j->kills = t->restarts;
	j->submitted_ms = t->submitted_ms;
	j->held = t->state == PHX_ENGINE_JOB_HELD;
	j->ending = t->state == PHX_ENGINE_JOB_ENDING;
	j->expedite =
		j->expedite && !is_there(t->state) && (!j->begin_ms || t->begin_ms == j->begin_ms);
	j->begin_ms = t->begin_ms;
	a->out->changed = true;
	if (!is_there(t->state))
		queue_in_ledger(a, re, j);
	if (!is_there(t->state) || j->state == PHX_JOB_RUNNING)
		return 0;
	phx_job_become(a, j, PHX_JOB_RUNNING);
	j->started_ms = t->started_ms;
	return add_parts(a, j, t);
}

/* ---- the event ---- */

static int check_job(struct phx_apply *a, const struct phx_engine_job *t)
{
	if (!t->id[0] || !t->nodes || t->nodes > HOSTS_MAX || t->hosts.n > HOSTS_MAX ||
	    t->state < 0 || t->state > PHX_ENGINE_JOB_CANCELLED || t->limit_ms < 0)
		return phx_err_set(a->err, -EINVAL,
				   "the engine's report of job '%s' says what no job can be",
				   t->id);
	if (is_there(t->state) == !t->hosts.n)
		return phx_err_set(a->err, -EINVAL,
				   "the engine's report says that job '%s' is %s and has %u nodes",
				   t->id, phx_enum_name(&phx_engine_job_state_names, t->state),
				   t->hosts.n);
	return 0;
}

static int check_event(struct phx_apply *a, const struct phx_event_re_queue *p, struct phx_re **ret)
{
	const char *re = a->ev->re;
	*ret = phx_state_re(a->s, re);
	int r = 0;
	if (!*ret)
		return phx_err_set(a->err, -ENOENT, "there is no RE '%s'", re);
	if (!(*ret)->attached)
		return phx_err_set(a->err, -EINVAL,
				   "RE '%s' is not active with an engine of its own", re);
	if (p->engine_jobs.n > JOBS_MAX || p->engine_nodes.n > HOSTS_MAX ||
	    p->engine_partitions.n > HOSTS_MAX)
		return phx_err_set(
			a->err, -E2BIG,
			"the engine of RE '%s' reports more jobs or nodes than phxd keeps", re);
	PHX_LIST_EACH(struct phx_engine_job, t, &p->engine_jobs)
		r = r ? r : check_job(a, t);
	PHX_LIST_EACH(struct phx_engine_node, n, &p->engine_nodes)
		if (!n->name[0] && !r)
			r = phx_err_set(a->err, -EINVAL,
					"the engine of RE '%s' reports a node without a name", re);
	PHX_LIST_EACH(struct phx_engine_node, part, &p->engine_partitions)
		if (!part->name[0] && !r)
			r = phx_err_set(a->err, -EINVAL,
					"the engine of RE '%s' reports a partition without a name",
					re);
	return r;
}

static int apply_trouble(struct phx_apply *a, struct phx_re *re)
{
	char why[sizeof(re->trouble)];
	snprintf(why, sizeof(why), "%.*s", (int)sizeof(why) - 1, a->ev->text);
	if (!strcmp(re->trouble, why))
		return 0;
	PHX_STR_SET(re->trouble, why);
	a->out->changed = true;
	phx_note_re(
		a, NULL, re->name, NULL,
		"%s of RE %s cannot be asked, and nothing is taken from it until it can: %.150s",
		phx_enum_name(&phx_re_engine_names, re->agreement.engine), re->name, why);
	return 0;
}

/* Does the step drain of a node in the RE's pool wait for the engine? */
static bool waits_in(const struct phx_node *n, const struct phx_re *re)
{
	const struct phx_step *step = phx_node_step(n);
	return step && step->kind == PHX_STEP_drain && step->status == PHX_STEP_PENDING &&
		!strcmp(n->pool, re->name);
}

static bool none_waits_in(const struct phx_state *s, const struct phx_re *re)
{
	PHX_INDEX_EACH_OF_RE(n, s, re->name)
		if (waits_in(n, re))
			return false;
	return true;
}

/* Has the hand-overs that wait for the engine check it again. */
static void advance_waiting(struct phx_apply *a, const struct phx_re *re)
{
	PHX_INDEX_EACH_OF_RE(n, a->s, re->name)
		if (waits_in(n, re))
			phx_work_add(a, PHX_WORK_NODE_LET_GO, n);
}

static int apply_report(struct phx_apply *a, struct phx_re *re, const struct report *report)
{
	if (re->trouble[0])
		phx_note_re(a, NULL, re->name, NULL, "%s of RE %s answers",
			    phx_enum_name(&phx_re_engine_names, re->agreement.engine), re->name);
	const struct phx_event_re_queue *p = report->event;
	a->out->changed = a->out->changed || re->trouble[0] || p->engine_nodes.n ||
		p->engine_partitions.n || p->whole;
	re->trouble[0] = '\0';
	int r = phx_engine_put(p, re);
	look_at_old(a, re, report);
	for (uint32_t i = 0; i < report->n; i++)
		r = r ? r : look_at_new(a, re, &report->items[i]);
	/* first free nodes go where they were promised, preferably not those on which a run just
	 * began; then runs are counted */
	phx_work_add(a, PHX_WORK_ENGINE_TOLD, NULL);
	return r;
}

void phx_engine_count_runs(struct phx_apply *a)
{
	const struct phx_re *re = phx_state_re(a->s, a->ev->re);
	if (re->attached)
		count_runs(a, re);
	advance_waiting(a, re);
	phx_jobs_forget_old(a->s);
}

int phx_apply_re_queue(struct phx_apply *a, const struct phx_event_re_queue *p)
{
	struct phx_re *re;
	PHX_AUTO(report_fini) struct report report = {0};
	int r = check_event(a, p, &re);
	if (r < 0 || a->ev->text[0])
		return r < 0 ? r : apply_trouble(a, re);
	r = report_init(a, p, &report);
	return r < 0 ? r : apply_report(a, re, &report);
}

static const char not_asked[] = "it has not been asked yet";

bool phx_engine_is_unheard(const struct phx_re *re)
{
	return phx_str_eq(re->trouble, not_asked);
}

void phx_engine_begin(struct phx_re *re)
{
	if (re->agreement.engine == PHX_RE_ENGINE_BUILTIN || re->attached)
		return;
	re->attached = true;
	PHX_STR_SET(re->trouble, not_asked);
}

/* Forgets the engine's open jobs: from now on they are the engine's alone. */
static void forget_jobs(struct phx_apply *a, const struct phx_re *re)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < a->s->jobs.n; i++) {
		struct phx_job *j = PHX_LIST_AT(&a->s->jobs, struct phx_job, i);
		if (!j->engine_id[0] || strcmp(j->re, re->name) || j->ended_ms) {
			*PHX_LIST_AT(&a->s->jobs, struct phx_job, kept++) = *j;
			continue;
		}
		PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
			end_part(a, p);
		phx_job_left_nodes(a, j);
		phx_index_job(a->s, j, false);
		phx_record_fini(&phx_job_record, j);
	}
	a->s->jobs.n = kept;
}

void phx_engine_end(struct phx_apply *a, struct phx_re *re)
{
	if (!re->attached || re->active || (phx_engine_refuses(re) && !re->trouble[0]) ||
	    !none_waits_in(a->s, re))
		return;
	forget_jobs(a, re);
	phx_list_fini(&re->engine_nodes);
	re->attached = false;
	phx_named_changed(a->s);
	re->trouble[0] = '\0';
	a->out->changed = true;
	phx_touch_re(a->s, re->name);
}
