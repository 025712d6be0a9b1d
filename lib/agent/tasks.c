/* See tasks.h. The agent's end of the socket; all decisions are the keeper's. */
#include "agent/tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/job_group.h"
#include "agent/job_run.h"
#include "agent/log.h"
#include "agent/order.h"
#include "agent/task_keeper.h"
#include "agent/task_talk.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/process.h"

enum { ANSWER_MS = 10000, START_MS = 10000, AGAIN_MS = 500, KEEPERS_MAX = 2 };

/* The control group of all tasks: no job has such a number. */
#define GROUP_ID (UINT64_C(1) << 63)

struct tasks {
	struct loop *loop;
	struct outbox *outbox;
	char state_dir[AGENT_PATH_MAX], cache_dir[AGENT_PATH_MAX], run_dir[AGENT_PATH_MAX];
	bool private_places;
	struct job_groups groups;
	int dir;                   /* STATE/tasks */
	struct phx_process keeper; /* pid 0: an earlier agent's, or none */
	bool busy; /* loop_take(): one worker speaks at a time, and waits for the answer */
	/* guarded by the loop: */
	int fd;                  /* the socket; -1 none */
	uint32_t connection;     /* number of the connection */
	sd_event_source *source; /* of fd */
	sd_event_source *again;  /* when to start another keeper; NULL: never again */
	unsigned n_working;      /* workers of ours that are under way */
	bool ready;              /* the keeper has said which orders it had */
	bool drained;
	uint64_t told[PHX_TASKS_TOLD]; /* orders that were taken, the last one at the end; 0 none */
	bool answered;                 /* was the last order answered? Its number, text, code: */
	uint64_t asked;
	struct phx_err answer;
	int64_t code;
};

/* ---- messages of the keeper; with the loop held ---- */

static void hang_up(struct tasks *t)
{
	loop_forget(t->loop, &t->source);
	phx_close_fd(&t->fd);
	t->ready = false;
	loop_news(t->loop);
}

static void heard_taken(struct tasks *t, uint64_t number)
{
	if (!number) {
		t->ready = true;
		return;
	}
	for (int i = 0; i < PHX_TASKS_TOLD; i++)
		if (t->told[i] == number)
			return;
	memmove(t->told, t->told + 1, sizeof(t->told) - sizeof(t->told[0]));
	t->told[PHX_TASKS_TOLD - 1] = number;
}

static void heard_answer(struct tasks *t, const struct task_tell *m)
{
	if (m->number != t->asked || t->answered)
		return;
	t->answered = true;
	t->code = m->code;
	phx_err_clear(&t->answer);
	if (m->code < 0)
		phx_err_set(&t->answer, (int)m->code, "%s", m->text);
}

/* The head has the rows, or refused them for good. In a worker. */
static void rows_done(void *arg, uint64_t number, uint32_t connection)
{
	struct tasks *t = arg;
	struct task_say m = {.what = "ack", .number = number};
	LOOP_HELD(t->loop);
	if (t->fd >= 0 && t->connection == connection &&
	    task_talk_send(t->fd, &task_say_record, &m) < 0)
		hang_up(t);
}

static void heard_rows(struct tasks *t, const struct task_tell *m)
{
	struct phx_err err = {0};
	const struct phx_task_results rows = {m->rows};
	struct result_subject about = {.id = m->number, .run = t->connection, .is_tasks = true};
	if (phx_task_results_check(&rows, &err) < 0)
		agent_log("rows of tasks: %s", err.text);
	PHX_AUTO_FREE char *text = phx_json_record_text_least(&phx_task_results_record, &rows);
	PHX_AUTO_JSON json_t *j = NULL;
	if (!text || phx_json_parse(text, strlen(text), &j, &err) < 0 ||
	    outbox_put(t->outbox, about, j, NULL, NULL, rows_done, t) < 0)
		hang_up(t); /* the keeper sends them again */
}

static void heard(struct tasks *t, const struct task_tell *m)
{
	if (phx_str_eq(m->what, "rows")) {
		heard_rows(t, m);
		return;
	}
	if (phx_str_eq(m->what, "taken"))
		heard_taken(t, m->number);
	if (phx_str_eq(m->what, "drained"))
		t->drained = true;
	else
		heard_answer(t, m);
	loop_news(t->loop);
}

static void listen_again(struct tasks *t);

/* A keeper that ends for want of work removes its socket. One that died leaves it, and has not
 * reported all results: starts another keeper, which does. */
static void look_how_it_ended(struct tasks *t)
{
	if (t->again && faccessat(t->dir, "socket", F_OK, 0) == 0)
		loop_arm(t->loop, t->again, phx_clock_ms() + AGAIN_MS);
}

/* Reads what has come. In a worker. */
static void hear(void *arg)
{
	struct tasks *t = arg;
	LOOP_HELD(t->loop);
	int r = 0;
	while (r == 0 && t->fd >= 0) {
		struct task_tell m = {0};
		r = task_talk_receive(t->fd, &task_tell_record, &m);
		if (r == 0)
			heard(t, &m);
		phx_record_fini(&task_tell_record, &m);
	}
	t->n_working--;
	if (r == -EAGAIN)
		listen_again(t);
	else if (t->fd >= 0)
		hang_up(t);
	if (t->fd < 0)
		look_how_it_ended(t);
	loop_news(t->loop);
}

static void on_words(void *arg)
{
	struct tasks *t = arg;
	t->n_working++;
	if (loop_work(t->loop, hear, t) == 0)
		return;
	t->n_working--;
	hang_up(t); /* the next order finds the keeper again */
}

static void listen_again(struct tasks *t)
{
	if (t->source)
		loop_watch_again(t->loop, t->source);
}

/* ---- the keeper ---- */

/* Takes over a socket to a keeper. */
static int adopt(struct tasks *t, int fd)
{
	LOOP_HELD(t->loop);
	t->fd = fd;
	t->connection++;
	int r = loop_watch(t->loop, fd, on_words, t, &t->source);
	if (r < 0)
		hang_up(t);
	return r;
}

/* Waits until a message has set *flag. -EPIPE: the keeper is gone; -ETIMEDOUT. */
static int await(struct tasks *t, const bool *flag, int64_t due_ms)
{
	LOOP_HELD(t->loop);
	while (!*flag && t->fd >= 0)
		if (!loop_wait(t->loop, due_ms) && !*flag)
			return -ETIMEDOUT;
	return *flag ? 0 : -EPIPE;
}

/* Reaps a former keeper that has ended; does not wait for one that hangs. */
static void collect(struct tasks *t)
{
	if (t->keeper.pid <= 0 || phx_process_wait(t->keeper.pidfd, 0) < 0)
		return;
	phx_process_status(t->keeper.pidfd);
	phx_close_fd(&t->keeper.pidfd);
	t->keeper = (struct phx_process){.pidfd = -1};
}

static int launch(struct tasks *t, struct phx_err *err)
{
	char group[JOB_GROUP_MAX];
	job_group_make(&t->groups, GROUP_ID, 0, group);
	const char *const argv[] = {"/proc/self/exe",
				    TASK_KEEPER_WORD,
				    t->state_dir,
				    t->cache_dir,
				    t->run_dir,
				    group,
				    t->private_places ? "private" : "",
				    NULL};
	struct phx_launch l = {.argv = argv, .group = PHX_GROUP_SESSION};
	collect(t);
	phx_close_fd(&t->keeper.pidfd);
	int r = phx_process_start(&l, &t->keeper, err);
	if (r == 0 && group[0] && t->groups.scopes &&
	    job_scope_start(&t->groups, GROUP_ID, 0, t->keeper.pid, JOB_DIE_MS, err) < 0) {
		agent_log("tasks: no control group: %s", err->text);
		phx_err_clear(err);
	}
	return r;
}

static int start_keeper(struct tasks *t, struct phx_err *err)
{
	PHX_AUTO_FREE char *socket = phx_path("%s/tasks/socket", t->state_dir);
	if (!socket)
		return -ENOMEM;
	unlink(socket); /* a dead keeper's: nobody has answered */
	int r = launch(t, err);
	if (r == 0 && (r = phx_file_await(socket, t->keeper.pidfd, START_MS)) < 0)
		phx_err_set(err, r, "the keeper of tasks did not start: %s", strerror(-r));
	return r;
}

/* In a worker that has t->busy. */
static int need_keeper(struct tasks *t, struct phx_err *err)
{
	int fd = t->fd, r = 0;
	if (fd >= 0)
		return 0;
	fd = task_talk_connect(t->dir);
	if (fd < 0) {
		r = start_keeper(t, err);
		fd = r < 0 ? r : task_talk_connect(t->dir);
	}
	r = fd < 0 ? fd : adopt(t, fd);
	r = r ? r : await(t, &t->ready, phx_clock_ms() + ANSWER_MS);
	return r < 0 && !err->text[0] ? phx_err_set(err, r, "the keeper of tasks: %s", strerror(-r))
				      : r;
}

/* ---- orders ---- */

static int say(struct tasks *t, const struct task_say *m)
{
	LOOP_HELD(t->loop);
	t->answered = t->drained = false;
	t->asked = m->number;
	return t->fd < 0 ? -EPIPE : task_talk_send(t->fd, &task_say_record, m);
}

/* Says the order, once more if the keeper was just ending for want of work: it has not read the
 * order then. */
static int say_order(struct tasks *t, const struct task_say *m, struct phx_err *err)
{
	int r = -EPIPE;
	for (int i = 0; r == -EPIPE && i < 2; i++) {
		phx_err_clear(err);
		r = need_keeper(t, err);
		r = r ? r : say(t, m);
		r = r ? r : await(t, &t->answered, phx_clock_ms() + ANSWER_MS);
	}
	if (r < 0 && !err->text[0])
		return phx_err_set(err, r, "the keeper of tasks: %s", strerror(-r));
	if (r == 0 && t->code < 0) {
		*err = t->answer;
		return (int)t->code;
	}
	return r;
}

int tasks_order(struct tasks *t, uint64_t id, const json_t *order, struct phx_err *err)
{
	struct task_say m = {.what = "order", .number = id};
	if (!t)
		return phx_err_set(err, -EOPNOTSUPP, "no tasks run in this environment");
	int r = id ? order_tasks(order, &m.order, err)
		   : phx_err_set(err, -EINVAL, "tasks: an order needs a number");
	if (r < 0)
		return r;
	loop_take(t->loop, &t->busy);
	r = say_order(t, &m, err);
	loop_give(t->loop, &t->busy);
	phx_record_fini(&task_say_record, &m);
	return r;
}

void tasks_running(struct tasks *t, json_t *list)
{
	bool any = false;
	if (!t)
		return;
	LOOP_HELD(t->loop);
	for (int i = 0; i < PHX_TASKS_TOLD; i++) {
		if (!t->told[i])
			continue;
		order_report(list, PHX_ORDER_tasks, t->told[i]);
		any = true;
	}
	if (!any)
		order_report(list, PHX_ORDER_tasks, 0);
}

bool tasks_work(struct tasks *t)
{
	if (!t)
		return false;
	LOOP_HELD(t->loop);
	return t->fd >= 0;
}

/* Waits until *done, or the keeper is gone; asks `until` whenever there is news. */
static int await_over(struct tasks *t, const bool *done, const struct jobs_until *until)
{
	LOOP_HELD(t->loop);
	while (!*done && t->fd >= 0) {
		if (until->cancelled(until->arg))
			return -ECANCELED;
		if (!loop_wait(t->loop, until->due_ms) && !*done && t->fd >= 0)
			return until->cancelled(until->arg) ? -ECANCELED : -ETIMEDOUT;
	}
	return 0; /* tasks end with their keeper */
}

int tasks_drain(struct tasks *t, const struct jobs_until *until, struct phx_err *err)
{
	int r = 0;
	if (!t)
		return 0;
	LOOP_TAKEN(t->loop, &t->busy);
	int fd = t->fd < 0 ? task_talk_connect(t->dir) : -1;
	if (t->fd < 0 && fd < 0)
		return 0; /* there is no keeper: nothing runs */
	if (fd >= 0)
		r = adopt(t, fd);
	r = r ? r : say(t, &(struct task_say){.what = "drain"});
	r = r ? r : await_over(t, &t->drained, until);
	return r < 0 ? phx_err_set(err, r, "tasks: %s",
				   r == -ETIMEDOUT ? "some processes do not end" : strerror(-r))
		     : 0;
}

/* Is there a keeper, or one that died and left its socket? */
static bool has_keeper(struct tasks *t)
{
	return t->fd >= 0 || faccessat(t->dir, "socket", F_OK, 0) == 0;
}

/* Waits for the end of the keeper that there is, or of another in the place of one that died. */
static int await_keeper(struct tasks *t, const struct jobs_until *until, struct phx_err *err)
{
	const bool never = false;
	int r = need_keeper(t, err);
	r = r ? r : await_over(t, &never, until);
	if (r == 0)
		loop_arm(t->loop, t->again, INT64_MAX); /* that it died is seen to here */
	return r;
}

int tasks_await_end(struct tasks *t, const struct jobs_until *until, struct phx_err *err)
{
	int r = 0;
	if (!t)
		return 0;
	LOOP_TAKEN(t->loop, &t->busy);
	for (int i = 0; r == 0 && has_keeper(t); i++)
		r = i < KEEPERS_MAX ? await_keeper(t, until, err) : -EPIPE;
	return r < 0 ? phx_err_set(err, r, "the keeper of tasks %s",
				   r == -EPIPE ? "died, and another one, too" : "runs")
		     : 0;
}

/* ---- life ---- */

/* Finds or starts a keeper, since it may have results that the head does not have yet. In a
 * worker. */
static void take_up(void *arg)
{
	struct tasks *t = arg;
	struct phx_err err = {0};
	loop_take(t->loop, &t->busy);
	if (need_keeper(t, &err) < 0)
		agent_log("tasks: %s", err.text);
	loop_give(t->loop, &t->busy);
	LOOP_HELD(t->loop);
	t->n_working--;
	loop_news(t->loop);
}

static void on_again(void *arg)
{
	struct tasks *t = arg;
	t->n_working++;
	if (loop_work(t->loop, take_up, t) == 0)
		return;
	t->n_working--;
	loop_arm(t->loop, t->again, phx_clock_ms() + AGAIN_MS);
}

static int prepare(struct tasks *t, const struct tasks_config *c, struct phx_err *err)
{
	struct stat st;
	PHX_AUTO_FREE char *dir = phx_path("%s/tasks", c->state_dir);
	PHX_STR_SET(t->state_dir, c->state_dir);
	PHX_STR_SET(t->cache_dir, c->cache_dir);
	PHX_STR_SET(t->run_dir, c->run_dir);
	int r = dir ? phx_dir_make(dir, 0700, err) : -ENOMEM;
	t->dir = r < 0 ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->dir < 0)
		return r ? r : phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	job_group_find(dir, c->may_ask_systemd, &t->groups);
	r = loop_timer(t->loop, on_again, t, &t->again);
	if (r == 0 && fstatat(t->dir, "log", &st, 0) == 0 && st.st_size)
		loop_arm(t->loop, t->again, phx_clock_ms());
	return r;
}

int tasks_new(const struct tasks_config *config, struct tasks **ret, struct phx_err *err)
{
	struct tasks *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	*t = (struct tasks){.loop = config->loop,
			    .outbox = config->outbox,
			    .private_places = config->private_places,
			    .dir = -1,
			    .fd = -1,
			    .keeper.pidfd = -1};
	int r = prepare(t, config, err);
	if (r < 0) {
		tasks_free(t);
		return phx_err_set(err, r, "tasks: %s", strerror(-r));
	}
	*ret = t;
	return 0;
}

void tasks_free(struct tasks *t)
{
	if (!t)
		return;
	loop_hold(t->loop);
	loop_forget(t->loop, &t->again);
	hang_up(t);
	while (t->n_working)
		loop_wait(t->loop, INT64_MAX);
	loop_release(t->loop);
	phx_close_fd(&t->keeper.pidfd);
	phx_close_fd(&t->dir);
	free(t);
}
