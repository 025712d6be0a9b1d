/* PAPERS.md: the rows of the papers' tables with ours beside them, as text.
 * Called by phx sim tables; nobody types that file. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "study/papers_internal.h"
#include "sim/threads.h"

static const struct {
	const char *prefix, *name;
} papers[] = {
	{"000",
	 "PhoenixCloud: provisioning runtime environments for heterogeneous workloads (arXiv "
	 "1006.1401)"},
	{"001", "Phoenix Cloud: consolidating different computing loads, 2008 (arXiv 0906.1346)"},
	{"002",
	 "Performance of provisioning and allocation policies in IaaS clouds (PDS-2011-009)"},
	{"003",
	 "DawningCloud: in cloud, can scientific communities benefit from the economies of scale? "
	 "(TPDS 2011)"},
	{"004", "A hybrid of virtual machines and MapReduce"},
	{"derived", "What follows from the published figures"},
};

static const char head[] =
	"# The papers' tables, run again\n\n"
	"Made by `phx sim tables -o markdown` from the traces that phx-sim(1) names; typed by "
	"nobody. Every row has the figure that was "
	"published and ours. *exact*: the same, rounded or cut to the digits printed. The "
	"difference is ours against the published "
	"figure; percentages are compared in points. What ours is: *computed*, the outcome of a "
	"run that "
	"nobody put in; *setting*, what runs are made with, or what follows from that alone; "
	"*input "
	"echoed*, what a log or workload is, or was fitted to be, for which nothing need be run; "
	"*none*, "
	"with its reason beside it. `phx sim tables -o csv` prints "
	"the same rows for programs.\n\n";

static const char constants[] =
	"## What the papers leave open\n\n"
	"No constant is fitted to a row. What the papers do not say had to "
	"be chosen, once and for all rows; only the "
	"replay speed "
	"and the capacity were found by published figures.\n\n"
	"| what | value | why |\n|---|---|---|\n"
	"| replay speed of the World Cup log | 15 | 000 and 001 say "
	"neither how fast the log was replayed nor for how "
	"long. In real "
	"time the demand's integral is 6,700 node hours at a peak of 128; "
	"the published EC2+RightScale totals, less "
	"the leases of "
	"the jobs, leave 10,393 to 10,649 for it. Replayed 15 times as "
	"fast (two weeks in a day) the manager's 20 s "
	"window sees five "
	"minutes, and the integral is within that |\n"
	"| first second of the two weeks | 1998-06-06 22:00 GMT | midnight "
	"in France, where the archive's file of June "
	"7 begins |\n"
	"| L of FB | at once | 000 has a time unit of leasing without a "
	"value for FB; 001 says immediately |\n"
	"| lower bounds of a pair | B - 2 and 2 | 2 instances are printed "
	"for the start; after one tick the split has "
	"no effect |\n"
	"| jobs 2 to 8 of SDSC BLUE | kept | the archive has cleaned them "
	"away since; with them 2,672 are submitted, "
	"as printed |\n"
	"| DR | Q - idle is obtained; a lease releases any idle dynamic "
	"nodes | the text can be read in four ways |\n"
	"| NASA's period | 92 days for jobs, 2,209 h for nodes | 282,752 "
	"is 128 nodes for 2,209 h; 18,237 jobs end "
	"within 92 days |\n"
	"| submissions of Montage | 100, Poisson, seed 1 | 66,200 is 100 "
	"leases of 662 nodes for an hour |\n"
	"| a workflow under Deelman's system | one lease of 662 nodes | "
	"its widest level; the same evidence |\n"
	"| IaaS study | run times log-normal by the printed moments; k = "
	"5; seed 1, 10 repetitions | the laws are not "
	"printed |\n"
	"| the clouds of 002 | nodes boot in 10 min, and are kept idle for 10 min, by OD-S not at "
	"all | what 002 prints for its simulations; that OD-S releases nodes before they are ready "
	"(5.1) only 0 does |\n";

/* ---- cells ---- */

/* Text that does not end its cell. */
static void add_cell(struct phx_buf *b, const char *text)
{
	phx_buf_add(b, "| ", 2);
	for (; *text; text++)
		phx_buf_addf(b, *text == '|' ? "\\|" : "%c", *text);
	phx_buf_add(b, " ", 1);
}

static void add_difference(struct phx_buf *b, const struct phx_paper_row *row,
			   const struct phx_paper_value *v)
{
	if (v->near == PHX_PAPER_EXACT)
		phx_buf_addf(b, "| exact ");
	else if (isnan(v->difference))
		phx_buf_addf(b, v->near == PHX_PAPER_BEYOND ? "| differs " : "| ");
	else if (strstr(row->metric, "_pct") && fabs(strtod(row->published, NULL)) >= 5)
		phx_buf_addf(b, "| %+.1f points ", v->difference * 100);
	else
		phx_buf_addf(b, "| %+.*f %% ", fabs(v->difference) < 0.0995 ? 2 : 0,
			     v->difference * 100);
}

/* ---- tables ---- */

/* Notes of one experiment, numbered as they come. */
struct notes {
	const char *note[64];
	size_t n;
};

static size_t number_of(struct notes *n, const char *text)
{
	size_t i = 0;
	while (i < n->n && strcmp(n->note[i], text) != 0)
		i++;
	if (i == PHX_ARRAY_SIZE(n->note))
		i--;
	if (i == n->n)
		n->n++;
	n->note[i] = text;
	return i + 1;
}

static int add_row(struct phx_papers *p, size_t i, struct notes *notes, struct phx_buf *b,
		   struct phx_err *err)
{
	struct phx_paper_value v;
	int r = phx_papers_value(p, i, &v, err);
	if (r < 0)
		return r;
	const struct phx_paper_row *row = phx_papers_row(p, i);
	add_cell(b, row->config);
	add_cell(b, row->metric);
	if (*row->published)
		add_cell(b, row->published);
	add_cell(b, v.ours);
	if (*row->published) {
		add_difference(b, row, &v);
		phx_buf_addf(b, "| %s | ", phx_enum_name(&phx_paper_kind_names, row->kind));
		if (*row->note && v.near != PHX_PAPER_EXACT)
			phx_buf_addf(b, "%zu ", number_of(notes, row->note));
	}
	phx_buf_addf(b, "|\n");
	return 0;
}

/* Rows i to the end of their experiment; returns the row behind it. */
static int add_experiment(struct phx_papers *p, size_t *i, struct phx_buf *b, struct phx_err *err)
{
	const struct phx_paper_row *first = phx_papers_row(p, *i);
	struct notes notes = {.n = 0};
	bool figure = !*first->published;
	int r = 0;
	phx_buf_addf(b, "\n### %s%s\n\n", first->experiment,
		     figure ? " (values are not printed)" : "");
	phx_buf_addf(b,
		     figure ? "| configuration | metric | ours |\n|---|---|---:|\n"
			    : "| configuration | metric | published | ours | difference | ours is "
			      "| note |\n|---|---|---:|---:|---:|---|---|\n");
	for (; *i < phx_papers_rows(p) && r == 0; (*i)++) {
		if (strcmp(phx_papers_row(p, *i)->experiment, first->experiment) != 0)
			break;
		r = add_row(p, *i, &notes, b, err);
	}
	for (size_t k = 0; k < notes.n; k++)
		phx_buf_addf(b, "%s%zu. %s\n", k ? "" : "\n", k + 1, notes.note[k]);
	return r;
}

/* The experiments of one paper: with published figures, or the points of figures. */
static int add_paper(struct phx_papers *p, size_t paper, bool figures, struct phx_buf *b,
		     struct phx_err *err)
{
	bool any = false;
	int r = 0;
	for (size_t i = 0; i < phx_papers_rows(p) && r == 0;) {
		const struct phx_paper_row *row = phx_papers_row(p, i);
		if ((*row->published == 0) != figures ||
		    !phx_str_starts(row->experiment, papers[paper].prefix)) {
			i++;
			continue;
		}
		if (!any)
			phx_buf_addf(b, "\n## %s%s: %s\n", figures ? "Figures of " : "",
				     papers[paper].prefix, papers[paper].name);
		any = true;
		r = add_experiment(p, &i, b, err);
	}
	return r;
}

static int add_tables(struct phx_papers *p, bool figures, struct phx_buf *b, struct phx_err *err)
{
	int r = 0;
	for (size_t k = 0; k < PHX_ARRAY_SIZE(papers) && r == 0; k++)
		r = add_paper(p, k, figures, b, err);
	return r;
}

/* ---- sums ---- */

#define COUNTS_HEAD " exact | within 1 % | within 5 % | beyond | no figure | mean difference |\n"

static void add_counts(struct phx_buf *b, const struct phx_paper_counts *c, int kind)
{
	for (int k = 0; k < PHX_PAPER_NEAR_COUNT_; k++)
		phx_buf_addf(b, "| %zu ", c->n[kind][k]);
	if (kind == PHX_PAPER_EMPTY)
		phx_buf_addf(b, "| |\n");
	else
		phx_buf_addf(b, "| %.1f %% |\n", c->mean[kind] * 100);
}

static size_t rows_of(const struct phx_paper_counts *c, int kind)
{
	size_t n = 0;
	for (int k = 0; k < PHX_PAPER_NEAR_COUNT_; k++)
		n += c->n[kind][k];
	return n;
}

static int add_sums(struct phx_papers *p, const char *scope, const char *name, struct phx_buf *b,
		    struct phx_err *err)
{
	struct phx_paper_counts c;
	int r = phx_papers_count(p, scope, "", &c, err);
	for (int kind = 0; kind < PHX_PAPER_KIND_COUNT_ && r == 0; kind++) {
		if (!rows_of(&c, kind))
			continue;
		phx_buf_addf(b, "| %s | %s | %zu ", name,
			     phx_enum_name(&phx_paper_kind_names, kind), rows_of(&c, kind));
		add_counts(b, &c, kind);
	}
	if (r == 0)
		phx_buf_addf(b, "| %s | | **%zu** | | | | | | |\n", name, c.n_rows);
	return r;
}

static int add_summary(struct phx_papers *p, struct phx_buf *b, struct phx_err *err)
{
	int r = 0;
	phx_buf_addf(b, "%s",
		     "| rows of | ours is | rows |" COUNTS_HEAD
		     "|---|---|---:|---:|---:|---:|---:|---:|---:|\n");
	for (size_t k = 0; k < PHX_ARRAY_SIZE(papers) && r == 0; k++)
		r = add_sums(p, papers[k].prefix, papers[k].prefix, b, err);
	r = r < 0 ? r : add_sums(p, "", "all", b, err);
	phx_buf_addf(b, "\n");
	return r;
}

/* ---- windows ---- */

/* The windows of the runs that an input feeds, each once. */
static void add_run_hours(const struct phx_papers *p, int input, struct phx_buf *b)
{
	uint32_t told[RUN_COUNT_];
	size_t n = 0;
	for (int i = RUN_none + 1; i < RUN_COUNT_; i++) {
		uint32_t hours = phx_papers_hours(p, i);
		size_t k = 0;
		while (k < n && told[k] != hours)
			k++;
		if (phx_paper_runs[i].jobs != input || k < n)
			continue;
		told[n++] = hours;
		phx_buf_addf(b, "%s", n > 1 ? ", " : "");
		phx_buf_addf(b, hours ? "%u h" : "until all is done", hours);
	}
	phx_buf_addf(b, n ? " |\n" : "none |\n");
}

static int add_windows(struct phx_papers *p, struct phx_buf *b, struct phx_err *err)
{
	phx_buf_addf(
		b, "%s",
		"\n## Windows\n\nWhat of each input is read, and for how long the runs that it "
		"feeds count: what is submitted later is none of theirs, what ends later is not "
		"completed, what is held later is not added up.\n\n"
		"| input | file | read | jobs | runs count |\n|---|---|---:|---:|---|\n");
	for (int i = INPUT_none + 1; i < INPUT_COUNT_; i++) {
		const struct phx_trace_jobs *jobs;
		int r = phx_papers_jobs(p, i, &jobs, err);
		if (r < 0)
			return r;
		phx_buf_addf(b, "| %s | %s ", phx_papers_input_text(i), phx_papers_input_file(i));
		phx_buf_addf(b, phx_papers_input_hours(i) ? "| %u h " : "| all ",
			     phx_papers_input_hours(i));
		phx_buf_addf(b, "| %zu | ", jobs->n);
		add_run_hours(p, i, b);
	}
	phx_buf_addf(b,
		     "| World Cup, requests a minute | wc98-per-minute.csv | 336 h, %u times as "
		     "fast | | 336 h |\n",
		     p->reading->ws_replay);
	return 0;
}

/* ---- findings ---- */

static int add_findings(struct phx_papers *p, struct phx_buf *b, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list list = {0};
	size_t n_hold = 0;
	int r = phx_papers_findings(p, &list, err);
	if (r < 0)
		return r;
	PHX_LIST_EACH(const struct phx_paper_finding, f, &list)
		n_hold += f->holds;
	phx_buf_addf(
		b,
		"\n## What the papers say in words\n\nDecided by our runs: %zu of %u sentences "
		"hold. *live*: the paper has it from live machines, ours is simulated. Where a "
		"paper says small, the bound that we take stands in brackets.\n\n"
		"| of | sentence | in ours | by |\n|---|---|---|---|\n",
		n_hold, list.n);
	PHX_LIST_EACH(const struct phx_paper_finding, f, &list) {
		phx_buf_addf(b, "| %s%s ", f->section, f->live ? ", live" : "");
		add_cell(b, f->text);
		phx_buf_addf(b, f->holds ? "| holds " : "| **does not hold** ");
		add_cell(b, f->figures);
		phx_buf_addf(b, "|\n");
	}
	phx_buf_addf(b, "\nWhat does not hold, and where a paper contradicts itself:\n\n");
	PHX_LIST_EACH(const struct phx_paper_finding, f, &list)
		if (!f->holds)
			phx_buf_addf(b, "- %s: %s *%s*\n", f->section, f->text,
				     *f->remark ? f->remark : "Not explained.");
	return 0;
}

/* Two weeks in ours: how the demand came about. */
static int add_demand(struct phx_papers *p, struct phx_buf *b, struct phx_err *err)
{
	const struct phx_trace_series *s;
	int r = phx_papers_demand(p, 64, &s, err);
	if (r < 0)
		return r;
	phx_buf_addf(b,
		     "| capacity of an instance | %.3f requests/s | found: the smallest at which "
		     "the demand peaks at "
		     "exactly 64, as "
		     "printed; other peaks are that demand scaled |\n",
		     (double)p->capacity_milli / 1000);
	return 0;
}

struct reading_counts {
	const char *traces;
	struct reading_of {
		const struct phx_papers_reading *reading;
		const struct phx_papers_reading *rows; /* whose rows are counted */
		struct phx_paper_counts counts;
	} of[64];
	size_t n;
};

static int count_reading(void *arg, size_t i, struct phx_err *err)
{
	struct reading_counts *c = arg;
	struct phx_papers *p = NULL;
	int r = phx_papers_new(c->traces, c->of[i].reading, &p);
	r = r < 0 ? r
		  : phx_papers_count(p, c->of[i].rows->scope, c->of[i].rows->match,
				     &c->of[i].counts, err);
	phx_papers_free(p);
	return r;
}

/* Each reading on the rows that it has to do with, after ours on the same rows. */
static int add_readings(const char *traces, unsigned workers, struct phx_buf *b,
			struct phx_err *err)
{
	const struct phx_papers_reading *list;
	size_t n = phx_papers_readings(&list);
	struct reading_counts c = {.traces = traces};
	for (size_t i = 1; i < n && c.n + 2 <= PHX_ARRAY_SIZE(c.of); i++) {
		if (strcmp(list[i].scope, list[i - 1].scope) != 0)
			c.of[c.n++] = (struct reading_of){.reading = &list[0], .rows = &list[i]};
		c.of[c.n++] = (struct reading_of){.reading = &list[i], .rows = &list[i]};
	}
	int r = phx_sim_pool_run(workers, c.n, count_reading, NULL, &c, err);
	if (r < 0)
		return r;
	phx_buf_addf(b, "%s",
		     "\n## Other readings\n\nOne thing changed at a time; counted on the rows that "
		     "it has to do with, where ours is computed.\n\n"
		     "| reading | rows of |" COUNTS_HEAD
		     "|---|---|---:|---:|---:|---:|---:|---:|\n");
	for (size_t i = 0; i < c.n; i++) {
		const struct phx_papers_reading *rows = c.of[i].rows;
		phx_buf_addf(b, "| %s: %s | %s%s%s ", c.of[i].reading->name, c.of[i].reading->text,
			     rows->scope, *rows->match ? " " : "", rows->match);
		add_counts(b, &c.of[i].counts, PHX_PAPER_COMPUTED);
	}
	return 0;
}

int phx_papers_markdown(struct phx_papers *p, const char *traces, unsigned workers,
			struct phx_buf *ret, struct phx_err *err)
{
	struct phx_buf b = {0};
	phx_buf_addf(&b, "%s", head);
	int r = add_summary(p, &b, err);
	phx_buf_addf(&b, "%s", constants);
	r = r < 0 ? r : add_demand(p, &b, err);
	r = r < 0 ? r : add_readings(traces, workers, &b, err);
	r = r < 0 ? r : add_windows(p, &b, err);
	r = r < 0 ? r : add_findings(p, &b, err);
	r = r < 0 ? r : add_tables(p, false, &b, err);
	r = r < 0 ? r : add_tables(p, true, &b, err);
	if (r == 0 && b.failed)
		r = -ENOMEM;
	if (r < 0)
		phx_buf_fini(&b);
	else
		*ret = b;
	return r;
}
