/* How a node's power is reached. Kept in core state beside the node, without
 * any secret: passwords stay in files. lib/power acts on it. Pure. */
#ifndef PHX_NODE_BMC_H
#define PHX_NODE_BMC_H

#include "base/record.h"

/** One node's BMC; an empty driver means that there is none. */
struct phx_bmc {
	char driver[32];  /* "ipmi", "redfish", "wol", "script", "none" */
	char address[128]; /* host[:port]; redfish: URL */
	char user[64];
	char password_file[256]; /* 0600, one line */
	char workarounds[128];	 /* freeipmi -W list, e.g. "opensesspriv" (trap 8) */
	char tool[16];		 /* ipmi: "ipmitool" (default) or "ipmipower" */
	char mac[PHX_MAC_MAX];	 /* wol: the NIC to wake */
	char interface[32];	 /* wol: outgoing interface */
	char script[256];	 /* script: program called as SCRIPT OP NODE; prints "on"/"off" for status */
	char node[PHX_NAME_MAX];
	bool insecure;		 /* redfish: do not verify the certificate */
	char system[128];	 /* redfish: path of the system; "" = the only member of /redfish/v1/Systems */
};
extern const struct phx_record phx_bmc_record;

#endif
