/* An update that fails: the node goes back to the version of its role that it ran. */
#include "unit/core/world.h"

static char buf[512];

/* Role web in another version of its package. */
static void put_version(struct world *w, const char *version)
{
	struct phx_event ev = {.kind = PHX_EV_role_put};
	const struct phx_role *now = phx_state_role(&w->s, "web");
	assert_int_equal(phx_record_copy(&phx_role_record, &ev.role.role_put, now), 0);
	PHX_STR_SET(PHX_LIST_AT(&ev.role.role_put.packages, struct phx_package_ref, 0)->version,
		    version);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

/* The agent's report: what it runs. */
static void run_all(struct world *w)
{
	world_run(w, "n1");
}

/* The step under way fails until it is given up; every attempt is waited for. */
static void fail_step(struct world *w, int kind, const char *why)
{
	for (int i = 0; i < 20; i++) {
		const struct phx_step *step = phx_node_step(world_node(w, "n1"));
		if (!step || step->kind != kind)
			return;
		if (step->status == PHX_STEP_ISSUED)
			assert_int_equal(world_result(w, "n1", -EIO, why), 0);
		else
			world_step(w, "n1");
	}
	fail_msg("the step does not end");
}

static const char *ordered_version(struct world *w)
{
	static char version[PHX_NAME_MAX];
	struct phx_list orders = {0};
	version[0] = '\0';
	world_orders(w, "n1", &orders);
	PHX_LIST_EACH(struct phx_order, o, &orders) {
		if (o->kind == PHX_ORDER_step && o->role.packages.n)
			PHX_STR_SET(
				version,
				PHX_LIST_AT(&o->role.packages, struct phx_package_ref, 0)->version);
		phx_record_fini(&phx_order_record, o);
	}
	phx_list_fini(&orders);
	return version;
}

static void update_to_2(struct world *w)
{
	world_serving(w, "n1", "web", true);
	put_version(w, "2");
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "prefetch stop leave activate start health join");
}

static void failed_health_goes_back(void **state)
{
	struct world *w = *state;
	update_to_2(w);
	world_run_to(w, "n1", PHX_STEP_health);
	assert_string_equal(ordered_version(w), "2");
	fail_step(w, PHX_STEP_health, "not healthy: status 500");
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_stop);
	assert_string_equal(ordered_version(w), "2"); /* what was started is stopped */
	static const int back[] = {PHX_STEP_activate, PHX_STEP_start, PHX_STEP_health};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(back); i++) {
		world_run_to(w, "n1", back[i]);
		assert_string_equal(ordered_version(w), "1");
	}
	run_all(w);
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->role, "web");
	assert_string_equal(n->pool, "web");
	assert_string_equal(n->actual_identity, "debian-12@1 pkg-web-1");
	assert_non_null(strstr(n->reason, "update failed, runs debian-12@1 pkg-web-1 again"));
	assert_non_null(strstr(n->reason, "status 500"));
	assert_true(n->healthy);
}

static void failed_start_goes_back(void **state)
{
	struct world *w = *state;
	update_to_2(w);
	world_run_to(w, "n1", PHX_STEP_start);
	fail_step(w, PHX_STEP_start, "ended at once");
	/* what was to come of the new version is not done */
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "prefetch stop leave activate start stop activate start health join");
	run_all(w);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_string_equal(world_node(w, "n1")->actual_identity, "debian-12@1 pkg-web-1");
	/* a version that is good is taken, and nothing is left of the story */
	put_version(w, "3");
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	run_all(w);
	assert_string_equal(world_node(w, "n1")->actual_identity, "debian-12@1 pkg-web-3");
	assert_string_equal(world_node(w, "n1")->reason, "");
	put_version(w, "4");
	assert_int_equal(w->s.formers.n, 1); /* 3, which it runs */
}

/* There is a limit to patience: who cannot go back either is looked after by people. */
static void failed_way_back_is_quarantined(void **state)
{
	struct world *w = *state;
	update_to_2(w);
	world_run_to(w, "n1", PHX_STEP_start);
	fail_step(w, PHX_STEP_start, "ended at once");
	world_run_to(w, "n1", PHX_STEP_start);
	assert_string_equal(ordered_version(w), "1");
	fail_step(w, PHX_STEP_start, "ended again");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(world_node(w, "n1")->reason, "ended again"));
}

/* The old version is still there, and may run: nothing is unpacked over it. */
static void failed_stop_is_no_failed_update(void **state)
{
	struct world *w = *state;
	update_to_2(w);
	world_run_to(w, "n1", PHX_STEP_stop);
	fail_step(w, PHX_STEP_stop, "does not end");
	assert_null(world_node(w, "n1")->plan.back);
	assert_null(strstr(world_plan(w, "n1", buf, sizeof(buf)),
			   "stop leave activate start health join stop"));
}

/* Another role is no update: nobody asked for the old one back. */
static void failed_hand_over_is_quarantined(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	world_run_to(w, "n1", PHX_STEP_start);
	fail_step(w, PHX_STEP_start, "ended at once");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
}

/* The definition may change again while a node is on its way back. */
static void reload_on_the_way_back(void **state)
{
	struct world *w = *state;
	update_to_2(w);
	world_run_to(w, "n1", PHX_STEP_start);
	fail_step(w, PHX_STEP_start, "ended at once");
	put_version(w, "3");
	put_version(w, "4");
	world_run_to(w, "n1", PHX_STEP_activate);
	assert_string_equal(ordered_version(w), "1");
	run_all(w);
	assert_string_equal(world_node(w, "n1")->actual_identity, "debian-12@1 pkg-web-1");
}

static void nobody_runs_it_nobody_keeps_it(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	put_version(w, "2");
	put_version(w, "3");
	assert_int_equal(w->s.formers.n, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(failed_health_goes_back),        TEST(failed_start_goes_back),
		TEST(failed_way_back_is_quarantined), TEST(failed_stop_is_no_failed_update),
		TEST(failed_way_back_is_quarantined), TEST(failed_hand_over_is_quarantined),
		TEST(reload_on_the_way_back),         TEST(nobody_runs_it_nobody_keeps_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
