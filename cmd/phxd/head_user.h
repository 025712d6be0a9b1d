/* The user that the head runs as: which files become its own, and which rights the head gives up.
 */
#ifndef PHXD_HEAD_USER_H
#define PHXD_HEAD_USER_H

#include "config/config.h"

/** The user that the head will run as: head_user, if we are root and that user exists, else our
 * own. */
void head_user_find(const struct phx_config *cfg, uid_t *ret_uid, gid_t *ret_gid);
/** -EPERM if `uid` is the user of head, vault or hands: no helper or runner may run as one of
 * these. */
int head_user_refuse(const struct phx_config *cfg, uid_t uid, struct phx_err *err);
/** Called by the launcher before each start of the head. Gives the files that the head writes to
 * its user; in directories that it shares with root it may not remove root's files. Makes root's
 * own entries there first, so that nobody puts something else in their place. If the head runs as
 * root again, gives all back to root except the directories of REs, which a helper serves. */
int head_user_give(const struct phx_config *cfg, struct phx_err *err);
/** Called by the head before it has another thread: it becomes that user, without capabilities,
 * sees only the part of the file system that it needs, and may make only the system calls of its
 * row (apart/calls.def). The last also holds if it does not change its user. */
int head_user_become(const struct phx_config *cfg, const char *config_path, struct phx_err *err);

#endif
