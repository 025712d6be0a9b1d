/* Signing in with name and password: whether they are those of a user of this machine is PAM's to
 * say (service "phoenix", /etc/pam.d/phoenix), which reads what root alone may. So a process of its
 * own asks it: started by the launcher for one question, root without capabilities, and gone with
 * what it was told. The head asks it, and slows down who guesses.
 *
 *   page ─▶ head: phx_attempts_begin ─▶ phx_door_ask ══ socket ══▶ phx_door_serve: phx_pam_check */
#ifndef PHX_DOOR_DOOR_H
#define PHX_DOOR_DOOR_H

#include "base/process.h"

enum {
	PHX_DOOR_NAME_MAX = PHX_NAME_MAX,
	PHX_DOOR_PASSWORD_MAX = 512, /* as long as PAM takes one; with its NUL */
	PHX_DOOR_ADDRESS_MAX = 64,
	PHX_DOOR_ANSWER_MS = 30 * 1000, /* a conversation takes no longer, whatever a module does */
};

/** What PAM says. Of an account something is said only to who knows its password. */
enum phx_door_said {
	PHX_DOOR_IN,
	PHX_DOOR_WRONG,  /* name or password, and nobody learns which; or it is root */
	PHX_DOOR_SHUT,   /* both are right; the account has expired, or may not come in */
	PHX_DOOR_CHANGE, /* both are right; the password has expired */
	PHX_DOOR_UNABLE, /* nobody can tell now: a module, or what it asks, is not there */
	PHX_DOOR_SAID_COUNT_
};

struct phx_door_who {
	const char *name, *password, *address; /* borrowed; address: where he is */
};

/* ---- who guesses is slowed down; thread-safe ---- */

enum {
	PHX_ATTEMPTS_FREE = 5, /* wrong passwords, of a name or from an address, until one waits */
	PHX_ATTEMPTS_WAIT_MS = 5 * 1000, /* then; twice as long after each further one, up to: */
	PHX_ATTEMPTS_WAIT_MAX_MS = 5 * 60 * 1000,
	PHX_ATTEMPTS_FORGET_MS = 15 * 60 * 1000, /* after the last one */
};

struct phx_attempts;
/** Of fixed size, however many names and addresses there are: several may share a count, and wait
 * for each other. -ENOMEM. */
int phx_attempts_new(struct phx_attempts **ret);
/** Safe on NULL. */
void phx_attempts_free(struct phx_attempts *a);
/** An attempt begins, and counts as wrong until phx_attempts_right() says otherwise: many at once
 * are no way around it. 0, or so many seconds to wait: then there is none, and it does not
 * count. `now_ms` never goes back. */
unsigned phx_attempts_begin(struct phx_attempts *a, const char *name, const char *address,
			    int64_t now_ms);
/** That one was right, or nobody could tell. Those before it stay counted. */
void phx_attempts_right(struct phx_attempts *a, const char *name, const char *address);

/* ---- PAM ---- */

/** Ask PAM, in this process: a conversation of one prompt without echo. `confdir`: NULL, or where
 * services are described instead of the system's places. `ret_name`: who it is, as PAM has it.
 * Blocks. */
enum phx_door_said phx_pam_check(const struct phx_door_who *who, const char *confdir,
				 char ret_name[PHX_DOOR_NAME_MAX]);

/* ---- the process ---- */

/** Start one: its socket, the caller's. By the launcher. */
int phx_door_spawn(struct phx_process *ret, int *ret_fd, struct phx_err *err);
/** Be one, on `fd`, for one question; gives up all that it does not need first. */
_Noreturn void phx_door_serve(int fd);
/** Ask one that was started, over its socket (taken), which ends it. Blocks for
 * PHX_DOOR_ANSWER_MS at most. A negative errno: it did not answer. */
int phx_door_ask(int fd, const struct phx_door_who *who, enum phx_door_said *ret,
		 char ret_name[PHX_DOOR_NAME_MAX], struct phx_err *err);

#endif
