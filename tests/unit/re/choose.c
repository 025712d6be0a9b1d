/* Which nodes go: one that cannot go to an RE is planned once, stays where it is, and is there for
 * every other RE. Work is counted, not timed. */
#include "unit/core/pair.h"

#include "state/index.h"

static void spoil_disk(struct phx_node *n, bool bad)
{
	PHX_LIST_AT(&n->facts.disks, struct phx_disk_facts, 0)->read_only = bad;
}

static void created(struct world *w, const char *name, int type, const char *role, uint32_t lower)
{
	struct phx_agreement a = agreement(name, type, lower);
	a.coordination = PHX_RE_COORDINATED_NONE;
	a.partner[0] = '\0';
	PHX_STR_SET(a.role, role);
	assert_int_equal(create(w, &a), 0);
}

static void active(struct world *w, const char *name, int type, const char *role, uint32_t lower)
{
	created(w, name, type, role, lower);
	assert_int_equal(operate(w, PHX_EV_re_activate, name), 0);
}

static uint64_t visits(struct world *w)
{
	return *phx_index_visits(&w->s);
}

static uint32_t n_with(const struct world *w, int share, const char *re)
{
	uint32_t count = 0;
	PHX_NODES_EACH(n, &w->s)
		count += n->allocation == share && !strcmp(n->allocated_to, re);
	return count;
}

/* ---- how much is tried ---- */

/* No free node can serve the role, and half of them are wanted: each is tried once, and not at
 * later events. */
static void none_fits(struct world *w, uint32_t n)
{
	many_ready(w, n);
	PHX_NODES_EACH(it, &w->s)
		spoil_disk(it, true);
	uint64_t before = visits(w);
	active(w, "queue", PHX_RE_BATCH, "compute", n / 2);
	assert_int_equal(visits(w) - before, n);
	assert_int_equal(n_with(w, PHX_ALLOCATION_FREE, ""), n);
	for (int i = 0; i < 5; i++)
		tick(w, 60000);
	assert_int_equal(visits(w) - before, n);
	/* one tells news, its disk is as good as new: that one is tried, and goes */
	assert_int_equal(world_hello(w, "n2", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(visits(w) - before, n + 1);
	assert_int_equal(n_with(w, PHX_ALLOCATION_COMING, "queue"), 1);
}

static void each_is_tried_once_of_100(void **state)
{
	none_fits(*state, 100);
}

static void each_is_tried_once_of_1000(void **state)
{
	none_fits(*state, 1000);
}

static void no_more_are_tried_than_go(void **state)
{
	struct world *w = *state;
	many_ready(w, 1000);
	uint64_t before = visits(w);
	active(w, "queue", PHX_RE_BATCH, "compute", 20);
	assert_int_equal(visits(w) - before, 20);
	assert_int_equal(n_with(w, PHX_ALLOCATION_COMING, "queue"), 20);
}

/* One that gave trouble before goes last of all, and those that cannot go at all are in nobody's
 * way. */
static void the_last_ones_fit(void **state)
{
	struct world *w = *state;
	many_ready(w, 100);
	PHX_NODES_EACH(it, &w->s)
		spoil_disk(it, it->number <= 90);
	PHX_STR_SET(world_node(w, "n91")->reason, "it was odd");
	uint64_t before = visits(w);
	active(w, "queue", PHX_RE_BATCH, "compute", 9);
	assert_int_equal(visits(w) - before, 99);
	assert_int_equal(n_with(w, PHX_ALLOCATION_COMING, "queue"), 9);
	assert_int_equal(world_node(w, "n91")->allocation, PHX_ALLOCATION_FREE);
	active(w, "other", PHX_RE_BATCH, "compute", 1);
	assert_string_equal(world_node(w, "n91")->allocated_to, "other");
}

/* An RE that wants checked nodes: the others stay free, with the reason, until they are checked. */
static void an_re_may_want_checked_nodes(void **state)
{
	struct world *w = *state;
	many_ready(w, 4);
	struct phx_agreement a = agreement("queue", PHX_RE_BATCH, 2);
	a.coordination = PHX_RE_COORDINATED_NONE;
	a.partner[0] = '\0';
	a.needs_check_s = 3600;
	assert_int_equal(world_order(w, PHX_EV_check, "n3", ""), 0);
	world_run(w, "n3");
	assert_int_equal(create(w, &a), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	assert_int_equal(n_with(w, PHX_ALLOCATION_COMING, "queue"), 1);
	assert_string_equal(world_node(w, "n3")->allocated_to, "queue");
	assert_string_equal(world_node(w, "n1")->reason,
			    "cannot go to queue: pool queue wants checked nodes (needs_check), and "
			    "n1 is none: processors never checked");
	assert_int_equal(world_order(w, PHX_EV_check, "n1", ""), 0);
	assert_int_equal(world_node(w, "n1")->allocation, PHX_ALLOCATION_OUTSIDE);
	world_run(w, "n1");
	assert_int_equal(n_with(w, PHX_ALLOCATION_COMING, "queue") +
				 n_with(w, PHX_ALLOCATION_HELD, "queue"),
			 2);
	assert_string_equal(world_node(w, "n1")->allocated_to, "queue");
}

/* ---- for whom it counts ---- */

static void unfit_for_one_is_fit_for_another(void **state)
{
	struct world *w = *state;
	nodes_ready(w);
	PHX_NODES_EACH(n, &w->s)
		spoil_disk(n, true);
	active(w, "queue", PHX_RE_BATCH, "compute", 2);
	settle(w);
	assert_int_equal(held(w, "queue"), 0);
	assert_non_null(strstr(world_node(w, "n1")->reason, "cannot go to queue"));
	active(w, "pages", PHX_RE_WEB, "ramweb", 2); /* it wants no disk */
	settle(w);
	assert_int_equal(held(w, "pages"), 2);
	assert_string_equal(world_node(w, "n1")->reason, "");
	/* what one tells is of that one */
	assert_int_equal(world_hello(w, "n4", PHX_ENV_DEPLOY, true), 0);
	settle(w);
	assert_int_equal(held(w, "queue"), 1);
	assert_string_equal(world_node(w, "n4")->pool, "queue");
	assert_int_equal(world_hello(w, "n5", PHX_ENV_DEPLOY, true), 0);
	settle(w);
	assert_int_equal(held(w, "queue"), 2);
}

/* It is quarantined, and still counted free when the ledger gives nodes away in the same event: why
 * it is stays. */
static void a_quarantined_node_keeps_its_reason(void **state)
{
	struct world *w = *state;
	nodes_ready(w);
	active(w, "queue", PHX_RE_BATCH, "compute", 1);
	settle(w);
	created(w, "other", PHX_RE_BATCH, "compute", 4);
	struct phx_node *n = world_node(w, "n2");
	assert_int_equal(n->allocation, PHX_ALLOCATION_FREE);
	n->state = PHX_NODE_QUARANTINED;
	n->pool[0] = '\0';
	PHX_STR_SET(n->reason, "it smells of smoke");
	assert_int_equal(operate(w, PHX_EV_re_activate, "other"), 0);
	settle(w);
	assert_string_equal(world_node(w, "n2")->reason, "it smells of smoke");
	assert_int_equal(world_node(w, "n2")->state, PHX_NODE_QUARANTINED);
	assert_int_equal(held(w, "other"), 3);
}

/* ---- from one RE to another ---- */

/* Nothing can be planned on two disks of one name. */
static void spoil(struct world *w, const char *node)
{
	struct phx_facts *f = &world_node(w, node)->facts;
	struct phx_disk_facts *d = phx_list_push(&f->disks, sizeof(*d));
	assert_non_null(d);
	*d = *PHX_LIST_AT(&f->disks, struct phx_disk_facts, 0);
}

static void mend(struct world *w, const char *node)
{
	struct phx_event ev = {.kind = PHX_EV_inventory};
	PHX_STR_SET(ev.node, node);
	world_facts(&ev.inventory.facts, world_index(node));
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
}

static void serves_on(struct world *w, const char *node)
{
	const struct phx_node *n = world_node(w, node);
	assert_int_equal(n->state, PHX_NODE_ACTIVE);
	assert_string_equal(n->pool, "queue");
	assert_int_equal(n->allocation, PHX_ALLOCATION_HELD);
	assert_non_null(strstr(n->reason, "cannot go to shop"));
}

static void one_that_cannot_change_serves_on(void **state)
{
	struct world *w = *state;
	pair_running(w, 4, 1);
	spoil(w, "n1");
	spoil(w, "n2");
	web_is_busy(w);
	settle(w);
	serves_on(w, "n1");
	serves_on(w, "n2");
	assert_string_equal(world_node(w, "n3")->pool, "shop");
	spoil(w, "n4");
	uint64_t before = visits(w);
	for (int i = 0; i < 4; i++) {
		web_is_busy(w);
		settle(w);
		assert_int_equal(held(w, "shop"), 2);
		assert_int_equal(held(w, "queue"), 3);
	}
	assert_int_equal(visits(w) - before, 1);
	serves_on(w, "n4");
	mend(w, "n2");
	settle(w);
	assert_int_equal(held(w, "shop"), 3);
	assert_string_equal(world_node(w, "n2")->pool, "shop");
	assert_string_equal(world_node(w, "n2")->reason, "");
}

/* A job that ends for the web would end for nothing where its nodes cannot go there. */
static void no_job_ends_for_nothing(void **state)
{
	struct world *w = *state;
	struct phx_state copy;
	pair_running(w, 4, 1);
	for (unsigned i = 1; i <= 4; i++) {
		char name[8];
		snprintf(name, sizeof(name), "n%u", i);
		spoil(w, name);
	}
	web_is_busy(w);
	settle(w);
	assert_int_equal(held(w, "queue"), 4);
	uint64_t id = submit(w, 4);
	/* also after a restart from a snapshot */
	assert_int_equal(phx_record_copy(&phx_state_record, &copy, &w->s), 0);
	phx_state_fini(&w->s);
	w->s = copy;
	for (int i = 0; i < 3; i++) {
		web_is_busy(w);
		assert_int_equal(phx_state_job(&w->s, id)->state, PHX_JOB_RUNNING);
		assert_int_equal(phx_state_job(&w->s, id)->end, PHX_JOB_END_NONE);
	}
	mend(w, "n3"); /* one that can go is worth it */
	web_is_busy(w);
	assert_int_equal(phx_state_job(&w->s, id)->end, PHX_JOB_END_KILLED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(each_is_tried_once_of_100),
		WORLD_TEST(each_is_tried_once_of_1000),
		WORLD_TEST(no_more_are_tried_than_go),
		WORLD_TEST(the_last_ones_fit),
		WORLD_TEST(an_re_may_want_checked_nodes),
		WORLD_TEST(unfit_for_one_is_fit_for_another),
		WORLD_TEST(a_quarantined_node_keeps_its_reason),
		WORLD_TEST(one_that_cannot_change_serves_on),
		WORLD_TEST(no_job_ends_for_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
