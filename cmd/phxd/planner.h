/* The planner: a process (phxd --planner) that says what would have been (past/past.h). It opens no
 * file and starts nothing: the head tells it the events, and asks how far it is. It has so much
 * time and memory and no more, and ends with its socket. The launcher starts one at a time. */
#ifndef PHXD_PLANNER_H
#define PHXD_PLANNER_H

#include "apart/apart.h"
#include "past/past.h"

enum {
	PLANNER_CPU_S = 600,
	PLANNER_MEMORY_MB = 4096,
	PLANNER_PAGE = 1 << 20, /* bytes of events that are told at once; one event may have more */
};

/** Starts a planner: its socket, owned by the caller. By the launcher. */
int planner_spawn(struct phx_process *ret, int *ret_fd, struct phx_err *err);
/** Runs as a planner, on standard input; ends the process. */
_Noreturn void planner_run(void);

/* ---- who asks ---- */

/** Takes `fd`. */
int planner_new(int fd, struct phx_apart **ret);
/** What is wished; `snapshot` may be NULL. */
int planner_begin(struct phx_apart *p, const struct phx_past_wish *w, const char *snapshot,
		  struct phx_err *err);
/** Appends an event to those that are to be told. */
void planner_pack(struct phx_buf *b, const struct phx_store_event *ev);
/** Tells these. 1: no more are wanted. */
int planner_tell(struct phx_apart *p, const struct phx_buf *events, struct phx_err *err);
/** It has been told all: it simulates from now on. */
int planner_simulate(struct phx_apart *p, struct phx_err *err);
/** Waits a moment for its end. 0: it is not done, *ret_milli says how far it is; 1: *ret_answer is
 * the answer as text, malloc'd; negative: why there is none. */
int planner_look(struct phx_apart *p, unsigned *ret_milli, char **ret_answer, struct phx_err *err);

#endif
