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
	const char *key_path;	      /* private ed25519 key; its .pub beside it is optional */
	const char *known_hosts_path; /* only an exact MATCH proceeds: -EKEYREJECTED otherwise, saying whether unknown or changed */
	uint32_t timeout_ms;	      /* 0 = 10 s, per operation */
};
struct phx_ssh;
int phx_ssh_open(const struct phx_ssh_config *config, struct phx_ssh **ret, struct phx_err *err);
void phx_ssh_close(struct phx_ssh *s);
/** Run one command line on the remote shell (arguments must be quoted by phx_ssh_quote()); output limited to 1 MiB. Returns 0 whatever the status. */
int phx_ssh_run(struct phx_ssh *s, const char *command, int *ret_status, char **ret_out, struct phx_err *err);
/** Copy a local file: written beside, then renamed; -EBADMSG when sizes differ after. */
int phx_ssh_put(struct phx_ssh *s, const char *local, const char *remote, mode_t mode, struct phx_err *err);
int phx_ssh_put_data(struct phx_ssh *s, const void *data, size_t n, const char *remote, mode_t mode,
		     struct phx_err *err);
/** Single-quote for a POSIX shell; malloc'd. */
char *phx_ssh_quote(const char *arg);

#endif
