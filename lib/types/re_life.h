/* The life of a runtime environment: which operation leads from which state to
 * which, and who may order it (003 2, Fig. 1; 000 4.3). The table is re_life.def.
 * The ledger and the core do what an operation means for nodes and jobs.
 *
 *  request, refuse, withdraw
 *    ⟲       create          deployed           activate            suspend
 *   (none) ────────▶ initial ────────▶ deployed ────────▶ running ◀─────────▶ suspended
 *                                        │                │  ▲      resume       │
 *                                destroy │     deactivate │  │ activate          │ deactivate
 *                                        ▼                ▼  │                   │
 *                                     destroyed ◀──── deactivated ◀──────────────┘ (drained)
 *                                              destroy
 */
#ifndef PHX_TYPES_RE_LIFE_H
#define PHX_TYPES_RE_LIFE_H

#include "base/util.h"

enum phx_re_state {
	PHX_RE_STATE_NONE, /* asked for, not agreed yet */
	PHX_RE_STATE_INITIAL,
	PHX_RE_STATE_DEPLOYED,
	PHX_RE_STATE_RUNNING,
	PHX_RE_STATE_SUSPENDED,
	PHX_RE_STATE_DEACTIVATED,
	PHX_RE_STATE_DESTROYED,
};
extern const struct phx_enum phx_re_state_names;

enum phx_re_op {
	PHX_RE_OP_create,
	PHX_RE_OP_deployed, /* deployment is done */
	PHX_RE_OP_activate,
	PHX_RE_OP_suspend,
	PHX_RE_OP_resume,
	PHX_RE_OP_deactivate,
	PHX_RE_OP_safe_deactivate, /* suspend now; `drained` deactivates later */
	PHX_RE_OP_drained,         /* safe deactivation: no job waits or runs any more */
	PHX_RE_OP_destroy,
	PHX_RE_OP_request,  /* a service provider asks for an agreement; the RE stays in none */
	PHX_RE_OP_refuse,   /* the resource provider ends a request */
	PHX_RE_OP_withdraw, /* the service provider ends its request */
};
extern const struct phx_enum phx_re_op_names;

/** The party that orders: resource provider, service provider that owns the RE, phxd itself. */
enum phx_re_who { PHX_RE_WHO_PROVIDER, PHX_RE_WHO_SERVICE, PHX_RE_WHO_PHXD };
extern const struct phx_enum phx_re_who_names;

/** The state after `op`. -EPERM: `who` may not order it; -EINVAL: the table has no such row for
 * this state. The text says who may, or from which states; ret_state is untouched then. */
int phx_re_life_apply(enum phx_re_state state, enum phx_re_op op, enum phx_re_who who,
		      enum phx_re_state *ret_state, struct phx_err *err);

#endif
