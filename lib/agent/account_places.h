/* The directories of an RE's members on a node: their scratch (SCRATCH/RE/NAME), and a home where
 * there is none. When a member leaves they are removed with all that is in them (base/tree.h).
 * Called by accounts.c. */
#ifndef PHX_AGENT_ACCOUNT_PLACES_H
#define PHX_AGENT_ACCOUNT_PLACES_H

#include <stdbool.h>

#include "types/account.h"

/** Make what is missing of a member's scratch. The member owns it, with mode 0700; other members
 * can neither enter it nor see who has one. -EPERM: others may write to a directory on the way, or
 * it is not root's. */
int account_scratch_make(const char *scratch, const char *re, const struct phx_account *a,
			 struct phx_err *err);
/** Remove the scratch of one member, or of the whole RE if `name` is NULL. A missing one is no
 * error. */
int account_scratch_remove(const char *scratch, const char *re, const char *name,
			   struct phx_err *err);

/** Which RE's scratch has a directory of one of these accounts: its only one. False: none, or
 * those of several REs have. */
bool account_scratch_find(const char *scratch, const struct phx_list *accounts,
			  char ret_re[PHX_NAME_MAX]);

/** Should account_home_make() make a home? True if there is none, and the directory above it is on
 * the file system of `root`, and it and all on the way are root's, and writable by root alone. */
bool account_home_lacks(const char *root, const struct phx_account *a);
/** Make the home, with mode 0700, owned by the account. One that exists keeps its content and mode,
 * but becomes the account's. */
int account_home_make(const char *root, const struct phx_account *a, struct phx_err *err);
/** Remove a home that was made. A missing one is no error. */
int account_home_remove(const char *root, const char *home, struct phx_err *err);

#endif
