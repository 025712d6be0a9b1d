/* Hash tables: what was put is found until it is dropped, however keys collide; growing keeps
 * all. */
#include "base/hash.h"
#include "base/mix.h"
#include "base/rng.h"
#include "unit/base/test_base.h"

enum { N = 3000 };

static bool has(const struct phx_hash *h, uint32_t hash, uint32_t value)
{
	uint32_t v, n = 0;
	for (uint32_t at = hash; phx_hash_next(h, hash, &at, &v);)
		n += v == value;
	assert_true(n <= 1);
	return n;
}

/* A hash for each number, few of them: chains are long, and run over the end of the table. */
static uint32_t collides(uint32_t i, uint32_t n_hashes)
{
	return UINT32_MAX - (i * 7) % n_hashes;
}

static void check_random(uint32_t n_hashes)
{
	struct phx_hash h = {0};
	struct phx_rng rng = {n_hashes};
	bool there[N] = {0};
	uint32_t n = 0;
	for (int k = 0; k < 20000; k++) {
		uint32_t i = (uint32_t)phx_rng_between(&rng, 0, N - 1);
		if (there[i])
			phx_hash_drop(&h, collides(i, n_hashes), i);
		else
			assert_int_equal(phx_hash_put(&h, collides(i, n_hashes), i), 0);
		there[i] = !there[i];
		n += there[i] ? 1 : -1;
		assert_int_equal(h.n, n);
		uint32_t other = (uint32_t)phx_rng_between(&rng, 0, N - 1);
		assert_int_equal(has(&h, collides(other, n_hashes), other), there[other]);
	}
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(has(&h, collides(i, n_hashes), i), there[i]);
	phx_hash_clear(&h);
	assert_int_equal(h.n, 0);
	for (uint32_t i = 0; i < N; i++)
		assert_false(has(&h, collides(i, n_hashes), i));
	phx_hash_fini(&h);
	phx_hash_fini(&h);
}

static void test_random(void **state)
{
	(void)state;
	check_random(97);
	check_random(1000000);
}

static void test_empty(void **state)
{
	(void)state;
	struct phx_hash h = {0};
	assert_false(has(&h, 0, 0));
	phx_hash_clear(&h);
	/* neither the hash nor the value 0 is special */
	assert_int_equal(phx_hash_put(&h, 0, 0), 0);
	assert_true(has(&h, 0, 0));
	phx_hash_drop(&h, 0, 0);
	assert_false(has(&h, 0, 0));
	phx_hash_fini(&h);
}

static void test_reserve(void **state)
{
	(void)state;
	struct phx_hash h = {0};
	assert_int_equal(phx_hash_reserve(&h, 1000), 0);
	const struct phx_hash_slot *slots = h.slots;
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(phx_hash_put(&h, i * 2654435761u, i), 0);
	assert_ptr_equal(h.slots, slots);
	assert_int_equal(phx_hash_reserve(&h, UINT32_MAX), -ENOMEM);
	for (uint32_t i = 0; i < 1000; i++)
		assert_true(has(&h, i * 2654435761u, i));
	phx_hash_fini(&h);
}

static void test_text(void **state)
{
	(void)state;
	assert_int_equal(phx_hash_text("n1"), phx_hash_text("n1"));
	assert_int_not_equal(phx_hash_text("n1"), phx_hash_text("n2"));
	assert_int_not_equal(phx_hash_text(""), phx_hash_text("\x80"));
}

/* Values of the function's authors: agents keep what they were told, so it never changes. */
static void test_mix(void **state)
{
	(void)state;
	assert_true(phx_mix(PHX_MIX_NONE, "", 0) == 0xcbf29ce484222325ULL);
	assert_true(phx_mix(PHX_MIX_NONE, "a", 1) == 0xaf63dc4c8601ec8cULL);
	assert_true(phx_mix(PHX_MIX_NONE, "foobar", 6) == 0x85944171f73967e8ULL);
	assert_true(phx_mix_text(PHX_MIX_NONE, "a") == phx_mix(PHX_MIX_NONE, "a", 2));
	assert_true(phx_mix_text(phx_mix_text(PHX_MIX_NONE, "a"), "bc") !=
		    phx_mix_text(phx_mix_text(PHX_MIX_NONE, "ab"), "c"));
	assert_true(phx_mix_number(PHX_MIX_NONE, 'a') == phx_mix(PHX_MIX_NONE, "a", 1));
	assert_true(phx_mix_id(0) == 1);
	assert_true(phx_mix_id(UINT64_MAX) == (1ULL << 53) - 1 - 2047);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),  cmocka_unit_test(test_empty),
		cmocka_unit_test(test_reserve), cmocka_unit_test(test_text),
		cmocka_unit_test(test_mix),
	};
	return cmocka_run_group_tests_name("base/hash", tests, NULL, NULL);
}
