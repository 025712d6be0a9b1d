/* The files that hold a machine's accounts (/etc/passwd, group, shadow). Phoenix keeps its accounts
 * in two blocks of each file, between two marker lines each: those of the site's users, and those
 * of the members of the node's RE. Lines outside them are the image's and are never changed. Called
 * by accounts.c and site.c. */
#ifndef PHX_AGENT_ACCOUNT_FILES_H
#define PHX_AGENT_ACCOUNT_FILES_H

#include "types/account.h"

/** The texts of the files, malloc'd. */
struct account_files {
	char *passwd, *group;
	char *shadow; /* NULL: the machine has none */
};

/** Read the files below `root` ("": the machine's). -ENOENT, -EFBIG with the path. The caller calls
 * account_files_fini(). */
int account_files_read(const char *root, struct account_files *ret, struct phx_err *err);
void account_files_fini(struct account_files *f);

/** Whose accounts a block has. What two of them have alike, the first has. */
enum account_block { ACCOUNT_BLOCK_SITE, ACCOUNT_BLOCK_MEMBERS, ACCOUNT_BLOCK_COUNT_ };

/** Is there an account of a block? */
bool account_files_any(const struct account_files *f);

/** Make the texts that the files should have: those of `is`, with the accounts and groups of `want`
 * as the block; without accounts there is no block. An account that the image, or the site, has
 * under the same name and number is left to it. -EEXIST: a name or a number is another account's,
 * and the text names both and the line; -EINVAL: a block has a beginning and no end. Changes no
 * file. */
int account_files_merge(const struct account_files *is, enum account_block block,
			const struct phx_accounts *want, struct account_files *ret,
			struct phx_err *err);

/** Adds to the list the accounts and groups that the block has now; lines that are no accounts are
 * passed over. The RE is not in the files. -EINVAL: a block has a beginning and no end. */
int account_files_block(const struct account_files *is, enum account_block block,
			struct phx_accounts *list, struct phx_err *err);

/** Write the files in which `to` differs from `is`, each as a whole, with the owner and mode that
 * it had. The caller must hold account_files_lock(), and have read `is` under it. */
int account_files_write(const char *root, const struct account_files *is,
			const struct account_files *to, struct phx_err *err);

/** Take the lock that other programs take before they change accounts (/etc/.pwd.lock). Returns a
 * descriptor; closing it releases the lock. -EAGAIN: another program holds it. */
int account_files_lock(const char *root, struct phx_err *err);

#endif
