/* Starts the processes that tell programs and webhooks of events (lib/outlet/outlet.h). Called by
 * launcher_answer.c. */
#include "phxd/outlets.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "apart/apart.h"
#include "base/account.h"
#include "phxd/head_user.h"

enum { WORDS = 5, PATHS_MAX = 16 };

/* Whoever is not root starts them as himself. */
static int check_user(const struct phx_config *cfg, struct phx_err *err)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	if (geteuid() != 0)
		return 0;
	if (phx_user_named(cfg->event_user, &pw, &texts) < 0)
		return phx_err_set(err, -ENOENT,
				   "event_user: there is no user '%s' on this head, and nobody is "
				   "told of events as root: make it (systemd-sysusers), or name "
				   "another in phoenix.conf",
				   cfg->event_user);
	if (pw.pw_uid == 0 || pw.pw_gid == 0)
		return phx_err_set(
			err, -EPERM,
			"event_user: '%s' is root or of root's group, and nobody is told "
			"of events so",
			cfg->event_user);
	return head_user_refuse(cfg, pw.pw_uid, err);
}

int outlet_spawn(const struct phx_config *cfg, enum outlet_process which, int *ret_fd,
		 struct phx_err *err)
{
	char owner[16];
	const char *programs[WORDS + PATHS_MAX + 1] = {"/proc/self/exe", "--programs",
						       cfg->event_user, owner, cfg->event_dir};
	const char *webhooks[] = {"/proc/self/exe", "--webhooks", cfg->event_user, cfg->file, NULL};
	const struct phx_launch how = {.argv = which == OUTLET_PROGRAMS ? programs : webhooks};
	struct phx_process p;
	size_t n = WORDS;
	snprintf(owner, sizeof(owner), "%u", (unsigned)geteuid());
	PHX_LIST_EACH(struct phx_word, w, &cfg->event_paths)
		if (n < WORDS + PATHS_MAX)
			programs[n++] = w->text;
	int r = check_user(cfg, err);
	r = r ? r : phx_apart_spawn(&how, "the process that tells of events", &p, ret_fd, err);
	if (r == 0)
		phx_apart_collect_later(&p);
	return r;
}
