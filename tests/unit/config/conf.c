/* The reader under all configuration files: each type of value at its edges, and files that were
 * damaged at random. */
#include "unit/config/help.h"

#include "config/conf.h"
#include "config/config.h"
#include "config/image.h"
#include "config/role.h"

static const char *const kinds[] = {"red", "green"};
static const struct phx_enum colour_names = {"colour", kinds, 2};

#define SHORT_FIELDS(F, S) F(S, text, STR(6))
struct short_word {
	PHX_MEMBERS(short_word, SHORT_FIELDS)
};
PHX_RECORD_LOCAL(short_word, short_word, SHORT_FIELDS);

#define SAMPLE_FIELDS(F, S) \
	F(S, text, STR(8), KEY(text, LINE, PHX_REQUIRED, "")) \
	F(S, name, STR(PHX_NAME_MAX), KEY(name, NAME, "", "")) \
	F(S, number, U32, KEY(number, NUMBER(3, UINT32_MAX), "", "")) \
	F(S, seconds, U32, KEY(time, TIME(2, 7200), "", "")) \
	F(S, bytes, U64, KEY(bytes, SIZE, "", "")) \
	F(S, flag, BOOL, KEY(flag, YES, "", "")) \
	F(S, kind, ENUM(colour), KEY(kind, CHOICE, "", "")) \
	F(S, words, LIST(short_word), KEY(words, WORDS(0), "", "")) \
	F(S, other, U32, KEY(other, OTHER, "", "")) \
	F(S, share, U32, KEY(share, FRACTION, "0.25", "")) \
	F(S, wait_ms, I64, KEY(wait, SPAN, "90s", "")) \
	F(S, most, U32, KEY(most, BOUND(9), "", "")) \
	F(S, peer, STR(20), KEY(peer, PEER, "", ""))
struct sample {
	PHX_MEMBERS(sample, SAMPLE_FIELDS)
};
PHX_RECORD_LOCAL(sample, sample, SAMPLE_FIELDS);

static int read_sample(const char *text, struct sample *s, struct phx_err *err)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf c = {0};
	*s = (struct sample){.number = 99, .seconds = 99};
	int r = phx_conf_parse(text, strlen(text), "s.conf", &c, err);
	if (r == 0)
		r = phx_conf_group(&c, config_root_setting(&c.cfg), &sample_record, s, err);
	return r;
}

static void test_values(void **state)
{
	(void)state;
	struct sample s;
	struct phx_err err = {0};
	int r = read_sample("text = \"seven77\"; name = \"a-1.b_c\"; number = 4294967295L; time = "
			    "\"2h\"; bytes = \"5 GiB\";\n"
			    "flag = true; kind = \"green\"; words = [ \"one\", \"five5\" ]; other "
			    "= ( 1, 2.5, \"x\" );",
			    &s, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	assert_string_equal(s.text, "seven77");
	assert_string_equal(s.name, "a-1.b_c");
	assert_true(s.number == UINT32_MAX);
	assert_int_equal(s.seconds, 7200);
	assert_true(s.bytes == 5ULL << 30);
	assert_true(s.flag);
	assert_int_equal(s.kind, 1);
	assert_int_equal(s.words.n, 2);
	assert_string_equal((char *)s.words.items + 6, "five5");
	phx_list_fini(&s.words);
}

static void test_other_spellings(void **state)
{
	(void)state;
	struct sample s;
	/* absent keys leave what was there; numbers as hexadecimal, as L; times as numbers; strings
	 * in parts */
	assert_int_equal(read_sample("text: \"a\" \"b\"", &s, NULL), 0);
	assert_string_equal(s.text, "ab");
	assert_int_equal(s.number, 99);
	assert_int_equal(
		read_sample(
			"text = \"\"; number = 0x10; time = 30; bytes = 5000000000L; flag = FALSE",
			&s, NULL),
		0);
	assert_int_equal(s.number, 16);
	assert_int_equal(s.seconds, 30);
	assert_true(s.bytes == 5000000000ULL);
	assert_int_equal(
		read_sample("text = \"\"; number = 3L; time = \"90\"; bytes = 0; words = ( )", &s,
			    NULL),
		0);
	assert_int_equal(s.number, 3);
	assert_int_equal(s.seconds, 90);
}

static void test_defaults(void **state)
{
	(void)state;
	struct sample s;
	assert_int_equal(read_sample("text = \"\"", &s, NULL), 0);
	assert_int_equal(s.share, 250);
	assert_int_equal(s.wait_ms, 90000);
	assert_int_equal(
		read_sample("text = \"\"; share = 2; wait = 0.5; most = 9; peer = \"[::1]:80\"", &s,
			    NULL),
		0);
	assert_int_equal(s.share, 2000);
	assert_int_equal(s.wait_ms, 500);
	assert_int_equal(s.most, 9);
	assert_int_equal(
		read_sample("text = \"\"; share = 1.5; wait = \"2m\"; most = \"none\"", &s, NULL),
		0);
	assert_int_equal(s.share, 1500);
	assert_int_equal(s.wait_ms, 120000);
	assert_int_equal(s.most, 0);
}

static const struct bad {
	const char *text, *says;
} bads[] = {
	{"number = 5;", "s.conf: text is missing"},
	{"text = \"eight888\";", "s.conf:1: text has 8 bytes; at most 7 fit"},
	{"text = \"a\tb\";", "control character (\\x09)"},
	{"text = \"a\x7f\";", "control character (\\x7f)"},
	{"text = 5;", "text is a number; it must be a text"},
	{"text = { a = 1; };", "text is a group; it must be a text"},
	{"text = \"\"; name = \"\";", "name = \"\" is no name"},
	{"text = \"\"; name = \"-a\";", "is no name"},
	{"text = \"\"; name = \"a..b\";", "is no name"},
	{"text = \"\"; name = \"a/b\";", "is no name"},
	{"text = \"\"; number = 2;", "number is 2; it must be a whole number from 3 to 4294967295"},
	{"text = \"\"; number = 4294967296L;", "number is 4294967296"},
	{"text = \"\"; number = -9223372036854775807L;", "number is -9223372036854775807"},
	{"text = \"\"; number = 2147483648;", "needs an L behind it"},
	{"text = \"\"; number = 0x80000000;", "needs an L behind it"},
	{"text = \"\"; number = 0xFFFFFFFFFFFFFFFFF;", "does not fit into 64 bits"},
	{"text = \"\"; number = 9223372036854775808L;", "does not fit into 64 bits"},
	{"text = \"\"; number = 1e3;", "number is a fraction"},
	{"text = \"\"; time = 1;", "from 2 to 7200"},
	{"text = \"\"; time = \"1s\";", "must be a time from 2s to 7200s"},
	{"text = \"\"; time = \"3h\";", "must be a time from 2s to 7200s"},
	{"text = \"\"; time = \"99999999999999999999d\";", "must be a time"},
	{"text = \"\"; time = \"-5\";", "must be a time"},
	{"text = \"\"; bytes = \"5 XB\";", "must be a size"},
	{"text = \"\"; bytes = \"16777216 TiB\";", "must be a size"},
	{"text = \"\"; bytes = -1;", "bytes is -1"},
	{"text = \"\"; flag = \"true\";", "flag is a text; it must be true or false"},
	{"text = \"\"; kind = \"blue\";", "red, green"},
	{"text = \"\"; kind = 1;", "kind is a number; it must be a text"},
	{"text = \"\"; words = \"a\";", "it must be a list of texts"},
	{"text = \"\"; words = [ \"sixsix\" ];", "words"},
	{"text = \"\"; words = ( \"a\", 5 );", "words"},
	{"text = \"\"; share = -1;", "share must be a number from 0 to 1000000, like 1.5"},
	{"text = \"\"; share = \"1\";", "share must be a number"},
	{"text = \"\"; wait = \"soon\";", "wait = \"soon\" must be a time, like"},
	{"text = \"\"; most = 0;", "most is 0; it must be a whole number from 1 to 9"},
	{"text = \"\"; peer = \"host\";", "peer = \"host\" must be ADDRESS:PORT"},
	{"text = \"\"; peer = \"host:0\";", "must be ADDRESS:PORT"},
	{"text = \"\"; peer = \"a-name-of-16.long:8080\";", "peer has 22 bytes; at most 19 fit"},
	{"text = \"\";\n\nsurprise = 1;",
	 "s.conf:3: unknown key 'surprise'; known here: text, name, number"},
	{"text = \"\"; text = \"\";", "s.conf:1: duplicate"},
	{"text = \"\xc0\xaf\";", "s.conf:1: this is not UTF-8 text"},
	{"text = \"\xed\xa0\x80\";", "not UTF-8 text"},
	{"text = \"\xf4\x90\x80\x80\";", "not UTF-8 text"},
	{"\n\ntext = \"\xe2\x82\";", "s.conf:3: this is not UTF-8 text"},
	{"/* never closed\ntext = \"\";", "s.conf"},
	{"@include \"/etc/passwd\"\n", "s.conf:1: no @include here"},
};

static void test_bad_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bads); i++) {
		struct sample s;
		struct phx_err err = {0};
		int r = read_sample(bads[i].text, &s, &err);
		if (r != -EINVAL)
			fail_msg("row %zu: %d \"%s\"", i, r, err.text);
		assert_contains(err.text, bads[i].says);
		phx_list_fini(&s.words);
		/* the same without anybody who wants the text */
		assert_int_equal(read_sample(bads[i].text, &s, NULL), -EINVAL);
		phx_list_fini(&s.words);
	}
}

static void test_deep_nesting(void **state)
{
	(void)state;
	enum { DEEP = 20000 };
	PHX_AUTO_FREE char *text = calloc(1, 16 + DEEP * 2);
	struct sample s;
	strcpy(text, "other = ");
	memset(text + 8, '(', DEEP);
	memset(text + 8 + DEEP, ')', DEEP);
	assert_int_equal(read_sample(text, &s, NULL), -EINVAL);
}

static void test_utf8_is_fine(void **state)
{
	(void)state;
	struct sample s;
	assert_int_equal(
		read_sample("# \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\ntext = \"\xe2\x82\xac\";",
			    &s, NULL),
		0);
	assert_string_equal(s.text, "\xe2\x82\xac");
}

/* ---- damage ---- */

/* libconfig itself forgets the text at hand when it finds an error of syntax; only damaged files
 * meet that. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:strbuf_append\n";
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*seed >> 33);
}

/* A few bytes changed, taken out or doubled. */
static size_t damage(char *text, size_t n, uint64_t *seed)
{
	static const char odd[] = "\"{}()[];=,#/*@\\\n\0\xff-0L.x";
	uint32_t times = 1 + next_random(seed) % 4;
	while (times--) {
		size_t at = next_random(seed) % n;
		switch (next_random(seed) % 3) {
		case 0:
			text[at] = odd[next_random(seed) % (sizeof(odd) - 1)];
			break;
		case 1:
			memmove(text + at, text + at + 1, n - at - 1);
			n--;
			break;
		case 2:
			memmove(text + at + 1, text + at, n - at);
			n++;
			break;
		}
	}
	return n;
}

static void try_config(struct place *p, const char *text, size_t n)
{
	char path[256];
	struct phx_config cfg;
	struct phx_err err = {0};
	place_write_n(p, "phoenix.conf", text, n);
	if (phx_config_load(place_path(p, "phoenix.conf", path), &cfg, &err) == 0)
		phx_config_fini(&cfg);
	else
		assert_contains(err.text, "phoenix.conf");
}

static void try_role(struct place *p, const char *text, size_t n)
{
	char path[256];
	struct phx_role role;
	struct phx_err err = {0};
	place_write_n(p, "web.conf", text, n);
	if (phx_role_load(place_path(p, "web.conf", path), NULL, &role, &err) == 0)
		phx_record_fini(&phx_role_record, &role);
	else
		assert_contains(err.text, "web.conf");
}

static void try_rules(struct place *p, const char *text, size_t n)
{
	char path[256];
	struct phx_list rules;
	struct phx_err err = {0};
	place_write_n(p, "rules.conf", text, n);
	if (phx_rules_load(place_path(p, "rules.conf", path), NULL, &rules, &err) == 0)
		phx_rules_fini(&rules);
	else
		assert_contains(err.text, "rules.conf");
}

static void try_manifest(struct place *p, const char *text, size_t n)
{
	struct phx_image im;
	struct phx_err err = {0};
	(void)p;
	if (phx_image_parse(text, n, "m.conf", &im, &err) == 0)
		phx_record_fini(&phx_image_record, &im);
	else
		assert_contains(err.text, "m.conf");
}

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
static const char manifest[] =
	"name = \"deb\";\nversion = \"1\";\nkind = \"rootfs\";\narchitecture = "
	"\"amd64\";\nkernel_release = \"6.1\";\n"
	"files = ( { name = \"vmlinuz\"; size = 7L; sha256 = \"" A64 "\"; },\n"
	"{ name = \"root.ext4.zst\"; size = 50L; sha256 = \"" A64
	"\"; raw_size = 9000000000L; } );\n";

static void damage_text(struct place *p, const char *text, size_t n,
			void (*try)(struct place *p, const char *text, size_t n), uint64_t seed)
{
	enum { ROUNDS = 400 };
	PHX_AUTO_FREE char *copy = malloc(n + 64);
	for (int i = 0; i < ROUNDS; i++) {
		memcpy(copy, text, n);
		try(p, copy, damage(copy, n, &seed));
	}
}

static void damage_file(struct place *p, const char *path,
			void (*try)(struct place *p, const char *text, size_t n), uint64_t seed)
{
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	assert_int_equal(phx_file_read(path, 65536, &text, &n, NULL), 0);
	damage_text(p, text, n, try, seed);
}

static void test_damaged_files(void **state)
{
	struct place *p = *state;
	damage_file(p, TEST_DIR "/../etc/phoenix.conf", try_config, 1);
	damage_file(p, TEST_DIR "/../roles/web-server.conf", try_role, 2);
	damage_file(p, TEST_DIR "/../roles/rules.conf", try_rules, 3);
	damage_text(p, manifest, sizeof(manifest) - 1, try_manifest, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_other_spellings),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_deep_nesting),
		cmocka_unit_test(test_utf8_is_fine),
		RUN(test_damaged_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
