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
#include "agent/order.h"
#include "agent/own_log.h"
#include "agent/service_backend.h"
#include "agent/task_output.h"
#include "types/logs.h"

enum {
	QUESTIONS_MAX = 24,
	LINES_MAX = 10000,
	WAIT_MAX_MS = 30000,
	CALL_MS = 10000,
	TAIL_LINES = 100
};

struct question {
	struct logs *logs;
	uint64_t id;
	const char *path; /* where its answer goes */
	json_t *(*answer)(struct logs *l, struct question *q);
	struct phx_task_ask task;
	char service[PHX_NAME_MAX];
	struct service_log_ask ask;
	enum phx_logs_of of;
	uint64_t step;
};

struct logs {
	struct loop *loop;
	struct services *services;
	const struct agent_config *cfg;
	logs_client_fn client;
	void *arg;
	uint32_t n_questions; /* under way */
};

static json_t *answer_task(struct logs *l, struct question *q)
{
	struct phx_task_output o;
	struct phx_err err = {0};
	int r = task_output_read(l->cfg->cache_dir, &q->task, &o, &err);
	o.id = q->id;
	if (r < 0)
		phx_str_copy(o.error, sizeof(o.error), err.text[0] ? err.text : strerror(-r));
	json_t *j = phx_json_from_record(&phx_task_output_record, &o);
	phx_record_fini(&phx_task_output_record, &o);
	return j;
}

static json_t *answer_log(struct logs *l, struct question *q)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	char cursor[SERVICE_CURSOR_MAX] = "";
	struct phx_err err = {0};
	const struct own_log_ask own = {q->of, q->step, &q->ask};
	int r = q->of == PHX_LOGS_SERVICE
		? services_log(l->services, q->service, &q->ask, &text, cursor, &err)
		: own_log_read(l->cfg, &own, &text, cursor, &err);
	if (r == 0 && text.failed)
		r = phx_err_set(&err, -ENOMEM, "out of memory");
	struct phx_logs_told told = {.id = q->id, .step = q->step};
	PHX_STR_SET(told.service, q->service);
	PHX_STR_SET(told.cursor, r < 0 ? "" : cursor);
	if (r < 0)
		told.error = err.text[0] ? err.text : strerror(-r);
	else
		told.text = text.data;
	return phx_json_from_record(&phx_logs_told_record, &told);
}

static void tell(struct logs *l, const char *path, const json_t *answer)
{
	struct phx_http_client *client = NULL;
	struct phx_http_response response = {0};
	struct phx_err err = {0};
	int r = l->client(l->arg, &client, &err);
	r = r ? r : phx_http_call(client, "POST", path, answer, CALL_MS, &response, &err);
	if (r < 0)
		agent_log("%s: %s", path, err.text);
	phx_http_response_fini(&response);
	phx_http_client_free(client);
}

/* In a worker; takes the question. */
static void answer(void *arg)
{
	struct question *q = arg;
	struct logs *l = q->logs;
	PHX_AUTO_JSON json_t *j = q->answer(l, q);
	if (j)
		tell(l, q->path, j);
	loop_hold(l->loop);
	l->n_questions--;
	loop_release(l->loop);
	free(q);
}

int logs_new(struct loop *loop, struct services *services, const struct agent_config *cfg,
	     logs_client_fn client, void *arg, struct logs **ret)
{
	struct logs *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	*l = (struct logs){
		.loop = loop, .services = services, .cfg = cfg, .client = client, .arg = arg};
	*ret = l;
	return 0;
}

/* Hands the question to a worker, unless too many are under way. */
static int hand_over(struct logs *l, const struct question *q, struct phx_err *err)
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
	return r < 0 ? phx_err_set(err, r, "too many ask at once") : 0;
}

static int read_task(const json_t *order, struct question *q, struct phx_err *err)
{
	q->path = "/v1/agent/output";
	q->answer = answer_task;
	return order_output(order, &q->task, err);
}

static int read_log(const json_t *order, struct question *q, struct phx_err *err)
{
	struct phx_logs_ask a;
	int r = phx_json_to_message(&phx_logs_ask_record, json_object_get(order, "logs"), &a, err);
	if (r == 0 && a.service[0] && !phx_name_valid(a.service))
		r = phx_err_set(err, -EINVAL, "service: not a name");
	if (r < 0)
		return phx_err_prefix(err, r, "logs");
	PHX_STR_SET(q->service, a.service);
	PHX_STR_SET(q->ask.cursor, a.cursor);
	q->path = "/v1/agent/logs";
	q->answer = answer_log;
	q->of = (enum phx_logs_of)a.of;
	q->step = a.step;
	q->ask.lines = a.lines > 0 && a.lines < LINES_MAX ? (uint32_t)a.lines : LINES_MAX;
	q->ask.wait_ms = a.wait_ms > 0 && a.wait_ms < WAIT_MAX_MS ? (uint32_t)a.wait_ms : 0;
	return 0;
}

int logs_ask(struct logs *l, uint64_t id, const json_t *order, struct phx_err *err)
{
	struct question q = {.logs = l, .id = id};
	int r = read_log(order, &q, err);
	return r ? r : hand_over(l, &q, err);
}

int logs_ask_output(struct logs *l, uint64_t id, const json_t *order, struct phx_err *err)
{
	struct question q = {.logs = l, .id = id};
	int r = read_task(order, &q, err);
	return r ? r : hand_over(l, &q, err);
}

void logs_tell_failed(struct logs *l, const char *service, uint64_t step)
{
	struct phx_err err = {0};
	struct question q = {.logs = l,
			     .path = "/v1/agent/logs",
			     .answer = answer_log,
			     .of = step ? PHX_LOGS_AGENT : PHX_LOGS_SERVICE,
			     .step = step,
			     .ask = {.lines = TAIL_LINES}};
	PHX_STR_SET(q.service, service);
	if (l && hand_over(l, &q, &err) < 0)
		agent_log("what it wrote is not told: %s", err.text);
}
