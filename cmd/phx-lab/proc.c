/* Long-running programs of the lab: started apart from the command that starts them, found again by
 * what base/process.h writes down of them. Called by the other lab files. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "base/spawn.h"
#include "phx-lab/lab.h"

enum { WORDS_MAX = 24 };

static int enter(const char *netns)
{
	char path[128];
	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	PHX_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;
}

/* In a process of its own, which ends then: the program is init's child, and nobody here has to
 * wait for it. */
static int start(const struct lab_program *p, int log)
{
	const struct phx_launch l = {.argv = p->argv,
				     .dir = p->work_dir,
				     .out = log,
				     .errout = log,
				     .group = PHX_GROUP_SESSION};
	struct phx_process started;
	int r = p->netns ? enter(p->netns) : 0;
	if (r == 0)
		r = phx_process_start(&l, &started, NULL);
	if (r == 0 && (r = phx_process_note(p->pid_file, started.pid, NULL)) < 0)
		phx_process_signal(started.pidfd, SIGKILL);
	return r;
}

int lab_start(const struct lab_program *p, struct phx_err *err)
{
	PHX_AUTO_CLOSE int log = open(p->log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	pid_t between = log < 0 ? -1 : fork();
	if (between == 0)
		_exit(-start(p, log));
	int r = between < 0 ? -errno : 0, status = 0;
	while (r == 0 && waitpid(between, &status, 0) < 0 && errno == EINTR)
		;
	if (r == 0)
		r = WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
	return r < 0 ? phx_err_set(err, r, "cannot start %s: %s", p->argv[0], strerror(-r)) : 0;
}

/* ---- short ones ---- */

int lab_ip(const char *program, const char *netns, struct phx_err *err, const char *fmt, ...)
{
	char line[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	const char *argv[WORDS_MAX] = {program};
	size_t n = 1;
	if (netns) {
		argv[n++] = "-n";
		argv[n++] = netns;
	}
	char *save = NULL;
	for (char *w = strtok_r(line, " ", &save); w && n < WORDS_MAX - 1;
	     w = strtok_r(NULL, " ", &save))
		argv[n++] = w;
	const struct phx_run run = {.argv = argv};
	return phx_run_check(&run, NULL, err);
}
