/* Supervision with real programs: order, restart, what is left behind. */
#include "unit/agent/scratch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "agent/config.h"
#include "base/process.h"
#include "agent/service.h"
#include "base/clock.h"

struct world {
	struct scratch *scratch;
	struct loop *loop;
	struct services *services;
	struct phx_role role;
};

static void start_services(struct world *w)
{
	struct services_config config = {w->loop, scratch_path(w->scratch, "pkg"),
					 scratch_path(w->scratch, "run"), AGENT_SUPERVISOR_OWN};
	struct phx_err err = {0};
	assert_int_equal(services_new(&config, &w->services, &err), 0);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	scratch_setup((void **)&w->scratch);
	PHX_STR_SET(w->role.name, "web");
	w->loop = loop_started();
	start_services(w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	services_free(w->services);
	loop_free(w->loop);
	phx_record_fini(&phx_role_record, &w->role);
	scratch_teardown((void **)&w->scratch);
	free(w);
	return 0;
}

/* A service that notes its name in LOG at its start and "-name" at its end, and its pid in NAME. */
static struct phx_service *add_logged(struct world *w, const char *name, const char *after)
{
	char script[256];
	const char *dir = w->scratch->dir;
	snprintf(script, sizeof(script),
		 "echo $$ >%s/%s; echo %s >>%s/log; trap 'echo -%s >>%s/log; exit 0' TERM; while "
		 ":; do sleep 0.05; done",
		 dir, name, name, dir, name, dir);
	return add_service(&w->role, name, script, after);
}

static char *flat_log(struct world *w)
{
	char *text = read_text(scratch_path(w->scratch, "log"));
	for (char *p = text; *p; p++)
		*p = *p == '\n' ? ' ' : *p;
	return text;
}

static bool log_is(struct world *w, const char *expected)
{
	PHX_AUTO_FREE char *text = flat_log(w);
	return phx_str_eq(text, expected);
}

static pid_t pid_of(struct world *w, const char *name)
{
	PHX_AUTO_FREE char *text = read_text(scratch_path(w->scratch, name));
	return atoi(text);
}

static bool gone(pid_t pid)
{
	return phx_process_since(pid) == 0;
}

static void test_order(void **state)
{
	struct world *w = *state;
	char text[160];
	add_logged(w, "front", "app");
	add_logged(w, "app", "db");
	add_logged(w, "db", NULL);
	assert_int_equal(services_start(w->services, &w->role, NULL), 0);
	assert_true(services_ok(w->services, text, sizeof(text)));
	WAIT_FOR(pid_of(w, "front") && pid_of(w, "app") && pid_of(w, "db"));
	WAIT_FOR(!log_is(w, "") && ({
		PHX_AUTO_FREE char *t = flat_log(w);
		strlen(t) == strlen("db app front ");
	}));
	pid_t front = pid_of(w, "front");
	assert_int_equal(services_start(w->services, &w->role, NULL), 0); /* it runs already */
	assert_int_equal(pid_of(w, "front"), front);
	assert_int_equal(truncate(scratch_path(w->scratch, "log"), 0), 0);
	assert_int_equal(services_stop(w->services, &w->role, NULL), 0);
	assert_true(log_is(w, "-front -app -db "));
	assert_true(gone(front) && gone(pid_of(w, "app")) && gone(pid_of(w, "db")));
	assert_int_equal(services_stop(w->services, &w->role, NULL), 0);
}

static void test_restart_with_dependants(void **state)
{
	struct world *w = *state;
	char text[160];
	add_logged(w, "db", NULL);
	add_logged(w, "app", "db");
	add_logged(w, "front", "app");
	add_logged(w, "other", NULL);
	assert_int_equal(services_start(w->services, &w->role, NULL), 0);
	WAIT_FOR(pid_of(w, "db") && pid_of(w, "app") && pid_of(w, "front") && pid_of(w, "other"));
	pid_t db = pid_of(w, "db"), app = pid_of(w, "app"), other = pid_of(w, "other");
	assert_int_equal(truncate(scratch_path(w->scratch, "log"), 0), 0);
	assert_int_equal(kill(db, SIGKILL), 0);
	WAIT_FOR(services_restarts(w->services, text, sizeof(text)) == 3);
	assert_string_equal(text, "db ended with status 137");
	WAIT_FOR(services_ok(w->services, text, sizeof(text)));
	WAIT_FOR(pid_of(w, "db") != db && pid_of(w, "app") != app);
	PHX_AUTO_FREE char *log = flat_log(w);
	assert_true(phx_str_starts(log, "-front -app ")); /* the last first */
	assert_true(gone(db) && gone(app));
	assert_int_equal(pid_of(w, "other"), other); /* has nothing to do with it */
}

static void test_that_cannot_start(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	add_logged(w, "db", NULL);
	struct phx_service *bad = add_service(&w->role, "bad", "true", "db");
	PHX_STR_SET(PHX_LIST_AT(&bad->argv, struct phx_word, 0)->text, "/no/such/program");
	assert_int_equal(services_start(w->services, &w->role, &err), -ENOENT);
	assert_non_null(strstr(err.text, "service bad"));
	assert_non_null(strstr(err.text, "/no/such/program"));
	/* what was started for it is stopped again */
	pid_t db = pid_of(w, "db");
	assert_true(db == 0 || gone(db));
}

static void test_that_dies_at_once(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	add_service(&w->role, "crash", "exit 3", NULL);
	assert_int_equal(services_start(w->services, &w->role, &err), -EIO);
	assert_non_null(strstr(err.text, "service crash ended at once with status 3"));
}

/* It runs at first, and is found all the same: its start counts only when it has run for its settle
 * time. */
static void test_that_dies_within_its_settle_time(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	add_logged(w, "db", NULL);
	add_service(&w->role, "late", "sleep 0.5; echo no licence; exit 3", NULL)->settle_s = 60;
	assert_int_equal(services_start(w->services, &w->role, &err), 0);
	WAIT_FOR(pid_of(w, "db"));
	pid_t db = pid_of(w, "db");
	assert_int_equal(services_settle(w->services, NULL, &err), -EIO);
	assert_string_equal(
		err.text,
		"service late ended within its settle time of 60 s with status 3: no licence");
	assert_true(gone(db)); /* what was started with it is stopped again */
}

/* One that is to end may, and without a settle time nobody waits. */
static void test_that_settles(void **state)
{
	struct world *w = *state;
	char text[160];
	struct phx_service *once = add_service(&w->role, "once", "exit 0", NULL);
	once->restart = false;
	once->settle_s = 60;
	add_logged(w, "plain", NULL);
	add_logged(w, "db", NULL)->settle_s = 1;
	assert_int_equal(services_start(w->services, &w->role, NULL), 0);
	assert_int_equal(services_settle(w->services, NULL, NULL), 0);
	assert_true(services_ok(w->services, text, sizeof(text)));
	WAIT_FOR(pid_of(w, "db"));
	assert_int_equal(services_settle(w->services, NULL, NULL), 0); /* they have */
}

struct settling {
	struct world *w;
	atomic_bool give_up;
	int r;
};

static bool given_up(void *arg)
{
	struct settling *s = arg;
	return atomic_load(&s->give_up);
}

static void *settle(void *arg)
{
	struct settling *s = arg;
	const struct fetch_stop stop = {given_up, s};
	s->r = services_settle(s->w->services, &stop, NULL);
	return NULL;
}

static void test_settling_is_given_up(void **state)
{
	struct settling s = {.w = *state, .r = 1};
	struct world *w = s.w;
	pthread_t thread;
	add_logged(w, "db", NULL)->settle_s = 3600;
	assert_int_equal(services_start(w->services, &w->role, NULL), 0);
	WAIT_FOR(pid_of(w, "db"));
	assert_int_equal(pthread_create(&thread, NULL, settle, &s), 0);
	loop_news(w->loop); /* for nothing: it goes on */
	atomic_store(&s.give_up, true);
	loop_news(w->loop);
	pthread_join(thread, NULL);
	assert_int_equal(s.r, -ECANCELED);
	assert_true(gone(pid_of(w, "db")));
}

/* Those with a drain_signal are sent it, and only they; who ends by it is not started again. */
static void test_drain(void **state)
{
	struct world *w = *state;
	const char *dir = w->scratch->dir;
	char script[512], text[160];
	add_logged(w, "deaf", NULL);
	snprintf(script, sizeof(script),
		 "trap 'echo hup >>%s/heard' HUP; echo $$ >%s/stays; while :; do sleep 0.05; done",
		 dir, dir);
	add_service(&w->role, "stays", script, NULL)->drain_signal = PHX_DRAIN_HUP;
	snprintf(script, sizeof(script),
		 "trap 'exit 3' QUIT; echo $$ >%s/ends; while :; do sleep 0.05; done", dir);
	add_service(&w->role, "ends", script, NULL)->drain_signal = PHX_DRAIN_QUIT;
	assert_int_equal(services_start(w->services, &w->role, NULL), 0);
	WAIT_FOR(pid_of(w, "deaf") && pid_of(w, "stays") && pid_of(w, "ends"));
	pid_t stays = pid_of(w, "stays"), ends = pid_of(w, "ends");
	assert_int_equal(services_drain(w->services, NULL), 0);
	WAIT_FOR(gone(ends) && ({
			 PHX_AUTO_FREE char *heard = read_text(scratch_path(w->scratch, "heard"));
			 phx_str_eq(heard, "hup\n");
		 }));
	assert_false(gone(stays));
	WAIT_FOR(services_ok(w->services, text, sizeof(text)));
	assert_int_equal(services_restarts(w->services, text, sizeof(text)), 0);
	assert_int_equal(services_limit(w->services, NULL), 0); /* no quota: nothing */
	assert_int_equal(services_stop(w->services, &w->role, NULL), 0);
	assert_true(gone(stays));
}

static void test_that_is_not_restarted(void **state)
{
	struct world *w = *state;
	char text[160];
	add_service(&w->role, "once", "exit 0", NULL)->restart = false;
	add_service(&w->role, "later", "sleep 0.2; exit 4", "once")->restart = false;
	assert_int_equal(services_start(w->services, &w->role, NULL), 0);
	WAIT_FOR(!services_ok(w->services, text, sizeof(text)));
	assert_string_equal(text, "not running: later (status 4)");
	assert_int_equal(services_restarts(w->services, text, sizeof(text)), 0);
}

static void test_stubborn(void **state)
{
	struct world *w = *state;
	char script[200];
	snprintf(script, sizeof(script),
		 "trap '' TERM; echo $$ >%s/deaf; sleep 100 & while :; do sleep 1; done",
		 w->scratch->dir);
	add_service(&w->role, "deaf", script, NULL)->stop_grace_s = 1;
	assert_int_equal(services_start(w->services, &w->role, NULL), 0);
	WAIT_FOR(pid_of(w, "deaf"));
	int64_t began = phx_clock_ms();
	assert_int_equal(services_stop(w->services, NULL, NULL), 0);
	assert_in_range(phx_clock_ms() - began, 900, 5000);
	assert_true(gone(pid_of(w, "deaf")));
}

static void test_in_a_package(void **state)
{
	struct world *w = *state;
	struct phx_package_ref *p = phx_list_push(&w->role.packages, sizeof(*p));
	PHX_STR_SET(p->name, "tool");
	PHX_STR_SET(p->version, "1.2");
	assert_int_equal(phx_dir_make(scratch_path(w->scratch, "pkg/tool/1.2/bin"), 0755, NULL), 0);
	write_text(
		scratch_path(w->scratch, "pkg/tool/1.2/bin/run"),
		"#!/bin/sh\necho \"$PWD $PHX_PACKAGE $PHX_ROLE $COLOUR $1\" >out\nexec sleep 100\n",
		0755);
	struct phx_service *s = phx_list_push(&w->role.services, sizeof(*s));
	PHX_STR_SET(s->name, "tool");
	PHX_STR_SET(s->package, "tool");
	add_word(&s->argv, "bin/run");
	add_word(&s->argv, "word");
	add_word(&s->env, "COLOUR=blue");
	assert_int_equal(services_start(w->services, &w->role, NULL), 0);
	char expected[256];
	const char *dir = scratch_path(w->scratch, "pkg/tool/1.2");
	snprintf(expected, sizeof(expected), "%s %s web blue word\n", dir, dir);
	WAIT_FOR(({
		PHX_AUTO_FREE char *t = read_text(scratch_path(w->scratch, "pkg/tool/1.2/out"));
		*t;
	}));
	PHX_AUTO_FREE char *out = read_text(scratch_path(w->scratch, "pkg/tool/1.2/out"));
	assert_string_equal(out, expected);
}

static void test_as_another_user(void **state)
{
	struct world *w = *state;
	struct phx_err err = {0};
	char script[200];
	assert_int_equal(chmod(w->scratch->dir, 0777), 0);
	snprintf(script, sizeof(script), "id -un >%s/who; exec sleep 100", w->scratch->dir);
	PHX_STR_SET(add_service(&w->role, "who", script, NULL)->user, "nobody");
	assert_int_equal(services_start(w->services, &w->role, NULL), 0);
	WAIT_FOR(({
		PHX_AUTO_FREE char *t = read_text(scratch_path(w->scratch, "who"));
		*t;
	}));
	PHX_AUTO_FREE char *who = read_text(scratch_path(w->scratch, "who"));
	assert_string_equal(who, "nobody\n");
	PHX_STR_SET(PHX_LIST_AT(&w->role.services, struct phx_service, 0)->user, "no-such-user");
	assert_int_equal(services_start(w->services, &w->role, &err), -ENOENT);
	assert_non_null(strstr(err.text, "user no-such-user"));
}

static void *run_and_hang(void *arg)
{
	struct world *w = arg;
	w->loop = loop_started();
	start_services(w);
	services_start(w->services, &w->role, NULL);
	return NULL;
}

/* An agent that was killed: its services die with it or are ended by the next one. */
static void test_leftovers_of_a_killed_agent(void **state)
{
	struct world *w = *state;
	/* deaf to the signal that the death of its agent sends */
	char script[200];
	snprintf(script, sizeof(script),
		 "trap '' TERM; echo $$ >%s/left; while :; do sleep 0.1; done", w->scratch->dir);
	add_service(&w->role, "left", script, NULL)->stop_grace_s = 1;
	pid_t agent = fork();
	if (agent == 0) {
		run_and_hang(w);
		pause();
		_exit(0);
	}
	WAIT_FOR(pid_of(w, "left"));
	pid_t left = pid_of(w, "left");
	phx_sleep_ms(100);
	kill(agent, SIGKILL);
	waitpid(agent, NULL, 0);
	assert_false(gone(left));
	assert_int_equal(services_stop(w->services, &w->role, NULL), 0);
	WAIT_FOR(gone(left));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(test_restart_with_dependants),
		TEST(test_that_cannot_start),
		TEST(test_that_dies_at_once),
		TEST(test_that_dies_within_its_settle_time),
		TEST(test_that_settles),
		TEST(test_settling_is_given_up),
		TEST(test_that_is_not_restarted),
		TEST(test_stubborn),
		TEST(test_in_a_package),
		TEST(test_as_another_user),
		TEST(test_drain),
		TEST(test_leftovers_of_a_killed_agent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
