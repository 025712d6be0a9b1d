/* Scenario files: what is read, what is refused with file and line, overrides, and the shipped
 * examples. */
#include <glob.h>
#include <math.h>
#include <unistd.h>

#include "base/file.h"
#include "sim/scenario.h"
#include "unit/sim/runs.h"

#define EXAMPLES TEST_DIR "/../etc/sim/"

static char path[64];

static int make_path(void **state)
{
	(void)state;
	strcpy(path, "/tmp/phx-scenario.XXXXXX");
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

static int read_text(const char *text, const char *const *set, size_t n_set,
		     struct phx_sim_scenario *ret, struct phx_err *err)
{
	phx_err_clear(err);
	assert_int_equal(phx_file_write(path, text, strlen(text), 0644, err), 0);
	return phx_sim_scenario_read(path, set, n_set, ret, err);
}

#define CLUSTER "clusters = ( { name = \"c\"; nodes = 20; } );\n"
#define TRACES \
	"traces = ( { name = \"j\"; swf = \"j.swf\"; }, { name = \"d\"; demand = \"d.csv\"; } " \
	");\n"
#define RES "res = ( { " BATCH "} );"
#define BATCH "name = \"b\"; type = \"parallel_batch_jobs\"; jobs = \"j\"; "

static void refuse(const char *text, const char *says)
{
	struct phx_sim_scenario s;
	struct phx_err err = {0};
	memset(&s, 0x5a, sizeof(s));
	struct phx_sim_scenario before = s;
	int r = read_text(text, NULL, 0, &s, &err);
	if (r != -EINVAL)
		fail_msg("accepted (%d): %s", r, text);
	assert_says(&err, path);
	assert_says(&err, says);
	assert_memory_equal(&s, &before, sizeof(s));
}

static void mistakes_have_file_and_line(void **state)
{
	(void)state;
	refuse("name = 5;\n", ":1: name is a number");
	refuse("\nwindow = \"soon\";\n", ":2: window = \"soon\" must be a time");
	refuse("clusters = ;", ":1: syntax error");
	refuse(CLUSTER TRACES, "res is missing");
	refuse("color = \"red\";", "unknown key 'color'; known here: name, window");
	refuse("clusters = ();\n" TRACES "res = ( { " BATCH "} );", ":1: clusters: a list of 1 to");
	refuse("clusters = ( { name = \"c\"; } );\n" TRACES "res = ( { " BATCH "} );",
	       ":1: cluster c wants either nodes");
	refuse("clusters = ( { name = \"c\"; nodes = 2; }, { name = \"c\"; nodes = 2; } );\n" TRACES
	       "res = ( { " BATCH "} );",
	       "there are two called c");
	refuse(CLUSTER TRACES "res = ( { " BATCH "color = 1; } );", ":3: unknown key 'color'");
	refuse(CLUSTER TRACES "res = ( { " BATCH "resource_coordination_model = \"best\"; } );",
	       ":3: resource_coordination_model: 'best' is no");
	refuse(CLUSTER TRACES "res = ( { " BATCH "scheduler = \"best\"; } );",
	       "there are: first-fit");
	refuse(CLUSTER TRACES "res = ( { " BATCH "\nelastic_factor = 0.7; } );",
	       ":4: elastic_factor: is not used by this model");
	refuse(CLUSTER TRACES "res = ( { " BATCH "request_threshold = \"1\"; } );",
	       "request_threshold must be a number");
	refuse(CLUSTER TRACES "res = ( { " BATCH "cluster = \"x\"; } );",
	       ":3: RE b: there is no cluster 'x'");
	refuse(CLUSTER TRACES "res = ( { " BATCH "partner = \"x\"; } );",
	       ":3: RE b: there is no RE 'x'");
	refuse(CLUSTER TRACES
	       "res = ( { name = \"b\"; type = \"parallel_batch_jobs\"; jobs = \"x\"; } );",
	       "no trace 'x'");
	refuse(CLUSTER TRACES "res = ( { " BATCH "demand = \"d\"; } );",
	       "jobs or a demand, not both");
	refuse(CLUSTER TRACES "res = ( { " BATCH
			      "} , { name = \"b2\"; type = \"parallel_batch_jobs\"; } );",
	       "is not one RE's");
	refuse(CLUSTER "traces = ( { name = \"j\"; } );\n" RES, "a trace is one of swf");
	refuse(CLUSTER "traces = ( { name = \"j\"; swf = \"j.swf\"; peak = 3; } );\n" RES,
	       "unknown key 'peak'");
	refuse(CLUSTER "traces = ( { name = \"j\"; requests = \"w.csv\"; } );\n" RES,
	       "either capacity");
	refuse(CLUSTER
	       "traces = ( { name = \"j\"; demand = \"d.csv\"; begin = \"June\"; } );\n" RES,
	       "begin = \"June\" must be a time");
	refuse(CLUSTER "traces = ( { name = \"j\"; draw_jobs = \"poison\"; } );\n" RES,
	       "'poison' is no");
	refuse("delays = { handover = -3; };\n" CLUSTER TRACES "res = ( { " BATCH "} );",
	       ":1: handover must be a number");
	refuse("delays = { handover = \"60d\"; };\n" CLUSTER TRACES "res = ( { " BATCH "} );",
	       "longer than 49 days");
}

static const char whole[] =
	"name = \"t\"; window = \"2d\"; estimates = \"exact\";\n"
	"delays = { handover = 1.5; kill = \"5s\"; crypto = 2; secure-erase = 3; };\n" CLUSTER
		TRACES "res = (\n"
	"{ name = \"w\"; type = \"web_service\"; demand = \"d\"; partner = \"b\"; lower_bound_size "
	"= 3; },\n"
	"{ " BATCH "partner = \"w\"; lease = \"30m\"; scheduler = \"easy\"; } );\n";

static void what_is_said_is_read(void **state)
{
	struct phx_sim_scenario s;
	struct phx_err err = {0};
	(void)state;
	if (read_text(whole, NULL, 0, &s, &err) < 0)
		fail_msg("%s", err.text);
	const struct phx_sim_scenario_re *w = PHX_LIST_AT(&s.res, struct phx_sim_scenario_re, 0),
					 *b = w + 1;
	assert_string_equal(s.name, "t");
	assert_int_equal(s.window_s, 2 * 86400);
	assert_int_equal(s.estimates, PHX_SIM_ESTIMATE_EXACT);
	assert_int_equal(s.delays.handover_ms, 1500);
	assert_int_equal(s.delays.kill_ms, 5000);
	assert_int_equal(s.delays.wipe_ms[PHX_WIPE_CRYPTO], 2000);
	assert_int_equal(s.delays.wipe_ms[PHX_WIPE_SECURE_ERASE], 3000);
	assert_string_equal(w->cluster, "c"); /* the only one */
	assert_int_equal(w->agreement.lower, 3);
	assert_int_equal(b->agreement.lower, 17); /* what is left */
	assert_int_equal(b->agreement.lease_s, 1800);
	assert_int_equal(b->agreement.scheduler, PHX_SCHEDULER_easy);
	assert_int_equal(b->agreement.coordination, PHX_RE_COORDINATED_OWN);
	phx_sim_scenario_fini(&s);
	phx_sim_scenario_fini(&s);
}

static void settings_can_be_changed(void **state)
{
	static const char *const set[] = {
		"clusters.c.nodes=30",  "res.b.lease=2h",       "res.w.lower_bound_size=5",
		"name=other",           "delays.handover=0.25", "traces.0.processors_per_node=4",
		"res.b.no_requeue=true"};
	struct phx_sim_scenario s;
	struct phx_err err = {0};
	(void)state;
	if (read_text(whole, set, PHX_ARRAY_SIZE(set), &s, &err) < 0)
		fail_msg("%s", err.text);
	const struct phx_sim_scenario_re *b = PHX_LIST_AT(&s.res, struct phx_sim_scenario_re, 1);
	assert_string_equal(s.name, "other");
	assert_int_equal(b->agreement.lower, 25);
	assert_int_equal(b->agreement.lease_s, 7200);
	assert_true(b->agreement.no_requeue);
	assert_int_equal(s.delays.handover_ms, 250);
	assert_int_equal(PHX_LIST_AT(&s.traces, struct phx_trace, 0)->swf.per_node, 4);
	phx_sim_scenario_fini(&s);
}

static void wrong_changes_are_told(void **state)
{
	static const struct {
		const char *set, *says;
	} wrong[] = {
		{"nodes", "PATH=VALUE is wanted"},
		{"=5", "PATH=VALUE is wanted"},
		{"clusters.x.nodes=5", "there is no 'x' in the scenario"},
		{"clusters.c.nodes.deep=5", "'deep' cannot be set there"},
		{"clusters.c.nodes=many", "nodes is a text; it must be a whole number"},
		{"clusters.c.nodes=0", "nodes is 0"},
		{"clusters.c.size=5", "unknown key 'size'"},
		{"clusters.9.nodes=5", "there is no '9'"},
		{"window=long", "window = \"long\" must be a time"},
		{"res.b.lease=99999999999999999999", "lease"},
	};
	struct phx_sim_scenario s;
	struct phx_err err = {0};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++) {
		assert_true(read_text(whole, &wrong[i].set, 1, &s, &err) < 0);
		assert_says(&err, wrong[i].says);
	}
}

static void a_trace_of_the_wrong_kind_is_told(void **state)
{
	static const char text[] =
		CLUSTER "traces = ( { name = \"j\"; swf = \"" TEST_DIR
			"/../etc/sim/samples/jobs.swf\"; processors_per_node = 4; } );\n"
			"res = ( { name = \"w\"; type = \"web_service\"; demand = \"j\"; "
			"resource_coordination_model = \"dcs\"; } );";
	struct phx_sim_scenario s;
	struct phx_trace_store *store;
	struct phx_sim_result result;
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(phx_trace_store_new(NULL, &store), 0);
	assert_int_equal(read_text(text, NULL, 0, &s, &err), 0);
	assert_int_equal(phx_sim_scenario_run(&s, store, NULL, &result, &err), -EINVAL);
	assert_says(&err, ":3: RE w: trace j holds jobs, not a demand");
	phx_sim_scenario_fini(&s);
	phx_trace_store_free(store);
}

static void a_missing_trace_is_told(void **state)
{
	struct phx_sim_scenario s;
	struct phx_trace_store *store;
	struct phx_sim_result result;
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(phx_trace_store_new("/nonexistent", &store), 0);
	assert_int_equal(read_text(whole, NULL, 0, &s, &err), 0);
	assert_int_equal(phx_sim_scenario_run(&s, store, NULL, &result, &err), -ENOENT);
	assert_says(&err, "trace d: d.csv: no such trace");
	phx_sim_scenario_fini(&s);
	phx_trace_store_free(store);
}

/* Equal definitions are read once, whatever they are called. */
static void the_store_reads_once(void **state)
{
	struct phx_trace a = {.name = "a",
			      .kind = PHX_TRACE_SWF,
			      .file = TEST_DIR "/../etc/sim/samples/jobs.swf"},
			 b = a, c = a;
	const struct phx_trace_workload *of_a, *of_b, *of_c;
	struct phx_trace_store *store;
	struct phx_err err = {0};
	(void)state;
	PHX_STR_SET(b.name, "b");
	c.swf.per_node = 4;
	assert_int_equal(phx_trace_store_new(NULL, &store), 0);
	assert_int_equal(phx_trace_store_get(store, &a, &of_a, &err), 0);
	assert_int_equal(phx_trace_store_get(store, &b, &of_b, &err), 0);
	assert_int_equal(phx_trace_store_get(store, &c, &of_c, &err), 0);
	assert_ptr_equal(of_a, of_b);
	assert_ptr_not_equal(of_a, of_c);
	assert_int_equal(of_a->jobs.jobs[0].size, 8);
	assert_int_equal(of_c->jobs.jobs[0].size, 2);
	phx_trace_store_free(store);
}

static void copies_of_a_workflow_have_jobs_of_their_own(void **state)
{
	struct phx_trace t = {.kind = PHX_TRACE_DAX,
			      .file = TEST_DIR "/../etc/sim/samples/workflow.xml",
			      .copies = 3,
			      .every_ms = 1000 * S};
	struct phx_trace_workload w = {0}, one = {0};
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(phx_trace_load(&t, NULL, &w, &err), 0);
	t.copies = 0;
	assert_int_equal(phx_trace_load(&t, NULL, &one, &err), 0);
	size_t n = one.jobs.n;
	assert_int_equal(w.jobs.n, 3 * n);
	assert_int_equal(w.jobs.n_children, 3 * one.jobs.n_children);
	for (size_t i = 0; i < w.jobs.n; i++) {
		const struct phx_trace_job *j = &w.jobs.jobs[i];
		assert_int_equal(j->id, i + 1);
		assert_int_equal(j->submit_ms, (int64_t)(i / n) * 1000 * S);
		for (uint32_t k = 0; k < j->n_children; k++)
			assert_int_equal(w.jobs.children[j->first_child + k],
					 one.jobs.children[one.jobs.jobs[i % n].first_child + k] +
						 i / n * n);
	}
	phx_trace_workload_fini(&w);
	phx_trace_workload_fini(&one);
}

/* ---- the shipped ones ---- */

static void run_example(const char *file)
{
	struct phx_sim_scenario s;
	struct phx_trace_store *store;
	struct phx_sim_result result;
	struct phx_err err = {0};
	const char *traces = getenv("PHX_TRACES");
	assert_int_equal(phx_trace_store_new(traces, &store), 0);
	if (phx_sim_scenario_read(file, NULL, 0, &s, &err) < 0)
		fail_msg("%s", err.text);
	int r = phx_sim_scenario_run(&s, store, NULL, &result, &err);
	if (r < 0 &&
	    !(r == -ENOENT && strstr(file, "phoenixcloud"))) /* that one wants the archives' */
		fail_msg("%s", err.text);
	if (r == 0) {
		assert_false(result.stuck);
		assert_true(result.total.completed > 90 &&
			    result.total.completed + 10 >= result.total.jobs);
		phx_sim_result_fini(&result);
	}
	phx_sim_scenario_fini(&s);
	phx_trace_store_free(store);
}

static void the_examples_run(void **state)
{
	glob_t found;
	(void)state;
	assert_int_equal(glob(EXAMPLES "*.conf", 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 6);
	for (size_t i = 0; i < found.gl_pathc; i++)
		run_example(found.gl_pathv[i]);
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_have_file_and_line),
		cmocka_unit_test(what_is_said_is_read),
		cmocka_unit_test(settings_can_be_changed),
		cmocka_unit_test(wrong_changes_are_told),
		cmocka_unit_test(a_trace_of_the_wrong_kind_is_told),
		cmocka_unit_test(a_missing_trace_is_told),
		cmocka_unit_test(the_store_reads_once),
		cmocka_unit_test(copies_of_a_workflow_have_jobs_of_their_own),
		cmocka_unit_test(the_examples_run),
	};
	return cmocka_run_group_tests(tests, make_path, remove_path);
}
