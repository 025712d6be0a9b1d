/* The runner: a process (phxd --runner) that runs Slurm's commands as engine_user, which the head
 * must not do. The launcher starts one for a round, the head asks it, and it ends with its socket.
 * Never root. */
#ifndef PHXD_RUNNER_H
#define PHXD_RUNNER_H

#include "apart/apart.h"
#include "base/spawn.h"
#include "config/config.h"

/** Starts a runner: its socket, owned by the caller. -ENOENT: there is no such user; -EPERM: it is
 * root. The user is looked up each time, since it may be made, or its groups be changed, while we
 * run. */
int runner_spawn(const struct phx_config *cfg, int *ret_fd, struct phx_err *err);
/** Runs as a runner, on standard input; returns the exit status. */
int runner_run(void);

/* ---- who asks ---- */

/** Takes `fd`. */
int runner_new(int fd, struct phx_apart **ret);
/** Has the runner do phx_slurm_run(). For phx_slurm.run. */
int runner_ask(void *runner, const char *conf, const char *const *argv, struct phx_run_result *ret,
	       struct phx_err *err);

#endif
