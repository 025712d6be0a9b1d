/* Beacons of machines that cannot yet prove who they are: beacons.c. */
#ifndef PHXD_BEACONS_H
#define PHXD_BEACONS_H

#include "phxd/daemon.h"

struct beacons;

int beacons_new(struct daemon *d, struct beacons **ret);
/** When nobody asks any more. Safe on NULL. */
void beacons_free(struct beacons *b);
/** May one more beacon come from this address now (of phx_clock_ms())? Counts it if so. */
bool beacons_may(struct beacons *b, const char *address, int64_t now_ms);

#endif
