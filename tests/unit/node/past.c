/* What is of the past does not count: epochs of a node that was removed, a window for a certificate
 * that has ended, a start that nobody ordered, answers of attempts and runs that are over; and
 * whose disk key a node may have. */
#include "unit/core/world.h"

static struct phx_step *step_now(struct world *w, const char *node)
{
	struct phx_step *step = phx_node_step(world_node(w, node));
	assert_non_null(step);
	return step;
}

static void tick(struct world *w)
{
	struct phx_event ev = {.kind = PHX_EV_tick};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void cycle(struct world *w, const char *node)
{
	struct phx_event ev = {.kind = PHX_EV_power};
	PHX_STR_SET(ev.node, node);
	ev.order.op = PHX_POWER_CYCLE;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* ---- a name that was another's ---- */

static void a_removed_node_s_name_begins_above_its_epochs(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), 0);
	world_run_to(w, "n1", PHX_STEP_stop);
	/* what the machine of before still holds: an order, and its answer to it */
	struct phx_event late = {.kind = PHX_EV_step_result};
	PHX_STR_SET(late.node, "n1");
	late.answer.step_id = step_now(w, "n1")->id;
	late.answer.epoch = world_node(w, "n1")->plan.epoch;
	uint64_t old = world_node(w, "n1")->epoch;
	struct phx_event rm = {.kind = PHX_EV_node_remove, .order.force = true};
	PHX_STR_SET(rm.node, "n1");
	assert_int_equal(world_apply(w, &rm, NULL), 0);
	assert_true(old >= late.answer.epoch && late.answer.epoch > 0);
	world_ready(w, "n1", true);
	assert_true(world_node(w, "n1")->epoch >= old);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	assert_true(world_node(w, "n1")->plan.epoch > old);
	assert_true(step_now(w, "n1")->id > late.answer.step_id);
	assert_int_equal(world_apply(w, &late, NULL), -ESTALE);
}

/* The names of disk keys are made of the epoch: one that comes back would open another's disk. */
static void a_removed_node_s_keys_are_not_made_again(void **state)
{
	struct world *w = *state;
	char old[PHX_NAME_MAX];
	world_serving(w, "n1", "vault", true);
	PHX_STR_SET(old, world_node(w, "n1")->disk_key_id);
	assert_true(old[0]);
	struct phx_event rm = {.kind = PHX_EV_node_remove, .order.force = true};
	PHX_STR_SET(rm.node, "n1");
	assert_int_equal(world_apply(w, &rm, NULL), 0);
	world_serving(w, "n1", "vault", true);
	assert_string_not_equal(world_node(w, "n1")->disk_key_id, old);
}

/* ---- the window for a new key ---- */

/* without any tick between: the clock alone ends it */
static void the_window_ends_by_the_clock(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	cycle(w, "n1");
	int64_t until = world_node(w, "n1")->window_until_ms;
	assert_true(until > w->now && until <= w->now + 20 * 60 * 1000);
	uint64_t start = world_node(w, "n1")->start;
	w->now = until - 1;
	struct phx_state before;
	assert_int_equal(phx_record_copy(&phx_state_record, &before, &w->s), 0);
	assert_int_equal(world_enrol_by(w, 1, "in time", start), PHX_ENROL_CERTIFY);
	phx_state_fini(&w->s);
	w->s = before;
	w->now = until;
	assert_int_equal(world_enrol_by(w, 1, "too late", start), PHX_ENROL_REFUSED);
	assert_string_equal(world_node(w, "n1")->key_fp, "key-n1");
}

/* and with a tick it is closed and told, also while nobody asks */
static void the_window_is_closed_when_its_time_comes(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	cycle(w, "n1");
	int64_t until = world_node(w, "n1")->window_until_ms;
	assert_true(phx_core_next_deadline(&w->s) <= until);
	while (w->now < until) {
		w->now = phx_core_next_deadline(&w->s) < until ? phx_core_next_deadline(&w->s)
							       : until;
		tick(w);
	}
	assert_false(world_node(w, "n1")->window);
	assert_int_equal(world_enrol(w, 1, "too late"), PHX_ENROL_REFUSED);
}

/* ---- a start that nobody ordered ---- */

/* The first try was carried out and nothing came of it; before the second is, the machine starts by
 * itself. */
static void a_chance_start_before_the_second_try_is_not_the_one_ordered(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	struct phx_event gone = {.kind = PHX_EV_missing};
	PHX_STR_SET(gone.node, "n1");
	assert_int_equal(world_apply(w, &gone, NULL), 0);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_boot);
	world_started(w, "n1");
	assert_true(step_now(w, "n1")->started);
	for (int i = 0; i < 20 &&
	     !(step_now(w, "n1")->attempt == 2 && step_now(w, "n1")->status == PHX_STEP_ISSUED);
	     i++) {
		w->now = step_now(w, "n1")->deadline_ms;
		tick(w);
	}
	assert_int_equal(step_now(w, "n1")->kind, PHX_STEP_boot);
	assert_int_equal(step_now(w, "n1")->attempt, 2);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(step_now(w, "n1")->kind, PHX_STEP_boot); /* not arrived */
	world_started(w, "n1");
	world_new_key(w, "n1");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(step_now(w, "n1")->kind, PHX_STEP_wipe);
}

/* A power operation of another step, or by hand, is not the one that the step waits for. */
static void a_power_operation_of_another_step_starts_nothing(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	struct phx_event gone = {.kind = PHX_EV_missing};
	PHX_STR_SET(gone.node, "n1");
	assert_int_equal(world_apply(w, &gone, NULL), 0);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_boot);
	const struct phx_event_answer others[] = {
		{.step_id = 0, .epoch = world_node(w, "n1")->plan.epoch},
		{.step_id = step_now(w, "n1")->id + 1, .epoch = world_node(w, "n1")->plan.epoch},
		{.step_id = step_now(w, "n1")->id, .epoch = world_node(w, "n1")->plan.epoch - 1},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(others); i++) {
		struct phx_event ev = {.kind = PHX_EV_power_result, .answer = others[i]};
		ev.answer.power = PHX_POWER_IS_ON;
		PHX_STR_SET(ev.node, "n1");
		assert_int_equal(world_apply(w, &ev, NULL), 0);
		assert_false(step_now(w, "n1")->started);
		assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
		assert_int_equal(step_now(w, "n1")->kind, PHX_STEP_boot);
	}
}

/* ---- answers of attempts and runs that are over ---- */

static int fail_attempt(struct world *w, const char *node, uint32_t attempt)
{
	struct phx_event ev = {.kind = PHX_EV_step_result,
			       .answer = {.result = -EIO, .attempt = attempt}};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.text, "it failed");
	ev.answer.step_id = step_now(w, node)->id;
	ev.answer.epoch = world_node(w, node)->plan.epoch;
	return world_apply(w, &ev, NULL);
}

static void a_failure_counts_for_its_own_attempt_only(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), 0);
	world_run_to(w, "n1", PHX_STEP_stop);
	assert_int_equal(fail_attempt(w, "n1", 1), 0);
	world_run_to(w, "n1", PHX_STEP_stop);
	assert_int_equal(step_now(w, "n1")->attempt, 2);
	struct phx_state before;
	assert_int_equal(phx_record_copy(&phx_state_record, &before, &w->s), 0);
	assert_int_equal(fail_attempt(w, "n1", 1), -ESTALE);
	assert_int_equal(fail_attempt(w, "n1", 3), -ESTALE);
	assert_true(phx_record_equal(&phx_state_record, &before, &w->s));
	phx_state_fini(&before);
	assert_int_equal(fail_attempt(w, "n1", 2), 0);
	assert_int_equal(step_now(w, "n1")->status, PHX_STEP_PENDING);
}

static int job_ends(struct world *w, uint64_t id, uint32_t run, int status)
{
	struct phx_event ev = {
		.kind = PHX_EV_job_result,
		.job_result = {.job = id, .run = run, .result = status, .cpu_ms = 77}};
	PHX_STR_SET(ev.node, "n1");
	return world_apply(w, &ev, NULL);
}

static void an_end_counts_for_its_own_run_only(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.job_nodes = 1, .uid = 1000, .gid = 1000}};
	struct phx_outcome out;
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "true"), 0);
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_apply(w, &ev, &out), 0);
	struct phx_job *j = phx_state_job(&w->s, out.job);
	assert_int_equal(j->state, PHX_JOB_RUNNING);
	j->kills = 2; /* it was killed twice, and runs once more */
	assert_int_equal(job_ends(w, j->id, 1, 0), -ESTALE);
	assert_int_equal(job_ends(w, j->id, 0, 1), -ESTALE);
	assert_int_equal(job_ends(w, j->id, 3, 0), -ESTALE);
	assert_int_equal(j->state, PHX_JOB_RUNNING);
	assert_int_equal(PHX_LIST_AT(&j->parts, struct phx_job_part, 0)->cpu_ms, 0);
	assert_int_equal(job_ends(w, j->id, 2, 0), 0);
	assert_int_equal(j->state, PHX_JOB_DONE);
	assert_int_equal(job_ends(w, j->id, 2, 1), -ESTALE); /* it has ended */
	assert_int_equal(j->state, PHX_JOB_DONE);
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
}

/* ---- whose key ---- */

static void a_node_may_have_its_own_key_only(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "vault", true);
	world_serving(w, "n2", "vault", true);
	struct phx_node *n1 = world_node(w, "n1"), *n2 = world_node(w, "n2");
	char first[PHX_NAME_MAX];
	PHX_STR_SET(first, n1->disk_key_id);
	assert_true(phx_key_may_have(n1, n1->disk_key_id));
	assert_false(phx_key_may_have(n1, n2->disk_key_id));
	assert_false(phx_key_may_have(n2, n1->disk_key_id));
	assert_false(phx_key_may_have(n1, ""));
	/* while a new one is made and written it may have that, and only then */
	assert_int_equal(world_order(w, PHX_EV_rebuild, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_image);
	char second[PHX_NAME_MAX];
	PHX_STR_SET(second, step_now(w, "n1")->key_id);
	assert_true(second[0] && strcmp(first, second) != 0);
	assert_true(phx_key_may_have(world_node(w, "n1"), second));
	assert_false(phx_key_may_have(world_node(w, "n2"), second));
	step_now(w, "n1")->status = PHX_STEP_PENDING;
	PHX_STR_SET(world_node(w, "n1")->disk_key_id, "");
	assert_false(phx_key_may_have(world_node(w, "n1"), second));
	step_now(w, "n1")->status = PHX_STEP_ISSUED;
	PHX_STR_SET(world_node(w, "n1")->disk_key_id, second);
	struct phx_event ev = {.kind = PHX_EV_quarantine};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_false(phx_key_may_have(world_node(w, "n1"), second));
}

/* A head of before had no room for it, and kept what it had. */
static void a_health_text_that_is_too_long_changes_nothing(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_report, .node = "n1", .text = "does not answer"};
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	memset(ev.text, 'a', 160);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_string_equal(phx_text(world_node(w, "n1")->health_text), "does not answer");
	ev.text[159] = '\0';
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_string_equal(phx_text(world_node(w, "n1")->health_text), ev.text);
	ev.text[0] = '\0';
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_null(world_node(w, "n1")->health_text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_removed_node_s_name_begins_above_its_epochs),
		WORLD_TEST(a_removed_node_s_keys_are_not_made_again),
		WORLD_TEST(the_window_ends_by_the_clock),
		WORLD_TEST(the_window_is_closed_when_its_time_comes),
		WORLD_TEST(a_chance_start_before_the_second_try_is_not_the_one_ordered),
		WORLD_TEST(a_power_operation_of_another_step_starts_nothing),
		WORLD_TEST(a_failure_counts_for_its_own_attempt_only),
		WORLD_TEST(an_end_counts_for_its_own_run_only),
		WORLD_TEST(a_node_may_have_its_own_key_only),
		WORLD_TEST(a_health_text_that_is_too_long_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
