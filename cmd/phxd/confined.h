/* The system calls that neither the head nor a helper needs: they start programs, become somebody
 * else, look into other processes, or change the machine. Refused by seccomp for ever. */
#ifndef PHXD_CONFINED_H
#define PHXD_CONFINED_H

#include <stddef.h>

extern const int confined_calls[];
extern const size_t confined_n_calls;

#endif
