/* Silent machines that may have lost their keys: what somebody claims changes nothing. A person
 * lets one in again, or the head does out of patience, each by a start with a token. */
#include "unit/core/world.h"

#define ITS_ADDRESS "10.0.0.11"
enum { PATIENCE_S = 600 };

/* n1 serves from memory. */
static struct phx_node *serving(struct world *w, bool bmc)
{
	struct phx_event add = {.kind = PHX_EV_node_add};
	PHX_STR_SET(add.node, "n1");
	PHX_STR_SET(add.node_add.ip, ITS_ADDRESS);
	PHX_STR_SET(add.node_add.serial, "serial-1");
	PHX_STR_SET(add.node_add.bmc.driver, bmc ? "ipmi" : "");
	world_event_mac(&add.node_add.macs, 1);
	assert_int_equal(world_apply(w, &add, NULL), 0);
	phx_event_fini(&add);
	world_serving(w, "n1", "ramweb", bmc);
	return world_node(w, "n1");
}

static uint32_t apply(struct world *w, int kind, enum phx_action_kind of)
{
	struct phx_event ev = {.kind = kind};
	struct phx_outcome out = {0};
	uint32_t n = 0;
	PHX_STR_SET(ev.node, kind == PHX_EV_tick ? "" : "n1");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	PHX_LIST_EACH(struct phx_action, act, &out.actions)
		n += act->kind == (int)of;
	phx_outcome_fini(&out);
	return n;
}

static int claim(struct world *w, const char *key, uint64_t start)
{
	struct phx_event ev = {.kind = PHX_EV_enrol, .enrol.start = start};
	struct phx_outcome out = {0};
	world_event_mac(&ev.enrol.macs, 1);
	PHX_STR_SET(ev.enrol.key_fp, key);
	PHX_STR_SET(ev.enrol.serial, "serial-1");
	PHX_STR_SET(ev.enrol.address, ITS_ADDRESS);
	assert_int_equal(world_apply(w, &ev, &out), 0);
	int answer = out.enrol;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return answer;
}

static uint64_t given(struct world *w)
{
	return phx_core_boot(&w->s, "52:54:00:00:00:01", ITS_ADDRESS).start;
}

static void a_person_lets_it_in(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w, false);
	apply(w, PHX_EV_missing, PHX_ACT_NOTE);
	assert_int_equal(apply(w, PHX_EV_node_accept, PHX_ACT_NOTE), 0); /* nobody asked */
	assert_int_equal(claim(w, "x", 0), PHX_ENROL_REFUSED);
	assert_int_equal(given(w), 0);
	assert_int_equal(apply(w, PHX_EV_node_accept, PHX_ACT_NOTE), 1);
	assert_true(given(w) && n->state == PHX_NODE_ACTIVE);
	assert_int_equal(claim(w, "x", 0), PHX_ENROL_REFUSED);
	assert_int_equal(claim(w, "k2", given(w)), PHX_ENROL_CERTIFY);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(n->state, PHX_NODE_DEPLOYING); /* its system in memory is brought again */
}

static void one_that_is_heard_is_not_accepted_anew(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w, false);
	apply(w, PHX_EV_missing, PHX_ACT_NOTE);
	claim(w, "x", 0);
	assert_true(n->claimed_ms);
	apply(w, PHX_EV_back, PHX_ACT_NOTE);
	assert_false(n->claimed_ms);
	assert_int_equal(apply(w, PHX_EV_node_accept, PHX_ACT_NOTE), 0);
	assert_false(n->window);
}

/* ---- the head's own patience ---- */

static struct phx_node *silent(struct world *w, bool bmc)
{
	w->s.settings.restart_silent_s = PATIENCE_S;
	struct phx_node *n = serving(w, bmc);
	apply(w, PHX_EV_missing, PHX_ACT_NOTE);
	return n;
}

static uint32_t restarts_after(struct world *w, int64_t s)
{
	w->now += s * 1000;
	return apply(w, PHX_EV_tick, PHX_ACT_POWER);
}

static void it_is_started_again_once(void **state)
{
	struct world *w = *state;
	struct phx_node *n = silent(w, true);
	claim(w, "x", 0); /* is no reason to begin sooner */
	assert_int_equal(restarts_after(w, PATIENCE_S - 1), 0);
	assert_int_equal(restarts_after(w, 1), 1);
	assert_true(given(w));
	for (int i = 0; i < 5; i++)
		assert_int_equal(restarts_after(w, PATIENCE_S), 0);
	assert_int_equal(given(w), 0); /* nor is it awaited for ever */
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
}

static void by_default_it_is_not(void **state)
{
	struct world *w = *state;
	silent(w, true)->restart_at_ms = 0;
	w->s.settings.restart_silent_s = 0;
	apply(w, PHX_EV_back, PHX_ACT_NOTE);
	apply(w, PHX_EV_missing, PHX_ACT_NOTE);
	assert_int_equal(restarts_after(w, 100 * PATIENCE_S), 0);
}

static void nor_without_a_bmc(void **state)
{
	struct world *w = *state;
	silent(w, false);
	assert_int_equal(restarts_after(w, PATIENCE_S), 0);
}

static void nor_what_is_off_or_out_of_service(void **state)
{
	struct world *w = *state;
	struct phx_node *n = silent(w, true);
	n->power = PHX_POWER_IS_OFF;
	assert_int_equal(restarts_after(w, PATIENCE_S), 0);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_OS, true), 0);
	struct phx_event ev = {.kind = PHX_EV_quarantine};
	PHX_STR_SET(ev.node, "n1");
	apply(w, PHX_EV_missing, PHX_ACT_NOTE);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(restarts_after(w, PATIENCE_S), 0);
}

static void nor_who_is_heard_again(void **state)
{
	struct world *w = *state;
	silent(w, true);
	w->now += 1000;
	apply(w, PHX_EV_back, PHX_ACT_NOTE);
	assert_int_equal(restarts_after(w, PATIENCE_S), 0);
}

/* Somebody has ordered a start, and it is awaited: the head does not begin another. */
static void what_is_awaited_is_waited_for(void **state)
{
	struct world *w = *state;
	silent(w, true);
	w->now += 1000;
	struct phx_event ev = {.kind = PHX_EV_power, .order.op = PHX_POWER_CYCLE};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(restarts_after(w, PATIENCE_S), 0);
	assert_int_equal(restarts_after(w, PATIENCE_S) + restarts_after(w, PATIENCE_S), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_person_lets_it_in),
		WORLD_TEST(one_that_is_heard_is_not_accepted_anew),
		WORLD_TEST(it_is_started_again_once),
		WORLD_TEST(by_default_it_is_not),
		WORLD_TEST(nor_without_a_bmc),
		WORLD_TEST(nor_what_is_off_or_out_of_service),
		WORLD_TEST(nor_who_is_heard_again),
		WORLD_TEST(what_is_awaited_is_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
