/* Which places of a disk are read back after an erase, of those that chance decides: see disk.h.
 * Called by readback.c, and by phx erasure show, which tells them from an attestation. Opens no
 * disk. */
#include <errno.h>

#include "base/rng.h"
#include "disk/internal.h"

/* One MiB after the other is taken with the chance that so many are still wanted of so many that
 * are left: all are different, and each is as likely as any other. */
int phx_readback_drawn(uint64_t size_bytes, uint64_t seed, struct phx_list *ret)
{
	PHX_AUTO(phx_list_fini) struct phx_list drawn = {0};
	struct phx_rng rng = {seed};
	uint64_t there = size_bytes / PHX_SAMPLE_BYTES;
	uint64_t n = (size_bytes / 100 + PHX_SAMPLE_BYTES - 1) / PHX_SAMPLE_BYTES;
	for (uint64_t i = 0; i < there && n; i++) {
		if (phx_rng_below(&rng, there - i) >= n)
			continue;
		n--;
		uint64_t *offset = phx_list_push(&drawn, sizeof(*offset));
		if (!offset)
			return -ENOMEM;
		*offset = i * PHX_SAMPLE_BYTES;
	}
	*ret = drawn;
	drawn = (struct phx_list){0};
	return 0;
}
