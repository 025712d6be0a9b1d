/* core_apply(): the one place where Phoenix decides. State + event + time in,
 * new state + actions out. Opens nothing, reads no clock, draws no number.
 * The daemon feeds it real events; tests and the simulator feed it others. */
#ifndef PHX_CORE_CORE_H
#define PHX_CORE_CORE_H

#include "state/event.h"
#include "state/order.h"

/** Apply one event. When s->seq has advanced the event must be journalled; when not, it changed
 * nothing. 0, or a negative errno with a text; the state is then as before and the event must not
 * be journalled. But -ENOMEM: something could not be stored, half of the event may be in the state,
 * and only phx_state_fini() may be done with it; the journal replayed brings it back. An event has
 * all its actions, or ends so. ret is zeroed first. -ENOENT unknown node/role/pool, -EINVAL,
 * -E2BIG, -EBUSY the node follows a plan, -ESTALE older epoch or ended step (an order of the past),
 * -EEXIST, -EPERM, -EOPNOTSUPP, -EHOSTUNREACH. */
int phx_core_apply(struct phx_state *s, const struct phx_event *ev, struct phx_outcome *ret,
		   struct phx_err *err);

/** The same of one event of a portion. Nodes that it removes keep their place in the list of nodes:
 * phx_core_portion_end() comes after the last event, and before anybody else reads the state. */
int phx_core_apply_in_portion(struct phx_state *s, const struct phx_event *ev,
			      struct phx_outcome *ret, struct phx_err *err);
void phx_core_portion_end(struct phx_state *s);

/** What phx_core_apply() would do, done to a copy of `s`: for --dry-run. */
int phx_core_try(const struct phx_state *s, const struct phx_event *ev, struct phx_outcome *ret,
		 struct phx_err *err);

/** Build what nodes and jobs are found by, for who reads a state that was brought back before its
 * first event. -ENOMEM. */
int phx_core_ready(struct phx_state *s);

/** Actions outstanding in `s` (after a restart): those of issued steps, the 'off' of quarantined
 * nodes, keys without a node. */
int phx_core_pending(const struct phx_state *s, struct phx_list *ret_actions);

/** When the next tick is due (core time), INT64_MAX when never. */
int64_t phx_core_next_deadline(const struct phx_state *s);

/** The boot answer for a machine that boots. */
enum phx_boot_choice { PHX_BOOT_DEPLOY, PHX_BOOT_REFUSE };
struct phx_boot {
	enum phx_boot_choice choice;
	const char *node; /* borrows; "" when it is unknown */
	uint64_t start;   /* whose token it is given; 0 = none */
};
/** For who asks from `address` with that MAC address. */
struct phx_boot phx_core_boot(const struct phx_state *s, const char *mac, const char *address);

/** May machines be started with that deploy image? 1: yes, and the core was not told yet (event
 * deploy_image); 0: it is the one that they are started with; -ESTALE: one of its name with a later
 * version was used before, and this one may not be older. */
int phx_core_deploy_image(const struct phx_state *s, const char *name, const char *version,
			  bool may_be_older, struct phx_err *err);

/** Does a certificate for that key speak for the node? Not, although it did, since the machine was
 * switched off and on for an order: it has to come with a new key. */
bool phx_core_key_holds(const struct phx_state *s, const char *node, const char *key_fp);

/** The present orders for an agent, appended to ret_orders (struct phx_order). */
int phx_core_orders(const struct phx_state *s, const char *node, struct phx_list *ret_orders);

/** What an agent is given of the head's files: the image and the packages that one of its present
 * orders names, and nothing else. `file` is a package's archive or its signature. False also where
 * memory runs out. */
bool phx_core_gives_image(const struct phx_state *s, const char *node, const char *image,
			  const char *version);
bool phx_core_gives_package(const struct phx_state *s, const char *node, const char *file);

#endif
