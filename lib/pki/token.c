/* Tokens of starts: see token.h. Called by the vault, which the head asks when it orders a
 * start, answers a machine that boots, and is asked for a certificate. Keeps nothing. */
#include "pki/token.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include "pki/internal.h"

int phx_start_token(const struct phx_pki *p, const struct phx_start *start,
		    char ret[PHX_START_TOKEN_MAX])
{
	char text[32 + PHX_NAME_MAX + PHX_FINGERPRINT_MAX + 32];
	uint8_t sum[EVP_MAX_MD_SIZE];
	unsigned n_sum = 0;
	ret[0] = '\0';
	if (!start->number)
		return 0;
	if (!p->ca_key)
		return -EPERM;
	/* no member can hold a blank */
	int n = snprintf(text, sizeof(text), "phoenix start %" PRIu64 " node %.63s after %.71s",
			 start->number, start->node, start->key_fp);
	if (!HMAC(EVP_sha256(), phx_pki_start_key(p), PHX_DISK_KEY_SIZE, (const uint8_t *)text,
		  (size_t)n, sum, &n_sum))
		return -EIO;
	int at = snprintf(ret, PHX_START_TOKEN_MAX, "%" PRIu64 ".", start->number);
	phx_hex(sum, n_sum, ret + at);
	explicit_bzero(sum, sizeof(sum));
	return 0;
}

uint64_t phx_start_of_token(const struct phx_pki *p, const struct phx_start *start,
			    const char *token)
{
	char right[PHX_START_TOKEN_MAX] = "", shown[PHX_START_TOKEN_MAX] = "";
	struct phx_start said = *start;
	said.number = phx_start_said(token);
	if (phx_str_copy(shown, sizeof(shown), token) < 0 || phx_start_token(p, &said, right) < 0 ||
	    !right[0])
		return 0;
	bool same = CRYPTO_memcmp(right, shown, sizeof(right)) == 0;
	explicit_bzero(right, sizeof(right));
	return same ? said.number : 0;
}

uint64_t phx_start_said(const char *token)
{
	char *end;
	if (token[0] < '1' || token[0] > '9')
		return 0;
	uint64_t number = strtoull(token, &end, 10);
	return *end == '.' ? number : 0;
}
