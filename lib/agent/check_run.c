/* Runs the programs of a check: see check_run.h. Called by step_check.c, in the worker. What they
 * write goes into memory, not to the disk that is checked. */
#include "agent/check_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"

enum { LOOK_MS = 250, END_GRACE_MS = 3000, LOWEST = 19 };

struct child {
	struct phx_process process;
	int out; /* in memory */
	bool stopped;
};

/* In the new process. */
static int prepare(const void *arg)
{
	const struct check_load *load = arg;
	const struct rlimit most = {CHECK_OUTPUT_MAX, CHECK_OUTPUT_MAX};
	if (setpriority(PRIO_PROCESS, 0, LOWEST) < 0 ||
	    (load->errors_only && setrlimit(RLIMIT_FSIZE, &most) < 0))
		return -errno;
	return 0;
}

static int start(const struct check_load *load, struct child *c, struct phx_err *err)
{
	PHX_AUTO_CLOSE int null = -1;
	c->process.pidfd = -1;
	c->out = memfd_create("check", MFD_CLOEXEC);
	if (c->out < 0)
		return phx_err_set(err, -errno, "memory for what %s says: %s", load->argv[0],
				   strerror(errno));
	if (load->errors_only && (null = open("/dev/null", O_WRONLY | O_CLOEXEC)) < 0)
		return phx_err_set(err, -errno, "/dev/null: %s", strerror(errno));
	const struct phx_launch l = {.argv = load->argv,
				     .env = load->env,
				     .out = load->errors_only ? null : c->out,
				     .errout = c->out,
				     .group = PHX_GROUP_OWN,
				     .death_signal = SIGKILL,
				     .prepare = prepare,
				     .arg = load};
	struct phx_err why = {0};
	int r = phx_process_start(&l, &c->process, &why);
	if (r < 0 && r != -ENOENT)
		return phx_err_set(err, r, "%s", why.text);
	if (r == -ENOENT)
		return phx_err_set(err, r,
				   "there is no program %s here: the deploy image has none, build "
				   "it anew",
				   load->argv[0]);
	return r;
}

/* The first that still runs; NULL: none does. */
static struct child *running(struct child *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (phx_process_wait(c[i].process.pidfd, 0) == -ETIMEDOUT)
			return &c[i];
	return NULL;
}

/* Until all have ended, or their time is up. -ECANCELED: the step is given up. */
static int await(struct step_run *s, struct child *c, uint32_t n, int64_t until_ms)
{
	struct child *one;
	while ((one = running(c, n)) && phx_clock_ms() < until_ms) {
		int64_t left_ms = until_ms - phx_clock_ms();
		phx_process_wait(one->process.pidfd,
				 left_ms < LOOK_MS ? (uint32_t)(left_ms > 0 ? left_ms : 0)
						   : LOOK_MS);
		if (step_cancelled(s))
			return -ECANCELED;
	}
	return 0;
}

static void stop_all(struct child *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		c[i].stopped = phx_process_wait(c[i].process.pidfd, 0) == -ETIMEDOUT;
		if (c[i].stopped)
			kill(-c[i].process.pid, SIGTERM);
	}
	for (uint32_t i = 0; i < n; i++)
		if (c[i].stopped && phx_process_wait(c[i].process.pidfd, END_GRACE_MS) < 0)
			kill(-c[i].process.pid, SIGKILL);
}

static char *read_out(int fd)
{
	struct stat st;
	size_t n = fstat(fd, &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
	n = n > CHECK_OUTPUT_MAX ? CHECK_OUTPUT_MAX : n;
	char *ret = malloc(n + 1);
	ssize_t got = ret ? pread(fd, ret, n, 0) : -1;
	if (ret)
		ret[got > 0 ? got : 0] = '\0';
	return ret;
}

static int collect(struct child *c, uint32_t n, struct check_end *ret)
{
	int r = 0;
	for (uint32_t i = 0; i < n; i++) {
		ret[i] = (struct check_end){phx_process_status(c[i].process.pidfd), c[i].stopped,
					    read_out(c[i].out)};
		r = ret[i].out ? r : -ENOMEM;
	}
	return r;
}

static void forget(struct child *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		phx_close_fd(&c[i].out);
		phx_close_fd(&c[i].process.pidfd);
	}
}

int check_run(struct step_run *s, const struct check_load *load, struct check_end *ret_ends,
	      int64_t *ret_ms, struct phx_err *err)
{
	struct child children[CHECK_LOAD_MAX] = {0};
	int64_t since_ms = phx_clock_ms();
	uint32_t n = 0;
	int r = 0;
	while (r == 0 && n < load->n) {
		r = start(load, &children[n], err);
		if (r < 0)
			forget(&children[n], 1);
		n += r == 0;
	}
	if (r == 0 &&
	    await(s, children, n, since_ms + (int64_t)(load->seconds + load->more_s) * 1000) < 0)
		r = phx_err_set(err, -ECANCELED, "given up: %s", step_why_cancelled(s));
	*ret_ms = phx_clock_ms() - since_ms;
	stop_all(children, n);
	struct check_end ends[CHECK_LOAD_MAX] = {0};
	int collected = collect(children, n, ends);
	forget(children, n);
	r = r ? r : collected;
	if (r == 0)
		memcpy(ret_ends, ends, n * sizeof(*ends));
	else
		check_ends_fini(ends, n);
	return r;
}

void check_ends_fini(struct check_end *ends, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(ends[i].out);
}
