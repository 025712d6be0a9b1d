/* Nodes that go and come back: the window closes behind them, a system in RAM is brought back, a
 * key is destroyed before a dead node is waked, off is off at once. */
#include "unit/core/world.h"

static char buf[512];

static int order_crypto(struct world *w, const char *node)
{
	struct phx_event ev = {
		.kind = PHX_EV_release,
		.order = {.has_setup = true, .setup = {PHX_SETUP_WIPE, PHX_WIPE_CRYPTO, 0}}};
	PHX_STR_SET(ev.node, node);
	return world_apply(w, &ev, NULL);
}

static int power_order(struct world *w, const char *node, enum phx_power_op op)
{
	struct phx_event ev = {.kind = PHX_EV_power, .order.op = (int)op};
	PHX_STR_SET(ev.node, node);
	return world_apply(w, &ev, NULL);
}

static void seen_off(struct world *w, const char *node)
{
	struct phx_event ev = {.kind = PHX_EV_power_result, .answer.power = PHX_POWER_IS_OFF};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void silent(struct world *w, const char *node)
{
	struct phx_event ev = {.kind = PHX_EV_missing};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* Registers from the deploy initramfs after a reset; what it found on its disk is `digest`. */
static void comes_back(struct world *w, const char *node, const char *digest)
{
	struct phx_event ev = {.kind = PHX_EV_hello,
			       .hello = {.env = PHX_ENV_DEPLOY, .echoes = true}};
	PHX_STR_SET(ev.node, node);
	snprintf(ev.hello.boot_id, sizeof(ev.hello.boot_id), "boot-%u", ++w->boots);
	PHX_STR_SET(ev.hello.system_image, digest[0] ? "debian-12" : "");
	PHX_STR_SET(ev.hello.system_digest, digest);
	world_facts(&ev.hello.facts, world_index(node));
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

/* ---- the window for a new key ---- */

static void the_window_closes_when_a_node_comes_back_with_its_key(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	assert_int_equal(power_order(w, "n1", PHX_POWER_CYCLE), 0);
	assert_true(world_node(w, "n1")->window);
	comes_back(w, "n1", "d1");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_OS, false), 0);
	assert_false(world_node(w, "n1")->window);
	/* later somebody else's key under its addresses: no window is left for it */
	silent(w, "n1");
	assert_int_equal(world_enrol(w, 1, "another-key"), PHX_ENROL_REFUSED);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_string_equal(world_node(w, "n1")->key_fp, "key-n1");
}

static void a_reset_leaves_no_window_open(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_boot);
	assert_false(world_node(w, "n1")->window); /* its tenant is there still */
	world_started(w, "n1");
	assert_true(world_node(w, "n1")->window);
	/* an agent that only lost its connection has not come back from anywhere */
	assert_int_equal(world_hello(w, "n1", PHX_ENV_OS, false), 0);
	assert_true(world_node(w, "n1")->window);
	world_run(w, "n1");
	/* it has no system, and its key in memory alone: it may be reset for a while */
	struct phx_event tick = {.kind = PHX_EV_tick};
	w->now = world_node(w, "n1")->window_until_ms;
	assert_int_equal(world_apply(w, &tick, NULL), 0);
	assert_false(world_node(w, "n1")->window);
	assert_int_equal(world_node(w, "n1")->start, 0);
}

/* ---- systems that are gone ---- */

static void a_system_in_ram_is_brought_back(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "ramweb", true);
	assert_int_equal(power_order(w, "n1", PHX_POWER_CYCLE), 0);
	silent(w, "n1");
	assert_int_equal(world_enrol_by(w, 1, "new-key", world_node(w, "n1")->start),
			 PHX_ENROL_CERTIFY);
	comes_back(w, "n1", "");
	struct phx_node *n = world_node(w, "n1");
	assert_non_null(phx_node_step(n));
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "ram enter activate start health join");
	assert_string_equal(n->plan.to_role, "ramweb");
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->pool, "web");
	assert_string_equal(n->role, "ramweb");
}

/* What it finds on its disk is of an earlier role, by the same image: that is not the system that
 * was in its memory. */
static void a_system_on_the_disk_is_not_the_one_in_ram(void **state)
{
	struct world *w = *state;
	struct phx_event cancel = {.kind = PHX_EV_cancel};
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "ramweb"), 0);
	world_run(w, "n1");
	struct phx_node *n = world_node(w, "n1");
	assert_string_equal(n->system_disk, "");
	comes_back(w, "n1", "d1");
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "ram enter activate start health join");
	PHX_STR_SET(cancel.node, "n1");
	/* there is nothing to go back to */
	assert_int_equal(world_apply(w, &cancel, NULL), -EPERM);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->role, "ramweb");
	assert_string_equal(n->system_disk, "");
}

static void a_system_in_ram_comes_back_after_maintenance(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "ramweb", true);
	assert_int_equal(world_order(w, PHX_EV_drain, "n1", NULL), 0);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_MAINTENANCE);
	comes_back(w, "n1", "");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_MAINTENANCE);
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_int_equal(world_node(w, "n1")->env, PHX_ENV_OS);
}

/* Whose certificate it shows is kept: by that a CA may be retired. An agent's report of before has
 * none, and unsays nothing. */
static void the_ca_of_its_certificate_is_kept(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_report, .report.healthy = true};
	struct phx_outcome out = {0};
	world_serving(w, "n1", "web", true);
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.report.actual_role, world_node(w, "n1")->actual_role);
	PHX_STR_SET(ev.report.actual_identity, world_node(w, "n1")->actual_identity);
	PHX_STR_SET(ev.text, phx_text(world_node(w, "n1")->health_text));
	PHX_STR_SET(ev.report.ca, "sha256:aa");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_true(out.changed);
	phx_outcome_fini(&out);
	assert_string_equal(world_node(w, "n1")->ca, "sha256:aa");
	ev.report.ca[0] = '\0';
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_false(out.changed);
	phx_outcome_fini(&out);
	assert_string_equal(world_node(w, "n1")->ca, "sha256:aa");
	PHX_STR_SET(ev.report.ca, "sha256:bb");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_string_equal(world_node(w, "n1")->ca, "sha256:bb");
}

/* It was started anew in maintenance, when nobody told it to start its role, and is resumed while
 * it is not heard: what it is to do begins when it is. */
static void resumed_while_silent_it_serves_when_it_is_heard(void **state)
{
	struct world *w = *state;
	struct phx_event stopped = {.kind = PHX_EV_report}, back = {.kind = PHX_EV_back};
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_order(w, PHX_EV_drain, "n1", NULL), 0);
	PHX_STR_SET(stopped.node, "n1");
	PHX_STR_SET(stopped.report.actual_role, "web");
	assert_int_equal(world_apply(w, &stopped, NULL), 0);
	silent(w, "n1");
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_null(phx_node_step(world_node(w, "n1")));
	PHX_STR_SET(back.node, "n1");
	assert_int_equal(world_apply(w, &back, NULL), 0);
	assert_non_null(phx_node_step(world_node(w, "n1")));
	assert_int_equal(phx_node_step(world_node(w, "n1"))->kind, PHX_STEP_start);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_true(world_node(w, "n1")->healthy);
	/* one that serves is left alone */
	silent(w, "n1");
	assert_int_equal(world_apply(w, &back, NULL), 0);
	assert_null(phx_node_step(world_node(w, "n1")));
}

/* It has an older system on its disk: whatever is in the middle when the machine is reset, that is
 * not entered. */
static void reset_in_the_middle(struct world *w, int kind)
{
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "ramweb"), 0);
	world_run_to(w, "n1", kind);
	comes_back(w, "n1", "d1");
	phx_list_fini(&w->done);
	world_run(w, "n1");
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->role, "ramweb");
	assert_string_equal(n->system_disk, "");
	assert_string_equal(PHX_LIST_AT(&w->done, struct phx_word, 0)->text, "n1 ram");
	assert_string_equal(PHX_LIST_AT(&w->done, struct phx_word, 1)->text, "n1 enter");
}

static void reset_while_a_system_in_ram_is_entered(void **state)
{
	struct world *w = *state;
	reset_in_the_middle(w, PHX_STEP_enter);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "stop kexec ram ram enter activate start health join");
	assert_int_equal(PHX_LIST_AT(&world_node(w, "n1")->plan.steps, struct phx_step, 2)->status,
			 PHX_STEP_FAILED);
}

static void reset_after_a_system_in_ram_was_entered(void **state)
{
	struct world *w = *state;
	reset_in_the_middle(w, PHX_STEP_activate);
}

/* The next system has none of the role's packages, and runs none of its services. */
static void reset_while_its_services_start(void **state)
{
	struct world *w = *state;
	reset_in_the_middle(w, PHX_STEP_start);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "stop kexec ram enter activate ram enter activate start health join");
}

static void reset_while_its_health_is_looked_at(void **state)
{
	struct world *w = *state;
	reset_in_the_middle(w, PHX_STEP_health);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "stop kexec ram enter activate start ram enter activate start health "
			    "join");
}

/* A system in memory may have been fetched anew while the node was out of service. */
static void resumed_in_memory_its_packages_come_first(void **state)
{
	struct world *w = *state;
	struct phx_event stopped = {.kind = PHX_EV_report};
	world_serving(w, "n1", "ramweb", true);
	assert_int_equal(world_order(w, PHX_EV_drain, "n1", NULL), 0);
	PHX_STR_SET(stopped.node, "n1");
	assert_int_equal(world_apply(w, &stopped, NULL), 0);
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)), "activate start health join");
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
}

/* One that is reset again and again is not brought back for ever. */
static void resets_end(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "ramweb"), 0);
	struct phx_node *n = world_node(w, "n1");
	for (int i = 0; i < 50 && n->state != PHX_NODE_QUARANTINED; i++) {
		world_run_to(w, "n1", PHX_STEP_enter);
		comes_back(w, "n1", "d1");
	}
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
}

static void a_disk_without_its_system_is_quarantined(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	comes_back(w, "n1", "");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(world_node(w, "n1")->reason, "installed system"));
}

static void a_disk_with_its_system_goes_on(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	comes_back(w, "n1", "d1");
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_null(phx_node_step(n));
	assert_true(phx_node_boots_local(&w->s, n));
	assert_string_equal(n->system_disk, "serial-disk1");
}

static void a_plan_begun_by_a_registration_is_not_interrupted_by_it(void **state)
{
	struct world *w = *state;
	struct phx_event settings = {.kind = PHX_EV_settings, .site.settings = w->s.settings};
	struct phx_event rules = {.kind = PHX_EV_rules_put};
	struct phx_rule *rule = phx_list_push(&rules.rules_put.rules, sizeof(*rule));
	PHX_STR_SET(rule->role, "web");
	settings.site.settings.auto_assign = true;
	assert_int_equal(world_apply(w, &settings, NULL), 0);
	assert_int_equal(world_apply(w, &rules, NULL), 0);
	phx_event_fini(&rules);
	world_add(w, "n1", true);
	assert_int_equal(world_enrol(w, 1, "key-n1"), PHX_ENROL_CERTIFY);
	comes_back(w, "n1", "");
	struct phx_step *step = phx_node_step(world_node(w, "n1"));
	assert_non_null(step);
	assert_int_equal(step->status, PHX_STEP_ISSUED);
	assert_string_equal(step->error, "");
	world_run(w, "n1");
	assert_string_equal(world_node(w, "n1")->role, "web");
}

/* ---- keys of the dead ---- */

static void a_dead_nodes_key_goes_before_it_is_waked(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "vault", true);
	silent(w, "n1");
	assert_int_equal(order_crypto(w, "n1"), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)), "destroy_key boot wipe");
	struct phx_step *step = phx_node_step(world_node(w, "n1"));
	struct phx_event ev = {
		.kind = PHX_EV_key_result,
		.answer = {.step_id = step->id, .epoch = world_node(w, "n1")->plan.epoch}};
	struct phx_outcome out = {0};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	uint32_t records = 0;
	PHX_LIST_EACH(struct phx_action, act, &out.actions) {
		if (act->kind != PHX_ACT_ERASED)
			continue;
		records++;
		assert_string_equal(act->text, "key destroyed, unread");
		assert_string_equal(act->key_id, "n1-65537");
		assert_string_equal(act->disk, "serial-disk1");
		assert_int_equal(act->method, PHX_WIPE_CRYPTO);
		assert_int_equal(act->verified_bytes, 0);
	}
	phx_outcome_fini(&out);
	assert_int_equal(records, 1);
	assert_true(world_node(w, "n1")->key_unread);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
	assert_false(world_node(w, "n1")->key_unread);
	assert_string_equal(world_node(w, "n1")->disk_key_id, "");
}

/* Nothing else is done to it until it comes: that its data is gone is told all the same. */
static void a_key_that_goes_alone_is_an_erase(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	struct phx_event ev = {
		.kind = PHX_EV_release,
		.node = "n1",
		.by = "uid:0",
		.order = {.has_setup = true, .setup = {PHX_SETUP_WIPE, PHX_WIPE_CRYPTO, 0}}};
	int told = 0;
	world_serving(w, "n1", "vault", false);
	silent(w, "n1");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)), "destroy_key");
	PHX_LIST_EACH(struct phx_action, act, &out.actions)
		told += act->kind == PHX_ACT_NOTE &&
			strstr(act->text, "n1 is erased: release ordered by uid:0");
	phx_outcome_fini(&out);
	assert_int_equal(told, 1);
}

static void a_node_that_never_wakes_stays_unread(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "vault", true);
	silent(w, "n1");
	assert_int_equal(order_crypto(w, "n1"), 0);
	world_run_to(w, "n1", PHX_STEP_boot);
	for (int i = 0; i < 20 && phx_node_step(world_node(w, "n1")); i++) {
		struct phx_event tick = {.kind = PHX_EV_tick};
		w->now = phx_core_next_deadline(&w->s);
		assert_int_equal(world_apply(w, &tick, NULL), 0);
	}
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_true(n->key_unread);
	/* before it is used again it is erased and read back, whatever the order says */
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	assert_non_null(strstr(world_plan(w, "n1", buf, sizeof(buf)), "wipe"));
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_false(n->key_unread);
}

static void a_live_nodes_erase_has_one_record(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "vault", true);
	assert_int_equal(order_crypto(w, "n1"), 0);
	world_run_to(w, "n1", PHX_STEP_destroy_key);
	struct phx_step *step = phx_node_step(world_node(w, "n1"));
	struct phx_event ev = {
		.kind = PHX_EV_key_result,
		.answer = {.step_id = step->id, .epoch = world_node(w, "n1")->plan.epoch}};
	struct phx_outcome out = {0};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	PHX_LIST_EACH(struct phx_action, act, &out.actions)
		assert_int_not_equal(act->kind, PHX_ACT_ERASED);
	phx_outcome_fini(&out);
}

/* ---- off ---- */

static void off_is_known_at_once(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "vault", true);
	seen_off(w, "n1");
	assert_false(world_node(w, "n1")->up);
	assert_int_equal(order_crypto(w, "n1"), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)), "destroy_key boot wipe");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(the_window_closes_when_a_node_comes_back_with_its_key),
		WORLD_TEST(a_reset_leaves_no_window_open),
		WORLD_TEST(a_system_in_ram_is_brought_back),
		WORLD_TEST(a_system_on_the_disk_is_not_the_one_in_ram),
		WORLD_TEST(a_system_in_ram_comes_back_after_maintenance),
		WORLD_TEST(the_ca_of_its_certificate_is_kept),
		WORLD_TEST(resumed_while_silent_it_serves_when_it_is_heard),
		WORLD_TEST(reset_while_a_system_in_ram_is_entered),
		WORLD_TEST(reset_after_a_system_in_ram_was_entered),
		WORLD_TEST(reset_while_its_services_start),
		WORLD_TEST(resumed_in_memory_its_packages_come_first),
		WORLD_TEST(reset_while_its_health_is_looked_at),
		WORLD_TEST(resets_end),
		WORLD_TEST(a_disk_without_its_system_is_quarantined),
		WORLD_TEST(a_disk_with_its_system_goes_on),
		WORLD_TEST(a_plan_begun_by_a_registration_is_not_interrupted_by_it),
		WORLD_TEST(a_dead_nodes_key_goes_before_it_is_waked),
		WORLD_TEST(a_key_that_goes_alone_is_an_erase),
		WORLD_TEST(a_node_that_never_wakes_stays_unread),
		WORLD_TEST(a_live_nodes_erase_has_one_record),
		WORLD_TEST(off_is_known_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
