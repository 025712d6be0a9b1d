/* One child process by its pidfd: see process.h. Called by the supervisor's
 * thread; never through a shell. */
#include "deploy/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

enum { CMDLINE_MAX = 65536 };

/* Between fork and exec: async-signal-safe calls only. */
static void child_exec(char *const *argv, int null, int log, int report, pid_t parent)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(127);
	dup2(null, STDIN_FILENO);
	if (log >= 0) {
		dup2(log, STDOUT_FILENO);
		dup2(log, STDERR_FILENO);
	}
	execv(argv[0], argv);
	int e = errno;
	(void)!write(report, &e, sizeof(e));
	_exit(127);
}

static int read_report(int fd)
{
	int e = 0;
	ssize_t r;
	while ((r = read(fd, &e, sizeof(e))) < 0 && errno == EINTR)
		;
	return r == sizeof(e) ? -e : 0;
}

static int open_log(const char *log_file)
{
	return log_file
		? open(log_file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0640)
		: -1;
}

/* The parent's side: a pidfd once exec has succeeded. */
static int adopt(pid_t pid, int report, struct phx_process *ret)
{
	int r = read_report(report);
	int pidfd = r == 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	if (pidfd >= 0) {
		*ret = (struct phx_process){pid, pidfd};
		return 0;
	}
	if (r == 0) {
		r = -errno;
		kill(pid, SIGKILL);
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}

int phx_process_start(char *const *argv, const char *log_file, struct phx_process *ret,
		      struct phx_err *err)
{
	PHX_AUTO_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	PHX_AUTO_CLOSE int log = open_log(log_file);
	if (null < 0 || (log_file && log < 0))
		return phx_err_set(err, -errno, "%s: %s", null < 0 ? "/dev/null" : log_file,
				   strerror(errno));
	int report[2];
	if (pipe2(report, O_CLOEXEC) < 0)
		return phx_err_set(err, -errno, "%s: pipe: %s", argv[0], strerror(errno));
	pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		child_exec(argv, null, log, report[1], parent);
	int r = pid < 0 ? -errno : 0;
	close(report[1]);
	if (r == 0)
		r = adopt(pid, report[0], ret);
	close(report[0]);
	return r < 0 ? phx_err_set(err, r, "%s: %s", argv[0], strerror(-r)) : 0;
}

int phx_process_trim_log(const char *log_file, size_t max, size_t keep)
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

int phx_process_signal(int pidfd, int sig)
{
	return syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) < 0 ? -errno : 0;
}

int64_t phx_process_status(int pidfd)
{
	siginfo_t si = {0};
	while (waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED) < 0 && errno == EINTR)
		;
	return si.si_code == CLD_EXITED ? si.si_status : 128 + si.si_status;
}

void phx_process_note(const char *pid_file, pid_t pid)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d\n", (int)pid);
	PHX_AUTO_CLOSE int fd =
		open(pid_file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd >= 0)
		(void)phx_write_all(fd, text, (size_t)n);
}

/* Are these the arguments of process `pid`? */
static bool same_arguments(pid_t pid, char *const *argv)
{
	char path[32];
	PHX_AUTO_FREE char *text = NULL;
	size_t n = 0, at = 0;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	if (phx_file_read(path, CMDLINE_MAX, &text, &n, NULL) < 0)
		return false;
	for (; *argv; argv++) {
		size_t k = strlen(*argv) + 1;
		if (n - at < k || memcmp(text + at, *argv, k))
			return false;
		at += k;
	}
	return at == n && n > 0;
}

static int wait_end(int pidfd, uint32_t timeout_ms)
{
	struct pollfd fd = {pidfd, POLLIN, 0};
	int r;
	while ((r = poll(&fd, 1, (int)timeout_ms)) < 0 && errno == EINTR)
		;
	return r > 0 ? 0 : -ETIMEDOUT;
}

int phx_process_end_stale(const char *pid_file, char *const *argv, uint32_t grace_ms,
			  struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	uint64_t pid;
	if (phx_file_read(pid_file, 64, &text, NULL, NULL) < 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	if (phx_u64_parse(text, 2, INT32_MAX, &pid) < 0)
		return 0;
	PHX_AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (pidfd < 0 || !same_arguments((pid_t)pid, argv))
		return 0;
	phx_process_signal(pidfd, SIGTERM);
	if (wait_end(pidfd, grace_ms) == 0)
		return 0;
	phx_process_signal(pidfd, SIGKILL);
	return wait_end(pidfd, grace_ms) < 0
		? phx_err_set(err, -ETIMEDOUT,
			      "%s: process %d left by an earlier daemon does not end", argv[0],
			      (int)pid)
		: 0;
}
