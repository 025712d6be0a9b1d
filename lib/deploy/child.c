/* Child programs under supervision: see child.h. Called by phxd.
 *
 *   add ─▶ running ──ends──▶ waiting (back-off) ──▶ running ...
 *             │ remove, free                │
 *             ▼                             ▼
 *          stopping ──ended or SIGKILL──▶ gone
 *
 * One thread polls the pidfds and the next due time; all fields of a child are
 * touched under the lock. Children are forked by that thread, because the
 * death signal of a child follows the thread that made it. */
#include "deploy/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"

enum {
	CHILDREN_MAX = 16,
	STOP_GRACE_MS = 3000,
	STEADY_MS = 10000,
	BACKOFF_MIN_MS = 100,
	BACKOFF_MAX_MS = 30000
};
enum { LOG_CHECK_MS = 60000, LOG_MAX = 4 << 20, LOG_KEEP = 1 << 20 };

struct child {
	char name[32];
	char **argv;
	char *pid_file, *log_file;
	int pidfd; /* -1 when it does not run */
	struct phx_child_status status;
	uint32_t backoff_ms;
	int64_t started_ms, due_ms; /* due: next start, or SIGKILL when stopping */
	bool first;                 /* was never tried yet: its failure goes to the caller of add */
	int first_result;
	bool stopping; /* asked to end for good */
	bool again;    /* asked to end and start anew */
	bool gone;
};

struct phx_children {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved; /* a child was started for the first time, or is gone */
	int wake;             /* eventfd */
	bool quit;
	struct child *children[CHILDREN_MAX];
	phx_child_fn changed;
	void *arg;
};

PHX_RECORD_TABLE(phx_child_status, PHX_CHILD_STATUS_FIELDS);

static void child_free(struct child *ch)
{
	if (!ch)
		return;
	for (char **p = ch->argv; p && *p; p++)
		free(*p);
	free(ch->argv);
	free(ch->pid_file);
	free(ch->log_file);
	phx_close_fd(&ch->pidfd);
	free(ch);
}

static void notify(struct phx_children *c, const struct child *ch)
{
	if (c->changed)
		c->changed(c->arg, &ch->status);
}

static void wake(struct phx_children *c)
{
	uint64_t one = 1;
	(void)!write(c->wake, &one, sizeof(one));
}

/* ---- the thread's side; the lock is held ---- */

static void schedule(struct child *ch, int64_t now)
{
	bool steady = ch->started_ms && now - ch->started_ms >= STEADY_MS;
	ch->backoff_ms = steady || !ch->backoff_ms    ? BACKOFF_MIN_MS
		: ch->backoff_ms * 2 < BACKOFF_MAX_MS ? ch->backoff_ms * 2
						      : BACKOFF_MAX_MS;
	ch->due_ms = now + ch->backoff_ms;
}

static int launch(const struct child *ch, struct phx_process *ret, struct phx_err *err)
{
	PHX_AUTO_CLOSE int log = -1;
	if (ch->log_file &&
	    (log = open(ch->log_file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
			0640)) < 0)
		return phx_err_set(err, -errno, "%s: %s", ch->log_file, strerror(errno));
	const int said = log >= 0 ? log : 0;
	const struct phx_launch l = {.argv = (const char *const *)ch->argv,
				     .out = said,
				     .errout = said,
				     .death_signal = SIGTERM};
	return phx_process_start(&l, ret, err);
}

static void start(struct phx_children *c, struct child *ch, int64_t now)
{
	struct phx_err err = {0};
	struct phx_process p = {.pidfd = -1};
	/* one that a killed daemon left */
	int r = ch->first && ch->pid_file
		? phx_process_end_noted(ch->pid_file, false, STOP_GRACE_MS, &err)
		: 0;
	if (r == 0)
		r = launch(ch, &p, &err);
	ch->started_ms = now;
	ch->status.running = r == 0;
	ch->status.pid = r == 0 ? (uint64_t)p.pid : 0;
	ch->pidfd = p.pidfd;
	snprintf(ch->status.error, sizeof(ch->status.error), "%.*s",
		 (int)sizeof(ch->status.error) - 1, err.text);
	if (r == 0 && ch->pid_file)
		(void)phx_process_note(ch->pid_file, p.pid, NULL);
	if (r == 0)
		ch->due_ms = INT64_MAX;
	else
		schedule(ch, now);
	if (ch->first) {
		ch->first = false;
		ch->first_result = r;
		if (r < 0)
			ch->due_ms = INT64_MAX;
		pthread_cond_broadcast(&c->moved);
	} else {
		ch->status.restarts++;
	}
	notify(c, ch);
}

static void ended(struct phx_children *c, struct child *ch, int64_t now)
{
	ch->status.status = phx_process_status(ch->pidfd);
	ch->status.running = false;
	ch->status.pid = 0;
	phx_close_fd(&ch->pidfd);
	if (ch->pid_file)
		unlink(ch->pid_file);
	if (ch->stopping) {
		ch->gone = true;
		pthread_cond_broadcast(&c->moved);
	} else if (ch->again) {
		ch->again = false;
		ch->backoff_ms = 0;
		ch->due_ms = now;
	} else {
		schedule(ch, now);
	}
	notify(c, ch);
}

/* A due time passed: start it, or be firm with one that does not end. */
static void due(struct phx_children *c, struct child *ch, int64_t now)
{
	if (ch->pidfd < 0) {
		start(c, ch, now);
		return;
	}
	phx_process_signal(ch->pidfd, SIGKILL);
	ch->due_ms = INT64_MAX;
}

static int timeout_of(const struct phx_children *c, int64_t now)
{
	int64_t next = INT64_MAX;
	for (int i = 0; i < CHILDREN_MAX; i++) {
		const struct child *ch = c->children[i];
		if (ch && !ch->gone && ch->due_ms < next)
			next = ch->due_ms;
	}
	return next <= now ? 0 : next - now < LOG_CHECK_MS ? (int)(next - now) : LOG_CHECK_MS;
}

/* Fills `fds`, one a child behind the eventfd; waits without the lock. */
static void wait_for_something(struct phx_children *c, struct pollfd *fds)
{
	fds[0] = (struct pollfd){c->wake, POLLIN, 0};
	for (int i = 0; i < CHILDREN_MAX; i++)
		fds[i + 1] =
			(struct pollfd){c->children[i] ? c->children[i]->pidfd : -1, POLLIN, 0};
	int timeout = timeout_of(c, phx_clock_ms());
	pthread_mutex_unlock(&c->lock);
	poll(fds, CHILDREN_MAX + 1, timeout);
	uint64_t n;
	if (fds[0].revents)
		(void)!read(c->wake, &n, sizeof(n));
	pthread_mutex_lock(&c->lock);
}

int phx_child_trim_log(const char *log_file, size_t max, size_t keep)
{
	PHX_AUTO_CLOSE int fd = open(log_file, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size <= max)
		return 0;
	PHX_AUTO_FREE char *tail = malloc(keep);
	ssize_t n = tail ? pread(fd, tail, keep, st.st_size - (off_t)keep) : -1;
	if (ftruncate(fd, 0) < 0)
		return -errno;
	/* from the first whole line on */
	const char *line = n > 0 ? memchr(tail, '\n', (size_t)n) : NULL;
	return line ? phx_write_all(fd, line + 1, (size_t)(tail + n - line) - 1) : 0;
}

/* What the programs say must not fill the file system. */
static void trim_logs(struct phx_children *c, int64_t now, int64_t *next)
{
	if (now < *next)
		return;
	*next = now + LOG_CHECK_MS;
	for (int i = 0; i < CHILDREN_MAX; i++)
		if (c->children[i] && c->children[i]->log_file)
			phx_child_trim_log(c->children[i]->log_file, LOG_MAX, LOG_KEEP);
}

static void *supervise(void *arg)
{
	struct phx_children *c = arg;
	struct pollfd fds[CHILDREN_MAX + 1];
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	pthread_mutex_lock(&c->lock);
	for (int64_t trim_ms = 0; !c->quit;) {
		wait_for_something(c, fds);
		int64_t now = phx_clock_ms();
		trim_logs(c, now, &trim_ms);
		for (int i = 0; i < CHILDREN_MAX; i++) {
			struct child *ch = c->children[i];
			if (!ch || ch->gone)
				continue;
			if (ch->pidfd >= 0 && ch->pidfd == fds[i + 1].fd && fds[i + 1].revents)
				ended(c, ch, now);
			if (!ch->gone && ch->due_ms <= now)
				due(c, ch, now);
		}
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* ---- the callers' side ---- */

static int find(const struct phx_children *c, const char *name)
{
	for (int i = 0; i < CHILDREN_MAX; i++)
		if (c->children[i] && !c->children[i]->stopping &&
		    !strcmp(c->children[i]->name, name))
			return i;
	return -ENOENT;
}

int phx_children_new(phx_child_fn changed, void *arg, struct phx_children **ret,
		     struct phx_err *err)
{
	struct phx_children *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->changed = changed;
	c->arg = arg;
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = c->wake < 0 ? -errno : 0;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->moved, NULL);
	if (r == 0)
		r = -pthread_create(&c->thread, NULL, supervise, c);
	if (r < 0) {
		phx_close_fd(&c->wake);
		free(c);
		return phx_err_set(err, r, "supervisor of child programs: %s", strerror(-r));
	}
	*ret = c;
	return 0;
}

static struct child *child_new(const struct phx_child_spec *spec)
{
	struct child *ch = calloc(1, sizeof(*ch));
	size_t n = 0;
	while (spec->argv[n])
		n++;
	if (!ch)
		return NULL;
	ch->pidfd = -1;
	ch->first = true;
	bool ok = PHX_STR_SET(ch->name, spec->name) == 0 &&
		(ch->argv = calloc(n + 1, sizeof(*ch->argv)));
	for (size_t i = 0; ok && i < n; i++)
		ok = (ch->argv[i] = strdup(spec->argv[i]));
	if (ok && spec->pid_file)
		ok = (ch->pid_file = strdup(spec->pid_file));
	if (ok && spec->log_file)
		ok = (ch->log_file = strdup(spec->log_file));
	if (ok) {
		PHX_STR_SET(ch->status.name, spec->name);
		return ch;
	}
	child_free(ch);
	return NULL;
}

/* Takes `ch`; the lock is held. */
static int add_locked(struct phx_children *c, struct child *ch, struct phx_err *err)
{
	int slot = 0;
	while (slot < CHILDREN_MAX && c->children[slot])
		slot++;
	int r = find(c, ch->name) >= 0 ? phx_err_set(err, -EEXIST, "%s: runs already", ch->name)
		: slot == CHILDREN_MAX
		? phx_err_set(err, -E2BIG, "more than %d child programs", CHILDREN_MAX)
		: 0;
	if (r == 0) {
		c->children[slot] = ch;
		wake(c);
		while (ch->first)
			pthread_cond_wait(&c->moved, &c->lock);
		r = ch->first_result;
		if (r == 0)
			return 0;
		phx_err_set(err, r, "%s", ch->status.error);
		c->children[slot] = NULL;
	}
	child_free(ch);
	return r;
}

int phx_children_add(struct phx_children *c, const struct phx_child_spec *spec, struct phx_err *err)
{
	struct child *ch = child_new(spec);
	if (!ch)
		return phx_err_set(err, -ENOMEM, "%s: no memory, or too long a name", spec->name);
	pthread_mutex_lock(&c->lock);
	int r = add_locked(c, ch, err);
	pthread_mutex_unlock(&c->lock);
	return r;
}

/* Ask it to end; the thread does the rest. The lock is held. */
static void ask_to_end(struct phx_children *c, struct child *ch)
{
	if (ch->pidfd >= 0) {
		phx_process_signal(ch->pidfd, SIGTERM);
		ch->due_ms = phx_clock_ms() + STOP_GRACE_MS;
	} else if (ch->stopping) {
		ch->gone = true;
	} else {
		ch->due_ms = phx_clock_ms();
	}
	wake(c);
}

static void remove_locked(struct phx_children *c, int slot)
{
	struct child *ch = c->children[slot];
	ch->stopping = true;
	ask_to_end(c, ch);
	while (!ch->gone)
		pthread_cond_wait(&c->moved, &c->lock);
	c->children[slot] = NULL;
	child_free(ch);
}

int phx_children_signal(struct phx_children *c, const char *name, int sig, struct phx_err *err)
{
	pthread_mutex_lock(&c->lock);
	int slot = find(c, name);
	int r = slot < 0                       ? -ENOENT
		: c->children[slot]->pidfd < 0 ? -ESRCH
					       : phx_process_signal(c->children[slot]->pidfd, sig);
	pthread_mutex_unlock(&c->lock);
	return r < 0 ? phx_err_set(err, r, "%s: %s", name,
				   r == -ENOENT ? "no such child program" : "does not run now")
		     : 0;
}

int phx_children_restart(struct phx_children *c, const char *name, struct phx_err *err)
{
	pthread_mutex_lock(&c->lock);
	int slot = find(c, name);
	if (slot >= 0) {
		c->children[slot]->again = c->children[slot]->pidfd >= 0;
		ask_to_end(c, c->children[slot]);
	}
	pthread_mutex_unlock(&c->lock);
	return slot < 0 ? phx_err_set(err, -ENOENT, "%s: no such child program", name) : 0;
}

int phx_children_status(struct phx_children *c, struct phx_list *ret)
{
	struct phx_list list = {0};
	int r = 0;
	pthread_mutex_lock(&c->lock);
	for (int i = 0; r == 0 && i < CHILDREN_MAX; i++) {
		if (!c->children[i])
			continue;
		struct phx_child_status *s = phx_list_push(&list, sizeof(*s));
		if (s)
			*s = c->children[i]->status;
		else
			r = -ENOMEM;
	}
	pthread_mutex_unlock(&c->lock);
	if (r < 0)
		phx_list_fini(&list);
	else
		*ret = list;
	return r;
}

void phx_children_free(struct phx_children *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	for (int i = 0; i < CHILDREN_MAX; i++)
		if (c->children[i])
			remove_locked(c, i);
	c->quit = true;
	wake(c);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->moved);
	phx_close_fd(&c->wake);
	free(c);
}
