/* Table of the BMC record, and the operations on power: see bmc.h. Pure. */
#include "types/bmc.h"

PHX_RECORD_TABLE(phx_bmc, PHX_BMC_FIELDS);

static const char *const state_names[] = {"unknown", "on", "off"};
const struct phx_enum phx_power_state_names = {"power state", state_names,
					       PHX_ARRAY_SIZE(state_names)};

#define POWER_OP(name, label, ...) label,
static const char *const op_names[] = {
#include "types/power_op.def"
};
#undef POWER_OP
const struct phx_enum phx_power_op_names = {"power operation", op_names, PHX_POWER_OP_COUNT_};
const struct phx_enum phx_power_order_names = {"power operation", op_names, PHX_POWER_STATUS + 1};

bool phx_power_ends(const char *op)
{
	static const bool ends[] = {
#define POWER_OP(name, label, ends_) ends_,
#include "types/power_op.def"
#undef POWER_OP
	};
	int i;
	return phx_enum_parse(&phx_power_op_names, op, &i, NULL) == 0 && ends[i];
}
