/* No job ever runs twice at once: parts on silent nodes wait for their heartbeat timeout, for the
 * observed off or for a new start; what an older run tells is refused. */
#include "unit/core/world.h"

enum { TIMEOUT = 60000, GRACE = 7000, MARGIN = 10000, WAIT = TIMEOUT + GRACE + MARGIN };

static void settle(struct world *w)
{
	for (bool moved = true; moved;) {
		moved = false;
		for (uint32_t i = 0; i < w->s.nodes.n; i++) {
			char name[PHX_NAME_MAX];
			PHX_STR_SET(name, PHX_LIST_AT(&w->s.nodes, struct phx_node, i)->name);
			moved = world_step(w, name) || moved;
		}
	}
}

/* A batch RE of `lower` nodes that runs, and `spare` nodes beside it. */
static void queue_running(struct world *w, uint32_t lower, unsigned spare)
{
	struct phx_event ev = {.kind = PHX_EV_re_create, .ask.who = PHX_RE_WHO_PROVIDER};
	struct phx_event on = {.kind = PHX_EV_re_activate, .re_order.who = PHX_RE_WHO_SERVICE};
	char name[8];
	for (unsigned i = 1; i <= lower + spare; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		world_ready(w, name, true);
	}
	phx_agreement_init(&ev.ask.agreement);
	PHX_STR_SET(ev.ask.agreement.name, "queue");
	PHX_STR_SET(ev.ask.agreement.owner, "hpc");
	PHX_STR_SET(ev.ask.agreement.role, "compute");
	ev.ask.agreement.lower = ev.ask.agreement.upper = lower;
	ev.ask.agreement.kill_grace_s = GRACE / 1000;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	PHX_STR_SET(on.re, "queue");
	assert_int_equal(world_apply(w, &on, NULL), 0);
	settle(w);
}

static uint64_t submit_as(struct world *w, struct phx_event *ev)
{
	struct phx_outcome out = {0};
	ev->kind = PHX_EV_job_submit;
	ev->job_submit.uid = ev->job_submit.gid = 1000;
	assert_int_equal(phx_text_push(&ev->job_submit.argv, "/bin/true"), 0);
	PHX_STR_SET(ev->re, "queue");
	assert_int_equal(world_apply(w, ev, &out), 0);
	uint64_t id = out.job;
	phx_outcome_fini(&out);
	phx_event_fini(ev);
	return id;
}

static uint64_t submit(struct world *w, uint32_t nodes)
{
	struct phx_event ev = {.job_submit.job_nodes = nodes};
	return submit_as(w, &ev);
}

static struct phx_job *job(struct world *w, uint64_t id)
{
	struct phx_job *j = phx_state_job(&w->s, id);
	assert_non_null(j);
	return j;
}

static const char *node_of(struct world *w, uint64_t id, uint32_t part)
{
	static char name[4][PHX_NAME_MAX];
	static unsigned i;
	char *ret = name[i++ % 4];
	phx_str_copy(ret, PHX_NAME_MAX,
		     PHX_LIST_AT(&job(w, id)->parts, struct phx_job_part, part)->node);
	return ret;
}

static int result(struct world *w, uint64_t id, uint32_t run, const char *node, int64_t status)
{
	struct phx_event ev = {.kind = PHX_EV_job_result,
			       .job_result = {.job = id, .run = run, .result = status}};
	PHX_STR_SET(ev.node, node);
	return world_apply(w, &ev, NULL);
}

static void tell(struct world *w, int kind, const char *node)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void power(struct world *w, const char *node, int known)
{
	struct phx_event ev = {.kind = PHX_EV_power_result, .answer.power = known};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void tick(struct world *w, int64_t ms)
{
	struct phx_event ev = {.kind = PHX_EV_tick};
	w->now += ms;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* ---- silence ---- */

static void missing_then_timeout_then_again(void **state)
{
	struct world *w = *state;
	queue_running(w, 2, 1);
	uint64_t id = submit(w, 1);
	const char *node = node_of(w, id, 0);
	assert_int_equal(job(w, id)->heartbeat_timeout_ms, TIMEOUT);
	tell(w, PHX_EV_missing, node);
	assert_int_equal(phx_core_next_deadline(&w->s) <= w->now + WAIT, 1);
	tick(w, WAIT - 1);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	assert_int_equal(job(w, id)->kills, 0);
	tick(w, 1);
	settle(w);
	assert_int_equal(job(w, id)->kills, 1);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	assert_string_not_equal(node_of(w, id, 0), node);
	/* it comes back, with what it has to say of the first run */
	tell(w, PHX_EV_back, node);
	assert_int_equal(result(w, id, 0, node, 137), -ESTALE);
	assert_non_null(strstr(w->err.text, "run 0"));
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	assert_int_equal(result(w, id, 1, node_of(w, id, 0), 0), 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_DONE);
}

/* The head's clock was set an hour on while phxd was away; the agent's timeout runs by its own. */
static void silence_begins_anew_with_phxd(void **state)
{
	struct world *w = *state;
	queue_running(w, 2, 1);
	uint64_t id = submit(w, 1);
	struct phx_event again = {.kind = PHX_EV_restart};
	struct phx_outcome out = {0};
	assert_int_equal(world_apply(w, &again, &out), 0);
	assert_false(out.changed); /* nothing is silent */
	phx_outcome_fini(&out);
	tell(w, PHX_EV_missing, node_of(w, id, 0));
	w->now += 3600 * 1000;
	assert_int_equal(world_apply(w, &again, NULL), 0);
	tick(w, WAIT - 1);
	assert_int_equal(job(w, id)->kills, 0);
	tick(w, 1);
	assert_int_equal(job(w, id)->kills, 1);
}

static void missing_then_seen_off_at_once(void **state)
{
	struct world *w = *state;
	queue_running(w, 2, 1);
	uint64_t id = submit(w, 1);
	const char *node = node_of(w, id, 0);
	tell(w, PHX_EV_missing, node);
	power(w, node, PHX_POWER_UNKNOWN);
	power(w, node, PHX_POWER_IS_ON);
	assert_int_equal(job(w, id)->kills, 0);
	power(w, node, PHX_POWER_IS_OFF);
	assert_int_equal(job(w, id)->kills, 1);
	assert_string_not_equal(node_of(w, id, 0), node);
}

static void back_before_the_end_goes_on(void **state)
{
	struct world *w = *state;
	queue_running(w, 2, 0);
	uint64_t id = submit(w, 1);
	const char *node = node_of(w, id, 0);
	tell(w, PHX_EV_missing, node);
	tick(w, WAIT - 1);
	tell(w, PHX_EV_back, node);
	tick(w, 10 * WAIT);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	assert_int_equal(job(w, id)->kills, 0);
	/* silent again: the timeout counts anew */
	tell(w, PHX_EV_missing, node);
	tick(w, WAIT - 1);
	assert_int_equal(job(w, id)->kills, 0);
	assert_int_equal(result(w, id, 0, node, 0), 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_DONE);
}

static void a_silent_node_that_is_told_off_wrongly(void **state)
{
	struct world *w = *state;
	queue_running(w, 2, 0);
	uint64_t id = submit(w, 1);
	const char *node = node_of(w, id, 0);
	power(w, node, PHX_POWER_IS_OFF); /* it was heard a moment ago */
	assert_int_equal(job(w, id)->kills, 0);
	assert_false(world_node(w, node)->up);
	tell(w, PHX_EV_back, node);
	tick(w, 2 * WAIT);
	assert_int_equal(job(w, id)->kills, 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
}

/* Its job waits for no timeout: the BMC and the silence say the same. */
static void switched_off_and_silent(void **state)
{
	struct world *w = *state;
	queue_running(w, 2, 1);
	uint64_t id = submit(w, 1);
	const char *node = node_of(w, id, 0);
	int64_t wait = w->s.settings.missing_after_ms;
	assert_true(wait < WAIT);
	power(w, node, PHX_POWER_IS_OFF); /* it was heard a moment ago */
	tick(w, wait - 1);
	assert_int_equal(job(w, id)->kills, 0);
	tick(w, 1);
	assert_int_equal(job(w, id)->kills, 1);
	assert_string_not_equal(node_of(w, id, 0), node);
}

static void all_of_a_job_or_none(void **state)
{
	struct world *w = *state;
	struct phx_list orders = {0};
	queue_running(w, 3, 0);
	uint64_t id = submit(w, 2);
	const char *silent = node_of(w, id, 0), *other = node_of(w, id, 1);
	tell(w, PHX_EV_missing, silent);
	tick(w, WAIT);
	assert_int_equal(job(w, id)->kills, 0); /* the other part still runs */
	world_orders(w, other, &orders);
	assert_int_equal(orders.n, 1);
	struct phx_order *o = orders.items;
	assert_int_equal(o->kind, PHX_ORDER_kill);
	assert_int_equal(o->run, 0);
	assert_int_equal(o->job.end, PHX_JOB_END_KILLED);
	phx_record_fini(&phx_order_record, o);
	phx_list_fini(&orders);
	assert_int_equal(result(w, id, 0, other, 143), 0);
	assert_int_equal(job(w, id)->kills, 1);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING); /* two of three nodes are left */
}

static void a_longer_goodbye_is_waited_for(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.job_submit = {.grace_ms = 20000,
					      .job_nodes = 1,
					      .checkpoint_signal = 10,
					      .checkpoint_ms = 30000}};
	queue_running(w, 2, 0);
	uint64_t id = submit_as(w, &ev);
	assert_int_equal(job(w, id)->checkpoint_signal, 10);
	tell(w, PHX_EV_missing, node_of(w, id, 0));
	tick(w, TIMEOUT + 50000 + MARGIN - 1);
	assert_int_equal(job(w, id)->kills, 0);
	tick(w, 1);
	assert_int_equal(job(w, id)->kills, 1);
}

/* The agent of a run has been told one timeout; another setting counts from the next run on. */
static void timeout_is_that_of_the_start(void **state)
{
	struct world *w = *state;
	queue_running(w, 2, 0);
	uint64_t id = submit(w, 1);
	struct phx_event set = {.kind = PHX_EV_settings, .site.settings = w->s.settings};
	set.site.settings.job_heartbeat_timeout_ms = 20000;
	assert_int_equal(world_apply(w, &set, NULL), 0);
	tell(w, PHX_EV_missing, node_of(w, id, 0));
	tick(w, WAIT - 1);
	assert_int_equal(job(w, id)->kills, 0);
	tick(w, 1);
	assert_int_equal(job(w, id)->kills, 1);
	assert_int_equal(job(w, id)->heartbeat_timeout_ms, 20000);
	set.site.settings.job_heartbeat_timeout_ms = 0;
	assert_int_equal(world_apply(w, &set, NULL), 0);
	assert_int_equal(w->s.settings.job_heartbeat_timeout_ms, TIMEOUT);
}

/* ---- ends by force ---- */

static void an_agents_own_kill_is_no_end(void **state)
{
	struct world *w = *state;
	queue_running(w, 2, 0);
	uint64_t id = submit(w, 1);
	struct phx_event ev = {.kind = PHX_EV_job_result,
			       .job_result = {.job = id, .result = 137, .forced = true}};
	PHX_STR_SET(ev.node, node_of(w, id, 0));
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(job(w, id)->kills, 1);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	assert_int_equal(world_apply(w, &ev, NULL), -ESTALE);
	/* it came to its own end in that moment */
	ev.job_result.run = 1;
	ev.job_result.result = 0;
	PHX_STR_SET(ev.node, node_of(w, id, 0));
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_DONE);
}

static void usage_is_told_with_the_end(void **state)
{
	struct world *w = *state;
	queue_running(w, 2, 0);
	uint64_t id = submit(w, 2);
	struct phx_event ev = {
		.kind = PHX_EV_job_result,
		.job_result = {.job = id, .cpu_ms = 1234, .memory_peak_bytes = 5 << 20}};
	PHX_STR_SET(ev.node, node_of(w, id, 1));
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	const struct phx_job_part *p = PHX_LIST_AT(&job(w, id)->parts, struct phx_job_part, 1);
	assert_int_equal(p->cpu_ms, 1234);
	assert_int_equal(p->memory_peak_bytes, 5 << 20);
	assert_int_equal(PHX_LIST_AT(&job(w, id)->parts, struct phx_job_part, 0)->cpu_ms, 0);
}

/* Whatever else ends a run that its user has cancelled, he has cancelled it. */
static void cancelled_it_stays(void **state)
{
	struct world *w = *state;
	struct phx_event cancel = {.kind = PHX_EV_job_cancel};
	queue_running(w, 3, 0);
	uint64_t id = submit(w, 2);
	const char *silent = node_of(w, id, 0), *other = node_of(w, id, 1);
	cancel.job_order.job = id;
	assert_int_equal(world_apply(w, &cancel, NULL), 0);
	tell(w, PHX_EV_missing, silent);
	tick(w, WAIT);
	assert_int_equal(job(w, id)->end, PHX_JOB_END_CANCELLED);
	assert_string_equal(job(w, id)->killed_by, "");
	assert_int_equal(result(w, id, 0, other, 143), 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_CANCELLED);
	assert_int_equal(job(w, id)->kills, 0);
}

/* ---- nodes that are given up ---- */

static void quarantined_while_silent(void **state)
{
	struct world *w = *state;
	queue_running(w, 2, 1);
	uint64_t id = submit(w, 1);
	const char *node = node_of(w, id, 0);
	tell(w, PHX_EV_missing, node);
	tick(w, 1000);
	assert_int_equal(world_order(w, PHX_EV_quarantine, node, NULL), 0);
	settle(w);
	assert_int_equal(world_node(w, node)->allocation, PHX_ALLOCATION_OUTSIDE);
	assert_int_equal(job(w, id)->kills, 0); /* it may run on */
	tick(w, WAIT - 1000);
	assert_int_equal(job(w, id)->kills, 1);
	assert_int_equal(world_node(w, node)->jobs_running, 0);
}

static void removal_waits_for_jobs(void **state)
{
	struct world *w = *state;
	queue_running(w, 2, 1);
	uint64_t id = submit(w, 1);
	char node[PHX_NAME_MAX];
	PHX_STR_SET(node, node_of(w, id, 0));
	assert_int_equal(world_order(w, PHX_EV_quarantine, node, NULL), 0);
	struct phx_event rm = {.kind = PHX_EV_node_remove};
	PHX_STR_SET(rm.node, node);
	assert_int_equal(world_apply(w, &rm, NULL), -EBUSY);
	rm.order.force = true;
	assert_int_equal(world_apply(w, &rm, NULL), 0);
	assert_int_equal(job(w, id)->kills, 1);
}

/* What the agreement says, for a job that says nothing. */
static void grace_of_the_re(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.job_submit = {.grace_ms = 1000, .job_nodes = 1}};
	queue_running(w, 2, 0);
	assert_int_equal(job(w, submit(w, 1))->grace_ms, GRACE);
	assert_int_equal(job(w, submit_as(w, &ev))->grace_ms, 1000);
}

static void submissions_that_ask_too_much(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {
		.kind = PHX_EV_job_submit,
		.job_submit = {.uid = 1, .gid = 1, .job_nodes = 1, .grace_ms = 3600001}};
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "true"), 0);
	assert_int_equal(world_apply(w, &ev, NULL), -EINVAL);
	ev.job_submit.grace_ms = 0;
	ev.job_submit.checkpoint_signal = 65;
	assert_int_equal(world_apply(w, &ev, NULL), -EINVAL);
	assert_non_null(strstr(w->err.text, "signal"));
	ev.job_submit.checkpoint_signal = 0;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(missing_then_timeout_then_again),
		WORLD_TEST(silence_begins_anew_with_phxd),
		WORLD_TEST(missing_then_seen_off_at_once),
		WORLD_TEST(back_before_the_end_goes_on),
		WORLD_TEST(a_silent_node_that_is_told_off_wrongly),
		WORLD_TEST(switched_off_and_silent),
		WORLD_TEST(all_of_a_job_or_none),
		WORLD_TEST(a_longer_goodbye_is_waited_for),
		WORLD_TEST(timeout_is_that_of_the_start),
		WORLD_TEST(an_agents_own_kill_is_no_end),
		WORLD_TEST(usage_is_told_with_the_end),
		WORLD_TEST(cancelled_it_stays),
		WORLD_TEST(quarantined_while_silent),
		WORLD_TEST(removal_waits_for_jobs),
		WORLD_TEST(grace_of_the_re),
		WORLD_TEST(submissions_that_ask_too_much),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
