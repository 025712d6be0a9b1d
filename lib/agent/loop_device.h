/* Loop devices. */
#ifndef PHX_AGENT_LOOP_DEVICE_H
#define PHX_AGENT_LOOP_DEVICE_H

#include "base/util.h"

/** Bind `file` read-only to a free loop device ("/dev/loop0"), which releases the file with its
 * last user. Returns an open descriptor of the device: the caller closes it once the device is
 * mounted. */
int loop_device_attach(const char *file, char ret_device[64], struct phx_err *err);

#endif
