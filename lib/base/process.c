/* Processes: see process.h. Called by everything that starts programs. Never uses a shell; a main
 * loop may call all functions except those that wait. Between fork and exec only async-signal-safe
 * functions are called, since most of our programs have threads. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum { EXEC_FAILED = 127, KILLED_WITHIN_MS = 10000 };

/* ---- the new process ---- */

static int enter_group(enum phx_launch_group group)
{
	sigset_t none;
	int r = group == PHX_GROUP_SESSION ? (int)setsid()
		: group == PHX_GROUP_OWN   ? setpgid(0, 0)
					   : 0;
	for (int sig = 1; sig < NSIG; sig++)
		if (sig == SIGPIPE ||
		    group == PHX_GROUP_SESSION) /* other groups keep what nohup ignores */
			signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	return r < 0 ? -errno : 0;
}

static int redirect(const struct phx_launch *l)
{
	int in = l->in ? l->in : open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (in < 0 || dup2(in, STDIN_FILENO) < 0 || (l->out && dup2(l->out, STDOUT_FILENO) < 0) ||
	    (l->errout && dup2(l->errout, STDERR_FILENO) < 0))
		return -errno;
	/* also descriptors that others opened without O_CLOEXEC */
	return close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;
}

/* Raw system calls: the C library's functions would signal our other threads, which do not exist in
 * the child. */
int phx_process_take_rights(const struct phx_run_as *as)
{
	if (!phx_id_valid(as->uid) || !phx_id_valid(as->gid))
		return -EPERM; /* the calls below would change nothing */
	if (geteuid() == 0 && syscall(SYS_setgroups, as->n_groups, as->groups) < 0)
		return -errno;
	return syscall(SYS_setresgid, as->gid, as->gid, as->gid) < 0 ||
			syscall(SYS_setresuid, as->uid, as->uid, as->uid) < 0
		? -errno
		: 0;
}

static int enter(const char *dir, const char **ret_what)
{
	if (!dir || chdir(dir) == 0)
		return 0;
	*ret_what = dir;
	return -errno;
}

int phx_process_become(const struct phx_launch *l, pid_t parent, const char **ret_what)
{
	*ret_what = l->argv[0];
	int r = enter_group(l->group);
	if (r == 0 && l->prepare)
		r = l->prepare(l->arg);
	if (r == 0)
		r = redirect(l);
	if (r == 0)
		r = enter(l->dir, ret_what);
	if (r == 0 && l->as)
		r = phx_process_take_rights(l->as);
	if (r == 0)
		r = enter(l->user_dir, ret_what);
	if (r < 0)
		return r;
	/* after the change of rights, which clears it */
	if (l->death_signal &&
	    (prctl(PR_SET_PDEATHSIG, l->death_signal) < 0 || getppid() != parent))
		_exit(EXEC_FAILED);
	if (l->env)
		environ = (char **)l->env;
	execvp(l->argv[0], (char *const *)l->argv);
	return -errno;
}

/* ---- starting ---- */

/* The error of a child that could not become the program; 0 when it has. */
static int read_report(int fd)
{
	int said = 0;
	ssize_t n;
	while ((n = read(fd, &said, sizeof(said))) < 0 && errno == EINTR)
		;
	return n == sizeof(said) ? said : 0;
}

static int adopt(pid_t pid, int report, struct phx_process *ret)
{
	int r = read_report(report);
	int pidfd = r == 0 ? pidfd_open(pid, 0) : -1;
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

int phx_process_start(const struct phx_launch *l, struct phx_process *ret, struct phx_err *err)
{
	int report[2];
	if (pipe2(report, O_CLOEXEC) < 0)
		return phx_err_set(err, -errno, "%s: pipe: %s", l->argv[0], strerror(errno));
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		const char *what;
		int failure = phx_process_become(l, parent, &what);
		(void)!write(report[1], &failure, sizeof(failure));
		_exit(EXEC_FAILED);
	}
	int r = pid < 0 ? -errno : 0;
	close(report[1]);
	if (r == 0)
		r = adopt(pid, report[0], ret);
	close(report[0]);
	return r < 0 ? phx_err_set(err, r, "%s: %s", l->argv[0], strerror(-r)) : 0;
}

/* ---- watching ---- */

int phx_process_signal(int pidfd, int sig)
{
	return pidfd_send_signal(pidfd, sig, NULL, 0) < 0 ? -errno : 0;
}

int phx_process_wait(int pidfd, uint32_t timeout_ms)
{
	struct pollfd fd = {pidfd, POLLIN, 0};
	int64_t end = phx_clock_ms() + timeout_ms;
	for (int64_t left = timeout_ms; left >= 0; left = end - phx_clock_ms()) {
		if (poll(&fd, 1, (int)left) > 0)
			return 0;
		if (left == 0)
			break;
	}
	return -ETIMEDOUT;
}

int phx_process_status(int pidfd)
{
	siginfo_t si = {0};
	int r;
	while ((r = waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED)) < 0 && errno == EINTR)
		;
	return r < 0 ? -errno : si.si_code == CLD_EXITED ? si.si_status : 128 + si.si_status;
}

/* ---- which it was, for others ---- */

uint64_t phx_process_since(pid_t pid)
{
	char path[64];
	PHX_AUTO_FREE char *text = NULL;
	uint64_t start = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (phx_file_read(path, 4096, &text, NULL, NULL) < 0)
		return 0;
	/* the name may hold blanks and brackets: fields count from the last one */
	const char *p = strrchr(text, ')');
	char state = 'Z';
	if (!p ||
	    sscanf(p + 1,
		   " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%" SCNu64,
		   &state, &start) != 2)
		return 0;
	return state == 'Z' || state == 'X' ? 0 : start;
}

int phx_process_note(const char *pid_file, pid_t pid, struct phx_err *err)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%d %" PRIu64 "\n", (int)pid, phx_process_since(pid));
	return phx_file_write(pid_file, text, (size_t)n, 0644, err);
}

pid_t phx_process_noted(const char *pid_file)
{
	PHX_AUTO_FREE char *text = NULL;
	int pid = 0;
	uint64_t start = 0;
	if (phx_file_read(pid_file, 128, &text, NULL, NULL) < 0 ||
	    sscanf(text, "%d %" SCNu64, &pid, &start) != 2 || pid <= 1 || !start)
		return 0;
	return phx_process_since(pid) == start ? pid : 0;
}

/* ---- ending ---- */

static int send_to(pid_t pid, int pidfd, bool group, int sig)
{
	int r = !group ? phx_process_signal(pidfd, sig) : kill(-pid, sig) < 0 ? -errno : 0;
	return r == -ESRCH ? 0 : r;
}

static int end(pid_t pid, int pidfd, bool group, uint32_t grace_ms, struct phx_err *err)
{
	bool ended = grace_ms && send_to(pid, pidfd, group, SIGTERM) == 0 &&
		phx_process_wait(pidfd, grace_ms) == 0;
	int r = ended && !group ? 0 : send_to(pid, pidfd, group, SIGKILL);
	if (ended)
		return 0;
	if (r < 0)
		return phx_err_set(err, r, "process %d: %s", (int)pid, strerror(-r));
	r = phx_process_wait(pidfd, KILLED_WITHIN_MS);
	return r < 0 ? phx_err_set(err, r, "process %d does not end", (int)pid) : 0;
}

int phx_process_end(pid_t pid, bool group, uint32_t grace_ms, struct phx_err *err)
{
	PHX_AUTO_CLOSE int pidfd = pidfd_open(pid, 0);
	if (pidfd < 0)
		return errno == ESRCH
			? 0
			: phx_err_set(err, -errno, "process %d: %s", (int)pid, strerror(errno));
	return end(pid, pidfd, group, grace_ms, err);
}

int phx_process_end_noted(const char *pid_file, bool group, uint32_t grace_ms, struct phx_err *err)
{
	pid_t pid = phx_process_noted(pid_file);
	PHX_AUTO_CLOSE int pidfd = pid ? pidfd_open(pid, 0) : -1;
	/* asked again, so that the pidfd is sure to be of the noted process */
	int r = pidfd >= 0 && phx_process_noted(pid_file) == pid
		? end(pid, pidfd, group, grace_ms, err)
		: 0;
	if (r == 0)
		unlink(pid_file);
	return r;
}

/* ---- signals of ours ---- */

void phx_signals_hold(sigset_t *ret_held)
{
	sigset_t held;
	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	sigprocmask(SIG_BLOCK, &held, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (ret_held)
		*ret_held = held;
}
