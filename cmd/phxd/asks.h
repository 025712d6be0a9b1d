/* Questions of people that only agents can answer: asks.c. Included by daemon.h. */
#ifndef PHXD_ASKS_H
#define PHXD_ASKS_H

#include "http/http.h"
#include "types/order_kind.h"
#include "types/rights.h"

struct daemon;
struct asks;

/** One kind of question: constant. */
struct asks_kind {
	enum phx_order_kind order; /* its name is also that of the member that has the question */
	enum phx_right right;
	/* may the sender of `q` ask this node? 0, or an error with a text. Called again whenever
	 * rights change */
	int (*may)(struct daemon *d, struct phx_http_request *q, const char *node,
		   struct phx_err *err);
};

struct asks_wish {
	const struct asks_kind *kind;
	const char *node;
	json_t *words;   /* the question; taken */
	json_t *frame;   /* members to add to the agent's answer; taken, may be NULL */
	int64_t wait_ms; /* for which the agent may hold back its answer */
	unsigned rights; /* daemon.rights from before `may` was called */
};

int asks_new(struct daemon *d, struct asks **ret);
/** Answers all held requests; none is held after that. Safe on NULL and twice. */
void asks_stop(struct asks *k);
/** Call it after asks_stop(), when no other thread uses `k`. Safe on NULL. */
void asks_free(struct asks *k);
/** Rights have changed. Returns at once. */
void asks_wake(struct asks *k);
/** Appends the questions for the agent of `node` that were not sent yet to its orders in `b`. */
void asks_orders_put(struct asks *k, const char *node, struct phx_buf *b);
/** Suspends `q` until the agent has answered: 503 if it does not, 409 if too many ask. */
void asks_put(struct asks *k, struct phx_http_request *q, const struct asks_wish *wish);
/** A node answers question `id`; ignored if it was not asked one of that kind. `error`, or "" and
 * `answer` (borrowed; the frame is put into it). */
void asks_told(struct asks *k, const struct asks_kind *kind, const char *node, uint64_t id,
	       const char *error, json_t *answer);

#endif
