/* The parts that a check may be of, as people name them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "types/check.h"
#include "types/node.h"

enum {
	CPU = 1 << PHX_CHECK_cpu,
	MEMORY = 1 << PHX_CHECK_memory,
	DISK = 1 << PHX_CHECK_disk,
};

static void parts_are_named(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint32_t set;
	} cases[] = {
		{"", 0, CPU | MEMORY | DISK}, {"cpu", 0, CPU},          {"disk,cpu", 0, CPU | DISK},
		{"memory,memory", 0, MEMORY}, {"network", -EINVAL, 0},  {"cp", -EINVAL, 0},
		{"cpux", -EINVAL, 0},         {"cpu,", -EINVAL, 0},     {",", -EINVAL, 0},
		{"cpu,,disk", -EINVAL, 0},    {"cpu disk", -EINVAL, 0},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_err err = {0};
		uint32_t set = 0;
		assert_int_equal(phx_check_parts_parse(cases[i].text, &set, &err), cases[i].result);
		assert_int_equal(set, cases[i].set);
	}
}

static void each_part_has_its_step(void **state)
{
	enum phx_check_part part = PHX_CHECK_cpu;
	int n = 0;
	(void)state;
	for (int kind = 0; kind < PHX_STEP_COUNT_; kind++)
		n += phx_step_checks(kind, &part);
	assert_int_equal(n, PHX_CHECK_PARTS_N);
	assert_true(phx_step_checks(PHX_STEP_check_disk, &part));
	assert_int_equal(part, PHX_CHECK_disk);
	assert_false(phx_step_checks(PHX_STEP_wipe, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_named),
		cmocka_unit_test(each_part_has_its_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
