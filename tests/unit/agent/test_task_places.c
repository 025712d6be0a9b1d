/* The private places of a user whose tasks are kept: real namespaces, made while signals come. */
#include "unit/agent/scratch.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "agent/task_keep.h"

enum { SOMEBODY = 48125, TIMES = 30, EVERY_US = 100 };

static void on_alarm(int sig)
{
	(void)sig;
}

/* Signals whose handler does not have calls begin again, for as long as `every_us` is not 0. */
static void ring(suseconds_t every_us)
{
	const struct sigaction sa = {.sa_handler = on_alarm};
	const struct itimerval t = {{0, every_us}, {0, every_us}};
	assert_int_equal(sigaction(SIGALRM, &sa, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &t, NULL), 0);
}

/* The keeper waits for who enters the places, and for its end. */
static void test_signals_do_not_keep_it_out(void **state)
{
	const struct scratch *s = *state;
	char cache[128];
	snprintf(cache, sizeof(cache), "%s/cache", s->dir);
	struct task_keep k = {.cache_dir = cache, .is_private = true};
	struct phx_task_order o = {.uid = SOMEBODY, .gid = SOMEBODY};
	PHX_STR_SET(o.data, s->dir);
	if (geteuid() != 0)
		skip();
	for (int i = 0; i < TIMES; i++) {
		struct task_common *c = NULL;
		struct phx_err err = {0};
		ring(EVERY_US);
		int r = task_common_make(&k, &o, &c, &err);
		ring(0);
		assert_string_equal(err.text, "");
		assert_int_equal(r, 0);
		assert_true(c->mounts > 0 && c->ipc > 0);
		/* and nobody is left who would have to be waited for */
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		assert_int_equal(errno, ECHILD);
		free(c);
		task_users_fini(&k);
		k.users = (struct phx_list){0};
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_signals_do_not_keep_it_out, scratch_setup,
						scratch_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
