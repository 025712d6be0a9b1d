/* The shape of JSON that somebody else wrote, before it is parsed; text that is read in place. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/json_scan.h"

static void test_shape(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		struct phx_json_shape max;
		int code;
	} rows[] = {
		{"", {0, 0, 0}, 0},
		{"17", {0, 0, 0}, 0},
		{"{}", {0, 9, 0}, -EINVAL},
		{"{}", {1, 1, 0}, 0},
		{"{}", {1, 0, 0}, -E2BIG},
		{"[[[]]]", {3, 3, 0}, 0},
		{"[[[]]]", {2, 3, 0}, -EINVAL},
		{"[[],[],{\"a\":{}}]", {3, 5, 0}, 0},
		{"[[],[],{\"a\":{}}]", {3, 4, 0}, -E2BIG},
		/* what stands in a text counts for nothing */
		{"{\"a\":\"[[[[[[\",\"[[[\":1}", {1, 1, 0}, 0},
		{"{\"a\":\"\\\"[[[\\\\\",\"b\":[]}", {2, 2, 0}, 0},
		{"{\"a\":\"\\\\\",\"b\":[]}", {1, 2, 0}, -EINVAL},
		/* values of all kinds */
		{"[]", {1, 1, 2}, 0},
		{"[1,\"\",null]", {1, 1, 4}, 0},
		{"[1,\"\",null]", {1, 1, 3}, -E2BIG},
		{"{\"a\":[1,2],\"b\":\",,,,\"}", {2, 2, 5}, 0},
		{"{\"a\":[1,2],\"b\":\",,,,\"}", {2, 2, 4}, -E2BIG},
		/* no JSON at all: no crash, and its parser says so */
		{"]]]]{", {1, 1, 0}, 0},
		{"\"abc\\", {1, 1, 0}, 0},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_err err = {0};
		int r = phx_json_check_shape(rows[i].text, strlen(rows[i].text), &rows[i].max,
					     &err);
		if (r != rows[i].code)
			fail_msg("%s: %d, not %d", rows[i].text, r, rows[i].code);
		assert_int_equal(r < 0, err.text[0] != '\0');
	}
}

#define CAT_FIELDS(F, S) \
	F(S, name, STR(16)) \
	F(S, age_s, U32, WAS(age)) \
	F(S, naps, U32, AS(sleeps))
struct cat {
	PHX_MEMBERS(cat, CAT_FIELDS)
};
PHX_RECORD_LOCAL(cat, cat, CAT_FIELDS);

/* What was written before a member was renamed is read by its old name; only the new one is
 * written. A member may have another name in JSON than in C: it is read and written by that alone.
 * A name that no member ever had is refused. */
static void test_a_renamed_member_is_read(void **state)
{
	static const char *const texts[] = {"{\"name\":\"Tom\",\"age\":7,\"sleeps\":9}",
					    "{\"name\":\"Tom\",\"age_s\":7,\"sleeps\":9}"};
	static const char *const wrong[] = {"{\"years\":7}", "{\"naps\":9}"};
	struct cat cat;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(texts); i++) {
		assert_int_equal(phx_json_text_to_record(&cat_record, texts[i], &cat, NULL), 0);
		assert_int_equal(cat.age_s, 7);
		assert_int_equal(cat.naps, 9);
		PHX_AUTO_FREE char *text = phx_json_record_text(&cat_record, &cat);
		assert_string_equal(text, texts[1]);
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++)
		assert_int_equal(phx_json_text_to_record(&cat_record, wrong[i], &cat, NULL),
				 -EINVAL);
}

struct litter {
	struct cat mother;
	uint32_t n;
};
#define LITTER_FIELDS(F, S) \
	F(S, mother, REC(cat)) \
	F(S, n, U32)
PHX_RECORD_LOCAL(litter, litter, LITTER_FIELDS);

/* What another version of a program sends: what is not known here is skipped, null is nothing; but
 * what is known must be right. */
static void test_a_message_of_another_version_is_read(void **state)
{
	static const char *const wrong[][2] = {
		{"{\"n\":\"3\"}", "n: must be a whole number"},
		{"{\"mother\":{\"name\":null}}", "mother.name: must be a string"},
		{"[]", "document: must be an object"},
	};
	struct litter l;
	(void)state;
	PHX_AUTO_JSON json_t *j = json_loads("{\"new\":[{\"n\":7}],\"n\":3,\"mother\":null,"
					     "\"news\":null}",
					     0, NULL);
	PHX_AUTO_JSON json_t *within =
		json_loads("{\"mother\":{\"purrs\":{\"loud\":[1]},\"name\":\"Mia\"}}", 0, NULL);
	assert_int_equal(phx_json_to_message(&litter_record, j, &l, NULL), 0);
	assert_int_equal(l.n, 3);
	assert_string_equal(l.mother.name, "");
	assert_int_equal(phx_json_to_message(&litter_record, within, &l, NULL), 0);
	assert_string_equal(l.mother.name, "Mia");
	assert_int_equal(phx_json_to_record(&litter_record, within, &l, NULL), -EINVAL);
	assert_int_equal(phx_json_to_record(&litter_record, j, &l, NULL), -EINVAL);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++) {
		struct phx_err err = {0};
		PHX_AUTO_JSON json_t *bad = json_loads(wrong[i][0], 0, NULL);
		assert_int_equal(phx_json_to_message(&litter_record, bad, &l, &err), -EINVAL);
		assert_string_equal(err.text, wrong[i][1]);
		assert_int_equal(l.n, 0);
	}
}

static const char *const tails[] = {"", "wags", "hangs", "bites"};
static const struct phx_enum tail_names = {"tail", tails, PHX_ARRAY_SIZE(tails)};
#define DOG_FIELDS(F, S) \
	F(S, name, STR(16)) \
	F(S, tail, ONEOF(tail)) \
	F(S, age_s, U32)
struct dog {
	PHX_MEMBERS(dog, DOG_FIELDS)
};
PHX_RECORD_LOCAL(dog, dog, DOG_FIELDS);

static void assert_tail(const char *text, int tail)
{
	struct dog dog;
	assert_int_equal(phx_json_text_to_record(&dog_record, text, &dog, NULL), 0);
	assert_int_equal(dog.tail, tail);
}

/* An enum that others have as booleans. The last name overrules, wherever it stands. */
static void test_one_of_several_booleans(void **state)
{
	static const char *const wrong[] = {"{\"tail\":\"wags\"}", "{\"tail\":true}", "{\"\":true}",
					    "{\"wags\":1}", "{\"wag\":true}"};
	struct dog dog = {"Rex", 2, 7};
	(void)state;
	PHX_AUTO_FREE char *all = phx_json_record_text(&dog_record, &dog);
	assert_string_equal(all,
			    "{\"name\":\"Rex\",\"wags\":false,\"hangs\":true,"
			    "\"bites\":false,\"age_s\":7}");
	assert_tail(all, 2);
	PHX_AUTO_FREE char *sparse = phx_json_record_text_sparse(&dog_record, &dog);
	assert_string_equal(sparse, "{\"name\":\"Rex\",\"hangs\":true,\"age_s\":7}");
	dog.tail = 0;
	PHX_AUTO_FREE char *none = phx_json_record_text_sparse(&dog_record, &dog);
	assert_string_equal(none, "{\"name\":\"Rex\",\"age_s\":7}");
	assert_tail("{\"bites\":true,\"age_s\":7,\"wags\":true,\"hangs\":false}", 3);
	assert_tail("{\"wags\":true,\"bites\":true}", 3);
	assert_tail("{\"wags\":false}", 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++)
		assert_int_equal(phx_json_text_to_record(&dog_record, wrong[i], &dog, NULL),
				 -EINVAL);
}

/* What is passed over is looked at as closely as by a parser that makes a tree. */
static void test_scan_takes_what_a_parser_takes(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"{}", " [ ] ", "{\"a\":[1,{\"b\":null}],\"c\":true}", "\"\"", "false", "-0",
		"0.5e-3", "1E+2", "1e307", "9.9e+307", "1e-999", "-0.1e-400", "9223372036854775807",
		"-9223372036854775808", "\"\\u00e4\\ud83d\\ude00\"", "\"\u00e4\U0001f600\"",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\x7f\"",
		/* and these not */
		"", "{", "[", "[1", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
		"{a:1}", "{\"a\":1 \"b\":2}", "}", "1]", "tru", "nul", "truex", "+1", "01", "-",
		"1.", ".5", "1e", "1e+", "--1", "9223372036854775808", "-9223372036854775809",
		"99999999999999999999", "1e309", "-1E+309", "1e999", "-2.5e18446744073709551617",
		"1e0000000000000000000000000000400", "\"", "\"a", "\"\\", "\"\\x\"", "\"\\u12\"",
		"\"\\u0000\"", "\"\\ud83d\"", "\"\\ud83dx\"", "\"\\ud83d\\u0041\"", "\"\\ude00\"",
		"\"\n\"", "\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "'a'", "1 2", "[\"a\":1]"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(texts); i++) {
		struct phx_scan s = phx_scan_of(texts[i]);
		PHX_AUTO_JSON json_t *j = json_loads(texts[i], JSON_DECODE_ANY, NULL);
		bool taken = phx_scan_skip(&s) == 0 && phx_scan_end(&s);
		if (taken != !!j || taken != !s.want)
			fail_msg("'%s' is %s", texts[i], taken ? "taken" : s.want);
	}
}

/* Numbers that a double holds no longer, without an exponent. */
static void test_scan_refuses_what_no_double_holds(void **state)
{
	char text[400];
	(void)state;
	memset(text, '9', sizeof(text));
	for (size_t n = 300; n < 320; n++) {
		memcpy(text + n, ".0", 3);
		struct phx_scan s = phx_scan_of(text);
		PHX_AUTO_JSON json_t *j = json_loads(text, JSON_DECODE_ANY, NULL);
		assert_int_equal(phx_scan_skip(&s) == 0, n <= 308);
		assert_true(j || n > 308);
		memset(text + n, '9', 3);
	}
}

static void test_scan_ends_in_the_deep(void **state)
{
	enum { DEEP = PHX_SCAN_DEPTH_MAX };
	char text[2 * DEEP + 3] = "";
	(void)state;
	memset(text, '[', DEEP);
	memset(text + DEEP, ']', DEEP);
	struct phx_scan s = phx_scan_of(text);
	assert_int_equal(phx_scan_skip(&s), 0);
	memset(text, '[', DEEP + 1);
	memset(text + DEEP + 1, ']', DEEP + 1);
	s = phx_scan_of(text);
	assert_int_equal(phx_scan_skip(&s), -EINVAL);
}

/* A string is decoded as far as there is room, and its whole length told. */
static void test_scan_decodes_strings(void **state)
{
	static const char text[] = "[ \"a\\u00e4\\ud83d\\ude00\\n\\\"\" ,\"longer\"]";
	struct phx_scan s = phx_scan_of(text);
	char dst[12];
	bool began = false;
	(void)state;
	assert_true(phx_scan_item(&s, &began));
	assert_int_equal(phx_scan_string(&s, dst, sizeof(dst)), 9);
	assert_string_equal(dst, "a\u00e4\U0001f600\n\"");
	assert_true(phx_scan_item(&s, &began));
	assert_int_equal(phx_scan_string(&s, dst, 5), 6);
	assert_string_equal(dst, "long");
	assert_false(phx_scan_item(&s, &began));
	assert_true(phx_scan_end(&s));
	assert_int_equal(phx_scan_string(&s, dst, sizeof(dst)), -EINVAL);
	assert_string_equal(s.want, "a string is expected");
}

/* Every character at every place of a text, written as another writer has it. */
static void test_every_character_everywhere(void **state)
{
	(void)state;
	for (unsigned c = 1; c < 0x100; c++)
		for (size_t n = 1; n <= 17; n++)
			for (size_t at = 0; at < n; at++) {
				PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
				char text[18] = "~ }a[,:.1~ }a[,:.", want[24];
				text[n] = '\0';
				text[at] = (char)c;
				phx_json_put_text(&b, text);
				text[at] = c < 0x80 ? text[at] : '?';
				PHX_AUTO_JSON json_t *j = json_string(text);
				size_t n_want = json_dumpb(j, want, sizeof(want), JSON_ENCODE_ANY);
				assert_int_equal(b.n, n_want);
				assert_memory_equal(b.data, want, n_want);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_scan_takes_what_a_parser_takes),
		cmocka_unit_test(test_scan_refuses_what_no_double_holds),
		cmocka_unit_test(test_scan_ends_in_the_deep),
		cmocka_unit_test(test_scan_decodes_strings),
		cmocka_unit_test(test_every_character_everywhere),
		cmocka_unit_test(test_a_renamed_member_is_read),
		cmocka_unit_test(test_a_message_of_another_version_is_read),
		cmocka_unit_test(test_one_of_several_booleans)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
