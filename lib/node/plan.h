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
	struct phx_setup setup; /* what must be done now; the plan chooses the method for AUTO */
	/* the method comes from an agreement, not from an order for this node: if `crypto` has no
	 * key to destroy, a plain disk gets the best method that it supports */
	bool agreed;
	/* the erases are planned again from what the deploy environment sees; false: not, as in
	 * older journals */
	bool looks;
	const struct phx_protect *protect; /* which disks are left alone; NULL: none */
	bool apart;                        /* an erase would be between two owners */
	bool rekey; /* another owner had the node: if it stays up it gets a new key */
	const char *deploy_kernel; /* release of the deploy image's; "" or NULL: not known */
	bool encrypt;              /* deploy the root encrypted */
	bool rebuild;              /* write the image even if it is there */
	bool power_cycle;          /* start from reset, no kexec */
	bool deploy_env_only;      /* resume from quarantine: end in the deploy initramfs */
};

/** `plan_handover(from, to, setup policy, node facts) → steps`: pure, the same for --dry-run and
 * the daemon. Zero steps: nothing to do. The caller frees *ret by phx_record_fini(&phx_plan_record,
 * ret); its steps have no ids yet, and its epoch is 0. If an encrypted node that is down and has no
 * BMC is to be erased without a new role, the plan is `destroy_key` alone, with tier none, or has
 * no step if that is done already (key_unread). Errors: -EOPNOTSUPP a disk does not support the
 * method (the text names the disk and what it supports), -EHOSTUNREACH the node must be started and
 * has no BMC, -EINVAL the facts are ambiguous (two disks of one id), -ENODEV no disk, or none
 * that is not protected, -EPERM the system is on a protected disk, or the disks hold another
 * layout, -ENOMEM, and those of phx_layout_decide(). */
int phx_plan_handover(const struct phx_plan_request *asked, struct phx_plan *ret,
		      struct phx_err *err);

/** Adds to plan->steps the steps that end the work of `role` on a node that keeps the role
 * (maintenance), and their time to the plan's. Adds none if the role has no jobs and no balancer.
 * -ENOMEM. */
int phx_plan_drain(const struct phx_role *role, struct phx_plan *plan);

/** The steps after which the node has started anew and serves role `to`, which it has, as before:
 * by kexec where its system runs, or by a power cycle. -EHOSTUNREACH it must be power cycled and
 * has no BMC, -ENOMEM. */
int phx_plan_reboot(const struct phx_plan_request *q, struct phx_plan *ret, struct phx_err *err);

/** Does a step of it take data from the node: an erase, the key of a disk, what jobs left in
 * scratch, or an image that is written over what was there? */
bool phx_plan_takes_data(const struct phx_plan *p);

#endif
