/* Settings of the site at the head (cmd/phxd/site.c): which nodes are given a bundle, of which role
 * and pool; and what an agent is told of its id. */
#include "unit/core/pair.h"

#include "phxd/site.c" /* a part of a program, not of the library */
#include "fake/submitted.h"

static struct daemon d;
static struct site site;
static const struct phx_state no_turns; /* nobody waits for his turn */

static struct phx_node node(enum phx_node_state state)
{
	return (struct phx_node){.name = "n1",
				 .state = (int)state,
				 .role = "compute",
				 .pool = "batch",
				 .ip = "10.0.0.1"};
}

static void who_is_in_no_order_gets_none(void **state)
{
	static const struct {
		enum phx_node_state state;
		bool gets;
	} states[] = {
		{PHX_NODE_NEW, false},        {PHX_NODE_COMMISSIONING, false},
		{PHX_NODE_READY, true},       {PHX_NODE_ACTIVE, true},
		{PHX_NODE_MAINTENANCE, true}, {PHX_NODE_QUARANTINED, false},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(states); i++) {
		struct phx_node n = node(states[i].state);
		struct site_facts f;
		if (site_facts_of(&no_turns, &n, &f) != states[i].gets)
			fail_msg("%s", phx_enum_name(&phx_node_state_names, n.state));
		if (states[i].gets)
			assert_string_equal(f.role, "compute");
	}
}

/* What is of the role that the node leaves is not that of the next one, and the other way round:
 * none until the step that activates that. */
static void on_its_way_it_gets_those_of_where_it_goes(void **state)
{
	static const int kinds[] = {PHX_STEP_drain, PHX_STEP_stop, PHX_STEP_activate,
				    PHX_STEP_start};
	struct phx_node n = node(PHX_NODE_DEPLOYING);
	(void)state;
	PHX_STR_SET(n.plan.to_role, "web");
	PHX_STR_SET(n.plan.to_pool, "pages");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++)
		((struct phx_step *)phx_list_push(&n.plan.steps, sizeof(struct phx_step)))->kind =
			kinds[i];
	for (n.plan.cursor = 0; n.plan.cursor < n.plan.steps.n; n.plan.cursor++) {
		struct site_facts f;
		bool gets = site_facts_of(&no_turns, &n, &f);
		assert_int_equal(gets, n.plan.cursor >= 2);
		if (gets) {
			assert_string_equal(f.role, "web");
			assert_string_equal(f.pool, "pages");
		}
	}
	phx_list_fini(&n.plan.steps);
}

static void put(const struct site_facts *f, int64_t has, const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_list running = {0};
	if (has >= 0)
		*(struct beat_running *)phx_list_push(&running, sizeof(struct beat_running)) =
			(struct beat_running){PHX_ORDER_site, has, 0};
	site_orders_put(&site, f, &running, &b);
	assert_string_equal(b.n ? b.data : "", want);
	phx_list_fini(&running);
}

static void an_agent_is_told_until_it_has_the_bundle(void **state)
{
	struct phx_node n = node(PHX_NODE_ACTIVE);
	struct site_facts f;
	struct phx_site settings = {.salt = "s", .domain = "example.org"};
	struct phx_site_file *file = phx_list_push(&settings.files, sizeof(*file));
	char want[80];
	(void)state;
	PHX_STR_SET(file->path, "/etc/a");
	PHX_STR_SET(file->of, "web");
	file->scope = PHX_SITE_ROLE;
	assert_true(site_facts_of(&no_turns, &n, &f));
	put(&f, 0, ""); /* there are no settings */
	assert_int_equal(site_take(&site, &settings), 0);
	uint64_t id = site_wanted(&site, &f, NULL);
	assert_int_not_equal(id, 0);
	snprintf(want, sizeof(want), "{\"kind\":\"site\",\"id\":%llu}", (unsigned long long)id);
	put(&f, 0, want);
	put(&f, (int64_t)id + 1, want);
	put(&f, (int64_t)id, "");
	put(&f, -1, ""); /* an agent of before */
	/* another one with other facts, and that again with the former ones */
	PHX_STR_SET(f.role, "web");
	assert_int_not_equal(site_wanted(&site, &f, NULL), id);
	PHX_STR_SET(f.role, "compute");
	assert_int_equal(site_wanted(&site, &f, NULL), id);
	site_facts_fini(&f);
}

static int setup(void **state)
{
	(void)state;
	site.d = &d;
	pthread_mutex_init(&site.lock, NULL);
	pthread_mutex_init(&site.turn, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_site_index_free(site.index);
	settings_free(site.settings);
	forget_known(&site);
	phx_hash_fini(&site.places);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_in_no_order_gets_none),
		cmocka_unit_test(on_its_way_it_gets_those_of_where_it_goes),
		cmocka_unit_test(an_agent_is_told_until_it_has_the_bundle),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
