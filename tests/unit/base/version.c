/* How far versions are apart: by minor ones within one major one, else too far. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "base/version.h"

static void minor_versions_are_counted(void **state)
{
	static const struct {
		const char *a, *b;
		int ahead;
	} rows[] = {
		{"0.1.0", "0.1.0", 0},
		{"0.1.0", "0.1.9", 0},
		{"0.2.0~rc1", "0.1.0", 1},
		{"0.10", "0.9.1", 1},
		{"1.2.0", "1.4.0", -2},
		{"1.0.0", "0.9.0", PHX_VERSION_FAR},
		{"0.9.0", "1.0.0", -PHX_VERSION_FAR},
		{"", "0.1.0", -PHX_VERSION_FAR},
		{"x", "0.1.0", -PHX_VERSION_FAR},
		{"0.1x", "0.1.0", -PHX_VERSION_FAR},
		{"0.", "0.1.0", -PHX_VERSION_FAR},
		{"0.99999999999999999999", "0.1.0", -PHX_VERSION_FAR},
		{"0.1.0", "", PHX_VERSION_FAR},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		assert_int_equal(phx_version_ahead(rows[i].a, rows[i].b), rows[i].ahead);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(minor_versions_are_counted)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
