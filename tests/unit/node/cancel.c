/* A hand-over that is ended by hand: back to where the node was, by the phase that it has come to,
 * or refused. */
#include "unit/core/world.h"

static char buf[512];

static int cancel(struct world *w, const char *node)
{
	struct phx_event ev = {.kind = PHX_EV_cancel};
	PHX_STR_SET(ev.by, "uid:0");
	PHX_STR_SET(ev.node, node);
	return world_apply(w, &ev, NULL);
}

static void assert_serves(struct world *w, const char *node, const char *role, const char *pool)
{
	const struct phx_node *n = world_node(w, node);
	assert_null(phx_node_step(n));
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->role, role);
	assert_string_equal(n->pool, pool);
	assert_string_equal(n->reason, "");
	assert_true(n->healthy);
	assert_string_equal(n->actual_role, role);
}

static void before_anything_nothing_happens(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	world_run_to(w, "n1", PHX_STEP_prefetch);
	assert_int_equal(cancel(w, "n1"), 0);
	assert_serves(w, "n1", "compute", "batch");
	uint64_t seq = w->s.seq;
	assert_int_equal(cancel(w, "n1"), 0); /* it is so already */
	assert_int_equal(w->s.seq, seq);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	world_run(w, "n1");
	assert_string_equal(world_node(w, "n1")->role, "web");
}

static void a_drain_that_waits_goes_on_serving_its_job(void **state)
{
	struct world *w = *state;
	struct phx_event job = {.kind = PHX_EV_job_submit,
				.job_submit = {.uid = 1, .gid = 1, .job_nodes = 1}};
	struct phx_event drain = {.kind = PHX_EV_drain, .order.jobs = PHX_JOBS_SPARE};
	world_serving(w, "n1", "compute", true);
	phx_text_push(&job.job_submit.argv, "true");
	assert_int_equal(world_apply(w, &job, NULL), 0);
	PHX_STR_SET(drain.node, "n1");
	assert_int_equal(world_apply(w, &drain, NULL), 0);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_DRAINING);
	assert_int_equal(cancel(w, "n1"), 0);
	assert_serves(w, "n1", "compute", "batch");
	assert_int_equal(phx_state_job(&w->s, 1)->state, PHX_JOB_RUNNING);
	assert_int_equal(phx_state_job(&w->s, 1)->kills, 0);
	phx_event_fini(&job);
}

static void what_was_stopped_is_started_again(void **state)
{
	static const struct {
		int step;
		const char *plan;
	} phases[] = {{PHX_STEP_drain, "start health join"},
		      {PHX_STEP_stop, "activate start health join"},
		      {PHX_STEP_leave, "activate start health join"}};
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(phases); i++) {
		assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
		world_run_to(w, "n1", phases[i].step);
		uint64_t epoch = world_node(w, "n1")->plan.epoch;
		assert_int_equal(cancel(w, "n1"), 0);
		assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)), phases[i].plan);
		/* what the agent is at is of the past */
		assert_true(world_node(w, "n1")->plan.epoch > epoch);
		assert_int_equal(cancel(w, "n1"), -EPERM);
		world_run(w, "n1");
		assert_serves(w, "n1", "compute", "batch");
	}
}

/* It waits in the deploy initramfs with a system on its disk, and that is entered for the new
 * role. */
static void what_is_entered_for_another_role_goes_on(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	world_run_to(w, "n1", PHX_STEP_enter);
	assert_int_equal(cancel(w, "n1"), -EPERM);
	assert_non_null(strstr(w->err.text, "past step enter"));
	world_run(w, "n1");
	assert_serves(w, "n1", "web", "web");
}

static void a_system_that_was_left_is_entered_again(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_DISCARD), 0);
	world_run_to(w, "n1", PHX_STEP_kexec);
	assert_int_equal(cancel(w, "n1"), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "kexec enter activate start health join");
	world_run(w, "n1");
	assert_serves(w, "n1", "compute", "batch");
	assert_true(world_node(w, "n1")->dirty);
	assert_int_equal(w->erasures, 0);
}

/* It was down already when the order to come back was given: it need not go down again. */
static void on_its_way_down_it_is_waited_for(void **state)
{
	struct world *w = *state;
	struct phx_event missing = {.kind = PHX_EV_missing};
	world_serving(w, "n1", "ramweb", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), 0);
	world_run_to(w, "n1", PHX_STEP_kexec);
	PHX_STR_SET(missing.node, "n1");
	assert_int_equal(world_apply(w, &missing, NULL), 0);
	assert_int_equal(cancel(w, "n1"), 0);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	world_run(w, "n1");
	assert_serves(w, "n1", "ramweb", "web");
}

static void a_system_in_memory_is_brought_again(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "ramweb", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), 0);
	world_run_to(w, "n1", PHX_STEP_kexec);
	assert_int_equal(cancel(w, "n1"), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "kexec ram enter activate start health join");
	world_run(w, "n1");
	assert_serves(w, "n1", "ramweb", "web");
}

static void a_free_node_stays_free(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->env, PHX_ENV_OS);
	assert_int_equal(world_order(w, PHX_EV_wipe, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_boot);
	assert_int_equal(cancel(w, "n1"), 0);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
	assert_string_equal(world_node(w, "n1")->pool, PHX_POOL_FREE);
	assert_true(world_node(w, "n1")->dirty);
}

static void maintenance_stays_maintenance(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_drain, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_stop);
	assert_int_equal(cancel(w, "n1"), 0);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_MAINTENANCE);
	assert_string_equal(world_node(w, "n1")->role, "compute");
	assert_string_equal(world_node(w, "n1")->reason, "its hand-over was cancelled");
}

/* Its way back to rest is cancelled before its first step has begun: it would stay where it is, in
 * no plan. */
static void the_way_back_to_maintenance_goes_on(void **state)
{
	struct world *w = *state;
	struct phx_event missing = {.kind = PHX_EV_missing};
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_drain, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(world_assign_setup(w, "n1", "guest", PHX_SETUP_WIPE, 0), 0);
	world_run_to(w, "n1", PHX_STEP_boot);
	PHX_STR_SET(missing.node, "n1");
	assert_int_equal(world_apply(w, &missing, NULL), 0);
	assert_int_equal(cancel(w, "n1"), 0);
	assert_int_equal(cancel(w, "n1"), -EPERM);
	assert_non_null(strstr(w->err.text, "being brought back"));
	assert_non_null(phx_node_step(world_node(w, "n1")));
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_MAINTENANCE);
}

static void what_cannot_be_taken_back_goes_on(void **state)
{
	static const struct {
		const char *role;
		int mode, step;
	} points[] = {{"guest", PHX_SETUP_WIPE, PHX_STEP_wipe},
		      {"web", PHX_SETUP_WIPE, PHX_STEP_image},
		      {"web", PHX_SETUP_NOOP, PHX_STEP_activate},
		      {"web", PHX_SETUP_NOOP, PHX_STEP_health},
		      {"ramweb", PHX_SETUP_NOOP, PHX_STEP_ram}};
	struct world *w = *state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(points); i++) {
		char name[8];
		snprintf(name, sizeof(name), "n%zu", i + 1);
		world_serving(w, name, "compute", true);
		assert_int_equal(world_assign_setup(w, name, points[i].role, points[i].mode, 0), 0);
		world_run_to(w, name, points[i].step);
		uint64_t seq = w->s.seq;
		assert_int_equal(cancel(w, name), -EPERM);
		assert_non_null(strstr(w->err.text, "cannot be taken back: it goes on to its end"));
		assert_int_equal(w->s.seq, seq);
		world_run(w, name);
		assert_string_equal(world_node(w, name)->role, points[i].role);
	}
}

static void a_destroyed_key_is_gone(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "vault", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	world_run_to(w, "n1", PHX_STEP_stop);
	world_run_to(w, "n1", PHX_STEP_kexec); /* the key's end comes before it */
	assert_int_equal(cancel(w, "n1"), -EPERM);
	assert_non_null(strstr(w->err.text, "destroy_key"));
	world_run(w, "n1");
	assert_string_equal(world_node(w, "n1")->role, "web");
}

static void a_cancelled_way_back_that_fails_ends_in_quarantine(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_stop);
	assert_int_equal(cancel(w, "n1"), 0);
	for (int i = 0; i < 20 && phx_node_step(world_node(w, "n1")); i++) {
		if (phx_node_step(world_node(w, "n1"))->status == PHX_STEP_ISSUED)
			assert_int_equal(world_result(w, "n1", -EIO, "will not start"), 0);
		else
			world_step(w, "n1");
	}
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(before_anything_nothing_happens),
		WORLD_TEST(a_drain_that_waits_goes_on_serving_its_job),
		WORLD_TEST(what_was_stopped_is_started_again),
		WORLD_TEST(what_is_entered_for_another_role_goes_on),
		WORLD_TEST(a_system_that_was_left_is_entered_again),
		WORLD_TEST(on_its_way_down_it_is_waited_for),
		WORLD_TEST(a_system_in_memory_is_brought_again),
		WORLD_TEST(a_free_node_stays_free),
		WORLD_TEST(maintenance_stays_maintenance),
		WORLD_TEST(the_way_back_to_maintenance_goes_on),
		WORLD_TEST(what_cannot_be_taken_back_goes_on),
		WORLD_TEST(a_destroyed_key_is_gone),
		WORLD_TEST(a_cancelled_way_back_that_fails_ends_in_quarantine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
