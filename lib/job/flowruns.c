/* Runs of workflows: submit, hold, release, cancel, resume; and the results of their tasks, which
 * agents report. flow/run.h has the life of a task. Called by the table of events. Pure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "job/internal.h"
#include "state/crew.h"

enum {
	OPEN_MAX = 1000,          /* runs, of all REs */
	KEPT = 200,               /* runs that are over, which people may still query or resume */
	TASKS_OPEN_MAX = 1000000, /* of all open runs */
	TASKS_KEPT_MAX = 1000000, /* of runs that are over */
	TASKS_OF_USER_MAX = 500000,
};

/* ---- submission ---- */

struct open_sums {
	uint32_t n_runs;
	uint64_t n_tasks, n_of_user;
};

static struct open_sums sum_open(const struct phx_state *s, uint32_t uid)
{
	struct open_sums sum = {0};
	PHX_LIST_EACH(struct phx_flowrun, w, &s->workflows) {
		if (!phx_flowrun_is_open(w))
			continue;
		sum.n_runs++;
		sum.n_tasks += w->n_tasks;
		sum.n_of_user += w->uid == uid ? w->n_tasks : 0;
	}
	return sum;
}

static int check_room(struct phx_apply *a, const struct phx_event_workflow_submit *p)
{
	struct open_sums sum = sum_open(a->s, p->uid);
	if (sum.n_runs >= OPEN_MAX)
		return phx_err_set(a->err, -EAGAIN, "%d workflows are not over: no more are taken",
				   OPEN_MAX);
	if (sum.n_of_user + p->n_tasks > TASKS_OF_USER_MAX)
		return phx_err_set(
			a->err, -EDQUOT,
			"user %s has workflows of %llu tasks that are not over, this one "
			"has %u, and %d is what one user may have",
			p->user, (unsigned long long)sum.n_of_user, p->n_tasks, TASKS_OF_USER_MAX);
	if (sum.n_tasks + p->n_tasks > TASKS_OPEN_MAX)
		return phx_err_set(a->err, -EAGAIN,
				   "the workflows that are not over have %llu tasks, this one has "
				   "%u, and no more than %d are taken",
				   (unsigned long long)sum.n_tasks, p->n_tasks, TASKS_OPEN_MAX);
	return 0;
}

int phx_flowrun_may(struct phx_apply *a, const char *name,
		    const struct phx_event_workflow_submit *p, const struct phx_re **ret)
{
	const struct phx_member_of who = {p->must_be_member, p->user, p->group, p->identity};
	const struct phx_re *re;
	if (!p->uid || !p->gid || !phx_id_valid(p->uid) || !phx_id_valid(p->gid))
		return phx_err_set(a->err, -EPERM, "tasks never run as root: submit as a user");
	if (!phx_is_sha256(p->digest))
		return phx_err_set(a->err, -EINVAL, "digest: must be a SHA-256");
	int r = phx_submit_need_re(a, name, &who, &re);
	if (r < 0)
		return r;
	if (!phx_re_kind(&re->agreement)->has_tasks)
		return phx_err_set(a->err, -EINVAL,
				   "RE '%s' is for %s: workflows are for an RE of type many_tasks",
				   re->name, phx_re_kind(&re->agreement)->text);
	*ret = re;
	return 0;
}

static int check_nodes(struct phx_apply *a, const char *name, const struct phx_flow *f)
{
	const struct phx_re *re = phx_state_re(a->s, name);
	uint32_t widest = phx_ledger_widest(a->s->ledger, (int)re->number);
	for (uint32_t i = 0; i < f->n_tasks; i++)
		if (phx_flow_is_wide(&f->tasks[i]) && f->tasks[i].nodes > widest)
			return phx_err_set(
				a->err, -E2BIG,
				"task %u wants %u nodes, and %s can never have more than %u", i + 1,
				f->tasks[i].nodes, name, widest);
	return 0;
}

/* Does each task fit on some node? One that does not would wait for ever. */
int phx_flowrun_check_fit(struct phx_apply *a, const char *re, const struct phx_flow *f)
{
	int r = check_nodes(a, re, f);
	if (r < 0)
		return r;
	struct phx_index_largest has = phx_index_largest(a->s);
	for (uint32_t i = 0; has.cores && i < f->n_tasks; i++) {
		const struct phx_flow_task *t = &f->tasks[i];
		if (t->cores > has.cores)
			return phx_err_set(a->err, -E2BIG,
					   "task %u wants %u cores, and no node has more than %u",
					   i + 1, t->cores, has.cores);
		if (has.memory_bytes && t->memory_bytes > has.memory_bytes)
			return phx_err_set(a->err, -E2BIG,
					   "task %u wants %llu bytes of memory, and no node has "
					   "more than %llu",
					   i + 1, (unsigned long long)t->memory_bytes,
					   (unsigned long long)has.memory_bytes);
	}
	return 0;
}

/* The number of tasks that the run still stores states or places for. */
static uint32_t kept_of(const struct phx_flowrun *w)
{
	return w->live || w->places.n ? w->n_tasks : 0;
}

/* Drops the oldest runs that are over, beyond what is kept. */
static void forget_old(struct phx_state *s)
{
	uint32_t n_over = 0, i = 0;
	uint64_t n_tasks = 0;
	PHX_LIST_EACH(struct phx_flowrun, w, &s->workflows) {
		n_over += !phx_flowrun_is_open(w);
		n_tasks += phx_flowrun_is_open(w) ? 0 : kept_of(w);
	}
	while (i < s->workflows.n && (n_over > KEPT || n_tasks > TASKS_KEPT_MAX)) {
		struct phx_flowrun *w = PHX_LIST_AT(&s->workflows, struct phx_flowrun, i);
		if (phx_flowrun_is_open(w)) {
			i++;
			continue;
		}
		n_over--;
		n_tasks -= kept_of(w);
		phx_record_fini(&phx_flowrun_record, w);
		phx_list_remove(&s->workflows, sizeof(*w), i);
	}
}

static void fill(struct phx_apply *a, struct phx_flowrun *w, const char *re,
		 const struct phx_event_workflow_submit *p)
{
	w->id = a->out->workflow = ++a->s->last_workflow_id;
	PHX_STR_SET(w->name, p->name);
	PHX_STR_SET(w->re, re);
	w->uid = p->uid;
	w->gid = p->gid;
	PHX_STR_SET(w->user, p->user);
	PHX_STR_SET(w->digest, p->digest);
	w->n_tasks = p->n_tasks;
	w->submitted_ms = a->s->now_ms;
}

static void fill_cause(struct phx_apply *a, struct phx_flowrun *w,
		       const struct phx_flowrun_cause *c)
{
	w->trigger = c->trigger;
	w->looks = c->looks;
	for (uint32_t i = 0; c->vars && i < c->vars->n; i++)
		phx_stick(a, phx_text_push(&w->vars, phx_text_at(c->vars, i)));
}

int phx_flowrun_begin(struct phx_apply *a, const char *re,
		      const struct phx_event_workflow_submit *p, const struct phx_flowrun_cause *c)
{
	struct phx_flow flow = {0};
	struct phx_flow_progress *live;
	int r = check_room(a, p);
	r = r ? r : phx_flow_shape_read(&p->shape, p->n_tasks, &flow, a->err);
	r = r || c ? r : phx_flowrun_check_fit(a, re, &flow);
	if (r < 0) {
		phx_flow_fini(&flow);
		return phx_stick(a, r);
	}
	r = phx_stick(a, phx_flow_progress_new(&flow, &live));
	struct phx_flowrun *w = r == 0 ? phx_grow(a, &a->s->workflows, sizeof(*w)) : NULL;
	if (!w) {
		if (r == 0)
			phx_flow_progress_free(live);
		return -ENOMEM;
	}
	fill(a, w, re, p);
	if (c)
		fill_cause(a, w, c);
	w->live = live;
	phx_crew_open(a->s, w);
	if (p->hold)
		phx_flow_run_act(&live->run, PHX_FLOW_HOLD_ALL, 0);
	phx_flowrun_settle(a, w);
	forget_old(a->s);
	return 0;
}

int phx_apply_workflow_submit(struct phx_apply *a, const struct phx_event_workflow_submit *p)
{
	const struct phx_re *re;
	int r = phx_flowrun_may(a, a->ev->re, p, &re);
	r = r ? r : phx_submit_re_runs(a, re);
	return r ? r : phx_flowrun_begin(a, re->name, p, NULL);
}

/* ---- orders of people ---- */

static int need_run(struct phx_apply *a, uint64_t id, struct phx_flowrun **ret)
{
	*ret = phx_state_flowrun(a->s, id);
	if (*ret)
		return 0;
	return phx_err_set(a->err, -ENOENT, "there is no workflow run %llu",
			   (unsigned long long)id);
}

static const struct {
	enum phx_event_kind kind;
	enum phx_flow_act act;
	const char *what, *when;
} orders[] = {
	{PHX_EV_workflow_hold, PHX_FLOW_HOLD_ALL, "held", "while it goes on"},
	{PHX_EV_workflow_release, PHX_FLOW_RELEASE, "let go on", "while it is held"},
	{PHX_EV_workflow_cancel, PHX_FLOW_CANCEL, "cancelled", "while it is not over"},
	{PHX_EV_workflow_resume, PHX_FLOW_RESUME, "resumed",
	 "when it was cancelled, or tasks have failed"},
};

static void begin_again(struct phx_apply *a, struct phx_flowrun *w)
{
	w->n_resumes++;
	free(PHX_TAKE(w->why));
	w->cancelled_by[0] = '\0';
	if (!w->ended_ms)
		return;
	w->ended_ms = 0;
	phx_trigger_run_again(a, w);
	phx_crew_open(a->s, w);
}

/* An order that is already fulfilled changes nothing and is no error. */
static int give_order(struct phx_apply *a, struct phx_flowrun *w, size_t i, bool check)
{
	bool over = !phx_flowrun_is_open(w) && orders[i].act != PHX_FLOW_RESUME;
	if (over && orders[i].act == PHX_FLOW_CANCEL)
		return 0;
	int r = over || !w->live ? -EINVAL : phx_flow_run_act(&w->live->run, orders[i].act, 0);
	if (r == -EALREADY)
		return 0;
	if (r < 0)
		return phx_err_set(a->err, r, "workflow run %llu is %s: it can be %s %s",
				   (unsigned long long)w->id,
				   phx_enum_name(&phx_flow_status_names, w->status), orders[i].what,
				   orders[i].when);
	if (orders[i].act == PHX_FLOW_RESUME)
		begin_again(a, w);
	/* nothing is known of outputs, or tasks run still: what is done stays done */
	if (orders[i].act == PHX_FLOW_RESUME && check)
		phx_flow_run_act(&w->live->run, PHX_FLOW_CHECK, 0);
	if (orders[i].act == PHX_FLOW_CANCEL)
		phx_str_copy(w->cancelled_by, sizeof(w->cancelled_by), a->ev->by);
	phx_note_re(a, NULL, w->re, NULL, "workflow run %llu of RE %s is %s by %s",
		    (unsigned long long)w->id, w->re, orders[i].what, a->ev->by);
	if (orders[i].act == PHX_FLOW_CANCEL)
		phx_flowrun_tell(a, w);
	phx_flowrun_settle(a, w);
	return 0;
}

int phx_apply_workflow_order(struct phx_apply *a, const struct phx_event_workflow_order *p)
{
	struct phx_flowrun *w;
	int r = need_run(a, p->workflow, &w);
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(orders); i++)
		if ((int)orders[i].kind == a->ev->kind)
			return give_order(a, w, i, p->check);
	return r;
}

void phx_flowruns_end_of_re(struct phx_apply *a, const struct phx_re *re)
{
	PHX_LIST_EACH(struct phx_flowrun, w, &a->s->workflows) {
		if (!phx_flowrun_is_open(w) || strcmp(w->re, re->name) != 0)
			continue;
		phx_flow_run_act(&w->live->run, PHX_FLOW_CANCEL, 0);
		phx_str_copy(w->cancelled_by, sizeof(w->cancelled_by), a->ev->by);
		phx_flowrun_settle(a, w);
	}
}

bool phx_flowruns_open(const struct phx_state *s, const struct phx_re *re)
{
	const struct phx_crew_re *c = phx_crew_re(s, re->name);
	return c && c->runs.n;
}

/* ---- what agents tell ---- */

/* The worker of several nodes, this among them, that has a task; NULL: there is none. */
static struct phx_job *wide_on(const struct phx_apply *a, const struct phx_node *n)
{
	const struct phx_crew_node *c = phx_crew_node(a->s, n);
	struct phx_job *j = c && c->job ? phx_state_job(a->s, c->job) : NULL;
	return j && j->run ? j : NULL;
}

/* The run to which a row of the node's report belongs; NULL: the node does not have this attempt of
 * the task now. */
static struct phx_flowrun *run_of(const struct phx_apply *a, const struct phx_node *n,
				  const struct phx_task_result *row)
{
	struct phx_flowrun *w = phx_state_flowrun(a->s, row->run);
	if (!w || !w->live || w->submitted_ms != row->submitted_ms || row->task >= w->n_tasks ||
	    w->live->run.tasks[row->task].state != PHX_FLOW_TASK_RUNNING)
		return NULL;
	const struct phx_flow_place *at = &w->live->at[row->task];
	const struct phx_job *j = wide_on(a, n);
	bool there = phx_flow_is_wide(&w->live->flow.tasks[row->task])
		? j && j->run == w->id && j->task == row->task
		: at->node == n->number;
	return there && at->n_runs == row->attempt ? w : NULL;
}

static enum phx_flow_act act_of(const struct phx_flowrun *w, const struct phx_task_result *row)
{
	bool often = w->live->at[row->task].n_losses >= PHX_TASK_LOSSES_MAX;
	switch ((enum phx_task_outcome)row->outcome) {
	case PHX_TASK_EXITED:
		return row->status ? PHX_FLOW_FAIL : PHX_FLOW_DONE;
	case PHX_TASK_KILLED:
	case PHX_TASK_OVERDUE:
	case PHX_TASK_UNSTARTED:
	case PHX_TASK_MISSING:
		return PHX_FLOW_FAIL;
	case PHX_TASK_CANCELLED:
	case PHX_TASK_LOST:
		return often ? PHX_FLOW_FAIL : PHX_FLOW_LOSE;
	case PHX_TASK_OUTCOMES:
		break;
	}
	return PHX_FLOW_FAIL;
}

/* The failure that a row tells, in words. */
static void say_failure(struct phx_apply *a, const struct phx_task_result *row, char **ret)
{
	static const char *const texts[] = {
		[PHX_TASK_EXITED] = "exit status",
		[PHX_TASK_KILLED] = "ended by signal",
		[PHX_TASK_OVERDUE] = "its time was over",
		[PHX_TASK_UNSTARTED] = "could not be started",
		[PHX_TASK_MISSING] = "an output is missing",
		[PHX_TASK_CANCELLED] = "ended too often before its time",
		[PHX_TASK_LOST] = "was lost too often",
	};
	bool coded = row->outcome <= PHX_TASK_KILLED;
	char code[16] = "";
	if (coded)
		snprintf(code, sizeof(code), " %u", row->status);
	phx_put_text(a, ret, "task %u on %s: %s%s%s%s", row->task + 1, a->ev->node,
		     texts[row->outcome], code, row->text[0] ? ": " : "", row->text);
}

/* Records the run's first permanent failure. */
static void say_why(struct phx_apply *a, struct phx_flowrun *w, const struct phx_task_result *row)
{
	if (!w->why && w->live->run.tasks[row->task].state == PHX_FLOW_TASK_FAILED)
		say_failure(a, row, &w->why);
}

static void take_wide(struct phx_apply *a, const struct phx_node *n, enum phx_flow_act act,
		      const struct phx_task_result *row)
{
	struct phx_job *j = wide_on(a, n);
	if (act == PHX_FLOW_FAIL && j->task_end != PHX_TASK_END_FAILED) {
		free(PHX_TAKE(j->why));
		say_failure(a, row, &j->why);
	}
	phx_given_answer(a, j, n,
			 act == PHX_FLOW_DONE           ? PHX_TASK_END_GOOD
				 : act == PHX_FLOW_LOSE ? PHX_TASK_END_LOST
							: PHX_TASK_END_FAILED);
}

/* What was only looked at has not run. */
static void note_outputs(struct phx_apply *a, struct phx_flowrun *w,
			 const struct phx_task_result *row)
{
	if (phx_flow_run_note(&w->live->run, row->task, row->outputs_sha256) == -ENOMEM)
		phx_stick(a, -ENOMEM);
	if (!row->was_there)
		return;
	w->n_there++;
	w->n_runs--;
}

static void take_row(struct phx_apply *a, const struct phx_node *n,
		     const struct phx_task_result *row)
{
	struct phx_flowrun *w = run_of(a, n, row);
	struct phx_given g = {row->run, row->task};
	if (!w || !phx_crew_take(a->s, n, g, &w->live->flow.tasks[row->task]))
		return;
	enum phx_flow_act act = act_of(w, row);
	if (w->looks && act == PHX_FLOW_DONE)
		phx_trigger_printed(a, w, row->printed_sha256);
	w->cpu_ms += row->cpu_ms < INT64_MAX / 2 - w->cpu_ms ? row->cpu_ms : 0;
	if (phx_flow_is_wide(&w->live->flow.tasks[row->task])) {
		take_wide(a, n, act, row);
		return;
	}
	if (act == PHX_FLOW_DONE)
		note_outputs(a, w, row);
	phx_given_end(w, act, row->task);
	if (act == PHX_FLOW_FAIL)
		say_why(a, w, row);
	phx_flowrun_settle(a, w);
}

int phx_apply_task_results(struct phx_apply *a, const struct phx_event_task_results *p)
{
	const struct phx_node *n = phx_state_node(a->s, a->ev->node);
	if (!n)
		return phx_err_set(a->err, -ENOENT, "there is no node '%s'", a->ev->node);
	if (p->rows.n > PHX_TASK_ROWS_MAX)
		return phx_err_set(a->err, -E2BIG, "rows: there are %u, and can be at most %d",
				   p->rows.n, PHX_TASK_ROWS_MAX);
	PHX_LIST_EACH(struct phx_task_result, row, &p->rows)
		take_row(a, n, row);
	return 0;
}
