/* What FreeIPMI's programs are told of a BMC: by the driver ipmi for its power, by lib/console for
 * its serial line. */
#ifndef PHX_POWER_FREEIPMI_H
#define PHX_POWER_FREEIPMI_H

#include "types/bmc.h"

enum { PHX_FREEIPMI_PORT = 623, PHX_FREEIPMI_PASSWORD_MAX = 20 /* IPMI 2.0 */ };

struct phx_freeipmi {
	char host[160];        /* for -h */
	char workarounds[128]; /* for -W; "": none */
	char *config;          /* a configuration file, which has the password */
};
/** Reads the password file of the record. -EINVAL: it cannot be used, or its password cannot be
 * written for FreeIPMI; the text names it. */
int phx_freeipmi_make(const struct phx_bmc *bmc, struct phx_freeipmi *ret, struct phx_err *err);
/** Wipes the configuration. Safe twice. */
void phx_freeipmi_fini(struct phx_freeipmi *f);

#endif
