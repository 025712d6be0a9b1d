/* What of a node's silence is the head's own: after a while without a processor nobody is missing
 * who beats, and who is dead is found all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/util.h"
#include "node/lateness.h"

enum { MISSING_MS = 6000 };

static void a_turn_in_time_is_nobodys_lateness(void **state)
{
	struct phx_lateness l = {0};
	(void)state;
	for (int64_t now = 0; now < 100000; now += 50)
		phx_lateness_turned(&l, now, now + 20);
	assert_int_equal(phx_lateness_own_ms(&l, 0, MISSING_MS), 0);
}

static void what_the_head_missed_counts_for_those_who_were_heard_before(void **state)
{
	struct phx_lateness l = {0};
	(void)state;
	phx_lateness_turned(&l, 1000, 9000);
	assert_int_equal(phx_lateness_own_ms(&l, 0, MISSING_MS), 8000);
	assert_int_equal(phx_lateness_own_ms(&l, l.away_ms, MISSING_MS), 0);
}

static void what_waits_unread_counts_while_it_does(void **state)
{
	struct phx_lateness l = {0};
	(void)state;
	for (int i = 0; i < 200; i++)
		phx_lateness_read(&l, 0, 2000, MISSING_MS);
	int64_t own_ms = phx_lateness_own_ms(&l, 0, MISSING_MS);
	assert_true(own_ms > 3500 && own_ms <= 4000);
	for (int i = 0; i < 200; i++)
		phx_lateness_read(&l, 0, 9000, MISSING_MS);
	assert_int_equal(phx_lateness_own_ms(&l, 0, MISSING_MS), MISSING_MS);
	for (int i = 0; i < 200; i++)
		phx_lateness_read(&l, 0, 300, MISSING_MS);
	assert_true(phx_lateness_own_ms(&l, 0, MISSING_MS) < 50);
}

/* An hour behind a cut cable is no queue. */
static void one_who_comes_late_says_little_of_others(void **state)
{
	struct phx_lateness l = {0};
	(void)state;
	phx_lateness_read(&l, 0, 3600 * 1000, MISSING_MS);
	assert_true(phx_lateness_own_ms(&l, 0, MISSING_MS) < 1000);
}

/* ---- ten thousand nodes, and a head that is away ---- */

enum { NODES = 10000, BEAT_MS = 2000, STEP_MS = 50, READS = 350, AWAY_FROM = 10000 };

struct node {
	int64_t sent_ms, heard_ms, away_ms, free_ms;
	bool dead, missing;
};

struct head {
	struct phx_lateness late;
	bool grants;
	int64_t due_ms, away_ms;
	uint32_t queue[NODES], first, n;
	struct node nodes[NODES];
	unsigned n_missing;
	int64_t dead_found_ms;
};

static void read_beats(struct head *h, int64_t now)
{
	for (int i = 0; i < READS && h->n; i++, h->n--, h->first = (h->first + 1) % NODES) {
		struct node *n = &h->nodes[h->queue[h->first]];
		phx_lateness_read(&h->late, n->free_ms, now, MISSING_MS);
		n->heard_ms = now;
		n->away_ms = h->late.away_ms;
		n->free_ms = n->sent_ms = now + BEAT_MS; /* it is held, and answered then */
		i += n->missing ? 8 : 0;                 /* "back" is an event, and costs */
		n->missing = false;
	}
}

static void look(struct head *h, int64_t now)
{
	for (struct node *n = h->nodes; n < h->nodes + NODES; n++) {
		int64_t own_ms =
			h->grants ? phx_lateness_own_ms(&h->late, n->away_ms, MISSING_MS) : 0;
		if (n->missing || now - n->heard_ms - own_ms <= MISSING_MS)
			continue;
		n->missing = true;
		h->n_missing += !n->dead;
		h->dead_found_ms = n->dead ? now : h->dead_found_ms;
	}
}

static void send_beats(struct head *h, int64_t now)
{
	for (uint32_t i = 0; i < NODES; i++) {
		struct node *n = &h->nodes[i];
		if (n->dead || !n->sent_ms || n->sent_ms > now)
			continue;
		n->sent_ms = 0;
		h->queue[(h->first + h->n++) % NODES] = i;
	}
}

/* A minute, in which the head is away for `away_ms`; node 7 dies while it is, or at that time. */
static struct head *live(bool grants, int64_t away_ms)
{
	struct head *h = calloc(1, sizeof(*h));
	assert_non_null(h);
	h->grants = grants;
	for (uint32_t i = 0; i < NODES; i++)
		h->nodes[i].sent_ms = h->nodes[i].free_ms = 1 + i % BEAT_MS;
	for (int64_t now = 0; now < 60000; now += STEP_MS) {
		h->nodes[7].dead = now > AWAY_FROM;
		send_beats(h, now);
		if (now >= AWAY_FROM && now < AWAY_FROM + away_ms)
			continue;
		phx_lateness_turned(&h->late, h->due_ms, now);
		h->due_ms = now + STEP_MS;
		look(h, now);
		read_beats(h, now);
	}
	return h;
}

static void a_head_that_was_away_calls_nobody_missing_who_beats(void **state)
{
	(void)state;
	for (int64_t away_ms = 0; away_ms <= 30000; away_ms += 5000) {
		PHX_AUTO_FREE struct head *h = live(true, away_ms);
		assert_int_equal(h->n_missing, 0);
		assert_true(h->dead_found_ms >= AWAY_FROM - BEAT_MS + MISSING_MS);
		assert_true(h->dead_found_ms <= AWAY_FROM + away_ms + 2 * MISSING_MS + 1000);
	}
}

/* Without it one absence makes thousands of them, or this proves nothing. */
static void without_grants_it_does(void **state)
{
	(void)state;
	PHX_AUTO_FREE struct head *h = live(false, 10000);
	assert_true(h->n_missing > NODES / 2);
	assert_true(h->dead_found_ms > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_in_time_is_nobodys_lateness),
		cmocka_unit_test(what_the_head_missed_counts_for_those_who_were_heard_before),
		cmocka_unit_test(what_waits_unread_counts_while_it_does),
		cmocka_unit_test(one_who_comes_late_says_little_of_others),
		cmocka_unit_test(a_head_that_was_away_calls_nobody_missing_who_beats),
		cmocka_unit_test(without_grants_it_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
