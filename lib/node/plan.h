/* The plan of a hand-over: which steps lead a node from what it runs to what it is to run. Called
 * by whoever is about to hand a node over, or to say what that would mean. Pure. */
#ifndef PHX_NODE_PLAN_H
#define PHX_NODE_PLAN_H

#include "types/node.h"

#define PHX_SYSTEM_DISK_MIN (1ULL << 30)

struct phx_plan_request {
	const struct phx_node *node;
	const struct phx_role *from; /* what the node runs now; NULL = nothing */
	const struct phx_role *to;   /* NULL = release to the free pool */
	const char *to_pool;
	struct phx_setup setup; /* effective: what must be done now; method AUTO is resolved here */
	/* the method is an agreement's, nobody ordered it for this node: where `crypto` has no key
	 * to destroy, a plain disk gets the best method it can do */
	bool agreed;
	bool encrypt;         /* deploy the root encrypted */
	bool rebuild;         /* write the image even if it is there */
	bool power_cycle;     /* prove clean from reset: no kexec */
	bool deploy_env_only; /* resume from quarantine: end in the deploy initramfs */
};

/** `plan_handover(from, to, setup policy, node facts) → steps`: pure, the same for --dry-run and
 * the daemon. ret (caller owns: phx_record_fini(&phx_plan_record, ret)) has no ids and epoch 0. An
 * encrypted node that is down and has no BMC, to be erased and given no role: the plan is
 * `destroy_key` alone, tier none; it leaves key_unread behind, and no further step when that is so
 * already. -EOPNOTSUPP a disk cannot do the method (names disk and what it can do), -EHOSTUNREACH
 * the node must be booted and has no BMC, -EINVAL the facts are ambiguous (two disks of one id),
 * -ENODEV no disk. Zero steps = nothing to do. */
int phx_plan_handover(const struct phx_plan_request *q, struct phx_plan *ret, struct phx_err *err);

/** The steps that take `role`'s work off a node that goes on running it (maintenance): none where
 * it has no jobs and no balancer. Added to plan->steps, and their time. -ENOMEM. */
int phx_plan_drain(const struct phx_role *role, struct phx_plan *plan);

#endif
