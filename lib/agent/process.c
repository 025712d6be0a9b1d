/* See process.h. Functions that run in a child between fork and exec make only
 * async-signal-safe calls. */
#include "agent/process.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/account.h"
#include "base/file.h"

int process_find_user(const char *name, struct process_user *ret, struct phx_err *err)
{
	struct process_user u = {0};
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	if (name[0]) {
		if (phx_user_named(name, &pw, &texts) < 0)
			return phx_err_set(err, -ENOENT, "user %s: unknown on this node", name);
		u.uid = pw.pw_uid;
		u.gid = pw.pw_gid;
		u.n_groups = PROCESS_GROUPS_MAX;
		if (getgrouplist(name, pw.pw_gid, u.groups, &u.n_groups) < 0)
			return phx_err_set(err, -E2BIG, "user %s: in more than %d groups", name,
					   PROCESS_GROUPS_MAX);
	}
	*ret = u;
	return 0;
}

int process_become(const struct process_user *u)
{
	if (!phx_id_valid(u->uid) || !phx_id_valid(u->gid))
		return -EPERM; /* with such an id the calls below would leave root */
	if (u->uid == getuid() && u->gid == getgid() && u->uid == geteuid())
		return 0;
	if (setgroups((size_t)u->n_groups, u->groups) < 0 ||
	    setresgid(u->gid, u->gid, u->gid) < 0 || setresuid(u->uid, u->uid, u->uid) < 0)
		return -errno;
	return getuid() == u->uid && geteuid() == u->uid && getegid() == u->gid ? 0 : -EPERM;
}

void process_reset_signals(void)
{
	sigset_t none;
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

uint64_t process_start_time(pid_t pid)
{
	char path[64];
	PHX_AUTO_FREE char *text = NULL;
	unsigned long long start = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (phx_file_read(path, 4096, &text, NULL, NULL) < 0)
		return 0;
	/* the name may hold blanks and brackets: fields count from the last bracket */
	const char *p = strrchr(text, ')');
	char state = 'Z';
	if (!p ||
	    sscanf(p + 1,
		   " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &state, &start) != 2)
		return 0;
	return state == 'Z' || state == 'X' ? 0 : start;
}
