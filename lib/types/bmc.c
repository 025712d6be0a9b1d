/* Table of the BMC record: see bmc.h. Pure. */
#include "types/bmc.h"

PHX_RECORD_TABLE(phx_bmc, PHX_BMC_FIELDS);
