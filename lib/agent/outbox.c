/* See outbox.h. One worker at a time, with a connection of its own, so that a beat which the head
 * holds back never delays a result. What is sent when, and what is sent again, is for
 * result_queue.c. */
#include "agent/outbox.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "agent/decide.h"
#include "agent/job_book.h"
#include "agent/log.h"
#include "agent/result_queue.h"
#include "types/told.h"

enum { TIMEOUT_MS = 10000, IDLE_CLOSE_MS = 15000 };

/* One message: the body of an item of the queue. */
struct item {
	struct result_subject about;
	json_t *message;
	char *upload; /* NULL none */
	outbox_before_fn before;
	outbox_done_fn done;
	void *arg;
};

struct outbox {
	struct loop *loop;
	outbox_client_fn make_client;
	void *client_arg;
	struct phx_http_client *client; /* of the worker, while it sends */
	bool stale;                     /* the client uses an old key */
	sd_event_source *due;           /* when to try again, or to close an unused connection */
	struct result_queue queue;      /* its bodies are struct item */
};

static int upload(struct outbox *o, const struct item *it, struct phx_err *err)
{
	PHX_AUTO_FREE char *path =
		phx_path("/v1/agent/jobs/%" PRIu64 "/output?run=%u", it->about.id, it->about.run);
	PHX_AUTO_JSON json_t *answer = NULL;
	if (!it->upload || access(it->upload, R_OK) < 0)
		return 0;
	return path ? phx_http_upload(o->client, path, it->upload, &answer, err) : -ENOMEM;
}

/* A file that the job was to bring back is missing or refused: the message with the job's end says
 * so. */
static void tell_failure(const struct item *it, const struct phx_err *err)
{
	enum { NOT_BROUGHT_BACK = 125 };
	json_object_set_new(it->message, "text", json_string(err->text));
	if (phx_json_int(it->message, "result", 0) == 0)
		json_object_set_new(it->message, "result", json_integer(NOT_BROUGHT_BACK));
}

static int bring(struct outbox *o, const struct item *it, struct phx_err *err)
{
	int r = it->before ? it->before(it->arg, o->client, it->about.id, it->about.run, err) : 0;
	if (r < 0 && !decide_again(r)) {
		tell_failure(it, err);
		r = 0;
	}
	return r;
}

/* The end of a job is sent even if the head refuses its output. */
static int send_item(struct outbox *o, const struct item *it, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	int r = o->client ? 0 : o->make_client(o->client_arg, &o->client, err);
	if (r < 0)
		return -EAGAIN;
	r = upload(o, it, err);
	if (decide_again(r))
		return r;
	if (r < 0)
		agent_log("job %" PRIu64 ": its output was refused: %s", it->about.id, err->text);
	phx_err_clear(err);
	r = bring(o, it, err);
	if (r < 0)
		return r;
	phx_err_clear(err);
	return phx_http_call_json(o->client, "POST",
				  it->about.is_tasks ? "/v1/agent/tasks" : "/v1/agent/result",
				  it->message, TIMEOUT_MS, &answer, err);
}

static void item_free(struct item *it)
{
	json_decref(it->message);
	free(it->upload);
	free(it);
}

/* The first item was answered for good. In the worker, without the loop. */
static void finish(struct outbox *o, struct item *it, int r, const struct phx_err *err)
{
	if (r < 0)
		agent_log("%s %" PRIu64 ": result refused: %s",
			  it->about.is_tasks         ? "rows of tasks"
				  : it->about.is_job ? "job"
						     : "step",
			  it->about.id, err->text);
	if (it->done)
		it->done(it->arg, it->about.id, it->about.run);
	loop_hold(o->loop);
	result_queue_drop(&o->queue);
	loop_release(o->loop);
	item_free(it);
}

static struct item *first_item(struct outbox *o)
{
	struct result_item first;
	LOOP_HELD(o->loop);
	if (o->stale)
		phx_http_client_free(PHX_TAKE(o->client));
	o->stale = false;
	if (result_queue_first(&o->queue, &first))
		return first.body;
	loop_arm(o->loop, o->due, phx_clock_ms() + IDLE_CLOSE_MS);
	return NULL;
}

/* Is the first item to be sent again? */
static bool try_later(struct outbox *o, int r)
{
	LOOP_HELD(o->loop);
	uint32_t wait_ms = result_queue_answered(&o->queue, r);
	if (!wait_ms)
		return false;
	phx_http_client_free(PHX_TAKE(o->client));
	loop_arm(o->loop, o->due, phx_clock_ms() + wait_ms);
	return true;
}

/* In a worker: sends items until there is none or the head is away. */
static void send_items(void *arg)
{
	struct outbox *o = arg;
	for (struct item *it; (it = first_item(o));) {
		struct phx_err err = {0};
		int r = send_item(o, it, &err);
		if (try_later(o, r))
			return;
		finish(o, it, r, &err);
	}
}

static void begin_sending(struct outbox *o)
{
	int64_t due_ms = INT64_MAX;
	if (!result_queue_begin(&o->queue))
		return;
	if (loop_work(o->loop, send_items, o) < 0)
		due_ms = phx_clock_ms() + result_queue_put_off(&o->queue);
	loop_arm(o->loop, o->due, due_ms);
}

static void on_due(void *arg)
{
	struct outbox *o = arg;
	if (!o->queue.waits)
		phx_http_client_free(PHX_TAKE(o->client));
	result_queue_due(&o->queue);
	begin_sending(o);
}

int outbox_new(struct loop *loop, outbox_client_fn client, void *arg, struct outbox **ret,
	       struct phx_err *err)
{
	struct outbox *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	*o = (struct outbox){.loop = loop, .make_client = client, .client_arg = arg};
	result_queue_init(&o->queue);
	int r = loop_timer(loop, on_due, o, &o->due);
	if (r < 0) {
		free(o);
		return phx_err_set(err, r, "outbox: %s", strerror(-r));
	}
	*ret = o;
	return 0;
}

void outbox_open(struct outbox *o)
{
	LOOP_HELD(o->loop);
	result_queue_open(&o->queue);
	begin_sending(o);
}

void outbox_renew(struct outbox *o)
{
	LOOP_HELD(o->loop);
	o->stale = true;
}

int outbox_put(struct outbox *o, struct result_subject about, json_t *message, const char *upload,
	       outbox_before_fn before, outbox_done_fn done, void *arg)
{
	struct item *it = malloc(sizeof(*it));
	if (!it)
		return -ENOMEM;
	*it = (struct item){
		about, json_incref(message), upload ? strdup(upload) : NULL, before, done, arg};
	LOOP_HELD(o->loop);
	int r = upload && !it->upload ? -ENOMEM : result_queue_put(&o->queue, about, it);
	if (r < 0)
		item_free(it);
	else
		begin_sending(o);
	return r;
}

void outbox_refuse_job(struct outbox *o, uint64_t id, uint32_t run, const char *text)
{
	struct result_subject about = {.is_job = true, .id = id, .run = run};
	const struct phx_told_job told = {.kind = PHX_TOLD_JOB,
					  .job = id,
					  .run = run,
					  .result = JOB_STATUS_UNSTARTED,
					  .text = (char *)text};
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_told_job_record, &told);
	if (j)
		outbox_put(o, about, j, NULL, NULL, NULL, NULL);
}

bool outbox_has_step(struct outbox *o, uint64_t id)
{
	LOOP_HELD(o->loop);
	return result_queue_has_step(&o->queue, id);
}

uint32_t outbox_list(struct outbox *o, bool jobs, struct result_subject *ret, uint32_t max)
{
	LOOP_HELD(o->loop);
	return result_queue_list(&o->queue, jobs, ret, max);
}
