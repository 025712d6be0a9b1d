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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_shape)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
