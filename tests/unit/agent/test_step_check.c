/* The steps of a check, in a machine of their own (machine.h): with fakes of the programs that
 * say what the real ones would of broken parts, and with the real ones for a second. */
#include "unit/agent/machine.h"
#include "unit/agent/step_bench.h"

#include "agent/check_run.h"

#define SIZE (129 * PHX_MIB)
#define OF_DISK "what somebody had on it"

struct stand {
	struct bench *b;
	struct machine_disk disk;
	char *path; /* of before */
};

static int setup(void **state)
{
	struct stand *t = calloc(1, sizeof(*t));
	bench_setup((void **)&t->b);
	t->b->a.env = PHX_ENV_DEPLOY;
	t->b->o.step.seconds = 1;
	assert_int_equal(loop_work(t->b->a.loop, turn_loop, t->b->a.loop), 0);
	machine_disk_add(&t->disk, t->b->s->dir, "1", SIZE);
	machine_disk_put(&t->disk, 0, OF_DISK);
	PHX_STR_SET(t->b->o.step.disk, "");
	t->path = strdup(getenv("PATH"));
	/* no more than this is tested, whatever the real machine has free */
	PHX_STR_SET(t->b->a.cfg.root, scratch_path(t->b->s, "node"));
	PHX_AUTO_FREE char *proc = phx_path("%s/proc", t->b->a.cfg.root);
	PHX_AUTO_FREE char *meminfo = phx_path("%s/meminfo", proc);
	assert_int_equal(phx_dir_make(proc, 0755, NULL), 0);
	PHX_AUTO_FREE char *stat = phx_path("%s/stat", proc);
	write_text(meminfo, "MemTotal: 262144 kB\nMemAvailable: 81920 kB\n", 0644);
	write_text(stat, "cpu 1 1 1 1\n", 0644);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct stand *t = *state;
	setenv("PATH", t->path, 1);
	free(t->path);
	machine_disk_remove(&t->disk);
	bench_teardown((void **)&t->b);
	free(t);
	return 0;
}

/* A fake of the program, a script of the shell. */
static void fake(struct stand *t, const char *name, const char *script)
{
	PHX_AUTO_FREE char *dir = strdup(scratch_path(t->b->s, "fakes"));
	PHX_AUTO_FREE char *file = phx_path("%s/%s", dir, name);
	PHX_AUTO_FREE char *text = phx_path("#!/bin/sh\n%s\n", script);
	PHX_AUTO_FREE char *path = phx_path("%s:%s", dir, t->path);
	assert_int_equal(phx_dir_make(dir, 0755, NULL), 0);
	write_text(file, text, 0755);
	setenv("PATH", path, 1);
}

static const struct phx_check *said(const struct stand *t)
{
	assert_true(t->b->run.has_check);
	return &t->b->run.check;
}

/* ---- processors ---- */

static void test_wrong_results_of_processors(void **state)
{
	struct stand *t = *state;
	fake(t, "stress-ng",
	     "sleep 1; echo 'stress-ng: fail:  [9] cpu: fft error' >&2\n"
	     "echo 'stress-ng: fail:  [9] cpu: sqrt error' >&2; exit 2");
	assert_step(t->b, PHX_STEP_check_cpu, 0);
	assert_false(said(t)->passed);
	assert_int_equal(said(t)->errors, 2);
	assert_contains(said(t)->text, "2 results of processors were wrong");
	/* however it ends */
	fake(t, "stress-ng", "echo 'stress-ng: fail:  [9] cpu: fft error' >&2");
	assert_step(t->b, PHX_STEP_check_cpu, 0);
	assert_false(said(t)->passed);
	assert_int_equal(said(t)->errors, 1);
}

static void test_what_the_program_says_of_its_work(void **state)
{
	struct stand *t = *state;
	fake(t, "stress-ng",
	     "while [ \"$1\" != --yaml ]; do shift; done; sleep 1\n"
	     "printf 'system-info:\\n  stress-ng-version: 0.99\\n' >$2\n"
	     "echo '      bogo-ops-per-second-real-time: 2341.08' >>$2");
	assert_step(t->b, PHX_STEP_check_cpu, 0);
	assert_true(said(t)->passed);
	assert_int_equal(said(t)->part, PHX_CHECK_cpu);
	assert_int_equal(said(t)->rate, 2341);
	assert_in_range(said(t)->seconds, 1, 60);
	assert_string_equal(said(t)->tool, "stress-ng 0.99");
	/* what ends too early has not loaded it: the head sees for how long it was */
	fake(t, "stress-ng", "exit 0");
	t->b->o.step.seconds = 1000;
	assert_step(t->b, PHX_STEP_check_cpu, 0);
	assert_in_range(said(t)->seconds, 0, 60);
}

static void test_a_program_that_fails_itself(void **state)
{
	struct stand *t = *state;
	fake(t, "stress-ng", "echo first >&2; echo 'no such option' >&2; exit 1");
	assert_step(t->b, PHX_STEP_check_cpu, -EIO);
	assert_says(t->b, "stress-ng ended with 1: no such option");
	assert_false(t->b->run.has_check);
	/* nor does the status of a failed instance count without what failed */
	fake(t, "stress-ng", "exit 2");
	assert_step(t->b, PHX_STEP_check_cpu, -EIO);
}

static void test_a_program_that_is_missing(void **state)
{
	static const enum phx_step_kind kinds[] = {PHX_STEP_check_cpu, PHX_STEP_check_memory};
	struct stand *t = *state;
	setenv("PATH", "/nonexistent", 1);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++) {
		assert_step(t->b, kinds[i], -ENOENT);
		assert_says(t->b, "there is no program ");
		assert_false(t->b->run.has_check);
	}
}

static bool lives(const char *pid_file)
{
	PHX_AUTO_FREE char *text = read_text(pid_file);
	int pid = atoi(text);
	/* a zombie whose parent is gone does not live either */
	PHX_AUTO_FREE char *stat = phx_path("/proc/%d/stat", pid);
	PHX_AUTO_FREE char *line = NULL;
	return pid > 0 && phx_file_read(stat, 4096, &line, NULL, NULL) == 0 &&
		!strstr(line, ") Z ");
}

/* A newer plan ends it at once, with all that it started. */
static void test_a_step_that_is_given_up(void **state)
{
	struct stand *t = *state;
	PHX_AUTO_FREE char *pid = strdup(scratch_path(t->b->s, "pid"));
	PHX_AUTO_FREE char *script =
		phx_path("trap '' TERM; sleep 1000 & echo $! >%s; wait; wait", pid);
	fake(t, "stress-ng", script);
	t->b->o.step.seconds = 1000;
	atomic_store(&t->b->a.stop, true);
	assert_step(t->b, PHX_STEP_check_cpu, -ECANCELED);
	atomic_store(&t->b->a.stop, false);
	assert_says(t->b, "the agent ends");
	/* all were killed: what is not ours to wait for ends a moment later */
	for (unsigned i = 0; i < 500 && exists(pid) && lives(pid); i++)
		usleep(10000);
	assert_false(exists(pid) && lives(pid));
}

/* ---- memory ---- */

static void test_errors_of_memory(void **state)
{
	struct stand *t = *state;
	fake(t, "memtester",
	     "[ $# = 1 ] || { echo 'memtester version 9'; exit 1; }\n"
	     "echo 'FAILURE: 0x01 != 0x00 at offset 0x10.' >&2; exec sleep 1000");
	assert_step(t->b, PHX_STEP_check_memory, 0);
	assert_false(said(t)->passed);
	assert_true(said(t)->errors >= 1);
	assert_string_equal(said(t)->tool, "memtester version 9");
	assert_contains(said(t)->text, "errors of memory");
}

/* It writes without end: the kernel ends it, and what it wrote is proof enough. */
static void test_errors_of_memory_without_end(void **state)
{
	struct stand *t = *state;
	fake(t, "memtester",
	     "[ $# = 1 ] || exit 1\n"
	     "exec yes 'FAILURE: 0x01 != 0x00 at offset 0x10.' >&2");
	assert_step(t->b, PHX_STEP_check_memory, 0);
	assert_false(said(t)->passed);
	assert_in_range(said(t)->errors, 1000, 64 * CHECK_OUTPUT_MAX);
}

static void test_memory_that_is_not_given(void **state)
{
	struct stand *t = *state;
	fake(t, "memtester", "[ $# = 1 ] || exit 1; echo 'failed to allocate' >&2; exit 1");
	assert_step(t->b, PHX_STEP_check_memory, -EIO);
	assert_says(t->b, "memtester ended with 1: failed to allocate");
	PHX_AUTO_FREE char *meminfo = phx_path("%s/proc/meminfo", t->b->a.cfg.root);
	write_text(meminfo, "MemTotal: 262144 kB\nMemAvailable: 66560 kB\n", 0644);
	assert_step(t->b, PHX_STEP_check_memory, -ENOMEM);
	assert_says(t->b, "only 65 MiB of memory are free");
}

/* ---- disks ---- */

static void order_disk(struct stand *t, bool writes)
{
	PHX_STR_SET(t->b->o.step.disk, t->disk.id);
	t->b->o.step.writes = writes;
	t->b->a.cfg.root[0] = '\0';
}

static void test_a_disk_that_fails(void **state)
{
	static const struct {
		const char *script, *text;
	} cases[] = {
		{"sleep 1; echo '{\"fio version\": \"fio-9\", \"jobs\": [{\"error\": 5}]}'; exit 1",
		 "Input/output error"},
		{"sleep 1; echo 'a warning'\n"
		 "echo '{\"fio version\": \"fio-9\", \"jobs\": [{\"error\": 84}]}'; exit 1",
		 "what was read is not what was written"},
	};
	struct stand *t = *state;
	order_disk(t, true);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		fake(t, "fio", cases[i].script);
		assert_step(t->b, PHX_STEP_check_disk, 0);
		assert_false(said(t)->passed);
		assert_string_equal(said(t)->text, cases[i].text);
		assert_string_equal(said(t)->tool, "fio-9");
		assert_string_equal(said(t)->disk, t->disk.id);
	}
	fake(t, "fio", "echo 'fio: no such engine' >&2; exit 1");
	assert_step(t->b, PHX_STEP_check_disk, -EIO);
	assert_says(t->b, "no such engine");
}

/* Disks that are protected are left alone by what the agent itself sees, too. */
static void test_a_protected_disk(void **state)
{
	struct stand *t = *state;
	order_disk(t, true);
	t->b->extra =
		json_pack("{s:{s:b,s:s}}", "protect", "remote", 1, "selectors", "id=serial-T-1");
	assert_step(t->b, PHX_STEP_check_disk, -EPERM);
	assert_true(machine_disk_has(&t->disk, 0, OF_DISK));
}

/* ---- the real programs, for a second each ---- */

static void test_the_real_ones(void **state)
{
	struct stand *t = *state;
	assert_step(t->b, PHX_STEP_check_cpu, 0);
	assert_true(said(t)->passed && said(t)->rate > 0 && said(t)->seconds >= 1);
	assert_contains(said(t)->tool, "stress-ng ");
	assert_step(t->b, PHX_STEP_check_memory, 0);
	assert_true(said(t)->passed && said(t)->seconds >= 1);
	/* of 80 MiB 64 stay free */
	assert_int_equal(said(t)->bytes, 16 * PHX_MIB);
	assert_contains(said(t)->tool, "memtester version ");
}

static void test_the_real_one_of_disks(void **state)
{
	struct stand *t = *state;
	order_disk(t, false);
	assert_step(t->b, PHX_STEP_check_disk, 0);
	assert_true(said(t)->passed && said(t)->rate > 0 && !said(t)->write_rate);
	assert_contains(said(t)->tool, "fio-");
	assert_true(machine_disk_has(&t->disk, 0, OF_DISK));
	order_disk(t, true);
	assert_step(t->b, PHX_STEP_check_disk, 0);
	assert_true(said(t)->passed && said(t)->writes && said(t)->write_rate > 0);
	assert_false(machine_disk_has(&t->disk, 0, OF_DISK));
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!machine_enter(argv)) {
		puts("skip step_check: needs root and a mount namespace");
		return 0;
	}
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_wrong_results_of_processors),
		TEST(test_what_the_program_says_of_its_work),
		TEST(test_a_program_that_fails_itself),
		TEST(test_a_program_that_is_missing),
		TEST(test_a_step_that_is_given_up),
		TEST(test_errors_of_memory),
		TEST(test_errors_of_memory_without_end),
		TEST(test_memory_that_is_not_given),
		TEST(test_a_disk_that_fails),
		TEST(test_a_protected_disk),
		TEST(test_the_real_ones),
		TEST(test_the_real_one_of_disks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
