/* What was read of a disk, as one sum: see internal.h. Called by readback.c and crypto.c. Reads
 * nothing itself. */
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "disk/internal.h"

int phx_readback_begin(struct phx_readback *rb, struct phx_err *err)
{
	phx_readback_fini(rb);
	*rb = (struct phx_readback){.md = EVP_MD_CTX_new()};
	if (rb->md && EVP_DigestInit_ex(rb->md, EVP_sha256(), NULL) == 1)
		return 0;
	phx_readback_fini(rb);
	return phx_err_set(err, -ENOMEM, "out of memory");
}

/* Offset and length as eight and four bytes, the lowest first. */
int phx_readback_add(struct phx_readback *rb, uint64_t offset, const void *data, size_t n)
{
	uint8_t head[12];
	for (size_t i = 0; i < sizeof(head); i++)
		head[i] = (uint8_t)(i < 8 ? offset >> 8 * i : (uint64_t)n >> 8 * (i - 8));
	rb->n_bytes += n;
	rb->n_places++;
	return EVP_DigestUpdate(rb->md, head, sizeof(head)) == 1 &&
			EVP_DigestUpdate(rb->md, data, n) == 1
		? 0
		: -EIO;
}

void phx_readback_end(struct phx_readback *rb, struct phx_wipe_result *ret)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned n = 0;
	ret->verified_bytes = rb->n_bytes;
	ret->places = rb->n_places;
	ret->read_sha256[0] = '\0';
	if (rb->md && EVP_DigestFinal_ex(rb->md, digest, &n) == 1)
		phx_hex(digest, n, ret->read_sha256);
	phx_readback_fini(rb);
}

void phx_readback_fini(struct phx_readback *rb)
{
	EVP_MD_CTX_free(rb->md);
	rb->md = NULL;
}
