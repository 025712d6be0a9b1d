/* The role's health check, repeated: http, tcp or a program. */
#ifndef PHX_AGENT_HEALTH_H
#define PHX_AGENT_HEALTH_H

#include "types/role.h"

/** Run the check of `role` once, within its timeout. 0 healthy, negative with a text that says why
 * not. Kind none is healthy. A relative program is looked for in the role's packages below
 * `pkg_root`. */
int health_check(const struct phx_role *role, const char *pkg_root, struct phx_err *err);

/** Does anybody accept connections where the check of `role` would ask? Cheap, for who waits for
 * that. 0 also where the check asks nobody. */
int health_listens(const struct phx_role *role, struct phx_err *err);

struct health;

/** Starts the checking thread; it checks nothing until health_watch(). */
int health_new(const char *pkg_root, struct health **ret, struct phx_err *err);
void health_free(struct health *h);

/** From now on check this role (copied); NULL = none, which counts as healthy. The verdict starts
 * unknown (not healthy). */
int health_watch(struct health *h, const struct phx_role *role, struct phx_err *err);

/** The verdict: one success makes healthy, `failures` in a row unhealthy. Text of the last
 * failure. */
bool health_ok(struct health *h, char *ret_text, size_t ret_size);

/** Take a success from elsewhere (the health step) for the watched role. */
void health_passed(struct health *h);

#endif
