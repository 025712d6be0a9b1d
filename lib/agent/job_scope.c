/* The scope of one run of a job, where systemd runs the machine: see
 * job_group.h. The scope lies outside of the agent's unit, so that a stop of the
 * unit does not touch the job. It is delegated, so that keeper and job have separate
 * groups in it:
 *
 *	phx.slice/phx-jobs.slice/phx-job-APART-ID.RUN.scope/keeper
 *	                                                   /job
 *
 * Called by jobs.c while the keeper waits. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "agent/job_group.h"
#include "agent/job_keeper.h"
#include "agent/systemd.h"

/* Short, because the agent's heartbeat waits for systemd's answer. */
enum { SCOPE_MS = 3000 };

int job_scope_check(struct phx_err *err)
{
	struct systemd s;
	int r = systemd_open(&s, err);
	if (r == 0)
		systemd_close(&s);
	return r;
}

static int append_scope(sd_bus_message *m, const char *unit, const char *description, pid_t keeper,
			uint32_t stop_ms)
{
	int r = sd_bus_message_append(m, "ss", unit, "fail");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "(sv)");
	if (r >= 0)
		r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)(sv)(sv)(sv)", "Description", "s",
					  description, "Slice", "s", "phx-jobs.slice", "Delegate",
					  "b", 1, "CPUAccounting", "b", 1, "MemoryAccounting", "b",
					  1, "TasksAccounting", "b", 1, "TimeoutStopUSec", "t",
					  (uint64_t)stop_ms * 1000, "KillSignal", "i",
					  (int32_t)JOB_SIGNAL_RETURN);
	if (r >= 0)
		r = sd_bus_message_append(m, "(sv)", "PIDs", "au", 1, (uint32_t)keeper);
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	return r < 0 ? r : sd_bus_message_append(m, "a(sa(sv))", 0);
}

static int ask_systemd(const char *unit, const char *description, pid_t keeper, uint32_t stop_ms,
		       struct phx_err *err)
{
	struct systemd s;
	sd_bus_message *m = NULL;
	int r = systemd_open(&s, err);
	if (r < 0)
		return r;
	sd_bus_set_method_call_timeout(s.bus, SCOPE_MS * 1000ull);
	/* a failed unit of this name must be reset before the name can be used again */
	sd_bus_call_method(s.bus, SYSTEMD_DEST, SYSTEMD_MANAGER, "ResetFailedUnit", NULL, NULL, "s",
			   unit);
	r = systemd_new_call(&s, "StartTransientUnit", &m);
	if (r >= 0)
		r = append_scope(m, unit, description, keeper, stop_ms);
	if (r < 0) {
		sd_bus_message_unref(m);
		phx_err_set(err, r, "bus message: %s", strerror(-r));
	} else {
		r = systemd_call_job(&s, m, SCOPE_MS, err);
	}
	systemd_close(&s);
	return r;
}

static int write_text(const char *dir, const char *name, const char *text, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	PHX_AUTO_CLOSE int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return phx_err_set(err, -errno, "%s/%s: %s", dir, name, strerror(errno));
	return 0;
}

/* A group whose children are counted may hold no process itself: the keeper moves into a group
 * beside the job's. */
static int divide(const char *scope, pid_t keeper, struct phx_err *err)
{
	static const char *const controllers[] = {"+memory", "+cpu", "+pids"};
	char pid[16];
	PHX_AUTO_FREE char *of_keeper = phx_path("%s/keeper", scope);
	PHX_AUTO_FREE char *of_job = phx_path("%s/job", scope);
	if (!of_keeper || !of_job)
		return -ENOMEM;
	if (mkdir(of_keeper, 0755) < 0 || mkdir(of_job, 0755) < 0)
		return phx_err_set(err, -errno, "%s: %s", scope, strerror(errno));
	snprintf(pid, sizeof(pid), "%d", (int)keeper);
	int r = write_text(of_keeper, "cgroup.procs", pid, err);
	/* no error: figures of a controller that is missing are not reported */
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(controllers); i++)
		write_text(scope, "cgroup.subtree_control", controllers[i], NULL);
	return r;
}

void job_scope_name(const struct job_groups *g, uint64_t id, uint32_t run, char ret[96])
{
	snprintf(ret, 96, "phx-job-%lx-%" PRIu64 ".%u.scope", g->apart, id, run);
}

int job_scope_start(const struct job_groups *g, uint64_t id, uint32_t run, pid_t keeper,
		    uint32_t stop_ms, struct phx_err *err)
{
	char unit[96], description[96];
	job_scope_name(g, id, run, unit);
	snprintf(description, sizeof(description), "Phoenix job %llu, run %u",
		 (unsigned long long)id, run);
	PHX_AUTO_FREE char *scope = phx_path("%s/%s", g->base, unit);
	int r = scope ? ask_systemd(unit, description, keeper, stop_ms, err) : -ENOMEM;
	return r ? r : divide(scope, keeper, err);
}
