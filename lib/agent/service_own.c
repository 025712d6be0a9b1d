/* Services as our own children, where systemd is not process 1: each has its own
 * session, a cgroup where version 2 is writable, and a file RUN/services/NAME.pid
 * by which the next agent finds services of a killed agent. Started in
 * workers, which live as long as the agent (children die with the thread that started them). */
#include "agent/service_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/account.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "agent/cpu_time.h"
#include "agent/job_group.h"
#include "agent/log.h"
#include "agent/service_log.h"

enum { DEFAULT_GRACE_S = 10, AHEAD_NICE = 19 };

struct own {
	char dir[256];    /* RUN/services */
	char cgroup[128]; /* "" none; else the prefix of our groups */
	struct service_logs *logs;
};

/* ---- the child ---- */

/* Enters the service's cgroup; if that fails, the service runs without one. */
static int enter_cgroup(const void *procs_fd)
{
	(void)!write(*(const int *)procs_fd, "0", 1);
	return 0;
}

static int find_user(const char *name, struct phx_run_as *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	if (phx_user_named(name, &pw, &texts) < 0)
		return phx_err_set(err, -ENOENT, "user %s: unknown on this node", name);
	*ret = (struct phx_run_as){.uid = pw.pw_uid, .gid = pw.pw_gid, .n_groups = PHX_GROUPS_MAX};
	if (getgrouplist(name, pw.pw_gid, ret->groups, &ret->n_groups) < 0)
		return phx_err_set(err, -E2BIG, "user %s: in more than %d groups", name,
				   PHX_GROUPS_MAX);
	return 0;
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
	if (o->cgroup[0] && dir)
		job_group_clear(dir);
}

/* ---- services that an earlier agent left ---- */

static char *pid_path(const struct own *o, const char *name)
{
	return phx_path("%s/%s.pid", o->dir, name);
}

/* ---- the contract ---- */

/* Clears away what a service that has ended leaves. Returns its status, if it was our child
 * (`p`). */
static int gone(struct own *o, const char *name, struct service_proc *p)
{
	PHX_AUTO_FREE char *file = pid_path(o, name);
	int status = p && p->pid > 0 ? phx_process_status(p->pidfd) : 0;
	kill_cgroup(o, name);
	if (file)
		unlink(file);
	if (p) {
		phx_close_fd(&p->pidfd);
		p->pid = 0;
	}
	return status;
}

/* Ends the whole session of a service. One that a killed agent left is found by its file. */
static int own_stop(void *self, const char *name, struct service_proc *p, uint32_t grace_s,
		    struct phx_err *err)
{
	struct own *o = self;
	PHX_AUTO_FREE char *file = pid_path(o, name);
	uint32_t grace_ms = (grace_s ? grace_s : DEFAULT_GRACE_S) * 1000;
	if (!file)
		return -ENOMEM;
	int r = !p           ? phx_process_end_noted(file, true, grace_ms, err)
		: p->pid > 0 ? phx_process_end(p->pid, true, grace_ms, err)
			     : 0;
	if (r < 0)
		return r;
	gone(o, name, p);
	return 0;
}

static int launch(struct own *o, const struct service_command *c, int log_fd,
		  struct service_proc *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *file = pid_path(o, c->name);
	PHX_AUTO_CLOSE int procs = open_cgroup(o, c->name);
	struct phx_run_as as;
	int r = !file ? -ENOMEM : c->user[0] ? find_user(c->user, &as, err) : 0;
	const struct phx_launch l = {
		.argv = (const char *const *)c->argv,
		.env = (const char *const *)c->env,
		.user_dir = c->cwd,
		.as = c->user[0] ? &as : NULL,
		.out = log_fd,
		.errout = log_fd,
		.group = PHX_GROUP_SESSION,
		.death_signal = SIGTERM,
		.prepare = procs >= 0 ? enter_cgroup : NULL,
		.arg = &procs,
	};
	struct phx_process p;
	r = r ? r : phx_process_start(&l, &p, err);
	if (r < 0)
		return r;
	*ret = (struct service_proc){.pid = p.pid, .pidfd = p.pidfd};
	if (c->ahead)
		setpriority(PRIO_PGRP, (id_t)p.pid, AHEAD_NICE);
	r = phx_process_note(file, p.pid, err);
	if (r < 0)
		own_stop(o, c->name, ret, 1, NULL);
	return r;
}

static int own_start(void *self, const struct service_command *c, struct service_proc *ret,
		     struct phx_err *err)
{
	struct own *o = self;
	int r = own_stop(o, c->name, NULL, c->stop_grace_s, err);
	if (r < 0)
		return r;
	PHX_AUTO_CLOSE int log_fd = service_logs_open(o->logs, c->name);
	return log_fd < 0 ? phx_err_set(err, log_fd, "pipe: %s", strerror(-log_fd))
			  : launch(o, c, log_fd, ret, err);
}

static int own_running(void *self, const char *name, struct service_proc *p, int *ret_status)
{
	if (p->pid > 0 && phx_process_wait(p->pidfd, 0) < 0)
		return 1;
	/* children of the service are killed with it */
	if (p->pid > 0)
		kill(-p->pid, SIGKILL);
	*ret_status = gone(self, name, p);
	return 0;
}

static int own_weigh(void *self, const char *name, struct service_proc *p, bool quota,
		     struct phx_err *err)
{
	(void)self, (void)quota;
	if (p->pid > 0 && setpriority(PRIO_PGRP, (id_t)p->pid, 0) < 0 && errno != ESRCH)
		return phx_err_set(err, -errno, "%s: its priority: %s", name, strerror(errno));
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
	.weigh = own_weigh,
	.used = own_used,
	.log = own_log,
	.free = own_free,
	.outlives_agent = false,
};

int service_own_new(struct loop *loop, const char *run_dir, const struct service_backend **ret,
		    void **ret_self, struct phx_err *err)
{
	struct own *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	int n = snprintf(o->dir, sizeof(o->dir), "%s/services", run_dir);
	int r = (size_t)n < sizeof(o->dir) ? phx_dir_make(o->dir, 0755, err) : -ENAMETOOLONG;
	r = r ? r : service_logs_new(loop, &o->logs);
	if (r < 0) {
		free(o);
		return r;
	}
	find_cgroup(o);
	*ret = &own_backend;
	*ret_self = o;
	return 0;
}
