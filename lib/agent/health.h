/* The role's health check, repeated: http, tcp or a program. */
#ifndef PHX_AGENT_HEALTH_H
#define PHX_AGENT_HEALTH_H

#include "types/role.h"
#include "agent/loop.h"

/** Run the check of `role` once, within its timeout. 0: healthy (kind none always is); negative:
 * the text says why not. A relative program is searched in the role's packages below `pkg_root`. */
int health_check(const struct phx_role *role, const char *pkg_root, struct phx_err *err);

/** Does the target of the role's check accept connections? Cheap: for a loop that waits for it. 0
 * also when the check connects to no target. */
int health_listens(const struct phx_role *role, struct phx_err *err);

struct health;

/** Checks nothing until health_watch(). `loop` is borrowed. */
int health_new(struct loop *loop, const char *pkg_root, struct health **ret, struct phx_err *err);
/** Waits for a check under way. Safe on NULL. */
void health_free(struct health *h);

/** From now on check this role (copied), which counts as unhealthy until a check succeeds; NULL =
 * no role, which counts as healthy. */
int health_watch(struct health *h, const struct phx_role *role, struct phx_err *err);

/** The verdict: one success makes the role healthy, `failures` in a row make it unhealthy.
 * ret_text: the last failure. */
bool health_ok(struct health *h, char *ret_text, size_t ret_size);

/** Count a success that another caller (the step health) saw for the watched role. */
void health_passed(struct health *h);

#endif
