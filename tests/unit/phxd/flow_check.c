/* Workflows that are only looked at (cmd/phxd/flow_check.c): for which reasons the head would
 * refuse to run one, where they are told, and what is answered to a text that is none. */
#include "base/tree.h"
#include "fake/request.h"

#include <sys/stat.h>
#include <unistd.h>

#include "phxd/flow_check.c" /* a part of a program, not of the library */

static char top[64], path[96];

static int setup(void **state)
{
	(void)state;
	strcpy(top, "/tmp/phx-flow.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(path, sizeof(path), "%s/upload", top);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return phx_dir_remove(top, NULL);
}

/* The answer to a text that was uploaded. */
static int looks_at(const char *text, json_t **ret)
{
	FAKE_REQUEST q = {.body_path = path};
	assert_int_equal(phx_file_write(path, text, strlen(text), 0600, NULL), 0);
	api_workflow_check(&q, NULL);
	*ret = json_incref(q.json);
	return q.code;
}

static const json_t *finding(const json_t *j, size_t i)
{
	return json_array_get(json_object_get(j, "findings"), i);
}

static const char *says(const json_t *j, size_t i)
{
	return phx_json_str(finding(j, i), "text", "");
}

static const char good[] =
	"name = \"survey\";\ntasks = (\n"
	"  { id = \"a\"; command = [ \"make\" ]; outputs = [ \"p\" ]; run = 2.0; },\n"
	"  { id = \"b\"; command = [ \"take\" ]; inputs = [ \"p\" ]; run = 3.0; }\n"
	");\n";

static void a_good_one_has_sums_and_no_findings(void **state)
{
	PHX_AUTO_JSON json_t *j = NULL;
	(void)state;
	assert_int_equal(looks_at(good, &j), 200);
	assert_string_equal(phx_json_str(j, "form", ""), "conf");
	assert_int_equal(phx_json_int(j, "n_findings", -1), 0);
	assert_int_equal(json_array_size(json_object_get(j, "findings")), 0);
	assert_string_equal(phx_json_str(j, "name", ""), "survey");
	assert_int_equal(phx_json_int(j, "n_tasks", -1), 2);
	assert_int_equal(phx_json_int(j, "n_dependencies", -1), 1);
	assert_int_equal(phx_json_int(j, "n_levels", -1), 2);
	assert_int_equal(phx_json_int(j, "longest_ms", -1), 5000);
	assert_int_equal(phx_json_int(j, "work_ms", -1), 5000);
}

/* It cannot be read: the one finding is where, and there are no sums. */
static void a_text_that_cannot_be_read_is_a_finding_of_its_line(void **state)
{
	PHX_AUTO_JSON json_t *j = NULL;
	(void)state;
	assert_int_equal(looks_at("name = \"x\";\ntasks = (\n{ id = \"a\"; colour = 1; } );\n", &j),
			 200);
	assert_int_equal(phx_json_int(j, "n_findings", -1), 1);
	assert_int_equal(phx_json_int(finding(j, 0), "line", -1), 3);
	assert_null(strstr(says(j, 0), "workflow:"));
	assert_true(says(j, 0)[0] != ' ' && says(j, 0)[0]);
	assert_null(json_object_get(j, "n_tasks"));
}

static void add_task(struct phx_buf *b, const char *id, const char *more)
{
	phx_buf_addf(b, "%s  { id = \"%s\"; command = [ \"x\" ]; %s }",
		     b->n ? ",\n" : "tasks = (\n", id, more);
}

static void what_an_order_cannot_hold_is_told_of_its_task(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0}, files = {0}, words = {0};
	PHX_AUTO_JSON json_t *j = NULL;
	(void)state;
	for (int i = 0; i <= PHX_TASK_PATHS_MAX; i++)
		phx_buf_addf(&files, "%s\"f%d\"", i ? ", " : "outputs = [ ", i);
	phx_buf_addf(&files, " ];");
	phx_buf_addf(&words, "environment = [ \"A=%0*d\" ];", WORDS_MAX, 0);
	add_task(&b, "good", "");
	add_task(&b, "many", "nodes = 2;");
	add_task(&b, "files", files.data);
	add_task(&b, "words", words.data);
	phx_buf_addf(&b, "\n);\n");
	assert_int_equal(looks_at(b.data, &j), 200);
	assert_int_equal(phx_json_int(j, "n_findings", -1), 2);
	assert_string_equal(phx_json_str(finding(j, 0), "task", ""), "files");
	assert_int_equal(phx_json_int(finding(j, 0), "line", -1), 4);
	assert_non_null(strstr(says(j, 0), "\"files\" has more than 1024 inputs or outputs"));
	assert_non_null(strstr(says(j, 1), "\"words\" are longer than 48 KiB"));
	assert_int_equal(phx_json_int(finding(j, 1), "line", -1), 5);
}

/* As much as may be is not too much. */
static void what_an_order_can_just_hold_is_good(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0}, files = {0}, words = {0};
	PHX_AUTO_JSON json_t *j = NULL;
	(void)state;
	for (int i = 0; i < PHX_TASK_PATHS_MAX; i++)
		phx_buf_addf(&files, "%s\"f%d\"", i ? ", " : "outputs = [ ", i);
	phx_buf_addf(&files, " ];");
	/* "x", "A=" and digits, each word with its NUL */
	phx_buf_addf(&words, "environment = [ \"A=%0*d\" ];", WORDS_MAX - 5, 0);
	add_task(&b, "files", files.data);
	add_task(&b, "words", words.data);
	phx_buf_addf(&b, "\n);\n");
	assert_int_equal(looks_at(b.data, &j), 200);
	assert_int_equal(phx_json_int(j, "n_findings", -1), 0);
}

/* All are counted, and some are told. */
static void there_are_not_any_number_of_findings(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_AUTO_JSON json_t *j = NULL;
	char id[16], more[64];
	(void)state;
	for (int i = 0; i < FINDINGS_MAX + 7; i++) {
		snprintf(id, sizeof(id), "t%d", i);
		snprintf(more, sizeof(more), "outputs = [ \"f%d\" ]; inputs = [ \"f%d\" ];", i, i);
		add_task(&b, id, more);
	}
	phx_buf_addf(&b, "\n);\n");
	assert_int_equal(looks_at(b.data, &j), 200);
	assert_int_equal(phx_json_int(j, "n_findings", -1), FINDINGS_MAX + 7);
	assert_int_equal(json_array_size(json_object_get(j, "findings")), FINDINGS_MAX);
}

static void a_submission_is_refused_for_the_first_of_them(void **state)
{
	static const char two[] = "tasks = (\n{ id = \"a\"; },\n{ id = \"b\"; } );\n";
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0}, fine = {0};
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(phx_workflow_read("w", two, strlen(two), &f, &err), 0);
	assert_int_equal(flow_check_first(&f, &err), -EINVAL);
	assert_int_equal(strncmp(err.text, "workflow:2: task \"a\": command: missing", 38), 0);
	phx_err_clear(&err);
	assert_int_equal(phx_workflow_read("w", good, strlen(good), &fine, &err), 0);
	assert_int_equal(flow_check_first(&fine, &err), 0);
	assert_string_equal(err.text, "");
}

static void what_is_no_upload_or_too_large_is_refused(void **state)
{
	FAKE_REQUEST none = {0}, empty = {.body_path = path}, large = {.body_path = path};
	(void)state;
	api_workflow_check(&none, NULL);
	assert_int_equal(none.code, -EINVAL);
	assert_int_equal(phx_file_write(path, "", 0, 0600, NULL), 0);
	api_workflow_check(&empty, NULL);
	assert_int_equal(empty.code, -EINVAL);
	assert_string_equal(empty.text, "the body must be a workflow");
	assert_int_equal(truncate(path, ((off_t)FLOW_LOOK_MAX_MB << 20) + 1), 0);
	api_workflow_check(&large, NULL);
	assert_int_equal(large.code, -EFBIG);
}

/* ---- converted ---- */

static int converts(const char *to, const char *text, char ret[FAKE_TEXT], const char **ret_type)
{
	FAKE_REQUEST q = {.body_path = path, .query = {{to ? "to" : NULL, to}}};
	static char type[64];
	assert_int_equal(phx_file_write(path, text, strlen(text), 0600, NULL), 0);
	api_workflow_convert(&q, NULL);
	snprintf(ret, FAKE_TEXT, "%s", q.text);
	snprintf(type, sizeof(type), "%s", q.json ? json_string_value(q.json) : "");
	*ret_type = type;
	return q.code;
}

static void a_workflow_is_converted_and_comes_back(void **state)
{
	static const char *const forms[] = {"wfformat", "dax"};
	char other[FAKE_TEXT], back[FAKE_TEXT];
	const char *type;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(forms); i++) {
		assert_int_equal(converts(forms[i], good, other, &type), 200);
		/* no browser takes any of it for a page */
		assert_string_equal(type, i ? "text/plain; charset=utf-8" : "application/json");
		assert_int_equal(converts("conf", other, back, &type), 200);
		assert_string_equal(type, "text/plain; charset=utf-8");
		assert_non_null(strstr(back, "\"survey\""));
		assert_non_null(strstr(back, "\"take\""));
	}
}

static void what_cannot_be_converted_is_told(void **state)
{
	char text[FAKE_TEXT];
	const char *type;
	(void)state;
	assert_int_equal(converts(NULL, good, text, &type), -EINVAL);
	assert_string_equal(text, "to: must be wfformat, dax or conf");
	assert_int_equal(converts("html", good, text, &type), -EINVAL);
	assert_int_equal(converts("conf", "{", text, &type), -EINVAL);
	assert_int_equal(strncmp(text, "workflow:1: ", 12), 0);
	assert_int_equal(converts("conf", "<adag", text, &type), -EINVAL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_good_one_has_sums_and_no_findings),
		T(a_text_that_cannot_be_read_is_a_finding_of_its_line),
		T(what_an_order_cannot_hold_is_told_of_its_task),
		T(what_an_order_can_just_hold_is_good),
		T(there_are_not_any_number_of_findings),
		T(a_submission_is_refused_for_the_first_of_them),
		T(what_is_no_upload_or_too_large_is_refused),
		T(a_workflow_is_converted_and_comes_back),
		T(what_cannot_be_converted_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
