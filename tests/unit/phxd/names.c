/* Hostlists and groups of nodes (cmd/phxd/names.c): which nodes a group means, and that a group
 * that is misspelt means none rather than all. */
#include "fake/engine.h"
#include "unit/core/world.h"

#include "phxd/names.c" /* a part of a program, not of the library */

static struct world *w;
static struct daemon d;
static enum phx_scope sees;

enum phx_scope person_scope(struct daemon *daemon, const struct phx_http_peer *peer,
			    enum phx_right right)
{
	assert_ptr_equal(daemon, &d);
	(void)peer;
	assert_int_equal(right, PHX_RIGHT_hardware);
	return sees;
}

void person_of(struct daemon *daemon, const struct phx_http_peer *peer, struct person *ret)
{
	(void)daemon, (void)peer;
	*ret = (struct person){0};
}

/* He holds n2. */
bool person_holds(const struct phx_state *s, const struct person *p, const struct phx_node *n)
{
	assert_ptr_equal(s, &w->s);
	(void)p;
	return !strcmp(n->name, "n2");
}

static void label(struct phx_node *n, const char *key, const char *value)
{
	struct phx_label *l = phx_list_push(&n->labels, sizeof(*l));
	PHX_STR_SET(l->key, key);
	PHX_STR_SET(l->value, value);
}

static void plug(const char *node, const char *neighbor, const char *port)
{
	struct phx_nic_facts *nic = phx_list_push(&world_node(w, node)->facts.nics, sizeof(*nic));
	PHX_STR_SET(nic->neighbor, neighbor);
	PHX_STR_SET(nic->neighbor_port, port);
}

/* n1 and n2 are up, in the pools web and batch, n3 is not. */
static int setup(void **state)
{
	world_setup((void **)&w);
	*state = w;
	fake_state = &w->s;
	world_ready(w, "n1", true);
	world_ready(w, "n2", true);
	world_add(w, "n3", true);
	PHX_STR_SET(world_node(w, "n1")->pool, "web");
	PHX_STR_SET(world_node(w, "n1")->role, "ramweb");
	PHX_STR_SET(world_node(w, "n2")->pool, "batch");
	PHX_STR_SET(world_node(w, "n2")->role, "web");
	label(world_node(w, "n1"), "rack", "3");
	label(world_node(w, "n2"), "rack", "33");
	label(world_node(w, "n3"), "rackroom", "3");
	sees = PHX_SCOPE_ALL;
	return 0;
}

static int teardown(void **state)
{
	fake_engine_is_free();
	return world_teardown(state);
}

/* The names that a text means, folded; "-": it is refused. */
static const char *means(const char *text, int want)
{
	static char folded[200];
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset set = {0};
	struct phx_err err = {0};
	int r = names_parse(&d, NULL, text, &set, &err);
	assert_int_equal(r, want);
	assert_int_equal(r < 0, err.text[0] != '\0');
	PHX_AUTO_FREE char *names = phx_nodeset_fold(&set);
	snprintf(folded, sizeof(folded), "%s", r < 0 ? "-" : names);
	return folded;
}

static void groups_are_of_what_nodes_are(void **state)
{
	(void)state;
	assert_string_equal(means("@all", 0), "n[1-3]");
	assert_string_equal(means("@up", 0), "n[1-2]");
	assert_string_equal(means("@missing", 0), "n3");
	assert_string_equal(means("@pool:web", 0), "n1");
	assert_string_equal(means("@pool:free", 0), "");
	assert_string_equal(means("@role:web", 0), "n2");
	assert_string_equal(means("@state:ready", 0), "n[1-2]");
	assert_string_equal(means("@all!@up", 0), "n3");
}

/* What is a pool and a role is the pool; what is only a role the role. */
static void a_bare_name_is_a_pool_before_a_role(void **state)
{
	(void)state;
	assert_string_equal(means("@web", 0), "n1");
	assert_string_equal(means("@ramweb", 0), "n1");
	assert_string_equal(means("@batch", 0), "n2");
	assert_string_equal(means("@guest", 0), "");
}

static void labels_are_compared_whole(void **state)
{
	(void)state;
	assert_string_equal(means("@rack=3", 0), "n1");
	assert_string_equal(means("@rack=33", 0), "n2");
	assert_string_equal(means("@rackroom=3", 0), "n3");
	assert_string_equal(means("@rack=4", 0), "");
	assert_string_equal(means("@rack=", -EINVAL), "-");
}

/* What switches say counts as labels do, and beside them. */
static void nodes_are_found_by_their_switch(void **state)
{
	(void)state;
	assert_string_equal(means("@switch=sw1", -ENOENT), "-"); /* no switch said anything */
	fake_engine_is_free();
	plug("n1", "sw1.site", "Ethernet1/7");
	plug("n1", "sw2.site", "Ethernet1/8");
	plug("n2", "sw1.site", "Ethernet1/8");
	plug("n3", "", "");
	assert_string_equal(means("@switch=sw1.site", 0), "n[1-2]");
	assert_string_equal(means("@switch=sw2.site", 0), "n1");
	assert_string_equal(means("@switch=sw1", 0), "");
	assert_string_equal(means("@port=Ethernet1/7", 0), "n1");
	assert_string_equal(means("@switch=sw1.site&@port=Ethernet1/8", 0), "n[1-2]");
	assert_string_equal(means("@all!@switch=sw2.site", 0), "n[2-3]");
	assert_string_equal(means("@swich=sw1.site", -ENOENT), "-");
	fake_engine_is_free();
	label(world_node(w, "n3"), "switch", "sw2.site");
	assert_string_equal(means("@switch=sw2.site", 0), "n[1,3]");
}

/* Who sees no hardware learns nothing of it from what a group means. */
static void a_switch_is_told_to_who_sees_the_hardware(void **state)
{
	(void)state;
	plug("n1", "sw1", "p1");
	plug("n2", "sw1", "p2");
	sees = PHX_SCOPE_OWN;
	assert_string_equal(means("@switch=sw1", 0), "n2");
	assert_string_equal(means("@port=p1", 0), "");
	sees = PHX_SCOPE_NONE;
	assert_string_equal(means("@switch=sw1", -ENOENT), "-");
	fake_engine_is_free();
	label(world_node(w, "n3"), "switch",
	      "sw1"); /* which the provider put there for all to see */
	assert_string_equal(means("@switch=sw1", 0), "n3");
}

/* "@all!@role:web-sever" would otherwise be all, and be wiped. */
static void what_is_misspelt_is_refused(void **state)
{
	static const char *const wrong[] = {"@role:web-sever", "@pool:wep", "@state:redy",
					    "@rakc=3",         "@wep",      "@al",
					    "@all:n1",         "@upper",    "@missing2"};
	char text[64];
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++) {
		assert_string_equal(means(wrong[i], -ENOENT), "-");
		snprintf(text, sizeof(text), "@all!%s", wrong[i]);
		assert_string_equal(means(text, -ENOENT), "-");
		fake_engine_is_free();
	}
}

static void names_that_nobody_has_are_names_still(void **state)
{
	(void)state;
	assert_string_equal(means("n[2-4],x1", 0), "n[2-4],x1");
	assert_string_equal(means("n[2-", -EINVAL), "-");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(groups_are_of_what_nodes_are),
		T(a_bare_name_is_a_pool_before_a_role),
		T(labels_are_compared_whole),
		T(nodes_are_found_by_their_switch),
		T(a_switch_is_told_to_who_sees_the_hardware),
		T(what_is_misspelt_is_refused),
		T(names_that_nobody_has_are_names_still),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
