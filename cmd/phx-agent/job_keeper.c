/* The keeper of one job: see job_keeper.h. Forked by jobs.c from a threaded
 * process and not executed anew, so it allocates nothing and locks nothing.
 * It outlives the agent; the job's descendants that escaped their session come
 * back to it (subreaper) and are killed with the rest. */
#include "phx-agent/job_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_NOT_STARTED = 126 };

static void close_from(unsigned from)
{
	syscall(SYS_close_range, from, ~0u, 0);
}

static void job_exec(const struct job_keeper *k, int out)
{
	setsid();
	process_reset_signals();
	int null = open("/dev/null", O_RDONLY);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	close_from(3);
	umask(022);
	int r = process_become(&k->user);
	if (r == 0 && chdir("/tmp") < 0)
		r = -errno;
	if (r == 0) {
		environ = (char **)k->env; /* looked up in the job's PATH, not in ours */
		execvp(k->argv[0], k->argv);
		r = -errno;
	}
	const char *why = strerrordesc_np(-r);
	(void)!write(STDERR_FILENO, k->argv[0], strlen(k->argv[0]));
	(void)!write(STDERR_FILENO, ": ", 2);
	(void)!write(STDERR_FILENO, why, why ? strlen(why) : 0);
	(void)!write(STDERR_FILENO, "\n", 1);
	_exit(STATUS_NOT_STARTED);
}

/* Moves what is there; returns false at the end of the stream. */
static bool copy_output(int from, int to, long long *left)
{
	static const char cut[] = "\n[output cut here]\n";
	char buf[16384];
	ssize_t n = read(from, buf, sizeof(buf));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return errno == EINTR;
	if (n <= 0)
		return false;
	if (*left <= 0)
		return true;
	ssize_t keep = n < *left ? n : (ssize_t)*left;
	(void)!write(to, buf, (size_t)keep);
	*left -= n;
	if (*left <= 0)
		(void)!write(to, cut, sizeof(cut) - 1);
	return true;
}

/* Reaps children; true when the job itself ended, its status in *ret_status. */
static bool reap(pid_t job, int *ret_status)
{
	bool ended = false;
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
		if (pid != job)
			continue;
		ended = true;
		*ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
	return ended;
}

/* Kill every child that is left: those that escaped the session have come to us. */
static void kill_children(void)
{
	char buf[4096];
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof(buf) - 1);
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n;) {
		pid_t pid = 0;
		while (i < n && buf[i] >= '0' && buf[i] <= '9')
			pid = pid * 10 + (buf[i++] - '0');
		if (pid > 1)
			kill(pid, SIGKILL);
		i++;
	}
}

static void kill_rest(pid_t session)
{
	kill(-session, SIGKILL);
	/* children of the killed come one generation a turn */
	for (int i = 0; i < 100; i++) {
		kill_children();
		pid_t pid = waitpid(-1, NULL, 0);
		if (pid < 0 && errno == ECHILD)
			return;
	}
}

static void __attribute__((noreturn)) publish_end(const struct job_keeper *k, int status)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d\n", status);
	int fd = open(k->end_tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, (size_t)n) != n || fsync(fd) < 0 || rename(k->end_tmp, k->end_path) < 0)
		_exit(1);
	close(fd);
	_exit(0);
}

static int watch_job(pid_t job, int from, int to)
{
	sigset_t set;
	long long left = JOB_OUTPUT_MAX;
	int status = 255;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, NULL);
	int sig = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	bool open_stream = true;
	while (!reap(job, &status)) {
		struct pollfd fds[] = {{sig, POLLIN, 0}, {open_stream ? from : -1, POLLIN, 0}};
		struct signalfd_siginfo info;
		poll(fds, 2, -1);
		if (fds[0].revents)
			(void)!read(sig, &info, sizeof(info));
		if (fds[1].revents)
			open_stream = copy_output(from, to, &left);
	}
	kill_rest(job);
	fcntl(from, F_SETFL, O_NONBLOCK);
	while (copy_output(from, to, &left))
		;
	return status;
}

void job_keeper_run(const struct job_keeper *k)
{
	int pipe_fds[2], out = open(k->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	setsid();
	prctl(PR_SET_NAME, "phx-job");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (out < 0 || pipe2(pipe_fds, O_CLOEXEC) < 0)
		publish_end(k, STATUS_NOT_STARTED);
	pid_t job = fork();
	if (job == 0)
		job_exec(k, pipe_fds[1]);
	if (job < 0)
		publish_end(k, STATUS_NOT_STARTED);
	char text[16];
	(void)!pwrite(k->lock_fd, text, (size_t)snprintf(text, sizeof(text), "%d\n", (int)job), 0);
	/* keep nothing of the agent's: its sockets must close when it ends */
	int keep[] = {fcntl(out, F_DUPFD, 64), fcntl(pipe_fds[0], F_DUPFD, 64), fcntl(k->lock_fd, F_DUPFD, 64)};
	for (int i = 0; i < 3; i++)
		dup2(keep[i], 3 + i);
	close_from(6);
	publish_end(k, watch_job(job, 4, 3));
}
