/* Runs a program in a root that was unpacked, apart from the machine: its own processes, mounts,
 * host name; devices that are none, and a /sys that cannot be written. Inside lib/deploy. */
#ifndef PHX_DEPLOY_INSIDE_H
#define PHX_DEPLOY_INSIDE_H

#include "base/util.h"

struct phx_inside {
	const char *root;        /* no mount of ours stays in it */
	const char *const *argv; /* NULL-terminated; looked up inside the root */
	bool network;            /* that of the machine; else none but a loopback that is down */
};

/** Where programs without a "/" are looked for. */
#define PHX_INSIDE_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/** What the kernel is to run as `program` is of the root, and not our own program: a script may
 * name /proc/self/exe, which is still that file of the machine's, and the libraries of the root
 * would then be given it. For the process that has the root as "/", before it becomes the program;
 * system calls only. 0 also where there is none; -EPERM. */
int phx_inside_check_program(const char *program);

/** The directories on which something is mounted while a program runs; where one is missing, it is
 * made. */
int phx_inside_places(const char *root, struct phx_err *err);

/** Runs it with our stdin, stdout and stderr as root without what a container's root lacks: it
 * mounts nothing, makes no devices and opens none of the root. All that it started ends with it,
 * and with us. Blocks; needs root. 0 and ret_status, the exit status, or 128 + signal; -ENOENT:
 * there is no such program in the root; another -errno. */
int phx_inside_run(const struct phx_inside *in, int *ret_status, struct phx_err *err);

#endif
