/* Programs with an argument vector: see spawn.h. Called by drivers and
 * commands from worker threads; never through a shell, never on a main loop. */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum { DEFAULT_TIMEOUT_MS = 60000, DEFAULT_OUTPUT_MAX = 1 << 20 };

struct pipes {
	int in[2], out[2], err[2];
};

static void close_pair(int p[2])
{
	phx_close_fd(&p[0]);
	phx_close_fd(&p[1]);
}

static void pipes_close(struct pipes *p)
{
	close_pair(p->in);
	close_pair(p->out);
	close_pair(p->err);
}

static int pipes_open(struct pipes *p)
{
	*p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
	if (pipe2(p->in, O_CLOEXEC) < 0 || pipe2(p->out, O_CLOEXEC) < 0 ||
	    pipe2(p->err, O_CLOEXEC) < 0) {
		int r = -errno;
		pipes_close(p);
		return r;
	}
	return 0;
}

/* Does one of `add` set the variable of `entry`? */
static bool is_overridden(const char *entry, const char *const *add)
{
	size_t n = strcspn(entry, "=") + 1;
	for (size_t i = 0; add && add[i]; i++)
		if (!strncmp(add[i], entry, n))
			return true;
	return false;
}

/* Does the program inherit this variable of ours: any, or with `as` PATH alone? */
static bool is_inherited(const char *entry, const struct phx_run *run)
{
	return !is_overridden(entry, run->env_add) && (!run->as || !strncmp(entry, "PATH=", 5));
}

static const char **merged_env(const struct phx_run *run)
{
	const char *const *add = run->env_add;
	size_t n = 0, n_add = 0;
	while (environ[n])
		n++;
	while (add && add[n_add])
		n_add++;
	const char **env = calloc(n + n_add + 1, sizeof(*env));
	if (!env)
		return NULL;
	size_t at = 0;
	for (size_t i = 0; i < n; i++)
		if (is_inherited(environ[i], run))
			env[at++] = environ[i];
	for (size_t i = 0; i < n_add; i++)
		env[at++] = add[i];
	return env;
}

/* Runs in a program with fewer rights than ours: it gains none by set-uid programs, and leaves no
 * core dump. */
static int confine(const void *arg)
{
	const struct rlimit no_core = {0, 0};
	(void)arg;
	setrlimit(RLIMIT_CORE, &no_core);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* Reads what is available; closes the descriptor at its end. */
static void drain(int *fd, struct phx_buf *b, size_t max)
{
	char chunk[8192];
	ssize_t r = read(*fd, chunk, sizeof(chunk));
	if (r < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (r <= 0) {
		phx_close_fd(fd);
		return;
	}
	size_t room = b->n < max ? max - b->n : 0;
	phx_buf_add(b, chunk, (size_t)r < room ? (size_t)r : room);
}

/* write() that fails with EPIPE and raises no signal, whatever the process has set. */
static ssize_t write_pipe(int fd, const char *data, size_t n)
{
	sigset_t pipe_only, old;
	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &old);
	ssize_t w = write(fd, data, n);
	int e = errno;
	if (w < 0 && e == EPIPE && !sigismember(&old, SIGPIPE))
		sigtimedwait(&pipe_only, NULL, &(const struct timespec){0});
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = e;
	return w;
}

static void feed(int *fd, const char **input)
{
	size_t n = strlen(*input);
	ssize_t w = n ? write_pipe(*fd, *input, n) : 0;
	if (w < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (w > 0)
		*input += w;
	if (w < 0 || !**input)
		phx_close_fd(fd);
}

/* Moves data until both outputs are closed; false when time is up. */
static bool exchange(struct pipes *p, const struct phx_run *run, int64_t end, struct phx_buf *out,
		     struct phx_buf *errout)
{
	const char *input = run->input ? run->input : "";
	size_t max = run->output_max ? run->output_max : DEFAULT_OUTPUT_MAX;
	while (p->out[0] >= 0 || p->err[0] >= 0) {
		int64_t left = end - phx_clock_ms();
		struct pollfd fds[] = {
			{p->in[1], POLLOUT, 0}, {p->out[0], POLLIN, 0}, {p->err[0], POLLIN, 0}};
		if (left <= 0)
			return false;
		if (poll(fds, PHX_ARRAY_SIZE(fds), (int)left) <= 0)
			continue;
		if (fds[0].revents)
			feed(&p->in[1], &input);
		if (fds[1].revents)
			drain(&p->out[0], out, max);
		if (fds[2].revents)
			drain(&p->err[0], errout, max);
	}
	return true;
}

/* The parent's side, from the program's start to the collected result. */
static int attend(const struct phx_process *started, struct pipes *p, const struct phx_run *run,
		  struct phx_run_result *ret)
{
	phx_close_fd(&p->in[0]);
	phx_close_fd(&p->out[1]);
	phx_close_fd(&p->err[1]);
	fcntl(p->in[1], F_SETFL, O_NONBLOCK);
	PHX_AUTO(phx_buf_fini) struct phx_buf out = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf errout = {0};
	int64_t end = phx_clock_ms() + (run->timeout_ms ? run->timeout_ms : DEFAULT_TIMEOUT_MS),
		left;
	/* it may have closed its outputs and still run */
	bool in_time = exchange(p, run, end, &out, &errout) && (left = end - phx_clock_ms()) > 0 &&
		phx_process_wait(started->pidfd, (uint32_t)left) == 0;
	if (!in_time)
		kill(-started->pid, SIGKILL);
	int status = phx_process_status(started->pidfd);
	if (!in_time)
		return -ETIMEDOUT;
	*ret = (struct phx_run_result){status, phx_buf_take(&out), phx_buf_take(&errout)};
	if (ret->out && ret->errout)
		return 0;
	phx_run_result_fini(ret);
	return -ENOMEM;
}

int phx_run(const struct phx_run *run, struct phx_run_result *ret, struct phx_err *err)
{
	struct pipes p;
	int r = pipes_open(&p);
	if (r < 0)
		return phx_err_set(err, r, "%s: pipe: %s", run->argv[0], strerror(-r));
	PHX_AUTO_FREE const char **env = merged_env(run);
	const struct phx_launch l = {
		.argv = run->argv,
		.env = env,
		.dir = run->as ? "/" : NULL,
		.as = run->as,
		.in = p.in[0],
		.out = p.out[1],
		.errout = p.err[1],
		.group = PHX_GROUP_OWN,
		/* sent when this thread ends, which waits for the program */
		.death_signal = run->dies_with_us ? SIGKILL : 0,
		.prepare = run->as ? confine : NULL,
	};
	struct phx_process started = {.pidfd = -1};
	r = env ? phx_process_start(&l, &started, err)
		: phx_err_set(err, -ENOMEM, "%s: out of memory", run->argv[0]);
	if (r == 0) {
		r = attend(&started, &p, run, ret);
		phx_close_fd(&started.pidfd);
		if (r < 0)
			phx_err_set(err, r, "%s: %s", run->argv[0], strerror(-r));
	}
	pipes_close(&p);
	return r;
}

int phx_run_check(const struct phx_run *run, struct phx_run_result *ret, struct phx_err *err)
{
	struct phx_run_result res;
	int r = phx_run(run, &res, err);
	if (r < 0)
		return r;
	if (res.status) {
		int n = (int)strcspn(res.errout, "\n");
		phx_err_set(err, -EIO, "%s: exit status %d%s%.*s", run->argv[0], res.status,
			    n ? ": " : "", n, res.errout);
		phx_run_result_fini(&res);
		return -EIO;
	}
	if (ret)
		*ret = res;
	else
		phx_run_result_fini(&res);
	return 0;
}

char *phx_run_beside(const char *name)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0)
		return NULL;
	self[n] = '\0';
	return phx_path("%.*s%s", (int)(strrchr(self, '/') + 1 - self), self, name);
}

void phx_run_result_fini(struct phx_run_result *r)
{
	free(r->out);
	free(r->errout);
	*r = (struct phx_run_result){0};
}
