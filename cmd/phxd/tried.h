/* The dry run of an order on nodes. Called by api_write.c; not to be held under the engine's
 * lock. */
#ifndef PHX_PHXD_TRIED_H
#define PHX_PHXD_TRIED_H

#include "base/nodeset.h"
#include "deploy/store.h"
#include "phxd/daemon.h"

/** The last image that was looked up: most nodes of a request want the same one. */
struct tried_image {
	char name[PHX_NAME_MAX], version[PHX_NAME_MAX]; /* "": nothing was looked up yet */
	int code;
	struct phx_err err;
	struct phx_image image;
};

/** What is common to all nodes of a request. Zero-initialise but for `d` and `ev`, borrowed. */
struct tried {
	struct daemon *d;
	struct phx_event *ev;
	bool ends_only; /* a dry run tells only of nodes on which something ends */
	struct tried_image image, deploy;
};
void tried_fini(struct tried *rq);

/** Appends to `results` the plan that the order would begin on each node. Always 0. */
int tried_plan_all(struct tried *rq, const struct phx_nodeset *names, json_t *results);
/** Tries the order for all nodes one after the other on one copy of the state, as it would be
 * carried out, and appends what it would do. -ENOMEM. */
int tried_all(struct tried *rq, const struct phx_nodeset *names, json_t *results);
/** Refuses an order on the event's node that cannot even begin, and would fail where nobody looks:
 * a power operation without its driver, an image that is incomplete. All else is left to the
 * core. */
int tried_begins(struct tried *rq, struct phx_err *err);

#endif
