/* A batch RE whose jobs another engine starts: the core sees them, takes nodes
 * only when that engine has let go of them, and tells it what to end. The engine
 * is a fake of some lines that starts what fits on its open nodes; machines are
 * those of world.h. */
#include "unit/core/pair.h"

enum { FAKE_JOBS = 40 };
/* Courses of test_random. A sanitizer is ten times as slow, and reads the same code in fewer. */
#ifdef __SANITIZE_ADDRESS__
enum { COURSES = 25 };
#else
enum { COURSES = 150 };
#endif

struct fake_job {
	int id; /* 0: there is none */
	int state;
	uint32_t nodes, restarts;
	int64_t started_ms, begin_ms;
	bool no_requeue;
	bool on[NODES];
};

struct fake_engine {
	struct fake_job jobs[FAKE_JOBS];
	bool closed[NODES];
	bool refuses; /* its partition is drained */
	int last_id;
	int64_t last_begin_ms;
	unsigned n_killed, n_hurried;
};

static const char *node_name(unsigned i)
{
	static const char *const names[NODES] = {"n1", "n2", "n3", "n4", "n5"};
	return names[i];
}

static struct fake_job *fake_job(struct fake_engine *e, int id)
{
	for (unsigned i = 0; i < FAKE_JOBS; i++)
		if (e->jobs[i].id == id)
			return &e->jobs[i];
	return NULL;
}

static int fake_submit(struct fake_engine *e, uint32_t nodes)
{
	struct fake_job *j = fake_job(e, 0);
	if (!j)
		return 0;
	*j = (struct fake_job){.id = ++e->last_id, .nodes = nodes, .state = PHX_ENGINE_JOB_WAITING};
	return j->id;
}

static bool fake_busy(const struct fake_engine *e, unsigned node)
{
	for (unsigned i = 0; i < FAKE_JOBS; i++)
		if (e->jobs[i].id && e->jobs[i].on[node])
			return true;
	return false;
}

/* What fits on open nodes starts, in the order of their numbers. */
static void fake_schedule(struct world *w, struct fake_engine *e)
{
	for (int id = 1; id <= e->last_id; id++) {
		struct fake_job *j = fake_job(e, id);
		uint32_t n_free = 0;
		if (!j || j->state != PHX_ENGINE_JOB_WAITING || j->begin_ms)
			continue;
		for (unsigned i = 0; i < NODES; i++)
			n_free += !e->closed[i] && !fake_busy(e, i);
		if (n_free < j->nodes)
			continue;
		uint32_t left = j->nodes;
		for (unsigned i = 0; i < NODES && left; i++)
			if (!e->closed[i] && !fake_busy(e, i)) {
				j->on[i] = true;
				left--;
			}
		j->state = PHX_ENGINE_JOB_RUNNING;
		j->started_ms = w->now;
	}
}

static void fake_end(struct fake_engine *e, int id)
{
	struct fake_job *j = fake_job(e, id);
	if (j)
		*j = (struct fake_job){0};
}

static void fake_requeue(struct fake_engine *e, struct fake_job *j)
{
	e->n_killed++;
	memset(j->on, 0, sizeof(j->on));
	j->state = PHX_ENGINE_JOB_WAITING;
	j->begin_ms = e->last_begin_ms += 121000; /* by itself it is not started before */
	j->restarts++;
}

/* All that it knows, as one event. */
static int report(struct world *w, const struct fake_engine *e)
{
	struct phx_event ev = {.kind = PHX_EV_re_queue, .re_queue.whole = true};
	PHX_STR_SET(ev.re, "queue");
	for (unsigned i = 0; i < NODES; i++) {
		struct phx_engine_node *n = phx_list_push(&ev.re_queue.engine_nodes, sizeof(*n));
		PHX_STR_SET(n->name, node_name(i));
		n->state = e->closed[i] ? PHX_ENGINE_NODE_CLOSED : PHX_ENGINE_NODE_OPEN;
		n->ours = e->closed[i];
	}
	struct phx_engine_node *p = phx_list_push(&ev.re_queue.engine_partitions, sizeof(*p));
	PHX_STR_SET(p->name, "Long");
	p->state = e->refuses ? PHX_ENGINE_NODE_CLOSED : PHX_ENGINE_NODE_OPEN;
	p->ours = e->refuses;
	for (unsigned i = 0; i < FAKE_JOBS; i++) {
		const struct fake_job *j = &e->jobs[i];
		struct phx_engine_job *t =
			j->id ? phx_list_push(&ev.re_queue.engine_jobs, sizeof(*t)) : NULL;
		if (!t)
			continue;
		snprintf(t->id, sizeof(t->id), "%d", j->id);
		PHX_STR_SET(t->user, "nobody");
		t->state = j->begin_ms ? PHX_ENGINE_JOB_HELD : j->state;
		t->begin_ms = j->begin_ms;
		t->nodes = j->nodes;
		t->started_ms = j->started_ms;
		t->restarts = j->restarts;
		t->no_requeue = j->no_requeue;
		for (unsigned k = 0; k < NODES; k++)
			if (j->on[k])
				PHX_STR_SET(((struct phx_engine_host *)phx_list_push(
						     &t->hosts, sizeof(struct phx_engine_host)))
						    ->node,
					    node_name(k));
	}
	int r = world_apply(w, &ev, NULL);
	phx_event_fini(&ev);
	return r;
}

static int trouble(struct world *w, const char *why)
{
	struct phx_event ev = {.kind = PHX_EV_re_queue};
	PHX_STR_SET(ev.re, "queue");
	PHX_STR_SET(ev.text, why);
	return world_apply(w, &ev, NULL);
}

/* It does what it is told; returns how many orders there were. */
static uint32_t obey(struct world *w, struct fake_engine *e)
{
	struct phx_list orders = {0};
	assert_int_equal(phx_engine_orders(&w->s, "queue", &orders), 0);
	PHX_LIST_EACH(struct phx_engine_order, o, &orders) {
		struct fake_job *j = fake_job(e, atoi(o->target));
		if (o->kind == PHX_ENGINE_CLOSE || o->kind == PHX_ENGINE_OPEN)
			e->closed[world_index(o->target) - 1] = o->kind == PHX_ENGINE_CLOSE;
		else if (o->kind == PHX_ENGINE_REQUEUE && j && j->state == PHX_ENGINE_JOB_RUNNING)
			fake_requeue(e, j);
		else if (o->kind == PHX_ENGINE_CANCEL)
			fake_end(e, atoi(o->target));
		else if (o->kind == PHX_ENGINE_REFUSE || o->kind == PHX_ENGINE_ADMIT)
			e->refuses = o->kind == PHX_ENGINE_REFUSE;
		else if (o->kind == PHX_ENGINE_EXPEDITE && j) {
			j->begin_ms = 0;
			e->n_hurried++;
		}
	}
	uint32_t n = orders.n;
	phx_list_fini(&orders);
	return n;
}

/* No node is taken from under a job: what ends its service is asked of it only when it is closed
 * and empty. */
static void check_taken(struct world *w, const struct fake_engine *e)
{
	for (unsigned i = 0; i < NODES; i++) {
		const struct phx_node *n = world_node(w, node_name(i));
		const struct phx_step *step = phx_node_step(n);
		bool going = step && !strcmp(n->role, "compute") &&
			(step->kind == PHX_STEP_drain
				 ? step->status == PHX_STEP_ISSUED
				 : step->kind == PHX_STEP_stop || step->kind == PHX_STEP_leave);
		if (going && fake_busy(e, i))
			fail_msg("%s is taken and runs a job", n->name);
		if (going && !e->closed[i] && !strcmp(n->pool, "queue"))
			fail_msg("%s is taken and is open", n->name);
	}
}

/* Machines do what they are told. */
static void machines(struct world *w, const struct fake_engine *e)
{
	for (unsigned k = 0; k < NODES; k++) {
		const struct phx_step *step = phx_node_step(world_node(w, node_name(k)));
		if (step && step->status == PHX_STEP_ISSUED)
			world_step(w, node_name(k));
		check_taken(w, e);
	}
}

/* Machines, engine and core go on until nothing changes. */
static void go_on(struct world *w, struct fake_engine *e)
{
	for (int i = 0; i < 40; i++) {
		fake_schedule(w, e);
		report(w, e);
		check_taken(w, e);
		machines(w, e);
		obey(w, e);
	}
}

static void running(struct world *w, struct fake_engine *e, uint32_t batch, uint32_t web)
{
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, batch),
			     s = agreement("shop", PHX_RE_WEB, web);
	q.engine = PHX_RE_ENGINE_SLURM;
	nodes_ready(w);
	assert_int_equal(create(w, &q), 0);
	assert_int_equal(create(w, &s), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "shop"), 0);
	memset(e->closed, 0, sizeof(e->closed));
	go_on(w, e);
	assert_int_equal(held(w, "queue"), batch);
	assert_int_equal(held(w, "shop"), web);
}

static const struct phx_job *seen(struct world *w, int id)
{
	char name[16];
	snprintf(name, sizeof(name), "%d", id);
	PHX_LIST_EACH(struct phx_job, j, &w->s.jobs)
		if (!strcmp(j->engine_id, name))
			return j;
	fail_msg("job %d is not known", id);
	return NULL;
}

static struct phx_ledger_counts counts(struct world *w)
{
	struct phx_ledger_counts c;
	phx_ledger_counts(w->s.ledger, (int)phx_state_re(&w->s, "queue")->number, &c);
	return c;
}

/* ---- tests ---- */

static void test_nodes_that_serve_are_open_and_no_others(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	running(w, &e, 3, 1);
	for (unsigned i = 0; i < NODES; i++)
		assert_int_equal(!e.closed[i], !strcmp(world_node(w, node_name(i))->pool, "queue"));
	assert_int_equal(obey(w, &e), 0); /* told once, that is enough */
}

static void test_jobs_are_seen(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	running(w, &e, 4, 1);
	int wide = fake_submit(&e, 3), narrow = fake_submit(&e, 1), waits = fake_submit(&e, 2),
	    huge = fake_submit(&e, 50);
	go_on(w, &e);
	assert_int_equal(seen(w, wide)->state, PHX_JOB_RUNNING);
	assert_int_equal(seen(w, wide)->parts.n, 3);
	assert_int_equal(seen(w, narrow)->state, PHX_JOB_RUNNING);
	assert_int_equal(seen(w, waits)->state, PHX_JOB_QUEUED);
	assert_int_equal(seen(w, huge)->state, PHX_JOB_QUEUED);
	struct phx_ledger_counts c = counts(w);
	assert_int_equal(c.busy, 4);
	assert_int_equal(c.batch.n_waiting, 1); /* the RE can never have 50 nodes */
	fake_end(&e, wide);
	go_on(w, &e);
	assert_int_equal(seen(w, wide)->state, PHX_JOB_DONE);
	assert_int_equal(seen(w, waits)->state, PHX_JOB_RUNNING);
	assert_int_equal(counts(w).busy, 3);
}

static void test_idle_nodes_go_first(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	running(w, &e, 4, 1);
	int id = fake_submit(&e, 3);
	go_on(w, &e);
	web_is_busy(w);
	go_on(w, &e);
	assert_int_equal(held(w, "shop"), 2);
	assert_int_equal(held(w, "queue"), 3);
	assert_int_equal(e.n_killed, 0);
	assert_int_equal(seen(w, id)->state, PHX_JOB_RUNNING);
}

static void test_smallest_job_is_queued_again(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	running(w, &e, 4, 1);
	int wide = fake_submit(&e, 3), narrow = fake_submit(&e, 1), other = fake_submit(&e, 1);
	go_on(w, &e);
	web_is_busy(w);
	assert_int_equal(seen(w, narrow)->end, PHX_JOB_END_KILLED);
	assert_int_equal(seen(w, wide)->end, PHX_JOB_END_NONE);
	go_on(w, &e);
	assert_int_equal(e.n_killed, 1);
	assert_int_equal(seen(w, narrow)->state, PHX_JOB_QUEUED);
	assert_int_equal(seen(w, narrow)->kills, 1);
	assert_int_equal(seen(w, other)->state, PHX_JOB_QUEUED); /* it did not take its place */
	assert_int_equal(held(w, "shop"), 2);
	fake_end(&e, wide);
	go_on(w, &e);
	assert_int_equal(seen(w, narrow)->state, PHX_JOB_RUNNING);
}

static void test_job_that_cannot_run_again_is_cancelled(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	running(w, &e, 4, 1);
	int id = fake_submit(&e, 4);
	fake_job(&e, id)->no_requeue = true;
	go_on(w, &e);
	web_is_busy(w);
	go_on(w, &e);
	assert_null(fake_job(&e, id));
	assert_int_equal(seen(w, id)->state, PHX_JOB_DONE);
	assert_int_equal(held(w, "shop"), 2);
}

static void test_nothing_is_taken_on_doubt(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	struct phx_list orders = {0};
	running(w, &e, 4, 1);
	assert_int_equal(trouble(w, "slurmctld does not answer"), 0);
	uint64_t seq = w->s.seq;
	assert_int_equal(trouble(w, "slurmctld does not answer"), 0);
	assert_int_equal(w->s.seq, seq); /* said once */
	web_is_busy(w);
	for (int i = 0; i < 50; i++) {
		machines(w, &e);
		tick(w, 360 * 1000);
	}
	assert_int_equal(held(w, "shop"), 1);
	assert_int_equal(phx_engine_orders(&w->s, "queue", &orders), 0);
	assert_int_equal(orders.n, 0);
	go_on(w, &e);
	assert_int_equal(held(w, "shop"), 2);
}

/* A job starts on the node that was promised away a moment before. */
static void test_job_that_began_meanwhile_goes_back(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	running(w, &e, 4, 1);
	web_is_busy(w);
	int id = fake_submit(&e, 4);
	fake_schedule(w, &e);
	assert_int_equal(report(w, &e), 0);
	assert_int_equal(seen(w, id)->end, PHX_JOB_END_KILLED);
	check_taken(w, &e);
	go_on(w, &e);
	assert_int_equal(held(w, "shop"), 2);
	assert_int_equal(e.n_killed, 1);
	assert_int_equal(seen(w, id)->state, PHX_JOB_QUEUED);
}

static void test_order_by_hand_waits_too(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	running(w, &e, 4, 1);
	int id = fake_submit(&e, 4);
	go_on(w, &e);
	assert_int_equal(world_order(w, PHX_EV_drain, "n1", NULL), 0);
	assert_int_equal(seen(w, id)->end, PHX_JOB_END_KILLED);
	assert_int_not_equal(world_node(w, "n1")->state, PHX_NODE_MAINTENANCE);
	go_on(w, &e);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_MAINTENANCE);
	assert_true(e.closed[0]);
	assert_int_equal(seen(w, id)->kills, 1);
}

static void test_jobs_are_ended_by_their_engine_alone(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	struct phx_list orders = {0};
	running(w, &e, 4, 1);
	int id = fake_submit(&e, 1);
	go_on(w, &e);
	const struct phx_job *j = seen(w, id);
	const char *node = PHX_LIST_AT(&j->parts, struct phx_job_part, 0)->node;
	struct phx_event cancel = {.kind = PHX_EV_job_cancel, .job_order.job = j->id},
			 hold = {.kind = PHX_EV_job_hold, .job_order.job = j->id};
	struct phx_event result = {.kind = PHX_EV_job_result, .job_result.job = j->id};
	struct phx_event submit = {.kind = PHX_EV_job_submit,
				   .job_submit = {.job_nodes = 1, .uid = 1, .gid = 1}};
	struct phx_event gone = {.kind = PHX_EV_missing};
	PHX_STR_SET(result.node, node);
	PHX_STR_SET(gone.node, node);
	PHX_STR_SET(submit.re, "queue");
	assert_int_equal(phx_text_push(&submit.job_submit.argv, "true"), 0);
	assert_int_equal(world_apply(w, &cancel, NULL), -EOPNOTSUPP);
	assert_int_equal(world_apply(w, &hold, NULL), -EOPNOTSUPP);
	assert_int_equal(world_apply(w, &result, NULL), -EOPNOTSUPP);
	assert_int_equal(world_apply(w, &submit, NULL), -EOPNOTSUPP);
	world_orders(w, node, &orders);
	assert_int_equal(orders.n, 0);
	phx_list_fini(&orders);
	assert_int_equal(world_apply(w, &gone, NULL), 0);
	tick(w, 3600 * 1000);
	/* its agent is silent: Slurm says how the job is */
	assert_int_equal(seen(w, id)->state, PHX_JOB_RUNNING);
	phx_event_fini(&submit);
}

static void test_deactivated(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	running(w, &e, 4, 1);
	int runs = fake_submit(&e, 4);
	fake_submit(&e, 4);
	go_on(w, &e);
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	for (int i = 0; i < 40 && phx_state_re(&w->s, "queue")->attached; i++) {
		report(w, &e);
		machines(w, &e);
		if (phx_state_re(&w->s, "queue")->attached)
			obey(w, &e);
	}
	assert_false(phx_state_re(&w->s, "queue")->active);
	settle(w);
	assert_int_equal(w->s.jobs.n, 0); /* they are Slurm's, and wait there */
	fake_job(&e, runs)->begin_ms = 0; /* for two minutes */
	assert_int_equal(fake_job(&e, runs)->state, PHX_ENGINE_JOB_WAITING);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	go_on(w, &e);
	assert_int_equal(seen(w, runs)->state, PHX_JOB_RUNNING);
}

static void test_safe_deactivation_waits_for_its_jobs(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	running(w, &e, 4, 1);
	int first = fake_submit(&e, 4), second = fake_submit(&e, 4);
	go_on(w, &e);
	assert_int_equal(operate(w, PHX_EV_re_safe_deactivate, "queue"), 0);
	go_on(w, &e);
	assert_int_equal(phx_state_re(&w->s, "queue")->state, PHX_RE_STATE_SUSPENDED);
	fake_end(&e, first);
	go_on(w, &e);
	assert_int_equal(seen(w, second)->state, PHX_JOB_RUNNING);
	fake_end(&e, second);
	report(w, &e);
	assert_int_equal(phx_state_re(&w->s, "queue")->state, PHX_RE_STATE_DEACTIVATED);
}

/* What waits after a kill of ours is told to begin, once, and nothing that waits for a time of its
 * own. */
static void test_killed_job_need_not_wait(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	struct phx_list orders = {0};
	running(w, &e, 4, 1);
	int own = fake_submit(&e, 1), id = fake_submit(&e, 4);
	fake_job(&e, own)->begin_ms = 7;
	go_on(w, &e);
	assert_true(seen(w, own)->held);
	assert_int_equal(e.n_hurried, 0);
	web_is_busy(w);
	go_on(w, &e);
	assert_int_equal(e.n_killed, 1);
	assert_int_equal(e.n_hurried, 1);
	assert_int_equal(fake_job(&e, own)->begin_ms, 7);
	assert_false(seen(w, id)->expedite);
	/* told, and then its user wants another time: that is left to him */
	fake_job(&e, id)->nodes = 3;
	go_on(w, &e);
	assert_int_equal(seen(w, id)->state, PHX_JOB_RUNNING);
	web_is_busy(w);
	obey(w, &e); /* its nodes are closed, and it is killed */
	report(w, &e);
	assert_true(seen(w, id)->expedite);
	fake_job(&e, id)->begin_ms = 9999999;
	report(w, &e);
	assert_false(seen(w, id)->expedite);
	assert_int_equal(phx_engine_orders(&w->s, "queue", &orders), 0);
	PHX_LIST_EACH(struct phx_engine_order, o, &orders)
		assert_int_not_equal(o->kind, PHX_ENGINE_EXPEDITE);
	phx_list_fini(&orders);
}

static void test_suspended_takes_no_new_jobs(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	running(w, &e, 4, 1);
	fake_submit(&e, 4);
	int waits = fake_submit(&e, 4);
	go_on(w, &e);
	assert_int_equal(operate(w, PHX_EV_re_suspend, "queue"), 0);
	assert_int_equal(obey(w, &e), 1);
	assert_true(e.refuses);
	go_on(w, &e);
	assert_true(e.refuses);
	fake_end(&e, 1);
	go_on(w, &e);
	assert_int_equal(seen(w, waits)->state, PHX_JOB_RUNNING); /* it was submitted before */
	e.refuses = false; /* it starts anew, as its configuration has it */
	go_on(w, &e);
	assert_true(e.refuses);
	assert_int_equal(operate(w, PHX_EV_re_resume, "queue"), 0);
	go_on(w, &e);
	assert_false(e.refuses);
	assert_int_equal(obey(w, &e), 0);
}

/* What an administrator drained stays so; told before anything was heard of it again. */
static void test_partition_of_somebody_else_is_left_to_him(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {.refuses = true};
	running(w, &e, 4, 1);
	assert_true(e.refuses);
	assert_int_equal(operate(w, PHX_EV_re_suspend, "queue"), 0);
	go_on(w, &e);
	assert_int_equal(operate(w, PHX_EV_re_resume, "queue"), 0);
	go_on(w, &e);
	assert_true(e.refuses);
	e.refuses = false;
	go_on(w, &e);
	assert_int_equal(operate(w, PHX_EV_re_suspend, "queue"), 0);
	e.refuses = true; /* told; and before it told of itself again: */
	assert_int_equal(operate(w, PHX_EV_re_resume, "queue"), 0);
	go_on(w, &e);
	assert_false(e.refuses);
	e.refuses = true;
	go_on(w, &e);
	assert_true(e.refuses);
}

static void test_deactivated_admits_first(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	struct phx_event destroy = {.kind = PHX_EV_re_destroy, .re_order.who = PHX_RE_WHO_PROVIDER};
	running(w, &e, 4, 1);
	assert_int_equal(operate(w, PHX_EV_re_suspend, "queue"), 0);
	go_on(w, &e);
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	for (int i = 0; i < 40 && phx_state_re(&w->s, "queue")->active; i++) {
		report(w, &e);
		machines(w, &e);
		struct phx_list orders = {0};
		phx_engine_orders(&w->s, "queue", &orders);
		PHX_LIST_EACH(struct phx_engine_order, o, &orders)
			if (o->kind == PHX_ENGINE_CLOSE)
				e.closed[world_index(o->target) - 1] = true;
		phx_list_fini(&orders);
	}
	assert_false(phx_state_re(&w->s, "queue")->active);
	assert_true(phx_state_re(&w->s, "queue")->attached);
	for (int i = 0; i < 40; i++)
		machines(w, &e);
	PHX_STR_SET(destroy.re, "queue");
	assert_int_equal(world_apply(w, &destroy, NULL), -EBUSY);
	obey(w, &e);
	assert_false(e.refuses);
	report(w, &e);
	settle(w);
	assert_false(phx_state_re(&w->s, "queue")->attached);
	assert_int_equal(world_apply(w, &destroy, NULL), 0);
}

static void test_refused(void **state)
{
	struct world *w = *state;
	struct fake_engine e = {0};
	running(w, &e, 4, 1);
	struct phx_agreement twin = agreement("twin", PHX_RE_BATCH, 1);
	twin.engine = PHX_RE_ENGINE_SLURM;
	twin.coordination = PHX_RE_COORDINATED_NONE;
	twin.partner[0] = '\0';
	assert_int_equal(create(w, &twin), -EEXIST); /* the same Slurm */
	PHX_STR_SET(twin.slurm_conf, "twin");
	assert_int_equal(create(w, &twin), 0);
	struct phx_event ev = {.kind = PHX_EV_re_queue};
	PHX_STR_SET(ev.re, "shop");
	assert_int_equal(world_apply(w, &ev, NULL), -EINVAL);
	PHX_STR_SET(ev.re, "nix");
	assert_int_equal(world_apply(w, &ev, NULL), -ENOENT);
	PHX_STR_SET(ev.re, "queue");
	struct phx_engine_job *t = phx_list_push(&ev.re_queue.engine_jobs, sizeof(*t));
	t->nodes = 1;
	t->state = PHX_ENGINE_JOB_RUNNING;
	assert_int_equal(world_apply(w, &ev, NULL), -EINVAL); /* no name */
	PHX_STR_SET(t->id, "7");
	assert_int_equal(world_apply(w, &ev, NULL), -EINVAL); /* runs nowhere */
	t->state = PHX_ENGINE_JOB_WAITING;
	t->nodes = 0;
	assert_int_equal(world_apply(w, &ev, NULL), -EINVAL);
	t->nodes = 1;
	t = phx_list_push(&ev.re_queue.engine_jobs, sizeof(*t));
	*t = *PHX_LIST_AT(&ev.re_queue.engine_jobs, struct phx_engine_job, 0);
	assert_int_equal(world_apply(w, &ev, NULL), -EINVAL); /* twice */
	PHX_STR_SET(t->id, "8");
	phx_list_push(&ev.re_queue.engine_partitions, sizeof(struct phx_engine_node));
	assert_int_equal(world_apply(w, &ev, NULL), -EINVAL); /* no name */
	ev.re_queue.engine_partitions.n = 0;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

/* ---- anything, in any order ---- */

static uint32_t draw(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*seed >> 33) % n;
}

static void do_something(struct world *w, struct fake_engine *e, uint64_t *seed)
{
	const char *node = node_name(draw(seed, NODES));
	switch (draw(seed, 13)) {
	case 0:
		if (!e->refuses)
			fake_submit(e, 1 + draw(seed, 4));
		return;
	case 1:
		fake_end(e, 1 + (int)draw(seed, (uint32_t)e->last_id + 1));
		return;
	case 2:
		fake_schedule(w, e);
		return;
	case 3:
	case 4:
		report(w, e);
		return;
	case 5:
	case 6:
		obey(w, e);
		return;
	case 7:
		trouble(w, draw(seed, 2) ? "no answer" : "bad answer");
		return;
	case 8: {
		struct phx_event use = {.kind = PHX_EV_re_use,
					.re_use.use_ppm = draw(seed, 2) ? 950000 : 50000};
		PHX_STR_SET(use.re, "shop");
		world_apply(w, &use, NULL);
		tick(w, 20000);
		return;
	}
	case 9: { /* it restarts by itself: jobs go back to the queue there */
		struct fake_job *j = &e->jobs[draw(seed, FAKE_JOBS)];
		if (j->id && j->state == PHX_ENGINE_JOB_RUNNING)
			fake_requeue(e, j);
		j->begin_ms = 0;
		return;
	}
	case 10:
		operate(w, draw(seed, 2) ? PHX_EV_re_suspend : PHX_EV_re_resume, "queue");
		e->refuses = e->refuses && draw(seed, 4); /* and it starts anew */
		return;
	default: {
		const struct phx_step *step = phx_node_step(world_node(w, node));
		if (step && step->status == PHX_STEP_ISSUED)
			world_step(w, node);
		return;
	}
	}
}

static void test_random(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= COURSES; i++) {
		void *made;
		uint64_t seed = i;
		struct fake_engine e = {0};
		world_setup(&made);
		struct world *w = made;
		running(w, &e, 3, 1);
		for (int k = 0; k < 150; k++) {
			do_something(w, &e, &seed);
			check_taken(w, &e);
		}
		/* all is well in the end: every job runs to its end */
		operate(w, PHX_EV_re_resume, "queue");
		for (int k = 0; k < 3 * FAKE_JOBS; k++) {
			tick(w, 20000);
			go_on(w, &e);
			for (unsigned m = 0; m < FAKE_JOBS; m++)
				if (e.jobs[m].state == PHX_ENGINE_JOB_RUNNING)
					fake_end(&e, e.jobs[m].id);
		}
		for (unsigned m = 0; m < FAKE_JOBS; m++)
			assert_true(!e.jobs[m].id || e.jobs[m].nodes > held(w, "queue"));
		assert_false(e.refuses);
		world_teardown(&made);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(test_nodes_that_serve_are_open_and_no_others),
		WORLD_TEST(test_jobs_are_seen),
		WORLD_TEST(test_idle_nodes_go_first),
		WORLD_TEST(test_smallest_job_is_queued_again),
		WORLD_TEST(test_job_that_cannot_run_again_is_cancelled),
		WORLD_TEST(test_nothing_is_taken_on_doubt),
		WORLD_TEST(test_job_that_began_meanwhile_goes_back),
		WORLD_TEST(test_order_by_hand_waits_too),
		WORLD_TEST(test_jobs_are_ended_by_their_engine_alone),
		WORLD_TEST(test_deactivated),
		WORLD_TEST(test_safe_deactivation_waits_for_its_jobs),
		WORLD_TEST(test_killed_job_need_not_wait),
		WORLD_TEST(test_suspended_takes_no_new_jobs),
		WORLD_TEST(test_partition_of_somebody_else_is_left_to_him),
		WORLD_TEST(test_deactivated_admits_first),
		WORLD_TEST(test_refused),
		cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests_name("external", tests, NULL, NULL);
}
