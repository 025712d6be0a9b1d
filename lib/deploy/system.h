/* Which system lies in a root that was unpacked. Inside lib/deploy. The root is somebody else's:
 * its links are followed inside it. */
#ifndef PHX_DEPLOY_SYSTEM_H
#define PHX_DEPLOY_SYSTEM_H

#include "base/util.h"

/** Opens `path` inside the directory `root`, whatever links say; flags as of open(). A descriptor,
 * or a negative errno; without O_PATH -EINVAL for what is neither a file nor a directory, which is
 * not opened. */
int phx_rooted_open(const char *root, const char *path, int flags);
/** The regular file `path` inside `root`, at most `max` bytes, malloc'd and NUL-terminated.
 * -ENOENT, -EFBIG, -EINVAL (no file). */
int phx_rooted_read(const char *root, const char *path, size_t max, char **ret, size_t *ret_n);

struct phx_system {
	char id[32];            /* ID of os-release: debian, rocky; "" it does not say */
	char name[128];         /* PRETTY_NAME, without quotes and backslashes */
	const char *add_kernel; /* what installs kernel and systemd in it; "" unknown */
};

/** Reads the text of an os-release into `ret`: what has another form is passed over. */
void phx_system_parse(const char *text, struct phx_system *ret);
/** What the os-release inside `root` says; all "" where there is none. */
void phx_system_read(const char *root, struct phx_system *ret);

/** The processor that the systemd inside `root` was built for, as uname(2) names it: "x86_64"; "one
 * of number 5" where we have no name for it. "": there is none, or it is no program. */
#define PHX_MACHINE_MAX 24
void phx_system_machine(const char *root, char ret[PHX_MACHINE_MAX]);

/** The packages of its package manager (packages.h): dpkg's database is read by us, that of rpm by
 * the program rpm of this machine. ret, struct phx_os_package, is owned; empty where there is no
 * package manager. 1: there are packages of rpm, but no program rpm here: ret is empty. -EINVAL:
 * the database is damaged. */
int phx_system_packages(const char *root, struct phx_list *ret, struct phx_err *err);

#endif
