/* The log of the process that holds the keys, as people look at copies of it. Called by journal.c.
 */
#ifndef PHX_VAULT_LOG_CMD_H
#define PHX_VAULT_LOG_CMD_H

#include "phx/cli.h"
#include "vault/log.h"

struct vault_log_found {
	struct phx_vault_audit audit;
	int finding; /* of phx_vault_log_audit() */
};
/** Compares the files with anchors whose signatures were verified. Negative: one cannot be read. */
int vault_log_find(const struct cli_values *files, const struct phx_list *anchors,
		   struct vault_log_found *ret, struct phx_err *err);
/** A sentence or two on stdout, or what is wrong on stderr. */
void vault_log_say(const struct vault_log_found *f);
json_t *vault_log_view(const struct vault_log_found *f);

#endif
