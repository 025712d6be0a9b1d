/* Hostlists: what is read, how it is folded, what is refused and where; and that
 * folding and reading again gives the same set, for many random sets. */
#include "base/nodeset.h"

#include "unit/base/test_base.h"

/* Groups of the tests: @g1 is n1..n3, @rack2 is one node, @broken fails. */
static int find_group(void *arg, const char *group, struct phx_nodeset *ret)
{
	++*(int *)arg;
	if (!strcmp(group, "broken")) {
		phx_nodeset_add(ret, "half");
		return -EIO;
	}
	if (!strcmp(group, "rack2"))
		return phx_nodeset_add(ret, "r2");
	if (!strcmp(group, "role:web-server") || !strcmp(group, "rack=1") ||
	    !strcmp(group, "rack=2"))
		return phx_nodeset_add(ret, "w1") | phx_nodeset_add(ret, "w2") |
			phx_nodeset_add(ret, "w3");
	if (strcmp(group, "g1"))
		return -ENOENT;
	for (int i = 1; i <= 3; i++) {
		char name[8];
		snprintf(name, sizeof(name), "n%d", i);
		phx_nodeset_add(ret, name);
	}
	return 0;
}

static char *names_of(const struct phx_nodeset *s)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (uint32_t i = 0; i < s->n; i++)
		phx_buf_addf(&b, "%s%s", i ? " " : "", s->names[i]);
	return phx_buf_take(&b);
}

struct row {
	const char *text;
	const char *names; /* in order of first mention; NULL: not looked at */
	const char *folded;
};

static void check_row(const struct row *row)
{
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset s = {0};
	struct phx_err err = {0};
	int calls = 0;
	if (phx_nodeset_parse(row->text, find_group, &calls, &s, &err) < 0)
		fail_msg("'%s': %s", row->text, err.text);
	PHX_AUTO_FREE char *names = names_of(&s);
	PHX_AUTO_FREE char *folded = phx_nodeset_fold(&s);
	if ((row->names && strcmp(names, row->names)) || strcmp(folded, row->folded))
		fail_msg("'%s': %s; %s", row->text, names, folded);
}

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_row(&rows[i]);
}

static void test_names_and_ranges(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"web1", "web1", "web1"},
		{"b,a", "b a", "a,b"},
		{"a,a,a", "a", "a"},
		{"node[001-003]", "node001 node002 node003", "node[001-003]"},
		{"node[1-3,7,5]", "node1 node2 node3 node7 node5", "node[1-3,5,7]"},
		{"n[1-10/3]", "n1 n4 n7 n10", "n[1,4,7,10]"},
		{"n[0-10/5]", "n0 n5 n10", "n[0,5,10]"},
		{"n[00-20/10]", "n00 n10 n20", "n[00,10,20]"},
		{"n[8-11]", "n8 n9 n10 n11", "n[8-11]"},
		{"n[08-11]", "n08 n09 n10 n11", "n[08-11]"},
		{"n[98-101]", "n98 n99 n100 n101", "n[98-101]"},
		{"n[098-101]", "n098 n099 n100 n101", "n[098-101]"},
		{"n[08-101]", NULL, "n[08-99,100-101]"},
		{"n[5-5]", "n5", "n5"},
		{"n[007]", "n007", "n007"},
		{"n[1-3/7]", "n1", "n1"},
		{"n[999999999999999999]", "n999999999999999999", "n999999999999999999"},
	};
	check_rows(rows, PHX_ARRAY_SIZE(rows));
}

static void test_brackets_anywhere(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2", "r1n[1-2],r2n[1-2]"},
		{"n[1-2]-ib", "n1-ib n2-ib", "n1-ib,n2-ib"},
		{"n[1-2].example.org", "n1.example.org n2.example.org",
		 "n1.example.org,n2.example.org"},
		{"[1-3]", "1 2 3", "1,2,3"},
		{"n[1-2][3-4]", "n13 n14 n23 n24", "n[13-14,23-24]"},
		{"10.0.0.[1-3]", "10.0.0.1 10.0.0.2 10.0.0.3", "10.0.0.[1-3]"},
	};
	check_rows(rows, PHX_ARRAY_SIZE(rows));
}

static void test_folding_order_and_width(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"node003,node001,web1,node002,node007", NULL, "node[001-003,007],web1"},
		{"n10,n9,n1", NULL, "n[1,9-10]"},
		{"n1,n01,n001", NULL, "n[1,01,001]"},
		{"n9,n010", NULL, "n[9,010]"},
		{"n99,n100,n099", NULL, "n[99,099-100]"},
		{"n,n1,n2", NULL, "n,n[1-2]"},
		{"na1,n1,n-1", NULL, "n1,n-1,na1"},
		{"n1234567890123456789,n1234567890123456780", NULL,
		 "n1234567890123456780,n1234567890123456789"},
	};
	check_rows(rows, PHX_ARRAY_SIZE(rows));
}

static void test_operators(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"a,b[2,4-6],!b5", "a b2 b4 b6", "a,b[2,4,6]"},
		{"n[1-5]!n3", "n1 n2 n4 n5", "n[1-2,4-5]"},
		{"n[1-5]&n[3-9]", "n3 n4 n5", "n[3-5]"},
		{"n[1-3]^n[3-4]", "n1 n2 n4", "n[1-2,4]"},
		{"n[1-9]&n[1-5]!n2,n9", "n1 n3 n4 n5 n9", "n[1,3-5,9]"}, /* left to right */
		{"a!a", "", ""},
		{"a!a,a", "a", "a"},
		{"a!b", "a", "a"},
		{"a&b", "", ""},
		{"a b\tc\n", "a b c", "a,b,c"},
		{" a , b ! a ", "b", "b"},
		{"n[1-3]^n[1-3]^n2", "n2", "n2"},
		{"n1,&n1", "n1", "n1"},
	};
	check_rows(rows, PHX_ARRAY_SIZE(rows));
}

static void test_groups(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"@g1", "n1 n2 n3", "n[1-3]"},
		{"@g1!n2,@rack2", "n1 n3 r2", "n[1,3],r2"},
		{"n[2-9]&@g1", "n2 n3", "n[2-3]"},
		{"@rack[2]", "r2", "r2"},
		{"@role:web-server!w2", "w1 w3", "w[1,3]"},
		{"@rack=[1-2]!w2", "w1 w3", "w[1,3]"},
	};
	check_rows(rows, PHX_ARRAY_SIZE(rows));
}

static void test_group_failures(void **state)
{
	(void)state;
	struct phx_nodeset s = {0};
	struct phx_err err = {0};
	int calls = 0;
	assert_int_equal(phx_nodeset_parse("a,@nosuch", find_group, &calls, &s, &err), -ENOENT);
	assert_string_equal(err.text, "node list, column 3: there is no group '@nosuch'");
	assert_int_equal(phx_nodeset_parse("@broken", find_group, &calls, &s, NULL), -EIO);
	phx_err_clear(&err);
	assert_int_equal(phx_nodeset_parse("@g1", NULL, NULL, &s, &err), -EINVAL);
	assert_says(&err, "groups are not known here");
	assert_int_equal(phx_nodeset_parse("@../x", find_group, &calls, &s, NULL), -EINVAL);
	assert_int_equal(phx_nodeset_parse("@role:", find_group, &calls, &s, NULL), -EINVAL);
	assert_int_equal(phx_nodeset_parse("@:x", find_group, &calls, &s, NULL), -EINVAL);
	assert_int_equal(phx_nodeset_parse("@a:b:c", find_group, &calls, &s, NULL), -EINVAL);
	/* of a label the value may be a port of a switch; nothing else may */
	assert_int_equal(phx_nodeset_parse("@port=Eth1/7:2", find_group, &calls, &s, NULL),
			 -ENOENT);
	assert_int_equal(phx_nodeset_parse("@port=/7", find_group, &calls, &s, NULL), -EINVAL);
	assert_int_equal(phx_nodeset_parse("@po/rt=7", find_group, &calls, &s, NULL), -EINVAL);
	assert_int_equal(phx_nodeset_parse("@role:a/b", find_group, &calls, &s, NULL), -EINVAL);
	assert_int_equal(calls, 3);
	assert_int_equal(s.n, 0);
}

static void test_malformed(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int column;
		const char *say;
	} rows[] = {
		{"", 1, "a node name is expected"},
		{"   ", 4, "a node name is expected"},
		{",a", 1, "a node name is expected"},
		{"!a", 1, "a node name is expected"},
		{"a,", 3, "a node name is expected"},
		{"a,,b", 3, "a node name is expected"},
		{"a&&b", 3, "a node name is expected"},
		{"a!,b", 3, "a node name is expected"},
		{"node[1-", 8, "a number is expected"},
		{"node[1", 5, "']' is missing"},
		{"node[", 6, "a number is expected"},
		{"node[]", 6, "a number is expected"},
		{"node[1,]", 8, "a number is expected"},
		{"node[a-b]", 6, "a number is expected"},
		{"node[-3]", 6, "a number is expected"},
		{"node[1--3]", 8, "a number is expected"},
		{"node[1-3/]", 10, "a number is expected"},
		{"node[1-3/0]", 6, "the step of a range"},
		{"node[5-3]", 6, "from the smaller"},
		{"node[1 2]", 7, "',' or ']' is expected"},
		{"node[[1]]", 6, "a number is expected"},
		{"node1]", 6, "']' without '['"},
		{"a,-b", 3, "a name is letters"},
		{"a;b", 1, "a name is letters"},
		{"a/b", 1, "a name is letters"},
		{"n[1]..x", 1, "a name is letters"},
		{"$(id)", 1, "a name is letters"},
		{"@", 1, "a name is letters"},
		{"n[1234567890123456789]", 3, "at most 18 digits"},
		{"n[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]", 47, "too many brackets"},
		{"n234567890123456789012345678901234567890123456789012345678901234", 1,
		 "63 characters"},
		{"n2345678901234567890123456789012345678901234567890123456789012[10]", 1,
		 "63 characters"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_nodeset s = {0};
		struct phx_err err = {0};
		char where[32];
		int calls = 0;
		phx_nodeset_add(&s, "before");
		snprintf(where, sizeof(where), "column %d: ", rows[i].column);
		assert_int_equal(phx_nodeset_parse(rows[i].text, find_group, &calls, &s, &err),
				 -EINVAL);
		assert_says(&err, where);
		assert_says(&err, rows[i].say);
		assert_int_equal(s.n, 1); /* untouched */
		assert_true(phx_nodeset_has(&s, "before"));
		phx_nodeset_fini(&s);
	}
}

static void test_limits(void **state)
{
	(void)state;
	static const char *const rows[] = {
		"n[1-65537]",
		"n[1-999999999999999999]",
		"a[1-300]b[1-300]",
		"a[1-60000],b[1-60000]",
		"a[1-9]b[1-9]c[1-9]d[1-9]e[1-9]f[1-9]g[1-9]h[1-9]",
		"n[1-60000]!n[1-60000]!n[1-60000]!n[1-60000]!n[1-60000]", /* work is limited too */
		"n[1-40000,50000-99999]",
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_nodeset s = {0};
		struct phx_err err = {0};
		assert_int_equal(phx_nodeset_parse(rows[i], NULL, NULL, &s, &err), -E2BIG);
		assert_says(&err, "more than 65536 names");
	}
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset s = {0};
	assert_int_equal(phx_nodeset_parse("n[00001-65536],n[00001-65536]", NULL, NULL, &s, NULL),
			 0);
	assert_int_equal(s.n, 65536);
	assert_int_equal(phx_nodeset_add(&s, "one-more"), -E2BIG);
	PHX_AUTO_FREE char *folded = phx_nodeset_fold(&s);
	assert_string_equal(folded, "n[00001-65536]");
}

static void test_add_and_has(void **state)
{
	(void)state;
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset s = {0};
	PHX_AUTO_FREE char *empty = phx_nodeset_fold(&s);
	assert_string_equal(empty, "");
	assert_int_equal(phx_nodeset_add(&s, "a"), 0);
	assert_int_equal(phx_nodeset_add(&s, "a"), 0);
	assert_int_equal(phx_nodeset_add(&s, "a[1]"), -EINVAL);
	assert_int_equal(phx_nodeset_add(&s, ""), -EINVAL);
	assert_int_equal(s.n, 1);
	assert_true(phx_nodeset_has(&s, "a"));
	assert_false(phx_nodeset_has(&s, "A"));
	phx_nodeset_fini(&s);
	phx_nodeset_fini(&s);
	assert_false(phx_nodeset_has(&s, "a"));
}

static void test_parse_replaces(void **state)
{
	(void)state;
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset s = {0};
	assert_int_equal(phx_nodeset_parse("a,b", NULL, NULL, &s, NULL), 0);
	assert_int_equal(phx_nodeset_parse("c", NULL, NULL, &s, NULL), 0);
	PHX_AUTO_FREE char *folded = phx_nodeset_fold(&s);
	assert_string_equal(folded, "c");
}

/* A small generator of its own, so that a failure repeats. */
static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void add_random(struct phx_nodeset *s, uint32_t *seed)
{
	static const char *const formats[] = {"n%u",   "n%02u",  "n%03u", "web%u",
					      "r1n%u", "n%u-ib", "%u"};
	char name[32];
	snprintf(name, sizeof(name), formats[next_random(seed) % PHX_ARRAY_SIZE(formats)],
		 next_random(seed) % 120);
	assert_int_equal(phx_nodeset_add(s, name), 0);
}

static void test_fold_and_parse_again(void **state)
{
	(void)state;
	uint32_t seed = 1;
	for (int round = 0; round < 500; round++) {
		PHX_AUTO(phx_nodeset_fini) struct phx_nodeset a = {0};
		PHX_AUTO(phx_nodeset_fini) struct phx_nodeset b = {0};
		for (uint32_t i = 1 + next_random(&seed) % 150; i; i--)
			add_random(&a, &seed);
		PHX_AUTO_FREE char *folded = phx_nodeset_fold(&a);
		assert_int_equal(phx_nodeset_parse(folded, NULL, NULL, &b, NULL), 0);
		assert_int_equal(a.n, b.n);
		for (uint32_t i = 0; i < a.n; i++)
			assert_true(phx_nodeset_has(&b, a.names[i]));
		PHX_AUTO_FREE char *again = phx_nodeset_fold(&b);
		assert_string_equal(folded, again);
	}
}

/* Whatever the text, it is read or refused with a column; never worse. */
static void test_random_text(void **state)
{
	(void)state;
	static const char alphabet[] = "ab019[]-/,!&^@ .";
	uint32_t seed = 7;
	for (int round = 0; round < 20000; round++) {
		char text[24];
		size_t n = next_random(&seed) % (sizeof(text) - 1);
		for (size_t i = 0; i < n; i++)
			text[i] = alphabet[next_random(&seed) % (sizeof(alphabet) - 1)];
		text[n] = '\0';
		PHX_AUTO(phx_nodeset_fini) struct phx_nodeset s = {0};
		struct phx_err err = {0};
		int calls = 0;
		int r = phx_nodeset_parse(text, find_group, &calls, &s, &err);
		if (r < 0)
			assert_says(&err, "node list, column ");
		else
			assert_string_equal(err.text, "");
		for (uint32_t i = 0; i < s.n; i++)
			assert_true(phx_name_valid(s.names[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_and_ranges),
		cmocka_unit_test(test_brackets_anywhere),
		cmocka_unit_test(test_folding_order_and_width),
		cmocka_unit_test(test_operators),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_group_failures),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_add_and_has),
		cmocka_unit_test(test_parse_replaces),
		cmocka_unit_test(test_fold_and_parse_again),
		cmocka_unit_test(test_random_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
