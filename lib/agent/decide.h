/* What the agent makes of orders: which it follows, refuses, answers from what it remembers, or
 * leaves alone. Values in, values out: no file, no socket, no process, no clock. Worker, journal,
 * outbox, steps and jobs decide by this, and so do the agents of the fault simulation. */
#ifndef PHX_AGENT_DECIDE_H
#define PHX_AGENT_DECIDE_H

#include "types/node.h"

/** Steps that wait or run at most; more are left to the head, which orders them again. */
#define DECIDE_STEPS_MAX 16

/** One order of a step. */
struct decide_order {
	uint64_t id, epoch;
	uint32_t attempt;
	uint64_t nonce; /* of the attempt, by the head; 0 = none */
};

/** How a step ended. */
struct decide_done {
	uint64_t epoch;
	uint32_t attempt;
	int64_t result; /* 0 or negative errno */
	uint64_t nonce; /* of its order */
};

/** What this agent remembers, and where. Only what keep_epoch() wrote and finished steps outlast
 * the agent. */
struct decide_memory {
	void *arg;        /* of all of them */
	uint64_t epoch;   /* the highest that was seen */
	uint32_t n_steps; /* that wait or run */
	/** Does the step wait or run, or is its result on its way to the head? */
	bool (*pending)(void *arg, uint64_t id);
	/** Remember this epoch, so that it outlasts the agent. Negative errno: it is not kept, and
	 * the order not followed. */
	int (*keep_epoch)(void *arg, uint64_t epoch, struct phx_err *err);
	/** How step `id` ended. -ENOENT: it did not end here; other errors: that cannot be known,
	 * so nothing is done. */
	int (*find)(void *arg, uint64_t id, struct decide_done *ret, struct phx_err *err);
};

enum decide_step {
	DECIDE_RUN,    /* it is to run in its turn */
	DECIDE_KNOWN,  /* nothing: it is pending */
	DECIDE_REPEAT, /* it is done: its result is told again, as find() knows it */
	DECIDE_BUSY,   /* nothing: too many wait */
};

/** What to do with the order of a step; a newer epoch is kept first. Negative errno with a text:
 * the order is refused by that, -ESTALE if its epoch is of the past. */
int decide_order(const struct decide_memory *m, const struct decide_order *o, struct phx_err *err);

/** Does a step that ended so answer the order? An order of an earlier attempt always: it is a late
 * copy, and the head counts attempts at each issue. Of the same attempt or a newer one only an
 * order with the same nonce: a success always, a failure unless the attempt is newer. A step of
 * another epoch that has the same id is another step: a head that goes on from an older journal may
 * give ids again. */
bool decide_answers(const struct decide_done *done, const struct decide_order *o);

/** Is a step of `epoch` given up, now that `seen` is the highest epoch that was seen? One that
 * waits does not begin. */
bool decide_given_up(uint64_t seen, uint64_t epoch);

/** May a step with these needs be done in `env`? */
bool decide_here(enum phx_step_needs needs, enum phx_node_env env);

/** The result of a step that ended with `result`, when remembering that returned `kept`: what is
 * not remembered may be done twice, so it is a failure. */
int64_t decide_result(int64_t result, int kept);

/** A message to the head failed with `r`: is it sent again? Not if the head refused it for good. */
bool decide_again(int r);

/** Is it time to renew a certificate that ends at `expires_s`, by a clock that says `now_s`, and
 * that was given `had_ms` ago by a clock that nobody sets? The first clock may be wrong: more left
 * than a certificate is given for says that it is. Renewing too early costs one call. */
bool decide_renews(int64_t now_s, int64_t expires_s, int64_t had_ms);

/** A run of a job, as far as it decides. */
struct decide_run {
	uint32_t run;
	int64_t submitted_ms; /* which job of this number it is; 0 not known */
};

enum decide_job {
	DECIDE_JOB_NEW,  /* nothing is known of it */
	DECIDE_JOB_SAME, /* this very run is known: it never runs again, its end is told again */
	/* a run of before, or of another job of this number, is known: that goes first */
	DECIDE_JOB_NEWER,
	DECIDE_JOB_OF_PAST /* a newer run is known: nothing */
};

/** What an order about run `o` is, when `known` is the newest run of its job that was ever known
 * here (NULL: none). */
enum decide_job decide_job(const struct decide_run *known, const struct decide_run *o);

#endif
