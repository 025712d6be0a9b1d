/* Workflows: jobs, dependencies, levels; what is refused, with its line; copies submitted again and
 * again. */
#include "trace/dax.h"
#include "unit/trace/traces.h"

static struct phx_trace_jobs w;
static struct phx_dax_info info;
static struct phx_err err;

static int teardown(void **state)
{
	(void)state;
	phx_trace_jobs_fini(&w);
	return 0;
}

static int read_text(const char *text)
{
	phx_trace_jobs_fini(&w);
	phx_err_clear(&err);
	return phx_dax_read("flow.xml", text, strlen(text), &w, &info, &err);
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
	assert_int_equal(info.n_types, 3);
	assert_int_equal(info.n_levels, 3);
	assert_int_equal(info.n_bytes, 200);
	assert_int_equal(info.critical_path_ms, 11501);
}

#define JOB(id) "<job id=\"" id "\" name=\"n\" runtime=\"1\"/>\n"

static void test_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ADAG(JOB("a") "<child ref=\"b\"><parent ref=\"a\"/></child>"),
		 "flow.xml:4: child: ref: \"b\": no such job"},
		{ADAG(JOB("a") "<child ref=\"a\">\n<parent ref=\"x\"/></child>"),
		 "flow.xml:5: parent: ref: \"x\": no such job"},
		{ADAG(JOB("a") JOB("b") JOB("a")),
		 "flow.xml:5: job \"a\": stands already in line 3"},
		{ADAG("<job id=\"a\" name=\"n\"/>"),
		 "flow.xml:3: job \"a\": runtime: \"\": expected seconds"},
		{ADAG("<job id=\"a\" runtime=\"-1\"/>"),
		 "flow.xml:3: job \"a\": runtime: \"-1\": expected seconds"},
		{ADAG("<job id=\"a\" runtime=\"1e3\"/>"), "expected seconds"},
		{ADAG("<job runtime=\"1\"/>"), "flow.xml:3: job: id: missing"},
		{ADAG("<job id=\"a\" runtime=\"1\"><profile key=\"nodes\">0</profile></job>"),
		 "flow.xml:3: profile nodes: \"0\""},
		{ADAG("<job id=\"a\" runtime=\"1\"><uses size=\"big\"/></job>"),
		 "flow.xml:3: size of a file: \"big\""},
		{ADAG(""), "flow.xml:2: no job in it"},
		{"<html/>", "flow.xml:1: \"html\": expected a workflow (adag)"},
		{"", "flow.xml:"},
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
	assert_says(&err, "flow.xml:4: job \"a\": waits for itself");
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
	phx_trace_jobs_fini(&w);
	assert_int_equal(phx_dax_read("Montage_1000.xml", in.data, in.n, &w, &info, &err), 0);
	assert_int_equal(w.n, 1000);
	assert_int_equal(w.n_children, 2485);
	assert_int_equal(info.n_types, 9);
	assert_int_equal(info.n_levels, PHX_ARRAY_SIZE(widths));
	assert_int_equal(info.critical_path_ms, 368460);
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
		cmocka_unit_test(test_diamond),      cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cycle),        cmocka_unit_test(test_repeat),
		cmocka_unit_test(test_repeat_sorts), cmocka_unit_test(test_montage),
	};
	return cmocka_run_group_tests(tests, NULL, teardown);
}
