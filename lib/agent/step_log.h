/* The step log: the steps that this agent has done, one file for each finished step
 * (STATE/steps/ID.json) and the highest epoch seen (STATE/epoch), each published
 * and synced before it counts. A repeated order repeats the answer; an order of an
 * older epoch is refused. */
#ifndef PHX_AGENT_STEP_LOG_H
#define PHX_AGENT_STEP_LOG_H

#include "types/told.h"

#define STEP_LOG_ENTRY_FIELDS(F, S) \
	F(S, id, U64) \
	PHX_TOLD_STEP_RUN_FIELDS(F, S) \
	F(S, kind, STR(32)) /* name of the kind of step */ \
	F(S, text, STR(256)) \
	F(S, has_wipe, BOOL) \
	F(S, wipe, REC(phx_wipe_result)) \
	F(S, seal, REC(phx_seal))   /* the deploy environment's signed statement of the wipe */ \
	F(S, quote, REC(phx_quote)) /* what the machine's TPM signed of it */ \
	F(S, has_check, BOOL) \
	F(S, check, REC(phx_check))
PHX_RECORD_STRUCT(step_log_entry, STEP_LOG_ENTRY_FIELDS);

struct step_log {
	char dir[256];
	_Atomic uint64_t epoch; /* the highest that was seen: one writes it, others read it */
	uint64_t written_epoch; /* the highest that is on the disk */
};

/** Open the step log below `state_dir`, with missing directories made. -EBADMSG: the epoch file is
 * damaged; the agent must not go on, since it could not refuse orders of older epochs. */
int step_log_open(struct step_log *l, const char *state_dir, struct phx_err *err);

/** Note that an order of this epoch came, and write it down, if it is newer than what is written:
 * on success it is on the disk. Else steps of it must not begin (step_book.h). */
int step_log_keep_epoch(struct step_log *l, uint64_t epoch, struct phx_err *err);

/** The result of step `id`. -ENOENT: the step has not finished here; -EBADMSG: the record is
 * damaged (the caller must not do the step then). */
int step_log_find(const struct step_log *l, uint64_t id, struct step_log_entry *ret,
		  struct phx_err *err);

/** Publish a result; on return it is on the disk. */
int step_log_put(const struct step_log *l, const struct step_log_entry *e, struct phx_err *err);

/** Copy epoch and results to another state directory: that of a system to be entered. */
int step_log_copy(const struct step_log *l, const char *to_state_dir, struct phx_err *err);

#endif
