/* Reboots: a node comes back in the role that it has, with its system and data; several in turn, of
 * which no more are away than the order allows; one that does not come back stops the others. */
#include "unit/core/world.h"

enum { N_NODES = 6, LINE = 77 };

static const char *name_of(unsigned i)
{
	static char names[4][16];
	static unsigned next;
	char *name = names[next++ % 4];
	snprintf(name, sizeof(names[0]), "n%u", i);
	return name;
}

static struct phx_node *node(struct world *w, unsigned i)
{
	return world_node(w, name_of(i));
}

static void all_serve(struct world *w, const char *role)
{
	for (unsigned i = 1; i <= N_NODES; i++)
		world_serving(w, name_of(i), role, true);
}

static struct phx_event order_of(const char *name)
{
	struct phx_event ev = {.kind = PHX_EV_reboot, .order.jobs = PHX_JOBS_SPARE};
	PHX_STR_SET(ev.by, "uid:0");
	PHX_STR_SET(ev.node, name);
	return ev;
}

static int reboot(struct world *w, const char *name)
{
	struct phx_event ev = order_of(name);
	return world_apply(w, &ev, NULL);
}

static int join(struct world *w, unsigned i, uint64_t line, uint32_t most)
{
	struct phx_event ev = order_of(name_of(i));
	ev.order.line = line;
	ev.order.line_most = most;
	return world_apply(w, &ev, NULL);
}

static void all_join(struct world *w, uint32_t most)
{
	for (unsigned i = 1; i <= N_NODES; i++)
		assert_int_equal(join(w, i, LINE, most), 0);
}

static uint64_t submit(struct world *w)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.uid = 1000, .gid = 1000, .job_nodes = 1}};
	struct phx_outcome out = {0};
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "/bin/sleep"), 0);
	PHX_STR_SET(ev.job_submit.user, "alice");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	uint64_t id = out.job;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return id;
}

static void job_ends(struct world *w, uint64_t id, const char *name)
{
	struct phx_event ev = {.kind = PHX_EV_job_result,
			       .job_result = {.job = id, .run = phx_state_job(&w->s, id)->kills}};
	PHX_STR_SET(ev.node, name);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	struct phx_event tick = {.kind = PHX_EV_tick};
	assert_int_equal(world_apply(w, &tick, NULL), 0);
}

static uint32_t n_away(struct world *w)
{
	uint32_t n = 0;
	for (unsigned i = 1; i <= N_NODES; i++)
		n += node(w, i)->state != PHX_NODE_ACTIVE || phx_node_step(node(w, i));
	return n;
}

static uint32_t n_wait(struct world *w)
{
	uint32_t n = 0;
	for (unsigned i = 1; i <= N_NODES; i++)
		n += node(w, i)->line_waits;
	return n;
}

/* ---- one node ---- */

static void assert_comes_back(struct world *w, const char *role, bool bmc, const char *steps)
{
	char plan[200];
	world_serving(w, "n1", role, bmc);
	struct phx_node before = *world_node(w, "n1");
	assert_int_equal(reboot(w, "n1"), 0);
	assert_string_equal(world_plan(w, "n1", plan, sizeof(plan)), steps);
	world_run(w, "n1");
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->role, role);
	assert_string_equal(n->pool, before.pool);
	assert_string_equal(n->system_digest, before.system_digest);
	assert_string_equal(n->system_disk, before.system_disk);
	assert_string_equal(n->tenant, before.tenant);
	assert_true(n->dirty && strcmp(n->boot_id, before.boot_id) != 0);
}

static void a_node_comes_back_as_it_was(void **state)
{
	assert_comes_back(*state, "compute", false, "drain stop kexec enter start health join");
}

static void a_system_in_memory_is_fetched_again(void **state)
{
	assert_comes_back(*state, "ramweb", false,
			  "stop kexec ram enter activate start health join");
}

static void from_reset_where_it_is_asked_for(void **state)
{
	struct world *w = *state;
	char plan[200];
	world_serving(w, "n1", "compute", true);
	world_serving(w, "n2", "compute", false);
	struct phx_event ev = order_of("n1");
	ev.order.power_cycle = true;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_string_equal(world_plan(w, "n1", plan, sizeof(plan)),
			    "drain stop boot enter start health join");
	PHX_STR_SET(ev.node, "n2");
	assert_int_equal(world_apply(w, &ev, NULL), -EHOSTUNREACH);
	assert_string_equal(w->err.text,
			    "n2 must be power cycled (a start from reset was asked "
			    "for), and it has no BMC");
}

static void a_node_without_a_role_is_refused(void **state)
{
	struct world *w = *state;
	world_ready(w, "n1", true);
	assert_int_equal(reboot(w, "n1"), -EINVAL);
	assert_memory_equal(w->err.text, "n1 has no role to come back in", 30);
}

/* It was taken out of service, and stays so. */
static void in_maintenance_it_stays_there(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	struct phx_event drain = {.kind = PHX_EV_drain, .text = "new fan"};
	PHX_STR_SET(drain.node, "n1");
	assert_int_equal(world_apply(w, &drain, NULL), 0);
	world_run(w, "n1");
	assert_int_equal(reboot(w, "n1"), 0);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_MAINTENANCE);
	assert_string_equal(world_node(w, "n1")->reason, "new fan");
	assert_string_equal(world_node(w, "n1")->role, "compute");
}

/* Its role and data are no reason to be quarantined, and erased when it is resumed. */
static void one_that_does_not_come_back_keeps_all(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", false);
	assert_int_equal(reboot(w, "n1"), 0);
	world_run_to(w, "n1", PHX_STEP_enter);
	for (int i = 0; i < 10 && phx_node_step(world_node(w, "n1")); i++) {
		struct phx_event tick = {.kind = PHX_EV_tick};
		w->now += 3600 * 1000;
		assert_int_equal(world_apply(w, &tick, NULL), 0);
	}
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->state, PHX_NODE_MAINTENANCE);
	assert_memory_equal(n->reason, "its reboot failed: step enter failed", 36);
	assert_string_equal(n->role, "compute");
	assert_true(n->dirty && n->system_digest[0]);
	/* once it does, it waits for a person, and says so no more */
	world_hello(w, "n1", PHX_ENV_OS, true);
	assert_int_equal(reboot(w, "n1"), 0);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_MAINTENANCE);
	assert_memory_equal(n->reason, "a reboot of before had failed", 29);
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	world_run(w, "n1");
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
}

/* ---- jobs ---- */

/* Its reboot failed in the deploy environment. A person resumes it there, and its system is entered
 * later: maybe by another start, for its agent knows of no role that it should start. */
static void resumed_outside_its_system(struct world *w, bool new_boot)
{
	struct phx_node *n = world_node(w, "n1");
	assert_int_equal(reboot(w, "n1"), 0);
	world_run_to(w, "n1", PHX_STEP_enter);
	while (phx_node_step(n) && phx_node_step(n)->kind == PHX_STEP_enter) {
		if (phx_node_step(n)->status == PHX_STEP_ISSUED)
			assert_int_equal(world_result(w, "n1", -5, "no disk"), 0);
		else
			world_step(w, "n1");
	}
	assert_int_equal(n->state, PHX_NODE_MAINTENANCE);
	n->actual_role[0] = n->actual_identity[0] = '\0'; /* stopped: the agent's beats say so */
	assert_int_equal(world_order(w, PHX_EV_resume, "n1", NULL), 0);
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_null(phx_node_step(n));
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_null(phx_node_step(n));
	assert_int_equal(world_hello(w, "n1", PHX_ENV_OS, new_boot), 0);
}

static void resumed_where_its_reboot_failed_it_serves(void **state)
{
	struct world *w = *state;
	char plan[200];
	world_serving(w, "n1", "compute", true);
	for (int i = 0; i < 2; i++) {
		resumed_outside_its_system(w, i);
		assert_int_equal(world_node(w, "n1")->state, PHX_NODE_DEPLOYING);
		assert_string_equal(world_plan(w, "n1", plan, sizeof(plan)), "start health join");
		world_run(w, "n1");
		assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
		assert_true(world_node(w, "n1")->healthy);
	}
}

static void a_job_is_ended_only_where_that_was_said(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	phx_state_role(&w->s, "compute")->drain_grace_s = 30;
	submit(w);
	assert_int_equal(reboot(w, "n1"), -EBUSY);
	struct phx_event ev = order_of("n1");
	ev.order.jobs = PHX_JOBS_ANY;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_true(world_node(w, "n1")->plan.has_grace);
}

static void when_idle_it_waits_for_the_job_and_takes_no_other(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	uint64_t id = submit(w);
	struct phx_event ev = order_of("n1"), tick = {.kind = PHX_EV_tick};
	ev.order.when_idle = true;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	uint64_t other = submit(w);
	for (int i = 0; i < 30; i++) {
		w->now += 3600 * 1000;
		assert_int_equal(world_apply(w, &tick, NULL), 0);
	}
	assert_int_equal(phx_state_job(&w->s, id)->state, PHX_JOB_RUNNING);
	assert_false(phx_job_is_told(phx_state_job(&w->s, id)));
	assert_int_equal(phx_state_job(&w->s, other)->state, PHX_JOB_QUEUED);
	job_ends(w, id, "n1");
	assert_int_equal(phx_state_job(&w->s, id)->state, PHX_JOB_DONE);
	assert_int_equal(phx_state_job(&w->s, other)->state, PHX_JOB_QUEUED);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_int_equal(phx_state_job(&w->s, other)->state, PHX_JOB_RUNNING);
}

/* What it is doing is not known: its power is not cut under a job that nobody may end. */
static void when_idle_a_silent_node_keeps_its_job(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	uint64_t id = submit(w);
	struct phx_event ev = order_of("n1"), missing = {.kind = PHX_EV_missing};
	PHX_STR_SET(missing.node, "n1");
	assert_int_equal(world_apply(w, &missing, NULL), 0);
	ev.order.when_idle = true;
	assert_int_equal(world_apply(w, &ev, NULL), -EBUSY);
	assert_memory_equal(w->err.text, "n1 is not heard, and may still run", 34);
	assert_int_equal(phx_state_job(&w->s, id)->state, PHX_JOB_RUNNING);
}

/* ---- in turn ---- */

static void no_more_are_away_than_allowed(void **state)
{
	struct world *w = *state;
	all_serve(w, "compute");
	all_join(w, 2);
	assert_int_equal(n_wait(w), N_NODES - 2);
	for (int round = 0; round < 300; round++) {
		bool moved = false;
		for (unsigned i = 1; i <= N_NODES; i++) {
			moved |= world_step(w, name_of(i));
			assert_in_range(n_away(w), 0, 2);
		}
		if (!moved)
			break;
	}
	assert_int_equal(w->s.lines.n, 0);
	for (unsigned i = 1; i <= N_NODES; i++) {
		assert_int_equal(node(w, i)->state, PHX_NODE_ACTIVE);
		assert_int_equal(node(w, i)->line, 0);
	}
	assert_in_range(w->boots, 2 * N_NODES, 3 * N_NODES);
}

/* Whoever is silent or in maintenance by another hand is away, too. */
static void one_that_is_away_anyway_is_counted(void **state)
{
	struct world *w = *state;
	all_serve(w, "compute");
	all_join(w, 2);
	struct phx_event missing = {.kind = PHX_EV_missing}, back = {.kind = PHX_EV_back};
	PHX_STR_SET(missing.node, "n6");
	PHX_STR_SET(back.node, "n6");
	assert_int_equal(world_apply(w, &missing, NULL), 0);
	world_run(w, "n1");
	/* n2 is rebooted and n6 is silent: of the others none begins; it is n6's turn, as nothing
	 * more is away by that */
	for (unsigned i = 3; i <= 5; i++)
		assert_true(node(w, i)->line_waits);
	assert_false(node(w, 6)->line_waits);
	assert_int_equal(phx_node_step(node(w, 6))->kind, PHX_STEP_boot);
	(void)back;
}

static void one_that_does_not_come_back_stops_the_line(void **state)
{
	struct world *w = *state;
	all_serve(w, "compute");
	all_join(w, 1);
	world_run(w, "n1");
	world_run_to(w, "n2", PHX_STEP_enter);
	for (int i = 0; i < 10 && phx_node_step(node(w, 2)); i++) {
		struct phx_event tick = {.kind = PHX_EV_tick};
		w->now += 3600 * 1000;
		assert_int_equal(world_apply(w, &tick, NULL), 0);
	}
	const struct phx_line *line = phx_state_line(&w->s, LINE);
	assert_non_null(line);
	assert_int_equal(line->done, 1);
	assert_memory_equal(line->stopped, "n2 did not come back: step enter failed", 39);
	assert_int_equal(node(w, 2)->state, PHX_NODE_MAINTENANCE);
	for (unsigned i = 3; i <= N_NODES; i++)
		assert_true(node(w, i)->line_waits && !phx_node_step(node(w, i)));
	/* whoever wants to go on says so anew */
	for (unsigned i = 3; i <= N_NODES; i++)
		assert_int_equal(join(w, i, LINE + 1, 1), 0);
	assert_null(phx_state_line(&w->s, LINE));
	assert_true(phx_node_step(node(w, 3)) && node(w, 4)->line_waits);
}

static void cancel_takes_one_out(void **state)
{
	struct world *w = *state;
	all_serve(w, "compute");
	all_join(w, 1);
	struct phx_event cancel = {.kind = PHX_EV_cancel};
	PHX_STR_SET(cancel.node, "n2");
	assert_int_equal(world_apply(w, &cancel, NULL), 0);
	assert_false(node(w, 2)->line || node(w, 2)->line_waits);
	for (unsigned i = 1; i <= N_NODES; i++)
		world_run(w, name_of(i));
	assert_int_equal(w->s.lines.n, 0);
	assert_int_not_equal(node(w, 2)->plan.request, PHX_REQUEST_reboot);
}

/* What is refused changes nothing: a state that is read back from the journal is the same. */
static void a_cancel_that_is_refused_leaves_it_in_the_line(void **state)
{
	struct world *w = *state;
	struct phx_state before;
	struct phx_event cancel = {.kind = PHX_EV_cancel};
	all_serve(w, "compute");
	all_join(w, 1);
	world_run_to(w, "n1", PHX_STEP_health); /* past step enter, which cannot be taken back */
	PHX_STR_SET(cancel.node, "n1");
	assert_int_equal(phx_record_copy(&phx_state_record, &before, &w->s), 0);
	assert_int_equal(world_apply(w, &cancel, NULL), -EPERM);
	before.now_ms = w->s.now_ms;
	assert_true(phx_record_equal(&phx_state_record, &before, &w->s));
	phx_state_fini(&before);
	for (unsigned i = 1; i <= N_NODES; i++)
		world_run(w, name_of(i));
	assert_int_equal(w->s.lines.n, 0);
}

static void one_that_is_removed_is_no_longer_waited_for(void **state)
{
	struct world *w = *state;
	all_serve(w, "compute");
	all_join(w, 1);
	struct phx_event rm = {.kind = PHX_EV_node_remove, .order.force = true};
	PHX_STR_SET(rm.node, "n2");
	assert_int_equal(world_apply(w, &rm, NULL), 0);
	PHX_STR_SET(rm.node, "n1");
	assert_int_equal(world_apply(w, &rm, NULL), 0);
	assert_true(phx_node_step(node(w, 3)));
}

/* In a line nothing is ended that nobody agreed to: its turn waits for the job. */
static void in_a_line_jobs_are_waited_for(void **state)
{
	struct world *w = *state;
	world_serving(w, "n1", "compute", true);
	uint64_t id = submit(w);
	world_serving(w, "n2", "compute", true);
	struct phx_event ev = order_of("n1");
	ev.order.when_idle = true;
	ev.order.line = LINE;
	ev.order.line_most = 1;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	PHX_STR_SET(ev.node, "n2");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(phx_state_job(&w->s, id)->state, PHX_JOB_RUNNING);
	assert_true(node(w, 2)->line_waits);
	job_ends(w, id, "n1");
	world_run(w, "n1");
	assert_true(phx_node_step(node(w, 2)));
}

/* The line is part of the state: a head that starts again from a snapshot goes on. */
static void the_line_outlives_the_head(void **state)
{
	struct world *w = *state;
	all_serve(w, "compute");
	all_join(w, 2);
	struct phx_state copy;
	assert_int_equal(phx_record_copy(&phx_state_record, &copy, &w->s), 0);
	phx_state_fini(&w->s);
	w->s = copy;
	for (unsigned i = 1; i <= N_NODES; i++)
		world_run(w, name_of(i));
	for (unsigned i = 1; i <= N_NODES; i++)
		world_run(w, name_of(i));
	assert_int_equal(w->s.lines.n, 0);
	assert_int_equal(n_away(w), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_node_comes_back_as_it_was),
		WORLD_TEST(a_system_in_memory_is_fetched_again),
		WORLD_TEST(from_reset_where_it_is_asked_for),
		WORLD_TEST(a_node_without_a_role_is_refused),
		WORLD_TEST(in_maintenance_it_stays_there),
		WORLD_TEST(one_that_does_not_come_back_keeps_all),
		WORLD_TEST(resumed_where_its_reboot_failed_it_serves),
		WORLD_TEST(a_job_is_ended_only_where_that_was_said),
		WORLD_TEST(when_idle_it_waits_for_the_job_and_takes_no_other),
		WORLD_TEST(when_idle_a_silent_node_keeps_its_job),
		WORLD_TEST(no_more_are_away_than_allowed),
		WORLD_TEST(one_that_is_away_anyway_is_counted),
		WORLD_TEST(one_that_does_not_come_back_stops_the_line),
		WORLD_TEST(cancel_takes_one_out),
		WORLD_TEST(a_cancel_that_is_refused_leaves_it_in_the_line),
		WORLD_TEST(one_that_is_removed_is_no_longer_waited_for),
		WORLD_TEST(in_a_line_jobs_are_waited_for),
		WORLD_TEST(the_line_outlives_the_head),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
