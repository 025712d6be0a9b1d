/* The runner: a process (phxd --runner) that is engine_user and runs Slurm's commands, which the
 * process that serves may not. The launcher starts one for a round, the head asks it, and it ends
 * with its socket. Never root. */
#ifndef PHXD_RUNNER_H
#define PHXD_RUNNER_H

#include "apart/apart.h"
#include "base/spawn.h"
#include "config/config.h"

/** Start one: its socket. -ENOENT, -EPERM: there is no such user, or it is root. Looked up each
 * time: the user may be made, and his groups be changed, while we run. */
int runner_spawn(const struct phx_config *cfg, int *ret_fd, struct phx_err *err);
/** Be one, on standard input; the exit status. */
int runner_run(void);

/* ---- who asks ---- */

/** Takes `fd`. */
int runner_new(int fd, struct phx_apart **ret);
/** phx_slurm_run() by it: for phx_slurm.run. */
int runner_ask(void *runner, const char *conf, const char *const *argv, struct phx_run_result *ret,
	       struct phx_err *err);

#endif
