/* Is a head started again? A file of its own, so that a phxd that a test makes die stays dead.
 * Called by launcher.c. */
#include <signal.h>

#include "phxd/launch.h"

/* Whoever sends SIGKILL to it means it no more than the kernel without memory does: who wants phxd
 * to end, ends the launcher. */
bool launcher_restarts(int sig)
{
	return sig != SIGTERM && sig != SIGINT;
}
