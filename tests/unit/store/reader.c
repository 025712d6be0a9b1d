/* Reading the journal beside its writer: what was committed is seen, at any time, and neither waits
 * for the other. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "fake/append_one.h"
#include "store/store.h"

static char dir[64], path[96];
static struct phx_store *store;

static void append(uint64_t seq, const char *node)
{
	struct phx_err err = {0};
	if (append_one(store, seq, (int64_t)seq * 1000, "kind", node, "{\"a\":1}", "[]", NULL,
		       &err) < 0)
		fail_msg("%s", err.text);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-test-reader-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	assert_int_equal(phx_store_open(path, &store, NULL), 0);
	for (uint64_t seq = 1; seq <= 9; seq++)
		append(seq, seq % 2 ? "odd" : "even");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_store_close(store);
	store = NULL;
	phx_dir_remove(dir, NULL);
	return 0;
}

static int note(void *arg, const struct phx_store_event *ev)
{
	snprintf((char *)arg + strlen(arg), 100 - strlen(arg), "%llu ",
		 (unsigned long long)ev->seq);
	assert_string_equal(ev->event, "{\"a\":1}");
	assert_string_equal(ev->actions, "[]");
	return strlen(arg) > 80 ? 7 : 0;
}

static void reads(struct phx_store_reader *r, uint64_t after, uint32_t limit, const char *node,
		  const char *want)
{
	char text[100] = "";
	struct phx_err err = {0};
	assert_int_equal(phx_store_reader_events(r, after, limit, node, note, text, &err), 0);
	assert_string_equal(text, want);
}

static void test_events(void **state)
{
	(void)state;
	struct phx_store_reader *r = NULL;
	struct phx_err err = {0};
	assert_int_equal(phx_store_reader_open(path, &r, &err), 0);
	reads(r, 0, 0, NULL, "1 2 3 4 5 6 7 8 9 ");
	reads(r, 4, 3, NULL, "5 6 7 ");
	reads(r, 0, 0, "even", "2 4 6 8 ");
	reads(r, 3, 2, "odd", "5 7 ");
	reads(r, 0, 0, "nobody", "");
	reads(r, UINT64_MAX, 0, NULL, "");
	reads(r, 0, 2, NULL, "1 2 ");
	append(10, "even"); /* seen by who was there before */
	reads(r, 8, 0, NULL, "9 10 ");
	reads(r, 8, 0, "even", "10 ");
	phx_store_reader_close(r);
}

/* In the middle of a walk the writer goes on; the walk ends with what was there when it began. */
static int append_once(void *arg, const struct phx_store_event *ev)
{
	uint64_t *n = arg;
	if (++*n == 3)
		append(10, "even");
	return ev->seq > 9;
}

static void test_the_writer_does_not_wait(void **state)
{
	(void)state;
	struct phx_store_reader *r = NULL;
	uint64_t n = 0;
	assert_int_equal(phx_store_reader_open(path, &r, NULL), 0);
	assert_int_equal(phx_store_reader_events(r, 0, 0, NULL, append_once, &n, NULL), 0);
	assert_int_equal(n, 9);
	assert_int_equal(phx_store_last(store), 10);
	reads(r, 9, 0, NULL, "10 ");
	phx_store_reader_close(r);
}

static int stop(void *arg, const struct phx_store_event *ev)
{
	(void)arg, (void)ev;
	return -ECANCELED;
}

static void test_a_walk_ends_when_it_is_told_to(void **state)
{
	(void)state;
	struct phx_store_reader *r = NULL;
	assert_int_equal(phx_store_reader_open(path, &r, NULL), 0);
	assert_int_equal(phx_store_reader_events(r, 0, 0, NULL, stop, NULL, NULL), -ECANCELED);
	reads(r, 7, 0, NULL, "8 9 ");
	phx_store_reader_close(r);
}

static void test_no_journal(void **state)
{
	(void)state;
	struct phx_store_reader *r = NULL;
	struct phx_err err = {0};
	char other[128];
	snprintf(other, sizeof(other), "%s/none.db", dir);
	assert_int_equal(phx_store_reader_open(other, &r, &err), -ENOENT);
	assert_non_null(strstr(err.text, "none.db"));
	assert_int_equal(
		phx_file_write(
			other,
			"this is no database at all, but it is long enough to be read as one", 67,
			0600, NULL),
		0);
	assert_int_equal(phx_store_reader_open(other, &r, &err), -EBADMSG);
	assert_null(r);
	phx_store_reader_close(NULL);
}

/* Damage is not the end of the events. */
static void test_damage_is_told(void **state)
{
	(void)state;
	struct phx_store_reader *r = NULL;
	struct phx_err err = {0};
	char text[100] = "";
	PHX_AUTO_FREE char *data = NULL;
	size_t n;
	for (uint64_t seq = 10; seq <= 300; seq++)
		append(seq, "even");
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(phx_file_read(path, 1 << 22, &data, &n, NULL), 0);
	assert_true(n > 6 * 4096);
	memset(data + 4096, 0xa5, n - 4096); /* all but the first page */
	assert_int_equal(phx_file_write(path, data, n, 0600, NULL), 0);
	assert_int_equal(phx_store_reader_open(path, &r, &err), 0);
	assert_int_equal(phx_store_reader_events(r, 0, 0, NULL, note, text, &err), -EBADMSG);
	assert_true(err.text[0]);
	phx_store_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_writer_does_not_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_walk_ends_when_it_is_told_to, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_no_journal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage_is_told, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
