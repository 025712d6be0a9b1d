/* Jobs that an order would end: the order is refused until it says that they may; a drain waits for
 * them; who ended one is kept with it, and it runs again. */
#include "unit/core/world.h"

enum { MINUTE = 60000 };

static void two_serve(struct world *w)
{
	world_serving(w, "n1", "compute", true);
	phx_state_role(&w->s, "compute")->drain_grace_s = 30;
}

static uint64_t submit_to(struct world *w, const char *re, bool no_requeue, int64_t limit_ms)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.uid = 1000,
					      .gid = 1000,
					      .job_nodes = 1,
					      .no_requeue = no_requeue,
					      .estimate_ms = limit_ms}};
	struct phx_outcome out = {0};
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "/bin/sleep"), 0);
	PHX_STR_SET(ev.job_submit.user, "alice");
	PHX_STR_SET(ev.re, re);
	assert_int_equal(world_apply(w, &ev, &out), 0);
	uint64_t id = out.job;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return id;
}

static uint64_t submit(struct world *w)
{
	return submit_to(w, "", false, 0);
}

static struct phx_job *job(struct world *w, uint64_t id)
{
	struct phx_job *j = phx_state_job(&w->s, id);
	assert_non_null(j);
	return j;
}

/* An order of alice's administrator. */
static struct phx_event order_of(int kind, int jobs)
{
	struct phx_event ev = {.kind = kind, .order.jobs = jobs};
	PHX_STR_SET(ev.by, "uid:0");
	PHX_STR_SET(ev.node, "n1");
	if (kind == PHX_EV_assign)
		PHX_STR_SET(ev.order.role, "web");
	if (kind == PHX_EV_power)
		ev.order.op = PHX_POWER_OFF;
	return ev;
}

static void tick(struct world *w, int64_t after_ms)
{
	struct phx_event ev = {.kind = PHX_EV_tick};
	w->now += after_ms;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* What a daemon does: look when it is time. */
static void pass_time(struct world *w, int64_t ms)
{
	int64_t end = w->now + ms;
	for (int64_t due; (due = phx_core_next_deadline(&w->s)) <= end;)
		tick(w, due > w->now ? due - w->now : 0);
	w->now = end;
}

/* The agent of `node` tells that its part of the job ended. */
static void job_ends(struct world *w, uint64_t id, const char *node, int64_t status)
{
	struct phx_event ev = {
		.kind = PHX_EV_job_result,
		.job_result = {.job = id, .run = job(w, id)->kills, .result = status}};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static bool told_to_kill(struct world *w, const char *node)
{
	struct phx_list orders = {0};
	bool kill = false;
	world_orders(w, node, &orders);
	for (uint32_t i = 0; i < orders.n; i++) {
		struct phx_order *o = PHX_LIST_AT(&orders, struct phx_order, i);
		kill = kill || o->kind == PHX_ORDER_kill;
		phx_record_fini(&phx_order_record, o);
	}
	phx_list_fini(&orders);
	return kill;
}

static void no_order_ends_a_job_unasked(void **state)
{
	static const int kinds[] = {PHX_EV_assign, PHX_EV_release,    PHX_EV_rebuild,
				    PHX_EV_wipe,   PHX_EV_quarantine, PHX_EV_power,
				    PHX_EV_drain,  PHX_EV_node_remove};
	struct world *w = *state;
	two_serve(w);
	uint64_t id = submit(w);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	w->now += 125000;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++) {
		struct phx_event ev = order_of(kinds[i], PHX_JOBS_SPARE);
		ev.order.has_grace = ev.order.force = true;
		uint64_t seq = w->s.seq;
		assert_int_equal(world_apply(w, &ev, NULL), -EBUSY);
		assert_non_null(strstr(w->err.text, "job 1 of alice has run on n1 for 125 s"));
		assert_int_equal(w->s.seq, seq);
		assert_ptr_equal(phx_event_ends_job(&w->s, &ev), job(w, id));
	}
	/* what ends nothing is not refused */
	struct phx_event on = order_of(PHX_EV_power, PHX_JOBS_SPARE);
	on.order.op = PHX_POWER_ON;
	assert_int_equal(world_apply(w, &on, NULL), 0);
	struct phx_event same = order_of(PHX_EV_assign, PHX_JOBS_SPARE);
	PHX_STR_SET(same.order.role, "compute");
	assert_int_equal(world_apply(w, &same, NULL), 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
}

static void only_the_named_may_end(void **state)
{
	struct world *w = *state;
	two_serve(w);
	uint64_t first = submit(w);
	job_ends(w, first, "n1", 0);
	uint64_t second = submit(w);
	struct phx_event ev = order_of(PHX_EV_assign, PHX_JOBS_NAMED);
	struct phx_job_ref *ref = phx_list_push(&ev.order.may_end, sizeof(*ref));
	ref->id = first; /* what was agreed to has ended, and another one has begun */
	assert_int_equal(world_apply(w, &ev, NULL), -EBUSY);
	ref->id = second;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	struct phx_event none = order_of(PHX_EV_wipe, PHX_JOBS_NAMED);
	assert_null(phx_event_ends_job(&w->s, &(struct phx_event){.kind = PHX_EV_wipe}));
	assert_int_equal(world_apply(w, &none, NULL), -EBUSY);
}

static void after_its_grace_it_is_killed_and_runs_again(void **state)
{
	struct world *w = *state;
	two_serve(w);
	uint64_t id = submit(w);
	struct phx_event ev = order_of(PHX_EV_assign, PHX_JOBS_ANY);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	world_result(w, "n1", 0, ""); /* prefetched */
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_DRAINING);
	assert_int_equal(phx_node_step(world_node(w, "n1"))->status, PHX_STEP_PENDING);
	pass_time(w, 29000);
	assert_false(told_to_kill(w, "n1"));
	pass_time(w, 2000);
	assert_true(told_to_kill(w, "n1"));
	struct phx_job *j = job(w, id);
	assert_string_equal(j->killed_by, "uid:0");
	assert_string_equal(j->killed_why, "n1: assign of role web");
	assert_int_equal(j->killed_ms, w->now - 1000);
	job_ends(w, id, "n1", 143);
	assert_int_equal(j->state, PHX_JOB_QUEUED);
	assert_int_equal(j->kills, 1);
	pass_time(w, 0);
	assert_int_equal(phx_node_step(world_node(w, "n1"))->status, PHX_STEP_ISSUED);
	world_run(w, "n1");
	assert_string_equal(world_node(w, "n1")->role, "web");
	world_serving(w, "n2", "compute", true);
	assert_int_equal(j->state, PHX_JOB_RUNNING);
	job_ends(w, id, "n2", 0);
	assert_int_equal(j->state, PHX_JOB_DONE);
	assert_string_equal(j->killed_by, "uid:0");
}

static void one_that_must_not_run_again_fails(void **state)
{
	struct world *w = *state;
	two_serve(w);
	uint64_t id = submit_to(w, "", true, 0);
	struct phx_event ev = order_of(PHX_EV_release, PHX_JOBS_ANY);
	ev.order.has_grace = true; /* and none is given */
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_true(told_to_kill(w, "n1"));
	job_ends(w, id, "n1", 143);
	assert_int_equal(job(w, id)->state, PHX_JOB_FAILED);
	assert_string_equal(job(w, id)->killed_by, "uid:0");
}

static void a_drain_waits_for_as_long_as_it_takes(void **state)
{
	struct world *w = *state;
	two_serve(w);
	uint64_t id = submit(w);
	struct phx_event ev = order_of(PHX_EV_drain, PHX_JOBS_SPARE);
	assert_null(phx_event_ends_job(&w->s, &ev));
	assert_ptr_equal(phx_event_waits_for_job(&w->s, &ev), job(w, id));
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	pass_time(w, 3 * 24 * 60 * MINUTE);
	assert_false(told_to_kill(w, "n1"));
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_DRAINING);
	assert_int_equal(submit(w), id + 1); /* nothing new begins there */
	assert_int_equal(job(w, id + 1)->state, PHX_JOB_QUEUED);
	job_ends(w, id, "n1", 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_DONE);
	pass_time(w, 0);
	assert_int_equal(phx_node_step(world_node(w, "n1"))->status, PHX_STEP_ISSUED);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_MAINTENANCE);
	assert_int_equal(job(w, id + 1)->state, PHX_JOB_QUEUED);
}

static void a_drain_is_hurried_afterwards(void **state)
{
	struct world *w = *state;
	two_serve(w);
	uint64_t id = submit(w);
	struct phx_event ev = order_of(PHX_EV_drain, PHX_JOBS_SPARE);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	pass_time(w, 60 * MINUTE);
	ev.order.has_grace = true;
	ev.order.grace_ms = MINUTE;
	assert_int_equal(world_apply(w, &ev, NULL), -EBUSY);
	ev.order.jobs = PHX_JOBS_ANY;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	pass_time(w, MINUTE - 1);
	assert_false(told_to_kill(w, "n1"));
	pass_time(w, 1);
	assert_true(told_to_kill(w, "n1"));
	job_ends(w, id, "n1", 143);
	assert_int_equal(job(w, id)->state, PHX_JOB_QUEUED);
	assert_string_equal(job(w, id)->killed_why, "n1: drain");
}

/* The operation that comes of it; -EINVAL with the text that lists what people may order. */
static int power_of(struct world *w, enum phx_power_op op, const char *text)
{
	struct phx_event ev = {.kind = PHX_EV_power, .order.op = (int)op};
	struct phx_outcome out = {0};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.text, text);
	int r = world_apply(w, &ev, &out);
	int done = r == 0 ? PHX_LIST_AT(&out.actions, struct phx_action, 0)->op : r;
	phx_outcome_fini(&out);
	return done;
}

static void an_operation_is_one_that_people_may_order(void **state)
{
	struct world *w = *state;
	two_serve(w);
	for (enum phx_power_op op = PHX_POWER_ON; op <= PHX_POWER_STATUS; op++) {
		assert_int_equal(power_of(w, op, ""), op);
		/* an event of an older journal */
		const char *name = phx_enum_name(&phx_power_op_names, (int)op);
		assert_int_equal(power_of(w, PHX_POWER_NONE, name), op);
	}
	static const char *const wrong[] = {"", "explode", "boot"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++) {
		char want[120];
		snprintf(want, sizeof(want),
			 "'%s' is no power operation; there are: on, off, soft, cycle, reset, "
			 "status",
			 wrong[i]);
		assert_int_equal(power_of(w, PHX_POWER_NONE, wrong[i]), -EINVAL);
		assert_string_equal(w->err.text, want);
	}
	assert_int_equal(power_of(w, PHX_POWER_BOOT, ""), -EINVAL);
	assert_memory_equal(w->err.text, "'boot' is no power operation", 28);
}

static void power_off_says_who_it_was(void **state)
{
	struct world *w = *state;
	two_serve(w);
	uint64_t id = submit(w);
	struct phx_event ev = order_of(PHX_EV_power, PHX_JOBS_ANY);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	struct phx_event missing = {.kind = PHX_EV_missing},
			 off = {.kind = PHX_EV_power_result, .answer.power = PHX_POWER_IS_OFF};
	PHX_STR_SET(missing.node, "n1");
	PHX_STR_SET(off.node, "n1");
	w->now += MINUTE;
	assert_int_equal(world_apply(w, &missing, NULL), 0);
	assert_int_equal(world_apply(w, &off, NULL), 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_QUEUED);
	assert_string_equal(job(w, id)->killed_by, "uid:0");
	assert_string_equal(job(w, id)->killed_why, "n1 was switched off or started anew");
	assert_string_equal(phx_text(world_node(w, "n1")->cut_by), "");
}

static void power_that_did_nothing_is_no_cause(void **state)
{
	struct world *w = *state;
	two_serve(w);
	uint64_t id = submit(w);
	struct phx_event ev = order_of(PHX_EV_power, PHX_JOBS_ANY);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	struct phx_event failed = {.kind = PHX_EV_power_result, .answer.result = -EIO};
	PHX_STR_SET(failed.node, "n1");
	assert_int_equal(world_apply(w, &failed, NULL), 0);
	job_ends(w, id, "n1", 1);
	assert_int_equal(job(w, id)->state, PHX_JOB_FAILED);
	assert_string_equal(job(w, id)->killed_by, "");
	assert_string_equal(phx_text(world_node(w, "n1")->cut_by), "");
}

/* It is not heard, so that nothing is drained: its job ends with the order all the same, and says
 * whose it was. */
static void a_silent_nodes_job_ends_with_the_order(void **state)
{
	struct world *w = *state;
	two_serve(w);
	uint64_t id = submit(w);
	struct phx_event missing = {.kind = PHX_EV_missing, .node = "n1"};
	assert_int_equal(world_apply(w, &missing, NULL), 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	struct phx_event ev = order_of(PHX_EV_rebuild, PHX_JOBS_ANY);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(phx_node_step(world_node(w, "n1"))->kind, PHX_STEP_boot);
	assert_string_equal(job(w, id)->killed_why, "n1: rebuild of role compute");
	assert_string_equal(job(w, id)->killed_by, "uid:0");
}

static void quarantine_and_removal_queue_it_again(void **state)
{
	struct world *w = *state;
	two_serve(w);
	uint64_t id = submit(w);
	struct phx_event ev = order_of(PHX_EV_quarantine, PHX_JOBS_ANY);
	PHX_STR_SET(ev.text, "smells of smoke");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_true(told_to_kill(w, "n1"));
	job_ends(w, id, "n1", 143);
	assert_int_equal(job(w, id)->state, PHX_JOB_QUEUED);
	assert_string_equal(job(w, id)->killed_why, "n1 left: smells of smoke");
	world_serving(w, "n2", "compute", true);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	struct phx_event rm = order_of(PHX_EV_node_remove, PHX_JOBS_ANY);
	PHX_STR_SET(rm.node, "n2");
	rm.order.force = true;
	assert_int_equal(world_apply(w, &rm, NULL), 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_QUEUED);
	assert_int_equal(job(w, id)->kills, 2);
	assert_string_equal(job(w, id)->killed_why, "n2 was removed");
}

/* A journal from before jobs were asked about says nothing of them: it does what it did. */
static void an_old_order_does_what_it_did(void **state)
{
	struct world *w = *state;
	two_serve(w);
	uint64_t id = submit(w);
	assert_int_equal(world_order(w, PHX_EV_drain, "n1", NULL), 0);
	assert_int_equal(phx_node_step(world_node(w, "n1"))->status, PHX_STEP_ISSUED);
	struct phx_event ev = {.kind = PHX_EV_job_result,
			       .job_result = {.job = id, .result = 143, .forced = true}};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_FAILED);
}

static void the_plan_counts_the_waiting(void **state)
{
	struct world *w = *state;
	struct phx_plan idle, busy, drain;
	two_serve(w);
	struct phx_event ev = order_of(PHX_EV_assign, PHX_JOBS_SPARE);
	assert_int_equal(phx_order_plan_of(&w->s, &ev, &idle, &w->err), 0);
	submit_to(w, "", false, 10 * MINUTE);
	w->now += MINUTE;
	tick(w, 0);
	w->s.now_ms = w->now;
	assert_int_equal(phx_order_plan_of(&w->s, &ev, &busy, &w->err), 0);
	assert_int_equal(busy.expected_ms, idle.expected_ms + 30000 + 5000);
	assert_string_equal(busy.by, "uid:0");
	ev.kind = PHX_EV_drain;
	assert_int_equal(phx_order_plan_of(&w->s, &ev, &drain, &w->err), 0);
	assert_true(drain.waits && !drain.has_grace);
	assert_int_equal(drain.steps.n, 1);
	assert_in_range(drain.expected_ms, 9 * MINUTE, 9 * MINUTE + 1000);
	phx_record_fini(&phx_plan_record, &idle);
	phx_record_fini(&phx_plan_record, &busy);
	phx_record_fini(&phx_plan_record, &drain);
}

/* ---- runtime environments ---- */

static void queue_running(struct world *w)
{
	struct phx_event ev = {.kind = PHX_EV_re_create, .ask.who = PHX_RE_WHO_PROVIDER};
	struct phx_event on = {.kind = PHX_EV_re_activate, .re_order.who = PHX_RE_WHO_SERVICE};
	world_ready(w, "n1", true);
	phx_state_role(&w->s, "compute")->drain_grace_s = 30;
	phx_agreement_init(&ev.ask.agreement);
	PHX_STR_SET(ev.ask.agreement.name, "queue");
	PHX_STR_SET(ev.ask.agreement.owner, "hpc");
	PHX_STR_SET(ev.ask.agreement.role, "compute");
	ev.ask.agreement.lower = ev.ask.agreement.upper = 1;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	PHX_STR_SET(on.re, "queue");
	assert_int_equal(world_apply(w, &on, NULL), 0);
	world_run(w, "n1");
}

static void in_an_re_it_is_the_same(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	queue_running(w);
	uint64_t id = submit_to(w, "queue", false, 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	struct phx_event ev = order_of(PHX_EV_wipe, PHX_JOBS_SPARE);
	assert_int_equal(world_apply(w, &ev, NULL), -EBUSY);
	ev.order.jobs = PHX_JOBS_ANY;
	ev.order.has_grace = true;
	assert_int_equal(world_apply(w, &ev, &out), 0);
	bool told = false; /* the RE's history has it */
	PHX_LIST_EACH(struct phx_action, act, &out.actions)
		told = told ||
			(act->kind == PHX_ACT_NOTE && !strcmp(act->re, "queue") &&
			 strstr(act->text,
				"job 1 is killed and queued again (kill 1): n1: wipe, by order of "
				"uid:0"));
	phx_outcome_fini(&out);
	assert_true(told);
	job_ends(w, id, "n1", 143);
	assert_int_equal(job(w, id)->state, PHX_JOB_QUEUED);
	assert_string_equal(job(w, id)->killed_by, "uid:0");
	assert_int_equal(job(w, id)->kills, 1);
}

static void an_re_is_not_deactivated_over_its_jobs(void **state)
{
	struct world *w = *state;
	queue_running(w);
	uint64_t id = submit_to(w, "queue", false, 0);
	submit_to(w, "queue", false, 0);
	struct phx_event ev = {.kind = PHX_EV_re_deactivate,
			       .re_order = {.who = PHX_RE_WHO_SERVICE, .jobs = PHX_JOBS_SPARE}};
	PHX_STR_SET(ev.re, "queue");
	PHX_STR_SET(ev.by, "uid:7");
	assert_int_equal(world_apply(w, &ev, NULL), -EBUSY);
	assert_non_null(strstr(w->err.text, "2 jobs that would end, such as 1 of alice"));
	struct phx_job_ref *ref = phx_list_push(&ev.re_order.may_end, sizeof(*ref));
	ref->id = id;
	ev.re_order.jobs = PHX_JOBS_NAMED;
	assert_int_equal(world_apply(w, &ev, NULL), -EBUSY);
	ref = phx_list_push(&ev.re_order.may_end, sizeof(*ref));
	ref->id = id + 1;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	assert_int_equal(job(w, id)->end, PHX_JOB_END_CANCELLED);
	assert_string_equal(job(w, id)->killed_why, "RE queue is deactivated");
	assert_string_equal(job(w, id)->killed_by, "uid:7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(no_order_ends_a_job_unasked),
		WORLD_TEST(only_the_named_may_end),
		WORLD_TEST(after_its_grace_it_is_killed_and_runs_again),
		WORLD_TEST(one_that_must_not_run_again_fails),
		WORLD_TEST(a_drain_waits_for_as_long_as_it_takes),
		WORLD_TEST(a_drain_is_hurried_afterwards),
		WORLD_TEST(power_off_says_who_it_was),
		WORLD_TEST(power_that_did_nothing_is_no_cause),
		WORLD_TEST(a_silent_nodes_job_ends_with_the_order),
		WORLD_TEST(quarantine_and_removal_queue_it_again),
		WORLD_TEST(an_old_order_does_what_it_did),
		WORLD_TEST(an_operation_is_one_that_people_may_order),
		WORLD_TEST(the_plan_counts_the_waiting),
		WORLD_TEST(in_an_re_it_is_the_same),
		WORLD_TEST(an_re_is_not_deactivated_over_its_jobs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
