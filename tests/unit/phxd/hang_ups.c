/* Waiting for news and for clients that hang up (cmd/phxd/hang_ups.c), with real sockets. */
#include "fake/request.h"

#include <sys/socket.h>

static int fake_ms; /* for which it waited last */

static int fake_poll(struct pollfd *fds, nfds_t n, int ms)
{
	fake_ms = ms;
	return poll(fds, n, ms);
}

#define poll fake_poll
#include "phxd/hang_ups.c" /* a part of a program, not of the library */
#undef poll

enum { CLIENTS = 40 };

static struct hang_ups h;
static struct phx_http_request clients[CLIENTS];
static int theirs[CLIENTS]; /* the clients' ends */

static int setup(void **state)
{
	(void)state;
	for (int i = 0; i < CLIENTS; i++) {
		int pair[2];
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			return -1;
		clients[i] = (struct phx_http_request){.hang_up = pair[0]};
		theirs[i] = pair[1];
	}
	return hang_ups_init(&h);
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < CLIENTS; i++) {
		close(clients[i].hang_up);
		close(theirs[i]);
	}
	hang_ups_fini(&h);
	return 0;
}

static void watch_all(void)
{
	hang_ups_clear(&h);
	for (int i = 0; i < CLIENTS; i++)
		hang_ups_add(&h, &clients[i]);
}

static void hangs_up(int i)
{
	close(theirs[i]);
	theirs[i] = -1;
}

/* A wait that ends by neither would end by the time, which is over. */
static void news_told_before_the_wait_are_not_lost(void **state)
{
	(void)state;
	hang_ups_tell(&h);
	hang_ups_tell(&h);
	hang_ups_wait(&h, INT64_MAX); /* returns */
	struct pollfd p = {.fd = h.news, .events = POLLIN};
	assert_int_equal(poll(&p, 1, 0), 0); /* and that was all of them */
}

static void who_hangs_up_is_known_by_his_place(void **state)
{
	(void)state;
	watch_all();
	hangs_up(0);
	hangs_up(17);
	hangs_up(CLIENTS - 1);
	hang_ups_wait(&h, INT64_MAX);
	for (uint32_t i = 0; i < CLIENTS; i++)
		assert_int_equal(hang_ups_has(&h, i), i == 0 || i == 17 || i == CLIENTS - 1);
	assert_false(hang_ups_has(&h, CLIENTS)); /* who was not added has not */
}

static void who_is_watched_no_more_wakes_nobody(void **state)
{
	(void)state;
	watch_all();
	hangs_up(3);
	hang_ups_clear(&h);
	hang_ups_add(&h, &clients[4]);
	hang_ups_tell(&h);
	hang_ups_wait(&h, INT64_MAX);
	assert_false(hang_ups_has(&h, 0));
	assert_false(hang_ups_has(&h, 3));
}

/* What a client sends more is none of our business; it stays. */
static void a_client_that_sends_more_has_not_hung_up(void **state)
{
	(void)state;
	watch_all();
	assert_int_equal(write(theirs[5], "x", 1), 1);
	hang_ups_wait(&h, 0);
	assert_false(hang_ups_has(&h, 5));
}

static void a_time_that_has_passed_is_not_waited_for(void **state)
{
	static const int64_t times[] = {INT64_MIN / 2, -1, 0, 1};
	(void)state;
	watch_all();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(times); i++)
		hang_ups_wait(&h, times[i]);
	assert_false(hang_ups_has(&h, 0));
}

/* More milliseconds than poll() takes are not some of them. */
static void a_time_far_away_waits_for_news(void **state)
{
	(void)state;
	hang_ups_tell(&h);
	hang_ups_wait(&h, phx_clock_ms() + (INT64_C(1) << 32) + 5000);
	assert_int_equal(fake_ms, INT_MAX);
	hang_ups_tell(&h);
	hang_ups_wait(&h, INT64_MAX);
	assert_int_equal(fake_ms, -1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(news_told_before_the_wait_are_not_lost),
		TEST(who_hangs_up_is_known_by_his_place),
		TEST(who_is_watched_no_more_wakes_nobody),
		TEST(a_client_that_sends_more_has_not_hung_up),
		TEST(a_time_that_has_passed_is_not_waited_for),
		TEST(a_time_far_away_waits_for_news),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
