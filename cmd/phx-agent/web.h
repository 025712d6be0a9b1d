/* What a node is to a balancer: an instance of a web service (its virtual address, its share of the CPU), or the
 * balancer itself. Below --root nothing of the machine is touched: all this then does nothing. */
#ifndef PHX_AGENT_WEB_H
#define PHX_AGENT_WEB_H

#include <jansson.h>

#include "core/core.h"

struct web;

/** `touch`: may the machine's addresses, settings and balancer be changed. */
int web_new(bool touch, struct web **ret);

/* ---- web.c: an instance ---- */

/** Before the services of `role` start: its virtual address on lo, unheard by ARP. From now on its use is measured. A
 * role without `web`, again: nothing. */
int web_enter(struct web *w, const struct phx_role *role, struct phx_err *err);
/** After they have stopped, or in place of a start that failed. A role that is not entered: nothing but the address. */
int web_leave(struct web *w, const struct phx_role *role, struct phx_err *err);

/** Wait until no request comes any more and none is under way: nobody was connected to the virtual address for a
 * second. At most grace_ms; cancelled is asked often. 0 also when the grace time was up. */
int web_drain(struct web *w, const struct phx_role *role, uint32_t grace_ms, bool (*cancelled)(void *), void *arg,
	      struct phx_err *err);

/** Connections to ADDRESS:PORT in the text of /proc/net/tcp: how many are open, and how many ms ago the last one was
 * closed by us (UINT32_MAX: none in the last minute). */
void web_connections(const char *proc_net_tcp, const char *address, uint32_t port, uint32_t *ret_open,
		     uint32_t *ret_closed_ms);

/** Add `web_use_ppm` (use of the CPU share since the last call, millionths) of an entered role with a quota, and on a
 * director `balancer` (what its kernel has) to the monitor of a beat. One thread. */
void web_monitor(struct web *w, json_t *monitor);

/** Use of a share: `used_us` of CPU time in `passed_us`, against cpu_milli; at most 1,000,000, 0 of no share. */
uint32_t web_share_ppm(uint64_t used_us, uint64_t passed_us, uint32_t cpu_milli);

/* ---- director.c: the balancer ---- */

/** Make this node balance as the table says: module, virtual addresses, the kernel's table. Called again with every
 * order; what already is so is not touched. After a failure it is not in force. */
int director_apply(struct web *w, uint64_t id, const struct phx_web_table *table, struct phx_err *err);
/** Stop balancing: an empty table, no virtual address. A node that does not balance: nothing. */
int director_clear(struct web *w, struct phx_err *err);
/** Id of the table in force; 0 none. */
uint64_t director_id(struct web *w);
/** What the kernel has, as {"id", "services"}; NULL when this node does not balance. New reference. */
json_t *director_view(struct web *w);

#endif
