/* The side that answers: what comes over its socket, one after the other or several at once, until
 * who asks is gone. Called by the process itself, after it has given up its rights. */
#include "apart/internal.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

void phx_apart_deaf(void)
{
	phx_signals_hold(NULL);
}

/* One question, with all that it came with. */
struct task {
	struct apart_message m;
	char *body;
	struct apart_fds fds; /* the first: where the answer goes */
	const struct phx_apart_server *server;
	struct crowd *crowd; /* NULL: it is answered where it came */
};

static void task_fini(struct task *t)
{
	if (t->body)
		explicit_bzero(t->body, t->m.n);
	free(t->body);
	apart_fds_close(&t->fds);
}

/* A question without a way back is none. */
static int task_receive(int fd, const struct phx_apart_server *s, struct task *ret)
{
	struct task t = {.server = s};
	int r = apart_receive(fd, s->body_max, &t.m, &t.body, &t.fds);
	if (r == 0 && !t.fds.n) {
		task_fini(&t);
		r = -EPROTO;
	}
	if (r == 0)
		*ret = t;
	return r;
}

static void send_reply(const struct task *t, int result, struct phx_apart_reply *reply,
		       const struct phx_err *err)
{
	const char *text = err->text[0] ? err->text : strerror(-result);
	struct apart_message m = {.op = t->m.op, .result = result, .number = reply->number};
	const struct apart_fds fds = {.fd = {reply->fd}, .n = result == 0 && reply->fd ? 1 : 0};
	m.n = result < 0 ? (uint32_t)strlen(text) : (uint32_t)reply->body.n;
	/* who does not take it has gone */
	(void)apart_send(t->fds.fd[0], &m, result < 0 ? text : reply->body.data, &fds);
}

static void task_answer(struct task *t)
{
	const struct phx_apart_server *s = t->server;
	struct phx_apart_question q = {.op = t->m.op,
				       .number = t->m.number,
				       .body = t->body,
				       .n = t->m.n,
				       .fd = t->fds.n > 1 ? t->fds.fd[1] : 0};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct phx_err err = {0};
	PHX_STR_SET(q.name, t->m.name);
	int r = s->answer(s->arg, &q, &reply, &err);
	if (r == 0 && (reply.body.failed || reply.body.n > s->body_max))
		r = reply.body.failed ? -ENOMEM : -E2BIG;
	send_reply(t, r, &reply, &err);
	task_fini(t);
}

int phx_apart_serve_one(int fd, const struct phx_apart_server *s)
{
	struct task t;
	int r = task_receive(fd, s, &t);
	if (r == 0)
		task_answer(&t);
	return r;
}

/* ---- several at once: a thread each ---- */

/* Of the one who takes questions and of all who answer: the last one frees it. */
struct crowd {
	pthread_mutex_t lock;
	pthread_cond_t left;
	unsigned n_answering, max;
	bool ended;
};

/* With the lock, which it gives back. */
static void crowd_leave(struct crowd *c)
{
	bool last = c->ended && !c->n_answering;
	pthread_cond_signal(&c->left);
	pthread_mutex_unlock(&c->lock);
	if (!last)
		return;
	pthread_cond_destroy(&c->left);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void *answer_one(void *arg)
{
	struct task *t = arg;
	struct crowd *c = t->crowd;
	task_answer(t);
	free(t);
	pthread_mutex_lock(&c->lock);
	c->n_answering--;
	crowd_leave(c);
	return NULL;
}

/* Where no thread can be had, it is answered here and the others wait. */
static void answer_aside(struct crowd *c, struct task *t)
{
	pthread_t thread;
	pthread_attr_t attr;
	pthread_mutex_lock(&c->lock);
	while (c->n_answering >= c->max)
		pthread_cond_wait(&c->left, &c->lock);
	c->n_answering++;
	pthread_mutex_unlock(&c->lock);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, answer_one, t))
		answer_one(t);
	pthread_attr_destroy(&attr);
}

static int serve_crowd(int fd, const struct phx_apart_server *s, struct crowd *c)
{
	int r = 0;
	while (r == 0) {
		struct task *t = malloc(sizeof(*t));
		r = t ? task_receive(fd, s, t) : -ENOMEM;
		if (r < 0) {
			free(t);
			break;
		}
		t->crowd = c;
		answer_aside(c, t);
	}
	pthread_mutex_lock(&c->lock);
	c->ended = true;
	crowd_leave(c);
	return r;
}

int phx_apart_serve(int fd, const struct phx_apart_server *s)
{
	int r = 0;
	while (!s->threads && r == 0)
		r = phx_apart_serve_one(fd, s);
	if (!s->threads)
		return r;
	struct crowd *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->left, NULL);
	c->max = s->threads;
	return serve_crowd(fd, s, c);
}
