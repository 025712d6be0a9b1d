/* Timer wheels: what comes when, whatever is put in and taken out, as a search of all would say. */
#include "base/rng.h"
#include "base/wheel.h"
#include "unit/base/test_base.h"

enum { N = 300, SLOT = PHX_WHEEL_SLOT_MS };

static struct phx_wheel wheel;

static unsigned count(struct phx_wheel_entry *e)
{
	unsigned n = 0;
	for (; e; e = e->next)
		n++;
	return n;
}

static void comes_when_its_slot_is_over(void **unused)
{
	struct phx_wheel_entry e = {0};
	(void)unused;
	phx_wheel_init(&wheel, 1000);
	assert_true(phx_wheel_next_ms(&wheel) == INT64_MAX);
	assert_int_equal(phx_wheel_put(&wheel, &e, 1100, PHX_WHEEL_ANY), 1100 + SLOT);
	assert_int_equal(phx_wheel_next_ms(&wheel), 1100 + SLOT);
	assert_null(phx_wheel_turn(&wheel, 1100 + SLOT - 1));
	assert_ptr_equal(phx_wheel_turn(&wheel, 1100 + SLOT), &e);
	assert_int_equal(e.slot, 0);
	assert_true(phx_wheel_next_ms(&wheel) == INT64_MAX);
}

static void what_is_due_comes_with_the_next_slot(void **unused)
{
	struct phx_wheel_entry e = {0};
	(void)unused;
	phx_wheel_init(&wheel, 1000);
	int64_t comes = phx_wheel_put(&wheel, &e, 3, PHX_WHEEL_ANY);
	assert_int_equal(comes, 1000 + 2 * SLOT);
	assert_ptr_equal(phx_wheel_turn(&wheel, comes), &e);
}

/* A later time leaves it where it is; an earlier one brings it forward. */
static void an_earlier_slot_stays(void **unused)
{
	struct phx_wheel_entry e = {0};
	(void)unused;
	phx_wheel_init(&wheel, 1000);
	phx_wheel_put(&wheel, &e, 2000, PHX_WHEEL_ANY);
	assert_true(phx_wheel_put(&wheel, &e, 3000, PHX_WHEEL_ANY) == INT64_MAX);
	assert_int_equal(phx_wheel_put(&wheel, &e, 1500, PHX_WHEEL_ANY), 1500 + SLOT);
	assert_int_equal(count(phx_wheel_turn(&wheel, 1500 + SLOT)), 1);
	assert_null(phx_wheel_turn(&wheel, 5000));
}

/* Those of one phase come together, in one slot of each stretch. */
static void phases_come_by_turns(void **unused)
{
	struct phx_wheel_entry e[N] = {0};
	unsigned n = 0;
	(void)unused;
	phx_wheel_init(&wheel, 0);
	for (unsigned i = 0; i < N; i++) {
		int64_t due = 1000 + i % 100, comes = phx_wheel_put(&wheel, &e[i], due, (int)i);
		assert_true(comes > due && comes <= due + SLOT * (PHX_WHEEL_PHASES + 1));
	}
	for (int64_t slot = 0; slot < 100; slot++)
		for (struct phx_wheel_entry *come = phx_wheel_turn(&wheel, (slot + 1) * SLOT); come;
		     come = come->next, n++)
			assert_int_equal((come - e) % PHX_WHEEL_PHASES, slot % PHX_WHEEL_PHASES);
	assert_int_equal(n, N);
}

/* It comes once in vain, and can be put in again. */
static void what_is_due_later_comes_in_vain(void **unused)
{
	struct phx_wheel_entry e = {0};
	int64_t due = 5LL * PHX_WHEEL_SLOTS * SLOT, now;
	unsigned times = 0;
	(void)unused;
	phx_wheel_init(&wheel, 0);
	for (now = 0; now <= due; times++) {
		now = phx_wheel_put(&wheel, &e, due, PHX_WHEEL_ANY);
		assert_int_equal(phx_wheel_next_ms(&wheel), now);
		assert_ptr_equal(phx_wheel_turn(&wheel, now), &e);
	}
	assert_int_equal(now, due + SLOT);
	assert_int_equal(times, 6);
}

static void all_come_after_a_long_sleep(void **unused)
{
	struct phx_wheel_entry e[N] = {0};
	(void)unused;
	phx_wheel_init(&wheel, 0);
	for (unsigned i = 0; i < N; i++)
		phx_wheel_put(&wheel, &e[i], i * 100, PHX_WHEEL_ANY);
	assert_int_equal(count(phx_wheel_turn(&wheel, INT32_MAX)), N);
	assert_null(phx_wheel_turn(&wheel, INT32_MAX + 10000LL));
}

static bool has(const struct phx_wheel_entry *list, const struct phx_wheel_entry *e)
{
	for (; list && list != e; list = list->next)
		;
	return list;
}

/* Each comes at the time that was said, and only then; none that was taken out comes. */
static void as_a_list_that_is_searched(void **unused)
{
	struct phx_wheel_entry e[N] = {0};
	int64_t comes[N], now = 7777, n_come = 0;
	struct phx_rng rng = {1};
	(void)unused;
	for (unsigned i = 0; i < N; i++)
		comes[i] = INT64_MAX;
	phx_wheel_init(&wheel, now);
	for (unsigned step = 0; step < 20000; step++) {
		unsigned i = (unsigned)phx_rng_below(&rng, N);
		if (phx_rng_below(&rng, 4)) {
			int64_t due = now + (int64_t)phx_rng_below(&rng, 3000);
			int64_t when =
				phx_wheel_put(&wheel, &e[i], due, (int)phx_rng_below(&rng, 6) - 1);
			assert_true(when != INT64_MAX || comes[i] != INT64_MAX);
			comes[i] = when == INT64_MAX ? comes[i] : when;
		} else {
			phx_wheel_out(&wheel, &e[i]);
			comes[i] = INT64_MAX;
		}
		if (phx_rng_below(&rng, 20))
			continue;
		now += (int64_t)phx_rng_below(&rng, 400);
		const struct phx_wheel_entry *come = phx_wheel_turn(&wheel, now);
		for (unsigned k = 0; k < N; k++) {
			assert_int_equal(has(come, &e[k]), comes[k] <= now);
			n_come += comes[k] <= now;
			comes[k] = comes[k] <= now ? INT64_MAX : comes[k];
		}
	}
	assert_true(n_come > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_when_its_slot_is_over),
		cmocka_unit_test(what_is_due_comes_with_the_next_slot),
		cmocka_unit_test(an_earlier_slot_stays),
		cmocka_unit_test(phases_come_by_turns),
		cmocka_unit_test(what_is_due_later_comes_in_vain),
		cmocka_unit_test(all_come_after_a_long_sleep),
		cmocka_unit_test(as_a_list_that_is_searched),
	};
	return cmocka_run_group_tests_name("base/wheel", tests, NULL, NULL);
}
