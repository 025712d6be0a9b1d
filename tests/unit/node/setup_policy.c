/* Setup policies between noop and wipe: what is done to a node that changes hands, what is left as
 * it is, and that nobody attests more than was done. */
#include "unit/core/world.h"
#include "node/internal.h"

static void pool(struct world *w, const char *name, const char *owner, int mode, int when)
{
	world_add_pool(w, name, owner,
		       (struct phx_setup){mode, PHX_WIPE_AUTO, when, PHX_VERIFY_SAMPLE,
					  PHX_SETUP_START_AUTO});
}

static bool did(const struct phx_outcome *out, int kind)
{
	PHX_LIST_EACH(struct phx_action, act, &out->actions)
		if (act->kind == kind)
			return true;
	return false;
}

/* n1 serves "compute" in "batch", which is of hpc and wants nothing; "fresh" and "mild" have a role
 * of their name. */
static void serving(struct world *w)
{
	pool(w, "fresh", "other", PHX_SETUP_REIMAGE, PHX_WHEN_BOTH);
	pool(w, "mild", "hpc", PHX_SETUP_REIMAGE, PHX_WHEN_RELEASE);
	world_add_role(w, "fresh", "fresh", false, PHX_ROLE_BOOT_DISK);
	world_add_role(w, "mild", "mild", false, PHX_ROLE_BOOT_DISK);
	world_serving(w, "n1", "compute", true);
}

static bool plan_has(struct world *w, enum phx_step_kind kind)
{
	return phx_plan_has(&world_node(w, "n1")->plan, kind);
}

static void assign(struct world *w, const char *role)
{
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", role), 0);
}

/* ---- reimage ---- */

static void another_owner_gets_a_new_system(void **state)
{
	struct world *w = *state;
	serving(w);
	assign(w, "fresh");
	assert_true(plan_has(w, PHX_STEP_boot) && plan_has(w, PHX_STEP_image));
	assert_false(plan_has(w, PHX_STEP_wipe) || plan_has(w, PHX_STEP_kexec));
	world_run(w, "n1");
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->tenant, "other");
	/* other disks may hold what was there, and nobody says that they do not */
	assert_true(n->dirty && n->mixed);
}

/* A node that nobody has needs no system. What is due is done when it is given away. */
static void a_release_leaves_it_for_later(void **state)
{
	struct world *w = *state;
	serving(w);
	assign(w, "mild");
	world_run(w, "n1");
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	assert_int_equal(world_node(w, "n1")->plan.tier, PHX_TIER_IN_PLACE);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
	assign(w, "web");
	assert_true(plan_has(w, PHX_STEP_image));
	world_run(w, "n1");
	/* and only once */
	assign(w, "compute");
	assert_false(plan_has(w, PHX_STEP_image));
}

static void it_may_be_asked_for_and_not_waived(void **state)
{
	struct world *w = *state;
	serving(w);
	assert_int_equal(world_assign_setup(w, "n1", "fresh", PHX_SETUP_NOOP, 0), -EPERM);
	assert_non_null(strstr(w->err.text, "wants a reimage: noop is refused"));
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_REIMAGE, 0), 0);
	assert_true(plan_has(w, PHX_STEP_image));
	/* the same once more is no error, less than that is under way is another order */
	uint64_t epoch = world_node(w, "n1")->plan.epoch;
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_REIMAGE, 0), 0);
	assert_int_equal(world_node(w, "n1")->plan.epoch, epoch);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, 0), -EBUSY);
}

static void what_is_under_way_is_no_reimage(void **state)
{
	struct world *w = *state;
	serving(w);
	assign(w, "web");
	assert_false(plan_has(w, PHX_STEP_image));
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_REIMAGE, 0), -EBUSY);
}

/* The stricter one holds, whichever side it is on. */
static void wipe_is_more(void **state)
{
	struct world *w = *state;
	serving(w);
	assign(w, "mild");
	world_run(w, "n1");
	assign(w, "guest");
	assert_true(plan_has(w, PHX_STEP_wipe));
	world_run(w, "n1");
	assert_false(world_node(w, "n1")->mixed);
	assign(w, "fresh");
	assert_true(plan_has(w, PHX_STEP_wipe) && plan_has(w, PHX_STEP_image));
}

/* The agreement came to want it while the node was on its way in place. */
static void nobody_enters_what_should_be_new(void **state)
{
	struct world *w = *state;
	serving(w);
	pool(w, "lax", "other", PHX_SETUP_NOOP, PHX_WHEN_BOTH);
	world_add_role(w, "lax", "lax", false, PHX_ROLE_BOOT_DISK);
	assign(w, "lax");
	world_run_to(w, "n1", PHX_STEP_leave);
	pool(w, "lax", "other", PHX_SETUP_REIMAGE, PHX_WHEN_ASSIGN);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
}

/* ---- data ---- */

/* n1 serves "clean", whose scratch is destroyed as nodes leave; it is of hpc, as "batch" is. */
static void serving_clean(struct world *w)
{
	serving(w);
	pool(w, "clean", "hpc", PHX_SETUP_DATA, PHX_WHEN_RELEASE);
	pool(w, "lax", "other", PHX_SETUP_NOOP, PHX_WHEN_BOTH);
	world_add_role(w, "clean", "clean", true, PHX_ROLE_BOOT_DISK);
	world_add_role(w, "lax", "lax", false, PHX_ROLE_BOOT_DISK);
	assign(w, "clean");
	world_run(w, "n1");
	assert_true(world_node(w, "n1")->owes_data);
}

/* The step that is under way answers so; was an erase recorded, or attested? */
static bool answers(struct world *w, int result)
{
	const struct phx_step *step = phx_node_step(world_node(w, "n1"));
	struct phx_event ev = {.kind = PHX_EV_step_result, .answer.result = result};
	struct phx_outcome out = {0};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.text, "as told");
	ev.answer.step_id = step->id;
	ev.answer.epoch = world_node(w, "n1")->plan.epoch;
	ev.answer.attempt = step->attempt;
	assert_int_equal(world_apply(w, &ev, &out), 0);
	bool claims = did(&out, PHX_ACT_ERASED) || did(&out, PHX_ACT_ATTEST);
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return claims;
}

/* In place, and nobody says that a disk was erased: neither a record nor an attestation does. */
static void another_owner_finds_no_scratch(void **state)
{
	struct world *w = *state;
	serving_clean(w);
	assign(w, "lax");
	assert_int_equal(world_node(w, "n1")->plan.tier, PHX_TIER_IN_PLACE);
	assert_true(plan_has(w, PHX_STEP_scratch));
	assert_false(plan_has(w, PHX_STEP_wipe));
	world_run_to(w, "n1", PHX_STEP_scratch);
	assert_false(answers(w, 0));
	assert_false(world_node(w, "n1")->owes_data);
	world_run(w, "n1");
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_true(n->dirty && n->mixed);
}

static void what_cannot_be_proven_is_wiped(void **state)
{
	struct world *w = *state;
	serving_clean(w);
	assign(w, "lax");
	world_run_to(w, "n1", PHX_STEP_scratch);
	assert_false(answers(w, -EUCLEAN));
	w->now += 10000;
	struct phx_event tick = {.kind = PHX_EV_tick};
	assert_int_equal(world_apply(w, &tick, NULL), 0);
	assert_int_equal(phx_node_step(world_node(w, "n1"))->kind, PHX_STEP_scratch);
	assert_false(answers(w, -EUCLEAN));
	const struct phx_plan *p = &world_node(w, "n1")->plan;
	assert_true(plan_has(w, PHX_STEP_wipe) && plan_has(w, PHX_STEP_image));
	assert_true(p->attests && p->looks);
	assert_int_equal(phx_node_step(world_node(w, "n1"))->kind, PHX_STEP_boot);
	world_run(w, "n1");
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->role, "lax");
	assert_false(n->mixed || n->owes_data);
}

/* An erase that nothing can begin: fails closed. */
static void or_nobody_has_it(void **state)
{
	struct world *w = *state;
	serving_clean(w);
	assign(w, "lax");
	world_run_to(w, "n1", PHX_STEP_scratch);
	struct phx_node *n = world_node(w, "n1");
	PHX_LIST_AT(&n->facts.disks, struct phx_disk_facts, 0)->read_only = true;
	answers(w, -EUCLEAN);
	w->now += 10000;
	struct phx_event tick = {.kind = PHX_EV_tick};
	assert_int_equal(world_apply(w, &tick, NULL), 0);
	answers(w, -EUCLEAN);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
}

/* Put off within one owner, it is due when another comes. */
static void it_is_owed(void **state)
{
	struct world *w = *state;
	serving_clean(w);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_NOOP, 0), 0);
	assert_false(plan_has(w, PHX_STEP_scratch));
	world_run(w, "n1");
	assert_true(world_node(w, "n1")->owes_data);
	assert_int_equal(world_assign_setup(w, "n1", "lax", PHX_SETUP_NOOP, 0), -EPERM);
	assign(w, "lax");
	assert_true(plan_has(w, PHX_STEP_scratch));
}

/* A new system is no proof of the scratch, nor the other way round: who wants both gets an erase.
 */
static void with_reimage_it_is_a_wipe(void **state)
{
	struct world *w = *state;
	serving_clean(w);
	assign(w, "fresh");
	assert_true(plan_has(w, PHX_STEP_wipe) && plan_has(w, PHX_STEP_image));
}

static void an_older_agent_gets_no_such_step(void **state)
{
	struct world *w = *state;
	serving_clean(w);
	world_node(w, "n1")->scratches = false;
	assign(w, "lax");
	assert_false(plan_has(w, PHX_STEP_scratch));
	assert_true(plan_has(w, PHX_STEP_wipe));
	assert_non_null(strstr(world_node(w, "n1")->plan.reason, "before there was step scratch"));
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(another_owner_gets_a_new_system),
		WORLD_TEST(a_release_leaves_it_for_later),
		WORLD_TEST(it_may_be_asked_for_and_not_waived),
		WORLD_TEST(what_is_under_way_is_no_reimage),
		WORLD_TEST(wipe_is_more),
		WORLD_TEST(nobody_enters_what_should_be_new),
		WORLD_TEST(another_owner_finds_no_scratch),
		WORLD_TEST(what_cannot_be_proven_is_wiped),
		WORLD_TEST(or_nobody_has_it),
		WORLD_TEST(it_is_owed),
		WORLD_TEST(with_reimage_it_is_a_wipe),
		WORLD_TEST(an_older_agent_gets_no_such_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
