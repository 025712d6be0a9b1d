/* Programs that run to their end: what they are told, what they say, how long they may take. */
#ifndef PHX_BASE_SPAWN_H
#define PHX_BASE_SPAWN_H

#include "base/process.h"

struct phx_run {
	const char *const *argv;    /* NULL-terminated; argv[0] is looked up in PATH */
	const char *const *env_add; /* "NAME=value" added to the environment, or NULL */
	/* NULL: as ourselves; else there is no way back by set-uid programs, the environment is
	 * PATH and env_add alone, the working directory "/" */
	const struct phx_run_as *as;
	const char *input;   /* fed to stdin, or NULL for /dev/null */
	uint32_t timeout_ms; /* 0 = 60 s; the process group is killed when it passes */
	size_t output_max;   /* of stdout and of stderr; 0 = 1 MiB; the rest is dropped */
	bool dies_with_us;   /* it is killed when we are */
};

struct phx_run_result {
	int status;   /* exit status; 128 + signal when killed */
	char *out;    /* malloc'd stdout, NUL-terminated */
	char *errout; /* malloc'd stderr */
};
void phx_run_result_fini(struct phx_run_result *r);

/** Run to its end, blocking the calling thread (never call on the main loop).
 * Returns 0 when the program ran, whatever its status; -ENOENT when there is
 * no such program, -ETIMEDOUT, -EPERM (`as` cannot be), -errno. */
int phx_run(const struct phx_run *run, struct phx_run_result *ret, struct phx_err *err);

/** As phx_run(), and a status other than 0 is -EIO with the first line of
 * stderr in the text. ret may be NULL. */
int phx_run_check(const struct phx_run *run, struct phx_run_result *ret, struct phx_err *err);

/** Path of the file `name` in the folder of the program that runs, whether it is there or not;
 * malloc'd. NULL: errno. */
char *phx_run_beside(const char *name);

#endif
