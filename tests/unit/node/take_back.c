/* An owner who does not want to go: his agent refuses to drain and to stop, never answers, falls
 * silent, or says that it is not in its system any more. Where a power cycle follows, the node is
 * taken back without a person, within minutes; elsewhere it is quarantined, as before. */
#include "../core/world.h"

enum { MINUTE = 60000, GRACE_S = 30, BOUND_MS = 15 * MINUTE };

static void add_lab(struct world *w, int start)
{
	world_add_pool(w, "lab", "uni",
		       (struct phx_setup){PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_BOTH,
					  PHX_VERIFY_SAMPLE, start});
	world_add_role(w, "lab", "lab", true, PHX_ROLE_BOOT_DISK);
	phx_state_role(&w->s, "lab")->drain_grace_s = GRACE_S;
}

static struct phx_node *serves_lab(struct world *w, bool bmc)
{
	add_lab(w, PHX_SETUP_START_AUTO);
	world_serving(w, "n1", "lab", bmc);
	return world_node(w, "n1");
}

static void plan_is(struct world *w, const char *want)
{
	char text[300];
	assert_string_equal(world_plan(w, "n1", text, sizeof(text)), want);
}

static void event(struct world *w, int kind)
{
	struct phx_event ev = {.kind = kind, .node = "n1"};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* Lets the time of the next deadline come. */
static void next_deadline(struct world *w)
{
	int64_t due = phx_core_next_deadline(&w->s);
	assert_true(due < INT64_MAX);
	w->now = due > w->now ? due : w->now;
	event(w, PHX_EV_tick);
}

static const struct phx_step *step_of(const struct phx_node *n, int kind)
{
	PHX_LIST_EACH(struct phx_step, s, &n->plan.steps)
		if (s->kind == kind)
			return s;
	fail_msg("there is no step %s", phx_enum_name(&phx_step_kind_names, kind));
	return NULL;
}

static bool at(const struct phx_node *n, int kind)
{
	const struct phx_step *step = phx_node_step(n);
	return step && step->kind == kind && step->status == PHX_STEP_ISSUED;
}

/* Lets time pass, in which nothing is heard of the agent, until the step is issued. */
static void comes_to(struct world *w, const struct phx_node *n, int kind)
{
	for (int i = 0; i < 50 && !at(n, kind); i++)
		next_deadline(w);
	assert_true(at(n, kind));
}

/* Goes through the steps that take the role off, each refused as often as it is asked for; until
 * step boot is issued, or the plan is given up. */
static void refuses_all(struct world *w, struct phx_node *n, const char *text)
{
	for (int i = 0; i < 50 && phx_node_step(n) && !at(n, PHX_STEP_boot); i++) {
		bool mine = at(n, PHX_STEP_drain) || at(n, PHX_STEP_stop) || at(n, PHX_STEP_leave);
		if (mine)
			assert_int_equal(world_result(w, "n1", -EPERM, text), 0);
		else
			world_step(w, "n1");
	}
}

static void is_taken_back(struct world *w, struct phx_node *n)
{
	assert_true(at(n, PHX_STEP_boot));
	assert_int_equal(n->state, PHX_NODE_CLEANING);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_string_equal(n->pool, PHX_POOL_FREE);
	assert_false(n->dirty);
	assert_int_equal(step_of(n, PHX_STEP_boot)->status, PHX_STEP_DONE);
}

static void one_that_refuses_is_taken_back(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serves_lab(w, true);
	int64_t began = w->now;
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	plan_is(w, "drain stop boot wipe");
	refuses_all(w, n, "epoch 65540 is past, 4611686018427387904 was seen");
	assert_true(w->now - began < MINUTE);
	/* phx node show says what was left out, and why */
	for (int kind = PHX_STEP_drain; kind <= PHX_STEP_stop; kind++) {
		if (kind == PHX_STEP_settle)
			continue;
		assert_int_equal(step_of(n, kind)->status, PHX_STEP_FAILED);
		assert_non_null(strstr(step_of(n, kind)->error, "4611686018427387904 was seen"));
		assert_int_equal(step_of(n, kind)->attempt,
				 phx_step_info((enum phx_step_kind)kind)->attempts);
	}
	is_taken_back(w, n);
	assert_string_equal(n->reason, "");
}

/* So do events, for both sides. */
static void it_is_told(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serves_lab(w, true);
	unsigned told = 0;
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_stop);
	for (int i = 0; i < 3; i++) {
		struct phx_outcome out = {0};
		struct phx_event ev = {.kind = PHX_EV_step_result, .node = "n1", .text = "never"};
		world_run_to(w, "n1", PHX_STEP_stop);
		ev.answer.step_id = phx_node_step(n)->id;
		ev.answer.epoch = n->plan.epoch;
		ev.answer.result = -EPERM;
		assert_int_equal(world_apply(w, &ev, &out), 0);
		PHX_LIST_EACH(struct phx_action, act, &out.actions)
			told += act->kind == PHX_ACT_NOTE && !strcmp(act->re, "lab") &&
				strstr(act->text,
				       "n1: step stop is left out, and a power cycle "
				       "ends what runs there: step stop failed 3 times: "
				       "never");
		phx_outcome_fini(&out);
	}
	assert_int_equal(told, 1);
}

static void one_that_never_answers_is_taken_back_in_minutes(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serves_lab(w, true);
	int64_t began = w->now;
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	comes_to(w, n, PHX_STEP_boot);
	assert_true(w->now - began < BOUND_MS);
	is_taken_back(w, n);
}

/* The agent is told the same time, in which jobs and then requests have their grace. */
static void the_grace_that_was_promised_is_kept(void **state)
{
	static const uint32_t graces[] = {0, GRACE_S, 900, 3600, 604800};
	struct world *w = *state;
	struct phx_node *n = serves_lab(w, true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(graces); i++) {
		uint32_t row_s = phx_step_info(PHX_STEP_drain)->deadline_s;
		phx_state_role(&w->s, "lab")->drain_grace_s = graces[i];
		uint32_t s = phx_step_deadline_s(&w->s, n, step_of(n, PHX_STEP_drain));
		assert_true(s == row_s || s > 2 * graces[i]);
		assert_true(s <= row_s && s >= 2 * MINUTE / 1000);
		assert_int_equal(phx_step_deadline_s(&w->s, n, step_of(n, PHX_STEP_stop)),
				 phx_step_info(PHX_STEP_stop)->deadline_s);
	}
	struct phx_list orders = {0};
	phx_state_role(&w->s, "lab")->drain_grace_s = GRACE_S;
	world_orders(w, "n1", &orders);
	assert_int_equal(PHX_LIST_AT(&orders, struct phx_order, 0)->deadline_s, 180);
	PHX_LIST_EACH(struct phx_order, o, &orders)
		phx_record_fini(&phx_order_record, o);
	phx_list_fini(&orders);
}

/* It is not started again with the system of its owner, to be asked once more. */
static void one_that_falls_silent_is_taken_back(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serves_lab(w, true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_drain);
	int64_t silent = w->now;
	event(w, PHX_EV_missing);
	comes_to(w, n, PHX_STEP_boot);
	assert_true(w->now - silent <= MINUTE);
	assert_string_equal(step_of(n, PHX_STEP_drain)->error, "it is silent");
	plan_is(w, "drain stop boot wipe");
	assert_int_equal(n->plan.repairs, 0);
	is_taken_back(w, n);
}

static void one_that_comes_and_goes_is_taken_back(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serves_lab(w, true);
	int64_t began = w->now;
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	for (int i = 0; i < 100 && !at(n, PHX_STEP_boot); i++) {
		int64_t due = phx_core_next_deadline(&w->s);
		w->now = due - 1000 > w->now ? due - 1000 : w->now;
		event(w, PHX_EV_missing);
		w->now += 10000;
		event(w, PHX_EV_back);
		if (!at(n, PHX_STEP_drain) && !at(n, PHX_STEP_stop) && phx_node_step(n) &&
		    !at(n, PHX_STEP_boot))
			next_deadline(w);
	}
	assert_true(w->now - began < 2 * BOUND_MS);
	is_taken_back(w, n);
}

/* With disks that hold no system, so that it could never enter one again. */
static void one_that_says_it_is_the_deploy_environment_is_taken_back(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serves_lab(w, true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_drain);
	n->system_image[0] = n->system_digest[0] = '\0';
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	comes_to(w, n, PHX_STEP_boot);
	assert_string_equal(step_of(n, PHX_STEP_stop)->error, "its system does not run any more");
	plan_is(w, "drain stop boot wipe");
	is_taken_back(w, n);
}

/* ---- where the system stays up, or cannot be ended, it is quarantined ---- */

static void is_quarantined(struct world *w, struct phx_node *n)
{
	refuses_all(w, n, "never");
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "never"));
}

static void without_a_bmc_it_is_quarantined(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serves_lab(w, false);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	plan_is(w, "drain stop kexec wipe");
	is_quarantined(w, n);
}

static void in_place_it_is_quarantined(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	plan_is(w, "prefetch drain stop leave activate start health join");
	is_quarantined(w, world_node(w, "n1"));
}

/* and so it is for maintenance */
static void a_drain_alone_quarantines(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serves_lab(w, true);
	assert_int_equal(world_order(w, PHX_EV_drain, "n1", NULL), 0);
	is_quarantined(w, n);
}

/* of one owner: nobody keeps it from anybody, and data may be lost */
static void of_one_owner_kexec_is_not_replaced(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_AUTO), 0);
	plan_is(w, "drain stop kexec wipe image enter activate start health join");
	is_quarantined(w, world_node(w, "n1"));
}

/* but a start from reset that a person asked for comes */
static void of_one_owner_a_reset_goes_on(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	struct phx_event ev = {.kind = PHX_EV_rebuild, .node = "n1", .order.power_cycle = true};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	plan_is(w, "drain stop boot image enter activate start health join");
	refuses_all(w, world_node(w, "n1"), "never");
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
}

/* both agreements spare a node its reset; one that refuses is reset all the same */
static void an_agreed_kexec_becomes_a_reset(void **state)
{
	struct world *w = *state;
	struct phx_setup kexec = {.start = PHX_SETUP_START_KEXEC};
	add_lab(w, PHX_SETUP_START_KEXEC);
	world_add_pool(w, PHX_POOL_FREE, "", kexec);
	world_serving(w, "n1", "lab", true);
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	plan_is(w, "drain stop kexec wipe");
	refuses_all(w, n, "never");
	plan_is(w, "drain stop boot wipe");
	assert_int_equal(n->plan.tier, PHX_TIER_POWER);
	is_taken_back(w, n);
}

/* replays of journals of before */
static void a_head_of_before_quarantined(void **state)
{
	struct world *w = *state;
	w->s.settings.takes_back = false;
	struct phx_node *n = serves_lab(w, true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	assert_int_equal(phx_step_deadline_s(&w->s, n, phx_node_step(n)),
			 phx_step_info(PHX_STEP_drain)->deadline_s);
	is_quarantined(w, n);
}

/* ---- directors ---- */

static void balancers_let_go_first(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serves_lab(w, true);
	struct phx_role *role = phx_state_role(&w->s, "lab");
	PHX_STR_SET(role->web.address, "10.0.0.250");
	role->web.port = 80;
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	plan_is(w, "divert drain settle stop boot wipe");
	refuses_all(w, n, "never");
	assert_int_equal(step_of(n, PHX_STEP_divert)->status, PHX_STEP_DONE);
	assert_int_equal(step_of(n, PHX_STEP_drain)->status, PHX_STEP_FAILED);
	assert_int_equal(step_of(n, PHX_STEP_settle)->status, PHX_STEP_DONE);
	is_taken_back(w, n);
}

/* ---- jobs ---- */

static uint64_t submit(struct world *w)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.uid = 1000, .gid = 1000, .job_nodes = 1}};
	struct phx_outcome out = {0};
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "/bin/sleep"), 0);
	PHX_STR_SET(ev.job_submit.user, "alice");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	uint64_t id = out.job;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	assert_int_equal(phx_state_job(&w->s, id)->state, PHX_JOB_RUNNING);
	return id;
}

static void release_with_jobs(struct world *w)
{
	struct phx_event ev = {
		.kind = PHX_EV_release, .node = "n1", .by = "uid:0", .order.jobs = PHX_JOBS_ANY};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* It ran until its machine was switched off, and once more elsewhere; never twice at once. */
static void it_runs_once_more(struct world *w, uint64_t id, const char *by)
{
	const struct phx_job *j = phx_state_job(&w->s, id);
	assert_int_equal(j->state, PHX_JOB_RUNNING);
	world_serving(w, "n2", "lab", true); /* it could take the job */
	assert_int_equal(j->kills, 0);
	is_taken_back(w, world_node(w, "n1"));
	j = phx_state_job(&w->s, id);
	assert_int_equal(j->state, PHX_JOB_RUNNING);
	assert_int_equal(j->kills, 1);
	assert_string_equal(j->killed_by, by);
	assert_string_equal(j->killed_why, "n1: release");
	assert_int_equal(j->parts.n, 1);
	assert_string_equal(PHX_LIST_AT(&j->parts, struct phx_job_part, 0)->node, "n2");
}

/* Its agent goes on with the job, though it was told to end it. */
static void a_job_that_its_agent_does_not_end(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serves_lab(w, true);
	uint64_t id = submit(w);
	int64_t began = w->now;
	release_with_jobs(w);
	next_deadline(w);
	assert_true(phx_job_is_told(phx_state_job(&w->s, id)));
	assert_int_equal(w->now - began, GRACE_S * 1000);
	comes_to(w, n, PHX_STEP_drain);
	assert_true(w->now - began > GRACE_S * 1000 + phx_state_job(&w->s, id)->grace_ms);
	assert_true(w->now - began < 5 * MINUTE);
	refuses_all(w, n, "never");
	it_runs_once_more(w, id, "uid:0");
}

/* The order says nothing of jobs, so the drain of the agent is to end it; which is not heard any
 * more. */
static void a_job_on_a_node_that_falls_silent(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serves_lab(w, true);
	uint64_t id = submit(w);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	assert_true(at(n, PHX_STEP_drain));
	event(w, PHX_EV_missing);
	comes_to(w, n, PHX_STEP_boot);
	assert_true(phx_job_is_told(phx_state_job(&w->s, id)));
	it_runs_once_more(w, id, "phxd");
}

/* where its system stays up, only the agent knows when the job has ended */
static void in_place_a_job_is_waited_for(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	uint64_t id = submit(w);
	struct phx_event ev = {.kind = PHX_EV_assign, .node = "n1", .order.jobs = PHX_JOBS_ANY};
	PHX_STR_SET(ev.order.role, "web");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	world_run_to(w, "n1", PHX_STEP_prefetch);
	world_result(w, "n1", 0, "");
	for (int64_t end = w->now + 24 * 60 * MINUTE; w->now < end;)
		next_deadline(w);
	assert_true(phx_job_is_told(phx_state_job(&w->s, id)));
	assert_int_equal(phx_node_step(world_node(w, "n1"))->status, PHX_STEP_PENDING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(one_that_refuses_is_taken_back),
		WORLD_TEST(it_is_told),
		WORLD_TEST(one_that_never_answers_is_taken_back_in_minutes),
		WORLD_TEST(the_grace_that_was_promised_is_kept),
		WORLD_TEST(one_that_falls_silent_is_taken_back),
		WORLD_TEST(one_that_comes_and_goes_is_taken_back),
		WORLD_TEST(one_that_says_it_is_the_deploy_environment_is_taken_back),
		WORLD_TEST(without_a_bmc_it_is_quarantined),
		WORLD_TEST(in_place_it_is_quarantined),
		WORLD_TEST(a_drain_alone_quarantines),
		WORLD_TEST(of_one_owner_kexec_is_not_replaced),
		WORLD_TEST(of_one_owner_a_reset_goes_on),
		WORLD_TEST(an_agreed_kexec_becomes_a_reset),
		WORLD_TEST(a_head_of_before_quarantined),
		WORLD_TEST(balancers_let_go_first),
		WORLD_TEST(a_job_that_its_agent_does_not_end),
		WORLD_TEST(a_job_on_a_node_that_falls_silent),
		WORLD_TEST(in_place_a_job_is_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
