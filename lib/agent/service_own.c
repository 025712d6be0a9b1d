/* Services as our own children, where systemd is not process 1: each has its own
 * session, a cgroup where version 2 is writable, and a file RUN/services/NAME.pid
 * by which the next agent finds services of a killed agent. Started and stopped by
 * the services thread only (children die with that thread). */
#include "agent/service_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "agent/cpu_time.h"
#include "agent/log.h"
#include "agent/process.h"
#include "agent/service_log.h"

enum { DEFAULT_GRACE_S = 10 };

struct own {
	char dir[256];    /* RUN/services */
	char cgroup[128]; /* "" none; else the prefix of our groups */
	struct service_logs *logs;
};

/* ---- the child ---- */

struct launch {
	const struct service_command *c;
	struct process_user user;
	int error_fd, cgroup_fd; /* cgroup.procs, or -1 */
	int log_fd;
	pid_t agent;
};

/* After fork in a threaded program: async-signal-safe calls only. */
static void child_exec(const struct launch *l)
{
	setsid();
	process_reset_signals();
	if (l->cgroup_fd >= 0)
		(void)!write(l->cgroup_fd, "0", 1);
	int null = open("/dev/null", O_RDONLY);
	dup2(null, STDIN_FILENO);
	dup2(l->log_fd, STDOUT_FILENO);
	dup2(l->log_fd, STDERR_FILENO);
	int r = process_become(&l->user);
	/* after the change of user, which clears the setting */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (r == 0 && getppid() != l->agent)
		_exit(127);
	if (r == 0 && chdir(l->c->cwd) < 0)
		r = -errno;
	if (r == 0) {
		execve(l->c->argv[0], l->c->argv, l->c->env);
		r = -errno;
	}
	(void)!write(l->error_fd, &r, sizeof(r));
	_exit(127);
}

/* ---- cgroups ---- */

static void find_cgroup(struct own *o)
{
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	struct stat st;
	if (stat(o->dir, &st) < 0)
		return;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(mounts); i++) {
		struct statfs fs;
		if (statfs(mounts[i], &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC ||
		    access(mounts[i], W_OK) < 0)
			continue;
		/* the directory's inode tells agents on one host apart */
		snprintf(o->cgroup, sizeof(o->cgroup), "%s/phx-%lx-", mounts[i],
			 (unsigned long)st.st_ino);
		return;
	}
}

static int open_cgroup(const struct own *o, const char *name)
{
	PHX_AUTO_FREE char *dir = phx_path("%s%s", o->cgroup, name);
	PHX_AUTO_FREE char *procs = phx_path("%s%s/cgroup.procs", o->cgroup, name);
	if (!o->cgroup[0] || !dir || !procs || (mkdir(dir, 0755) < 0 && errno != EEXIST))
		return -1;
	return open(procs, O_WRONLY | O_CLOEXEC);
}

static void kill_cgroup(const struct own *o, const char *name)
{
	PHX_AUTO_FREE char *dir = phx_path("%s%s", o->cgroup, name);
	PHX_AUTO_FREE char *path = phx_path("%s%s/cgroup.kill", o->cgroup, name);
	if (!o->cgroup[0] || !dir || !path)
		return;
	PHX_AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!write(fd, "1", 1);
	for (int i = 0; i < 50 && rmdir(dir) < 0 && errno == EBUSY; i++)
		phx_sleep_ms(10);
}

/* ---- services that an earlier agent left ---- */

static char *pid_path(const struct own *o, const char *name)
{
	return phx_path("%s/%s.pid", o->dir, name);
}

static int write_pid(const struct own *o, const char *name, pid_t pid, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = pid_path(o, name);
	char text[64];
	if (!path)
		return -ENOMEM;
	int n = snprintf(text, sizeof(text), "%d %" PRIu64 "\n", (int)pid, process_start_time(pid));
	return phx_file_write(path, text, (size_t)n, 0644, err);
}

/* The process id in NAME.pid; 0 if that process does not run any more. */
static pid_t read_pid(const struct own *o, const char *name)
{
	PHX_AUTO_FREE char *path = pid_path(o, name);
	PHX_AUTO_FREE char *text = NULL;
	int pid = 0;
	uint64_t start = 0;
	if (!path || phx_file_read(path, 128, &text, NULL, NULL) < 0 ||
	    sscanf(text, "%d %" SCNu64, &pid, &start) != 2 || pid <= 1 || !start)
		return 0;
	return process_start_time(pid) == start ? pid : 0;
}

static void remove_pid(const struct own *o, const char *name)
{
	PHX_AUTO_FREE char *path = pid_path(o, name);
	if (path)
		unlink(path);
}

/* ---- the contract ---- */

static bool wait_end(int pidfd, uint32_t timeout_ms)
{
	struct pollfd fd = {pidfd, POLLIN, 0};
	int64_t end = phx_clock_ms() + timeout_ms;
	for (int64_t left = timeout_ms; left >= 0; left = end - phx_clock_ms())
		if (poll(&fd, 1, (int)left) > 0)
			return true;
	return false;
}

/* Ends the session of `pid`; a child of ours is reaped. */
static int end_group(pid_t pid, uint32_t grace_s, struct phx_err *err)
{
	PHX_AUTO_CLOSE int pidfd = pidfd_open(pid, 0);
	if (pidfd >= 0) {
		kill(-pid, SIGTERM);
		bool ended = wait_end(pidfd, (grace_s ? grace_s : DEFAULT_GRACE_S) * 1000);
		kill(-pid, SIGKILL);
		if (!ended && !wait_end(pidfd, 5000))
			return phx_err_set(err, -EBUSY, "process %d does not end", (int)pid);
	}
	waitpid(pid, NULL, WNOHANG);
	return 0;
}

static int own_stop(void *self, const char *name, struct service_proc *p, uint32_t grace_s,
		    struct phx_err *err)
{
	struct own *o = self;
	pid_t pid = p ? p->pid : read_pid(o, name);
	int r = pid > 0 ? end_group(pid, grace_s, err) : 0;
	if (r < 0)
		return r;
	kill_cgroup(o, name);
	remove_pid(o, name);
	if (p) {
		phx_close_fd(&p->pidfd);
		p->pid = 0;
	}
	return 0;
}

static int launch(struct own *o, struct launch *l, struct service_proc *ret, struct phx_err *err)
{
	int pipe_fds[2], failure = 0;
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	l->error_fd = pipe_fds[1];
	pid_t pid = fork();
	if (pid == 0)
		child_exec(l);
	int r = pid < 0 ? -errno : 0;
	close(pipe_fds[1]);
	if (r == 0 && read(pipe_fds[0], &failure, sizeof(failure)) == sizeof(failure)) {
		waitpid(pid, NULL, 0);
		r = failure;
	}
	close(pipe_fds[0]);
	if (r < 0)
		return phx_err_set(err, r, "%s: %s", l->c->argv[0], strerror(-r));
	r = write_pid(o, l->c->name, pid, err);
	*ret = (struct service_proc){.pid = pid, .pidfd = pidfd_open(pid, 0)};
	if (r < 0)
		own_stop(o, l->c->name, ret, 1, NULL);
	return r;
}

static int own_start(void *self, const struct service_command *c, struct service_proc *ret,
		     struct phx_err *err)
{
	struct own *o = self;
	struct launch l = {.c = c, .cgroup_fd = -1, .log_fd = -1, .agent = getpid()};
	int r = own_stop(o, c->name, NULL, c->stop_grace_s, err);
	if (r == 0)
		r = process_find_user(c->user, &l.user, err);
	if (r == 0 && (l.log_fd = service_logs_open(o->logs, c->name)) < 0)
		r = phx_err_set(err, l.log_fd, "pipe: %s", strerror(-l.log_fd));
	if (r < 0)
		return r;
	l.cgroup_fd = open_cgroup(o, c->name);
	r = launch(o, &l, ret, err);
	phx_close_fd(&l.cgroup_fd);
	phx_close_fd(&l.log_fd);
	return r;
}

static int own_running(void *self, const char *name, struct service_proc *p, int *ret_status)
{
	struct own *o = self;
	int status = 0;
	if (p->pid > 0 && waitpid(p->pid, &status, WNOHANG) == 0)
		return 1;
	/* children of the service are killed with it */
	if (p->pid > 0)
		kill(-p->pid, SIGKILL);
	kill_cgroup(o, name);
	remove_pid(o, name);
	phx_close_fd(&p->pidfd);
	p->pid = 0;
	*ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return 0;
}

static int own_signal(void *self, const char *name, struct service_proc *p, int sig,
		      struct phx_err *err)
{
	(void)self;
	if (p->pid > 0 && kill(p->pid, sig) < 0 && errno != ESRCH)
		return phx_err_set(err, -errno, "service %s: signal %d: %s", name, sig,
				   strerror(errno));
	return 0;
}

static int own_used(void *self, const struct service_id *ids, uint32_t n, uint64_t *ret_us,
		    struct phx_err *err)
{
	const struct own *o = self;
	uint64_t sum = 0, rest = 0;
	/* services without a cgroup of their own */
	PHX_AUTO_FREE pid_t *leaders = calloc(n, sizeof(*leaders));
	uint32_t n_leaders = 0;
	if (!leaders)
		return phx_err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < n; i++) {
		PHX_AUTO_FREE char *dir =
			o->cgroup[0] ? phx_path("%s%s", o->cgroup, ids[i].name) : NULL;
		uint64_t used;
		if (dir && cpu_time_of_cgroup(dir, &used) == 0)
			sum += used;
		else
			leaders[n_leaders++] = ids[i].pid;
	}
	int r = n_leaders ? cpu_time_of_sessions("/proc", leaders, n_leaders, &rest, err) : 0;
	if (r == 0)
		*ret_us = sum + rest;
	return r;
}

static int own_log(void *self, const char *name, const struct service_log_ask *ask,
		   struct phx_buf *ret_text, char ret_cursor[SERVICE_CURSOR_MAX],
		   struct phx_err *err)
{
	const struct own *o = self;
	return service_logs_read(o->logs, name, ask, ret_text, ret_cursor, err);
}

static void own_free(void *self)
{
	struct own *o = self;
	service_logs_free(o->logs);
	free(o);
}

static const struct service_backend own_backend = {
	.start = own_start,
	.running = own_running,
	.stop = own_stop,
	.signal = own_signal,
	.used = own_used,
	.log = own_log,
	.free = own_free,
	.outlives_agent = false,
};

int service_own_new(const char *run_dir, const struct service_backend **ret, void **ret_self,
		    struct phx_err *err)
{
	struct own *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	int n = snprintf(o->dir, sizeof(o->dir), "%s/services", run_dir);
	int r = (size_t)n < sizeof(o->dir) ? phx_dir_make(o->dir, 0755, err) : -ENAMETOOLONG;
	r = r ? r : service_logs_new(&o->logs, err);
	if (r < 0) {
		free(o);
		return r;
	}
	find_cgroup(o);
	*ret = &own_backend;
	*ret_self = o;
	return 0;
}
