/* Who keeps a virtual address that two machines have: single looks, and two directors on one
 * network that see what the other one sends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "web/claim.h"

enum { BEAT_MS = 2000, STEP_MS = 250 };

static const struct phx_web_sight nothing, holds = {.holds = true}, asks = {.asks = true},
					   asks_lower = {.asks = true, .lower = true};

static void the_head_is_lost_after_a_beat_and_a_half(void **state)
{
	static const struct {
		uint32_t beat_ms;
		int64_t after_ms;
	} rows[] = {{2000, 3000}, {10000, 15000}, {500, 1000}, {100, 600}};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct phx_web_head head = {.heard_ms = 77, .beat_ms = rows[i].beat_ms};
		assert_false(phx_web_head_lost(&head, 77 + rows[i].after_ms));
		assert_true(phx_web_head_lost(&head, 78 + rows[i].after_ms));
	}
}

static void it_is_told_when_it_is_taken(void **state)
{
	struct phx_web_hold h = {0};
	struct phx_web_head head = {.heard_ms = 10000, .beat_ms = BEAT_MS};
	int told = 0;
	(void)state;
	for (int64_t now = 10000; now < 20000; now += STEP_MS) {
		head.heard_ms = now;
		struct phx_web_acts acts = phx_web_hold_look(&h, &head, &nothing, now);
		assert_false(acts.yield || acts.probe);
		assert_true(now > 10000 || acts.announce);
		told += acts.announce;
	}
	assert_int_equal(told, 3);
}

static void who_hears_the_head_keeps_it(void **state)
{
	static const struct phx_web_sight *const sights[] = {&holds, &asks, &asks_lower};
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct phx_web_hold h = {.announced = 3};
		struct phx_web_head head = {.beat_ms = BEAT_MS};
		int told = 0;
		for (int64_t now = 10000; now < 20000; now += STEP_MS) {
			head.heard_ms = now - BEAT_MS;
			struct phx_web_acts acts = phx_web_hold_look(&h, &head, sights[i], now);
			assert_false(acts.yield || acts.probe);
			told += acts.announce;
		}
		/* as long as it is contested, and not more than once a second */
		assert_int_equal(told, 10);
	}
}

static void without_a_head_it_serves_on_and_asks(void **state)
{
	struct phx_web_hold h = {.announced = 3};
	struct phx_web_head head = {.heard_ms = 10000, .beat_ms = BEAT_MS};
	int asked = 0;
	(void)state;
	for (int64_t now = 10000; now < 3600000; now += STEP_MS) {
		struct phx_web_acts acts = phx_web_hold_look(&h, &head, &nothing, now);
		assert_false(acts.yield || acts.announce);
		assert_true(now > 13000 || !acts.probe);
		asked += acts.probe;
	}
	assert_in_range(asked, 3586, 3588);
}

/* A single frame is no other holder; one that is heard again a second later is. */
static void it_is_given_up_to_one_that_stays(void **state)
{
	struct phx_web_hold h = {.announced = 3};
	struct phx_web_head head = {.heard_ms = 10000, .beat_ms = BEAT_MS};
	(void)state;
	assert_false(phx_web_hold_look(&h, &head, &holds, 20000).yield);
	assert_false(phx_web_hold_look(&h, &head, &nothing, 21500).yield);
	/* that was long ago */
	assert_false(phx_web_hold_look(&h, &head, &holds, 24000).yield);
	assert_false(phx_web_hold_look(&h, &head, &holds, 24999).yield);
	struct phx_web_acts acts = phx_web_hold_look(&h, &head, &holds, 25000);
	assert_true(acts.yield);
	assert_false(acts.probe || acts.announce);
}

/* What was seen before the head was lost does not count. */
static void a_head_that_is_heard_again_ends_the_doubt(void **state)
{
	struct phx_web_hold h = {.announced = 3};
	struct phx_web_head head = {.heard_ms = 10000, .beat_ms = BEAT_MS};
	(void)state;
	assert_false(phx_web_hold_look(&h, &head, &holds, 20000).yield);
	head.heard_ms = 20500;
	assert_false(phx_web_hold_look(&h, &head, &holds, 21000).yield);
	assert_false(phx_web_hold_look(&h, &head, &holds, 24000).yield);
	assert_true(phx_web_hold_look(&h, &head, &holds, 25000).yield);
}

/* Who looks only when a look is due, or when something is seen, does all that one does who looks
 * every millisecond, at the same moments. */
static void nothing_is_missed_between_the_looks_that_are_due(void **state)
{
	struct phx_web_hold often = {0}, due = {0};
	struct phx_web_head head = {.heard_ms = 10000, .beat_ms = BEAT_MS};
	int acted = 0, looked = 0;
	(void)state;
	for (int64_t now = 10000; now < 30000; now++) {
		bool heard = now == 12000 || now == 24000;
		bool back = heard && phx_web_head_lost(&head, now);
		const struct phx_web_sight *seen = now == 20000 ? &holds : &nothing;
		head.heard_ms = heard ? now : head.heard_ms;
		struct phx_web_acts a = phx_web_hold_look(&often, &head, seen, now), b = {0};
		if (back || seen->holds || phx_web_hold_due_ms(&due, &head) <= now) {
			b = phx_web_hold_look(&due, &head, seen, now);
			looked++;
		}
		assert_memory_equal(&a, &b, sizeof(a));
		acted += a.probe + a.announce;
	}
	assert_in_range(acted, 14, 16);
	assert_in_range(looked, acted, acted + 3);
}

/* ---- two directors ---- */

struct director {
	struct phx_web_hold hold;
	struct phx_web_head head;
	bool has;
	struct phx_web_sight next; /* what it will have seen */
};

/* One looks; the other one's system answers it, and sees what it sends. */
static void look(struct director *d, struct director *other, bool other_is_lower, int64_t now)
{
	struct phx_web_sight seen = d->next;
	d->next = nothing;
	if (!d->has)
		return;
	struct phx_web_acts acts = phx_web_hold_look(&d->hold, &d->head, &seen, now);
	d->has = !acts.yield;
	if (acts.announce)
		other->next.holds = true;
	if (acts.probe) {
		other->next.asks = true;
		other->next.lower = !other_is_lower;
		d->next.holds = d->next.holds || other->has;
	}
}

static void one_of_two_without_a_head_keeps_it(void **state)
{
	(void)state;
	/* whichever lost the head first, whoever looks when */
	for (int64_t later = -5000; later <= 5000; later += STEP_MS)
		for (int first = 0; first < 2; first++) {
			struct director a = {.head = {10000, BEAT_MS},
					     .has = true,
					     .hold.announced = 3},
					b = a;
			b.head.heard_ms += later;
			for (int64_t now = 20000; now < 40000; now += STEP_MS) {
				if (first)
					look(&b, &a, true, now);
				look(&a, &b, false, now);
				if (!first)
					look(&b, &a, true, now);
			}
			assert_true(a.has);
			assert_false(b.has);
		}
}

static void one_that_comes_back_from_the_cold_gives_it_up(void **state)
{
	(void)state;
	for (int lower = 0; lower < 2; lower++) {
		struct director old = {.head = {1000, BEAT_MS}, .has = true},
				acting = {.head = {0, BEAT_MS}, .has = true};
		int64_t given_up = 0;
		for (int64_t now = 60000; now < 70000; now += STEP_MS) {
			acting.head.heard_ms = now - BEAT_MS;
			look(&old, &acting, lower, now);
			look(&acting, &old, !lower, now);
			given_up = old.has || given_up ? given_up : now;
		}
		assert_true(acting.has);
		assert_false(old.has);
		assert_in_range(given_up, 61000, 62500);
	}
}

/* Three have lost the head: to the one in the middle it does not matter which of the others asked
 * last. */
static void the_lowest_of_several_keeps_it(void **state)
{
	static const struct phx_web_sight both[] = {
		{.holds = true, .asks = true, .lower = true},
		{.holds = true, .asks = true},
	};
	(void)state;
	for (int first = 0; first < 2; first++) {
		struct phx_web_hold h = {.announced = 3};
		const struct phx_web_head head = {.heard_ms = 10000, .beat_ms = BEAT_MS};
		assert_false(phx_web_hold_look(&h, &head, &both[first], 20000).yield);
		assert_false(phx_web_hold_look(&h, &head, &both[!first], 20500).yield);
		assert_true(phx_web_hold_look(&h, &head, &both[first], 21000).yield);
	}
	/* a lower one that fell silent does not count */
	struct phx_web_hold h = {.announced = 3};
	const struct phx_web_head head = {.heard_ms = 10000, .beat_ms = BEAT_MS};
	assert_false(phx_web_hold_look(&h, &head, &both[0], 20000).yield);
	for (int64_t now = 23500; now < 40000; now += 500) {
		struct phx_web_acts acts = phx_web_hold_look(&h, &head, &both[1], now);
		assert_false(acts.yield);
		assert_true(acts.announce || now % 1000 == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_head_is_lost_after_a_beat_and_a_half),
		cmocka_unit_test(it_is_told_when_it_is_taken),
		cmocka_unit_test(who_hears_the_head_keeps_it),
		cmocka_unit_test(without_a_head_it_serves_on_and_asks),
		cmocka_unit_test(it_is_given_up_to_one_that_stays),
		cmocka_unit_test(a_head_that_is_heard_again_ends_the_doubt),
		cmocka_unit_test(nothing_is_missed_between_the_looks_that_are_due),
		cmocka_unit_test(one_of_two_without_a_head_keeps_it),
		cmocka_unit_test(one_that_comes_back_from_the_cold_gives_it_up),
		cmocka_unit_test(the_lowest_of_several_keeps_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
