/* Manifests, versions, and the rules for entries, without any archive. */
#include "hostile.h"

#include "repo/internal.h"

#define GOOD \
	"name = \"web\";\nversion = \"1.0\";\narch = \"amd64\";\nsummary = \"a \\\"b\\\" \\\\ " \
	"c\";\n"

static void parse_and_format(void **state)
{
	(void)state;
	struct phx_package p = {0}, again = {0};
	assert_int_equal(phx_manifest_parse(GOOD, strlen(GOOD), false, &p, NULL), 0);
	assert_string_equal(p.name, "web");
	assert_string_equal(p.version, "1.0");
	assert_string_equal(p.arch, "amd64");
	assert_string_equal(p.summary, "a \"b\" \\ c");
	p.unpacked_bytes = 5000000000; /* libconfig would cut the number */
	p.n_entries = 7;
	PHX_AUTO_FREE char *text = phx_manifest_format(&p);
	assert_int_equal(phx_manifest_parse(text, strlen(text), true, &again, NULL), 0);
	assert_true(phx_record_equal(&phx_package_record, &p, &again));
}

static void parse_bad(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "name is missing"},
		{"name = \"web\";\nversion = \"1\";\narch = \"all\";\n", "summary is missing"},
		{"name = \"web\";\nversion = \"1\";\narch = \"all\";\nsumary = \"\";\n",
		 "line 4: unknown key \"sumary\" (name, version"},
		{GOOD "colour = \"red\";\n", "line 5: unknown key \"colour\""},
		{GOOD "n_entries = \"1\";\n", "line 5: unknown key"},
		{GOOD "name = \"twice\";\n", "line 5"},
		{"name = \"web\"\nversion = ;", "line 2"},
		{"name = 5;\nversion = \"1\";\narch = \"all\";\nsummary = \"\";\n",
		 "line 1: name must be"},
		{"name = \"a/b\";\nversion = \"1\";\narch = \"all\";\nsummary = \"\";\n",
		 "line 1: name must be"},
		{"name = \"..\";\nversion = \"1\";\narch = \"all\";\nsummary = \"\";\n",
		 "line 1: name must be"},
		{"name = \"a\";\nversion = \"1-2\";\narch = \"all\";\nsummary = \"\";\n",
		 "line 2: version must be"},
		{"name = \"a\";\nversion = \"v1\";\narch = \"all\";\nsummary = \"\";\n",
		 "line 2: version must be"},
		{"name = \"a\";\nversion = \"previous\";\narch = \"all\";\nsummary = \"\";\n",
		 "line 2"},
		{"name = \"a\";\nversion = \"1\";\narch = \"x86\";\nsummary = \"\";\n",
		 "line 3: arch must be"},
		{"name = \"a\";\nversion = \"1\";\narch = \"all\";\nsummary = \"a\\nb\";\n",
		 "line 4: summary"},
		{"name = \"a\";\nversion = \"1\";\narch = \"all\";\nsummary = \"\xff\";\n",
		 "line 4: summary"},
		{"@include \"/etc/passwd\"\n" GOOD, "@include"},
		{"name = ( { a = 1; } );\nversion = \"1\";\narch = \"all\";\nsummary = \"\";\n",
		 "line 1"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_package p = {.name = "kept"};
		struct phx_err err = {0};
		assert_int_equal(
			phx_manifest_parse(cases[i].text, strlen(cases[i].text), false, &p, &err),
			-EINVAL);
		if (!strstr(err.text, cases[i].says))
			fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].says);
		assert_string_equal(p.name, "kept");
	}
}

static void parse_sizes(void **state)
{
	(void)state;
	struct phx_package p;
	struct phx_err err = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(
		&b, "name = \"a\";\nversion = \"1\";\narch = \"all\";\nsummary = \"%0200d\";\n", 0);
	assert_int_equal(phx_manifest_parse(b.data, b.n, false, &p, &err), -EINVAL);
	assert_non_null(strstr(err.text, "summary: has 200 bytes; at most 159 fit"));
	phx_buf_addf(&b, "#%070000d\n", 0);
	phx_err_clear(&err);
	assert_int_equal(phx_manifest_parse(b.data, b.n, false, &p, &err), -EINVAL);
	assert_non_null(strstr(err.text, "65536"));
	static const char nul[] = GOOD "\0"
				       "name";
	assert_int_equal(phx_manifest_parse(nul, sizeof(nul), false, &p, NULL), -EINVAL);
	static const char counts[] = GOOD "unpacked_bytes = \"1\";\nn_entries = \"%s\";\n";
	static const char *const bad[] = {"-1", "5000000000", "1x", ""};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		PHX_AUTO_FREE char *text = phx_path(counts, bad[i]);
		assert_int_equal(phx_manifest_parse(text, strlen(text), true, &p, NULL), -EINVAL);
	}
}

static void versions(void **state)
{
	(void)state;
	/* ascending */
	static const char *const order[] = {"0",
					    "0.9",
					    "1.0~rc1",
					    "1.0~rc2",
					    "1.0",
					    "1.0a",
					    "1.0b",
					    "1.0.1",
					    "1.2",
					    "1.10",
					    "1.10.1",
					    "2",
					    "10",
					    "20240101",
					    "99999999999999999999998",
					    "99999999999999999999999"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(order); i++)
		for (size_t j = 0; j < PHX_ARRAY_SIZE(order); j++) {
			int r = phx_version_compare(order[i], order[j]);
			if ((r > 0) - (r < 0) != (i > j) - (i < j))
				fail_msg("%s against %s: %d", order[i], order[j], r);
		}
	assert_int_equal(phx_version_compare("1.0", "1.00"), 0);
	assert_int_equal(phx_version_compare("1.01", "1.1"), 0);
	assert_int_equal(phx_version_compare("", ""), 0);
}

static void entry_rules(void **state)
{
	(void)state;
	static const struct {
		struct phx_package_entry e;
		int right;
	} cases[] = {
		{{.path = "a", .mode = S_IFREG | 0644}, 0},
		{{.path = "a/b..c/...", .mode = S_IFDIR | 0755}, 0},
		{{.path = "a/l", .mode = S_IFLNK, .target = "../b/c"}, 0},
		{{.path = "a/b/l", .mode = S_IFLNK, .target = "../.."}, 0},
		{{.path = "a/l", .mode = S_IFLNK, .target = "..b"}, 0},
		{{.path = "a/l", .mode = S_IFLNK, .target = "../.."}, -EPERM},
		{{.path = "l", .mode = S_IFLNK, .target = "b/../c"}, -EPERM},
		{{.path = "l", .mode = S_IFLNK}, -EPERM},
		{{.path = "", .mode = S_IFREG | 0644}, -EPERM},
		{{.path = "a/", .mode = S_IFREG | 0644}, -EPERM},
		{{.path = "s", .mode = S_IFSOCK | 0644}, -EPERM},
		{{.path = "z", .mode = 0644}, -EPERM},
		{{.path = "h", .mode = S_IFREG | 0644, .hard = "a"}, -EPERM},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++)
		assert_int_equal(phx_entry_check(&cases[i].e, NULL), cases[i].right);
	char name[300];
	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	const struct phx_package_entry long_name = {.path = name, .mode = S_IFREG | 0644};
	assert_int_equal(phx_entry_check(&long_name, NULL), -EPERM);
	name[255] = '\0';
	assert_int_equal(phx_entry_check(&long_name, NULL), 0);
}

/* What a hostile name can do to a terminal or to JSON, it cannot do in a message. */
static void names_in_messages(void **state)
{
	(void)state;
	char shown[32], small[12];
	assert_string_equal(phx_entry_show("a b\\c", shown, sizeof(shown)), "a b\\x5cc");
	assert_string_equal(phx_entry_show("\x1b[31m\n\xff", shown, sizeof(shown)),
			    "\\x1b[31m\\x0a\\xff");
	assert_true(strlen(phx_entry_show("\1\2\3\4\5\6", small, sizeof(small))) < sizeof(small));
	assert_true(strlen(phx_entry_show("abcdefghijklmnopq", small, sizeof(small))) <
		    sizeof(small));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_and_format), cmocka_unit_test(parse_bad),
		cmocka_unit_test(parse_sizes),      cmocka_unit_test(versions),
		cmocka_unit_test(entry_rules),      cmocka_unit_test(names_in_messages),
	};
	return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
