/* What is kept of the starts of nodes: which start a row belongs to, in what bounds it stays, what
 * a damaged file does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "starts/starts.h"

static char dir[64], path[96];
static struct phx_starts *starts;
static struct phx_err err;
static int64_t now_us = INT64_C(1790000000000000);

static void reopen(uint64_t bytes)
{
	phx_starts_close(PHX_TAKE(starts));
	phx_err_clear(&err);
	assert_int_equal(phx_starts_open(path, bytes, &starts, &err), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-starts.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/starts.db", dir);
	reopen(64 << 20);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_starts_close(PHX_TAKE(starts));
	return phx_dir_remove(dir, NULL);
}

static void put(const char *node, enum phx_start_kind kind, bool proven, const char *text)
{
	struct phx_start_row row = {.kind = (int)kind, .proven = proven, .at_us = now_us++};
	PHX_STR_SET(row.node, node);
	PHX_STR_SET(row.text, text);
	assert_int_equal(phx_starts_put(starts, &row, 1, &err), 0);
}

static void see(const char *node, enum phx_start_kind kind)
{
	put(node, kind, true, "");
}

/* ---- reading ---- */

struct heard {
	uint32_t n, start;
	char first[PHX_START_TEXT_MAX], last[PHX_START_TEXT_MAX];
	int kinds[16];
	int64_t before_us;
};

static int hear(void *arg, const struct phx_start_row *row)
{
	struct heard *h = arg;
	assert_true(row->at_us >= h->before_us);
	h->before_us = row->at_us;
	if (h->n < 16)
		h->kinds[h->n] = row->kind;
	if (!h->n)
		PHX_STR_SET(h->first, row->text);
	PHX_STR_SET(h->last, row->text);
	h->start = row->start;
	h->n++;
	return 0;
}

static int read_start(const char *node, uint32_t start, struct heard *ret)
{
	struct phx_starts_reader *r = NULL;
	*ret = (struct heard){0};
	int e = phx_starts_reader_open(path, &r, &err);
	e = e ? e : phx_starts_rows(r, node, start, hear, ret, &err);
	phx_starts_reader_close(r);
	return e;
}

static uint32_t count_starts(const char *node)
{
	struct phx_starts_reader *r = NULL;
	struct phx_list list = {0};
	assert_int_equal(phx_starts_reader_open(path, &r, &err), 0);
	assert_int_equal(phx_starts_list(r, node, 10000, &list, &err), 0);
	uint32_t n = list.n;
	for (uint32_t i = 1; i < n; i++)
		assert_true(PHX_LIST_AT(&list, struct phx_starts_one, i - 1)->start >
			    PHX_LIST_AT(&list, struct phx_starts_one, i)->start);
	phx_list_fini(&list);
	phx_starts_reader_close(r);
	return n;
}

/* ---- cases ---- */

static void a_start_is_whole_and_the_next_is_another(void **state)
{
	struct heard h;
	(void)state;
	see("n1", PHX_START_power_asked);
	see("n1", PHX_START_pxe_asked);
	see("n1", PHX_START_dhcp_acked);
	/* firmware tries again: the same start */
	see("n1", PHX_START_pxe_asked);
	see("n1", PHX_START_script_asked);
	see("n1", PHX_START_files_whole);
	see("n1", PHX_START_dhcp_asked); /* the kernel's own */
	assert_int_equal(count_starts("n1"), 1);
	see("n1", PHX_START_hello);
	see("n1", PHX_START_pxe_asked);
	assert_int_equal(count_starts("n1"), 2);
	assert_int_equal(read_start("n1", 1, &h), 0);
	assert_int_equal(h.n, 8);
	assert_int_equal(h.kinds[7], PHX_START_hello);
	assert_int_equal(read_start("n1", 0, &h), 0);
	assert_int_equal(h.n, 1);
	assert_int_equal(h.start, 2);
	assert_int_equal(read_start("n1", 3, &h), -ENOENT);
	assert_int_equal(read_start("n2", 0, &h), -ENOENT);
}

static void a_claim_begins_and_ends_no_start(void **state)
{
	struct heard h;
	(void)state;
	see("n1", PHX_START_pxe_asked);
	put("n1", PHX_START_files_whole, false, "forged");
	see("n1", PHX_START_pxe_asked);
	assert_int_equal(count_starts("n1"), 1);
	see("n1", PHX_START_files_whole);
	put("n1", PHX_START_pxe_asked, false, "forged");
	assert_int_equal(count_starts("n1"), 1);
	assert_int_equal(read_start("n1", 0, &h), 0);
	assert_int_equal(h.n, 5);
}

static void texts_of_strangers_are_cut_and_cleaned(void **state)
{
	char flood[PHX_START_TEXT_MAX];
	struct heard h;
	(void)state;
	memset(flood, 'x', sizeof(flood));
	memcpy(flood, "a\033[2Jb\nc\377d\xe2\x80\xae", 14);
	memcpy(flood + sizeof(flood) - 3, "\xc3\xa9", 2);
	flood[sizeof(flood) - 1] = '\0';
	put("n1", PHX_START_console, false, flood);
	assert_int_equal(read_start("n1", 0, &h), 0);
	assert_memory_equal(h.last, "a [2Jb c?d ", 11);
	for (const char *p = h.last; *p; p++)
		assert_true((unsigned char)*p >= ' ');
}

static void a_machine_gets_its_name(void **state)
{
	struct heard h;
	(void)state;
	see("n1", PHX_START_pxe_asked);
	see("n1", PHX_START_files_whole);
	see("52:54:00:00:00:01", PHX_START_pxe_asked);
	see("52:54:00:00:00:01", PHX_START_files_whole);
	assert_int_equal(phx_starts_name(starts, "52:54:00:00:00:01", "n1", &err), 0);
	see("n1", PHX_START_enrol_asked);
	assert_int_equal(count_starts("n1"), 2);
	assert_int_equal(count_starts("52:54:00:00:00:01"), 0);
	assert_int_equal(read_start("n1", 0, &h), 0);
	assert_int_equal(h.n, 3);
	assert_int_equal(h.start, 2);
}

static void strangers_drive_out_no_node(void **state)
{
	struct heard h;
	char mac[PHX_MAC_MAX];
	(void)state;
	see("n1", PHX_START_pxe_asked);
	for (int i = 0; i < PHX_STARTS_STRANGERS_MAX + 300; i++) {
		snprintf(mac, sizeof(mac), "52:54:00:00:%02x:%02x", i >> 8, i & 255);
		see(mac, PHX_START_pxe_asked);
	}
	assert_int_equal(count_starts("n1"), 1);
	assert_int_equal(read_start("52:54:00:00:00:00", 0, &h), -ENOENT);
	assert_int_equal(read_start("52:54:00:00:01:2b", 0, &h), -ENOENT);
	assert_int_equal(read_start("52:54:00:00:01:2c", 0, &h), 0);
	assert_int_equal(read_start(mac, 0, &h), 0);
}

static void a_flood_keeps_both_ends(void **state)
{
	char text[32];
	struct heard h;
	(void)state;
	assert_int_equal(PHX_STARTS_ROWS_MAX, 4096);
	struct phx_start_row *rows = calloc(6000, sizeof(*rows));
	for (int i = 0; i < 6000; i++) {
		rows[i] =
			(struct phx_start_row){.node = "n1", .kind = PHX_START_console, .at_us = i};
		snprintf(text, sizeof(text), "%d", i);
		PHX_STR_SET(rows[i].text, text);
	}
	assert_int_equal(phx_starts_put(starts, rows, 6000, &err), 0);
	free(rows);
	assert_int_equal(read_start("n1", 0, &h), 0);
	assert_int_equal(h.n, PHX_STARTS_ROWS_MAX);
	assert_string_equal(h.first, "0");
	assert_string_equal(h.last, "5999");
}

static int64_t size_of(const char *of)
{
	struct stat st;
	return stat(of, &st) < 0 ? -1 : st.st_size;
}

static void it_stays_within_its_bytes(void **state)
{
	char node[16], text[PHX_START_TEXT_MAX];
	struct heard h;
	(void)state;
	reopen(1 << 20);
	memset(text, 't', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 8000; i++) {
		snprintf(node, sizeof(node), "n%d", i / 8);
		put(node, PHX_START_log, true, text);
	}
	assert_true(size_of(path) > 512 << 10);
	assert_true(size_of(path) <= 1 << 20);
	assert_int_equal(read_start("n0", 0, &h), -ENOENT);
	assert_int_equal(read_start("n999", 0, &h), 0);
	assert_int_equal(h.n, 8);
	assert_int_equal(read_start("n900", 0, &h), 0);
}

static void a_damaged_file_says_so(void **state)
{
	struct phx_starts *other = NULL;
	(void)state;
	phx_starts_close(PHX_TAKE(starts));
	assert_int_equal(phx_file_write(path, "no database, but long enough to be looked at", 44,
					0640, NULL),
			 0);
	assert_int_equal(phx_starts_open(path, 1 << 20, &other, &err), -EBADMSG);
	assert_null(other);
	assert_non_null(strstr(err.text, path));
}

static void a_newer_file_says_so(void **state)
{
	struct phx_starts *other = NULL;
	sqlite3 *db = NULL;
	(void)state;
	phx_starts_close(PHX_TAKE(starts));
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=9", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(phx_starts_open(path, 1 << 20, &other, &err), -EPROTONOSUPPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_start_is_whole_and_the_next_is_another, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_claim_begins_and_ends_no_start, setup, teardown),
		cmocka_unit_test_setup_teardown(texts_of_strangers_are_cut_and_cleaned, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_machine_gets_its_name, setup, teardown),
		cmocka_unit_test_setup_teardown(strangers_drive_out_no_node, setup, teardown),
		cmocka_unit_test_setup_teardown(a_flood_keeps_both_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(it_stays_within_its_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_damaged_file_says_so, setup, teardown),
		cmocka_unit_test_setup_teardown(a_newer_file_says_so, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
