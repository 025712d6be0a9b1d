/* The shape of JSON that somebody else wrote, before it is parsed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"

static void test_shape(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		unsigned depth_max, containers_max;
		int code;
	} rows[] = {
		{"", 0, 0, 0},
		{"17", 0, 0, 0},
		{"{}", 0, 9, -EINVAL},
		{"{}", 1, 1, 0},
		{"{}", 1, 0, -E2BIG},
		{"[[[]]]", 3, 3, 0},
		{"[[[]]]", 2, 3, -EINVAL},
		{"[[],[],{\"a\":{}}]", 3, 5, 0},
		{"[[],[],{\"a\":{}}]", 3, 4, -E2BIG},
		/* what stands in a text counts for nothing */
		{"{\"a\":\"[[[[[[\",\"[[[\":1}", 1, 1, 0},
		{"{\"a\":\"\\\"[[[\\\\\",\"b\":[]}", 2, 2, 0},
		{"{\"a\":\"\\\\\",\"b\":[]}", 1, 2, -EINVAL},
		/* no JSON at all: no crash, and its parser says so */
		{"]]]]{", 1, 1, 0},
		{"\"abc\\", 1, 1, 0},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_err err = {0};
		int r = phx_json_check_shape(rows[i].text, strlen(rows[i].text), rows[i].depth_max,
					     rows[i].containers_max, &err);
		if (r != rows[i].code)
			fail_msg("%s: %d, not %d", rows[i].text, r, rows[i].code);
		assert_int_equal(r < 0, err.text[0] != '\0');
	}
}

#define CAT_FIELDS(F, S) \
	F(S, name, STR(16)) \
	F(S, age_s, U32, WAS(age))
struct cat {
	PHX_MEMBERS(cat, CAT_FIELDS)
};
PHX_RECORD_LOCAL(cat, cat, CAT_FIELDS);

/* What was written before a member was renamed is read by its old name; only the new one is
 * written. A name that no member ever had is refused. */
static void test_a_renamed_member_is_read(void **state)
{
	static const char *const texts[] = {"{\"name\":\"Tom\",\"age\":7}",
					    "{\"name\":\"Tom\",\"age_s\":7}"};
	struct cat cat;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(texts); i++) {
		assert_int_equal(phx_json_text_to_record(&cat_record, texts[i], &cat, NULL), 0);
		assert_int_equal(cat.age_s, 7);
		PHX_AUTO_FREE char *text = phx_json_record_text(&cat_record, &cat);
		assert_string_equal(text, texts[1]);
	}
	assert_int_equal(phx_json_text_to_record(&cat_record, "{\"years\":7}", &cat, NULL),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_shape),
					   cmocka_unit_test(test_a_renamed_member_is_read)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
