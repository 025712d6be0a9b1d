/* What the files of lib/core share. Nobody else includes this. */
#ifndef PHX_CORE_INTERNAL_H
#define PHX_CORE_INTERNAL_H

#include "core/core.h"

/** One application of one event. */
struct phx_apply {
	struct phx_state *s;
	const struct phx_event *ev;
	struct phx_outcome *out;
	struct phx_err *err;
};

/* outcome.c */
/** Append an action for `n` (may be NULL); NULL on ENOMEM. */
struct phx_action *phx_act(struct phx_apply *a, enum phx_action_kind kind, const struct phx_node *n);
/** Append a note: a sentence about `n` for `phx events`. */
void phx_note(struct phx_apply *a, const struct phx_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** The event's node; -ENOENT with a text. */
int phx_need_node(struct phx_apply *a, struct phx_node **ret);
bool phx_node_has_bmc(const struct phx_node *n);

/* handover.c */
/** Our own order starts the node: it may come back without its key, for a time. */
void phx_window_open(struct phx_apply *a, struct phx_node *n);
int phx_handover_begin(struct phx_apply *a, struct phx_node *n, struct phx_plan *plan, const char *request);
/** Issue what can be issued, finish what is finished. Safe to call at any time. */
void phx_handover_advance(struct phx_apply *a, struct phx_node *n);
/** The current step is done. */
void phx_handover_done(struct phx_apply *a, struct phx_node *n);
/** The current attempt failed: again, fall back, abort or quarantine, by the step's row. */
void phx_handover_failed(struct phx_apply *a, struct phx_node *n, const char *why);
void phx_quarantine(struct phx_apply *a, struct phx_node *n, const char *why);
int phx_apply_tick(struct phx_apply *a);

/* result.c */
int phx_apply_step_result(struct phx_apply *a);
int phx_apply_power_result(struct phx_apply *a);
int phx_apply_key_result(struct phx_apply *a);

/* request.c */
int phx_apply_assign(struct phx_apply *a);
int phx_apply_release(struct phx_apply *a);
int phx_apply_rebuild(struct phx_apply *a);
int phx_apply_wipe(struct phx_apply *a);
int phx_apply_drain(struct phx_apply *a);
int phx_apply_resume(struct phx_apply *a);
int phx_apply_quarantine(struct phx_apply *a);
int phx_apply_power(struct phx_apply *a);
/** Rules give a ready, idle node its role, if automatic assignment is on. */
void phx_auto_assign(struct phx_apply *a, struct phx_node *n);
/** A serving node that waits in the deploy initramfs without a system: one in memory is brought there again, one that
 * was on a disk is missing (quarantine). Others: nothing. */
void phx_restore_system(struct phx_apply *a, struct phx_node *n);

/* enrol.c */
int phx_apply_node_add(struct phx_apply *a);
int phx_apply_node_remove(struct phx_apply *a);
int phx_apply_node_accept(struct phx_apply *a);
int phx_apply_node_bmc(struct phx_apply *a);
int phx_apply_enrol(struct phx_apply *a);

/* live.c */
int phx_apply_hello(struct phx_apply *a);
int phx_apply_missing(struct phx_apply *a);
int phx_apply_back(struct phx_apply *a);
int phx_apply_report(struct phx_apply *a);
int phx_apply_inventory(struct phx_apply *a);
int phx_apply_inspect(struct phx_apply *a);

/* jobs.c */
int phx_apply_job_submit(struct phx_apply *a);
int phx_apply_job_cancel(struct phx_apply *a);
int phx_apply_job_result(struct phx_apply *a);
/** Start queued jobs that fit. */
void phx_jobs_start(struct phx_apply *a);
/** Parts on `n` will never report: they ended with `status`. */
void phx_jobs_lost(struct phx_apply *a, struct phx_node *n, int64_t status);

#endif
