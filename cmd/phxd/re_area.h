/* The directories within the data of runtime environments, and whose each is. Below them others may
 * write and put links of any kind: so what is there is touched by a process that is the directory's
 * owner (helper.h); but for what is our own. */
#ifndef PHXD_RE_AREA_H
#define PHXD_RE_AREA_H

#include "phxd/daemon.h"

/** A directory, below which paths lead by base/beneath.h. re_area_fini(). */
struct re_area {
	struct phx_apart *helper; /* NULL: it is our own user's: */
	int dir;                  /* else -1 */
	uid_t uid;                /* whose it is */
	gid_t gid;
};

/** All of an RE, its owner's. */
int re_area_open(const struct daemon *d, const char *re, struct re_area *ret, struct phx_err *err);
/** A user's own (users/NAME); `make`: made when he has none. -ENOENT: he has none; -EPERM: what is
 * there is not his. */
int re_area_open_user(const struct daemon *d, const char *re, const struct person_login *who,
		      bool make, struct re_area *ret, struct phx_err *err);
/** Where `path`, from the RE's directory on, leads: what is below users/NAME/ is that user's.
 * *ret_rest: within `path`.
 */
int re_area_find(const struct daemon *d, const char *re, const char *path, struct re_area *ret,
		 const char **ret_rest, struct phx_err *err);
void re_area_fini(struct re_area *a);
/** Is it, or does it lie below, the directory of users' directories? */
bool re_area_is_users(const char *path);

/** phx_beneath_open() by the area's owner. */
int re_area_open_file(const struct re_area *a, const char *path, uint64_t max, struct phx_err *err);
/** phx_beneath_publish() by him, as his file, of what `from` has to read. */
int re_area_publish(const struct re_area *a, const char *path, int from, uint64_t max,
		    struct phx_err *err);
/** phx_beneath_remove() by him. */
int re_area_remove(const struct re_area *a, const char *path, struct phx_err *err);
/** Files that do not begin with a dot as {path, size_bytes, modified_ms}, `prefix` before each
 * path, as he sees them; what is below RE_USERS is left out. */
void re_area_list(const struct re_area *a, const char *prefix, json_t *ret);
/** All directories of users, each as re_area_list() with its path. */
void re_area_list_users(const struct daemon *d, const char *re, json_t *ret);

#endif
