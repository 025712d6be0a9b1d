/* What phxd does for the processes that stand apart (lib/apart): tells, once, that one had to be
 * started again, and checks the users that they run as. Called by keys.c, hands.c, launcher.c and
 * main.c. */
#include "phxd/apart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/account.h"
#include "phxd/daemon.h"

void apart_restarted(void *watch)
{
	struct apart_watch *w = watch;
	atomic_fetch_add(&w->n_restarts, 1);
	if (w->d->wake)
		wake_in(w->d->wake, 0);
}

int apart_tick(struct apart_watch *w, pid_t pid)
{
	unsigned n = atomic_load(&w->n_restarts);
	char text[160];
	snprintf(text, sizeof(text), "%s had ended and was started again, as process %d", w->what,
		 (int)pid);
	if (n != w->n_told)
		engine_notice(w->d->engine, "", text);
	w->n_told = n;
	return WAKE_NEVER;
}

enum { PROCESSES = 3 };
struct process {
	const char *what, *option, *user;
	uid_t uid; /* of `user`, set by check_user() */
};

static void processes_of(const struct phx_config *cfg, struct process ret[PROCESSES])
{
	ret[0] = (struct process){"the process that serves", "head_user", cfg->head_user, 0};
	ret[1] = (struct process){"the process that holds the keys", "vault_user", cfg->vault_user,
				  0};
	ret[2] = (struct process){"the process that talks to BMCs", "hands_user", cfg->hands_user,
				  0};
}

static int check_user(struct process *p, struct phx_err *err)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	int r = p->user[0] ? phx_user_named(p->user, &pw, &texts) : 0;
	if (r == -ENOENT)
		return phx_err_set(err, r,
				   "%s: there is no user %s, whom %s becomes: make it "
				   "(systemd-sysusers, or useradd --system --user-group %s), or "
				   "write %s = \"\"; into phoenix.conf, and that process is root",
				   p->option, p->user, p->what, p->user, p->option);
	if (r < 0)
		return phx_err_set(err, r, "%s: nobody can tell whether there is a user %s: %s",
				   p->option, p->user, strerror(-r));
	p->uid = p->user[0] ? pw.pw_uid : 0;
	return p->user[0] && !p->uid
		? phx_err_set(
			  err, -EPERM,
			  "%s: %s is root: write %s = \"\"; into phoenix.conf, if that is meant",
			  p->option, p->user, p->option)
		: 0;
}

/* No two processes may share a user. */
static int check_other(const struct process *a, const struct process *b, struct phx_err *err)
{
	return a->user[0] && b->user[0] && a->uid == b->uid
		? phx_err_set(err, -EPERM, "%s: %s is the user of %s (%s), too: each has its own",
			      b->option, b->user, a->what, a->option)
		: 0;
}

int apart_check_users(const struct phx_config *cfg, struct phx_err *err)
{
	struct process all[PROCESSES];
	int r = 0;
	processes_of(cfg, all);
	for (size_t i = 0; geteuid() == 0 && r == 0 && i < PROCESSES; i++) {
		r = check_user(&all[i], err);
		for (size_t k = 0; r == 0 && k < i; k++)
			r = check_other(&all[k], &all[i], err);
	}
	return r;
}

void apart_print(const struct phx_config *cfg)
{
	struct process all[PROCESSES];
	processes_of(cfg, all);
	for (size_t i = 0; i < PROCESSES; i++)
		if (all[i].user[0])
			printf("%s: %s\n", all[i].what, all[i].user);
		else
			printf("%s: root (%s = \"\")\n", all[i].what, all[i].option);
}
