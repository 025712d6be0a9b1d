/* Workflows in the forms that are ours and WfCommons': what is read, what is written and read
 * back, what is refused, with line and path. */
#include "trace/decimal.h"
#include "trace/wfformat.h"
#include "trace/workflow.h"
#include "unit/trace/traces.h"

static struct phx_flow f;
static struct phx_err err;

static int teardown(void **state)
{
	(void)state;
	phx_flow_fini(&f);
	return 0;
}

static int read_text(const char *text)
{
	phx_flow_fini(&f);
	phx_err_clear(&err);
	return phx_workflow_read("w", text, strlen(text), &f, &err);
}

static void expect(uint32_t task, enum phx_flow_list list, const char *expected)
{
	char text[256] = "";
	PHX_FLOW_EACH(it, &f, task, list)
	{
		const char *name = list == PHX_FLOW_INPUTS || list == PHX_FLOW_OUTPUTS
			? phx_flow_file_name(&f, *it)
			: list >= PHX_FLOW_PARENTS ? phx_flow_id(&f, *it)
						   : phx_flow_text(&f, *it);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ", name);
	}
	assert_string_equal(text, expected);
}

/* ---- our own form ---- */

static const char by_hand[] =
	"name = \"survey\";\n"
	"inputs = ( \"raw.fits\", { name = \"sky.hdr\"; size = \"3 KiB\"; } );\n"
	"tasks = (\n"
	"  { id = \"add\"; command = [ \"madd\", \"a b\", \"\" ]; inputs = [ \"p.fits\" ];\n"
	"    parents = ( \"watch\" ); when_failed = \"hold\"; run = 3.5; },\n"
	"  { id = \"project\"; name = \"mProject\"; command = [ \"mproject\" ]; nodes = 2;\n"
	"    cores = 4; memory = \"2 GiB\"; time = \"10m\"; retries = 3;\n"
	"    environment = [ \"A=b\" ]; inputs = ( \"raw.fits\", \"sky.hdr\" );\n"
	"    outputs = ( { name = \"p.fits\"; size = 1000; } ); },\n"
	"  { id = \"watch\"; command = [ \"true\" ]; when_failed = \"go_on\"; }\n"
	");\n";

static void check_by_hand(void)
{
	const struct phx_flow_task *t = &f.tasks[1];
	assert_int_equal(f.n_tasks, 3);
	assert_string_equal(phx_flow_text(&f, f.name), "survey");
	expect(0, PHX_FLOW_PARENTS, "project watch ");
	expect(0, PHX_FLOW_ARGV, "madd a b  ");
	expect(1, PHX_FLOW_INPUTS, "raw.fits sky.hdr ");
	expect(1, PHX_FLOW_ENVIRONMENT, "A=b ");
	assert_string_equal(phx_flow_text(&f, t->name), "mProject");
	assert_int_equal(t->nodes, 2);
	assert_int_equal(t->cores, 4);
	assert_int_equal(t->memory_bytes, (uint64_t)2 << 30);
	assert_int_equal(t->time_ms, 600000);
	assert_int_equal(t->run_ms, -1);
	assert_int_equal(t->retries, 3);
	assert_int_equal(t->when_failed, PHX_FLOW_STOP);
	assert_int_equal(f.tasks[0].when_failed, PHX_FLOW_HOLD);
	assert_int_equal(f.tasks[0].run_ms, 3500);
	assert_int_equal(f.tasks[2].when_failed, PHX_FLOW_GO_ON);
	assert_string_equal(phx_flow_file_name(&f, 0), "p.fits");
	assert_int_equal(f.files[0].size_bytes, 1000);
	assert_int_equal(f.files[2].size_bytes, 3072);
	assert_true(f.files[1].outside);
	assert_true(f.files[2].outside);
	assert_true(f.tells_outside);
}

static void test_by_hand(void **state)
{
	(void)state;
	if (read_text(by_hand) < 0)
		fail_msg("%s", err.text);
	check_by_hand();
	assert_int_equal(f.tasks[1].line, 6);
}

#define TASK(members) "tasks = (\n{ id = \"a\"; command = [ \"x\" ]; " members " } );\n"

static void test_by_hand_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "w:"},
		{"tasks = ();", "w:1: no task in it"},
		{"tasks = 5;", "w:1: tasks must be a list"},
		{"tasks = ( 5 );", "w:1: a task must be a group"},
		{"tasks = (\n{ command = [ \"x\" ]; } );", "w:2: "},
		{TASK("node = 1;"), "w:2: "},
		{TASK("memory = \"2000 TiB\";"), "w:2: task \"a\": memory: at most 1 PiB"},
		{TASK("nodes = 0;"), "w:2: nodes"},
		{TASK("when_failed = \"cry\";"), "go_on"},
		{TASK("parents = [ \"b\" ];"), "w:2: task \"a\": parents: \"b\": no such task"},
		{TASK("outputs = [ 5 ];"), "w:2: "},
		{TASK("environment = \"A=b\";"), "w:2: environment must be a list"},
		{TASK("environment = [ \"A\" ];"), "expected NAME=VALUE"},
		{TASK("outputs = ( { size = 5; } );"), "w:2: "},
		{TASK("inputs = [ \"x\" ];") "inputs = [ \"" /* 300 bytes */
					     "01234567890123456789012345678901234567890123456789012"
					     "34567890123456789"
					     "01234567890123456789012345678901234567890123456789012"
					     "34567890123456789"
					     "01234567890123456789012345678901234567890123456789012"
					     "34567890123456789"
					     "01234567890123456789012345678901234567890123456789012"
					     "34567890123456789\" ];",
		 "w:3: the name of a file has at most 255 bytes"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_text(cases[i].text), -EINVAL);
		assert_says(&err, cases[i].says);
		assert_null(f.tasks);
	}
}

/* Files alone put tasks into an order: a circle is one of files. */
static void test_by_hand_circle(void **state)
{
	(void)state;
	assert_int_equal(read_text("tasks = (\n"
				   "{ id = \"a\"; inputs = [ \"y\" ]; outputs = [ \"x\" ]; },\n"
				   "{ id = \"b\"; inputs = [ \"x\" ]; outputs = [ \"y\" ]; } );\n"),
			 -EINVAL);
	assert_says(&err, "waits for itself: ");
}

/* ---- WfFormat ---- */

#define WF(specification, execution) \
	"{\"name\":\"w\",\"schemaVersion\":\"1.5\",\"workflow\":{\n\"specification\":" \
	"{" specification "}" execution "}}"

static void test_wfformat(void **state)
{
	static const char text[] =
		"{\"workflow\": {\"execution\": {\"makespanInSeconds\": 9, \"executedAt\": \"x\",\n"
		"  \"tasks\": [{\"command\": {\"arguments\": [\"-x\", \"\\u00e9\"], \"program\": "
		"\"p\"},\n"
		"   \"runtimeInSeconds\": 1.25e1, \"id\": \"b\", \"coreCount\": 2.0, "
		"\"memoryInBytes\": 1e6,\n"
		"   \"avgCPU\": 99.5, \"machines\": [\"m\"]}], \"machines\": [{}]},\n"
		" \"specification\": {\"files\": [{\"id\": \"in\", \"sizeInBytes\": 7}, "
		"{\"id\": \"out\"}],\n"
		"  \"tasks\": [{\"name\": \"k\", \"id\": \"a\", \"parents\": [], "
		"\"children\": [\"b\"],\n"
		"    \"inputFiles\": [\"in\"], \"outputFiles\": [\"out\"]},\n"
		"   {\"id\": \"b\", \"parents\": [\"a\"], \"children\": [], \"inputFiles\": "
		"[\"out\"]}]}},\n"
		" \"schemaVersion\": \"1.5\", \"name\": \"n\", \"author\": {\"name\": null}}\n";
	(void)state;
	if (read_text(text) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(f.n_tasks, 2);
	assert_string_equal(phx_flow_text(&f, f.name), "n");
	assert_string_equal(phx_flow_text(&f, f.tasks[0].name), "k");
	assert_int_equal(f.tasks[0].run_ms, -1);
	assert_int_equal(f.tasks[0].line, 6);
	assert_int_equal(f.tasks[1].run_ms, 12500);
	assert_int_equal(f.tasks[1].cores, 2);
	assert_int_equal(f.tasks[1].memory_bytes, 1000000);
	expect(1, PHX_FLOW_ARGV, "p -x \xc3\xa9 ");
	expect(1, PHX_FLOW_PARENTS, "a ");
	expect(1, PHX_FLOW_INPUTS, "out ");
	assert_true(f.files[0].outside);
	assert_false(f.files[1].outside);
	assert_int_equal(f.files[0].size_bytes, 7);
}

#define A "{\"id\":\"a\",\"name\":\"a\",\"parents\":[],\"children\":[]}"
#define RAN(members) ",\n\"execution\":{\"tasks\":[{\"id\":\"a\"," members "}]}"

static void test_wfformat_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"{", "w:1: "},
		{"{\"workflow\":5}", "w:1: workflow: expected an object"},
		{WF("\"tasks\":[" A "]", "") "x", "w:2: the end is expected"},
		{"{\"workflow\":{\"specification\":{}}}", "schemaVersion: missing"},
		{"{\"schemaVersion\":\"1.5\"}", "workflow.specification: missing"},
		{"{\"schemaVersion\":\"1.3\"}", "schemaVersion: expected WfFormat 1.5"},
		{WF("", ""), "w:1: no task in it"},
		{WF("\"tasks\":{}", ""), "w:2: workflow.specification.tasks: expected a list"},
		{WF("\"tasks\":[" A ",\n5]", ""),
		 "w:3: workflow.specification.tasks[1]: expected an object"},
		{WF("\"tasks\":[{\"x\":[1,tru]}]", ""), "w:2: workflow.specification: "},
		{WF("\"tasks\":[{}]", ""), "workflow.specification.tasks[0]: id: missing"},
		{WF("\"tasks\":[{\"id\":5}]", ""),
		 "workflow.specification.tasks[0].id: expected a text"},
		{WF("\"tasks\":[{\"id\":\"a\",\"parents\":[\"b\"]}]", ""),
		 "w:2: task \"a\": parents: \"b\": no such task"},
		{WF("\"tasks\":[{\"id\":\"a\",\"children\":[\"b\"]}]", ""),
		 "w:2: task \"a\": children: \"b\": no such task"},
		{WF("\"tasks\":[" A "],\"files\":[{\"sizeInBytes\":1}]", ""),
		 "workflow.specification.files[0]: id: missing"},
		{WF("\"tasks\":[" A "],\"files\":[{\"id\":\"f\",\"sizeInBytes\":-1}]", ""),
		 "files[0].sizeInBytes: expected a number, not below 0"},
		{WF("\"tasks\":[" A "]", ",\"execution\":{\"tasks\":[{\"id\":\"b\"}]}"),
		 "w:2: workflow.execution.tasks[0].id: no such task"},
		{WF("\"tasks\":[" A "]", ",\"execution\":{\"tasks\":[{}]}"),
		 "workflow.execution.tasks[0]: id: missing"},
		{WF("\"tasks\":[" A "]", RAN("\"runtimeInSeconds\":1e99")),
		 "w:3: workflow.execution.tasks[0].runtimeInSeconds: the number is too large"},
		{WF("\"tasks\":[" A "]", RAN("\"coreCount\":0")),
		 "coreCount: the number is too small"},
		{WF("\"tasks\":[" A "]", RAN("\"command\":[]")), "command: expected an object"},
		{WF("\"tasks\":[" A "]", RAN("\"command\":{\"program\":1}")),
		 "command.program: expected a text"},
		{WF("\"tasks\":[" A "]", RAN("\"phoenix\":{\"when_failed\":\"cry\"}")),
		 "phoenix.when_failed: "},
		{WF("\"tasks\":[" A "]", RAN("\"phoenix\":{\"runtimeKnown\":5}")),
		 "phoenix.runtimeKnown"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_text(cases[i].text), -EINVAL);
		assert_says(&err, cases[i].says);
		assert_null(f.tasks);
	}
	assert_int_equal(phx_wfformat_read("w", "{\0}", 3, &f, &err), -EINVAL);
}

/* What is written is read back the same, and written the same again. */
static void test_written(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf once = {0}, twice = {0};
	(void)state;
	assert_int_equal(read_text(by_hand), 0);
	phx_wfformat_write(&f, &once);
	assert_false(once.failed);
	if (read_text(once.data) < 0)
		fail_msg("%s: %s", err.text, once.data);
	check_by_hand();
	phx_wfformat_write(&f, &twice);
	assert_string_equal(once.data, twice.data);
}

/* What forms find hard: their own signs, empty words, words with blanks, sizes that are no MiB, a
 * kind that is not the program, no command at all, a parent that no file tells of, a file that two
 * write. */
static const char hard[] =
	"{\"name\":\"<&\\\"'\\\\>\",\"schemaVersion\":\"1.5\",\"workflow\":{"
	"\"specification\":{\"tasks\":["
	"{\"id\":\"a\",\"name\":\"kind\",\"parents\":[],\"children\":[\"b\"],"
	"\"inputFiles\":[\"in\"],\"outputFiles\":[\"x&y\",\"twice\"]},"
	"{\"id\":\"b\",\"name\":\"b\",\"parents\":[\"a\"],\"children\":[],"
	"\"inputFiles\":[\"x&y\"],\"outputFiles\":[\"twice\"]},"
	"{\"id\":\"c\",\"name\":\"plain\",\"parents\":[\"b\"],\"children\":[]},"
	"{\"id\":\"d\",\"name\":\"p\",\"parents\":[],\"children\":[]}],"
	"\"files\":[{\"id\":\"in\",\"sizeInBytes\":5000000000},{\"id\":\"x&y\",\"sizeInBytes\":7},"
	"{\"id\":\"twice\",\"sizeInBytes\":0}]},"
	"\"execution\":{\"tasks\":[{\"id\":\"a\",\"runtimeInSeconds\":1.234,\"coreCount\":2,"
	"\"memoryInBytes\":3000000001,\"command\":{\"program\":\"/bin/sh\",\"arguments\":"
	"[\"-c\",\"echo \\\"a\\\\b\\\" <c> 'd' \u00e9\",\"\"]},"
	"\"phoenix\":{\"nodes\":2,\"retries\":3,\"when_failed\":\"hold\",\"timeInSeconds\":60.5,"
	"\"environment\":[\"A=b=<c>\",\"E=\"]}},"
	"{\"id\":\"d\",\"command\":{\"program\":\"p\",\"arguments\":[\"a b\"]}},"
	"{\"id\":\"c\",\"runtimeInSeconds\":5000000,\"command\":{\"program\":\"plain\","
	"\"arguments\":[\"-x\",\"1\"]}}]}}}";

/* In each form, read back, it is what it was. */
static void test_other_forms(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf first = {0};
	(void)state;
	for (int form = PHX_WORKFLOW_CONF; form <= PHX_WORKFLOW_DAX; form++) {
		PHX_AUTO(phx_buf_fini) struct phx_buf text = {0}, again = {0};
		if (read_text(hard) < 0)
			fail_msg("%s", err.text);
		first.n = 0;
		phx_wfformat_write(&f, &first);
		if (phx_workflow_write(&f, (enum phx_workflow_form)form, &text, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(phx_workflow_form_of(text.data, text.n), form);
		if (read_text(text.data) < 0)
			fail_msg("%s: %s", err.text, text.data);
		phx_wfformat_write(&f, &again);
		assert_string_equal(first.data, again.data);
	}
}

/* Several lines the form by hand cannot hold; what XML cannot, DAX cannot. */
static void test_form_too_narrow(void **state)
{
	static const char lines[] =
		"{\"name\":\"w\",\"schemaVersion\":\"1.5\",\"workflow\":{"
		"\"specification\":{\"tasks\":[{\"id\":\"a\",\"parents\":[]}]},\"execution\":"
		"{\"tasks\":[{\"id\":\"a\",\"command\":{\"program\":\"sh\",\"arguments\":"
		"[\"-c\",\"one\\n\\ttwo %s\\r\"]}}]}}}";
	PHX_AUTO(phx_buf_fini) struct phx_buf conf = {0}, dax = {0}, worse = {0}, much = {0};
	char text[1024];
	(void)state;
	snprintf(text, sizeof(text), lines, "");
	assert_int_equal(read_text(text), 0);
	assert_int_equal(phx_workflow_write(&f, PHX_WORKFLOW_CONF, &conf, &err), -EINVAL);
	assert_says(&err, "several lines");
	assert_int_equal(phx_workflow_write(&f, PHX_WORKFLOW_DAX, &dax, &err), 0);
	assert_int_equal(read_text(dax.data), 0);
	expect(0, PHX_FLOW_ARGV, "sh -c one\n\ttwo \r ");
	snprintf(text, sizeof(text), lines, "\\u0001");
	assert_int_equal(read_text(text), 0);
	assert_int_equal(phx_workflow_write(&f, PHX_WORKFLOW_DAX, &worse, &err), -EINVAL);
	assert_says(&err, "control character");
	phx_buf_addf(&much, "tasks = (");
	for (int i = 0; i < 9000; i++)
		phx_buf_addf(&much, "%s{id=\"%d\";command=[\"a\"];}", i ? ",\n" : "", i);
	phx_buf_addf(&much, ");");
	assert_int_equal(read_text(much.data), 0);
	for (uint32_t i = 0; i < f.n_tasks; i++)
		f.tasks[i].memory_bytes = PHX_FLOW_BYTES_MAX;
	for (uint32_t i = 0; i < f.n_tasks; i++)
		f.tasks[i].when_failed = PHX_FLOW_HOLD;
	for (uint32_t i = 0; i < f.n_tasks; i++)
		f.tasks[i].cores = PHX_FLOW_CORES_MAX;
	for (uint32_t i = 0; i < f.n_tasks; i++)
		f.tasks[i].time_ms = f.tasks[i].run_ms = PHX_FLOW_TIME_MAX_MS - 1;
	assert_int_equal(phx_workflow_write(&f, PHX_WORKFLOW_CONF, &conf, &err), -EFBIG);
}

static void test_decimal(void **state)
{
	static const struct {
		const char *text;
		uint64_t milli; /* UINT64_MAX: refused */
	} cases[] = {
		{"0", 0},
		{"13.41", 13410},
		{"1.9999", 1999},
		{"5e2", 500000},
		{"5E+2", 500000},
		{"1234.5e-3", 1234},
		{"1e-400", 0},
		{"0.000000000000000000000001e26", 100000},
		{"123456789012345678901234567890e-21", 123456789012},
		{"1e9", 1000000000000},
		{"1e10", UINT64_MAX},
		{"1e99999999999", UINT64_MAX},
		{"1e", UINT64_MAX},
		{"1e+", UINT64_MAX},
		{"", UINT64_MAX},
		{".5", UINT64_MAX},
		{"-1", UINT64_MAX},
		{"1x", UINT64_MAX},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		uint64_t milli = 0;
		int r = phx_decimal_json(cases[i].text, strlen(cases[i].text),
					 (uint64_t)PHX_FLOW_TIME_MAX_MS, &milli);
		assert_int_equal(r, cases[i].milli == UINT64_MAX ? -EINVAL : 0);
		if (r == 0 && milli != cases[i].milli)
			fail_msg("%s: %llu", cases[i].text, (unsigned long long)milli);
	}
	int64_t ms = 5;
	assert_int_equal(phx_decimal_ms("1e3", 3, &ms), -EINVAL);
	assert_int_equal(ms, 5);
}

static void test_form(void **state)
{
	(void)state;
	assert_int_equal(phx_workflow_form_of("\xef\xbb\xbf \n<a", 7), PHX_WORKFLOW_DAX);
	assert_int_equal(phx_workflow_form_of(" {", 2), PHX_WORKFLOW_WFFORMAT);
	assert_int_equal(phx_workflow_form_of("tasks", 5), PHX_WORKFLOW_CONF);
	assert_int_equal(phx_workflow_form_of("", 0), PHX_WORKFLOW_CONF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),          cmocka_unit_test(test_by_hand_refused),
		cmocka_unit_test(test_by_hand_circle),   cmocka_unit_test(test_wfformat),
		cmocka_unit_test(test_wfformat_refused), cmocka_unit_test(test_written),
		cmocka_unit_test(test_decimal),          cmocka_unit_test(test_form),
		cmocka_unit_test(test_other_forms),      cmocka_unit_test(test_form_too_narrow),
	};
	return cmocka_run_group_tests(tests, NULL, teardown);
}
