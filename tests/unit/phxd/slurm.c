/* REs whose jobs Slurm starts (cmd/phxd/slurm.c): what the core is told, and what is done of what
 * it orders. Slurm's answers, the core's orders and the engine are fakes; the threads are real. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake/engine.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "job/job.h"
#include "phxd/daemon.h"
#include "slurm/slurm.h"

/* ---- Slurm ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what threads of ours share */
static struct phx_list jobs;                             /* struct phx_engine_job: in Slurm now */
static int ask_result, runner_result, conf_result, submit_result;
static const char *says;       /* of an error of asking */
static const char *tell_fails; /* the target of the order that Slurm refuses */
static struct phx_buf did;     /* orders carried out, questions for ends, runners ended */
static atomic_int n_asked;

static int fake_ask(const struct phx_slurm *slurm, struct phx_slurm_report *ret,
		    struct phx_err *err)
{
	assert_false(fake_engine_held);
	assert_string_equal(slurm->conf, "/conf/queue.conf, found");
	n_asked++;
	pthread_mutex_lock(&lock);
	int r = ask_result < 0 && says ? phx_err_set(err, ask_result, "%s", says) : ask_result;
	PHX_LIST_EACH(struct phx_engine_job, j, &jobs)
		if (r == 0)
			*(struct phx_engine_job *)phx_list_push(&ret->jobs, sizeof(*j)) = *j;
	pthread_mutex_unlock(&lock);
	return r;
}

static int fake_ask_ends(const struct phx_slurm *slurm, struct phx_list *of, struct phx_err *err)
{
	(void)slurm;
	(void)err;
	PHX_LIST_EACH(struct phx_engine_job, j, of)
		if (j->state == PHX_ENGINE_JOB_DONE)
			phx_buf_addf(&did, "end of %s;", j->id);
	return -ETIMEDOUT; /* no end is known, and the rest is told nevertheless */
}

static int fake_tell(const struct phx_slurm *slurm, const struct phx_engine_order *o,
		     struct phx_err *err)
{
	(void)slurm;
	assert_false(fake_engine_held);
	pthread_mutex_lock(&lock);
	phx_buf_addf(&did, "%s;", o->target);
	pthread_mutex_unlock(&lock);
	return tell_fails && !strcmp(o->target, tell_fails) ? phx_err_set(err, -EIO, "too late")
							    : 0;
}

static int fake_conf_find(const char *path, char ret[PATH_MAX], struct phx_err *err)
{
	snprintf(ret, PATH_MAX, "%s, found", path);
	return conf_result < 0 ? phx_err_set(err, conf_result, "%s: others may write it", path) : 0;
}

/* ---- the core ---- */

static struct phx_list wanted; /* struct phx_engine_order */

static int fake_orders(const struct phx_state *s, const char *re, struct phx_list *ret)
{
	(void)s;
	(void)re;
	assert_true(fake_engine_held);
	PHX_LIST_EACH(struct phx_engine_order, o, &wanted)
		*(struct phx_engine_order *)phx_list_push(ret, sizeof(*o)) = *o;
	return 0;
}

/* ---- the runner ---- */

static int fake_runner_new(int fd, struct phx_apart **ret)
{
	static int any;
	close(fd);
	*ret = (void *)&any;
	return 0;
}

static void fake_runner_end(struct phx_apart *runner)
{
	if (runner)
		phx_buf_addf(&did, "over;");
}

/* ---- the clock ---- */

static int64_t jump_ms; /* by so much it goes on whenever it is read */

static int64_t fake_clock_ms(void)
{
	static _Atomic int64_t ahead_ms;
	ahead_ms += jump_ms;
	return phx_clock_ms() + ahead_ms;
}

#define phx_clock_ms fake_clock_ms
#define phx_slurm_ask fake_ask
#define phx_slurm_ask_ends fake_ask_ends
#define phx_slurm_tell fake_tell
#define phx_slurm_conf_find fake_conf_find
#define phx_engine_orders fake_orders
#define runner_new fake_runner_new
#define phx_apart_end fake_runner_end
#include "phxd/slurm.c" /* a part of a program, not of the library */
#undef phx_clock_ms

int launch_runner(struct launch *l, int *ret_fd, struct phx_err *err)
{
	(void)l;
	assert_false(fake_engine_held);
	if (runner_result < 0)
		return phx_err_set(err, runner_result, "engine_user: there is no user 'slurm'");
	*ret_fd = dup(0);
	return 0;
}

int runner_ask(void *runner, const char *conf, const char *const *argv, struct phx_run_result *ret,
	       struct phx_err *err)
{
	(void)runner, (void)conf, (void)argv, (void)ret, (void)err;
	fail();
	return -EIO;
}

void wake_in(struct wake *of, int ms)
{
	(void)of, (void)ms;
}

/* ---- what the core is told ---- */

static struct phx_buf told;

int engine_submit(struct engine *e, struct phx_event *ev, struct phx_outcome *ret,
		  struct phx_err *err)
{
	(void)e, (void)ret;
	assert_false(fake_engine_held);
	assert_int_equal(ev->kind, PHX_EV_re_queue);
	assert_string_equal(ev->re, "hpc");
	const struct phx_event_re_queue *p = &ev->re_queue;
	pthread_mutex_lock(&lock);
	phx_buf_addf(&told, "%s%s", p->whole ? "all" : "", ev->text);
	PHX_LIST_EACH(struct phx_engine_job, j, &p->engine_jobs)
		phx_buf_addf(&told, " %s %s", j->id,
			     phx_enum_name(&phx_engine_job_state_names, (int)j->state));
	phx_buf_addf(&told, ";");
	pthread_mutex_unlock(&lock);
	return submit_result < 0 ? phx_err_set(err, submit_result, "the journal is full") : 0;
}

/* ---- a head with one RE ---- */

static struct daemon d;
static struct phx_state s;
static struct slurm *all;
static struct worker w; /* of tests that carry out rounds themselves */

static void forget(struct phx_buf *b)
{
	pthread_mutex_lock(&lock);
	phx_buf_fini(b);
	*b = (struct phx_buf){0};
	pthread_mutex_unlock(&lock);
}

static struct phx_re *re_add(const char *name)
{
	struct phx_re *re = phx_list_push(&s.res, sizeof(*re));
	assert_non_null(re);
	PHX_STR_SET(re->name, name);
	re->agreement.engine = PHX_RE_ENGINE_SLURM;
	PHX_STR_SET(re->agreement.slurm_conf, "queue");
	phx_engine_begin(re);
	return re;
}

static int setup(void **state)
{
	(void)state;
	ask_result = runner_result = conf_result = submit_result = n_asked = 0;
	jump_ms = 0;
	says = tell_fails = NULL;
	s = (struct phx_state){.seq = 1};
	fake_state = &s;
	re_add("hpc");
	d = (struct daemon){0};
	PHX_STR_SET(d.cfg.slurm_dir, "/conf");
	assert_int_equal(slurm_new(&d, &all), 0);
	w = (struct worker){.owner = all, .re = "hpc", .busy_ms = fake_clock_ms()};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	slurm_free(all);
	remember(&w, &(struct phx_slurm_report){0}, false);
	phx_list_fini(&s.res);
	phx_list_fini(&jobs);
	phx_list_fini(&wanted);
	jobs = wanted = (struct phx_list){0};
	forget(&told);
	forget(&did);
	return 0;
}

static void has_job(const char *id, int job_state)
{
	struct phx_engine_job *j = phx_list_push(&jobs, sizeof(*j));
	assert_non_null(j);
	PHX_STR_SET(j->id, id);
	j->state = job_state;
}

static void is_ordered(const char *target)
{
	struct phx_engine_order *o = phx_list_push(&wanted, sizeof(*o));
	assert_non_null(o);
	PHX_STR_SET(o->target, target);
}

static void core_is_told(void)
{
	PHX_LIST_AT(&s.res, struct phx_re, 0)->trouble[0] = '\0';
}

/* One round, of an RE that is still attached. */
static int do_one(void)
{
	assert_true(attached(&w));
	int ms = do_round(&w);
	core_is_told();
	return ms;
}

static void took(struct phx_buf *b, const char *want, int line)
{
	if (strcmp(b->n ? b->data : "", want))
		fail_msg("line %d: '%s', not '%s'", line, b->n ? b->data : "", want);
	forget(b);
}
#define assert_took(b, want) took(b, want, __LINE__)

/* ---- reports ---- */

static void the_first_report_is_told_as_a_whole_then_changes(void **state)
{
	(void)state;
	has_job("7", PHX_ENGINE_JOB_WAITING);
	has_job("8", PHX_ENGINE_JOB_WAITING);
	assert_int_equal(do_one(), POLL_MS);
	assert_took(&told, "all 7 waiting 8 waiting;");
	do_one();
	assert_took(&told, "");
	PHX_LIST_AT(&jobs, struct phx_engine_job, 1)->state = PHX_ENGINE_JOB_HELD;
	do_one();
	assert_took(&told, " 8 held;");
	assert_took(&did, "over;over;over;"); /* each round has a runner of its own */
}

/* How a job ended may be unknown; that it did is told. */
static void a_job_that_is_gone_is_told_as_over(void **state)
{
	(void)state;
	has_job("7", PHX_ENGINE_JOB_WAITING);
	do_one();
	phx_list_remove(&jobs, sizeof(struct phx_engine_job), 0);
	forget(&told);
	forget(&did);
	do_one();
	assert_took(&told, " 7 done;");
	assert_took(&did, "end of 7;over;");
}

static void no_answer_is_told_and_nothing_is_done(void **state)
{
	(void)state;
	has_job("7", PHX_ENGINE_JOB_WAITING);
	do_one();
	forget(&told);
	forget(&did);
	is_ordered("n1");
	ask_result = -EPROTO;
	says = "squeue: line 3: 'x' is no number";
	do_one();
	assert_took(&told, "squeue: line 3: 'x' is no number;");
	assert_took(&did, "over;");
	ask_result = -ETIMEDOUT;
	says = NULL;
	do_one();
	assert_took(&told, "Connection timed out;");
	forget(&did);
	ask_result = 0;
	do_one(); /* it answers, which is news itself, and was told of its jobs before */
	assert_took(&told, ";");
	assert_took(&did, "n1;over;");
}

static void without_a_runner_or_a_configuration_nobody_is_asked(void **state)
{
	(void)state;
	runner_result = -ENOENT;
	do_one();
	assert_took(&told, "engine_user: there is no user 'slurm';");
	assert_took(&did, "");
	runner_result = 0;
	conf_result = -EPERM;
	do_one();
	assert_took(&told, "/conf/queue.conf: others may write it;");
	assert_took(&did, "over;");
	assert_int_equal(n_asked, 0);
}

/* What the core did not take it does not know. */
static void a_report_that_was_not_taken_is_told_again_as_a_whole(void **state)
{
	(void)state;
	has_job("7", PHX_ENGINE_JOB_WAITING);
	do_one();
	has_job("8", PHX_ENGINE_JOB_WAITING);
	is_ordered("n1");
	forget(&told);
	forget(&did);
	submit_result = -ENOSPC;
	do_one();
	assert_took(&told, " 8 waiting;");
	assert_took(&did, "over;"); /* orders follow from what the core knows */
	submit_result = 0;
	do_one();
	assert_took(&told, "all 7 waiting 8 waiting;");
}

/* It was inactive meanwhile, or is another one of this name: the core has forgotten its jobs. */
static void an_re_that_is_active_anew_is_told_everything(void **state)
{
	(void)state;
	has_job("7", PHX_ENGINE_JOB_WAITING);
	do_one();
	forget(&told);
	struct phx_re *re = PHX_LIST_AT(&s.res, struct phx_re, 0);
	re->attached = false;
	phx_engine_begin(re);
	do_one();
	assert_took(&told, "all 7 waiting;");
	ask_result = -EIO;
	says = "no";
	do_one();
	re->attached = false;
	phx_engine_begin(re);
	ask_result = 0;
	forget(&told);
	do_one();
	assert_took(&told, "all 7 waiting;");
}

/* ---- orders ---- */

static void orders_are_carried_out_in_their_sequence(void **state)
{
	(void)state;
	is_ordered("n2");
	is_ordered("n1");
	is_ordered("part");
	assert_int_equal(do_one(), AGAIN_MS);
	assert_took(&did, "n2;n1;part;over;");
}

/* Later ones may rely on it. */
static void an_order_that_fails_ends_the_round(void **state)
{
	(void)state;
	is_ordered("n1");
	is_ordered("n2");
	is_ordered("n3");
	tell_fails = "n2";
	assert_int_equal(do_one(), AGAIN_MS);
	assert_took(&did, "n1;n2;over;");
}

static void an_idle_slurm_is_asked_seldom(void **state)
{
	(void)state;
	w.busy_ms = fake_clock_ms() - QUIET_MS - 1;
	assert_int_equal(do_one(), SELDOM_MS);
	has_job("7", PHX_ENGINE_JOB_WAITING);
	assert_int_equal(do_one(), POLL_MS);
	phx_list_fini(&jobs);
	jobs = (struct phx_list){0};
	assert_int_equal(do_one(), POLL_MS); /* there may be another one soon */
}

/* ---- threads ---- */

static void wait_for(int n)
{
	for (int64_t end_ms = phx_clock_ms() + 10000; n_asked < n && phx_clock_ms() < end_ms;)
		usleep(2000);
	assert_true(n_asked >= n);
}

static void each_re_has_one_worker(void **state)
{
	(void)state;
	s.res.n = 0;
	assert_int_equal(slurm_tick(all), WAKE_NEVER);
	assert_int_equal(all->workers.n, 0);
	s.res.n = 1;
	assert_int_equal(slurm_tick(all), WAKE_NEVER);
	wait_for(1);
	slurm_tick(all);
	assert_int_equal(all->workers.n, 1);
	/* it ends when Slurm is not the RE's engine any more, and is joined then */
	engine_lock(NULL);
	PHX_LIST_AT(&s.res, struct phx_re, 0)->attached = false;
	engine_unlock(NULL);
	for (int64_t end_ms = phx_clock_ms() + 10000; all->workers.n && phx_clock_ms() < end_ms;
	     usleep(10000))
		slurm_tick(all);
	assert_int_equal(all->workers.n, 0);
}

/* The loop turns after each event, and orders that came of it do not wait for the next question. */
static void orders_end_the_rest(void **state)
{
	(void)state;
	jump_ms = 2 * QUIET_MS; /* Slurm is asked seldom */
	slurm_tick(all);
	wait_for(1);
	engine_lock(NULL);
	core_is_told();
	is_ordered("n1");
	s.seq++;
	engine_unlock(NULL);
	int before = n_asked;
	int64_t begun = phx_clock_ms();
	slurm_tick(all);
	wait_for(before + 1);
	assert_true(phx_clock_ms() - begun < SELDOM_MS / 2);
}

/* Whoever ends does not wait for a rest of seconds. */
static void the_end_does_not_wait(void **state)
{
	(void)state;
	jump_ms = 2 * QUIET_MS;
	slurm_tick(all);
	wait_for(1);
	int64_t begun = phx_clock_ms();
	slurm_free(PHX_TAKE(all));
	assert_true(phx_clock_ms() - begun < SELDOM_MS / 2);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(the_first_report_is_told_as_a_whole_then_changes),
		T(a_job_that_is_gone_is_told_as_over),
		T(no_answer_is_told_and_nothing_is_done),
		T(without_a_runner_or_a_configuration_nobody_is_asked),
		T(a_report_that_was_not_taken_is_told_again_as_a_whole),
		T(an_re_that_is_active_anew_is_told_everything),
		T(orders_are_carried_out_in_their_sequence),
		T(an_order_that_fails_ends_the_round),
		T(an_idle_slurm_is_asked_seldom),
		T(each_re_has_one_worker),
		T(orders_end_the_rest),
		T(the_end_does_not_wait),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
