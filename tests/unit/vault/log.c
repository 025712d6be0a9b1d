/* The vault's log: no line can be altered, taken out or put in; one that a power cut halved is no
 * loss of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "vault/internal.h"

enum { LINES = 6 };

static char dir[64], path[96];
static struct vault_log l;
static char *complaint;
static struct phx_err err;

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-vault-log.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/vault.log", dir);
	return 0;
}

static void again(void)
{
	if (l.fd >= 0)
		close(l.fd);
	free(PHX_TAKE(complaint));
	phx_err_clear(&err);
	assert_int_equal(vault_log_open(&l, dir, &complaint, &err), 0);
}

static int teardown(void **state)
{
	(void)state;
	close(l.fd);
	l.fd = -1;
	free(PHX_TAKE(complaint));
	return phx_dir_remove(dir, NULL);
}

static void add(int from, int n)
{
	for (int i = from; i < from + n; i++)
		assert_int_equal(vault_log_add(&l, &err, "key give n%d-k1", i), 0);
}

static char *text(size_t *ret_n)
{
	char *t;
	assert_int_equal(phx_file_read(path, 1 << 20, &t, ret_n, &err), 0);
	return t;
}

static void put(const char *data, size_t n)
{
	assert_int_equal(phx_file_write(path, data, n, 0600, &err), 0);
}

static void lines_follow_each_other_over_restarts(void **state)
{
	size_t n;
	(void)state;
	l.fd = -1;
	again();
	add(0, LINES / 2);
	again();
	assert_null(complaint);
	add(LINES / 2, LINES / 2);
	again();
	assert_null(complaint);
	PHX_AUTO_FREE char *t = text(&n);
	assert_non_null(strstr(t, " key give n0-k1\n"));
	assert_non_null(strstr(t, " key give n5-k1\n"));
}

/* But the end of the last line, which may be cut: that is no line. */
static void every_byte_counts(void **state)
{
	size_t n;
	(void)state;
	l.fd = -1;
	again();
	add(0, LINES);
	PHX_AUTO_FREE char *t = text(&n);
	for (size_t i = 0; i + 1 < n; i++) {
		char was = t[i];
		t[i] = was == 'x' ? 'y' : 'x';
		put(t, n);
		again();
		if (!complaint)
			fail_msg("byte %zu of %zu was altered, and nobody complains", i, n);
		t[i] = was;
	}
	put(t, n);
	again();
	assert_null(complaint);
}

static void a_line_taken_out_is_missed(void **state)
{
	size_t n;
	(void)state;
	l.fd = -1;
	again();
	add(0, LINES);
	PHX_AUTO_FREE char *t = text(&n);
	size_t first = strcspn(t, "\n") + 1, second = strcspn(t + first, "\n") + 1;
	put(t + first, n - first);
	again();
	assert_non_null(complaint);
	assert_non_null(strstr(complaint, "line 1 "));
	memmove(t + first, t + first + second, n - first - second);
	put(t, n - second);
	again();
	assert_non_null(complaint);
	assert_non_null(strstr(complaint, "line 2 "));
}

static void half_a_line_is_dropped(void **state)
{
	size_t n;
	(void)state;
	l.fd = -1;
	again();
	add(0, LINES);
	PHX_AUTO_FREE char *t = text(&n);
	put(t, n - 7);
	again();
	assert_null(complaint);
	add(LINES, 1);
	again();
	assert_null(complaint);
	PHX_AUTO_FREE char *now = text(&n);
	assert_null(strstr(now, "n5-k1"));
	assert_non_null(strstr(now, " key give n6-k1\n"));
}

static void a_long_one_is_turned_and_goes_on(void **state)
{
	char old[112];
	size_t n;
	(void)state;
	l.fd = -1;
	again();
	l.max_bytes = 300;
	add(0, LINES);
	again();
	assert_null(complaint);
	PHX_AUTO_FREE char *t = text(&n);
	assert_null(strstr(t, "n0-k1"));
	assert_non_null(strstr(t, "n5-k1"));
	snprintf(old, sizeof(old), "%s.1", path);
	assert_int_equal(unlink(old), 0);
	again();
	assert_non_null(complaint);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_follow_each_other_over_restarts, setup,
						teardown),
		cmocka_unit_test_setup_teardown(every_byte_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(a_line_taken_out_is_missed, setup, teardown),
		cmocka_unit_test_setup_teardown(half_a_line_is_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(a_long_one_is_turned_and_goes_on, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
