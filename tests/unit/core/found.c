/* What the fault simulation (lib/fault/fault.h) found in the core, one test each. */
#include "unit/core/world.h"

static void event_of(struct world *w, int kind, const char *node)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static struct phx_step *step_now(struct world *w, const char *node)
{
	struct phx_step *step = phx_node_step(world_node(w, node));
	assert_non_null(step);
	return step;
}

/* A new start that brings no system along, as after a loss of memory. */
static void empty_hello(struct world *w, const char *node, int env)
{
	struct phx_node *n = world_node(w, node);
	n->system_image[0] = n->system_digest[0] = n->actual_role[0] = n->actual_identity[0] = '\0';
	world_hello(w, node, env, true);
}

/* ---- a system in memory ---- */

static void a_system_in_memory_does_not_outlive_the_way_down(void **state)
{
	struct world *w = *state;
	char buf[200];
	struct phx_event ev = {.kind = PHX_EV_assign, .order.power_cycle = true};
	world_serving(w, "n1", "ramweb", true);
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.order.role, "ramweb");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "stop boot ram enter activate start health join");
}

static void nothing_is_in_place_in_the_memory_of_a_dead_node(void **state)
{
	struct world *w = *state;
	char buf[200];
	world_serving(w, "n1", "ramweb", true);
	event_of(w, PHX_EV_missing, "n1");
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "ramweb"), 0);
	assert_null(phx_node_step(world_node(w, "n1"))); /* it is so already */
	world_add_role(w, "ramtwo", "web", false, PHX_ROLE_BOOT_RAM);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "ramtwo"), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "boot ram enter activate start health join");
}

/* ---- disks ---- */

static void twin_disks_hello(struct world *w, const char *node)
{
	struct phx_event ev = {.kind = PHX_EV_hello,
			       .hello = {.env = PHX_ENV_DEPLOY, .echoes = true}};
	PHX_STR_SET(ev.node, node);
	snprintf(ev.hello.boot_id, sizeof(ev.hello.boot_id), "boot-%u", ++w->boots);
	world_facts(&ev.hello.facts, world_index(node));
	struct phx_disk_facts *d = phx_list_push(&ev.hello.facts.disks, sizeof(*d));
	assert_non_null(d);
	*d = *PHX_LIST_AT(&ev.hello.facts.disks, struct phx_disk_facts, 0);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

static void a_disk_that_became_ambiguous_is_not_erased(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_boot);
	world_started(w, "n1");
	world_new_key(w, "n1");
	twin_disks_hello(w, "n1");
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "twice"));
}

/* Refused until its facts are sound, it could never report sound facts: it is refused to boot. */
static void a_repaired_node_is_seen_before_it_is_planned_for(void **state)
{
	struct world *w = *state;
	a_disk_that_became_ambiguous_is_not_erased(state);
	struct phx_node *n = world_node(w, "n1");
	event_of(w, PHX_EV_missing, "n1");
	assert_int_equal(phx_core_boot(&w->s, "52:54:00:00:00:01", "").choice, PHX_BOOT_REFUSE);
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_int_equal(phx_core_boot(&w->s, "52:54:00:00:00:01", "").choice, PHX_BOOT_DEPLOY);
	world_new_key(w, "n1");
	empty_hello(w, "n1", PHX_ENV_DEPLOY);
	assert_int_equal(n->state, PHX_NODE_CLEANING);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_false(n->dirty);
}

static void a_node_without_bmc_comes_back_by_hand(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", false);
	struct phx_node *n = world_node(w, "n1");
	event_of(w, PHX_EV_missing, "n1");
	event_of(w, PHX_EV_quarantine, "n1");
	assert_int_equal(world_enrol(w, 1, "key-new"), PHX_ENROL_REFUSED);
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	assert_int_equal(world_enrol_by(w, 1, "key-new", n->start), PHX_ENROL_CERTIFY);
	empty_hello(w, "n1", PHX_ENV_DEPLOY);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_false(n->dirty);
	/* it was for once */
	event_of(w, PHX_EV_quarantine, "n1");
	event_of(w, PHX_EV_missing, "n1");
	assert_int_equal(world_enrol(w, 1, "key-newer"), PHX_ENROL_REFUSED);
}

static void it_is_not_waited_for_for_ever(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", false);
	event_of(w, PHX_EV_missing, "n1");
	event_of(w, PHX_EV_quarantine, "n1");
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	w->now = phx_core_next_deadline(&w->s);
	struct phx_event tick = {.kind = PHX_EV_tick};
	assert_int_equal(world_apply(w, &tick, NULL), 0);
	assert_false(world_node(w, "n1")->awaited);
	assert_int_equal(world_enrol(w, 1, "key-new"), PHX_ENROL_REFUSED);
}

/* ---- a start that was not ours ---- */

static void a_start_before_the_power_cycle_is_not_the_one_ordered(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	event_of(w, PHX_EV_missing, "n1");
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_boot);
	/* it had started by itself, and registers while the BMC has not switched it off yet:
	 * with the key that it has, as there is no other for it */
	assert_int_equal(world_enrol(w, 1, "key-of-that-start"), PHX_ENROL_REFUSED);
	empty_hello(w, "n1", PHX_ENV_DEPLOY);
	assert_int_equal(step_now(w, "n1")->kind, PHX_STEP_boot);
	world_started(w, "n1");
	assert_int_equal(world_enrol(w, 1, "key-of-the-next"), PHX_ENROL_REFUSED);
	world_new_key(w, "n1");
	empty_hello(w, "n1", PHX_ENV_DEPLOY);
	assert_int_equal(step_now(w, "n1")->kind, PHX_STEP_wipe);
}

static void a_start_that_is_heard_after_the_power_cycle_counts(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	event_of(w, PHX_EV_missing, "n1");
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_boot);
	empty_hello(w, "n1", PHX_ENV_DEPLOY); /* quicker than the BMC's answer */
	world_started(w, "n1");
	assert_int_equal(step_now(w, "n1")->kind, PHX_STEP_boot);
	event_of(w, PHX_EV_back, "n1");
	assert_int_equal(step_now(w, "n1")->kind, PHX_STEP_boot); /* with the key of before */
	world_new_key(w, "n1");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, false), 0);
	assert_int_equal(step_now(w, "n1")->kind, PHX_STEP_wipe);
}

/* ---- services that a restart took ---- */

static void a_restart_before_health_starts_the_services_again(void **state)
{
	struct world *w = *state;
	char buf[200];
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	world_run_to(w, "n1", PHX_STEP_health);
	uint64_t health = step_now(w, "n1")->id;
	world_hello(w, "n1", PHX_ENV_DEPLOY, true);
	w->now += 60000;
	struct phx_event tick = {.kind = PHX_EV_tick};
	assert_int_equal(world_apply(w, &tick, NULL), 0);
	world_hello(w, "n1", PHX_ENV_OS, false);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "image enter activate start enter start health join");
	assert_int_equal(step_now(w, "n1")->kind, PHX_STEP_start);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_true(health);
}

static void maintenance_ends_with_running_services(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(world_order(w, PHX_EV_drain, "n1", NULL), 0);
	assert_int_equal(n->state, PHX_NODE_MAINTENANCE);
	world_hello(w, "n1", PHX_ENV_DEPLOY, true);
	world_hello(w, "n1", PHX_ENV_OS, false); /* its services are not running */
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	assert_int_equal(step_now(w, "n1")->kind, PHX_STEP_start);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_true(n->healthy);
}

static void a_resume_does_not_take_over_another_plan(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_order(w, PHX_EV_drain, "n1", NULL), 0);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), 0);
	struct phx_node *n = world_node(w, "n1");
	n->healthy = false;
	assert_int_equal(n->state, PHX_NODE_MAINTENANCE); /* still fetching */
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), -EBUSY);
	world_run(w, "n1");
	assert_string_equal(n->role, "compute");
}

static void an_older_system_on_the_disk_stays_out(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "ramweb", true);
	struct phx_node *n = world_node(w, "n1");
	PHX_STR_SET(n->actual_role, "compute"); /* what the disk had before */
	world_hello(w, "n1", PHX_ENV_OS, true);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "another system"));
}

/* ---- who answers is there ---- */

static void an_answer_is_a_sign_of_life(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), 0);
	world_run_to(w, "n1", PHX_STEP_stop);
	event_of(w, PHX_EV_missing, "n1");
	assert_int_equal(world_result(w, "n1", 0, ""), 0);
	/* not: brought back by a power cycle */
	assert_int_equal(step_now(w, "n1")->kind, PHX_STEP_leave);
	assert_true(world_node(w, "n1")->up);
}

/* The answer to an answer was lost, and it is sent again while the next attempt runs. */
static void a_failure_told_twice_is_one_failure(void **state)
{
	struct world *w = *state;
	struct phx_event failed = {.kind = PHX_EV_step_result,
				   .answer = {.result = -EIO, .attempt = 1}};
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), 0);
	world_run_to(w, "n1", PHX_STEP_stop);
	PHX_STR_SET(failed.node, "n1");
	failed.answer.step_id = step_now(w, "n1")->id;
	failed.answer.epoch = world_node(w, "n1")->plan.epoch;
	assert_int_equal(world_apply(w, &failed, NULL), 0);
	world_run_to(w, "n1", PHX_STEP_stop);
	assert_int_equal(step_now(w, "n1")->attempt, 2);
	assert_int_equal(world_apply(w, &failed, NULL), -ESTALE);
	assert_int_equal(step_now(w, "n1")->status, PHX_STEP_ISSUED);
	/* a success is one whichever attempt it was */
	assert_int_equal(world_result(w, "n1", 0, ""), 0);
}

/* Its answer was lost with the head, so it registered again before it began to erase. */
static void what_is_erased_is_not_there_however_often_it_was_told(void **state)
{
	struct world *w = *state;
	char buf[200];
	world_serving(w, "n1", "guest", true);
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_wipe);
	PHX_STR_SET(n->system_image, "debian-12");
	PHX_STR_SET(n->system_digest, "d1");
	world_hello(w, "n1", PHX_ENV_DEPLOY, false);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "ramweb"), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "ram enter activate start health join");
}

/* ---- whose data ---- */

static void data_of_earlier_tenants_is_not_forgotten(void **state)
{
	struct world *w = *state;
	world_add_pool(w, "lab", "uni", (struct phx_setup){0});
	world_add_pool(w, "intake", "uni",
		       (struct phx_setup){PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_ASSIGN,
					  PHX_VERIFY_SAMPLE, PHX_SETUP_START_AUTO});
	world_add_role(w, "lab", "lab", false, PHX_ROLE_BOOT_DISK);
	world_add_role(w, "intake", "intake", false, PHX_ROLE_BOOT_DISK);
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "lab"), 0);
	world_run(w, "n1");
	/* the last tenant is of the same owner; what lies beneath is not */
	assert_int_equal(world_assign_setup(w, "n1", "intake", PHX_SETUP_NOOP, 0), -EPERM);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "intake"), 0);
	world_run(w, "n1");
	assert_false(world_node(w, "n1")->mixed);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "lab"), 0);
	world_run(w, "n1");
	assert_int_equal(world_assign_setup(w, "n1", "intake", PHX_SETUP_NOOP, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_system_in_memory_does_not_outlive_the_way_down),
		WORLD_TEST(nothing_is_in_place_in_the_memory_of_a_dead_node),
		WORLD_TEST(a_disk_that_became_ambiguous_is_not_erased),
		WORLD_TEST(a_repaired_node_is_seen_before_it_is_planned_for),
		WORLD_TEST(a_node_without_bmc_comes_back_by_hand),
		WORLD_TEST(it_is_not_waited_for_for_ever),
		WORLD_TEST(a_start_before_the_power_cycle_is_not_the_one_ordered),
		WORLD_TEST(a_start_that_is_heard_after_the_power_cycle_counts),
		WORLD_TEST(a_restart_before_health_starts_the_services_again),
		WORLD_TEST(maintenance_ends_with_running_services),
		WORLD_TEST(a_resume_does_not_take_over_another_plan),
		WORLD_TEST(an_older_system_on_the_disk_stays_out),
		WORLD_TEST(an_answer_is_a_sign_of_life),
		WORLD_TEST(a_failure_told_twice_is_one_failure),
		WORLD_TEST(what_is_erased_is_not_there_however_often_it_was_told),
		WORLD_TEST(data_of_earlier_tenants_is_not_forgotten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
