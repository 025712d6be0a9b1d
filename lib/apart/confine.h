/* What a process that stands apart gives up before it answers: its user, core dumps, swap, the file
 * system but for a table of paths (Landlock), system calls by a table (seccomp), capabilities. For
 * itself and for all that it starts, and for ever. */
#ifndef PHX_APART_CONFINE_H
#define PHX_APART_CONFINE_H

#include <pwd.h>

#include "apart/calls.h"

/** What may be done with a file, or with all that is beneath a directory. */
enum {
	PHX_CONFINE_READ = 1,  /* and list */
	PHX_CONFINE_WRITE = 2, /* make and remove, too */
	PHX_CONFINE_EXEC = 4,
	PHX_CONFINE_DIRS = 8,      /* make and remove directories, links, sockets and fifos */
	PHX_CONFINE_IF_THERE = 16, /* one that is not there is no error */
};
struct phx_confine_path {
	const char *path;
	unsigned rights;
};

/** Everything is borrowed for the call. */
struct phx_confine {
	const char *what; /* how errors call the process */
	/* whom it becomes, without any further group; "", or we are not root: nobody else. One who
	 * is not there, or from whom a directory above a path is closed, is an error */
	const char *user;
	/* called while still root, with the user that it is about to become; NULL: nothing is to be
	 * given to him */
	int (*give)(const void *arg, const struct passwd *pw, struct phx_err *err);
	const void *arg;
	/* what it keeps when it becomes a user, and no program that it runs gets: bits by number
	 * (CAP_*, capabilities(7)), of those that it has. The second only where the kernel has
	 * Landlock, which bounds them */
	uint64_t caps, caps_beneath;
	/* of `caps`, those that the programs which it becomes get all the same (ambient) */
	uint64_t caps_on;
	/* where `user` is "": it stays root, with `caps` and no others, nor further groups */
	bool root_keeps_caps_alone;
	bool lock_memory; /* never swapped, as far as RLIMIT_MEMLOCK lets it */
	/* what it sees of the file system; without Landlock: what its user may */
	const struct phx_confine_path *paths;
	size_t n_paths;
	uint32_t calls; /* the groups of system calls that it may make (calls.h) */
};

/** In the thread that is the only one. A failure leaves half of it given up: the process ends
 * then. */
int phx_confine_self(const struct phx_confine *c, struct phx_err *err);

/** For a process of root's that goes on as root, and for all that it starts: no capabilities but
 * these (bits by number) of those that it has. Its programs may still lock memory. */
int phx_confine_caps(uint64_t caps, const char *what, struct phx_err *err);

/** Gives the directory, and the plain files in it, to a user; what is a link, or has a second name,
 * is left as it is. For phx_confine.give. */
int phx_confine_give_dir(const char *path, const struct passwd *pw, struct phx_err *err);

#endif
