/* Heads that go on from an older journal: their step ids, epochs and names of keys are none that
 * were given before. */
#include "unit/core/world.h"

static void assign(struct world *w, const char *role, uint64_t incarnation)
{
	struct phx_event ev = {.kind = PHX_EV_assign, .incarnation = incarnation};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.order.role, role);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static const struct phx_node *n1(const struct world *w)
{
	return phx_state_node(&w->s, "n1");
}

static uint64_t first_step(const struct world *w)
{
	return PHX_LIST_AT(&n1(w)->plan.steps, struct phx_step, 0)->id;
}

/* a history of two plans, twice from the same snapshot */
static void ids_differ_after_a_restore(void **state)
{
	struct world *w = *state;
	struct phx_state kept, later;
	world_ready(w, "n1", false);
	assert_int_equal(phx_record_copy(&phx_state_record, &kept, &w->s), 0);
	assign(w, "compute", 1000);
	uint64_t step = first_step(w), epoch = n1(w)->plan.epoch;
	assert_true(epoch >= 1000 << 16 && step > 1000 << 16);
	later = w->s;
	w->s = kept;
	assign(w, "compute", 1001);
	assert_true(n1(w)->plan.epoch > epoch + 60000);
	assert_true(first_step(w) > step + 60000);
	phx_state_fini(&later);
}

/* without one, as in every journal of the time before, ids are the small ones of then */
static void an_old_journal_keeps_its_ids(void **state)
{
	struct world *w = *state;
	w->s.incarnation = w->s.last_step_id = 0;
	world_ready(w, "n1", false);
	uint64_t epoch = n1(w)->epoch, last = w->s.last_step_id;
	assign(w, "compute", 0);
	assert_int_equal(n1(w)->plan.epoch, epoch + 1);
	assert_int_equal(first_step(w), last + 1);
}

/* within one they go on by one, and an older number brings none back */
static void they_only_go_up(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", false);
	assign(w, "compute", 1000);
	uint64_t epoch = n1(w)->plan.epoch;
	struct phx_event ev = {.kind = PHX_EV_notice, .incarnation = 5, .text = "x"};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(w->s.incarnation, 1000);
	assert_true(w->s.last_step_id > 1000 << 16);
	assert_int_equal(n1(w)->epoch, epoch);
}

static void what_comes_to_nothing_changes_nothing(void **state)
{
	struct world *w = *state;
	struct phx_state before;
	world_ready(w, "n1", false);
	struct phx_event refused = {
		.kind = PHX_EV_assign, .incarnation = 7, .node = "nosuch", .order.role = "compute"};
	struct phx_event nothing = {.kind = PHX_EV_restart, .incarnation = 7};
	assert_int_equal(phx_record_copy(&phx_state_record, &before, &w->s), 0);
	assert_int_equal(world_apply(w, &refused, NULL), -ENOENT);
	assert_true(phx_record_equal(&phx_state_record, &before, &w->s));
	assert_int_equal(world_apply(w, &nothing, NULL), 0);
	assert_true(phx_record_equal(&phx_state_record, &before, &w->s));
	phx_state_fini(&before);
}

static void jobs_that_may_be_lost_keep_their_numbers(void **state)
{
	struct world *w = *state;
	struct phx_outcome out;
	struct phx_event ev = {.kind = PHX_EV_notice,
			       .re = "queue",
			       .text = "40 events are missing",
			       .notice.skip_jobs = 40};
	uint64_t last = w->s.last_job_id;
	assert_int_equal(world_apply(w, &ev, &out), 0);
	assert_int_equal(w->s.last_job_id, last + 40);
	assert_int_equal(out.actions.n, 1);
	const struct phx_action *act = PHX_LIST_AT(&out.actions, struct phx_action, 0);
	assert_int_equal(act->kind, PHX_ACT_NOTE);
	assert_string_equal(act->text, "40 events are missing");
	assert_string_equal(act->re, "queue");
	phx_outcome_fini(&out);
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(ids_differ_after_a_restore),
		T(an_old_journal_keeps_its_ids),
		T(they_only_go_up),
		T(what_comes_to_nothing_changes_nothing),
		T(jobs_that_may_be_lost_keep_their_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
