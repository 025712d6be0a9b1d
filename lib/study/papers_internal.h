/* What the files of the papers' tables share. */
#ifndef PHX_STUDY_PAPERS_INTERNAL_H
#define PHX_STUDY_PAPERS_INTERNAL_H

#include "flow/flow.h"
#include "study/iaas_study.h"
#include "study/papers.h"
#include "trace/series.h"
#include "trace/swf.h"

enum paper_input {
	INPUT_none,
#define INPUT(id, ...) INPUT_##id,
#include "study/papers_input.def"
#undef INPUT
	INPUT_COUNT_
};

enum paper_run_id {
	RUN_none,
#define RUN(id, ...) RUN_##id,
#include "study/papers_run.def"
#undef RUN
	RUN_COUNT_
};

enum { PARTS_MAX = 4, WS_PEAKS_MAX = 8, SWEEP_VALUES_MAX = 10 };
enum { SUBMISSIONS = 100 }; /* of the workflow */

/** A run; 0 is the default of the agreement for everything that an agreement has. */
struct paper_run {
	int jobs;      /* enum paper_input */
	uint32_t peak; /* PRC_ws: the web RE beside it; 0 = none */
	int policy, scheduler;
	uint32_t nodes; /* 0 = a provider that always grants */
	uint32_t lower, web_lower;
	uint32_t lease_s, cycle_s, u_milli, v_milli, g_milli, r_milli;
	uint32_t hours;       /* the window; 0 = until all is done */
	int parts[PARTS_MAX]; /* instead of jobs: the REs of these runs on one provider */
	unsigned n_parts;
};
extern const struct paper_run phx_paper_runs[RUN_COUNT_];

/** One row a curve of a figure (papers_sweep.def). */
struct paper_sweep {
	/* "000.F12-13", "iPSC+WC;(128,128);FLB-NUB", "B" */
	const char *experiment, *config, *letter;
	int base; /* enum paper_run_id */
	/* offset of the uint32_t in struct paper_run that is varied */
	size_t member;
	double times, less;   /* the member is value * times - less */
	unsigned measures;    /* bits, papers_sweep.c */
	const double *values; /* as printed */
	size_t n_values;
};
enum paper_sweep_id {
#define SWEEP(id, ...) SWEEP_##id,
#include "study/papers_sweep.def"
#undef SWEEP
	SWEEP_COUNT_
};
extern const struct paper_sweep phx_paper_sweeps[SWEEP_COUNT_];

struct paper_demand {
	uint32_t peak;
	struct phx_trace_series series;
};

/** What papers_measure.def calls a measure, by its name: KIND_submitted. HELD: see there. */
enum { KIND_HELD = PHX_PAPER_KIND_COUNT_ };
enum paper_kind_of {
#define NUMBER(name, kind) KIND_##name = PAPER_KIND_##kind,
#define TEXT(name, kind) KIND_##name = PAPER_KIND_##kind,
#define PAPER_KIND_COMPUTED PHX_PAPER_COMPUTED
#define PAPER_KIND_SETTING PHX_PAPER_SETTING
#define PAPER_KIND_ECHO PHX_PAPER_ECHO
#define PAPER_KIND_HELD KIND_HELD
#include "study/papers_measure.def"
#undef NUMBER
#undef TEXT
};

/** A row as it is kept: what is printed, and how ours is had. */
struct paper_row {
	struct phx_paper_row row;
	/* this ... */
	int (*number)(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err);
	int (*text)(struct phx_papers *p, int a, int b, char ret[64],
		    struct phx_err *err); /* ... or this, or neither */
	int a, b;
	int kind;     /* as the measure says it: enum paper_kind_of, or phx_paper_kind */
	bool study;   /* the study of 002 knows it */
	char *config; /* owned, where it was put together */
};

struct phx_papers {
	char *traces;
	const struct phx_papers_reading *reading;
	bool read[INPUT_COUNT_];
	struct phx_trace_jobs jobs[INPUT_COUNT_];
	struct phx_flow_sums montage;
	uint32_t montage_levels;
	struct phx_trace_series load;
	uint64_t capacity_milli; /* that gives the peak of 64 */
	struct paper_demand demand[WS_PEAKS_MAX];
	size_t n_demands;
	struct phx_sim_result *result[RUN_COUNT_];
	struct phx_sim_result *point[SWEEP_COUNT_][SWEEP_VALUES_MAX];
	struct phx_iaas_study *study;
	struct phx_list rows; /* struct paper_row: those of the lists, then points of figures */
};

/** The log of an input, read once. */
int phx_papers_jobs(struct phx_papers *p, int input, const struct phx_trace_jobs **ret,
		    struct phx_err *err);
/** Nodes of the machine that it is of; its processors a node; what it is. */
uint32_t phx_papers_machine(int input);
uint32_t phx_papers_per_node(int input);
const char *phx_papers_input_text(int input);
const char *phx_papers_input_file(int input);
uint32_t phx_papers_input_hours(int input); /* of it that are read; 0 = all */
/** The web demand with that peak (PRC_ws). */
int phx_papers_demand(struct phx_papers *p, uint32_t peak, const struct phx_trace_series **ret,
		      struct phx_err *err);
/** The rule by which it is made, without its capacity. */
struct phx_series_rule phx_papers_rule(const struct phx_papers *p);

/** The result of a run, simulated once; its first RE is the batch RE. Borrowed. Different runs may
 * be made by different threads when their inputs have been read. */
int phx_papers_result(struct phx_papers *p, int run, const struct phx_sim_result **ret,
		      struct phx_err *err);
/** The result of point i of a sweep, likewise. */
int phx_papers_sweep_result(struct phx_papers *p, int sweep, size_t i,
			    const struct phx_sim_result **ret, struct phx_err *err);
/** Simulate any run; owned by the caller. */
int phx_papers_simulate(struct phx_papers *p, const struct paper_run *run,
			struct phx_sim_result *ret, struct phx_err *err);

/** Hours of a run that count. */
uint32_t phx_papers_hours(const struct phx_papers *p, int run);
/** The agreement of the batch RE of a run: what it was run with. */
void phx_papers_agreement(const struct phx_papers *p, const struct paper_run *run,
			  struct phx_agreement *ret);

typedef int (*paper_number_fn)(struct phx_papers *p, int a, int b, double *ret,
			       struct phx_err *err);
typedef int (*paper_text_fn)(struct phx_papers *p, int a, int b, char ret[64], struct phx_err *err);

/* Our figures, by the names of papers_measure.def: of up to two runs, inputs or sweeps. */
#define NUMBER(name, kind) \
	int phx_paper_##name(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err);
#define TEXT(name, kind) \
	int phx_paper_##name(struct phx_papers *p, int a, int b, char ret[64], struct phx_err *err);
#include "study/papers_measure.def"
#undef NUMBER
#undef TEXT

/** Rows that are put together: the points of sweeps, the simulations of 002. -ENOMEM. */
int phx_papers_add_points(struct phx_papers *p);
int phx_papers_add_study(struct phx_papers *p);
/** A row with a configuration of its own text; the caller fills the rest. NULL on ENOMEM. */
struct paper_row *phx_papers_add_row(struct phx_papers *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** The study of 002, made once. */
int phx_papers_study(struct phx_papers *p, const struct phx_iaas_study **ret, struct phx_err *err);

/** Texts that rows share (papers_note.def). */
#define NOTE(id, text) extern const char phx_paper_note_##id[];
#include "study/papers_note.def"
#undef NOTE

#endif
