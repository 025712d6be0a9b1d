/* Who carries out the tasks of workflows, and where there is room: the nodes that workers keep
 * (struct phx_job, worker), with the tasks that each was given, and the open runs of each RE. All
 * of it follows from the state: it is in no record, is built anew where it is missing, and decides
 * nothing: what is found depends on what nodes have free, and not on how that came about. Nodes are
 * known by their numbers here. Used by the pure rooms above only. Pure. */
#ifndef PHX_STATE_CREW_H
#define PHX_STATE_CREW_H

#include "state/state.h"

/** A task that a node was given. */
struct phx_given {
	uint64_t run; /* number of the run of the workflow */
	uint32_t task;
};

struct phx_crew_node {
	struct phx_list given;        /* struct phx_given, as they were given */
	uint64_t job;                 /* its worker; 0: none */
	uint32_t re;                  /* place of its RE */
	uint32_t cores, used;         /* what its tasks may use together, and would */
	uint64_t memory, used_memory; /* 0: it is not counted */
	uint64_t told_seq;            /* of the event that had the agent look at its orders */
	bool look;                    /* it is in the list of those to be looked at */
};

/** What an RE with workflows has. */
struct phx_crew_re {
	char name[PHX_NAME_MAX];
	struct phx_list runs;   /* uint64_t, rising: the open ones */
	uint32_t n_nodes;       /* with a worker */
	uint64_t n_given;       /* tasks on them */
	uint64_t ahead;         /* cores that tasks given wait for */
	uint64_t cores, memory; /* of those nodes together */
	struct phx_room *room;  /* a tree of what is free, over `cap` nodes */
	uint32_t cap;
};

/** Build it if it is missing; the calls below may be used then. -ENOMEM. */
int phx_crew_ready(struct phx_state *s);
void phx_crew_drop(struct phx_state *s);
/** False: memory was lacking, and the event has to end with -ENOMEM. */
bool phx_crew_is_whole(const struct phx_state *s);

/** What is kept of an RE; NULL: nothing. The next one after `re`; NULL first and last. */
struct phx_crew_re *phx_crew_re(const struct phx_state *s, const char *re);
struct phx_crew_re *phx_crew_next(const struct phx_state *s, const struct phx_crew_re *re);
/** The same of a node. NULL: it never had a worker. */
struct phx_crew_node *phx_crew_node(const struct phx_state *s, const struct phx_node *n);

/** A worker has begun on the node, or left it: then no task is given to it any more. */
void phx_crew_join(struct phx_state *s, const struct phx_node *n, const struct phx_job *worker);
void phx_crew_leave(struct phx_state *s, const struct phx_node *n);
/** A run is open from now on, or is so no more. */
void phx_crew_open(struct phx_state *s, const struct phx_flowrun *w);
void phx_crew_close(struct phx_state *s, const struct phx_flowrun *w);

/** The node was given a task, or is rid of it; false: it does not have that one. */
void phx_crew_give(struct phx_state *s, const struct phx_node *n, struct phx_given g,
		   const struct phx_flow_task *t);
bool phx_crew_take(struct phx_state *s, const struct phx_node *n, struct phx_given g,
		   const struct phx_flow_task *t);

/** Would the task begin there at once; or, `ahead`, when one that runs there has ended? */
bool phx_crew_fits(const struct phx_crew_node *c, const struct phx_flow_task *t, bool ahead);
/** The number of the first node of the RE, above number `after`, where it fits; 0: none. */
uint32_t phx_crew_find(const struct phx_crew_re *re, const struct phx_flow_task *t, bool ahead,
		       uint32_t after);

/** The node's worker is to be looked at before the event ends; and those that are, which are taken
 * out: NULL: none is left. */
void phx_crew_look(struct phx_state *s, const struct phx_node *n);
struct phx_node *phx_crew_looked(struct phx_state *s);

/** Each task that runs is on a node of its RE that has a worker, and each node has what it counts.
 * -EPROTO with the first that is not so. */
int phx_crew_check(const struct phx_state *s, struct phx_err *err);

#endif
