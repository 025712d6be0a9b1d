/* What is told to an agent, or to an engine that is not ours: orders, derived from the state
 * whenever they are asked for (core/core.h). Pure. */
#ifndef PHX_STATE_ORDER_H
#define PHX_STATE_ORDER_H

#include "state/state.h"
#include "web/table.h"

/** An order for an agent. kind "step": the node's current step if an agent executes it where the
 * node is; kind "job"/"kill": its part of a job; kind "inspect": report the facts again; kind
 * "table": a director's, at all times, also when it is one no more; kind "stock": packages to be at
 * hand, at all times while the policy may move the node (role.packages alone counts). */
struct phx_order {
	char kind[16]; /* "step", "job", "kill", "inspect", "table", "stock" */
	uint64_t id;   /* step id or job id */
	uint64_t epoch;
	uint32_t run; /* of the job */
	uint32_t deadline_s;
	struct phx_step step;
	struct phx_role role; /* role of the step, whole */
	struct phx_job job;   /* kinds "job", "kill" */
	char request[32];     /* the plan's */
	/* kind "table": what a director balances; id: phx_web_table_id() */
	struct phx_web_table table;
};
extern const struct phx_record phx_order_record;

/** What an engine that is not ours can be told. */
enum phx_engine_act {
	PHX_ENGINE_CLOSE,
	PHX_ENGINE_OPEN,
	PHX_ENGINE_REQUEUE,
	PHX_ENGINE_CANCEL,
	PHX_ENGINE_HURRY,
	PHX_ENGINE_REFUSE,
	PHX_ENGINE_ADMIT,
};
/** "close" and "open" a node; "requeue", "cancel" and "hurry" a job; a partition "refuse"s new jobs
 * or "admit"s them */
extern const struct phx_enum phx_engine_act_names;
struct phx_engine_order {
	int kind;                  /* enum phx_engine_act */
	char target[PHX_NAME_MAX]; /* node or partition, or the job's name there */
};

#endif
