/* The ledger: what tests/golden/ledger.txt cannot say: pairing, refusals, sums,
 * snapshots, speed. */
#include <errno.h>
#include <time.h>

#include "unit/ledger/cluster.h"

/* 000 5.1, by hand: 10 nodes, 3 for the web, two jobs; the web wants 6. */
static void fb_kills_the_smallest_latest(void **state)
{
	struct cluster c;
	(void)state;
	cluster_init(&c, 10);
	struct phx_agreement ab = agreement("b", PHX_RE_BATCH, PHX_POLICY_fb, 7);
	struct phx_agreement aw = agreement("w", PHX_RE_WEB, PHX_POLICY_fb, 3);
	int b = cluster_activate(&c, &ab), w = cluster_activate(&c, &aw);
	assert_int_equal(cluster_held(&c, b), 7);
	assert_int_equal(cluster_held(&c, w), 3);
	cluster_submit(&c, b, 1, 2);
	cluster_pass(&c);
	c.now_ms = 1000;
	cluster_submit(&c, b, 2, 2);
	cluster_submit(&c, b, 3, 3);
	cluster_pass(&c);
	assert_int_equal(cluster_counts(&c, b).busy, 7);
	c.now_ms = 11000;
	cluster_clear(&c);
	cluster_demand(&c, w, 6); /* kills job 2 (size 2, later), then job 1: 4 nodes for 3 */
	assert_int_equal(cluster_held(&c, w), 6);
	assert_int_equal(cluster_counts(&c, b).idle, 1);
	assert_int_equal(cluster_counts(&c, b).batch.n_waiting, 2);
	struct phx_ledger_meter m;
	phx_ledger_meter(c.l, b, c.now_ms, &m);
	assert_int_equal(m.n_kills, 2);
	assert_int_equal(m.lost_node_ms, 2 * 10000 + 2 * 11000);
	cluster_fini(&c);
}

static void use_for(struct cluster *c, int web, int seconds, uint32_t ppm)
{
	for (int64_t end_ms = c->now_ms + seconds * 1000; c->now_ms < end_ms; c->now_ms += 1000) {
		assert_int_equal(phx_ledger_sample(c->l, web, ppm, c->now_ms), 0);
		cluster_tick(c);
	}
	cluster_tick(c);
}

/* One instance is overloaded; the second is 18 seconds on its way. What the first alone used must
 * not ask for a third. */
static void an_arrival_begins_a_window(void **state)
{
	struct cluster c;
	(void)state;
	cluster_init(&c, 5);
	struct phx_agreement ab = agreement("b", PHX_RE_BATCH, PHX_POLICY_fb, 4);
	struct phx_agreement aw = agreement("w", PHX_RE_WEB, PHX_POLICY_fb, 1);
	cluster_activate(&c, &ab);
	int w = cluster_activate(&c, &aw);
	c.by_hand = true;
	cluster_clear(&c);
	use_for(&c, w, 20, 1000000);
	assert_int_equal(cluster_counts(&c, w).want, 2);
	assert_int_equal(c.out.n, 1);
	struct phx_ledger_action move = *PHX_LIST_AT(&c.out, struct phx_ledger_action, 0);
	use_for(&c, w, 18, 1000000);
	cluster_confirm(&c, &move);
	use_for(&c, w, 19, 600000);
	assert_int_equal(cluster_counts(&c, w).want, 2);
	use_for(&c, w, 1, 600000);
	assert_int_equal(cluster_counts(&c, w).want, 2);
	use_for(&c, w, 20, 900000);
	assert_int_equal(cluster_counts(&c, w).want, 3);
	cluster_fini(&c);
}

/* An RE begins with the instances of its agreement, within its lower bound, and goes by what it
 * measures from then on. */
static void a_web_service_begins_as_agreed(void **state)
{
	static const struct {
		uint32_t lower, initial, begins, least;
	} rows[] = {{1, 2, 2, 1}, {0, 2, 2, 1}, {3, 2, 3, 3}, {1, 0, 1, 1}, {0, 0, 1, 1}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct cluster c;
		cluster_init(&c, 5);
		struct phx_agreement a =
			agreement("w", PHX_RE_WEB, PHX_POLICY_flb_nub, rows[i].lower);
		a.initial = rows[i].initial;
		int w = cluster_activate(&c, &a);
		assert_int_equal(cluster_counts(&c, w).want, rows[i].begins);
		assert_int_equal(cluster_held(&c, w), rows[i].begins);
		use_for(&c, w, 60, 0);
		assert_int_equal(cluster_held(&c, w), rows[i].least);
		cluster_fini(&c);
	}
}

/* ---- who is whose partner ---- */

static int try_activate(struct cluster *c, const struct phx_agreement *a, struct phx_err *err)
{
	int re = -7;
	int r = phx_ledger_activate(c->l, a, c->now_ms, &re, &c->out, err);

	if (r < 0)
		assert_int_equal(re, -7);
	cluster_act(c);
	return r < 0 ? r : re;
}

/* Are they a pair? Only then the web may take what its partner has. */
static bool shares(struct cluster *c, int batch, int web)
{
	uint32_t before = cluster_held(c, batch);

	cluster_demand(c, web, cluster_counts(c, web).want + 1);
	bool took = cluster_held(c, batch) < before;
	cluster_demand(c, web, cluster_counts(c, web).want - 1);
	return took;
}

static void partners_find_each_other(void **state)
{
	struct cluster c;
	struct phx_err err = {0};
	(void)state;
	cluster_init(&c, 24);
	struct phx_agreement w1 = agreement("w1", PHX_RE_WEB, PHX_POLICY_fb, 4);
	struct phx_agreement w2 = agreement("w2", PHX_RE_WEB, PHX_POLICY_fb, 4);
	struct phx_agreement b1 = agreement("b1", PHX_RE_BATCH, PHX_POLICY_fb, 4);
	struct phx_agreement b2 = agreement("b2", PHX_RE_BATCH, PHX_POLICY_fb, 4);
	struct phx_agreement b3 = agreement("b3", PHX_RE_BATCH, PHX_POLICY_fb, 4);
	PHX_STR_SET(b1.partner, "w2"); /* named: not the first that fits */
	b3.coordination = PHX_RE_COORDINATED_NONE;
	int rw1 = cluster_activate(&c, &w1), rw2 = cluster_activate(&c, &w2);
	int rb3 = cluster_activate(&c, &b3), rb1 = cluster_activate(&c, &b1),
	    rb2 = cluster_activate(&c, &b2);
	assert_true(shares(&c, rb1, rw2));
	assert_true(shares(&c, rb2, rw1));
	assert_false(shares(&c, rb3, rw1));
	assert_int_equal(try_activate(&c, &b1, &err), -EEXIST);
	assert_non_null(strstr(err.text, "b1 is active already"));
	cluster_fini(&c);
}

static void a_partner_that_does_not_fit_is_refused(void **state)
{
	struct cluster c;
	struct phx_err err = {0};
	(void)state;
	cluster_init(&c, 24);
	struct phx_agreement w = agreement("w", PHX_RE_WEB, PHX_POLICY_fb, 4);
	struct phx_agreement b = agreement("b", PHX_RE_BATCH, PHX_POLICY_coop2008, 4);
	int web = cluster_activate(&c, &w);
	PHX_STR_SET(b.partner, "w");
	assert_int_equal(try_activate(&c, &b, &err), -EINVAL);
	assert_non_null(strstr(err.text, "one model"));
	assert_int_equal(c.out.n, 1); /* the web's start alone */
	b.partner[0] = '\0';          /* not named: it is alone */
	int batch = cluster_activate(&c, &b);
	assert_false(shares(&c, batch, web));
	cluster_fini(&c);
}

/* ---- refusals leave no trace ---- */

static void nonsense_is_refused(void **state)
{
	struct cluster c;
	struct phx_err err = {0};
	struct phx_ledger_image before, after;
	(void)state;
	cluster_init(&c, 10);
	struct phx_agreement ab = agreement("b", PHX_RE_BATCH, PHX_POLICY_fb, 6);
	struct phx_agreement aw = agreement("w", PHX_RE_WEB, PHX_POLICY_fb, 2);
	struct phx_agreement bad = agreement("x", PHX_RE_BATCH, PHX_POLICY_dr, 3);
	int b = cluster_activate(&c, &ab), w = cluster_activate(&c, &aw);
	cluster_submit(&c, b, 1, 3);
	cluster_pass(&c);
	cluster_clear(&c);
	assert_int_equal(phx_ledger_save(c.l, &before), 0);
	assert_int_equal(try_activate(&c, &bad, &err), -ENOSPC);
	bad.upper = 1;
	assert_int_equal(try_activate(&c, &bad, NULL), -EINVAL);
	assert_int_equal(phx_ledger_job_ended(c.l, b, 2, 0, &c.out), -ENOENT);
	assert_int_equal(phx_ledger_job_ended(c.l, w, 1, 0, &c.out), -ENOENT);
	assert_int_equal(phx_ledger_job_ended(c.l, 7, 1, 0, &c.out), -ENOENT);
	assert_int_equal(phx_ledger_job_killed(c.l, b, 1, 0, &c.out), -EINVAL);
	assert_int_equal(phx_ledger_job_cancel(c.l, b, 9, 0, &c.out), -ENOENT);
	assert_int_equal(phx_ledger_job_unblock(c.l, b, 1, 0, &c.out), -EINVAL);
	assert_int_equal(phx_ledger_job_hold(c.l, b, 1, true, 0, &c.out), -EBUSY);
	assert_int_equal(phx_ledger_demand(c.l, b, 3, 0, &c.out), -EINVAL);
	assert_int_equal(phx_ledger_demand(c.l, -1, 3, 0, &c.out), -ENOENT);
	assert_int_equal(phx_ledger_sample(c.l, b, 3, 0), -EINVAL);
	assert_int_equal(phx_ledger_arrived(c.l, -1, b, 1, 0, &c.out), -EINVAL);
	assert_int_equal(phx_ledger_arrived(c.l, -1, 9, 1, 0, &c.out), -ENOENT);
	assert_int_equal(phx_ledger_arrived(c.l, -5, b, 0, 0, &c.out), -EINVAL);
	assert_int_equal(phx_ledger_lost(c.l, b, 4, false, 0, &c.out), -EINVAL);
	assert_int_equal(phx_ledger_lost(c.l, w, 3, false, 0, &c.out), -EINVAL);
	assert_int_equal(phx_ledger_lost(c.l, b, 1, true, 0, &c.out), -EINVAL);
	assert_int_equal(phx_ledger_lost_busy(c.l, b, 1, 4, 0, &c.out), -EINVAL);
	assert_int_equal(phx_ledger_found(c.l, UINT32_MAX, 0, &c.out), -EINVAL);
	assert_int_equal(phx_ledger_suspend(c.l, 5, true), -ENOENT);
	assert_int_equal(phx_ledger_deactivate(c.l, 5, 0, &c.out), -ENOENT);
	assert_int_equal(c.out.n, 0);
	assert_int_equal(phx_ledger_save(c.l, &after), 0);
	assert_true(phx_record_equal(&phx_ledger_image_record, &before, &after));
	phx_record_fini(&phx_ledger_image_record, &before);
	phx_record_fini(&phx_ledger_image_record, &after);
	cluster_fini(&c);
}

static void a_damaged_snapshot_is_refused(void **state)
{
	struct cluster c;
	struct phx_ledger_image image;
	struct phx_ledger *l = NULL;
	(void)state;
	cluster_init(&c, 10);
	struct phx_agreement ab = agreement("b", PHX_RE_BATCH, PHX_POLICY_fb, 6);
	cluster_activate(&c, &ab);
	assert_int_equal(phx_ledger_save(c.l, &image), 0);
	image.free++; /* a node more than there are */
	assert_int_equal(phx_ledger_restore(&image, &l), -EINVAL);
	assert_null(l);
	image.free--;
	assert_int_equal(phx_ledger_restore(&image, &l), 0);
	phx_ledger_free(l);
	phx_record_fini(&phx_ledger_image_record, &image);
	cluster_fini(&c);
}

/* ---- sums ---- */

/* What is held for no time is no peak: a lease of a job without run time, a change within an
 * instant. */
static void peaks_last(void **state)
{
	struct cluster c;
	struct phx_ledger_meter m;
	(void)state;
	cluster_init(&c, 0);
	struct phx_agreement a = agreement("d", PHX_RE_BATCH, PHX_POLICY_deelman, 0);
	int d = cluster_activate(&c, &a);
	c.now_ms = 5000;
	cluster_submit(&c, d, 1, 1000);
	cluster_pass(&c);
	cluster_end(&c, d, 1);
	cluster_submit(&c, d, 2, 3);
	cluster_pass(&c);
	c.now_ms = 6500;
	phx_ledger_meter(c.l, d, c.now_ms, &m);
	assert_int_equal(m.peak, 3);
	assert_int_equal(m.held_node_ms, 3 * 1500);
	phx_ledger_total(c.l, c.now_ms, &m);
	assert_int_equal(m.peak, 3);
	assert_int_equal(m.nodes_moved, 2003);
	assert_int_equal(phx_ledger_free_nodes(c.l), 0);
	/* time does not go back */
	phx_ledger_meter(c.l, d, 0, &m);
	assert_int_equal(m.held_node_ms, 0);
	cluster_fini(&c);
}

static void a_number_is_used_again(void **state)
{
	struct cluster c;
	struct phx_ledger_meter m;
	(void)state;
	cluster_init(&c, 10);
	struct phx_agreement a = agreement("a", PHX_RE_BATCH, PHX_POLICY_dcs, 4);
	struct phx_agreement b = agreement("b", PHX_RE_BATCH, PHX_POLICY_dcs, 4);
	int first = cluster_activate(&c, &a), second = cluster_activate(&c, &b);
	c.now_ms = 1000;
	assert_int_equal(phx_ledger_deactivate(c.l, first, c.now_ms, &c.out), 0);
	cluster_act(&c);
	assert_int_equal(cluster_held(&c, first), 0);
	phx_ledger_meter(c.l, first, 9000, &m); /* still to be read */
	assert_int_equal(m.held_node_ms, 4000);
	assert_int_equal(phx_ledger_next_ms(c.l), INT64_MAX);
	PHX_STR_SET(a.name, "c");
	assert_int_equal(cluster_activate(&c, &a), first);
	assert_int_not_equal(first, second);
	phx_ledger_meter(c.l, first, 1000, &m);
	assert_int_equal(m.held_node_ms, 0);
	cluster_fini(&c);
}

/* Two REs lack a node each and one is free: kept by each for the other, it would serve nobody. */
static void the_last_free_node_serves_somebody(void **state)
{
	struct cluster c;
	(void)state;
	cluster_init(&c, 4);
	struct phx_agreement a = agreement("a", PHX_RE_BATCH, PHX_POLICY_dcs, 2);
	struct phx_agreement b = agreement("b", PHX_RE_BATCH, PHX_POLICY_dcs, 2);
	int first = cluster_activate(&c, &a), second = cluster_activate(&c, &b);
	assert_int_equal(phx_ledger_lost(c.l, first, 1, PHX_LEDGER_THERE, c.now_ms, &c.out), 0);
	cluster_act(&c);
	assert_int_equal(phx_ledger_lost(c.l, second, 1, PHX_LEDGER_THERE, c.now_ms, &c.out), 0);
	cluster_act(&c);
	assert_int_equal(cluster_held(&c, first), 1);
	assert_int_equal(cluster_held(&c, second), 1);
	for (int n = 2; n <= 3; n++) {
		assert_int_equal(phx_ledger_found(c.l, 1, c.now_ms, &c.out), 0);
		cluster_act(&c);
		cluster_pass(&c);
		assert_int_equal(cluster_held(&c, first), 2); /* the first is served first */
		assert_int_equal(cluster_held(&c, second), n - 1);
		assert_int_equal(phx_ledger_free_nodes(c.l), 0);
	}
	cluster_fini(&c);
}

/* ---- speed ---- */

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* A demand that makes 5,000 running jobs on 10,000 nodes give 4,000 back: decided within a
 * millisecond (five where the machine is busy or watched). */
static void a_reclaim_is_fast(void **state)
{
	double best = 1e9;
	(void)state;
	for (int round = 0; round < 5; round++) {
		struct cluster c;
		cluster_init(&c, 10000);
		struct phx_agreement ab = agreement("b", PHX_RE_BATCH, PHX_POLICY_fb, 9999);
		struct phx_agreement aw = agreement("w", PHX_RE_WEB, PHX_POLICY_fb, 1);
		int b = cluster_activate(&c, &ab), w = cluster_activate(&c, &aw);
		for (uint64_t i = 1; i <= 5000; i++)
			cluster_submit(&c, b, i, 1 + (uint32_t)(i * 7919 % 3));
		cluster_pass(&c);
		assert_true(cluster_counts(&c, b).batch.n_running > 4900);
		c.by_hand = true;
		cluster_clear(&c);
		double begin = now_us();
		assert_int_equal(phx_ledger_demand(c.l, w, 4001, 1000, &c.out), 0);
		double took = now_us() - begin;
		best = took < best ? took : best;
		assert_true(c.out.n > 2000);
		cluster_fini(&c);
	}
	print_message("a reclaim of 4,000 nodes from 5,000 jobs: %.0f us\n", best);
	assert_true(best < 5000);
}

/* ---- nodes that cannot go where they could by count ---- */

static int barred(struct cluster *c, int from, int to, uint32_t nodes, uint32_t idle)
{
	struct phx_ledger_barred b = {from, to, nodes, idle};
	struct phx_list all = {.items = &b, .n = nodes > 0};

	return phx_ledger_barred(c->l, &all, c->now_ms, &c->out);
}

static void who_cannot_have_free_nodes_leaves_them_to_others(void **state)
{
	struct cluster c;
	(void)state;
	cluster_init(&c, 5);
	c.by_hand = true;
	struct phx_agreement aa = agreement("a", PHX_RE_BATCH, PHX_POLICY_fb, 2);
	struct phx_agreement ab = agreement("b", PHX_RE_BATCH, PHX_POLICY_fb, 3);
	aa.coordination = ab.coordination = PHX_RE_COORDINATED_NONE;
	int a = cluster_activate(&c, &aa);
	assert_int_equal(cluster_counts(&c, a).coming, 2);
	assert_int_equal(barred(&c, PHX_LEDGER_FREE, a, 3, 3), 0);
	assert_int_equal(phx_ledger_refused(c.l, PHX_LEDGER_FREE, a, 3, 0, &c.out), -EINVAL);
	assert_int_equal(phx_ledger_refused(c.l, PHX_LEDGER_FREE, 7, 1, 0, &c.out), -ENOENT);
	assert_int_equal(barred(&c, PHX_LEDGER_FREE, 7, 1, 1), -EINVAL);
	assert_int_equal(barred(&c, PHX_LEDGER_FREE, a, 5, 5), 0);
	cluster_clear(&c);
	assert_int_equal(phx_ledger_refused(c.l, PHX_LEDGER_FREE, a, 2, 0, &c.out), 0);
	cluster_check(&c);
	assert_int_equal(c.out.n, 0);
	assert_int_equal(phx_ledger_free_nodes(c.l), 5);
	struct phx_ledger_meter m;
	phx_ledger_meter(c.l, a, c.now_ms, &m);
	assert_int_equal(m.nodes_moved, 0);
	int b = cluster_activate(&c, &ab);
	assert_int_equal(cluster_counts(&c, b).coming, 3);
	cluster_clear(&c);
	assert_int_equal(barred(&c, PHX_LEDGER_FREE, a, 2, 2), 0);
	assert_int_equal(c.out.n, 0);
	/* one of the two tells news */
	assert_int_equal(barred(&c, PHX_LEDGER_FREE, a, 1, 1), 0);
	assert_int_equal(cluster_counts(&c, a).coming, 1);
	assert_int_equal(barred(&c, PHX_LEDGER_FREE, a, 0, 0), 0);
	assert_int_equal(cluster_counts(&c, a).coming, 2);
	cluster_fini(&c);
}

/* Two of the batch RE's nodes can serve the web, one of them busy; the others are never asked
 * for. */
static void only_what_can_go_is_reclaimed(void **state)
{
	struct cluster c;
	(void)state;
	cluster_init(&c, 6);
	struct phx_agreement ab = agreement("b", PHX_RE_BATCH, PHX_POLICY_fb, 5);
	struct phx_agreement aw = agreement("w", PHX_RE_WEB, PHX_POLICY_fb, 1);
	int b = cluster_activate(&c, &ab), w = cluster_activate(&c, &aw);
	cluster_submit(&c, b, 1, 2);
	cluster_pass(&c);
	c.by_hand = true;
	cluster_clear(&c);
	assert_int_equal(barred(&c, b, w, 3, 2), 0);
	cluster_demand(&c, w, 6);
	assert_int_equal(cluster_counts(&c, w).coming, 1);
	assert_int_equal(cluster_counts(&c, b).owed, 1);
	/* the one that moves, and the job that is killed for the other */
	assert_int_equal(c.out.n, 2);
	assert_int_equal(cluster_counts(&c, b).idle, 2);
	/* it does not go after all: it is the batch RE's again, and one job less has to end for the
	 * next */
	assert_int_equal(barred(&c, b, w, 5, 3), 0);
	assert_int_equal(phx_ledger_refused(c.l, b, w, 1, 0, &c.out), 0);
	cluster_check(&c);
	assert_int_equal(cluster_counts(&c, b).idle, 3);
	assert_int_equal(cluster_counts(&c, w).coming, 0);
	cluster_fini(&c);
}

/* Where the agreement says so no job is queued again, whatever the job says. */
static void an_agreement_without_requeue_holds_for_all_jobs(void **state)
{
	struct cluster c;
	(void)state;
	cluster_init(&c, 4);
	struct phx_agreement ab = agreement("b", PHX_RE_BATCH, PHX_POLICY_fb, 3);
	struct phx_agreement aw = agreement("w", PHX_RE_WEB, PHX_POLICY_fb, 1);
	ab.no_requeue = true;
	int b = cluster_activate(&c, &ab), w = cluster_activate(&c, &aw);
	cluster_submit(&c, b, 1, 3);
	cluster_pass(&c);
	assert_int_equal(cluster_counts(&c, b).busy, 3);
	cluster_demand(&c, w, 2);
	assert_int_equal(cluster_held(&c, w), 2);
	assert_int_equal(cluster_counts(&c, b).busy, 0);
	assert_int_equal(cluster_counts(&c, b).batch.n_waiting, 0);
	cluster_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fb_kills_the_smallest_latest),
		cmocka_unit_test(an_arrival_begins_a_window),
		cmocka_unit_test(a_web_service_begins_as_agreed),
		cmocka_unit_test(partners_find_each_other),
		cmocka_unit_test(a_partner_that_does_not_fit_is_refused),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(a_damaged_snapshot_is_refused),
		cmocka_unit_test(peaks_last),
		cmocka_unit_test(a_number_is_used_again),
		cmocka_unit_test(who_cannot_have_free_nodes_leaves_them_to_others),
		cmocka_unit_test(only_what_can_go_is_reclaimed),
		cmocka_unit_test(the_last_free_node_serves_somebody),
		cmocka_unit_test(an_agreement_without_requeue_holds_for_all_jobs),
		cmocka_unit_test(a_reclaim_is_fast),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
