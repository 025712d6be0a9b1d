/* phx workflow: files in each form checked, shown, drawn and converted; what it exits with; and
 * phx sim run --workflow. */
#include "fake/phxd.h"

#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/tree.h"

static char dir[] = "/tmp/phx-workflow-XXXXXX";

static const char good[] =
	"name = \"mosaic\"; inputs = ( \"raw\" );\n"
	"tasks = (\n"
	"{ id = \"cut\"; command = [ \"cut\", \"raw\" ]; inputs = [ \"raw\" ]; run = 10;\n"
	"  outputs = ( \"a\", \"b\" ); },\n"
	"{ id = \"left\"; command = [ \"l\" ]; inputs = [ \"a\" ]; outputs = [ \"c\" ]; run = 5; "
	"},\n"
	"{ id = \"right\"; command = [ \"r\" ]; inputs = [ \"b\" ]; outputs = [ \"d\" ]; run = 7; "
	"},\n"
	"{ id = \"glue\"; command = [ \"g\" ]; inputs = [ \"c\", \"d\" ]; run = 1; } );\n";
static const char bad[] =
	"tasks = (\n"
	"{ id = \"a\"; command = [ \"x\" ]; outputs = [ \"f\" ]; },\n"
	"{ id = \"b\"; command = [ \"x\" ]; outputs = [ \"f\" ]; inputs = [ \"none\" ]; } );\n";
static const char circle[] = "tasks = (\n{ id = \"a\"; parents = [ \"b\" ]; },\n{ id = \"b\"; "
			     "parents = [ \"a\" ]; } );\n";

static int setup(void **state)
{
	static const struct {
		const char *name, *text;
	} files[] = {{"good.conf", good}, {"bad.conf", bad}, {"circle.conf", circle}};
	struct phx_err err = {0};
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(files); i++) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, files[i].name);
		if (phx_file_write(path, files[i].text, strlen(files[i].text), 0644, &err) < 0)
			return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return phx_dir_remove(dir, NULL);
}

/* `words` with %s for the directory; there is no phxd. */
static struct phx_said run(const char *words)
{
	char line[1024];
	snprintf(line, sizeof(line), words, dir, dir); /* what is not asked for is passed over */
	return phx_at("/nonexistent", line);
}

static json_t *json_of(const char *text)
{
	struct phx_err err = {0};
	json_t *j;
	if (phx_json_parse(text, strlen(text), &j, &err) < 0)
		fail_msg("%s", err.text);
	return j;
}

static void right_ones_are_told_so(void **state)
{
	(void)state;
	PHX_SAID said = run("workflow check %s/good.conf");
	assert_int_equal(said.status, 0);
	assert_has(said.out,
		   "good.conf: the workflow is right: 4 tasks on 3 levels, at most 2 at "
		   "once; the longest way takes 18.0 s\n");
	PHX_SAID json = run("workflow check %s/good.conf -o json");
	PHX_AUTO_JSON json_t *whole = json_of(json.out);
	const json_t *one = json_array_get(json_object_get(whole, "workflows"), 0);
	assert_int_equal(phx_json_int(one, "n_dependencies", 0), 4);
	assert_int_equal(phx_json_int(one, "work_ms", 0), 23000);
	assert_string_equal(phx_json_str(one, "form", ""), "conf");
	assert_int_equal(json_array_size(json_object_get(one, "findings")), 0);
}

static void wrong_ones_with_each_line(void **state)
{
	(void)state;
	PHX_SAID said = run("workflow check %s/bad.conf %s/good.conf");
	assert_int_equal(said.status, 78);
	assert_has(said.errout, "bad.conf:3: task \"b\": outputs: \"f\" is written by task \"a\"");
	assert_has(said.errout, "bad.conf:3: file \"none\": no task makes it");
	assert_has(said.out, "good.conf: the workflow is right");
	assert_lacks(said.out, "bad.conf");
	PHX_SAID json = run("workflow check %s/bad.conf -o json");
	assert_int_equal(json.status, 78);
	PHX_AUTO_JSON json_t *whole = json_of(json.out);
	const json_t *one = json_array_get(json_object_get(whole, "workflows"), 0);
	assert_int_equal(json_array_size(json_object_get(one, "findings")), 2);
	PHX_SAID round = run("workflow check %s/circle.conf");
	assert_int_equal(round.status, 78);
	assert_has(round.errout,
		   "circle.conf:2: task \"a\": waits for itself: \"a\" waits for \"b\" "
		   "waits for \"a\"");
	PHX_SAID none = run("workflow check %s/none.conf");
	assert_int_not_equal(none.status, 0);
	assert_has(none.errout, "No such file");
}

/* A file of which nothing is right does not fill the terminal. */
static void many_are_counted(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_AUTO_FREE char *path = phx_path("%s/many.conf", dir);
	struct phx_err err = {0};
	(void)state;
	phx_buf_addf(&b, "tasks = (");
	for (int i = 0; i < 50; i++)
		phx_buf_addf(&b, "%s { id = \"t%d\"; }", i ? ",\n" : "", i);
	phx_buf_addf(&b, ");");
	assert_int_equal(phx_file_write(path, b.data, b.n, 0644, &err), 0);
	PHX_SAID said = run("workflow check %s/many.conf");
	assert_int_equal(said.status, 78);
	assert_has(said.errout, "many.conf:20: task \"t19\": command: missing");
	assert_lacks(said.errout, "\"t20\"");
	assert_has(said.errout, "many.conf: there are 30 more mistakes; -o json tells all");
	PHX_SAID json = run("workflow check %s/many.conf -o json");
	assert_has(json.out, "many.conf");
	assert_has(json.out, "\\\"t49\\\"");
}

/* What phoenix-workflow(5) shows is right. */
static void the_manual_is_right(void **state)
{
	PHX_AUTO_FREE char *text = NULL, *path = phx_path("%s/manual.conf", dir);
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(phx_file_read(TEST_DIR "/../etc/phoenix-workflow.5.scd", 1 << 20, &text,
				       NULL, &err),
			 0);
	char *from = strstr(text, "# EXAMPLE\n\n```\n"),
	     *to = from ? strstr(from + 16, "```") : NULL;
	assert_non_null(to);
	from += strlen("# EXAMPLE\n\n```\n");
	assert_int_equal(phx_file_write(path, from, (size_t)(to - from), 0644, &err), 0);
	PHX_SAID said = run("workflow check %s/manual.conf");
	assert_int_equal(said.status, 0);
	assert_has(said.out, "3 tasks on 2 levels");
}

static void shown_as_tables_and_json(void **state)
{
	(void)state;
	PHX_SAID said = run("workflow show %s/good.conf");
	assert_int_equal(said.status, 0);
	assert_has(said.out, "TASK");
	assert_has(said.out, "left right");
	PHX_SAID json = run("workflow show %s/good.conf -o json");
	PHX_AUTO_JSON json_t *whole = json_of(json.out);
	const json_t *way = json_object_get(whole, "longest"),
		     *tasks = json_object_get(whole, "tasks");
	assert_int_equal(json_array_size(tasks), 4);
	assert_int_equal(json_array_size(way), 3);
	assert_string_equal(json_string_value(json_array_get(way, 1)), "right");
	assert_int_equal(phx_json_int(json_array_get(tasks, 3), "level", 0), 2);
}

static void drawn(void **state)
{
	(void)state;
	PHX_SAID dot = run("workflow show %s/good.conf --graph dot");
	assert_has(dot.out, "digraph \"mosaic\" {");
	assert_has(dot.out, "\"right\" -> \"glue\";");
	PHX_SAID svg = run("workflow show %s/good.conf --graph svg");
	assert_has(svg.out, "<svg ");
	PHX_SAID ascii = run("workflow show %s/good.conf --graph ascii");
	assert_has(ascii.out, "  glue  <- left, right\n");
	PHX_SAID other = run("workflow show %s/good.conf --graph png");
	assert_int_equal(other.status, 64);
}

/* Converted it says the same, and the simulator takes as long. */
static void converted(void **state)
{
	struct phx_err err = {0};
	(void)state;
	PHX_SAID said = run("workflow convert %s/good.conf");
	assert_int_equal(said.status, 0);
	PHX_AUTO_FREE char *path = phx_path("%s/good.json", dir);
	assert_int_equal(phx_file_write(path, said.out, strlen(said.out), 0644, &err), 0);
	PHX_SAID again = run("workflow convert %s/good.json");
	assert_string_equal(again.out, said.out);
	PHX_SAID dax = run("workflow convert %s/good.conf --to dax");
	assert_int_equal(dax.status, 0);
	assert_has(dax.out, "<adag ");
	assert_int_equal(phx_file_write(path, dax.out, strlen(dax.out), 0644, &err), 0);
	PHX_SAID back = run("workflow convert %s/good.json --to wfformat");
	assert_string_equal(back.out, said.out);
	PHX_SAID none = run("workflow convert %s/good.conf --to yaml");
	assert_int_equal(none.status, 64);
	assert_int_equal(phx_file_write(path, said.out, strlen(said.out), 0644, &err), 0);
	PHX_SAID one = run("sim run --workflow %s/good.conf --nodes 1 -o json"),
		 other = run("sim run --workflow %s/good.json --nodes 1 -o json");
	PHX_AUTO_JSON json_t *a = json_of(one.out), *b = json_of(other.out);
	assert_float_equal(json_number_value(json_object_get(a, "makespan_s")), 23, 1e-9);
	assert_float_equal(json_number_value(json_object_get(b, "makespan_s")), 23, 1e-9);
}

static void planned(void **state)
{
	(void)state;
	PHX_SAID said = run("workflow plan %s/good.conf --nodes 2");
	assert_int_equal(said.status, 0);
	assert_has(said.errout, "done after 18.0 s, runs of tasks: 4, cores in use: 64 %");
	PHX_SAID json = run("workflow plan %s/good.conf --nodes 2 --fails left -o json");
	PHX_AUTO_JSON json_t *whole = json_of(json.out);
	const json_t *tasks = json_object_get(whole, "tasks");
	assert_string_equal(phx_json_str(whole, "status", ""), "failed");
	assert_string_equal(phx_json_str(json_array_get(tasks, 1), "state", ""), "failed");
	assert_string_equal(phx_json_str(json_array_get(tasks, 3), "state", ""), "skipped");
	PHX_SAID again = run("workflow plan %s/good.conf --done cut --done left -o json");
	PHX_AUTO_JSON json_t *less = json_of(again.out);
	assert_int_equal(phx_json_int(less, "n_runs", 0), 2);
	assert_int_equal(phx_json_int(less, "end_ms", 0), 8000);
	PHX_SAID none = run("workflow plan %s/good.conf --fails nobody");
	assert_int_equal(none.status, 64);
	assert_has(none.errout, "--fails nobody: the workflow has no such task");
	PHX_SAID bad_one = run("workflow plan %s/bad.conf");
	assert_int_equal(bad_one.status, 78);
	assert_has(bad_one.errout, "bad.conf: task \"a\": how long it runs");
}

static void simulated_on_so_many_nodes(void **state)
{
	(void)state;
	PHX_SAID said = run("sim run --workflow %s/good.conf");
	assert_has(said.errout, "on how many nodes? say --nodes COUNT");
	PHX_SAID both = run("sim run --workflow %s/good.conf --swf x --nodes 2");
	assert_int_equal(both.status, 64);
	PHX_SAID odd = run("sim run --workflow %s/good.conf --nodes 2 --lenient");
	assert_int_equal(odd.status, 64);
	assert_has(odd.errout, "--lenient goes with --swf");
	PHX_SAID unknown = run("sim run --workflow %s/bad.conf --nodes 2");
	assert_int_equal(unknown.status, 78);
	assert_has(unknown.errout, "bad.conf:2: task \"a\": how long it runs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_ones_are_told_so),
		cmocka_unit_test(wrong_ones_with_each_line),
		cmocka_unit_test(many_are_counted),
		cmocka_unit_test(the_manual_is_right),
		cmocka_unit_test(shown_as_tables_and_json),
		cmocka_unit_test(drawn),
		cmocka_unit_test(converted),
		cmocka_unit_test(planned),
		cmocka_unit_test(simulated_on_so_many_nodes),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
