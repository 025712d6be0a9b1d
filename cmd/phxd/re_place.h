/* Where the data of runtime environments lies: what is done there by the launcher, which alone may.
 * Names are those of REs and users, as the state has them; paths are made here, from the
 * configuration. */
#ifndef PHXD_RE_PLACE_H
#define PHXD_RE_PLACE_H

#include <sys/stat.h>

#include "config/config.h"

enum { RE_PLACE_SITE_MAX = 40 };

/** Below it lie the directories of users; nobody but root writes in it. */
#define RE_USERS "users"

/** Which creation of an RE a directory is, as its marker says. */
struct re_marker {
	char name[PHX_NAME_MAX];
	int64_t created_ms;
	char site[RE_PLACE_SITE_MAX]; /* of the journal; "" in markers of the time before */
};

/** Is there something in the place of this RE's data? *ret_marked: and its marker, in *ret. */
bool re_place_look(const struct phx_config *cfg, const char *re, bool *ret_marked,
		   struct re_marker *ret);
/** The markers of all REs: struct re_marker, appended. */
void re_place_list(const struct phx_config *cfg, struct phx_list *ret);
/** Mark it, and make the directory if there is none, for the user `login`; "" or none such:
 * nobody's but ours. */
int re_place_make(const struct phx_config *cfg, const struct re_marker *m, const char *login,
		  struct phx_err *err);
/** Before a head starts: what has no user, and was made while the head was root, is its user's. */
int re_place_give(const struct phx_config *cfg, struct phx_err *err);
/** Remove data and marker. */
int re_place_remove(const struct phx_config *cfg, const char *re, struct phx_err *err);
/** Move the data to lost+found of the state directory, or of the file system that it is on, and
 * forget the marker. *ret_to: malloc'd; NULL, when there was no data. */
int re_place_set_aside(const struct phx_config *cfg, const struct re_marker *m, char **ret_to,
		       struct phx_err *err);

/** Whose files somebody wants. */
struct re_place_whose {
	char re[PHX_NAME_MAX];
	char user[PHX_NAME_MAX]; /* his own directory; "": all of the RE */
	uid_t uid;               /* whose it must be; (uid_t)-1: whoever's */
	gid_t gid;               /* and gets, when it is made */
	bool make;               /* when he has none */
};
/** That directory, opened; its owner. -ENOENT: there is none; -EPERM: it is not his. */
int re_place_open(const struct phx_config *cfg, const struct re_place_whose *w, struct stat *ret,
		  struct phx_err *err);
/** The names of users who have a directory there: struct phx_word, appended. */
void re_place_users(const struct phx_config *cfg, const char *re, struct phx_list *ret);

#endif
