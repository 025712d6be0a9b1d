/* Liveness of nodes and long polls of agents (cmd/phxd/live.c): a poll is answered once, by the
 * orders of its node or when its time is up; silence is told once, and only that of the node
 * itself. Requests, the engine and the clock are fakes. */
#include "fake/request.h"
#include "fake/engine.h"

#include <stdlib.h>

#include "base/clock.h"

static int64_t clock_ms;

static int64_t fake_clock_ms(void)
{
	return clock_ms;
}

#define phx_clock_ms fake_clock_ms
#include "phxd/live.c" /* parts of a program, not of the library */
#include "phxd/live_told.c"
#undef phx_clock_ms
#include "phxd/beat.c"
#include "phxd/tell.c"

enum { QUIET_MS = 4000, MISSING_MS = 10000, WAIT_MS = 20000, N_REQUESTS = 6 };

static struct daemon d;
static struct live *l;
static struct phx_state s;
static struct phx_http_request q[N_REQUESTS];
static int64_t woken_ms;     /* when the loop was asked to turn; INT64_MAX: it was not */
static unsigned n_turns;     /* of the loop */
static const char *order;    /* that each node has; NULL: none */
static struct phx_buf asked; /* for whose orders */
static struct phx_buf told;  /* events that reached the core */
static int submit_result;    /* of each event */

static int max(int a, int b)
{
	return a > b ? a : b;
}

/* As wake.c. */
void wake_in(struct wake *w, int ms)
{
	(void)w;
	if (ms != WAKE_NEVER && clock_ms + max(ms, 1) < woken_ms)
		woken_ms = clock_ms + max(ms, 1);
}

void engine_submit_each(struct engine *e, struct phx_event *ev, struct phx_each *each, uint32_t n)
{
	(void)e;
	assert_false(fake_engine_held);
	for (uint32_t i = 0; i < n; i++) {
		each[i].result = submit_result;
		phx_buf_addf(&told, "%s %s;", phx_enum_name(&phx_event_kind_names, ev->kind),
			     each[i].node);
	}
}

static void fake_orders(struct daemon *of, const char *node, const char *key_fp,
			const struct phx_list *running, struct phx_buf *b)
{
	assert_ptr_equal(of, &d);
	fake_engine_is_free();
	assert_int_equal(pthread_mutex_trylock(&l->lock), 0);
	pthread_mutex_unlock(&l->lock);
	phx_buf_addf(&asked, "%s %s %u;", node, key_fp, running->n);
	if (order)
		phx_buf_addf(b, "%s", order);
}

static void add_node(const char *name, bool up)
{
	struct phx_node *n = phx_list_push(&s.nodes, sizeof(*n));
	assert_non_null(n);
	PHX_STR_SET(n->name, name);
	n->up = up;
}

static int setup(void **state)
{
	(void)state;
	clock_ms = 1000000;
	woken_ms = INT64_MAX;
	n_turns = 0;
	order = NULL;
	submit_result = 0;
	fake_state = &s;
	fake_requests_begin();
	for (int i = 0; i < N_REQUESTS; i++)
		snprintf(q[i].peer.cert.fingerprint, sizeof(q[i].peer.cert.fingerprint), "k%d", i);
	d = (struct daemon){.cfg = {.heartbeat_ms = 2000,
				    .missing_after_ms = MISSING_MS,
				    .balance_after_ms = 2 * QUIET_MS}};
	return live_new(&d, fake_orders, &l);
}

static int teardown(void **state)
{
	(void)state;
	live_stop(l);
	live_free(l);
	for (int i = 0; i < N_REQUESTS; i++)
		fake_request_fini(&q[i]);
	phx_list_fini(&s.nodes);
	s = (struct phx_state){0};
	phx_buf_fini(&asked);
	phx_buf_fini(&told);
	asked = told = (struct phx_buf){0};
	return 0;
}

/* The loop turns whenever something is due, for so long. */
static void pass(int64_t ms)
{
	for (int64_t end_ms = clock_ms + ms;;) {
		int64_t due_ms = woken_ms;
		woken_ms = INT64_MAX;
		wake_in(NULL, live_tick(l, due_ms));
		n_turns++;
		fake_engine_is_free();
		if (woken_ms > end_ms) {
			clock_ms = end_ms;
			return;
		}
		clock_ms = woken_ms > clock_ms ? woken_ms : clock_ms;
	}
}

static struct live_news beats(const char *node)
{
	struct beat b = {.use_ppm = -1};
	struct live_news news = live_beat(l, node, &b);
	beat_fini(&b);
	return news;
}

static void hold_for(const char *node, int i, int64_t wait_ms)
{
	struct phx_list running = {0};
	assert_non_null(phx_list_push(&running, sizeof(struct beat_running)));
	live_hold(l, node, &q[i], &running, false, wait_ms);
	assert_int_equal(running.n, 0); /* taken */
}

static void took(struct phx_buf *b, const char *want, int line)
{
	if (strcmp(b->n ? b->data : "", want))
		fail_msg("line %d: '%s', not '%s'", line, b->n ? b->data : "", want);
	phx_buf_fini(b);
	*b = (struct phx_buf){0};
}

#define assert_took(b, want) took(b, want, __LINE__)

static void assert_is_held(int i)
{
	assert_true(q[i].held);
	assert_int_equal(q[i].code, 0);
}

static void assert_answer(int i, const char *orders)
{
	char want[100];
	snprintf(want, sizeof(want), "{\"orders\":[%s]}", orders);
	assert_int_equal(q[i].code, 200);
	assert_string_equal(q[i].text, want);
}

/* ---- polls ---- */

static void a_poll_is_held_until_there_is_an_order(void **state)
{
	(void)state;
	beats("n1");
	hold_for("n1", 1, WAIT_MS);
	assert_is_held(1);
	live_wake(l, "n2");
	assert_is_held(1);
	order = "7";
	live_wake(l, "n1");
	assert_answer(1, "7");
	assert_took(&asked, "n1 k1 1;"); /* for the key of that very poll, and what it runs */
	live_wake(l, "n1");              /* is not answered again */
}

static void a_poll_is_answered_when_its_time_is_up(void **state)
{
	(void)state;
	beats("n1");
	hold_for("n1", 0, 2000);
	q[1].thread = 3;
	beats("n2");
	hold_for("n2", 1, 2000);
	pass(1990);
	assert_is_held(0);
	assert_is_held(1);
	pass(10 + PHX_WHEEL_SLOT_MS * (PHX_WHEEL_PHASES + 1));
	assert_answer(0, "");
	assert_answer(1, "");
	assert_took(&asked, "");
}

static void who_does_not_wait_is_answered_at_once(void **state)
{
	struct phx_list running = {0};
	(void)state;
	hold_for("n1", 0, 0);
	assert_answer(0, "");
	assert_false(q[0].held);
	order = "8";
	live_hold(l, "n1", &q[1], &running, true, WAIT_MS);
	assert_answer(1, "8");
	assert_false(q[1].held);
}

/* An agent that lost its connection asks again; what it asked before is over. */
static void a_node_has_one_poll(void **state)
{
	(void)state;
	hold_for("n2", 3, WAIT_MS);
	for (int i = 0; i < 3; i++)
		hold_for("n1", i, WAIT_MS);
	assert_int_equal(q[0].code, 200); /* at once: the node is new, and its orders unknown */
	assert_answer(1, "");
	assert_is_held(2);
	order = "9";
	live_wake(l, "n1");
	assert_answer(2, "9");
}

/* An order that comes between the look and the hold would else wait for the poll's end. */
static void no_order_is_missed_between_beat_and_hold(void **state)
{
	(void)state;
	assert_true(beats("n1").look);
	assert_false(beats("n1").look);
	live_wake(l, "n1");
	order = "7";
	hold_for("n1", 0, WAIT_MS);
	assert_answer(0, "7");
}

/* The answer may have been lost on the way. */
static void orders_are_looked_at_now_and_then(void **state)
{
	(void)state;
	beats("n1");
	clock_ms += LOOK_AGAIN_MS;
	assert_false(beats("n1").look);
	clock_ms++;
	assert_true(beats("n1").look);
	assert_false(beats("n1").look);
	live_wake(l, "n1");
	assert_true(beats("n1").look);
}

static void at_the_end_all_are_answered_and_nobody_is_held(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		char node[8];
		snprintf(node, sizeof(node), "n%d", i);
		beats(node);
		hold_for(node, i, WAIT_MS);
		assert_is_held(i);
	}
	live_stop(l);
	for (int i = 0; i < 3; i++)
		assert_answer(i, "");
	live_stop(l);
	hold_for("n1", 3, WAIT_MS);
	assert_answer(3, "");
}

/* ---- nodes that are gone ---- */

static void a_removed_node_is_forgotten_with_its_poll(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		char node[8];
		snprintf(node, sizeof(node), "n%d", i);
		beats(node);
		hold_for(node, i, WAIT_MS);
	}
	add_node("n1", true);
	live_forget_gone(l, "n1"); /* it is there */
	assert_is_held(1);
	live_forget_gone(l, "n0");
	live_forget_gone(l, "n0");
	assert_answer(0, "");
	order = "5";
	live_wake(l, "n2"); /* its place is another's now */
	live_wake(l, "n1");
	assert_answer(2, "5");
	assert_answer(1, "5");
	pass(3 * MISSING_MS);
	assert_took(&told, "quiet n1;quiet n2;missing n1;missing n2;");
}

/* A beat that is under way when its node is removed makes a contact of nobody. */
static void nobody_is_told_of_without_end(void **state)
{
	(void)state;
	beats("gone");
	hold_for("gone", 0, WAIT_MS);
	submit_result = -ENOENT;
	pass(QUIET_MS + 1000);
	assert_took(&told, "quiet gone;");
	assert_answer(0, "");
	pass(10 * MISSING_MS);
	assert_took(&told, "");
	assert_int_equal(live_tick(l, clock_ms), WAKE_NEVER);
}

/* ---- silence ---- */

static void silence_is_told_once(void **state)
{
	(void)state;
	add_node("n1", true);
	beats("n1");
	pass(QUIET_MS);
	assert_took(&told, "");
	pass(100);
	assert_took(&told, "quiet n1;");
	pass(MISSING_MS - QUIET_MS - 100);
	assert_took(&told, "");
	pass(100);
	assert_took(&told, "missing n1;");
	pass(10 * MISSING_MS);
	assert_took(&told, "");
	assert_true(beats("n1").back);
	assert_false(beats("n1").back);
	pass(QUIET_MS + 100);
	assert_took(&told, "quiet n1;");
	assert_true(live_heard(l, "n1")); /* a quiet one is back, too */
	assert_false(live_heard(l, "n1"));
}

/* A node that died with the former head never says anything to this one. */
static void who_never_beat_is_silent_from_the_start(void **state)
{
	(void)state;
	add_node("up", true);
	add_node("down", false);
	pass(MISSING_MS + 200);
	assert_took(&told, "quiet up;missing up;");
}

/* The loop wanted to look when the node had been silent for long enough to be quiet, and turned
 * much later: whether the node spoke meanwhile nobody knows. */
static void the_heads_own_delay_is_no_silence(void **state)
{
	(void)state;
	add_node("n1", true);
	beats("n1");
	pass(QUIET_MS);
	clock_ms += 10 * MISSING_MS;
	pass(0);
	assert_took(&told, "quiet n1;");
	pass(MISSING_MS - QUIET_MS - 200);
	assert_took(&told, "");
	pass(400);
	assert_took(&told, "missing n1;");
}

static void those_who_are_back_are_told_together(void **state)
{
	(void)state;
	live_back(l, "n1");
	live_back(l, "n2");
	assert_in_range(woken_ms - clock_ms, 1, BACK_MS);
	pass(BACK_MS);
	assert_took(&told, "back n1;back n2;");
	pass(BACK_MS);
	assert_took(&told, "");
}

/* The disk of the journal is full, say: it is told again, but the head does not try without a
 * pause. */
static void what_could_not_be_told_is_told_again(void **state)
{
	(void)state;
	add_node("n1", true);
	beats("n1");
	submit_result = -ENOSPC;
	pass(QUIET_MS + 100);
	assert_took(&told, "quiet n1;");
	n_turns = 0;
	pass(1000);
	assert_in_range(n_turns, 1, 4);
	pass(MISSING_MS);
	submit_result = 0;
	phx_buf_fini(&told);
	told = (struct phx_buf){0};
	pass(MISSING_MS);
	assert_took(&told, "missing n1;");
}

/* Its next beat is told in full: the core may believe it down. */
static void an_untold_return_is_told_by_the_next_beat(void **state)
{
	(void)state;
	add_node("n1", true);
	beats("n1");
	live_back(l, "n1");
	submit_result = -EIO;
	pass(100);
	assert_true(beats("n1").back);
	assert_false(beats("n1").back);
}

/* ---- what nodes say ---- */

static bool reports(const char *node, const char *role)
{
	struct beat b = {.use_ppm = -1};
	PHX_STR_SET(b.report.actual_role, role);
	bool news = live_beat(l, node, &b).report;
	beat_fini(&b);
	return news;
}

static void a_report_is_told_when_it_changes(void **state)
{
	(void)state;
	assert_true(reports("n1", "web"));
	assert_false(reports("n1", "web"));
	assert_true(reports("n1", "hpc"));
	assert_true(reports("n2", "hpc"));
	live_untold(l, "n1");
	assert_true(reports("n1", "hpc"));
}

/* A node gone mad fills no disk of the head; others are not the worse for it. */
static void a_node_may_have_so_much_journalled(void **state)
{
	(void)state;
	assert_true(live_may_tell(l, "n1", TELL_BYTES_MAX));
	assert_false(live_may_tell(l, "n1", 1));
	assert_true(live_may_tell(l, "n2", 1));
	assert_false(reports("n1", "web"));
	clock_ms += REPORT_BYTES;
	assert_true(reports("n1", "web")); /* it was not forgotten */
	assert_false(live_may_tell(l, "n1", 1));
	clock_ms += TELL_BYTES_MAX;
	assert_false(live_may_tell(l, "n1", TELL_BYTES_MAX + 1));
	assert_true(live_may_tell(l, "n1", TELL_BYTES_MAX));
}

static struct live_news measures(const char *text)
{
	struct beat b = {0};
	struct phx_err err = {0};
	if (beat_parse(text, &b, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	struct live_news news = live_beat(l, "n1", &b);
	beat_fini(&b);
	return news;
}

static void what_it_measured_last_counts(void **state)
{
	char why[BEAT_ERROR_MAX];
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	(void)state;
	assert_null(live_monitor(l, "n1"));
	assert_int_equal(live_use(l, "n1", why), -1);
	assert_int_equal(live_site(l, "n1", why), LIVE_SITE_UNHEARD);
	measures("{\"monitor\":{\"load\":1}}");
	assert_int_equal(live_site(l, "n1", why), LIVE_SITE_NONE);
	measures("{\"monitor\":{\"load\":2}}");
	PHX_AUTO_JSON json_t *j = live_monitor(l, "n1");
	assert_int_equal(phx_json_int(j, "load", 0), 2);
	measures("{}");
	live_put_monitor(l, "n1", &b);
	assert_string_equal(b.data, "null");
}

static void how_it_stands_with_the_site_is_news_once(void **state)
{
	char why[BEAT_ERROR_MAX];
	(void)state;
	assert_true(measures("{\"running\":[[\"site\",12]]}").site);
	assert_false(measures("{\"running\":[[\"site\",12]]}").site);
	assert_int_equal(live_site(l, "n1", why), 12);
	assert_string_equal(why, "");
	assert_true(
		measures("{\"running\":[[\"site\",12]],\"monitor\":{\"site_error\":\"no disk\"}}")
			.site);
	assert_false(
		measures("{\"running\":[[\"site\",12]],\"monitor\":{\"site_error\":\"no disk\"}}")
			.site);
	live_site(l, "n1", why);
	assert_string_equal(why, "no disk");
	assert_true(measures("{}").site);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_poll_is_held_until_there_is_an_order),
		T(a_poll_is_answered_when_its_time_is_up),
		T(who_does_not_wait_is_answered_at_once),
		T(a_node_has_one_poll),
		T(no_order_is_missed_between_beat_and_hold),
		T(orders_are_looked_at_now_and_then),
		T(at_the_end_all_are_answered_and_nobody_is_held),
		T(a_removed_node_is_forgotten_with_its_poll),
		T(nobody_is_told_of_without_end),
		T(silence_is_told_once),
		T(who_never_beat_is_silent_from_the_start),
		T(the_heads_own_delay_is_no_silence),
		T(those_who_are_back_are_told_together),
		T(what_could_not_be_told_is_told_again),
		T(an_untold_return_is_told_by_the_next_beat),
		T(a_report_is_told_when_it_changes),
		T(a_node_may_have_so_much_journalled),
		T(what_it_measured_last_counts),
		T(how_it_stands_with_the_site_is_news_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
