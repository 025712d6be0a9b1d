/* Rows of setup policies: what each does, and what both of two pools are done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "types/setup.h"

#define K(id, name, does, text) PHX_SETUP_##id,
static const int modes[] = {PHX_SETUP_MODES(K)};
#undef K

/* The first does nothing, each later one something that those before do not, the last all. */
static void rows_rise(void **state)
{
	const struct phx_setup first = {.mode = modes[0]};
	(void)state;
	assert_false(phx_setup_acts(&first, PHX_WHEN_RELEASE));
	assert_int_equal(phx_setup_strictest(), modes[PHX_ARRAY_SIZE(modes) - 1]);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(modes); i++) {
		const struct phx_setup s = {.mode = modes[i]},
				       all = {.mode = phx_setup_strictest()};
		assert_true(phx_setup_covers(&s, &s));
		assert_true(phx_setup_covers(&s, &first));
		assert_true(phx_setup_covers(&all, &s));
		for (size_t k = 0; k < i; k++) {
			const struct phx_setup less = {.mode = modes[k]};
			assert_false(phx_setup_covers(&less, &s));
		}
	}
}

/* Of two policies nothing is lost, in whatever order they come, and no more is done than that
 * takes. */
static void both_are_covered(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(modes); i++)
		for (size_t k = 0; k < PHX_ARRAY_SIZE(modes); k++) {
			const struct phx_setup a = {.mode = modes[i]}, b = {.mode = modes[k]};
			const struct phx_setup both = {.mode = phx_setup_both(&a, &b)};
			assert_true(phx_setup_covers(&both, &a) && phx_setup_covers(&both, &b));
			assert_int_equal(both.mode, phx_setup_both(&b, &a));
			if (phx_setup_covers(&a, &b))
				assert_int_equal(both.mode, a.mode);
		}
}

static void moments_count(void **state)
{
	static const struct {
		int when;
		bool release, assign;
	} rows[] = {{PHX_WHEN_RELEASE, true, false},
		    {PHX_WHEN_ASSIGN, false, true},
		    {PHX_WHEN_BOTH, true, true}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		const struct phx_setup s = {.mode = PHX_SETUP_WIPE, .when = rows[i].when};
		assert_int_equal(phx_setup_acts(&s, PHX_WHEN_RELEASE), rows[i].release);
		assert_int_equal(phx_setup_acts(&s, PHX_WHEN_ASSIGN), rows[i].assign);
		assert_int_equal(phx_setup_wipes(&s, PHX_WHEN_RELEASE), rows[i].release);
	}
}

/* A value that no row has does nothing, and is read from no table. */
static void strange_values_do_nothing(void **state)
{
	const struct phx_setup strange = {.mode = 1 << 20}, below = {.mode = -1};
	(void)state;
	assert_false(phx_setup_acts(&strange, PHX_WHEN_RELEASE));
	assert_false(phx_setup_does(&below, PHX_SETUP_DISKS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_rise),
		cmocka_unit_test(both_are_covered),
		cmocka_unit_test(moments_count),
		cmocka_unit_test(strange_values_do_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
