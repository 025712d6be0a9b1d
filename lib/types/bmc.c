/* Table of the BMC record, and the operations on power: see bmc.h. Pure. */
#include "types/bmc.h"

#include <string.h>

#include "base/key.h"

PHX_RECORD_TABLE(phx_bmc, PHX_BMC_FIELDS);

static bool is_named(const struct phx_list *only, const char *name)
{
	PHX_LIST_EACH(struct phx_word, w, only)
		if (!strcmp(w->text, name))
			return true;
	return !only->n;
}

void phx_bmc_change(struct phx_bmc *to, const struct phx_bmc *from, const struct phx_list *only)
{
	for (size_t i = 0; i < phx_bmc_record.n_fields; i++) {
		const struct phx_field *f = &phx_bmc_record.fields[i];
		if (is_named(only, f->name))
			memcpy((char *)to + f->offset, (const char *)from + f->offset, f->size);
	}
}

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
