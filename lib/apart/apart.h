/* Processes that stand apart: one program, several processes, each with the rights of its task
 * alone and asked for few things (the vault, the hands, ...). One side starts the other, with a
 * socket of the two as its standard input, asks it, and starts it again when it has ended; the
 * other answers until that socket is closed.
 *
 *   asks:     phx_apart_start ─▶ phx_apart_ask ... ─▶ phx_apart_end
 *   answers:  phx_apart_deaf ─▶ phx_confine_self (confine.h) ─▶ phx_apart_serve
 *
 * A question is a message of one shape and bytes behind it, and brings the socket to which its
 * answer goes: any number of them is under way at once, an answer that comes too late goes to
 * nobody, and who asks sees at once that the process has ended. What can be asked is one table of
 * the room that has such a process (ROOM/ops.def). Both sides may pass a descriptor along.
 *
 * Who asks is one who may have been taken over, and so is who answers: both bound what they take,
 * and believe no more of it. */
#ifndef PHX_APART_APART_H
#define PHX_APART_APART_H

#include "base/process.h"

/** What is asked. All of it is borrowed. */
struct phx_apart_question {
	uint32_t op;             /* a row of the room's table of questions */
	uint64_t number;         /* what the row makes of it; 0 */
	char name[PHX_NAME_MAX]; /* likewise; "" */
	const char *body;        /* n bytes; as they arrive, with a '\0' behind them */
	uint32_t n;
	int fd; /* goes along; 0: none. Who answers dups what he wants to keep */
};

/** What is answered. */
struct phx_apart_reply {
	uint64_t number;
	struct phx_buf body;
	int fd; /* goes along, and is closed by who answers; owned by who asked. 0: none */
};
/** Wipes the bytes, which may have been a secret, and closes the descriptor. Safe twice. */
void phx_apart_reply_fini(struct phx_apart_reply *r);
#define PHX_AUTO_REPLY PHX_AUTO(phx_apart_reply_fini)

/* ---- who asks; any thread ---- */

typedef int (*phx_apart_start_fn)(void *arg, int *ret_fd, pid_t *ret_pid, struct phx_err *err);

/** All of it is borrowed for the whole life. */
struct phx_apart_config {
	const char *what;        /* how errors call it: "the process that holds the keys" */
	const char *const *argv; /* the program, and what makes it that process; NULL-terminated */
	/* where somebody else starts it: gives the socket that is its standard input at the other
	 * end, the caller's, and its pid; called with the lock. NULL: `argv` is started here */
	phx_apart_start_fn start;
	void *start_arg;
	uint32_t answer_ms; /* it is taken for dead when no answer has come by then */
	uint32_t body_max;  /* of questions and answers */
	/* on any thread, which may hold any lock: it had ended and was started again. NULL is fine
	 */
	void (*restarted)(void *arg);
	void *arg;
};
struct phx_apart;

/** Start a process with a socket as its standard input, in a session of its own: the other end.
 * `in` and `group` of `how` are not looked at. */
int phx_apart_spawn(const struct phx_launch *how, const char *what, struct phx_process *ret,
		    int *ret_fd, struct phx_err *err);

/** For one whose socket is given to another process: its end is collected when it comes. */
void phx_apart_collect_later(const struct phx_process *p);

int phx_apart_start(const struct phx_apart_config *config, struct phx_apart **ret,
		    struct phx_err *err);
/** Ask one that somebody else has started, over this socket (taken, also where there is no memory).
 * It is not started again: `argv` and `start` are NULL. */
int phx_apart_take(const struct phx_apart_config *config, int fd, struct phx_apart **ret);
/** Ends the process and waits for its end: one that hangs is killed. Nobody asks any more. Safe on
 * NULL. */
void phx_apart_end(struct phx_apart *a);
/** Its pid, for messages: another one after a restart; 0 while there is none. */
pid_t phx_apart_pid(struct phx_apart *a);

/** What each process that is started from now on is asked before anything else; its answer is
 * wiped. Its bytes are copied. */
int phx_apart_first(struct phx_apart *a, uint32_t op, const char *body, uint32_t n);

/** Ask, and wait for the answer; as many threads at once as like. Where the process ends meanwhile,
 * or does not answer in time, it is started again and asked once more: what can be asked is done
 * twice as if it were done once. answer_ms: 0 = the configuration's. A negative result of the
 * answer is returned, with its text; -EPIPE, -ETIMEDOUT, -EPROTO: there is no answer. */
int phx_apart_ask(struct phx_apart *a, const struct phx_apart_question *q, uint32_t answer_ms,
		  struct phx_apart_reply *ret, struct phx_err *err);

/* ---- who answers ---- */

/** Heed nothing that a terminal or a service manager sends to all: this process ends when its
 * socket is closed. What it starts heeds them. Before any thread is there. */
void phx_apart_deaf(void);

struct phx_apart_server {
	uint32_t body_max;
	unsigned threads; /* so many are answered at once; 0: one after the other, in this thread */
	/* what it returns goes back, where it is negative with the text of `err` and nothing else;
	 * on any thread where there are several */
	int (*answer)(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		      struct phx_err *err);
	void *arg;
};
/** Answer what comes next. 0; -EPIPE: the other side has ended; another negative errno: what comes
 * is no question, and nothing behind it can be one. */
int phx_apart_serve_one(int fd, const struct phx_apart_server *s);
/** Answer until then: returns as that does. Threads may still be answering, and the process is
 * about to end. */
int phx_apart_serve(int fd, const struct phx_apart_server *s);

#endif
