/* Table of the BMC record: see bmc.h. Pure. */
#include "node/bmc.h"

static const struct phx_field bmc_fields[] = {
#define B struct phx_bmc
	PHX_STR(B, driver),	 PHX_STR(B, address),	  PHX_STR(B, user), PHX_STR(B, password_file),
	PHX_STR(B, workarounds), PHX_STR(B, tool),	  PHX_STR(B, mac),  PHX_STR(B, interface),
	PHX_STR(B, script),	 PHX_STR(B, node),	  PHX_BOOL(B, insecure), PHX_STR(B, system),
#undef B
};
const struct phx_record phx_bmc_record = PHX_RECORD("bmc", struct phx_bmc, bmc_fields);
