/* Results on their way to the head: kept and tried again until they are taken
 * or refused for good. */
#ifndef PHX_AGENT_OUTBOX_H
#define PHX_AGENT_OUTBOX_H

#include <jansson.h>

#include "http/http.h"

/** Makes a new client (caller frees it); called whenever there is none. */
typedef int (*outbox_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

struct outbox;
int outbox_new(outbox_client_fn client, void *arg, struct outbox **ret, struct phx_err *err);
/** What is not delivered yet is dropped: its files are still there, the head will ask again. */
void outbox_free(struct outbox *o);

/** What is called, from the outbox thread, once the message was taken or refused. */
typedef void (*outbox_done_fn)(void *arg, uint64_t id);

/** POST `message` (a new reference is taken) to /v1/agent/result. With `upload`, that file first goes to
 * /v1/agent/jobs/ID/output (a missing file is no error). `is_job` tells jobs' ids from steps'. */
int outbox_put(struct outbox *o, uint64_t id, bool is_job, json_t *message, const char *upload, outbox_done_fn done,
	       void *arg);

/** Ids of undelivered messages of one kind: up to `max`; returns how many there are. */
uint32_t outbox_ids(struct outbox *o, bool jobs, uint64_t *ret_ids, uint32_t max);

#endif
