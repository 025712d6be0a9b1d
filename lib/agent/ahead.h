/* The role whose services run ahead on this node: idle, beside those of the active role, so that a
 * hand-over finds them running. The head names it (order "ahead"); the prefetch's worker starts
 * them when their packages are there and no step is under way, and stops them when another role, or
 * none, is named. The step that starts the very role takes them over. */
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
/** What runs goes on, or ends with the services. Safe on NULL. */
void ahead_free(struct ahead *a);

/** From now on this role (copied) is wanted ahead, known by `id`; named "": none. Starts and stops
 * nothing yet. Safe twice. -EOPNOTSUPP: `a` is NULL, as in the deploy environment. */
int ahead_want(struct ahead *a, uint64_t id, const struct phx_role *role, struct phx_err *err);
/** Id of the wanted role; 0: the head has said nothing since this agent began. */
uint64_t ahead_id(struct ahead *a);

/** Stop what is wanted no more; in a worker while no step is under way, as is the next. Safe on
 * NULL. */
void ahead_stop_unwanted(struct ahead *a);
/** Start what is wanted, if its packages are there and it is not the active role. */
void ahead_start_wanted(struct ahead *a);

/** A step starts `role`: from now on nothing is wanted ahead. What runs ahead of another role is
 * stopped; of this one it goes on, for services_start(). Safe on NULL. */
int ahead_over(struct ahead *a, const struct phx_role *role, struct phx_err *err);

/** Adds "ahead", the name of the role whose services run ahead, if any do. */
void ahead_monitor(struct ahead *a, json_t *monitor);

#endif
