/* See job_group.h. The agent makes and removes groups, keepers call the rest.
 * Never writes to a group that the agent has not made. */
#include "agent/job_group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum { CLEAR_MS = 500 };

/* ---- by the agent ---- */

/* The control group (version 2) of this process: the line "0::PATH". */
static int own_group(char *ret, size_t size)
{
	PHX_AUTO_FREE char *text = NULL;
	int r = phx_file_read("/proc/self/cgroup", 65536, &text, NULL, NULL);
	if (r < 0)
		return r;
	for (char *line = text, *rest; line; line = rest) {
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = '\0';
		if (phx_str_starts(line, "0::/"))
			return phx_str_copy(ret, size, line[4] ? line + 3 : "");
	}
	return -ENOENT;
}

/* Has the kernel count memory, CPU time and processes of the groups below `dir`. It refuses if
 * `dir` holds processes itself; that is no error. */
static void count_all(const char *dir)
{
	static const char *const controllers[] = {"+memory", "+cpu", "+pids"};
	PHX_AUTO_FREE char *path = phx_path("%s/cgroup.subtree_control", dir);
	PHX_AUTO_CLOSE int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;
	for (size_t i = 0; fd >= 0 && i < PHX_ARRAY_SIZE(controllers); i++)
		(void)!write(fd, controllers[i], strlen(controllers[i]));
}

static bool is_version_2(const char *mount)
{
	struct statfs fs;
	return statfs(mount, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

static void find_own(struct job_groups *ret)
{
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	char own[AGENT_PATH_MAX], parent[JOB_GROUP_MAX];
	if (own_group(own, sizeof(own)) < 0)
		return;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(mounts); i++) {
		if (!is_version_2(mounts[i]))
			continue;
		snprintf(parent, sizeof(parent), "%s%s", mounts[i], own);
		if (access(parent, W_OK) == 0)
			snprintf(ret->base, sizeof(ret->base), "%s%s/phx-jobs-%lx", mounts[i], own,
				 ret->apart);
		return;
	}
}

/* 0: systemd will be asked for scopes; else `why` says why not. */
static int find_scopes(bool may_ask, struct phx_err *why)
{
	if (!may_ask)
		return phx_err_set(why, -EPERM, "the agent may not ask systemd for scopes");
	if (!is_version_2("/sys/fs/cgroup"))
		return phx_err_set(why, -EOPNOTSUPP,
				   "the system does not use control groups of version 2 alone");
	return job_scope_check(why);
}

void job_group_find(const char *tell_apart, bool may_ask, struct job_groups *ret)
{
	struct stat st;
	struct phx_err why = {.text = "no control groups of version 2 that are ours to write"};
	*ret = (struct job_groups){.scopes = sd_booted() > 0};
	if (stat(tell_apart, &st) < 0)
		return;
	ret->apart = (unsigned long)st.st_ino;
	/* under systemd all groups are systemd's, except those that it gives on request */
	if (!ret->scopes)
		find_own(ret);
	else if (find_scopes(may_ask, &why) == 0)
		PHX_STR_SET(ret->base, "/sys/fs/cgroup/phx.slice/phx-jobs.slice");
	if (ret->base[0])
		snprintf(ret->how, sizeof(ret->how), "%s",
			 ret->scopes ? "a scope of systemd" : "a control group of its own");
	else
		snprintf(ret->how, sizeof(ret->how), "a session alone: %.160s", why.text);
}

static void group_path(const struct job_groups *g, uint64_t id, uint32_t run,
		       char ret[JOB_GROUP_MAX])
{
	char scope[96];
	job_scope_name(g, id, run, scope);
	int n = g->scopes ? snprintf(ret, JOB_GROUP_MAX, "%s/%s/job", g->base, scope)
			  : snprintf(ret, JOB_GROUP_MAX, "%s/%" PRIu64 ".%u", g->base, id, run);
	if (!g->base[0] || n >= JOB_GROUP_MAX)
		ret[0] = '\0';
}

void job_group_make(const struct job_groups *g, uint64_t id, uint32_t run,
		    char ret_dir[JOB_GROUP_MAX])
{
	group_path(g, id, run, ret_dir);
	job_group_remove(g, id, run);
	if (!ret_dir[0] || g->scopes)
		return;
	if (mkdir(g->base, 0755) == 0)
		count_all(g->base);
	if (mkdir(ret_dir, 0755) < 0)
		ret_dir[0] = '\0';
}

/* Clears the groups within a group: those of tasks (task_run.c). */
static void clear_below(const char *dir)
{
	DIR *d = opendir(dir);
	for (const struct dirent *e; d && (e = readdir(d));) {
		PHX_AUTO_FREE char *below = e->d_type == DT_DIR && e->d_name[0] != '.'
			? phx_path("%s/%s", dir, e->d_name)
			: NULL;
		if (below)
			job_group_clear(below);
	}
	if (d)
		closedir(d);
}

/* The kernel signals a change of cgroup.events, and so the end of the last process, to whoever
 * polls the file after reading it. */
void job_group_clear(const char *dir)
{
	char text[256];
	PHX_AUTO_FREE char *path = phx_path("%s/cgroup.events", dir);
	PHX_AUTO_CLOSE int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	int64_t end_ms = phx_clock_ms() + CLEAR_MS, left_ms = CLEAR_MS;
	clear_below(dir);
	while (rmdir(dir) < 0 && errno == EBUSY && left_ms > 0) {
		job_group_kill(dir);
		ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
		text[n > 0 ? n : 0] = '\0';
		if (strstr(text, "populated 1") || rmdir(dir) < 0)
			poll(&(struct pollfd){fd, POLLPRI, 0}, 1, (int)left_ms);
		left_ms = end_ms - phx_clock_ms();
	}
}

void job_group_remove(const struct job_groups *g, uint64_t id, uint32_t run)
{
	char dir[JOB_GROUP_MAX];
	group_path(g, id, run, dir);
	if (dir[0])
		job_group_clear(dir);
	if (!g->scopes)
		rmdir(g->base); /* succeeds when the last group is gone */
}

/* ---- by the keeper ---- */

/* Reads up to size - 1 bytes of a file of the group, as text; -ENOENT. */
static ssize_t read_file(const char *dir, const char *name, char *ret, size_t size)
{
	char path[JOB_GROUP_MAX + 32];
	if (!dir[0])
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);
	if (fd >= 0)
		close(fd);
	ret[n > 0 ? n : 0] = '\0';
	return n < 0 ? -ENOENT : n;
}

static uint64_t number_at(const char *s)
{
	uint64_t v = 0;
	while (*s >= '0' && *s <= '9')
		v = v * 10 + (uint64_t)(*s++ - '0');
	return v;
}

void job_group_enter(const char *dir)
{
	char path[JOB_GROUP_MAX + 16];
	if (!dir[0])
		return;
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	(void)!write(fd, "0", 1);
	close(fd);
}

int job_group_signal(const char *dir, int sig)
{
	char text[65536];
	ssize_t n = read_file(dir, "cgroup.procs", text, sizeof(text));
	int told = 0;
	if (n < 0)
		return -ENOENT;
	for (const char *p = text; *p >= '0' && *p <= '9';) {
		pid_t pid = (pid_t)number_at(p);
		if (pid > 1)
			told += kill(pid, sig) == 0;
		const char *next = strchr(p, '\n');
		p = next ? next + 1 : "";
	}
	return told;
}

int job_group_kill(const char *dir)
{
	char path[JOB_GROUP_MAX + 16];
	if (!dir[0])
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/cgroup.kill", dir);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool all = fd >= 0 && write(fd, "1", 1) == 1;
	if (fd >= 0)
		close(fd);
	return all ? 0 : job_group_signal(dir, SIGKILL);
}

bool job_group_populated(const char *dir)
{
	char text[256];
	return read_file(dir, "cgroup.events", text, sizeof(text)) > 0 &&
		strstr(text, "populated 1");
}

void job_group_usage(const char *dir, uint64_t *ret_cpu_ms, uint64_t *ret_memory_peak_bytes)
{
	char text[1024];
	const char *usage = read_file(dir, "cpu.stat", text, sizeof(text)) > 0
		? strstr(text, "usage_usec ")
		: NULL;
	if (usage)
		*ret_cpu_ms = number_at(usage + strlen("usage_usec ")) / 1000;
	if (read_file(dir, "memory.peak", text, sizeof(text)) > 0)
		*ret_memory_peak_bytes = number_at(text);
}
