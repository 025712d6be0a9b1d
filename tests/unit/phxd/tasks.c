/* Tasks that a node is given (cmd/phxd/tasks.c): each is told until the agent has taken it,
 * under one number however often it is told, and its end to nobody who was not told of it. The
 * core is real; the text of the workflow is one that the test has. */
#include "unit/core/pair.h"

#include "flow/shape.h"
#define add_task draft_add_task /* the part has one of that name */
#include "unit/flow/flows.h"
#undef add_task

#include "phxd/tasks.c" /* a part of a program, not of the library */
#include "fake/submitted.h"

static const char digest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static struct daemon d;
static struct tasks *t;
static struct world *w;
static struct phx_flow flow;
static const char *node;
static struct phx_list running; /* struct beat_running: what the agent has taken */

/* what of the daemon it calls */

static bool fake_no_text;

const struct phx_flow *flows_lock(struct flows *f, const char *of, struct phx_err *err)
{
	(void)f;
	assert_string_equal(of, digest);
	assert_false(fake_engine_held); /* it reads a file */
	if (fake_no_text)
		phx_err_set(err, -ENOENT, "it is gone");
	return fake_no_text ? NULL : &flow;
}
void flows_unlock(struct flows *f)
{
	(void)f;
}

static void takes(int64_t id)
{
	struct beat_running *r = phx_list_push(&running, sizeof(*r));
	*r = (struct beat_running){.kind = PHX_ORDER_tasks, .id = id};
}

/* One node of the RE "mtc", whose worker has room for many tasks. */
static int setup(void **state)
{
	const struct phx_agreement a = mtc_agreement("hpc", 1);
	fake_engine_begin();
	world_setup(state);
	w = *state;
	fake_state = &w->s;
	fake_no_text = false;
	world_ready(w, "n1", true);
	world_node(w, "n1")->facts.cpus = 2;
	assert_int_equal(create(w, &a), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "mtc"), 0);
	settle(w);
	node = "n1";
	takes(0); /* of none yet: but it knows what tasks are */
	d = (struct daemon){.started_ms = 4711};
	return tasks_new(&d, &t);
}

static int teardown(void **state)
{
	tasks_free(PHX_TAKE(t));
	phx_flow_fini(&flow);
	flow = (struct phx_flow){0};
	phx_list_fini(&running);
	return world_teardown(state);
}

/* Submits `flow`. */
static uint64_t submits_it(uint32_t uid)
{
	struct phx_event ev = {.kind = PHX_EV_workflow_submit};
	struct phx_outcome out = {0};
	ev.workflow_submit.n_tasks = flow.n_tasks;
	ev.workflow_submit.uid = ev.workflow_submit.gid = uid;
	snprintf(ev.workflow_submit.user, sizeof(ev.workflow_submit.user), "user%u", uid);
	PHX_STR_SET(ev.workflow_submit.digest, digest);
	PHX_STR_SET(ev.re, "mtc");
	assert_int_equal(phx_flow_shape_write(&flow, &ev.workflow_submit.shape), 0);
	assert_int_equal(world_apply(w, &ev, &out), 0);
	uint64_t id = out.workflow;
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	tick(w, 1000);
	settle(w);
	return id;
}

static uint64_t submits(const char *words, uint32_t uid)
{
	phx_flow_fini(&flow);
	make_flow(words, &flow);
	return submits_it(uid);
}

/* What the agent is told: a list of orders. */
static json_t *told(void)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(&b, "[");
	tasks_orders_put(t, node, &running, &b);
	phx_buf_addf(&b, "]");
	assert_false(b.failed);
	json_t *j = json_loads(b.data, 0, NULL);
	assert_non_null(j);
	return j;
}

static const json_t *list_of(const json_t *orders, size_t i, const char *list)
{
	return json_object_get(json_object_get(json_array_get(orders, i), "tasks"), list);
}

static int64_t id_of(const json_t *orders, size_t i)
{
	return phx_json_int(json_array_get(orders, i), "id", -1);
}

/* So many tasks and ends of tasks in the orders together. */
static void assert_n(const json_t *orders, size_t n_tasks, size_t n_cancels)
{
	size_t tasks = 0, cancels = 0;
	for (size_t i = 0; i < json_array_size(orders); i++) {
		tasks += json_array_size(list_of(orders, i, "tasks"));
		cancels += json_array_size(list_of(orders, i, "cancels"));
	}
	assert_int_equal(tasks, n_tasks);
	assert_int_equal(cancels, n_cancels);
}

static void a_task_is_told_with_what_it_runs(void **state)
{
	(void)state;
	uint64_t run = submits("a b<a", 1000);
	PHX_AUTO_JSON json_t *orders = told();
	assert_int_equal(json_array_size(orders), 1); /* b waits for a */
	assert_n(orders, 1, 0);
	const json_t *o = json_object_get(json_array_get(orders, 0), "tasks"),
		     *task = json_array_get(list_of(orders, 0, "tasks"), 0);
	assert_string_equal(phx_json_str(json_array_get(orders, 0), "kind", ""), "tasks");
	assert_int_equal(phx_json_int(o, "since_ms", 0), 4711);
	assert_string_equal(phx_json_str(o, "user", ""), "user1000");
	assert_string_equal(phx_json_str(o, "re", ""), "mtc");
	assert_int_equal(phx_json_int(o, "uid", 0), 1000);
	assert_int_equal(phx_json_int(o, "cores", 0), 2);
	assert_int_equal(phx_json_int(task, "run", 0), (int64_t)run);
	assert_string_equal(
		phx_json_str(json_array_get(json_object_get(task, "argv"), 0), "text", ""), "true");
}

/* A task of two nodes: each is told both and which it is, the first which files there must be. */
static void each_of_several_nodes_is_told_which_it_is(void **state)
{
	struct phx_flow_draft draft = {.what = "f"};
	struct phx_err err = {0};
	(void)state;
	world_ready(w, "n2", true);
	world_node(w, "n2")->facts.cpus = 2;
	add_tasks(&draft, "a");
	add_link(&draft, PHX_FLOW_LINK_OUTPUT, "out");
	PHX_LIST_AT(&draft.tasks, struct phx_flow_task, 0)->nodes = 2;
	PHX_LIST_AT(&draft.tasks, struct phx_flow_task, 0)->cores = 1;
	assert_int_equal(phx_flow_make(&draft, &flow, &err), 0);
	phx_flow_draft_fini(&draft);
	submits_it(1000);
	for (int i = 0; i < 3; i++) {
		tick(w, 1000);
		settle(w);
	}
	for (int64_t rank = 0; rank < 2; rank++) {
		node = rank ? "n2" : "n1";
		PHX_AUTO_JSON json_t *orders = told();
		const json_t *task = json_array_get(list_of(orders, 0, "tasks"), 0);
		assert_n(orders, 1, 0);
		assert_string_equal(phx_json_str(task, "nodes", ""), "n[1-2]");
		assert_int_equal(phx_json_int(task, "rank", 0), rank);
		assert_int_equal(phx_json_int(task, "cores", 0), 0);
		assert_int_equal(json_array_size(json_object_get(task, "outputs")), !rank);
	}
}

/* The digest that outputs had goes along, for a run that is resumed. */
static void outputs_are_looked_for(void **state)
{
	struct phx_flow_draft draft = {.what = "f"};
	struct phx_err err = {0};
	char sum[65] = "";
	(void)state;
	memset(sum, 'a', 64);
	add_tasks(&draft, "a");
	add_link(&draft, PHX_FLOW_LINK_OUTPUT, "out");
	add_tasks(&draft, "b");
	assert_int_equal(phx_flow_make(&draft, &flow, &err), 0);
	phx_flow_draft_fini(&draft);
	struct phx_flowrun *run = phx_state_flowrun(&w->s, submits_it(1000));
	/* as it is after a look was asked for */
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(phx_flow_run_note(&run->live->run, i, sum), 0);
	PHX_AUTO_JSON json_t *orders = told();
	const json_t *a = json_array_get(list_of(orders, 0, "tasks"), 0),
		     *b = json_array_get(list_of(orders, 0, "tasks"), 1);
	assert_string_equal(phx_json_str(a, "had_sha256", ""), sum);
	assert_string_equal(phx_json_str(b, "had_sha256", ""), ""); /* it has none */
}

static void an_order_is_told_again_under_its_number_until_it_is_taken(void **state)
{
	(void)state;
	submits("a b", 1000);
	PHX_AUTO_JSON json_t *first = told(), *again = told();
	assert_int_equal(id_of(first, 0), 1);
	assert_true(json_equal(first, again));
	takes(7); /* another one */
	PHX_AUTO_JSON json_t *still = told();
	assert_true(json_equal(first, still));
	takes(1);
	PHX_AUTO_JSON json_t *none = told();
	assert_int_equal(json_array_size(none), 0);
	/* it reports its last ones alone: what was taken stays taken */
	running.n = 1;
	PHX_AUTO_JSON json_t *later = told();
	assert_int_equal(json_array_size(later), 0);
}

static void each_user_has_orders_of_his_own(void **state)
{
	(void)state;
	submits("a", 1000);
	submits("a", 1001);
	PHX_AUTO_JSON json_t *orders = told();
	assert_int_equal(json_array_size(orders), 2);
	assert_int_equal(id_of(orders, 0), 1);
	assert_int_equal(id_of(orders, 1), 2);
	assert_int_equal(
		phx_json_int(json_object_get(json_array_get(orders, 1), "tasks"), "uid", 0), 1001);
	/* the one that is taken is told no more, the other keeps its number */
	takes(1);
	PHX_AUTO_JSON json_t *left = told();
	assert_int_equal(json_array_size(left), 1);
	assert_int_equal(id_of(left, 0), 2);
}

static void cancel(uint64_t run)
{
	struct phx_event ev = {
		.kind = PHX_EV_workflow_cancel, .by = "uid:1000", .workflow_order.workflow = run};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

/* An agent answers only for what it was told of: the task goes out, and that it ends. */
static void the_end_of_a_task_is_an_order_too(void **state)
{
	(void)state;
	uint64_t run = submits("a", 1000);
	PHX_AUTO_JSON json_t *before = told();
	assert_n(before, 1, 0);
	takes(1);
	PHX_AUTO_JSON json_t *none = told();
	assert_int_equal(json_array_size(none), 0);
	cancel(run);
	PHX_AUTO_JSON json_t *end = told();
	assert_n(end, 0, 1);
	assert_int_equal(id_of(end, 0), 2);
	const json_t *c = json_array_get(list_of(end, 0, "cancels"), 0);
	assert_int_equal(phx_json_int(c, "run", 0), (int64_t)run);
	for (int i = 0; i < 3; i++) {
		PHX_AUTO_JSON json_t *again = told();
		assert_true(json_equal(end, again));
	}
}

static void a_task_that_is_to_end_before_it_was_told_goes_out_with_its_end(void **state)
{
	(void)state;
	uint64_t run = submits("a", 1000);
	cancel(run);
	PHX_AUTO_JSON json_t *orders = told();
	assert_n(orders, 1, 1);
}

/* Numbers go on: an agent ignores what is not above the last one that it took. */
static void what_the_node_has_no_more_is_forgotten(void **state)
{
	(void)state;
	uint64_t run = submits("a", 1000);
	PHX_AUTO_JSON json_t *first = told();
	assert_int_equal(id_of(first, 0), 1);
	struct phx_event ev = {.kind = PHX_EV_task_results};
	struct phx_task_result *row = phx_list_push(&ev.task_results.rows, sizeof(*row));
	*row = (struct phx_task_result){.run = run,
					.submitted_ms = phx_state_flowrun(&w->s, run)->submitted_ms,
					.outcome = PHX_TASK_EXITED,
					.begin_ms = 1,
					.end_ms = 2};
	const json_t *task = json_array_get(list_of(first, 0, "tasks"), 0);
	row->attempt = (uint32_t)phx_json_int(task, "attempt", 0);
	PHX_STR_SET(ev.node, node);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	phx_event_fini(&ev);
	PHX_AUTO_JSON json_t *none = told();
	assert_int_equal(json_array_size(none), 0);
	submits("a", 1000);
	PHX_AUTO_JSON json_t *next = told();
	assert_int_equal(id_of(next, 0), 2);
}

static void what_cannot_be_read_is_told_when_it_can(void **state)
{
	(void)state;
	submits("a", 1000);
	fake_no_text = true;
	PHX_AUTO_JSON json_t *none = told();
	assert_int_equal(json_array_size(none), 0);
	fake_no_text = false;
	PHX_AUTO_JSON json_t *orders = told();
	assert_n(orders, 1, 0);
	assert_int_equal(id_of(orders, 0), 1);
}

/* The text is not the one that was submitted: nothing is read beyond its end. */
static void a_text_with_fewer_tasks_tells_of_none(void **state)
{
	(void)state;
	submits("a b", 1000);
	flow.n_tasks = 1;
	PHX_AUTO_JSON json_t *orders = told();
	flow.n_tasks = 2;
	assert_n(orders, 1, 0);
}

static void an_agent_that_knows_no_tasks_is_told_of_none(void **state)
{
	(void)state;
	submits("a", 1000);
	running.n = 0;
	PHX_AUTO_JSON json_t *orders = told();
	assert_int_equal(json_array_size(orders), 0);
}

static void a_node_that_is_not_there_is_told_of_none(void **state)
{
	(void)state;
	submits("a", 1000);
	node = "gone";
	PHX_AUTO_JSON json_t *orders = told();
	assert_int_equal(json_array_size(orders), 0);
}

/* A daemon that began anew tells all again, and says since when it counts. */
static void another_daemon_tells_it_once_more(void **state)
{
	(void)state;
	submits("a", 1000);
	PHX_AUTO_JSON json_t *before = told();
	tasks_free(PHX_TAKE(t));
	d.started_ms = 4712;
	assert_int_equal(tasks_new(&d, &t), 0);
	PHX_AUTO_JSON json_t *after = told();
	assert_n(after, 1, 0);
	assert_int_equal(
		phx_json_int(json_object_get(json_array_get(after, 0), "tasks"), "since_ms", 0),
		4712);
}

/* ---- bounds of orders, without a core that would give so many ---- */

static struct given given(uint32_t task, uint32_t uid)
{
	struct given g = {.is = {.run = 1, .task = task, .order = UINT64_MAX}, .uid = uid};
	PHX_STR_SET(g.digest, digest);
	PHX_STR_SET(g.user, "alice");
	return g;
}

/* Orders that the given tasks come to. */
static json_t *put_all(struct view *v)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct task_node n = {0};
	phx_buf_addf(&b, "[");
	put_orders(&d, &n, v, &b);
	phx_buf_addf(&b, "]");
	view_fini(v);
	return json_loads(b.data, 0, NULL);
}

static void an_order_has_so_many_tasks_and_a_node_so_many_orders(void **state)
{
	struct view v = {0};
	(void)state;
	make_flow("a", &flow);
	for (uint32_t i = 0; i < (ORDERS_MAX + 1) * PHX_TASKS_MAX; i++)
		*(struct given *)phx_list_push(&v.given, sizeof(struct given)) = given(0, 1000);
	PHX_AUTO_JSON json_t *orders = put_all(&v);
	assert_int_equal(json_array_size(orders), ORDERS_MAX);
	for (size_t i = 0; i < ORDERS_MAX; i++) {
		size_t n = json_array_size(list_of(orders, i, "tasks"));
		PHX_AUTO_FREE char *text = json_dumps(json_array_get(orders, i), JSON_COMPACT);
		assert_in_range(n, 1, PHX_TASKS_MAX);
		assert_true(strlen(text) <= PHX_TASKS_BYTES + 1000);
	}
}

static void an_order_ends_so_many_tasks(void **state)
{
	struct view v = {0};
	(void)state;
	make_flow("a", &flow);
	for (uint32_t i = 0; i < PHX_TASKS_MAX + 10; i++) {
		struct given *g = phx_list_push(&v.given, sizeof(*g));
		*g = given(0, 1000);
		g->is.ends = true;
		g->is.attempt = i;
	}
	PHX_AUTO_JSON json_t *orders = put_all(&v);
	assert_int_equal(json_array_size(orders), 2);
	assert_int_equal(json_array_size(list_of(orders, 0, "cancels")), PHX_TASKS_MAX);
	assert_n(orders, 0, PHX_TASKS_MAX + 10);
}

/* What is too long for an order beside others. */
static void a_long_task_goes_alone(void **state)
{
	struct view v = {0};
	struct phx_flow_draft draft = {.what = "f"};
	struct phx_err err = {0};
	PHX_AUTO_FREE char *word = calloc(1, PHX_TASKS_BYTES);
	(void)state;
	memset(word, 'x', PHX_TASKS_BYTES / 6);
	for (int i = 0; i < 3; i++) {
		char id[8];
		snprintf(id, sizeof(id), "t%d", i);
		draft_add_task(&draft, id);
		add_link(&draft, PHX_FLOW_LINK_ARGV, i == 1 ? word : "true");
	}
	assert_int_equal(phx_flow_make(&draft, &flow, &err), 0);
	phx_flow_draft_fini(&draft);
	for (uint32_t i = 0; i < 3; i++)
		*(struct given *)phx_list_push(&v.given, sizeof(struct given)) = given(i, 1000);
	PHX_AUTO_JSON json_t *orders = put_all(&v);
	assert_int_equal(json_array_size(orders), 2);
	assert_int_equal(json_array_size(list_of(orders, 0, "tasks")), 2);
	const json_t *alone = json_array_get(list_of(orders, 1, "tasks"), 0);
	assert_int_equal(phx_json_int(alone, "task", 0), 1);
}

static void words_of_a_triggers_run_are_filled(void **state)
{
	struct view v = {0};
	struct phx_flow_draft draft = {.what = "f"};
	struct phx_err err = {0};
	(void)state;
	draft_add_task(&draft, "t");
	add_link(&draft, PHX_FLOW_LINK_ARGV, "cat");
	add_link(&draft, PHX_FLOW_LINK_ARGV, "in/{trigger.name}");
	assert_int_equal(phx_flow_make(&draft, &flow, &err), 0);
	phx_flow_draft_fini(&draft);
	struct given g = given(0, 1000);
	assert_int_equal(phx_text_push(&g.vars, "PHX_TRIGGER_FILE=new/a.txt"), 0);
	*(struct given *)phx_list_push(&v.given, sizeof(g)) = g;
	PHX_AUTO_JSON json_t *orders = put_all(&v);
	const json_t *task = json_array_get(list_of(orders, 0, "tasks"), 0);
	assert_string_equal(
		phx_json_str(json_array_get(json_object_get(task, "argv"), 1), "text", ""),
		"in/a.txt");
	assert_string_equal(
		phx_json_str(json_array_get(json_object_get(task, "env"), 0), "text", ""),
		"PHX_TRIGGER_FILE=new/a.txt");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_task_is_told_with_what_it_runs),
		TEST(each_of_several_nodes_is_told_which_it_is),
		TEST(outputs_are_looked_for),
		TEST(an_order_is_told_again_under_its_number_until_it_is_taken),
		TEST(each_user_has_orders_of_his_own),
		TEST(the_end_of_a_task_is_an_order_too),
		TEST(a_task_that_is_to_end_before_it_was_told_goes_out_with_its_end),
		TEST(what_the_node_has_no_more_is_forgotten),
		TEST(what_cannot_be_read_is_told_when_it_can),
		TEST(a_text_with_fewer_tasks_tells_of_none),
		TEST(an_agent_that_knows_no_tasks_is_told_of_none),
		TEST(a_node_that_is_not_there_is_told_of_none),
		TEST(another_daemon_tells_it_once_more),
		TEST(an_order_has_so_many_tasks_and_a_node_so_many_orders),
		TEST(an_order_ends_so_many_tasks),
		TEST(a_long_task_goes_alone),
		TEST(words_of_a_triggers_run_are_filled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
