/* What 000 and 003 say in words of the curves of their figures (6.6.4; B.2), checked on ours.
 * Called by findings.c. Nothing is simulated that the page's figures do not show. */
#include <math.h>
#include <string.h>

#include "sim/metrics.h"
#include "study/finding_desk.h"

enum shape {
	RISES, /* a step against the direction is at most `bound` of the value before it */
	FALLS,
	SMALL, /* the most is at most `bound` above the least */
};

enum { CURVES_MAX = 8 };

struct said {
	const char *section, *text, *remark;
	enum shape shape;
	double bound;
	const char *metric; /* of sim/metric.def */
	bool total;         /* of all REs, not the batch RE */
	int sweeps[CURVES_MAX];
	size_t n_sweeps;
};

#define OF(...) {__VA_ARGS__}, sizeof((int[]){__VA_ARGS__}) / sizeof(int)
static const char remark_b[] = "B: the paper gives more nodes of the batch RE's own as the reason. "
			       "But what it owns is what Q "
			       "is compared with: with more of its own it asks for others later.";
static const char remark_g[] = "G: contradicts itself. What is not released is paid for; and the "
			       "same section takes 0.5 as a "
			       "compromise, which there is only where G has an effect.";
static const char remark_u[] =
	"U: few jobs wait for long, and an hour earlier or later decides over them.";
static const char remark_l[] = "Between two lengths near each other chance decides; from the "
			       "shortest to the longest it falls.";
static const char remark_r[] = "R: who asks later asks for all that has gathered until then, and "
			       "each node is held for an hour.";
static const char remark_mtc[] = "With R = 100 nothing is obtained: a workflow has its B nodes "
				 "alone, 20 for a level of 166.";
static const char remark_s[] =
	"S: Q is looked at once a cycle; the longer it is, the more has gathered.";

static const struct said list[] = {
	{"000 6.6.4 (1)", "The total rises with B (in every step, or within 1 %).", remark_b, RISES,
	 0.01, "node_hours", true, OF(SWEEP_ipsc_b, SWEEP_blue_b)},
	{"000 6.6.4 (1)", "The turnaround falls with B (in every step, or within 1 %).", remark_b,
	 FALLS, 0.01, "mean_turnaround_s", false, OF(SWEEP_ipsc_b, SWEEP_blue_b)},
	{"000 6.6.4 (2)", "B has a small effect on completed jobs (1 %).", "", SMALL, 0.01,
	 "completed", false, OF(SWEEP_ipsc_b, SWEEP_blue_b)},
	{"000 6.6.4 (1)", "U has a small effect on the total (5 %).", remark_u, SMALL, 0.05,
	 "node_hours", true, OF(SWEEP_ipsc_u, SWEEP_blue_u)},
	{"000 6.6.4 (1)", "V has a small effect on the total (5 %).", "", SMALL, 0.05, "node_hours",
	 true, OF(SWEEP_ipsc_v, SWEEP_blue_v)},
	{"000 6.6.4 (1)", "G has a small effect on the total (5 %).", remark_g, SMALL, 0.05,
	 "node_hours", true, OF(SWEEP_ipsc_g, SWEEP_blue_g)},
	{"000 6.6.4 (1)", "U, V and G have a small effect on completed jobs (1 %).", "", SMALL,
	 0.01, "completed", false,
	 OF(SWEEP_ipsc_u, SWEEP_blue_u, SWEEP_ipsc_v, SWEEP_blue_v, SWEEP_ipsc_g, SWEEP_blue_g)},
	{"000 6.6.4 (2)", "The turnaround rises with G (in every step).", remark_g, RISES, 0,
	 "mean_turnaround_s", false, OF(SWEEP_ipsc_g, SWEEP_blue_g)},
	{"000 6.6.4 (2)", "U has a small effect on the turnaround (5 %).", remark_u, SMALL, 0.05,
	 "mean_turnaround_s", false, OF(SWEEP_ipsc_u, SWEEP_blue_u)},
	{"000 6.6.4 (2)", "V has a small effect on the turnaround (5 %).", "", SMALL, 0.05,
	 "mean_turnaround_s", false, OF(SWEEP_ipsc_v, SWEEP_blue_v)},
	{"000 6.6.4", "Resources are adjusted less often the longer L is (in every step).", "",
	 FALLS, 0, "adjustments", true, OF(SWEEP_ipsc_l, SWEEP_blue_l)},
	{"000 6.6.4", "Fewer nodes move the longer L is (in every step).", remark_l, FALLS, 0,
	 "nodes_moved", true, OF(SWEEP_ipsc_l, SWEEP_blue_l)},
	{"003 B.2 HTC (1)", "Consumption rises with B (in every step).", "", RISES, 0, "node_hours",
	 true, OF(SWEEP_nasa_b, SWEEP_sdsc_b)},
	{"003 B.2 HTC (1)", "B has no significant effect on completed jobs (1 %).", "", SMALL, 0.01,
	 "completed", true, OF(SWEEP_nasa_b, SWEEP_sdsc_b)},
	{"003 B.2 HTC (2)", "Consumption falls with R (in every step, or within 1 %).", remark_r,
	 FALLS, 0.01, "node_hours", true, OF(SWEEP_nasa_r, SWEEP_sdsc_r)},
	{"003 B.2 HTC (1)", "Fewer nodes are adjusted the larger B is (in every step).", "", FALLS,
	 0, "nodes_moved", true, OF(SWEEP_nasa_b, SWEEP_sdsc_b)},
	{"003 B.2 HTC (2)",
	 "Fewer nodes are adjusted the larger R is (in every step, or within 1 %).", remark_r,
	 FALLS, 0.01, "nodes_moved", true, OF(SWEEP_nasa_r, SWEEP_sdsc_r)},
	{"003 B.2 MTC (2)",
	 "B and R have no obvious relation to the tasks a second of a workflow (at most twice as "
	 "many).",
	 remark_mtc, SMALL, 1, "tasks_per_s", false, OF(SWEEP_montage_b, SWEEP_montage_r)},
	{"003 B.2 S", "S has a small effect on consumption (10 %).", remark_s, SMALL, 0.1,
	 "node_hours", true, OF(SWEEP_nasa_s, SWEEP_sdsc_s)},
	{"003 B.2 S", "S has a small effect on completed jobs (1 %).", "", SMALL, 0.01, "completed",
	 true, OF(SWEEP_nasa_s, SWEEP_sdsc_s)},
	{"003 B.2 S", "S has a small effect on the nodes adjusted (10 %).", remark_s, SMALL, 0.1,
	 "nodes_moved", true, OF(SWEEP_nasa_s, SWEEP_sdsc_s)},
	{"003 B.2 C", "Fewer nodes are adjusted the longer C is (in every step).", "", FALLS, 0,
	 "nodes_moved", true, OF(SWEEP_nasa_c, SWEEP_sdsc_c, SWEEP_montage_c)},
};

struct curve {
	double v[SWEEP_VALUES_MAX];
	size_t n;
	double least, most;
	double worst_rise, worst_fall; /* of a step, against the value before it */
};

static int read_curve(struct desk *d, const struct said *said, int sweep, struct curve *ret)
{
	struct curve c = {.n = phx_paper_sweeps[sweep].n_values, .least = INFINITY};
	for (size_t i = 0; i < c.n; i++) {
		const struct phx_sim_result *result;
		int r = phx_papers_sweep_result(d->p, sweep, i, &result, d->err);
		if (r < 0)
			return r;
		c.v[i] = phx_sim_metric_value(phx_sim_metric_find(said->metric),
					      said->total ? &result->total : &result->res[0]);
		c.least = fmin(c.least, c.v[i]);
		c.most = fmax(c.most, c.v[i]);
		double step = i ? c.v[i] / c.v[i - 1] - 1 : 0;
		c.worst_rise = fmax(c.worst_rise, step);
		c.worst_fall = fmax(c.worst_fall, -step);
	}
	*ret = c;
	return 0;
}

static bool has_shape(const struct said *said, const struct curve *c)
{
	double first = c->v[0], last = c->v[c->n - 1];
	switch (said->shape) {
	case RISES:
		return last > first && c->worst_fall <= said->bound;
	case FALLS:
		return last < first && c->worst_rise <= said->bound;
	case SMALL:
		break;
	}
	return c->most <= c->least * (1 + said->bound);
}

static void check_curve(struct desk *d, const struct said *said, int sweep)
{
	const struct paper_sweep *s = &phx_paper_sweeps[sweep];
	struct curve c;
	d->error = d->error ? d->error : read_curve(d, said, sweep, &c);
	if (d->error)
		return;
	int digits = c.most < 100 ? 2 : 0;
	desk_check(d, has_shape(said, &c), "%.*s %s=%g to %g: %.*f to %.*f (%.*f to %.*f in all)",
		   (int)strcspn(s->config, "+;"), s->config, s->letter, s->values[0],
		   s->values[s->n_values - 1], digits, c.v[0], digits, c.v[c.n - 1], digits,
		   c.least, digits, c.most);
}

void find_curves(struct desk *d)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(list) && !d->error; i++) {
		desk_begin(d, list[i].section, false, list[i].text, list[i].remark);
		for (size_t k = 0; k < list[i].n_sweeps; k++)
			check_curve(d, &list[i], list[i].sweeps[k]);
	}
}
