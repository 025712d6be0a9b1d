/* Metrics for Prometheus (lib/metrics): counters and histograms of what happens, since phxd
 * started, and the answers to who scrapes. One rendering serves all for metrics_keep_s seconds. All
 * but metrics_new() and metrics_free() are called on any thread, whatever it has locked, and return
 * at once; metrics_reply() on a thread for reads. */
#ifndef PHXD_METRICS_H
#define PHXD_METRICS_H

#include "phxd/daemon.h"

/** What a request is, by its route. */
#define METRICS_CLASSES(C) C(agent) C(beat) C(file) C(look) C(read) C(write) C(none)
enum metrics_class {
#define C(name) METRICS_##name,
	METRICS_CLASSES(C)
#undef C
		METRICS_N_CLASSES
};

int metrics_new(struct daemon *d, struct metrics **ret);
/** When nobody calls any more. Safe on NULL. */
void metrics_free(struct metrics *m);

/** Steps that ended (struct phx_step_end), once their event is committed. m may be NULL: before the
 * start. */
void metrics_ended(struct metrics *m, const struct phx_list *ended);
/** An action is carried out: erases are counted by it. */
void metrics_action(struct metrics *m, const struct phx_action *act);
/** A node's beat was taken, within `us`, and what it says of its machine. */
void metrics_beat(struct metrics *m, const char *node, const struct beat_figures *f, int64_t us);
/** An order left for an agent; `kind`: enum phx_order_kind. */
void metrics_order(struct metrics *m, int kind);
/** A power act is over. */
void metrics_power(struct metrics *m, enum phx_power_op op, bool failed);
/** A request was answered. `held`: it had been held until something happened. */
void metrics_answered(struct metrics *m, enum metrics_class of, unsigned status, int64_t us,
		      bool held);

/** Answers with the page (from 1): the first has everything of the head, each the rows of
 * metrics_nodes nodes. For who has the right `metrics`. */
void metrics_reply(struct metrics *m, struct phx_http_request *q, uint32_t page);

/* routes.c */
/** The class of a route; NULL: of what has none. */
enum metrics_class routes_class(const struct phx_http_route *route);

#endif
