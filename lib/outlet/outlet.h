/* Outlets: the programs of event_dir and the webhooks of phoenix.conf, each of which is told
 * events. A process as event_user tells each: one kind runs the programs, the other sends to
 * webhooks and has their secrets. The head asks them (ops.def); it can neither choose what is run
 * nor where anything is sent to: it names a program or a webhook, and gives the text.
 *
 *   phxd --programs USER OWNER DIR PATH...      phxd --webhooks USER CONFIG
 *
 * How far each outlet has come is a file of the head's (a cursor). */
#ifndef PHX_OUTLET_OUTLET_H
#define PHX_OUTLET_OUTLET_H

#include "apart/apart.h"
#include "config/config.h"

enum {
	PHX_PROGRAMS_MAX = 16,
	PHX_OUTLET_BODY_MAX = 1 << 20,
	PHX_OUTLET_ERROR_MAX = 256,
	PHX_OUTLET_TIMEOUT_MAX_S = 300,
	/* a program has nothing against the event, but cannot do its work now: EX_TEMPFAIL */
	PHX_PROGRAM_LATER = 75,
	/* an answer may come so much later than the outlet's own time is over */
	PHX_OUTLET_SLACK_MS = 30000,
};

enum {
#define OP(name, function) PHX_OUTLET_##name,
#include "outlet/ops.def"
#undef OP
};

/** What PROGRAM.conf beside a program says. */
#define PHX_PROGRAM_FIELDS(F, S) \
	F(S, kinds, LIST(phx_word), \
	  KEY(kinds, WORDS(32), "", \
	      "The kinds of events that it is told; empty: all but those of jobs, workflows and " \
	      "measurements.")) \
	F(S, timeout_s, U32, \
	  KEY(timeout_s, NUMBER(1, 300, "s"), "30", \
	      "After what time it is killed, and has failed.")) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, error, STR(PHX_OUTLET_ERROR_MAX)) /* why it is not run; "": it is */
PHX_RECORD_STRUCT(phx_program, PHX_PROGRAM_FIELDS);

/** The programs of a directory, by the bytes of their names: files that anybody may execute, with
 * names as phx_name_valid() has it and without a suffix ".conf"; of more than PHX_PROGRAMS_MAX the
 * last say that they are too many. `owner`: who must own directory, files and what is above them.
 * `ret` (struct phx_program) is the caller's: phx_record_fini() each. 0 also where there is no such
 * directory; -EPERM: others can change it. */
int phx_programs_list(const char *dir, uid_t owner, struct phx_list *ret, struct phx_err *err);
/** Runs one with `text` on its standard input; looks first whether it is still safe to. 0: it ended
 * with status 0. -EBADMSG: it refuses this event: it ended with another status, or by a signal;
 * with the first line that it wrote to standard error. Otherwise -EPERM, -ENOENT, -ETIMEDOUT, and
 * -EIO where the status is PHX_PROGRAM_LATER, or a shell's for what cannot be run (126, 127). */
int phx_program_run(const char *dir, uid_t owner, const char *name, const char *text,
		    uint32_t timeout_ms, struct phx_err *err);

/** What of a webhook is signed, and how: the value of X-Phoenix-Signature,
 * "t=SECONDS,v1=HEX", HEX being the HMAC-SHA256 of "SECONDS.BODY". */
enum { PHX_SIGNATURE_MAX = 100 };
int phx_webhook_sign(const char *secret, int64_t time_s, const char *body,
		     char ret[PHX_SIGNATURE_MAX]);
/** Is it an address at which a machine gives out what is for itself alone: link-local, or known as
 * the metadata of a cloud; also written as IPv6, or behind NAT64? */
struct sockaddr;
bool phx_webhook_is_metadata(const struct sockaddr *a);
/** Sends `body`, signed with `secret` ("": not), to a webhook. 0: the answer's status is one of 200
 * to 299. -EBADMSG: it refuses this event: one of 400 to 499 but 408, 425 and 429, which say
 * "later". -EPERM: its address is refused; -EPROTO: another status, or a redirect; -ETIMEDOUT;
 * -EIO: there is no whole answer. */
int phx_webhook_post(const struct phx_webhook *w, const char *secret, uint64_t seq,
		     const char *body, struct phx_err *err);

/** Run as one of the two processes, on standard input; they do not return. */
_Noreturn void phx_programs_serve(int fd, int argc, char **argv);
_Noreturn void phx_webhooks_serve(int fd, int argc, char **argv);

/* ---- cursors ---- */

struct phx_cursor {
	char journal[64]; /* phx_store_id() */
	uint64_t seq;     /* told up to this event */
};
/** -ENOENT: there is none yet; -EBADMSG: the file is none. */
int phx_cursor_read(const char *path, struct phx_cursor *ret, struct phx_err *err);
/** Whole or not at all. */
int phx_cursor_write(const char *path, const struct phx_cursor *c, struct phx_err *err);

#endif
