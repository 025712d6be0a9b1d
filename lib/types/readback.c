/* How much of an erased disk is read back, and at which places: see readback.h. Called by lib/disk,
 * which reads there, by the head and the verifier, which judge what was read, and by phx erasure
 * show, which shows the places of an attestation. Pure. */
#include "types/readback.h"

#include <errno.h>

#include "base/rng.h"

static uint64_t n_drawn(uint64_t size_bytes)
{
	uint64_t there = size_bytes / PHX_READBACK_PLACE_BYTES;
	uint64_t n = (size_bytes / 100 + PHX_READBACK_PLACE_BYTES - 1) / PHX_READBACK_PLACE_BYTES;
	return n < there ? n : there;
}

/* Goes through the disk MiB by MiB. Each is taken with a chance of n / m if n more are wanted and m
 * are left: so all places differ, and each is as likely as any other. */
int phx_readback_drawn(uint64_t size_bytes, uint64_t seed, struct phx_list *ret)
{
	PHX_AUTO(phx_list_fini) struct phx_list drawn = {0};
	struct phx_rng rng = {seed};
	uint64_t there = size_bytes / PHX_READBACK_PLACE_BYTES;
	uint64_t n = n_drawn(size_bytes);
	for (uint64_t i = 0; i < there && n; i++) {
		if (phx_rng_below(&rng, there - i) >= n)
			continue;
		n--;
		uint64_t *offset = phx_list_push(&drawn, sizeof(*offset));
		if (!offset)
			return -ENOMEM;
		*offset = i * PHX_READBACK_PLACE_BYTES;
	}
	*ret = drawn;
	drawn = (struct phx_list){0};
	return 0;
}

static uint64_t at_most(uint64_t n, uint64_t size_bytes)
{
	return n < size_bytes ? n : size_bytes;
}

uint64_t phx_readback_least(uint64_t size_bytes, enum phx_wipe_method used, enum phx_verify verify)
{
	uint64_t ends = at_most(2 * PHX_READBACK_END_BYTES, size_bytes);
	uint64_t drawn = n_drawn(size_bytes) * PHX_READBACK_PLACE_BYTES;
	if (used == PHX_WIPE_CRYPTO)
		return at_most(2 * PHX_READBACK_TABLE_BYTES, size_bytes);
	if (verify == PHX_VERIFY_FULL)
		return size_bytes;
	/* each drawn place may lie within an end */
	return drawn > ends ? drawn : ends;
}
