/* What would go wrong when a workflow is carried out: each finding, with its line, and what is
 * none. */
#include "unit/flow/flows.h"

static struct phx_flow f;
static char told[2048];

static void found(void *arg, uint32_t task, uint32_t line, const char *text)
{
	(void)arg;
	/* the task is the one that the text begins with, if any */
	if (task != PHX_FLOW_NONE && phx_str_starts(text, "task "))
		assert_non_null(strstr(text, phx_flow_id(&f, task)));
	assert_true(task != PHX_FLOW_NONE || phx_str_starts(text, "file "));
	size_t n = strlen(told);
	snprintf(told + n, sizeof(told) - n, "%u: %s\n", line, text);
}

static uint32_t check(struct phx_flow_draft *d)
{
	struct phx_err err = {0};
	phx_flow_fini(&f);
	told[0] = '\0';
	d->what = "f";
	if (phx_flow_make(d, &f, &err) < 0)
		fail_msg("%s", err.text);
	phx_flow_draft_fini(d);
	bool outside = d->tells_outside;
	*d = (struct phx_flow_draft){.tells_outside = outside};
	return phx_flow_check(&f, found, NULL);
}

static int teardown(void **state)
{
	(void)state;
	phx_flow_fini(&f);
	return 0;
}

static void test_right(void **state)
{
	struct phx_flow_draft d = {.tells_outside = true};
	struct phx_err err = {0};
	(void)state;
	add_tasks(&d, "a");
	add_link(&d, PHX_FLOW_LINK_INPUT, "raw");
	add_link(&d, PHX_FLOW_LINK_OUTPUT, "x");
	add_tasks(&d, "b<a");
	add_link(&d, PHX_FLOW_LINK_INPUT, "x");
	add_link(&d, PHX_FLOW_LINK_OUTPUT, "deep/y");
	assert_int_equal(phx_flow_draft_file(&d, "raw", 3, 0, false, 9, &err), 0);
	assert_int_equal(check(&d), 0);
	assert_string_equal(told, "");
}

static void test_command(void **state)
{
	struct phx_flow_draft d = {0};
	(void)state;
	add_task(&d, "a");
	assert_int_equal(check(&d), 1);
	assert_string_equal(told, "1: task \"a\": command: missing: what does it run?\n");
}

static void test_writers(void **state)
{
	struct phx_flow_draft d = {0};
	(void)state;
	add_tasks(&d, "a");
	add_link(&d, PHX_FLOW_LINK_OUTPUT, "x");
	add_tasks(&d, "b<a");
	add_link(&d, PHX_FLOW_LINK_OUTPUT, "x");
	assert_int_equal(check(&d), 1);
	assert_string_equal(told, "2: task \"b\": outputs: \"x\" is written by task \"a\", too\n");
}

/* Only where the form tells of files from outside. */
static void test_nobody(void **state)
{
	struct phx_flow_draft d = {.tells_outside = true};
	(void)state;
	add_tasks(&d, "a");
	add_link(&d, PHX_FLOW_LINK_INPUT, "x");
	assert_int_equal(check(&d), 1);
	assert_string_equal(told,
			    "1: file \"x\": no task makes it, and it is not declared as an "
			    "input of the workflow\n");
	d.tells_outside = false;
	add_tasks(&d, "a");
	add_link(&d, PHX_FLOW_LINK_INPUT, "x");
	assert_int_equal(check(&d), 0);
}

static void test_outside_is_written(void **state)
{
	struct phx_flow_draft d = {.tells_outside = true};
	struct phx_err err = {0};
	(void)state;
	add_tasks(&d, "a");
	add_link(&d, PHX_FLOW_LINK_OUTPUT, "x");
	assert_int_equal(phx_flow_draft_file(&d, "x", 1, 0, true, 9, &err), 0);
	assert_int_equal(check(&d), 1);
	assert_string_equal(told,
			    "9: file \"x\" is declared as an input of the workflow, but task "
			    "\"a\" writes it\n");
}

static void test_order(void **state)
{
	struct phx_flow_draft d = {0};
	(void)state;
	add_tasks(&d, "a");
	add_link(&d, PHX_FLOW_LINK_OUTPUT, "x");
	add_link(&d, PHX_FLOW_LINK_INPUT, "x");
	add_tasks(&d, "b");
	add_link(&d, PHX_FLOW_LINK_INPUT, "x");
	assert_int_equal(check(&d), 2);
	assert_string_equal(told,
			    "1: task \"a\": inputs: \"x\" is written by the task itself\n"
			    "2: task \"b\": inputs: \"x\" is written by task \"a\", for which "
			    "it does not wait\n");
}

static void test_places(void **state)
{
	static const char *const names[] = {"/etc/passwd", "../x", "a//b", "./a"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++) {
		struct phx_flow_draft d = {0};
		add_tasks(&d, "a");
		add_link(&d, PHX_FLOW_LINK_OUTPUT, names[i]);
		assert_int_equal(check(&d), 1);
		assert_non_null(strstr(told, "must be a path within the data directory"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_writers),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_outside_is_written),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_places),
	};
	return cmocka_run_group_tests(tests, NULL, teardown);
}
