/* The runner: a process (phxd --runner SLURM_DIR PATH...) that runs Slurm's commands as
 * engine_user, which the head must not do. The launcher starts one for a round, the head asks it,
 * and it ends with its socket. Never root; it and its commands see programs, configuration and
 * names of the system, what is on PATH, slurm_dir and slurm_paths, and change slurm_paths alone
 * (Landlock, where the kernel has it). */
#ifndef PHXD_RUNNER_H
#define PHXD_RUNNER_H

#include "apart/apart.h"
#include "base/spawn.h"
#include "config/config.h"

/** Starts a runner: its socket, owned by the caller. -ENOENT: there is no such user; -EPERM: it is
 * root. The user is looked up each time, since it may be made, or its groups be changed, while we
 * run. */
int runner_spawn(const struct phx_config *cfg, int *ret_fd, struct phx_err *err);
/* words of its command line: those of slurm_paths are last */
enum { RUNNER_ARGS_MIN = 3, RUNNER_ARGS_MAX = RUNNER_ARGS_MIN + 16 };
/** Runs as a runner, on standard input, by a command line of RUNNER_ARGS_MIN to RUNNER_ARGS_MAX
 * words; returns the exit status. */
int runner_run(char **argv);

/* ---- who asks ---- */

/** Takes `fd`. */
int runner_new(int fd, struct phx_apart **ret);
/** Has the runner do phx_slurm_run(). For phx_slurm.run. */
int runner_ask(void *runner, const char *conf, const char *const *argv, struct phx_run_result *ret,
	       struct phx_err *err);

#endif
