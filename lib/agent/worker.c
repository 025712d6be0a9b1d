/* The worker: see worker.h. Orders come from the link thread; results leave
 * through the step log and the outbox, in this order. Never loses a result: the head
 * repeats an order whose result it did not get, and the step log answers. */
#include "agent/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/decide.h"
#include "agent/log.h"
#include "agent/step_table.h"
#include "base/clock.h"
#include "base/utf8.h"

enum { IDLE_CLOSE_MS = 15000, DEFAULT_DEADLINE_S = 600 };

struct task {
	struct phx_order order;
	json_t *extra;
	int64_t deadline_ms;
};

struct worker {
	struct agent *agent;
	bool quit, running;
	struct phx_list tasks;        /* struct task; the first is running, if one is */
	struct phx_http_client *http; /* of the step under way; kept for a while for the next */
	sd_event_source *idle;        /* the connection is to be closed */
};

/* ---- answers ---- */

static json_t *result_message(const struct step_log_entry *e)
{
	struct phx_told_step told = {.kind = PHX_TOLD_STEP,
				     .step_id = e->id,
				     .text = (char *)e->text,
				     .wipe = e->wipe,
				     .seal = e->seal,
				     .quote = e->quote,
				     .check = e->check};
	PHX_MEMBERS_COPY(PHX_TOLD_STEP_RUN_FIELDS, &told, e);
	json_t *j = phx_json_from_record(&phx_told_step_record, &told);
	if (!e->quote.tpm_said[0])
		json_object_del(j, "quote");
	if (!e->has_wipe) {
		json_object_del(j, "wipe");
		json_object_del(j, "seal");
	}
	if (!e->has_check)
		json_object_del(j, "check");
	return j;
}

static void send_result(struct worker *w, const struct step_log_entry *e)
{
	PHX_AUTO_JSON json_t *message = result_message(e);
	if (!message ||
	    outbox_put(w->agent->outbox, (struct result_subject){.id = e->id}, message, NULL, NULL,
		       NULL, NULL) < 0)
		agent_log("step %" PRIu64 ": out of memory for its result", e->id);
}

static struct step_log_entry entry_of(const struct phx_order *o, int64_t result, const char *text)
{
	struct step_log_entry e = {.id = o->id,
				   .epoch = o->epoch,
				   .attempt = o->step.attempt,
				   .nonce = o->step.nonce,
				   .result = result};
	PHX_STR_SET(e.kind, phx_enum_name(&phx_step_kind_names, o->step.kind));
	snprintf(e.text, sizeof(e.text), "%s", text);
	phx_utf8_repair(e.text); /* the text may be cut, or hold any bytes of a service's output */
	return e;
}

static void answer(struct worker *w, const struct phx_order *o, int64_t result, const char *text)
{
	struct step_log_entry e = entry_of(o, result, text);
	send_result(w, &e);
}

/* ---- one step ---- */

/* How a step ended. */
struct ending {
	struct task task;
	struct step_log_entry entry;
	bool leaves;
};

static void task_fini(struct task *t)
{
	phx_record_fini(&phx_order_record, &t->order);
	json_decref(t->extra);
}

/* A result that is not on the disk may be lost, and the step be done twice: the step fails. */
static void write_down(struct worker *w, struct ending *end)
{
	struct step_log_entry *e = &end->entry;
	struct phx_err disk = {0};
	int kept = step_log_put(&w->agent->step_log, e, &disk);
	e->result = decide_result(e->result, kept);
	if (kept < 0) {
		agent_log("step %" PRIu64 ": %s", e->id, disk.text);
		snprintf(e->text, sizeof(e->text), "result cannot be kept: %.200s", disk.text);
	}
	agent_log("step %" PRIu64 " %s: %s", e->id, e->kind, e->result < 0 ? e->text : "done");
	if (e->result < 0)
		logs_tell_failed(w->agent->logs, "", e->id);
}

static void tell(struct worker *w, struct ending *end)
{
	send_result(w, &end->entry);
}

static void drop(struct worker *w, struct ending *end)
{
	loop_hold(w->agent->loop);
	phx_list_remove(&w->tasks, sizeof(end->task), 0);
	loop_release(w->agent->loop);
	task_fini(&end->task);
}

static void finish(struct worker *w, struct ending *end)
{
	static void (*const acts[])(struct worker *, struct ending *) = {
		[DECIDE_END_WRITE] = write_down,
		[DECIDE_END_TELL] = tell,
		[DECIDE_END_DROP] = drop,
	};
	for (enum decide_end act = decide_end_first(end->leaves); act != DECIDE_END_OVER;
	     act = decide_end_next(act))
		acts[act](w, end);
}

static void run_task(struct worker *w, struct ending *end)
{
	const struct task *t = &end->task;
	struct step_run s = {.agent = w->agent,
			     .order = &t->order,
			     .extra = t->extra,
			     .http = w->http,
			     .deadline_ms = t->deadline_ms};
	struct phx_err err = {0};
	agent_log("step %" PRIu64 " %s of epoch %" PRIu64, t->order.id,
		  phx_enum_name(&phx_step_kind_names, t->order.step.kind), t->order.epoch);
	prefetch_pause(w->agent->prefetch, &t->order.role);
	int r = step_cancelled(&s) ? phx_err_set(&err, -ECANCELED, "given up before it began: %s",
						 step_why_cancelled(&s))
				   : step_run(&s, &err);
	prefetch_resume(w->agent->prefetch);
	w->http = s.http;
	end->leaves = r == STEP_LEAVES;
	end->entry = entry_of(&t->order, r,
			      r >= 0                ? s.said
				      : err.text[0] ? err.text
						    : strerror(-r));
	end->entry.has_wipe = s.has_wipe;
	end->entry.wipe = s.wipe;
	end->entry.seal = s.seal;
	end->entry.quote = s.quote;
	end->entry.has_check = s.has_check;
	end->entry.check = s.check;
}

/* Carries out the first step, in a worker. False: there is no step, and none comes before the next
 * order. */
static bool run_first(struct worker *w)
{
	struct ending end = {0};
	loop_hold(w->agent->loop);
	w->running = w->tasks.n && !w->quit;
	bool any = w->running;
	if (any)
		end.task = *PHX_LIST_AT(&w->tasks, struct task, 0);
	else
		loop_arm(w->agent->loop, w->idle, phx_clock_ms() + IDLE_CLOSE_MS);
	loop_news(w->agent->loop);
	loop_release(w->agent->loop);
	if (!any)
		return false;
	run_task(w, &end);
	finish(w, &end);
	return true;
}

static void run_all(void *worker)
{
	while (run_first(worker))
		;
}

static void on_idle(void *arg)
{
	struct worker *w = arg;
	phx_http_client_free(PHX_TAKE(w->http));
}

/* ---- orders ---- */

/* What decide_order() is given to ask. */
struct lookup {
	struct worker *worker;
	struct step_log_entry found;
};

static bool pending(void *arg, uint64_t id)
{
	struct worker *w = ((struct lookup *)arg)->worker;
	LOOP_HELD(w->agent->loop);
	bool found = outbox_has_step(w->agent->outbox, id);
	PHX_LIST_EACH(struct task, t, &w->tasks)
		found = found || t->order.id == id;
	return found;
}

static int keep_epoch(void *arg, uint64_t epoch, struct phx_err *err)
{
	return step_log_keep_epoch(&((struct lookup *)arg)->worker->agent->step_log, epoch, err);
}

static int find(void *arg, uint64_t id, struct decide_done *ret, struct phx_err *err)
{
	struct lookup *l = arg;
	int r = step_log_find(&l->worker->agent->step_log, id, &l->found, err);
	if (r == 0)
		*ret = (struct decide_done){l->found.epoch, l->found.attempt, l->found.result,
					    l->found.nonce};
	return r;
}

static int push(struct worker *w, struct phx_order *o, const json_t *extra)
{
	struct loop *loop = w->agent->loop;
	/* a little before the head gives up, so that the head gets the reason */
	int64_t deadline_ms = (int64_t)(o->deadline_s ? o->deadline_s : DEFAULT_DEADLINE_S) * 950;
	LOOP_HELD(loop);
	struct task *t = phx_list_push(&w->tasks, sizeof(*t));
	int r = !t ? -ENOMEM : w->running ? 0 : loop_work(loop, run_all, w);
	if (t && r < 0)
		phx_list_remove(&w->tasks, sizeof(*t), w->tasks.n - 1);
	if (r == 0) {
		*t = (struct task){*o, json_incref((json_t *)extra), phx_clock_ms() + deadline_ms};
		*o = (struct phx_order){0};
		w->running = true;
		loop_arm(loop, w->idle, INT64_MAX);
	}
	return r;
}

/* Called by the link alone: nobody else adds steps, or changes the epoch. */
int worker_order(struct worker *w, struct phx_order *order, const json_t *extra)
{
	struct phx_err err = {0};
	struct lookup look = {.worker = w};
	const struct decide_order o = {order->id, order->epoch, order->step.attempt,
				       order->step.nonce};
	const struct decide_memory m = {
		&look, w->agent->step_log.epoch, worker_ids(w, NULL, 0), pending, keep_epoch, find};
	int r = 0, verdict = decide_order(&m, &o, &err);
	if (verdict == DECIDE_RUN)
		r = push(w, order, extra);
	else if (verdict == DECIDE_REPEAT)
		send_result(w, &look.found);
	else if (verdict == DECIDE_BUSY)
		r = -EBUSY;
	else if (verdict < 0)
		answer(w, order, verdict, err.text);
	loop_news(w->agent->loop); /* the step under way may be stale now */
	return r;
}

uint32_t worker_ids(struct worker *w, uint64_t *ret_ids, uint32_t max)
{
	uint32_t n = 0;
	LOOP_HELD(w->agent->loop);
	PHX_LIST_EACH(struct task, t, &w->tasks) {
		if (ret_ids && n < max)
			ret_ids[n] = t->order.id;
		n++;
	}
	return n;
}

int worker_new(struct agent *a, struct worker **ret, struct phx_err *err)
{
	struct worker *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->agent = a;
	int r = loop_timer(a->loop, on_idle, w, &w->idle);
	if (r < 0) {
		free(w);
		return phx_err_set(err, r, "worker: %s", strerror(-r));
	}
	*ret = w;
	return 0;
}

void worker_end(struct worker *w)
{
	LOOP_HELD(w->agent->loop);
	w->quit = true;
	while (w->running)
		loop_wait(w->agent->loop, INT64_MAX);
}
