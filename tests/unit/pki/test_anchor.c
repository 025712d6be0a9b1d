/* Lines about a journal: what is signed is what is read, and nothing else; files of
 * them stay small, and one that was cut off loses a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "fake/key_signer.h"
#include "pki/anchor.h"
#include "pki/pki.h"

enum { KEEP = 10 };

static char dir[64], path[96], key[96], pub[96];
static struct phx_list lines;
static uint32_t n_bad;
static struct phx_err err;

static int setup(void **state)
{
	struct phx_pki *pki = NULL;
	(void)state;
	strcpy(dir, "/tmp/phx-anchor.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/anchors", dir);
	snprintf(key, sizeof(key), "%s/site.key", dir);
	snprintf(pub, sizeof(pub), "%s/site.pub", dir);
	phx_err_clear(&err);
	lines = (struct phx_list){0};
	int r = phx_pki_open(dir, NULL, 0, &pki, &err);
	phx_pki_free(pki);
	return r;
}

static int teardown(void **state)
{
	(void)state;
	phx_list_fini(&lines);
	return phx_dir_remove(dir, NULL);
}

static struct phx_anchor make(uint64_t seq)
{
	const struct phx_signer signer = {.sign = fake_key_sign, .arg = key};
	struct phx_anchor a = {.kind = PHX_ANCHOR_REACHED, .seq = seq, .time_ms = 1795000000000};
	memset(a.journal, 'a', PHX_ANCHOR_ID_MAX - 1);
	memset(a.hash, 'b', PHX_ANCHOR_HASH_MAX - 1);
	assert_int_equal(phx_anchor_sign(&a, &signer, &err), 0);
	return a;
}

static void append(uint64_t seq, uint32_t keep)
{
	char line[PHX_ANCHOR_LINE_MAX];
	struct phx_anchor a = make(seq);
	phx_anchor_format(&a, line);
	assert_int_equal(phx_anchor_append(path, line, keep, &err), 0);
}

static void read_all(uint32_t max)
{
	phx_list_fini(&lines);
	lines = (struct phx_list){0};
	assert_int_equal(phx_anchor_read(path, max, &lines, &n_bad, &err), 0);
}

static uint64_t seq_at(uint32_t i)
{
	return PHX_LIST_AT(&lines, struct phx_anchor, i)->seq;
}

static void a_line_says_what_was_signed(void **state)
{
	char line[PHX_ANCHOR_LINE_MAX], again[PHX_ANCHOR_LINE_MAX];
	struct phx_anchor a = make(1234567890123), b;
	(void)state;
	phx_anchor_format(&a, line);
	assert_int_equal(phx_anchor_parse(line, &b, &err), 0);
	phx_anchor_format(&b, again);
	assert_string_equal(line, again);
	assert_int_equal(b.seq, 1234567890123);
	assert_int_equal(b.time_ms, 1795000000000);
	assert_int_equal(phx_anchor_verify(&b, pub, &err), 0);
}

/* What signs adds how far its own log is. */
static int sign_with_end(void *arg, const char *text, char ret_end[PHX_ANCHOR_END_MAX],
			 char ret[PHX_ANCHOR_SIGNATURE_MAX], struct phx_err *of)
{
	char whole[PHX_ANCHOR_LINE_MAX], hash[PHX_ANCHOR_HASH_MAX] = "";
	memset(hash, 'c', PHX_ANCHOR_HASH_MAX - 1);
	phx_anchor_end(4711, hash, ret_end);
	snprintf(whole, sizeof(whole), "%s%s", text, ret_end);
	return fake_key_sign(arg, whole, ret, of);
}

static int sign_with_nothing(void *arg, const char *text, char ret_end[PHX_ANCHOR_END_MAX],
			     char ret[PHX_ANCHOR_SIGNATURE_MAX], struct phx_err *of)
{
	strcpy(ret_end, " vault many");
	return fake_key_sign(arg, text, ret, of);
}

static void a_line_says_how_far_the_log_was(void **state)
{
	struct phx_signer signer = {.sign = fake_key_sign, .arg = key, .sign_end = sign_with_end};
	char line[PHX_ANCHOR_LINE_MAX], again[PHX_ANCHOR_LINE_MAX];
	struct phx_anchor a = make(UINT64_MAX), b;
	(void)state;
	assert_int_equal(phx_anchor_sign(&a, &signer, &err), 0);
	phx_anchor_format(&a, line);
	assert_non_null(strstr(line, " snapshot - vault 4711 cccc"));
	assert_int_equal(phx_anchor_parse(line, &b, &err), 0);
	phx_anchor_format(&b, again);
	assert_string_equal(line, again);
	assert_int_equal(b.log_lines, 4711);
	assert_int_equal(phx_anchor_verify(&b, pub, &err), 0);
	b.log_lines--;
	assert_int_equal(phx_anchor_verify(&b, pub, &err), -EKEYREJECTED);
	phx_err_clear(&err);
	b.log_hash[0] = '\0';
	assert_int_equal(phx_anchor_verify(&b, pub, &err), -EKEYREJECTED);
	/* what the journal says of itself has nothing to do with it */
	phx_err_clear(&err);
	a.kind = PHX_ANCHOR_BEGUN;
	assert_int_equal(phx_anchor_sign(&a, &signer, &err), 0);
	assert_string_equal(a.log_hash, "");
	a.kind = PHX_ANCHOR_REACHED;
	signer.sign_end = sign_with_nothing;
	assert_int_equal(phx_anchor_sign(&a, &signer, &err), -EPROTO);
}

/* each character of it */
static void no_character_of_it_can_be_another(void **state)
{
	char line[PHX_ANCHOR_LINE_MAX];
	struct phx_anchor a = make(42), b;
	(void)state;
	phx_anchor_format(&a, line);
	for (size_t i = 0; line[i]; i++) {
		char was = line[i];
		line[i] = was == '1' ? '2' : '1';
		if (phx_anchor_parse(line, &b, &err) == 0 && phx_anchor_verify(&b, pub, &err) == 0)
			fail_msg("'%s' is believed", line);
		line[i] = was;
	}
	for (size_t n = strlen(line); n-- > 0;) {
		line[n] = '\0';
		if (phx_anchor_parse(line, &b, &err) == 0 && phx_anchor_verify(&b, pub, &err) == 0)
			fail_msg("'%s' is believed", line);
	}
}

static void a_wrong_key_and_a_missing_one_are_told_apart(void **state)
{
	struct phx_anchor a = make(42);
	(void)state;
	a.signature[3] = a.signature[3] == '0' ? '1' : '0';
	assert_int_equal(phx_anchor_verify(&a, pub, &err), -EKEYREJECTED);
	a.signature[0] = '\0'; /* of one that was just made */
	assert_int_equal(phx_anchor_verify(&a, pub, &err), -EKEYREJECTED);
	assert_int_equal(phx_anchor_verify(&a, "/nonexistent", &err), -EKEYREJECTED);
	a = make(42);
	assert_int_equal(phx_anchor_verify(&a, "/nonexistent", &err), -ENOENT);
}

static void a_file_has_the_last_ones_and_stays_small(void **state)
{
	struct stat st;
	(void)state;
	for (uint64_t seq = 1; seq <= 100; seq++) {
		append(seq, KEEP);
		read_all(KEEP);
		assert_int_equal(lines.n, seq < KEEP ? seq : KEEP);
		assert_int_equal(seq_at(lines.n - 1), seq);
		assert_int_equal(seq_at(0), seq - lines.n + 1);
		assert_int_equal(n_bad, 0);
	}
	assert_int_equal(stat(path, &st), 0);
	assert_in_range(st.st_size, 1, (2 * KEEP + 1) * PHX_ANCHOR_LINE_MAX);
	read_all(0);
	assert_in_range(lines.n, KEEP, 2 * KEEP + 1);
	/* without a limit it grows */
	for (uint64_t seq = 101; seq <= 150; seq++)
		append(seq, 0);
	read_all(0);
	assert_in_range(lines.n, 50 + KEEP, 150);
}

static void a_line_that_was_cut_off_is_lost_alone(void **state)
{
	struct stat st;
	(void)state;
	append(1, KEEP);
	append(2, KEEP);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 20), 0);
	read_all(0);
	assert_int_equal(lines.n, 1);
	assert_int_equal(n_bad, 1);
	append(3, KEEP);
	read_all(0);
	assert_int_equal(lines.n, 2);
	assert_int_equal(seq_at(1), 3);
	assert_int_equal(n_bad, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_line_says_what_was_signed),
		TEST(a_line_says_how_far_the_log_was),
		TEST(no_character_of_it_can_be_another),
		TEST(a_wrong_key_and_a_missing_one_are_told_apart),
		TEST(a_file_has_the_last_ones_and_stays_small),
		TEST(a_line_that_was_cut_off_is_lost_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
