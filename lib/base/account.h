/* Users and groups of this machine. Entries may be of any size: the buffers that getpwnam_r() and
 * its like need grow until they are large enough. Called by the daemon, the agent and lib/config.
 * Caches nothing: an account may be made or changed while we run. Blocks as long as the site's name
 * service does. */
#ifndef PHX_BASE_ACCOUNT_H
#define PHX_BASE_ACCOUNT_H

#include <pwd.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/key.h"

/** Looks up a user by name. `ret` points into `ret_texts`, which the caller frees. -ENOENT: there
 * is no such user; another negative errno: the look-up failed. */
int phx_user_named(const char *name, struct passwd *ret, char **ret_texts);
/** Looks up a user by number, likewise. */
int phx_user_numbered(uid_t uid, struct passwd *ret, char **ret_texts);
/** Looks up the number of a group by its name; errors as above. */
int phx_group_named(const char *name, gid_t *ret);
/** Appends the names of the user's groups, including his own (`gid`), as struct phx_word. Groups
 * without a name are left out; an unknown user has none. 0 or -ENOMEM. */
int phx_user_groups(const char *name, gid_t gid, struct phx_list *ret_words);
/** Appends the names of a group's users as struct phx_word: those in its list, and those whose own
 * group it is. Iterates over all users of this machine (getpwent), so only one thread may call it
 * at a time. 0, -ENOENT or another negative errno of the look-up. */
int phx_group_members(const char *name, struct phx_list *ret_words);
/** Appends the names of the users that this machine's name service lists, likewise, until the list
 * has `max` items; also for one thread at a time. 0 or -ENOMEM. */
int phx_user_names(uint32_t max, struct phx_list *ret_words);
/** Is the group the user's own, or one of his others? False if the look-up fails. */
bool phx_user_is_member(uid_t uid, gid_t gid);

#endif
