/* What 002 says in words, checked on the runs of the study. A finding is a comparison; where 002
 * gives no number ("slightly", "similar"), the bound taken stands in the text. */
#ifndef TESTS_STUDY_IAAS_FINDINGS_H
#define TESTS_STUDY_IAAS_FINDINGS_H

#include <stdarg.h>
#include <stdio.h>

#include "study/iaas_study_internal.h"

/* What 002 says, and whether it is so here. */
struct finding {
	const char *section; /* "5.3" */
	const char *text;    /* in our words */
	bool live;           /* 002 found it on live clouds; here it is simulated */
	bool holds;
	char figures[512];
};

struct desk {
	const struct phx_iaas_study *s;
	struct finding list[32], *now; /* the finding being written */
	size_t n;
};

static void begin(struct desk *d, const char *section, bool live, const char *text)
{
	assert_true(d->n < PHX_ARRAY_SIZE(d->list));
	d->now = &d->list[d->n++];
	*d->now = (struct finding){.section = section, .text = text, .live = live, .holds = true};
}

/* One comparison of the finding, with its figures. */
__attribute__((format(printf, 3, 4))) static void check(struct desk *d, bool holds,
							const char *format, ...)
{
	va_list args;
	size_t n = 0;
	while (n < sizeof(d->now->figures) && d->now->figures[n])
		n++;
	d->now->holds = d->now->holds && holds;
	if (n && n + 3 < sizeof(d->now->figures))
		n += (size_t)snprintf(d->now->figures + n, sizeof(d->now->figures) - n, ", ");
	va_start(args, format);
	vsnprintf(d->now->figures + n, sizeof(d->now->figures) - n, format, args);
	va_end(args);
}

static const char *hour_name(int hour)
{
	return study_hours[hour].name;
}

/* ---- 5.1, 5.2: live in 002 ---- */

enum { STARTUP, EXECTIME, EXECAVG, EXECKN, QUEUEWAIT, ODS }; /* of study_live */

static void find_performance(struct desk *d)
{
	begin(d, "5.1", true,
	      "Startup has the shortest makespan and the lowest slowdown of all policies (within "
	      "0.1 %).");
	for (int cloud = 0; cloud < STUDY_CLOUDS; cloud++)
		for (int h = 0; h < STUDY_HOURS; h++) {
			const struct phx_iaas_result *best = &d->s->cloud[cloud][STARTUP][h];
			bool holds = true;
			for (int p = 1; p < STUDY_LIVE; p++)
				holds = holds &&
					d->s->cloud[cloud][p][h].slowdown >= best->slowdown &&
					(double)d->s->cloud[cloud][p][h].makespan_ms >=
						0.999 * (double)best->makespan_ms;
			check(d, holds, "%s %s %.2f", study_clouds[cloud].name, hour_name(h),
			      best->slowdown);
		}
}

static void find_cost(struct desk *d)
{
	begin(d, "5.1", true, "OD-S is charged more than every other policy.");
	for (int cloud = 0; cloud < STUDY_CLOUDS; cloud++)
		for (int h = 0; h < STUDY_HOURS; h++) {
			double ods = d->s->cloud[cloud][ODS][h].charged_h, most = 0;
			for (int p = 0; p < ODS; p++)
				if (d->s->cloud[cloud][p][h].charged_h > most)
					most = d->s->cloud[cloud][p][h].charged_h;
			check(d, ods > most, "%s %s %.0f h over %.0f h", study_clouds[cloud].name,
			      hour_name(h), ods, most);
		}
	begin(d, "5.1", true, "Startup has the highest actual cost of all policies.");
	for (int cloud = 0; cloud < STUDY_CLOUDS; cloud++)
		for (int h = 0; h < STUDY_HOURS; h++) {
			double startup = d->s->cloud[cloud][STARTUP][h].actual_h, most = 0;
			for (int p = 1; p < STUDY_LIVE; p++)
				if (d->s->cloud[cloud][p][h].actual_h > most)
					most = d->s->cloud[cloud][p][h].actual_h;
			check(d, startup > most, "%s %s %.1f h over %.1f h",
			      study_clouds[cloud].name, hour_name(h), startup, most);
		}
}

static void find_exec(struct desk *d)
{
	begin(d, "5.1", true,
	      "On DAS4 the Exec policies are charged less than Startup, and QueueWait more than "
	      "they where load "
	      "varies.");
	for (int h = 0; h < STUDY_HOURS; h++) {
		const struct phx_iaas_result(*c)[STUDY_HOURS] = d->s->cloud[0];
		double exec = 0;
		for (int p = EXECTIME; p <= EXECKN; p++)
			if (c[p][h].charged_h > exec)
				exec = c[p][h].charged_h;
		check(d, exec < c[STARTUP][h].charged_h && (!h || c[QUEUEWAIT][h].charged_h > exec),
		      "%s: Startup %.0f h, Exec at most %.0f h, QueueWait %.0f h", hour_name(h),
		      c[STARTUP][h].charged_h, exec, c[QUEUEWAIT][h].charged_h);
	}
}

static void find_allocation(struct desk *d)
{
	enum { FCFS, SJF, NW };
	begin(d, "5.2", true,
	      "Under Startup SJF has a lower slowdown than FCFS, most of all for the bursty "
	      "workload.");
	for (int cloud = 0; cloud < STUDY_CLOUDS; cloud++) {
		double gain[STUDY_HOURS];
		for (int h = 0; h < STUDY_HOURS; h++)
			gain[h] = d->s->allocation[cloud][FCFS][h].slowdown -
				d->s->allocation[cloud][SJF][h].slowdown;
		check(d, gain[0] >= 0 && gain[1] >= 0 && gain[2] > gain[0] && gain[2] > gain[1],
		      "%s: lower by %.3f, %.3f, %.3f", study_clouds[cloud].name, gain[0], gain[1],
		      gain[2]);
	}
	begin(d, "5.2", true,
	      "Under Startup FCFS-NW has a higher slowdown than FCFS, for every workload.");
	for (int cloud = 0; cloud < STUDY_CLOUDS; cloud++)
		for (int h = 0; h < STUDY_HOURS; h++) {
			double fcfs = d->s->allocation[cloud][FCFS][h].slowdown,
			       nw = d->s->allocation[cloud][NW][h].slowdown;
			check(d, nw >= fcfs, "%s %s %.2f against %.2f", study_clouds[cloud].name,
			      hour_name(h), nw, fcfs);
		}
}

/* ---- 5.3 ---- */

static void find_sizes(struct desk *d)
{
	enum { FCFS, SJF, TWO };
	const struct phx_iaas_result(*r)[STUDY_PAIRS] = d->s->sizes;
	begin(d, "5.3", false,
	      "OD-2Q with FCFS-2Q uses fewer node hours than OD-S with FCFS and with SJF.");
	for (int i = 0; i < STUDY_SIZES; i++)
		check(d,
		      r[i][TWO].actual_h < r[i][FCFS].actual_h &&
			      r[i][TWO].actual_h < r[i][SJF].actual_h,
		      "SR%d%%: %.0f against %.0f and %.0f h", 25 * (i + 1), r[i][TWO].actual_h,
		      r[i][FCFS].actual_h, r[i][SJF].actual_h);
	begin(d, "5.3", false, "With 75 % short jobs its slowdown is lower than that of both.");
	check(d,
	      r[2][TWO].slowdown < r[2][FCFS].slowdown && r[2][TWO].slowdown < r[2][SJF].slowdown,
	      "%.2f against %.2f and %.2f", r[2][TWO].slowdown, r[2][FCFS].slowdown,
	      r[2][SJF].slowdown);
	begin(d, "5.3", false,
	      "With 25 % short jobs its slowdown is higher than that of OD-S with SJF.");
	check(d, r[0][TWO].slowdown > r[0][SJF].slowdown, "%.2f against %.2f", r[0][TWO].slowdown,
	      r[0][SJF].slowdown);
	begin(d, "5.3", false,
	      "With 25 % short jobs its slowdown is higher than that of OD-S with FCFS.");
	check(d, r[0][TWO].slowdown > r[0][FCFS].slowdown, "%.2f against %.2f", r[0][TWO].slowdown,
	      r[0][FCFS].slowdown);
}

/* ---- 5.4 ---- */

enum { MIXED_UNIFORM, MIXED_PERIODIC, MIXED_BURSTY };
enum { PAIR_STARTUP, PAIR_ODS, PAIR_ODG };
static const char *const mixed_names[STUDY_MIXED] = {"Uniform", "Periodic", "Bursty"};

static void find_makespan(struct desk *d)
{
	begin(d, "5.4", false, "All policies have similar makespans (within 3 %).");
	for (int w = 0; w < STUDY_MIXED; w++) {
		double least = 1e300, most = 0;
		for (int i = 0; i < 6; i++) {
			double hours = (double)d->s->pairs[w][i / 3][i % 3].makespan_ms / 3600000;
			least = hours < least ? hours : least;
			most = hours > most ? hours : most;
		}
		check(d, most <= 1.03 * least, "%s %.2f to %.2f h", mixed_names[w], least, most);
	}
}

static void find_saving(struct desk *d)
{
	begin(d, "5.4", false,
	      "On-demand policies save node hours over Startup, most with the periodic workload, "
	      "least with the "
	      "uniform one.");
	for (int i = 0; i < 4; i++) {
		int allocation = i / 2, policy = PAIR_ODS + i % 2;
		double saving[STUDY_MIXED];
		for (int w = 0; w < STUDY_MIXED; w++)
			saving[w] = 100 -
				100 * d->s->pairs[w][allocation][policy].actual_h /
					d->s->pairs[w][allocation][PAIR_STARTUP].actual_h;
		check(d,
		      saving[MIXED_UNIFORM] > 0 && saving[MIXED_BURSTY] > saving[MIXED_UNIFORM] &&
			      saving[MIXED_PERIODIC] > saving[MIXED_BURSTY],
		      "%s-%s %.0f, %.0f, %.0f %%", policy == PAIR_ODS ? "OD-S" : "OD-G",
		      allocation ? "SJF" : "FCFS", saving[MIXED_UNIFORM], saving[MIXED_PERIODIC],
		      saving[MIXED_BURSTY]);
	}
	begin(d, "5.4", false,
	      "With the uniform workload the nodes of Startup are busy most of the time (above 85 "
	      "%).");
	const struct phx_iaas_result *r = &d->s->pairs[MIXED_UNIFORM][0][PAIR_STARTUP];
	double busy = 100 * r->speedup * (double)r->makespan_ms / 3600000 / r->actual_h;
	check(d, busy > 85, "%.0f %%", busy);
}

static void find_slowdown(struct desk *d)
{
	begin(d, "5.4", false,
	      "SJF lowers the slowdown of every provisioning policy that lets jobs wait.");
	for (int w = 0; w < STUDY_MIXED; w++)
		for (int p = 0; p < 3; p++) {
			double fcfs = d->s->pairs[w][0][p].slowdown,
			       sjf = d->s->pairs[w][1][p].slowdown;
			check(d, sjf < fcfs || (fcfs < 1.0001 && sjf <= fcfs), "%s %.2f to %.2f",
			      mixed_names[w], fcfs, sjf);
		}
	begin(d, "5.4", false, "Startup has the lowest slowdown.");
	for (int i = 0; i < 2 * STUDY_MIXED; i++) {
		const struct phx_iaas_result *r = d->s->pairs[i / 2][i % 2];
		check(d,
		      r[PAIR_STARTUP].slowdown < r[PAIR_ODS].slowdown &&
			      r[PAIR_STARTUP].slowdown < r[PAIR_ODG].slowdown,
		      "%s-%s %.2f", mixed_names[i / 2], i % 2 ? "SJF" : "FCFS",
		      r[PAIR_STARTUP].slowdown);
	}
	begin(d, "5.4", false,
	      "OD-G has a slightly higher slowdown than OD-S (by at most 10 %; with SJF at most 1 "
	      "% lower).");
	for (int i = 0; i < 2 * STUDY_MIXED; i++) {
		const struct phx_iaas_result *r = d->s->pairs[i / 2][i % 2];
		double more = 100 * (r[PAIR_ODG].slowdown / r[PAIR_ODS].slowdown - 1);
		check(d, more > (i % 2 ? -1 : 0) && more <= 10, "%s-%s %+.1f %%",
		      mixed_names[i / 2], i % 2 ? "SJF" : "FCFS", more);
	}
}

static void find(const struct phx_iaas_study *s, struct desk *ret)
{
	*ret = (struct desk){.s = s};
	find_performance(ret);
	find_cost(ret);
	find_exec(ret);
	find_allocation(ret);
	find_sizes(ret);
	find_makespan(ret);
	find_saving(ret);
	find_slowdown(ret);
}

#endif
