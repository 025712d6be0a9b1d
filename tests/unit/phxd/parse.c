/* Members of a request's body (cmd/phxd/parse.c): what is taken, and what is answered to the rest.
 * The request is a fake one that keeps its answer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "phxd/parse.c" /* a part of a program, not of the library */

static int code;
static char said[400];
static const char *query;

void phx_http_reply_error(struct phx_http_request *q, int c, const char *text)
{
	(void)q;
	assert_int_equal(code, 0); /* one answer a request */
	code = c;
	snprintf(said, sizeof(said), "%s", text);
}

const char *phx_http_query(const struct phx_http_request *q, const char *name)
{
	(void)q;
	assert_string_equal(name, "limit");
	return query;
}

static json_t *body(const char *text)
{
	json_t *j = json_loads(text, 0, NULL);
	assert_non_null(j);
	code = 0;
	said[0] = '\0';
	return j;
}

static void refused(bool taken, const char *why)
{
	assert_false(taken);
	assert_int_equal(code, -EINVAL);
	if (!strstr(said, why))
		fail_msg("\"%s\" does not hold \"%s\"", said, why);
}

static void texts_have_a_length_and_no_control_characters(void **state)
{
	char dst[6] = "was";
	PHX_AUTO_JSON json_t *j = body("{\"five\": \"12345\", \"six\": \"123456\", \"escape\": "
				       "\"a\\u001bb\", \"lines\": \"a\\nb\","
				       " \"del\": \"a\\u007f\", \"null\": null, \"number\": 3}");
	(void)state;
	assert_true(TAKE(NULL, j, "absent", dst) && TAKE(NULL, j, "null", dst));
	assert_string_equal(dst, "was");
	assert_true(TAKE(NULL, j, "five", dst));
	assert_string_equal(dst, "12345");
	refused(TAKE(NULL, j, "six", dst), "six: must be a text of at most 5 characters");
	code = 0;
	refused(TAKE(NULL, j, "number", dst), "number: must be a text");
	static const char *const wild[] = {"escape", "lines", "del"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wild); i++) {
		code = 0;
		refused(TAKE(NULL, j, wild[i], dst), "must not hold control characters");
	}
	assert_string_equal(dst, "12345"); /* as it was */
}

static void words_of_agents_are_cut_and_cleaned(void **state)
{
	char dst[8];
	(void)state;
	parse_words(dst, sizeof(dst), "a\x1b[2J\nb\x7f and more");
	assert_string_equal(dst, "a [2J b");
}

static void booleans_are_no_words(void **state)
{
	bool b = true;
	PHX_AUTO_JSON json_t *j =
		body("{\"yes\": true, \"no\": false, \"word\": \"true\", \"one\": 1}");
	(void)state;
	assert_true(parse_bool(NULL, j, "absent", &b) && !b);
	assert_true(parse_bool(NULL, j, "yes", &b) && b);
	assert_true(parse_bool(NULL, j, "no", &b) && !b);
	refused(parse_bool(NULL, j, "word", &b), "word: must be true or false");
	code = 0;
	refused(parse_bool(NULL, j, "one", &b), "one: must be true or false");
}

static void numbers_have_bounds(void **state)
{
	int64_t n = 7;
	PHX_AUTO_JSON json_t *j = body("{\"low\": 1, \"high\": 10, \"below\": 0, \"above\": 11, "
				       "\"part\": 2.5, \"word\": \"3\"}");
	static const char *const bad[] = {"below", "above", "part", "word"};
	(void)state;
	assert_true(parse_number(NULL, j, "absent", 1, 10, &n) && n == 7);
	assert_true(parse_number(NULL, j, "low", 1, 10, &n) && n == 1);
	assert_true(parse_number(NULL, j, "high", 1, 10, &n) && n == 10);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		code = 0;
		refused(parse_number(NULL, j, bad[i], 1, 10, &n),
			"must be a whole number from 1 to 10");
		assert_int_equal(n, 10);
	}
}

static void numbers_of_the_query_have_bounds(void **state)
{
	uint64_t n = 0;
	(void)state;
	code = 0;
	query = NULL;
	assert_true(parse_query_number(NULL, "limit", 100, 9, &n) && n == 9);
	query = "100";
	assert_true(parse_query_number(NULL, "limit", 100, 9, &n) && n == 100);
	static const char *const bad[] = {"101", "-1", "", "1x", "18446744073709551616"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		code = 0;
		query = bad[i];
		refused(parse_query_number(NULL, "limit", 100, 9, &n),
			"limit: must be a number from 0 to 100");
	}
}

/* "dry-run" for "dry_run" would be an order that is carried out */
static void a_misspelt_member_is_refused(void **state)
{
	static const char *const known[] = {"nodes", "dry_run"};
	PHX_AUTO_JSON json_t *good = body("{\"nodes\": \"n1\", \"dry_run\": true}");
	PHX_AUTO_JSON json_t *bad = body("{\"nodes\": \"n1\", \"dry-run\": true}");
	(void)state;
	assert_true(parse_only(NULL, good, known, 2));
	refused(parse_only(NULL, bad, known, 2), "dry-run: is not known here");
}

static void addresses_are_normalised(void **state)
{
	PHX_AUTO(phx_list_fini) struct phx_list macs = {0};
	PHX_AUTO_JSON json_t *j =
		body("{\"macs\": [\"AA:bb:CC:00:11:22\", \"02-00-00-00-00-01\"]}");
	(void)state;
	assert_true(parse_macs(NULL, j, &macs));
	assert_int_equal(macs.n, 2);
	assert_string_equal(PHX_LIST_AT(&macs, struct phx_mac, 0)->mac, "aa:bb:cc:00:11:22");
	static const char *const bad[] = {"{\"macs\": [\"aa:bb\"]}", "{\"macs\": [7]}",
					  "{\"macs\": \"aa:bb:cc:00:11:22\"}"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		PHX_AUTO_JSON json_t *b = body(bad[i]);
		refused(parse_macs(NULL, b, &macs), "macs: ");
	}
}

/* The digest of a token is kept, never the token. */
static void tokens_are_digested(void **state)
{
	char hex[PHX_SHA256_HEX] = "x";
	PHX_AUTO_JSON json_t *j = body("{\"token\": \"abc\"}");
	PHX_AUTO_JSON json_t *none = body("{}");
	(void)state;
	assert_true(parse_token(NULL, none, hex));
	assert_string_equal(hex, "");
	assert_true(parse_token(NULL, j, hex));
	assert_string_equal(hex,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

int main(void)
{
#define T(name) cmocka_unit_test(name)
	const struct CMUnitTest tests[] = {
		T(texts_have_a_length_and_no_control_characters),
		T(words_of_agents_are_cut_and_cleaned),
		T(booleans_are_no_words),
		T(numbers_have_bounds),
		T(numbers_of_the_query_have_bounds),
		T(a_misspelt_member_is_refused),
		T(addresses_are_normalised),
		T(tokens_are_digested),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
