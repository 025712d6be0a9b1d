/* phx_core_apply(): the one place where Phoenix decides. It takes the state, an event and the time,
 * and gives the new state and actions. It opens nothing, reads no clock and draws no number. The
 * daemon calls it with real events; tests and the simulator with events of their own. */
#ifndef PHX_CORE_CORE_H
#define PHX_CORE_CORE_H

#include "node/kernel.h"
#include "state/event.h"
#include "state/order.h"

/** Apply one event. If s->seq has advanced, the event changed something and must be journalled;
 * otherwise it changed nothing. Returns 0, or a negative errno with a text: the state is then as
 * before, and the event must not be journalled. The exceptions are -ENOMEM: something could not be
 * stored, and -EPROTO: the program is wrong, a node or a job would have come into a state that may
 * not follow its own. Half of the event may be in the state then, and the only call still allowed
 * is phx_state_fini(); a replay of the journal restores the state. An event that cannot store all
 * its actions ends with -ENOMEM, too. `ret` is zeroed first. Errors: -ENOENT unknown node, role or
 * pool; -EINVAL; -E2BIG; -EBUSY the node follows a plan; -ESTALE an older epoch or an ended step
 * (an order of the past); -EEXIST; -EPERM; -EOPNOTSUPP; -EHOSTUNREACH. */
int phx_core_apply(struct phx_state *s, const struct phx_event *ev, struct phx_outcome *ret,
		   struct phx_err *err);

/** The same for one event of a portion: the list of nodes is not closed up (state/gone.h), so that
 * this is done at most once for all events. Call phx_core_portion_end() after the last of them. */
int phx_core_apply_in_portion(struct phx_state *s, const struct phx_event *ev,
			      struct phx_outcome *ret, struct phx_err *err);
void phx_core_portion_end(struct phx_state *s);

/** Apply the event to a copy of `s`, for --dry-run: `ret` is what phx_core_apply() would give. */
int phx_core_try(const struct phx_state *s, const struct phx_event *ev, struct phx_outcome *ret,
		 struct phx_err *err);

/** Build the indexes by which nodes and jobs are found, for callers that read a restored state
 * before its first event. -ENOMEM. */
int phx_core_ready(struct phx_state *s);

/** Append the outstanding actions of `s` to ret_actions (struct phx_action), for a restart: those
 * of issued steps, the power-off of quarantined nodes, and the destruction of keys without a node.
 * -ENOMEM. */
int phx_core_pending(const struct phx_state *s, struct phx_list *ret_actions);

/** When the next tick is due (core time, ms); INT64_MAX: never. */
int64_t phx_core_next_deadline(const struct phx_state *s);

/** The answer to a machine that boots from the network. */
enum phx_boot_choice { PHX_BOOT_DEPLOY, PHX_BOOT_REFUSE };
struct phx_boot {
	enum phx_boot_choice choice;
	const char *node; /* borrowed from the state; "" if the machine is unknown */
	uint64_t start;   /* the start whose token the machine gets; 0 = none */
	struct phx_kernel kernel;
};
/** The answer for the machine with MAC address `mac` that asks from `address`. */
struct phx_boot phx_core_boot(const struct phx_state *s, const char *mac, const char *address);

/** May machines be started with this deploy image, with a kernel of that release? 1: yes, and the
 * core must be told (event deploy_image); 0: yes, they are started with it already; -ESTALE: a
 * later version of the image of
 * this name was used before, and `may_be_older` is not set. */
int phx_core_deploy_image(const struct phx_state *s, const char *name, const char *version,
			  const char *kernel, bool may_be_older, struct phx_err *err);

/** Does a certificate for this key speak for the node? No longer after the machine was switched off
 * and on for an order: the machine must then come with a new key. */
bool phx_core_key_holds(const struct phx_state *s, const char *node, const char *key_fp);

/** Append the node's present orders to ret_orders (struct phx_order). -ENOENT unknown node,
 * -ENOMEM. */
int phx_core_orders(const struct phx_state *s, const char *node, struct phx_list *ret_orders);

/** May the agent of `node` fetch this image or package file from the head? Only an image or a
 * package that one of its present orders names. `file` is a package's archive or its signature.
 * False also if memory runs out. */
bool phx_core_gives_image(const struct phx_state *s, const char *node, const char *image,
			  const char *version);
bool phx_core_gives_package(const struct phx_state *s, const char *node, const char *file);

#endif
