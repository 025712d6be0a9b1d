/* Prefetch: packages that this node has before a step needs them. The head names them (order
 * "prefetch"); a worker of low priority fetches, verifies and unpacks them while no step is under
 * way. It activates none. Packages that are not wanted any more are removed, unless the active role
 * has them. If a disk is full or the head is away, it only waits. */
#ifndef PHX_AGENT_PREFETCH_H
#define PHX_AGENT_PREFETCH_H

#include <jansson.h>

#include "http/http.h"
#include "types/role.h"
#include "agent/ahead.h"
#include "agent/config.h"
#include "agent/loop.h"

struct prefetch;

/** Makes a client; the caller frees it. */
typedef int (*prefetch_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

/** Reads the list that an earlier agent recorded, and begins. `loop`, `cfg` and `ahead` (NULL:
 * none) are borrowed; the role of `ahead` is started when its packages are there. */
int prefetch_new(struct loop *loop, const struct agent_config *cfg, struct ahead *ahead,
		 prefetch_client_fn client, void *arg, struct prefetch **ret, struct phx_err *err);
void prefetch_free(struct prefetch *s);

/** From now on these packages are wanted (struct phx_package_ref, copied), a list that the head
 * knows by `id`. The list is recorded on disk. Safe twice. -EOPNOTSUPP: `s` is NULL. */
int prefetch_want(struct prefetch *s, uint64_t id, const struct phx_list *packages,
		  struct phx_err *err);

/** Called when another role is wanted ahead: the worker looks once no step was under way for a
 * while. Safe on NULL. */
void prefetch_look_ahead(struct prefetch *s);

/** Id of the wanted list; 0: the head gave none yet. `s` NULL counts as empty, here and below. */
uint64_t prefetch_id(struct prefetch *s);

/** Must the package's archive stay when its role leaves? */
bool prefetch_keeps(struct prefetch *s, const struct phx_package_ref *p);

/** A step of `role` begins: the worker stops its work, at once or, if the step needs the package
 * that it works on, when that package is there. It rests until some seconds after
 * prefetch_resume(). Returns when the worker rests. */
void prefetch_pause(struct prefetch *s, const struct phx_role *role);
void prefetch_resume(struct prefetch *s);

/** Adds "prefetch_wanted" and "prefetch_there", counts of packages, once the head gave a list. */
void prefetch_monitor(struct prefetch *s, json_t *monitor);

#endif
