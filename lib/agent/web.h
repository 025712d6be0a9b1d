/* What a node is to a balancer: an instance of a web service (its virtual address, its share of the
 * CPU), or the balancer itself. Below --root nothing of the machine is touched: all this then does
 * nothing. */
#ifndef PHX_AGENT_WEB_H
#define PHX_AGENT_WEB_H

#include <jansson.h>

#include "state/order.h"

struct services;
struct web;

/** `touch`: may the machine's addresses, settings and balancer be changed. */
int web_new(bool touch, struct web **ret);
/** What is in force stays so. NULL is fine. */
void web_free(struct web *w);

/* ---- web.c: an instance ---- */

/** Before the services of `role` start: its virtual address on lo, unheard by ARP. A role without
 * an address, again: nothing. */
int web_enter(struct web *w, const struct phx_role *role, struct phx_err *err);
/** After they have stopped, or in place of a start that failed. A role that is not entered: nothing
 * but the address. */
int web_leave(struct web *w, const struct phx_role *role, struct phx_err *err);

/** Its services serve, and have their quota if they have one: from now on their use is measured
 * against so many thousandths of a CPU. */
void web_measure(struct web *w, uint32_t whole_milli);
/** Has this been said of an instance that has not left since? */
bool web_measures(struct web *w);

/** What web_drain() asks of who calls it. */
struct web_drain_calls {
	bool (*wait_ms)(void *arg, uint32_t ms); /* sleeps; true when the drain is given up */
	/* clients that had nothing to say for a second are still connected, and all that came is
	 * accepted: called once, to have the services let them go */
	int (*let_go)(void *arg, struct phx_err *err);
	void *arg;
};

/** Wait until no request comes any more and none is under way: nobody was connected to the virtual
 * address for a second. At most grace_ms. 0 also when the grace time was up. */
int web_drain(struct web *w, const struct phx_role *role, uint32_t grace_ms,
	      const struct web_drain_calls *calls, struct phx_err *err);

/** Who is connected to one address and port. */
struct web_connections {
	uint32_t open;
	/* of these, not taken by the service yet; of all addresses with the port */
	uint32_t unaccepted;
	/* how long ago the last one was closed by us; UINT32_MAX: none in the last minute */
	uint32_t closed_ms;
};
/** Connections to ADDRESS:PORT in the text of /proc/net/tcp. */
void web_connections(const char *proc_net_tcp, const char *address, uint32_t port,
		     struct web_connections *ret);

/** Add `web_use_ppm` (use since the last call, millionths of the whole) or `web_use_error` (why it
 * is not known) of what is measured, and on a director `balancer` (what its kernel has) to the
 * monitor of a beat. One thread. */
void web_monitor(struct web *w, struct services *services, json_t *monitor);

/** Use of a share: `used_us` of CPU time in `passed_us`, against whole_milli; at most 1,000,000, 0
 * of no share. */
uint32_t web_share_ppm(uint64_t used_us, uint64_t passed_us, uint32_t whole_milli);

/* ---- director.c: the balancer ---- */

/** Make this node balance as the table says: module, virtual addresses, the kernel's table. Called
 * again with every order; what already is so is not touched. After a failure it is not in force. */
int director_apply(struct web *w, uint64_t id, const struct phx_web_table *table,
		   struct phx_err *err);
/** The head has answered; it does so every beat_ms. */
void director_heard(struct web *w, uint32_t beat_ms);
/** Why an address was given up, for the next report; "" none, or the head was told and has given a
 * table since. */
enum { DIRECTOR_NOTE_MAX = 160 };
void director_note(struct web *w, char ret[DIRECTOR_NOTE_MAX]);
/** A report with this text has arrived. (One that was on its way when the address was given up says
 * nothing of it.) */
void director_told(struct web *w, const char *text);
/** Stop balancing: an empty table, no virtual address. A node that does not balance: nothing. */
int director_clear(struct web *w, struct phx_err *err);
/** Id of the table in force; 0 none. */
uint64_t director_id(struct web *w);
/** What the kernel has, as {"id", "services"}; NULL when this node does not balance. New
 * reference. */
json_t *director_view(struct web *w);

#endif
