/* Programs of a check (step_check.c): several at a time, for a time, with what they say. They end
 * when the step is given up, and with the agent. */
#ifndef PHX_AGENT_CHECK_RUN_H
#define PHX_AGENT_CHECK_RUN_H

#include "agent/step.h"

enum { CHECK_OUTPUT_MAX = 1 << 20 };

/** One program, once it has ended. */
struct check_end {
	int status;   /* exit status; 128 + signal when killed */
	bool stopped; /* it did not end by itself in its time, and was ended */
	char *out;    /* what it wrote, up to CHECK_OUTPUT_MAX; owned, NUL-terminated */
};

struct check_load {
	const char *const *argv; /* NULL-terminated */
	const char *const *env;  /* its whole environment; NULL = ours */
	uint32_t n;              /* how often it is started, side by side; at most CHECK_LOAD_MAX */
	uint32_t seconds;        /* after that and `more_s` it is ended */
	uint32_t more_s;         /* for what ends by itself; 0: it is ended in time */
	bool errors_only;        /* of what it writes, only stderr counts, and one that writes more
				  * than CHECK_OUTPUT_MAX is ended by the kernel */
};
enum { CHECK_LOAD_MAX = 64 };

/** Runs the programs at the lowest priority, so that the agent goes on answering. ret_ends: `n` of
 * them, which the caller frees by check_ends_fini(). ret_ms: how long it took. -ENOENT there is no
 * such program; -ECANCELED the step is given up, and nothing of them runs any more; another
 * -errno; each with a text, and then there is nothing to free. */
int check_run(struct step_run *s, const struct check_load *load, struct check_end *ret_ends,
	      int64_t *ret_ms, struct phx_err *err);
void check_ends_fini(struct check_end *ends, uint32_t n);

#endif
