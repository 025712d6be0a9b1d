/* The role whose services run ahead on this node: idle, beside those of the active role, so that a
 * hand-over finds them running. The head names it (order "ahead"). The prefetch's worker starts the
 * services when their packages are there and no step is under way, and stops them when another
 * role, or none, is named. The step that starts this role takes them over. */
#ifndef PHX_AGENT_AHEAD_H
#define PHX_AGENT_AHEAD_H

#include <jansson.h>

#include "types/role.h"
#include "agent/config.h"
#include "agent/loop.h"

struct ahead;
struct services;

/** Reads what an earlier agent started. All but `ret` and `err` are borrowed. */
int ahead_new(struct loop *loop, const struct agent_config *cfg, struct services *services,
	      struct ahead **ret, struct phx_err *err);
/** Stops no service: services that run ahead go on, or end with `services`. Safe on NULL. */
void ahead_free(struct ahead *a);

/** From now on this role (copied), which the head knows by `id`, is wanted ahead; a role named "":
 * none. Starts and stops nothing yet. Safe twice. -EOPNOTSUPP: `a` is NULL, as in the deploy
 * environment. */
int ahead_want(struct ahead *a, uint64_t id, const struct phx_role *role, struct phx_err *err);
/** Id of the wanted role; 0: the head has named none since this agent began, or a step has started
 * a role since. */
uint64_t ahead_id(struct ahead *a);

/** Stop services that are wanted no more. This function and the next are called in a worker, while
 * no step is under way. Safe on NULL. */
void ahead_stop_unwanted(struct ahead *a);
/** Start the services of the wanted role, if its packages are unpacked, and if the active role has
 * no service of the same name. Safe on NULL. */
void ahead_start_wanted(struct ahead *a);

/** Called when a step starts `role`: from now on nothing is wanted ahead. Services that run ahead
 * of another role are stopped; those of this role go on, and services_start() takes them over. Safe
 * on NULL. */
int ahead_over(struct ahead *a, const struct phx_role *role, struct phx_err *err);

/** Adds "ahead", the name of the role whose services run ahead, if any do. Safe on NULL. */
void ahead_monitor(struct ahead *a, json_t *monitor);

#endif
