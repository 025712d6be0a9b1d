/* NOOP between two owners: the node has a new key before anything is done for the new one, and the
 * former key is dead from the moment at which that is committed. */
#include "../core/world.h"

#define ITS_ADDRESS "10.0.0.11"

/* Pools lab and batch are of two owners, and neither wants an erase. */
static int begin(void **state)
{
	struct phx_setup noop = {0};
	int r = world_setup(state);
	world_add_pool(*state, "lab", "uni", noop);
	world_add_role(*state, "lab", "lab", false, PHX_ROLE_BOOT_DISK);
	return r;
}

/* n1, with its address, serves batch and goes to lab; it is to have another key now. */
static struct phx_node *at_rekey(struct world *w)
{
	world_serving(w, "n1", "compute", true);
	struct phx_node *n = world_node(w, "n1");
	PHX_STR_SET(n->ip, ITS_ADDRESS);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "lab"), 0);
	world_run_to(w, "n1", PHX_STEP_rekey);
	return n;
}

static void plan_is(struct world *w, const char *want)
{
	char text[300];
	assert_string_equal(world_plan(w, "n1", text, sizeof(text)), want);
}

static void between_owners_it_has_a_new_key(void **state)
{
	struct world *w = *state;
	struct phx_node *n = at_rekey(w);
	char before[72];
	PHX_STR_SET(before, n->key_fp);
	plan_is(w, "prefetch drain stop leave rekey activate start health join");
	assert_string_equal(n->pool, "batch"); /* it is not the next one's yet */
	assert_int_equal(world_rekey(w, "n1", "new"), 0);
	assert_false(phx_node_key_holds(n, before));
	assert_true(phx_node_key_holds(n, "new"));
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_rekey);
	assert_int_equal(world_result(w, "n1", 0, ""), 0);
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_activate);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->pool, "lab");
}

static void of_one_owner_it_keeps_its_key(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	plan_is(w, "prefetch drain stop leave activate start health join");
}

/* whose data is on it counts, not where it was last */
static void by_way_of_the_free_pool(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	plan_is(w, "drain stop leave");
	world_run(w, "n1");
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "lab"), 0);
	plan_is(w, "prefetch rekey activate start health join");
}

/* replays of journals of before */
static void a_head_of_before_had_no_such_step(void **state)
{
	struct world *w = *state;
	w->s.settings.rekeys = false;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "lab"), 0);
	plan_is(w, "prefetch drain stop leave activate start health join");
}

/* it gets its new key by a start */
static void an_older_agent_is_started_anew(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	struct phx_node *n = world_node(w, "n1");
	n->rekeys = false;
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "lab"), 0);
	plan_is(w, "drain stop kexec enter activate start health join");
	assert_non_null(strstr(n->plan.reason, "its agent is of before there was step rekey"));
}

/* who says that it has done it, and has not asked for a key, has not */
static void its_word_alone_does_not_count(void **state)
{
	struct world *w = *state;
	struct phx_node *n = at_rekey(w);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(world_result(w, "n1", 0, ""), 0);
		assert_int_equal(n->plan.steps.n ? phx_node_step(n) != NULL : 0, i < 2);
		w->now += 60000;
		struct phx_event tick = {.kind = PHX_EV_tick};
		world_apply(w, &tick, NULL);
	}
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "has not asked for a certificate for a new key"));
}

static int ask(struct world *w, struct phx_event_rekey p)
{
	struct phx_event ev = {.kind = PHX_EV_rekey, .node = "n1", .rekey = p};
	return world_apply(w, &ev, NULL);
}

/* a copy of the former key cannot ask for it: not from elsewhere, not without the number */
static void only_by_the_order_and_from_its_address(void **state)
{
	struct world *w = *state;
	const struct phx_node *n = at_rekey(w);
	const struct phx_step *step = phx_node_step(n);
	const struct phx_event_rekey right = {.step_id = step->id,
					      .epoch = n->plan.epoch,
					      .nonce = step->nonce,
					      .key_fp = "new",
					      .address = ITS_ADDRESS};
	struct phx_event_rekey p = right;
	char before[72];
	PHX_STR_SET(before, n->key_fp);
	PHX_STR_SET(p.address, "10.0.0.12");
	assert_int_equal(ask(w, p), -EACCES);
	p = right;
	p.nonce++;
	assert_int_equal(ask(w, p), -ESTALE);
	p.nonce = 0;
	assert_int_equal(ask(w, p), -ESTALE);
	p = right;
	p.step_id--;
	assert_int_equal(ask(w, p), -ESTALE);
	p = right;
	p.epoch--;
	assert_int_equal(ask(w, p), -ESTALE);
	p = right;
	PHX_STR_SET(p.key_fp, before);
	assert_int_equal(ask(w, p), -EINVAL);
	PHX_STR_SET(p.key_fp, "");
	assert_int_equal(ask(w, p), -EINVAL);
	assert_string_equal(n->key_fp, before);
	assert_int_equal(ask(w, right), 0);
	assert_string_equal(n->key_fp, "new");
}

/* nobody is given one beside that step */
static void at_no_other_time(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_rekey(w, "n1", "new"), -ESTALE);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "lab"), 0);
	world_run_to(w, "n1", PHX_STEP_stop);
	assert_int_equal(world_rekey(w, "n1", "new"), -ESTALE);
}

/* of an attempt that is over */
static void the_number_of_a_former_attempt(void **state)
{
	struct world *w = *state;
	const struct phx_node *n = at_rekey(w);
	struct phx_event_rekey p = {.step_id = phx_node_step(n)->id,
				    .epoch = n->plan.epoch,
				    .nonce = phx_node_step(n)->nonce,
				    .key_fp = "new",
				    .address = ITS_ADDRESS};
	assert_int_equal(world_result(w, "n1", -EIO, "no room"), 0);
	assert_int_equal(ask(w, p), -ESTALE); /* backing off */
	world_run_to(w, "n1", PHX_STEP_rekey);
	assert_int_equal(ask(w, p), -ESTALE);
	p.nonce = phx_node_step(n)->nonce;
	assert_int_equal(ask(w, p), 0);
}

/* The certificate never came: the new key is known, and has one by enrolling; the former is not. */
static void the_answer_was_lost(void **state)
{
	struct world *w = *state;
	struct phx_node *n = at_rekey(w);
	n->ip[0] = '\0';
	assert_int_equal(world_rekey(w, "n1", "new"), 0);
	assert_int_equal(world_rekey(w, "n1", "new"), 0); /* and nothing changes */
	assert_int_equal(world_enrol(w, 1, "new"), PHX_ENROL_CERTIFY);
	assert_int_equal(world_enrol(w, 1, "key-n1"), PHX_ENROL_REFUSED);
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_rekey);
	/* its agent was killed, and does it again: one more key */
	assert_int_equal(world_rekey(w, "n1", "newer"), 0);
	assert_false(phx_node_key_holds(n, "new"));
	assert_int_equal(world_result(w, "n1", 0, ""), 0);
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_activate);
}

/* It restarts in the middle: the step is done again, whatever it had done. */
static void it_restarts_in_the_step(void **state)
{
	struct world *w = *state;
	struct phx_node *n = at_rekey(w);
	assert_int_equal(world_rekey(w, "n1", "new"), 0);
	assert_int_equal(world_hello(w, "n1", PHX_ENV_OS, true), 0);
	world_run_to(w, "n1", PHX_STEP_rekey);
	assert_int_equal(phx_node_step(n)->attempt, 2);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_not_equal(n->key_fp, "new");
}

/* Somebody thinks better of it: it keeps whatever key it has by now. */
static void it_is_cancelled(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_cancel, .node = "n1"};
	struct phx_node *n = at_rekey(w);
	assert_int_equal(world_rekey(w, "n1", "new"), 0);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->pool, "batch");
	assert_true(phx_node_key_holds(n, "new"));
}

#define REKEY_TEST(f) cmocka_unit_test_setup_teardown(f, begin, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		REKEY_TEST(between_owners_it_has_a_new_key),
		REKEY_TEST(of_one_owner_it_keeps_its_key),
		REKEY_TEST(by_way_of_the_free_pool),
		REKEY_TEST(a_head_of_before_had_no_such_step),
		REKEY_TEST(an_older_agent_is_started_anew),
		REKEY_TEST(its_word_alone_does_not_count),
		REKEY_TEST(only_by_the_order_and_from_its_address),
		REKEY_TEST(at_no_other_time),
		REKEY_TEST(the_number_of_a_former_attempt),
		REKEY_TEST(the_answer_was_lost),
		REKEY_TEST(it_restarts_in_the_step),
		REKEY_TEST(it_is_cancelled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
