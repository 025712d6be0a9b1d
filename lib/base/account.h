/* Users and groups of this machine, however large their entries are: what getpwnam_r() and its like
 * need is found out, not guessed. Called by the daemon, the agent and lib/config. Remembers
 * nothing: an account may be made or changed while we run. Blocks where the site's name service
 * does. */
#ifndef PHX_BASE_ACCOUNT_H
#define PHX_BASE_ACCOUNT_H

#include <pwd.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/key.h"

/** The user of that name; his texts are in `ret_texts`, which the caller frees. -ENOENT: there is
 * none; another negative errno: nobody can tell. */
int phx_user_named(const char *name, struct passwd *ret, char **ret_texts);
/** The user of that number, likewise. */
int phx_user_numbered(uid_t uid, struct passwd *ret, char **ret_texts);
/** The number of the group of that name; errors as above. */
int phx_group_named(const char *name, gid_t *ret);
/** Names of the user's groups, his own among them, appended as struct phx_word; those without a
 * name are left out. 0 or -ENOMEM; a user that nobody knows has none. */
int phx_user_groups(const char *name, gid_t gid, struct phx_list *ret_words);
/** Names of the users who are in a group, by its list or because it is their own, appended as
 * struct phx_word. Goes through all users of this machine, which has one reader: one thread at a
 * time. 0, -ENOENT or -ENOMEM. */
int phx_group_members(const char *name, struct phx_list *ret_words);
/** Names of the users of this machine, those that its name service lists, until the list has `max`,
 * appended likewise; also with one reader. 0 or -ENOMEM. */
int phx_user_names(uint32_t max, struct phx_list *ret_words);
/** Is the group that user's own, or one of his others? No, where nobody can tell. */
bool phx_user_is_member(uid_t uid, gid_t gid);

#endif
