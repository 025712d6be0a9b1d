/* Whose the files in the directories of runtime environments are, where something else gave them to
 * root. An older phxd.service did (StateDirectory=): at each start it gave all below
 * /var/lib/phoenix to root. Only the launcher may do what is done here. */
#ifndef PHXD_RE_OWNERS_H
#define PHXD_RE_OWNERS_H

#include "config/config.h"

struct re_owners {
	bool head_s;             /* the directory is root's or the head's user's */
	uint32_t n_lost;         /* directories of users that are root's */
	char lost[PHX_NAME_MAX]; /* one of them */
};

/** Whose the data of an RE with that owner is. False: the head's user's, for `login` is "", root,
 * or no user. */
bool re_owners_find(const char *login, uid_t *ret_uid, gid_t *ret_gid);
/** Looks at the directory of the RE and at those of users in it, not at what is in these. */
void re_owners_look(const struct phx_config *cfg, const char *re, struct re_owners *ret);
/** Gives the directory of an RE, and what in it is root's or the head's user's, to the user who
 * owns the RE; the directory itself last, so that an interrupted run begins again. Leaves
 * the directories of users alone, and what has another owner, another name, or is mounted there. */
int re_owners_mend(const struct phx_config *cfg, const char *path, uid_t uid, gid_t gid,
		   struct phx_err *err);

#endif
