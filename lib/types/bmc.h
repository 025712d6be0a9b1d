/* How to switch a node's power: the record of its BMC, and the operations. The record is kept in
 * core state beside the node, without any secret: passwords stay in files. Read by lib/power.
 * Pure. */
#ifndef PHX_TYPES_BMC_H
#define PHX_TYPES_BMC_H

#include "base/record.h"

/** One node's BMC; an empty driver means that there is none. */
#define PHX_BMC_FIELDS(F, S) \
	F(S, driver, STR(32))   /* a row of power/drivers.h, which says which keys it reads */ \
	F(S, address, STR(128)) /* host[:port]; redfish: URL */ \
	F(S, user, STR(64)) \
	F(S, password_file, STR(256)) /* 0600, one line */ \
	F(S, workarounds, STR(128))   /* freeipmi -W list, e.g. "opensesspriv" (trap 8) */ \
	F(S, tool, STR(16))           /* ipmi: "ipmitool" (default) or "ipmipower" */ \
	F(S, mac, STR(PHX_MAC_MAX))   /* wol: the NIC to wake */ \
	F(S, interface, STR(32))      /* wol: outgoing interface */ \
	/* script: program called as SCRIPT OP NODE; prints "on"/"off" for status */ \
	F(S, script, STR(256)) \
	F(S, node, STR(PHX_NAME_MAX)) \
	F(S, insecure, BOOL) /* redfish: do not verify the certificate */ \
	/* redfish: path of the system; "" = the only member of /redfish/v1/Systems */ \
	F(S, system, STR(128)) \
	F(S, console, STR(16)) /* a row of console/drivers.h; "": ipmi if driver is that */ \
	/* console script: program called as SCRIPT NODE; its terminal is the console */ \
	F(S, console_script, STR(256))
PHX_RECORD_STRUCT(phx_bmc, PHX_BMC_FIELDS);

/** Copies the members of `from` that are named (struct phx_word) into `to`; all of them if none
 * is. */
void phx_bmc_change(struct phx_bmc *to, const struct phx_bmc *from, const struct phx_list *only);

/** Is the machine on? By what its BMC reports, never assumed. */
enum phx_power_state { PHX_POWER_UNKNOWN, PHX_POWER_IS_ON, PHX_POWER_IS_OFF };
/** "unknown", "on", "off": users and scripts of sites rely on these names. */
extern const struct phx_enum phx_power_state_names;

enum phx_power_op {
	PHX_POWER_NONE, /* "" */
#define POWER_OP(name, ...) PHX_POWER_##name,
#include "types/power_op.def"
#undef POWER_OP
	PHX_POWER_OP_COUNT_
};
extern const struct phx_enum phx_power_op_names;
/** The operation of that name, among those up to `last`, never PHX_POWER_NONE. -EINVAL with a text
 * that lists them; *ret is untouched then. */
int phx_power_op_parse(const char *name, enum phx_power_op last, enum phx_power_op *ret,
		       struct phx_err *err);
/** Does everything that runs on the node end by this operation? */
bool phx_power_ends(enum phx_power_op op);

#endif
