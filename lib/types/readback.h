/* The rule by which an erased disk is read back: both its ends, and 1 % of it at places that follow
 * from the random number of the attempt. lib/disk reads by it, and the head and whoever reads an
 * attestation judge by it what was read. Pure. */
#ifndef PHX_TYPES_READBACK_H
#define PHX_TYPES_READBACK_H

#include "types/setup.h"

enum {
	PHX_READBACK_PLACE_BYTES = 1 << 20,
	PHX_READBACK_END_BYTES = 16 << 20,
	/* of a disk whose key was destroyed, each copy of the partition table */
	PHX_READBACK_TABLE_BYTES = 1 << 20,
};

/** The places that follow from size and seed alone: where 1 % of the disk's MiBs begin, each as
 * likely as any other, rising (uint64_t, bytes; the caller: phx_list_fini()). -ENOMEM. */
int phx_readback_drawn(uint64_t size_bytes, uint64_t seed, struct phx_list *ret);

/** The fewest bytes that an erase of a disk of this size reads back, whatever the seed: all where
 * everything was to be read, else the ends and the drawn places, of which each may lie within an
 * end. Of a disk that was erased by destroying its key (`used`: CRYPTO) only what was destroyed is
 * read, also where everything was to be: the rest is what it was, and nobody can read it. Looks at
 * no place, so it costs nothing even for a size that nobody has. */
uint64_t phx_readback_least(uint64_t size_bytes, enum phx_wipe_method used, enum phx_verify verify);

#endif
