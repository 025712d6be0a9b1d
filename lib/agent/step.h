/* Steps, which the agent carries out for orders. The table of step_table.c names
 * their functions; every function may be called again for the same step. */
#ifndef PHX_AGENT_STEP_H
#define PHX_AGENT_STEP_H

#include "agent/agent.h"
#include "pki/statement.h"
#include "types/check.h"

/** One step that is carried out. */
struct step_run {
	struct agent *agent;
	const struct phx_order *order;
	const json_t *extra;          /* members that phxd added to the order: "deploy", "image" */
	struct phx_http_client *http; /* step_http() */
	int64_t deadline_ms;          /* on phx_clock_ms()'s clock */
	char said[160];               /* what a successful step reports, for people; "" nothing */
	bool has_wipe;
	struct phx_wipe_result wipe;
	struct phx_seal seal; /* the signed statement of the wipe, if it succeeded */
	struct phx_quote quote;
	bool has_check;
	struct phx_check check; /* what came of a part of a check */
};

/** Positive result of a step: the machine enters another system, whose registration is the
 * answer. */
#define STEP_LEAVES 1

/** The client of this step, made when first asked for; borrowed. */
int step_http(struct step_run *s, struct phx_http_client **ret, struct phx_err *err);

/** Is the step given up: has a newer order come, does the agent end, is its time up? Steps that
 * wait ask this; the argument is the step_run. */
bool step_cancelled(void *step_run);
/** Why a step that is given up is: a static text. */
const char *step_why_cancelled(const struct step_run *s);
/** Sleep for `ms`, less if the step is given up meanwhile; returns whether it is. For waits on a
 * change that causes no event. */
bool step_wait_ms(void *step_run, uint32_t ms);

/** The last guard before a disk is written: is / itself in memory? -EPERM. */
int step_need_ram(struct phx_err *err);
/** Is the disk, at `path`, none of those that the order protects, and no part of something that is
 * on one of those, by this machine's own eyes? -EPERM, -EBUSY, and errors of reading. */
int step_check_protection(struct step_run *s, const struct phx_disk_facts *target, const char *path,
			  struct phx_err *err);
/** A client of the plain HTTP listener, if there is one: images are public, and the order with
 * their digest came over TLS. The caller frees it. */
int step_image_client(struct step_run *s, struct phx_http_client **ret, struct phx_err *err);

/** The disk of the order on this machine, which must run from memory: it is as it was reported, not
 * in use, and not protected. ret_facts owns no memory. -errno with a text. */
int step_disk_find(struct step_run *s, struct phx_disk_facts *ret_facts, char ret_path[64],
		   struct phx_err *err);

/* the functions of the table */
int step_prefetch(struct step_run *s, struct phx_err *err);
int step_activate(struct step_run *s, struct phx_err *err);
int step_leave(struct step_run *s, struct phx_err *err);
int step_drain(struct step_run *s, struct phx_err *err);
int step_stop(struct step_run *s, struct phx_err *err);
int step_start(struct step_run *s, struct phx_err *err);
int step_health(struct step_run *s, struct phx_err *err);
int step_kexec(struct step_run *s, struct phx_err *err);
int step_wipe(struct step_run *s, struct phx_err *err);
int step_image(struct step_run *s, struct phx_err *err);
int step_ram(struct step_run *s, struct phx_err *err);
int step_layout(struct step_run *s, struct phx_err *err);
int step_enter(struct step_run *s, struct phx_err *err);
int step_scratch(struct step_run *s, struct phx_err *err);
int step_rekey(struct step_run *s, struct phx_err *err);
int step_check_cpu(struct step_run *s, struct phx_err *err);
int step_check_memory(struct step_run *s, struct phx_err *err);
int step_check_disk(struct step_run *s, struct phx_err *err);

#endif
