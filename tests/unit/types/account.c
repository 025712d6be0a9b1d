/* Accounts and lists of them: what is refused, and with which words; which lists are one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "types/account.h"

#define ACCOUNT(more) \
	"{\"name\": \"alice\", \"uid\": 1500, \"gid\": 1500, \"home\": \"/home/alice\", " \
	"\"shell\": \"/bin/sh\"" more "}"
#define BOB(more) \
	"{\"name\": \"bob\", \"uid\": 1600, \"gid\": 100, \"home\": \"/home/bob\", \"shell\": " \
	"\"/bin/sh\"" more "}"
#define LIST(list, groups) "{\"re\": \"hpc\", \"list\": [" list "], \"groups\": [" groups "]}"

static const struct {
	const char *json;
	int result;
	const char *says;
} lists[] = {
	{"{}", 0, NULL},
	{LIST("", ""), 0, NULL},
	{LIST(ACCOUNT("") "," BOB(""), "{\"name\": \"lab\", \"gid\": 2000}"), 0, NULL},
	{"{\"list\": [" ACCOUNT("") "]}", -EINVAL, "re ''"},
	{"{\"re\": \"../x\"}", -EINVAL, "re '../x'"},
	{LIST(ACCOUNT("") "," ACCOUNT(""), ""), -EINVAL, "account alice is there twice"},
	{LIST(BOB("") "," ACCOUNT(", \"uid\": 1600"), ""), -EINVAL, NULL},
	{LIST("", "{\"name\": \"a\", \"gid\": 2000}, {\"name\": \"b\", \"gid\": 2000}"), -EINVAL,
	 "groups a and b have one gid, 2000"},
	{LIST("", "{\"name\": \"a\", \"gid\": 2000}, {\"name\": \"a\", \"gid\": 2001}"), -EINVAL,
	 "group a is there twice"},
	{LIST("", "{\"name\": \"disk\", \"gid\": 6}"), -EPERM, "group disk: gid 6 is the system's"},
	{LIST("", "{\"name\": \"a:b\", \"gid\": 2000}"), -EINVAL, "'a:b' is no name of a group"},
};

static void test_lists(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(lists); i++) {
		struct phx_accounts l = {0};
		struct phx_err err = {0};
		json_t *j = NULL;
		int r = phx_json_parse(lists[i].json, strlen(lists[i].json), &j, &err);
		r = r ? r : phx_json_to_record(&phx_accounts_record, j, &l, &err);
		r = r ? r : phx_accounts_check(&l, &err);
		if (r != lists[i].result || (lists[i].says && !strstr(err.text, lists[i].says)))
			fail_msg("%s: %d %s", lists[i].json, r, err.text);
		phx_record_fini(&phx_accounts_record, &l);
		json_decref(j);
	}
}

static struct phx_account alice(void)
{
	return (struct phx_account){.name = "alice",
				    .uid = 1500,
				    .gid = 1500,
				    .gecos = "Alice",
				    .home = "/home/alice",
				    .shell = "/bin/sh"};
}

static void check(const struct phx_account *a, int result, const char *says)
{
	struct phx_err err = {0};
	int r = phx_account_check(a, &err);
	if (r != result || (says && !strstr(err.text, says)))
		fail_msg("%s %u: %d %s", a->name, a->uid, r, err.text);
}

static void test_names(void **state)
{
	(void)state;
	static const char *const good[] = {"a", "_x", "Alice", "a.b-c_9"},
				 *const bad[] = {"",     "1a",  "-a",  "a b",      "a:b",
						 "a\nb", "a/b", "a,b", "\xc3\xa4", "+"};
	struct phx_account a = alice();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(good); i++) {
		PHX_STR_SET(a.name, good[i]);
		check(&a, 0, NULL);
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		PHX_STR_SET(a.name, bad[i]);
		check(&a, -EINVAL, "is no name");
	}
}

static void test_numbers(void **state)
{
	(void)state;
	static const uint32_t bad[] = {0, 1, 999, 60001, 65534, 65535, UINT32_MAX},
			      good[] = {1000, 60000, 65536};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_account a = alice();
		a.uid = bad[i];
		check(&a, -EPERM, "account alice: uid");
		a = alice();
		a.gid = bad[i];
		check(&a, -EPERM, "account alice: gid");
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(good); i++) {
		struct phx_account a = alice();
		a.uid = a.gid = good[i];
		check(&a, 0, NULL);
	}
	struct phx_account a = alice();
	a.gid = 100;
	check(&a, 0, NULL);
}

/* What would be another line, another field, or another place. */
static void test_texts(void **state)
{
	(void)state;
	static const char *const homes[] = {
		"",    "home",   "/a:b", "/a\nroot::0:0::/:", "/a/../b", "/a/..",
		"//a", "/a/./b", "/a/.", "/home/a\tb",        "/a//b"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(homes); i++) {
		struct phx_account a = alice();
		PHX_STR_SET(a.home, homes[i]);
		check(&a, -EINVAL, "home '");
		a = alice();
		PHX_STR_SET(a.shell, homes[i]);
		check(&a, -EINVAL, "shell '");
	}
	struct phx_account a = alice();
	PHX_STR_SET(a.gecos, "x:0:0");
	check(&a, -EINVAL, "gecos");
	PHX_STR_SET(a.gecos, "x\ny");
	check(&a, -EINVAL, "gecos");
	PHX_STR_SET(a.gecos, "J\xc3\xbcrgen, Room 5");
	check(&a, 0, NULL);
}

static void test_ids(void **state)
{
	(void)state;
	struct phx_accounts l = {0}, none = {0};
	struct phx_account a = alice();
	assert_true(phx_accounts_id(&none) == 0);
	PHX_STR_SET(l.re, "hpc");
	uint64_t empty = phx_accounts_id(&l);
	assert_true(empty > PHX_ACCOUNTS_UNKNOWN);
	l.list = (struct phx_list){&a, 1, 1};
	uint64_t one = phx_accounts_id(&l);
	assert_true(one != empty && one == phx_accounts_id(&l) && one < 1ULL << 53);
	a.uid++;
	assert_true(phx_accounts_id(&l) != one);
	a = alice();
	PHX_STR_SET(a.shell, "/bin/bash");
	assert_true(phx_accounts_id(&l) != one);
	a = alice();
	assert_int_equal(phx_account_group_add(&a.groups, "lab", 2000), 0);
	assert_int_equal(phx_account_group_add(&a.groups, "lab", 2001), 0);
	assert_int_equal(phx_account_group_add(&a.groups, "other", 2000), 0);
	assert_int_equal(a.groups.n, 1);
	assert_true(phx_accounts_id(&l) != one);
	assert_ptr_equal(phx_accounts_find(&l, "alice", 1500), &a);
	assert_null(phx_accounts_find(&l, "alice", 1501));
	assert_null(phx_accounts_find(&l, "bob", 1500));
	phx_record_fini(&phx_account_record, &a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists), cmocka_unit_test(test_names),
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_texts),
		cmocka_unit_test(test_ids)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
