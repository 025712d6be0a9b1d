/* The script driver, 'none', and the queue: many BMCs, some slow, some dead.
 * The BMCs are a script of this test that keeps one file a node. */
#include <pthread.h>

#include "power/drivers.h"
#include "unit/power/help.h"

/* SCRIPT OP NODE. Nodes named slow*, dead*, busy*, deny*, odd* misbehave.
 * `inside-NODE` exists while a call runs: two at once are written to `overlap`. */
static const char SCRIPT[] =
	"#!/bin/sh\n"
	"cd \"${0%/*}\" || exit 1\n"
	"echo \"$1 $2\" >>log\n"
	"mkdir \"inside-$2\" 2>/dev/null || echo \"$2\" >>overlap\n"
	"code=0\n"
	"case $2 in\n"
	"slow*) sleep 1 ;;\n"
	"dead*) sleep 0.5; code=69 ;;\n"
	"deny*) echo 'not you' >&2; code=77 ;;\n"
	"busy*) [ -e \"state-$2\" ] || { echo off >\"state-$2\"; code=75; } ;;\n"
	"fail*) echo 'the relay is gone' >&2; code=3 ;;\n"
	"esac\n"
	"if [ $code = 0 ]; then\n"
	"	case $1 in\n"
	"	status) case $2 in odd*) echo maybe ;; *) cat \"state-$2\" 2>/dev/null || echo off "
	";; esac ;;\n"
	"	on|off) echo \"$1\" >\"state-$2\" ;;\n"
	"	boot-disk) code=64 ;;\n"
	"	boot-pxe) case $2 in plain*) code=64 ;; esac ;;\n"
	"	esac\n"
	"fi\n"
	"rmdir \"inside-$2\"\n"
	"exit $code\n";

static const char *script;

static int setup(void **state)
{
	(void)state;
	static char path[128];
	make_dir();
	PHX_STR_SET(path, put_file("bmc", 0700, SCRIPT));
	script = path;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	remove_dir();
	return 0;
}

static struct phx_bmc make_bmc(const char *node)
{
	struct phx_bmc bmc = {.driver = "script"};
	PHX_STR_SET(bmc.script, script);
	PHX_STR_SET(bmc.node, node);
	return bmc;
}

/* ---- the script driver ---- */

static void test_script_on_off(void **state)
{
	(void)state;
	struct phx_bmc bmc = make_bmc("node1");
	assert_int_equal(power(&bmc, PHX_POWER_STATUS, 2000, 0, NULL), PHX_POWER_IS_OFF);
	assert_int_equal(power(&bmc, PHX_POWER_ON, 5000, 0, NULL), PHX_POWER_IS_ON);
	assert_string_equal(get_file("state-node1"), "on\n");
	assert_int_equal(power(&bmc, PHX_POWER_CYCLE, 5000, 0, NULL), PHX_POWER_IS_ON);
	assert_int_equal(power(&bmc, PHX_POWER_OFF, 5000, 0, NULL), PHX_POWER_IS_OFF);
	/* asked, and not waited for */
	assert_int_equal(power(&bmc, PHX_POWER_ON, 5000, 0, NULL), PHX_POWER_IS_ON);
	assert_int_equal(power(&bmc, PHX_POWER_SOFT, 1000, 0, NULL), PHX_POWER_UNKNOWN);
	assert_string_equal(get_file("state-node1"), "on\n");
	assert_non_null(strstr(get_file("log"), "soft node1\n"));
	assert_int_equal(phx_power_can(&bmc, PHX_POWER_SOFT, NULL), 0);
	power(&bmc, PHX_POWER_RESET, 2000, 0, NULL);
	power(&bmc, PHX_POWER_BOOT_PXE, 2000, 0, NULL);
	assert_non_null(strstr(get_file("log"), "reset node1\nboot-pxe node1\n"));
}

static void test_script_errors(void **state)
{
	(void)state;
	static const struct {
		const char *node;
		enum phx_power_op op;
		int want;
		const char *say;
	} rows[] = {
		{"dead1", PHX_POWER_ON, -EHOSTUNREACH, "exit status 69"},
		{"deny1", PHX_POWER_ON, -EACCES, "not you"},
		{"fail1", PHX_POWER_ON, -EIO, "the relay is gone"},
		{"node2", PHX_POWER_BOOT_DISK, -EOPNOTSUPP, "exit status 64"},
		{"odd1", PHX_POWER_STATUS, -EIO, "'maybe' is no power state"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_bmc bmc = make_bmc(rows[i].node);
		power(&bmc, rows[i].op, 3000, rows[i].want, rows[i].say);
	}
}

/* The program runs with the rights of the head: who could change it would have them. */
static void test_script_of_others(void **state)
{
	(void)state;
	struct phx_bmc bmc = make_bmc("node1");
	assert_int_equal(chmod(script, 0775), 0);
	power(&bmc, PHX_POWER_STATUS, 3000, -EINVAL, "script: ");
	assert_int_equal(phx_power_ready(&bmc, NULL), -EINVAL);
	assert_int_equal(chmod(script, 0755), 0);
	assert_int_equal(phx_power_ready(&bmc, NULL), 0);
}

/* Off, then on, even where the boot device cannot be chosen. */
static void test_boot_without_boot_device(void **state)
{
	(void)state;
	struct phx_bmc bmc = make_bmc("plain1");
	assert_int_equal(power(&bmc, PHX_POWER_BOOT, 5000, 0, NULL), PHX_POWER_IS_ON);
	const char *log = get_file("log");
	assert_true(strstr(log, "off plain1") < strstr(log, "boot-pxe plain1"));
	assert_true(strstr(log, "boot-pxe plain1") < strstr(log, "on plain1\nstatus plain1"));
	power(&bmc, PHX_POWER_BOOT_PXE, 5000, -EOPNOTSUPP, "exit status 64");
}

/* Busy at first: the order is repeated until it is taken. */
static void test_busy_is_repeated(void **state)
{
	(void)state;
	struct phx_bmc bmc = make_bmc("busy1");
	assert_int_equal(power(&bmc, PHX_POWER_ON, 5000, 0, NULL), PHX_POWER_IS_ON);
}

static void test_script_hangs(void **state)
{
	(void)state;
	struct phx_bmc bmc = make_bmc("slow9");
	int64_t begin = clock_ms();
	power(&bmc, PHX_POWER_ON, 300, -EHOSTUNREACH, "timed out");
	assert_true(clock_ms() - begin < 9000);
}

static void test_bad_records(void **state)
{
	(void)state;
	struct phx_bmc bmc = make_bmc("node1");
	PHX_STR_SET(bmc.script, "bmc.sh");
	power(&bmc, PHX_POWER_ON, 1000, -EINVAL, "full path");
	PHX_STR_SET(bmc.script, "/nosuch/program");
	power(&bmc, PHX_POWER_ON, 1000, -EINVAL, "/nosuch/program");
	bmc = make_bmc("--help");
	power(&bmc, PHX_POWER_ON, 1000, -EINVAL, "node");
	PHX_STR_SET(bmc.driver, "drac");
	power(&bmc, PHX_POWER_ON, 1000, -EINVAL, "ipmi, redfish, wol, script, none");
	struct phx_bmc none = {.node = "node1"};
	power(&none, PHX_POWER_OFF, 1000, -EOPNOTSUPP, "has no BMC");
	PHX_STR_SET(none.driver, "none");
	power(&none, PHX_POWER_STATUS, 1000, -EOPNOTSUPP, "by hand");
}

/* The rows of drivers.h: phx_power_check() knows each, and what each is said to read are keys of a
 * BMC's record. */
static void test_driver_rows(void **state)
{
	(void)state;
#define ROW(name, keys) {#name, keys},
	static const struct {
		const char *name, *keys;
	} rows[] = {PHX_POWER_DRIVERS(ROW)};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_bmc bmc = {0};
		struct phx_err err = {0};
		PHX_STR_SET(bmc.driver, rows[i].name);
		(void)phx_power_check(&bmc, &err);
		assert_null(strstr(err.text, "is no power driver"));
		char keys[128];
		PHX_STR_SET(keys, strcmp(rows[i].keys, "nothing") ? rows[i].keys : "");
		char *save = NULL;
		for (char *key = strtok_r(keys, ", ", &save); key;
		     key = strtok_r(NULL, ", ", &save)) {
			bool found = false;
			for (size_t k = 0; k < phx_bmc_record.n_fields; k++)
				found = found || !strcmp(phx_bmc_record.fields[k].name, key);
			if (!found)
				fail_msg("driver %s reads '%s', and a BMC's record has no such key",
					 rows[i].name, key);
		}
	}
}

/* ---- the queue ---- */

enum { RESULTS_MAX = 64 };

/* What `done` was told, in order. */
struct results {
	pthread_mutex_t lock;
	int n;
	struct {
		uint64_t ticket;
		int result;
		enum phx_power_state state;
		char text[PHX_ERR_TEXT_MAX];
		int64_t at_ms;
	} rows[RESULTS_MAX];
};

static void note_result(void *arg, uint64_t ticket, int result, enum phx_power_state state,
			const char *text)
{
	struct results *r = arg;
	pthread_mutex_lock(&r->lock);
	assert_true(r->n < RESULTS_MAX);
	r->rows[r->n].ticket = ticket;
	r->rows[r->n].result = result;
	r->rows[r->n].state = state;
	r->rows[r->n].at_ms = clock_ms();
	PHX_STR_SET(r->rows[r->n].text, text);
	r->n++;
	pthread_mutex_unlock(&r->lock);
}

static int count_results(struct results *r)
{
	pthread_mutex_lock(&r->lock);
	int n = r->n;
	pthread_mutex_unlock(&r->lock);
	return n;
}

static void await_results(struct results *r, int n)
{
	int64_t end = clock_ms() + 20000;
	while (count_results(r) < n) {
		assert_true(clock_ms() < end);
		sleep_ms(10);
	}
}

static int find_result(struct results *r, uint64_t ticket)
{
	for (int i = 0; i < r->n; i++)
		if (r->rows[i].ticket == ticket)
			return i;
	fail_msg("no result of ticket %llu", (unsigned long long)ticket);
	return -1;
}

static int run_here(void *arg, const struct phx_bmc *bmc, enum phx_power_op op, uint32_t timeout_ms,
		    enum phx_power_state *ret_state, struct phx_err *err)
{
	(void)arg;
	return phx_power_do(bmc, op, timeout_ms, ret_state, err);
}

static struct phx_power_queue *make_queue(unsigned threads, struct results *r)
{
	struct phx_power_queue *q = NULL;
	*r = (struct results){.lock = PTHREAD_MUTEX_INITIALIZER};
	assert_int_equal(phx_power_queue_new(threads, run_here, note_result, r, &q, NULL), 0);
	return q;
}

static void add(struct phx_power_queue *q, const char *node, enum phx_power_op op, uint64_t ticket)
{
	struct phx_bmc bmc = make_bmc(node);
	struct phx_err err = {0};
	if (phx_power_queue_add(q, &bmc, op, 5000, ticket, &err) < 0)
		fail_msg("%s", err.text);
}

static void test_queue_results(void **state)
{
	(void)state;
	struct results r;
	struct phx_power_queue *q = make_queue(4, &r);
	add(q, "q1", PHX_POWER_ON, 1);
	add(q, "q2", PHX_POWER_OFF, 2);
	add(q, "deny2", PHX_POWER_ON, 3);
	await_results(&r, 3);
	phx_power_queue_free(q);
	int one = find_result(&r, 1), two = find_result(&r, 2), three = find_result(&r, 3);
	assert_int_equal(r.rows[one].result, 0);
	assert_int_equal(r.rows[one].state, PHX_POWER_IS_ON);
	assert_string_equal(r.rows[one].text, "");
	assert_int_equal(r.rows[two].state, PHX_POWER_IS_OFF);
	assert_int_equal(r.rows[three].result, -EACCES);
	assert_non_null(strstr(r.rows[three].text, "deny2"));
}

static void test_same_ticket_once(void **state)
{
	(void)state;
	struct results r;
	struct phx_power_queue *q = make_queue(2, &r);
	struct phx_bmc bmc = make_bmc("slow1");
	add(q, "slow1", PHX_POWER_RESET, 7);
	/* waiting */
	assert_int_equal(phx_power_queue_add(q, &bmc, PHX_POWER_RESET, 5000, 7, NULL), -EALREADY);
	sleep_ms(300);
	/* running */
	assert_int_equal(phx_power_queue_add(q, &bmc, PHX_POWER_RESET, 5000, 7, NULL), -EALREADY);
	await_results(&r, 1);
	phx_power_queue_free(q);
	assert_int_equal(r.n, 1);
	assert_ptr_equal(strstr(strstr(get_file("log"), "reset slow1") + 1, "reset slow1"), NULL);
}

static void test_one_at_a_time_per_bmc(void **state)
{
	(void)state;
	struct results r;
	struct phx_power_queue *q = make_queue(8, &r);
	for (uint64_t t = 1; t <= 8; t++)
		add(q, "q3", t % 2 ? PHX_POWER_ON : PHX_POWER_RESET, t);
	await_results(&r, 8);
	phx_power_queue_free(q);
	assert_string_equal(get_file("overlap"), "");
	for (int i = 0; i < 8; i++)
		assert_int_equal(r.rows[i].ticket, i + 1); /* in the order added */
}

static void test_bounded_per_bmc(void **state)
{
	(void)state;
	struct results r;
	struct phx_power_queue *q = make_queue(1, &r);
	struct phx_bmc bmc = make_bmc("slow2");
	struct phx_err err = {0};
	int n = 0, code = 0;
	while (n < 32 &&
	       (code = phx_power_queue_add(q, &bmc, PHX_POWER_RESET, 5000, 100 + (uint64_t)n,
					   &err)) == 0)
		n++;
	assert_int_equal(code, -EBUSY);
	assert_in_range(n, 8, 9);
	assert_non_null(strstr(err.text, "this BMC"));
	add(q, "q4", PHX_POWER_ON, 1); /* another's is still taken */
	phx_power_queue_free(q);
	assert_true(r.n <= 2); /* waiting ones are dropped, the running one was waited for */
}

/* Once known as silent, a rack of dead BMCs holds half of the workers at most,
 * and the living do not wait for it. */
static void test_dead_do_not_delay_others(void **state)
{
	(void)state;
	struct results r;
	struct phx_power_queue *q = make_queue(4, &r);
	char name[32];
	for (uint64_t i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "dead%d", (int)i);
		add(q, name, PHX_POWER_RESET, i);
	}
	await_results(&r, 8); /* all known as silent now */
	for (uint64_t i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "dead%d", (int)i);
		add(q, name, PHX_POWER_RESET, 10 + i);
	}
	sleep_ms(100);
	int64_t begin = clock_ms();
	add(q, "q5", PHX_POWER_RESET, 20);
	add(q, "q6", PHX_POWER_RESET, 21);
	await_results(&r, 18);
	phx_power_queue_free(q);
	assert_true(r.rows[find_result(&r, 20)].at_ms - begin < 400);
	assert_true(r.rows[find_result(&r, 21)].at_ms - begin < 400);
	assert_int_equal(r.rows[find_result(&r, 17)].result, -EHOSTUNREACH);
	/* 8 dead, 2 at a time, 0.5 s each */
	assert_true(r.rows[find_result(&r, 17)].at_ms - begin >= 1300);
}

static void test_queue_of_bad_size(void **state)
{
	(void)state;
	struct phx_power_queue *q = NULL;
	struct phx_err err = {0};
	assert_int_equal(phx_power_queue_new(0, run_here, note_result, NULL, &q, &err), -EINVAL);
	assert_non_null(strstr(err.text, "threads"));
	assert_int_equal(phx_power_queue_new(100000, run_here, note_result, NULL, &q, NULL),
			 -EINVAL);
	assert_null(q);
	phx_power_queue_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_script_on_off),
		cmocka_unit_test(test_script_errors),
		cmocka_unit_test(test_script_of_others),
		cmocka_unit_test(test_boot_without_boot_device),
		cmocka_unit_test(test_busy_is_repeated),
		cmocka_unit_test(test_script_hangs),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_driver_rows),
		cmocka_unit_test(test_queue_results),
		cmocka_unit_test(test_same_ticket_once),
		cmocka_unit_test(test_one_at_a_time_per_bmc),
		cmocka_unit_test(test_bounded_per_bmc),
		cmocka_unit_test(test_dead_do_not_delay_others),
		cmocka_unit_test(test_queue_of_bad_size),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
