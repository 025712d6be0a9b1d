/* Packages that this node has at hand before a step wants them: the head says which (order
 * "stock"), a thread of low priority fetches, verifies and unpacks them while no step is under way.
 * They are not activated. What was wanted and is not any more goes, unless the active role has it.
 * Full disks and a head that is away only make it wait. */
#ifndef PHX_AGENT_STOCK_H
#define PHX_AGENT_STOCK_H

#include <jansson.h>

#include "http/http.h"
#include "types/role.h"
#include "agent/config.h"

struct stock;

/** Makes a client, to be freed by who asked. */
typedef int (*stock_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

/** Takes up what an earlier agent was told and starts the thread. `cfg` is borrowed. */
int stock_new(const struct agent_config *cfg, stock_client_fn client, void *arg, struct stock **ret,
	      struct phx_err *err);
void stock_free(struct stock *s);

/** From now on these (struct phx_package_ref, copied), known by `id`. Written down; twice is
 * once. */
int stock_want(struct stock *s, uint64_t id, const struct phx_list *packages, struct phx_err *err);

/** Id of what is wanted; 0: nothing was told yet. NULL is an empty stock, here and below. */
uint64_t stock_id(struct stock *s);

/** Is the package's archive to stay when its role leaves? */
bool stock_keeps(struct stock *s, const struct phx_package_ref *p);

/** A step of `role` begins: the thread lets go of what it does (at once, or, where the step needs
 * just that, as soon as it has it) and does nothing until some seconds after stock_resume().
 * Returns when no package is being worked on. */
void stock_pause(struct stock *s, const struct phx_role *role);
void stock_resume(struct stock *s);

/** Adds "stock_wanted" and "stock_there", counts of packages, once something is wanted. */
void stock_monitor(struct stock *s, json_t *monitor);

#endif
