/* REs of business owners among others: no node passes between them and another owner but erased,
 * from a reset, both ways, and with an attestation; not by the policy, and not by an order either.
 */
#include "unit/core/pair.h"

static int create_for(struct world *w, const char *name, const char *owner, int relationship)
{
	struct phx_agreement a = agreement(name, PHX_RE_BATCH, 2);
	a.coordination = PHX_RE_COORDINATED_NONE;
	a.partner[0] = '\0';
	a.relationship = relationship;
	a.noop_between_owners = true;
	PHX_STR_SET(a.owner, owner);
	phx_agreement_settle(&a);
	return create(w, &a);
}

/* Two nodes have the data of the queue, which leaves them as they are. */
static void queue_has_been_there(struct world *w, bool bmc)
{
	world_ready(w, "n1", bmc);
	world_ready(w, "n2", bmc);
	assert_int_equal(create_for(w, "queue", "hpc", PHX_RE_AFFILIATED), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
	assert_int_equal(held(w, "queue"), 2);
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	settle(w);
	assert_true(world_node(w, "n1")->dirty && world_node(w, "n2")->dirty);
	assert_int_equal(create_for(w, "firm", "acme", PHX_RE_BUSINESS), 0);
	assert_int_equal(create_for(w, "dept", "bio", PHX_RE_AFFILIATED), 0);
}

static bool plan_says(struct world *w, const char *node, const char *step)
{
	char buf[512];
	return strstr(world_plan(w, node, buf, sizeof(buf)), step) != NULL;
}

static bool attested(const struct phx_outcome *out)
{
	PHX_LIST_EACH(struct phx_action, act, &out->actions)
		if (act->kind == PHX_ACT_ATTEST)
			return true;
	return false;
}

/* Steps on; has an attestation been ordered on the way? */
static bool ends_attested(struct world *w, const char *node)
{
	world_run_to(w, node, PHX_STEP_wipe);
	const struct phx_node *n = world_node(w, node);
	bool told = false;
	for (int i = 0; i < 50 && phx_node_step(n) && phx_node_step(n)->kind == PHX_STEP_wipe;
	     i++) {
		struct phx_event ev = world_erased(n);
		struct phx_outcome out = {0};
		assert_int_equal(world_apply(w, &ev, &out), 0);
		told = told || attested(&out);
		phx_outcome_fini(&out);
		phx_event_fini(&ev);
	}
	return told;
}

static void what_comes_is_erased_from_reset(void **state)
{
	struct world *w = *state;
	queue_has_been_there(w, true);
	assert_int_equal(operate(w, PHX_EV_re_activate, "firm"), 0);
	assert_true(plan_says(w, "n1", "boot") && plan_says(w, "n1", "wipe"));
	assert_false(plan_says(w, "n1", "kexec"));
	settle(w);
	assert_int_equal(held(w, "firm"), 2);
}

static void what_leaves_is_erased_from_reset(void **state)
{
	struct world *w = *state;
	queue_has_been_there(w, true);
	assert_int_equal(operate(w, PHX_EV_re_activate, "firm"), 0);
	settle(w);
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "firm"), 0);
	assert_true(plan_says(w, "n1", "boot") && plan_says(w, "n1", "wipe"));
	assert_false(plan_says(w, "n1", "kexec"));
	assert_true(ends_attested(w, "n1"));
	settle(w);
	assert_false(world_node(w, "n1")->dirty);
}

/* Between two that are not apart it stays as they agreed. */
static void others_may_agree_on_noop(void **state)
{
	struct world *w = *state;
	queue_has_been_there(w, true);
	assert_int_equal(operate(w, PHX_EV_re_activate, "dept"), 0);
	assert_false(plan_says(w, "n1", "boot") || plan_says(w, "n1", "wipe"));
	settle(w);
	assert_int_equal(held(w, "dept"), 2);
}

static void no_order_leaves_it_out(void **state)
{
	struct world *w = *state;
	queue_has_been_there(w, true);
	assert_int_equal(operate(w, PHX_EV_re_activate, "firm"), 0);
	settle(w);
	assert_int_equal(world_assign_setup(w, "n1", "web", PHX_SETUP_NOOP, PHX_WIPE_AUTO), -EPERM);
	assert_non_null(strstr(w->err.text, "noop is refused"));
}

/* A machine that nothing can reset does not go to a stranger with what is on it. */
static void without_a_bmc_it_is_not_taken(void **state)
{
	struct world *w = *state;
	queue_has_been_there(w, false);
	assert_int_equal(operate(w, PHX_EV_re_activate, "firm"), 0);
	settle(w);
	assert_int_equal(held(w, "firm"), 0);
	assert_string_equal(world_node(w, "n1")->pool, PHX_POOL_FREE);
	assert_non_null(strstr(world_node(w, "n1")->reason, "no BMC"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(what_comes_is_erased_from_reset),
		WORLD_TEST(what_leaves_is_erased_from_reset),
		WORLD_TEST(others_may_agree_on_noop),
		WORLD_TEST(no_order_leaves_it_out),
		WORLD_TEST(without_a_bmc_it_is_not_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
