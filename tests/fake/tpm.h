/* A TPM that lies: it signs whatever it is told to with a key in memory. For tests of who believes
 * quotes; a real one, in software, is asked in tests/unit/tpm. */
#ifndef PHX_FAKE_TPM_H
#define PHX_FAKE_TPM_H

#include <string.h>

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <tss2/tss2_mu.h>

#include "base/file.h"
#include "pki/quote.h"

struct fake_tpm {
	EVP_PKEY *key;
	uint32_t resets;
	uint32_t magic;              /* 0: what a TPM says */
	unsigned left_out;           /* that register is not quoted; 0: all are */
	uint8_t pcr[PHX_QUOTE_PCRS]; /* the last byte of each; the others are 0 */
};

static inline void fake_tpm_init(struct fake_tpm *t)
{
	*t = (struct fake_tpm){.key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256"), .resets = 1};
}

static inline void fake_tpm_fini(struct fake_tpm *t)
{
	EVP_PKEY_free(t->key);
	t->key = NULL;
}

static inline void fake_tpm_pcrs(const struct fake_tpm *t, struct phx_quote *q,
				 TPM2B_DIGEST *ret_digest)
{
	uint8_t all[PHX_QUOTE_PCRS][32] = {{0}};
	size_t n;
	for (int i = 0; i < PHX_QUOTE_PCRS; i++)
		all[i][31] = t->pcr[i];
	phx_hex(all, sizeof(all), q->tpm_pcrs);
	EVP_Q_digest(NULL, "SHA256", NULL, all, sizeof(all), ret_digest->buffer, &n);
	ret_digest->size = (UINT16)n;
}

/** A quote for `data`; -1: OpenSSL would not. */
static inline int fake_tpm_quote(const struct fake_tpm *t, const uint8_t data[PHX_QUOTE_DATA_SIZE],
				 struct phx_quote *ret)
{
	TPMS_ATTEST a = {.magic = t->magic ? t->magic : TPM2_GENERATED_VALUE,
			 .type = TPM2_ST_ATTEST_QUOTE,
			 .extraData.size = PHX_QUOTE_DATA_SIZE,
			 .clockInfo.resetCount = t->resets,
			 .clockInfo.safe = 1};
	TPMS_PCR_SELECTION *sel = &a.attested.quote.pcrSelect.pcrSelections[0];
	uint8_t said[sizeof(a)], sig[128];
	unsigned char *der = NULL;
	size_t n_said = 0, n_sig = sizeof(sig);
	*ret = (struct phx_quote){0};
	memcpy(a.extraData.buffer, data, PHX_QUOTE_DATA_SIZE);
	a.attested.quote.pcrSelect.count = 1;
	*sel = (TPMS_PCR_SELECTION){TPM2_ALG_SHA256, 3, {0xff, 0x03}};
	if (t->left_out)
		sel->pcrSelect[0] = (BYTE)(sel->pcrSelect[0] & ~(1u << t->left_out));
	fake_tpm_pcrs(t, ret, &a.attested.quote.pcrDigest);
	if (Tss2_MU_TPMS_ATTEST_Marshal(&a, said, sizeof(said), &n_said) != TSS2_RC_SUCCESS)
		return -1;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	int n = i2d_PUBKEY(t->key, &der);
	int ok = ctx && n > 0 && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, t->key) == 1 &&
		EVP_DigestSign(ctx, sig, &n_sig, said, n_said) == 1;
	if (ok) {
		phx_hex(said, n_said, ret->tpm_said);
		phx_hex(sig, n_sig, ret->tpm_signature);
		phx_hex(der, (size_t)n, ret->tpm_key);
	}
	OPENSSL_free(der);
	EVP_MD_CTX_free(ctx);
	return ok ? 0 : -1;
}

#endif
