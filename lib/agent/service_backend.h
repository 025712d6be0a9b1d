/* How programs of services are run: the contract between supervision (service.c)
 * and its two backends. Calls come from whoever has the services, in workers,
 * one at a time, unless said otherwise. */
#ifndef PHX_AGENT_SERVICE_BACKEND_H
#define PHX_AGENT_SERVICE_BACKEND_H

#include <sys/types.h>

#include "types/logs.h"
#include "types/role.h"
#include "agent/loop.h"

/** One program, ready to run. Everything is borrowed for the call. */
struct service_command {
	const char *name;        /* service */
	const char *description; /* names the program and its arguments: same text = same service */
	const char *cwd;
	const char *user;  /* "" = root */
	char *const *argv; /* argv[0] is a path */
	char *const *env;  /* whole environment */
	uint32_t stop_grace_s;
	/* quota of all services of the role, thousandths of a CPU; 0 = none. systemd only */
	uint32_t cpu_milli;
	bool ahead; /* it gets only CPU time that nobody else wants, until weigh() */
	/* its role starts: the quota of an earlier role ends, the role's own begins with limit() */
	bool first;
};

enum { SERVICE_INVOCATION_MAX = 33 };

/** A running program. Under systemd it has no pid here; pidfd is its main process. */
struct service_proc {
	pid_t pid;
	int pidfd; /* -1 none */
	/* systemd's name for this start of the unit; "" none, or not known */
	char invocation[SERVICE_INVOCATION_MAX];
};

enum { SERVICE_CURSOR_MAX = PHX_LOGS_CURSOR_MAX, SERVICE_LOG_MAX = 48 << 10 };

/** A service, as it is published to readers in other threads. */
struct service_id {
	char name[PHX_NAME_MAX];
	pid_t pid;                               /* as in service_proc; 0 it does not run */
	char invocation[SERVICE_INVOCATION_MAX]; /* as in service_proc, of the last start */
	char log_from[SERVICE_CURSOR_MAX]; /* cursor where its output since the last start begins */
};

/** A question for a service's output (stdout and stderr): from where, and how long to wait. */
struct service_log_ask {
	/* from an earlier answer: the output after it is wanted; "": the last lines are */
	char cursor[SERVICE_CURSOR_MAX];
	/* only output of this start, if the backend tells starts apart; "": of all starts */
	char invocation[SERVICE_INVOCATION_MAX];
	uint32_t lines;
	bool words;       /* only the service's own output, without messages of systemd about it */
	uint32_t wait_ms; /* longest wait while there is no output after the cursor */
};

struct service_backend {
	/** Run a program. 0: it was executed, or an equal one that runs already was adopted. */
	int (*start)(void *self, const struct service_command *c, struct service_proc *ret,
		     struct phx_err *err);
	/** 1: the service runs; 0: it ended, with exit status or 128 + signal in ret_status. */
	int (*running)(void *self, const char *name, struct service_proc *p, int *ret_status);
	/** Send SIGTERM, after the grace time SIGKILL, to all processes of the service; returns
	 * when they are gone. `p` is NULL when this agent did not start it. Safe if it does not
	 * run. */
	int (*stop)(void *self, const char *name, struct service_proc *p, uint32_t grace_s,
		    struct phx_err *err);
	/** Send a signal to the main process of the service alone. Safe if it does not run. */
	int (*signal)(void *self, const char *name, struct service_proc *p, int sig,
		      struct phx_err *err);
	/** Give a service that was started ahead the same share of the CPU as others. `quota`: its
	 * role has one. */
	int (*weigh)(void *self, const char *name, struct service_proc *p, bool quota,
		     struct phx_err *err);
	/** Limit the CPU of all services together; NULL: the backend cannot. */
	int (*limit)(void *self, uint32_t cpu_milli, struct phx_err *err);
	/** CPU time of these services together since their starts, in µs; less than before if one
	 * was started again. Any thread may call it at any time. Negative with a text: the time
	 * cannot be measured. */
	int (*used)(void *self, const struct service_id *ids, uint32_t n, uint64_t *ret_us,
		    struct phx_err *err);
	/** At most SERVICE_LOG_MAX bytes of the service's output, unchanged, and the cursor of
	 * their end. Any thread may call it. */
	int (*log)(void *self, const char *name, const struct service_log_ask *ask,
		   struct phx_buf *ret_text, char ret_cursor[SERVICE_CURSOR_MAX],
		   struct phx_err *err);
	void (*free)(void *self);
	bool outlives_agent; /* services go on when the agent stops */
	/* log() has all output of a service that died at most this long after its death */
	uint32_t log_lag_ms;
};

/** `loop` and `run_dir` are borrowed. */
int service_own_new(struct loop *loop, const char *run_dir, const struct service_backend **ret,
		    void **ret_self, struct phx_err *err);
int service_systemd_new(const struct service_backend **ret, void **ret_self, struct phx_err *err);

#endif
