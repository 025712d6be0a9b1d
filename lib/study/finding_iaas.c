/* What 002 says in words, checked on the runs of its study. Called by findings.c. */
#include "study/finding_desk.h"
#include "study/iaas_study_internal.h"

static const char exec_remark[] =
	"It is where idle nodes go at once (see the table of readings): kept for 10 min, the nodes "
	"of the "
	"uniform and the increasing hour serve to its end, whoever leased them.";
static const char idle_remark[] = "More utility than Startup they have everywhere; against "
				  "QueueWait it hangs on the boot and idle "
				  "times of the clouds, which are not printed.";
static const char odg_remark[] = "By an hour's lease more or less; its slowdown is higher (5.4).";
static const char
	nw_remark[] = "Sharing a node costs nothing in the model.",
	twoq_remark[] =
		"OD-2Q against itself: 002 says that long jobs are no longer kept in the "
		"queue, and blames the parted pools for what few short jobs suffer. In one "
		"FCFS queue the short ones wait behind the long, and the fewer there are the "
		"longer; a pool of their own spares them that at every share.";

static const char *hour_name(int hour)
{
	return study_hours[hour].name;
}

/* ---- 5.1, 5.2: live in 002 ---- */

enum { STARTUP, EXECTIME, EXECAVG, EXECKN, QUEUEWAIT, ODS }; /* of study_live */

static void find_performance(struct desk *d)
{
	desk_begin(
		d, "002 5.1", true,
		"Startup has the shortest makespan and the lowest slowdown of all policies (within "
		"0.1 %).",
		"");
	for (int cloud = 0; cloud < STUDY_CLOUDS; cloud++)
		for (int h = 0; h < STUDY_HOURS; h++) {
			const struct phx_iaas_result *best = &d->s->cloud[cloud][STARTUP][h];
			bool holds = true;
			for (int p = 1; p < STUDY_LIVE; p++)
				holds = holds &&
					d->s->cloud[cloud][p][h].slowdown >= best->slowdown &&
					(double)d->s->cloud[cloud][p][h].makespan_ms >=
						0.999 * (double)best->makespan_ms;
			desk_check(d, holds, "%s %s %.2f", study_clouds[cloud].name, hour_name(h),
				   best->slowdown);
		}
}

static void find_cost(struct desk *d)
{
	desk_begin(d, "002 5.1", true, "OD-S is charged more than every other policy.", "");
	for (int cloud = 0; cloud < STUDY_CLOUDS; cloud++)
		for (int h = 0; h < STUDY_HOURS; h++) {
			double ods = d->s->cloud[cloud][ODS][h].charged_h, most = 0;
			for (int p = 0; p < ODS; p++)
				if (d->s->cloud[cloud][p][h].charged_h > most)
					most = d->s->cloud[cloud][p][h].charged_h;
			desk_check(d, ods > most, "%s %s %.0f h over %.0f h",
				   study_clouds[cloud].name, hour_name(h), ods, most);
		}
	desk_begin(d, "002 5.1", true, "Startup has the highest actual cost of all policies.", "");
	for (int cloud = 0; cloud < STUDY_CLOUDS; cloud++)
		for (int h = 0; h < STUDY_HOURS; h++) {
			double startup = d->s->cloud[cloud][STARTUP][h].actual_h, most = 0;
			for (int p = 1; p < STUDY_LIVE; p++)
				if (d->s->cloud[cloud][p][h].actual_h > most)
					most = d->s->cloud[cloud][p][h].actual_h;
			desk_check(d, startup > most, "%s %s %.1f h over %.1f h",
				   study_clouds[cloud].name, hour_name(h), startup, most);
		}
}

static void find_exec(struct desk *d)
{
	desk_begin(
		d, "002 5.1", true,
		"On DAS4 the Exec policies are charged less than Startup, and QueueWait more than "
		"they where load "
		"varies.",
		exec_remark);
	for (int h = 0; h < STUDY_HOURS; h++) {
		const struct phx_iaas_result(*c)[STUDY_HOURS] = d->s->cloud[0];
		double exec = 0;
		for (int p = EXECTIME; p <= EXECKN; p++)
			if (c[p][h].charged_h > exec)
				exec = c[p][h].charged_h;
		desk_check(d,
			   exec < c[STARTUP][h].charged_h &&
				   (!h || c[QUEUEWAIT][h].charged_h > exec),
			   "%s: Startup %.0f h, Exec at most %.0f h, QueueWait %.0f h",
			   hour_name(h), c[STARTUP][h].charged_h, exec, c[QUEUEWAIT][h].charged_h);
	}
}

static void find_allocation(struct desk *d)
{
	enum { FCFS, SJF, NW };
	desk_begin(d, "002 5.2", true,
		   "Under Startup SJF has a lower slowdown than FCFS, most of all for the bursty "
		   "workload.",
		   "");
	for (int cloud = 0; cloud < STUDY_CLOUDS; cloud++) {
		double gain[STUDY_HOURS];
		for (int h = 0; h < STUDY_HOURS; h++)
			gain[h] = d->s->allocation[cloud][FCFS][h].slowdown -
				d->s->allocation[cloud][SJF][h].slowdown;
		desk_check(d,
			   gain[0] >= 0 && gain[1] >= 0 && gain[2] > gain[0] && gain[2] > gain[1],
			   "%s: lower by %.3f, %.3f, %.3f", study_clouds[cloud].name, gain[0],
			   gain[1], gain[2]);
	}
	desk_begin(d, "002 5.2", true,
		   "Under Startup FCFS-NW has a higher slowdown than FCFS, for every workload.",
		   nw_remark);
	for (int cloud = 0; cloud < STUDY_CLOUDS; cloud++)
		for (int h = 0; h < STUDY_HOURS; h++) {
			double fcfs = d->s->allocation[cloud][FCFS][h].slowdown,
			       nw = d->s->allocation[cloud][NW][h].slowdown;
			desk_check(d, nw >= fcfs, "%s %s %.2f against %.2f",
				   study_clouds[cloud].name, hour_name(h), nw, fcfs);
		}
}

/* ---- 5.3 ---- */

static void find_sizes(struct desk *d)
{
	enum { FCFS, SJF, TWO };
	const struct phx_iaas_result(*r)[STUDY_PAIRS] = d->s->sizes;
	desk_begin(d, "002 5.3", false,
		   "OD-2Q with FCFS-2Q uses fewer node hours than OD-S with FCFS and with SJF.",
		   "");
	for (int i = 0; i < STUDY_SIZES; i++)
		desk_check(d,
			   r[i][TWO].actual_h < r[i][FCFS].actual_h &&
				   r[i][TWO].actual_h < r[i][SJF].actual_h,
			   "SR%d%%: %.0f against %.0f and %.0f h", 25 * (i + 1), r[i][TWO].actual_h,
			   r[i][FCFS].actual_h, r[i][SJF].actual_h);
	desk_begin(d, "002 5.3", false,
		   "With 75 % short jobs its slowdown is lower than that of both.", "");
	desk_check(d,
		   r[2][TWO].slowdown < r[2][FCFS].slowdown &&
			   r[2][TWO].slowdown < r[2][SJF].slowdown,
		   "%.2f against %.2f and %.2f", r[2][TWO].slowdown, r[2][FCFS].slowdown,
		   r[2][SJF].slowdown);
	desk_begin(d, "002 5.3", false,
		   "With 25 % short jobs its slowdown is higher than that of OD-S with SJF.", "");
	desk_check(d, r[0][TWO].slowdown > r[0][SJF].slowdown, "%.2f against %.2f",
		   r[0][TWO].slowdown, r[0][SJF].slowdown);
	desk_begin(d, "002 5.3", false,
		   "With 25 % short jobs its slowdown is higher than that of OD-S with FCFS.",
		   twoq_remark);
	desk_check(d, r[0][TWO].slowdown > r[0][FCFS].slowdown, "%.2f against %.2f",
		   r[0][TWO].slowdown, r[0][FCFS].slowdown);
}

/* ---- 5.4 ---- */

enum { MIXED_UNIFORM, MIXED_PERIODIC, MIXED_BURSTY };
enum { PAIR_STARTUP, PAIR_ODS, PAIR_ODG };
static const char *const mixed_names[STUDY_MIXED] = {"Uniform", "Periodic", "Bursty"};

static void find_makespan(struct desk *d)
{
	desk_begin(d, "002 5.4", false, "All policies have similar makespans (within 3 %).", "");
	for (int w = 0; w < STUDY_MIXED; w++) {
		double least = 1e300, most = 0;
		for (int i = 0; i < 6; i++) {
			double hours = (double)d->s->pairs[w][i / 3][i % 3].makespan_ms / 3600000;
			least = hours < least ? hours : least;
			most = hours > most ? hours : most;
		}
		desk_check(d, most <= 1.03 * least, "%s %.2f to %.2f h", mixed_names[w], least,
			   most);
	}
}

static void find_saving(struct desk *d)
{
	desk_begin(
		d, "002 5.4", false,
		"On-demand policies save node hours over Startup, most with the periodic workload, "
		"least with the "
		"uniform one.",
		"");
	for (int i = 0; i < 4; i++) {
		int allocation = i / 2, policy = PAIR_ODS + i % 2;
		double saving[STUDY_MIXED];
		for (int w = 0; w < STUDY_MIXED; w++)
			saving[w] = 100 -
				100 * d->s->pairs[w][allocation][policy].actual_h /
					d->s->pairs[w][allocation][PAIR_STARTUP].actual_h;
		desk_check(d,
			   saving[MIXED_UNIFORM] > 0 &&
				   saving[MIXED_BURSTY] > saving[MIXED_UNIFORM] &&
				   saving[MIXED_PERIODIC] > saving[MIXED_BURSTY],
			   "%s-%s %.0f, %.0f, %.0f %%", policy == PAIR_ODS ? "OD-S" : "OD-G",
			   allocation ? "SJF" : "FCFS", saving[MIXED_UNIFORM],
			   saving[MIXED_PERIODIC], saving[MIXED_BURSTY]);
	}
	desk_begin(d, "002 5.4", false,
		   "With the uniform workload the nodes of Startup are busy most of the time "
		   "(above 85 "
		   "%).",
		   "");
	const struct phx_iaas_result *r = &d->s->pairs[MIXED_UNIFORM][0][PAIR_STARTUP];
	double busy = 100 * r->speedup * (double)r->makespan_ms / 3600000 / r->actual_h;
	desk_check(d, busy > 85, "%.0f %%", busy);
}

static void find_slowdown(struct desk *d)
{
	desk_begin(d, "002 5.4", false,
		   "SJF lowers the slowdown of every provisioning policy that lets jobs wait.", "");
	for (int w = 0; w < STUDY_MIXED; w++)
		for (int p = 0; p < 3; p++) {
			double fcfs = d->s->pairs[w][0][p].slowdown,
			       sjf = d->s->pairs[w][1][p].slowdown;
			desk_check(d, sjf < fcfs || (fcfs < 1.0001 && sjf <= fcfs),
				   "%s %.2f to %.2f", mixed_names[w], fcfs, sjf);
		}
	desk_begin(d, "002 5.4", false, "Startup has the lowest slowdown.", "");
	for (int i = 0; i < 2 * STUDY_MIXED; i++) {
		const struct phx_iaas_result *r = d->s->pairs[i / 2][i % 2];
		desk_check(d,
			   r[PAIR_STARTUP].slowdown < r[PAIR_ODS].slowdown &&
				   r[PAIR_STARTUP].slowdown < r[PAIR_ODG].slowdown,
			   "%s-%s %.2f", mixed_names[i / 2], i % 2 ? "SJF" : "FCFS",
			   r[PAIR_STARTUP].slowdown);
	}
	desk_begin(d, "002 5.4", false,
		   "OD-G has a slightly higher slowdown than OD-S (by at most 10 %; with SJF at "
		   "most 1 "
		   "% lower).",
		   "");
	for (int i = 0; i < 2 * STUDY_MIXED; i++) {
		const struct phx_iaas_result *r = d->s->pairs[i / 2][i % 2];
		double more = 100 * (r[PAIR_ODG].slowdown / r[PAIR_ODS].slowdown - 1);
		desk_check(d, more > (i % 2 ? -1 : 0) && more <= 10, "%s-%s %+.1f %%",
			   mixed_names[i / 2], i % 2 ? "SJF" : "FCFS", more);
	}
}

/* ---- 7: what it concludes ---- */

static void conclude_live(struct desk *d)
{
	desk_begin(
		d, "002 7 (1)", true,
		"OD-ExecTime and its variants have more utility than Startup, and the best of them "
		"more than QueueWait.",
		idle_remark);
	for (int cloud = 0; cloud < STUDY_CLOUDS; cloud++)
		for (int h = 0; h < STUDY_HOURS; h++) {
			const struct phx_iaas_result(*c)[STUDY_HOURS] = d->s->cloud[cloud];
			double least = 1e300, most = 0, base = c[STARTUP][h].utility;
			for (int p = EXECTIME; p <= EXECKN; p++) {
				double u = c[p][h].utility / base;
				least = u < least ? u : least;
				most = u > most ? u : most;
			}
			desk_check(d, least > 1 && most > c[QUEUEWAIT][h].utility / base,
				   "%s %s %.2f to %.2f, QueueWait %.2f", study_clouds[cloud].name,
				   hour_name(h), least, most, c[QUEUEWAIT][h].utility / base);
		}
	desk_begin(
		d, "002 7 (4)", true,
		"Startup is charged up to 5 times as much as a dynamic policy (between 4 and 6).",
		"Hangs on how long idle nodes are kept, which is not printed: see the table of "
		"readings.");
	double most = 0;
	for (int i = 0; i < STUDY_CLOUDS * STUDY_HOURS * ODS; i++) {
		const struct phx_iaas_result(*c)[STUDY_HOURS] = d->s->cloud[i % STUDY_CLOUDS];
		int h = i / STUDY_CLOUDS % STUDY_HOURS, p = 1 + i / STUDY_CLOUDS / STUDY_HOURS;
		double times = c[STARTUP][h].charged_h / c[p][h].charged_h;
		most = times > most ? times : most;
	}
	desk_check(d, most >= 4 && most <= 6, "%.1f times", most);
}

static void conclude_simulated(struct desk *d)
{
	desk_begin(d, "002 7 (2)", false, "OD-G is worse than OD-S: it is charged more (FCFS).",
		   odg_remark);
	for (int w = 0; w < STUDY_MIXED; w++) {
		const struct phx_iaas_result *r = d->s->pairs[w][0];
		desk_check(d, r[PAIR_ODG].charged_h > r[PAIR_ODS].charged_h,
			   "%s %.0f h against %.0f h", mixed_names[w], r[PAIR_ODG].charged_h,
			   r[PAIR_ODS].charged_h);
	}
	desk_begin(d, "002 7 (3)", false,
		   "With 50 % and 75 % short jobs OD-2Q with FCFS-2Q has the least slowdown times "
		   "charged hours.",
		   "");
	for (int i = 1; i < STUDY_SIZES; i++) {
		double x[STUDY_PAIRS];
		for (int k = 0; k < STUDY_PAIRS; k++)
			x[k] = d->s->sizes[i][k].slowdown * d->s->sizes[i][k].charged_h;
		desk_check(d, x[2] < x[0] && x[2] < x[1], "SR%d%%: %.0f against %.0f and %.0f",
			   25 * (i + 1), x[2], x[0], x[1]);
	}
	desk_begin(
		d, "002 7 (5)", false,
		"SJF, which knows run times, has a lower slowdown than FCFS with dynamic policies.",
		"");
	for (int i = 0; i < 2 * STUDY_MIXED; i++) {
		int w = i / 2, p = PAIR_ODS + i % 2;
		double fcfs = d->s->pairs[w][0][p].slowdown, sjf = d->s->pairs[w][1][p].slowdown;
		desk_check(d, sjf < fcfs, "%s %s %.2f against %.2f",
			   p == PAIR_ODS ? "OD-S" : "OD-G", mixed_names[w], sjf, fcfs);
	}
}

void find_iaas(struct desk *d)
{
	find_performance(d);
	find_cost(d);
	find_exec(d);
	find_allocation(d);
	find_sizes(d);
	find_makespan(d);
	find_saving(d);
	find_slowdown(d);
	conclude_live(d);
	conclude_simulated(d);
}
