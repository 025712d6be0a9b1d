/* The directories within the data of runtime environments, each with its owner. Others may put
 * links of any kind into them, so their content is accessed by a process that runs as the
 * directory's owner (helper.h), unless that is our own user. */
#ifndef PHXD_RE_AREA_H
#define PHXD_RE_AREA_H

#include "phxd/daemon.h"

/** An open directory; paths below it are followed by base/beneath.h. re_area_fini(). */
struct re_area {
	struct phx_apart *helper; /* NULL: our own user owns it, and */
	int dir;                  /* is its descriptor; else -1 */
	uid_t uid;                /* the owner */
	gid_t gid;
};

/** The whole directory of an RE. */
int re_area_open(const struct daemon *d, const char *re, struct re_area *ret, struct phx_err *err);
/** A user's own directory in an RE (users/NAME); `make`: made if missing. -ENOENT: there is none;
 * -EPERM: it belongs to somebody else, or the user can have none. */
int re_area_open_user(const struct daemon *d, const char *re, const struct person_login *who,
		      bool make, struct re_area *ret, struct phx_err *err);
/** The area of `path`, which is relative to the RE's directory: that of user NAME for paths below
 * users/NAME/, else the RE's. *ret_rest: the rest of `path` within the area, borrowed from `path`.
 */
int re_area_find(const struct daemon *d, const char *re, const char *path, struct re_area *ret,
		 const char **ret_rest, struct phx_err *err);
void re_area_fini(struct re_area *a);
/** Is `path` the directory of users' directories, or below it? */
bool re_area_is_users(const char *path);

/** phx_beneath_open() by the area's owner. */
int re_area_open_file(const struct re_area *a, const char *path, uint64_t max, struct phx_err *err);
/** Likewise phx_beneath_publish() of what `from` has to read; the file belongs to the owner. */
int re_area_publish(const struct re_area *a, const char *path, int from, uint64_t max, mode_t mode,
		    struct phx_err *err);
/** Likewise phx_beneath_dir() and phx_beneath_link(). */
int re_area_dir(const struct re_area *a, const char *path, mode_t mode, struct phx_err *err);
int re_area_link(const struct re_area *a, const char *path, const char *target,
		 struct phx_err *err);
/** Likewise phx_beneath_remove(). */
int re_area_remove(const struct re_area *a, const char *path, struct phx_err *err);
/** Likewise files_list() (helper.h): appends {path, size_bytes, modified_ms} of each file that the
 * owner can see, or of all with `whole`. False: there may be more. */
bool re_area_list(const struct re_area *a, const char *prefix, bool whole, json_t *ret);
/** Bytes on the disk of all data of an RE, with the directories of all users (files_sum, helper.h):
 * a long walk, during which goes_on() is asked; false ends it. -ECANCELED then;
 * as re_area_open(). */
int re_area_sum(const struct daemon *d, const char *re, bool (*goes_on)(void *arg), void *arg,
		uint64_t *ret_bytes);
/** re_area_list() for the directories of all users in an RE, with "users/NAME/" before each path.
 */
bool re_area_list_users(const struct daemon *d, const char *re, bool whole, json_t *ret);

#endif
