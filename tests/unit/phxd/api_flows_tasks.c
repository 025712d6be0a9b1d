/* Tasks of workflows (cmd/phxd/api_flows.c): whom the output of one is asked of, for whom; and what
 * agents tell of tasks. */
#include "unit/phxd/flow_runs.h"

/* ---- what a task printed ---- */

static int asks_for(uint32_t uid, const char *of, const char *attempt, const char *from)
{
	FAKE_REQUEST q = {.peer = {.uid = uid}, .params = {"1"}};
	int i = 0;
	if (of)
		q.query[i++] = (struct fake_word){"task", of};
	if (attempt)
		q.query[i++] = (struct fake_word){"attempt", attempt};
	if (from)
		q.query[i++] = (struct fake_word){"from", from};
	api_workflow_output(&q, &head);
	assert_int_equal(q.held, q.code == 0);
	return ends(&q);
}

static void its_node_is_asked(void **state)
{
	(void)state;
	submits(ALICE);
	assert_int_equal(asks_for(ALICE, "a", NULL, "17"), 0);
	assert_string_equal(asked_node, "n1");
	assert_int_equal(asked.run, 1);
	assert_int_equal(asked.task, 0);
	assert_int_equal(asked.attempt, 1);
	assert_int_equal(asked.from, 17);
	assert_int_equal(asked.submitted_ms, run_of(w, 1)->submitted_ms);
	assert_int_equal(phx_json_int(frame, "task", 0), 1); /* people count from 1 */
	assert_string_equal(phx_json_str(frame, "node", ""), "n1");
	assert_int_equal(asks_for(ALICE, "1", "1", NULL), 0);
	assert_int_equal(asked.from, 0);
	assert_int_equal(n_asked, 2);
}

static void what_there_is_not_is_not_asked_for(void **state)
{
	static const struct {
		const char *task, *attempt, *from;
		int r;
		const char *says;
	} rows[] = {
		{NULL, NULL, NULL, -ENOENT, "no such task"},
		{"z", NULL, NULL, -ENOENT, "no such task"},
		{"0", NULL, NULL, -ENOENT, "no such task"},
		{"4", NULL, NULL, -ENOENT, "no such task"},
		{"3", NULL, NULL, -ENOENT, "has not begun"},
		{"b", NULL, NULL, -ENOENT, "has not begun"},
		{"a", "2", NULL, -ESTALE, "has begun 1 times"},
		{"a", "0", NULL, -ESTALE, "has begun 1 times"},
		{"a", "x", NULL, -ESTALE, "has begun 1 times"},
		{"a", NULL, "-1", -EINVAL, "from"},
	};
	(void)state;
	submits(ALICE);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		assert_int_equal(asks_for(ALICE, rows[i].task, rows[i].attempt, rows[i].from),
				 rows[i].r);
		if (!strstr(error, rows[i].says))
			fail_msg("%zu: %s", i, error);
	}
	assert_int_equal(asks_for(BOB, "a", NULL, NULL), -ENOENT);
	assert_int_equal(n_asked, 0);
}

/* What the wish is checked by again and again: rights may change while it is held. */
static void who_may_is_looked_at_again(void **state)
{
	struct phx_err err = {0};
	FAKE_REQUEST q = {.peer = {.uid = ALICE}, .params = {"1"}};
	(void)state;
	submits(ALICE);
	assert_int_equal(output_kind.may(&head, &q, "n1", &err), 0);
	q.peer.uid = BOB;
	assert_int_equal(output_kind.may(&head, &q, "n1", &err), -ENOENT);
	assert_string_equal(err.text, "there is no such workflow run");
}

static void a_node_that_is_away_cannot_be_asked(void **state)
{
	(void)state;
	submits(ALICE);
	struct phx_node *n = (struct phx_node *)phx_state_node(&w->s, "n1");
	bool up = n->up;
	n->up = false;
	assert_int_equal(asks_for(ALICE, "a", NULL, NULL), -EAGAIN);
	assert_non_null(strstr(error, "n1, which is not heard"));
	n->up = up;
	int env = n->env;
	n->env = PHX_ENV_DEPLOY;
	assert_int_equal(asks_for(ALICE, "a", NULL, NULL), -EAGAIN);
	assert_non_null(strstr(error, "n1, which is not in its system"));
	n->env = env;
	uint32_t number = n->number;
	n->number = 77;
	assert_int_equal(asks_for(ALICE, "a", NULL, NULL), -ENOENT);
	assert_non_null(strstr(error, "not there any more"));
	n->number = number;
	assert_int_equal(asks_for(ALICE, "a", NULL, NULL), 0);
}

/* ---- agents ---- */

static int tells(void handler(struct phx_http_request *, void *), const char *of)
{
	FAKE_REQUEST q = {.body = of};
	handler(&q, &head);
	return ends(&q);
}

#define ROW \
	"{\"run\":1,\"submitted_ms\":5,\"task\":0,\"attempt\":1,\"outcome\":\"exited\",\"begin_" \
	"ms\":1," \
	"\"end_ms\":2}"

static struct phx_task_result row;
static uint32_t n_rows;

static void look_at_rows(const struct phx_event *ev, struct phx_outcome *ret)
{
	(void)ret;
	n_rows = ev->task_results.rows.n;
	row = *PHX_LIST_AT(&ev->task_results.rows, struct phx_task_result, 0);
}

/* The node is the one whose certificate it is, whatever stands in the text. */
static void rows_are_of_the_node_that_sends_them(void **state)
{
	(void)state;
	fake_submit_looks = look_at_rows;
	assert_int_equal(tells(api_tasks, "{\"rows\":[" ROW "]}"), -EACCES);
	agent = "n1";
	if (tells(api_tasks, "{\"rows\":[" ROW "," ROW "]}") != 200)
		fail_msg("%s", error);
	assert_string_equal(fake_event(0)->node, "n1");
	assert_string_equal(fake_event(0)->by, "node:n1");
	assert_int_equal(fake_event(0)->kind, PHX_EV_task_results);
	assert_int_equal(n_rows, 2);
	assert_int_equal(row.run, 1);
	assert_int_equal(n_heard, 1);
}

static void wrong_rows_are_no_event(void **state)
{
	(void)state;
	agent = "n1";
	assert_int_equal(tells(api_tasks, "7"), -EINVAL);
	assert_int_equal(tells(api_tasks, "{\"rows\":7}"), -EINVAL);
	assert_int_equal(n_heard, 0);
	/* it ended before it began */
	assert_int_equal(tells(api_tasks,
			       "{\"rows\":[{\"run\":1,\"submitted_ms\":5,\"task\":0,\"attempt\":1,"
			       "\"outcome\":\"exited\",\"begin_ms\":3,\"end_ms\":2}]}"),
			 -EINVAL);
	assert_int_equal(fake_events.n, 0);
	fake_submit_result = -EROFS;
	assert_int_equal(tells(api_tasks, "{\"rows\":[" ROW "]}"), -EROFS);
}

static void a_piece_goes_to_who_asked(void **state)
{
	(void)state;
	assert_int_equal(tells(api_task_output, "{\"id\":4,\"size_bytes\":2,\"hex\":\"6869\"}"),
			 -EACCES);
	agent = "n1";
	assert_int_equal(tells(api_task_output, "{\"id\":4,\"size_bytes\":2,\"hex\":\"6869\"}"),
			 200);
	assert_string_equal(told_node, "n1");
	assert_int_equal(told_id, 4);
	assert_string_equal(told_error, "");
	assert_string_equal(phx_json_str(told, "hex", ""), "6869");
	assert_int_equal(phx_json_int(told, "size_bytes", 0), 2);
	assert_int_equal(tells(api_task_output, "{\"id\":5,\"error\":\"it is gone\"}"), 200);
	assert_string_equal(told_error, "it is gone");
}

/* Who waits for it is told, too: he would wait for nothing. What is no output does not reach him.
 */
static void a_wrong_piece_is_told(void **state)
{
	(void)state;
	agent = "n1";
	assert_int_equal(tells(api_task_output, "{\"id\":4,\"size_bytes\":2,\"hex\":\"zz\"}"),
			 -EINVAL);
	assert_int_equal(told_id, 4);
	assert_string_equal(told_error, "what its agent answered is no output");
	assert_string_equal(phx_json_str(told, "hex", "none"), "");
	assert_int_equal(tells(api_task_output, "{\"id\":5,\"size_bytes\":\"two\"}"), -EINVAL);
	assert_int_equal(told_id, 5);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(its_node_is_asked),
		T(what_there_is_not_is_not_asked_for),
		T(who_may_is_looked_at_again),
		T(a_node_that_is_away_cannot_be_asked),
		T(rows_are_of_the_node_that_sends_them),
		T(wrong_rows_are_no_event),
		T(a_piece_goes_to_who_asked),
		T(a_wrong_piece_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
