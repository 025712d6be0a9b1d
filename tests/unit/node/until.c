/* A maintenance that ends by itself: at its time the node serves again, and not before; whoever
 * ends it sooner has ended it, and a later one has an end of its own. */
#include "unit/core/world.h"

enum { HOUR = 3600 * 1000 };

static int drain(struct world *w, int64_t until_ms)
{
	struct phx_event ev = {.kind = PHX_EV_drain, .order.until_ms = until_ms, .text = "fan"};
	PHX_STR_SET(ev.node, "n1");
	return world_apply(w, &ev, NULL);
}

static struct phx_node *in_maintenance(struct world *w, int64_t until_ms)
{
	world_serving(w, "n1", "compute", true);
	assert_int_equal(drain(w, until_ms), 0);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_MAINTENANCE);
	return world_node(w, "n1");
}

static void tick_at(struct world *w, int64_t at_ms)
{
	struct phx_event tick = {.kind = PHX_EV_tick};
	w->now = at_ms;
	assert_int_equal(world_apply(w, &tick, NULL), 0);
}

static void it_serves_again_at_its_time(void **state)
{
	struct world *w = *state;
	int64_t until = w->now + 4 * HOUR;
	struct phx_node *n = in_maintenance(w, until);
	assert_int_equal(phx_core_next_deadline(&w->s), until);
	tick_at(w, until - 1);
	assert_int_equal(n->state, PHX_NODE_MAINTENANCE);
	tick_at(w, until);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_true(!n->maintained_until_ms && !n->reason[0]);
}

static void without_one_it_lasts(void **state)
{
	struct world *w = *state;
	struct phx_node *n = in_maintenance(w, 0);
	tick_at(w, w->now + 1000LL * HOUR);
	assert_int_equal(n->state, PHX_NODE_MAINTENANCE);
	/* an end can be set afterwards */
	assert_int_equal(drain(w, w->now + HOUR), 0);
	tick_at(w, w->now + HOUR);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
}

static void the_end_of_one_is_not_that_of_the_next(void **state)
{
	struct world *w = *state;
	int64_t until = w->now + 4 * HOUR;
	struct phx_node *n = in_maintenance(w, until);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0); /* leads out of it, too */
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_int_equal(drain(w, 0), 0);
	world_run(w, "n1");
	tick_at(w, until + HOUR);
	assert_int_equal(n->state, PHX_NODE_MAINTENANCE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(it_serves_again_at_its_time),
		WORLD_TEST(without_one_it_lasts),
		WORLD_TEST(the_end_of_one_is_not_that_of_the_next),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
