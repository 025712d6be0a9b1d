/* See logs.h. Called by the link; answers go over connections of their own. Reads
 * the output of services, changes nothing. */
#include "agent/logs.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "http/http.h"
#include "agent/log.h"
#include "agent/service_backend.h"

enum { THREADS = 8, QUESTIONS_MAX = 16, LINES_MAX = 10000, WAIT_MAX_MS = 30000, CALL_MS = 10000 };

struct question {
	uint64_t id;
	char service[PHX_NAME_MAX];
	struct service_log_ask ask;
};

struct logs {
	struct services *services;
	logs_client_fn client;
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct phx_list questions; /* struct question */
};

static json_t *answer_of(struct logs *l, struct question *q)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	char cursor[SERVICE_CURSOR_MAX] = "";
	struct phx_err err = {0};
	int r = services_log(l->services, q->service, &q->ask, &text, cursor, &err);
	if (r == 0 && text.failed)
		r = phx_err_set(&err, -ENOMEM, "out of memory");
	if (r < 0)
		return json_pack("{s:I,s:s}", "id", (json_int_t)q->id, "error",
				 err.text[0] ? err.text : strerror(-r));
	return json_pack("{s:I,s:s,s:s,s:s}", "id", (json_int_t)q->id, "service", q->service,
			 "text", text.data ? text.data : "", "cursor", cursor);
}

static void tell(struct logs *l, const json_t *answer)
{
	struct phx_http_client *client = NULL;
	struct phx_http_response response = {0};
	struct phx_err err = {0};
	int r = l->client(l->arg, &client, &err);
	r = r ? r
	      : phx_http_call(client, "POST", "/v1/agent/logs", answer, CALL_MS, &response, &err);
	if (r < 0)
		agent_log("logs: %s", err.text);
	phx_http_response_fini(&response);
	phx_http_client_free(client);
}

static void *run_thread(void *arg)
{
	struct logs *l = arg;
	for (;;) {
		pthread_mutex_lock(&l->lock);
		while (!l->questions.n)
			pthread_cond_wait(&l->more, &l->lock);
		struct question q = *PHX_LIST_AT(&l->questions, struct question, 0);
		phx_list_remove(&l->questions, sizeof(q), 0);
		pthread_mutex_unlock(&l->lock);
		PHX_AUTO_JSON json_t *answer = answer_of(l, &q);
		if (answer)
			tell(l, answer);
	}
	return NULL;
}

int logs_new(struct services *services, logs_client_fn client, void *arg, struct logs **ret,
	     struct phx_err *err)
{
	struct logs *l = calloc(1, sizeof(*l));
	pthread_t thread;
	if (!l)
		return -ENOMEM;
	*l = (struct logs){.services = services, .client = client, .arg = arg};
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->more, NULL);
	for (int i = 0; i < THREADS; i++) {
		int r = -pthread_create(&thread, NULL, run_thread, l);
		if (r < 0 && i == 0) {
			free(l);
			return phx_err_set(err, r, "threads for logs: %s", strerror(-r));
		}
		if (r == 0)
			pthread_detach(thread);
	}
	*ret = l;
	return 0;
}

int logs_ask(struct logs *l, uint64_t id, const json_t *ask, struct phx_err *err)
{
	int64_t lines = phx_json_int(ask, "lines", 0), wait_ms = phx_json_int(ask, "wait_ms", 0);
	struct question q = {.id = id};
	bool fits =
		phx_str_copy(q.service, sizeof(q.service), phx_json_str(ask, "service", "")) == 0 &&
		PHX_STR_SET(q.ask.cursor, phx_json_str(ask, "cursor", "")) == 0;
	if (!json_is_object(ask) || !fits || (q.service[0] && !phx_name_valid(q.service)))
		return phx_err_set(err, -EINVAL, "the request for logs is not valid");
	q.ask.lines = lines > 0 && lines < LINES_MAX ? (uint32_t)lines : LINES_MAX;
	q.ask.wait_ms = wait_ms > 0 && wait_ms < WAIT_MAX_MS ? (uint32_t)wait_ms : 0;
	pthread_mutex_lock(&l->lock);
	struct question *to =
		l->questions.n < QUESTIONS_MAX ? phx_list_push(&l->questions, sizeof(*to)) : NULL;
	if (to)
		*to = q;
	pthread_cond_signal(&l->more);
	pthread_mutex_unlock(&l->lock);
	return to ? 0 : phx_err_set(err, -EBUSY, "too many ask for logs");
}
