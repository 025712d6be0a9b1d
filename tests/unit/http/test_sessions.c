/* Words and sessions: once, for a minute, of one user, and ended when they should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "http/sessions.h"

enum { ALICE = 1000, BOB = 1001, NOW = 5000 };

static struct phx_http_sessions *s;
static const struct phx_http_place at_home = {"link", "10.0.0.1", "Firefox"};

static int setup(void **state)
{
	(void)state;
	return phx_http_sessions_new(&s);
}

static int teardown(void **state)
{
	(void)state;
	phx_http_sessions_free(s);
	return 0;
}

static void offer(uid_t uid, char ret[PHX_HTTP_SECRET_MAX])
{
	assert_int_equal(phx_http_sessions_offer(s, uid, 7, NOW, ret), 0);
}

static void sign_in(uid_t uid, char ret[PHX_HTTP_SECRET_MAX])
{
	char word[PHX_HTTP_SECRET_MAX];
	offer(uid, word);
	assert_int_equal(phx_http_sessions_begin(s, word, &at_home, NOW, ret), 0);
}

static bool find(const char *secret, bool acts, int64_t now_ms, struct phx_http_session *ret)
{
	char from[PHX_HTTP_ADDRESS_MAX];
	return phx_http_sessions_find(s, secret, at_home.address, acts, now_ms, ret, from);
}

static bool is_in(const char *secret, int64_t now_ms)
{
	struct phx_http_session x;
	return find(secret, true, now_ms, &x);
}

static void a_word_signs_its_user_in(void **state)
{
	(void)state;
	char word[PHX_HTTP_SECRET_MAX], secret[PHX_HTTP_SECRET_MAX];
	struct phx_http_session x;
	uid_t uid = 0;
	offer(ALICE, word);
	assert_true(phx_http_sessions_whose(s, word, NOW, &uid));
	assert_int_equal(uid, ALICE);
	assert_int_equal(phx_http_sessions_begin(s, word, &at_home, NOW, secret), 0);
	assert_true(find(secret, true, NOW, &x));
	assert_int_equal(x.uid, ALICE);
	assert_int_equal(x.gid, 7);
	assert_int_equal(strlen(x.token), PHX_HTTP_SECRET_MAX - 1);
	assert_string_not_equal(x.token, secret);
}

static void a_word_is_good_once(void **state)
{
	(void)state;
	char word[PHX_HTTP_SECRET_MAX], secret[PHX_HTTP_SECRET_MAX];
	uid_t uid;
	offer(ALICE, word);
	assert_int_equal(phx_http_sessions_begin(s, word, &at_home, NOW, secret), 0);
	assert_int_equal(phx_http_sessions_begin(s, word, &at_home, NOW, secret), -ENOENT);
	assert_false(phx_http_sessions_whose(s, word, NOW, &uid));
	assert_false(is_in(secret, NOW)); /* what was drawn for nothing signs nobody in */
}

static void a_word_is_good_for_a_minute(void **state)
{
	(void)state;
	char word[PHX_HTTP_SECRET_MAX], secret[PHX_HTTP_SECRET_MAX];
	uid_t uid;
	offer(ALICE, word);
	assert_true(phx_http_sessions_whose(s, word, NOW + PHX_HTTP_WORD_MS - 1, &uid));
	assert_false(phx_http_sessions_whose(s, word, NOW + PHX_HTTP_WORD_MS, &uid));
	assert_int_equal(phx_http_sessions_begin(s, word, &at_home, NOW + PHX_HTTP_WORD_MS, secret),
			 -ENOENT);
}

static void what_is_no_word_is_nobodys(void **state)
{
	(void)state;
	char word[PHX_HTTP_SECRET_MAX], guess[PHX_HTTP_SECRET_MAX], secret[PHX_HTTP_SECRET_MAX];
	offer(ALICE, word);
	memcpy(guess, word, sizeof(guess));
	guess[0] = guess[0] == 'a' ? 'b' : 'a';
	const char *const others[] = {guess, "", "0", word + 1};
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(phx_http_sessions_begin(s, others[i], &at_home, NOW, secret),
				 -ENOENT);
	assert_false(is_in(word, NOW)); /* a word is no session */
}

static void a_session_ends_when_nobody_acts(void **state)
{
	(void)state;
	char acts[PHX_HTTP_SECRET_MAX], looks[PHX_HTTP_SECRET_MAX];
	struct phx_http_session x;
	int64_t later = NOW + PHX_HTTP_IDLE_MS - 1;
	sign_in(ALICE, acts);
	sign_in(ALICE, looks);
	assert_true(find(acts, true, later, &x));
	assert_true(find(looks, false, later, &x));
	assert_true(is_in(acts, later + 1));
	assert_false(is_in(looks, later + 1));
}

static void a_session_ends_in_any_case(void **state)
{
	(void)state;
	char secret[PHX_HTTP_SECRET_MAX];
	int64_t now = NOW;
	sign_in(ALICE, secret);
	for (; now < NOW + PHX_HTTP_SESSION_MS; now += PHX_HTTP_IDLE_MS / 2)
		assert_true(is_in(secret, now));
	assert_false(is_in(secret, now));
}

static void one_ends_alone_all_end_together(void **state)
{
	(void)state;
	char a[PHX_HTTP_SECRET_MAX], b[PHX_HTTP_SECRET_MAX], c[PHX_HTTP_SECRET_MAX];
	char bobs[PHX_HTTP_SECRET_MAX], word[PHX_HTTP_SECRET_MAX];
	uid_t uid;
	sign_in(ALICE, a);
	sign_in(ALICE, b);
	sign_in(ALICE, c);
	sign_in(BOB, bobs);
	phx_http_sessions_end(s, a);
	assert_false(is_in(a, NOW));
	assert_true(is_in(b, NOW));
	offer(ALICE, word);
	assert_int_equal(phx_http_sessions_end_all(s, ALICE), 2);
	assert_false(is_in(b, NOW) || is_in(c, NOW));
	assert_true(is_in(bobs, NOW));
	assert_false(phx_http_sessions_whose(s, word, NOW, &uid));
	assert_int_equal(phx_http_sessions_end_all(s, ALICE), 0);
}

/* Nobody fills the memory, and nobody pushes others out. */
static void the_oldest_of_a_user_goes(void **state)
{
	(void)state;
	char first[PHX_HTTP_SECRET_MAX], last[PHX_HTTP_SECRET_MAX], bobs[PHX_HTTP_SECRET_MAX];
	char word[PHX_HTTP_SECRET_MAX], newest[PHX_HTTP_SECRET_MAX];
	uid_t uid;
	sign_in(BOB, bobs);
	sign_in(ALICE, first);
	for (int i = 0; i < PHX_HTTP_SESSIONS_EACH; i++)
		sign_in(ALICE, last);
	assert_false(is_in(first, NOW));
	assert_true(is_in(last, NOW) && is_in(bobs, NOW));
	offer(ALICE, word);
	for (int i = 0; i < PHX_HTTP_WORDS_EACH; i++)
		offer(ALICE, newest);
	assert_false(phx_http_sessions_whose(s, word, NOW, &uid));
	assert_true(phx_http_sessions_whose(s, newest, NOW, &uid));
}

/* A copy of its cookie opens it from elsewhere: that is told, once for each place. */
static void one_that_is_used_from_elsewhere_tells_it(void **state)
{
	(void)state;
	char secret[PHX_HTTP_SECRET_MAX], from[PHX_HTTP_ADDRESS_MAX];
	struct phx_http_session x;
	struct phx_list list = {0};
	sign_in(ALICE, secret);
	assert_true(phx_http_sessions_find(s, secret, "10.0.0.1", true, NOW, &x, from));
	assert_string_equal(from, "");
	assert_true(phx_http_sessions_find(s, secret, "10.0.0.9", true, NOW + 1, &x, from));
	assert_string_equal(from, "10.0.0.1");
	assert_true(phx_http_sessions_find(s, secret, "10.0.0.9", true, NOW + 2, &x, from));
	assert_string_equal(from, "");
	assert_int_equal(phx_http_sessions_list(s, ALICE, NOW + 2, &list), 0);
	assert_int_equal(list.n, 1);
	const struct phx_http_session_view *v = PHX_LIST_AT(&list, struct phx_http_session_view, 0);
	assert_string_equal(v->address, "10.0.0.1");
	assert_string_equal(v->used_at, "10.0.0.9");
	assert_string_equal(v->agent, "Firefox");
	assert_string_equal(v->how, "link");
	assert_int_equal(v->used_ms, NOW + 2);
	phx_list_fini(&list);
}

static void its_user_ends_one_by_its_number_and_nobody_else_does(void **state)
{
	(void)state;
	char a[PHX_HTTP_SECRET_MAX], b[PHX_HTTP_SECRET_MAX];
	struct phx_http_session x;
	struct phx_list list = {0};
	sign_in(ALICE, a);
	assert_int_equal(phx_http_sessions_open(s, BOB, 8, &at_home, NOW, b), 0);
	assert_true(find(a, true, NOW, &x));
	assert_true(phx_http_sessions_has(s, x.id, NOW));
	assert_false(phx_http_sessions_end_one(s, BOB, x.id, NOW));
	assert_false(phx_http_sessions_end_one(s, ALICE, x.id + 7, NOW));
	assert_true(phx_http_sessions_end_one(s, ALICE, x.id, NOW));
	assert_false(phx_http_sessions_end_one(s, ALICE, x.id, NOW));
	assert_false(phx_http_sessions_has(s, x.id, NOW));
	assert_false(is_in(a, NOW));
	assert_true(is_in(b, NOW));
	assert_int_equal(phx_http_sessions_list(s, ALICE, NOW, &list), 0);
	assert_int_equal(list.n, 0);
	assert_false(phx_http_sessions_has(s, 0, NOW));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_word_signs_its_user_in, setup, teardown),
		cmocka_unit_test_setup_teardown(a_word_is_good_once, setup, teardown),
		cmocka_unit_test_setup_teardown(a_word_is_good_for_a_minute, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_word_is_nobodys, setup, teardown),
		cmocka_unit_test_setup_teardown(a_session_ends_when_nobody_acts, setup, teardown),
		cmocka_unit_test_setup_teardown(a_session_ends_in_any_case, setup, teardown),
		cmocka_unit_test_setup_teardown(one_ends_alone_all_end_together, setup, teardown),
		cmocka_unit_test_setup_teardown(the_oldest_of_a_user_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(one_that_is_used_from_elsewhere_tells_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			its_user_ends_one_by_its_number_and_nobody_else_does, setup, teardown),
	};
	return cmocka_run_group_tests_name("sessions", tests, NULL, NULL);
}
