/* Results on their way to the head: kept and tried again until they are taken
 * or refused for good. */
#ifndef PHX_AGENT_OUTBOX_H
#define PHX_AGENT_OUTBOX_H

#include <jansson.h>

#include "http/http.h"

/** Makes a new client (caller frees it); called whenever there is none. */
typedef int (*outbox_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

struct outbox;
/** An outbox that keeps what is put into it until it is opened. */
int outbox_new(outbox_client_fn client, void *arg, struct outbox **ret, struct phx_err *err);
/** Messages go out from here on: not before the head knows of this boot, or what ended with the one
 * before would be counted twice. Calling it again changes nothing. */
void outbox_open(struct outbox *o);

/** What is called, from the outbox thread, once the message was taken or refused. */
typedef void (*outbox_done_fn)(void *arg, uint64_t id, uint32_t run);

/** What a message is about: a step, or one run of a job (ids of both count apart). */
struct outbox_subject {
	bool is_job;
	uint64_t id;
	uint32_t run; /* of the job */
};

/** Called from the outbox thread before the message goes out, again with every try: what else of
 * its subject is to reach the head first. What it cannot do for good becomes the message's text,
 * and its result 125 if that was 0. */
typedef int (*outbox_before_fn)(void *arg, struct phx_http_client *c, uint64_t id, uint32_t run,
				struct phx_err *err);

/** POST `message` (a new reference is taken) to /v1/agent/result. With `upload`, that file first
 * goes to /v1/agent/jobs/ID/output?run=RUN (a missing file is no error). `before` and `done` may be
 * NULL. */
int outbox_put(struct outbox *o, struct outbox_subject about, json_t *message, const char *upload,
	       outbox_before_fn before, outbox_done_fn done, void *arg);

/** Subjects of undelivered messages of one kind: up to `max`; returns how many there are. */
uint32_t outbox_list(struct outbox *o, bool jobs, struct outbox_subject *ret, uint32_t max);

#endif
