/* Heaps: whatever is pushed, popped and dropped, the first is before all others; items that know
 * their place know it. */
#include "base/heap.h"
#include "base/rng.h"
#include "unit/base/test_base.h"

struct due {
	int64_t at;
	uint32_t number;
};

static bool sooner(const struct due *a, const struct due *b)
{
	return a->at != b->at ? a->at < b->at : a->number < b->number;
}
PHX_HEAP(due, struct due, sooner)

static void test_sorts(void **state)
{
	(void)state;
	struct phx_list l = {0};
	struct phx_rng rng = {1};
	assert_null(due_top(&l));
	for (uint32_t i = 0; i < 2000; i++)
		assert_int_equal(due_push(&l, (struct due){phx_rng_between(&rng, 0, 300), i}), 0);
	struct due last = {-1, 0};
	for (uint32_t i = 0; i < 2000; i++) {
		const struct due *top = due_top(&l);
		struct due d = *top;
		assert_int_equal(due_pop(&l).number, d.number);
		assert_true(sooner(&last, &d));
		last = d;
	}
	assert_int_equal(l.n, 0);
	phx_list_fini(&l);
}

/* Against the least of an array, while any item goes at any time. */
static void test_drops(void **state)
{
	(void)state;
	enum { N = 300 };
	struct phx_list l = {0};
	struct phx_rng rng = {2};
	bool there[N] = {0};
	int64_t at[N];
	for (uint32_t i = 0; i < N; i++) {
		at[i] = phx_rng_between(&rng, 0, 40);
		there[i] = due_push(&l, (struct due){at[i], i}) == 0;
		for (int k = 0; k < 2 && l.n > 3 && i % 3 == 0; k++) {
			uint32_t place = (uint32_t)phx_rng_between(&rng, 0, l.n - 1);
			there[PHX_LIST_AT(&l, struct due, place)->number] = false;
			due_drop(&l, place);
		}
		uint32_t least = i;
		for (uint32_t k = 0; k < i; k++)
			if (there[k] &&
			    (!there[least] ||
			     sooner(&(struct due){at[k], k}, &(struct due){at[least], least})))
				least = k;
		assert_int_equal(due_top(&l)->number, least);
	}
	phx_list_fini(&l);
}

/* ---- items that know their place ---- */

struct world {
	int64_t at[64];
	uint32_t place[64];
};

static bool sooner_in(const struct world *w, const uint32_t *a, const uint32_t *b)
{
	return w->at[*a] != w->at[*b] ? w->at[*a] < w->at[*b] : *a < *b;
}

static void note_place(struct world *w, const uint32_t *item, uint32_t place)
{
	w->place[*item] = place;
}
PHX_HEAP_SETTLE(world, struct world *, uint32_t, sooner_in, note_place)

static void test_places(void **state)
{
	(void)state;
	struct world w = {0};
	struct phx_rng rng = {3};
	uint32_t items[64];
	for (uint32_t i = 0; i < 64; i++) {
		w.at[i] = phx_rng_between(&rng, 0, 20);
		world_settle(&w, items, i + 1, i, i);
	}
	for (int k = 0; k < 1000; k++) {
		uint32_t i = (uint32_t)phx_rng_between(&rng, 0, 63);
		w.at[i] = phx_rng_between(&rng, 0, 20);
		world_settle(&w, items, 64, w.place[i], i);
		for (uint32_t p = 0; p < 64; p++) {
			assert_int_equal(w.place[items[p]], p);
			assert_false(p && sooner_in(&w, &items[p], &items[(p - 1) / 2]));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorts),
		cmocka_unit_test(test_drops),
		cmocka_unit_test(test_places),
	};
	return cmocka_run_group_tests_name("base/heap", tests, NULL, NULL);
}
