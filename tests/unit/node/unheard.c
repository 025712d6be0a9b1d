/* An owner who does not want to give nodes back: his agents beat, and never say that the jobs have
 * ended which were told to end because his RE returns its nodes. The nodes are ordered away without
 * that, and a power cycle ends what runs there. */
#include "unit/core/pair.h"

enum { GRACE_S = 7, MINUTE = 60000, BOUND_MS = 15 * MINUTE };

static void lab_runs(struct world *w, int mode, bool takes)
{
	struct phx_agreement a = agreement("queue", PHX_RE_BATCH, 2);
	a.coordination = PHX_RE_COORDINATED_NONE;
	a.partner[0] = '\0';
	a.kill_grace_s = GRACE_S;
	if (mode == PHX_SETUP_WIPE)
		a.setup = (struct phx_setup){mode, PHX_WIPE_AUTO, PHX_WHEN_BOTH, PHX_VERIFY_SAMPLE,
					     PHX_SETUP_START_AUTO};
	w->s.settings.takes_back = true;
	w->s.settings.takes_unheard = takes;
	world_ready(w, "n1", true);
	world_ready(w, "n2", true);
	assert_int_equal(create(w, &a), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
}

static void event(struct world *w, int kind)
{
	struct phx_event ev = {.kind = kind};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void of_n1(struct world *w, int kind)
{
	struct phx_event ev = {.kind = kind, .node = "n1"};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* Lets the time of the next deadline come; false: there is none within `until`. */
static bool next_deadline(struct world *w, int64_t until)
{
	int64_t due = phx_core_next_deadline(&w->s);
	if (due > until)
		return false;
	w->now = due > w->now ? due : w->now;
	event(w, PHX_EV_tick);
	return true;
}

static bool is_at(const struct phx_node *n, int kind)
{
	const struct phx_step *step = phx_node_step(n);
	return step && step->kind == kind && step->status == PHX_STEP_ISSUED;
}

static struct phx_job *job(struct world *w, uint64_t id)
{
	struct phx_job *j = phx_state_job(&w->s, id);
	assert_non_null(j);
	return j;
}

static void deactivated(struct world *w)
{
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
}

static void they_are_taken_back(void **state)
{
	struct world *w = *state;
	lab_runs(w, PHX_SETUP_WIPE, true);
	uint64_t wide = submit(w, 2);
	assert_int_equal(job(w, wide)->state, PHX_JOB_RUNNING);
	int64_t began = w->now;
	deactivated(w);
	/* the run has its time to end */
	while (next_deadline(w, began + GRACE_S * 1000 + MINUTE - 1))
		;
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	for (int i = 0; i < 200 && !is_at(world_node(w, "n1"), PHX_STEP_boot); i++) {
		assert_true(next_deadline(w, began + BOUND_MS));
		/* what his agents are asked to do they do */
		for (int k = 1; k <= 2; k++) {
			char name[8];
			snprintf(name, sizeof(name), "n%d", k);
			const struct phx_node *n = world_node(w, name);
			if (phx_node_step(n) && !is_at(n, PHX_STEP_drain) &&
			    !is_at(n, PHX_STEP_boot))
				world_step(w, name);
		}
	}
	assert_true(is_at(world_node(w, "n1"), PHX_STEP_boot));
	for (int k = 1; k <= 2; k++) {
		char name[8];
		snprintf(name, sizeof(name), "n%d", k);
		for (int i = 0; i < 50 && !is_at(world_node(w, name), PHX_STEP_boot); i++)
			assert_true(next_deadline(w, began + BOUND_MS));
		world_run(w, name);
		assert_int_equal(world_node(w, name)->state, PHX_NODE_READY);
		assert_string_equal(world_node(w, name)->pool, PHX_POOL_FREE);
	}
	assert_int_equal(job(w, wide)->state, PHX_JOB_CANCELLED);
	assert_int_equal(phx_state_re(&w->s, "queue")->state, PHX_RE_STATE_DEACTIVATED);
}

/* A head that was down, or took no events, could not hear anybody: the time counts anew. */
static void a_head_that_was_deaf_waits_again(void **state)
{
	struct world *w = *state;
	lab_runs(w, PHX_SETUP_WIPE, true);
	uint64_t wide = submit(w, 2);
	deactivated(w);
	int64_t due = job(w, wide)->unheard_ms;
	assert_int_equal(due, w->now + GRACE_S * 1000 + MINUTE);
	w->now = due + 6000;
	event(w, PHX_EV_tick);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_int_equal(job(w, wide)->unheard_ms, w->now + GRACE_S * 1000 + MINUTE);
	w->now += MINUTE;
	event(w, PHX_EV_restart);
	assert_int_equal(job(w, wide)->unheard_ms, w->now + GRACE_S * 1000 + MINUTE);
	w->now = job(w, wide)->unheard_ms;
	event(w, PHX_EV_tick);
	assert_int_not_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
}

/* One that is silent when the time is over, and then heard again, is not forgotten; nor is a run
 * that was told to end before its RE was deactivated. */
static void who_comes_and_goes_is_taken_back(void **state)
{
	struct world *w = *state;
	struct phx_event forced = {.kind = PHX_EV_job_result, .node = "n2"};
	lab_runs(w, PHX_SETUP_WIPE, true);
	uint64_t wide = submit(w, 2);
	forced.job_result.job = wide;
	forced.job_result.result = 143;
	assert_int_equal(world_apply(w, &forced, NULL), 0); /* n2 ends its part; n1 does not */
	deactivated(w);
	w->now = job(w, wide)->unheard_ms - 1000;
	of_n1(w, PHX_EV_missing);
	w->now += 1000;
	event(w, PHX_EV_tick);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	of_n1(w, PHX_EV_back);
	w->now = job(w, wide)->unheard_ms;
	event(w, PHX_EV_tick);
	assert_int_not_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
}

/* Who cancels a job takes no node from its RE, however long the run needs to end. */
static void a_cancelled_job_keeps_its_nodes(void **state)
{
	struct world *w = *state;
	lab_runs(w, PHX_SETUP_WIPE, true);
	struct phx_event cancel = {.kind = PHX_EV_job_cancel};
	cancel.job_order.job = submit(w, 2);
	uint64_t wide = cancel.job_order.job;
	assert_int_equal(world_apply(w, &cancel, NULL), 0);
	assert_int_equal(job(w, wide)->unheard_ms, 0);
}

/* Where the system stays up only the agent knows: the hand-over begins, and waits for it. */
static void in_place_it_begins(void **state)
{
	struct world *w = *state;
	lab_runs(w, PHX_SETUP_NOOP, true);
	uint64_t wide = submit(w, 2);
	deactivated(w);
	for (int i = 0; i < 20 && world_node(w, "n1")->state == PHX_NODE_ACTIVE; i++)
		assert_true(next_deadline(w, w->now + 2 * MINUTE));
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_DRAINING);
	assert_int_equal(job(w, wide)->state, PHX_JOB_RUNNING); /* nobody runs it elsewhere */
}

static void who_says_it_is_left_alone(void **state)
{
	struct world *w = *state;
	lab_runs(w, PHX_SETUP_WIPE, true);
	uint64_t wide = submit(w, 2);
	deactivated(w);
	for (int k = 1; k <= 2; k++) {
		struct phx_event ev = {.kind = PHX_EV_job_result,
				       .job_result = {.job = wide, .result = 143}};
		snprintf(ev.node, sizeof(ev.node), "n%d", k);
		assert_int_equal(world_apply(w, &ev, NULL), 0);
	}
	assert_int_equal(job(w, wide)->state, PHX_JOB_CANCELLED);
	assert_true(phx_job_due(job(w, wide)) == INT64_MAX);
}

/* A journal of before replays as it was. */
static void a_head_of_before_waits(void **state)
{
	struct world *w = *state;
	lab_runs(w, PHX_SETUP_WIPE, false);
	uint64_t wide = submit(w, 2);
	int64_t began = w->now;
	deactivated(w);
	for (int i = 0; i < 100 && next_deadline(w, began + BOUND_MS); i++)
		;
	assert_int_equal(job(w, wide)->unheard_ms, 0);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(they_are_taken_back),
		WORLD_TEST(a_head_that_was_deaf_waits_again),
		WORLD_TEST(who_comes_and_goes_is_taken_back),
		WORLD_TEST(a_cancelled_job_keeps_its_nodes),
		WORLD_TEST(in_place_it_begins),
		WORLD_TEST(who_says_it_is_left_alone),
		WORLD_TEST(a_head_of_before_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
