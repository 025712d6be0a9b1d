/* The users of processes that stand apart, and what is told of their restarts (cmd/phxd/apart.c):
 * under root each is a user of his own, who is there and is not root, or the start says what to do.
 * The user database is a fake, and so are our own user and the loop. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include <unistd.h>

#include "base/account.h"
#include "base/file.h"

static uid_t fake_uid;
static int fake_result; /* of the user database */
static unsigned n_lookups, n_wakes;

static int fake_user_named(const char *name, struct passwd *ret, char **ret_texts)
{
	static const struct {
		const char *name;
		uid_t uid;
	} users[] = {{"root", 0},        {"toor", 0},        {"phx-head", 900},
		     {"phx-vault", 901}, {"phx-hands", 902}, {"phx-twin", 901}};
	n_lookups++;
	*ret_texts = NULL;
	for (size_t i = 0; fake_result == 0 && i < PHX_ARRAY_SIZE(users); i++)
		if (!strcmp(users[i].name, name)) {
			*ret = (struct passwd){.pw_uid = users[i].uid};
			return 0;
		}
	return fake_result ? fake_result : -ENOENT;
}

#define geteuid() fake_uid
#define phx_user_named fake_user_named
#include "phxd/apart.c" /* a part of a program, not of the library */
#undef geteuid
#include "fake/submitted.h"

void wake_in(struct wake *w, int ms)
{
	assert_non_null(w);
	assert_int_equal(ms, 0);
	__atomic_add_fetch(&n_wakes, 1, __ATOMIC_SEQ_CST);
}

static struct phx_config cfg;
static struct phx_err err;

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_uid = 0;
	fake_result = 0;
	n_lookups = n_wakes = 0;
	cfg = (struct phx_config){0};
	PHX_STR_SET(cfg.head_user, "phx-head");
	PHX_STR_SET(cfg.vault_user, "phx-vault");
	PHX_STR_SET(cfg.hands_user, "phx-hands");
	return 0;
}

static int check(void)
{
	phx_err_clear(&err);
	return apart_check_users(&cfg, &err);
}

static void assert_says(const char *word)
{
	if (!strstr(err.text, word))
		fail_msg("\"%s\" does not hold \"%s\"", err.text, word);
}

/* The users of the configuration, and how they are called there. */
static struct {
	char *user;
	const char *option;
} options[] = {{cfg.head_user, "head_user"},
	       {cfg.vault_user, "vault_user"},
	       {cfg.hands_user, "hands_user"}};
enum { N = PHX_ARRAY_SIZE(options), SIZE = sizeof(cfg.head_user) };

static void put_user(size_t i, const char *name)
{
	phx_str_copy(options[i].user, SIZE, name);
}

/* ---- users ---- */

static void three_users_of_their_own_are_right_and_so_is_root_where_it_is_meant(void **state)
{
	(void)state;
	assert_int_equal(check(), 0);
	assert_int_equal(n_lookups, N);
	for (size_t i = 0; i < N; i++) {
		put_user(i, "");
		assert_int_equal(check(), 0);
	}
	assert_int_equal(n_lookups, N + 2 + 1); /* nobody is looked up for none */
}

static void one_who_is_not_there_is_to_be_made(void **state)
{
	(void)state;
	for (size_t i = 0; i < N; i++) {
		setup(state);
		put_user(i, "phx-nobody");
		assert_int_equal(check(), -ENOENT);
		assert_says(options[i].option);
		assert_says("there is no user phx-nobody");
		assert_says("useradd --system --user-group phx-nobody");
		PHX_AUTO_FREE char *line = phx_path("%s = \"\";", options[i].option);
		assert_says(line);
	}
}

/* That he is not there would be said of one who is. */
static void a_user_database_that_does_not_answer_says_nothing(void **state)
{
	(void)state;
	fake_result = -EIO;
	assert_int_equal(check(), -EIO);
	assert_says("head_user");
	assert_says(strerror(EIO));
	assert_null(strstr(err.text, "there is no user"));
}

/* By another name, too. */
static void no_process_is_root_by_mistake(void **state)
{
	static const char *const names[] = {"root", "toor"};
	(void)state;
	for (size_t i = 0; i < N * 2; i++) {
		setup(state);
		put_user(i / 2, names[i % 2]);
		assert_int_equal(check(), -EPERM);
		assert_says(options[i / 2].option);
		assert_says(names[i % 2]);
		assert_says("is root");
	}
}

/* Whoever has taken the head over could stop the vault, and read its memory. */
static void no_two_processes_share_a_user(void **state)
{
	(void)state;
	for (size_t a = 0; a < N; a++)
		for (size_t b = a + 1; b < N; b++)
			for (int twin = 0; twin < 2; twin++) {
				setup(state);
				put_user(a, "phx-vault");
				put_user(b, twin ? "phx-twin" : "phx-vault");
				if (a != 1 && b != 1)
					put_user(1, "phx-hands");
				assert_int_equal(check(), -EPERM);
				assert_says(options[a].option);
				assert_says(options[b].option);
			}
}

/* He cannot become anybody else. */
static void who_is_not_root_needs_no_users(void **state)
{
	(void)state;
	fake_uid = 1000;
	put_user(0, "phx-nobody");
	put_user(1, "root");
	put_user(2, "root");
	assert_int_equal(check(), 0);
	assert_int_equal(n_lookups, 0);
}

static void people_are_told_who_each_process_is(void **state)
{
	char text[500] = "";
	int out = dup(STDOUT_FILENO), pipes[2];
	(void)state;
	put_user(1, "");
	assert_int_equal(pipe(pipes), 0);
	fflush(stdout);
	dup2(pipes[1], STDOUT_FILENO);
	apart_print(&cfg);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	assert_true(read(pipes[0], text, sizeof(text) - 1) > 0);
	close(out);
	close(pipes[0]);
	close(pipes[1]);
	assert_string_equal(text,
			    "the process that serves: phx-head\n"
			    "the process that holds the keys: root (vault_user = \"\")\n"
			    "the process that talks to BMCs: phx-hands\n");
}

/* ---- restarts ---- */

enum { THREADS = 8, TIMES = 200 };

static void *restart_often(void *watch)
{
	for (int i = 0; i < TIMES; i++)
		apart_restarted(watch);
	return NULL;
}

/* It may be under the engine's lock, of whichever thread; the loop tells it, once. */
static void restarts_are_told_by_the_loop_once_a_turn(void **state)
{
	struct daemon d = {.wake = (struct wake *)&d};
	struct apart_watch w = {.d = &d, .what = "the process"};
	pthread_t threads[THREADS];
	(void)state;
	assert_int_equal(apart_tick(&w, 1), WAKE_NEVER);
	assert_int_equal(fake_n_notices, 0);
	engine_lock(NULL);
	apart_restarted(&w);
	engine_unlock(NULL);
	assert_int_equal(n_wakes, 1);
	assert_int_equal(fake_n_notices, 0);
	assert_int_equal(apart_tick(&w, 4711), WAKE_NEVER);
	assert_int_equal(fake_n_notices, 1);
	assert_string_equal(fake_notice,
			    "the process had ended and was started again, as process 4711");
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, restart_often, &w), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(n_wakes, 1 + THREADS * TIMES);
	assert_int_equal(atomic_load(&w.n_restarts), 1 + THREADS * TIMES);
	apart_tick(&w, 4712);
	apart_tick(&w, 4713);
	assert_int_equal(fake_n_notices, 2);
	/* while the head starts there is no loop yet */
	d.wake = NULL;
	apart_restarted(&w);
	apart_tick(&w, 4714);
	assert_int_equal(fake_n_notices, 3);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		TEST(three_users_of_their_own_are_right_and_so_is_root_where_it_is_meant),
		TEST(one_who_is_not_there_is_to_be_made),
		TEST(a_user_database_that_does_not_answer_says_nothing),
		TEST(no_process_is_root_by_mistake),
		TEST(no_two_processes_share_a_user),
		TEST(who_is_not_root_needs_no_users),
		TEST(people_are_told_who_each_process_is),
		TEST(restarts_are_told_by_the_loop_once_a_turn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
