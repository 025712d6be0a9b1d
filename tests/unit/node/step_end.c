/* What an event leaves of steps that ended in it, for metrics (phx_step_over()): each that is done
 * or failed, once, and with the last one how long the plan and its steps took. It decides nothing:
 * no action tells of it. */
#include "unit/core/world.h"

struct seen {
	struct phx_list all; /* struct phx_step_end */
};
static struct seen seen;

/* Keeps what each event left. */
static int watched(struct world *w, const struct phx_event *ev, struct phx_outcome *out)
{
	int r = phx_core_apply(&w->s, ev, out, &w->err);
	PHX_LIST_EACH(const struct phx_step_end, e, &out->ended) {
		struct phx_step_end *to = phx_list_push(&seen.all, sizeof(*to));
		assert_non_null(to);
		*to = *e;
	}
	return r;
}

static int setup(void **state)
{
	int r = world_setup(state);
	struct world *w = *state;
	w->apply = watched;
	return r;
}

static int teardown(void **state)
{
	phx_list_fini(&seen.all);
	seen = (struct seen){0};
	return world_teardown(state);
}

static const struct phx_step_end *end_at(uint32_t i)
{
	assert_true(i < seen.all.n);
	return PHX_LIST_AT(&seen.all, struct phx_step_end, i);
}

static void each_step_is_told_once(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	phx_list_fini(&seen.all);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_OVERWRITE), 0);
	world_run(w, "n1");
	const struct phx_plan *p = &world_node(w, "n1")->plan;
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_int_equal(seen.all.n, p->steps.n);
	int64_t took_ms = 0;
	for (uint32_t i = 0; i < p->steps.n; i++) {
		const struct phx_step *s = PHX_LIST_AT(&p->steps, struct phx_step, i);
		const struct phx_step_end *e = end_at(i);
		assert_int_equal(e->kind, s->kind);
		assert_string_equal(e->node, "n1");
		assert_false(e->failed);
		assert_int_equal(e->took_ms, s->ended_ms - s->issued_ms);
		assert_int_equal(e->last, i + 1 == p->steps.n);
		took_ms += e->took_ms;
	}
	const struct phx_step_end *last = end_at(p->steps.n - 1);
	assert_int_equal(last->mode, PHX_SETUP_WIPE);
	assert_true(last->plan_ms >= took_ms && took_ms > 0);
	int64_t sum_ms = 0;
	for (int k = 0; k < PHX_STEP_COUNT_; k++)
		sum_ms += last->took_of_ms[k];
	assert_int_equal(sum_ms, took_ms);
	assert_true(last->took_of_ms[PHX_STEP_wipe] > 0);
}

static void an_attempt_that_failed_is_told(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_OVERWRITE), 0);
	world_run_to(w, "n1", PHX_STEP_wipe);
	phx_list_fini(&seen.all);
	w->now += 4000;
	assert_int_equal(world_result(w, "n1", -EIO, "the disk does not answer"), 0);
	assert_int_equal(seen.all.n, 1);
	assert_true(end_at(0)->failed);
	assert_false(end_at(0)->last);
	assert_int_equal(end_at(0)->kind, PHX_STEP_wipe);
	assert_int_equal(end_at(0)->method, PHX_WIPE_OVERWRITE);
	assert_true(end_at(0)->took_ms >= 4000);
}

/* A refused answer ends nothing. */
static void what_is_refused_leaves_nothing(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_WIPE, PHX_WIPE_OVERWRITE), 0);
	phx_list_fini(&seen.all);
	struct phx_event ev = {.kind = PHX_EV_step_result, .answer = {.step_id = 1, .epoch = 1}};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), -ESTALE);
	assert_int_equal(seen.all.n, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_step_is_told_once),
		T(an_attempt_that_failed_is_told),
		T(what_is_refused_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
