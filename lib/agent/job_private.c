/* See job_private.h. Uses mount and IPC namespaces, which the kernel removes with their last
 * process. Never changes what other processes see. */
#include "agent/job_private.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"

enum { PLAIN = MS_NOSUID | MS_NODEV };

/* A place of the machine, and what a run has there: the directory `below` its own on the node's
 * disk, or a new file system. */
static const struct place {
	const char *at, *below, *type, *options;
	unsigned long flags;
} places[] = {
	{.at = "/tmp", .below = "tmp"},
	{.at = "/var/tmp", .below = "var-tmp"},
	{"/dev/shm", NULL, "tmpfs", "mode=1777", PLAIN},
	{"/run/lock", NULL, "tmpfs", "mode=1777,size=5m", PLAIN | MS_NOEXEC},
	/* the machine's own mount shows the machine's queues */
	{"/dev/mqueue", NULL, "mqueue", NULL, PLAIN | MS_NOEXEC},
	{"/proc", NULL, "proc", "hidepid=2", PLAIN | MS_NOEXEC},
};

char *job_private_dir(const char *stage, struct job_run run)
{
	return phx_path("%s/%" PRIu64 ".%u.private", stage, run.id, run.run);
}

/* Makes a directory that is open to all, like the place that it replaces; only root can reach it
 * from outside. */
static int make_open(const char *dir, const char *below, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, below);
	int r = path ? phx_dir_make(path, 0700, err) : -ENOMEM;
	if (r == 0 && chmod(path, 01777) < 0)
		r = phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return r;
}

int job_private_make(const char *stage, struct job_run run, struct phx_err *err)
{
	PHX_AUTO_FREE char *dir = job_private_dir(stage, run);
	int r = dir ? phx_dir_remove(dir, err) : -ENOMEM;
	r = r ? r : phx_dir_make(dir, 0700, err);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(places); i++)
		if (r == 0 && places[i].below)
			r = make_open(dir, places[i].below, err);
	if (r < 0 && dir)
		phx_dir_remove(dir, NULL);
	return r;
}

bool job_private_hides(const char *path)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(places); i++) {
		size_t n = strlen(places[i].at);
		if (!strncmp(path, places[i].at, n) && (path[n] == '/' || !path[n]))
			return true;
	}
	return false;
}

/* ---- in the process that becomes the job ---- */

/* Mounts one place. The current directory is the run's, since its path may be hidden by the run's
 * own /tmp. */
static int furnish(const struct place *p)
{
	if (!p->below)
		return mount(p->type, p->at, p->type, p->flags, p->options) < 0 ? -errno : 0;
	if (mount(p->below, p->at, NULL, MS_BIND, NULL) < 0)
		return -errno;
	return mount(NULL, p->at, NULL, MS_REMOUNT | MS_BIND | PLAIN, NULL) < 0 ? -errno : 0;
}

/* Gives up privileges of this process; programs that it runs inherit that. */
static int forgo(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	/* the job must not have the agent's keyring; a kernel without keyrings has none to give */
	(void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	return 0;
}

int job_private_enter(const char *dir, const char **ret_what)
{
	*ret_what = dir;
	if (chdir(dir) < 0)
		return -errno;
	*ret_what = "namespaces of its own";
	if (unshare(CLONE_NEWNS | CLONE_NEWIPC) < 0)
		return -errno;
	/* what the machine mounts later is seen, what is mounted here stays here */
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return -errno;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(places); i++) {
		int r = access(places[i].at, F_OK) < 0 ? 0 : furnish(&places[i]);
		*ret_what = places[i].at;
		if (r < 0)
			return r;
	}
	*ret_what = "no new privileges";
	return forgo();
}

int job_private_join(int mounts, int ipc)
{
	return setns(mounts, CLONE_NEWNS) < 0 || setns(ipc, CLONE_NEWIPC) < 0 ? -errno : forgo();
}
