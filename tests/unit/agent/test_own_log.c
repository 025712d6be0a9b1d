/* What the agent and the kernel have said: which lines of a step, the last ones, those behind a
 * cursor; of a kernel's log that is a file, and of an agent whose stderr is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "agent/own_log.h"
#include "base/file.h"
#include "base/tree.h"

static char dir[64];
static struct agent_config cfg;

static int setup(void **state)
{
	char path[128];
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/phx-own-log-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/dev", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	cfg = (struct agent_config){0};
	PHX_STR_SET(cfg.fact_root, dir);
	unsetenv("JOURNAL_STREAM");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return phx_dir_remove(dir, NULL);
}

static void put(const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(phx_file_write(path, text, strlen(text), 0600, NULL), 0);
}

static void cut_from(bool began, const char *text, uint64_t step, const char *wanted)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(&b, "%s", text);
	own_log_cut_step(&b, step, began);
	assert_string_equal(b.data, wanted);
	assert_int_equal(b.n, strlen(wanted));
}

static void cut(const char *text, uint64_t step, const char *wanted)
{
	cut_from(false, text, step, wanted);
}

static void a_step_has_its_lines(void **state)
{
	static const char text[] = "phx-agent: step 1 reset of epoch 2\n"
				   "a\n"
				   "phx-agent: step 1 reset: done\n"
				   "b\n"
				   "phx-agent: step 12 image of epoch 2\n"
				   "step 1 is not meant\n"
				   "phx-agent: step 12 image: no space left\n"
				   "c\n"
				   "phx-agent: step 13 boot of epoch 2\n"
				   "d\n";
	(void)state;
	cut(text, 1, "phx-agent: step 1 reset of epoch 2\na\nphx-agent: step 1 reset: done\n");
	cut(text, 12,
	    "phx-agent: step 12 image of epoch 2\nstep 1 is not meant\n"
	    "phx-agent: step 12 image: no space left\n");
	cut(text, 13, "phx-agent: step 13 boot of epoch 2\nd\n"); /* it has not ended */
	cut(text, 2, "");
	cut("phx-agent: step 3 x: cut off", 3, "phx-agent: step 3 x: cut off");
	cut_from(true, "c\nphx-agent: step 12 image: done\nd\n", 12,
		 "c\nphx-agent: step 12 image: done\n");
	cut_from(true, "c\nd\n", 12, "c\nd\n");
	struct phx_buf none = {0};
	own_log_cut_step(&none, 1, false);
	assert_int_equal(none.n, 0);
}

static const char kmsg[] = "6,1,1000000,-;Linux version 6.1\n"
			   " SUBSYSTEM=none\n"
			   "15,2,2500000,-;phoenix: deploy image\n"
			   "no record\n"
			   "3,3,3000001,-;sda: failed; badly\n"
			   "15,4,4000000,-;phx-agent: step 9 wipe of epoch 1\n";

static void log_is(enum phx_logs_of of, uint64_t step, struct service_log_ask from,
		   const char *wanted, const char *wanted_cursor)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	char cursor[SERVICE_CURSOR_MAX] = "";
	struct phx_err err = {0};
	const struct own_log_ask ask = {of, step, &from};
	if (own_log_read(&cfg, &ask, &b, cursor, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(b.data ? b.data : "", wanted);
	if (wanted_cursor)
		assert_string_equal(cursor, wanted_cursor);
}

static void the_kernels_log_is_read(void **state)
{
	(void)state;
	put("dev/kmsg", kmsg);
	log_is(PHX_LOGS_KERNEL, 0, (struct service_log_ask){.lines = 50},
	       "[    1.000000] Linux version 6.1\n[    3.000001] sda: failed; badly\n", "k4");
	log_is(PHX_LOGS_KERNEL, 0, (struct service_log_ask){.lines = 1},
	       "[    3.000001] sda: failed; badly\n", "k4");
	log_is(PHX_LOGS_KERNEL, 0, (struct service_log_ask){.lines = 50, .cursor = "k4"}, "", "k4");
	log_is(PHX_LOGS_KERNEL, 0, (struct service_log_ask){.lines = 50, .cursor = "k2"},
	       "[    3.000001] sda: failed; badly\n", "k4");
	log_is(PHX_LOGS_KERNEL, 0, (struct service_log_ask){.lines = 0}, "", "k4");
}

/* In the deploy environment /init, agent and kernel are in one order. */
static void all_is_in_one_there(void **state)
{
	(void)state;
	put("dev/kmsg", kmsg);
	cfg.deploy = true;
	log_is(PHX_LOGS_AGENT, 0, (struct service_log_ask){.lines = 3},
	       "[    2.500000] phoenix: deploy image\n[    3.000001] sda: failed; badly\n"
	       "[    4.000000] phx-agent: step 9 wipe of epoch 1\n",
	       "k5");
	log_is(PHX_LOGS_AGENT, 9, (struct service_log_ask){.lines = 1},
	       "[    4.000000] phx-agent: step 9 wipe of epoch 1\n", NULL);
}

/* stderr of the agent is a file: what stands in it, and what comes. */
static void a_file_is_read(void **state)
{
	char path[128];
	int former = dup(2);
	(void)state;
	snprintf(path, sizeof(path), "%s/log", dir);
	put("log", "one\ntwo\nthree\n");
	int fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(dup2(fd, 2), 2);
	log_is(PHX_LOGS_AGENT, 0, (struct service_log_ask){.lines = 2}, "two\nthree\n", "f14");
	log_is(PHX_LOGS_AGENT, 0, (struct service_log_ask){.lines = 2, .cursor = "f14"}, "", "f14");
	assert_int_equal(write(fd, "four\n", 5), 5);
	log_is(PHX_LOGS_AGENT, 0, (struct service_log_ask){.lines = 1, .cursor = "f8"},
	       "three\nfour\n", "f19");
	log_is(PHX_LOGS_AGENT, 0, (struct service_log_ask){.lines = 9, .cursor = "f99"},
	       "one\ntwo\nthree\nfour\n", "f19"); /* it was begun anew */
	assert_int_equal(dup2(former, 2), 2);
	close(former);
	close(fd);
}

static void where_none_is_kept_it_is_told(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	char cursor[SERVICE_CURSOR_MAX];
	struct phx_err err = {0};
	const struct service_log_ask from = {.lines = 1};
	const struct own_log_ask agent = {PHX_LOGS_AGENT, 0, &from},
				 kernel = {PHX_LOGS_KERNEL, 0, &from};
	int former = dup(2), nowhere = open("/dev/null", O_WRONLY);
	(void)state;
	assert_int_equal(dup2(nowhere, 2), 2);
	int r = own_log_read(&cfg, &agent, &b, cursor, &err);
	assert_int_equal(dup2(former, 2), 2);
	close(former);
	close(nowhere);
	assert_int_equal(r, -ENOENT);
	assert_non_null(strstr(err.text, "not kept here"));
	phx_err_clear(&err);
	assert_int_equal(own_log_read(&cfg, &kernel, &b, cursor, &err), -ENOENT);
	assert_non_null(strstr(err.text, "the kernel's log"));
}

/* Of very much the end, from the beginning of a line on. */
static void an_answer_has_a_bound(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0}, b = {0};
	char cursor[SERVICE_CURSOR_MAX];
	const struct service_log_ask from = {.lines = 10000};
	const struct own_log_ask ask = {PHX_LOGS_KERNEL, 0, &from};
	(void)state;
	for (int i = 0; i < 3000; i++)
		phx_buf_addf(&text, "6,%d,1,-;line %d of a kernel that says much\n", i, i);
	put("dev/kmsg", text.data);
	assert_int_equal(own_log_read(&cfg, &ask, &b, cursor, NULL), 0);
	assert_true(b.n <= SERVICE_LOG_MAX && b.n > SERVICE_LOG_MAX - 100);
	assert_memory_equal(b.data, "[    0.", 7);
	assert_non_null(strstr(b.data, "line 2999 of"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_step_has_its_lines), T(the_kernels_log_is_read),       T(all_is_in_one_there),
		T(a_file_is_read),       T(where_none_is_kept_it_is_told), T(an_answer_has_a_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
