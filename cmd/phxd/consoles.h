/* Consoles of nodes, as phxd has them: the process (lib/console/consoles.h) and which nodes it is
 * told of (consoles.c), people who are attached (console_sessions.c). Soft state. */
#ifndef PHXD_CONSOLES_H
#define PHXD_CONSOLES_H

#include "console/consoles.h"
#include "phxd/daemon.h"

/* ---- consoles.c ---- */

/** The configuration of the process. Borrows from `cfg`. */
struct phx_consoles_config consoles_config(const struct phx_config *cfg);
/** Has the process started, if the configuration says so. */
int consoles_new(struct daemon *d, struct consoles **ret, struct phx_err *err);
/** Answers who waits; nobody is attached any more. Safe on NULL. */
void consoles_stop(struct consoles *c);
/** Ends the process. Safe on NULL. */
void consoles_free(struct consoles *c);
/** BMCs of nodes have changed, or nodes have come or gone. Any thread; safe on NULL. */
void consoles_changed(struct consoles *c);
/** Borrowed; NULL: this head has no consoles. */
struct phx_consoles *consoles_process(struct consoles *c);
struct sessions *consoles_sessions(struct consoles *c);
/** As hands_tick(). Safe on NULL. */
int consoles_tick(struct consoles *c);

/* ---- console_sessions.c ---- */

enum { SESSION_ID_MAX = 33 };

int sessions_new(struct daemon *d, struct sessions **ret);
/** Safe on NULL. */
void sessions_stop(struct sessions *s);
void sessions_free(struct sessions *s);

/** Somebody attaches to a console. */
struct sessions_wish {
	const char *node, *identity, *who; /* who: as of person_name() */
	unsigned flags;                    /* PHX_CONSOLES_* */
};
/** Attaches: an id, and who wrote there until now ("": nobody). -EBUSY: somebody writes there, whom
 * the text names; -EDQUOT: too many are attached; else as phx_consoles_attach(). Waits for
 * conserver. */
int sessions_attach(struct sessions *s, struct phx_consoles *process,
		    const struct sessions_wish *wish, char ret_id[SESSION_ID_MAX],
		    char ret_before[PHX_IDENTITY_MAX], struct phx_err *err);
/** Answers with what came after byte `after`, at once or when something comes, `wait_ms` at most.
 * 404 for a session that is not this identity's. */
void sessions_read(struct sessions *s, struct phx_http_request *q, const char *node, const char *id,
		   const char *identity, uint64_t after, int64_t wait_ms);
/** What the person types. -ENOENT; -EPERM: it only reads; -EAGAIN: the console takes no more just
 * now. */
int sessions_type(struct sessions *s, const char *node, const char *id, const char *identity,
		  const char *data, size_t n, bool as_break, struct phx_err *err);
/** -ENOENT. */
int sessions_end(struct sessions *s, const char *node, const char *id, const char *identity);

#endif
