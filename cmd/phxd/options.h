#ifndef PHXD_OPTIONS_H
#define PHXD_OPTIONS_H

#include <stdbool.h>

/* Options of phxd's command line. */

/** Tasks other than serving are started by hand, and end. */
enum task { SERVE, CHECK, NEW_JOURNAL, ACCEPT_JOURNAL, ACCEPT_CLOCK };

struct options {
	const char
		*config; /**< the configuration's file, borrowed of argv; default PHX_CONFIG_PATH */
	enum task task;  /**< the last that is named; default SERVE */
	bool head;       /**< the launcher has started this process as the head */
};

enum { OPTIONS_SAID = -1, EXIT_USAGE_ = 64 };

/** Reads them, once in a process. 0; OPTIONS_SAID: what was asked has been printed, and phxd ends
 *  well; or the exit status to end with, after the usage on standard error. */
int options_read(int argc, char **argv, struct options *ret);

#endif
