/* State of the launcher, shared by its files: launcher.c starts and ends it, launcher_answer.c
 * answers the head, launcher_networks.c what concerns networks of the site. */
#ifndef PHXD_LAUNCHER_H
#define PHXD_LAUNCHER_H

#include <pthread.h>

#include "apart/apart.h"
#include "deploy/child.h"
#include "deploy/deploy.h"
#include "phxd/launch.h"

struct launcher {
	const struct phx_config *cfg;
	char **argv;
	bool serves;
	int signals;
	uint64_t watchdog_us; /* 0: the service manager has no watchdog */
	struct phx_apart_server server;
	bool ending;
	/* of what follows, which the threads use that answer the head */
	pthread_mutex_t lock;
	struct phx_process head, vault, hands, consoles, planner;
	struct phx_process doors[LAUNCH_DOORS_MAX];
	int64_t doors_ms[LAUNCH_DOORS_MAX]; /* when they were started */
	bool ready;                         /* the head serves */
	int listening[PHX_HTTP_LISTENERS];  /* 0: not yet */
	struct phx_children *children;
	/* what dnsmasq is to know of the site */
	struct launch_names names;
	struct phx_list networks; /* struct phx_site_network */
};

/** What dnsmasq is to know of the site; NULL: nothing. Under the lock. */
const struct phx_dhcp_site *launcher_site(const struct launcher *l, struct phx_dhcp_site *ret);
/** The question of networks (launch.def). */
int op_networks(struct launcher *l, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		struct phx_err *err);
/** Has dnsmasq start anew if its text has changed, or else, if `again`, read its host files again.
 * Under the lock. */
int launcher_refresh(struct launcher *l, uint32_t n_nodes, bool again, struct phx_err *err);

/** Waits for a child that is no longer used or has ended; kills it if it hangs. */
void launcher_collect(struct phx_process *p);
/** Kills the planner, if there is one. Under the lock. */
void launcher_end_planner(struct launcher *l);
/** The `answer` of `server`. On the threads that answer the head. */
int launcher_answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		    struct phx_err *err);
/** Starts threads that answer the head over `fd` (taken) until it is closed. */
int launcher_hear(struct launcher *l, int fd, struct phx_err *err);

#endif
