/* Does the launcher start a head again that has died? This is a file of its own so that tests can
 * link another answer in: a phxd that a test makes die stays dead. Called by launcher.c. */
#include <signal.h>

#include "phxd/launch.h"

/* SIGKILL comes from the kernel when memory runs out, or from somebody by mistake: a person who
 * wants phxd to end sends SIGTERM or SIGINT, or ends the launcher. */
bool launcher_restarts(int sig)
{
	return sig != SIGTERM && sig != SIGINT;
}
