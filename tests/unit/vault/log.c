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
static uint32_t keep;
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
	keep = 0;
	return 0;
}

static void again(void)
{
	if (l.fd >= 0)
		close(l.fd);
	free(PHX_TAKE(complaint));
	phx_err_clear(&err);
	assert_int_equal(vault_log_open(&l, dir, keep, &complaint, &err), 0);
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

/* Paths of all files, the present one behind the others. */
static size_t files(char ret[16][160], const char *paths[16])
{
	PHX_AUTO(phx_list_fini) struct phx_list turned = {0};
	size_t n = 0;
	assert_int_equal(phx_vault_log_turned(dir, &turned, &err), 0);
	assert_true(turned.n < 16);
	PHX_LIST_EACH(struct phx_vault_file, f, &turned)
		snprintf(ret[n++], 160, "%.150s", f->path);
	snprintf(ret[n++], 160, "%s", path);
	for (size_t i = 0; i < n; i++)
		paths[i] = ret[i];
	return n;
}

/* As an anchor has it of now. */
static struct phx_anchor anchored(void)
{
	struct phx_anchor a = {.log_lines = l.n_lines};
	PHX_STR_SET(a.log_hash, l.hash);
	return a;
}

static int audit(const struct phx_anchor *anchors, uint32_t n, struct phx_vault_audit *ret)
{
	char names[16][160];
	const char *paths[16];
	const struct phx_list list = {.items = (void *)anchors, .n = n};
	size_t n_files = files(names, paths);
	/* as a shell names them */
	const char *last = paths[n_files - 1];
	memmove(paths + 1, paths, (n_files - 1) * sizeof(*paths));
	paths[0] = last;
	phx_vault_log_sort(paths, n_files);
	assert_string_equal(paths[n_files - 1], path);
	phx_err_clear(&err);
	return phx_vault_log_audit(paths, n_files, &list, ret, &err);
}

static void long_ones_are_turned_and_none_is_lost(void **state)
{
	struct phx_vault_audit found;
	char names[16][160];
	const char *paths[16];
	(void)state;
	l.fd = -1;
	again();
	l.max_bytes = 150;
	add(0, LINES);
	size_t n = files(names, paths);
	assert_in_range(n, 4, 8);
	/* what is called as a temporary is none of them, and the vault starts */
	PHX_AUTO_FREE char *left = phx_path("%s/vault.log.1.4194303.tmp", dir);
	assert_int_equal(phx_file_write(left, "half", 4, 0600, NULL), 0);
	again();
	assert_int_equal(files(names, paths), n);
	assert_int_equal(unlink(left), 0);
	assert_null(complaint);
	const struct phx_anchor a = anchored();
	assert_int_equal(audit(&a, 1, &found), 0);
	assert_int_equal(found.first, 1);
	assert_int_equal(found.last, l.n_lines);
	assert_int_equal(found.proven, l.n_lines);
	assert_int_equal(found.last, LINES + n - 1);
	/* one between two others is gone */
	assert_int_equal(unlink(paths[1]), 0);
	assert_int_equal(audit(NULL, 0, &found), 1);
	/* and the one before the present file */
	assert_int_equal(unlink(paths[n - 2]), 0);
	again();
	assert_non_null(complaint);
}

static void the_oldest_go_where_that_is_wanted(void **state)
{
	struct phx_vault_audit found;
	struct phx_anchor of[2];
	(void)state;
	l.fd = -1;
	keep = 2;
	again();
	add(0, 1);
	of[0] = anchored();
	l.max_bytes = 150;
	add(1, 3 * LINES);
	of[1] = anchored();
	again();
	assert_null(complaint);
	PHX_AUTO(phx_list_fini) struct phx_list turned = {0};
	assert_int_equal(phx_vault_log_turned(dir, &turned, &err), 0);
	assert_int_equal(turned.n, 2);
	size_t n;
	PHX_AUTO_FREE char *t = text(&n);
	assert_non_null(strstr(t, " drop vault.log."));
	assert_non_null(strstr(t, " turned "));
	assert_int_equal(audit(of, 2, &found), 0);
	assert_true(found.first > 1);
	assert_int_equal(found.n_before, 1);
	assert_int_equal(found.n_proofs, 1);
	assert_int_equal(found.proven, of[1].log_lines);
	/* one more is taken away, as if it had been dropped */
	assert_int_equal(unlink(PHX_LIST_AT(&turned, struct phx_vault_file, 0)->path), 0);
	assert_int_equal(audit(NULL, 0, &found), 0); /* nobody knows how many there were */
	assert_int_equal(audit(of, 2, &found), 2);
	assert_non_null(strstr(found.text, "its beginning is gone"));
	assert_int_equal(audit(of + 1, 1, &found), 2);
	/* and said to be, behind what an anchor knows */
	const char *of_it = strrchr(PHX_LIST_AT(&turned, struct phx_vault_file, 0)->path, '/') + 1;
	l.max_bytes = 1 << 20;
	assert_int_equal(vault_log_add(&l, &err, "drop %s: vault_log_keep is 1", of_it), 0);
	assert_int_equal(audit(of + 1, 1, &found), 2);
	assert_non_null(strstr(found.text, "its beginning is gone"));
	of[0] = anchored(); /* the vault itself would have had it covered */
	assert_int_equal(audit(of, 2, &found), 0);
}

/* Who takes the first lines away writes one that says how many there were: the truth, or a lie. */
static void a_beginning_that_is_cut_is_found(void **state)
{
	static const struct {
		int says;
		const char *why;
	} rows[] = {{3, "its beginning is gone: lines 1 to 3"}, {2, "is number 6 of the log, and"}};
	struct phx_vault_audit found;
	(void)state;
	l.fd = -1;
	again();
	add(0, 6);
	const struct phx_anchor a = anchored();
	size_t n;
	PHX_AUTO_FREE char *t = text(&n);
	const char *fourth = t;
	for (int i = 0; i < 3; i++)
		fourth = strchr(fourth, '\n') + 1;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char forged[2048];
		int length = snprintf(forged, sizeof(forged), "%.64s 1000 turned %d lines\n%s",
				      fourth, rows[i].says, strchr(fourth, '\n') + 1);
		put(forged, (size_t)length);
		assert_int_equal(audit(NULL, 0, &found), 0);
		assert_int_equal(found.first, rows[i].says + 1);
		assert_int_equal(audit(&a, 1, &found), 2);
		if (!strstr(found.text, rows[i].why))
			fail_msg("%s", found.text);
	}
}

/* The chain alone does not tell it. */
static void an_end_that_is_cut_is_found_by_an_anchor(void **state)
{
	struct phx_vault_audit found;
	struct phx_anchor of[2];
	size_t n;
	(void)state;
	l.fd = -1;
	again();
	add(0, 3);
	of[0] = anchored();
	add(3, 3);
	of[1] = anchored();
	add(6, 1);
	assert_int_equal(audit(of, 2, &found), 0);
	assert_int_equal(found.n_proofs, 2);
	assert_int_equal(found.proven, 6);
	PHX_AUTO_FREE char *t = text(&n);
	char *sixth = t;
	for (int i = 0; i < 5; i++)
		sixth = strchr(sixth, '\n') + 1;
	put(t, (size_t)(sixth - t));
	again();
	assert_null(complaint);
	assert_int_equal(audit(NULL, 0, &found), 0);
	assert_int_equal(audit(of, 1, &found), 0);
	assert_int_equal(audit(of, 2, &found), 2);
	assert_non_null(strstr(found.text, "had 6 lines"));
	assert_non_null(strstr(found.text, "its end was cut"));
	/* and made as long again by others */
	add(7, 4);
	assert_int_equal(audit(of, 2, &found), 2);
	assert_non_null(strstr(found.text, "written anew"));
	assert_int_equal(audit(of + 1, 1, &found), 2);
}

/* The power was cut between the rename of a full file and the first line of the next one. */
static void one_that_was_just_turned_says_so_later(void **state)
{
	struct phx_vault_audit found;
	(void)state;
	l.fd = -1;
	again();
	for (int i = 0; i < 12; i++) {
		char old[160];
		add(LINES * i, LINES);
		snprintf(old, sizeof(old), "%s.2026112%dT000000Z-%u", path, i % 10,
			 (unsigned)l.n_lines);
		assert_int_equal(rename(path, old), 0);
		again();
		assert_null(complaint);
	}
	add(0, 1);
	again();
	assert_null(complaint);
	const struct phx_anchor a = anchored();
	assert_int_equal(audit(&a, 1, &found), 0);
	assert_int_equal(found.first, 1);
	assert_int_equal(found.last, 12 * LINES + 12 + 1);
	assert_int_equal(found.proven, found.last);
}

/* Of before files had a date and said how many lines were before them. */
static void one_that_was_turned_before_is_read(void **state)
{
	struct phx_vault_audit found;
	char old[112];
	size_t n;
	(void)state;
	l.fd = -1;
	again();
	add(0, LINES);
	PHX_AUTO_FREE char *t = text(&n);
	size_t first = strcspn(t, "\n") + 1, second = first + strcspn(t + first, "\n") + 1;
	snprintf(old, sizeof(old), "%s.1", path);
	/* the first file of all is gone already */
	assert_int_equal(phx_file_write(old, t + first, second - first, 0600, &err), 0);
	put(t + second, n - second);
	again();
	assert_null(complaint);
	assert_int_equal(l.n_lines, LINES - 1);
	const struct phx_anchor a = anchored();
	assert_int_equal(audit(&a, 1, &found), 0);
	assert_int_equal(found.n_proofs, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_follow_each_other_over_restarts, setup,
						teardown),
		cmocka_unit_test_setup_teardown(every_byte_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(a_line_taken_out_is_missed, setup, teardown),
		cmocka_unit_test_setup_teardown(half_a_line_is_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(long_ones_are_turned_and_none_is_lost, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_oldest_go_where_that_is_wanted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_beginning_that_is_cut_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(an_end_that_is_cut_is_found_by_an_anchor, setup,
						teardown),
		cmocka_unit_test_setup_teardown(one_that_was_just_turned_says_so_later, setup,
						teardown),
		cmocka_unit_test_setup_teardown(one_that_was_turned_before_is_read, setup,
						teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
