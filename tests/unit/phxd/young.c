/* Files that may still change: what was taken is found until it is dropped, and no other, whatever
 * the order; there are at most YOUNG_MAX. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/rng.h"

#include "phxd/young.c" /* a part of a program, not of the library */

enum { FILES = 500, STEPS = 20000 };

static void test_as_a_plain_table(void **state)
{
	(void)state;
	struct young_files all = {0};
	bool there[FILES] = {0};
	uint32_t n = 0;
	struct phx_rng rng = {7};
	for (int step = 0; step < STEPS; step++) {
		uint32_t k = (uint32_t)phx_rng_below(&rng, FILES);
		uint64_t key = (uint64_t)k << 29 | k % 7; /* many share the half that is hashed */
		struct young *y = young_find(&all, key);
		assert_int_equal(y != NULL, there[k]);
		if (y && phx_rng_below(&rng, 2)) {
			assert_int_equal(y->due_ms, k);
			young_drop(&all, (uint32_t)(y - PHX_LIST_AT(&all.list, struct young, 0)));
			there[k] = false;
			n--;
		} else {
			y = young_take(&all, key);
			assert_non_null(y);
			assert_int_equal(y->key, key);
			y->due_ms = k;
			n += !there[k];
			there[k] = true;
		}
		assert_int_equal(all.list.n, n);
	}
	assert_true(n > FILES / 10);
	/* who walks backwards drops all and misses none */
	for (uint32_t i = all.list.n; i-- > 0;) {
		there[(size_t)PHX_LIST_AT(&all.list, struct young, i)->due_ms] = false;
		young_drop(&all, i);
	}
	assert_int_equal(all.by_key.n, 0);
	for (int k = 0; k < FILES; k++)
		assert_false(there[k]);
	young_fini(&all);
}

static void test_bounded(void **state)
{
	(void)state;
	struct young_files all = {0};
	for (uint64_t key = 1; key <= YOUNG_MAX; key++)
		assert_non_null(young_take(&all, key));
	assert_null(young_take(&all, YOUNG_MAX + 1));
	assert_non_null(young_take(&all, YOUNG_MAX)); /* it is there */
	young_drop(&all, 0);
	assert_non_null(young_take(&all, YOUNG_MAX + 1));
	assert_null(young_find(&all, 1));
	young_fini(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_a_plain_table),
		cmocka_unit_test(test_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
