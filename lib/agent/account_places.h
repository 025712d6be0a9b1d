/* The directories that members of an RE have on a node: scratch, which is the RE's
 * (SCRATCH/RE/NAME), and a home where there is none. They go with their owner, whatever he put
 * there (base/tree.h). Called by accounts.c. */
#ifndef PHX_AGENT_ACCOUNT_PLACES_H
#define PHX_AGENT_ACCOUNT_PLACES_H

#include <stdbool.h>

#include "types/account.h"

/** Make what is missing of his scratch, mode 0700 and his; nobody else comes into it, nor sees who
 * has one. -EPERM: others may write to the directory on the way, or it is not root's. */
int account_scratch_make(const char *scratch, const char *re, const struct phx_account *a,
			 struct phx_err *err);
/** Remove the scratch of one of an RE, or, `name` NULL, of the RE. None is no error. */
int account_scratch_remove(const char *scratch, const char *re, const char *name,
			   struct phx_err *err);

/** Would account_home_make() make one: is there none, and is the directory above it root's, on the
 * file system of `root`, and nobody else's to write? */
bool account_home_lacks(const char *root, const struct phx_account *a);
/** Make it, mode 0700 and his. One that is there is left as it is. */
int account_home_make(const char *root, const struct phx_account *a, struct phx_err *err);
/** Remove one that was made. None is no error. */
int account_home_remove(const char *root, const char *home, struct phx_err *err);

#endif
