/* How much of an erased disk has to be read back: by its size, by how it was erased, and by what
 * was asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "types/readback.h"

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

static uint64_t samples(uint64_t size_bytes)
{
	return phx_readback_least(size_bytes, PHX_WIPE_OVERWRITE, PHX_VERIFY_SAMPLE);
}

static void both_ends_and_one_in_a_hundred(void **state)
{
	(void)state;
	assert_int_equal(samples(0), 0);
	assert_int_equal(samples(4096), 4096);
	assert_int_equal(samples(32 * MIB), 32 * MIB);
	assert_int_equal(samples(3 * GIB), 32 * MIB);
	/* all that are drawn may lie within the ends, and no more than that */
	assert_int_equal(samples(100 * GIB), 1024 * MIB);
	assert_int_equal(samples(100 * GIB + 100), 1025 * MIB);
	/* a size that nobody has costs nothing, and nobody has read that much */
	assert_true(samples(UINT64_MAX) > UINT64_MAX / 101);
}

static void all_is_all(void **state)
{
	static const uint64_t sizes[] = {0, 1, 4096, 33 * MIB, 100 * GIB + 7, UINT64_MAX};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(sizes); i++)
		for (int used = PHX_WIPE_DISCARD; used <= PHX_WIPE_SECURE_ERASE; used++)
			assert_int_equal(phx_readback_least(sizes[i], (enum phx_wipe_method)used,
							    PHX_VERIFY_FULL),
					 sizes[i]);
}

/* What has lost its key is not zero, and is not read. */
static void of_a_destroyed_key_its_tables(void **state)
{
	(void)state;
	for (int verify = PHX_VERIFY_SAMPLE; verify <= PHX_VERIFY_FULL; verify++)
		assert_int_equal(
			phx_readback_least(100 * GIB, PHX_WIPE_CRYPTO, (enum phx_verify)verify),
			2 * MIB);
	assert_int_equal(phx_readback_least(7, PHX_WIPE_CRYPTO, PHX_VERIFY_SAMPLE), 7);
}

/* No number has fewer places than the rule says. */
static void as_many_are_drawn(void **state)
{
	static const uint64_t sizes[] = {0, MIB - 1, MIB, 99 * MIB, 101 * MIB, GIB + 5, 9 * GIB};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(sizes); i++)
		for (uint64_t seed = 1; seed < 20; seed++) {
			PHX_AUTO(phx_list_fini) struct phx_list drawn = {0};
			assert_int_equal(phx_readback_drawn(sizes[i], seed, &drawn), 0);
			assert_true(drawn.n * MIB <= samples(sizes[i]));
			assert_true(sizes[i] < 4 * GIB || drawn.n * MIB == samples(sizes[i]));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_and_one_in_a_hundred),
		cmocka_unit_test(all_is_all),
		cmocka_unit_test(of_a_destroyed_key_its_tables),
		cmocka_unit_test(as_many_are_drawn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
