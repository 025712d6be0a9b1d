/* The directories that hold the data of runtime environments: the operations that only the launcher
 * may do. Callers name REs and users, as the state does; paths are made here, from the
 * configuration. */
#ifndef PHXD_RE_PLACE_H
#define PHXD_RE_PLACE_H

#include <sys/stat.h>

#include "config/config.h"

enum { RE_PLACE_SITE_MAX = 40 };

/** Holds the directories of users; only root may write in it. */
#define RE_USERS "users"

/** The marker of a directory: which creation of an RE it belongs to. */
struct re_marker {
	char name[PHX_NAME_MAX];
	int64_t created_ms;
	char site[RE_PLACE_SITE_MAX]; /* identity of the journal; "" in older markers */
};

/** Is the marker of a journal with that identity? Older markers do not say. */
bool re_marker_is_of(const struct re_marker *marker, const char *site);

/** Does the path of this RE's data exist? *ret_marked: does its marker exist, too; then *ret has
 * it.
 */
bool re_place_look(const struct phx_config *cfg, const char *re, bool *ret_marked,
		   struct re_marker *ret);
/** Appends the markers of all REs (struct re_marker). */
void re_place_list(const struct phx_config *cfg, struct phx_list *ret);
/** Writes the marker, and makes the directory if there is none, owned by user `login`, to
 * whom is given what there is of root's or the head's user's (re_owners_mend()); by the head's user
 * if `login` is "", root, or no user. */
int re_place_make(const struct phx_config *cfg, const struct re_marker *m, const char *login,
		  struct phx_err *err);
/** Called before a head starts: gives the directories of REs without a user, which were made while
 * the head was root, to the head's user. */
int re_place_give(const struct phx_config *cfg, struct phx_err *err);
/** Removes data and marker. */
int re_place_remove(const struct phx_config *cfg, const char *re, struct phx_err *err);
/** Moves the data to lost+found of state_dir, or of re_dir if that is another file system, and
 * removes the marker. *ret_to: the new path, malloc'd; NULL if there was no data. */
int re_place_set_aside(const struct phx_config *cfg, const struct re_marker *m, char **ret_to,
		       struct phx_err *err);

/** Names the directory to be opened. */
struct re_place_whose {
	char re[PHX_NAME_MAX];
	char user[PHX_NAME_MAX]; /* the directory of this user; "": the RE's */
	uid_t uid;               /* the owner that it must have; (uid_t)-1: any */
	gid_t gid;               /* its group if it is made */
	bool make;               /* make it if the user has none */
	/* of which creation of the RE, as in its marker; 0: any that phxd made */
	int64_t created_ms;
	char site[RE_PLACE_SITE_MAX];
};
/** Opens that directory: its descriptor, owned by the caller; *ret: its status, with the owner.
 * -ENOENT: there is none; -EPERM: it has another owner, or its marker is missing, or of another
 * creation of the RE. */
int re_place_open(const struct phx_config *cfg, const struct re_place_whose *w, struct stat *ret,
		  struct phx_err *err);
/** Appends the names of the users who have a directory in the RE (struct phx_word). */
void re_place_users(const struct phx_config *cfg, const char *re, struct phx_list *ret);

#endif
