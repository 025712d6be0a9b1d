/* Orders on one node, from an event or from the core itself: their members, the plan that an order
 * would make, the job that it would end, and how it begins. Pure. */
#ifndef PHX_NODE_ORDER_H
#define PHX_NODE_ORDER_H

#include "state/apply.h"

/** An order on one node, from an event or from the core itself. All members are borrowed; no text
 * is NULL. */
struct phx_node_order {
	/* assign, release, rebuild, wipe, resume, drain; for order_jobs.c other kinds too */
	enum phx_event_kind kind;
	const struct phx_node *node;
	const char *by;   /* who; "" = the core */
	const char *text; /* the reason, or the event's text */
	const char *role;
	const char *pool; /* "" = the role's */
	bool has_setup;   /* the order asks for `setup` */
	struct phx_setup setup;
	bool encrypt, pin, power_cycle, force;
	bool when_idle;       /* reboot: waits for the job, and ends none */
	enum phx_power_op op; /* power; PHX_POWER_NONE: `text` names one that there is not */
	enum phx_jobs_say jobs;
	const struct phx_list *may_end; /* struct phx_job_ref: NAMED */
	bool has_grace;
	uint32_t grace_ms;
	const char *with; /* check: of which parts; "" = all */
	uint32_t for_s;   /* check: how long; 0 = by default */
};

/* order.c */
/** The order on `n` in the event with head `ev` and payload `p`. `n` may be NULL if the caller
 * checks that. */
struct phx_node_order phx_order_of(const struct phx_event_head *ev, const struct phx_event_order *p,
				   const struct phx_node *n);
/** Makes an order of the core itself on `n`; the caller fills in role, pool and so on. `why` is for
 * events and histories. */
struct phx_node_order phx_order_own(enum phx_event_kind kind, const struct phx_node *n,
				    const char *why);
/** Finds the event's node, and makes its order; sets a->jobs to what the order says of jobs.
 * -ENOENT with a text. */
int phx_need_order(struct phx_apply *a, const struct phx_event_order *p, struct phx_node **ret_node,
		   struct phx_node_order *ret);

/* planning.c */
/** May a plan be made for the node as it is now? -EPERM, -EBUSY with a text. */
int phx_plan_may(const struct phx_node *n, enum phx_event_kind kind, struct phx_err *err);
/** Makes the plan of the order, as it would be now. Changes nothing. Errors of phx_plan_may(),
 * phx_setup_effective() and phx_plan_handover(); -ENOENT with a text: no such role or pool. The
 * caller frees *ret by phx_record_fini(). */
int phx_order_plan(const struct phx_state *s, const struct phx_node_order *o, struct phx_plan *ret,
		   struct phx_err *err);
/** The same for an assign, release, rebuild, wipe or drain event, for --dry-run. -ENOENT with a
 * text: no such node. */
int phx_order_plan_of(const struct phx_state *s, const struct phx_event *ev, struct phx_plan *ret,
		      struct phx_err *err);
/** Makes the plan of the order, and begins it. Returns 0 also if there is nothing to do, or if the
 * same order is under way; after an error nothing has changed. */
int phx_order_begin(struct phx_apply *a, const struct phx_node_order *o);
/** A copy of `a` for orders of the core itself, which no person gave; `err` takes its errors. */
struct phx_apply phx_by_itself(const struct phx_apply *a, struct phx_err *err);
/** Begins an order of the core itself; `err` gets the reason if it is refused. */
int phx_order_by_itself(struct phx_apply *a, const struct phx_node_order *o, struct phx_err *err);

/* order_jobs.c: jobs that an order would end */
/** -EBUSY with a text that names the job, if the order would end a job and does not say that it
 * may. */
int phx_order_jobs_allow(struct phx_apply *a, const struct phx_node_order *o);
/** The same for the open jobs of an RE. */
int phx_order_jobs_allow_re(struct phx_apply *a, const struct phx_re *re);
/** The job that the order would end; NULL: none. */
const struct phx_job *phx_order_ends(const struct phx_state *s, const struct phx_node_order *o);
/** The job that `ev`, an order on a node, would end if it does not end by itself before. NULL:
 * none. Borrowed. */
const struct phx_job *phx_event_ends_job(const struct phx_state *s, const struct phx_event *ev);
/** The running job on the node of `ev`, for whose end an order waits; NULL: none, or it was told to
 * end already. Borrowed. */
const struct phx_job *phx_event_waits_for_job(const struct phx_state *s,
					      const struct phx_event *ev);

#endif
