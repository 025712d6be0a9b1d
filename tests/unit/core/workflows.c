/* Runs of workflows in the core: nodes are obtained as tasks wait, tasks are given to nodes by
 * their room, results are counted once, lost nodes give back what they had; and a state that was
 * saved and restored goes on as the one that was not. */
#include "unit/core/runs.h"

#include "base/rng.h"

/* a, then b and c beside each other, then d: each runs once. */
static void diamond_is_done(void **state)
{
	struct world *w = *state;
	mtc_running(w, 1);
	uint64_t id = submit_flow(w, 4, "=1,0,0,0,0\n 1\n 2\n 2:1\n");
	assert_int_equal(run_of(w, id)->n_ready, 1);
	tick(w, 1000);
	const char *node = n_on(w, "n1") ? "n1" : NULL;
	for (unsigned i = 2; !node && i <= NODES; i++) {
		static char name[8];
		snprintf(name, sizeof(name), "n%u", i);
		node = n_on(w, name) ? name : NULL;
	}
	assert_non_null(node);
	assert_int_equal(end_all(w, node, PHX_TASK_EXITED, 0), 1);
	assert_int_equal(n_on(w, node), 2); /* b and c, where a ran */
	assert_int_equal(end_all(w, node, PHX_TASK_EXITED, 0), 2);
	assert_int_equal(n_on(w, node), 1);
	assert_int_equal(end_all(w, node, PHX_TASK_EXITED, 0), 1);
	assert_int_equal(run_of(w, id)->status, PHX_FLOW_COMPLETE);
	assert_int_equal(run_of(w, id)->n_runs, 4);
	assert_null(run_of(w, id)->live);
	/* its worker is gone soon */
	tick(w, PHX_WORKER_IDLE_MS);
	struct phx_ledger_counts c;
	phx_ledger_counts(w->s.ledger, (int)phx_state_re(&w->s, "mtc")->number, &c);
	assert_int_equal(c.batch.n_running + c.batch.n_waiting, 0);
	assert_int_equal(held(w, "mtc"), 1);
}

/* Tasks that wait bring nodes (DR), at most twice the cores of a node are given to it. */
static void waiting_tasks_bring_nodes(void **state)
{
	struct world *w = *state;
	mtc_running(w, 1);
	uint64_t id = submit_flow(w, 100, "=1,0,0,0,0\n*99\n");
	tick(w, 1000);
	tick(w, 1000);
	settle(w);
	tick(w, 1000);
	assert_int_equal(held(w, "mtc"), NODES);
	for (unsigned i = 1; i <= NODES; i++) {
		char name[8];
		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(n_on(w, name), 4);
	}
	assert_int_equal(run_of(w, id)->n_running, 4 * NODES);
	finish(w, id);
	assert_int_equal(run_of(w, id)->n_runs, 100);
	/* leases end, and the nodes that were obtained go back */
	for (unsigned i = 0; i < 3; i++) {
		tick(w, 3600 * 1000);
		settle(w);
	}
	assert_int_equal(held(w, "mtc"), 1);
}

/* Whole nodes, memory: what does not fit beside another waits. */
static void room_is_kept(void **state)
{
	struct world *w = *state;
	mtc_running(w, 1);
	struct phx_outcome out = {0};
	assert_int_equal(submit_as(w, "mtc", 1000, 1, "=3,0,0,0,0\n", &out), -E2BIG);
	assert_non_null(strstr(w->err.text, "no node has more than 2"));
	submit_flow(w, 2, "=0,0,0,0,0\n*1\n");
	tick(w, 1000);
	uint32_t most = 0;
	for (unsigned i = 1; i <= NODES; i++) {
		char name[8];
		snprintf(name, sizeof(name), "n%u", i);
		most = n_on(w, name) > most ? n_on(w, name) : most;
	}
	assert_int_equal(most, 2); /* one runs, one waits there */
}

/* A worker that begins and gets nothing to do is counted as idle in that very event: the next one
 * may be long in coming. */
static void no_worker_is_forgotten(struct world *w)
{
	PHX_LIST_EACH(struct phx_job, j, &w->s.jobs) {
		if (!j->worker || j->state != PHX_JOB_RUNNING)
			continue;
		const char *node = PHX_LIST_AT(&j->parts, struct phx_job_part, 0)->node;
		assert_int_equal(j->idle_ms != 0, n_on(w, node) == 0);
	}
}

static void idle_from_the_beginning(void **state)
{
	struct world *w = *state;
	mtc_running(w, 1);
	submit_flow(w, 2, "=0,0,0,0,0\n*1\n"); /* both on one node; another one comes in vain */
	uint32_t n_workers = 0;
	for (unsigned i = 0; i < 100; i++) {
		char name[8];
		snprintf(name, sizeof(name), "n%u", 1 + i % NODES);
		if (i % 10 == 0)
			tick(w, 1000);
		world_step(w, name);
		no_worker_is_forgotten(w);
	}
	PHX_LIST_EACH(struct phx_job, j, &w->s.jobs)
		n_workers += j->worker && j->started_ms;
	assert_true(n_workers >= 2);
}

/* A result that is told twice, of another attempt or of another node counts for nothing. */
static void results_count_once(void **state)
{
	struct world *w = *state;
	mtc_running(w, 1);
	uint64_t id = submit_flow(w, 3, "=1,0,0,1,0\n*2\n");
	tick(w, 1000);
	const char *node = first_with_tasks(w);
	struct phx_event ev = {.kind = PHX_EV_task_results}, other = ev;
	struct phx_list l = on(w, node);
	push_row(&ev, PHX_LIST_AT(&l, struct phx_task_given, 0), PHX_TASK_EXITED, 1);
	push_row(&ev, PHX_LIST_AT(&l, struct phx_task_given, 0), PHX_TASK_EXITED, 1);
	push_row(&other, PHX_LIST_AT(&l, struct phx_task_given, 1), PHX_TASK_EXITED, 0);
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(other.node, strcmp(node, "n5") ? "n5" : "n4");
	uint64_t seq = w->s.seq;
	assert_int_equal(world_apply(w, &other, NULL), 0);
	assert_int_equal(w->s.seq, seq);
	assert_int_equal(run_of(w, id)->n_done, 0);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(run_of(w, id)->n_failed, 0); /* one retry, and it was one failure */
	assert_int_equal(run_of(w, id)->n_runs, 4);
	/* the first attempt again */
	seq = w->s.seq;
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(w->s.seq, seq);
	phx_list_fini(&l);
	phx_event_fini(&ev);
	phx_event_fini(&other);
	finish(w, id);
}

/* Of a run whose tasks are all done it stays known where each ran last, and as which attempt. */
static void places_stay(void **state)
{
	struct world *w = *state;
	struct phx_flow_place at[3] = {0};
	mtc_running(w, 1);
	uint64_t id = submit_flow(w, 3, "=1,0,0,1,0\n 1\n 1\n");
	tick(w, 1000);
	end_everywhere(w, PHX_TASK_EXITED, 0);
	end_everywhere(w, PHX_TASK_EXITED, 1);
	assert_int_equal(run_of(w, id)->places.n, 0);
	uint32_t node = run_of(w, id)->live->at[0].node;
	finish(w, id);
	assert_null(run_of(w, id)->live);
	assert_int_equal(phx_flow_places_read(&run_of(w, id)->places, 3, at), 0);
	assert_int_equal(at[0].node, node);
	assert_int_equal(at[0].n_runs, 1);
	assert_int_equal(at[1].n_runs, 2);
	assert_int_equal(at[2].n_runs, 1);
	assert_true(at[1].node && at[2].node);
}

/* A node that is silent for longer than its heartbeat timeout has lost its tasks: they run
 * elsewhere, and it is no failure. */
static void lost_node_gives_back(void **state)
{
	struct world *w = *state;
	mtc_running(w, 2);
	uint64_t id = submit_flow(w, 2, "=2,0,0,0,0\n*1\n");
	tick(w, 1000);
	tick(w, 1000);
	const char *node = first_with_tasks(w);
	struct phx_event gone = {.kind = PHX_EV_missing};
	PHX_STR_SET(gone.node, node);
	uint32_t had = n_on(w, node);
	assert_int_equal(world_apply(w, &gone, NULL), 0);
	/* they may run still, until its agent has ended them */
	uint32_t timeout_ms = timeout_on(w, node);
	assert_int_equal(n_on(w, node), had);
	tick(w, timeout_ms - 1);
	assert_int_equal(n_on(w, node), had);
	tick(w, 200000);
	assert_int_equal(n_on(w, node), 0);
	assert_int_equal(run_of(w, id)->n_losses, had);
	assert_int_equal(run_of(w, id)->n_failed, 0);
	tick(w, 1000);
	finish(w, id);
	assert_int_equal(run_of(w, id)->n_runs, 2 + had);
}

/* What is lost again and again, or fails again and again, has failed at last: a node may claim what
 * it likes. */
static void nothing_goes_on_for_ever(void **state)
{
	struct world *w = *state;
	uint32_t n = 0;
	mtc_running(w, 1);
	uint64_t id = submit_flow(w, 1, "=1,0,0,0,0\n");
	for (tick(w, 1000); n < 1000 && !run_of(w, id)->ended_ms; n++)
		assert_int_equal(end_everywhere(w, PHX_TASK_LOST, 0), 1);
	assert_int_equal(n, 101);
	assert_non_null(strstr(run_of(w, id)->why, "was lost too often"));
	id = submit_flow(w, 1, "=1,0,0,1000,0\n");
	tick(w, 1000);
	for (n = 0; n < 2000 && !run_of(w, id)->ended_ms; n++)
		assert_int_equal(end_everywhere(w, PHX_TASK_EXITED, 1), 1);
	assert_int_equal(n, 1001);
	assert_int_equal(run_of(w, id)->status, PHX_FLOW_BROKEN);
}

/* A node that is not heard gets nothing, however much room it has. */
static void silent_node_gets_nothing(void **state)
{
	struct world *w = *state;
	mtc_running(w, 1);
	submit_flow(w, 1, "=1,0,0,0,0\n");
	tick(w, 1000);
	const char *node = first_with_tasks(w);
	struct phx_event gone = {.kind = PHX_EV_missing};
	PHX_STR_SET(gone.node, node);
	assert_int_equal(world_apply(w, &gone, NULL), 0);
	submit_flow(w, 1, "=1,0,0,0,0\n");
	assert_int_equal(n_on(w, node), 1);
}

/* Stopped by a failure, and resumed: what is done stays done. */
static void resume_does_the_rest(void **state)
{
	struct world *w = *state;
	mtc_running(w, 1);
	uint64_t id = submit_flow(w, 3, "=1,0,0,0,0\n 1\n 1\n");
	tick(w, 1000);
	end_everywhere(w, PHX_TASK_EXITED, 0);
	end_everywhere(w, PHX_TASK_EXITED, 7);
	assert_int_equal(run_of(w, id)->status, PHX_FLOW_BROKEN);
	assert_non_null(strstr(run_of(w, id)->why, "task 2 on"));
	assert_non_null(strstr(run_of(w, id)->why, "exit status 7"));
	assert_int_equal(order(w, PHX_EV_workflow_hold, id), -EINVAL);
	assert_int_equal(order(w, PHX_EV_workflow_resume, id), 0);
	assert_int_equal(run_of(w, id)->n_done, 1);
	finish(w, id);
	assert_int_equal(run_of(w, id)->n_runs, 4);
	assert_int_equal(order(w, PHX_EV_workflow_resume, id), -EINVAL);
	assert_int_equal(order(w, PHX_EV_workflow_resume, id + 1), -ENOENT);
}

/* The node's one task ends well, with outputs of this digest: it ran, or it found them so. */
static void end_with(struct world *w, char digit, bool there)
{
	const char *node = first_with_tasks(w);
	struct phx_event ev = {.kind = PHX_EV_task_results};
	struct phx_list l = on(w, node);
	assert_int_equal(l.n, 1);
	PHX_STR_SET(ev.node, node);
	push_row(&ev, PHX_LIST_AT(&l, struct phx_task_given, 0), PHX_TASK_EXITED, 0);
	makes(&ev, digit);
	PHX_LIST_AT(&ev.task_results.rows, struct phx_task_result, 0)->was_there = there;
	phx_list_fini(&l);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

/* The digest with which a node is to look for the outputs of its one task; "0" for none. */
static char looked_for(struct world *w)
{
	struct phx_list l = on(w, first_with_tasks(w));
	char digit = PHX_LIST_AT(&l, struct phx_task_given, 0)->had_sha256[0];
	phx_list_fini(&l);
	return digit ? digit : '0';
}

static int resume_checked(struct world *w, uint64_t id)
{
	struct phx_event ev = {.kind = PHX_EV_workflow_resume,
			       .workflow_order = {.workflow = id, .check = true}};
	return world_apply(w, &ev, NULL);
}

/* Resumed with a look at outputs: what is there is found, what was changed is made again, and then
 * what was made of it. */
static void resume_looks(void **state)
{
	struct world *w = *state;
	mtc_running(w, 1);
	uint64_t id = submit_flow(w, 4, "=1,0,0,0,0\n 1\n*2\n");
	tick(w, 1000);
	end_with(w, '1', false);
	end_with(w, '2', false);
	end_with(w, '3', false);
	end_everywhere(w, PHX_TASK_EXITED, 7);
	assert_int_equal(run_of(w, id)->status, PHX_FLOW_BROKEN);
	assert_int_equal(resume_checked(w, id), 0);
	assert_int_equal(run_of(w, id)->n_done, 0);
	tick(w, 1000);
	assert_int_equal(looked_for(w), '1');
	end_with(w, '1', true);
	assert_int_equal(looked_for(w), '2');
	end_with(w, '8', false); /* it was changed, and is made again otherwise */
	assert_int_equal(looked_for(w), '0');
	end_with(w, '3', false);
	assert_int_equal(looked_for(w), '0');
	end_everywhere(w, PHX_TASK_EXITED, 7);
	assert_int_equal(run_of(w, id)->n_there, 1);
	assert_int_equal(run_of(w, id)->n_runs, 4 + 3);
	/* without a look what is done stays done */
	assert_int_equal(order(w, PHX_EV_workflow_resume, id), 0);
	assert_int_equal(run_of(w, id)->n_done, 3);
	tick(w, 1000);
	finish(w, id);
}

/* Held: what runs goes on, nothing begins. Cancelled: what runs is told to end. */
static void held_and_cancelled(void **state)
{
	struct world *w = *state;
	mtc_running(w, 1);
	uint64_t id = submit_flow(w, 20, "=1,0,0,0,0\n 1\n*18\n");
	tick(w, 1000);
	assert_int_equal(order(w, PHX_EV_workflow_hold, id), 0);
	end_everywhere(w, PHX_TASK_EXITED, 0);
	assert_int_equal(run_of(w, id)->n_running, 0);
	assert_int_equal(run_of(w, id)->status, PHX_FLOW_ON_HOLD);
	assert_int_equal(order(w, PHX_EV_workflow_release, id), 0);
	tick(w, 1000);
	const char *node = first_with_tasks(w);
	assert_int_equal(order(w, PHX_EV_workflow_cancel, id), 0);
	assert_int_equal(run_of(w, id)->status, PHX_FLOW_ENDING);
	struct phx_list l = on(w, node);
	assert_true(PHX_LIST_AT(&l, struct phx_task_given, 0)->ends);
	phx_list_fini(&l);
	end_everywhere(w, PHX_TASK_CANCELLED, 0);
	assert_int_equal(run_of(w, id)->status, PHX_FLOW_CANCELLED);
	assert_true(run_of(w, id)->ended_ms);
	assert_int_equal(order(w, PHX_EV_workflow_resume, id), 0);
	finish(w, id);
}

/* An RE that must return its nodes ends their tasks; its workflow waits until it is there again. */
static void deactivated_re_waits(void **state)
{
	struct world *w = *state;
	mtc_running(w, 1);
	uint64_t id = submit_flow(w, 2, "=1,0,0,0,0\n 1\n");
	tick(w, 1000);
	const char *node = first_with_tasks(w);
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "mtc"), 0);
	struct phx_list l = on(w, node);
	assert_true(PHX_LIST_AT(&l, struct phx_task_given, 0)->ends);
	phx_list_fini(&l);
	end_everywhere(w, PHX_TASK_LOST, 0);
	settle(w);
	assert_int_equal(held(w, "mtc"), 0);
	assert_int_equal(run_of(w, id)->n_ready, 1);
	assert_int_equal(operate(w, PHX_EV_re_activate, "mtc"), 0);
	settle(w);
	tick(w, 1000);
	finish(w, id);
	assert_int_equal(run_of(w, id)->n_losses, 1);
}

/* A suspended RE takes no workflow, and goes on with those that it has. */
static void suspended_re_goes_on(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	mtc_running(w, 1);
	uint64_t id = submit_flow(w, 1, "=1,0,0,0,0\n");
	assert_int_equal(operate(w, PHX_EV_re_suspend, "mtc"), 0);
	assert_int_equal(submit_as(w, "mtc", 1000, 1, "\n", &out), -EBUSY);
	assert_int_equal(order(w, PHX_EV_workflow_cancel, id), 0);
	assert_int_equal(order(w, PHX_EV_workflow_resume, id), 0);
	tick(w, 1000);
	finish(w, id);
}

static void refused(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	mtc_running(w, 1);
	assert_int_equal(submit_as(w, "no", 1000, 1, "\n", &out), -ENOENT);
	assert_int_equal(submit_as(w, "mtc", 0, 1, "\n", &out), -EPERM);
	assert_int_equal(submit_as(w, "mtc", 1000, 2, "\n", &out), -EINVAL);
	assert_int_equal(submit_as(w, "mtc", 1000, 1, "\n\n", &out), -EINVAL);
	assert_int_equal(submit_as(w, "mtc", 1000, 1, " 1\n", &out), -EINVAL);
	assert_int_equal(submit_as(w, "mtc", 1000, 2, " -1\n*9\n", &out), -EINVAL);
	assert_int_equal(submit_as(w, "mtc", 1000, 600000, "\n*599999\n", &out), -EDQUOT);
	/* jobs are for others */
	struct phx_event ev = {.kind = PHX_EV_job_submit,
			       .job_submit = {.job_nodes = 1, .uid = 1000, .gid = 1000}};
	assert_int_equal(phx_text_push(&ev.job_submit.argv, "/bin/true"), 0);
	PHX_STR_SET(ev.re, "mtc");
	assert_int_equal(world_apply(w, &ev, NULL), -EINVAL);
	phx_event_fini(&ev);
}

/* ---- a saved state goes on as the one that was not saved ---- */

static void some_results(struct world *w, struct phx_rng *rng, const char *node)
{
	static const int outcomes[] = {PHX_TASK_EXITED,  PHX_TASK_EXITED,    PHX_TASK_EXITED,
				       PHX_TASK_EXITED,  PHX_TASK_EXITED,    PHX_TASK_KILLED,
				       PHX_TASK_MISSING, PHX_TASK_CANCELLED, PHX_TASK_LOST};
	struct phx_event ev = {.kind = PHX_EV_task_results};
	struct phx_list l = on(w, node);
	PHX_STR_SET(ev.node, node);
	PHX_LIST_EACH(struct phx_task_given, g, &l)
		if (phx_rng_below(rng, 2)) {
			push_row(&ev, g, outcomes[phx_rng_below(rng, PHX_ARRAY_SIZE(outcomes))],
				 (uint32_t)(phx_rng_below(rng, 8) == 0));
			makes(&ev, "01234567"[phx_rng_below(rng, 8)]);
		}
	phx_list_fini(&l);
	both(w, &ev);
	phx_event_fini(&ev);
}

static void some_submit(struct world *w, struct phx_rng *rng)
{
	static const char *const shapes[] = {"=1,0,0,2,1\n*29\n",
					     "=1,0,0,0,2\n 1\n 1\n 2:1\n 3\n",
					     "=2,0,0,1,0\n=1,1000,0,3,1 1\n 2\n 3\n 3:1\n",
					     "=0,0,0,5,1\n*3\n 4:1\n",
					     "=1,0,0,2,1,2\n=1,0,0,0,1\n*5\n=0,0,0,1,1,2\n*1\n 1\n",
					     "=1,0,0,9,1,2\n 1\n=2,0,0,0,0\n*3\n"};
	static const uint32_t n[] = {30, 5, 5, 5, 10, 6};
	uint64_t i = phx_rng_below(rng, PHX_ARRAY_SIZE(shapes));
	struct phx_event ev = {.kind = PHX_EV_workflow_submit,
			       .workflow_submit = {.n_tasks = n[i], .uid = 1000, .gid = 1000}};
	PHX_STR_SET(ev.workflow_submit.digest, digest);
	PHX_STR_SET(ev.re, "mtc");
	assert_int_equal(phx_text_push(&ev.workflow_submit.shape, shapes[i]), 0);
	both(w, &ev);
	phx_event_fini(&ev);
}

static void some_event(struct world *w, struct phx_rng *rng)
{
	static const int kinds[] = {PHX_EV_workflow_hold,    PHX_EV_workflow_release,
				    PHX_EV_workflow_release, PHX_EV_workflow_resume,
				    PHX_EV_workflow_resume,  PHX_EV_workflow_cancel};
	struct phx_event ev = {.kind = PHX_EV_tick};
	char name[8];
	snprintf(name, sizeof(name), "n%u", 1 + (unsigned)phx_rng_below(rng, NODES));
	uint64_t what = phx_rng_below(rng, 20);
	if (what < 8) {
		some_results(w, rng, name);
		return;
	}
	if (what == 8) {
		some_submit(w, rng);
		return;
	}
	if (what < 11 && w->s.last_workflow_id) {
		ev.kind = kinds[phx_rng_below(rng, PHX_ARRAY_SIZE(kinds))];
		ev.workflow_order.workflow = 1 + phx_rng_below(rng, w->s.last_workflow_id);
		ev.workflow_order.check = phx_rng_below(rng, 2);
	} else if (what == 11) {
		ev.kind = world_node(w, name)->up ? PHX_EV_missing : PHX_EV_back;
		PHX_STR_SET(ev.node, name);
	} else {
		w->now += 1 + (int64_t)phx_rng_below(rng, phx_rng_below(rng, 20) ? 2000 : 80000);
	}
	both(w, &ev);
}

static void saved_goes_on_alike(void **state)
{
	struct world *w = *state;
	struct phx_rng rng = {7};
	mtc_running(w, 2);
	uint64_t n_runs = 0, n_losses = 0;
	for (unsigned i = 0; i < 1500; i++) {
		some_event(w, &rng);
		if (i % 10 == 0)
			settle(w);
	}
	PHX_LIST_EACH(struct phx_flowrun, run, &w->s.workflows) {
		n_runs += run->n_runs;
		n_losses += run->n_losses;
	}
	assert_true(n_runs > 300);
	assert_true(n_losses > 10);
}

/* A worker that is idle, and is told to end then: who saved the state meanwhile ends it no sooner.
 */
static void idle_and_told(void **state)
{
	struct world *w = *state;
	struct phx_event ev = {.kind = PHX_EV_re_deactivate, .re_order.who = PHX_RE_WHO_SERVICE},
			 later = {.kind = PHX_EV_tick};
	mtc_running(w, 1);
	submit_flow(w, 1, "=1,0,0,0,0\n");
	tick(w, 1000);
	assert_int_equal(end_everywhere(w, PHX_TASK_EXITED, 0), 1);
	tick(w, 1000);
	PHX_STR_SET(ev.re, "mtc");
	both(w, &ev);
	for (unsigned i = 0; i < 3; i++) {
		w->now += PHX_WORKER_IDLE_MS / 2;
		both(w, &later);
	}
	settle(w);
	assert_int_equal(held(w, "mtc"), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(diamond_is_done),
		TEST(waiting_tasks_bring_nodes),
		TEST(room_is_kept),
		TEST(results_count_once),
		TEST(places_stay),
		TEST(lost_node_gives_back),
		TEST(nothing_goes_on_for_ever),
		TEST(silent_node_gets_nothing),
		TEST(resume_does_the_rest),
		TEST(resume_looks),
		TEST(held_and_cancelled),
		TEST(deactivated_re_waits),
		TEST(refused),
		TEST(suspended_re_goes_on),
		TEST(saved_goes_on_alike),
		TEST(idle_from_the_beginning),
		TEST(idle_and_told),
	};
#undef TEST
	return cmocka_run_group_tests(tests, NULL, NULL);
}
