/* Orders for an agent or an external engine, derived from the state whenever they are asked for
 * (core/core.h). Pure. */
#ifndef PHX_STATE_ORDER_H
#define PHX_STATE_ORDER_H

#include "state/state.h"
#include "web/table.h"

/** An order for an agent. kind "step": the node's current step, if the agent can do it where it
 * runs; kind "job"/"kill": the node's part of a job; kind "inspect": report the facts again; kind
 * "table": the table of a director, at all times, also when the node is no director any more; kind
 * "prefetch": packages to prefetch, at all times while a policy may move the node (only
 * role.packages is used); kind "ahead": re/re.h, phx_re_ahead(), while it is at rest. */
#define PHX_ORDER_FIELDS(F, S) \
	F(S, kind, STR(16)) /* "step", "job", "kill", "inspect", "table", "prefetch", "ahead" */ \
	F(S, id, U64)       /* step id or job id */ \
	F(S, epoch, U64) \
	F(S, run, U32) /* run of the job */ \
	F(S, deadline_s, U32) \
	F(S, step, REC(phx_step)) \
	F(S, role, REC(phx_role))        /* role of the step, whole */ \
	F(S, job, REC(phx_job))          /* kinds "job", "kill" */ \
	F(S, request, ENUM(phx_request)) /* of the plan */ \
	/* kind "table": the director's table; id: phx_web_table_id() */ \
	F(S, table, REC(phx_web_table))
PHX_RECORD_STRUCT(phx_order, PHX_ORDER_FIELDS);

/** Orders for an external engine. */
enum phx_engine_act {
	PHX_ENGINE_CLOSE,
	PHX_ENGINE_OPEN,
	PHX_ENGINE_REQUEUE,
	PHX_ENGINE_CANCEL,
	PHX_ENGINE_EXPEDITE,
	PHX_ENGINE_REFUSE,
	PHX_ENGINE_ADMIT,
};
/** "close" and "open" a node; "requeue", "cancel" and "expedite" a job; a partition "refuse"s new
 * jobs or "admit"s them */
extern const struct phx_enum phx_engine_act_names;
struct phx_engine_order {
	int kind;                  /* enum phx_engine_act */
	char target[PHX_NAME_MAX]; /* node, partition, or the engine's name of a job */
};

#endif
