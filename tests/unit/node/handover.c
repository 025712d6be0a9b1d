/* Hand-overs through the whole core: which steps, in which order, what holds
 * afterwards, and what happens when something goes wrong. */
#include "unit/core/world.h"

static char buf[512];

static void assign_from_ready(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "image enter activate start health join");
	assert_int_equal(world_node(w, "n1")->plan.tier, PHX_TIER_DEPLOY);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_DEPLOYING);
	world_run(w, "n1");
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->pool, "batch");
	assert_string_equal(n->tenant, "hpc");
	assert_true(n->dirty);
	assert_string_equal(n->system_disk, "serial-disk1");
}

static void assign_twice_is_once(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	uint64_t seq = w->s.seq, epoch = world_node(w, "n1")->epoch;
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	assert_int_equal(w->s.seq, seq);
	assert_int_equal(world_node(w, "n1")->epoch, epoch);
}

static void the_same_order_under_way_is_no_mistake(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	uint64_t seq = w->s.seq;
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	assert_int_equal(w->s.seq, seq);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), -EBUSY);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), -EBUSY);
}

static void noop_stays_in_place(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	char boot[40];
	strcpy(boot, world_node(w, "n1")->boot_id);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "prefetch drain stop leave activate start health join");
	/* while packages are fetched the node still serves its old role */
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_string_equal(world_node(w, "n1")->pool, "batch");
	world_run(w, "n1");
	assert_string_equal(world_node(w, "n1")->pool, "web");
	assert_string_equal(world_node(w, "n1")->boot_id, boot);
}

/* By which an agent that starts again in the middle knows whether to start services. */
static void a_role_is_wanted_once_it_was_started(void **state)
{
	static const int kinds[] = {PHX_STEP_prefetch, PHX_STEP_drain,    PHX_STEP_stop,
				    PHX_STEP_leave,    PHX_STEP_activate, PHX_STEP_start,
				    PHX_STEP_health};
	static const char *const wanted[] = {"compute", "", "", "", "", "", "web"};
	struct phx_role store;
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++) {
		world_run_to(w, "n1", kinds[i]);
		const struct phx_role *role =
			phx_core_role_wanted(&w->s, world_node(w, "n1"), &store);
		assert_string_equal(role ? role->name : "", wanted[i]);
	}
	world_run(w, "n1");
	assert_string_equal(phx_core_role_wanted(&w->s, world_node(w, "n1"), &store)->name, "web");
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run(w, "n1");
	assert_null(phx_core_role_wanted(&w->s, world_node(w, "n1"), &store));
}

/* The system restarts while its role is asked for its health: it is asked again as soon as it was
 * started again, not when the time of the first question is over. */
static void health_is_asked_at_once_after_a_restart(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	world_run_to(w, "n1", PHX_STEP_health);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_OS, true), 0);
	const struct phx_step *step = phx_node_step(world_node(w, "n1"));
	assert_int_equal(step->kind, PHX_STEP_start);
	assert_int_equal(step->status, PHX_STEP_ISSUED);
	assert_int_equal(world_result(w, "n1", 0, ""), 0);
	step = phx_node_step(world_node(w, "n1"));
	assert_int_equal(step->kind, PHX_STEP_health);
	assert_int_equal(step->status, PHX_STEP_ISSUED);
}

static void wipe_goes_through_kexec(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_OVERWRITE), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "drain stop kexec wipe image enter activate start health join");
	world_run_to(w, "n1", PHX_STEP_wipe);
	assert_int_equal(phx_node_step(world_node(w, "n1"))->method, PHX_WIPE_OVERWRITE);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_CLEANING);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
}

static void wipe_without_agent_power_cycles(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	struct phx_event ev = {.kind = PHX_EV_missing};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_AUTO), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "boot wipe image enter activate start health join");
	/* until it is off, who had it may sit at its address */
	assert_false(world_node(w, "n1")->window);
	world_started(w, "n1");
	assert_true(world_node(w, "n1")->window);
}

static void silent_node_without_bmc_is_refused(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", false);
	struct phx_event ev = {.kind = PHX_EV_missing};
	PHX_STR_SET(ev.node, "n1");
	world_apply(w, &ev, NULL);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_AUTO),
			 -EHOSTUNREACH);
	assert_non_null(strstr(w->err.text, "no BMC"));
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
}

static void release_wipes_where_the_agreement_says(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)), "stop boot wipe");
	world_run(w, "n1");
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_READY);
	assert_string_equal(n->pool, "free");
	assert_false(n->dirty);
	assert_string_equal(n->system_digest, "");
}

static void noop_between_owners_is_refused(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_NOOP, 0), -EPERM);
	assert_non_null(strstr(w->err.text, "noop is refused"));
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	assert_non_null(strstr(world_plan(w, "n1", buf, sizeof(buf)), "wipe"));
}

static void data_of_a_tenant_is_remembered_in_the_free_pool(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run(w, "n1");
	assert_true(world_node(w, "n1")->dirty);
	/* the new tenant's agreement wants a wipe on assign: now it happens */
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "guest"), 0);
	assert_non_null(strstr(world_plan(w, "n1", buf, sizeof(buf)), "wipe"));
	assert_int_equal(world_assign_setup(w, "n1", "guest", PHX_SETUP_NOOP, 0), -EBUSY);
}

static void crypto_destroys_the_key_first(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "vault", true);
	assert_string_equal(world_node(w, "n1")->disk_key_id, "n1-65537");
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)), "stop destroy_key boot wipe");
	world_run_to(w, "n1", PHX_STEP_wipe);
	assert_true(world_node(w, "n1")->key_unread);
	assert_int_equal(phx_node_step(world_node(w, "n1"))->method, PHX_WIPE_CRYPTO);
	world_run(w, "n1");
	assert_false(world_node(w, "n1")->key_unread);
	assert_string_equal(world_node(w, "n1")->disk_key_id, "");
}

static void crypto_on_a_plain_disk_is_refused_in_the_plan(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_assign_setup(w, "n1", "compute", PHX_SETUP_WIPE, PHX_WIPE_CRYPTO),
			 -EOPNOTSUPP);
	assert_non_null(strstr(w->err.text, "discard"));
	assert_int_equal(
		world_assign_setup(w, "n1", "compute", PHX_SETUP_WIPE, PHX_WIPE_SECURE_ERASE),
		-EOPNOTSUPP);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
}

static void ram_role_needs_no_disk(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "ramweb"), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "ram enter activate start health join");
	world_run(w, "n1");
	/* a disk role on a node that runs from memory is not in place */
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	assert_non_null(strstr(world_plan(w, "n1", buf, sizeof(buf)), "kexec image"));
}

static void failed_step_is_tried_again_then_quarantined(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_AUTO);
	world_run_to(w, "n1", PHX_STEP_wipe);
	assert_int_equal(world_result(w, "n1", -EIO, "I/O error at block 7"), 0);
	struct phx_step *step = phx_node_step(world_node(w, "n1"));
	assert_int_equal(step->status, PHX_STEP_PENDING);
	world_run_to(w, "n1", PHX_STEP_wipe);
	assert_int_equal(phx_node_step(world_node(w, "n1"))->attempt, 2);
	assert_int_equal(world_result(w, "n1", -EIO, "I/O error at block 7"), 0);
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_string_equal(n->pool, "");
	assert_non_null(strstr(n->reason, "I/O error at block 7"));
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), -EPERM);
	assert_int_equal(phx_core_boot(&w->s, "52:54:00:00:00:01", "").choice, PHX_BOOT_REFUSE);
}

static void failed_prefetch_keeps_the_node_as_it_was(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	world_order(w, PHX_EV_assign, "n1", "web");
	for (int i = 0; i < 3; i++) {
		world_run_to(w, "n1", PHX_STEP_prefetch);
		assert_int_equal(world_result(w, "n1", -EKEYREJECTED, "wrong signature"), 0);
	}
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->role, "compute");
	assert_string_equal(n->pool, "batch");
	assert_non_null(strstr(n->reason, "wrong signature"));
}

static void wrong_disk_or_method_or_unread_is_no_erase(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_OVERWRITE);
	world_run_to(w, "n1", PHX_STEP_wipe);
	struct phx_node *n = world_node(w, "n1");
	struct phx_event ev = {.kind = PHX_EV_step_result,
			       .answer = {.step_id = phx_node_step(n)->id,
					  .epoch = n->plan.epoch,
					  .nonce = phx_node_step(n)->nonce,
					  .erased_bytes = 1,
					  .verified_bytes = 1,
					  .setup = {.method = PHX_WIPE_DISCARD}}};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.answer.erased_disk, "serial-disk1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_string_equal(phx_node_step(n)->error,
			    "the agent used another method than the one ordered");
	world_run_to(w, "n1", PHX_STEP_wipe);
	ev.answer.setup.method = PHX_WIPE_OVERWRITE;
	ev.answer.nonce = phx_node_step(n)->nonce;
	ev.answer.verified_bytes = 0;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_true(n->dirty);
}

static void order_of_an_older_epoch_is_refused(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	world_order(w, PHX_EV_assign, "n1", "web");
	struct phx_node *n = world_node(w, "n1");
	struct phx_event ev = {
		.kind = PHX_EV_step_result,
		.answer = {.step_id = phx_node_step(n)->id, .epoch = n->plan.epoch - 1}};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), -ESTALE);
	ev.answer.epoch++;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(world_apply(w, &ev, NULL), -ESTALE); /* told twice */
}

static void deadline_counts_as_failure(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	world_order(w, PHX_EV_assign, "n1", "web");
	world_run_to(w, "n1", PHX_STEP_activate);
	for (int i = 0; i < 3; i++) {
		w->now = phx_core_next_deadline(&w->s);
		struct phx_event tick = {.kind = PHX_EV_tick};
		assert_int_equal(world_apply(w, &tick, NULL), 0);
		if (i < 2)
			world_run_to(w, "n1", PHX_STEP_activate);
	}
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
	assert_int_equal(phx_core_next_deadline(&w->s), INT64_MAX);
}

static void power_cut_in_the_middle_of_an_image(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	world_order(w, PHX_EV_assign, "n1", "web");
	world_run_to(w, "n1", PHX_STEP_image);
	struct phx_event gone = {.kind = PHX_EV_missing};
	PHX_STR_SET(gone.node, "n1");
	struct phx_outcome out = {0};
	assert_int_equal(world_apply(w, &gone, &out), 0);
	assert_int_equal(out.actions.n, 1); /* is it off? */
	assert_int_equal(PHX_LIST_AT(&out.actions, struct phx_action, 0)->op, PHX_POWER_STATUS);
	phx_outcome_fini(&out);
	struct phx_event off = {.kind = PHX_EV_power_result, .answer.power = PHX_POWER_IS_OFF};
	PHX_STR_SET(off.node, "n1");
	assert_int_equal(world_apply(w, &off, NULL), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "boot image enter activate start health join");
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
}

/* No plan begins in such a state: the program is wrong, and no half of the event is carried out. */
static void a_state_that_may_not_follow_ends_the_event(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	world_order(w, PHX_EV_assign, "n1", "web");
	world_run_to(w, "n1", PHX_STEP_image);
	struct phx_node *n = world_node(w, "n1");
	struct phx_event done = {
		.kind = PHX_EV_step_result,
		.now_ms = w->now,
		.answer = {.step_id = phx_node_step(n)->id, .epoch = n->plan.epoch}};
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	PHX_STR_SET(done.node, "n1");
	n->state = PHX_NODE_NEW;
	assert_int_equal(phx_core_apply(&w->s, &done, &out, &err), -EPROTO);
	assert_string_equal(err.text, "n1 cannot become deploying: it is new");
	assert_int_equal(out.actions.n, 0);
}

static void endless_repair_ends_in_quarantine(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	world_order(w, PHX_EV_assign, "n1", "web");
	for (int i = 0; i < 20 && world_node(w, "n1")->state != PHX_NODE_QUARANTINED; i++) {
		struct phx_event gone = {.kind = PHX_EV_missing};
		struct phx_event off = {.kind = PHX_EV_power_result,
					.answer.power = PHX_POWER_IS_OFF};
		PHX_STR_SET(gone.node, "n1");
		PHX_STR_SET(off.node, "n1");
		world_run_to(w, "n1", PHX_STEP_image);
		world_apply(w, &gone, NULL);
		world_apply(w, &off, NULL);
	}
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
	assert_string_equal(world_node(w, "n1")->reason,
			    "step image: the node had to be brought back 4 times");
}

static void kexec_that_never_returns_becomes_a_power_cycle(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_AUTO);
	world_run_to(w, "n1", PHX_STEP_kexec);
	struct phx_event tick = {.kind = PHX_EV_tick};
	w->now = phx_core_next_deadline(&w->s);
	assert_int_equal(world_apply(w, &tick, NULL), 0);
	assert_int_equal(phx_node_step(world_node(w, "n1"))->kind, PHX_STEP_boot);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
}

static void resume_from_quarantine_erases_a_tenants_data(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	world_order(w, PHX_EV_quarantine, "n1", NULL);
	assert_string_equal(world_node(w, "n1")->pool, "");
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	assert_non_null(strstr(world_plan(w, "n1", buf, sizeof(buf)), "wipe"));
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
	assert_false(world_node(w, "n1")->dirty);
}

static void another_reason_for_quarantine(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_quarantine, .node = "n1", .text = "noise"};
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	PHX_STR_SET(ev.text, "the fan is broken");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_string_equal(world_node(w, "n1")->reason, "the fan is broken");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
	uint64_t seq = w->s.seq;
	ev.text[0] = '\0';
	assert_int_equal(world_apply(w, &ev, NULL), 0); /* no reason is no other one */
	assert_string_equal(world_node(w, "n1")->reason, "the fan is broken");
	assert_int_equal(w->s.seq, seq);
}

static void drain_and_resume(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_drain, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_MAINTENANCE);
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_string_equal(world_node(w, "n1")->role, "compute");
}

static void rebuild_writes_the_image_again(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_order(w, PHX_EV_rebuild, "n1", NULL), 0);
	assert_string_equal(world_plan(w, "n1", buf, sizeof(buf)),
			    "stop kexec image enter activate start health join");
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
}

static void dry_run_changes_nothing(void **state)
{
	struct world *w = *state;
	struct phx_plan plan;
	struct phx_state before;
	world_serving(w, "n1", "compute", true);
	phx_record_copy(&phx_state_record, &before, &w->s);
	struct phx_event ev = {.kind = PHX_EV_assign, .now_ms = w->now};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.order.role, "web");
	assert_int_equal(phx_order_plan_of(&w->s, &ev, &plan, &w->err), 0);
	assert_int_equal(plan.steps.n, 8);
	assert_true(plan.expected_ms > 0);
	assert_true(phx_record_equal(&phx_state_record, &before, &w->s));
	phx_record_fini(&phx_plan_record, &plan);
	phx_state_fini(&before);
}

static void a_refused_event_leaves_the_state(void **state)
{
	struct world *w = *state;
	struct phx_state before;
	world_serving(w, "n1", "compute", true);
	phx_record_copy(&phx_state_record, &before, &w->s);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "nosuch"), -ENOENT);
	assert_int_equal(world_order(w, PHX_EV_assign, "nosuch", "web"), -ENOENT);
	assert_int_equal(world_order(w, PHX_EV_release, "nosuch", NULL), -ENOENT);
	struct phx_event back = {.kind = PHX_EV_tick, .now_ms = 5};
	struct phx_outcome out;
	assert_int_equal(phx_core_apply(&w->s, &back, &out, &w->err), -EINVAL);
	assert_true(phx_record_equal(&phx_state_record, &before, &w->s));
	phx_state_fini(&before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(assign_from_ready),
		WORLD_TEST(assign_twice_is_once),
		WORLD_TEST(the_same_order_under_way_is_no_mistake),
		WORLD_TEST(noop_stays_in_place),
		WORLD_TEST(a_role_is_wanted_once_it_was_started),
		WORLD_TEST(health_is_asked_at_once_after_a_restart),
		WORLD_TEST(wipe_goes_through_kexec),
		WORLD_TEST(wipe_without_agent_power_cycles),
		WORLD_TEST(silent_node_without_bmc_is_refused),
		WORLD_TEST(release_wipes_where_the_agreement_says),
		WORLD_TEST(noop_between_owners_is_refused),
		WORLD_TEST(data_of_a_tenant_is_remembered_in_the_free_pool),
		WORLD_TEST(crypto_destroys_the_key_first),
		WORLD_TEST(crypto_on_a_plain_disk_is_refused_in_the_plan),
		WORLD_TEST(ram_role_needs_no_disk),
		WORLD_TEST(failed_step_is_tried_again_then_quarantined),
		WORLD_TEST(failed_prefetch_keeps_the_node_as_it_was),
		WORLD_TEST(wrong_disk_or_method_or_unread_is_no_erase),
		WORLD_TEST(order_of_an_older_epoch_is_refused),
		WORLD_TEST(deadline_counts_as_failure),
		WORLD_TEST(power_cut_in_the_middle_of_an_image),
		WORLD_TEST(a_state_that_may_not_follow_ends_the_event),
		WORLD_TEST(endless_repair_ends_in_quarantine),
		WORLD_TEST(kexec_that_never_returns_becomes_a_power_cycle),
		WORLD_TEST(resume_from_quarantine_erases_a_tenants_data),
		WORLD_TEST(another_reason_for_quarantine),
		WORLD_TEST(drain_and_resume),
		WORLD_TEST(rebuild_writes_the_image_again),
		WORLD_TEST(dry_run_changes_nothing),
		WORLD_TEST(a_refused_event_leaves_the_state),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
