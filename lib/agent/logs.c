/* See logs.h. Called by the link; answers go over connections of their own. Reads
 * the output of services, changes nothing. */
#include "agent/logs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "http/http.h"
#include "agent/log.h"
#include "agent/service_backend.h"

enum { QUESTIONS_MAX = 24, LINES_MAX = 10000, WAIT_MAX_MS = 30000, CALL_MS = 10000 };

struct question {
	struct logs *logs;
	uint64_t id;
	char service[PHX_NAME_MAX];
	struct service_log_ask ask;
};

struct logs {
	struct loop *loop;
	struct services *services;
	logs_client_fn client;
	void *arg;
	uint32_t n_questions; /* under way */
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

/* In a worker; takes the question. */
static void answer(void *arg)
{
	struct question *q = arg;
	struct logs *l = q->logs;
	PHX_AUTO_JSON json_t *j = answer_of(l, q);
	if (j)
		tell(l, j);
	loop_hold(l->loop);
	l->n_questions--;
	loop_release(l->loop);
	free(q);
}

int logs_new(struct loop *loop, struct services *services, logs_client_fn client, void *arg,
	     struct logs **ret)
{
	struct logs *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	*l = (struct logs){.loop = loop, .services = services, .client = client, .arg = arg};
	*ret = l;
	return 0;
}

/* Hands the question to a worker, unless too many are under way. */
static int hand_over(struct logs *l, const struct question *q)
{
	struct question *copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *q;
	loop_hold(l->loop);
	int r = l->n_questions < QUESTIONS_MAX ? loop_work(l->loop, answer, copy) : -EBUSY;
	l->n_questions += r == 0;
	loop_release(l->loop);
	if (r < 0)
		free(copy);
	return r;
}

int logs_ask(struct logs *l, uint64_t id, const json_t *ask, struct phx_err *err)
{
	int64_t lines = phx_json_int(ask, "lines", 0), wait_ms = phx_json_int(ask, "wait_ms", 0);
	struct question q = {.logs = l, .id = id};
	bool fits =
		phx_str_copy(q.service, sizeof(q.service), phx_json_str(ask, "service", "")) == 0 &&
		PHX_STR_SET(q.ask.cursor, phx_json_str(ask, "cursor", "")) == 0;
	if (!json_is_object(ask) || !fits || (q.service[0] && !phx_name_valid(q.service)))
		return phx_err_set(err, -EINVAL, "the request for logs is not valid");
	q.ask.lines = lines > 0 && lines < LINES_MAX ? (uint32_t)lines : LINES_MAX;
	q.ask.wait_ms = wait_ms > 0 && wait_ms < WAIT_MAX_MS ? (uint32_t)wait_ms : 0;
	int r = hand_over(l, &q);
	return r < 0 ? phx_err_set(err, r, "too many ask for logs") : 0;
}
