/* A helper: a process (phxd --helper) that runs as a user and works in a directory of that user, so
 * that links in it lead nowhere that the user has no access to. The launcher starts one for a
 * request, the head asks it, and it ends with its socket. Never root: root's directories are opened
 * by the launcher. */
#ifndef PHXD_HELPER_H
#define PHXD_HELPER_H

#include <dirent.h>
#include <jansson.h>

#include "apart/apart.h"

/** Starts a helper that runs as `uid` in the directory `dir` (a descriptor): its socket, owned by
 * the caller. -EPERM: uid is root. The process is reaped when it ends. */
int helper_spawn(int dir, uid_t uid, gid_t gid, int *ret_fd, struct phx_err *err);
/** Runs as a helper, on standard input; returns the exit status. */
int helper_run(void);

/* ---- who asks ---- */

/** Takes `fd`. */
int helper_new(int fd, struct phx_apart **ret);
/** Has the helper do phx_beneath_open() in its directory: the file's descriptor. */
int helper_open(struct phx_apart *h, const char *path, uint64_t max, struct phx_err *err);
/** Likewise phx_beneath_publish(); the file belongs to the helper's user. mode 0: 0644. */
int helper_publish(struct phx_apart *h, const char *path, int from, uint64_t max, mode_t mode,
		   struct phx_err *err);
/** Likewise phx_beneath_dir() and phx_beneath_link(). */
int helper_dir(struct phx_apart *h, const char *path, mode_t mode, struct phx_err *err);
int helper_link(struct phx_apart *h, const char *path, const char *target, struct phx_err *err);
/** Likewise phx_beneath_remove(). */
int helper_remove(struct phx_apart *h, const char *path, struct phx_err *err);
/** Likewise files_sum_go_on(), for the whole directory: *ret_bytes so far; 1: there is more. */
int helper_sum(struct phx_apart *h, uint64_t *ret_bytes);
/** Likewise files_list(): 0 all, 1 some are missing. */
int helper_list(struct phx_apart *h, const char *prefix, bool whole, json_t *ret);

/** Appends the files below the directory as {path, size_bytes, modified_ms}, with `prefix` before
 * each path; leaves out names that begin with a dot, and all below RE_USERS. `whole`: also names
 * that begin with a dot, but those of files that are just put there, directories, each before what
 * is in it, and links, with {type, mode, target}: "file", "dir", "link", or "other"; no link is
 * followed. False: there are more, which are too many, too deep, in a directory that cannot be
 * read, or, with `whole`, of names that are not UTF-8. */
bool files_list(int dir, const char *prefix, bool whole, json_t *ret);
/** Bytes on the disk of all that is below a directory, of a file with several names its part; no
 * other file system is entered, nor what cannot be read, or lies deeper than any path that phxd
 * takes. Looks at each file, a few thousand at a time. */
enum { FILES_SUM_DEPTH = 256, FILES_SUM_AT_ONCE = 5000 };
struct files_sum {
	uint64_t n_bytes; /* so far */
	bool begun;
	dev_t dev;
	unsigned depth;
	DIR *dirs[FILES_SUM_DEPTH]; /* that are open, from the top down */
};
void files_sum_begin(struct files_sum *s, int dir);
/** Looks at so many entries; true: there are more. */
bool files_sum_go_on(struct files_sum *s, unsigned n_entries);
/** Closes what is open; safe twice. */
void files_sum_end(struct files_sum *s);

#endif
