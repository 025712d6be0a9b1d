/* The rules of the records of jobs (job_store.h): what is written of a run before it starts and
 * once it is over, what an order about it comes to, and what is forgotten. Values in, values out:
 * its owner reads and writes. Used by jobs.c, whose records are files, and by the agents of the
 * fault simulation. Pure: make check-pure proves it. */
#ifndef PHX_AGENT_JOB_BOOK_H
#define PHX_AGENT_JOB_BOOK_H

#include "agent/decide.h"
#include "base/record.h"

/** How many records of jobs an agent keeps, beside those in use. */
#define JOB_BOOK_KEEP 256

/** Exit statuses of runs that did not end by themselves. */
enum job_status {
	JOB_STATUS_UNSTARTED = 126, /* it could not be started */
	JOB_STATUS_BARRED = 143,    /* it was told to end before it began */
	JOB_STATUS_LOST = 255,      /* nothing is written of its end */
};

/** One run of a job: a job that is killed to run again gets the next run number. */
struct job_run {
	uint64_t id;
	uint32_t run;
};

#define JOB_RECORD_FIELDS(F, S) \
	F(S, id, U64) \
	F(S, run, U32) \
	F(S, reported, BOOL) \
	F(S, goodbye_ms, I64) /* how long the run may take to end when it is told to */ \
	/* tells jobs of one number apart: a head that lost its journal uses numbers again; \
	 * 0 = not known */ \
	F(S, submitted_ms, I64)
/** The newest run of a job that is known here. */
struct job_record {
	PHX_MEMBERS(job_record, JOB_RECORD_FIELDS)
};
#define JOB_RECORD_RUN(rec) ((struct job_run){(rec)->id, (rec)->run})

typedef void job_book_id_fn(void *arg, uint64_t id);
typedef void job_book_fn(void *arg, const struct job_record *rec);

/** Where records lie. What write() and write_end() have written outlasts the agent once they return
 * 0; on failure what was there before is still there. */
struct job_book {
	void *arg;     /* passed to all functions */
	uint32_t keep; /* how many records; the oldest go */
	/** Write this record, in place of the one of an older run of the job. */
	int (*write)(void *arg, const struct job_record *rec, struct phx_err *err);
	/** -ENOENT: there is no record of job `id`; other errors: it is damaged. */
	int (*read)(void *arg, uint64_t id, struct job_record *ret);
	/** Write that the run is over with `status`, for a run that never begins. */
	int (*write_end)(void *arg, struct job_run run, int status, struct phx_err *err);
	/** Remove the record of the job and all else of its run. */
	int (*remove)(void *arg, uint64_t id);
	/** Call fn(fn_arg, ID) for each record. fn() changes no record of this book. */
	int (*each)(void *arg, job_book_id_fn *fn, void *fn_arg);
	/** Must the record of this job stay? It must while a run of it goes on, and until the head
	 * has its end. */
	bool (*in_use)(void *arg, uint64_t id);
	/** Does this run go on? `older`: it is an older one than the order is about. */
	bool (*runs)(void *arg, struct job_run run, bool older);
};

/** An order to start a run, or to end it. */
struct job_order {
	struct job_run run;
	int64_t submitted_ms; /* 0: not known */
	bool ends;
	bool tracked; /* the owner knows that its record is of this very run */
};

/** What is known of the job that an order is about. */
struct job_known {
	struct job_record rec; /* all zero: nothing, or it is damaged */
	bool older;            /* `rec` is of an older run, or of another job of this number */
};

/** What to do with the order (enum decide_job_act). A damaged record shows that the job was here,
 * so its run does not start. Negative errno: that cannot be known of a run that is to end. */
int job_book_order(const struct job_book *b, const struct job_order *o, struct job_known *ret);

/** Write down that the run is known here, before it begins: whatever happens then, it never starts
 * again. On failure it must not begin. */
int job_book_begin(const struct job_book *b, struct job_run run, int64_t goodbye_ms,
		   int64_t submitted_ms, struct phx_err *err);
/** Write down that a run which never began is over, so that it never will. Its job may be any of
 * this number. */
int job_book_bar(const struct job_book *b, struct job_run run, struct phx_err *err);
/** The head has the end of the run. Forgets the oldest records beyond the bound: those with the
 * lowest ids, since a head gives ids in ascending order. Returns 0; 1: a newer run of the job is
 * known, or none; negative errno: the record is of this run, and was not written. */
int job_book_reported(const struct job_book *b, struct job_run run, struct phx_err *err);
/** The agent starts: call fn(fn_arg, RECORD) for each run whose end the head does not have yet. */
int job_book_open(const struct job_book *b, job_book_fn *fn, void *fn_arg);

#endif
