/* Strings, numbers with units, MACs, enums, lists, buffers: what is taken, what
 * is refused, and that outputs stay untouched when something is refused. */
#include "base/utf8.h"
#include "unit/base/test_base.h"

static void test_str_copy(void **state)
{
	(void)state;
	char a[5] = "old";
	assert_int_equal(PHX_STR_SET(a, "1234"), 0);
	assert_string_equal(a, "1234");
	assert_int_equal(PHX_STR_SET(a, "12345"), -ENAMETOOLONG);
	assert_string_equal(a, "1234");
	assert_int_equal(PHX_STR_SET(a, a + 2), 0); /* overlapping */
	assert_string_equal(a, "34");
	assert_int_equal(PHX_STR_SET(a, NULL), 0);
	assert_string_equal(a, "");
}

static void test_str_compare(void **state)
{
	(void)state;
	assert_true(phx_str_eq("a", "a"));
	assert_true(phx_str_eq(NULL, NULL));
	assert_false(phx_str_eq("a", NULL));
	assert_false(phx_str_eq("a", "b"));
	assert_true(phx_str_starts("abc", "ab"));
	assert_true(phx_str_starts("abc", ""));
	assert_false(phx_str_starts("ab", "abc"));
}

static void test_name_valid(void **state)
{
	(void)state;
	char longest[PHX_NAME_MAX + 1];
	memset(longest, 'n', sizeof(longest));
	longest[PHX_NAME_MAX - 1] = '\0';
	static const char *const good[] = {"a", "0", "node-1", "web_2", "n1.example.org", "A.b"};
	static const char *const bad[] = {"",     "-a",        ".a",   "_a",   "a b",
					  "a/b",  "..",        "a..b", "a\nb", "a;b",
					  "a\\b", "n\xc3\xa4", "*",    "a[1]"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(good); i++)
		assert_true(phx_name_valid(good[i]));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++)
		assert_false(phx_name_valid(bad[i]));
	assert_false(phx_name_valid(NULL));
	assert_true(phx_name_valid(longest));
	longest[PHX_NAME_MAX - 1] = 'n';
	longest[PHX_NAME_MAX] = '\0';
	assert_false(phx_name_valid(longest));
}

/* One row of a parser's table: text, code, value when the code is 0. */
struct number {
	const char *text;
	int code;
	uint64_t value;
};

typedef int (*parse_fn)(const char *s, uint64_t *ret);

static void check_numbers(parse_fn parse, const struct number *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = 4711;
		int r = parse(rows[i].text, &v);
		uint64_t want = rows[i].code ? 4711 : rows[i].value;
		if (r != rows[i].code || v != want)
			fail_msg("'%s': %d, %llu", rows[i].text ? rows[i].text : "(null)", r,
				 (unsigned long long)v);
	}
}

static int parse_any(const char *s, uint64_t *ret)
{
	return phx_u64_parse(s, 0, UINT64_MAX, ret);
}

static int parse_port(const char *s, uint64_t *ret)
{
	return phx_u64_parse(s, 1, 65535, ret);
}

static void test_u64(void **state)
{
	(void)state;
	static const struct number any[] = {
		{"0", 0, 0},
		{"007", 0, 7},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"99999999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},
		{NULL, -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"0x10", -EINVAL, 0},
		{"1e3", -EINVAL, 0},
	};
	static const struct number port[] = {
		{"1", 0, 1},
		{"65535", 0, 65535},
		{"0", -ERANGE, 0},
		{"65536", -ERANGE, 0},
	};
	check_numbers(parse_any, any, PHX_ARRAY_SIZE(any));
	check_numbers(parse_port, port, PHX_ARRAY_SIZE(port));
}

static void test_size(void **state)
{
	(void)state;
	static const struct number rows[] = {
		{"4096", 0, 4096},         {"4096B", 0, 4096},
		{"512M", 0, 512ULL << 20}, {"5 GiB", 0, 5ULL << 30},
		{"5GB", 0, 5000000000ULL}, {"1KB", 0, 1000},
		{"2 TiB", 0, 2ULL << 40},  {"16777215T", 0, 16777215ULL << 40},
		{"16777216T", -ERANGE, 0}, {"5 gib", -EINVAL, 0},
		{"5.5G", -EINVAL, 0},      {"G", -EINVAL, 0},
		{"", -EINVAL, 0},          {NULL, -EINVAL, 0},
		{"-5G", -EINVAL, 0},       {"5 G iB", -EINVAL, 0},
	};
	check_numbers(phx_size_parse, rows, PHX_ARRAY_SIZE(rows));
}

static void test_size_format(void **state)
{
	(void)state;
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{0, "0 B"},
		{1023, "1023 B"},
		{1024, "1.0 KiB"},
		{5ULL << 30, "5.0 GiB"},
		{1536ULL << 20, "1.5 GiB"},
		{UINT64_MAX, "16.0 EiB"},
	};
	char buf[32];
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		assert_string_equal(phx_size_format(rows[i].bytes, buf, sizeof(buf)), rows[i].text);
	assert_string_equal(phx_size_format(5ULL << 30, buf, 4), "5.0"); /* cut, not overrun */
}

static void test_duration(void **state)
{
	(void)state;
	static const struct number rows[] = {
		{"90", 0, 90},
		{"90s", 0, 90},
		{"15m", 0, 900},
		{"2h", 0, 7200},
		{"1d", 0, 86400},
		{"1w", -EINVAL, 0},
		{"m", -EINVAL, 0},
		{"1h30m", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"-1s", -EINVAL, 0},
		{"213503982334602d", -ERANGE, 0},
	};
	check_numbers(phx_duration_parse, rows, PHX_ARRAY_SIZE(rows));
}

static void test_mac(void **state)
{
	(void)state;
	static const char *const good[] = {"52:54:00:ab:cd:ef", "52-54-00-AB-CD-EF", "525400abcdef",
					   "525400ABCDEF"};
	static const char *const bad[] = {
		"",
		"52:54:00:ab:cd",
		"52:54:00:ab:cd:e",
		"52:54:00:ab:cd:ef:",
		"52:54:00:ab:cd:eg",
		"5254:00ab:cdef",
		"52:54:00:ab:cdef",
		"525400abcdef0",
		":52:54:00:ab:cd:ef",
		"52::54:00:ab:cd:ef",
		"52:54-00:ab:cd:ef",
		"52:54:00:ab:cd:ef ",
		"525400ab:cdef",
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(good); i++) {
		char mac[PHX_MAC_MAX] = "";
		assert_int_equal(phx_mac_parse(good[i], mac), 0);
		assert_string_equal(mac, "52:54:00:ab:cd:ef");
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		char mac[PHX_MAC_MAX] = "untouched";
		if (phx_mac_parse(bad[i], mac) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
		assert_string_equal(mac, "untouched");
	}
	char mac[PHX_MAC_MAX];
	assert_int_equal(phx_mac_parse(NULL, mac), -EINVAL);
}

static const char *const colour_names[] = {"red", "green"};
static const struct phx_enum colours = {"colour", colour_names, 2};

static void test_hex(void **state)
{
	(void)state;
	char text[9] = "????????";
	phx_hex("\x00\x09\xaf\xf0", 4, text);
	assert_string_equal(text, "0009aff0");
	phx_hex("\x7f", 1, text);
	assert_string_equal(text, "7f");
	phx_hex(NULL, 0, text);
	assert_string_equal(text, "");
}

static void test_unhex(void **state)
{
	(void)state;
	uint8_t bytes[4] = "????";
	assert_true(phx_unhex("0009aff0", 4, bytes));
	assert_memory_equal(bytes, "\x00\x09\xaf\xf0", 4);
	assert_true(phx_unhex("7f\n", 1, bytes)); /* what follows is not looked at */
	assert_memory_equal(bytes, "\x7f\x09", 2);
	assert_false(phx_unhex("7", 1, bytes));
	assert_false(phx_unhex("ffF0", 2, bytes));
	assert_false(phx_unhex("ff g", 2, bytes));
	assert_memory_equal(bytes, "\x7f\x09\xaf\xf0", 4);
	assert_true(phx_unhex("", 0, bytes));
}

static void test_enum(void **state)
{
	(void)state;
	int v = 99;
	struct phx_err err = {0};
	assert_string_equal(phx_enum_name(&colours, 1), "green");
	assert_string_equal(phx_enum_name(&colours, 2), "?");
	assert_string_equal(phx_enum_name(&colours, -1), "?");
	assert_int_equal(phx_enum_parse(&colours, "blue", &v, &err), -EINVAL);
	assert_string_equal(err.text, "'blue' is no colour; there are: red, green");
	assert_int_equal(phx_enum_parse(&colours, NULL, &v, NULL), -EINVAL);
	assert_int_equal(phx_enum_parse(&colours, "Green", &v, NULL), -EINVAL);
	assert_int_equal(v, 99);
	assert_int_equal(phx_enum_parse(&colours, "green", &v, NULL), 0);
	assert_int_equal(v, 1);
}

static void test_list(void **state)
{
	(void)state;
	struct phx_list l = {0};
	uint32_t sum = 0;
	PHX_LIST_EACH(uint32_t, it, &l)
		sum += *it;
	assert_int_equal(sum, 0); /* an empty list has nothing to iterate */
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t *item = phx_list_push(&l, sizeof(*item));
		assert_non_null(item);
		assert_int_equal(*item, 0);
		*item = i;
	}
	phx_list_remove(&l, sizeof(uint32_t), 999);
	phx_list_remove(&l, sizeof(uint32_t), 0);
	phx_list_remove(&l, sizeof(uint32_t), 500);
	assert_int_equal(l.n, 997);
	assert_int_equal(*PHX_LIST_AT(&l, uint32_t, 0), 1);
	assert_int_equal(*PHX_LIST_AT(&l, uint32_t, 499), 500);
	assert_int_equal(*PHX_LIST_AT(&l, uint32_t, 500), 502);
	PHX_LIST_EACH(uint32_t, it, &l)
		sum += *it;
	assert_int_equal(sum, 499500 - 999 - 0 - 501);
	phx_list_fini(&l);
	phx_list_fini(&l);
	assert_int_equal(l.n, 0);
}

static void test_list_gives_zeroed_items_again(void **state)
{
	(void)state;
	struct phx_list l = {0};
	*(uint64_t *)phx_list_push(&l, sizeof(uint64_t)) = UINT64_MAX;
	phx_list_remove(&l, sizeof(uint64_t), 0);
	assert_true(*(uint64_t *)phx_list_push(&l, sizeof(uint64_t)) == 0);
	phx_list_fini(&l);
}

static uint64_t key_of(const void *item)
{
	return *(const uint32_t *)item;
}

static void test_list_place(void **state)
{
	(void)state;
	struct phx_list l = {0};
	assert_int_equal(phx_list_place(&l, sizeof(uint32_t), key_of, 0), 0);
	for (uint32_t i = 1; i <= 5; i++)
		*(uint32_t *)phx_list_push(&l, sizeof(uint32_t)) = 10 * i;
	for (uint32_t i = 1; i <= 5; i++) {
		assert_int_equal(phx_list_place(&l, sizeof(uint32_t), key_of, 10 * i - 1), i - 1);
		assert_int_equal(phx_list_place(&l, sizeof(uint32_t), key_of, 10 * i), i - 1);
		assert_int_equal(phx_list_place(&l, sizeof(uint32_t), key_of, 10 * i + 1), i);
	}
	/* above what the key's own type holds */
	assert_int_equal(phx_list_place(&l, sizeof(uint32_t), key_of, UINT64_MAX), 5);
	phx_list_fini(&l);
}

static void test_buf(void **state)
{
	(void)state;
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (int i = 0; i < 500; i++)
		phx_buf_addf(&b, "%d,", i);
	phx_buf_add(&b, "\0x", 2);
	phx_buf_add(&b, NULL, 0);
	assert_int_equal(b.n, 10 * 2 + 90 * 3 + 400 * 4 + 2);
	assert_memory_equal(b.data, "0,1,2,", 6);
	assert_memory_equal(b.data + b.n - 2, "\0x", 3); /* what was added, then its NUL */
	PHX_AUTO_FREE char *text = phx_buf_take(&b);
	assert_int_equal(strlen(text), 1890);
	assert_int_equal(b.n, 0);
	assert_null(b.data);
}

static void test_buf_empty_and_failed(void **state)
{
	(void)state;
	struct phx_buf b = {0};
	PHX_AUTO_FREE char *text = phx_buf_take(&b);
	assert_string_equal(text, "");
	b.failed = true;
	phx_buf_add(&b, "x", 1);
	phx_buf_addf(&b, "x");
	assert_int_equal(b.n, 0);
	assert_null(phx_buf_take(&b));
}

static void test_take(void **state)
{
	(void)state;
	PHX_AUTO_FREE char *a = strdup("x");
	PHX_AUTO_FREE char *b = PHX_TAKE(a);
	assert_null(a);
	assert_string_equal(b, "x");
}

/* Texts cut anywhere become texts that JSON takes, byte for byte, and what is right stays. */
/* What a terminal obeys, or what turns a name round; and that letters of any script are none. */
static void test_utf8_steering(void **state)
{
	static const struct {
		const char *text;
		uint32_t c;
	} rows[] = {
		{"a", 0},
		{" ", 0},
		{"\x1b[31m", 0x1b},
		{"\n", 0x0a},
		{"\x7f", 0x7f},
		{"\xc2\x9b", 0x9b},
		{"\xc2\x80", 0x80},
		{"\xc2\xa0", 0},
		{"\xc3\xa4", 0},
		{"\xe2\x80\xae", 0x202e},
		{"\xe2\x80\xa8", 0x2028},
		{"\xe2\x81\xa6", 0x2066},
		{"\xe2\x80\x93", 0},
		{"\xe6\xbc\xa2", 0},
		{"\xf0\x9f\x98\x80", 0},
		{"\x9b", 0},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		assert_int_equal(phx_utf8_steering(rows[i].text), rows[i].c);
}

static void test_utf8_repair(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"", ""},
		{"plain", "plain"},
		{"ä ß € 𝄞", "ä ß € 𝄞"},
		{"cut \xc3", "cut ?"},
		{"cut \xe2\x82", "cut ??"},
		{"cut \xf0\x9d\x84", "cut ???"},
		{"\xa4 first", "? first"},
		{"long \xc0\x80 zero", "long ?? zero"},
		{"\xe0\x9f\xbf", "???"},
		{"\xed\xa0\x80 half a pair", "??? half a pair"},
		{"\xf4\x90\x80\x80", "????"},
		{"\xf8\xff", "??"},
		{"\xc3\xc3\xa4", "?ä"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char text[64];
		strcpy(text, rows[i].in);
		phx_utf8_repair(text);
		assert_string_equal(text, rows[i].out);
	}
}

/* Error texts are cut to their size, and answered as JSON. */
static void test_err_is_never_cut_within_a_character(void **state)
{
	struct phx_err err = {0};
	char text[PHX_ERR_TEXT_MAX * 2];
	(void)state;
	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "ä", 2);
	text[sizeof(text) - 2] = '\0';
	for (int shift = 0; shift < 2; shift++) {
		char again[PHX_ERR_TEXT_MAX];
		phx_err_clear(&err);
		phx_err_set(&err, -1, "%s%s", shift ? "x" : "", text);
		phx_err_prefix(&err, -1, "%s%s", shift ? "y" : "", text);
		strcpy(again, err.text);
		phx_utf8_repair(again);
		assert_string_equal(again, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_str_copy),
		cmocka_unit_test(test_str_compare),
		cmocka_unit_test(test_name_valid),
		cmocka_unit_test(test_u64),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_size_format),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_mac),
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_unhex),
		cmocka_unit_test(test_enum),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_list_gives_zeroed_items_again),
		cmocka_unit_test(test_list_place),
		cmocka_unit_test(test_buf),
		cmocka_unit_test(test_buf_empty_and_failed),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_utf8_steering),
		cmocka_unit_test(test_utf8_repair),
		cmocka_unit_test(test_err_is_never_cut_within_a_character),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
