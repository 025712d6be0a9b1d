/* Table of the BMC record, and the operations on power: see bmc.h. Pure. */
#include "types/bmc.h"

PHX_RECORD_TABLE(phx_bmc, PHX_BMC_FIELDS);

static const char *const state_names[] = {"unknown", "on", "off"};
const struct phx_enum phx_power_state_names = {"power state", state_names,
					       PHX_ARRAY_SIZE(state_names)};

#define POWER_OP(name, label, ...) label,
static const char *const op_names[] = {
	"",
#include "types/power_op.def"
};
#undef POWER_OP
const struct phx_enum phx_power_op_names = {"power operation", op_names, PHX_POWER_OP_COUNT_};

int phx_power_op_parse(const char *name, enum phx_power_op last, enum phx_power_op *ret,
		       struct phx_err *err)
{
	const struct phx_enum names = {"power operation", op_names + 1, (int)last};
	int i;
	int r = phx_enum_parse(&names, name, &i, err);
	if (r == 0)
		*ret = (enum phx_power_op)(i + 1);
	return r;
}

bool phx_power_ends(enum phx_power_op op)
{
	static const bool ends[] = {
		false,
#define POWER_OP(name, label, ends_) ends_,
#include "types/power_op.def"
#undef POWER_OP
	};
	return ends[op];
}
