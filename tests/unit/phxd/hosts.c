/* Folded hostlists that are kept (cmd/phxd/hosts.c): a text is made anew when its group of nodes
 * has changed, and only then; groups are told apart, and those that have gone leave nothing
 * behind. The groups are a fake that counts how often it is gone through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <stdio.h>

#include "state/members.h"

/* ---- groups ---- */

enum { GROUPS = 4, NODES = 8 };

static struct group {
	enum phx_members_kind kind;
	const char *key;
	uint64_t changed;
	uint32_t n;
	struct phx_node nodes[NODES];
} groups[GROUPS];
static unsigned n_walks;

static struct group *group_of(enum phx_members_kind kind, const char *key)
{
	for (int i = 0; i < GROUPS; i++)
		if (groups[i].key && groups[i].kind == kind && !strcmp(groups[i].key, key))
			return &groups[i];
	return NULL;
}

static uint32_t fake_count(const struct phx_state *s, enum phx_members_kind kind, const char *key)
{
	const struct group *g = group_of(kind, key);
	(void)s;
	return g ? g->n : 0;
}

static const struct phx_node *fake_next(const struct phx_state *s, enum phx_members_kind kind,
					const char *key, uint32_t *at)
{
	const struct group *g = group_of(kind, key);
	(void)s;
	n_walks += *at == 0;
	return g && *at < g->n ? &g->nodes[(*at)++] : NULL;
}

static uint64_t fake_changed(const struct phx_state *s, enum phx_members_kind kind, const char *key)
{
	const struct group *g = group_of(kind, key);
	(void)s;
	return g ? g->changed : 0;
}

#define phx_members_count fake_count
#define phx_members_next fake_next
#define phx_members_changed fake_changed
#include "phxd/hosts.c" /* a part of a program, not of the library */

static struct phx_list kept;

static void put(int i, enum phx_members_kind kind, const char *key, uint64_t changed,
		const char *const *names)
{
	groups[i] = (struct group){.kind = kind, .key = key, .changed = changed};
	for (; names && names[groups[i].n]; groups[i].n++)
		PHX_STR_SET(groups[i].nodes[groups[i].n].name, names[groups[i].n]);
}
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static int setup(void **state)
{
	(void)state;
	memset(groups, 0, sizeof(groups));
	n_walks = 0;
	kept = (struct phx_list){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	hosts_fini(&kept);
	assert_int_equal(kept.n, 0);
	hosts_fini(&kept); /* twice is fine */
	return 0;
}

static void assert_hosts(enum phx_members_kind kind, const char *key, const char *want)
{
	PHX_AUTO_JSON json_t *j = hosts_json(&kept, NULL, kind, key);
	assert_string_equal(json_string_value(j), want);
}

#define POOL PHX_MEMBERS_POOL

static void a_group_is_shown_folded(void **state)
{
	(void)state;
	put(0, POOL, "web", 1, NAMES("n3", "n1", "n2", "m7"));
	assert_hosts(POOL, "web", "m7,n[1-3]");
	put(0, POOL, "web", 2, NULL);
	assert_hosts(POOL, "web", "");
	assert_hosts(POOL, "nothing", "");
}

/* With 10,000 nodes it is milliseconds, under the engine's lock. */
static void a_text_is_made_once_a_change(void **state)
{
	(void)state;
	put(0, POOL, "web", 5, NAMES("n1"));
	for (int i = 0; i < 3; i++)
		assert_hosts(POOL, "web", "n1");
	assert_int_equal(n_walks, 1);
	put(0, POOL, "web", 6, NAMES("n1", "n2"));
	for (int i = 0; i < 3; i++)
		assert_hosts(POOL, "web", "n[1-2]");
	assert_int_equal(n_walks, 2);
	/* a journal that was restored begins with lower numbers */
	put(0, POOL, "web", 3, NAMES("n9"));
	assert_hosts(POOL, "web", "n9");
	assert_int_equal(n_walks, 3);
}

static void where_nobody_knows_of_a_change_it_is_made_each_time(void **state)
{
	(void)state;
	put(0, POOL, "web", 0, NAMES("n1"));
	assert_hosts(POOL, "web", "n1");
	put(0, POOL, "web", 0, NAMES("n2"));
	assert_hosts(POOL, "web", "n2");
}

/* An RE is called as its pool is. */
static void groups_of_one_name_are_told_apart(void **state)
{
	(void)state;
	put(0, POOL, "web", 7, NAMES("n1"));
	put(1, PHX_MEMBERS_HELD, "web", 7, NAMES("n2"));
	put(2, PHX_MEMBERS_COMING, "web", 7, NAMES("n3"));
	put(3, POOL, "web2", 7, NAMES("n4"));
	for (int i = 0; i < 2; i++) {
		assert_hosts(POOL, "web", "n1");
		assert_hosts(PHX_MEMBERS_HELD, "web", "n2");
		assert_hosts(PHX_MEMBERS_COMING, "web", "n3");
		assert_hosts(POOL, "web2", "n4");
	}
	assert_int_equal(n_walks, 4);
}

/* Its entry goes to the next group; what it showed does not. */
static void groups_that_have_gone_leave_nothing_behind(void **state)
{
	char key[16];
	(void)state;
	put(1, POOL, "stays", 7, NAMES("n8"));
	assert_hosts(POOL, "stays", "n8");
	for (int i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "pool%d", i);
		put(0, POOL, key, 7, i % 2 ? NAMES("n1") : NAMES("n2"));
		assert_hosts(POOL, key, i % 2 ? "n1" : "n2");
		assert_hosts(POOL, "stays", "n8");
	}
	assert_int_equal(kept.n, 2);
	assert_int_equal(n_walks, 1001);
	/* nor does asking for what is not there */
	put(0, POOL, "last", 7, NULL);
	for (int i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "none%d", i);
		assert_hosts(POOL, key, "");
	}
	assert_int_equal(kept.n, 2);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_group_is_shown_folded),
		TEST(a_text_is_made_once_a_change),
		TEST(where_nobody_knows_of_a_change_it_is_made_each_time),
		TEST(groups_of_one_name_are_told_apart),
		TEST(groups_that_have_gone_leave_nothing_behind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
