/* Results on their way to the head: each is kept and tried again until the head
 * takes it or refuses it for good. */
#ifndef PHX_AGENT_OUTBOX_H
#define PHX_AGENT_OUTBOX_H

#include <jansson.h>

#include "http/http.h"
#include "agent/loop.h"
#include "agent/result_queue.h"

/** Makes a new client, which the outbox frees; called whenever it has none. */
typedef int (*outbox_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

struct outbox;
/** An outbox that keeps what is put into it until it is opened. `loop` is borrowed. */
int outbox_new(struct loop *loop, outbox_client_fn client, void *arg, struct outbox **ret,
	       struct phx_err *err);
/** Let messages go out: only once the head knows of this boot, or jobs that ended with the last
 * boot would be counted twice. Safe twice. */
void outbox_open(struct outbox *o);

/** The node has another key: messages that go out from now on need a new client. */
void outbox_renew(struct outbox *o);

/** Called from a worker, once the message was taken or refused. */
typedef void (*outbox_done_fn)(void *arg, uint64_t id, uint32_t run);

/** Called from a worker before the message goes out, again with every try: brings the
 * files of the subject to the head. A final error becomes the message's text, and changes its
 * result from 0 to 125. */
typedef int (*outbox_before_fn)(void *arg, struct phx_http_client *c, uint64_t id, uint32_t run,
				struct phx_err *err);

/** POST `message` (a new reference is taken) to /v1/agent/result, or rows of tasks to
 * /v1/agent/tasks. The file `upload` (may be NULL; a
 * missing file is no error) goes to /v1/agent/jobs/ID/output?run=RUN first. `before` and `done` may
 * be NULL. */
int outbox_put(struct outbox *o, struct result_subject about, json_t *message, const char *upload,
	       outbox_before_fn before, outbox_done_fn done, void *arg);

/** Report that a job could not be started, with status 126 as of a shell. */
void outbox_refuse_job(struct outbox *o, uint64_t id, uint32_t run, const char *text);

/** result_queue_has_step(), result_queue_list(): of undelivered messages. */
bool outbox_has_step(struct outbox *o, uint64_t id);
uint32_t outbox_list(struct outbox *o, bool jobs, struct result_subject *ret, uint32_t max);

#endif
