/* CPU time of sessions, from a made /proc, and of real processes. */
#include "unit/agent/scratch.h"

#include <signal.h>
#include <sys/wait.h>

#include "agent/cpu_time.h"

/* "PID (NAME) S PARENT GROUP SESSION ..." with four times in ticks */
static void put(const struct scratch *s, int pid, const char *name, int parent, int session,
		const int ticks[4])
{
	char dir[64], path[64], text[256];
	snprintf(dir, sizeof(dir), "proc/%d", pid);
	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	int n = snprintf(text, sizeof(text),
			 "%d (%s) S %d %d %d 0 -1 4194560 1 2 3 4 %d %d %d %d 20 0 1 0 77 0\n", pid,
			 name, parent, pid, session, ticks[0], ticks[1], ticks[2], ticks[3]);
	assert_int_equal(phx_dir_make(scratch_path(s, dir), 0755, NULL), 0);
	assert_int_equal(phx_file_write(scratch_path(s, path), text, (size_t)n, 0644, NULL), 0);
}

static uint64_t used(const struct scratch *s, const pid_t *leaders, uint32_t n)
{
	uint64_t us = 1;
	struct phx_err err = {0};
	assert_int_equal(cpu_time_of_sessions(scratch_path(s, "proc"), leaders, n, &us, &err), 0);
	return us * (uint64_t)sysconf(_SC_CLK_TCK) / 1000000;
}

static void test_sessions(void **state)
{
	const struct scratch *s = *state;
	const pid_t one[] = {100}, both[] = {100, 200}, gone[] = {0, 999};
	put(s, 1, "init", 0, 1, (int[]){9000, 9000, 9000, 9000});
	put(s, 100, "web", 1, 100, (int[]){1, 2, 4, 8});
	put(s, 101, "odd) S 1 1 1 (name", 100, 100, (int[]){16, 0, 0, 0});
	put(s, 103, "left alone", 1, 100, (int[]){32, 0, 0, 0});  /* its parent ended */
	put(s, 150, "away", 101, 150, (int[]){64, 0, 0, 0});      /* a session of its own */
	put(s, 90, "born late", 150, 150, (int[]){128, 0, 0, 0}); /* numbers have begun again */
	put(s, 200, "other", 1, 200, (int[]){256, 0, 0, 0});
	assert_int_equal(used(s, one, 1), 255);
	assert_int_equal(used(s, both, 2), 511);
	assert_int_equal(used(s, gone, 2), 0);
}

static void test_no_proc(void **state)
{
	const pid_t one[] = {100};
	uint64_t us = 7;
	struct phx_err err = {0};
	assert_int_equal(cpu_time_of_sessions(scratch_path(*state, "nothing"), one, 1, &us, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "nothing"));
	assert_int_equal(us, 7);
}

static void test_cgroup(void **state)
{
	const char *text = "usage_usec 123456\nuser_usec 100000\n";
	uint64_t us = 0;
	assert_int_equal(cpu_time_of_cgroup(scratch_path(*state, "group"), &us), -ENOENT);
	assert_int_equal(phx_dir_make(scratch_path(*state, "group"), 0755, NULL), 0);
	assert_int_equal(phx_file_write(scratch_path(*state, "group/cpu.stat"), text, strlen(text),
					0644, NULL),
			 0);
	assert_int_equal(cpu_time_of_cgroup(scratch_path(*state, "group"), &us), 0);
	assert_int_equal(us, 123456);
	assert_int_equal(
		phx_file_write(scratch_path(*state, "group/cpu.stat"), "x 1\n", 4, 0644, NULL), 0);
	assert_int_equal(cpu_time_of_cgroup(scratch_path(*state, "group"), &us), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sessions, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_no_proc, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_cgroup, scratch_setup, scratch_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
