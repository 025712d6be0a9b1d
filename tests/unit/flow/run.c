/* Workflows that are carried out: what becomes ready, what a failure does, holding, ending,
 * resuming, beginning again from what is done; random acts beside a naive model. */
#include "flow/run.h"
#include "unit/flow/flows.h"

static struct phx_flow f;
static struct phx_flow_run run;

static int teardown(void **state)
{
	(void)state;
	phx_flow_run_fini(&run);
	phx_flow_fini(&f);
	return 0;
}

static void start(const char *words)
{
	teardown(NULL);
	make_flow(words, &f);
	assert_int_equal(phx_flow_run_init(&f, NULL, NULL, &run), 0);
}

/* One letter a task: w, r, R(unning), d, f, s. */
static void expect(const char *states)
{
	static const char letters[] = "wrRdfs";
	char text[64] = "";
	for (uint32_t i = 0; i < f.n_tasks; i++)
		text[i] = letters[run.tasks[i].state];
	assert_string_equal(text, states);
}

static int act(enum phx_flow_act what, uint32_t task)
{
	return phx_flow_run_act(&run, what, task);
}

static void run_task(uint32_t task, enum phx_flow_act end)
{
	assert_int_equal(act(PHX_FLOW_BEGIN, task), 0);
	assert_int_equal(act(end, task), 0);
}

static void test_order(void **state)
{
	(void)state;
	start("a b<a c<a d<b,c");
	expect("rwww");
	assert_int_equal(phx_flow_run_next(&run), 0);
	run_task(0, PHX_FLOW_DONE);
	expect("drrw");
	assert_int_equal(phx_flow_run_next(&run), 1);
	assert_int_equal(act(PHX_FLOW_BEGIN, 2), 0); /* who fits better may go before */
	assert_int_equal(phx_flow_run_next(&run), 1);
	run_task(1, PHX_FLOW_DONE);
	expect("ddRw");
	assert_int_equal(phx_flow_run_next(&run), PHX_FLOW_NONE);
	assert_int_equal(act(PHX_FLOW_DONE, 2), 0);
	run_task(3, PHX_FLOW_DONE);
	expect("dddd");
	assert_int_equal(phx_flow_run_status(&run), PHX_FLOW_COMPLETE);
}

/* What is told twice happens once; what cannot be is refused, and nothing changes. */
static void test_twice(void **state)
{
	(void)state;
	start("a b<a");
	assert_int_equal(act(PHX_FLOW_DONE, 0), -EINVAL);
	assert_int_equal(act(PHX_FLOW_BEGIN, 1), -EINVAL);
	assert_int_equal(act(PHX_FLOW_BEGIN, 2), -EINVAL);
	assert_int_equal(act(PHX_FLOW_BEGIN, 0), 0);
	assert_int_equal(act(PHX_FLOW_BEGIN, 0), -EALREADY);
	assert_int_equal(act(PHX_FLOW_DONE, 0), 0);
	assert_int_equal(act(PHX_FLOW_DONE, 0), -EALREADY);
	assert_int_equal(act(PHX_FLOW_FAIL, 0), -EALREADY);
	assert_int_equal(act(PHX_FLOW_LOSE, 0), -EALREADY);
	expect("dr");
	assert_int_equal(act(PHX_FLOW_RELEASE, 0), -EALREADY);
	assert_int_equal(act(PHX_FLOW_RESUME, 0), -EALREADY);
	assert_int_equal(act(PHX_FLOW_HOLD_ALL, 0), 0);
	assert_int_equal(act(PHX_FLOW_HOLD_ALL, 0), -EALREADY);
	assert_int_equal(act(PHX_FLOW_CANCEL, 0), 0);
	assert_int_equal(act(PHX_FLOW_CANCEL, 0), -EALREADY);
	assert_int_equal(act(PHX_FLOW_HOLD_ALL, 0), -EINVAL);
}

static void test_retries(void **state)
{
	(void)state;
	start("a b");
	f.tasks[0].retries = 2;
	f.tasks[0].when_failed = PHX_FLOW_GO_ON;
	run_task(0, PHX_FLOW_FAIL);
	expect("rr");
	assert_int_equal(phx_flow_run_next(&run), 1); /* behind the others */
	run_task(0, PHX_FLOW_LOSE);                   /* not its fault */
	run_task(0, PHX_FLOW_FAIL);
	expect("rr");
	run_task(0, PHX_FLOW_FAIL);
	expect("fr");
	assert_int_equal(phx_flow_run_status(&run), PHX_FLOW_ACTIVE);
	run_task(1, PHX_FLOW_DONE);
	assert_int_equal(phx_flow_run_status(&run), PHX_FLOW_BROKEN);
}

static void test_stop(void **state)
{
	(void)state;
	start("a b c<a d<b");
	f.tasks[1].retries = 1;
	assert_int_equal(act(PHX_FLOW_BEGIN, 1), 0);
	run_task(0, PHX_FLOW_FAIL);
	expect("fRss");
	assert_int_equal(phx_flow_run_status(&run), PHX_FLOW_ENDING);
	assert_int_equal(act(PHX_FLOW_FAIL, 1), 0); /* it has a retry left, for later */
	expect("fsss");
	assert_int_equal(phx_flow_run_status(&run), PHX_FLOW_BROKEN);
	assert_int_equal(act(PHX_FLOW_RESUME, 0), 0);
	expect("rrww");
	assert_int_equal(phx_flow_run_status(&run), PHX_FLOW_ACTIVE);
}

static void test_go_on(void **state)
{
	(void)state;
	start("a b<a c<b d e<d,c f<d");
	f.tasks[0].when_failed = PHX_FLOW_GO_ON;
	run_task(0, PHX_FLOW_FAIL);
	expect("fssrsw");
	run_task(3, PHX_FLOW_DONE);
	expect("fssdsr");
	run_task(5, PHX_FLOW_DONE);
	assert_int_equal(phx_flow_run_status(&run), PHX_FLOW_BROKEN);
	assert_int_equal(act(PHX_FLOW_RESUME, 0), 0);
	expect("rwwdwd");
	run_task(0, PHX_FLOW_DONE);
	run_task(1, PHX_FLOW_DONE);
	run_task(2, PHX_FLOW_DONE);
	expect("ddddrd");
}

static void test_hold(void **state)
{
	(void)state;
	start("a b<a c d<c");
	f.tasks[0].when_failed = PHX_FLOW_HOLD;
	assert_int_equal(act(PHX_FLOW_BEGIN, 2), 0);
	run_task(0, PHX_FLOW_FAIL);
	expect("fwRw");
	assert_int_equal(phx_flow_run_status(&run), PHX_FLOW_ON_HOLD);
	assert_int_equal(act(PHX_FLOW_DONE, 2), 0);
	expect("fwdr");
	assert_int_equal(phx_flow_run_next(&run), PHX_FLOW_NONE);
	assert_int_equal(act(PHX_FLOW_BEGIN, 3), -EINVAL);
	assert_int_equal(act(PHX_FLOW_RELEASE, 0), 0); /* without it */
	expect("fsdr");
	run_task(3, PHX_FLOW_DONE);
	assert_int_equal(phx_flow_run_status(&run), PHX_FLOW_BROKEN);

	start("a b<a");
	f.tasks[0].when_failed = PHX_FLOW_HOLD;
	run_task(0, PHX_FLOW_FAIL);
	assert_int_equal(act(PHX_FLOW_RESUME, 0), 0); /* once more */
	expect("rw");
	run_task(0, PHX_FLOW_DONE);
	expect("dr");
}

static void test_cancel(void **state)
{
	(void)state;
	start("a b c<a");
	assert_int_equal(act(PHX_FLOW_BEGIN, 0), 0);
	assert_int_equal(act(PHX_FLOW_CANCEL, 0), 0);
	expect("Rss");
	assert_int_equal(phx_flow_run_status(&run), PHX_FLOW_ENDING);
	assert_int_equal(act(PHX_FLOW_LOSE, 0), 0);
	expect("sss");
	assert_int_equal(phx_flow_run_status(&run), PHX_FLOW_CANCELLED);
	assert_int_equal(act(PHX_FLOW_RESUME, 0), 0);
	expect("rrw");
	run_task(0, PHX_FLOW_DONE);
	expect("drr");
	assert_int_equal(act(PHX_FLOW_BEGIN, 1), 0);
	assert_int_equal(act(PHX_FLOW_CANCEL, 0), 0);
	assert_int_equal(act(PHX_FLOW_DONE, 1), 0); /* it was quicker */
	expect("dds");
}

/* ---- beginning again ---- */

static bool in_set(void *arg, uint32_t task)
{
	const char *set = arg;
	const char *id = phx_flow_id(&f, task);
	return strchr(set, id[0]) != NULL;
}

static void restart(const char *words, const char *there, const char *states)
{
	teardown(NULL);
	make_flow(words, &f);
	assert_int_equal(phx_flow_run_init(&f, in_set, (void *)there, &run), 0);
	expect(states);
}

/* What is there counts only where all that it was made of is there, too. */
static void test_restart(void **state)
{
	(void)state;
	restart("a b<a c<b d<c", "", "rwww");
	restart("a b<a c<b d<c", "ab", "ddrw");
	restart("a b<a c<b d<c", "abcd", "dddd");
	restart("a b<a c<b d<c", "bcd", "rwww");
	restart("a b c<a,b d<a", "ad", "drwd");
	restart("a b c<a,b d<a", "bcd", "rdww");
	restart("c<a,b a b d<a", "abc", "dddr");
	assert_int_equal(phx_flow_run_next(&run), 3);
}

/* ---- the life of a task ---- */

static void test_life(void **state)
{
	(void)state;
	assert_true(phx_flow_task_may(PHX_FLOW_TASK_READY, PHX_FLOW_TASK_RUNNING));
	assert_false(phx_flow_task_may(PHX_FLOW_TASK_WAITING, PHX_FLOW_TASK_RUNNING));
	for (int to = 0; to < PHX_FLOW_TASK_STATES; to++)
		assert_int_equal(
			phx_flow_task_may(PHX_FLOW_TASK_DONE, (enum phx_flow_task_state)to),
			to == PHX_FLOW_TASK_WAITING); /* to be looked at */
}

/* ---- a naive model ---- */

/* It passes over everything each time. */
struct naive {
	uint8_t state[64];
	uint32_t n_failures[64];
	bool held, stopped, cancelled;
};

static bool all_done(const struct naive *m, uint32_t task)
{
	PHX_FLOW_EACH(p, &f, task, PHX_FLOW_PARENTS)
	if (m->state[*p] != PHX_FLOW_TASK_DONE)
		return false;
	return true;
}

static bool hangs_on(const struct naive *m, uint32_t task, uint8_t state)
{
	PHX_FLOW_EACH(p, &f, task, PHX_FLOW_PARENTS)
	if (m->state[*p] == state)
		return true;
	return false;
}

/* What follows from what is: the parents stand before their children. */
static void settle(struct naive *m, bool skip)
{
	bool closed = m->stopped || m->cancelled;
	for (uint32_t i = 0; i < f.n_tasks; i++) {
		bool open =
			m->state[i] == PHX_FLOW_TASK_WAITING || m->state[i] == PHX_FLOW_TASK_READY;
		bool below = skip &&
			(hangs_on(m, i, PHX_FLOW_TASK_FAILED) ||
			 hangs_on(m, i, PHX_FLOW_TASK_SKIPPED));
		if (open && (closed || below))
			m->state[i] = PHX_FLOW_TASK_SKIPPED;
		else if (m->state[i] == PHX_FLOW_TASK_WAITING && all_done(m, i))
			m->state[i] = PHX_FLOW_TASK_READY;
	}
}

static bool model_end(struct naive *m, enum phx_flow_act what, uint32_t task)
{
	bool closed = m->stopped || m->cancelled;
	const struct phx_flow_task *t = &f.tasks[task];
	if (m->state[task] != PHX_FLOW_TASK_RUNNING)
		return false;
	if (what == PHX_FLOW_DONE) {
		m->state[task] = PHX_FLOW_TASK_DONE;
	} else if (what == PHX_FLOW_LOSE || ++m->n_failures[task] <= t->retries) {
		m->state[task] = closed ? PHX_FLOW_TASK_SKIPPED : PHX_FLOW_TASK_READY;
	} else {
		m->state[task] = PHX_FLOW_TASK_FAILED;
		m->stopped |= !closed && t->when_failed == PHX_FLOW_STOP;
		m->held |= !closed && t->when_failed == PHX_FLOW_HOLD;
		settle(m, !closed && t->when_failed == PHX_FLOW_GO_ON);
		return true;
	}
	settle(m, false);
	return true;
}

static bool model_resume(struct naive *m)
{
	bool any = m->held || m->stopped || m->cancelled;
	for (uint32_t i = 0; i < f.n_tasks; i++)
		any |= m->state[i] == PHX_FLOW_TASK_FAILED || m->state[i] == PHX_FLOW_TASK_SKIPPED;
	m->held = m->stopped = m->cancelled = false;
	for (uint32_t i = 0; any && i < f.n_tasks; i++) {
		if (m->state[i] != PHX_FLOW_TASK_FAILED && m->state[i] != PHX_FLOW_TASK_SKIPPED)
			continue;
		m->n_failures[i] = 0;
		m->state[i] = PHX_FLOW_TASK_WAITING;
	}
	settle(m, false);
	return any;
}

static bool model_act(struct naive *m, enum phx_flow_act what, uint32_t task)
{
	bool closed = m->stopped || m->cancelled, was = m->held;
	switch (what) {
	case PHX_FLOW_BEGIN:
		if (m->state[task] != PHX_FLOW_TASK_READY || m->held || closed)
			return false;
		m->state[task] = PHX_FLOW_TASK_RUNNING;
		return true;
	case PHX_FLOW_DONE:
	case PHX_FLOW_FAIL:
	case PHX_FLOW_LOSE:
		return model_end(m, what, task);
	case PHX_FLOW_HOLD_ALL:
		m->held |= !closed;
		return !was && !closed;
	case PHX_FLOW_RELEASE:
		m->held = false;
		settle(m, was);
		return was;
	case PHX_FLOW_CANCEL:
		was = m->cancelled;
		m->cancelled = true;
		m->held = false;
		settle(m, false);
		return !was;
	case PHX_FLOW_RESUME:
		return model_resume(m);
	case PHX_FLOW_CHECK: /* nothing is known of outputs here */
		break;
	}
	return false;
}

/* Failures of one kind a workflow: with several the model would need the order of the past. */
static void act_at_random(struct phx_rng *rng, struct naive *m)
{
	static const enum phx_flow_act often[] = {
		PHX_FLOW_BEGIN,    PHX_FLOW_BEGIN, PHX_FLOW_BEGIN,   PHX_FLOW_DONE,
		PHX_FLOW_DONE,     PHX_FLOW_FAIL,  PHX_FLOW_LOSE,    PHX_FLOW_RESUME,
		PHX_FLOW_HOLD_ALL, PHX_FLOW_DONE,  PHX_FLOW_RELEASE, PHX_FLOW_CANCEL};
	size_t n = phx_rng_below(rng, 40) ? PHX_ARRAY_SIZE(often) - 5 : PHX_ARRAY_SIZE(often);
	enum phx_flow_act what = often[phx_rng_below(rng, n)];
	uint32_t task = (uint32_t)phx_rng_below(rng, f.n_tasks), counts[PHX_FLOW_TASK_STATES] = {0},
		 n_ready = 0;
	bool changed = model_act(m, what, task);
	assert_int_equal(act(what, task) == 0, changed);
	for (uint32_t i = 0; i < f.n_tasks; i++) {
		if (run.tasks[i].state != m->state[i])
			fail_msg("act %d: task %u is %d, expected %d", (int)what, i,
				 run.tasks[i].state, m->state[i]);
		counts[m->state[i]]++;
	}
	assert_memory_equal(counts, run.n, sizeof(counts));
	for (int wide = 0; wide < 2; wide++)
		for (uint32_t i = run.first[wide]; i != PHX_FLOW_NONE; i = run.tasks[i].next) {
			assert_int_equal(run.tasks[i].state, PHX_FLOW_TASK_READY);
			assert_int_equal(f.tasks[i].nodes > 1, wide);
			n_ready++;
		}
	assert_int_equal(n_ready, counts[PHX_FLOW_TASK_READY]);
}

static void test_random(void **state)
{
	struct phx_rng rng = {11};
	(void)state;
	for (int round = 0; round < 300; round++) {
		struct phx_flow_draft d = {.what = "f"};
		struct phx_err err = {0};
		struct naive m = {0};
		teardown(NULL);
		draft_random(&d, &rng, 1 + (uint32_t)phx_rng_below(&rng, 30), 3);
		PHX_LIST_EACH(struct phx_flow_task, t, &d.tasks) {
			t->when_failed = (uint32_t)round % 3;
			t->retries = (uint32_t)phx_rng_below(&rng, 3);
			t->nodes = 1 + (uint32_t)phx_rng_below(&rng, 2);
		}
		assert_int_equal(phx_flow_make(&d, &f, &err), 0);
		phx_flow_draft_fini(&d);
		assert_int_equal(phx_flow_run_init(&f, NULL, NULL, &run), 0);
		settle(&m, false);
		for (int i = 0; i < 400; i++)
			act_at_random(&rng, &m);
	}
}

/* Those of several nodes are a list of their own, and not among what the others require. */
static void test_wide(void **state)
{
	(void)state;
	start("a b c d<b e<b");
	phx_flow_run_fini(&run);
	f.tasks[1].nodes = 4;
	f.tasks[3].nodes = 2;
	for (uint32_t i = 0; i < f.n_tasks; i++)
		f.tasks[i].cores = 8;
	assert_int_equal(phx_flow_run_init(&f, NULL, NULL, &run), 0);
	assert_int_equal(phx_flow_run_next(&run), 0);
	assert_int_equal(phx_flow_run_next_wide(&run), 1);
	assert_int_equal(run.ready_cores, 16);
	assert_int_equal(act(PHX_FLOW_HOLD_ALL, 0), 0);
	assert_int_equal(phx_flow_run_next_wide(&run), PHX_FLOW_NONE);
	assert_int_equal(act(PHX_FLOW_RELEASE, 0), 0);
	assert_int_equal(act(PHX_FLOW_BEGIN, 1), 0);
	assert_int_equal(phx_flow_run_next_wide(&run), PHX_FLOW_NONE);
	assert_int_equal(act(PHX_FLOW_DONE, 1), 0);
	assert_int_equal(phx_flow_run_next_wide(&run), 3);
	assert_int_equal(run.ready_cores, 24);
	assert_int_equal(act(PHX_FLOW_CANCEL, 0), 0);
	assert_int_equal(run.first[1], PHX_FLOW_NONE);
}

/* Whole nodes are counted one by one, and an act on a task that there is not changes nothing. */
static void test_numbers(void **state)
{
	static const enum phx_flow_act acts[] = {PHX_FLOW_BEGIN, PHX_FLOW_DONE, PHX_FLOW_FAIL,
						 PHX_FLOW_LOSE};
	(void)state;
	start("a b c");
	assert_int_equal(run.n_whole, 3);
	assert_int_equal(act(PHX_FLOW_BEGIN, 0), 0);
	assert_int_equal(run.n_whole, 2);
	assert_int_equal(act(PHX_FLOW_LOSE, 0), 0);
	assert_int_equal(run.n_whole, 3);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(acts); i++) {
		assert_int_equal(act(acts[i], f.n_tasks), -EINVAL);
		assert_int_equal(act(acts[i], 50000000), -EINVAL);
	}
	/* digests of so many tasks are kept, and of no more */
	for (uint32_t more = 0; more < 2; more++) {
		struct phx_flow large = f;
		struct phx_flow_run of = {.flow = &large};
		large.n_tasks = PHX_FLOW_HAD_MAX + more;
		char sum[65] = "";
		memset(sum, '1', 64);
		assert_int_equal(phx_flow_run_note(&of, 0, sum), 0);
		assert_int_equal(of.had == NULL, more);
		free(of.had);
	}
}

/* ---- are outputs still what they were? ---- */

/* A digest of this digit alone. */
static const char *sum_of(char digit)
{
	static char text[65];
	memset(text, digit, 64);
	return text;
}

static void done_with(uint32_t task, const char *sha256)
{
	assert_int_equal(act(PHX_FLOW_BEGIN, task), 0);
	assert_int_equal(phx_flow_run_note(&run, task, sha256), 0);
	assert_int_equal(act(PHX_FLOW_DONE, task), 0);
}

static void expect_had(uint32_t task, const char *sha256)
{
	char had[65];
	phx_flow_run_had(&run, task, had);
	assert_string_equal(had, sha256);
}

/* a makes 1, b and c of it 2 and nothing, d of both 3; e, which waits for d, fails. */
static void start_checked(void)
{
	start("a b<a c<a d<b,c e<d");
	done_with(0, sum_of('1'));
	done_with(1, sum_of('2'));
	done_with(2, "");
	done_with(3, sum_of('3'));
	run_task(4, PHX_FLOW_FAIL);
	expect("ddddf");
	assert_int_equal(act(PHX_FLOW_CHECK, 0), -EINVAL); /* it is stopped */
	assert_int_equal(act(PHX_FLOW_RESUME, 0), 0);
	expect("ddddr");
	assert_int_equal(act(PHX_FLOW_CHECK, 0), 0);
}

static void test_check_finds_all(void **state)
{
	(void)state;
	start_checked();
	expect("rwwww");
	expect_had(0, sum_of('1'));
	expect_had(2, "");
	done_with(0, sum_of('1'));
	expect("drdww"); /* nothing is to be seen of c */
	expect_had(1, sum_of('2'));
	done_with(1, sum_of('2'));
	expect_had(3, sum_of('3'));
	done_with(3, sum_of('3'));
	expect("ddddr");
	expect_had(4, "");
	run_task(4, PHX_FLOW_DONE);
	assert_int_equal(phx_flow_run_status(&run), PHX_FLOW_COMPLETE);
}

/* What is made anew, and is the same, changes nothing; what is another one, has what was made of it
 * made again, whatever is there. */
static void test_check_finds_another(void **state)
{
	(void)state;
	start_checked();
	done_with(0, sum_of('9'));
	expect("drrww"); /* c, too */
	expect_had(1, "");
	done_with(1, sum_of('2'));
	expect("ddrww");
	expect_had(3, sum_of('3')); /* b's are other ones: not known to be the same */
	done_with(2, "");
	expect_had(3, "");
	done_with(3, sum_of('3'));
	expect("ddddr");
}

/* Nobody looks while tasks run, or when nothing is known; a task of several nodes stays done. */
static void test_check_of_what(void **state)
{
	(void)state;
	start("a b");
	assert_int_equal(act(PHX_FLOW_CHECK, 0), -EALREADY);
	done_with(0, "");
	assert_int_equal(act(PHX_FLOW_CHECK, 0), -EALREADY);
	start("a b c<a");
	f.tasks[0].nodes = 2;
	done_with(0, sum_of('1'));
	assert_int_equal(act(PHX_FLOW_BEGIN, 1), 0);
	assert_int_equal(act(PHX_FLOW_CHECK, 0), -EBUSY);
	assert_int_equal(act(PHX_FLOW_FAIL, 1), 0);
	assert_int_equal(act(PHX_FLOW_RESUME, 0), 0);
	assert_int_equal(act(PHX_FLOW_CHECK, 0), 0);
	expect("drr");
	assert_int_equal(phx_flow_run_note(&run, 1, "12"), -EINVAL);
	assert_int_equal(phx_flow_run_note(&run, 1, "X"), -EINVAL);
	for (const char *no = "/:Ag`\x7f"; *no; no++)
		assert_int_equal(phx_flow_run_note(&run, 1, sum_of(*no)), -EINVAL);
	expect_had(0, "");
}

/* 200,000 tasks that wait cost less than 100 MB: what they are and how they stand. */
static void test_memory(void **state)
{
	struct phx_flow_draft d = {.what = "f"};
	struct phx_err err = {0};
	enum { N = 200000 };
	char name[64];
	(void)state;
	teardown(NULL);
	for (uint32_t i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "task-%06u", i);
		add_task(&d, name);
		add_link(&d, PHX_FLOW_LINK_ARGV, "/usr/bin/measure");
		snprintf(name, sizeof(name), "in/field-%06u.fits", i);
		add_link(&d, PHX_FLOW_LINK_ARGV, name);
		add_link(&d, PHX_FLOW_LINK_INPUT, name);
		snprintf(name, sizeof(name), "out/field-%06u.csv", i);
		add_link(&d, PHX_FLOW_LINK_OUTPUT, name);
		if (i)
			add_link(&d, PHX_FLOW_LINK_PARENT, "task-000000");
	}
	assert_int_equal(phx_flow_make(&d, &f, &err), 0);
	phx_flow_draft_fini(&d);
	assert_int_equal(phx_flow_run_init(&f, NULL, NULL, &run), 0);
	size_t bytes = f.n_text + N * sizeof(*f.tasks) + f.n_files * sizeof(*f.files) +
		f.n_refs * sizeof(*f.refs) + N * sizeof(*run.tasks);
	print_message("%zu MB\n", bytes / 1000000);
	assert_true(bytes < 100000000);
	run_task(0, PHX_FLOW_DONE);
	assert_int_equal(run.n[PHX_FLOW_TASK_READY], N - 1);
	for (uint32_t i; (i = phx_flow_run_next(&run)) != PHX_FLOW_NONE;)
		run_task(i, PHX_FLOW_DONE);
	assert_int_equal(phx_flow_run_status(&run), PHX_FLOW_COMPLETE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_retries),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_go_on),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_check_finds_all),
		cmocka_unit_test(test_check_finds_another),
		cmocka_unit_test(test_check_of_what),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_memory),
	};
	return cmocka_run_group_tests(tests, NULL, teardown);
}
