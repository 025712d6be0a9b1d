/* The plan of a hand-over: the steps that lead a node from its present role to the next one. Called
 * by the core, for a hand-over and for --dry-run. Pure. */
#ifndef PHX_NODE_PLAN_H
#define PHX_NODE_PLAN_H

#include "types/node.h"

#define PHX_SYSTEM_DISK_MIN (1ULL << 30)

struct phx_plan_request {
	const struct phx_node *node;
	const struct phx_role *from; /* what the node runs now; NULL = nothing */
	const struct phx_role *to;   /* NULL = release to the free pool */
	const char *to_pool;
	struct phx_setup setup; /* what must be done now; the plan resolves method AUTO */
	/* the method comes from an agreement, not from an order for this node: if `crypto` has no
	 * key to destroy, a plain disk gets the best method it can do */
	bool agreed;
	/* erases are planned again by what the deploy environment sees; false: as in journals of
	 * before */
	bool looks;
	bool apart;           /* an erase would be between two owners */
	bool rekey;           /* another owner had the node: it gets a new key where it stays up */
	bool encrypt;         /* deploy the root encrypted */
	bool rebuild;         /* write the image even if it is there */
	bool power_cycle;     /* start from reset, no kexec */
	bool deploy_env_only; /* resume from quarantine: end in the deploy initramfs */
};

/** `plan_handover(from, to, setup policy, node facts) → steps`: pure, the same for --dry-run and
 * the daemon. The caller frees *ret by phx_record_fini(&phx_plan_record, ret); its steps have no
 * ids, its epoch is 0. An encrypted node that is down, has no BMC, and is to be erased without a
 * new role gets the plan `destroy_key` alone, tier none; no step when that is done already
 * (key_unread). -EOPNOTSUPP a disk cannot do the method (the text names the disk and what it can
 * do), -EHOSTUNREACH the node must be booted and has no BMC, -EINVAL the facts are ambiguous (two
 * disks of one id), -ENODEV no disk. Zero steps = nothing to do. */
int phx_plan_handover(const struct phx_plan_request *asked, struct phx_plan *ret,
		      struct phx_err *err);

/** Adds the steps that take the work of `role` off a node which keeps the role (maintenance) to
 * plan->steps, and their time. Adds none if the role has no jobs and no balancer. -ENOMEM. */
int phx_plan_drain(const struct phx_role *role, struct phx_plan *plan);

#endif
