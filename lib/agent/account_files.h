/* The files in which a machine has its accounts (/etc/passwd, group, shadow), with a block of ours
 * at the end of each, between two lines that say so. What stands outside of it is the image's and
 * is never changed. Called by accounts.c. */
#ifndef PHX_AGENT_ACCOUNT_FILES_H
#define PHX_AGENT_ACCOUNT_FILES_H

#include "types/account.h"

/** What they have, as text, malloc'd. */
struct account_files {
	char *passwd, *group;
	char *shadow; /* NULL: the machine has none */
};

/** Read them below `root` ("" the machine's). -ENOENT, -EFBIG with the path. */
int account_files_read(const char *root, struct account_files *ret, struct phx_err *err);
void account_files_fini(struct account_files *f);

/** What is to be there: `is` with the accounts and groups of `want` as block, an empty list without
 * one. An account that the image has, by that name and number, is left to it. -EEXIST: a name or a
 * number is another's in this image, and the text names both and the line; -EINVAL: a block has a
 * beginning and no end. Changes nothing. */
int account_files_merge(const struct account_files *is, const struct phx_accounts *want,
			struct account_files *ret, struct phx_err *err);

/** Write those that differ from `is`, each as a whole, with the owner and mode that it had. Whoever
 * else changes accounts here is respected (/etc/.pwd.lock): -EAGAIN; `is` must have been read since
 * account_files_lock(). */
int account_files_write(const char *root, const struct account_files *is,
			const struct account_files *to, struct phx_err *err);

/** Nobody else changes accounts until the descriptor is closed. -EAGAIN: somebody does. */
int account_files_lock(const char *root, struct phx_err *err);

#endif
