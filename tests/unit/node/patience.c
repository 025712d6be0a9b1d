/* What a node is forgiven and what not: silence, change of identity, ambiguous disks, a BMC that
 * does not hear; and jobs that nobody ever runs. */
#include "unit/core/world.h"

static void event_of(struct world *w, int kind, const char *node)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void hello_with(struct world *w, const char *node, const char *uuid, bool twin_disks)
{
	struct phx_event ev = {.kind = PHX_EV_hello,
			       .hello = {.env = PHX_ENV_DEPLOY, .echoes = true}};
	PHX_STR_SET(ev.node, node);
	snprintf(ev.hello.boot_id, sizeof(ev.hello.boot_id), "boot-%u", ++w->boots);
	world_facts(&ev.hello.facts, world_index(node));
	if (uuid)
		PHX_STR_SET(ev.hello.facts.uuid, uuid);
	if (twin_disks) {
		struct phx_disk_facts *d = phx_list_push(&ev.hello.facts.disks, sizeof(*d));
		*d = *PHX_LIST_AT(&ev.hello.facts.disks, struct phx_disk_facts, 0);
	}
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

/* ---- silence ---- */

/* A network that drops out now and then takes no attempts away (faults.md 22). */
static void short_silences_do_not_count(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	world_run_to(w, "n1", PHX_STEP_activate);
	for (int i = 0; i < 5; i++) {
		w->now += 7000;
		event_of(w, PHX_EV_missing, "n1");
		w->now += 2000;
		event_of(w, PHX_EV_back, "n1");
	}
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(world_result(w, "n1", -EIO, "once"), 0);
	assert_int_equal(n->state, PHX_NODE_DEPLOYING);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
}

static void coming_and_going_ends(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	world_run_to(w, "n1", PHX_STEP_activate);
	struct phx_node *n = world_node(w, "n1");
	for (int i = 0; i < 30 && n->state == PHX_NODE_DEPLOYING; i++) {
		w->now += 7000;
		event_of(w, PHX_EV_missing, "n1");
		w->now += 2000;
		event_of(w, PHX_EV_back, "n1");
	}
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "comes and goes"));
}

/* ---- who it is ---- */

static void another_uuid_is_another_machine(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "web", true);
	hello_with(w, "n1", "uuid-99", false);
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "UUID"));
	/* a new board is no crime: whoever looked at it lets it in again */
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	world_started(w, "n1");
	world_new_key(w, "n1");
	hello_with(w, "n1", "uuid-99", false);
	assert_int_equal(n->state, PHX_NODE_READY);
}

static void a_resume_is_no_way_around_the_facts(void **state)
{
	struct world *w = *state;
	world_add(w, "n1", true);
	world_enrol(w, 1, "k");
	hello_with(w, "n1", NULL, true);
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	world_started(w, "n1");
	world_new_key(w, "n1");
	hello_with(w, "n1", NULL, true);
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_non_null(strstr(n->reason, "serial-disk1"));
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	world_started(w, "n1");
	world_new_key(w, "n1");
	hello_with(w, "n1", NULL, false);
	assert_int_equal(n->state, PHX_NODE_READY);
}

static void an_ambiguous_disk_is_no_target(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	hello_with(w, "n1", NULL, true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), -EINVAL);
	assert_non_null(strstr(w->err.text, "serial-disk1"));
	assert_int_equal(world_order(w, PHX_EV_wipe, "n1", NULL), -EINVAL);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_READY);
}

static void more_disks_than_a_machine_has_are_refused(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_hello,
			       .hello = {.env = PHX_ENV_DEPLOY, .echoes = true}};
	world_ready(w, "n1", true);
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.hello.boot_id, "b");
	for (unsigned i = 0; i < 1000; i++)
		world_facts(&ev.hello.facts, i % 250);
	assert_int_equal(world_apply(w, &ev, NULL), -EINVAL);
	phx_event_fini(&ev);
}

/* ---- off ---- */

static unsigned offs_pending(const struct world *w)
{
	struct phx_list actions = {0};
	unsigned n = 0;
	phx_core_pending(&w->s, &actions);
	PHX_LIST_EACH(struct phx_action, act, &actions)
		n += act->kind == PHX_ACT_POWER && act->op == PHX_POWER_OFF;
	phx_list_fini(&actions);
	return n;
}

/* A node whose cleaning failed goes off, though the head dies before it said so, or the BMC does
 * not hear. */
static void off_until_it_is_seen_off(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "guest", true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	for (int i = 0; i < 2; i++) {
		world_run_to(w, "n1", PHX_STEP_wipe);
		assert_int_equal(world_result(w, "n1", -EIO, "bad block"), 0);
	}
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_QUARANTINED);
	assert_int_equal(offs_pending(w), 1);
	struct phx_event tick = {.kind = PHX_EV_tick},
			 result = {.kind = PHX_EV_power_result, .answer.result = -ETIMEDOUT};
	struct phx_outcome out = {0};
	PHX_STR_SET(result.node, "n1");
	assert_int_equal(world_apply(w, &result, NULL), 0);
	w->now = phx_core_next_deadline(&w->s);
	assert_int_equal(world_apply(w, &tick, &out), 0);
	assert_int_equal(out.actions.n, 1);
	assert_int_equal(PHX_LIST_AT(&out.actions, struct phx_action, 0)->op, PHX_POWER_OFF);
	phx_outcome_fini(&out);
	result.answer.result = 0;
	result.answer.power = PHX_POWER_IS_OFF;
	assert_int_equal(world_apply(w, &result, NULL), 0);
	assert_int_equal(offs_pending(w), 0);
	assert_int_equal(phx_core_next_deadline(&w->s), INT64_MAX);
}

/* ---- jobs ---- */

static int submit(struct world *w, uint32_t nodes)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.job_nodes = nodes, .uid = 1000, .gid = 1000}};
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "true"), 0);
	int r = world_apply(w, &ev, NULL);
	phx_event_fini(&ev);
	return r;
}

static void cancel(struct world *w, uint64_t id)
{
	struct phx_event ev = {.kind = PHX_EV_job_cancel, .job_order.job = id};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void one_job_that_never_starts_keeps_no_others(void **state)
{
	struct world *w = *state;
	assert_int_equal(submit(w, 60000), 0);
	for (uint64_t id = 2; id < 1500; id++) {
		assert_int_equal(submit(w, 1), 0);
		cancel(w, id);
	}
	assert_true(w->s.jobs.n <= 1000 + 256);
	assert_int_equal(phx_state_job(&w->s, 1)->state, PHX_JOB_QUEUED);
}

static void the_queue_has_an_end(void **state)
{
	struct world *w = *state;
	int r = 0;
	uint32_t n = 0;
	while (n < 20000 && (r = submit(w, 1)) == 0)
		n++;
	assert_int_equal(n, 10000);
	assert_int_equal(r, -EAGAIN);
	cancel(w, 5);
	assert_int_equal(submit(w, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(short_silences_do_not_count),
		WORLD_TEST(coming_and_going_ends),
		WORLD_TEST(another_uuid_is_another_machine),
		WORLD_TEST(a_resume_is_no_way_around_the_facts),
		WORLD_TEST(an_ambiguous_disk_is_no_target),
		WORLD_TEST(more_disks_than_a_machine_has_are_refused),
		WORLD_TEST(off_until_it_is_seen_off),
		WORLD_TEST(one_job_that_never_starts_keeps_no_others),
		WORLD_TEST(the_queue_has_an_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
