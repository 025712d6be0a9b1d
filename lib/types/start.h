/* What is seen of a start of a node, from the switch of its power until it serves: rows that the
 * head keeps beside the journal (lib/starts) and judges (lib/why). What the machine says of itself
 * before it has shown a certificate, its console, and what others send in its name are claims:
 * they are kept and shown as such. Pure. */
#ifndef PHX_TYPES_START_H
#define PHX_TYPES_START_H

#include "base/record.h"

enum phx_start_phase {
#define START_PHASE(name, ...) PHX_PHASE_##name,
#include "types/start_phase.def"
#undef START_PHASE
	PHX_PHASE_COUNT_
};
extern const struct phx_enum phx_start_phase_names;

enum phx_start_kind {
#define START_KIND(name, ...) PHX_START_##name,
#include "types/start_kind.def"
#undef START_KIND
	PHX_START_KIND_COUNT_
};
extern const struct phx_enum phx_start_kind_names;

enum { PHX_START_TEXT_MAX = 400 };

/** A row. A beacon's text is words KEY=VALUE, which lib/why reads:
 *   reached=nic|link|address|head  how far it came: it has a NIC with driver, a link on it, an
 *                                  address, an answer of the head
 *   nic_without=PCI_ID             a network card that no driver of the image fits
 *   disk_without=PCI_ID            the same of a controller of disks
 *   clock_s=SECONDS                its clock, in seconds since 1970
 *   memory_mb=N                    what it has: for people, nothing follows from it
 *   loss=N/M                       so many of so many trials of the head were lost
 *   panic=TEXT                     the last word of a kernel that gave up */
#define PHX_START_ROW_FIELDS(F, S) \
	F(S, node, STR(PHX_NAME_MAX)) /* its name; of a machine that has none its MAC */ \
	F(S, start, U32)              /* which start of the node, from 1 on: lib/starts says it */ \
	F(S, at_us, I64)              /* since 1970 */ \
	F(S, kind, ENUM(phx_start_kind)) \
	F(S, proven, BOOL) /* seen by the head, or told over the node's certificate */ \
	F(S, bytes, U64)   /* of a file: sent; of what failed: its errno, as a positive number */ \
	F(S, total, U64)   /* of how many */ \
	F(S, text, STR(PHX_START_TEXT_MAX))
PHX_RECORD_STRUCT(phx_start_row, PHX_START_ROW_FIELDS);

/** The phase that a row of this kind shows to be reached. */
enum phx_start_phase phx_start_reached(enum phx_start_kind kind);
/** Does a row of this kind begin another start of a node that has reached `phase`? */
bool phx_start_opens(enum phx_start_kind kind, enum phx_start_phase phase);
/** How long a machine may take until it reaches the phase, in seconds; 0: as long as it takes. */
uint32_t phx_start_deadline_s(enum phx_start_phase phase);
/** What it is doing until then. */
const char *phx_start_doing(enum phx_start_phase phase);
/** What a row of this kind says, for people. */
const char *phx_start_says(enum phx_start_kind kind);
/** Copies a text of strangers: cut to `size`, valid UTF-8, a blank for each control character. */
void phx_start_clean(char *dst, size_t size, const char *src);

#endif
