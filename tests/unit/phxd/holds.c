/* Requests that are held until a state is reached (cmd/phxd/holds.c): each is answered once,
 * when it is time, and nobody who has lost the right meanwhile gets what he asked for. Requests,
 * rights and the state are fakes; the thread is the real one. */
#include "fake/request.h"
#include "fake/engine.h"

#include <unistd.h>

#include "phxd/hang_ups.c" /* parts of a program, not of the library */
#include "phxd/holds.c"

enum { LONG_MS = HOLD_MAX_S * 1000 };

static struct daemon d;
static _Atomic int scope;                   /* that of whoever asks */
static enum { NEVER, LOOKED, SHOWN } taken; /* when the right is taken: between look and answer */

enum phx_scope person_scope(struct daemon *of, const struct phx_http_peer *peer,
			    enum phx_right right)
{
	(void)of;
	(void)peer;
	fake_engine_is_free();
	assert_int_equal(right, PHX_RIGHT_job_see);
	return (enum phx_scope)scope;
}

bool person_require(struct daemon *of, struct phx_http_request *q, enum phx_right right)
{
	(void)of;
	(void)right;
	if (scope == PHX_SCOPE_NONE)
		phx_http_reply_error(q, -EPERM, "not permitted any more");
	return scope != PHX_SCOPE_NONE;
}

void reads_breathe(int64_t since_us)
{
	(void)since_us;
}

static void take_at(int now)
{
	if ((int)taken != now)
		return;
	taken = NEVER;
	scope = PHX_SCOPE_NONE;
	d.rights++;
}

/* A request waits for the number in its path: that of the state is the last event's. */
static bool is_reached(const struct phx_state *s, const struct phx_http_request *q)
{
	take_at(LOOKED);
	return s->seq >= strtoull(phx_http_param(q, 0), NULL, 10);
}

static json_t *show_it(struct phx_http_request *q, struct daemon *of)
{
	fake_engine_is_free();
	assert_ptr_equal(of, &d);
	take_at(SHOWN);
	if (strcmp(phx_http_param(q, 0), "gone") != 0)
		return json_pack("{s:i}", "scope", scope);
	phx_http_reply_error(q, -ENOENT, "there is none");
	return NULL;
}

static const struct holds_wish wish = {is_reached, show_it, PHX_RIGHT_job_see};
static struct phx_state s;

static int setup(void **state)
{
	(void)state;
	s = (struct phx_state){.seq = 5};
	fake_state = &s;
	scope = PHX_SCOPE_ALL;
	taken = NEVER;
	d = (struct daemon){.cfg.polls_per_user = 1};
	fake_requests_begin();
	return holds_new(&d, &d.holds);
}

static int teardown(void **state)
{
	(void)state;
	holds_free(d.holds);
	return 0;
}

static void hold(struct phx_http_request *q, const char *seq, int64_t wait_ms)
{
	*q = (struct phx_http_request){.params = {seq}};
	holds_take(d.holds, q, &wish, d.rights, wait_ms);
}

/* All that wait have been looked at since: one that waits for nothing was answered. */
static void all_are_looked_at(void)
{
	FAKE_REQUEST q;
	hold(&q, "0", LONG_MS);
	fake_await();
	assert_int_equal(q.code, 200);
}

static void comes_to(uint64_t seq)
{
	engine_lock(NULL);
	s.seq = seq;
	engine_unlock(NULL);
	holds_wake(d.holds);
}

static void who_waits_is_answered_when_it_is_so(void **state)
{
	FAKE_REQUEST q;
	(void)state;
	hold(&q, "7", LONG_MS);
	assert_true(q.held);
	all_are_looked_at();
	assert_int_equal(q.code, 0);
	comes_to(6);
	all_are_looked_at();
	assert_int_equal(q.code, 0);
	comes_to(7);
	fake_await();
	assert_int_equal(q.code, 200);
}

static void each_waits_for_himself(void **state)
{
	struct phx_http_request q[3];
	(void)state;
	hold(&q[0], "9", LONG_MS);
	hold(&q[1], "7", LONG_MS);
	hold(&q[2], "8", LONG_MS);
	comes_to(8);
	fake_await();
	fake_await();
	assert_int_equal(q[0].code, 0);
	assert_int_equal(q[1].code, 200);
	assert_int_equal(q[2].code, 200);
	comes_to(9);
	fake_await();
	for (int i = 0; i < 3; i++)
		fake_request_fini(&q[i]);
}

/* The handler says how it stands. */
static void who_has_waited_long_enough_is_answered_as_it_is(void **state)
{
	FAKE_REQUEST q;
	(void)state;
	hold(&q, "9", 0);
	fake_await();
	assert_int_equal(q.code, 200);
}

static void who_hangs_up_waits_no_longer(void **state)
{
	int ends[2];
	FAKE_REQUEST q = {.params = {"9"}};
	(void)state;
	assert_int_equal(pipe(ends), 0);
	q.hang_up = ends[0];
	holds_take(d.holds, &q, &wish, d.rights, LONG_MS);
	all_are_looked_at();
	assert_int_equal(q.code, 0);
	close(ends[1]);
	fake_await();
	assert_int_equal(q.code, -EAGAIN); /* and nothing was made for nobody */
	assert_null(q.json);
	close(ends[0]);
}

/* ---- rights ---- */

static void becomes(enum phx_scope to)
{
	scope = (int)to;
	d.rights++;
	holds_wake(d.holds);
}

static void who_loses_the_right_is_refused_at_once(void **state)
{
	FAKE_REQUEST q;
	(void)state;
	hold(&q, "9", LONG_MS);
	all_are_looked_at();
	becomes(PHX_SCOPE_NONE);
	fake_await();
	assert_int_equal(q.code, -EPERM);
	assert_null(q.json);
}

/* By what remains of it: the handler looks again what is his. */
static void who_loses_a_part_of_it_is_answered_at_once(void **state)
{
	FAKE_REQUEST q;
	(void)state;
	hold(&q, "9", LONG_MS);
	all_are_looked_at();
	becomes(PHX_SCOPE_OWN);
	fake_await();
	assert_int_equal(q.code, 200);
}

static void who_keeps_the_right_or_gains_one_waits_on(void **state)
{
	FAKE_REQUEST q;
	(void)state;
	scope = PHX_SCOPE_OWN;
	hold(&q, "9", LONG_MS);
	becomes(PHX_SCOPE_OWN);
	all_are_looked_at();
	assert_int_equal(q.code, 0);
	becomes(PHX_SCOPE_ALL);
	all_are_looked_at();
	assert_int_equal(q.code, 0);
	comes_to(9);
	fake_await();
	assert_int_equal(q.code, 200);
}

/* It is taken when what he waits for was found to be so: he is told neither that nor how. */
static void who_loses_the_right_before_the_answer_is_refused(void **state)
{
	FAKE_REQUEST q;
	(void)state;
	taken = LOOKED;
	hold(&q, "0", LONG_MS);
	fake_await();
	assert_int_equal(q.code, -EPERM);
	assert_null(q.json);
}

static void who_loses_the_right_while_the_answer_is_made_is_refused(void **state)
{
	FAKE_REQUEST q;
	(void)state;
	taken = SHOWN;
	hold(&q, "0", LONG_MS);
	fake_await();
	assert_int_equal(q.code, -EPERM);
	assert_null(q.json);
}

/* Others lost one: what he is told was made after that, and he is told once. */
static void an_answer_is_made_again_when_rights_have_changed(void **state)
{
	FAKE_REQUEST q;
	(void)state;
	hold(&q, "7", LONG_MS);
	all_are_looked_at();
	scope = PHX_SCOPE_OWN;
	d.rights++;
	comes_to(7);
	fake_await();
	assert_int_equal(q.code, 200);
	assert_int_equal(phx_json_int(q.json, "scope", -1), PHX_SCOPE_OWN);
}

static void who_lost_a_right_before_he_was_held_does_not_wait(void **state)
{
	FAKE_REQUEST q = {.params = {"9"}};
	(void)state;
	unsigned before = d.rights++; /* he was looked at before that */
	scope = PHX_SCOPE_OWN;
	holds_take(d.holds, &q, &wish, before, LONG_MS);
	fake_await();
	assert_int_equal(q.code, 200);
}

static void what_there_is_not_any_more_is_not_shown(void **state)
{
	FAKE_REQUEST q;
	(void)state;
	hold(&q, "gone", LONG_MS);
	fake_await();
	assert_int_equal(q.code, -ENOENT);
}

/* ---- how many, and the end ---- */

static void who_waits_for_enough_already_is_not_held(void **state)
{
	FAKE_REQUEST q = {.params = {"9"}, .busy = true};
	(void)state;
	holds_take(d.holds, &q, &wish, d.rights, LONG_MS);
	fake_await();
	assert_int_equal(q.code, FAKE_LATER);
	assert_false(q.held);
}

static void at_the_end_all_are_answered_and_none_is_held(void **state)
{
	FAKE_REQUEST one, other, late;
	(void)state;
	hold(&one, "9", LONG_MS);
	all_are_looked_at();
	hold(&other, "10", LONG_MS);
	holds_stop(d.holds);
	assert_int_equal(one.code, 200);
	assert_int_equal(other.code, 200);
	hold(&late, "0", LONG_MS);
	assert_int_equal(late.code, -EAGAIN);
	holds_stop(d.holds); /* twice is once */
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_waits_is_answered_when_it_is_so),
		T(each_waits_for_himself),
		T(who_has_waited_long_enough_is_answered_as_it_is),
		T(who_hangs_up_waits_no_longer),
		T(who_loses_the_right_is_refused_at_once),
		T(who_loses_a_part_of_it_is_answered_at_once),
		T(who_keeps_the_right_or_gains_one_waits_on),
		T(who_loses_the_right_before_the_answer_is_refused),
		T(who_loses_the_right_while_the_answer_is_made_is_refused),
		T(an_answer_is_made_again_when_rights_have_changed),
		T(who_lost_a_right_before_he_was_held_does_not_wait),
		T(what_there_is_not_any_more_is_not_shown),
		T(who_waits_for_enough_already_is_not_held),
		T(at_the_end_all_are_answered_and_none_is_held),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
