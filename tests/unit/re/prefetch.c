/* What nodes are told to have at hand: the packages of both roles of a pair, of every RE while they
 * are free, nothing that a hand-over would erase, nothing while they are on their way or in
 * doubt. */
#include "unit/core/pair.h"

static const char *prefetch_of(struct world *w, const char *node)
{
	static char text[400];
	struct phx_list packages = {0};
	uint64_t id = 0;
	int r = phx_re_prefetch(&w->s, world_node(w, node), &packages, &id);
	if (r == -ENOENT)
		return "nothing is said";
	assert_int_equal(r, 0);
	assert_true(id > 0 && id < 1ULL << 53);
	text[0] = '\0';
	PHX_LIST_EACH(struct phx_package_ref, p, &packages)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s-%s",
			 text[0] ? " " : "", p->name, p->version);
	phx_list_fini(&packages);
	return text;
}

static uint64_t id_of(struct world *w, const char *node)
{
	struct phx_list packages = {0};
	uint64_t id = 0;
	assert_int_equal(phx_re_prefetch(&w->s, world_node(w, node), &packages, &id), 0);
	phx_list_fini(&packages);
	return id;
}

static const char *serves(const struct world *w, const char *role)
{
	PHX_NODES_EACH(n, &w->s)
		if (n->state == PHX_NODE_ACTIVE && !strcmp(n->role, role))
			return n->name;
	fail_msg("nobody serves %s", role);
	return "";
}

/* One owner, NOOP at every grant: as lab-share has it. */
static void one_owner(struct world *w, uint32_t batch, uint32_t web)
{
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, batch),
			     s = agreement("shop", PHX_RE_WEB, web);
	PHX_STR_SET(s.owner, "hpc");
	nodes_ready(w);
	assert_int_equal(create(w, &q), 0);
	assert_int_equal(create(w, &s), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "shop"), 0);
	settle(w);
}

static void put_version(struct world *w, const char *role, const char *version)
{
	struct phx_event ev = {.kind = PHX_EV_role_put};
	assert_int_equal(
		phx_record_copy(&phx_role_record, &ev.role.role_put, phx_state_role(&w->s, role)),
		0);
	phx_str_copy(PHX_LIST_AT(&ev.role.role_put.packages, struct phx_package_ref, 0)->version,
		     PHX_NAME_MAX, version);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

static void pairs_have_both_roles(void **state)
{
	struct world *w = *state;
	one_owner(w, 3, 1);
	assert_string_equal(prefetch_of(w, serves(w, "compute")), "pkg-compute-1 pkg-web-1");
	assert_string_equal(prefetch_of(w, serves(w, "web")), "pkg-compute-1 pkg-web-1");
	assert_true(id_of(w, serves(w, "compute")) == id_of(w, serves(w, "web")));
}

static void id_follows_versions(void **state)
{
	struct world *w = *state;
	one_owner(w, 3, 1);
	uint64_t before = id_of(w, "n1");
	put_version(w, "web", "2");
	assert_true(id_of(w, "n1") != before);
	assert_string_equal(prefetch_of(w, "n1"), "pkg-compute-1 pkg-web-2");
	put_version(w, "web", "1");
	assert_true(id_of(w, "n1") == before);
}

static void strangers_are_not_prefetched(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 2);
	q.coordination = PHX_RE_COORDINATED_NONE;
	q.partner[0] = '\0';
	nodes_ready(w);
	assert_int_equal(create(w, &q), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
	struct phx_agreement s = agreement("shop", PHX_RE_WEB, 1);
	s.coordination = PHX_RE_COORDINATED_NONE;
	s.partner[0] = '\0';
	assert_int_equal(create(w, &s), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "shop"), 0);
	settle(w);
	assert_string_equal(prefetch_of(w, serves(w, "compute")), "pkg-compute-1");
	assert_string_equal(prefetch_of(w, serves(w, "web")), "pkg-web-1");
}

/* Not in its system it would be deployed anyway. */
static void free_nodes_have_those_of_all(void **state)
{
	struct world *w = *state;
	one_owner(w, 2, 1);
	assert_string_equal(prefetch_of(w, "n5"), "nothing is said");
	world_order(w, PHX_EV_assign, "n5", "compute");
	world_run(w, "n5");
	assert_string_equal(prefetch_of(w, "n5"), "nothing is said"); /* given by hand */
	world_order(w, PHX_EV_release, "n5", NULL);
	world_run(w, "n5");
	assert_int_equal(world_node(w, "n5")->allocation, PHX_ALLOCATION_FREE);
	assert_string_equal(prefetch_of(w, "n5"), "pkg-compute-1 pkg-web-1");
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "shop"), 0);
	assert_string_equal(prefetch_of(w, "n5"), "pkg-compute-1");
}

static void what_would_be_erased_is_not_fetched(void **state)
{
	struct world *w = *state;
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, 3),
			     s = agreement("shop", PHX_RE_WEB, 1);
	s.setup = q.setup = (struct phx_setup){PHX_SETUP_WIPE, PHX_WIPE_AUTO, PHX_WHEN_BOTH,
					       PHX_VERIFY_SAMPLE, PHX_SETUP_START_AUTO};
	nodes_ready(w);
	assert_int_equal(create(w, &q), 0);
	assert_int_equal(create(w, &s), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "shop"), 0);
	settle(w);
	assert_string_equal(prefetch_of(w, serves(w, "compute")), "pkg-compute-1");
	assert_string_equal(prefetch_of(w, serves(w, "web")), "pkg-web-1");
}

static void other_systems_are_not_prefetched(void **state)
{
	struct world *w = *state;
	one_owner(w, 3, 1);
	struct phx_event ev = {.kind = PHX_EV_role_put};
	assert_int_equal(
		phx_record_copy(&phx_role_record, &ev.role.role_put, phx_state_role(&w->s, "web")),
		0);
	PHX_STR_SET(ev.role.role_put.image_digest, "d2");
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	assert_string_equal(prefetch_of(w, serves(w, "compute")), "pkg-compute-1");
}

static void tell(struct world *w, int kind, const char *node)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void nodes_in_doubt_are_told_nothing(void **state)
{
	struct world *w = *state;
	one_owner(w, 4, 1);
	char node[PHX_NAME_MAX];
	PHX_STR_SET(node, serves(w, "compute"));
	tell(w, PHX_EV_missing, node);
	assert_string_equal(prefetch_of(w, node), "nothing is said");
	tell(w, PHX_EV_back, node);
	settle(w);
	assert_string_equal(prefetch_of(w, node), "pkg-compute-1 pkg-web-1");
	tell(w, PHX_EV_quarantine, node);
	assert_string_equal(prefetch_of(w, node), "nothing is said");
}

static void prefetch_is_an_order_that_stands(void **state)
{
	struct world *w = *state;
	PHX_AUTO(phx_list_fini) struct phx_list orders = {0};
	one_owner(w, 4, 1);
	const char *node = serves(w, "compute");
	assert_int_equal(phx_core_orders(&w->s, node, &orders), 0);
	assert_int_equal(orders.n, 2);
	struct phx_order *o = PHX_LIST_AT(&orders, struct phx_order, 1);
	assert_int_equal(o->kind, PHX_ORDER_ahead); /* of none: tests/unit/re/ahead.c */
	phx_record_fini(&phx_order_record, o);
	o = PHX_LIST_AT(&orders, struct phx_order, 0);
	assert_int_equal(o->kind, PHX_ORDER_prefetch);
	assert_true(o->id == id_of(w, node));
	assert_int_equal(o->role.packages.n, 2);
	assert_string_equal(o->role.name, "");
	phx_record_fini(&phx_order_record, o);
	orders.n = 0;
	/* on its way it follows its plan, and what was told stands */
	assert_int_equal(world_assign_setup(w, node, "web", PHX_SETUP_NOOP, PHX_WIPE_AUTO), 0);
	assert_int_equal(phx_core_orders(&w->s, node, &orders), 0);
	assert_int_equal(orders.n, 1);
	assert_int_equal(PHX_LIST_AT(&orders, struct phx_order, 0)->kind, PHX_ORDER_step);
	phx_record_fini(&phx_order_record, PHX_LIST_AT(&orders, struct phx_order, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(pairs_have_both_roles),
		WORLD_TEST(id_follows_versions),
		WORLD_TEST(strangers_are_not_prefetched),
		WORLD_TEST(free_nodes_have_those_of_all),
		WORLD_TEST(what_would_be_erased_is_not_fetched),
		WORLD_TEST(other_systems_are_not_prefetched),
		WORLD_TEST(nodes_in_doubt_are_told_nothing),
		WORLD_TEST(prefetch_is_an_order_that_stands),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
