/* What is shown of REs (cmd/phxd/view_re.c): whether one has the nodes that it is to have, and
 * whether it has given all back, which commands wait for; its nodes and jobs; and metrics, in which
 * who reads them finds no RE that he does not see. The core is real. */
#include "unit/core/pair.h"

#include "phxd/hosts.c" /* parts of a program, not of the library */
#include "phxd/view_re.c"

static struct world *w;
static struct daemon head;

json_t *view_use(struct daemon *d, const struct phx_state *s, const struct phx_re *re)
{
	(void)s;
	assert_ptr_equal(d, &head);
	return json_sprintf("use of %s", re->name);
}

json_t *view_manager(const struct phx_state *s, const struct phx_re *re)
{
	(void)s;
	return json_sprintf("manager of %s", re->name);
}

static int setup(void **state)
{
	world_setup(state);
	w = *state;
	return 0;
}

static int teardown(void **state)
{
	hosts_fini(&head.hosts);
	return world_teardown(state);
}

static const struct phx_re *re(const char *name)
{
	const struct phx_re *r = phx_state_re(&w->s, name);
	assert_non_null(r);
	return r;
}

static bool serves(const char *name)
{
	return view_re_serves(&w->s, re(name));
}

static bool returned(const char *name)
{
	return view_re_returned(&w->s, re(name));
}

static void tell(int kind, const char *node)
{
	struct phx_event ev = {.kind = kind};
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static void assign(const char *node, const char *role, const char *pool, bool pin)
{
	struct phx_event ev = {.kind = PHX_EV_assign, .order.pin = pin};
	PHX_STR_SET(ev.node, node);
	PHX_STR_SET(ev.order.role, role);
	PHX_STR_SET(ev.order.pool, pool);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* An RE of its own, asked for and not active. */
static void queue_is_created(uint32_t lower)
{
	struct phx_agreement a = agreement("queue", PHX_RE_BATCH, lower);
	nodes_ready(w);
	a.coordination = PHX_RE_COORDINATED_NONE;
	a.partner[0] = '\0';
	assert_int_equal(create(w, &a), 0);
}

/* ---- what commands wait for ---- */

static void an_re_serves_with_its_nodes_and_none_on_its_way(void **state)
{
	(void)state;
	queue_is_created(2);
	assert_false(serves("queue"));
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	assert_false(serves("queue"));
	while (world_step(w, "n1"))
		;
	assert_false(serves("queue")); /* the other one comes still */
	settle(w);
	assert_true(serves("queue"));
	/* one that is not heard counts until the RE gives it up */
	tell(PHX_EV_missing, "n1");
	settle(w);
	assert_int_equal(world_node(w, "n1")->allocation, PHX_ALLOCATION_AWAY);
	assert_true(serves("queue"));
}

/* More than it must have, and one on its way: it is not at rest. */
static void an_re_that_grows_is_waited_for(void **state)
{
	(void)state;
	pair_running(w, 3, 1);
	assert_true(serves("shop"));
	web_is_busy(w);
	assert_false(serves("shop"));
	settle(w);
	assert_true(serves("shop"));
}

/* An RE that asks for nothing serves at once. */
static void an_re_without_nodes_serves(void **state)
{
	(void)state;
	struct phx_agreement a = mtc_agreement("unix:hpc", 0);
	nodes_ready(w);
	a.upper = 1;
	assert_int_equal(create(w, &a), 0);
	assert_true(serves("mtc")); /* it lacks none */
	assert_int_equal(operate(w, PHX_EV_re_activate, "mtc"), 0);
	settle(w);
	assert_true(serves("mtc"));
}

static void an_re_has_returned_its_nodes_when_the_last_has_left(void **state)
{
	(void)state;
	queue_is_created(2);
	assert_false(returned("queue")); /* it never had any, and was not deactivated */
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
	assert_false(returned("queue"));
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	assert_false(returned("queue")); /* its nodes leave still */
	while (world_step(w, "n1"))
		;
	assert_false(returned("queue"));
	settle(w);
	assert_true(returned("queue"));
}

static void a_pinned_node_stays_and_is_not_waited_for(void **state)
{
	(void)state;
	queue_is_created(2);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
	assign("n1", "compute", "", true);
	settle(w);
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	assert_false(returned("queue"));
	settle(w);
	assert_string_equal(world_node(w, "n1")->pool, "queue");
	assert_true(returned("queue"));
}

/* Nobody knows when a machine that is away, and was given up, comes to leave. */
static void a_node_that_was_given_up_is_not_waited_for(void **state)
{
	(void)state;
	queue_is_created(2);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
	tell(PHX_EV_missing, "n1");
	settle(w);
	tick(w, 3600000);
	settle(w);
	assert_int_equal(phx_members_count(&w->s, PHX_MEMBERS_GAVE_UP, "queue"), 1);
	assert_string_equal(world_node(w, "n1")->pool, "queue");
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	settle(w);
	assert_true(returned("queue"));
}

/* ---- one RE ---- */

static int64_t number(const json_t *j, const char *of, const char *key)
{
	const json_t *n = json_object_get(json_object_get(j, of), key);
	assert_true(json_is_integer(n));
	return json_integer_value(n);
}

static void an_re_is_shown_with_what_it_holds(void **state)
{
	(void)state;
	pair_running(w, 3, 1);
	submit(w, 2);
	submit(w, 2);
	tell(PHX_EV_missing, "n3"); /* the one that is idle */
	settle(w);
	PHX_AUTO_JSON json_t *j = view_re(&head, &w->s, re("queue"), w->now + 3600000);
	assert_string_equal(phx_json_str(j, "paired_with", ""), "shop");
	assert_int_equal(number(j, "nodes", "held"), 3);
	assert_int_equal(number(j, "nodes", "away"), 1);
	assert_int_equal(number(j, "nodes", "idle"), 0);
	assert_int_equal(number(j, "nodes", "busy"), 2);
	assert_int_equal(number(j, "nodes", "in_pool"), 3);
	assert_int_equal(number(j, "nodes", "pinned"), 0);
	assert_int_equal(number(j, "jobs", "running"), 1);
	assert_int_equal(number(j, "jobs", "waiting"), 1);
	assert_int_equal(number(j, "jobs", "waiting_nodes"), 2);
	assert_string_equal(phx_json_str(j, "away_hosts", ""), "n3");
	assert_string_equal(phx_json_str(j, "hosts", ""), "n[1-2]");
	assert_string_equal(phx_json_str(j, "coming_hosts", "none"), "");
	const json_t *hours = json_object_get(json_object_get(j, "meter"), "node_hours");
	assert_true(json_real_value(hours) >= 3 && json_real_value(hours) < 3.1);
	/* of the ledger, and of Slurm */
	assert_null(json_object_get(j, "number"));
	assert_null(json_object_get(j, "engine_nodes"));
	assert_null(json_object_get(j, "engine_partitions"));
	/* a queue has no use, and nothing that follows it */
	assert_null(json_object_get(j, "use"));
	assert_null(json_object_get(j, "manager"));
	PHX_AUTO_JSON json_t *shop = view_re(&head, &w->s, re("shop"), w->now);
	assert_string_equal(phx_json_str(shop, "paired_with", ""), "queue");
	assert_string_equal(phx_json_str(shop, "use", ""), "use of shop");
	assert_string_equal(phx_json_str(shop, "manager", ""), "manager of shop");
}

/* What the ledger says of number 0 is another RE's. */
static void an_re_that_is_not_active_holds_nothing(void **state)
{
	(void)state;
	struct phx_agreement a = agreement("later", PHX_RE_BATCH, 1);
	a.coordination = PHX_RE_COORDINATED_NONE;
	a.partner[0] = '\0';
	assert_int_equal(create(w, &a), 0);
	pair_running(w, 3, 1);
	assert_int_equal(re("later")->number, re("queue")->number);
	PHX_AUTO_JSON json_t *shop = view_re(&head, &w->s, re("shop"), w->now);
	assert_string_equal(phx_json_str(shop, "paired_with", ""), "queue");
	PHX_AUTO_JSON json_t *j = view_re(&head, &w->s, re("later"), w->now);
	assert_string_equal(phx_json_str(j, "paired_with", "none"), "");
	assert_int_equal(number(j, "nodes", "held"), 0);
	assert_int_equal(number(j, "nodes", "want"), 0);
	assert_string_equal(phx_json_str(j, "hosts", "none"), "");
	assert_string_equal(phx_json_str(j, "state", ""), "deployed");
	struct phx_re requested = *re("later");
	requested.state = PHX_RE_STATE_NONE;
	PHX_AUTO_JSON json_t *asked = view_re(&head, &w->s, &requested, w->now);
	assert_string_equal(phx_json_str(asked, "state", ""), "requested");
}

/* ---- metrics ---- */

static bool sees(const void *arg, const struct phx_re *of)
{
	const char *names = arg;
	return strstr(names, of->name);
}

static const char *metrics_for(const char *names)
{
	static char text[4096];
	const struct view_reader reader = {sees, names};
	struct phx_buf b = {0};
	view_re_metrics(&b, &w->s, &reader);
	PHX_AUTO_FREE char *all = phx_buf_take(&b);
	assert_int_equal(phx_str_copy(text, sizeof(text), all), 0);
	return text;
}

static void metrics_have_no_re_that_their_reader_does_not_see(void **state)
{
	(void)state;
	pair_running(w, 3, 1);
	submit(w, 2);
	assert_string_equal(
		metrics_for("shop"),
		"# HELP phx_re_nodes Nodes of an RE: idle, busy, away (its own, but not "
		"heard), coming, owed to it, and how many it wants.\n"
		"# TYPE phx_re_nodes gauge\n"
		"phx_re_nodes{re=\"shop\",kind=\"idle\"} 0\n"
		"phx_re_nodes{re=\"shop\",kind=\"busy\"} 1\n"
		"phx_re_nodes{re=\"shop\",kind=\"away\"} 0\n"
		"phx_re_nodes{re=\"shop\",kind=\"coming\"} 0\n"
		"phx_re_nodes{re=\"shop\",kind=\"owed\"} 0\n"
		"phx_re_nodes{re=\"shop\",kind=\"want\"} 1\n"
		"# HELP phx_re_jobs Jobs of an RE that run, wait, or are held back.\n"
		"# TYPE phx_re_jobs gauge\n");
	assert_null(strstr(metrics_for("queue"), "shop"));
	assert_non_null(
		strstr(metrics_for("queue"), "phx_re_nodes{re=\"queue\",kind=\"busy\"} 2\n"));
	assert_non_null(strstr(metrics_for("queue"),
			       "phx_re_jobs{re=\"queue\",state=\"running\"} 1\n"
			       "phx_re_jobs{re=\"queue\",state=\"waiting\"} 0\n"
			       "phx_re_jobs{re=\"queue\",state=\"held\"} 0\n"));
	assert_null(strstr(metrics_for(""), "re=\""));
}

static void an_re_that_is_not_active_has_no_metrics(void **state)
{
	(void)state;
	queue_is_created(2);
	assert_null(strstr(metrics_for("queue"), "re=\""));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_re_serves_with_its_nodes_and_none_on_its_way),
		T(an_re_that_grows_is_waited_for),
		T(an_re_without_nodes_serves),
		T(an_re_has_returned_its_nodes_when_the_last_has_left),
		T(a_pinned_node_stays_and_is_not_waited_for),
		T(a_node_that_was_given_up_is_not_waited_for),
		T(an_re_is_shown_with_what_it_holds),
		T(an_re_that_is_not_active_holds_nothing),
		T(metrics_have_no_re_that_their_reader_does_not_see),
		T(an_re_that_is_not_active_has_no_metrics),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
