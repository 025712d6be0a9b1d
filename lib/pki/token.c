/* Tokens of starts: see token.h. Called by phxd, where it orders a start, answers a machine that
 * boots, and is asked for a certificate. Keeps nothing. */
#include "pki/token.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include "pki/internal.h"

int phx_start_token(const struct phx_pki *p, uint64_t start, char ret[PHX_START_TOKEN_MAX])
{
	char text[64];
	uint8_t sum[EVP_MAX_MD_SIZE];
	unsigned n_sum = 0;
	ret[0] = '\0';
	if (!start)
		return 0;
	int n = snprintf(text, sizeof(text), "phoenix start %" PRIu64, start);
	if (!HMAC(EVP_sha256(), phx_pki_start_key(p), PHX_DISK_KEY_SIZE, (const uint8_t *)text,
		  (size_t)n, sum, &n_sum))
		return -EIO;
	int at = snprintf(ret, PHX_START_TOKEN_MAX, "%" PRIu64 ".", start);
	phx_hex(sum, n_sum, ret + at);
	explicit_bzero(sum, sizeof(sum));
	return 0;
}

uint64_t phx_start_of_token(const struct phx_pki *p, const char *token)
{
	char right[PHX_START_TOKEN_MAX] = "", shown[PHX_START_TOKEN_MAX] = "";
	uint64_t start = strtoull(token, NULL, 10);
	if (phx_str_copy(shown, sizeof(shown), token) < 0 || phx_start_token(p, start, right) < 0 ||
	    !right[0])
		return 0;
	bool same = CRYPTO_memcmp(right, shown, sizeof(right)) == 0;
	explicit_bzero(right, sizeof(right));
	return same ? start : 0;
}
