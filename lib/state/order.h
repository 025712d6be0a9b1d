/* Orders for an agent or an external engine, derived from the state whenever they are asked for
 * (core/core.h). Pure. */
#ifndef PHX_STATE_ORDER_H
#define PHX_STATE_ORDER_H

#include "state/state.h"
#include "web/table.h"

/** An order for an agent. kind "step": the node's current step, if the agent can do it where it
 * runs; kind "job"/"kill": the node's part of a job; kind "inspect": report the facts again; kind
 * "table": the table of a director, at all times, also when the node is no director any more; kind
 * "stock": packages to prefetch, at all times while a policy may move the node (only role.packages
 * is used). */
struct phx_order {
	char kind[16]; /* "step", "job", "kill", "inspect", "table", "stock" */
	uint64_t id;   /* step id or job id */
	uint64_t epoch;
	uint32_t run; /* run of the job */
	uint32_t deadline_s;
	struct phx_step step;
	struct phx_role role; /* role of the step, whole */
	struct phx_job job;   /* kinds "job", "kill" */
	char request[32];     /* request of the plan */
	/* kind "table": the director's table; id: phx_web_table_id() */
	struct phx_web_table table;
};
extern const struct phx_record phx_order_record;

/** Orders for an external engine. */
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
	char target[PHX_NAME_MAX]; /* node, partition, or the engine's name of a job */
};

#endif
