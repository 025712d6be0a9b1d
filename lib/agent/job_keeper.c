/* The keeper of one job: see job_keeper.h. Forked by job_run.c from a threaded
 * process and not executed anew, so it allocates no memory and takes no lock. It
 * outlives the agent. Descendants of the job that left its session become children
 * of the keeper (subreaper) and are killed with the others. */
#include "agent/job_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/job_group.h"
#include "agent/job_private.h"
#include "base/clock.h"

enum { STATUS_NOT_STARTED = 126, DIE_AGAIN_MS = 1000 };

enum stage { RUNS, SAVES, ENDS, DIES };

/* A job that is watched. */
struct watch {
	const struct job_keeper *k;
	pid_t job;
	int from, to, contact, sig;
	long long left; /* bytes of output that are still kept; negative: bytes dropped */
	enum stage stage;
	int64_t due_ms;   /* end of the stage, INT64_MAX never */
	int64_t limit_ms; /* end of the time limit, INT64_MAX none */
	/* when the heartbeat timeout is over, unless the head is heard; INT64_MAX: never */
	int64_t unheard_ms;
	bool ended, forced;
	enum job_why why;
	int status;
};

static void close_from(unsigned from)
{
	syscall(SYS_close_range, from, ~0u, 0);
}

/* The kernel spares the agent when memory runs out; it need not spare its jobs. */
static void forgo_favour(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY);
	(void)!write(fd, "0", 1);
}

static int prepare(const void *arg)
{
	const struct job_keeper *k = arg;
	forgo_favour();
	job_group_enter(k->group);
	umask(022);
	return 0;
}

static void job_exec(const struct job_keeper *k, int out, pid_t keeper)
{
	const struct phx_launch l = {
		.argv = k->argv,
		.env = k->env,
		.dir = k->cwd, /* its user may have no access to the directories above */
		.user_dir = k->chdir[0] ? k->chdir : NULL,
		.as = &k->user,
		.out = out,
		.errout = out,
		.group = PHX_GROUP_SESSION,
		.death_signal = SIGKILL, /* a job without keeper has no heartbeat timeout */
		.prepare = prepare,
		.arg = k,
	};
	const char *what;
	int r = k->private_dir ? job_private_enter(k->private_dir, &what) : 0;
	const char *why = strerrordesc_np(-(r ? r : phx_process_become(&l, keeper, &what)));
	(void)!write(out, what, strlen(what));
	(void)!write(out, ": ", 2);
	(void)!write(out, why, why ? strlen(why) : 0);
	(void)!write(out, "\n", 1);
	_exit(STATUS_NOT_STARTED);
}

/* Copies output that is there; returns false at the end of the stream. Output beyond the bound is
 * dropped and counted: *left is below 0 then. */
static bool copy_output(int from, int to, long long *left)
{
	static const char cut[] = "\n[output cut here: what is beyond job_output_max_mb is lost]\n";
	char buf[16384];
	ssize_t n = read(from, buf, sizeof(buf));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return errno == EINTR;
	if (n <= 0)
		return false;
	bool all = *left >= 0;
	ssize_t keep = !all ? 0 : n < *left ? n : (ssize_t)*left;
	if (keep)
		(void)!write(to, buf, (size_t)keep);
	*left -= n;
	if (all && *left < 0)
		(void)!write(to, cut, sizeof(cut) - 1);
	return true;
}

/* Reaps children; notes when the job itself ended. */
static void reap(struct watch *w)
{
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
		if (pid != w->job)
			continue;
		w->ended = true;
		w->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
}

/* ---- ending the job ---- */

/* Signals every child: descendants that left the job's session are children of the keeper. */
static void signal_children(int sig)
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
			kill(pid, sig);
		i++;
	}
}

/* Signals all processes of the job: its control group; without one its process group and the
 * keeper's children. */
static void signal_all(const struct watch *w, int sig)
{
	if (job_group_signal(w->k->group, sig) > 0)
		return;
	/* before its setsid() the job is in no process group of its own */
	if (kill(-w->job, sig) < 0 && !w->ended)
		kill(w->job, sig);
	signal_children(sig);
}

static void kill_all(const struct watch *w)
{
	job_group_kill(w->k->group);
	kill(-w->job, SIGKILL);
	signal_children(SIGKILL);
}

static bool rest_lives(const struct watch *w)
{
	return job_group_populated(w->k->group) || kill(-w->job, 0) == 0;
}

static void enter(struct watch *w, enum stage stage)
{
	const struct job_keeper *k = w->k;
	int64_t now = phx_clock_boot_ms();
	w->stage = stage;
	switch (stage) {
	case RUNS:
		return;
	case SAVES:
		signal_all(w, k->checkpoint_signal);
		w->due_ms = now + k->checkpoint_ms;
		return;
	case ENDS:
		signal_all(w, SIGTERM);
		signal_all(w, SIGCONT);
		w->due_ms = now + k->grace_ms;
		return;
	case DIES:
		kill_all(w);
		w->due_ms = now + DIE_AGAIN_MS;
		return;
	}
}

static void end_job(struct watch *w, bool to_run_again, enum job_why why)
{
	if (w->stage == RUNS) {
		w->why = why;
		w->forced = to_run_again;
	}
	if (w->stage == RUNS && to_run_again && w->k->checkpoint_signal)
		enter(w, SAVES);
	else if (w->stage < ENDS && (w->stage == RUNS || !to_run_again))
		enter(w, ENDS);
}

/* The heartbeat timeout seems to be over, but the head may have been heard meanwhile. */
static void look_at_heartbeat(struct watch *w)
{
	int64_t heard;
	if (pread(w->contact, &heard, sizeof(heard), 0) == (ssize_t)sizeof(heard))
		w->unheard_ms = heard + w->k->heartbeat_timeout_ms;
	if (w->unheard_ms <= phx_clock_boot_ms())
		end_job(w, true, JOB_WHY_HEARTBEAT_TIMEOUT);
}

static void look_at_clock(struct watch *w)
{
	int64_t now = phx_clock_boot_ms();
	if (w->stage == RUNS && now >= w->limit_ms)
		end_job(w, false, JOB_WHY_LIMIT);
	if (w->stage == RUNS && now >= w->unheard_ms)
		look_at_heartbeat(w);
	if (w->stage != RUNS && now >= w->due_ms)
		enter(w, w->stage == SAVES ? ENDS : DIES);
}

static int time_left(const struct watch *w)
{
	int64_t next = w->stage != RUNS       ? w->due_ms
		: w->limit_ms < w->unheard_ms ? w->limit_ms
					      : w->unheard_ms;
	if (next == INT64_MAX)
		return -1;
	int64_t left = next - phx_clock_boot_ms();
	return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static void take_signals(struct watch *w)
{
	struct signalfd_siginfo info;
	while (read(w->sig, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == JOB_SIGNAL_END)
			end_job(w, false, JOB_WHY_TOLD);
		if (info.ssi_signo == JOB_SIGNAL_RETURN)
			end_job(w, true, JOB_WHY_TOLD);
	}
}

static void kill_rest(const struct watch *w)
{
	/* each round makes one more generation of descendants our children */
	for (int i = 0; i < 100; i++) {
		kill_all(w);
		pid_t pid = waitpid(-1, NULL, 0);
		if (pid < 0 && errno == ECHILD)
			return;
	}
}

/* ---- the job's end ---- */

static void read_usage(const struct watch *w, uint64_t *ret_cpu_ms, uint64_t *ret_memory)
{
	struct rusage u = {0};
	getrusage(RUSAGE_CHILDREN, &u);
	*ret_cpu_ms = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
		(uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
	*ret_memory = (uint64_t)u.ru_maxrss * 1024;
	job_group_usage(w->k->group, ret_cpu_ms, ret_memory);
}

static void __attribute__((noreturn)) publish_end(const struct job_keeper *k, const struct watch *w)
{
	char text[120];
	uint64_t cpu_ms = 0, memory = 0;
	if (w)
		read_usage(w, &cpu_ms, &memory);
	rmdir(k->group);
	int n = snprintf(text, sizeof(text), "%d %d %llu %llu %d %lld\n",
			 w ? w->status : STATUS_NOT_STARTED, w && w->forced,
			 (unsigned long long)cpu_ms, (unsigned long long)memory,
			 w ? (int)w->why : JOB_WHY_NOTHING, w && w->left < 0 ? -w->left : 0);
	int fd = open(k->end_tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, (size_t)n) != n || fsync(fd) < 0 ||
	    rename(k->end_tmp, k->end_path) < 0)
		_exit(1);
	close(fd);
	_exit(0);
}

/* Watches the job until it has ended. If it was told to end, waits until all its processes have
 * ended, too, or their grace is over. */
static void watch_job(struct watch *w)
{
	bool open_stream = true;
	while (!w->ended || (w->stage != RUNS && w->stage != DIES && rest_lives(w))) {
		struct pollfd fds[] = {{w->sig, POLLIN, 0},
				       {open_stream ? w->from : -1, POLLIN, 0}};
		poll(fds, 2, time_left(w));
		take_signals(w);
		reap(w);
		if (fds[1].revents)
			open_stream = copy_output(w->from, w->to, &w->left);
		if (!w->ended || w->stage != RUNS)
			look_at_clock(w);
	}
	kill_rest(w);
	fcntl(w->from, F_SETFL, O_NONBLOCK);
	while (copy_output(w->from, w->to, &w->left))
		;
}

static int watch_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, JOB_SIGNAL_END);
	sigaddset(&set, JOB_SIGNAL_RETURN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Keeps only four descriptors: the agent's sockets must close when the agent ends. */
static void keep_four(int fds[4])
{
	int moved[4];
	for (int i = 0; i < 4; i++)
		moved[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD, 64);
	for (int i = 0; i < 4; i++) {
		close(3 + i);
		if (moved[i] >= 0)
			dup2(moved[i], 3 + i);
		fds[i] = moved[i] < 0 ? -1 : 3 + i;
	}
	close_from(7);
}

/* Waits until the agent has made the scope, for which it needs the keeper's process id. */
static void wait_for_group(struct job_keeper *k)
{
	char said = '0';
	if (k->go_fds[0] < 0)
		return;
	close(k->go_fds[1]);
	while (read(k->go_fds[0], &said, 1) < 0 && errno == EINTR)
		;
	close(k->go_fds[0]);
	if (said != '1')
		k->group = "";
}

void job_keeper_run(struct job_keeper *k)
{
	int pipe_fds[2], out = open(k->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	setsid();
	prctl(PR_SET_NAME, "phx-job");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	wait_for_group(k);
	if (out < 0 || pipe2(pipe_fds, O_CLOEXEC) < 0)
		publish_end(k, NULL);
	struct watch w = {.k = k,
			  .left = k->output_max_mb ? (long long)k->output_max_mb << 20
						   : JOB_OUTPUT_MAX,
			  .due_ms = INT64_MAX,
			  .status = 255};
	w.limit_ms = k->limit_ms > 0 ? phx_clock_boot_ms() + k->limit_ms : INT64_MAX;
	w.unheard_ms = k->heartbeat_timeout_ms > 0 && k->contact_fd >= 0
		? phx_clock_boot_ms() + k->heartbeat_timeout_ms
		: INT64_MAX;
	pid_t keeper = getpid();
	/* not phx_process_start(): the job enters its private places first, and what keeps it from
	 * beginning is the last line of its output, not an error of ours */
	w.job = fork();
	if (w.job == 0)
		job_exec(k, pipe_fds[1], keeper);
	if (w.job < 0)
		publish_end(k, NULL);
	char text[32];
	(void)!pwrite(k->lock_fd, text,
		      (size_t)snprintf(text, sizeof(text), "%d %d\n", (int)keeper, (int)w.job), 0);
	int fds[4] = {out, pipe_fds[0], k->lock_fd, k->contact_fd};
	keep_four(fds);
	w.to = fds[0];
	w.from = fds[1];
	w.contact = fds[3];
	w.sig = watch_signals();
	if (w.unheard_ms != INT64_MAX)
		look_at_heartbeat(&w);
	watch_job(&w);
	publish_end(k, &w);
}
