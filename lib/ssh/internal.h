/* What the files of this room share; nobody outside it includes this. */
#ifndef PHX_SSH_INTERNAL_H
#define PHX_SSH_INTERNAL_H

#include <libssh2.h>

#include "ssh/ssh.h"

#define PHX_SSH_TIMEOUT_MS 10000

struct phx_ssh {
	LIBSSH2_SESSION *session;
	int fd;
	uint32_t timeout_ms;
	char *where; /* "USER@HOST:PORT", for messages */
};

/* ---- session.c ---- */

/** Set `err` from the session's last error, with `what` failed: -ETIMEDOUT, -ECONNRESET, -ENOMEM or
 * -EPROTO. */
int phx_ssh_fail(struct phx_ssh *s, const char *what, struct phx_err *err);

/* ---- hostkey.c ---- */

/** The server's key against the known_hosts file: 0, -EKEYREJECTED (unknown, or changed), -EINVAL
 * (bad file). */
int phx_ssh_check_host(struct phx_ssh *s, const struct phx_ssh_config *config, struct phx_err *err);

#endif
