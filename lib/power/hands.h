/* The hands: a process of its own that talks to BMCs and runs what a site has of programs (IPMI
 * tools, the driver script, the program for anchors), so that the process that listens to the
 * network has no password of a BMC and starts none of them. Started by the head (`phxd --hands`),
 * asked over a socketpair; sees its programs, bmc_dir and what hands_paths names, and neither
 * journal nor keys; ended when the head ends. Many operations are under way at once; the order of
 * those of one BMC is the queue's (power.h), which the head has. */
#ifndef PHX_POWER_HANDS_H
#define PHX_POWER_HANDS_H

#include <sys/types.h>

#include "apart/apart.h"
#include "base/key.h"
#include "power/power.h"

/** What the hands have and where. Borrowed for their whole life. */
struct phx_hands_config {
	const char *program; /* which is the hands when its first argument is --hands */
	const char *user;    /* whom they become; "" or not there: nobody else */
	const char *bmc_dir; /* password files and scripts, read with what root may read */
	/* below it their programs have HOME and TMPDIR, in hands/: made, and given to the user. Not
	 * there where it cannot be made */
	const char *run_dir;
	const struct phx_list *paths;  /* struct phx_word: what else they see and may change */
	const struct phx_list *anchor; /* struct phx_word: program and words for anchors; none */
	/* as phx_apart_config.restarted */
	void (*restarted)(void *arg);
	void *arg;
	/* where another process starts it, by phx_hands_spawn(). NULL: phx_hands_start() does */
	phx_apart_start_fn start;
	void *start_arg;
};

/* ---- the head's side; any thread ---- */

struct phx_hands;

int phx_hands_start(const struct phx_hands_config *config, struct phx_hands **ret,
		    struct phx_err *err);
/** Start the process for somebody else: the socket over which it is asked. */
int phx_hands_spawn(const struct phx_hands_config *config, struct phx_process *ret, int *ret_fd,
		    struct phx_err *err);
/** Ends the process and waits for its end. Nobody asks any more. Safe on NULL. */
void phx_hands_end(struct phx_hands *h);
/** Its pid, for messages; another one after a restart. */
pid_t phx_hands_pid(struct phx_hands *h);

/** As phx_power_do(), phx_power_ready(). An operation that the end of the process cuts off is given
 * once more. */
int phx_hands_power(struct phx_hands *h, const struct phx_bmc *bmc, enum phx_power_op op,
		    uint32_t timeout_ms, enum phx_power_state *ret_state, struct phx_err *err);
int phx_hands_ready(struct phx_hands *h, const struct phx_bmc *bmc, struct phx_err *err);
/** Run the program for anchors with `line` as its last word. 0 where there is none. -EPERM: others
 * than root could change it; -EINVAL: that is no line. */
int phx_hands_anchor(struct phx_hands *h, const char *line, struct phx_err *err);

/* ---- the process ---- */

/** Be the hands, as phx_hands_start() says it in `argv`; never returns. */
void phx_hands_serve(int fd, int argc, char **argv) __attribute__((noreturn));

#endif
