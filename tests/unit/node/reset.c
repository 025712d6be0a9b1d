/* An erase between two owners: the machine is reset for it, and what calls itself the deploy
 * environment erases nothing before it has shown the token of a start. */
#include "../core/world.h"

static void add_lab(struct world *w, int start)
{
	world_add_pool(w, "lab", "uni",
		       (struct phx_setup){PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_BOTH,
					  PHX_VERIFY_SAMPLE, start});
	world_add_role(w, "lab", "lab", false, PHX_ROLE_BOOT_DISK);
}

static void free_says(struct world *w, int start)
{
	world_add_pool(w, PHX_POOL_FREE, "", (struct phx_setup){.start = start});
}

static void plan_is(struct world *w, const char *want, const char *why)
{
	char text[300];
	assert_string_equal(world_plan(w, "n1", text, sizeof(text)), want);
	assert_non_null(strstr(world_node(w, "n1")->plan.reason, why));
}

/* n1 serves lab, and is released. */
static struct phx_node *leaves(struct world *w, bool bmc)
{
	world_serving(w, "n1", "lab", bmc);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	return world_node(w, "n1");
}

static void by_default_it_is_reset(void **state)
{
	struct world *w = *state;
	add_lab(w, PHX_SETUP_START_AUTO);
	struct phx_node *n = leaves(w, true);
	plan_is(w, "stop boot wipe", "it is erased for another owner");
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_false(n->dirty);
}

static void both_have_to_say_kexec(void **state)
{
	struct world *w = *state;
	add_lab(w, PHX_SETUP_START_KEXEC);
	leaves(w, true);
	plan_is(w, "stop boot wipe", "it is erased for another owner");
	world_run(w, "n1");
	free_says(w, PHX_SETUP_START_KEXEC);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "lab"), 0);
	world_run(w, "n1");
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	plan_is(w, "stop kexec wipe", "both agreements say kexec");
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
}

static void without_a_bmc_it_says_so(void **state)
{
	struct world *w = *state;
	add_lab(w, PHX_SETUP_START_AUTO);
	struct phx_node *n = leaves(w, false);
	plan_is(w, "stop kexec wipe", "it has no BMC: kexec through the system of the owner");
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
}

static void power_takes_none_without_a_bmc(void **state)
{
	struct world *w = *state;
	add_lab(w, PHX_SETUP_START_POWER);
	world_serving(w, "n1", "lab", false);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), -EHOSTUNREACH);
	assert_non_null(strstr(w->err.text, "an agreement wants a start from reset"));
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
}

static void of_one_owner_kexec_will_do(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_AUTO), 0);
	plan_is(w, "drain stop kexec wipe image enter activate start health join",
		"no firmware start needed");
}

/* replays of journals of before */
static void a_head_of_before_went_by_kexec(void **state)
{
	struct world *w = *state;
	w->s.settings.resets = false;
	add_lab(w, PHX_SETUP_START_AUTO);
	leaves(w, true);
	plan_is(w, "stop kexec wipe", "no firmware start needed");
}

/* his agent says that it is the deploy environment, after a start of its own */
static void who_was_not_started_erases_nothing(void **state)
{
	struct world *w = *state;
	add_lab(w, PHX_SETUP_START_AUTO);
	world_serving(w, "n1", "lab", true);
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_false(n->fresh);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	plan_is(w, "boot wipe", "it does not show the token of a start");
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_true(n->fresh);
}

/* and so does one that says it in the middle of the plan: it is started (again) */
static void nor_who_restarts_before_the_erase(void **state)
{
	struct world *w = *state;
	add_lab(w, PHX_SETUP_START_AUTO);
	struct phx_node *n = leaves(w, true);
	world_run_to(w, "n1", PHX_STEP_wipe);
	assert_true(n->fresh);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0); /* with the same key */
	assert_false(n->fresh);
	world_run_to(w, "n1", PHX_STEP_boot);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
}

/* What the order notes, once, says `sentence`. */
static void order_says(struct world *w, enum phx_event_kind kind, const char *sentence)
{
	struct phx_event ev = {.kind = kind, .node = "n1"};
	struct phx_outcome out = {0};
	unsigned told = 0;
	assert_int_equal(world_apply(w, &ev, &out), 0);
	PHX_LIST_EACH(struct phx_action, act, &out.actions)
		told += act->kind == PHX_ACT_NOTE && strstr(act->text, sentence) != NULL;
	phx_outcome_fini(&out);
	assert_int_equal(told, 1);
}

/* Without a BMC a person has to start it: it is waited for, with a token, which it gets only when
 * it is not heard any more. */
static void resumed_by_hand(void **state)
{
	struct world *w = *state;
	struct phx_event missing = {.kind = PHX_EV_missing, .node = "n1"},
			 quarantine = {.kind = PHX_EV_quarantine, .node = "n1"};
	add_lab(w, PHX_SETUP_START_AUTO);
	world_serving(w, "n1", "lab", false);
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), -EHOSTUNREACH);
	assert_int_equal(world_apply(w, &quarantine, NULL), 0);
	order_says(w, PHX_EV_resume, "on again when it counts as missing");
	assert_true(n->awaited && n->start);
	PHX_STR_SET(n->address, "10.77.0.11");
	assert_int_equal(phx_start_given(n, n->address), 0);
	assert_int_equal(world_apply(w, &missing, NULL), 0);
	assert_int_equal(phx_start_given(n, n->address), n->start);
	order_says(w, PHX_EV_resume, "start it by hand now");
	world_new_key(w, "n1");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_false(n->dirty);
}

/* Its key was destroyed while it was away, and it is back: how it was started nobody has
 * seen. */
static void one_that_comes_back_by_itself_waits_for_a_person(void **state)
{
	struct world *w = *state;
	struct phx_event missing = {.kind = PHX_EV_missing, .node = "n1"},
			 release = {.kind = PHX_EV_release,
				    .node = "n1",
				    .order = {.has_setup = true,
					      .setup = {PHX_SETUP_WIPE, PHX_WIPE_CRYPTO, 0}}};
	add_lab(w, PHX_SETUP_START_AUTO);
	world_serving(w, "n1", "lab", false);
	struct phx_node *n = world_node(w, "n1");
	PHX_STR_SET(n->disk_key_id, "n1-1");
	PHX_STR_SET(n->system_disk, "serial-disk1");
	assert_int_equal(world_apply(w, &missing, NULL), 0);
	assert_int_equal(world_apply(w, &release, NULL), 0);
	world_run(w, "n1");
	assert_true(n->key_unread);
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "phx node resume waits for a start by hand"));
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	assert_true(n->awaited && n->start);
	assert_int_equal(world_apply(w, &missing, NULL), 0);
	world_new_key(w, "n1");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_false(n->key_unread);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(by_default_it_is_reset),
		WORLD_TEST(both_have_to_say_kexec),
		WORLD_TEST(without_a_bmc_it_says_so),
		WORLD_TEST(power_takes_none_without_a_bmc),
		WORLD_TEST(of_one_owner_kexec_will_do),
		WORLD_TEST(a_head_of_before_went_by_kexec),
		WORLD_TEST(who_was_not_started_erases_nothing),
		WORLD_TEST(nor_who_restarts_before_the_erase),
		WORLD_TEST(resumed_by_hand),
		WORLD_TEST(one_that_comes_back_by_itself_waits_for_a_person),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
