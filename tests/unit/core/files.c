/* Which of the head's files an agent is given: those that its present orders name. */
#include "unit/core/world.h"

/* n1 is about to write the image of another role. */
static void order_image(struct world *w)
{
	world_serving(w, "n1", "compute", true);
	world_serving(w, "n2", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "guest"), 0);
	world_run_to(w, "n1", PHX_STEP_image);
	assert_int_equal(phx_node_step(world_node(w, "n1"))->kind, PHX_STEP_image);
}

static void an_order_names_its_image(void **state)
{
	struct world *w = *state;
	order_image(w);
	assert_true(phx_core_gives_image(&w->s, "n1", "debian-12", "1"));
	assert_false(phx_core_gives_image(&w->s, "n1", "debian-12", "2"));
	assert_false(phx_core_gives_image(&w->s, "n1", "debian", "1"));
	assert_false(phx_core_gives_image(&w->s, "n2", "debian-12", "1"));
	assert_false(phx_core_gives_image(&w->s, "n99", "debian-12", "1"));
}

static void an_order_names_its_packages(void **state)
{
	struct world *w = *state;
	order_image(w);
	assert_true(phx_core_gives_package(&w->s, "n1", "pkg-guest-1.tar.zst"));
	assert_true(phx_core_gives_package(&w->s, "n1", "pkg-guest-1.tar.zst.sig"));
	assert_false(phx_core_gives_package(&w->s, "n1", "pkg-guest-1.tar.zst.sigx"));
	assert_false(phx_core_gives_package(&w->s, "n1", "pkg-guest-1.tar.zs"));
	assert_false(phx_core_gives_package(&w->s, "n1", "munge-key-1.tar.zst"));
	assert_false(phx_core_gives_package(&w->s, "n1", ""));
	assert_false(phx_core_gives_package(&w->s, "n2", "pkg-guest-1.tar.zst"));
}

/* Its steps are over: what they named is on the node, and no business of whoever is root there. */
static void an_order_of_the_past_names_nothing(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	assert_false(phx_core_gives_image(&w->s, "n1", "debian-12", "1"));
	assert_false(phx_core_gives_package(&w->s, "n1", "pkg-web-1.tar.zst"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(an_order_names_its_image),
		WORLD_TEST(an_order_names_its_packages),
		WORLD_TEST(an_order_of_the_past_names_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
