/* The TPM of a node: once it has signed an erase, every later one wants its signature, and a
 * power cycle has to be one that it counts. */
#include "unit/core/world.h"

static struct phx_node *to_a_wipe(struct world *w, bool power_cycle)
{
	struct phx_event ev = {.kind = PHX_EV_wipe, .order.power_cycle = power_cycle};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	world_run_to(w, "n1", PHX_STEP_wipe);
	return world_node(w, "n1");
}

static void quote(struct phx_event *ev, const char *key, uint32_t resets)
{
	PHX_STR_SET(ev->answer.tpm_said, "a quote");
	PHX_STR_SET(ev->answer.tpm, key);
	PHX_STR_SET(ev->answer.tpm_sum, "registers");
	ev->answer.tpm_resets = resets;
}

/* The wipe is answered with a quote by that key ("" none), and then the plan goes on. */
static const struct phx_node *answered(struct world *w, const char *key, uint32_t resets)
{
	struct phx_event ev = world_erased(world_node(w, "n1"));
	if (key[0])
		quote(&ev, key, resets);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	return world_node(w, "n1");
}

static int setup(void **state)
{
	int r = world_setup(state);
	struct world *w = *state;
	world_ready(w, "n1", true);
	to_a_wipe(w, false);
	answered(w, "one", 7);
	return r;
}

static const struct phx_node_tpm *tpm(struct world *w)
{
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->tpms.n, 1);
	return PHX_LIST_AT(&n->tpms, struct phx_node_tpm, 0);
}

/* Answered so until it is tried no more. */
static void refused(struct world *w, const char *key, uint32_t resets, const char *why)
{
	for (int i = 0; i < 10 && world_node(w, "n1")->state != PHX_NODE_QUARANTINED; i++) {
		world_run_to(w, "n1", PHX_STEP_wipe);
		answered(w, key, resets);
	}
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(world_node(w, "n1")->reason, why));
	assert_string_equal(tpm(w)->key, "one");
	assert_int_equal(tpm(w)->resets, 7);
}

static void the_first_one_is_believed(void **state)
{
	struct world *w = *state;
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
	assert_string_equal(tpm(w)->key, "one");
	assert_int_equal(tpm(w)->resets, 7);
}

static void the_same_one_is_believed_again(void **state)
{
	struct world *w = *state;
	to_a_wipe(w, true);
	assert_int_equal(answered(w, "one", 8)->state, PHX_NODE_READY);
	assert_int_equal(tpm(w)->resets, 8);
}

static void without_its_signature_nothing_counts(void **state)
{
	struct world *w = *state;
	to_a_wipe(w, false);
	refused(w, "", 0, "TPM did not sign");
}

static void another_one_is_not_believed(void **state)
{
	struct world *w = *state;
	to_a_wipe(w, false);
	refused(w, "two", 9, "another TPM");
}

static void a_power_cycle_that_it_does_not_count_was_none(void **state)
{
	struct world *w = *state;
	to_a_wipe(w, true);
	refused(w, "one", 7, "counted no reset");
}

/* Without a power cycle none is to be counted. */
static void a_wipe_where_it_stands_counts_no_reset(void **state)
{
	struct world *w = *state;
	to_a_wipe(w, false);
	assert_int_equal(answered(w, "one", 7)->state, PHX_NODE_READY);
}

/* phxd found that the quote is none of this erase: also of a node that had none before. */
static void what_it_did_not_sign_is_a_lie(void **state)
{
	struct world *w = *state;
	world_ready(w, "n2", true);
	struct phx_event ev = {.kind = PHX_EV_wipe};
	PHX_STR_SET(ev.node, "n2");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	for (int i = 0; i < 10 && world_node(w, "n2")->state != PHX_NODE_QUARANTINED; i++) {
		world_run_to(w, "n2", PHX_STEP_wipe);
		ev = world_erased(world_node(w, "n2"));
		quote(&ev, "", 1);
		assert_int_equal(world_apply(w, &ev, NULL), 0);
	}
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_QUARANTINED);
	assert_int_equal(world_node(w, "n2")->tpms.n, 0);
}

static int forget(struct world *w)
{
	struct phx_event ev = {.kind = PHX_EV_tpm_forget};
	PHX_STR_SET(ev.node, "n1");
	return world_apply(w, &ev, NULL);
}

static void a_new_board_is_said_by_somebody(void **state)
{
	struct world *w = *state;
	assert_int_equal(forget(w), 0);
	assert_int_equal(forget(w), -ENOENT);
	to_a_wipe(w, false);
	assert_int_equal(answered(w, "two", 1)->state, PHX_NODE_READY);
	assert_string_equal(tpm(w)->key, "two");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(the_first_one_is_believed),
		T(the_same_one_is_believed_again),
		T(without_its_signature_nothing_counts),
		T(another_one_is_not_believed),
		T(a_power_cycle_that_it_does_not_count_was_none),
		T(a_wipe_where_it_stands_counts_no_reset),
		T(what_it_did_not_sign_is_a_lie),
		T(a_new_board_is_said_by_somebody),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
