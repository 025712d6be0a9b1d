/* What the files of lib/slurm share: the formats, and what their parsers expect. */
#ifndef PHX_SLURM_INTERNAL_H
#define PHX_SLURM_INTERNAL_H

#include "slurm/slurm.h"

/** Each field ends with a bar. No field of these can hold one, or a newline. */
#define PHX_SLURM_JOB_FORMAT \
	"JobArrayID:|,UserID:|,NumNodes:|,State:|,Reason:|,SubmitTime:|,StartTime:|,TimeLimit:|," \
	"RestartCnt:|,Requeue:|," \
	"BatchFlag:|,UserName:|,NodeList:|,EligibleTime:|"
#define PHX_SLURM_JOB_FIELDS 14u
#define PHX_SLURM_END_FORMAT "JobArrayID:|,State:|,exit_code:|"
#define PHX_SLURM_END_FIELDS 3u
/** The reason is an operator's text: as much of it as tells ours, and last. */
#define PHX_SLURM_NODE_FORMAT "NodeList:|,StateComplete:|,PartitionName:|,Available:|,Reason:9"
#define PHX_SLURM_NODE_FIELDS 5u

/** Compares two struct phx_engine_job, for qsort() and bsearch(). */
int phx_slurm_by_id(const void *a, const void *b);

/** How the reason of a node begins that we closed. */
#define PHX_SLURM_REASON_MARK "phoenix:"

#endif
