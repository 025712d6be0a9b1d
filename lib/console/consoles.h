/* The process that has the consoles: started below the head as the user of the hands (`phxd
 * --consoles`), because it needs passwords of BMCs as they do, and nobody else shall have any. It
 * starts conserver, and for each console its program (ipmiconsole), with the password in a file of
 * mode 0600; it reads what consoles print, within bounds, and keeps their logs; it starts again
 * what has ended.
 *
 *   ipmiconsole ◀─pty─▶ this process ◀─socket of the node─▶ conserver ◀─127.0.0.1─▶ who attaches
 *                          └─▶ NODE.log
 *
 * Sees its programs, bmc_dir, its directories and what `paths` names; neither journal nor keys. It
 * ends with the head, and all that it has started with it. */
#ifndef PHX_CONSOLE_CONSOLES_H
#define PHX_CONSOLE_CONSOLES_H

#include "apart/apart.h"
#include "base/key.h"
#include "console/console.h"

/** Borrowed for its whole life. */
struct phx_consoles_config {
	const char *program; /* which is it when its first argument is --consoles */
	const char *user;    /* whom it becomes; "": nobody else */
	const char *bmc_dir;
	const char *run_dir, *state_dir; /* run_dir/consoles, state_dir/console-logs */
	const char *conserver;
	uint32_t port;                /* of conserver, on 127.0.0.1 */
	uint32_t log_mb;              /* of one node's log */
	const struct phx_list *paths; /* struct phx_word: what else its programs see */
	void (*restarted)(void *arg); /* as phx_apart_config.restarted */
	void *arg;
	phx_apart_start_fn start; /* as phx_hands_config.start */
	void *start_arg;
};

enum { PHX_CONSOLES_WRITE = 1, PHX_CONSOLES_STEAL = 2 };

/** How a console is. */
struct phx_console_state {
	uint32_t had, up; /* is it had at all; is its line open */
	uint64_t restarts;
	char said[160]; /* why it is not up; "" */
};

/** A line that says why a machine does not start (mark.def). */
struct phx_console_marked {
	uint64_t seq;
	int64_t wall_ms;
	char node[PHX_NAME_MAX], line[200], meaning[80];
};

/* ---- the head's side; any thread ---- */

struct phx_consoles;

int phx_consoles_start(const struct phx_consoles_config *config, struct phx_consoles **ret,
		       struct phx_err *err);
/** Starts the process for somebody else: the socket over which it is asked. */
int phx_consoles_spawn(const struct phx_consoles_config *config, struct phx_process *ret,
		       int *ret_fd, struct phx_err *err);
/** Ends the process and waits for its end. Nobody asks any more. Safe on NULL. */
void phx_consoles_end(struct phx_consoles *c);
/** Its pid, for messages; another one after a restart. */
pid_t phx_consoles_pid(struct phx_consoles *c);

/** The console of the node is had from now on, as the record says; of one whose driver is none, and
 * of a known one whose record is the same, nothing changes. -EINVAL: the record is not whole. */
int phx_consoles_put(struct phx_consoles *c, const char *node, const struct phx_bmc *bmc,
		     struct phx_err *err);
int phx_consoles_drop(struct phx_consoles *c, const char *node, struct phx_err *err);
/** Attaches to a console: a socket, owned by the caller, on which phx_console_wire_in() and _out()
 * hold. Who writes there until now only reads from then on, if `flags` have PHX_CONSOLES_WRITE: the
 * caller knows whether that may be. PHX_CONSOLES_STEAL: its line is taken from whoever has it
 * outside of Phoenix, too. -ENOENT: the node has no console; -EAGAIN: conserver does not have it
 * yet, or does not answer: it will. */
int phx_consoles_attach(struct phx_consoles *c, const char *node, unsigned flags, int *ret_fd,
			struct phx_err *err);
/** As phx_console_log_read(), at most 1 MiB. */
int phx_consoles_read(struct phx_consoles *c, const char *node, uint32_t lines, const char *word,
		      struct phx_buf *ret, struct phx_err *err);
int phx_consoles_state(struct phx_consoles *c, const char *node, struct phx_console_state *ret,
		       struct phx_err *err);
/** Marked lines after number `after` (struct phx_console_marked, appended); waits until there is
 * one, some seconds at most. Of those that nobody asked for the last are kept. */
int phx_consoles_marks(struct phx_consoles *c, uint64_t after, struct phx_list *ret,
		       struct phx_err *err);
/** Whoever waits for marks does so no more, from now on: before the end. */
void phx_consoles_hush(struct phx_consoles *c);

/* ---- the process ---- */

/** Be that process, as phx_consoles_spawn() says it in `argv`; never returns. */
void phx_consoles_serve(int fd, int argc, char **argv) __attribute__((noreturn));

#endif
