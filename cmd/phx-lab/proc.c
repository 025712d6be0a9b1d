/* Long-running programs of the lab: started apart from the command that starts
 * them, found again by pid and start time, so that no other process is ever
 * taken for one of ours. Called by the other lab files. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "phx-lab/lab.h"

enum { KILL_WAIT_MS = 10000, EXEC_FAILED = 127 };

/* When a process started (clock ticks since boot), 0 when there is none. */
static uint64_t start_time(int pid)
{
	char path[64], text[1024];
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	char *p = strrchr(text, ')'); /* the name may hold anything */
	unsigned long long ticks = 0;
	char state = 'Z';
	if (!p ||
	    sscanf(p + 2,
		   "%c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &state, &ticks) != 2)
		return 0;
	return state == 'Z' ? 0 : ticks;
}

static int write_pid_file(const char *path, int pid)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%d %llu\n", pid, (unsigned long long)start_time(pid));
	return phx_file_write(path, text, (size_t)n, 0644, NULL);
}

int lab_pid(const char *pid_file)
{
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	int pid;
	unsigned long long started;
	if (phx_file_read(pid_file, 128, &text, &n, NULL) < 0 ||
	    sscanf(text, "%d %llu", &pid, &started) != 2)
		return 0;
	return pid > 0 && started && start_time(pid) == started ? pid : 0;
}

/* ---- starting ---- */

static int enter(const char *netns)
{
	char path[128];
	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;
}

static int redirect(const char *log_file)
{
	PHX_AUTO_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	PHX_AUTO_CLOSE int log = open(log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (null < 0 || log < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
		return -errno;
	return 0;
}

/* The grandchild: becomes the program, or tells why not through the pipe. */
static void become(const struct lab_program *p, int report)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	int r = setsid() < 0 ? -errno : 0;
	if (r == 0 && p->netns)
		r = enter(p->netns);
	if (r == 0 && p->work_dir && chdir(p->work_dir) < 0)
		r = -errno;
	if (r == 0)
		r = redirect(p->log_file);
	if (r == 0)
		r = write_pid_file(p->pid_file, getpid());
	if (r == 0 && close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		r = -errno;
	if (r == 0) {
		execvp(p->argv[0], (char *const *)p->argv);
		r = -errno;
	}
	phx_write_all(report, &r, sizeof(r));
	_exit(EXEC_FAILED);
}

int lab_start(const struct lab_program *p, struct phx_err *err)
{
	int pipe_fd[2], r = 0;
	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return phx_err_set(err, -errno, "pipe: %s", strerror(errno));
	pid_t child = fork();
	if (child == 0) {
		if (fork() == 0)
			become(p, pipe_fd[1]);
		_exit(0);
	}
	close(pipe_fd[1]);
	if (child < 0)
		r = -errno;
	else
		waitpid(child, NULL, 0);
	int said = 0;
	if (r == 0 && read(pipe_fd[0], &said, sizeof(said)) == sizeof(said))
		r = said;
	close(pipe_fd[0]);
	if (r < 0)
		unlink(p->pid_file);
	return r < 0 ? phx_err_set(err, r, "cannot start %s: %s", p->argv[0], strerror(-r)) : 0;
}

/* ---- ending ---- */

/* 1 when the process has ended, 0 when time is up. */
static int wait_end(int pidfd, int timeout_ms)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	return poll(&p, 1, timeout_ms) > 0;
}

int lab_kill_pid(int pid, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = pidfd_open(pid, 0);
	if (fd < 0)
		return errno == ESRCH
			? 0
			: phx_err_set(err, -errno, "process %d: %s", pid, strerror(errno));
	if (pidfd_send_signal(fd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		return phx_err_set(err, -errno, "kill %d: %s", pid, strerror(errno));
	return wait_end(fd, KILL_WAIT_MS)
		? 0
		: phx_err_set(err, -ETIMEDOUT, "process %d does not end", pid);
}

int lab_stop(const char *pid_file, unsigned patience_ms, struct phx_err *err)
{
	int pid = lab_pid(pid_file);
	PHX_AUTO_CLOSE int fd = pid ? pidfd_open(pid, 0) : -1;
	int r = 0;
	if (fd >= 0 && lab_pid(pid_file) == pid) { /* the pidfd is of the process we mean */
		bool ended = false;
		if (patience_ms && pidfd_send_signal(fd, SIGTERM, NULL, 0) == 0)
			ended = wait_end(fd, (int)patience_ms);
		if (!ended)
			r = lab_kill_pid(pid, err);
	}
	if (r == 0)
		unlink(pid_file);
	return r;
}
