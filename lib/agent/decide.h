/* Decides what the agent does with orders: which it follows, refuses, answers from what it
 * remembers, or ignores; and what it does when a step has ended. Values in, values out: no file, no
 * socket, no process, no clock. Called by worker, outbox, steps, jobs, the book of tasks and
 * enrolment, and by the agents of the fault simulation. */
#ifndef PHX_AGENT_DECIDE_H
#define PHX_AGENT_DECIDE_H

#include "types/node.h"

/** How many steps may wait or run; further ones are left to the head, which orders them again. */
#define DECIDE_STEPS_MAX 16

/** One order of a step. */
struct decide_order {
	uint64_t id, epoch;
	uint32_t attempt;
	uint64_t nonce; /* of the attempt, chosen by the head; 0 = none */
};

/** How a step ended. */
struct decide_done {
	uint64_t epoch;
	uint32_t attempt;
	int64_t result; /* 0 or negative errno */
	uint64_t nonce; /* that of its order */
};

/** What this agent remembers, and how to ask for it. Only finished steps and the epoch that
 * keep_epoch() wrote outlast the agent. */
struct decide_memory {
	void *arg;        /* passed to all functions */
	uint64_t epoch;   /* the highest that was seen */
	uint32_t n_steps; /* that wait or run */
	/** Does the step wait or run, or is its result on its way to the head? */
	bool (*pending)(void *arg, uint64_t id);
	/** Record this epoch so that it outlasts the agent, unless it is recorded already. Negative
	 * errno: it is not recorded, and the order is not followed. Nothing of an older epoch may
	 * begin after this, even so. */
	int (*keep_epoch)(void *arg, uint64_t epoch, struct phx_err *err);
	/** How step `id` ended. -ENOENT: it did not end here; other errors: that cannot be known,
	 * so nothing is done. */
	int (*find)(void *arg, uint64_t id, struct decide_done *ret, struct phx_err *err);
};

enum decide_step {
	DECIDE_RUN,    /* it is to run when its turn comes */
	DECIDE_KNOWN,  /* nothing: it is pending */
	DECIDE_REPEAT, /* it is done: send its result again, as find() returned it */
	DECIDE_BUSY,   /* nothing: too many wait */
};

/** What to do with the order of a step (enum decide_step). A newer epoch is recorded first.
 * Negative errno with a text: the order is refused; -ESTALE: its epoch is older than the highest
 * that was seen. */
int decide_order(const struct decide_memory *m, const struct decide_order *o, struct phx_err *err);

/** Does the recorded end of a step answer the order? An order of an earlier attempt, always: it is
 * a late copy, since the head counts attempts at each issue. An order of the same or a newer
 * attempt, only if it has the same nonce; then a success answers it, and a failure does if the
 * attempt is the same. A step of another epoch is another step even if it has the same id: a head
 * that goes on from an older journal may use ids again. */
bool decide_answers(const struct decide_done *done, const struct decide_order *o);

/** Is a step of `epoch` given up, now that `seen` is the highest epoch that was seen? A step that
 * still waits then does not begin. */
bool decide_given_up(uint64_t seen, uint64_t epoch);

/** May a step with these needs be carried out in `env`? */
bool decide_here(enum phx_step_needs needs, enum phx_node_env env);

/** The result to report of a step that ended with `result`, when recording that returned `kept`. A
 * success that is not recorded is reported as a failure, because the step may be done twice. */
int64_t decide_result(int64_t result, int kept);

/** What an agent does, one after the other, once a step has ended. A result is told after it is
 * written down: an agent that ends in between is given the order again, and repeats the result. The
 * step counts as one that runs until its result is on its way, so that nothing of it begins anew
 * meanwhile. */
enum decide_end {
	DECIDE_END_WRITE, /* write down how it ended (decide_result()) */
	DECIDE_END_TELL,  /* its result waits for the head from now on */
	DECIDE_END_DROP,  /* it runs no more: the next may begin */
	DECIDE_END_OVER,
};

/** The first thing to do. `leaves`: the step ended in another system, whose registration is the
 * answer. */
enum decide_end decide_end_first(bool leaves);
/** What comes after `done`. */
enum decide_end decide_end_next(enum decide_end done);

/** A message to the head failed with `r`: should it be sent again? Not if the head refused it for
 * good, nor if the file that it brings cannot be read (phx_http_upload()). */
bool decide_again(int r);

/** Is it time to renew a certificate? `expires_s`: its end; `now_s`: the wall clock; `had_ms`: how
 * long ago it was obtained, by a clock that nobody sets. The wall clock may be wrong, and certainly
 * is if the certificate has more time left than certificates are given for. Renewing too early
 * costs one call. */
bool decide_renews(int64_t now_s, int64_t expires_s, int64_t had_ms);

/** What tells the runs of a job, and jobs of the same number, apart. */
struct decide_run {
	uint32_t run;
	int64_t submitted_ms; /* tells jobs of this number apart; 0: not known */
};

enum decide_job {
	DECIDE_JOB_NEW,  /* nothing is known of it */
	DECIDE_JOB_SAME, /* this run is known: it never runs again, its end is reported again */
	/* an older run, or another job of this number, is known: that must go first */
	DECIDE_JOB_NEWER,
	DECIDE_JOB_OF_PAST /* a newer run is known: do nothing */
};

/** Judges an order about run `o`. `known`: the newest run of the job that was ever known here;
 * NULL: none. */
enum decide_job decide_job(const struct decide_run *known, const struct decide_run *o);

/** What an agent does with an order about a run of a job. */
enum decide_job_act {
	DECIDE_JOB_START, /* write down that it is known here, forget an older one, start it */
	DECIDE_JOB_BAR,   /* write down that it has ended, so that it never starts here */
	DECIDE_JOB_TELL,  /* its end is told, again if it was; nothing while it runs */
	DECIDE_JOB_END,   /* it runs, and is told to end */
	/* an older run still runs: the order is not followed, the head orders it again */
	DECIDE_JOB_MAKE_WAY, /* that run is told to end */
	DECIDE_JOB_AWAIT,    /* it is ending, or ends in its time */
	DECIDE_JOB_REFUSE,   /* it is of the past */
};
/** What to do, for an order that was judged so. `runs`: the run that is known here still runs;
 * `ends`: the order is to end the run. */
enum decide_job_act decide_job_order(enum decide_job judged, bool runs, bool ends);

#endif
