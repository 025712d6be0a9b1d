/* Results on their way to the head: in which order they are sent, which is sent again and when, and
 * when one is dropped. Values in, values out: no message, no connection, no clock; the owner sends
 * and waits. Used by the outbox and by the agents of the fault simulation. Pure: make check-pure
 * proves it. Nothing of it outlasts the agent: the head repeats its orders, and the step log and
 * the records of jobs and tasks answer.
 *
 *	closed ──open──▶ rests ──put──▶ sends ──answered, and it was the last──▶ rests
 *	                                 │  ▲
 *	                      head away  ▼  │ due
 *	                                waits */
#ifndef PHX_AGENT_RESULT_QUEUE_H
#define PHX_AGENT_RESULT_QUEUE_H

#include "base/util.h"

/** How long to wait before a result is sent again: at first, and at most. */
#define RESULT_RETRY_MS 500
#define RESULT_RETRY_MAX_MS 4000

/** What a result is of: a step, one run of a job, or rows of tasks (all have ids of their own). */
struct result_subject {
	bool is_job;
	uint64_t id;
	uint32_t run;  /* of the job */
	bool is_tasks; /* `run` is the sender's */
};

struct result_item {
	struct result_subject about;
	void *body; /* the owner's */
};

struct result_queue {
	struct phx_list items; /* struct result_item: the first is sent, or sent next */
	bool open, sends, waits;
	uint32_t retry_ms;
};

void result_queue_init(struct result_queue *q);
/** Let results go out. Safe twice. */
void result_queue_open(struct result_queue *q);
/** Add one behind all others. -ENOMEM: it is not added. */
int result_queue_put(struct result_queue *q, struct result_subject about, void *body);

/** Is sending to begin? True once for each time that it is: the caller then sends what
 * result_queue_first() returns until there is none, or an answer says to wait. */
bool result_queue_begin(struct result_queue *q);
/** Sending could not begin after all. Returns for how many ms to wait for result_queue_due(). */
uint32_t result_queue_put_off(struct result_queue *q);
/** The result to send now, which stays in the queue. False: there is none, and sending has
 * ended. */
bool result_queue_first(struct result_queue *q, struct result_item *ret);
/** The first one was sent, with answer `r`: 0, or a negative errno, also when no answer came.
 * Returns 0: the head has it, or has refused it for good; it is dropped next. Otherwise it stays
 * the first, and this is for how many ms to wait for result_queue_due(). */
uint32_t result_queue_answered(struct result_queue *q, int r);
/** Remove the first one. Its body is the caller's to free. */
void result_queue_drop(struct result_queue *q);
/** The time to try again has come: result_queue_begin() follows. */
void result_queue_due(struct result_queue *q);

/** Is the result of this step in the queue? */
bool result_queue_has_step(const struct result_queue *q, uint64_t id);
/** Subjects of results of steps, or of jobs: up to `max`; returns how many there are. */
uint32_t result_queue_list(const struct result_queue *q, bool jobs, struct result_subject *ret,
			   uint32_t max);

#endif
