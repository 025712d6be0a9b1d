/* Child programs: started, ended, restarted with back-off, found again after the daemon was
 * killed. */
#include "unit/deploy/help.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include "deploy/child.h"
#include "base/process.h"

struct world {
	struct place *place;
	struct phx_children *children;
	atomic_int changes, names;
};

static void changed(void *arg, const struct phx_child_status *status)
{
	struct world *w = arg;
	assert_string_not_equal(status->name, "");
	atomic_fetch_add(&w->changes, 1);
}

static int make(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	place_make((void **)&w->place);
	assert_int_equal(phx_children_new(changed, w, &w->children, NULL), 0);
	*state = w;
	return 0;
}

static int unmake(void **state)
{
	struct world *w = *state;
	phx_children_free(w->children);
	place_remove((void **)&w->place);
	free(w);
	return 0;
}

static void sleep_ms(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&ts, NULL);
}

static struct phx_child_status status_of(struct world *w, const char *name)
{
	struct phx_list list;
	struct phx_child_status found = {.pid = UINT64_MAX};
	assert_int_equal(phx_children_status(w->children, &list), 0);
	PHX_LIST_EACH(struct phx_child_status, s, &list)
		if (!strcmp(s->name, name))
			found = *s;
	phx_list_fini(&list);
	return found;
}

static int64_t now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Until it runs with another pid; its new state. */
static struct phx_child_status wait_for_other(struct world *w, const char *name, uint64_t pid)
{
	struct phx_child_status s = {0};
	for (int i = 0; i < 500; i++) {
		s = status_of(w, name);
		if (s.running && s.pid != pid)
			return s;
		sleep_ms(10);
	}
	fail_msg("%s does not run again", name);
	return s;
}

static const char *const sleeper[] = {"/bin/sleep", "1000", NULL};
/* ignores SIGTERM */
static const char *const stubborn[] = {"/bin/sh", "-c",
				       "trap '' TERM; while :; do sleep 0.05; done", NULL};
static const char *const hurried[] = {"/bin/sh", "-c", "echo out; echo err >&2; exit 3", NULL};

static int add(struct world *w, const char *name, const char *const *argv, struct phx_err *err)
{
	struct phx_child_spec spec = {name, argv, NULL, NULL};
	return phx_children_add(w->children, &spec, err);
}

static void end(struct world *w)
{
	phx_children_free(w->children);
	w->children = NULL;
}

static void test_start_and_end(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	assert_int_equal(add(w, "one", sleeper, &err), 0);
	struct phx_child_status s = status_of(w, "one");
	assert_true(s.running);
	assert_int_equal(kill((pid_t)s.pid, 0), 0);
	assert_int_equal(add(w, "one", sleeper, &err), -EEXIST);
	assert_contains(err.text, "one: runs already");
	end(w);
	assert_int_equal(kill((pid_t)s.pid, 0), -1);
	assert_true(atomic_load(&w->changes) >= 2);
}

static void test_what_cannot_be_started(void **state)
{
	struct world *w = *state;
	static const char *const missing[] = {"/nonexistent/program", NULL};
	static const char *const text[] = {TEST_DIR "/unit/deploy/child.c", NULL};
	struct phx_err err = {0};
	assert_int_equal(add(w, "missing", missing, &err), -ENOENT);
	assert_contains(err.text, "/nonexistent/program: No such file");
	phx_err_clear(&err);
	assert_int_equal(add(w, "text", text, &err), -EACCES);
	assert_true(status_of(w, "missing").pid == UINT64_MAX);
	struct phx_child_spec spec = {"x", sleeper, NULL, "/nonexistent/log"};
	phx_err_clear(&err);
	assert_int_equal(phx_children_add(w->children, &spec, &err), -ENOENT);
	assert_contains(err.text, "/nonexistent/log");
	assert_int_equal(add(w, "a name that is much too long for a child program", sleeper, NULL),
			 -ENOMEM);
}

static void test_restarted_when_it_dies(void **state)
{
	struct world *w = *state;
	assert_int_equal(add(w, "one", sleeper, NULL), 0);
	uint64_t pid = status_of(w, "one").pid;
	int64_t begin = now_ms();
	kill((pid_t)pid, SIGKILL);
	struct phx_child_status s = wait_for_other(w, "one", pid);
	assert_true(now_ms() - begin >= 90);
	assert_int_equal(s.status, 128 + SIGKILL);
	assert_int_equal(s.restarts, 1);
}

/* 0.1, 0.2, 0.4, 0.8 s: three restarts take at least 0.7 s, however slow the machine. */
static void test_backs_off(void **state)
{
	struct world *w = *state;
	assert_int_equal(add(w, "hurried", hurried, NULL), 0);
	int64_t begin = now_ms();
	struct phx_child_status s = status_of(w, "hurried");
	for (int i = 0; i < 1000 && s.restarts < 3; i++, s = status_of(w, "hurried"))
		sleep_ms(20);
	assert_true(s.restarts >= 3);
	assert_true(now_ms() - begin >= 600);
	assert_int_equal(s.status, 3);
	end(w); /* it waits now, or runs: it goes in either case */
}

static void test_output_goes_to_the_log(void **state)
{
	struct world *w = *state;
	char path[256];
	struct phx_child_spec spec = {"hurried", hurried, NULL, place_path(w->place, "log", path)};
	assert_int_equal(phx_children_add(w->children, &spec, NULL), 0);
	PHX_AUTO_FREE char *text = NULL;
	for (int i = 0; i < 100 && !(text && strstr(text, "err")); i++) {
		sleep_ms(10);
		free(PHX_TAKE(text));
		phx_file_read(path, 4096, &text, NULL, NULL);
	}
	assert_contains(text, "out\nerr\n");
}

static void test_logs_are_cut(void **state)
{
	struct world *w = *state;
	char path[256];
	struct phx_buf b = {0};
	place_path(w->place, "log", path);
	assert_int_equal(phx_child_trim_log(path, 1000, 100), -ENOENT);
	for (int i = 0; i < 200; i++)
		phx_buf_addf(&b, "line %04d\n", i);
	place_write(w->place, "log", b.data);
	/* a program has it open */
	int fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(phx_child_trim_log(path, 2000, 100), 0);
	PHX_AUTO_FREE char *whole = NULL;
	assert_int_equal(phx_file_read(path, 4096, &whole, NULL, NULL), 0);
	assert_string_equal(whole, b.data);
	assert_int_equal(phx_child_trim_log(path, 1999, 105), 0);
	assert_int_equal(write(fd, "after\n", 6), 6);
	PHX_AUTO_FREE char *cut = NULL;
	assert_int_equal(phx_file_read(path, 4096, &cut, NULL, NULL), 0);
	assert_memory_equal(cut, "line 0190\n", 10);
	assert_contains(cut, "line 0199\nafter\n");
	assert_int_equal(strlen(cut), 106);
	close(fd);
	phx_buf_fini(&b);
}

static void test_signals(void **state)
{
	struct world *w = *state;
	static const char *const tell[] = {
		"/bin/sh", "-c", "trap 'echo hup' HUP; echo up; while :; do sleep 0.02; done",
		NULL};
	char path[256];
	struct phx_err err = {0};
	struct phx_child_spec spec = {"tell", tell, NULL, place_path(w->place, "log", path)};
	assert_int_equal(phx_children_add(w->children, &spec, NULL), 0);
	PHX_AUTO_FREE char *text = NULL;
	for (int i = 0; i < 200 && !(text && strstr(text, "hup")); i++) {
		if (text && strstr(text, "up"))
			assert_int_equal(phx_children_signal(w->children, "tell", SIGHUP, NULL), 0);
		sleep_ms(20);
		free(PHX_TAKE(text));
		phx_file_read(path, 4096, &text, NULL, NULL);
	}
	assert_contains(text, "hup");
	assert_int_equal(phx_children_signal(w->children, "nobody", SIGHUP, &err), -ENOENT);
}

static void test_restart_on_request(void **state)
{
	struct world *w = *state;
	assert_int_equal(add(w, "one", sleeper, NULL), 0);
	uint64_t pid = status_of(w, "one").pid;
	assert_int_equal(phx_children_restart(w->children, "one", NULL), 0);
	wait_for_other(w, "one", pid);
	assert_int_equal(phx_children_restart(w->children, "two", NULL), -ENOENT);
}

static void test_the_stubborn_is_killed(void **state)
{
	struct world *w = *state;
	assert_int_equal(add(w, "stubborn", stubborn, NULL), 0);
	sleep_ms(200);
	pid_t pid = (pid_t)status_of(w, "stubborn").pid;
	int64_t begin = now_ms();
	end(w);
	assert_in_range(now_ms() - begin, 2500, 6000);
	assert_int_equal(kill(pid, 0), -1);
}

/* A daemon with a child; it is killed, and the child does not follow (its death signal is gone with
 * a change of user).
 */
static pid_t leave_one_behind(const char *pid_file)
{
	int p[2];
	pid_t pid = -1;
	assert_int_equal(pipe(p), 0);
	pid_t daemon = fork();
	if (daemon == 0) {
		pid = fork();
		if (pid == 0) {
			setsid();
			execv(sleeper[0], (char *const *)sleeper);
			_exit(127);
		}
		(void)!write(p[1], &pid, sizeof(pid));
		_exit(0);
	}
	assert_int_equal(read(p[0], &pid, sizeof(pid)), sizeof(pid));
	close(p[0]);
	close(p[1]);
	waitpid(daemon, NULL, 0);
	assert_int_equal(phx_process_note(pid_file, pid, NULL), 0);
	return pid;
}

static bool alive(pid_t pid)
{
	char path[64], state = 0;
	PHX_AUTO_FREE char *text = NULL;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (phx_file_read(path, 4096, &text, NULL, NULL) < 0)
		return false;
	char *close = strrchr(text, ')');
	state = close ? close[2] : 'Z';
	return state != 'Z';
}

static void test_one_left_by_a_killed_daemon_is_ended(void **state)
{
	struct world *w = *state;
	char path[256];
	pid_t old = leave_one_behind(place_path(w->place, "one.pid", path));
	sleep_ms(100);
	assert_true(alive(old));
	struct phx_child_spec spec = {"one", sleeper, path, NULL};
	assert_int_equal(phx_children_add(w->children, &spec, NULL), 0);
	assert_false(alive(old));
	PHX_AUTO_FREE char *text = NULL;
	assert_int_equal(phx_file_read(path, 64, &text, NULL, NULL), 0);
	assert_int_equal(strtoul(text, NULL, 10), status_of(w, "one").pid);
}

static void test_another_program_is_left_alone(void **state)
{
	struct world *w = *state;
	char path[256], text[32];
	pid_t old = leave_one_behind(place_path(w->place, "one.pid", path));
	struct phx_child_spec spec = {"one", sleeper, path, NULL};
	/* one of this number that started at another time */
	snprintf(text, sizeof(text), "%d 1\n", (int)old);
	place_write(w->place, "one.pid", text);
	assert_int_equal(phx_children_add(w->children, &spec, NULL), 0);
	assert_true(alive(old));
	kill(old, SIGKILL);
	/* nonsense in the file is no reason to fail */
	spec.name = "two";
	place_write(w->place, "one.pid", "1 or so\n");
	assert_int_equal(phx_children_add(w->children, &spec, NULL), 0);
}

/* The supervisor's process ends by SIGKILL: its children end too. */
static void test_children_die_with_the_daemon(void **state)
{
	(void)state;
	int p[2];
	uint64_t pid = 0;
	assert_int_equal(pipe(p), 0);
	pid_t daemon = fork();
	if (daemon == 0) {
		struct phx_children *c;
		struct phx_list list;
		struct phx_child_spec spec = {"one", sleeper, NULL, NULL};
		if (phx_children_new(NULL, NULL, &c, NULL) || phx_children_add(c, &spec, NULL) ||
		    phx_children_status(c, &list))
			_exit(1);
		pid = PHX_LIST_AT(&list, struct phx_child_status, 0)->pid;
		(void)!write(p[1], &pid, sizeof(pid));
		pause();
	}
	assert_int_equal(read(p[0], &pid, sizeof(pid)), sizeof(pid));
	close(p[0]);
	close(p[1]);
	assert_true(alive((pid_t)pid));
	kill(daemon, SIGKILL);
	waitpid(daemon, NULL, 0);
	for (int i = 0; i < 100 && alive((pid_t)pid); i++)
		sleep_ms(10);
	assert_false(alive((pid_t)pid));
}

static void *add_some(void *arg)
{
	struct world *w = arg;
	char name[32];
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "t%d", atomic_fetch_add(&w->names, 1));
		assert_int_equal(add(w, name, sleeper, NULL), 0);
		assert_int_equal(phx_children_restart(w->children, name, NULL), 0);
	}
	return NULL;
}

static void test_many_threads(void **state)
{
	struct world *w = *state;
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_some, w), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	struct phx_list list;
	assert_int_equal(phx_children_status(w->children, &list), 0);
	assert_int_equal(list.n, 16);
	phx_list_fini(&list);
}

static void test_no_more_than_that(void **state)
{
	struct world *w = *state;
	char name[16];
	int r = 0, i = 0;
	for (; r == 0 && i < 100; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		r = add(w, name, sleeper, NULL);
	}
	assert_int_equal(r, -E2BIG);
	assert_int_equal(i, 17);
}

#define RUN_WORLD(test) cmocka_unit_test_setup_teardown(test, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN_WORLD(test_start_and_end),
		RUN_WORLD(test_what_cannot_be_started),
		RUN_WORLD(test_restarted_when_it_dies),
		RUN_WORLD(test_backs_off),
		RUN_WORLD(test_output_goes_to_the_log),
		RUN_WORLD(test_logs_are_cut),
		RUN_WORLD(test_signals),
		RUN_WORLD(test_restart_on_request),
		RUN_WORLD(test_the_stubborn_is_killed),
		RUN_WORLD(test_one_left_by_a_killed_daemon_is_ended),
		RUN_WORLD(test_another_program_is_left_alone),
		cmocka_unit_test(test_children_die_with_the_daemon),
		RUN_WORLD(test_many_threads),
		RUN_WORLD(test_no_more_than_that),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
