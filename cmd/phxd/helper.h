/* A helper: a process (phxd --helper) that is a user and works in a directory of his, so that what
 * he put there leads nowhere that he may not go himself. The launcher starts one for a request, the
 * head asks it, and it ends with its socket. Never root: a directory of root's is opened by the
 * launcher. */
#ifndef PHXD_HELPER_H
#define PHXD_HELPER_H

#include <jansson.h>

#include "apart/apart.h"

/** Start one that is that user, in the directory that `dir` is: its socket. -EPERM: nobody helps as
 * that one. Its end is collected. */
int helper_spawn(int dir, uid_t uid, gid_t gid, int *ret_fd, struct phx_err *err);
/** Be one, on standard input; the exit status. */
int helper_run(void);

/* ---- who asks ---- */

/** Takes `fd`. */
int helper_new(int fd, struct phx_apart **ret);
/** phx_beneath_open() below its directory, by it: the file. */
int helper_open(struct phx_apart *h, const char *path, uint64_t max, struct phx_err *err);
/** phx_beneath_publish() likewise, as its file. */
int helper_publish(struct phx_apart *h, const char *path, int from, uint64_t max,
		   struct phx_err *err);
/** phx_beneath_remove() likewise. */
int helper_remove(struct phx_apart *h, const char *path, struct phx_err *err);
/** files_list() of its directory. */
int helper_list(struct phx_apart *h, const char *prefix, json_t *ret);

/** Files below the directory that do not begin with a dot as {path, size_bytes, modified_ms},
 * `prefix` before each path; what is below RE_USERS is left out. */
void files_list(int dir, const char *prefix, json_t *ret);

#endif
