/* Questions of people that agents alone can answer: asks.c. Included by daemon.h. */
#ifndef PHXD_ASKS_H
#define PHXD_ASKS_H

#include "http/http.h"
#include "types/rights.h"

struct daemon;
struct asks;

/** One kind of question: constant. */
struct asks_kind {
	const char *name; /* of the order, and of its member that says what is asked */
	enum phx_right right;
	/* may he who sent `q` ask this node so? Asked again whenever rights change: 0, or an error
	 * with a text */
	int (*may)(struct daemon *d, struct phx_http_request *q, const char *node,
		   struct phx_err *err);
};

struct asks_wish {
	const struct asks_kind *kind;
	const char *node;
	json_t *words;   /* what is asked; taken */
	json_t *frame;   /* members of the answer that the agent does not say; taken, may be NULL */
	int64_t wait_ms; /* for which the agent may hold it back */
	unsigned rights; /* daemon.rights as it was before `may` was asked */
};

int asks_new(struct daemon *d, struct asks **ret);
/** Answers all who wait; from then on nobody is held. Safe on NULL and twice. */
void asks_stop(struct asks *k);
/** After asks_stop() and when nobody asks any more. Safe on NULL. */
void asks_free(struct asks *k);
/** Rights have changed: returns at once. */
void asks_wake(struct asks *k);
/** Append questions for the agent of `node` that it was not told yet to its orders. */
void asks_orders_put(struct asks *k, const char *node, struct phx_buf *b);
/** Suspends `q`, which is answered once the agent has: 503 where it does not, 409 where too many
 * ask. */
void asks_put(struct asks *k, struct phx_http_request *q, const struct asks_wish *wish);
/** A node answers question `id`, if it was asked one of that kind: with an error, or "" and
 * `answer` (borrowed; the frame is put into it). */
void asks_told(struct asks *k, const struct asks_kind *kind, const char *node, uint64_t id,
	       const char *error, json_t *answer);

#endif
