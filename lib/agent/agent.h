/* The agent itself: the state of its parts, which belongs to the loop (loop.h).
 *
 *	main     turns the loop: signals, watchdog, timers, descriptors
 *	link     enrol, hello, beat: one connection; hands orders on. It keeps a worker for
 *	         good, since the head holds its calls back
 *	worker   carries out steps, one at a time
 *	outbox   brings results to the head
 *	prefetch    fetches packages of roles that may come next, and starts services ahead */
#ifndef PHX_AGENT_AGENT_H
#define PHX_AGENT_AGENT_H

#include <stdatomic.h>

#include "http/http.h"
#include "types/node.h"
#include "agent/accounts.h"
#include "agent/ahead.h"
#include "agent/config.h"
#include "agent/health.h"
#include "agent/jobs.h"
#include "agent/step_log.h"
#include "agent/logs.h"
#include "agent/loop.h"
#include "agent/neighbors.h"
#include "agent/outbox.h"
#include "agent/power_button.h"
#include "agent/service.h"
#include "agent/site.h"
#include "agent/prefetch.h"
#include "agent/tasks.h"
#include "agent/web.h"
#include "agent/worker.h"

struct agent {
	struct agent_config cfg;
	struct loop *loop;
	enum phx_node_env env;
	char boot_id[40];
	struct step_log step_log; /* the link keeps epochs, the worker puts results */
	struct services *services;
	struct health *health;
	struct jobs *jobs;
	struct tasks *tasks;
	struct accounts *accounts; /* NULL in the deploy environment */
	struct site *site;         /* the same */
	struct web *web;
	struct outbox *outbox;
	struct prefetch *prefetch;
	struct ahead *ahead; /* NULL in the deploy environment */
	struct logs *logs;
	struct neighbors *neighbors;
	struct power_button *power_button; /* NULL: the agent has no whole machine */
	struct worker *worker;
	atomic_bool stop;
	atomic_bool leave; /* deploy: /run/phoenix/next is written, end with status 0 */
	/* how many new keys the node got while this agent ran: connections under an older key must
	 * be made anew */
	atomic_uint keys;
	int64_t beacon_due_ms; /* of the link: not before then comes the next beacon */
	/* guarded by the loop: */
	char node[PHX_NAME_MAX]; /* the node's name, from the head; "" before hello */
	struct phx_facts facts;  /* as last read */
	char trouble[160];       /* for people: why this node cannot start its system; "" none */
};

/** A client with the node's certificate, for one worker; the caller frees it. */
int agent_client(void *agent, struct phx_http_client **ret, struct phx_err *err);

/** Does the agent stop? Workers end their waits then. */
static inline bool agent_stopping(struct agent *a)
{
	return atomic_load(&a->stop);
}
/** Sleep until `ms` passed or the agent stops. */
void agent_wait_ms(struct agent *a, uint32_t ms);

/** Copy of the node's name. */
void agent_node_name(struct agent *a, char ret[PHX_NAME_MAX]);
/** Set the text that each beat reports: why this node cannot start its system; NULL = none. */
void agent_set_trouble(struct agent *a, const char *text);

/** Called once the services of `role` run and are healthy: sets their quota (web.cpu_milli), and
 * begins to measure their use of it, or, without a quota, of all CPUs of the node. Does nothing for
 * a role without services, or when called again. */
int agent_limit(struct agent *a, const struct phx_role *role, struct phx_err *err);

/** Read the facts of this machine (or the fixture) into a->facts. 1: they changed, 0: they did
 * not. */
int agent_read_facts(struct agent *a, struct phx_err *err);

#endif
