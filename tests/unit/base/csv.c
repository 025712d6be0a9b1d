/* Lines of CSV: cells, quotes, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"

enum { MAX = 4 };

static void cells_are_cut(void **state)
{
	static const struct {
		const char *line, *cells; /* with | between */
	} cases[] = {
		{"a,b", "a|b"},
		{"", ""},
		{" a b ,\tc\r", "a b|c"},
		{",,", "||"},
		{"\" a, b \",c", " a, b |c"},
		{"\"say \"\"no\"\"\" , x", "say \"no\"|x"},
		{"\"\"", ""},
		{"a\"b", "a\"b"},
		{"\xc3\xa4,b", "\xc3\xa4|b"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		char line[64], got[64] = "", *cells[MAX];
		struct phx_err err = {0};
		strcpy(line, cases[i].line);
		int n = phx_csv_cut(line, cells, MAX, &err);
		for (int k = 0; k < n; k++) {
			strcat(got, k ? "|" : "");
			strcat(got, cells[k]);
		}
		if (n < 1 || strcmp(got, cases[i].cells) != 0)
			fail_msg("%s: %d cells, %s: %s", cases[i].line, n, got, err.text);
	}
}

static void what_is_wrong_is_told(void **state)
{
	static const struct {
		const char *line, *says;
	} cases[] = {
		{"a,b,c,d,e", "more than 4 columns"},
		{"x,\"a", "column 2: a quote must end its cell"},
		{"\"a\"b", "column 1: a quote"},
		{"\"a\" b,c", "column 1: a quote"}, /* nothing is dropped */
		{"a\x01,b", "no text in UTF-8"},
		{"\xff", "no text in UTF-8"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		char line[64], *cells[MAX];
		struct phx_err err = {0};
		strcpy(line, cases[i].line);
		assert_int_equal(phx_csv_cut(line, cells, MAX, &err), -EINVAL);
		if (!strstr(err.text, cases[i].says))
			fail_msg("%s: %s", cases[i].line, err.text);
	}
}

static void lines_are_counted(void **state)
{
	char text[] = "# first\n\n a\r\n \t\n#\nb";
	struct phx_csv c = {.rest = text};
	(void)state;
	assert_string_equal(phx_csv_next(&c), " a\r");
	assert_int_equal(c.line, 3);
	assert_string_equal(phx_csv_next(&c), "b");
	assert_int_equal(c.line, 6);
	assert_null(phx_csv_next(&c));
	assert_null(phx_csv_next(&c));
}

/* Spreadsheets begin a text in UTF-8 with it: nobody sees it, and a column's name has it not. */
static void a_mark_at_the_beginning_is_none_of_it(void **state)
{
	char text[] = "\xef\xbb\xbfnodes,a\n\xef\xbb\xbfx";
	struct phx_csv c = {.rest = text};
	(void)state;
	assert_string_equal(phx_csv_next(&c), "nodes,a");
	assert_string_equal(phx_csv_next(&c), "\xef\xbb\xbfx");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_are_cut),
		cmocka_unit_test(what_is_wrong_is_told),
		cmocka_unit_test(lines_are_counted),
		cmocka_unit_test(a_mark_at_the_beginning_is_none_of_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
