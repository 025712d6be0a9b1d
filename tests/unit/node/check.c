/* Checks of nodes: whom they take, what they do to disks, what counts of their answers, what
 * becomes of a node that fails, and what a pool asks for. */
#include <errno.h>

#include "node/order.h"
#include "unit/core/world.h"

static struct phx_event order_of(const char *with, uint32_t for_s)
{
	struct phx_event ev = {.kind = PHX_EV_check, .order.for_s = for_s};
	PHX_STR_SET(ev.by, "unix:anna");
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.order.with, with);
	return ev;
}

static int order(struct world *w, const char *with, uint32_t for_s)
{
	struct phx_event ev = order_of(with, for_s);
	return world_apply(w, &ev, NULL);
}

static struct phx_node *n1(struct world *w)
{
	return world_node(w, "n1");
}

static void plan_is(struct world *w, const char *steps)
{
	char text[400];
	assert_string_equal(world_plan(w, "n1", text, sizeof(text)), steps);
}

static struct phx_event answer_of(struct world *w, bool passed, const char *text)
{
	const struct phx_step *step = phx_node_step(n1(w));
	enum phx_check_part part = PHX_CHECK_cpu;
	assert_true(phx_step_checks(step->kind, &part));
	struct phx_event ev = {
		.kind = PHX_EV_step_result,
		.answer = {
			.step_id = step->id,
			.epoch = n1(w)->plan.epoch,
			.nonce = step->nonce,
			.has_check = true,
			.check = {.part = (int)part, .passed = passed, .seconds = step->seconds}}};
	PHX_STR_SET(ev.node, "n1");
	PHX_STR_SET(ev.answer.check.disk, step->disk);
	PHX_STR_SET(ev.answer.check.text, text);
	return ev;
}

static const struct phx_check *check_of(struct world *w, enum phx_check_part part)
{
	PHX_LIST_EACH(struct phx_check, c, &n1(w)->checks)
		if (c->part == (int)part)
			return c;
	return NULL;
}

/* ---- the plan ---- */

static void a_free_node_is_checked(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	assert_int_equal(order(w, "", 0), 0);
	plan_is(w, "check_cpu check_memory check_disk");
	/* nobody gets it, and it is no less free for that afterwards */
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), -EBUSY);
	assert_int_equal(order(w, "", 0), 0); /* the same order is under way */
	const struct phx_step *disk = PHX_LIST_AT(&n1(w)->plan.steps, struct phx_step, 2);
	assert_int_equal(disk->seconds, PHX_CHECK_S);
	assert_true(disk->writes);
	w->now += 5000;
	world_run(w, "n1");
	assert_int_equal(n1(w)->state, PHX_NODE_READY);
	assert_string_equal(n1(w)->pool, "free");
	assert_int_equal(n1(w)->checks.n, 3);
	assert_true(check_of(w, PHX_CHECK_memory)->passed);
	assert_true(check_of(w, PHX_CHECK_memory)->ended_ms > 1000000);
	assert_string_equal(check_of(w, PHX_CHECK_disk)->disk, disk->disk);
	/* a second one takes the place of the first */
	assert_int_equal(order(w, "cpu", 7), 0);
	world_run(w, "n1");
	assert_int_equal(n1(w)->checks.n, 3);
	assert_int_equal(check_of(w, PHX_CHECK_cpu)->seconds, 7);
}

static void only_what_is_asked_for_is_checked(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	assert_int_equal(order(w, "disk,cpu", 20), 0);
	plan_is(w, "check_cpu check_disk");
	assert_int_equal(PHX_LIST_AT(&n1(w)->plan.steps, struct phx_step, 0)->seconds, 20);
	world_run(w, "n1");
	assert_int_equal(order(w, "fans", 0), -EINVAL);
	assert_int_equal(order(w, "cpu,", 0), -EINVAL);
	assert_int_equal(order(w, ",cpu", 0), -EINVAL);
	assert_int_equal(order(w, "cpu", PHX_CHECK_S_MAX + 1), -EINVAL);
	assert_null(phx_node_step(n1(w)));
}

static void a_node_that_is_held_is_not(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(order(w, "", 0), -EPERM);
	world_order(w, PHX_EV_drain, "n1", "");
	world_run(w, "n1");
	assert_int_equal(n1(w)->state, PHX_NODE_MAINTENANCE); /* with its role and data */
	assert_int_equal(order(w, "", 0), -EPERM);
	world_order(w, PHX_EV_quarantine, "n1", "");
	assert_int_equal(order(w, "", 0), -EPERM);
}

static void data_of_somebody_is_only_read(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", ""), 0);
	world_run(w, "n1");
	assert_int_equal(n1(w)->state, PHX_NODE_READY);
	assert_true(n1(w)->dirty);
	/* its system runs, and is left for it */
	assert_int_equal(order(w, "disk", 0), 0);
	plan_is(w, "kexec check_disk");
	const struct phx_step *disk = PHX_LIST_AT(&n1(w)->plan.steps, struct phx_step, 1);
	assert_false(disk->writes);
	world_run_to(w, "n1", PHX_STEP_check_disk);
	/* an agent that says it wrote has not done as ordered */
	struct phx_event ev = answer_of(w, true, "");
	ev.answer.check.writes = true;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_null(phx_node_step(n1(w)));
	assert_int_equal(n1(w)->checks.n, 0);
	assert_true(n1(w)->dirty);
}

/* So are disks beside a system in memory: who had the node may have written them. */
static void a_system_in_memory_wrote_disks_too(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "ramweb", true);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", ""), 0);
	world_run(w, "n1");
	assert_string_equal(n1(w)->system_disk, "");
	assert_true(n1(w)->dirty);
	assert_int_equal(order(w, "disk", 0), 0);
	assert_false(PHX_LIST_AT(&n1(w)->plan.steps, struct phx_step, 1)->writes);
	world_run(w, "n1");
	/* once they are erased they are written */
	assert_int_equal(world_order(w, PHX_EV_wipe, "n1", ""), 0);
	world_run(w, "n1");
	assert_int_equal(order(w, "disk", 0), 0);
	assert_true(PHX_LIST_AT(&n1(w)->plan.steps, struct phx_step, 0)->writes);
}

/* Nor is a disk written on which a system is installed, whoever made it. */
static void an_installed_system_is_only_read(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	PHX_STR_SET(n1(w)->system_disk, "wwn-of-it");
	assert_int_equal(order(w, "disk", 0), 0);
	assert_false(PHX_LIST_AT(&n1(w)->plan.steps, struct phx_step, 0)->writes);
}

static void protected_disks_are_left_alone(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	struct phx_disk_facts *d = PHX_LIST_AT(&n1(w)->facts.disks, struct phx_disk_facts, 0);
	struct phx_known_disk *k = phx_known_disk(n1(w), d->id);
	d->remote = k->remote = k->proven = true;
	assert_int_equal(order(w, "disk", 0), -ENODEV);
	/* the rest is checked all the same */
	assert_int_equal(order(w, "", 0), 0);
	plan_is(w, "check_cpu check_memory");
}

static void disks_share_the_time(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	for (unsigned i = 0; i < 3; i++) {
		struct phx_disk_facts *d =
			phx_list_push(&n1(w)->facts.disks, sizeof(struct phx_disk_facts));
		snprintf(d->id, sizeof(d->id), "wwn-%u", i);
		d->size_bytes = 1ULL << 34;
		d->removable = i == 2;
	}
	assert_int_equal(order(w, "disk", 300), 0);
	plan_is(w, "check_disk check_disk check_disk");
	assert_int_equal(PHX_LIST_AT(&n1(w)->plan.steps, struct phx_step, 2)->seconds, 100);
	struct phx_event stop = {.kind = PHX_EV_cancel, .node = "n1"};
	assert_int_equal(world_apply(w, &stop, NULL), 0);
	assert_int_equal(order(w, "disk", 60), 0);
	assert_int_equal(PHX_LIST_AT(&n1(w)->plan.steps, struct phx_step, 2)->seconds, 30);
}

static void a_node_that_is_off_is_started(void **state)
{
	struct world *w = *state;
	struct phx_event gone = {.kind = PHX_EV_missing, .node = "n1"};
	world_ready(w, "n1", true);
	assert_int_equal(world_apply(w, &gone, NULL), 0);
	assert_int_equal(order(w, "cpu", 0), 0);
	plan_is(w, "boot check_cpu");
	world_run(w, "n1");
	assert_int_equal(n1(w)->state, PHX_NODE_READY);
	assert_true(check_of(w, PHX_CHECK_cpu)->passed);
}

static void without_a_bmc_it_cannot_be(void **state)
{
	struct world *w = *state;
	struct phx_event gone = {.kind = PHX_EV_missing, .node = "n1"};
	world_ready(w, "n1", false);
	assert_int_equal(world_apply(w, &gone, NULL), 0);
	assert_int_equal(order(w, "cpu", 0), -EHOSTUNREACH);
}

static void an_agent_of_before_is_told(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	n1(w)->checker = false;
	assert_int_equal(order(w, "cpu", 0), -EOPNOTSUPP);
	/* one that is found to be older once it has come keeps what it has */
	n1(w)->env = PHX_ENV_OS;
	assert_int_equal(order(w, "cpu", 0), 0);
	struct phx_event hello = {.kind = PHX_EV_hello,
				  .node = "n1",
				  .hello = {.env = PHX_ENV_DEPLOY, .boot_id = "another"}};
	world_new_key(w, "n1");
	world_facts(&hello.hello.facts, 1);
	assert_int_equal(world_apply(w, &hello, NULL), 0);
	phx_event_fini(&hello);
	assert_null(phx_node_step(n1(w)));
	assert_int_equal(n1(w)->state, PHX_NODE_READY);
	assert_non_null(strstr(n1(w)->reason, "of before there were checks"));
}

/* ---- what comes of it ---- */

static void a_failed_part_takes_the_node_out(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	assert_int_equal(order(w, "", 0), 0);
	world_run_to(w, "n1", PHX_STEP_check_memory);
	struct phx_event ev = answer_of(w, false, "3 errors");
	ev.answer.check.errors = 3;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(n1(w)->state, PHX_NODE_MAINTENANCE);
	assert_string_equal(n1(w)->reason, "its check failed: memory: 3 errors");
	assert_null(phx_node_step(n1(w)));
	assert_false(check_of(w, PHX_CHECK_memory)->passed);
	assert_int_equal(check_of(w, PHX_CHECK_memory)->errors, 3);
	assert_true(check_of(w, PHX_CHECK_cpu)->passed);
	/* repaired, it is checked where it is, and a person puts it back */
	assert_int_equal(order(w, "memory", 0), 0);
	world_run(w, "n1");
	assert_int_equal(n1(w)->state, PHX_NODE_MAINTENANCE);
	assert_string_equal(n1(w)->reason, "it passed its check");
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", ""), 0);
	assert_int_equal(n1(w)->state, PHX_NODE_READY);
}

static void what_cannot_be_done_says_nothing_of_the_machine(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	assert_int_equal(order(w, "", 0), 0);
	assert_int_equal(world_result(w, "n1", -ENOENT, "there is no stress-ng"), 0);
	assert_null(phx_node_step(n1(w)));
	assert_int_equal(n1(w)->state, PHX_NODE_READY);
	assert_non_null(strstr(n1(w)->reason, "there is no stress-ng"));
	assert_int_equal(n1(w)->checks.n, 0);
	/* it is free again */
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), 0);
}

static void a_machine_that_dies_of_it_has_failed(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	assert_int_equal(order(w, "cpu", 0), 0);
	world_new_key(w, "n1");
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_null(phx_node_step(n1(w)));
	assert_int_equal(n1(w)->state, PHX_NODE_MAINTENANCE);
	assert_non_null(strstr(n1(w)->reason, "its check failed: step check_cpu"));
}

/* Silence is no proof: the network may have been away. It is brought back, but not for ever. */
static void a_machine_that_comes_and_goes_has_failed(void **state)
{
	struct world *w = *state;
	struct phx_event gone = {.kind = PHX_EV_missing, .node = "n1"};
	world_ready(w, "n1", true);
	w->s.settings.repairs_max = 2;
	assert_int_equal(order(w, "cpu", 0), 0);
	for (unsigned i = 0; i < 2; i++) {
		world_run_to(w, "n1", PHX_STEP_check_cpu);
		assert_int_equal(world_apply(w, &gone, NULL), 0);
		assert_non_null(phx_node_step(n1(w)));
	}
	world_run_to(w, "n1", PHX_STEP_check_cpu);
	assert_int_equal(world_apply(w, &gone, NULL), 0);
	world_run(w, "n1");
	assert_int_equal(n1(w)->state, PHX_NODE_MAINTENANCE);
	assert_non_null(strstr(n1(w)->reason, "its check failed: "));
}

static void an_agent_that_never_answers_has_failed(void **state)
{
	struct world *w = *state;
	struct phx_event tick = {.kind = PHX_EV_tick};
	world_ready(w, "n1", true);
	assert_int_equal(order(w, "cpu", 3600), 0);
	w->now += 3600 * 1000;
	assert_int_equal(world_apply(w, &tick, NULL), 0);
	assert_non_null(phx_node_step(n1(w))); /* it had this hour for the check itself */
	w->now += 181 * 1000;
	assert_int_equal(world_apply(w, &tick, NULL), 0);
	assert_int_equal(n1(w)->state, PHX_NODE_MAINTENANCE);
}

static void answers_must_fit_the_order(void **state)
{
	static const struct {
		int part;
		uint32_t less_s;
		const char *disk;
		bool has;
	} cases[] = {
		{PHX_CHECK_memory, 0, "", true},
		{PHX_CHECK_cpu, 1, "", true},
		{PHX_CHECK_cpu, 0, "wwn-1", true},
		{PHX_CHECK_cpu, 0, "", false},
	};
	struct world *w = *state;
	world_ready(w, "n1", true);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		assert_int_equal(order(w, "cpu", 60), 0);
		struct phx_event ev = answer_of(w, true, "");
		ev.answer.check.part = cases[i].part;
		ev.answer.check.seconds -= cases[i].less_s;
		ev.answer.has_check = cases[i].has;
		PHX_STR_SET(ev.answer.check.disk, cases[i].disk);
		assert_int_equal(world_apply(w, &ev, NULL), 0);
		assert_int_equal(n1(w)->checks.n, 0);
		assert_null(phx_node_step(n1(w)));
		assert_int_equal(n1(w)->state, PHX_NODE_READY);
	}
}

static void a_check_is_cancelled_at_any_time(void **state)
{
	struct world *w = *state;
	struct phx_event stop = {.kind = PHX_EV_cancel, .node = "n1", .by = "unix:anna"};
	world_ready(w, "n1", true);
	assert_int_equal(order(w, "", 0), 0);
	world_run_to(w, "n1", PHX_STEP_check_memory);
	struct phx_event late = answer_of(w, false, "3 errors");
	assert_int_equal(world_apply(w, &stop, NULL), 0);
	assert_null(phx_node_step(n1(w)));
	assert_int_equal(n1(w)->state, PHX_NODE_READY);
	assert_string_equal(n1(w)->reason, "");
	assert_true(check_of(w, PHX_CHECK_cpu)->passed); /* what was done counts */
	/* what the agent says of it afterwards does not */
	assert_int_equal(world_apply(w, &late, NULL), -ESTALE);
	assert_int_equal(n1(w)->state, PHX_NODE_READY);
	/* also on the way to it, and out of service */
	world_order(w, PHX_EV_drain, "n1", "");
	assert_int_equal(n1(w)->state, PHX_NODE_MAINTENANCE);
	n1(w)->env = PHX_ENV_OS;
	assert_int_equal(order(w, "cpu", 0), 0);
	assert_int_equal(world_apply(w, &stop, NULL), 0);
	assert_int_equal(n1(w)->state, PHX_NODE_MAINTENANCE);
}

/* A disk that was taken out has nothing to show any more. */
static void disks_that_are_gone_are_forgotten(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	struct phx_check *c = phx_list_push(&n1(w)->checks, sizeof(*c));
	c->part = PHX_CHECK_disk;
	PHX_STR_SET(c->disk, "wwn-gone");
	assert_int_equal(order(w, "disk", 0), 0);
	world_run(w, "n1");
	assert_int_equal(n1(w)->checks.n, 1);
	assert_string_not_equal(check_of(w, PHX_CHECK_disk)->disk, "wwn-gone");
}

/* ---- what a pool asks for ---- */

static void pool_needs_check(struct world *w, const char *name, uint32_t seconds)
{
	struct phx_event ev = {.kind = PHX_EV_pool_put,
			       .pool.pool_put = {.owner = "hpc", .needs_check_s = seconds}};
	PHX_STR_SET(ev.pool.pool_put.name, name);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static int tried(struct world *w, char text[256])
{
	struct phx_node_order o = phx_order_own(PHX_EV_assign, n1(w), "");
	struct phx_err err = {0};
	struct phx_plan plan = {0};
	o.role = "compute";
	int r = phx_order_plan(&w->s, &o, &plan, &err);
	phx_record_fini(&phx_plan_record, &plan);
	snprintf(text, 256, "%s", err.text);
	return r;
}

static void a_pool_may_want_checked_nodes(void **state)
{
	char why[256];
	struct world *w = *state;
	world_ready(w, "n1", true);
	assert_int_equal(tried(w, why), 0);
	pool_needs_check(w, "batch", 3600);
	assert_int_equal(tried(w, why), -EPERM);
	assert_string_equal(why,
			    "pool batch wants checked nodes (needs_check), and n1 is none: "
			    "processors never checked");
	assert_int_equal(order(w, "cpu,memory", 0), 0);
	world_run(w, "n1");
	assert_int_equal(tried(w, why), -EPERM);
	assert_non_null(strstr(why, "a disk never checked"));
	assert_int_equal(order(w, "disk", 0), 0);
	world_run(w, "n1");
	assert_int_equal(tried(w, why), 0);
	/* until that is too long ago */
	w->now += 3600 * 1000 + 1000;
	struct phx_event tick = {.kind = PHX_EV_tick};
	world_apply(w, &tick, NULL);
	assert_int_equal(tried(w, why), -EPERM);
	assert_non_null(strstr(why, "processors checked too long ago"));
	PHX_LIST_EACH(struct phx_check, c, &n1(w)->checks) {
		c->ended_ms = w->now;
		c->passed = c->part != PHX_CHECK_memory;
	}
	assert_int_equal(tried(w, why), -EPERM);
	assert_non_null(strstr(why, "memory did not pass"));
}

/* What it has it keeps, also where the node has to be brought there again. */
static void a_pool_keeps_what_it_has(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	pool_needs_check(w, "batch", 3600);
	assert_int_equal(world_order(w, PHX_EV_rebuild, "n1", ""), 0);
	world_run(w, "n1");
	assert_int_equal(n1(w)->state, PHX_NODE_ACTIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_free_node_is_checked),
		WORLD_TEST(only_what_is_asked_for_is_checked),
		WORLD_TEST(a_node_that_is_held_is_not),
		WORLD_TEST(data_of_somebody_is_only_read),
		WORLD_TEST(a_system_in_memory_wrote_disks_too),
		WORLD_TEST(an_installed_system_is_only_read),
		WORLD_TEST(protected_disks_are_left_alone),
		WORLD_TEST(disks_share_the_time),
		WORLD_TEST(a_node_that_is_off_is_started),
		WORLD_TEST(without_a_bmc_it_cannot_be),
		WORLD_TEST(an_agent_of_before_is_told),
		WORLD_TEST(a_failed_part_takes_the_node_out),
		WORLD_TEST(what_cannot_be_done_says_nothing_of_the_machine),
		WORLD_TEST(a_machine_that_dies_of_it_has_failed),
		WORLD_TEST(a_machine_that_comes_and_goes_has_failed),
		WORLD_TEST(an_agent_that_never_answers_has_failed),
		WORLD_TEST(answers_must_fit_the_order),
		WORLD_TEST(a_check_is_cancelled_at_any_time),
		WORLD_TEST(disks_that_are_gone_are_forgotten),
		WORLD_TEST(a_pool_may_want_checked_nodes),
		WORLD_TEST(a_pool_keeps_what_it_has),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
