/* REs whose agreement chooses another image than the role's: their nodes get it, keep it, and are
 * told that they are as they should be; nodes that leave get the role's again. */
#include "unit/core/pair.h"

static struct phx_agreement of_image(const char *name, const char *image, const char *digest)
{
	struct phx_agreement a = agreement(name, PHX_RE_BATCH, 2);
	a.coordination = PHX_RE_COORDINATED_NONE;
	a.partner[0] = '\0';
	PHX_STR_SET(a.image, image);
	PHX_STR_SET(a.image_version, "7");
	PHX_STR_SET(a.image_digest, digest);
	return a;
}

static void active(struct world *w, const struct phx_agreement *a)
{
	world_ready(w, "n1", true);
	world_ready(w, "n2", true);
	assert_int_equal(create(w, a), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, a->name), 0);
	settle(w);
	assert_int_equal(held(w, a->name), 2);
}

/* The tier of the plan that would bring n1 as `role` into the pool. */
static int tier_to(struct world *w, const char *role, const char *pool)
{
	struct phx_event ev = {.kind = PHX_EV_assign};
	struct phx_plan plan;
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.order.role, role);
	PHX_STR_SET(ev.order.pool, pool);
	assert_int_equal(phx_order_plan_of(&w->s, &ev, &plan, &w->err), 0);
	int tier = plan.tier;
	phx_record_fini(&phx_plan_record, &plan);
	return tier;
}

static void nodes_get_the_image(void **state)
{
	struct world *w = *state;
	struct phx_agreement a = of_image("queue", "plan-9", "p9");
	active(w, &a);
	const struct phx_node *n = world_node(w, "n1");
	assert_string_equal(n->system_image, "plan-9");
	assert_string_equal(n->system_digest, "p9");
	assert_non_null(strstr(n->actual_identity, "plan-9@7"));
}

/* Of two REs with one role the image decides: only where it is there already nothing is written. */
static void in_place_where_it_is_there(void **state)
{
	struct world *w = *state;
	struct phx_agreement a = of_image("queue", "plan-9", "p9"),
			     same = of_image("again", "plan-9", "p9"),
			     other = of_image("other", "plan-10", "p10"),
			     none = of_image("plain", "", "");
	none.image_version[0] = '\0';
	active(w, &a);
	assert_int_equal(create(w, &same), 0);
	assert_int_equal(create(w, &other), 0);
	assert_int_equal(create(w, &none), 0);
	assert_int_equal(tier_to(w, "compute", "again"), PHX_TIER_IN_PLACE);
	assert_int_equal(tier_to(w, "compute", "other"), PHX_TIER_KEXEC);
	assert_int_equal(tier_to(w, "compute", "plain"), PHX_TIER_KEXEC);
	/* another role than the agreement's has its own */
	assert_int_equal(tier_to(w, "web", "again"), PHX_TIER_KEXEC);
}

/* A machine that starts again is told the image that it has, and serves on. */
static void it_is_what_is_wanted(void **state)
{
	struct world *w = *state;
	struct phx_agreement a = of_image("queue", "plan-9", "p9");
	struct phx_role store;
	active(w, &a);
	const struct phx_role *wanted = phx_core_role_wanted(&w->s, world_node(w, "n1"), &store);
	assert_string_equal(wanted->image, "plan-9");
	assert_string_equal(wanted->image_version, "7");
	assert_string_equal(phx_state_role(&w->s, "compute")->image, "debian-12");
}

/* What the order of the step brings to the agent. */
static void orders_bring_it(void **state)
{
	struct world *w = *state;
	struct phx_agreement a = of_image("queue", "plan-9", "p9");
	struct phx_list orders = {0};
	world_ready(w, "n1", true);
	world_ready(w, "n2", true);
	assert_int_equal(create(w, &a), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	world_run_to(w, "n1", PHX_STEP_image);
	world_orders(w, "n1", &orders);
	assert_int_equal(orders.n, 1);
	struct phx_order *o = PHX_LIST_AT(&orders, struct phx_order, 0);
	assert_string_equal(o->role.image, "plan-9");
	assert_true(phx_core_gives_image(&w->s, "n1", "plan-9", "7"));
	assert_false(phx_core_gives_image(&w->s, "n1", "debian-12", "1"));
	phx_record_fini(&phx_order_record, o);
	phx_list_fini(&orders);
}

/* A role that is put anew updates the nodes in place, and a version that does not start is left
 * again, also where the image is not the role's. */
static void a_failed_update_goes_back(void **state)
{
	struct world *w = *state;
	struct phx_agreement a = of_image("queue", "plan-9", "p9");
	active(w, &a);
	struct phx_event ev = {.kind = PHX_EV_role_put};
	assert_int_equal(phx_record_copy(&phx_role_record, &ev.role.role_put,
					 phx_state_role(&w->s, "compute")),
			 0);
	PHX_STR_SET(PHX_LIST_AT(&ev.role.role_put.packages, struct phx_package_ref, 0)->version,
		    "2");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	assert_int_equal(w->s.formers.n, 1);
	assert_int_equal(tier_to(w, "compute", "queue"), PHX_TIER_IN_PLACE);
	struct phx_event order = {.kind = PHX_EV_assign, .order.jobs = PHX_JOBS_ANY};
	PHX_STR_SET(order.node, "n1");
	PHX_STR_SET(order.order.role, "compute");
	PHX_STR_SET(order.order.pool, "queue");
	assert_int_equal(world_apply(w, &order, NULL), 0);
	assert_non_null(strstr(phx_text(world_node(w, "n1")->plan.from_identity), "plan-9@7"));
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(nodes_get_the_image),       WORLD_TEST(in_place_where_it_is_there),
		WORLD_TEST(it_is_what_is_wanted),      WORLD_TEST(orders_bring_it),
		WORLD_TEST(a_failed_update_goes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
