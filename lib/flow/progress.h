/* A workflow that the head carries out: its shape, the state of each task, and the node of each. A
 * live object (base/record.h) of the core's state; in its image, runs of equal rows are written
 * once. Used by lib/state and lib/job. Pure. */
#ifndef PHX_FLOW_PROGRESS_H
#define PHX_FLOW_PROGRESS_H

#include "flow/run.h"
#include "flow/shape.h"

struct phx_flow_place {
	uint32_t node;     /* number of the node of its last run, even if that has ended; 0: none */
	uint32_t n_runs;   /* runs so far: the number of its last attempt */
	uint32_t n_losses; /* how many of those runs were lost by the node */
};

struct phx_flow_progress {
	struct phx_flow flow;
	struct phx_flow_run run; /* of `flow` */
	struct phx_flow_place *at;
};

/** Takes `flow`, which is zeroed. -ENOMEM: it is freed. */
int phx_flow_progress_new(struct phx_flow *flow, struct phx_flow_progress **ret);
void phx_flow_progress_free(struct phx_flow_progress *l);

#define PHX_FLOW_IMAGE_FIELDS(F, S) \
	F(S, n_tasks, U32) \
	F(S, held, BOOL) \
	F(S, stopped, BOOL) \
	F(S, cancelled, BOOL) \
	F(S, shape, LIST(phx_text)) \
	/* "STATE FAILURES NODE RUNS LOSSES*TASKS" a line, for consecutive equal tasks */ \
	F(S, tasks, LIST(phx_text)) \
	/* in queue order, those of several nodes last, "FIRST*TASKS" a line */ \
	F(S, ready, LIST(phx_text)) \
	/* what is known of outputs: "TASK KIND", and the digest behind it if there is one, a line \
	 * (enum phx_flow_had_kind) */ \
	F(S, had, LIST(phx_text))
PHX_RECORD_STRUCT(phx_flow_image, PHX_FLOW_IMAGE_FIELDS);

/** The functions of a struct phx_live: see base/record.h. */
int phx_flow_progress_save(const struct phx_flow_progress *l, struct phx_flow_image *ret);
int phx_flow_progress_restore(const struct phx_flow_image *image, struct phx_flow_progress **ret);

/** Appends the nodes of the tasks' last runs as text to ret (struct phx_text): what is kept of a
 * finished workflow. -ENOMEM: ret may have more than before. */
int phx_flow_places_write(const struct phx_flow_progress *l, struct phx_list *ret);
/** Reads the places of `n_tasks` tasks back, without losses. -EINVAL: malformed, or of another
 * number of tasks; -ENOMEM; ret is untouched or partly written then. */
int phx_flow_places_read(const struct phx_list *text, uint32_t n_tasks, struct phx_flow_place *ret);

#endif
