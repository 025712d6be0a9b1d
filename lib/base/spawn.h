/* Runs programs to their end: their input, output and time limit. */
#ifndef PHX_BASE_SPAWN_H
#define PHX_BASE_SPAWN_H

#include "base/process.h"

struct phx_run {
	const char *const *argv;    /* NULL-terminated; argv[0] is looked up in PATH */
	const char *const *env_add; /* "NAME=value" added to the environment, or NULL */
	/* NULL: as ourselves; otherwise set-uid programs give no rights back, the environment is
	 * PATH and env_add alone, the working directory "/" */
	const struct phx_run_as *as;
	const char *input;   /* fed to stdin, or NULL for /dev/null */
	uint32_t timeout_ms; /* 0 = 60 s; the process group is killed when it passes */
	size_t output_max;   /* of stdout and of stderr; 0 = 1 MiB; the rest is dropped */
	bool dies_with_us;   /* killed when the calling thread ends */
};

struct phx_run_result {
	int status;   /* exit status; 128 + signal when killed */
	char *out;    /* malloc'd stdout, NUL-terminated */
	char *errout; /* malloc'd stderr */
};
void phx_run_result_fini(struct phx_run_result *r);

/** Runs a program to its end and blocks the calling thread (never call it on the main loop). 0 when
 * the program ran, whatever its status; -ENOENT no such program, -ETIMEDOUT, -EPERM (rights of `as`
 * cannot be taken), another -errno. */
int phx_run(const struct phx_run *run, struct phx_run_result *ret, struct phx_err *err);

/** As phx_run(), and a status other than 0 is -EIO with the first line of
 * stderr in the text. ret may be NULL. */
int phx_run_check(const struct phx_run *run, struct phx_run_result *ret, struct phx_err *err);

/** Path of the file `name` in the directory of the running program, whether it exists or not;
 * malloc'd. NULL: errno. */
char *phx_run_beside(const char *name);

#endif
