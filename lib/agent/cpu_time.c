/* See cpu_time.h. Called by the backends of services with each beat. */
#include "agent/cpu_time.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { STAT_MAX = 4096 };

int cpu_time_of_cgroup(const char *dir, uint64_t *ret_us)
{
	PHX_AUTO_FREE char *path = phx_path("%s/cpu.stat", dir);
	PHX_AUTO_FREE char *text = NULL;
	int r = path ? phx_file_read(path, STAT_MAX, &text, NULL, NULL) : -ENOMEM;
	const char *at = r == 0 ? strstr(text, "usage_usec ") : NULL;
	if (r < 0)
		return r;
	return at && sscanf(at, "usage_usec %" SCNu64, ret_us) == 1 ? 0 : -ENOENT;
}

/* ---- sessions ---- */

struct process {
	pid_t pid, parent, session;
	uint64_t ticks; /* CPU time of the process and of children it has waited for */
	bool counts;
};

static bool read_process(const char *proc, const char *pid, struct process *ret)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s/stat", proc, pid);
	PHX_AUTO_FREE char *text = NULL;
	unsigned long long user, system, children_user, children_system;
	if (!path || phx_file_read(path, STAT_MAX, &text, NULL, NULL) < 0)
		return false;
	/* the name may hold blanks and brackets: fields count from the last bracket */
	const char *p = strrchr(text, ')');
	*ret = (struct process){.pid = (pid_t)atoi(pid)};
	if (!p ||
	    sscanf(p + 1, " %*c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
		   &ret->parent, &ret->session, &user, &system, &children_user,
		   &children_system) != 6)
		return false;
	ret->ticks = user + system + children_user + children_system;
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *p = a, *q = b;
	return p->pid < q->pid ? -1 : p->pid > q->pid;
}

static int read_all(const char *proc, struct phx_list *ret, struct phx_err *err)
{
	DIR *dir = opendir(proc);
	int r = dir ? 0 : phx_err_set(err, -errno, "%s: %s", proc, strerror(errno));
	for (struct dirent *e; r == 0 && (e = readdir(dir));) {
		struct process p;
		if (e->d_name[0] < '1' || e->d_name[0] > '9' || !read_process(proc, e->d_name, &p))
			continue;
		struct process *kept = phx_list_push(ret, sizeof(*kept));
		if (kept)
			*kept = p;
		else
			r = phx_err_set(err, -ENOMEM, "out of memory");
	}
	if (dir)
		closedir(dir);
	if (ret->n)
		qsort(ret->items, ret->n, sizeof(struct process), by_pid);
	return r;
}

static bool is_led(const struct process *p, const pid_t *leaders, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (leaders[i] > 0 && (p->pid == leaders[i] || p->session == leaders[i]))
			return true;
	return false;
}

static bool parent_counts(const struct phx_list *all, const struct process *p)
{
	struct process key = {.pid = p->parent};
	const struct process *parent = bsearch(&key, all->items, all->n, sizeof(key), by_pid);
	return parent && parent->counts;
}

/* Marks processes that count. One round is mostly enough: children have greater numbers than their
 * parents, until numbers wrap around. */
static void mark(struct phx_list *all, const pid_t *leaders, uint32_t n)
{
	for (bool more = true; more;) {
		more = false;
		PHX_LIST_EACH(struct process, p, all) {
			if (p->counts || (!is_led(p, leaders, n) && !parent_counts(all, p)))
				continue;
			p->counts = more = true;
		}
	}
}

int cpu_time_of_sessions(const char *proc, const pid_t *leaders, uint32_t n, uint64_t *ret_us,
			 struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list all = {0};
	uint64_t ticks = 0, per_s = (uint64_t)sysconf(_SC_CLK_TCK);
	int r = read_all(proc, &all, err);
	if (r < 0)
		return r;
	if (all.n)
		mark(&all, leaders, n);
	PHX_LIST_EACH(struct process, p, &all)
		ticks += p->counts ? p->ticks : 0;
	*ret_us = ticks * 1000000 / per_s;
	return 0;
}
