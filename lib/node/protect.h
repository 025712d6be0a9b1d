/* Which disks of a node are protected, so that they are neither written nor erased. Pure. */
#ifndef PHX_NODE_PROTECT_H
#define PHX_NODE_PROTECT_H

#include "state/apply.h"

enum phx_protection {
	PHX_PROTECTION_NONE,
	PHX_PROTECTION_HOLDS, /* it is neither written nor erased, and the node passes */
	/* it is neither written nor erased, and the node does not pass: nothing that is proven says
	 * that it is protected, or it was not when it was seen before */
	PHX_PROTECTION_DOUBT,
};

/** What the head's settings and those of the site protect on the node, in `ret`; returns it, or
 * NULL: nothing, in an older journal. */
const struct phx_protect *phx_protect_of(const struct phx_state *s, const struct phx_node *n,
					 struct phx_protect *ret);

/** Is the disk of the node with that id protected by `p`, or NULL? Judged by what a deploy
 * environment said of it after a start from reset (phx_known_disk, proven), not by what the
 * system of an owner says. ret_why: by which setting, unless NONE. */
enum phx_protection phx_protection_of(const struct phx_node *n, const struct phx_protect *p,
				      const char *id, char ret_why[PHX_PROTECTED_WHY_MAX]);

/** Are the last words of the node on its disks those of a machine that the head has had reset, or
 * that had no owner yet? */
bool phx_facts_proven(const struct phx_node *n);

/** Does a disk that the node reports say that it is protected, while nothing proves it? */
bool phx_protection_doubted(const struct phx_node *n, const struct phx_protect *p);

/** Notes in the plan that the disk is left alone; twice is once. -ENOMEM. */
int phx_plan_leave(struct phx_plan *plan, const char *id, const char *why);

/** May the step that is to be issued write to its disk (or has it none)? It must name exactly one
 * disk among those that the machine reports now (faults.md 12), and none that is protected or may
 * be. ret_why: why not. */
bool phx_may_write(const struct phx_apply *a, const struct phx_node *n, const struct phx_step *step,
		   char *ret_why, size_t size);

#endif
