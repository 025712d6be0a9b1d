/* Workflows in DAX: tasks, dependencies, files, levels; what is refused, with its line; as a
 * workload, submitted again and again. */
#include "trace/dax.h"
#include "trace/workflow.h"
#include "unit/trace/traces.h"

static struct phx_flow f;
static struct phx_trace_jobs w;
static struct phx_flow_sums sums;
static struct phx_err err;

static int teardown(void **state)
{
	(void)state;
	phx_flow_fini(&f);
	phx_trace_jobs_fini(&w);
	return 0;
}

static int read_n(const char *text, size_t n)
{
	teardown(NULL);
	phx_err_clear(&err);
	int r = phx_workflow_read("flow.xml", text, n, &f, &err);
	r = r < 0 ? r : phx_flow_sum(&f, &sums);
	return r < 0 ? r : phx_workflow_jobs(&f, "flow.xml", &w, &err);
}

static int read_text(const char *text)
{
	return read_n(text, strlen(text));
}

#define ADAG(body) \
	"<?xml version=\"1.0\"?>\n<adag xmlns=\"http://example.org/DAX\" name=\"test\">\n" body \
	"</adag>\n"

/* a → b, a → c, b → d, c → d; c is on the longest way by time, and needs 4 nodes. */
static const char diamond[] = ADAG(
	"<job id=\"a\" name=\"first\" runtime=\"1.5\"><uses file=\"x\" size=\"100\"/></job>\n"
	"<job id=\"d\" name=\"last\" runtime=\"0.001\"/>\n"
	"<job id=\"b\" name=\"middle\" runtime=\"2\"><uses file=\"x\" size=\"100\"/><uses "
	"file=\"y\"/></job>\n"
	"<job id=\"c\" name=\"middle\" runtime=\"10\"><profile namespace=\"pegasus\" "
	"key=\"nodes\">4</profile></job>\n"
	"<child ref=\"b\"><parent ref=\"a\"/></child>\n"
	"<child ref=\"c\"><parent ref=\"a\"/></child>\n"
	"<child ref=\"d\"><parent ref=\"b\"/><parent ref=\"c\"/><parent ref=\"b\"/></child>\n");

static void test_diamond(void **state)
{
	(void)state;
	if (read_text(diamond) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(w.n, 4);
	assert_int_equal(w.n_rows, 4);
	assert_int_equal(w.n_children, 4);
	const struct phx_trace_job *a = &w.jobs[0], *d = &w.jobs[1], *b = &w.jobs[2],
				   *c = &w.jobs[3];
	assert_int_equal(a->id, 1);
	assert_int_equal(a->run_ms, 1500);
	assert_int_equal(a->n_children, 2);
	assert_int_equal(w.children[a->first_child], 2);
	assert_int_equal(w.children[a->first_child + 1], 3);
	assert_int_equal(a->n_parents, 0);
	assert_int_equal(a->class, 0);
	assert_int_equal(b->class, 1);
	assert_int_equal(c->size, 4);
	assert_int_equal(d->n_parents, 2);
	assert_int_equal(d->class, 2);
	assert_int_equal(d->run_ms, 1);
	assert_int_equal(sums.n_kinds, 3);
	assert_int_equal(f.n_levels, 3);
	assert_int_equal(sums.n_bytes, 200);
	assert_int_equal(sums.longest_ms, 11501);
	assert_int_equal(sums.widest, 2);
	assert_int_equal(sums.n_dependencies, 4);
	assert_string_equal(phx_flow_text(&f, f.name), "test");
}

/* What a job wants and runs, as version 3 has it. */
static void test_job(void **state)
{
	static const char text[] = ADAG(
		"<job id=\"a\" name=\"conv\"><argument> -i <file name=\"in.fits\"/>\n -o "
		"<file name=\"out.fits\"/> x</argument>\n"
		"<profile namespace=\"pegasus\" key=\"cores\">8</profile>\n"
		"<profile namespace=\"pegasus\" key=\"memory\">2048</profile>\n"
		"<profile namespace=\"dagman\" key=\"RETRY\">3</profile>\n"
		"<profile namespace=\"env\" key=\"HOME\">/tmp</profile>\n"
		"<profile namespace=\"condor\" key=\"universe\">vanilla</profile>\n"
		"<uses name=\"in.fits\" link=\"input\"/><uses name=\"out.fits\" link=\"output\"/>\n"
		"<uses name=\"log\" link=\"inout\"/></job>\n");
	static const char *const argv[] = {"conv", "-i", "in.fits", "-o", "out.fits", "x"};
	uint32_t n;
	(void)state;
	assert_int_equal(read_text(text), -EINVAL);
	assert_says(&err, "flow.xml:3: task \"a\": how long it runs");
	const struct phx_flow_task *t = &f.tasks[0];
	assert_int_equal(t->cores, 8);
	assert_int_equal(t->memory_bytes, (uint64_t)2 << 30);
	assert_int_equal(t->retries, 3);
	assert_int_equal(t->run_ms, -1);
	assert_string_equal(phx_flow_text(&f, t->name), "conv");
	const uint32_t *words = phx_flow_list(&f, 0, PHX_FLOW_ARGV, &n);
	assert_int_equal(n, PHX_ARRAY_SIZE(argv));
	for (uint32_t i = 0; i < n; i++)
		assert_string_equal(phx_flow_text(&f, words[i]), argv[i]);
	words = phx_flow_list(&f, 0, PHX_FLOW_ENVIRONMENT, &n);
	assert_int_equal(n, 1);
	assert_string_equal(phx_flow_text(&f, words[0]), "HOME=/tmp");
	phx_flow_list(&f, 0, PHX_FLOW_INPUTS, &n);
	assert_int_equal(n, 2);
	phx_flow_list(&f, 0, PHX_FLOW_OUTPUTS, &n);
	assert_int_equal(n, 2);
	assert_int_equal(f.n_files, 3);
}

#define JOB(id) "<job id=\"" id "\" name=\"n\" runtime=\"1\"/>\n"

static void test_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ADAG(JOB("a") "<child ref=\"b\"><parent ref=\"a\"/></child>"),
		 "flow.xml:4: child: \"b\": no such task"},
		{ADAG(JOB("a") "<child ref=\"a\">\n<parent ref=\"x\"/></child>"),
		 "flow.xml:5: parent: \"x\": no such task"},
		{ADAG(JOB("a") "<child><parent ref=\"a\"/></child>"),
		 "flow.xml:4: child: ref: missing"},
		{ADAG(JOB("a") "<child ref=\"a\"><parent/></child>"),
		 "flow.xml:4: parent: ref: missing"},
		{ADAG(JOB("a") JOB("b") JOB("a")),
		 "flow.xml:5: task \"a\": stands already in line 3"},
		{ADAG("<job id=\"a\" name=\"n\"/>"),
		 "flow.xml:3: task \"a\": how long it runs (run, runtime) is missing"},
		{ADAG("<job id=\"a\" runtime=\"-1\"/>"),
		 "flow.xml:3: job \"a\": runtime: \"-1\": expected seconds"},
		{ADAG("<job id=\"a\" runtime=\"1e3\"/>"), "expected seconds"},
		{ADAG("<job runtime=\"1\"/>"), "flow.xml:3: job: id: missing"},
		{ADAG("<job id=\"a\" runtime=\"1\"><profile key=\"nodes\">0</profile></job>"),
		 "flow.xml:3: profile nodes: \"0\": expected 1 to 1000000"},
		{ADAG("<job id=\"a\" runtime=\"1\"><profile key=\"memory\">much</profile></job>"),
		 "flow.xml:3: profile memory: \"much\": expected MiB"},
		{ADAG("<job id=\"a\" runtime=\"1\"><uses file=\"f\" size=\"big\"/></job>"),
		 "flow.xml:3: size of a file: \"big\""},
		{ADAG("<job id=\"a\" runtime=\"1\"><uses size=\"1\"/></job>"),
		 "flow.xml:3: uses: name of a file: missing"},
		{ADAG("<job id=\"a\" runtime=\"1\"><uses file=\"\"/></job>"),
		 "flow.xml:3: file \"\": must be one line"},
		{ADAG(""), "flow.xml:1: no task in it"},
		{"<html/>", "flow.xml:1: \"html\": expected a workflow (adag)"},
		{"<", "flow.xml:"},
		{"<adag><job></adag>", "flow.xml:1: "},
		{"<!DOCTYPE adag [<!ENTITY e SYSTEM \"/etc/passwd\">]>\n<adag>" JOB(
			 "a") "&e;</adag>",
		 "DOCTYPE"},
		{"<!DOCTYPE adag SYSTEM \"http://example.org/a.dtd\">\n<adag>" JOB("a") "</adag>",
		 "DOCTYPE"},
		{"<!DOCTYPE adag [<!ENTITY e SYSTEM \"/etc/passwd\">]>\n<adag><job id=\"&e;\" "
		 "runtime=\"1\"/></adag>",
		 "flow.xml:2"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_text(cases[i].text), -EINVAL);
		assert_says(&err, cases[i].says);
		assert_null(w.jobs);
	}
}

/* a waits for c, c for b, b for a; d hangs on them and is not to blame. */
static void test_cycle(void **state)
{
	(void)state;
	assert_int_equal(read_text(ADAG(JOB("a") JOB("b") JOB("c") JOB(
				 "d") "<child ref=\"d\"><parent ref=\"a\"/></child>\n"
				      "<child ref=\"b\"><parent ref=\"a\"/></child>\n"
				      "<child ref=\"c\"><parent ref=\"b\"/></child>\n"
				      "<child ref=\"a\"><parent ref=\"c\"/></child>\n")),
			 -EINVAL);
	assert_says(&err, "waits for itself");
	assert_null(strstr(err.text, "\"d\""));
	assert_null(strstr(err.text, "flow.xml:7:"));
	assert_int_equal(read_text(ADAG(JOB("a") "<child ref=\"a\"><parent ref=\"a\"/></child>")),
			 -EINVAL);
	assert_says(&err, "flow.xml:4: task \"a\": waits for itself: \"a\" waits for \"a\"");
}

static void test_repeat(void **state)
{
	static const int64_t at_ms[] = {0, 5000, 5000};
	struct phx_trace_jobs many = {0};
	(void)state;
	assert_int_equal(read_text(diamond), 0);
	assert_int_equal(phx_trace_jobs_repeat(&w, at_ms, 3, &many), 0);
	assert_int_equal(many.n, 12);
	assert_int_equal(many.n_children, 12);
	for (size_t i = 0; i < many.n; i++) {
		const struct phx_trace_job *j = &many.jobs[i], *one = &w.jobs[i % 4];
		assert_int_equal(j->id, i + 1);
		assert_int_equal(j->submit_ms, i < 4 ? 0 : 5000);
		assert_int_equal(j->n_parents, one->n_parents);
		for (uint32_t k = 0; k < j->n_children; k++)
			assert_int_equal(many.children[j->first_child + k],
					 w.children[one->first_child + k] + i / 4 * 4);
	}
	phx_trace_jobs_fini(&many);
	assert_int_equal(phx_trace_jobs_repeat(&w, at_ms, 0, &many), -EOVERFLOW);
	assert_null(many.jobs);
}

/* Without dependencies copies that overlap are sorted into each other. */
static void test_repeat_sorts(void **state)
{
	static const int64_t at_ms[] = {0, 1000};
	struct phx_trace_job jobs[] = {{.id = 3, .submit_ms = 0, .size = 1},
				       {.id = 9, .submit_ms = 5000, .size = 1}};
	struct phx_trace_jobs one = {.jobs = jobs, .n = 2}, many = {0};
	(void)state;
	assert_int_equal(phx_trace_jobs_repeat(&one, at_ms, 2, &many), 0);
	static const int64_t expected[][2] = {{3, 0}, {12, 1000}, {9, 5000}, {18, 6000}};
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(many.jobs[i].id, expected[i][0]);
		assert_int_equal(many.jobs[i].submit_ms, expected[i][1]);
	}
	phx_trace_jobs_fini(&many);
}

static void test_montage(void **state)
{
	static const size_t widths[] = {166, 662, 1, 1, 166, 1, 1, 1, 1};
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	size_t seen[PHX_ARRAY_SIZE(widths)] = {0};
	int64_t sum_ms = 0;
	(void)state;
	read_trace("Montage_1000.xml", &in);
	assert_int_equal(read_n(in.data, in.n), 0);
	assert_int_equal(w.n, 1000);
	assert_int_equal(w.n_children, 2485);
	assert_int_equal(sums.n_kinds, 9);
	assert_int_equal(sums.widest, 662);
	assert_int_equal(f.n_levels, PHX_ARRAY_SIZE(widths));
	assert_int_equal(sums.longest_ms, 368460);
	for (size_t i = 0; i < w.n; i++) {
		seen[w.jobs[i].class]++;
		sum_ms += w.jobs[i].run_ms;
	}
	assert_memory_equal(seen, widths, sizeof(widths));
	assert_float_equal((double)sum_ms / 1000, 11378.7, 0.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diamond), cmocka_unit_test(test_job),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_cycle),
		cmocka_unit_test(test_repeat),  cmocka_unit_test(test_repeat_sorts),
		cmocka_unit_test(test_montage),
	};
	return cmocka_run_group_tests(tests, NULL, teardown);
}
