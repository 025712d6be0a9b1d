/* See outbox.h. One thread with its own connection, so that a beat which the head
 * holds back never delays a result. */
#include "agent/outbox.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "agent/decide.h"
#include "agent/log.h"

enum { TIMEOUT_MS = 10000, RETRY_MS = 500, RETRY_MAX_MS = 4000, IDLE_CLOSE_MS = 15000 };

struct item {
	struct outbox_subject about;
	json_t *message;
	char *upload; /* NULL none */
	outbox_before_fn before;
	outbox_done_fn done;
	void *arg;
};

struct outbox {
	outbox_client_fn make_client;
	void *client_arg;
	struct phx_http_client *client; /* of the thread */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool quit, open;
	struct phx_list items; /* struct item, the first is being sent */
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
	return phx_http_call_json(o->client, "POST", "/v1/agent/result", it->message, TIMEOUT_MS,
				  &answer, err);
}

static void item_fini(struct item *it)
{
	json_decref(it->message);
	free(it->upload);
}

/* Removes the first item, which was answered. */
static void finish(struct outbox *o, int r, const struct phx_err *err)
{
	struct item it = *PHX_LIST_AT(&o->items, struct item, 0);
	if (r < 0)
		agent_log("%s %" PRIu64 ": result refused: %s", it.about.is_job ? "job" : "step",
			  it.about.id, err->text);
	pthread_mutex_unlock(&o->lock);
	if (it.done)
		it.done(it.arg, it.about.id, it.about.run);
	pthread_mutex_lock(&o->lock);
	phx_list_remove(&o->items, sizeof(it), 0);
	item_fini(&it);
}

static void wait_ms(struct outbox *o, uint32_t ms)
{
	int64_t due_ms = phx_clock_ms() + ms;
	while (!o->quit && phx_cond_until(&o->changed, &o->lock, due_ms))
		;
}

static void wait_item(struct outbox *o)
{
	int64_t close_ms = phx_clock_ms() + IDLE_CLOSE_MS;
	while (!o->quit && (!o->items.n || !o->open)) {
		if (phx_cond_until(&o->changed, &o->lock, o->client ? close_ms : INT64_MAX))
			continue;
		phx_http_client_free(o->client);
		o->client = NULL;
	}
}

static void *run_thread(void *arg)
{
	struct outbox *o = arg;
	uint32_t retry_ms = RETRY_MS;
	pthread_mutex_lock(&o->lock);
	for (;;) {
		struct phx_err err = {0};
		wait_item(o);
		if (o->quit)
			break;
		struct item it = *PHX_LIST_AT(&o->items, struct item, 0);
		pthread_mutex_unlock(&o->lock);
		int r = send_item(o, &it, &err);
		pthread_mutex_lock(&o->lock);
		if (!decide_again(r)) {
			finish(o, r, &err);
			retry_ms = RETRY_MS;
			continue;
		}
		phx_http_client_free(o->client);
		o->client = NULL;
		wait_ms(o, retry_ms);
		retry_ms = retry_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : retry_ms * 2;
	}
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

int outbox_new(outbox_client_fn client, void *arg, struct outbox **ret, struct phx_err *err)
{
	struct outbox *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->make_client = client;
	o->client_arg = arg;
	pthread_mutex_init(&o->lock, NULL);
	phx_cond_init(&o->changed);
	int r = -pthread_create(&o->thread, NULL, run_thread, o);
	if (r < 0) {
		free(o);
		return phx_err_set(err, r, "outbox thread: %s", strerror(-r));
	}
	*ret = o;
	return 0;
}

void outbox_open(struct outbox *o)
{
	pthread_mutex_lock(&o->lock);
	o->open = true;
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
}

int outbox_put(struct outbox *o, struct outbox_subject about, json_t *message, const char *upload,
	       outbox_before_fn before, outbox_done_fn done, void *arg)
{
	PHX_AUTO_FREE char *copy = upload ? strdup(upload) : NULL;
	if (upload && !copy)
		return -ENOMEM;
	pthread_mutex_lock(&o->lock);
	struct item *it = phx_list_push(&o->items, sizeof(*it));
	if (it) {
		*it = (struct item){about, json_incref(message), PHX_TAKE(copy), before, done, arg};
		pthread_cond_broadcast(&o->changed);
	}
	pthread_mutex_unlock(&o->lock);
	return it ? 0 : -ENOMEM;
}

uint32_t outbox_list(struct outbox *o, bool jobs, struct outbox_subject *ret, uint32_t max)
{
	uint32_t n = 0;
	pthread_mutex_lock(&o->lock);
	PHX_LIST_EACH(struct item, it, &o->items) {
		if (it->about.is_job != jobs)
			continue;
		if (n < max)
			ret[n] = it->about;
		n++;
	}
	pthread_mutex_unlock(&o->lock);
	return n;
}
