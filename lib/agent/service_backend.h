/* How programs of services are run: the contract between supervision
 * (service.c) and its two backends. All calls come from the services thread. */
#ifndef PHX_AGENT_SERVICE_BACKEND_H
#define PHX_AGENT_SERVICE_BACKEND_H

#include <sys/types.h>

#include "types/role.h"

/** One program, ready to run. Everything is borrowed for the call. */
struct service_command {
	const char *name;        /* service */
	const char *description; /* says what exactly runs: same text = same service */
	const char *cwd;
	const char *user;  /* "" = root */
	char *const *argv; /* argv[0] is a path */
	char *const *env;  /* whole environment */
	uint32_t stop_grace_s;
	/* all services of the role together, thousandths of a CPU; 0 = no quota. systemd only */
	uint32_t cpu_milli;
	/* its role starts: the quota of an earlier one ends, that of this one comes with limit() */
	bool first;
};

enum { SERVICE_INVOCATION_MAX = 33 };

/** A running one. systemd's have no pid of ours; the pidfd is their main process'. */
struct service_proc {
	pid_t pid;
	int pidfd; /* -1 none */
	/* systemd's name for this start of the unit; "" none, or not known */
	char invocation[SERVICE_INVOCATION_MAX];
};

enum { SERVICE_CURSOR_MAX = 256, SERVICE_LOG_MAX = 48 << 10 };

/** One for those who only look at it. */
struct service_id {
	char name[PHX_NAME_MAX];
	pid_t pid;                               /* as in service_proc; 0 it does not run */
	char invocation[SERVICE_INVOCATION_MAX]; /* as in service_proc: of the last start */
	char log_from[SERVICE_CURSOR_MAX]; /* where what it wrote since its last start begins */
};

/** What a service wrote (stdout and stderr): from where, and how long to wait for more. */
struct service_log_ask {
	/* of an earlier answer: what came behind it; "": the last lines */
	char cursor[SERVICE_CURSOR_MAX];
	/* only of this start, where the backend tells them apart; "": of all */
	char invocation[SERVICE_INVOCATION_MAX];
	uint32_t lines;
	bool words;       /* what it wrote itself alone, not what systemd says of it */
	uint32_t wait_ms; /* at most, while there is nothing behind the cursor */
};

struct service_backend {
	/** Run it. 0 when the program was executed; an equal one that already runs may be
	 * adopted. */
	int (*start)(void *self, const struct service_command *c, struct service_proc *ret,
		     struct phx_err *err);
	/** 1 it runs; 0 it ended, with exit status or 128 + signal in ret_status. */
	int (*running)(void *self, const char *name, struct service_proc *p, int *ret_status);
	/** SIGTERM, after the grace time SIGKILL, to all its processes; returns when they are gone.
	 * `p` is NULL when this agent did not start it. Not running is no error. */
	int (*stop)(void *self, const char *name, struct service_proc *p, uint32_t grace_s,
		    struct phx_err *err);
	/** A signal to its main process, not to those that this has started. Not running is no
	 * error. */
	int (*signal)(void *self, const char *name, struct service_proc *p, int sig,
		      struct phx_err *err);
	/** All services together get no more than this of a CPU; NULL: the backend cannot. */
	int (*limit)(void *self, uint32_t cpu_milli, struct phx_err *err);
	/** CPU time of these, all together, in µs: what they have used since they were started (a
	 * lesser sum than before: one was started again). Any thread may call it, beside the
	 * others. Negative with a text: it cannot be known. */
	int (*used)(void *self, const struct service_id *ids, uint32_t n, uint64_t *ret_us,
		    struct phx_err *err);
	/** At most SERVICE_LOG_MAX bytes of what it wrote, as it wrote them, and where they end.
	 * Any thread may call it. */
	int (*log)(void *self, const char *name, const struct service_log_ask *ask,
		   struct phx_buf *ret_text, char ret_cursor[SERVICE_CURSOR_MAX],
		   struct phx_err *err);
	void (*free)(void *self);
	bool outlives_agent; /* services go on when the agent stops */
	/* what a service wrote before it died is there so long after that at the latest */
	uint32_t log_lag_ms;
};

int service_own_new(const char *run_dir, const struct service_backend **ret, void **ret_self,
		    struct phx_err *err);
int service_systemd_new(const struct service_backend **ret, void **ret_self, struct phx_err *err);

#endif
