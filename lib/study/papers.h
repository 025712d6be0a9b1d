/* The tables of the papers, run again: every published figure beside ours. The
 * figures are data (published_*.def), what is run for them is data too
 * (papers_run.def, papers_sweep.def); nothing is simulated before it is asked
 * for, and nothing twice. Used by `phx sim tables` and by tests. */
#ifndef PHX_STUDY_PAPERS_H
#define PHX_STUDY_PAPERS_H

#include "sim/run.h"
#include "study/iaas_study.h"

/** One row a reading: what the papers leave open, and what we take for it (papers_reading.def). */
struct phx_papers_reading {
	const char *name, *text;
	/* its rows: begin of the experiment, part of the configuration */
	const char *scope, *match;
	/* the web log is replayed so many times faster than it was recorded: policies.md 2 */
	uint32_t ws_replay;
	int64_t ws_begin_s;  /* first second of its two weeks */
	uint32_t fb_lease_s; /* L of FB; 0 = at once (reading 8) */
	bool blue_early;     /* SDSC BLUE with jobs 2 to 8 of the log that was not cleaned */
	bool dr_release_own, dr_obtain_by_idle; /* reading 16 */
	bool return_full;                       /* reading 10 */
	bool fb_drop;                           /* reading 11: jobs that are killed are gone */
	bool moved_by_times;   /* of 000: times at which nodes move, not nodes that do */
	bool moved_each;       /* a node that is adjusted counts when it comes and when it goes */
	uint32_t window_milli; /* of each run's window so much counts, in thousandths */
	uint32_t longer_ms;    /* so much longer each job runs */
	struct phx_iaas_study_options iaas;
};
/** All readings; the first is the one that the tables are made with. */
size_t phx_papers_readings(const struct phx_papers_reading **ret);

/** How near ours is. */
enum phx_paper_near {
	PHX_PAPER_EXACT, /* the same, rounded or cut to the digits that are printed */
	PHX_PAPER_1,     /* within 1 %; percentages: within one point */
	PHX_PAPER_5,     /* within 5 % */
	PHX_PAPER_BEYOND,
	PHX_PAPER_NONE, /* there is no figure of ours, or none was published: the note says why */
	PHX_PAPER_NEAR_COUNT_
};
extern const struct phx_enum phx_paper_near_names; /* "exact", "within 1 %", ... */

/** What our figure is. */
enum phx_paper_kind {
	PHX_PAPER_COMPUTED, /* the outcome of a run: nobody put it in */
	PHX_PAPER_SETTING,  /* what runs are made with, or what follows from that alone */
	PHX_PAPER_ECHO,     /* what an input is, or was fitted to be: no run is needed for it */
	PHX_PAPER_EMPTY,    /* there is none; the note says why */
	PHX_PAPER_KIND_COUNT_
};
extern const struct phx_enum phx_paper_kind_names; /* "computed", "setting", "input echoed", ... */

/** One row. */
struct phx_paper_row {
	const char *experiment, *config, *metric;
	/* as printed; "" for points of figures whose values are not printed */
	const char *published;
	/* how the row is to be read, why it deviates or is empty; "" = nothing to say */
	const char *note;
	int tolerance_milli; /* that tests hold ours to; 0 = exact; -1 = not gated */
	int kind;            /* enum phx_paper_kind */
};
struct phx_paper_value {
	int near; /* enum phx_paper_near */
	char ours[64];
	/* ours / published - 1, or points / 100 for percentages; NaN where there is none */
	double difference;
};

struct phx_papers; /* results so far */
/** `traces`: where the archives' traces lie (NULL: nowhere but here). `reading` is borrowed; NULL =
 * the first. -ENOMEM.
 */
int phx_papers_new(const char *traces, const struct phx_papers_reading *reading,
		   struct phx_papers **ret);
void phx_papers_free(struct phx_papers *p);

size_t phx_papers_rows(const struct phx_papers *p);
/** Borrowed until `p` is freed. */
const struct phx_paper_row *phx_papers_row(const struct phx_papers *p, size_t i);
/** Our figure for row i, simulated now if it was not yet. -ENOENT a trace is not there, -EINVAL,
 * -ENOMEM, with a text.
 */
int phx_papers_value(struct phx_papers *p, size_t i, struct phx_paper_value *ret,
		     struct phx_err *err);

/** Read all inputs and simulate everything on `workers` threads, so that the values are there when
 * they are asked for.
 */
int phx_papers_prepare(struct phx_papers *p, unsigned workers, struct phx_err *err);

/** Rows with a published figure: what ours is, and how near it is. */
struct phx_paper_counts {
	size_t n[PHX_PAPER_KIND_COUNT_][PHX_PAPER_NEAR_COUNT_];
	size_t n_rows;                      /* all of them added up */
	double mean[PHX_PAPER_KIND_COUNT_]; /* of the absolute differences, each at most 1 */
};
/** Of experiments that begin with `scope` and configurations that hold `match`. Errors as
 * phx_papers_value(). */
int phx_papers_count(struct phx_papers *p, const char *scope, const char *match,
		     struct phx_paper_counts *ret, struct phx_err *err);

/** What a paper says in words of its runs, and whether it is so of ours. */
struct phx_paper_finding {
	const char *section; /* "002 5.3" */
	const char *text;    /* in our words, with the bound that we take for "small" */
	const char *remark;  /* why it is not so; "" = nothing to say, or it is */
	bool live;           /* the paper found it on live machines; here it is simulated */
	bool holds;
	char figures[512]; /* that it was decided by */
};
/** All of them, decided now: struct phx_paper_finding are appended, owned by the caller. Errors as
 * phx_papers_value(). */
int phx_papers_findings(struct phx_papers *p, struct phx_list *ret, struct phx_err *err);

/** PAPERS.md: every row, notes, constants, and the readings beside each other (counted on `workers`
 * threads). */
int phx_papers_markdown(struct phx_papers *p, const char *traces, unsigned workers,
			struct phx_buf *ret, struct phx_err *err);

#endif
