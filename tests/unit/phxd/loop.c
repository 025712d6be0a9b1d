/* The loop of phxd (cmd/phxd/loop.c): it turns when the nearest of its parts wants, ends by a
 * signal or by an error of the engine, and tells the launcher what it does. The parts are fakes;
 * systemd's event loop, the signals and the watchdog's time are real. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "phxd/loop.c" /* a part of a program, not of the library */

enum part { ENGINE, LIVE, DIRECTORS, SLURM, REFUSED, KEYS, PORTIONS, HANDS, CONSOLES, PARTS };

struct wake {
	int fd;
};

static struct wake wake;
static int wants_ms[PARTS], turns_of[PARTS], asked_ms, turns, signal_next, reloads, catalogue;
static bool stays;
static char said[100];

/* ---- fakes ---- */

static int tick(enum part p)
{
	turns_of[p]++;
	return wants_ms[p];
}

int engine_tick(struct engine *e, int max_ms)
{
	(void)e;
	assert_int_equal(max_ms, MAX_WAIT_MS);
	return tick(ENGINE);
}

int live_tick(struct live *l, int64_t due_ms)
{
	(void)l;
	assert_int_equal(due_ms, 77);
	return tick(LIVE);
}

int directors_tick(struct directors *b)
{
	(void)b;
	return tick(DIRECTORS);
}

int slurm_tick(struct slurm *s)
{
	(void)s;
	return tick(SLURM);
}

int refused_tick(struct refused *f)
{
	(void)f;
	return tick(REFUSED);
}

int keys_tick(struct keys *k)
{
	(void)k;
	return tick(KEYS);
}

int site_portions_tick(struct site_portions *p)
{
	(void)p;
	return tick(PORTIONS);
}

int hands_tick(struct hands *h)
{
	(void)h;
	return tick(HANDS);
}

int consoles_tick(struct consoles *c)
{
	(void)c;
	return tick(CONSOLES);
}

void watches_tick(struct watches *w)
{
	(void)w;
	turns++;
}

int wake_fd(const struct wake *w)
{
	return w->fd;
}

int64_t wake_begin(struct wake *w)
{
	uint64_t n;
	assert_int_equal(read(w->fd, &n, sizeof(n)), sizeof(n));
	return 77;
}

/* The first request is the loop's own, before its first turn; what a turn asks for is not waited
 * for: the next thing is the signal. */
void wake_in(struct wake *w, int ms)
{
	if (!turns && !turns_of[ENGINE]) {
		assert_int_equal(ms, 0);
		assert_int_equal(eventfd_write(w->fd, 1), 0);
		return;
	}
	asked_ms = ms;
	if (!stays)
		raise(signal_next);
}

void launch_say(struct launch *l, enum launch_saying what)
{
	static const char letters[] = {[LAUNCH_READY] = 'r',
				       [LAUNCH_RELOADING] = 'l',
				       [LAUNCH_STOPPING] = 's',
				       [LAUNCH_ALIVE] = 'a'};
	size_t n = strlen(said);
	(void)l;
	assert_true(n + 1 < sizeof(said));
	said[n] = letters[what];
	said[n + 1] = '\0';
	if (what == LAUNCH_ALIVE && n >= 4)
		raise(SIGTERM);
	if (what == LAUNCH_READY && reloads)
		raise(SIGTERM);
}

void outlets_reload(struct outlets *o)
{
	(void)o;
	reloads++;
}

int catalog_load(struct daemon *d, const char *by, json_t *errors, json_t *warnings,
		 struct phx_err *err)
{
	(void)d, (void)errors, (void)warnings;
	assert_string_equal(by, "phxd");
	return catalogue < 0 ? phx_err_set(err, catalogue, "role x: line 3") : 0;
}

/* ---- the tests ---- */

static struct daemon d = {.wake = &wake};

static int setup(void **state)
{
	sigset_t set;
	(void)state;
	for (int p = 0; p < PARTS; p++)
		wants_ms[p] = 1000, turns_of[p] = 0;
	asked_ms = turns = reloads = catalogue = 0;
	signal_next = SIGTERM;
	stays = false;
	said[0] = '\0';
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL); /* as prepare_process() does */
	wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return wake.fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	return close(wake.fd);
}

/* Whichever part wants the next turn first, it gets it; each part has had its turn. */
static void the_nearest_is_waited_for(void **state)
{
	for (int p = 0; p < PARTS; p++) {
		teardown(state);
		assert_int_equal(setup(state), 0);
		wants_ms[p] = 10 + p;
		assert_int_equal(loop_serve(&d), 0);
		assert_int_equal(asked_ms, 10 + p);
		for (int other = 0; other < PARTS; other++)
			assert_int_equal(turns_of[other], 1);
		assert_int_equal(turns, 1);
	}
}

static void signals_end_it_well(void **state)
{
	(void)state;
	assert_int_equal(loop_serve(&d), 0);
	assert_string_equal(said, "rs");
	teardown(state);
	assert_int_equal(setup(state), 0);
	signal_next = SIGINT;
	assert_int_equal(loop_serve(&d), 0);
	assert_string_equal(said, "rs");
}

/* A journal that cannot be written is the end: nothing else has its turn, and the error is told. */
static void an_error_of_the_engine_ends_it(void **state)
{
	(void)state;
	wants_ms[ENGINE] = -EIO;
	assert_int_equal(loop_serve(&d), -EIO);
	assert_string_equal(said, "rs");
	assert_int_equal(turns_of[LIVE], 0);
	assert_int_equal(turns, 0);
}

static void sighup_reads_anew(void **state)
{
	(void)state;
	signal_next = SIGHUP;
	assert_int_equal(loop_serve(&d), 0);
	assert_int_equal(reloads, 1);
	assert_string_equal(said, "rlrs");
}

/* It serves on with the catalogue that it has. */
static void a_catalogue_with_mistakes_does_not_end_it(void **state)
{
	(void)state;
	signal_next = SIGHUP;
	catalogue = -EINVAL;
	assert_int_equal(loop_serve(&d), 0);
	assert_string_equal(said, "rlrs");
}

/* At once, and twice in each period: WatchdogSec= is 40 ms here. WATCHDOG_PID is the launcher's. */
static void the_watchdog_hears(void **state)
{
	struct timespec a, b;
	(void)state;
	stays = true;
	setenv("WATCHDOG_USEC", "40000", 1);
	alarm(20); /* a head that falls silent is not waited for */
	clock_gettime(CLOCK_MONOTONIC, &a);
	assert_int_equal(loop_serve(&d), 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	alarm(0);
	assert_string_equal(said, "raaaas");
	int64_t us = (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000;
	assert_true(us >= 3 * 20000);
}

static void without_a_watchdog_nothing_is_said(void **state)
{
	(void)state;
	assert_int_equal(loop_serve(&d), 0);
	assert_null(strchr(said, 'a'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_nearest_is_waited_for, setup, teardown),
		cmocka_unit_test_setup_teardown(signals_end_it_well, setup, teardown),
		cmocka_unit_test_setup_teardown(an_error_of_the_engine_ends_it, setup, teardown),
		cmocka_unit_test_setup_teardown(sighup_reads_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(a_catalogue_with_mistakes_does_not_end_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_watchdog_hears, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_watchdog_nothing_is_said, setup,
						teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
