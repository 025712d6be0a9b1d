/* The crew: the nodes that workers keep (struct phx_job, worker) for tasks of workflows, the tasks
 * that each node was given, what it has free, and the open runs of each RE. All of it follows from
 * the state: it is in no record and is built anew where it is missing. It decides nothing; what it
 * finds depends only on what nodes have free, not on how that came about. Nodes are identified by
 * number here. Used only by the pure rooms above. Pure. */
#ifndef PHX_STATE_CREW_H
#define PHX_STATE_CREW_H

#include "state/state.h"

/** A task that a node was given. */
struct phx_given {
	uint64_t run; /* number of the run of the workflow */
	uint32_t task;
};

struct phx_crew_node {
	struct phx_list given;        /* struct phx_given, oldest first */
	uint64_t job;                 /* id of its worker; 0: none */
	uint32_t re;                  /* place of its RE in the crew's list */
	uint32_t cores, used;         /* for all its tasks together; what they would use */
	uint64_t memory, used_memory; /* bytes, the same; memory 0: not counted */
	uint64_t told_seq;            /* number of the event that last woke its agent */
	bool look;                    /* it is in the list of phx_crew_looked() */
	/* it takes no task beside those that it has: its worker has several nodes, or leaves */
	bool wide, leaves;
};

/** The part of the crew that belongs to one RE with workflows. */
struct phx_crew_re {
	char name[PHX_NAME_MAX];
	struct phx_list runs;   /* uint64_t: ids of open runs, ascending */
	struct phx_list wide;   /* uint64_t: ids of open workers of several nodes, ascending */
	uint32_t n_leaving;     /* nodes whose workers leave */
	uint32_t n_nodes;       /* other nodes with a worker of one node */
	uint64_t n_given;       /* tasks that these nodes were given */
	uint64_t ahead;         /* cores that given tasks want beyond those of their nodes */
	uint64_t cores, memory; /* of these nodes together */
	struct phx_room *room;  /* tree of what is free, over `cap` numbers */
	uint32_t cap;
};

/** Build the crew if it is missing; needed before the calls below. -ENOMEM. */
int phx_crew_ready(struct phx_state *s);
void phx_crew_drop(struct phx_state *s);
/** False: memory ran out, and the event has to end with -ENOMEM. */
bool phx_crew_is_whole(const struct phx_state *s);

/** What is kept of an RE, borrowed; NULL: nothing. phx_crew_next(): the one after `re`; NULL begins
 * and ends the list. */
struct phx_crew_re *phx_crew_re(const struct phx_state *s, const char *re);
struct phx_crew_re *phx_crew_next(const struct phx_state *s, const struct phx_crew_re *re);
/** What is kept of a node, borrowed; NULL: it never had a worker. */
struct phx_crew_node *phx_crew_node(const struct phx_state *s, const struct phx_node *n);

/** A worker has begun on the node, or has left it; a node without a worker is given no task. */
void phx_crew_join(struct phx_state *s, const struct phx_node *n, const struct phx_job *worker);
void phx_crew_leave(struct phx_state *s, const struct phx_node *n);
/** The worker leaves: its node is given no more tasks. */
void phx_crew_let_go(struct phx_state *s, const struct phx_node *n);
/** Appends the numbers of the RE's nodes that take tasks (uint32_t), those that have the least to
 * do first. -ENOMEM. Goes through all nodes. */
int phx_crew_least(const struct phx_state *s, const struct phx_crew_re *re, struct phx_list *ret);
/** A worker of several nodes was asked for. It stays in the list until phx_crew_sweep_wide(), once
 * it has ended. */
void phx_crew_wide(struct phx_state *s, const struct phx_job *worker);
void phx_crew_sweep_wide(struct phx_state *s, struct phx_crew_re *re);
/** The run is open from now on, or no longer. */
void phx_crew_open(struct phx_state *s, const struct phx_flowrun *w);
void phx_crew_close(struct phx_state *s, const struct phx_flowrun *w);

/** The node was given a task, or has it no longer. phx_crew_take() is false if it did not have
 * it. */
void phx_crew_give(struct phx_state *s, const struct phx_node *n, struct phx_given g,
		   const struct phx_flow_task *t);
bool phx_crew_take(struct phx_state *s, const struct phx_node *n, struct phx_given g,
		   const struct phx_flow_task *t);

/** Could the task begin on the node at once or, with `ahead`, when a task that runs there ends? */
bool phx_crew_fits(const struct phx_crew_node *c, const struct phx_flow_task *t, bool ahead);
/** The number of the first node of the RE, above number `after`, on which the task fits; 0:
 * none. */
uint32_t phx_crew_find(const struct phx_crew_re *re, const struct phx_flow_task *t, bool ahead,
		       uint32_t after);

/** phx_crew_look(): the node's worker must be looked at before the event ends. phx_crew_looked()
 * takes such a node out of the list and returns it; NULL: none is left. */
void phx_crew_look(struct phx_state *s, const struct phx_node *n);
struct phx_node *phx_crew_looked(struct phx_state *s);

/** Is each running task on a node of its RE with a worker, and are the counts of nodes and runs
 * right? -EPROTO with the first fault. */
int phx_crew_check(const struct phx_state *s, struct phx_err *err);

#endif
