/* Jobs of an RE that keeps them (keep_jobs): a deactivation tells those that run to end, to run
 * again; all wait until the RE is activated again, in their old order, and none is lost, ended or
 * run twice meanwhile. */
#include "unit/core/pair.h"

enum { GRACE_S = 7, TIMEOUT = 60000, MARGIN = 10000, CHECKPOINT = 4000 };

static void queue_created(struct world *w, bool keep)
{
	struct phx_agreement a = agreement("queue", PHX_RE_BATCH, 2);
	a.coordination = PHX_RE_COORDINATED_NONE;
	a.partner[0] = '\0';
	a.keep_jobs = keep;
	a.kill_grace_s = GRACE_S;
	assert_int_equal(create(w, &a), 0);
}

/* An RE of two nodes, and `spare` ones beside it. */
static void queue_running(struct world *w, unsigned spare, bool keep)
{
	char name[8];
	for (unsigned i = 1; i <= 2 + spare; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		world_ready(w, name, true);
	}
	queue_created(w, keep);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
}

static struct phx_job *job(struct world *w, uint64_t id)
{
	struct phx_job *j = phx_state_job(&w->s, id);
	assert_non_null(j);
	return j;
}

static uint64_t submit_as(struct world *w, struct phx_event *ev)
{
	struct phx_outcome out = {0};
	ev->kind = PHX_EV_job_submit;
	ev->job_submit.uid = ev->job_submit.gid = 1000;
	assert_int_equal(phx_text_push(&ev->job_submit.argv, "/bin/true"), 0);
	PHX_STR_SET(ev->job_submit.user, "alice");
	PHX_STR_SET(ev->re, "queue");
	assert_int_equal(world_apply(w, ev, &out), 0);
	uint64_t id = out.job;
	phx_outcome_fini(&out);
	phx_event_fini(ev);
	return id;
}

static uint64_t submit_once(struct world *w)
{
	struct phx_event ev = {.job_submit = {.job_nodes = 1, .no_requeue = true}};
	return submit_as(w, &ev);
}

static int ends_on(struct world *w, uint64_t id, const char *node, int64_t status)
{
	struct phx_event ev = {
		.kind = PHX_EV_job_result,
		.job_result = {.job = id, .run = job(w, id)->kills, .result = status}};
	PHX_STR_SET(ev.node, node);
	return world_apply(w, &ev, NULL);
}

/* All its parts end. */
static void ends(struct world *w, uint64_t id, int64_t status)
{
	char node[4][PHX_NAME_MAX];
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_job_part, p, &job(w, id)->parts)
		PHX_STR_SET(node[n++], p->node);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(ends_on(w, id, node[i], status), 0);
}

static void tell(struct world *w, int kind, const char *node)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.text, "smells of smoke");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* Deactivates, activates or destroys; `note` is among what the RE's history has of it. */
static void order(struct world *w, int kind, const char *note)
{
	struct phx_event ev = {.kind = kind, .re_order.who = PHX_RE_WHO_SERVICE};
	struct phx_outcome out = {0};
	bool told = false;
	if (kind == PHX_EV_re_destroy)
		ev.re_order.who = PHX_RE_WHO_PROVIDER;
	ev.re_order.tells = kind == PHX_EV_re_deactivate;
	PHX_STR_SET(ev.re, "queue");
	PHX_STR_SET(ev.by, "uid:7");
	assert_int_equal(world_apply(w, &ev, &out), 0);
	PHX_LIST_EACH(struct phx_action, act, &out.actions)
		told = told || (act->kind == PHX_ACT_NOTE && !strcmp(act->text, note));
	phx_outcome_fini(&out);
	if (!told)
		fail_msg("nobody is told: %s", note);
}

static const char *why(struct world *w, uint64_t id)
{
	static char text[200];
	struct phx_job_waits waits = {.s = &w->s};
	phx_job_waits_for(&waits, job(w, id), text, sizeof(text));
	return text;
}

/* The order of the job to its node: to be killed, to run again, with its checkpoint first. */
static void told_to_run_again(struct world *w, const char *node, uint64_t id)
{
	struct phx_list orders = {0};
	bool told = false;
	world_orders(w, node, &orders);
	for (uint32_t i = 0; i < orders.n; i++) {
		struct phx_order *o = PHX_LIST_AT(&orders, struct phx_order, i);
		told = told ||
			(o->kind == PHX_ORDER_kill && o->job.id == id &&
			 phx_job_is_killed(&o->job) && o->job.checkpoint_signal == 10);
		phx_record_fini(&phx_order_record, o);
	}
	phx_list_fini(&orders);
	assert_true(told);
}

/* That it ends on one node takes its checkpoint from no other. */
static void each_part_saves(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.job_submit = {.job_nodes = 2,
					      .checkpoint_signal = 10,
					      .checkpoint_ms = CHECKPOINT}};
	char first[PHX_NAME_MAX], second[PHX_NAME_MAX];
	queue_running(w, 0, true);
	uint64_t id = submit_as(w, &ev);
	PHX_STR_SET(first, PHX_LIST_AT(&job(w, id)->parts, struct phx_job_part, 0)->node);
	PHX_STR_SET(second, PHX_LIST_AT(&job(w, id)->parts, struct phx_job_part, 1)->node);
	order(w, PHX_EV_re_deactivate,
	      "RE queue keeps 1 job until it is activated again; 1 of them runs and is told to "
	      "end");
	assert_int_equal(ends_on(w, id, first, 143), 0);
	told_to_run_again(w, second, id);
}

static void jobs_wait_over_the_summer(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.job_submit = {.job_nodes = 1,
					      .checkpoint_signal = 10,
					      .checkpoint_ms = CHECKPOINT}};
	char node[PHX_NAME_MAX];
	queue_running(w, 0, true);
	uint64_t first = submit_as(w, &ev), wide = submit(w, 2), last = submit(w, 1);
	PHX_STR_SET(node, PHX_LIST_AT(&job(w, first)->parts, struct phx_job_part, 0)->node);
	assert_int_equal(job(w, first)->state, PHX_JOB_RUNNING);
	assert_int_equal(job(w, last)->state, PHX_JOB_RUNNING);
	ends(w, last, 0);
	last = submit(w, 1);
	order(w, PHX_EV_re_deactivate,
	      "RE queue keeps 3 jobs until it is activated again; 2 of them run and are told to "
	      "end");
	told_to_run_again(w, node, first);
	assert_string_equal(why(w, wide), "kept: its RE queue is not active");
	assert_string_equal(job(w, first)->killed_by, "uid:7");
	assert_string_equal(job(w, first)->killed_why, "RE queue is deactivated, and keeps it");
	ends(w, first, 138);
	assert_int_equal(job(w, first)->state, PHX_JOB_QUEUED);
	assert_int_equal(job(w, first)->kills, 1);
	assert_true(phx_state_re(&w->s, "queue")->active); /* the other one runs still */
	assert_string_equal(why(w, first), "kept: its RE queue is not active");
	ends(w, last, 143);
	settle(w);
	assert_false(phx_state_re(&w->s, "queue")->active);
	w->now += 90LL * 24 * 3600 * 1000;
	tick(w, 0);
	assert_int_equal(held(w, "queue"), 0);
	assert_int_equal(job(w, last)->state, PHX_JOB_QUEUED);
	order(w, PHX_EV_re_activate, "3 kept jobs of RE queue wait in its queue again");
	settle(w);
	/* in their order, which first-fit follows where they fit */
	assert_int_equal(job(w, first)->state, PHX_JOB_RUNNING);
	assert_int_equal(job(w, last)->state, PHX_JOB_RUNNING);
	assert_int_equal(job(w, wide)->state, PHX_JOB_QUEUED);
	assert_false(job(w, first)->kept || job(w, last)->kept || job(w, wide)->kept);
	/* the run of before has nothing to say */
	struct phx_event old = {.kind = PHX_EV_job_result, .job_result = {.job = first}};
	PHX_STR_SET(old.node, job(w, first)->parts.n ? node : "");
	assert_int_equal(world_apply(w, &old, NULL), -ESTALE);
	ends(w, first, 0);
	ends(w, last, 0);
	assert_int_equal(job(w, wide)->state, PHX_JOB_RUNNING);
	assert_int_equal(job(w, wide)->kills, 0);
	ends(w, wide, 0);
	assert_int_equal(job(w, wide)->state, PHX_JOB_DONE);
}

static void without_it_they_end(void **state)
{
	struct world *w = *state;
	queue_running(w, 0, false);
	uint64_t runs = submit(w, 2), waits = submit(w, 1);
	order(w, PHX_EV_re_deactivate, "2 jobs of RE queue end for good");
	assert_int_equal(job(w, waits)->state, PHX_JOB_CANCELLED);
	ends(w, runs, 143);
	assert_int_equal(job(w, runs)->state, PHX_JOB_CANCELLED);
}

/* It waits like any, and ends like none. */
static void what_may_not_run_again_ends(void **state)
{
	struct world *w = *state;
	queue_running(w, 0, true);
	uint64_t runs = submit_once(w), other = submit_once(w), waits = submit_once(w);
	ends(w, other, 0);
	other = waits;
	waits = submit_once(w);
	assert_int_equal(job(w, other)->state, PHX_JOB_RUNNING);
	order(w, PHX_EV_re_deactivate, "2 jobs of RE queue end for good");
	ends(w, runs, 143);
	ends(w, other, 0);
	settle(w);
	assert_int_equal(job(w, runs)->state, PHX_JOB_CANCELLED);
	assert_int_equal(job(w, waits)->state, PHX_JOB_QUEUED);
	order(w, PHX_EV_re_activate, "1 kept job of RE queue waits in its queue again");
	settle(w);
	assert_int_equal(job(w, waits)->state, PHX_JOB_RUNNING);
}

/* One that ends its work, that breaks, or that is cancelled before it was ended. */
static void what_ended_by_itself_has_ended(void **state)
{
	struct world *w = *state;
	queue_running(w, 0, true);
	uint64_t well = submit(w, 1), away = submit(w, 1);
	order(w, PHX_EV_re_deactivate,
	      "RE queue keeps 2 jobs until it is activated again; 2 of them run and are told to "
	      "end");
	struct phx_event ev = {.kind = PHX_EV_job_cancel, .job_order.job = away};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	ends(w, well, 0);
	ends(w, away, 143);
	settle(w);
	assert_int_equal(job(w, well)->state, PHX_JOB_DONE);
	assert_int_equal(job(w, away)->state, PHX_JOB_CANCELLED);
	assert_false(job(w, well)->kept || job(w, away)->kept);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
	assert_int_equal(job(w, well)->state, PHX_JOB_DONE);
}

static void broken_ones_have_failed(void **state)
{
	struct world *w = *state;
	char first[PHX_NAME_MAX], second[PHX_NAME_MAX];
	queue_running(w, 0, true);
	uint64_t id = submit(w, 2);
	PHX_STR_SET(first, PHX_LIST_AT(&job(w, id)->parts, struct phx_job_part, 0)->node);
	PHX_STR_SET(second, PHX_LIST_AT(&job(w, id)->parts, struct phx_job_part, 1)->node);
	assert_int_equal(ends_on(w, id, first, 1), 0);
	order(w, PHX_EV_re_deactivate, "1 job of RE queue ends for good");
	assert_int_equal(ends_on(w, id, second, 143), 0);
	assert_false(phx_job_is_open(job(w, id)));
}

static int hold(struct world *w, uint64_t id, bool held)
{
	struct phx_event ev = {.kind = PHX_EV_job_hold, .job_order = {.job = id, .hold = held}};
	return world_apply(w, &ev, NULL);
}

/* Held back and let go while no ledger knows of them. */
static void they_are_held_and_cancelled_meanwhile(void **state)
{
	struct world *w = *state;
	queue_running(w, 0, true);
	uint64_t runs = submit(w, 2), held_before = submit(w, 1), held_then = submit(w, 1),
		 let_go = submit(w, 1), gone = submit(w, 1);
	assert_int_equal(hold(w, held_before, true), 0);
	assert_int_equal(hold(w, let_go, true), 0);
	order(w, PHX_EV_re_deactivate,
	      "RE queue keeps 5 jobs until it is activated again; 1 of them runs and is told to "
	      "end");
	assert_int_equal(hold(w, held_then, true), 0); /* while it gives back its nodes */
	ends(w, runs, 143);
	settle(w);
	assert_int_equal(hold(w, let_go, false), 0); /* and after */
	assert_string_equal(why(w, held_then), "held back until it is let go");
	assert_string_equal(why(w, let_go), "kept: its RE queue is not active");
	struct phx_event ev = {.kind = PHX_EV_job_cancel, .job_order.job = gone};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(job(w, gone)->state, PHX_JOB_CANCELLED);
	order(w, PHX_EV_re_activate, "4 kept jobs of RE queue wait in its queue again");
	settle(w);
	ends(w, runs, 0);
	assert_int_equal(job(w, let_go)->state, PHX_JOB_RUNNING);
	assert_int_equal(job(w, held_before)->state, PHX_JOB_QUEUED);
	assert_int_equal(job(w, held_then)->state, PHX_JOB_QUEUED);
	assert_int_equal(hold(w, held_then, false), 0);
	assert_int_equal(job(w, held_then)->state, PHX_JOB_RUNNING);
}

/* One of the array at a time, before as after. */
static void arrays_go_on_in_turn(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.job_submit = {.job_nodes = 1, .array_at_once = 1}};
	struct phx_index_row *row = phx_list_push(&ev.job_submit.array_rows, sizeof(*row));
	*row = (struct phx_index_row){1, 3, 1};
	queue_running(w, 0, true);
	uint64_t id = submit_as(w, &ev);
	order(w, PHX_EV_re_deactivate,
	      "RE queue keeps 3 jobs until it is activated again; 1 of them runs and is told to "
	      "end");
	ends(w, id, 143);
	settle(w);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	for (uint64_t i = id; i < id + 2; i++) {
		assert_int_equal(job(w, i + 1)->state, PHX_JOB_QUEUED);
		ends(w, i, 0);
		assert_int_equal(job(w, i + 1)->state, PHX_JOB_RUNNING);
	}
}

/* They are of the RE that was, and of no other of its name. */
static void destruction_cancels_them(void **state)
{
	struct world *w = *state;
	queue_running(w, 0, true);
	uint64_t runs = submit(w, 2), waits = submit(w, 1);
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	ends(w, runs, 143);
	settle(w);
	order(w, PHX_EV_re_destroy, "2 kept jobs of RE queue are cancelled");
	assert_int_equal(job(w, runs)->state, PHX_JOB_CANCELLED);
	assert_int_equal(job(w, waits)->state, PHX_JOB_CANCELLED);
	assert_string_equal(job(w, waits)->killed_why, "RE queue is destroyed");
	queue_created(w, true);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
	assert_int_equal(job(w, waits)->state, PHX_JOB_CANCELLED);
}

/* Its node is silent, and was given up, when the RE is active again, and even suspended: the job
 * joins the queue when the run has surely ended, and not before. */
static void a_silent_node_keeps_its_job_for_longer(void **state)
{
	struct world *w = *state;
	char node[PHX_NAME_MAX];
	queue_running(w, 2, true);
	uint64_t id = submit(w, 1);
	PHX_STR_SET(node, PHX_LIST_AT(&job(w, id)->parts, struct phx_job_part, 0)->node);
	tell(w, PHX_EV_missing, node);
	order(w, PHX_EV_re_deactivate,
	      "RE queue keeps 1 job until it is activated again; 1 of them runs and is told to "
	      "end");
	tell(w, PHX_EV_quarantine, node);
	settle(w);
	assert_false(phx_state_re(&w->s, "queue")->active);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	assert_int_equal(job(w, id)->kills, 0);
	assert_int_equal(operate(w, PHX_EV_re_suspend, "queue"), 0);
	tick(w, TIMEOUT + GRACE_S * 1000 + MARGIN);
	settle(w);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	assert_int_equal(job(w, id)->kills, 1);
	assert_false(job(w, id)->kept);
	assert_string_not_equal(PHX_LIST_AT(&job(w, id)->parts, struct phx_job_part, 0)->node,
				node);
	ends(w, id, 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_DONE);
}

/* The same, and the run has surely ended while the RE is deactivated, and holds no node. */
static void a_silent_job_is_kept_after_all(void **state)
{
	struct world *w = *state;
	char node[PHX_NAME_MAX];
	queue_running(w, 2, true);
	uint64_t id = submit(w, 1);
	PHX_STR_SET(node, PHX_LIST_AT(&job(w, id)->parts, struct phx_job_part, 0)->node);
	tell(w, PHX_EV_missing, node);
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	tell(w, PHX_EV_quarantine, node);
	settle(w);
	assert_false(phx_state_re(&w->s, "queue")->active);
	tick(w, TIMEOUT + GRACE_S * 1000 + MARGIN);
	assert_int_equal(job(w, id)->state, PHX_JOB_QUEUED);
	assert_true(job(w, id)->kept);
	order(w, PHX_EV_re_activate, "1 kept job of RE queue waits in its queue again");
	settle(w);
	assert_int_equal(job(w, id)->state, PHX_JOB_RUNNING);
	assert_int_equal(job(w, id)->kills, 1);
}

/* The same, and its agent tells in the end that the work is done. */
static void a_silent_job_that_was_done(void **state)
{
	struct world *w = *state;
	char node[PHX_NAME_MAX];
	queue_running(w, 0, true);
	uint64_t id = submit(w, 1);
	PHX_STR_SET(node, PHX_LIST_AT(&job(w, id)->parts, struct phx_job_part, 0)->node);
	tell(w, PHX_EV_missing, node);
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	tell(w, PHX_EV_quarantine, node);
	settle(w);
	assert_false(phx_state_re(&w->s, "queue")->active);
	assert_int_equal(ends_on(w, id, node, 0), 0);
	assert_int_equal(job(w, id)->state, PHX_JOB_DONE);
}

/* The same, and the RE is not activated any more: it is destroyed, and the run ends after it. */
static void a_silent_job_of_an_re_that_is_gone(void **state)
{
	struct world *w = *state;
	char node[PHX_NAME_MAX];
	queue_running(w, 0, true);
	uint64_t id = submit(w, 1);
	PHX_STR_SET(node, PHX_LIST_AT(&job(w, id)->parts, struct phx_job_part, 0)->node);
	tell(w, PHX_EV_missing, node);
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	tell(w, PHX_EV_quarantine, node);
	settle(w);
	order(w, PHX_EV_re_destroy, "1 kept job of RE queue is cancelled");
	queue_created(w, true);
	tick(w, TIMEOUT + GRACE_S * 1000 + MARGIN);
	assert_int_equal(job(w, id)->state, PHX_JOB_CANCELLED);
}

/* Only what runs is asked about: what waits loses nothing. */
static void waiting_jobs_need_no_consent(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_re_deactivate,
			       .re_order = {.who = PHX_RE_WHO_SERVICE, .jobs = PHX_JOBS_SPARE}};
	queue_running(w, 0, true);
	uint64_t runs = submit(w, 2);
	submit(w, 1);
	PHX_STR_SET(ev.re, "queue");
	assert_int_equal(world_apply(w, &ev, NULL), -EBUSY);
	assert_non_null(strstr(w->err.text, "has 1 job that would end, such as 1 of ?"));
	ends(w, runs, 0);
	struct phx_job *last = job(w, runs + 1);
	assert_int_equal(last->state, PHX_JOB_RUNNING);
	struct phx_job_ref *ref = phx_list_push(&ev.re_order.may_end, sizeof(*ref));
	ref->id = last->id;
	ev.re_order.jobs = PHX_JOBS_NAMED;
	submit(w, 2);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

/* Deactivated in good time, when nothing waits: there is nothing to keep, and nothing is told. */
static void safe_deactivation_keeps_nothing(void **state)
{
	struct world *w = *state;
	queue_running(w, 0, true);
	uint64_t id = submit(w, 1);
	assert_int_equal(operate(w, PHX_EV_re_safe_deactivate, "queue"), 0);
	assert_false(job(w, id)->kept);
	ends(w, id, 0);
	settle(w);
	assert_int_equal(phx_state_re(&w->s, "queue")->state, PHX_RE_STATE_DEACTIVATED);
	assert_int_equal(job(w, id)->state, PHX_JOB_DONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(jobs_wait_over_the_summer),
		WORLD_TEST(without_it_they_end),
		WORLD_TEST(what_may_not_run_again_ends),
		WORLD_TEST(what_ended_by_itself_has_ended),
		WORLD_TEST(broken_ones_have_failed),
		WORLD_TEST(each_part_saves),
		WORLD_TEST(they_are_held_and_cancelled_meanwhile),
		WORLD_TEST(arrays_go_on_in_turn),
		WORLD_TEST(destruction_cancels_them),
		WORLD_TEST(a_silent_node_keeps_its_job_for_longer),
		WORLD_TEST(a_silent_job_is_kept_after_all),
		WORLD_TEST(a_silent_job_that_was_done),
		WORLD_TEST(a_silent_job_of_an_re_that_is_gone),
		WORLD_TEST(waiting_jobs_need_no_consent),
		WORLD_TEST(safe_deactivation_keeps_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
