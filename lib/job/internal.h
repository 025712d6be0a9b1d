/* What the files of lib/job share. Nobody else includes this. */
#ifndef PHX_JOB_INTERNAL_H
#define PHX_JOB_INTERNAL_H

#include "job/job.h"
#include "state/counts.h"
#include "state/index.h"

/* engine.c: what they are to be told */
/** Nodes and partitions of the event become those of the RE. -ENOMEM. */
int phx_engine_put(const struct phx_apply *a, struct phx_re *re);
/** By name in a list of struct phx_engine_node; borrowed, NULL. */
struct phx_engine_node *phx_engine_there(const struct phx_list *list, const char *name);
/** The node serves the RE, and nobody takes it away. */
bool phx_engine_serves(const struct phx_re *re, const struct phx_node *n);
/** It may start jobs there, as far as is known. */
bool phx_engine_may_start(const struct phx_engine_node *there);
/** The job runs in the engine of the RE. */
bool phx_engine_runs(const struct phx_job *j, const struct phx_re *re);
/** The job of the RE is to end on its nodes, to be queued again there; the ledger is told. `n` is
 * taken away. Twice is once. */
void phx_engine_send_away(struct phx_apply *a, const struct phx_re *re, struct phx_job *j,
			  const struct phx_node *n);
/** The RE's number in the ledger, or PHX_LEDGER_FREE: the RE leaves the ledger before its last node
 * leaves the engine. */
int phx_engine_number(const struct phx_re *re);
/** It takes no new jobs because we said so. */
bool phx_engine_refuses(const struct phx_re *re);

/* job.c */
/** Say what ended the run; the first says it. */
void phx_job_why(struct phx_apply *a, struct phx_job *j, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** What `j` adds to the counts of the index: by 1 when it comes into the list, by -1 before it
 * goes. */
void phx_job_count(struct phx_apply *a, const struct phx_job *j, uint32_t by);
/** No run of `j` is on its nodes any more: they count as idle; whoever calls tells the ledger in
 * the same event. */
void phx_job_left_nodes(struct phx_apply *a, const struct phx_job *j);

/* array.c */
/** Rows that are none, or not one behind the other: -EINVAL. */
int phx_array_check(const struct phx_event *ev, struct phx_err *err);
/** The first of an array is the last job of the list, and queued: the others follow, copies without
 * its words. They are put into no queue. -ENOMEM: some may be there. */
int phx_array_make(struct phx_apply *a, const struct phx_event *ev);

/* jobs.c */
/** The oldest jobs that have ended go, and not those that are open. */
void phx_jobs_forget_old(struct phx_state *s);
/** A part of a running job ended with `status`: the others are told where that is bad news; the
 * last one ends the job. */
void phx_job_part_end(struct phx_apply *a, struct phx_job *j, struct phx_job_part *p,
		      int64_t status);

#endif
