/* The side that asks: starts the process, asks it, starts it again when it has ended. Called by any
 * thread of its owner. The lock is held to start, end and send, never while an answer is waited
 * for.
 *
 *   none ──started──▶ runs ──ended, or silent for too long──▶ none ──next question──▶ runs ...
 *
 * `generation` counts the starts: of several questions that an end has cut off, one ends what is
 * left of the process, and one starts the next. */
#include "apart/internal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"

enum { END_MS = 2000, TRIES = 2 };

struct phx_apart {
	struct phx_apart_config config;
	pthread_mutex_t lock;
	struct phx_process process;
	int fd; /* -1: there is none */
	uint64_t generation;
	/* asked of each new process first; NULL: nothing */
	char *first;
	uint32_t first_op, n_first;
};

void phx_apart_reply_fini(struct phx_apart_reply *r)
{
	if (r->body.data)
		explicit_bzero(r->body.data, r->body.n);
	phx_buf_fini(&r->body);
	if (r->fd > 0)
		close(r->fd);
	*r = (struct phx_apart_reply){0};
}

/* ---- the process ---- */

static void end_process(struct phx_apart *a)
{
	phx_close_fd(&a->fd);
	if (a->process.pidfd < 0)
		return;
	/* one that hangs is not waited for */
	if (phx_process_wait(a->process.pidfd, END_MS) < 0)
		phx_process_signal(a->process.pidfd, SIGKILL);
	phx_process_status(a->process.pidfd);
	phx_close_fd(&a->process.pidfd);
}

static void limit_time(int fd, uint32_t ms)
{
	const struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000L};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

static int make_pair(int ret[2], uint32_t ms)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret) < 0)
		return -errno;
	limit_time(ret[0], ms);
	return 0;
}

int phx_apart_spawn(const struct phx_launch *how, const char *what, struct phx_process *ret,
		    int *ret_fd, struct phx_err *err)
{
	struct phx_launch launch = *how;
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return phx_err_set(err, -errno, "%s: %s", what, strerror(errno));
	launch.in = pair[1];
	launch.group = PHX_GROUP_SESSION;
	int r = phx_process_start(&launch, ret, err);
	close(pair[1]);
	if (r < 0) {
		close(pair[0]);
		return phx_err_prefix(err, r, "%s", what);
	}
	*ret_fd = pair[0];
	return 0;
}

static void *collect(void *arg)
{
	struct phx_process *p = arg;
	phx_process_status(p->pidfd);
	close(p->pidfd);
	free(p);
	return NULL;
}

void phx_apart_collect_later(const struct phx_process *p)
{
	pthread_t thread;
	struct phx_process *own = malloc(sizeof(*own));
	if (own)
		*own = *p;
	if (own && pthread_create(&thread, NULL, collect, own) == 0)
		pthread_detach(thread);
	else
		free(own); /* a dead process stays in the table */
}

static int start_process(struct phx_apart *a, struct phx_err *err)
{
	const struct phx_apart_config *c = &a->config;
	const struct phx_launch how = {.argv = c->argv};
	struct phx_process p = {.pidfd = -1};
	int fd, r;
	if (c->start)
		r = c->start(c->start_arg, &fd, &p.pid, err);
	else if (c->argv)
		r = phx_apart_spawn(&how, c->what, &p, &fd, err);
	else
		r = phx_err_set(err, -EPIPE, "%s has ended", c->what);
	if (r < 0)
		return r;
	limit_time(fd, c->answer_ms);
	a->process = p;
	a->fd = fd;
	a->generation++;
	return 0;
}

/* ---- one question ---- */

static int take_answer(int fd, const struct phx_apart *a, uint32_t op, struct apart_message *ret,
		       struct phx_apart_reply *ret_reply)
{
	struct apart_fds fds = {0};
	char *body = NULL;
	int r = apart_receive(fd, a->config.body_max, ret, &body, &fds);
	if (r < 0)
		return r;
	*ret_reply = (struct phx_apart_reply){
		.number = ret->number, .body = {.data = body, .n = ret->n, .cap = ret->n + 1}};
	if (fds.n) {
		ret_reply->fd = fds.fd[0];
		fds.fd[0] = -1;
	}
	apart_fds_close(&fds);
	if (ret->op == op)
		return 0;
	phx_apart_reply_fini(ret_reply);
	return -EPROTO;
}

/* Closes its end of the answer's socket, so that the process alone has it: its end is seen. */
static int send_question(const struct phx_apart *a, const struct phx_apart_question *q, int back)
{
	struct apart_message m = {.op = q->op, .number = q->number, .n = q->n};
	const struct apart_fds fds = {.fd = {back, q->fd}, .n = q->fd ? 2 : 1};
	PHX_STR_SET(m.name, q->name);
	int r = apart_send(a->fd, &m, q->body, &fds);
	close(back);
	return r;
}

/* With the lock. */
static int ask_first(const struct phx_apart *a)
{
	const struct phx_apart_question q = {.op = a->first_op, .body = a->first, .n = a->n_first};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct apart_message m;
	int pair[2];
	int r = make_pair(pair, a->config.answer_ms);
	if (r < 0)
		return r;
	r = send_question(a, &q, pair[1]);
	r = r ? r : take_answer(pair[0], a, q.op, &m, &reply);
	close(pair[0]);
	return r ? r : m.result;
}

/* With the lock: there is a process when it returns 0. */
static int be_there(struct phx_apart *a, bool *ret_restarted, struct phx_err *err)
{
	if (a->fd >= 0)
		return 0;
	int r = start_process(a, err);
	*ret_restarted = true;
	if (r == 0 && a->first && (r = ask_first(a)) < 0) {
		end_process(a);
		phx_err_set(err, r, "%s does not begin: %s", a->config.what, strerror(-r));
	}
	return r;
}

static int ask_once(struct phx_apart *a, const struct phx_apart_question *q, uint32_t ms,
		    struct apart_message *ret, struct phx_apart_reply *ret_reply,
		    struct phx_err *err)
{
	bool restarted = false;
	int pair[2];
	int r = make_pair(pair, ms);
	if (r < 0)
		return phx_err_set(err, r, "%s: %s", a->config.what, strerror(-r));
	pthread_mutex_lock(&a->lock);
	r = be_there(a, &restarted, err);
	uint64_t generation = a->generation;
	if (r == 0)
		r = send_question(a, q, pair[1]);
	else
		close(pair[1]);
	pthread_mutex_unlock(&a->lock);
	if (restarted && a->config.restarted)
		a->config.restarted(a->config.arg);
	r = r ? r : take_answer(pair[0], a, q->op, ret, ret_reply);
	close(pair[0]);
	if (r < 0) {
		pthread_mutex_lock(&a->lock);
		if (a->generation == generation)
			end_process(a);
		pthread_mutex_unlock(&a->lock);
	}
	return r;
}

int phx_apart_ask(struct phx_apart *a, const struct phx_apart_question *q, uint32_t answer_ms,
		  struct phx_apart_reply *ret, struct phx_err *err)
{
	struct apart_message m = {0};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct phx_err why = {0};
	int r = -EPIPE;
	if (q->n > a->config.body_max)
		return phx_err_set(err, -E2BIG, "%s is asked for more than it takes",
				   a->config.what);
	for (int i = 0; r < 0 && i < TRIES; i++)
		r = ask_once(a, q, answer_ms ? answer_ms : a->config.answer_ms, &m, &reply, &why);
	if (r < 0)
		return phx_err_set(err, r, "%s does not answer: %s", a->config.what,
				   why.text[0] ? why.text : strerror(-r));
	if (m.result < 0)
		return phx_err_set(err, m.result, "%s", reply.body.data);
	*ret = reply;
	reply = (struct phx_apart_reply){0};
	return 0;
}

/* ---- start and end ---- */

static struct phx_apart *apart_new(const struct phx_apart_config *config)
{
	struct phx_apart *a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->config = *config;
	a->fd = a->process.pidfd = -1;
	pthread_mutex_init(&a->lock, NULL);
	return a;
}

int phx_apart_start(const struct phx_apart_config *config, struct phx_apart **ret,
		    struct phx_err *err)
{
	struct phx_apart *a = apart_new(config);
	int r = a ? start_process(a, err) : -ENOMEM;
	if (r < 0)
		phx_apart_end(a);
	else
		*ret = a;
	return r;
}

int phx_apart_take(const struct phx_apart_config *config, int fd, struct phx_apart **ret)
{
	struct phx_apart *a = apart_new(config);
	if (!a) {
		close(fd);
		return -ENOMEM;
	}
	limit_time(fd, config->answer_ms);
	a->fd = fd;
	*ret = a;
	return 0;
}

void phx_apart_end(struct phx_apart *a)
{
	if (!a)
		return;
	end_process(a);
	pthread_mutex_destroy(&a->lock);
	free(a->first);
	free(a);
}

int phx_apart_first(struct phx_apart *a, uint32_t op, const char *body, uint32_t n)
{
	char *copy = malloc((size_t)n + 1);
	if (!copy)
		return -ENOMEM;
	if (n)
		memcpy(copy, body, n);
	pthread_mutex_lock(&a->lock);
	free(a->first);
	a->first = copy;
	a->first_op = op;
	a->n_first = n;
	pthread_mutex_unlock(&a->lock);
	return 0;
}

pid_t phx_apart_pid(struct phx_apart *a)
{
	pthread_mutex_lock(&a->lock);
	pid_t pid = a->fd < 0 ? 0 : a->process.pid;
	pthread_mutex_unlock(&a->lock);
	return pid;
}
