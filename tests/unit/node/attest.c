/* What is left for the attestation of a hand-over: once, with the last erase that counts; and an
 * erase counts only with what the deploy environment signed of it. */
#include "unit/core/world.h"

/* n1 has a second disk. */
static void more(struct phx_facts *f, int env)
{
	(void)env;
	struct phx_disk_facts *d = phx_list_push(&f->disks, sizeof(*d));
	PHX_STR_SET(d->id, "serial-second");
	d->size_bytes = 4ULL << 30;
}

static int setup(void **state)
{
	int r = world_setup(state);
	((struct world *)*state)->more_facts = more;
	return r;
}

static struct phx_node *to_its_wipe(struct world *w)
{
	struct phx_event ev = {.kind = PHX_EV_release,
			       .by = "cert:boss",
			       .order = {.has_setup = true, .setup = {.mode = PHX_SETUP_WIPE}}};
	PHX_STR_SET(ev.node, "n1");
	world_serving(w, "n1", "guest", true);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	world_run_to(w, "n1", PHX_STEP_wipe);
	return world_node(w, "n1");
}

/* The answer is taken; how many attestations are asked for with it, and the last of them. */
static uint32_t attested(struct world *w, struct phx_event *ev, struct phx_action *ret)
{
	struct phx_outcome out = {0};
	uint32_t n = 0;
	assert_int_equal(world_apply(w, ev, &out), 0);
	PHX_LIST_EACH(struct phx_action, act, &out.actions)
		if (act->kind == PHX_ACT_ATTEST) {
			n++;
			*ret = *act;
		}
	phx_outcome_fini(&out);
	return n;
}

static void it_is_asked_for_with_the_last_erase(void **state)
{
	struct world *w = *state;
	struct phx_node *n = to_its_wipe(w);
	struct phx_action act;
	uint64_t first = phx_node_step(n)->id, epoch = n->plan.epoch;
	struct phx_event ev = world_erased(n);
	assert_int_equal(attested(w, &ev, &act), 0);
	world_run_to(w, "n1", PHX_STEP_wipe);
	uint64_t second = phx_node_step(n)->id;
	ev = world_erased(n);
	assert_int_equal(attested(w, &ev, &act), 1);
	assert_int_equal(act.first_id, first < second ? first : second);
	assert_int_equal(act.step_id, first < second ? second : first);
	assert_int_equal(act.epoch, epoch);
	assert_string_equal(act.node, "n1");
	assert_string_equal(act.from_owner, "other");
	assert_string_equal(act.to_owner, "");
	assert_string_equal(act.reset, "power-cycle");
	assert_string_equal(act.ordered_by, "cert:boss");
	assert_true(act.reset_ms > 0);
	assert_int_equal(n->state, PHX_NODE_READY);
}

static void it_says_how_the_machine_was_reset(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_wipe, .order.power_cycle = true};
	struct phx_action act;
	PHX_STR_SET(ev.node, "n1");
	world_serving(w, "n1", "guest", true);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	struct phx_node *n = world_node(w, "n1");
	world_run_to(w, "n1", PHX_STEP_wipe);
	ev = world_erased(n);
	assert_int_equal(attested(w, &ev, &act), 0);
	world_run_to(w, "n1", PHX_STEP_wipe);
	ev = world_erased(n);
	assert_int_equal(attested(w, &ev, &act), 1);
	assert_string_equal(act.reset, "power-cycle");
	/* it is in the deploy environment now */
	ev = (struct phx_event){.kind = PHX_EV_wipe};
	PHX_STR_SET(ev.node, "n1");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	for (uint32_t i = 0; i < 2; i++) {
		world_run_to(w, "n1", PHX_STEP_wipe);
		ev = world_erased(n);
		assert_int_equal(attested(w, &ev, &act), i);
	}
	assert_string_equal(act.reset, "none");
	assert_int_equal(act.reset_ms, 0);
}

/* Of one of its disks, again and again: nobody gets the node. */
static void without_what_it_signs_nothing_counts(void **state)
{
	static const char *const says[] = {"did not sign", "is not what it says",
					   "none of an image"};
	struct world *w = *state;
	struct phx_node *n = to_its_wipe(w);
	struct phx_action act;
	struct phx_event ev = world_erased(n);
	assert_int_equal(attested(w, &ev, &act), 0);
	for (int i = 0; n->state != PHX_NODE_QUARANTINED; i++) {
		assert_in_range(i, 0, 2);
		world_run_to(w, "n1", PHX_STEP_wipe);
		ev = world_erased(n);
		ev.answer.signature[0] = i == 0 ? '\0' : 's';
		ev.answer.signer[0] = i == 1 ? '\0' : 's';
		ev.answer.image[0] = i == 2 ? '\0' : 'i';
		assert_int_equal(attested(w, &ev, &act), 0);
		const struct phx_step *step = phx_node_step(n);
		assert_non_null(strstr(step ? step->error : n->reason, says[i]));
	}
	assert_string_equal(n->pool, "");
}

static void the_number_of_another_attempt_is_refused(void **state)
{
	struct world *w = *state;
	struct phx_event ev = world_erased(to_its_wipe(w));
	ev.answer.nonce++;
	assert_int_equal(world_apply(w, &ev, NULL), -ESTALE);
}

static void a_plan_of_before_is_carried_out_as_it_was(void **state)
{
	struct world *w = *state;
	struct phx_action act;
	w->s.settings.attests = false;
	struct phx_node *n = to_its_wipe(w);
	w->s.settings.attests = true;
	for (int i = 0; i < 2; i++) {
		world_run_to(w, "n1", PHX_STEP_wipe);
		struct phx_event ev = world_erased(n);
		ev.answer.signature[0] = ev.answer.signer[0] = ev.answer.image[0] = '\0';
		assert_int_equal(attested(w, &ev, &act), 0);
	}
	assert_int_equal(n->state, PHX_NODE_READY);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(it_is_asked_for_with_the_last_erase),
		T(it_says_how_the_machine_was_reset),
		T(without_what_it_signs_nothing_counts),
		T(the_number_of_another_attempt_is_refused),
		T(a_plan_of_before_is_carried_out_as_it_was),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
