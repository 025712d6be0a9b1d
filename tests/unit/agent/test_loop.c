/* The loop of the agent: timers and descriptors that change while it sleeps, work that blocks, and
 * whoever waits for news. */
#include "unit/agent/scratch.h"

#include <stdatomic.h>
#include <sys/eventfd.h>

struct world {
	struct loop *loop;
	sd_event_source *timer, *fd;
	int64_t fired_ms; /* held */
	uint32_t n_fired, n_read;
	atomic_int n_worked;
	bool busy;
	int event_fd;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	w->loop = loop_started();
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	loop_free(w->loop);
	free(w);
	return 0;
}

static void on_time(void *arg)
{
	struct world *w = arg;
	w->fired_ms = phx_clock_ms();
	w->n_fired++;
	loop_news(w->loop);
}

static void await_fired(struct world *w, uint32_t n)
{
	int64_t end_ms = phx_clock_ms() + 10000;
	while (w->n_fired < n && phx_clock_ms() < end_ms)
		loop_wait(w->loop, end_ms);
	assert_int_equal(w->n_fired, n);
}

/* The loop sleeps without end when the timer is made, and until later when it is set to sooner. */
static void test_timer(void **state)
{
	struct world *w = *state;
	phx_sleep_ms(50);
	loop_hold(w->loop);
	int64_t began_ms = phx_clock_ms();
	assert_int_equal(loop_timer(w->loop, on_time, w, &w->timer), 0);
	loop_arm(w->loop, w->timer, began_ms + 60000);
	loop_release(w->loop);
	phx_sleep_ms(50);
	loop_hold(w->loop);
	assert_int_equal(w->n_fired, 0);
	loop_arm(w->loop, w->timer, began_ms + 150);
	await_fired(w, 1);
	assert_in_range(w->fired_ms - began_ms, 150, 5000);
	assert_false(loop_wait(w->loop, phx_clock_ms() + 100)); /* once */
	loop_arm(w->loop, w->timer, 0);
	await_fired(w, 2);
	loop_arm(w->loop, w->timer, phx_clock_ms() + 50);
	loop_arm(w->loop, w->timer, INT64_MAX);
	assert_false(loop_wait(w->loop, phx_clock_ms() + 150));
	loop_forget(w->loop, &w->timer);
	assert_null(w->timer);
	loop_release(w->loop);
}

static void on_fd(void *arg)
{
	struct world *w = arg;
	uint64_t count;
	assert_int_equal(read(w->event_fd, &count, sizeof(count)), sizeof(count));
	w->n_read += (uint32_t)count;
	loop_news(w->loop);
}

static void test_descriptor(void **state)
{
	struct world *w = *state;
	int fd = w->event_fd = eventfd(0, EFD_CLOEXEC);
	uint64_t three = 3;
	loop_hold(w->loop);
	assert_int_equal(loop_watch(w->loop, fd, on_fd, w, &w->fd), 0);
	assert_int_equal(write(fd, &three, sizeof(three)), sizeof(three));
	assert_true(loop_wait(w->loop, phx_clock_ms() + 10000));
	assert_int_equal(w->n_read, 3);
	assert_int_equal(write(fd, &three, sizeof(three)), sizeof(three));
	assert_false(loop_wait(w->loop, phx_clock_ms() + 50)); /* once */
	loop_watch_again(w->loop, w->fd);
	assert_true(loop_wait(w->loop, phx_clock_ms() + 10000));
	assert_int_equal(w->n_read, 6);
	loop_forget(w->loop, &w->fd);
	assert_int_equal(write(fd, &three, sizeof(three)), sizeof(three));
	assert_false(loop_wait(w->loop, phx_clock_ms() + 50));
	loop_release(w->loop);
	close(fd);
}

/* All wait until all work: no work waits for another to end. */
static void work_beside_others(void *arg)
{
	struct world *w = arg;
	atomic_fetch_add(&w->n_worked, 1);
	loop_hold(w->loop);
	loop_news(w->loop);
	while (atomic_load(&w->n_worked) % 20)
		loop_wait(w->loop, INT64_MAX);
	loop_release(w->loop);
}

static void test_work(void **state)
{
	struct world *w = *state;
	for (int round = 1; round <= 2; round++) {
		for (int i = 0; i < 20; i++)
			assert_int_equal(loop_work(w->loop, work_beside_others, w), 0);
		WAIT_FOR(atomic_load(&w->n_worked) == round * 20);
	}
}

static void work_alone(void *arg)
{
	struct world *w = arg;
	loop_take(w->loop, &w->busy);
	uint32_t n = ++w->n_read; /* not held: it is its own */
	phx_sleep_ms(1);
	assert_int_equal(w->n_read, n);
	loop_give(w->loop, &w->busy);
	atomic_fetch_add(&w->n_worked, 1);
}

static void test_one_at_a_time(void **state)
{
	struct world *w = *state;
	for (int i = 0; i < 20; i++)
		assert_int_equal(loop_work(w->loop, work_alone, w), 0);
	WAIT_FOR(atomic_load(&w->n_worked) == 20);
	assert_int_equal(w->n_read, 20);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {TEST(test_timer), TEST(test_descriptor), TEST(test_work),
					   TEST(test_one_at_a_time)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
