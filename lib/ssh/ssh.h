/* SSH: push to a machine that has no agent yet (libssh2). Host keys are
 * strictly checked, keys are ed25519 (libraries.md, trap 6). Blocking. */
#ifndef PHX_SSH_SSH_H
#define PHX_SSH_SSH_H

#include <sys/types.h>
#include "base/util.h"

struct phx_ssh_config {
	const char *host;
	uint16_t port; /* 0 = 22 */
	const char *user;
	/* private ed25519 key, mode 0600; its .pub beside it is optional */
	const char *key_path;
	const char *known_hosts_path; /* only an exact MATCH of the ed25519 key proceeds */
	/* 0 = 10 s: how long to wait without the other side doing anything */
	uint32_t timeout_ms;
};

/** Connect, check the host, log in. -EKEYREJECTED: unknown host or changed key (the text says
 * which); -EACCES: our key is not accepted; -EPERM: others may read our key; -ETIMEDOUT,
 * -ECONNREFUSED, -EHOSTUNREACH, -ECONNRESET, -EPROTO. -EINVAL with file:line for a bad known_hosts
 * file. One thread at a time per session. */
struct phx_ssh;
int phx_ssh_open(const struct phx_ssh_config *config, struct phx_ssh **ret, struct phx_err *err);
/** Takes NULL. */
void phx_ssh_close(struct phx_ssh *s);
/** Run one command line on the remote shell (arguments must be quoted by phx_ssh_quote()). Returns
 * 0 whatever the status (255 when a signal ended it); stdout and stderr together, malloc'd
 * (`ret_out` may be NULL), the rest above 1 MiB dropped. -ETIMEDOUT when nothing comes for
 * timeout_ms: open the session with a longer one for slow commands. */
int phx_ssh_run(struct phx_ssh *s, const char *command, int *ret_status, char **ret_out,
		struct phx_err *err);
/** Copy a local file to the absolute path `remote`: written beside, counted, synced, renamed.
 * -EBADMSG when sizes differ after; -EIO with the remote shell's words when it could not be written
 * (the old file then stays). */
int phx_ssh_put(struct phx_ssh *s, const char *local, const char *remote, mode_t mode,
		struct phx_err *err);
int phx_ssh_put_data(struct phx_ssh *s, const void *data, size_t n, const char *remote, mode_t mode,
		     struct phx_err *err);
/** Single-quote for a POSIX shell; malloc'd; NULL on ENOMEM. */
char *phx_ssh_quote(const char *arg);

#endif
