/* Orders of tasks and answers to them: what is refused, and with which words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
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
	{ORDER("{\"run\": 3, \"task\": 4}"), -EINVAL, "task 3.4: argv: no program"},
	{ORDER(TASK(", \"env\": [{\"text\": \"=A\"}]")), -EINVAL, "task 3.4: env: '=A'"},
	{ORDER(TASK(", \"dir\": \"/tmp\"")), -EINVAL,
	 "task 3.4: dir: '/tmp' must be a path within"},
	{ORDER(TASK(", \"outputs\": [{\"text\": \"a/../b\"}]")), -EINVAL, "task 3.4: outputs: "},
	{ORDER(TASK(", \"inputs\": [{\"text\": \"\"}]")), -EINVAL, "task 3.4: inputs: "},
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_orders_are_bounded),
		cmocka_unit_test(test_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
