/* A node that is to switch itself off: its BMC is asked whether it has, less and less often; it is
 * left on when it does not, and a person is told what to order. */
#include "unit/core/world.h"

enum { PATIENCE_S = 300, SECOND = 1000 };

static struct phx_node *serving(struct world *w)
{
	w->s.settings.soft_off_s = PATIENCE_S;
	world_serving(w, "n1", "compute", true);
	return world_node(w, "n1");
}

/* The operations that come of the event, as a text: "soft", "status off". */
static const char *ops_of(struct world *w, struct phx_event *ev)
{
	static char text[160];
	struct phx_outcome out = {0};
	text[0] = '\0';
	assert_int_equal(world_apply(w, ev, &out), 0);
	PHX_LIST_EACH(struct phx_action, act, &out.actions) {
		size_t n = strlen(text);
		if (act->kind == PHX_ACT_POWER)
			snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "",
				 phx_enum_name(&phx_power_op_names, act->op));
	}
	phx_outcome_fini(&out);
	return text;
}

static const char *order(struct world *w, enum phx_power_op op)
{
	struct phx_event ev = {.kind = PHX_EV_power, .order.op = (int)op};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.by, "uid:0");
	return ops_of(w, &ev);
}

static const char *after(struct world *w, int64_t s)
{
	struct phx_event ev = {.kind = PHX_EV_tick};
	w->now += s * SECOND;
	return ops_of(w, &ev);
}

static const char *answers(struct world *w, enum phx_power_op op, int64_t result,
			   enum phx_power_state state, const char *text)
{
	struct phx_event ev = {.kind = PHX_EV_power_result,
			       .answer = {.op = (int)op, .result = result, .power = (int)state}};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.text, text);
	return ops_of(w, &ev);
}

/* Asks for the state each time when it is due, for `s` seconds; how often that was. */
static unsigned questions_within(struct world *w, int64_t s)
{
	unsigned n = 0;
	for (int64_t i = 0; i < s; i++) {
		const char *ops = after(w, 1);
		assert_string_equal(ops, ops[0] ? "status" : "");
		if (ops[0]) {
			n++;
			answers(w, PHX_POWER_STATUS, 0, PHX_POWER_IS_ON, "status: done");
		}
	}
	return n;
}

static void it_switches_itself_off(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w);
	assert_string_equal(order(w, PHX_POWER_SOFT), "soft");
	answers(w, PHX_POWER_SOFT, 0, PHX_POWER_UNKNOWN, "soft: done");
	assert_true(n->up && n->power == PHX_POWER_IS_ON && n->soft_until_ms);
	assert_string_equal(after(w, 4), "");
	assert_string_equal(after(w, 1), "status");
	answers(w, PHX_POWER_STATUS, 0, PHX_POWER_IS_OFF, "status: done");
	assert_false(n->up || n->soft_until_ms || n->soft_failed);
	assert_int_equal(n->power, PHX_POWER_IS_OFF);
	assert_int_equal(questions_within(w, 2 * PATIENCE_S), 0);
}

/* The whole point: whoever wants its power cut says so. */
static void one_that_stays_on_is_left_on(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w);
	order(w, PHX_POWER_SOFT);
	unsigned asked = questions_within(w, PATIENCE_S);
	assert_in_range(asked, 5, 9);
	assert_false(n->soft_until_ms || n->soft_again_ms);
	assert_string_equal(phx_text(n->soft_failed),
			    "its system did not end within 300 s; phx node power "
			    "n1 off --hard cuts its power");
	assert_int_equal(questions_within(w, 4 * PATIENCE_S), 0);
	assert_true(n->up && n->state == PHX_NODE_ACTIVE && !n->off_wanted && !n->cut_by);
	assert_string_equal(order(w, PHX_POWER_OFF), "off");
	assert_string_equal(phx_text(n->soft_failed), "");
}

static void what_its_bmc_cannot_do_is_said(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w);
	order(w, PHX_POWER_SOFT);
	answers(w, PHX_POWER_SOFT, -EOPNOTSUPP, PHX_POWER_UNKNOWN,
		"soft: the BMC does not offer ResetType GracefulShutdown");
	assert_false(n->soft_until_ms);
	assert_string_equal(phx_text(n->soft_failed),
			    "soft: the BMC does not offer ResetType GracefulShutdown; phx node "
			    "power n1 off --hard cuts its power");
	assert_int_equal(questions_within(w, 2 * PATIENCE_S), 0);
}

/* Whether the question for the state is answered says nothing of the system. */
static void a_bmc_that_is_silent_for_a_while_is_asked_again(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w);
	order(w, PHX_POWER_SOFT);
	assert_string_equal(after(w, 5), "status");
	answers(w, PHX_POWER_STATUS, -EHOSTUNREACH, PHX_POWER_UNKNOWN, "status: silent");
	assert_true(n->soft_until_ms);
	assert_string_equal(after(w, 5), "status");
	answers(w, PHX_POWER_STATUS, 0, PHX_POWER_IS_OFF, "status: done");
	assert_false(n->up || n->soft_failed);
}

static void a_bmc_that_answers_no_more_is_not_waited_for_for_ever(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w);
	order(w, PHX_POWER_SOFT);
	for (int i = 0; i < 2 * PATIENCE_S; i++)
		after(w, 1);
	assert_false(n->soft_until_ms);
	assert_memory_equal(phx_text(n->soft_failed),
			    "its system did not end within 300 s: its BMC", 44);
}

/* The head died before it could give the order: it gives it again. Not once the BMC has it. */
static void a_head_that_starts_again_gives_the_order_once(void **state)
{
	struct world *w = *state;
	PHX_AUTO(phx_list_fini) struct phx_list before = {0}, later = {0};
	serving(w);
	order(w, PHX_POWER_SOFT);
	assert_int_equal(phx_core_pending(&w->s, &before), 0);
	assert_int_equal(before.n, 1);
	assert_int_equal(PHX_LIST_AT(&before, struct phx_action, 0)->op, PHX_POWER_SOFT);
	answers(w, PHX_POWER_SOFT, 0, PHX_POWER_UNKNOWN, "soft: done");
	assert_int_equal(phx_core_pending(&w->s, &later), 0);
	assert_int_equal(later.n, 0);
}

static void another_order_takes_its_place(void **state)
{
	static const enum phx_power_op others[] = {PHX_POWER_ON, PHX_POWER_OFF, PHX_POWER_CYCLE,
						   PHX_POWER_RESET};
	struct world *w = *state;
	struct phx_node *n = serving(w);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(others); i++) {
		order(w, PHX_POWER_SOFT);
		order(w, others[i]);
		assert_false(n->soft_until_ms || n->soft_again_ms);
	}
	order(w, PHX_POWER_SOFT);
	order(w, PHX_POWER_STATUS);
	assert_true(n->soft_until_ms);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(it_switches_itself_off),
		WORLD_TEST(one_that_stays_on_is_left_on),
		WORLD_TEST(what_its_bmc_cannot_do_is_said),
		WORLD_TEST(a_bmc_that_is_silent_for_a_while_is_asked_again),
		WORLD_TEST(a_bmc_that_answers_no_more_is_not_waited_for_for_ever),
		WORLD_TEST(a_head_that_starts_again_gives_the_order_once),
		WORLD_TEST(another_order_takes_its_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
