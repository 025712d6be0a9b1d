/* The one event loop of the agent (sd-event), and the workers that do what blocks.
 *
 * All state of the agent belongs to the loop. Handlers of timers and descriptors hold it while they
 * run; a worker holds it only for the moment in which it reads or changes state (loop_hold()), and
 * never while it calls the head, waits for a program, or writes to a disk. So there is one lock,
 * and one condition for all who wait for a change.
 *
 *	timer, descriptor ──▶ handler (holds) ──loop_work()──▶ worker (does not hold)
 *	      ▲                                                  │ hold, result, arm, news, release
 *	      └──────────────────────────────────────────────────┘ */
#ifndef PHX_AGENT_LOOP_H
#define PHX_AGENT_LOOP_H

#include <systemd/sd-event.h>

#include "base/util.h"

struct loop;
typedef void (*loop_fn)(void *arg);

int loop_new(struct loop **ret, struct phx_err *err);
/** Ends the loop and its workers, after the calls that are under way. All sources must be gone by
 * then. Safe on NULL. */
void loop_free(struct loop *l);

/** Turn until loop_quit(), in one thread. Negative errno: no event can be waited for. */
int loop_run(struct loop *l);
/** End loop_run(). Callable from any thread. */
void loop_quit(struct loop *l);

/* ---- state ---- */

/** Hold the loop: no handler and no other holder runs. Holds of one thread may nest. */
void loop_hold(struct loop *l);
void loop_release(struct loop *l);
/** Hold the loop until the end of the scope. */
#define LOOP_HELD(l) PHX_AUTO(loop_release_held_) struct loop *held_ = loop_held_(l)
/** Tell that state has changed: each worker that waits for news looks again. */
void loop_news(struct loop *l);
/** Wait for news, in a worker that holds the loop once: it is released meanwhile. False: `due_ms`
 * of phx_clock_ms() has come (INT64_MAX: never). True does not prove that anything changed. */
bool loop_wait(struct loop *l, int64_t due_ms);

/** Take `*busy`, the flag of something that only one worker may use at a time; waits until nobody
 * else has it. Never called by handlers, nor while the loop is held. */
void loop_take(struct loop *l, bool *busy);
void loop_give(struct loop *l, bool *busy);
/** Take it until the end of the scope. */
#define LOOP_TAKEN(l, busy) \
	PHX_AUTO(loop_give_taken_) struct loop_taken_ taken_ = {l, busy}; \
	loop_take(l, busy)
/** Give `*busy`, wait for news, take it again. What the caller knows may be out of date then. */
void loop_yield(struct loop *l, bool *busy, int64_t due_ms);

/* ---- work ---- */

/** Call run(arg) in a worker, which does not hold the loop. There are as many workers as calls were
 * ever under way at once. Workers stay, because children may die with the thread that started them.
 * -EAGAIN: there is no worker, and run() is not called. */
int loop_work(struct loop *l, loop_fn run, void *arg);

/* ---- sources, whose handlers hold the loop ---- */

/** A timer that calls fn(arg), not armed yet. loop_forget() ends it. */
int loop_timer(struct loop *l, loop_fn fn, void *arg, sd_event_source **ret);
/** Have the timer expire once at due_ms of phx_clock_ms(), at once if that is past; INT64_MAX:
 * never. */
void loop_arm(struct loop *l, sd_event_source *timer, int64_t due_ms);
/** Call fn(arg) once, when there is something to read from a descriptor, which its owner keeps open
 * until loop_forget(). */
int loop_watch(struct loop *l, int fd, loop_fn fn, void *arg, sd_event_source **ret);
/** Watch the descriptor once more. */
void loop_watch_again(struct loop *l, sd_event_source *fd);
/** Remove the source and set *s to NULL. Safe if it is NULL already. */
void loop_forget(struct loop *l, sd_event_source **s);
/** The sd-event loop, for sources of other kinds. */
sd_event *loop_event(struct loop *l);

/* ---- used by the macros ---- */

static inline struct loop *loop_held_(struct loop *l)
{
	loop_hold(l);
	return l;
}

static inline void loop_release_held_(struct loop **l)
{
	loop_release(*l);
}

struct loop_taken_ {
	struct loop *loop;
	bool *busy;
};

static inline void loop_give_taken_(struct loop_taken_ *t)
{
	loop_give(t->loop, t->busy);
}

#endif
