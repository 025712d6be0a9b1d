/* Checks of nodes (a burn-in): programs put load on the parts of a machine for some time, and count
 * errors. What came of the last one of each part is in the record of the node. It is what the node
 * says: whoever was root on the machine may have made up all of it. Pure. */
#ifndef PHX_TYPES_CHECK_H
#define PHX_TYPES_CHECK_H

#include "base/record.h"

/* PART(name): each has its step check_NAME (types/step.def). */
#define PHX_CHECK_PARTS(PART) PART(cpu) PART(memory) PART(disk)

enum phx_check_part {
#define PART(name) PHX_CHECK_##name,
	PHX_CHECK_PARTS(PART)
#undef PART
		PHX_CHECK_PARTS_N
};
extern const struct phx_enum phx_check_part_names;

enum {
	PHX_CHECK_S_MIN = 1,
	PHX_CHECK_S_MAX = 7 * 24 * 3600,
	PHX_CHECK_S = 600,         /* of each part, unless an order says otherwise */
	PHX_CHECK_DISK_S_MIN = 30, /* of each of several disks, which share the time */
};

/** What came of one part; of disks one for each disk. */
#define PHX_CHECK_FIELDS(F, S) \
	F(S, part, ENUM(phx_check_part)) \
	F(S, disk, STR(160)) /* disk: its id; otherwise "" */ \
	F(S, passed, BOOL) \
	F(S, text, STR(160)) /* what failed; "" nothing */ \
	F(S, ended_ms, I64)  /* on the head's clock */ \
	F(S, seconds, U32)   /* for how long it was loaded */ \
	F(S, errors, U64) \
	F(S, bytes, U64)   /* memory: how much was tested at a time */ \
	F(S, rate, U64)    /* cpu: operations of stress-ng a second; disk: bytes read a second */ \
	F(S, writes, BOOL) /* disk: it was written, too */ \
	F(S, write_rate, U64) /* disk: bytes written a second */ \
	F(S, tool, STR(48))   /* name and version of the program */
PHX_RECORD_STRUCT(phx_check, PHX_CHECK_FIELDS);

/** Bit of a part in a set of them. */
static inline uint32_t phx_check_bit(enum phx_check_part part)
{
	return 1u << part;
}

/** "cpu,memory" as a set; "" is all. -EINVAL with a text that says which there are. */
int phx_check_parts_parse(const char *text, uint32_t *ret, struct phx_err *err);

#endif
