/* Quotes of TPMs: believed when signed with the key that they show, for the data that was asked
 * about, of all registers and their values; and in no other case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>

#include "base/rng.h"
#include "fake/tpm.h"

enum { FLIPS = 1000 };

static const uint8_t data[PHX_QUOTE_DATA_SIZE] = {4, 7, 1, 1};
static struct fake_tpm tpm;
static struct phx_quote q;
static struct phx_err err;

static int setup(void **state)
{
	(void)state;
	fake_tpm_init(&tpm);
	phx_err_clear(&err);
	return tpm.key ? fake_tpm_quote(&tpm, data, &q) : -1;
}

static int teardown(void **state)
{
	(void)state;
	fake_tpm_fini(&tpm);
	return 0;
}

/* What is said of it now; nothing is told of one that is not believed. */
static int verify(void)
{
	struct phx_quoted got = {.resets = 4711};
	phx_err_clear(&err);
	int r = phx_quote_verify(&q, data, &got, &err);
	assert_true(r == 0 || (err.text[0] && got.resets == 4711));
	return r;
}

static void a_quote_is_believed(void **state)
{
	struct phx_quoted got;
	(void)state;
	tpm.resets = 12;
	assert_int_equal(fake_tpm_quote(&tpm, data, &q), 0);
	assert_int_equal(phx_quote_verify(&q, data, &got, &err), 0);
	assert_int_equal(got.resets, 12);
	assert_true(phx_str_starts(got.key, "sha256:"));
	assert_int_equal(strlen(got.pcrs), 64);
}

static void other_registers_have_another_sum(void **state)
{
	struct phx_quoted before, after;
	(void)state;
	assert_int_equal(phx_quote_verify(&q, data, &before, &err), 0);
	tpm.pcr[4] = 1;
	assert_int_equal(fake_tpm_quote(&tpm, data, &q), 0);
	assert_int_equal(phx_quote_verify(&q, data, &after, &err), 0);
	assert_string_equal(before.key, after.key);
	assert_string_not_equal(before.pcrs, after.pcrs);
}

static void a_quote_for_something_else_is_not(void **state)
{
	const uint8_t other[PHX_QUOTE_DATA_SIZE] = {4, 7, 1, 2};
	(void)state;
	assert_int_equal(fake_tpm_quote(&tpm, other, &q), 0);
	assert_int_equal(verify(), -ESTALE);
}

static void a_quote_shown_with_another_key_is_not(void **state)
{
	struct fake_tpm other;
	struct phx_quote his;
	(void)state;
	fake_tpm_init(&other);
	assert_int_equal(fake_tpm_quote(&other, data, &his), 0);
	PHX_STR_SET(q.tpm_key, his.tpm_key);
	assert_int_equal(verify(), -EKEYREJECTED);
	fake_tpm_fini(&other);
}

static void other_values_of_registers_are_not(void **state)
{
	(void)state;
	q.tpm_pcrs[3] = '7';
	assert_int_equal(verify(), -ERANGE);
	q.tpm_pcrs[62] = '\0';
	assert_int_equal(verify(), -ERANGE);
}

static void a_register_that_is_left_out_is_told(void **state)
{
	(void)state;
	tpm.left_out = 4;
	assert_int_equal(fake_tpm_quote(&tpm, data, &q), 0);
	assert_int_equal(verify(), -ERANGE);
}

/* A key that signs anything may have been given this; what a TPM says itself begins otherwise. */
static void what_no_tpm_made_is_not(void **state)
{
	(void)state;
	tpm.magic = 0x12345678;
	assert_int_equal(fake_tpm_quote(&tpm, data, &q), 0);
	assert_int_equal(verify(), -EINVAL);
}

static void nothing_is_no_quote(void **state)
{
	(void)state;
	q = (struct phx_quote){0};
	assert_int_equal(verify(), -EINVAL);
}

/* One digit of its text, wherever: 1,000 of 1,000 are noticed. */
static void an_altered_digit_is_noticed(void **state)
{
	char *const texts[] = {q.tpm_key, q.tpm_said, q.tpm_signature, q.tpm_pcrs};
	struct phx_rng rng;
	int noticed = 0;
	(void)state;
	rng.state = 20261123;
	for (int i = 0; i < FLIPS; i++) {
		char *text = texts[phx_rng_below(&rng, PHX_ARRAY_SIZE(texts))];
		char *at = &text[phx_rng_below(&rng, strlen(text))], was = *at;
		while (*at == was)
			*at = "0123456789abcdef"[phx_rng_below(&rng, 16)];
		noticed += verify() < 0;
		*at = was;
	}
	assert_int_equal(noticed, FLIPS);
	assert_int_equal(verify(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_quote_is_believed),
		TEST(other_registers_have_another_sum),
		TEST(a_quote_for_something_else_is_not),
		TEST(a_quote_shown_with_another_key_is_not),
		TEST(other_values_of_registers_are_not),
		TEST(a_register_that_is_left_out_is_told),
		TEST(what_no_tpm_made_is_not),
		TEST(nothing_is_no_quote),
		TEST(an_altered_digit_is_noticed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
