/* See planner.h. Started by launcher_answer.c, through main.c; asked by whatif.c. */
#include "phxd/planner.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "apart/confine.h"
#include "base/clock.h"
#include "base/json.h"

#define WHAT "the process that simulates"

enum { BEGIN, STATE, EVENTS, SIMULATE, LOOK };
enum { ANSWER_MS = 60 * 1000, BODY_MAX = 1 << 30, LOOK_MS = 200, NICE = 10, DONE = 1000 };

/* ---- the launcher's side ---- */

int planner_spawn(struct phx_process *ret, int *ret_fd, struct phx_err *err)
{
	static const char *const argv[] = {"/proc/self/exe", "--planner", NULL};
	const struct phx_launch how = {.argv = argv};
	return phx_apart_spawn(&how, WHAT, ret, ret_fd, err);
}

/* ---- the planner ---- */

struct planner {
	struct phx_past *past;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool started, done;
	atomic_uint milli;
	/* of the thread, when it is done */
	int result;
	char *answer;
	struct phx_err why;
};

static int tell_how_far(void *arg, unsigned milli)
{
	struct planner *p = arg;
	atomic_store(&p->milli, milli);
	return 0;
}

static void *simulate(void *arg)
{
	struct planner *p = arg;
	struct phx_err why = {0};
	json_t *answer = NULL;
	int r = phx_past_run(p->past, tell_how_far, p, &answer, &why);
	char *text = r == 0 ? phx_json_text(answer) : NULL;
	json_decref(answer);
	pthread_mutex_lock(&p->lock);
	p->result = r == 0 && !text ? -ENOMEM : r;
	p->answer = text;
	p->why = why;
	p->done = true;
	pthread_cond_signal(&p->ended);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static int on_begin(struct planner *p, const struct phx_apart_question *q, struct phx_err *err)
{
	struct phx_past_wish wish;
	if (p->past || !q->n)
		return -EPROTO;
	int r = phx_json_text_to_record(&phx_past_wish_record, q->body, &wish, err);
	if (r < 0)
		return r;
	r = phx_past_new(&wish, &p->past, err);
	phx_record_fini(&phx_past_wish_record, &wish);
	return r;
}

/* The next text of the packed ones; NULL: it has no end. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at, *nul = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;
	*at = nul ? nul + 1 : end;
	return nul ? text : NULL;
}

static int on_events(struct planner *p, const struct phx_apart_question *q,
		     struct phx_apart_reply *ret, struct phx_err *err)
{
	const char *at = q->body, *end = q->body + q->n;
	int r = 0;
	while (r == 0 && at < end) {
		struct phx_store_event ev = {0};
		int64_t numbers[2];
		if ((size_t)(end - at) < sizeof(numbers))
			return -EPROTO;
		memcpy(numbers, at, sizeof(numbers));
		at += sizeof(numbers);
		ev.seq = (uint64_t)numbers[0];
		ev.time_ms = numbers[1];
		ev.kind = next_text(&at, end);
		ev.event = next_text(&at, end);
		ev.actions = next_text(&at, end);
		ev.node = "";
		r = ev.kind && ev.event && ev.actions ? phx_past_event(p->past, &ev, err) : -EPROTO;
	}
	ret->number = r > 0;
	return r < 0 ? r : 0;
}

static int on_simulate(struct planner *p)
{
	if (p->started)
		return -EPROTO;
	p->started = true;
	return -pthread_create(&p->thread, NULL, simulate, p);
}

static int on_look(struct planner *p, struct phx_apart_reply *ret, struct phx_err *err)
{
	int64_t until_ms = phx_clock_ms() + LOOK_MS;
	pthread_mutex_lock(&p->lock);
	while (!p->done && phx_cond_until(&p->ended, &p->lock, until_ms))
		;
	int r = p->done ? p->result : 0;
	unsigned milli = atomic_load(&p->milli);
	ret->number = p->done ? DONE : milli < DONE ? milli : DONE - 1;
	if (p->done && r == 0)
		phx_buf_add(&ret->body, p->answer, strlen(p->answer) + 1);
	if (r < 0)
		*err = p->why;
	pthread_mutex_unlock(&p->lock);
	return r;
}

static int answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		  struct phx_err *err)
{
	struct planner *p = arg;
	if (q->op == BEGIN)
		return on_begin(p, q, err);
	if (q->op == LOOK && p->started)
		return on_look(p, ret, err);
	if (!p->past || p->started)
		return -EPROTO;
	switch (q->op) {
	case STATE:
		return phx_past_state(p->past, q->body, err);
	case EVENTS:
		return on_events(p, q, ret, err);
	case SIMULATE:
		return on_simulate(p);
	default:
		return -ENOSYS;
	}
}

static void limit(int what, rlim_t most)
{
	const struct rlimit l = {most, most};
	setrlimit(what, &l);
}

static int confine(struct phx_err *err)
{
	const struct phx_confine c = {.what = WHAT, .user = "nobody", .calls = PHX_CALLS_planner};
	limit(RLIMIT_CPU, PLANNER_CPU_S);
	limit(RLIMIT_FSIZE, 0);
#ifndef __SANITIZE_ADDRESS__ /* which asks for as much as there can be */
	limit(RLIMIT_AS, (rlim_t)PLANNER_MEMORY_MB << 20);
#endif
	setpriority(PRIO_PROCESS, 0, NICE);
	return phx_confine_self(&c, err);
}

void planner_run(void)
{
	struct planner p = {0};
	const struct phx_apart_server server = {.body_max = BODY_MAX, .answer = answer, .arg = &p};
	struct phx_err err = {0};
	phx_apart_deaf();
	pthread_mutex_init(&p.lock, NULL);
	phx_cond_init(&p.ended);
	int r = confine(&err);
	if (r < 0)
		fprintf(stderr, "phxd: %s\n", err.text);
	r = r ? r : phx_apart_serve(STDIN_FILENO, &server);
	_exit(r == -EPIPE ? 0 : 1); /* its thread may still simulate */
}

/* ---- who asks ---- */

int planner_new(int fd, struct phx_apart **ret)
{
	static const struct phx_apart_config config = {
		.what = WHAT, .answer_ms = ANSWER_MS, .body_max = BODY_MAX};
	return phx_apart_take(&config, fd, ret);
}

static int ask(struct phx_apart *p, uint32_t op, const char *body, size_t n,
	       struct phx_apart_reply *ret, struct phx_err *err)
{
	const struct phx_apart_question q = {.op = op, .body = body, .n = (uint32_t)n};
	if (n >= BODY_MAX)
		return phx_err_set(err, -E2BIG, "an event or snapshot is too large");
	int r = phx_apart_ask(p, &q, 0, ret, err);
	if (r != -EPIPE)
		return r;
	phx_err_clear(err);
	return phx_err_set(err, r,
			   "it was ended: it took more than %d s of a processor, or more than %d "
			   "MiB of memory: ask for a shorter time",
			   PLANNER_CPU_S, PLANNER_MEMORY_MB);
}

int planner_begin(struct phx_apart *p, const struct phx_past_wish *w, const char *snapshot,
		  struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0}, again = {0};
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_past_wish_record, w);
	int r = text ? ask(p, BEGIN, text, strlen(text) + 1, &reply, err) : -ENOMEM;
	return r || !snapshot ? r : ask(p, STATE, snapshot, strlen(snapshot) + 1, &again, err);
}

void planner_pack(struct phx_buf *b, const struct phx_store_event *ev)
{
	const int64_t numbers[2] = {(int64_t)ev->seq, ev->time_ms};
	phx_buf_add(b, numbers, sizeof(numbers));
	phx_buf_add(b, ev->kind, strlen(ev->kind) + 1);
	phx_buf_add(b, ev->event, strlen(ev->event) + 1);
	phx_buf_add(b, ev->actions, strlen(ev->actions) + 1);
}

int planner_tell(struct phx_apart *p, const struct phx_buf *events, struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = events->failed ? -ENOMEM : ask(p, EVENTS, events->data, events->n, &reply, err);
	return r < 0 ? r : reply.number == 1;
}

int planner_simulate(struct phx_apart *p, struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	return ask(p, SIMULATE, "", 0, &reply, err);
}

int planner_look(struct phx_apart *p, unsigned *ret_milli, char **ret_answer, struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = ask(p, LOOK, "", 0, &reply, err);
	if (r < 0)
		return r;
	*ret_milli = reply.number < DONE ? (unsigned)reply.number : DONE;
	if (reply.number != DONE)
		return 0;
	const struct phx_buf *b = &reply.body;
	*ret_answer = b->n && !b->data[b->n - 1] ? strdup(b->data) : NULL;
	return *ret_answer ? 1 : -EPROTO;
}
