/* What the index of a state is made of, for the files that keep it (index.c) and compare it
 * (index_check.c) and for nobody else. Pure. */
#ifndef PHX_STATE_INDEX_PARTS_H
#define PHX_STATE_INDEX_PARTS_H

#include "base/hash.h"
#include "state/doomed.h"
#include "state/earliest.h"
#include "state/index.h"
#include "state/known.h"
#include "state/members.h"
#include "state/timed.h"

enum { PHX_INDEX_WORD = 64 }; /* nodes in one word of a set */

struct phx_index {
	uint32_t n, cap; /* nodes indexed, and room for nodes (a multiple of PHX_INDEX_WORD) */
	uint64_t *sets[PHX_SET_COUNT_];
	struct phx_hash names;   /* places of nodes by name; room for `cap` */
	uint32_t *groups;        /* of IDLE nodes: hash of their RE's name */
	struct phx_earliest due; /* of nodes */
	/* of nodes: cores and memory with the sign changed, so that the largest is the first */
	struct phx_earliest cores, memory;
	uint64_t *runs;                              /* the job whose open part is on the node */
	struct phx_list dues, of_res;                /* jobs: job_lists.h */
	struct phx_earliest timed[PHX_TIMED_COUNT_]; /* triggers and doomed keys */
	struct phx_doomed doomed;                    /* the latter by name */
	bool touched;                                /* some node is touched */
	bool untrue; /* memory ran out: the index must be built anew */
	uint64_t visits;
	struct phx_index_jobs jobs;
	struct phx_batch *outside; /* queued jobs of no RE */
	struct phx_list tallies;   /* struct phx_tally, of users */
	struct phx_members *members;
	struct phx_known *known;
};

static inline struct phx_node *phx_index_node(const struct phx_state *s, uint32_t i)
{
	return PHX_LIST_AT(&s->nodes, struct phx_node, i);
}

#endif
