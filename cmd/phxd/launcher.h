/* What the launcher has, for its own files: launcher.c starts and ends, launcher_answer.c
 * answers. */
#ifndef PHXD_LAUNCHER_H
#define PHXD_LAUNCHER_H

#include <pthread.h>

#include "apart/apart.h"
#include "deploy/child.h"
#include "phxd/launch.h"

struct launcher {
	const struct phx_config *cfg;
	char **argv;
	bool serves;
	int signals;
	uint64_t watchdog_us; /* 0: nobody watches */
	struct phx_apart_server server;
	bool ending;
	/* of what follows: threads answer the head */
	pthread_mutex_t lock;
	struct phx_process head, vault, hands;
	struct phx_process doors[LAUNCH_DOORS_MAX];
	int64_t doors_ms[LAUNCH_DOORS_MAX]; /* when they were started */
	bool ready;                         /* the head serves */
	int listening[PHX_HTTP_LISTENERS];  /* 0: not yet */
	struct phx_children *children;
};

/** A child that was let go, or has ended: it is waited for, and killed if it hangs. */
void launcher_collect(struct phx_process *p);
/** For `server`. */
int launcher_answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		    struct phx_err *err);
/** On threads of their own: answers the head over `fd` (taken) until that ends. */
int launcher_hear(struct launcher *l, int fd, struct phx_err *err);

#endif
