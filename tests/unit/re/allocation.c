/* Runtime environments in the core: what the ledger decides by count becomes
 * hand-overs of nodes and starts and ends of jobs, and what becomes of these
 * goes back to the ledger. phx_state_check() compares both after every event. */
#include "unit/core/pair.h"

#include "re/internal.h"

static struct phx_job *job(struct world *w, uint64_t id)
{
	struct phx_job *j = phx_state_job(&w->s, id);
	assert_non_null(j);
	return j;
}

/* Every open part ends with `status`. */
static void parts_end(struct world *w, uint64_t id, int64_t status)
{
	struct phx_job before;
	assert_int_equal(phx_record_copy(&phx_job_record, &before, job(w, id)), 0);
	PHX_LIST_EACH(struct phx_job_part, p, &before.parts) {
		struct phx_event ev = {
			.kind = PHX_EV_job_result,
			.job_result = {.job = id, .run = before.kills, .result = status}};
		PHX_STR_SET(ev.node, p->node);
		assert_int_equal(world_apply(w, &ev, NULL), 0);
	}
	phx_record_fini(&phx_job_record, &before);
}

static void test_lower_bounds_are_granted(void **state)
{
	struct world *w = *state;
	pair_running(w, 4, 1);
	assert_int_equal(held(w, "queue"), 4);
	assert_int_equal(held(w, "shop"), 1);
	assert_string_equal(world_node(w, "n1")->role, "compute");
}

static void test_nodes_that_come_later_are_granted(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2);
	q.coordination = PHX_RE_COORDINATED_NONE;
	q.partner[0] = '\0';
	assert_int_equal(create(w, &q), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), -ENOSPC);
	nodes_ready(w);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
	assert_int_equal(held(w, "queue"), 2);
}

/* Ready and free, and yet nobody's: one that is not heard, and one whose erase nobody has read
 * back. */
static void test_who_is_not_to_be_had_is_not_sent(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 3);
	q.coordination = PHX_RE_COORDINATED_NONE;
	q.partner[0] = '\0';
	nodes_ready(w);
	struct phx_event missing = {.kind = PHX_EV_missing, .node = "n1"};
	world_node(w, "n2")->key_unread = true;
	assert_int_equal(world_apply(w, &missing, NULL), 0);
	struct phx_event told = {.kind = PHX_EV_report, .node = "n2", .text = "it is looked at"};
	assert_int_equal(world_apply(w, &told, NULL), 0);
	assert_int_equal(create(w, &q), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	for (int i = 1; i <= 2; i++) {
		const struct phx_node *n = world_node(w, i == 1 ? "n1" : "n2");
		assert_int_equal(n->allocation, PHX_ALLOCATION_OUTSIDE);
		assert_null(phx_node_step(n));
	}
	settle(w);
	assert_int_equal(held(w, "queue"), 3);
}

static void test_web_demand_kills_and_requeues(void **state)
{
	struct world *w = *state;
	pair_running(w, 4, 1);
	uint64_t wide = submit(w, 3), narrow = submit(w, 1);
	assert_int_equal(job(w, wide)->state, PHX_JOB_RUNNING);
	assert_int_equal(job(w, narrow)->state, PHX_JOB_RUNNING);
	web_is_busy(w);
	assert_int_equal(job(w, wide)->end, PHX_JOB_END_NONE);
	assert_int_equal(job(w, narrow)->end, PHX_JOB_END_KILLED);
	assert_int_equal(held(w, "shop"), 1);
	parts_end(w, narrow, 143);
	assert_int_equal(job(w, narrow)->state, PHX_JOB_QUEUED);
	assert_int_equal(job(w, narrow)->kills, 1);
	settle(w);
	assert_int_equal(held(w, "shop"), 2);
	assert_int_equal(held(w, "queue"), 3);
	parts_end(w, wide, 0);
	assert_int_equal(job(w, wide)->state, PHX_JOB_DONE);
	assert_int_equal(job(w, narrow)->state, PHX_JOB_RUNNING);
}

static void test_job_that_ends_as_it_is_killed_is_done(void **state)
{
	struct world *w = *state;
	pair_running(w, 4, 1);
	uint64_t id = submit(w, 4);
	web_is_busy(w);
	assert_int_equal(job(w, id)->end, PHX_JOB_END_KILLED);
	parts_end(w, id, 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_DONE);
	settle(w);
	assert_int_equal(held(w, "shop"), 2);
}

static void test_node_of_a_job_breaks(void **state)
{
	struct world *w = *state;
	pair_running(w, 3, 1);
	uint64_t id = submit(w, 2);
	char broken[PHX_NAME_MAX];
	PHX_STR_SET(broken, PHX_LIST_AT(&job(w, id)->parts, struct phx_job_part, 0)->node);
	assert_int_equal(world_order(w, PHX_EV_quarantine, broken, NULL), 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING); /* both parts are told to end */
	assert_int_equal(job(w, id)->end, PHX_JOB_END_KILLED);
	assert_int_equal(world_node(w, broken)->allocation, PHX_ALLOCATION_OUTSIDE);
	parts_end(w, id, 143);
	settle(w);
	assert_int_equal(job(w, id)->kills, 1);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	assert_int_equal(world_node(w, broken)->allocation, PHX_ALLOCATION_OUTSIDE);
}

static void test_silent_node_is_replaced_and_comes_back(void **state)
{
	struct world *w = *state;
	pair_running(w, 2, 1);
	struct phx_event gone = {.kind = PHX_EV_missing}, back = {.kind = PHX_EV_back};
	char name[PHX_NAME_MAX] = "";
	PHX_NODES_EACH(n, &w->s)
		if (!strcmp(n->pool, "shop"))
			PHX_STR_SET(name, n->name);
	PHX_STR_SET(gone.node, name);
	PHX_STR_SET(back.node, name);
	assert_int_equal(world_apply(w, &gone, NULL), 0);
	settle(w);
	assert_int_equal(world_node(w, name)->allocation, PHX_ALLOCATION_AWAY);
	tick(w, 300000);
	settle(w);
	assert_int_equal(world_node(w, name)->allocation, PHX_ALLOCATION_OUTSIDE);
	assert_int_equal(held(w, "shop"), 1);
	assert_int_equal(world_apply(w, &back, NULL), 0);
	settle(w);
	assert_int_equal(held(w, "shop"), 1);
	assert_true(world_node(w, name)->allocation == PHX_ALLOCATION_FREE ||
		    world_node(w, name)->allocation == PHX_ALLOCATION_HELD);
}

static void test_node_lost_on_its_way(void **state)
{
	struct world *w = *state;
	pair_running(w, 3, 1);
	web_is_busy(w);
	const struct phx_node *coming = NULL;
	PHX_NODES_EACH(n, &w->s)
		coming = n->allocation == PHX_ALLOCATION_COMING ? n : coming;
	assert_non_null(coming);
	char name[PHX_NAME_MAX];
	PHX_STR_SET(name, coming->name);
	assert_int_equal(world_order(w, PHX_EV_quarantine, name, NULL), 0);
	assert_int_equal(world_node(w, name)->allocation, PHX_ALLOCATION_OUTSIDE);
	settle(w);
	assert_int_equal(held(w, "shop"), 2); /* another one is sent */
}

static void test_pinned_node_is_out_of_reach(void **state)
{
	struct world *w = *state;
	nodes_ready(w);
	struct phx_event pin = {.kind = PHX_EV_assign, .order.pin = true};
	PHX_STR_SET(pin.node, "n1");
	PHX_STR_SET(pin.order.role, "ramweb");
	assert_int_equal(world_apply(w, &pin, NULL), 0);
	settle(w);
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 5);
	q.coordination = PHX_RE_COORDINATED_NONE;
	q.partner[0] = '\0';
	assert_int_equal(create(w, &q), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), -ENOSPC);
	assert_string_equal(world_node(w, "n1")->role, "ramweb");
	assert_int_equal(world_node(w, "n1")->allocation, PHX_ALLOCATION_OUTSIDE);
}

static void assign(struct world *w, const char *node, const char *role, const char *pool, bool pin)
{
	struct phx_event ev = {.kind = PHX_EV_assign, .order.pin = pin};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.order.role, role);
	PHX_STR_SET(ev.order.pool, pool);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* A node of an RE is pinned where it is; the RE gets another one, or lacks it. */
static void test_pin_stays_in_place(void **state)
{
	struct world *w = *state;
	pair_running(w, 3, 1);
	assign(w, "n1", "compute", "", true);
	assert_null(phx_node_step(world_node(w, "n1"))); /* nothing has to be done for it */
	settle(w);
	assert_string_equal(world_node(w, "n1")->pool, "queue");
	assert_int_equal(world_node(w, "n1")->allocation, PHX_ALLOCATION_OUTSIDE);
	/* it is the RE's all the same */
	assert_false(phx_node_takes_jobs(&w->s, world_node(w, "n1")));
	tick(w, 60000);
	settle(w);
	assert_int_equal(held(w, "queue"), 3);
	/* while the order is carried out */
	assign(w, "n2", "ramweb", "", false);
	assert_non_null(phx_node_step(world_node(w, "n2")));
	assign(w, "n2", "ramweb", "", true);
	assert_true(world_node(w, "n2")->pinned);
}

static void test_pin_ends_with_the_next_order(void **state)
{
	struct world *w = *state;
	nodes_ready(w);
	assign(w, "n1", "ramweb", "", true);
	settle(w);
	assert_true(world_node(w, "n1")->pinned);
	assert_int_equal(world_order(w, PHX_EV_rebuild, "n1", NULL), 0);
	settle(w);
	assert_true(world_node(w, "n1")->pinned);
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	settle(w);
	assert_false(world_node(w, "n1")->pinned);
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 5);
	q.coordination = PHX_RE_COORDINATED_NONE;
	q.partner[0] = '\0';
	assert_int_equal(create(w, &q), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0); /* it counts again */
	settle(w);
	assign(w, "n2", "compute", "", true);
	assign(w, "n2", "compute", "queue", false);
	settle(w);
	assert_false(world_node(w, "n2")->pinned);
	tick(w, 60000);
	settle(w);
	assert_int_equal(world_node(w, "n2")->allocation, PHX_ALLOCATION_HELD);
	assert_int_equal(held(w, "queue"), 5);
}

/* Pinned while its job runs: when that is killed for the web, the node stays all the same, and the
 * next job has to go. */
static void test_pinned_with_a_job_stays(void **state)
{
	struct world *w = *state;
	char node[PHX_NAME_MAX];
	pair_running(w, 3, 1);
	submit(w, 1);
	uint64_t second = submit(w, 1), last = submit(w, 1);
	PHX_STR_SET(node, PHX_LIST_AT(&job(w, last)->parts, struct phx_job_part, 0)->node);
	assign(w, node, "compute", "", true);
	assert_int_equal(job(w, last)->state, PHX_JOB_RUNNING);
	assert_int_equal(job(w, last)->end, PHX_JOB_END_NONE);
	web_is_busy(w);
	assert_int_equal(job(w, last)->end, PHX_JOB_END_KILLED);
	parts_end(w, last, 143);
	settle(w);
	assert_string_equal(world_node(w, node)->pool, "queue");
	assert_string_equal(world_node(w, node)->role, "compute");
	assert_int_equal(world_node(w, node)->allocation, PHX_ALLOCATION_OUTSIDE);
	if (held(w, "shop") == 1) { /* none was free */
		assert_int_equal(job(w, second)->end, PHX_JOB_END_KILLED);
		parts_end(w, second, 143);
		settle(w);
	}
	assert_int_equal(held(w, "shop"), 2);
	assert_string_equal(world_node(w, node)->role, "compute");
}

static void test_destroy_tells_of_a_pin(void **state)
{
	struct world *w = *state;
	pair_running(w, 3, 1);
	assign(w, "n1", "compute", "", true);
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	settle(w);
	assert_int_equal(operate(w, PHX_EV_re_destroy, "queue"), -EINVAL);
	assert_non_null(strstr(w->err.text, "n1, which is pinned"));
	assert_int_equal(world_order(w, PHX_EV_release, "n1", NULL), 0);
	settle(w);
	assert_int_equal(operate(w, PHX_EV_re_destroy, "queue"), 0);
}

/* The web keeps an instance at least, and as many as its lower bound: what is wider would wait for
 * ever. */
static void test_job_wider_than_the_web_leaves(void **state)
{
	struct world *w = *state;
	pair_running(w, 3, 2);
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.job_nodes = 4, .uid = 1000, .gid = 1000}};
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "/bin/true"), 0);
	PHX_STR_SET(ev.re, "queue");
	assert_int_equal(world_apply(w, &ev, NULL), -E2BIG);
	assert_non_null(strstr(w->err.text, "can never have more than 3"));
	phx_event_fini(&ev);
	assert_int_equal(job(w, submit(w, 3))->state, PHX_JOB_RUNNING);
}

static void test_web_never_below_its_lower_bound(void **state)
{
	struct world *w = *state;
	pair_running(w, 3, 2);
	for (int i = 0; i < 3; i++) {
		struct phx_event ev = {.kind = PHX_EV_re_use, .re_use.use_ppm = 1000};
		PHX_STR_SET(ev.re, "shop");
		assert_int_equal(world_apply(w, &ev, NULL), 0);
		tick(w, 20000);
		settle(w);
		assert_int_equal(held(w, "shop"), 2);
	}
}

static void test_order_by_hand_takes_a_node_out(void **state)
{
	struct world *w = *state;
	pair_running(w, 4, 1);
	assert_int_equal(world_order(w, PHX_EV_assign, "n2", "ramweb"), 0);
	settle(w);
	assert_string_equal(world_node(w, "n2")->role, "ramweb");
	assert_int_equal(world_node(w, "n2")->allocation, PHX_ALLOCATION_OUTSIDE);
	assert_int_equal(world_order(w, PHX_EV_release, "n2", NULL), 0);
	settle(w);
	assert_int_not_equal(world_node(w, "n2")->allocation, PHX_ALLOCATION_OUTSIDE);
}

static void test_safe_deactivation_waits_for_jobs(void **state)
{
	struct world *w = *state;
	pair_running(w, 4, 1);
	uint64_t running = submit(w, 4), waiting = submit(w, 1);
	assert_int_equal(operate(w, PHX_EV_re_safe_deactivate, "queue"), 0);
	assert_int_equal(phx_state_re(&w->s, "queue")->state, PHX_RE_STATE_SUSPENDED);
	struct phx_event late = {.kind = PHX_EV_job_submit,
				 .job_submit = {.job_nodes = 1, .uid = 1, .gid = 1}};
	assert_int_equal(phx_text_push(&late.job_submit.argv, "true"), 0);
	PHX_STR_SET(late.re, "queue");
	assert_int_equal(world_apply(w, &late, NULL), -EBUSY);
	phx_event_fini(&late);
	parts_end(w, running, 0);
	assert_int_equal(job(w, waiting)->state, PHX_JOB_RUNNING);
	parts_end(w, waiting, 0);
	assert_int_equal(phx_state_re(&w->s, "queue")->state, PHX_RE_STATE_DEACTIVATED);
	settle(w);
	assert_false(phx_state_re(&w->s, "queue")->active);
	assert_int_equal(held(w, "queue"), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
}

static void test_deactivation_kills(void **state)
{
	struct world *w = *state;
	pair_running(w, 4, 1);
	uint64_t running = submit(w, 4), waiting = submit(w, 1);
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	assert_int_equal(job(w, waiting)->state, PHX_JOB_CANCELLED);
	parts_end(w, running, 143);
	assert_int_equal(job(w, running)->state, PHX_JOB_CANCELLED);
	settle(w);
	assert_false(phx_state_re(&w->s, "queue")->active);
}

static void test_destroy(void **state)
{
	struct world *w = *state;
	pair_running(w, 2, 1);
	assert_int_equal(operate(w, PHX_EV_re_destroy, "shop"), -EINVAL);
	assert_non_null(strstr(w->err.text, "running"));
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "shop"), 0);
	settle(w);
	PHX_NODES_EACH(n, &w->s)
		if (!strcmp(n->tenant_pool, "shop"))
			assert_int_equal(world_order(w, PHX_EV_wipe, n->name, NULL), 0);
	settle(w);
	assert_int_equal(operate(w, PHX_EV_re_destroy, "shop"), 0);
	assert_null(phx_state_re(&w->s, "shop"));
	assert_null(phx_state_pool(&w->s, "shop"));
}

static void test_refusals(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2);
	struct phx_event ev = {.kind = PHX_EV_re_create,
			       .ask = {.who = PHX_RE_WHO_SERVICE, .agreement = q}};
	assert_int_equal(world_apply(w, &ev, NULL), -EPERM);
	PHX_STR_SET(q.role, "nosuch");
	assert_int_equal(create(w, &q), -ENOENT);
	PHX_STR_SET(q.role, "web");
	assert_int_equal(create(w, &q), -EINVAL);
	PHX_STR_SET(q.role, "compute");
	PHX_STR_SET(q.name, "batch");
	assert_int_equal(create(w, &q), -EEXIST);
	PHX_STR_SET(q.name, "queue");
	q.upper = 1;
	assert_int_equal(create(w, &q), -EINVAL);
	assert_non_null(strstr(w->err.text, "upper"));
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), -ENOENT);
	q.upper = 2;
	assert_int_equal(create(w, &q), 0);
	assert_int_equal(create(w, &q), -EEXIST);
	assert_int_equal(operate(w, PHX_EV_re_suspend, "queue"), -EINVAL);
	struct phx_event rm = {.kind = PHX_EV_pool_remove};
	PHX_STR_SET(rm.named.name, "queue");
	assert_int_equal(world_apply(w, &rm, NULL), -EBUSY);
}

/* A state that went through its record decides as the one it was taken from. */
static void test_restored_state_goes_on(void **state)
{
	struct world *w = *state;
	pair_running(w, 4, 1);
	uint64_t wide = submit(w, 3), narrow = submit(w, 1);
	struct phx_state copy;
	assert_int_equal(phx_record_copy(&phx_state_record, &copy, &w->s), 0);
	assert_true(phx_record_equal(&phx_state_record, &copy, &w->s));
	phx_state_fini(&w->s);
	w->s = copy;
	web_is_busy(w);
	assert_int_equal(job(w, wide)->end, PHX_JOB_END_NONE);
	assert_int_equal(job(w, narrow)->end, PHX_JOB_END_KILLED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(test_lower_bounds_are_granted),
		WORLD_TEST(test_nodes_that_come_later_are_granted),
		WORLD_TEST(test_who_is_not_to_be_had_is_not_sent),
		WORLD_TEST(test_web_demand_kills_and_requeues),
		WORLD_TEST(test_job_that_ends_as_it_is_killed_is_done),
		WORLD_TEST(test_node_of_a_job_breaks),
		WORLD_TEST(test_silent_node_is_replaced_and_comes_back),
		WORLD_TEST(test_node_lost_on_its_way),
		WORLD_TEST(test_pinned_node_is_out_of_reach),
		WORLD_TEST(test_pin_stays_in_place),
		WORLD_TEST(test_pinned_with_a_job_stays),
		WORLD_TEST(test_destroy_tells_of_a_pin),
		WORLD_TEST(test_job_wider_than_the_web_leaves),
		WORLD_TEST(test_web_never_below_its_lower_bound),
		WORLD_TEST(test_pin_ends_with_the_next_order),
		WORLD_TEST(test_order_by_hand_takes_a_node_out),
		WORLD_TEST(test_safe_deactivation_waits_for_jobs),
		WORLD_TEST(test_deactivation_kills),
		WORLD_TEST(test_destroy),
		WORLD_TEST(test_refusals),
		WORLD_TEST(test_restored_state_goes_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
