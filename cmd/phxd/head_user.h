/* The head's user: what he is given, and what the head gives up. */
#ifndef PHXD_HEAD_USER_H
#define PHXD_HEAD_USER_H

#include "config/config.h"

/** Who the head will be: the user, if we are root and there is such a one, else ourselves. */
void head_user_find(const struct phx_config *cfg, uid_t *ret_uid, gid_t *ret_gid);
/** Nobody but these processes is the user of head, vault or hands: -EPERM for a helper or runner
 * that would be. */
int head_user_refuse(const struct phx_config *cfg, uid_t uid, struct phx_err *err);
/** By the launcher, before each start of the head: what the head writes is its user's, and where it
 * makes files beside root's it may remove none of these. What is root's by name in these
 * directories is made here first, so that nobody puts something else in its place. Where the head
 * is root again, all of it is root's again, but for the directories of REs: a helper serves
 * those. */
int head_user_give(const struct phx_config *cfg, struct phx_err *err);
/** By the head, before it has another thread: it is that user from now on, without capabilities,
 * sees what it needs of the file system alone, and makes the system calls of its row alone
 * (apart/calls.def); this last also where it is nobody else. */
int head_user_become(const struct phx_config *cfg, const char *config_path, struct phx_err *err);

#endif
