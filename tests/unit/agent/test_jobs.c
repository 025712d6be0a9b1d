/* Jobs with real programs as another user: once, whole, and over a restart of the agent. */
#include "unit/agent/scratch.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "phx-agent/jobs.h"
#include "phx-agent/process.h"

enum { NOBODY = 65534 };

struct world {
	struct scratch *scratch;
	struct jobs *jobs;
	pthread_mutex_t lock;
	struct job_end ends[64];
	uint32_t n_ends;
};

static void on_end(void *arg, const struct job_end *end)
{
	struct world *w = arg;
	pthread_mutex_lock(&w->lock);
	w->ends[w->n_ends++ % 64] = *end;
	pthread_mutex_unlock(&w->lock);
}

static void start_agent(struct world *w)
{
	struct jobs_config config = {scratch_path(w->scratch, "state"), scratch_path(w->scratch, "cache"),
				     scratch_path(w->scratch, "run"), on_end, w};
	struct phx_err err = {0};
	assert_int_equal(jobs_new(&config, &w->jobs, &err), 0);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	pthread_mutex_init(&w->lock, NULL);
	scratch_setup((void **)&w->scratch);
	assert_int_equal(mkdir(scratch_path(w->scratch, "out"), 0777), 0);
	assert_int_equal(chmod(scratch_path(w->scratch, "out"), 0777), 0);
	start_agent(w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	jobs_free(w->jobs);
	scratch_teardown((void **)&w->scratch);
	free(w);
	return 0;
}

static struct phx_job make_job(uint64_t id, const char *script)
{
	struct phx_job job = {.id = id, .uid = NOBODY, .gid = NOBODY};
	add_word(&job.argv, "sh");
	add_word(&job.argv, "-c");
	add_word(&job.argv, script);
	static const char *const nodes[] = {"n1", "n2", "n3"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(nodes); i++) {
		struct phx_job_part *p = phx_list_push(&job.parts, sizeof(*p));
		PHX_STR_SET(p->node, nodes[i]);
	}
	return job;
}

static int start(struct world *w, uint64_t id, const char *script, struct phx_err *err)
{
	struct phx_job job = make_job(id, script);
	int r = jobs_start(w->jobs, &job, err);
	phx_record_fini(&phx_job_record, &job);
	return r;
}

static bool ended(struct world *w, uint64_t id, struct job_end *ret)
{
	bool found = false;
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = 0; i < w->n_ends; i++)
		if (w->ends[i].id == id) {
			*ret = w->ends[i];
			found = true;
		}
	pthread_mutex_unlock(&w->lock);
	return found;
}

static struct job_end run(struct world *w, uint64_t id, const char *script)
{
	struct job_end end;
	struct phx_err err = {0};
	assert_int_equal(start(w, id, script, &err), 0);
	WAIT_FOR(ended(w, id, &end));
	return end;
}

static void check_output(const struct job_end *end, const char *expected)
{
	PHX_AUTO_FREE char *text = read_text(end->output);
	assert_string_equal(text, expected);
}

static void test_runs_as_its_user(void **state)
{
	struct world *w = *state;
	char expected[400];
	struct job_end end = run(w, 5,
				 "id -u; id -g; id -G; pwd; echo $PHX_JOB_ID $PHX_JOB_NODES; cat $PHX_JOB_NODEFILE; "
				 "echo to stderr >&2; exit 7");
	assert_int_equal(end.status, 7);
	assert_string_equal(end.text, "");
	snprintf(expected, sizeof(expected), "%d\n%d\n%d\n/tmp\n5 n[1-3]\nn1\nn2\nn3\nto stderr\n", NOBODY, NOBODY,
		 NOBODY);
	check_output(&end, expected);
}

static void test_never_as_root(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	struct phx_job job = make_job(6, "true");
	job.uid = 0;
	assert_int_equal(jobs_start(w->jobs, &job, &err), -EPERM);
	assert_non_null(strstr(err.text, "never run as root"));
	job.uid = NOBODY;
	job.gid = 0;
	assert_int_equal(jobs_start(w->jobs, &job, NULL), -EPERM);
	phx_record_fini(&phx_job_record, &job);
	assert_int_equal(jobs_ids(w->jobs, NULL, 0), 0);
}

static void test_no_descriptors_inherited(void **state)
{
	struct world *w = *state;
	struct job_end end = run(w, 7, "ls /proc/self/fd | wc -l");
	PHX_AUTO_FREE char *text = read_text(end.output);
	assert_in_range(atoi(text), 3, 5); /* 0, 1, 2, and what ls itself opens */
}

static void test_program_missing(void **state)
{
	struct world *w = *state;
	struct phx_job job = make_job(8, "");
	struct job_end end;
	PHX_STR_SET(PHX_LIST_AT(&job.argv, struct phx_word, 0)->text, "no-such-program");
	assert_int_equal(jobs_start(w->jobs, &job, NULL), 0);
	phx_record_fini(&phx_job_record, &job);
	WAIT_FOR(ended(w, 8, &end));
	assert_int_equal(end.status, 126);
	check_output(&end, "no-such-program: No such file or directory\n");
}

static void test_never_twice(void **state)
{
	struct world *w = *state;
	char script[200];
	snprintf(script, sizeof(script), "echo run >>%s/out/runs", w->scratch->dir);
	run(w, 9, script);
	uint32_t told = w->n_ends;
	assert_int_equal(start(w, 9, script, NULL), 0); /* its end is on its way */
	assert_int_equal(jobs_kill(w->jobs, 9, NULL), 0);
	agent_sleep_ms(200);
	assert_int_equal(w->n_ends, told);
	jobs_reported(w->jobs, 9);
	assert_int_equal(jobs_ids(w->jobs, NULL, 0), 0);
	assert_int_equal(start(w, 9, script, NULL), 0); /* told again, not run again */
	WAIT_FOR(w->n_ends > told);
	PHX_AUTO_FREE char *runs = read_text(scratch_path(w->scratch, "out/runs"));
	assert_string_equal(runs, "run\n");
}

static void test_kill_takes_all(void **state)
{
	struct world *w = *state;
	char script[400], file[96];
	struct job_end end;
	/* one child in its session, one that fled to a session of its own */
	snprintf(script, sizeof(script),
		 "sleep 300 & echo $! >%s/out/a; setsid sleep 300 & sleep 0.2; pgrep -u %d -n sleep >%s/out/b; wait",
		 w->scratch->dir, NOBODY, w->scratch->dir);
	assert_int_equal(start(w, 10, script, NULL), 0);
	snprintf(file, sizeof(file), "%s/out/b", w->scratch->dir);
	WAIT_FOR(({
		PHX_AUTO_FREE char *t = read_text(file);
		*t;
	}));
	assert_int_equal(jobs_kill(w->jobs, 10, NULL), 0);
	WAIT_FOR(ended(w, 10, &end));
	assert_int_equal(end.status, 128 + SIGTERM);
	PHX_AUTO_FREE char *a = read_text(scratch_path(w->scratch, "out/a"));
	PHX_AUTO_FREE char *b = read_text(file);
	assert_int_equal(process_start_time(atoi(a)), 0);
	assert_int_equal(process_start_time(atoi(b)), 0);
}

static void test_kill_of_unknown(void **state)
{
	struct world *w = *state;
	struct job_end end;
	char script[200];
	assert_int_equal(jobs_kill(w->jobs, 11, NULL), 0);
	WAIT_FOR(ended(w, 11, &end));
	assert_int_equal(end.status, 143);
	/* the order to start it came late: it is not started */
	snprintf(script, sizeof(script), "touch %s/out/late", w->scratch->dir);
	assert_int_equal(start(w, 11, script, NULL), 0);
	agent_sleep_ms(300);
	assert_false(exists(scratch_path(w->scratch, "out/late")));
}

static void test_goes_on_over_a_restart(void **state)
{
	struct world *w = *state;
	struct job_end end;
	assert_int_equal(start(w, 12, "echo begun; sleep 0.6; echo done; exit 3", NULL), 0);
	agent_sleep_ms(100);
	jobs_free(w->jobs);
	start_agent(w);
	assert_int_equal(jobs_ids(w->jobs, NULL, 0), 1);
	WAIT_FOR(ended(w, 12, &end));
	assert_int_equal(end.status, 3);
	check_output(&end, "begun\ndone\n");
}

static void test_ended_while_the_agent_was_away(void **state)
{
	struct world *w = *state;
	struct job_end end;
	assert_int_equal(start(w, 13, "sleep 0.1; exit 4", NULL), 0);
	jobs_free(w->jobs);
	agent_sleep_ms(400);
	start_agent(w);
	WAIT_FOR(ended(w, 13, &end));
	assert_int_equal(end.status, 4);
	jobs_reported(w->jobs, 13);
	w->n_ends = 0;
	jobs_free(w->jobs);
	start_agent(w); /* reported is reported */
	agent_sleep_ms(200);
	assert_int_equal(w->n_ends, 0);
}

static void test_lost(void **state)
{
	struct world *w = *state;
	struct job_end end;
	jobs_free(w->jobs);
	/* an agent wrote it down and then everything went dark */
	write_text(scratch_path(w->scratch, "state/jobs/14.json"), "{\"id\": 14, \"reported\": false}", 0600);
	start_agent(w);
	WAIT_FOR(ended(w, 14, &end));
	assert_int_equal(end.status, 255);
	assert_non_null(strstr(end.text, "gone"));
	char script[200];
	snprintf(script, sizeof(script), "touch %s/out/again", w->scratch->dir);
	assert_int_equal(start(w, 14, script, NULL), 0);
	agent_sleep_ms(200);
	assert_false(exists(scratch_path(w->scratch, "out/again")));
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static bool always(void *arg)
{
	(void)arg;
	return true;
}

static void test_drain(void **state)
{
	struct world *w = *state;
	struct job_end end;
	assert_int_equal(jobs_drain(w->jobs, 0, never, NULL, NULL), 0);
	assert_int_equal(start(w, 15, "sleep 0.3; exit 0", NULL), 0);
	assert_int_equal(jobs_drain(w->jobs, 5000, never, NULL, NULL), 0); /* ends by itself */
	assert_true(ended(w, 15, &end));
	assert_int_equal(end.status, 0);
	assert_int_equal(start(w, 16, "exec sleep 100", NULL), 0);
	assert_int_equal(jobs_drain(w->jobs, 5000, always, NULL, NULL), -ECANCELED);
	assert_int_equal(jobs_drain(w->jobs, 100, never, NULL, NULL), 0); /* is killed */
	WAIT_FOR(ended(w, 16, &end));
	assert_int_equal(end.status, 128 + SIGTERM);
}

static void test_closed(void **state)
{
	struct world *w = *state;
	jobs_close(w->jobs);
	assert_int_equal(start(w, 17, "true", NULL), -ECANCELED);
	assert_false(exists(scratch_path(w->scratch, "state/jobs/17.json")));
}

static void test_much_output(void **state)
{
	struct world *w = *state;
	struct stat st;
	struct job_end end = run(w, 18, "head -c 3000000 /dev/zero");
	assert_int_equal(end.status, 0);
	assert_int_equal(stat(end.output, &st), 0);
	assert_int_equal(st.st_size, 3000000);
	assert_int_equal(st.st_mode & 0777, 0600);
	jobs_reported(w->jobs, 18);
	assert_false(exists(end.output));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_runs_as_its_user),
		TEST(test_never_as_root),
		TEST(test_no_descriptors_inherited),
		TEST(test_program_missing),
		TEST(test_never_twice),
		TEST(test_kill_takes_all),
		TEST(test_kill_of_unknown),
		TEST(test_goes_on_over_a_restart),
		TEST(test_ended_while_the_agent_was_away),
		TEST(test_lost),
		TEST(test_drain),
		TEST(test_closed),
		TEST(test_much_output),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
