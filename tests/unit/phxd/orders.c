/* What an agent is told with the answer to its beat (cmd/phxd/orders.c): orders of a real core that
 * are new for it, each once, and nothing for a key that is not the node's. What the other parts
 * add is a word of a fake each. */
#include "unit/core/pair.h"

#include "fake/metrics.h"
#include "phxd/orders.c" /* a part of a program, not of the library */
#include "fake/submitted.h"

static struct daemon d;
static struct world *w;
static struct phx_list running; /* struct beat_running: what the agent says that it has */
static bool fake_accounts_known;
static bool fake_site_for_all; /* may nodes have settings of the site now? */

/* what of the daemon it calls */

bool accounts_are_known(const struct phx_list *of)
{
	assert_ptr_equal(of, &running);
	return fake_accounts_known;
}
void accounts_orders_put(struct accounts *a, const char *re, const struct phx_list *of,
			 struct phx_buf *b)
{
	(void)a, (void)of;
	phx_buf_addf(b, "accounts(%s) ", re);
}
bool site_facts_of(const struct phx_state *of, const struct phx_node *n, struct site_facts *ret)
{
	(void)of;
	assert_true(fake_engine_held);
	*ret = (struct site_facts){0};
	PHX_STR_SET(ret->name, n->name);
	return fake_site_for_all;
}
void site_facts_fini(struct site_facts *f)
{
	phx_list_fini(&f->labels);
}
void site_orders_put(struct site *s, const struct site_facts *f, const struct phx_list *of,
		     struct phx_buf *b)
{
	(void)s, (void)of;
	phx_buf_addf(b, "site(%s) ", f->name);
}
void site_head(struct daemon *of, const char *address, char ret[PHX_IPV4_MAX])
{
	(void)of, (void)address;
	assert_false(fake_engine_held); /* others hold its lock while they make bundles */
	phx_str_copy(ret, PHX_IPV4_MAX, "10.2.0.2");
}
void view_order_put(struct daemon *of, const char *node, const struct phx_order *o,
		    const struct order_beside *beside, struct phx_buf *b)
{
	assert_string_equal(beside->head, "10.2.0.2");
	const char *re = beside->re;
	(void)of;
	assert_string_equal(node, "n1");
	assert_false(fake_engine_held); /* it reads files */
	phx_buf_addf(b, "%s(%s%s) ", phx_order_name((enum phx_order_kind)o->kind), re ? re : "-",
		     beside->protects && beside->protect.selectors[0] ? ", protects" : "");
}
void tasks_orders_put(struct tasks *t, const char *node, const struct phx_list *of,
		      struct phx_buf *b)
{
	(void)t, (void)node, (void)of;
	phx_buf_addf(b, "tasks ");
}
void asks_orders_put(struct asks *k, const char *node, struct phx_buf *b)
{
	(void)k, (void)node;
	phx_buf_addf(b, "asks ");
}
void anchors_orders_put(struct anchors *a, const struct phx_list *of, struct phx_buf *b)
{
	(void)a, (void)of;
	phx_buf_addf(b, "anchor ");
}
void keys_orders_put(struct keys *k, const struct phx_list *of, struct phx_buf *b)
{
	(void)k, (void)of;
	phx_buf_addf(b, "ca");
}

#define OTHERS "tasks asks anchor ca"

static int setup(void **state)
{
	fake_engine_begin();
	fake_accounts_known = true;
	fake_site_for_all = false;
	world_setup(state);
	w = *state;
	fake_state = &w->s;
	return 0;
}

static int teardown(void **state)
{
	phx_list_fini(&running);
	return world_teardown(state);
}

static void runs(enum phx_order_kind kind, int64_t id, int64_t run)
{
	struct beat_running *r = phx_list_push(&running, sizeof(*r));
	*r = (struct beat_running){kind, id, run};
}

static void assert_told(const char *node, const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	orders_put(&d, node, world_node(w, node)->key_fp, &running, &b);
	assert_string_equal(b.n ? b.data : "", want);
}

static void nothing_is_for_a_key_that_the_node_has_no_more(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	(void)state;
	world_ready(w, "n1", true);
	assert_told("n1", "accounts() " OTHERS);
	orders_put(&d, "n1", "another key", &running, &b);
	orders_put(&d, "n1", "", &running, &b);
	orders_put(&d, "gone", world_node(w, "n1")->key_fp, &running, &b);
	assert_int_equal(b.n, 0);
}

static void a_step_is_told_until_the_agent_has_it(void **state)
{
	(void)state;
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), 0);
	const struct phx_step *step = phx_node_step(world_node(w, "n1"));
	/* on its way it is in no RE, and has nobody's accounts */
	assert_told("n1", "step() " OTHERS);
	runs(PHX_ORDER_step, (int64_t)step->id + 1, 0); /* another one */
	assert_told("n1", "step() " OTHERS);
	runs(PHX_ORDER_job, (int64_t)step->id, 0); /* a job of that number is no step */
	assert_told("n1", "step() " OTHERS);
	runs(PHX_ORDER_step, (int64_t)step->id, 0);
	assert_told("n1", OTHERS);
}

/* Which disks are not to be written goes with each step that writes, to who knows of that. */
static void what_is_protected_is_told_with_what_writes(void **state)
{
	(void)state;
	PHX_STR_SET(w->s.settings.protect.selectors, "id=x");
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), 0);
	assert_told("n1", "step(, protects) " OTHERS);
	world_node(w, "n1")->protects = false;
	assert_told("n1", "step() " OTHERS);
	world_node(w, "n1")->protects = true;
	w->s.settings.protects = false;
	assert_told("n1", "step() " OTHERS);
}

/* The services of a role find their files. */
static void settings_of_the_site_come_before_a_step(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	(void)state;
	fake_site_for_all = true;
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), 0);
	assert_told("n1", "site(n1) step() " OTHERS);
	orders_put(&d, "n1", "another key", &running, &b);
	assert_int_equal(b.n, 0);
}

static void an_agent_that_knows_of_no_accounts_is_told_of_no_re(void **state)
{
	(void)state;
	world_ready(w, "n1", true);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "compute"), 0);
	fake_accounts_known = false;
	assert_told("n1", "step(-) " OTHERS);
}

/* The pair's first node of the queue, with a job. */
static struct phx_node *working(void)
{
	pair_running(w, 2, 1);
	submit(w, 1);
	PHX_LIST_EACH(struct phx_job, j, &w->s.jobs)
		if (j->parts.n)
			return world_node(w, PHX_LIST_AT(&j->parts, struct phx_job_part, 0)->node);
	fail_msg("no node has a job");
	return NULL;
}

/* Accounts come before a job of them. */
static void a_run_of_a_job_is_told_until_the_agent_has_that_run(void **state)
{
	(void)state;
	const struct phx_node *n = working();
	struct phx_job *j = PHX_LIST_AT(&w->s.jobs, struct phx_job, 0);
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	orders_put(&d, n->name, n->key_fp, &running, &b);
	const char *accounts = strstr(b.data, "accounts(queue)"),
		   *job = strstr(b.data, "job(queue)");
	assert_non_null(job);
	assert_true(accounts && accounts < job);
	/* the run before it, and a step of its number */
	runs(PHX_ORDER_job, (int64_t)j->id, (int64_t)j->kills + 1);
	runs(PHX_ORDER_step, (int64_t)j->id, (int64_t)j->kills);
	b.n = 0;
	orders_put(&d, n->name, n->key_fp, &running, &b);
	assert_non_null(strstr(b.data, "job(queue)"));
	runs(PHX_ORDER_job, (int64_t)j->id, (int64_t)j->kills);
	b.n = 0;
	orders_put(&d, n->name, n->key_fp, &running, &b);
	assert_null(strstr(b.data, "job(queue)"));
	/* that it is to end is told though it runs */
	j->end = PHX_JOB_END_CANCELLED;
	b.n = 0;
	orders_put(&d, n->name, n->key_fp, &running, &b);
	assert_non_null(strstr(b.data, "kill(queue)"));
}

/* An older agent would take an order of a kind that it does not know for a mistake. */
static void what_is_started_ahead_is_for_agents_that_report_it(void **state)
{
	struct phx_order ahead = {.kind = PHX_ORDER_ahead, .id = 5};
	(void)state;
	assert_false(goes_out(&running, &ahead));
	runs(PHX_ORDER_ahead, 0, 0);
	assert_true(goes_out(&running, &ahead));
	runs(PHX_ORDER_ahead, 5, 0);
	assert_false(goes_out(&running, &ahead));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_for_a_key_that_the_node_has_no_more),
		TEST(a_step_is_told_until_the_agent_has_it),
		TEST(what_is_protected_is_told_with_what_writes),
		TEST(settings_of_the_site_come_before_a_step),
		TEST(an_agent_that_knows_of_no_accounts_is_told_of_no_re),
		TEST(a_run_of_a_job_is_told_until_the_agent_has_that_run),
		TEST(what_is_started_ahead_is_for_agents_that_report_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
