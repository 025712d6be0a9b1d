/* Layouts as values: what is wrong with one, sizes, and whether two are the same. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "types/layout.h"

#define OK "\"name\": \"a\", \"type\": \"ext4\", \"mount\": \"/data\""
#define ONE(more) "{\"volumes\": [{" OK more "}]}"
#define TWO(first, second) "{\"volumes\": [{" first "}, {" second "}]}"

static struct phx_layout parse(const char *json)
{
	struct phx_layout l;
	struct phx_err err = {0};
	if (phx_json_text_to_record(&phx_layout_record, json, &l, &err) < 0)
		fail_msg("%s: %s", json, err.text);
	return l;
}

static void what_is_wrong_is_said(void **state)
{
	static const struct {
		const char *json, *says; /* NULL: it is right */
		uint32_t index;
	} cases[] = {
		{"{}", NULL, 0},
		{ONE(""), NULL, 0},
		{ONE(", \"disks\": [{\"text\": \"size=1TiB..\"}]"), NULL, 0},
		{ONE(", \"disks\": [{\"text\": \"vdb\"}]"), "disks: \"vdb\" must be KEY=VALUE", 0},
		{ONE(", \"size\": \"64 GiB\""), NULL, 0},
		{ONE(", \"size\": \"50%\""), NULL, 0},
		{ONE(", \"size\": \"0%\""), "size: '0%' must be a size", 0},
		{ONE(", \"size\": \"101%\""), "from 1% to 100%", 0},
		{ONE(", \"size\": \"1000\""), "size: '1000' must be a size from 1 MiB on", 0},
		{ONE(", \"size\": \"much\""), "size: 'much'", 0},
		{ONE(", \"join\": \"raid1\""), "join: raid1 needs 2 disks or more: pick = \"all\"",
		 0},
		{ONE(", \"join\": \"raid1\", \"pick\": \"all\""), NULL, 0},
		{ONE(", \"join\": \"raid10\", \"pick\": \"all\", \"count\": 2"),
		 "raid10 needs 4 disks", 0},
		{ONE(", \"pick\": \"all\""), "several disks are no plain volume", 0},
		{ONE(", \"pick\": \"all\", \"count\": 1"), NULL, 0},
		{ONE(", \"count\": 2"), "count is for pick = \"all\"", 0},
		{ONE(", \"options\": \"noatime,nosuid\""), NULL, 0},
		{ONE(", \"options\": \"a b\""), "options: 'a b'", 0},
		{TWO(OK, "\"name\": \"b\", \"type\": \"xfs\", \"mount\": \"/data\""),
		 "volume 'b': mount: /data has volume 'a' already", 1},
		{TWO(OK, "\"name\": \"a\", \"type\": \"swap\""),
		 "volume 'a': there are two of that name", 1},
		{TWO(OK, "\"name\": \"b\", \"type\": \"swap\""), NULL, 0},
		{TWO(OK, "\"name\": \"b\", \"type\": \"swap\", \"mount\": \"/b\""),
		 "swap has no mount", 1},
		{TWO(OK, "\"name\": \"b\", \"type\": \"ext4\""), "mount is missing", 1},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_layout l = parse(cases[i].json);
		struct phx_err err = {0};
		uint32_t index = 99;
		int r = phx_layout_check(&l.volumes, &index, &err);
		if (cases[i].says ? r != -EINVAL || !strstr(err.text, cases[i].says) ||
				    index != cases[i].index
				  : r != 0)
			fail_msg("%s: %d, volume %u: %s", cases[i].json, r, index, err.text);
		phx_record_fini(&phx_layout_record, &l);
	}
}

/* Nothing is mounted over what the system lives by, and no path leads elsewhere. */
static void where_it_may_be_mounted(void **state)
{
	static const struct {
		const char *mount;
		bool may;
	} cases[] = {
		{"/data", true},
		{"/srv/a-b_c.d", true},
		{"/home", true},
		{"/opt/site", true},
		{"/var/lib/mysql", true},
		{"/usr2", true},
		{"/", false},
		{"/usr", false},
		{"/usr/local", false},
		{"/etc", false},
		{"/var", false},
		{"/var/lib", false},
		{"/opt/phoenix", false},
		{"/var/lib/phoenix/x", false},
		{"/run/x", false},
		{"/data/", false},
		{"/data//x", false},
		{"/data/../etc", false},
		{"/data/..", false},
		{"/data/.", false},
		{"data", false},
		{"/da ta", false},
		{"/..", false},
		{"/.", false},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_layout l = parse(ONE(""));
		struct phx_layout_volume *v = PHX_LIST_AT(&l.volumes, struct phx_layout_volume, 0);
		PHX_STR_SET(v->mount, cases[i].mount);
		if ((phx_layout_check(&l.volumes, NULL, NULL) == 0) != cases[i].may)
			fail_msg("%s", cases[i].mount);
		phx_record_fini(&phx_layout_record, &l);
	}
}

static void sizes_are_whole_mib(void **state)
{
	uint64_t n;
	(void)state;
	assert_int_equal(phx_layout_size("", (5ull << 30) + 7, &n, NULL), 0);
	assert_int_equal(n, 5ull << 30);
	assert_int_equal(phx_layout_size("25%", 4ull << 30, &n, NULL), 0);
	assert_int_equal(n, 1023ull << 20); /* of whole hundredths */
	assert_int_equal(phx_layout_size("2 GiB", 1, &n, NULL), 0);
	assert_int_equal(n, 2ull << 30);
	assert_int_equal(phx_layout_size("100%", 64ull << 20, &n, NULL), 0);
	assert_int_equal(n, 63ull << 20);
}

static void another_option_is_another_layout(void **state)
{
	struct phx_layout a = parse(ONE("")), b = parse(ONE("")),
			  c = parse(ONE(", \"options\": \"ro\"")),
			  d = parse(ONE(", \"disks\": [{\"text\": \"id=x\"}]")), none = {0};
	(void)state;
	assert_true(phx_layout_same(&a.volumes, &b.volumes));
	assert_true(phx_layout_same(&none.volumes, &none.volumes));
	assert_false(phx_layout_same(&a.volumes, &c.volumes));
	assert_false(phx_layout_same(&a.volumes, &d.volumes));
	assert_false(phx_layout_same(&a.volumes, &none.volumes));
	phx_record_fini(&phx_layout_record, &a);
	phx_record_fini(&phx_layout_record, &b);
	phx_record_fini(&phx_layout_record, &c);
	phx_record_fini(&phx_layout_record, &d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(where_it_may_be_mounted),
		cmocka_unit_test(sizes_are_whole_mib),
		cmocka_unit_test(another_option_is_another_layout),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
