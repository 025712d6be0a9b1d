/* Sizes of a shared cluster: see plan.h. A coarse grid first, then every size
 * around the edge of what is enough. Called by phx sim plan. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "sim/plan.h"
#include "trace/series.h"
#include "sim/svg.h"

enum { GRID = 32, EDGE_MAX = 64 };

void phx_sim_plan_fini(struct phx_sim_plan *p)
{
	phx_list_fini(&p->points);
	*p = (struct phx_sim_plan){.best = -1};
}

/* ---- one size ---- */

static void make_agreements(const struct phx_sim_plan_config *c, int model,
			    struct phx_agreement *batch, struct phx_agreement *web)
{
	phx_agreement_init(batch);
	phx_agreement_init(web);
	PHX_STR_SET(batch->name, "batch");
	PHX_STR_SET(web->name, "web");
	web->type = PHX_RE_WEB;
	batch->model = web->model = model;
	batch->scheduler = c->scheduler;
	batch->kill_order = c->kill_order;
	if (phx_policy((enum phx_policy_id)model)->fixed)
		return;
	batch->coordination = web->coordination = PHX_RE_COORDINATED_OWN;
	PHX_STR_SET(batch->partner, "web");
	PHX_STR_SET(web->partner, "batch");
	if (strpbrk(phx_policy((enum phx_policy_id)model)->params, "L"))
		batch->lease_s = web->lease_s = c->lease_s;
}

static int run_pair(const struct phx_sim_plan_config *c, const struct phx_agreement *batch,
		    const struct phx_agreement *web, struct phx_sim_plan_point *ret,
		    struct phx_err *err)
{
	struct phx_sim_cluster cluster = {"cluster", {.nodes = ret->nodes}};
	struct phx_sim_re res[] = {{.agreement = web, .demand = c->demand},
				   {.agreement = batch, .jobs = c->jobs}};
	struct phx_sim_config config = {.clusters = &cluster,
					.n_clusters = 1,
					.res = res,
					.n_res = 2,
					.window_ms = c->window_ms,
					.estimates = c->estimates,
					.delays = c->delays};
	struct phx_sim_result result;
	int r = phx_sim_run(&config, &result, err);
	if (r < 0)
		return phx_err_prefix(err, r, "%u nodes", ret->nodes);
	ret->web = result.res[0];
	ret->batch = result.res[1];
	ret->total = result.total;
	phx_sim_result_fini(&result);
	return 0;
}

static int run_before(const struct phx_sim_plan_config *c, struct phx_sim_plan *p,
		      struct phx_err *err)
{
	struct phx_agreement batch, web;
	make_agreements(c, PHX_POLICY_dcs, &batch, &web);
	batch.lower = c->batch_nodes;
	web.lower = p->web_nodes;
	p->before = (struct phx_sim_plan_point){.nodes = batch.lower + web.lower, .enough = true};
	return run_pair(c, &batch, &web, &p->before, err);
}

static int run_size(const struct phx_sim_plan_config *c, struct phx_sim_plan_point *point,
		    struct phx_err *err)
{
	struct phx_agreement batch, web;
	uint32_t first = (uint32_t)c->demand->value[0];
	make_agreements(c, c->model, &batch, &web);
	if (phx_policy((enum phx_policy_id)c->model)->same_bounds) { /* policies.md, reading 9 */
		web.lower = first < point->nodes ? first : point->nodes - 1;
		web.lower += !web.lower;
		batch.lower = point->nodes - web.lower;
	}
	return run_pair(c, &batch, &web, point, err);
}

/* Are the users as well off, within the limits? NaN (no job) is no worse than NaN. */
static bool is_enough(const struct phx_sim_plan_config *c, const struct phx_sim_plan_point *before,
		      const struct phx_sim_plan_point *p)
{
	double jobs = (double)before->batch.completed * (1 - c->lost_milli / 1000.0);
	double turnaround = before->batch.mean_turnaround_s * (1 + c->slower_milli / 1000.0);
	if (p->web.unmet_node_hours > before->web.unmet_node_hours + 1e-9)
		return false;
	return (double)p->batch.completed >= jobs - 1e-9 &&
		!(p->batch.mean_turnaround_s > turnaround + 1e-9);
}

/* ---- many sizes ---- */

struct search {
	const struct phx_sim_plan_config *config;
	struct phx_sim_plan *plan;
	uint32_t first; /* of the points that are to be run */
};

static int run_piece(void *arg, size_t i, struct phx_err *err)
{
	struct search *s = arg;
	struct phx_sim_plan_point *p =
		PHX_LIST_AT(&s->plan->points, struct phx_sim_plan_point, s->first + i);
	int r = run_size(s->config, p, err);
	p->enough = r == 0 && is_enough(s->config, &s->plan->before, p);
	return r;
}

static void tell(void *arg, size_t n_done, size_t n)
{
	const struct search *s = arg;
	s->config->progress(s->config->progress_arg, s->first + n_done, s->first + n);
}

static int add_size(struct search *s, uint32_t nodes)
{
	struct phx_sim_plan_point *p = phx_list_push(&s->plan->points, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->nodes = nodes;
	return 0;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = ((const struct phx_sim_plan_point *)a)->nodes,
		 y = ((const struct phx_sim_plan_point *)b)->nodes;
	return x < y ? -1 : x > y;
}

static int run_added(struct search *s, struct phx_err *err)
{
	struct phx_list *l = &s->plan->points;
	int r = phx_sim_pool_run(s->config->workers, l->n - s->first, run_piece,
				 s->config->progress ? tell : NULL, s, err);
	if (r == 0)
		qsort(l->items, l->n, sizeof(struct phx_sim_plan_point), by_size);
	return r;
}

/* The smallest size from which on all are enough. */
static int find_best(const struct phx_list *points)
{
	int best = -1;
	for (int i = (int)points->n - 1;
	     i >= 0 && PHX_LIST_AT(points, struct phx_sim_plan_point, i)->enough; i--)
		best = i;
	return best;
}

static int run_grid(struct search *s, uint32_t from, uint32_t to, struct phx_err *err)
{
	uint32_t range = to - from, n = range < GRID ? range : GRID;
	int r = 0;
	for (uint32_t i = 0; r == 0 && i <= n; i++)
		r = add_size(s, from + (n ? (uint32_t)((uint64_t)range * i / n) : 0));
	return r < 0 ? r : run_added(s, err);
}

/* Sizes between the best so far and the one below it, which is not enough; again while the gap is
 * wide. */
static int refine(struct search *s, struct phx_err *err)
{
	struct phx_list *l = &s->plan->points;
	for (int best; (best = find_best(l)) > 0;) {
		uint32_t high = PHX_LIST_AT(l, struct phx_sim_plan_point, best)->nodes;
		uint32_t low = PHX_LIST_AT(l, struct phx_sim_plan_point, best - 1)->nodes;
		uint32_t gap = high - low, step = gap > EDGE_MAX ? gap / EDGE_MAX : 1;
		if (gap < 2)
			return 0;
		s->first = l->n;
		int r = 0;
		for (uint32_t nodes = low + step; r == 0 && nodes < high; nodes += step)
			r = add_size(s, nodes);
		r = r < 0 ? r : run_added(s, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check(const struct phx_sim_plan_config *c, uint32_t peak, struct phx_err *err)
{
	if (!c->jobs || !c->jobs->n || !c->demand || !c->demand->n)
		return phx_err_set(
			err, -EINVAL,
			"a plan wants jobs and a web demand; one of the traces is empty");
	if (!phx_policy((enum phx_policy_id)c->model)->shares_cluster)
		return phx_err_set(err, -EINVAL,
				   "%s does not share a cluster of one size; fb and coop2008 do",
				   phx_enum_name(&phx_policy_names, c->model));
	if (!c->batch_nodes)
		return phx_err_set(err, -EINVAL,
				   "how many nodes the batch cluster has must be said");
	if (c->from > c->to && c->to)
		return phx_err_set(err, -EINVAL, "sizes from %u to %u: the first is the larger",
				   c->from, c->to);
	if (c->to && c->to < 2)
		return phx_err_set(err, -EINVAL, "a shared cluster has at least 2 nodes");
	if (c->web_nodes && c->web_nodes < peak)
		return phx_err_set(err, -EINVAL,
				   "%u web nodes are fewer than the demand's peak of %u",
				   c->web_nodes, peak);
	return 0;
}

int phx_sim_plan_make(const struct phx_sim_plan_config *config, struct phx_sim_plan *ret,
		      struct phx_err *err)
{
	uint32_t peak =
		config->demand && config->demand->n ? (uint32_t)phx_series_peak(config->demand) : 0;
	struct phx_sim_plan plan = {.best = -1,
				    .web_nodes = config->web_nodes ? config->web_nodes : peak};
	struct search s = {config, &plan, 0};
	int r = check(config, peak, err);
	if (r < 0)
		return r;
	uint32_t both = config->batch_nodes + plan.web_nodes,
		 least = peak < config->batch_nodes ? peak : config->batch_nodes;
	uint32_t to = config->to ? config->to : both, from = config->from ? config->from : least;
	from = from < 2 ? 2 : from;
	from = from > to ? to : from;
	r = run_before(config, &plan, err);
	r = r < 0 ? r : run_grid(&s, from, to, err);
	r = r < 0 ? r : refine(&s, err);
	if (r < 0) {
		phx_sim_plan_fini(&plan);
		return r;
	}
	plan.best = find_best(&plan.points);
	*ret = plan;
	return 0;
}

/* ---- the picture ---- */

enum { CURVES = 3 };

struct curves {
	double *x, *y[CURVES];
	size_t n;
};

static void curves_fini(struct curves *c)
{
	free(c->x);
	for (size_t i = 0; i < CURVES; i++)
		free(c->y[i]);
}

static int make_curves(const struct phx_sim_plan *p, struct curves *c)
{
	c->x = calloc(p->points.n + 1, sizeof(double));
	for (size_t i = 0; i < CURVES; i++)
		if (!(c->y[i] = calloc(p->points.n + 1, sizeof(double))))
			return -ENOMEM;
	if (!c->x)
		return -ENOMEM;
	PHX_LIST_EACH(const struct phx_sim_plan_point, point, &p->points) {
		c->x[c->n] = point->nodes;
		c->y[0][c->n] = point->batch.mean_turnaround_s / 60;
		c->y[1][c->n] = (double)point->batch.completed;
		c->y[2][c->n++] = (double)point->batch.killed;
	}
	return 0;
}

int phx_sim_plan_svg(const struct phx_sim_plan_config *config, const struct phx_sim_plan *p,
		     const char *title, struct phx_buf *ret)
{
	PHX_AUTO(curves_fini) struct curves c = {0};
	static const char *const titles[CURVES] = {"Mean turnaround of jobs", "Completed jobs",
						   "Runs killed for the web"};
	static const char *const units[CURVES] = {"minutes", "jobs", "runs"};
	double limits[CURVES] = {
		p->before.batch.mean_turnaround_s / 60 * (1 + config->slower_milli / 1000.0),
		(double)p->before.batch.completed * (1 - config->lost_milli / 1000.0), NAN};
	struct phx_svg_series series[CURVES];
	struct phx_svg_panel panels[CURVES];
	if (make_curves(p, &c) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < CURVES; i++) {
		series[i] = (struct phx_svg_series){.name = "shared cluster",
						    .x = c.x,
						    .y = c.y[i],
						    .n = c.n,
						    .style = PHX_SVG_DOTS};
		panels[i] =
			(struct phx_svg_panel){.title = titles[i],
					       .x_label = "nodes of the shared cluster",
					       .y_label = units[i],
					       .series = &series[i],
					       .n_series = 1,
					       .y_from_zero = i != 1,
					       .limit_y = limits[i],
					       .limit_text = "limit, from the dedicated clusters",
					       .mark_x = NAN,
					       .mark_text = "smallest that is enough"};
		if (p->best >= 0)
			panels[i].mark_x =
				PHX_LIST_AT(&p->points, struct phx_sim_plan_point, p->best)->nodes;
	}
	phx_svg_chart(title, panels, CURVES, ret);
	return ret->failed ? -ENOMEM : 0;
}
