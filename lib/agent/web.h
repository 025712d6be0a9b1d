/* What a node does for web services: as an instance (its virtual address, its share of the CPU), or
 * as the balancer. An agent with --root changes no addresses and settings of the machine: these
 * calls then do nothing. */
#ifndef PHX_AGENT_WEB_H
#define PHX_AGENT_WEB_H

#include <jansson.h>

#include "state/order.h"
#include "agent/loop.h"

struct services;
struct web;

/** `touch`: may the machine's addresses, settings and balancer be changed? `loop` is borrowed.
 * -ENOMEM. */
int web_new(struct loop *loop, bool touch, struct web **ret);
/** Addresses, settings and table of the machine stay. Safe on NULL. */
void web_free(struct web *w);

/* ---- web.c: an instance ---- */

/** Called before the services of `role` start: puts its virtual addresses on lo, where ARP does not
 * answer for them. Does nothing for a role without an address. Safe twice. */
int web_enter(struct web *w, const struct phx_role *role, struct phx_err *err);
/** Called after the services have stopped, or when their start failed: removes the address and ends
 * the measurement. Safe for a role that was not entered. */
int web_leave(struct web *w, const struct phx_role *role, struct phx_err *err);

/** Called once the services run, with their quota if the role has one: from now on their use is
 * measured against whole_milli thousandths of a CPU. */
void web_measure(struct web *w, uint32_t whole_milli);
/** Is the use of an instance being measured? */
bool web_measures(struct web *w);

/** Functions that web_drain() needs from its caller. */
struct web_drain_calls {
	bool (*wait_ms)(void *arg, uint32_t ms); /* sleeps; true when the drain is given up */
	/* called once, when clients are still connected after a second and no connection waits to
	 * be accepted: has the services close them */
	int (*let_go)(void *arg, struct phx_err *err);
	void *arg;
};

/** Wait until no request comes any more and none is under way: no client was connected to the
 * virtual address for a second. Waits at most grace_ms. 0 also when the grace time was up;
 * -ECANCELED: given up. */
int web_drain(struct web *w, const struct phx_role *role, uint32_t grace_ms,
	      const struct web_drain_calls *calls, struct phx_err *err);

/** Connections to one address and port. */
struct web_connections {
	uint32_t open;
	/* connections that the service has not accepted yet, of all addresses with the port */
	uint32_t unaccepted;
	/* how long ago this node closed the last one; UINT32_MAX: none in the last minute */
	uint32_t closed_ms;
};
/** Connections to ADDRESS:PORT in the text of /proc/net/tcp. */
void web_connections(const char *proc_net_tcp, const char *address, uint32_t port,
		     struct web_connections *ret);

/** Add to the monitor of a beat: `web_use_ppm` (use since the last call, millionths of the whole)
 * or `web_use_error` (why it is not known) if use is measured, and on a director `balancer` (its
 * kernel's table). For the link alone. */
void web_monitor(struct web *w, struct services *services, json_t *monitor);

/** Use of a share of the CPU, millionths: `used_us` of CPU time in `passed_us`, against
 * whole_milli; at most 1,000,000; 0 if the share is 0. */
uint32_t web_share_ppm(uint64_t used_us, uint64_t passed_us, uint32_t whole_milli);

/* ---- director.c: the balancer ---- */

/** Make this node balance by the table: loads the module, takes its share of the virtual addresses,
 * sets the kernel's table, tells the other directors of connections and hears of theirs. Called
 * again with every order; changes only differences. After a failure the table is not in force. */
int director_apply(struct web *w, uint64_t id, const struct phx_web_table *table,
		   const struct phx_web_share *share, struct phx_err *err);
/** The head has answered; it answers every beat_ms. */
void director_heard(struct web *w, uint32_t beat_ms);
/** Why an address was given up, for the next report; "" if none was, or the head got the report and
 * has given a table since. */
enum { DIRECTOR_NOTE_MAX = 160 };
void director_note(struct web *w, char ret[DIRECTOR_NOTE_MAX]);
/** A report with this text has arrived. (A report that was on its way when the address was given up
 * has another text.) */
void director_told(struct web *w, const char *text);
/** Stop balancing: empty table, no virtual address of it, nothing told and nothing heard of
 * connections. Also what an agent of before began. */
int director_clear(struct web *w, struct phx_err *err);
/** Id of the table in force; 0 none. */
uint64_t director_id(struct web *w);
/** The kernel's table as {"id", "services"}, a new reference; NULL: this node does not balance. */
json_t *director_view(struct web *w);

#endif
