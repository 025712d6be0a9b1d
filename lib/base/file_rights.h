/* Files touched with the rights of somebody else: what lies in a directory of his, and whatever he
 * puts in its place meanwhile, is no more to us than it is to him. */
#ifndef PHX_BASE_FILE_RIGHTS_H
#define PHX_BASE_FILE_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/** What phx_rights_take() has to give back. */
struct phx_rights {
	bool taken;
	uid_t uid;
	gid_t gid, *groups;
	int n_groups;
};

/** From now on the calling thread, and no other, touches files as this user and group, with no
 * further groups; new files are his. Nothing changes when that is who we are. -EPERM: we are not
 * root, or that is no number of a user or group. */
int phx_rights_take(uid_t uid, gid_t gid, struct phx_rights *ret_was, struct phx_err *err);
/** Back to what it was, in the same thread. Safe twice, and on zeroes. Ends the program where that
 * cannot be. */
void phx_rights_give_back(struct phx_rights *was);

#endif
