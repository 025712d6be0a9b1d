/* What the files of the process that has the consoles share; nobody outside this room includes
 * this. serve.c starts it, answer.c answers the head, turn.c waits for all that happens, line.c to
 * log.c know nothing of it, lines.c has the consoles, keep.c conserver, attach.c is its client. */
#ifndef PHX_CONSOLE_INTERNAL_H
#define PHX_CONSOLE_INTERNAL_H

#include <pthread.h>

#include "base/hash.h"
#include "console/consoles.h"

enum consoles_op {
#define OP(name, function) CONSOLES_##name,
#include "console/ops.def"
#undef OP
	N_CONSOLES_OPS
};
enum {
	CONSOLES_BODY_MAX = 1 << 20,
	TAIL_MAX = 512,  /* of what a program printed last, for why it has ended */
	MARKS_MAX = 256, /* that nobody had yet */
	PASSWORD_HEX = 33,
};
#define CONSOLES_USER "phx"

/** What an event of epoll is of; the upper bits are the console's place. */
enum source { OF_WAKE, OF_CONSERVER, OF_LISTEN, OF_PTY, OF_END, OF_CLIENT, SOURCE_BITS = 3 };

struct node_line {
	char node[PHX_NAME_MAX];
	struct phx_bmc bmc;
	enum phx_console_driver driver;
	int listen, client; /* conserver connects to the first; -1 */
	int pty;            /* -1: the program does not run */
	struct phx_process program;
	int64_t due_ms;     /* when it is to be looked at; INT64_MAX */
	int64_t started_ms; /* of the program */
	uint32_t backoff_ms;
	uint64_t restarts;
	bool up, paused, steal;
	uint8_t typed; /* phx_console_typed() */
	char said[160];
	struct phx_console_rate rate;
	struct phx_console_cut cut;
	struct phx_console_marked_of marked;
	struct phx_console_log log;
	size_t n_tail;
	char tail[TAIL_MAX];
};

struct due {
	int64_t ms;
	uint32_t at; /* place of the console */
};

struct consoles {
	const struct phx_consoles_config *config;
	/* directories: of sockets, of secrets, of logs; files */
	char sockets[256], secrets[256], logs[256], conf[256], passwd[256], conserver_log[256];
	char password[PASSWORD_HEX];
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t marked;
	int epoll, wake;
	struct node_line **lines; /* by place; NULL: free */
	uint32_t n_lines;
	struct phx_hash by_name;
	struct phx_list
		dues; /* struct due, a heap; of a console that has another due_ms: nothing */
	int64_t next_start_ms;
	struct phx_console_rate rate; /* of all together */
	/* conserver */
	struct phx_process conserver;
	int64_t conserver_ms, conserver_due_ms, conf_due_ms;
	uint32_t conserver_backoff_ms;
	/* marks */
	bool hushed; /* the head ends: nobody waits for one */
	uint64_t last_mark;
	struct phx_console_marked marks[MARKS_MAX];
};

/* ---- watch.c ---- */

/** Watches a descriptor for reading. `at`: place of the console; 0 for what is of none. */
int consoles_watch(struct consoles *c, int fd, enum source what, uint32_t at);
/** Looks at a console at that time. Under the lock. */
void consoles_due(struct consoles *c, struct node_line *l, uint32_t at, int64_t ms);
/** There is something new: the loop looks. Any thread. */
void consoles_wake(struct consoles *c);
/** Takes out a console that is due; false: none is. Under the lock. */
bool consoles_due_take(struct consoles *c, int64_t now_ms, uint32_t *ret_at);
/** When the next one is; INT64_MAX. Under the lock. */
int64_t consoles_due_ms(const struct consoles *c);

/* ---- turn.c ---- */

/** Waits and acts for ever; the thread that starts all programs. */
void *consoles_turn(void *consoles);

/* ---- lines.c; under the lock ---- */

/** The console, and its place; NULL: it is not had. */
struct node_line *consoles_line_find(struct consoles *c, const char *node, uint32_t *ret_at);
int consoles_line_put(struct consoles *c, const char *node, const struct phx_bmc *bmc,
		      struct phx_err *err);
void consoles_line_drop(struct consoles *c, const char *node);
/** Something happened to a descriptor of a console. */
void consoles_line_event(struct consoles *c, uint32_t at, enum source what);
/** Its time has come. */
void consoles_line_due(struct consoles *c, uint32_t at, int64_t now_ms);
/** Somebody attaches: what waits is tried at once; `steal`: the line is taken from others. */
void consoles_line_attach(struct consoles *c, struct node_line *l, uint32_t at, bool steal);

/* ---- program.c; under the lock ---- */

/** Starts the program of a console on a terminal of its own. */
int consoles_program_start(struct consoles *c, struct node_line *l, uint32_t at,
			   struct phx_err *err);
/** Ends it, and forgets it. */
void consoles_program_end(struct node_line *l);

/* ---- keep.c; under the lock ---- */

/** The list of consoles has changed. */
void consoles_keep_changed(struct consoles *c);
/** Does what is due; returns when it wants to be called again. */
int64_t consoles_keep_due(struct consoles *c, int64_t now_ms);
/** conserver has ended. */
void consoles_keep_ended(struct consoles *c);
/** Makes the password that who attaches needs, and the file by which conserver knows it. */
int consoles_keep_password(struct consoles *c, struct phx_err *err);

/* ---- attach.c; without the lock ---- */

/** As phx_consoles_attach(). */
int consoles_attach_to(const struct consoles *c, const char *node, unsigned flags, int *ret_fd,
		       struct phx_err *err);

/* ---- answer.c ---- */

/** A struct phx_apart_server's answer(); `arg` is a struct consoles. Any thread. */
int consoles_answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		    struct phx_err *err);

#endif
