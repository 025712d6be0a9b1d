/* What an order would end that somebody uses (cmd/phxd/ends.c): jobs as the core says it, and
 * logins as the node reported them. */
#include "unit/core/pair.h"

#include "phxd/ends.c" /* a part of a program, not of the library */
#include "fake/submitted.h"

static struct daemon d;
static json_t *fake_sessions;

json_t *live_sessions(struct live *l, const char *node)
{
	(void)l;
	assert_string_equal(node, "n1");
	return json_incref(fake_sessions);
}

static struct phx_event order(int kind, const char *node)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	return ev;
}

/* The node of the queue's first job. */
static const char *working(struct world *w)
{
	pair_running(w, 2, 1);
	submit(w, 1);
	const struct phx_job *j = PHX_LIST_AT(&w->s.jobs, struct phx_job, 0);
	assert_int_equal(j->state, PHX_JOB_RUNNING);
	return PHX_LIST_AT(&j->parts, struct phx_job_part, 0)->node;
}

static void an_order_that_ends_a_job_shows_it(void **state)
{
	struct world *w = *state;
	const char *node = working(w);
	struct phx_event ev = order(PHX_EV_quarantine, node);
	PHX_AUTO_JSON json_t *ends = view_ends(&w->s, &ev);
	assert_int_equal(json_array_size(ends), 1);
	const json_t *j = json_array_get(ends, 0);
	assert_true(phx_json_bool(j, "ends", false));
	assert_true(phx_json_bool(j, "requeue", false));
	assert_string_equal(phx_json_str(j, "command", ""), "/bin/true");
	assert_string_equal(phx_json_str(j, "state", ""), "running");
	/* what its user does not want to run twice does not */
	PHX_LIST_AT(&w->s.jobs, struct phx_job, 0)->no_requeue = true;
	PHX_AUTO_JSON json_t *again = view_ends(&w->s, &ev);
	assert_false(phx_json_bool(json_array_get(again, 0), "requeue", true));
}

static void a_drain_waits_for_it(void **state)
{
	struct world *w = *state;
	const char *node = working(w);
	struct phx_event ev = order(PHX_EV_drain, node);
	PHX_AUTO_JSON json_t *ends = view_ends(&w->s, &ev);
	assert_int_equal(json_array_size(ends), 1);
	assert_false(phx_json_bool(json_array_get(ends, 0), "ends", true));
}

static void a_node_without_jobs_ends_none(void **state)
{
	struct world *w = *state;
	const char *node = working(w);
	PHX_NODES_EACH(n, &w->s) {
		struct phx_event ev = order(PHX_EV_quarantine, n->name);
		PHX_AUTO_JSON json_t *ends = view_ends(&w->s, &ev);
		assert_int_equal(json_array_size(ends), !strcmp(n->name, node));
	}
}

/* Those that run and those that wait; not one that was cancelled, nor another RE's. */
static void an_re_ends_its_open_jobs(void **state)
{
	struct world *w = *state;
	working(w);
	submit(w, 2);
	submit(w, 2);
	PHX_AUTO_JSON json_t *all = view_ends_re(&w->s, "queue");
	assert_int_equal(json_array_size(all), 3);
	PHX_AUTO_JSON json_t *others = view_ends_re(&w->s, "shop");
	assert_int_equal(json_array_size(others), 0);
	PHX_AUTO_JSON json_t *none = view_ends_re(&w->s, "gone");
	assert_int_equal(json_array_size(none), 0);
	PHX_LIST_AT(&w->s.jobs, struct phx_job, 0)->end = PHX_JOB_END_CANCELLED;
	PHX_AUTO_JSON json_t *left = view_ends_re(&w->s, "queue");
	assert_int_equal(json_array_size(left), 2);
}

/* ---- what a node is at ---- */

static char *serves(struct world *w, enum phx_power_op op, const char *node)
{
	struct phx_event ev = order(PHX_EV_power, node);
	ev.order.op = (int)op;
	PHX_AUTO_JSON json_t *at = view_serves(&w->s, &ev);
	return strdup(json_is_string(at) ? json_string_value(at) : "");
}

static void assert_serves(struct world *w, enum phx_power_op op, const char *node, const char *want)
{
	PHX_AUTO_FREE char *at = serves(w, op, node);
	assert_string_equal(at, want);
}

static void what_power_would_end_is_told(void **state)
{
	struct world *w = *state;
	const char *node = working(w);
	static const enum phx_power_op ops[] = {PHX_POWER_OFF, PHX_POWER_SOFT, PHX_POWER_CYCLE,
						PHX_POWER_RESET};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ops); i++)
		assert_serves(w, ops[i], node, "active");
	assert_serves(w, PHX_POWER_ON, node, "");
	assert_serves(w, PHX_POWER_STATUS, node, "");
	world_node(w, node)->power = PHX_POWER_IS_OFF;
	assert_serves(w, PHX_POWER_OFF, node, "");
	assert_int_equal(world_order(w, PHX_EV_rebuild, node, NULL), 0);
	assert_serves(w, PHX_POWER_OFF, node, "rebuild");
}

/* ---- logins ---- */

static json_t *sessions_of(int kind, enum phx_power_op op, const struct phx_plan *plan)
{
	struct phx_event ev = order(kind, "n1");
	ev.order.op = (int)op;
	return view_sessions(&d, &ev, plan);
}

static void assert_sessions(int kind, enum phx_power_op op, bool ends)
{
	PHX_AUTO_JSON json_t *j = sessions_of(kind, op, NULL);
	assert_int_equal(json_array_size(j), ends);
}

static void logins_end_with_the_system_they_are_on(void **state)
{
	(void)state;
	fake_sessions = json_pack("[{s:s}]", "user", "alice");
	assert_sessions(PHX_EV_assign, PHX_POWER_NONE, true);
	assert_sessions(PHX_EV_release, PHX_POWER_NONE, true);
	assert_sessions(PHX_EV_rebuild, PHX_POWER_NONE, true);
	assert_sessions(PHX_EV_wipe, PHX_POWER_NONE, true);
	assert_sessions(PHX_EV_resume, PHX_POWER_NONE, true);
	assert_sessions(PHX_EV_drain, PHX_POWER_NONE, false);
	assert_sessions(PHX_EV_quarantine, PHX_POWER_NONE, false);
	assert_sessions(PHX_EV_power, PHX_POWER_ON, false);
	assert_sessions(PHX_EV_power, PHX_POWER_OFF, true);
	json_decref(PHX_TAKE(fake_sessions));
}

static void a_hand_over_in_place_ends_no_login(void **state)
{
	struct phx_plan plan = {0};
	(void)state;
	fake_sessions = json_pack("[{s:s}]", "user", "alice");
	struct phx_step *step = phx_list_push(&plan.steps, sizeof(*step));
	static const struct {
		int kind;
		bool leaves;
	} rows[] = {{PHX_STEP_activate, false},
		    {PHX_STEP_rekey, false},
		    {PHX_STEP_kexec, true},
		    {PHX_STEP_boot, true}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		step->kind = rows[i].kind;
		PHX_AUTO_JSON json_t *j = sessions_of(PHX_EV_assign, PHX_POWER_NONE, &plan);
		assert_int_equal(json_array_size(j), rows[i].leaves);
	}
	phx_list_fini(&plan.steps);
	json_decref(PHX_TAKE(fake_sessions));
}

/* An agent that does not report logins: nobody knows, which is another thing than none. */
static void unknown_logins_are_not_none(void **state)
{
	(void)state;
	PHX_AUTO_JSON json_t *j = sessions_of(PHX_EV_wipe, PHX_POWER_NONE, NULL);
	assert_true(json_is_null(j));
}

static void only_sentences_are_notes(void **state)
{
	struct phx_outcome out = {0};
	(void)state;
	static const int kinds[] = {PHX_ACT_DHCP, PHX_ACT_NOTE, PHX_ACT_ERASED, PHX_ACT_NOTE};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++) {
		struct phx_action *a = phx_list_push(&out.actions, sizeof(*a));
		a->kind = kinds[i];
		snprintf(a->text, sizeof(a->text), "text %zu", i);
	}
	PHX_AUTO_JSON json_t *notes = view_notes(&out);
	assert_int_equal(json_array_size(notes), 2);
	assert_string_equal(json_string_value(json_array_get(notes, 1)), "text 3");
	phx_list_fini(&out.actions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(an_order_that_ends_a_job_shows_it),
		WORLD_TEST(a_drain_waits_for_it),
		WORLD_TEST(a_node_without_jobs_ends_none),
		WORLD_TEST(an_re_ends_its_open_jobs),
		WORLD_TEST(what_power_would_end_is_told),
		cmocka_unit_test(logins_end_with_the_system_they_are_on),
		cmocka_unit_test(a_hand_over_in_place_ends_no_login),
		cmocka_unit_test(unknown_logins_are_not_none),
		cmocka_unit_test(only_sentences_are_notes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
