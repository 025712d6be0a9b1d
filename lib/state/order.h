/* Orders for an agent or an external engine, derived from the state whenever somebody asks for them
 * (core/orders.c, job/external_orders.c). Pure. */
#ifndef PHX_STATE_ORDER_H
#define PHX_STATE_ORDER_H

#include "state/state.h"
#include "types/order_kind.h"
#include "web/table.h"

/** An order for an agent; its kinds: types/order_kind.def. */
#define PHX_ORDER_FIELDS(F, S) \
	F(S, kind, ENUM(phx_order_kind)) \
	F(S, id, U64) /* id of the step, job, table, packages or role */ \
	F(S, epoch, U64) \
	F(S, run, U32) /* run of the job */ \
	F(S, deadline_s, U32) \
	F(S, step, REC(phx_step)) \
	F(S, role, REC(phx_role))        /* step, ahead: the whole role; prefetch: its packages */ \
	F(S, job, REC(phx_job))          /* job, kill */ \
	F(S, request, ENUM(phx_request)) /* of the plan */ \
	/* table: the director's table, and its share; id: phx_web_order_id() */ \
	F(S, table, REC(phx_web_table)) \
	F(S, share, REC(phx_web_share))
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
