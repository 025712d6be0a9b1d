/* Quotes of TPMs: see quote.h. Called by the head and by attestation.c, which believe nothing of a
 * quote before. Asks no TPM. */
#include "pki/quote.h"

#include <errno.h>
#include <string.h>

#include <tss2/tss2_mu.h>

#include "base/file.h"
#include "pki/internal.h"

#define IS_OF(m, n) _Static_assert(sizeof(((struct phx_quote *)0)->m) == (n), #m)
IS_OF(tpm_key, PHX_QUOTE_KEY_MAX);
IS_OF(tpm_said, PHX_QUOTE_SAID_MAX);
IS_OF(tpm_signature, PHX_QUOTE_SIGNATURE_MAX);
IS_OF(tpm_pcrs, PHX_QUOTE_PCRS_MAX);
#undef IS_OF

enum {
	SAID_BYTES_MAX = (PHX_QUOTE_SAID_MAX - 1) / 2,
	SIGNATURE_BYTES_MAX = (PHX_QUOTE_SIGNATURE_MAX - 1) / 2,
	PCRS_BYTES = PHX_QUOTE_PCRS * TPM2_SHA256_DIGEST_SIZE,
};

/* ---- the signature ---- */

static int check_signature(const struct phx_quote *q, const uint8_t *said, size_t n_said,
			   char ret_fp[PHX_FINGERPRINT_MAX], struct phx_err *err)
{
	uint8_t sig[SIGNATURE_BYTES_MAX];
	int n = phx_pki_unhex(q->tpm_signature, sig, sizeof(sig));
	PHX_AUTO_KEY EVP_PKEY *key = phx_pki_public_parse(q->tpm_key);
	PHX_AUTO_MD EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	if (!key || !EVP_PKEY_is_a(key, "EC"))
		return phx_pki_fail(err, -EINVAL, "the quote shows no public key of P-256");
	if (!ctx || EVP_DigestVerifyInit(ctx, NULL, phx_pki_digest_of(key), NULL, key) != 1)
		return phx_pki_fail(err, -ENOMEM, "out of memory");
	if (n <= 0 || EVP_DigestVerify(ctx, sig, (size_t)n, said, n_said) != 1)
		return phx_pki_fail(err, -EKEYREJECTED,
				    "the quote is not signed with the key that it shows");
	return phx_pki_fingerprint(key, ret_fp, err);
}

/* ---- what is said ---- */

/* The registers that we ask for, of SHA-256, and no others. */
static bool selects_ours(const TPML_PCR_SELECTION *sel)
{
	const TPMS_PCR_SELECTION *s = &sel->pcrSelections[0];
	if (sel->count != 1 || s->hash != TPM2_ALG_SHA256)
		return false;
	for (unsigned i = 0; i < s->sizeofSelect * 8u; i++)
		if ((s->pcrSelect[i / 8] >> (i % 8) & 1) != (i < PHX_QUOTE_PCRS))
			return false;
	return s->sizeofSelect * 8u >= PHX_QUOTE_PCRS;
}

static int check_pcrs(const struct phx_quote *q, const TPMS_QUOTE_INFO *info,
		      char ret[PHX_SHA256_HEX], struct phx_err *err)
{
	uint8_t values[PCRS_BYTES], digest[TPM2_SHA256_DIGEST_SIZE];
	if (!selects_ours(&info->pcrSelect) ||
	    phx_pki_unhex(q->tpm_pcrs, values, sizeof(values)) != PCRS_BYTES)
		return phx_err_set(err, -ERANGE, "the quote is not about the first %d registers",
				   PHX_QUOTE_PCRS);
	int r = phx_sha256_of(values, sizeof(values), ret);
	if (r < 0)
		return r;
	if (info->pcrDigest.size != sizeof(digest) ||
	    phx_pki_unhex(ret, digest, sizeof(digest)) != sizeof(digest) ||
	    memcmp(digest, info->pcrDigest.buffer, sizeof(digest)) != 0)
		return phx_err_set(err, -ERANGE, "the quote is about other values of registers");
	return 0;
}

/* A TPM signs with such a key nothing of its own that another could have made up: the first word
 * of it is the TPM's. */
static int check_said(const struct phx_quote *q, const uint8_t *said, size_t n,
		      const uint8_t data[PHX_QUOTE_DATA_SIZE], struct phx_quoted *ret,
		      struct phx_err *err)
{
	TPMS_ATTEST a;
	size_t at = 0;
	if (Tss2_MU_TPMS_ATTEST_Unmarshal(said, n, &at, &a) != TSS2_RC_SUCCESS || at != n ||
	    a.magic != TPM2_GENERATED_VALUE || a.type != TPM2_ST_ATTEST_QUOTE)
		return phx_err_set(err, -EINVAL, "that is no quote of a TPM");
	if (a.extraData.size != PHX_QUOTE_DATA_SIZE ||
	    memcmp(a.extraData.buffer, data, PHX_QUOTE_DATA_SIZE) != 0)
		return phx_err_set(err, -ESTALE, "the quote was made for something else");
	ret->resets = a.clockInfo.resetCount;
	return check_pcrs(q, &a.attested.quote, ret->pcrs, err);
}

int phx_quote_verify(const struct phx_quote *q, const uint8_t data[PHX_QUOTE_DATA_SIZE],
		     struct phx_quoted *ret, struct phx_err *err)
{
	uint8_t said[SAID_BYTES_MAX];
	struct phx_quoted quoted = {0};
	int n = phx_pki_unhex(q->tpm_said, said, sizeof(said));
	if (n <= 0)
		return phx_err_set(err, -EINVAL, "that is no quote of a TPM");
	int r = check_signature(q, said, (size_t)n, quoted.key, err);
	r = r ? r : check_said(q, said, (size_t)n, data, &quoted, err);
	if (r == 0)
		*ret = quoted;
	return r;
}
