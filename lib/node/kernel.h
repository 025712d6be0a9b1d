/* Which kernel a machine is to be started with: that of the deploy image, under which disks are
 * erased, or that of the role's image, under which its system runs. Used by plan.c and handover.c,
 * and by the core for the head's answer to firmware and for orders. Pure. */
#ifndef PHX_NODE_KERNEL_H
#define PHX_NODE_KERNEL_H

#include "node/plan.h"
#include "state/state.h"

/** What starts the machine. */
struct phx_kernel {
	char image[PHX_NAME_MAX], version[PHX_NAME_MAX]; /* whose kernel; "": the deploy image's */
	char release[PHX_RELEASE_MAX];                   /* of that; "" with image "" */
	char args[PHX_KERNEL_ARGS_MAX];                  /* behind those of the head */
};
/* room for the word of a kernel */
#define PHX_KERNEL_WORD_MAX (PHX_RELEASE_MAX + 16)

/** The word by which a kernel and its arguments are told from others: "RELEASE,HASH" of the
 * arguments, without what is empty; "" is the deploy image's kernel with the head's arguments. It
 * stands on the command line (phx.kernel=), and the agent reports it. */
void phx_kernel_word(const char *release, const char *args, char ret[PHX_KERNEL_WORD_MAX]);

/** With what the machine of `n` is to start now. While its plan still erases, and while no role is
 * to run: the deploy image's. */
void phx_kernel_of(const struct phx_state *s, const struct phx_node *n, struct phx_kernel *ret);

/** Does the machine, in the deploy environment, run what phx_kernel_of() says? That is its agent's
 * word: it decides on another start, and nothing else. An agent that knows of no such kernels
 * counts as running it. */
bool phx_kernel_fits(const struct phx_state *s, const struct phx_node *n);

/** Does the machine run another kernel than the one that the step is for? Nothing is erased,
 * brought or entered under another. */
bool phx_kernel_other(const struct phx_state *s, const struct phx_node *n,
		      const struct phx_step *step);

/** Does the machine of the plan, once in the deploy environment, have to go on into another kernel
 * for the system of q->to? `from_deploy`: it will run the deploy image's. */
bool phx_kernel_wanted(const struct phx_plan_request *q, bool from_deploy);

/** The kernel of the deploy image that machines are started with; "": not known, as in older
 * journals. */
const char *phx_kernel_of_deploy(const struct phx_state *s);

#endif
