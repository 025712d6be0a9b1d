/* See task_keeper.h: the loop of the keeper. One thread, which waits in epoll alone and for nothing
 * else but the disk. Its child processes die with it. */
#include "agent/task_keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/job_keeper.h"
#include "agent/log.h"
#include "agent/task_keep.h"
#include "base/clock.h"
#include "base/file.h"

enum { IDLE_MS = 10000, EVENTS = 64 };

/* epoll's data of descriptors that are not a task's; entries of tasks have smaller numbers */
enum { OF_SIGNALS = 1u << 30, OF_LISTENER, OF_AGENT };

struct keeper {
	struct task_keep k;
	int signals, listener, agent; /* the agent's connection, -1 none */
	bool leaves;                  /* a signal told the keeper to end */
	bool draining;                /* the agent waits for "drained" */
	int64_t idle_ms;              /* since when there is nothing to do; 0: there is */
};

/* ---- messages to the agent ---- */

static void drop_agent(struct keeper *p)
{
	phx_close_fd(&p->agent);
	p->k.n_told = 0; /* the next agent is told these rows again */
	p->draining = false;
}

static void tell(struct keeper *p, const struct task_tell *m)
{
	if (p->agent >= 0 && task_talk_send(p->agent, &task_tell_record, m) < 0)
		drop_agent(p);
}

static void tell_rows(struct keeper *p)
{
	struct task_tell m = {.what = "rows"};
	if (p->agent < 0 || p->k.n_told || !task_life_rows(&p->k, &m.rows))
		return;
	m.number = ++p->k.batch;
	p->k.n_told = m.rows.n;
	tell(p, &m);
	phx_list_fini(&m.rows);
}

static bool has_open(const struct keeper *p)
{
	return p->k.book.n[TASK_WAITS] || p->k.book.n[TASK_RUNS];
}

/* ---- messages of the agent ---- */

static void take_order(struct keeper *p, const struct task_say *m)
{
	struct phx_err err = {0};
	struct task_tell answer = {.what = "taken", .number = m->number};
	int r = p->leaves ? phx_err_set(&err, -EBUSY, "it is about to end") : 0;
	r = r ? r : phx_task_order_check(&m->order, &err);
	r = r ? r : task_life_order(&p->k, m->number, &m->order, &err);
	if (r < 0) {
		PHX_STR_SET(answer.what, "refused");
		answer.code = r;
		snprintf(answer.text, sizeof(answer.text), "%s",
			 err.text[0] ? err.text : strerror(-r));
	}
	tell(p, &answer);
	task_life_begin(&p->k);
}

static void take_message(struct keeper *p, const struct task_say *m)
{
	if (phx_str_eq(m->what, "order")) {
		take_order(p, m);
	} else if (phx_str_eq(m->what, "ack") && m->number == p->k.batch) {
		task_life_said(&p->k, p->k.n_told);
		p->k.n_told = 0;
	} else if (phx_str_eq(m->what, "drain")) {
		p->draining = true;
		task_life_end_all(&p->k, PHX_TASK_LOST);
	}
}

static void hear_agent(struct keeper *p)
{
	struct task_say m = {0};
	int r = task_talk_receive(p->agent, &task_say_record, &m);
	if (r == 0)
		take_message(p, &m);
	else if (r != -EAGAIN)
		drop_agent(p);
	phx_record_fini(&task_say_record, &m);
}

static void tell_orders(struct keeper *p)
{
	for (int i = 0; i < PHX_TASKS_TOLD; i++)
		if (p->k.told[i])
			tell(p, &(struct task_tell){.what = "taken", .number = p->k.told[i]});
	tell(p, &(struct task_tell){.what = "taken"});
}

/* Accepts another agent, which replaces the former one. */
static void take_agent(struct keeper *p)
{
	int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	drop_agent(p);
	p->agent = fd;
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = OF_AGENT};
	epoll_ctl(p->k.poll, EPOLL_CTL_ADD, fd, &e);
	tell_orders(p);
}

/* ---- children ---- */

static void reap(struct keeper *p)
{
	struct rusage used;
	int status;
	for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &used)) > 0;)
		task_life_reaped(&p->k, pid, status, &used);
}

/* Kills processes that left the session of their task and so became children of the keeper. Called
 * when no task runs, so they belong to none that does. */
static void kill_strays(void)
{
	char text[4096];
	PHX_AUTO_CLOSE int list = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	ssize_t n = list < 0 ? 0 : read(list, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	for (char *at = text, *end;; at = end) {
		long pid = strtol(at, &end, 10);
		if (end == at)
			return;
		kill((pid_t)pid, SIGKILL);
	}
}

static void take_signals(struct keeper *p)
{
	struct signalfd_siginfo info;
	while (read(p->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		p->leaves = p->leaves || info.ssi_signo != SIGCHLD;
	reap(p);
	if (p->leaves)
		task_life_end_all(&p->k, PHX_TASK_LOST);
}

/* ---- the loop ---- */

static void take_event(struct keeper *p, const struct epoll_event *e)
{
	uint64_t what = e->data.u64;
	if (what == OF_SIGNALS)
		take_signals(p);
	else if (what == OF_LISTENER)
		take_agent(p);
	else if (what == OF_AGENT && p->agent >= 0)
		hear_agent(p);
	else if (what < p->k.book.n_entries) {
		struct task_body *t = task_book_at(&p->k.book, (uint32_t)what)->body;
		if (t && t->from >= 0 && !task_run_read(&p->k.site, t))
			task_life_deaf(&p->k, t); /* the program may go on in silence */
	}
}

/* How long, in ms, nothing is due. */
static int time_left(const struct keeper *p)
{
	int64_t now = phx_clock_ms(), left = INT64_MAX;
	if (p->k.due_ms != INT64_MAX)
		left = p->k.due_ms - phx_clock_boot_ms();
	if (p->k.sync_ms != INT64_MAX && p->k.sync_ms - now < left)
		left = p->k.sync_ms - now;
	if (p->idle_ms && p->idle_ms + IDLE_MS - now < left)
		left = p->idle_ms + IDLE_MS - now;
	return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

/* Acts on all that has happened. */
static void settle(struct keeper *p)
{
	struct phx_err err = {0};
	task_life_look(&p->k);
	task_life_begin(&p->k);
	if (p->k.n_news >= PHX_TASK_ROWS_MAX || phx_clock_ms() >= p->k.sync_ms)
		task_life_sync(&p->k);
	tell_rows(p);
	if (p->draining && !has_open(p)) {
		p->draining = false;
		tell(p, &(struct task_tell){.what = "drained"});
	}
	if (!p->k.book.n[TASK_RUNS] && waitpid(-1, NULL, WNOHANG) == 0)
		kill_strays();
	if (task_log_is_long(&p->k.log) && task_life_renew(&p->k, &err) < 0)
		p->k.failed = true;
	bool idle = !has_open(p) && !p->k.book.n[TASK_ENDED];
	p->idle_ms = !idle ? 0 : p->idle_ms ? p->idle_ms : phx_clock_ms();
}

static bool is_over(const struct keeper *p)
{
	bool idle = p->idle_ms && phx_clock_ms() - p->idle_ms >= IDLE_MS;
	return p->k.failed || idle || (p->leaves && !has_open(p));
}

static void run(struct keeper *p)
{
	struct epoll_event events[EVENTS];
	for (settle(p); !is_over(p); settle(p)) {
		int n = epoll_wait(p->k.poll, events, EVENTS, time_left(p));
		for (int i = 0; i < n; i++)
			take_event(p, &events[i]);
	}
	task_life_sync(&p->k);
}

/* ---- the beginning ---- */

static int watch(struct keeper *p, int fd, uint64_t what)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = what};
	return epoll_ctl(p->k.poll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

static int open_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, JOB_SIGNAL_END);
	sigaddset(&set, JOB_SIGNAL_RETURN);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int open_dir(const char *parent, const char *name, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", parent, name);
	int r = path ? phx_dir_make(path, 0700, err) : -ENOMEM;
	int fd = r < 0 ? r : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return r == 0 && fd < 0 ? phx_err_set(err, -errno, "%s: %s", path, strerror(errno)) : fd;
}

/* Lists the output that earlier keepers have kept. */
static void take_kept(struct task_keep *k)
{
	int fd = dup(k->site.out_dir);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	for (const struct dirent *e; d && (e = readdir(d));) {
		struct stat st;
		struct task_kept *one = e->d_name[0] == '.' ||
				fstatat(k->site.out_dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0
			? NULL
			: phx_list_push(&k->kept, sizeof(*one));
		if (!one)
			continue;
		PHX_STR_SET(one->name, e->d_name);
		one->bytes = (uint64_t)st.st_size;
		k->kept_bytes += one->bytes;
	}
	if (d)
		closedir(d);
}

/* Files of nodes lie where those of jobs do, for all to read. Those of an earlier keeper go. */
static int open_nodes(struct task_keep *k, const char *run_dir, struct phx_err *err)
{
	k->nodes_path = phx_path("%s/jobs", run_dir);
	int r = k->nodes_path ? phx_dir_make(k->nodes_path, 0755, err) : -ENOMEM;
	if (r < 0)
		return r;
	k->site.nodes_path = k->nodes_path;
	k->site.nodes_dir = open(k->nodes_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = k->site.nodes_dir < 0 ? -1 : dup(k->site.nodes_dir);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return phx_err_set(err, -errno, "%s: %s", k->nodes_path, strerror(errno));
	for (const struct dirent *e; (e = readdir(d));)
		if (phx_str_starts(e->d_name, TASK_NODES_PREFIX))
			unlinkat(k->site.nodes_dir, e->d_name, 0);
	closedir(d);
	return 0;
}

/* -EBUSY: there is another keeper. */
static int take_place(struct keeper *p, char **words, struct phx_err *err)
{
	PHX_AUTO_FREE char *contact = phx_path("%s/jobs/contact", words[2]);
	p->k.dir = open_dir(words[0], "tasks", err);
	if (p->k.dir < 0)
		return p->k.dir;
	/* a lock of the directory, which ends with this process */
	if (flock(p->k.dir, LOCK_EX | LOCK_NB) < 0)
		return phx_err_set(err, -EBUSY, "tasks have a keeper already");
	p->k.site.out_dir = open_dir(words[1], "tasks", err);
	if (p->k.site.out_dir < 0)
		return p->k.site.out_dir;
	p->k.site.group = words[3];
	p->k.cache_dir = words[1];
	p->k.is_private = words[4][0] != '\0';
	p->k.contact = contact ? open(contact, O_RDONLY | O_CLOEXEC) : -1;
	take_kept(&p->k);
	int r = open_nodes(&p->k, words[2], err);
	r = r ? r : task_log_open(p->k.dir, task_life_replay, &p->k, &p->k.log, err);
	if (r == 0)
		task_life_lost(&p->k);
	return r;
}

static int prepare(struct keeper *p, char **words, struct phx_err *err)
{
	prctl(PR_SET_NAME, "phx-tasks");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	task_book_init(&p->k.book, 1, 0);
	p->signals = open_signals();
	p->k.poll = epoll_create1(EPOLL_CLOEXEC);
	int r = take_place(p, words, err);
	p->listener = r < 0 ? -1 : task_talk_listen(p->k.dir);
	if (r == 0 && p->listener < 0)
		r = phx_err_set(err, p->listener, "socket: %s", strerror(-p->listener));
	r = r ? r : watch(p, p->signals, OF_SIGNALS);
	return r ? r : watch(p, p->listener, OF_LISTENER);
}

int task_keeper_main(char **words)
{
	struct phx_err err = {0};
	struct keeper p = {.k = {.log.fd = -1,
				 .site = {.out_dir = -1, .nodes_dir = -1},
				 .dir = -1,
				 .contact = -1,
				 .poll = -1,
				 .due_ms = INT64_MAX,
				 .sync_ms = INT64_MAX},
			   .signals = -1,
			   .listener = -1,
			   .agent = -1};
	int r = prepare(&p, words, &err);
	if (r == 0) {
		run(&p);
		/* an agent that connects now finds nobody, and starts another keeper */
		unlinkat(p.k.dir, "socket", 0);
		if (p.k.failed)
			agent_log("tasks: cannot go on: what became of them cannot be written");
	} else if (r != -EBUSY) {
		agent_log("tasks: %s", err.text[0] ? err.text : strerror(-r));
	}
	task_users_fini(&p.k);
	task_life_fini(&p.k);
	return r == 0 && !p.k.failed ? 0 : 1;
}
