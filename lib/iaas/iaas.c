/* The model of the IaaS study: one loop over instants, from the first task to
 * the end of the last. Called by phx sim iaas, the study of section 5 and tests.
 * Reads no file and no clock; draws nothing. */
#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "batch/multiqueue.h"
#include "batch/nowait.h"
#include "iaas/iaas.h"
#include "iaas/fleet.h"

static const char *const names[] = {
#define ALLOCATION(id, name, ...) name,
#include "iaas/allocation.def"
#undef ALLOCATION
};
const struct phx_enum phx_allocation_names = {"allocation policy", names, PHX_ALLOCATION_COUNT_};

static const struct row {
	int scheduler; /* -1: no queue */
	uint32_t n_pools;
} rows[] = {
#define ALLOCATION(id, name, scheduler, pools, ...) {scheduler, pools},
#include "iaas/allocation.def"
#undef ALLOCATION
};

/* What happens at a time that is known beforehand. */
struct due {
	int64_t at_ms;
	uint64_t seq; /* order in which they became known */
	uint32_t node;
	uint32_t lease; /* of a boot; 0: the end of `task` */
	uint32_t task;
};

/* Waiting tasks of a pool, in order of submission. */
struct waiting {
	uint32_t *task;
	uint32_t first, n; /* the live part: task[first] to task[first + n - 1] */
};

struct model {
	const struct phx_iaas_config *config;
	const struct phx_iaas_policy *policy;
	struct phx_iaas_state state;
	struct phx_fleet fleet;
	struct phx_iaas_task *tasks; /* as policies see them */
	int64_t *run_ms;             /* as they are */
	uint32_t n_tasks, n_arrived, n_ended;
	struct waiting waiting[PHX_IAAS_CLASS_COUNT_];
	struct phx_multiqueue *queues; /* or */
	struct phx_nowait *nowait;
	struct phx_list dues; /* heap */
	struct phx_list ids;  /* scratch */
	uint64_t seq;
	int64_t now_ms, next_tick_ms;
	double slowdown, wait_s;
	uint32_t n_slowdown;
	int64_t last_end_ms;
	struct phx_iaas_result result;
	struct phx_list *samples;
};

/* ---- configuration ---- */

void phx_iaas_config_default(struct phx_iaas_config *ret)
{
	*ret = (struct phx_iaas_config){
		.provisioning = PHX_PROVISIONING_startup,
		.allocation = PHX_ALLOCATION_fcfs,
		.max = 64,
		.boot_ms = 600000,
		.period_ms = 20000,
		.charge_ms = 3600000,
		.cut_ms = 60000,
	};
	phx_iaas_params_default(&ret->params);
}

static int check_pair(const struct phx_iaas_config *c, struct phx_err *err)
{
	const struct phx_iaas_policy *policy =
		phx_iaas_policy((enum phx_provisioning)c->provisioning);
	const struct row *row = &rows[c->allocation];

	if (row->scheduler < 0 && c->provisioning != PHX_PROVISIONING_startup)
		return phx_err_set(err, -EINVAL,
				   "%s keeps no queue, and the queue is what %s looks at: it goes "
				   "with startup only",
				   names[c->allocation], policy->name);
	if (row->n_pools != policy->n_pools)
		return phx_err_set(
			err, -EINVAL,
			"%s serves %u pool%s, %s leases for %u: fcfs-2q and od-2q go together",
			names[c->allocation], row->n_pools, row->n_pools > 1 ? "s" : "",
			policy->name, policy->n_pools);
	return 0;
}

int phx_iaas_config_check(const struct phx_iaas_config *c, struct phx_err *err)
{
	if (!c->max || c->max > PHX_IAAS_NODES_MAX)
		return phx_err_set(err, -EINVAL, "%u nodes: from 1 to %d are possible", c->max,
				   PHX_IAAS_NODES_MAX);
	if (c->boot_ms < 0 || c->boot_ms > PHX_IAAS_TIME_MAX_MS)
		return phx_err_set(err, -EINVAL,
				   "boot time %lld ms: from 0 to 366 days are possible",
				   (long long)c->boot_ms);
	if (c->period_ms < 1 || c->period_ms > PHX_IAAS_TIME_MAX_MS)
		return phx_err_set(err, -EINVAL,
				   "control period %lld ms: from 1 ms to 366 days are possible",
				   (long long)c->period_ms);
	if (c->charge_ms < 1 || c->charge_ms > PHX_IAAS_TIME_MAX_MS)
		return phx_err_set(err, -EINVAL,
				   "charge unit %lld ms: from 1 ms to 366 days are possible",
				   (long long)c->charge_ms);
	if (c->cut_ms < 0)
		return phx_err_set(
			err, -EINVAL,
			"cut between short and long tasks %lld ms: 0 or more is possible",
			(long long)c->cut_ms);
	int r = phx_iaas_params_check(&c->params, err);
	return r ? r : check_pair(c, err);
}

/* ---- what is due ---- */

static bool before(const struct due *a, const struct due *b)
{
	return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->seq < b->seq;
}
PHX_HEAP(due, struct due, before)

static int push_due(struct model *m, struct due due)
{
	due.seq = m->seq++;
	return due_push(&m->dues, due);
}

/* ---- tasks ---- */

static int class_of(const struct model *m, uint32_t task)
{
	return m->queues ? (int)phx_multiqueue_range(m->queues, m->run_ms[task]) : PHX_IAAS_SHORT;
}

static int arrive(struct model *m)
{
	uint32_t task = m->n_arrived++;
	if (m->nowait)
		return phx_nowait_submit(m->nowait, task, m->run_ms[task]);
	struct waiting *w = &m->waiting[class_of(m, task)];
	struct phx_batch_job job = {
		.id = task,
		.submit_ms = m->tasks[task].submit_ms,
		.estimate_ms = m->run_ms[task],
		.size = 1,
		.state = PHX_BATCH_WAITING,
	};
	w->task[w->first + w->n++] = task;
	return phx_multiqueue_submit(m->queues, &job);
}

/* Found by halves, for tasks are numbered in order of submission; the shorter side moves up. */
static void leave_waiting(struct waiting *w, uint32_t task)
{
	uint32_t *live = w->task + w->first, i = 0;
	for (uint32_t n = w->n; n > 1; n -= n / 2)
		if (live[i + n / 2] <= task)
			i += n / 2;
	if (i < w->n / 2) {
		memmove(&live[1], &live[0], i * sizeof(*live));
		w->first++;
	} else {
		memmove(&live[i], &live[i + 1], (w->n - 1 - i) * sizeof(*live));
	}
	w->n--;
}

static void note_start(struct model *m, uint32_t task)
{
	m->wait_s += (double)(m->now_ms - m->tasks[task].submit_ms) / 1000;
}

static int start(struct model *m, uint32_t task)
{
	int class = class_of(m, task);
	leave_waiting(&m->waiting[class], task);
	note_start(m, task);
	uint32_t node = phx_fleet_occupy(&m->fleet, class);
	return push_due(
		m, (struct due){.at_ms = m->now_ms + m->run_ms[task], .node = node, .task = task});
}

static int end(struct model *m, uint32_t task)
{
	int64_t run = m->run_ms[task];
	if (run > 0) {
		m->slowdown += (double)(m->now_ms - m->tasks[task].submit_ms) / (double)run;
		m->n_slowdown++;
	}
	m->n_ended++;
	m->last_end_ms = m->now_ms;
	return phx_iaas_ended((enum phx_provisioning)m->config->provisioning, &m->state,
			      m->tasks[task].input, run);
}

/* ---- one instant, step by step ---- */

/* A node may serve tasks from now on. */
static int give(struct model *m, uint32_t node)
{
	if (m->nowait)
		return phx_nowait_give(m->nowait, node);
	phx_batch_give(phx_multiqueue_part(m->queues, (uint32_t)m->fleet.node[node].class), 1);
	return 0;
}

static int happen(struct model *m, const struct due *due)
{
	if (!due->lease) {
		phx_fleet_vacate(&m->fleet, due->node, m->now_ms);
		int r = phx_multiqueue_ended(m->queues, due->task);
		return r ? r : end(m, due->task);
	}
	int64_t asked = m->fleet.node[due->node].asked_ms;
	if (!phx_fleet_ready(&m->fleet, due->node, due->lease, m->now_ms))
		return 0;
	phx_iaas_booted(&m->state, m->now_ms - asked);
	return give(m, due->node);
}

static int end_shared(struct model *m)
{
	m->ids.n = 0;
	int r = phx_nowait_ended(m->nowait, m->now_ms, &m->ids);
	for (uint32_t i = 0; !r && i < m->ids.n; i++) {
		const struct phx_nowait_task *t = PHX_LIST_AT(&m->ids, struct phx_nowait_task, i);
		if (m->fleet.node[t->node].state == PHX_FLEET_BUSY &&
		    !phx_nowait_load(m->nowait, t->node))
			phx_fleet_vacate(&m->fleet, t->node, m->now_ms);
		r = end(m, (uint32_t)t->id);
	}
	return r;
}

static int allocate_shared(struct model *m)
{
	m->ids.n = 0;
	int r = phx_nowait_pass(m->nowait, m->now_ms, &m->ids);
	PHX_LIST_EACH(const struct phx_nowait_task, t, &m->ids) {
		if (m->fleet.node[t->node].state == PHX_FLEET_IDLE)
			phx_fleet_occupy_node(&m->fleet, t->node);
		note_start(m, (uint32_t)t->id);
	}
	return r;
}

static int allocate(struct model *m)
{
	if (m->nowait)
		return allocate_shared(m);
	m->ids.n = 0;
	int r = phx_multiqueue_pass(m->queues, m->now_ms, &m->ids);
	for (uint32_t i = 0; !r && i < m->ids.n; i++)
		r = start(m, (uint32_t)*PHX_LIST_AT(&m->ids, uint64_t, i));
	return r;
}

static void look(const struct model *m, struct phx_iaas_view *ret)
{
	*ret = (struct phx_iaas_view){
		.now_ms = m->now_ms, .max = m->config->max, .tasks = m->tasks};
	for (int c = 0; c < PHX_IAAS_CLASS_COUNT_; c++) {
		const struct phx_fleet_pool *pool = &m->fleet.pool[c];
		const struct waiting *w = &m->waiting[c];
		ret->pool[c] = (struct phx_iaas_pool_view){
			.booting = pool->booting,
			.busy = pool->busy,
			.idle = pool->idle,
			.expired = phx_fleet_idle_since(&m->fleet, c,
							m->now_ms - m->config->params.idle_ms[c]),
			.queue = w->task ? w->task + w->first : NULL,
			.n_queued = w->n,
		};
	}
}

static int lease(struct model *m, int class, bool at_once)
{
	uint32_t node = phx_fleet_lease(&m->fleet, class, m->now_ms),
		 number = m->fleet.node[node].lease;
	if (!at_once)
		return push_due(m,
				(struct due){.at_ms = m->now_ms + m->config->boot_ms,
					     .node = node,
					     .lease = number});
	phx_fleet_ready(&m->fleet, node, number, m->now_ms);
	return give(m, node);
}

static int release(struct model *m, int class)
{
	uint32_t node = phx_fleet_release_idle(&m->fleet, class, m->now_ms);
	return m->nowait ? phx_nowait_take(m->nowait, node)
			 : phx_batch_take(phx_multiqueue_part(m->queues, (uint32_t) class), 1);
}

static int grant(struct model *m, const struct phx_iaas_wish *wish, bool at_once)
{
	int r = 0;
	for (int c = 0; c < PHX_IAAS_CLASS_COUNT_; c++) {
		for (uint32_t i = 0; i < wish->cancel[c]; i++)
			phx_fleet_cancel(&m->fleet, c, m->now_ms);
		for (uint32_t i = 0; i < wish->release[c] && !r; i++)
			r = release(m, c);
		for (uint32_t i = 0; i < wish->lease[c] && !r; i++)
			r = lease(m, c, at_once);
	}
	return r;
}

/* Ask a rule and do what it wishes; 1 when nodes went, so that others may be leased. */
static int decide(struct model *m, phx_iaas_rule_fn rule, bool at_once)
{
	struct phx_iaas_wish wish = {0};
	struct phx_iaas_view view;
	uint32_t leased = m->fleet.leased;
	if (!rule)
		return 0;
	look(m, &view);
	rule(&m->config->params, &view, &m->state, &wish);
	int r = grant(m, &wish, at_once);
	return r ? r : m->fleet.leased < leased;
}

/* The policy's answer to a change; what it releases is a change, too. */
static int decide_change(struct model *m)
{
	int r;
	do
		r = decide(m, m->policy->rules->change, false);
	while (r > 0);
	return r;
}

static int sample(struct model *m)
{
	const struct phx_fleet_pool *a = &m->fleet.pool[PHX_IAAS_SHORT],
				    *b = &m->fleet.pool[PHX_IAAS_LONG];
	struct phx_iaas_sample now = {
		.at_ms = m->now_ms,
		.leased = m->fleet.leased,
		.ready = a->idle + a->busy + b->idle + b->busy,
		.busy = a->busy + b->busy,
		.queued = m->waiting[0].n + m->waiting[1].n +
			(m->nowait ? phx_nowait_unplaced(m->nowait) : 0),
	};
	if (now.queued > m->result.peak_queue)
		m->result.peak_queue = now.queued;
	if (!m->samples)
		return 0;
	if (m->samples->n) {
		struct phx_iaas_sample *last =
			PHX_LIST_AT(m->samples, struct phx_iaas_sample, m->samples->n - 1);
		struct phx_iaas_sample same = *last;
		same.at_ms = now.at_ms;
		if (!memcmp(&same, &now, sizeof(now)))
			return 0;
		if (last->at_ms == now.at_ms) {
			*last = now;
			return 0;
		}
	}
	struct phx_iaas_sample *place = phx_list_push(m->samples, sizeof(*place));
	if (!place)
		return -ENOMEM;
	*place = now;
	return 0;
}

/* ---- the loop ---- */

static int64_t earliest(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* When a node will have been idle for its pool's idle time; later than now, for those were decided
 * on. */
static int64_t next_expiry_ms(const struct model *m)
{
	int64_t next = INT64_MAX;
	for (int c = 0; m->policy->rules->change && c < PHX_IAAS_CLASS_COUNT_; c++) {
		int64_t since = phx_fleet_first_idle_ms(&m->fleet, c);
		if (since != INT64_MAX && since + m->config->params.idle_ms[c] > m->now_ms)
			next = earliest(next, since + m->config->params.idle_ms[c]);
	}
	return next;
}

static int64_t next_instant_ms(const struct model *m)
{
	int64_t next = next_expiry_ms(m);
	if (m->dues.n)
		next = earliest(next, due_top(&m->dues)->at_ms);
	if (m->n_arrived < m->n_tasks)
		next = earliest(next, m->tasks[m->n_arrived].submit_ms);
	if (m->nowait)
		next = earliest(next, phx_nowait_next_ms(m->nowait));
	if (m->policy->rules->tick)
		next = earliest(next, m->next_tick_ms);
	return next;
}

static int step(struct model *m)
{
	int r = m->nowait ? end_shared(m) : 0;
	while (!r && m->dues.n && due_top(&m->dues)->at_ms <= m->now_ms) {
		struct due due = due_pop(&m->dues);
		r = happen(m, &due);
	}
	while (!r && m->n_arrived < m->n_tasks && m->tasks[m->n_arrived].submit_ms <= m->now_ms)
		r = arrive(m);
	if (!r)
		r = allocate(m);
	if (!r)
		r = decide_change(m);
	if (!r && m->policy->rules->tick && m->now_ms >= m->next_tick_ms) {
		m->next_tick_ms += m->config->period_ms;
		r = decide(m, m->policy->rules->tick, false);
	}
	return r < 0 ? r : sample(m);
}

static int run(struct model *m, struct phx_err *err)
{
	int r = decide(m, m->policy->rules->start, true);
	while (!r && m->n_ended < m->n_tasks) {
		m->now_ms = next_instant_ms(m);
		if (m->now_ms == INT64_MAX)
			return phx_err_set(err, -EINVAL,
					   "%u tasks wait for nodes that nobody leases",
					   m->n_tasks - m->n_ended);
		r = step(m);
	}
	if (r)
		return phx_err_set(err, r, "%s",
				   r == -ENOMEM ? "out of memory"
						: "too many tasks share one node");
	phx_fleet_release_all(&m->fleet, m->now_ms);
	return sample(m);
}

/* ---- set-up and result ---- */

/* One task a node of a job; the policy sees run times only if its row says so. */
static int take_tasks(struct model *m, const struct phx_trace_jobs *jobs, struct phx_err *err)
{
	uint64_t n = 0;
	for (size_t i = 0; i < jobs->n; i++) {
		const struct phx_trace_job *job = &jobs->jobs[i];
		if (job->n_parents)
			return phx_err_set(
				err, -EINVAL,
				"job %llu waits for another: the IaaS study has independent tasks",
				(unsigned long long)job->id);
		if (job->run_ms < 0 || job->run_ms > PHX_IAAS_TIME_MAX_MS || job->submit_ms < 0 ||
		    job->submit_ms > 100 * PHX_IAAS_TIME_MAX_MS)
			return phx_err_set(err, -EINVAL,
					   "job %llu: run time or submission out of range",
					   (unsigned long long)job->id);
		n += job->size;
	}
	if (!n)
		return phx_err_set(err, -EINVAL, "the workload has no task");
	if (n > PHX_IAAS_TASKS_MAX)
		return phx_err_set(err, -E2BIG,
				   "the workload has %llu tasks, at most %d are possible",
				   (unsigned long long)n, PHX_IAAS_TASKS_MAX);
	m->tasks = calloc(n, sizeof(*m->tasks));
	m->run_ms = calloc(n, sizeof(*m->run_ms));
	if (!m->tasks || !m->run_ms)
		return phx_err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < jobs->n; i++)
		for (uint32_t k = 0; k < jobs->jobs[i].size; k++, m->n_tasks++) {
			m->run_ms[m->n_tasks] = jobs->jobs[i].run_ms;
			m->tasks[m->n_tasks] = (struct phx_iaas_task){
				.submit_ms = jobs->jobs[i].submit_ms,
				.run_ms = m->policy->knows_run ? jobs->jobs[i].run_ms : -1,
				.input = jobs->jobs[i].class,
			};
		}
	return 0;
}

static int set_up(struct model *m, struct phx_err *err)
{
	const struct row *row = &rows[m->config->allocation];
	int r = phx_fleet_init(&m->fleet, m->config->max, m->config->charge_ms);

	if (!r && row->scheduler < 0)
		r = phx_nowait_new(&m->nowait);
	if (r)
		return phx_err_set(err, r, "out of memory");
	if (row->scheduler < 0)
		return 0;
	const struct phx_multiqueue_config queues = {
		.scheduler = row->scheduler,
		.n = row->n_pools,
		.cut_ms = {m->config->cut_ms},
	};
	for (uint32_t c = 0; c < row->n_pools; c++) {
		m->waiting[c].task = calloc(m->n_tasks, sizeof(uint32_t));
		if (!m->waiting[c].task)
			return phx_err_set(err, -ENOMEM, "out of memory");
	}
	return phx_multiqueue_new(&queues, &m->queues, err);
}

static void tear_down(struct model *m)
{
	phx_iaas_state_fini(&m->state);
	phx_fleet_fini(&m->fleet);
	phx_multiqueue_free(m->queues);
	phx_nowait_free(m->nowait);
	for (int c = 0; c < PHX_IAAS_CLASS_COUNT_; c++)
		free(m->waiting[c].task);
	free(m->tasks);
	free(m->run_ms);
	phx_list_fini(&m->dues);
	phx_list_fini(&m->ids);
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static void summarise(const struct model *m, struct phx_iaas_result *ret)
{
	const double hour_ms = 3600000;
	int64_t first = m->tasks[0].submit_ms, alone = 0, ideal = 0;
	for (uint32_t i = 0; i < m->n_tasks; i++) {
		int64_t could_end = m->tasks[i].submit_ms + m->run_ms[i] - first;
		alone += m->run_ms[i];
		ideal = could_end > ideal ? could_end : ideal;
	}
	double makespan = (double)(m->last_end_ms - first);
	*ret = m->result;
	ret->n_tasks = m->n_tasks;
	ret->makespan_ms = m->last_end_ms - first;
	ret->slowdown = ratio(m->slowdown, m->n_slowdown);
	ret->speedup = ratio((double)alone, makespan);
	ret->speedup_inf = ratio((double)ideal, makespan);
	ret->actual_h = (double)m->fleet.used_ms / hour_ms;
	ret->charged_h = (double)m->fleet.n_charged * ((double)m->config->charge_ms / hour_ms);
	ret->efficiency = ratio(ret->charged_h, ret->actual_h);
	ret->utility = ratio(ret->speedup, ret->charged_h);
	ret->mean_wait_s = m->wait_s / m->n_tasks;
	ret->n_leases = m->fleet.n_leases;
	ret->n_cancelled = m->fleet.n_cancelled;
	ret->peak_nodes = m->fleet.peak;
}

int phx_iaas_run(const struct phx_iaas_config *config, const struct phx_trace_jobs *jobs,
		 struct phx_iaas_result *ret, struct phx_list *ret_samples, struct phx_err *err)
{
	PHX_AUTO(tear_down) struct model m = {.config = config, .samples = ret_samples};
	int r = phx_iaas_config_check(config, err);
	if (r)
		return r;
	m.policy = phx_iaas_policy((enum phx_provisioning)config->provisioning);
	r = take_tasks(&m, jobs, err);
	if (!r)
		r = set_up(&m, err);
	if (!r)
		r = run(&m, err);
	if (!r)
		summarise(&m, ret);
	return r;
}
