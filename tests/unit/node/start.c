/* Tokens of starts: who is given one, when and where, and what it is good for. A known node that
 * comes without its key gets a certificate by the token of its last start and by nothing else. */
#include "unit/core/world.h"

#define ITS_MAC "52:54:00:00:00:01"
#define ITS_ADDRESS "10.0.0.11"

/* Both say that nodes of web may be given back by kexec. */
static int begin(void **state)
{
	const struct phx_setup kexec = {.start = PHX_SETUP_START_KEXEC};
	int r = world_setup(state);
	world_add_pool(*state, "web", "hpc", kexec);
	world_add_pool(*state, PHX_POOL_FREE, "", kexec);
	return r;
}

static int event_of(struct world *w, int kind, const char *node)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	return world_apply(w, &ev, NULL);
}

static int power(struct world *w, const char *node, enum phx_power_op op)
{
	struct phx_event ev = {.kind = PHX_EV_power, .order.op = (int)op};
	PHX_STR_SET(ev.node, node);
	return world_apply(w, &ev, NULL);
}

struct asking {
	const char *key, *address;
	uint64_t start;
};

/* n1 is asked for, with its MAC address and its serial number. */
static int ask(struct world *w, struct asking q, struct phx_outcome *ret)
{
	struct phx_event ev = {.kind = PHX_EV_enrol, .enrol.start = q.start};
	world_event_mac(&ev.enrol.macs, 1);
	PHX_STR_SET(ev.enrol.key_fp, q.key);
	PHX_STR_SET(ev.enrol.serial, "serial-1");
	PHX_STR_SET(ev.enrol.address, q.address ? q.address : ITS_ADDRESS);
	int r = world_apply(w, &ev, ret);
	int answer = r < 0 ? r : ret->enrol;
	phx_event_fini(&ev);
	return answer;
}

static int asked(struct world *w, struct asking q)
{
	struct phx_outcome out = {0};
	int answer = ask(w, q, &out);
	phx_outcome_fini(&out);
	return answer;
}

/* Does it switch somebody's power? */
static bool cuts(const struct phx_outcome *out)
{
	PHX_LIST_EACH(struct phx_action, act, &out->actions)
		if (act->kind == PHX_ACT_POWER)
			return true;
	return false;
}

/* n1, with its address, serves `role`. */
static struct phx_node *serving(struct world *w, const char *role, bool bmc)
{
	struct phx_event add = {.kind = PHX_EV_node_add};
	PHX_STR_SET(add.node, "n1");
	PHX_STR_SET(add.node_add.ip, ITS_ADDRESS);
	PHX_STR_SET(add.node_add.serial, "serial-1");
	PHX_STR_SET(add.node_add.bmc.driver, bmc ? "ipmi" : "");
	world_event_mac(&add.node_add.macs, 1);
	assert_int_equal(world_apply(w, &add, NULL), 0);
	phx_event_fini(&add);
	world_serving(w, "n1", role, bmc);
	return world_node(w, "n1");
}

static uint64_t given(struct world *w, const char *address)
{
	return phx_core_boot(&w->s, ITS_MAC, address).start;
}

/* A wipe of it is ordered; it stands before the step that starts it. */
static struct phx_step *to_be_wiped(struct world *w, bool power_cycle)
{
	struct phx_event ev = {.kind = PHX_EV_release,
			       .order = {.has_setup = true,
					 .power_cycle = power_cycle,
					 .setup = {PHX_SETUP_WIPE, PHX_WIPE_AUTO, 0, 0}}};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	world_run_to(w, "n1", power_cycle ? PHX_STEP_boot : PHX_STEP_kexec);
	return phx_node_step(world_node(w, "n1"));
}

/* a MAC address and a serial number were enough for twenty minutes */
static void a_kexec_wants_its_token(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w, "web", true);
	uint64_t start = to_be_wiped(w, false)->id;
	assert_int_equal(n->start, start);
	assert_int_equal(asked(w, (struct asking){.key = "another"}), PHX_ENROL_REFUSED);
	assert_int_equal(asked(w, (struct asking){.key = "another", .start = start + 1}),
			 PHX_ENROL_REFUSED);
	assert_int_equal(
		asked(w, (struct asking){.key = "x", .start = start, .address = "10.0.0.12"}),
		PHX_ENROL_REFUSED);
	assert_int_equal(n->state, PHX_NODE_CLEANING);
	assert_int_equal(asked(w, (struct asking){.key = "new", .start = start}),
			 PHX_ENROL_CERTIFY);
	assert_string_equal(n->key_fp, "new");
	/* the answer was lost */
	assert_int_equal(asked(w, (struct asking){.key = "new", .start = start}),
			 PHX_ENROL_CERTIFY);
	/* and it is good for one key */
	assert_int_equal(asked(w, (struct asking){.key = "one more", .start = start}),
			 PHX_ENROL_REFUSED);
	assert_string_equal(n->key_fp, "new");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_wipe);
}

/* who was the node before its start is not the machine that was started */
static void the_former_key_does_not_arrive(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w, "web", true);
	to_be_wiped(w, false);
	assert_true(phx_node_key_holds(n, n->key_fp)); /* it fetches what it starts */
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), -EACCES);
	assert_non_null(strstr(w->err.text, "token of that start"));
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_kexec);
	w->now = phx_node_step(n)->deadline_ms;
	event_of(w, PHX_EV_tick, "");
	world_run_to(w, "n1", PHX_STEP_boot); /* and then its power is cut */
}

static void a_reset_gives_its_token_when_the_machine_was_off(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w, "web", true);
	char before[72];
	PHX_STR_SET(before, n->key_fp);
	uint64_t start = to_be_wiped(w, true)->id;
	/* its tenant still sits at its address, and keeps silent */
	event_of(w, PHX_EV_missing, "n1");
	assert_int_equal(given(w, ITS_ADDRESS), 0);
	assert_int_equal(asked(w, (struct asking){.key = "x", .start = start}), PHX_ENROL_REFUSED);
	world_started(w, "n1");
	assert_int_equal(given(w, ITS_ADDRESS), start);
	assert_int_equal(given(w, ITS_ADDRESS), start); /* the answer was lost */
	assert_int_equal(given(w, "10.0.0.12"), 0);
	assert_int_equal(given(w, ""), 0);
	/* from then on the former key is dead, whoever has a copy of it */
	assert_false(phx_node_key_holds(n, before));
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), -EACCES);
	event_of(w, PHX_EV_back, "n1");
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_boot);
	assert_int_equal(asked(w, (struct asking){.key = "new", .start = start}),
			 PHX_ENROL_CERTIFY);
	assert_true(phx_node_key_holds(n, "new"));
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_wipe);
}

/* a BMC that says late what it did: the machine has registered by then, with its former key */
static void it_turns_up_before_its_bmc_is_done(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w, "web", true);
	uint64_t start = to_be_wiped(w, true)->id;
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_boot);
	world_started(w, "n1");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, false), -EACCES);
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_boot);
	assert_int_equal(asked(w, (struct asking){.key = "new", .start = start}),
			 PHX_ENROL_CERTIFY);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, false), 0);
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_wipe);
}

/* Until it has a system its key is in memory: a reset there costs it another start, and no more. */
static void it_may_start_again_before_it_has_a_system(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w, "web", false);
	uint64_t start = to_be_wiped(w, false)->id;
	assert_int_equal(asked(w, (struct asking){.key = "k2", .start = start}), PHX_ENROL_CERTIFY);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(given(w, ITS_ADDRESS), 0); /* it is heard */
	event_of(w, PHX_EV_missing, "n1");
	uint64_t next = given(w, ITS_ADDRESS);
	assert_true(next && next != start);
	assert_int_equal(asked(w, (struct asking){.key = "k3", .start = start}), PHX_ENROL_REFUSED);
	assert_int_equal(asked(w, (struct asking){.key = "k3", .start = next}), PHX_ENROL_CERTIFY);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_not_equal(n->state, PHX_NODE_QUARANTINED);
}

static void the_next_tenant_is_given_none(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w, "web", true);
	assert_int_equal(world_order(w, PHX_EV_rebuild, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_enter);
	assert_int_equal(n->start, 0);
	event_of(w, PHX_EV_missing, "n1");
	assert_int_equal(given(w, ITS_ADDRESS), 0);
}

/* By hand: the machine has a new key if it needs one. */
static void a_start_by_hand_is_awaited(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w, "ramweb", true);
	assert_int_equal(power(w, "n1", PHX_POWER_CYCLE), 0);
	assert_int_equal(given(w, ITS_ADDRESS), 0); /* it is heard still */
	event_of(w, PHX_EV_missing, "n1");
	uint64_t start = given(w, ITS_ADDRESS);
	assert_true(start);
	assert_int_equal(power(w, "n1", PHX_POWER_CYCLE), 0); /* once more: the same */
	assert_int_equal(given(w, ITS_ADDRESS), start);
	assert_int_equal(asked(w, (struct asking){.key = "x"}), PHX_ENROL_REFUSED);
	assert_int_equal(asked(w, (struct asking){.key = "k2", .start = start}), PHX_ENROL_CERTIFY);
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
}

static void it_is_not_awaited_for_ever(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w, "ramweb", true);
	power(w, "n1", PHX_POWER_CYCLE);
	event_of(w, PHX_EV_missing, "n1");
	uint64_t start = given(w, ITS_ADDRESS);
	w->now = phx_core_next_deadline(&w->s);
	event_of(w, PHX_EV_tick, "");
	assert_int_equal(n->start, 0);
	assert_int_equal(asked(w, (struct asking){.key = "x", .start = start}), PHX_ENROL_REFUSED);
}

/* What an older journal says: the claim was believed. */
static void a_machine_that_lost_its_key_was_started_again(void **state)
{
	struct world *w = *state;
	w->s.settings.doubts_claims = false;
	struct phx_node *n = serving(w, "ramweb", true);
	struct phx_outcome out = {0};
	event_of(w, PHX_EV_missing, "n1");
	assert_int_equal(asked(w, (struct asking){.key = "x", .address = "10.0.0.12"}),
			 PHX_ENROL_REFUSED);
	assert_int_equal(n->start, 0); /* who is elsewhere starts nothing */
	assert_int_equal(ask(w, (struct asking){.key = "x"}, &out), PHX_ENROL_REFUSED);
	assert_true(cuts(&out) && n->start && n->state == PHX_NODE_ACTIVE);
	phx_outcome_fini(&out);
	assert_int_equal(ask(w, (struct asking){.key = "x"}, &out), PHX_ENROL_REFUSED);
	assert_false(cuts(&out)); /* once */
	phx_outcome_fini(&out);
	assert_int_equal(asked(w, (struct asking){.key = "k2", .start = given(w, ITS_ADDRESS)}),
			 PHX_ENROL_CERTIFY);
}

static void one_without_a_bmc_was_quarantined(void **state)
{
	struct world *w = *state;
	w->s.settings.doubts_claims = false;
	struct phx_node *n = serving(w, "ramweb", false);
	event_of(w, PHX_EV_missing, "n1");
	assert_int_equal(asked(w, (struct asking){.key = "x"}), PHX_ENROL_REFUSED);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "phx node resume"));
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	assert_int_equal(asked(w, (struct asking){.key = "k2", .start = given(w, ITS_ADDRESS)}),
			 PHX_ENROL_CERTIFY);
}

/* In a plan nobody is quarantined for coming without a token. */
static void in_a_plan_it_is_waited_for(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w, "web", false);
	uint64_t start = to_be_wiped(w, false)->id;
	event_of(w, PHX_EV_missing, "n1");
	for (int i = 0; i < 3; i++)
		assert_int_equal(asked(w, (struct asking){.key = "x"}), PHX_ENROL_REFUSED);
	assert_int_equal(n->state, PHX_NODE_CLEANING);
	assert_int_equal(given(w, ITS_ADDRESS), start);
}

/* A node without a reserved address is given it where it was heard last. */
static void without_a_reserved_address(void **state)
{
	struct world *w = *state;
	struct phx_node *n = serving(w, "ramweb", true);
	n->ip[0] = '\0';
	PHX_STR_SET(n->address, "10.0.0.77");
	power(w, "n1", PHX_POWER_CYCLE);
	event_of(w, PHX_EV_missing, "n1");
	assert_int_equal(given(w, ITS_ADDRESS), 0);
	assert_true(given(w, "10.0.0.77"));
}

/* A head of before opened the window, and gave no token. */
static void a_window_of_before_needs_none(void **state)
{
	struct world *w = *state;
	w->s.settings.tokens = false;
	struct phx_node *n = serving(w, "web", true);
	power(w, "n1", PHX_POWER_CYCLE);
	assert_int_equal(n->start, 0);
	w->s.settings.tokens = true;
	assert_int_equal(asked(w, (struct asking){.key = "k2"}), PHX_ENROL_CERTIFY);
	assert_int_equal(asked(w, (struct asking){.key = "k3"}), PHX_ENROL_REFUSED);
}

#define START_TEST(f) cmocka_unit_test_setup_teardown(f, begin, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		START_TEST(a_kexec_wants_its_token),
		START_TEST(the_former_key_does_not_arrive),
		START_TEST(a_reset_gives_its_token_when_the_machine_was_off),
		START_TEST(it_turns_up_before_its_bmc_is_done),
		START_TEST(it_may_start_again_before_it_has_a_system),
		START_TEST(the_next_tenant_is_given_none),
		START_TEST(a_start_by_hand_is_awaited),
		START_TEST(it_is_not_awaited_for_ever),
		START_TEST(a_machine_that_lost_its_key_was_started_again),
		START_TEST(one_without_a_bmc_was_quarantined),
		START_TEST(in_a_plan_it_is_waited_for),
		START_TEST(without_a_reserved_address),
		START_TEST(a_window_of_before_needs_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
