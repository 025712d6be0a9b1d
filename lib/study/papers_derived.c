/* What the papers conclude from several of their results, concluded from ours.
 * Called by papers.c through the table of papers_measure.def. */
#include <math.h>
#include <string.h>

#include "study/papers_internal.h"

/* Pairs of runs that a text compares. */
struct pair {
	int a, b;
};
static const struct pair fb_dcs[] = {{RUN_ipsc_128_fb_152, RUN_ipsc_128_dcs},
				     {RUN_blue_128_fb_163, RUN_blue_128_dcs}};
static const struct pair flb_ec2[] = {{RUN_ipsc_128_flb, RUN_ipsc_128_ec2},
				      {RUN_blue_128_flb, RUN_blue_128_ec2}};
static const struct pair dr_deelman[] = {{RUN_nasa_dr, RUN_nasa_deelman},
					 {RUN_sdsc_dr, RUN_sdsc_deelman},
					 {RUN_llnl_dr, RUN_llnl_deelman}};

/* 100 (x(b) / x(a) - 1) over pairs: the largest (sign 1) or the smallest (-1). */
static int extreme(struct phx_papers *p, const struct pair *pairs, size_t n, paper_number_fn fn,
		   int sign, double *ret, struct phx_err *err)
{
	double best = -INFINITY, x = 0, y = 1;
	for (size_t i = 0; i < n; i++) {
		int r = fn(p, pairs[i].a, 0, &x, err);
		r = r < 0 ? r : fn(p, pairs[i].b, 0, &y, err);
		if (r < 0)
			return r;
		best = fmax(best, sign * 100 * (x / y - 1));
	}
	*ret = sign * best;
	return 0;
}

#define EXTREME(name, pairs, fn, sign, expression) \
	int phx_paper_##name(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err) \
	{ \
		double x = 0; \
		int r = extreme(p, pairs, PHX_ARRAY_SIZE(pairs), fn, sign, &x, err); \
		(void)a, (void)b; \
		if (r == 0) \
			*ret = expression; \
		return r; \
	}

EXTREME(fb_delay_max, fb_dcs, phx_paper_turnaround, 1, x)
EXTREME(flb_delay_max, flb_ec2, phx_paper_turnaround, 1, x)
EXTREME(flb_delay_min, flb_ec2, phx_paper_turnaround, -1, x)
EXTREME(flb_saving_max, flb_ec2, phx_paper_total_hours, -1, -x)
EXTREME(flb_saving_min, flb_ec2, phx_paper_total_hours, 1, -x)
EXTREME(flb_peak_best, flb_ec2, phx_paper_peak, -1, 100 + x)
EXTREME(htc_saving_max, dr_deelman, phx_paper_hours, -1, -x)

/* ---- 003: the provider ---- */

/* The four dedicated clusters together. */
static double all_fixed(void)
{
	static const int runs[] = {RUN_nasa_dcs, RUN_sdsc_dcs, RUN_llnl_dcs, RUN_montage100_dcs};
	double nodes = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(runs); i++)
		nodes += phx_paper_runs[runs[i]].nodes;
	return nodes;
}

int phx_paper_fixed_peak(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	(void)p, (void)a, (void)b, (void)err;
	*ret = all_fixed();
	return 0;
}

int phx_paper_fixed_total(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	(void)b, (void)err;
	*ret = all_fixed() * phx_papers_hours(p, a);
	return 0;
}

int phx_paper_fixed_saving(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	int r = phx_paper_total_hours(p, a, b, ret, err);
	if (r == 0)
		*ret = 100 * (1 - *ret / (all_fixed() * phx_papers_hours(p, a)));
	return r;
}

int phx_paper_fixed_peak_ratio(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	int r = phx_paper_peak(p, a, b, ret, err);
	if (r == 0)
		*ret /= all_fixed();
	return r;
}

#define ADJUST_S \
	15.743 /* of a node, measured in 003: to assign and to reclaim it, without a wipe */

/* A node that was obtained and released is adjusted once; in a reading, each time. */
int phx_paper_adjusted(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	int r = phx_paper_moved(p, a, b, ret, err);
	if (r == 0 && !p->reading->moved_each)
		*ret /= 2;
	return r;
}

int phx_paper_adjust_hours(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	int r = phx_paper_adjusted(p, a, b, ret, err);
	if (r == 0)
		*ret *= ADJUST_S / 3600;
	return r;
}

int phx_paper_adjust_share(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	double total = 1;
	int r = phx_paper_adjust_hours(p, a, b, ret, err);
	r = r < 0 ? r : phx_paper_total_hours(p, a, b, &total, err);
	if (r == 0)
		*ret = 100 * *ret / total;
	return r;
}

/* Table 6 of 003: emulated figures times what the live experiment took more. */
#define LIVE_FIXED 1.17
#define LIVE_DR 1.14

int phx_paper_again_fixed(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	int r = phx_paper_hours(p, a, b, ret, err);
	if (r == 0)
		*ret *= LIVE_FIXED;
	return r;
}

int phx_paper_again_dr(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	int r = phx_paper_hours(p, a, b, ret, err);
	if (r == 0)
		*ret *= LIVE_DR;
	return r;
}

int phx_paper_again_saved(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	double dr = 0, fixed = 1;
	int r = phx_paper_again_dr(p, a, 0, &dr, err);
	r = r < 0 ? r : phx_paper_again_fixed(p, b, 0, &fixed, err);
	if (r == 0)
		*ret = 100 * (1 - dr / fixed);
	return r;
}

/* ---- words ---- */

/* "higher" when x(a) sign > x(b) sign, as 001 says it. */
static int compare(struct phx_papers *p, int a, int b, paper_number_fn fn, int sign, char ret[64],
		   struct phx_err *err)
{
	double x = 0, y = 1;
	int r = fn(p, a, 0, &x, err);
	r = r < 0 ? r : fn(p, b, 0, &y, err);
	if (r == 0)
		strcpy(ret, x * sign > y * sign ? "higher" : x == y ? "the same" : "lower");
	return r;
}

int phx_paper_more_completed(struct phx_papers *p, int a, int b, char ret[64], struct phx_err *err)
{
	return compare(p, a, b, phx_paper_completed, 1, ret, err);
}

int phx_paper_less_turnaround(struct phx_papers *p, int a, int b, char ret[64], struct phx_err *err)
{
	return compare(p, a, b, phx_paper_turnaround, -1, ret, err);
}

int phx_paper_more_killed(struct phx_papers *p, int a, int b, char ret[64], struct phx_err *err)
{
	return compare(p, a, b, phx_paper_killed, 1, ret, err);
}
