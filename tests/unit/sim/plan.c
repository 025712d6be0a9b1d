/* Plans: the answer keeps what it promises, and questions without sense are refused. */
#include "sim/plan.h"
#include "unit/sim/runs.h"

struct world {
	struct phx_trace_jobs jobs;
	struct phx_trace_series demand;
	struct phx_sim_plan_config config;
};

static void make_world(struct world *w)
{
	*w = (struct world){0};
	draw(3, &w->jobs, &w->demand);
	w->config = (struct phx_sim_plan_config){.jobs = &w->jobs,
						 .demand = &w->demand,
						 .model = PHX_POLICY_fb,
						 .scheduler = PHX_SCHEDULER_first_fit,
						 .lease_s = 3600,
						 .batch_nodes = 24,
						 .slower_milli = 100,
						 .window_ms = 3 * 86400 * S,
						 .workers = 3};
}

static void world_fini(struct world *w)
{
	phx_trace_jobs_fini(&w->jobs);
	phx_trace_series_fini(&w->demand);
}

static const struct phx_sim_plan_point *point(const struct phx_sim_plan *p, int i)
{
	return PHX_LIST_AT(&p->points, struct phx_sim_plan_point, i);
}

static void the_answer_keeps_its_promise(void **state)
{
	struct world w;
	struct phx_sim_plan p;
	struct phx_err err = {0};
	(void)state;
	make_world(&w);
	if (phx_sim_plan_make(&w.config, &p, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(p.web_nodes, 12); /* the peak */
	assert_int_equal(p.before.nodes, 36);
	assert_true(p.best >= 0);
	const struct phx_sim_plan_point *best = point(&p, p.best);
	assert_true(best->nodes < 36);
	assert_true(best->batch.completed >= p.before.batch.completed);
	assert_true(best->batch.mean_turnaround_s <= p.before.batch.mean_turnaround_s * 1.1 + 1e-9);
	/* from there on all are enough; the one below is looked at and is not */
	for (uint32_t i = (uint32_t)p.best; i < p.points.n; i++)
		assert_true(point(&p, (int)i)->enough);
	if (p.best > 0) {
		assert_false(point(&p, p.best - 1)->enough);
		assert_int_equal(point(&p, p.best - 1)->nodes, best->nodes - 1);
	}
	/* sizes rise, none twice, up to both clusters together */
	for (uint32_t i = 1; i < p.points.n; i++)
		assert_true(point(&p, (int)i - 1)->nodes < point(&p, (int)i)->nodes);
	assert_int_equal(point(&p, (int)p.points.n - 1)->nodes, 36);
	phx_sim_plan_fini(&p);
	world_fini(&w);
}

static void looser_limits_want_no_more_nodes(void **state)
{
	struct world w;
	uint32_t before = UINT32_MAX;
	(void)state;
	make_world(&w);
	for (uint32_t slower = 0; slower <= 1000; slower += 250) {
		struct phx_sim_plan p;
		struct phx_err err = {0};
		w.config.slower_milli = slower;
		w.config.lost_milli = slower / 10;
		assert_int_equal(phx_sim_plan_make(&w.config, &p, &err), 0);
		if (p.best >= 0) {
			assert_true(point(&p, p.best)->nodes <= before);
			before = point(&p, p.best)->nodes;
		}
		phx_sim_plan_fini(&p);
	}
	assert_true(before < 36);
	world_fini(&w);
}

static void there_may_be_no_answer(void **state)
{
	struct world w;
	struct phx_sim_plan p;
	struct phx_err err = {0};
	(void)state;
	make_world(&w);
	w.config.from = 4;
	w.config.to = 8;
	assert_int_equal(phx_sim_plan_make(&w.config, &p, &err), 0);
	assert_int_equal(p.best, -1);
	assert_true(p.points.n >= 4);
	phx_sim_plan_fini(&p);
	world_fini(&w);
}

static void the_picture_has_the_curves(void **state)
{
	struct world w;
	struct phx_sim_plan p;
	struct phx_err err = {0};
	struct phx_buf b = {0};
	(void)state;
	make_world(&w);
	w.config.model = PHX_POLICY_coop2008;
	if (phx_sim_plan_make(&w.config, &p, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(phx_sim_plan_svg(&w.config, &p, "a & b", &b), 0);
	assert_non_null(strstr(b.data, "a &amp; b"));
	assert_non_null(strstr(b.data, "Mean turnaround of jobs"));
	assert_non_null(strstr(b.data, "smallest that is enough"));
	phx_buf_fini(&b);
	phx_sim_plan_fini(&p);
	world_fini(&w);
}

static void refuse(const struct phx_sim_plan_config *c, const char *says)
{
	struct phx_sim_plan p;
	struct phx_err err = {0};
	assert_int_equal(phx_sim_plan_make(c, &p, &err), -EINVAL);
	assert_says(&err, says);
}

static void questions_without_sense_are_refused(void **state)
{
	struct world w;
	struct phx_sim_plan_config c;
	struct phx_trace_jobs none = {0};
	(void)state;
	make_world(&w);
	c = w.config, c.jobs = &none;
	refuse(&c, "one of the traces is empty");
	c = w.config, c.model = PHX_POLICY_dr;
	refuse(&c, "dr does not share a cluster");
	c = w.config, c.batch_nodes = 0;
	refuse(&c, "must be said");
	c = w.config, c.web_nodes = 5;
	refuse(&c, "5 web nodes are fewer than the demand's peak of 12");
	c = w.config, c.from = 30, c.to = 20;
	refuse(&c, "the first is the larger");
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_answer_keeps_its_promise),
		cmocka_unit_test(looser_limits_want_no_more_nodes),
		cmocka_unit_test(there_may_be_no_answer),
		cmocka_unit_test(the_picture_has_the_curves),
		cmocka_unit_test(questions_without_sense_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
