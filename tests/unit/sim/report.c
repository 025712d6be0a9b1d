/* Reports: JSON and back, CSV; pictures that a parser of XML takes; ticks at round numbers. */
#include <libxml/parser.h>
#include <math.h>

#include "base/json.h"
#include "sim/report.h"
#include "sim/svg.h"
#include "unit/sim/runs.h"

static void make_report(struct phx_sim_report *ret)
{
	struct phx_sim_metrics m[2] = {{.jobs = 7,
					.completed = 6,
					.mean_exec_s = 573.2,
					.mean_wait_s = 1.0 / 3,
					.peak_nodes = 12},
				       {.jobs = 1, .mean_exec_s = NAN, .node_hours = 12345678.25}};
	struct phx_sim_result result = {
		.res = m, .n_res = 2, .total = m[0], .end_ms = 1500, .stuck = true};
	static const char *const names[] = {"batch", "web"};
	assert_int_equal(phx_sim_report_make("a run", names, &result, ret), 0);
}

static void json_comes_back(void **state)
{
	struct phx_sim_report r, back;
	struct phx_err err = {0};
	(void)state;
	make_report(&r);
	PHX_AUTO_JSON json_t *j = phx_sim_report_json(&r);
	assert_non_null(j);
	PHX_AUTO_FREE char *text = json_dumps(j, JSON_REAL_PRECISION(15));
	assert_non_null(strstr(text, "\"mean_exec_s\": 573.2,"));
	assert_non_null(strstr(text, "\"mean_exec_s\": null"));
	if (phx_sim_report_parse("x.json", j, &back, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(back.name, "a run");
	assert_int_equal(back.end_ms, 1500);
	assert_true(back.stuck);
	assert_int_equal(back.rows.n, 3);
	const struct phx_sim_report_row *rows = back.rows.items;
	assert_string_equal(rows[1].name, "web");
	assert_string_equal(rows[2].name, "total");
	assert_int_equal(rows[0].metrics.peak_nodes, 12);
	assert_float_equal(rows[0].metrics.mean_wait_s, 1.0 / 3, 1e-6);
	assert_true(isnan(rows[1].metrics.mean_exec_s));
	assert_float_equal(rows[1].metrics.node_hours, 12345678.25, 1e-6);
	phx_sim_report_fini(&r);
	phx_sim_report_fini(&back);
}

static void the_flat_form_is_read_too(void **state)
{
	static const char text[] = "{\"completed\": 5, \"mean_exec_s\": 1.5, \"swf\": \"x\"}";
	PHX_AUTO_JSON json_t *j = NULL;
	struct phx_sim_report r;
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(phx_json_parse(text, strlen(text), &j, &err), 0);
	assert_int_equal(phx_sim_report_parse("x.json", j, &r, &err), 0);
	assert_int_equal(r.rows.n, 1);
	assert_int_equal(PHX_LIST_AT(&r.rows, struct phx_sim_report_row, 0)->metrics.completed, 5);
	phx_sim_report_fini(&r);
}

static void what_is_no_result_is_told(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {{"{}", "this is no result"},
		   {"[]", "this is no result"},
		   {"{\"completed\": \"x\"}", "total.completed: a number is wanted"},
		   {"{\"completed\": 1.5}", "total.completed: a whole number is wanted"},
		   {"{\"completed\": -1}", "a whole number is wanted"},
		   {"{\"total\": 5}", "total: an object of metrics is wanted"},
		   {"{\"total\": {}, \"res\": [{\"name\": \"b\", \"jobs\": true}]}",
		    "b.jobs: a number is wanted"}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		PHX_AUTO_JSON json_t *j = NULL;
		struct phx_sim_report r;
		struct phx_err err = {0};
		assert_int_equal(phx_json_parse(bad[i].text, strlen(bad[i].text), &j, &err), 0);
		assert_int_equal(phx_sim_report_parse("x.json", j, &r, &err), -EINVAL);
		assert_says(&err, "x.json: ");
		assert_says(&err, bad[i].says);
	}
}

static void csv_has_a_line_a_row(void **state)
{
	struct phx_sim_report r;
	struct phx_buf b = {0};
	(void)state;
	make_report(&r);
	phx_sim_report_csv(&r, true, &b);
	assert_true(!strncmp(b.data, "re,jobs,completed,", 18));
	assert_non_null(strstr(b.data, "\nbatch,7,6,"));
	assert_non_null(strstr(b.data, ",573.200000,"));
	/* no mean: nothing between the commas */
	assert_non_null(strstr(b.data, "\nweb,1,0,0,0,0,0,,"));
	size_t commas = 0, lines = 0;
	for (const char *p = b.data; *p; p++) {
		commas += *p == ',';
		lines += *p == '\n';
	}
	const struct phx_sim_metric *table;
	assert_int_equal(lines, 4);
	assert_int_equal(commas, 4 * phx_sim_metric_table(&table));
	phx_buf_fini(&b);
	phx_sim_report_fini(&r);
}

static void the_issue_s_names_are_there(void **state)
{
	static const char *const names[] = {"jobs",        "completed",         "mean_wait_s",
					    "mean_exec_s", "mean_turnaround_s", "makespan_s",
					    "node_hours",  "peak_nodes"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		assert_non_null(phx_sim_metric_find(names[i]));
	assert_null(phx_sim_metric_find("mean"));
}

/* ---- pictures ---- */

static void check_xml(const struct phx_buf *b)
{
	assert_false(b->failed);
	xmlDocPtr doc = xmlReadMemory(b->data, (int)b->n, "x.svg", NULL, XML_PARSE_NONET);
	assert_non_null(doc);
	assert_string_equal(xmlDocGetRootElement(doc)->name, "svg");
	xmlFreeDoc(doc);
	assert_null(strstr(b->data, "nan"));
	assert_null(strstr(b->data, "inf"));
}

static void pictures_are_xml(void **state)
{
	static double x[5000], y[5000], flat[] = {3, 3}, none[] = {NAN, NAN}, gap[] = {1, NAN, 2};
	const struct phx_svg_series many = {"a < b & \"c\"", x, y, 5000, PHX_SVG_STEP},
				    few = {"flat", flat, flat, 2, PHX_SVG_DOTS},
				    no = {"none", flat, none, 2, PHX_SVG_LINE},
				    broken = {"gap", x, gap, 3, PHX_SVG_LINE},
				    empty = {"empty", x, y, 0, PHX_SVG_LINE};
	const struct phx_svg_series *all[] = {&many, &few, &no, &broken, &empty};
	struct phx_svg_panel panels[5];
	struct phx_buf b = {0};
	(void)state;
	for (int i = 0; i < 5000; i++) {
		x[i] = i * 60;
		y[i] = i % 37 - 5;
	}
	for (int i = 0; i < 5; i++)
		panels[i] = (struct phx_svg_panel){.title = "t",
						   .x_label = "x",
						   .y_label = "y",
						   .series = all[i],
						   .n_series = 1,
						   .x_is_time = i == 0,
						   .mark_x = i == 1 ? 3 : NAN,
						   .mark_text = "m <",
						   .limit_y = i == 1 ? 3.5 : NAN,
						   .limit_text = "l &"};
	phx_svg_chart("title <>", panels, 5, &b);
	check_xml(&b);
	/* 5,000 points are thinned to what can be seen */
	assert_true(b.n < 100000);
	assert_int_equal(strstr(b.data, "nothing to show") != NULL, 1);
	phx_buf_fini(&b);
}

static void ticks_are_round(void **state)
{
	static const struct {
		double min, max;
		unsigned wanted;
		double first, step;
	} cases[] = {{0, 100, 5, 0, 20},     {0, 103, 5, 0, 50}, {13, 97, 10, 20, 10},
		     {0, 1, 5, 0, 0.2},      {-5, 5, 5, -4, 2},  {0, 2700, 5, 0, 1000},
		     {0, 0.004, 4, 0, 0.001}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		double first, step;
		phx_svg_ticks(cases[i].min, cases[i].max, cases[i].wanted, &first, &step);
		assert_float_equal(step, cases[i].step, cases[i].step * 1e-9);
		assert_float_equal(first, cases[i].first, cases[i].step * 1e-9);
	}
}

static void time_lines_are_drawn(void **state)
{
	struct phx_sim_timeline t;
	struct phx_buf b = {0};
	static const char *const names[] = {"batch", "web"};
	(void)state;
	assert_int_equal(phx_sim_timeline_init(&t, 2), 0);
	for (int i = 0; i < 100; i++)
		phx_sim_timeline_point(&t, i * 60000, i % 2,
				       &(struct phx_sim_point){.held = (uint32_t)i, .busy = 1});
	/* a second word about the same instant replaces the first */
	phx_sim_timeline_point(&t, 98 * 60000, 0, &(struct phx_sim_point){.held = 5});
	assert_int_equal(t.res[0].n, 50);
	t.end_ms = 100 * 60000;
	assert_int_equal(phx_sim_timeline_svg(&t, "run", names, &b), 0);
	check_xml(&b);
	assert_non_null(strstr(b.data, "Nodes held"));
	assert_non_null(strstr(b.data, " min<"));
	phx_buf_fini(&b);
	phx_sim_timeline_fini(&t);
	phx_sim_timeline_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_comes_back),
		cmocka_unit_test(the_flat_form_is_read_too),
		cmocka_unit_test(what_is_no_result_is_told),
		cmocka_unit_test(csv_has_a_line_a_row),
		cmocka_unit_test(the_issue_s_names_are_there),
		cmocka_unit_test(pictures_are_xml),
		cmocka_unit_test(ticks_are_round),
		cmocka_unit_test(time_lines_are_drawn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
