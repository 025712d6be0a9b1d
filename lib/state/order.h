/* Orders for an agent or an external engine, derived from the state whenever somebody asks for them
 * (core/orders.c, job/external_orders.c). Pure. */
#ifndef PHX_STATE_ORDER_H
#define PHX_STATE_ORDER_H

#include "state/state.h"
#include "web/table.h"

/** An order for an agent. Its kind is "step": the node's current step, if the agent can do it in
 * its present environment; "job" or "kill": the node's part of a job; "inspect": report the facts
 * again; "table": the director's table, also when the node still acts as a director but is none any
 * more; "prefetch": the packages to prefetch, as long as a policy may move the node (only
 * role.packages is used); "ahead": see phx_re_ahead() (re/re.h), while the node is at rest. */
#define PHX_ORDER_FIELDS(F, S) \
	F(S, kind, STR(16)) /* "step", "job", "kill", "inspect", "table", "prefetch", "ahead" */ \
	F(S, id, U64)       /* id of the step, job, table, packages or role */ \
	F(S, epoch, U64) \
	F(S, run, U32) /* run of the job */ \
	F(S, deadline_s, U32) \
	F(S, step, REC(phx_step)) \
	F(S, role, REC(phx_role))        /* step, ahead: the whole role */ \
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
 * jobs or "admit"s them. */
extern const struct phx_enum phx_engine_act_names;
struct phx_engine_order {
	int kind; /* enum phx_engine_act */
	/* name of the node or partition, or the engine's name of the job */
	char target[PHX_NAME_MAX];
};

#endif
