/* Orders of tasks and answers to them: what is refused, and with which words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "types/task.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ORDER(tasks) "{\"re\": \"mtc\", \"uid\": 7, \"gid\": 7, \"tasks\": [" tasks "]}"
#define TASK(more) "{\"run\": 3, \"task\": 4, \"argv\": [{\"text\": \"true\"}]" more "}"

static const struct {
	const char *json;
	int result;
	const char *says;
} orders[] = {
	{"{}", 0, NULL},
	{ORDER(TASK("")), 0, NULL},
	{ORDER(TASK(", \"env\": [{\"text\": \"A=\"}], \"dir\": \"a/b\", \"outputs\": [{\"text\": "
		    "\"x\"}], \"had_sha256\": \"" DIGEST "\"")),
	 0, NULL},
	{ORDER("{\"run\": 3, \"task\": 4}"), -EINVAL, "argv: no program"},
	{ORDER(TASK(", \"env\": [{\"text\": \"=A\"}]")), -EINVAL, "env: '=A'"},
	{ORDER(TASK(", \"dir\": \"/tmp\"")), -EINVAL, "dir: '/tmp' must be a path within"},
	{ORDER(TASK(", \"outputs\": [{\"text\": \"a/../b\"}]")), -EINVAL, "outputs: "},
	{ORDER(TASK(", \"inputs\": [{\"text\": \"\"}]")), -EINVAL, "inputs: "},
	{ORDER(TASK(", \"limit_ms\": -1")), -EINVAL, "limit_ms"},
	{ORDER(TASK(", \"had_sha256\": \"" DIGEST "\"")), -EINVAL, "had_sha256"},
	{"{\"re\": \"mtc\", \"uid\": 0, \"gid\": 7, \"tasks\": [" TASK("") "]}", -EPERM, "root"},
	{"{\"re\": \"mtc\", \"uid\": 7, \"gid\": 0, \"tasks\": [" TASK("") "]}", -EPERM, "root"},
	{"{\"re\": \"mtc\", \"uid\": 4294967295, \"gid\": 7, \"tasks\": [" TASK("") "]}", -EPERM,
	 "root"},
	{"{\"re\": \"../x\", \"uid\": 7, \"gid\": 7, \"tasks\": [" TASK("") "]}", -EINVAL, "re: "},
	{"{\"re\": \"mtc\", \"uid\": 7, \"gid\": 7, \"data\": \"srv\", \"tasks\": [" TASK("") "]}",
	 -EINVAL, "data: must be an absolute path"},
};

static void test_orders(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(orders); i++) {
		struct phx_task_order o;
		struct phx_err err = {0};
		if (phx_json_text_to_record(&phx_task_order_record, orders[i].json, &o, &err) < 0)
			fail_msg("%s: %s", orders[i].json, err.text);
		int r = phx_task_order_check(&o, &err);
		PHX_LIST_EACH(struct phx_task, t, &o.tasks)
			r = r ? r : phx_task_check(t, &err);
		if (r != orders[i].result || (orders[i].says && !strstr(err.text, orders[i].says)))
			fail_msg("%s: %d %s", orders[i].json, r, err.text);
		phx_record_fini(&phx_task_order_record, &o);
	}
}

static void test_orders_are_bounded(void **state)
{
	(void)state;
	struct phx_task_order o = {.re = "mtc", .uid = 7, .gid = 7};
	for (int i = 0; i < PHX_TASKS_MAX; i++) {
		struct phx_task *t = phx_list_push(&o.tasks, sizeof(*t));
		assert_int_equal(phx_text_push(&t->argv, "true"), 0);
	}
	assert_int_equal(phx_task_order_check(&o, NULL), 0);
	phx_list_push(&o.tasks, sizeof(struct phx_task));
	assert_int_equal(phx_task_order_check(&o, NULL), -E2BIG);
	phx_record_fini(&phx_task_order_record, &o);
	o = (struct phx_task_order){0};
	for (int i = 0; i <= PHX_TASKS_MAX; i++)
		phx_list_push(&o.cancels, sizeof(struct phx_task_cancel));
	assert_int_equal(phx_task_order_check(&o, NULL), -E2BIG);
	phx_record_fini(&phx_task_order_record, &o);
}

static const struct {
	const char *json;
	const char *says; /* NULL: it is fine */
} answers[] = {
	{"{\"rows\": [{\"outcome\": \"cancelled\"}]}", NULL},
	{"{\"rows\": [{\"outcome\": \"lost\", \"begin_ms\": 5, \"end_ms\": 5}]}", NULL},
	{"{\"rows\": [{\"begin_ms\": 5, \"end_ms\": 6, \"outputs_sha256\": \"" DIGEST "\"}]}",
	 NULL},
	{"{\"rows\": [{\"begin_ms\": 5, \"end_ms\": 6, \"was_there\": true, \"outputs_sha256\": "
	 "\"" DIGEST "\"}]}",
	 NULL},
	{"{\"rows\": [{\"outcome\": \"exited\"}]}", "rows[0]: begin_ms: it never began"},
	{"{\"rows\": [{\"outcome\": \"lost\"}, {\"outcome\": \"killed\"}]}", "rows[1]: begin_ms"},
	{"{\"rows\": [{\"outcome\": \"lost\", \"status\": 256}]}", "status: must be 0 to 255"},
	{"{\"rows\": [{\"begin_ms\": 6, \"end_ms\": 5}]}", "it ended before it began"},
	{"{\"rows\": [{\"begin_ms\": -1, \"end_ms\": 5}]}", "it ended before it began"},
	{"{\"rows\": [{\"begin_ms\": 5, \"end_ms\": 6, \"outputs_sha256\": \"x\"}]}",
	 "outputs_sha256"},
	{"{\"rows\": [{\"begin_ms\": 5, \"end_ms\": 6, \"status\": 1, \"outputs_sha256\": "
	 "\"" DIGEST "\"}]}",
	 "outputs_sha256"},
	{"{\"rows\": [{\"begin_ms\": 5, \"end_ms\": 6, \"was_there\": true}]}", "was_there"},
	{"{\"rows\": [{\"outcome\": \"lost\", \"text\": \"a\\u001bb\"}]}", "must be printable"},
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(answers); i++) {
		struct phx_task_results all;
		struct phx_err err = {0};
		if (phx_json_text_to_record(&phx_task_results_record, answers[i].json, &all, &err) <
		    0)
			fail_msg("%s: %s", answers[i].json, err.text);
		int r = phx_task_results_check(&all, &err);
		if (r != (answers[i].says ? -EINVAL : 0) ||
		    (answers[i].says && !strstr(err.text, answers[i].says)))
			fail_msg("%s: %d %s", answers[i].json, r, err.text);
		phx_record_fini(&phx_task_results_record, &all);
	}
	struct phx_task_results many = {0};
	for (int i = 0; i <= PHX_TASK_ROWS_MAX; i++) {
		struct phx_task_result *w = phx_list_push(&many.rows, sizeof(*w));
		w->outcome = PHX_TASK_LOST;
		assert_int_equal(phx_task_results_check(&many, NULL),
				 i < PHX_TASK_ROWS_MAX ? 0 : -E2BIG);
	}
	phx_record_fini(&phx_task_results_record, &many);
}

/* What a node says that a task printed is no more than it says is kept, and no more than a
 * piece. */
static void output_is_a_claim(void **state)
{
	static const struct {
		const char *json, *error; /* NULL: it may be told */
	} said[] = {
		{"{\"id\": 1}", NULL},
		{"{\"id\": 1, \"error\": \"nothing is kept\"}", NULL},
		{"{\"id\": 1, \"size_bytes\": 3, \"hex\": \"00ff0a\"}", NULL},
		{"{\"id\": 1, \"size_bytes\": 9, \"hex\": \"00ff0a\"}", NULL},
		{"{\"id\": 1, \"size_bytes\": 2, \"hex\": \"00ff0a\"}", "hex"},
		{"{\"id\": 1, \"size_bytes\": 9, \"hex\": \"00f\"}", "hex"},
		{"{\"id\": 1, \"size_bytes\": 9, \"hex\": \"00FF\"}", "hex"},
		{"{\"id\": 1, \"error\": \"a\\u001bb\"}", "error"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(said); i++) {
		struct phx_task_output o = {0};
		struct phx_err err = {0};
		assert_int_equal(
			phx_json_text_to_record(&phx_task_output_record, said[i].json, &o, &err),
			0);
		int r = phx_task_output_check(&o, &err);
		assert_int_equal(r, said[i].error ? -EINVAL : 0);
		if (r < 0)
			assert_non_null(strstr(err.text, said[i].error));
		phx_record_fini(&phx_task_output_record, &o);
	}
	struct phx_task_output o = {.size_bytes = INT64_MAX,
				    .hex = malloc(2 * PHX_TASK_PIECE_MAX + 3)};
	memset(o.hex, '0', 2 * PHX_TASK_PIECE_MAX + 2);
	o.hex[2 * PHX_TASK_PIECE_MAX + 2] = '\0';
	assert_int_equal(phx_task_output_check(&o, NULL), -E2BIG);
	o.hex[2 * PHX_TASK_PIECE_MAX] = '\0';
	assert_int_equal(phx_task_output_check(&o, NULL), 0);
	o.size_bytes = UINT64_MAX;
	assert_int_equal(phx_task_output_check(&o, NULL), -EINVAL);
	free(o.hex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_orders_are_bounded),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(output_is_a_claim),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
