/* Quotes of TPMs: what a machine says that its chip signed. As it is given nothing of it is
 * believed, for no key is known; then a TPM of ours signs the same, and whatever it is, what is
 * believed was made for these data, of all registers and of the values that are shown.
 * Parsers: lib/pki/quote.c */
#include "fuzz/fuzz.h"
#include "fake/tpm.h"

#include "base/json.h"

/* Signs what is said with a key of ours. */
static void sign(struct phx_quote *q, const uint8_t *said, size_t n)
{
	static struct fake_tpm tpm;
	uint8_t sig[128];
	unsigned char *der = NULL;
	size_t n_sig = sizeof(sig);
	if (!tpm.key)
		fake_tpm_init(&tpm);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	int n_der = i2d_PUBKEY(tpm.key, &der);
	fuzz_never(!ctx || n_der <= 0 ||
		   EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, tpm.key) != 1 ||
		   EVP_DigestSign(ctx, sig, &n_sig, said, n) != 1);
	phx_hex(sig, n_sig, q->tpm_signature);
	phx_hex(der, (size_t)n_der, q->tpm_key);
	OPENSSL_free(der);
	EVP_MD_CTX_free(ctx);
}

/* For data that stand in it, wherever: else nothing would be believed. */
static void verify(const struct phx_quote *q, const uint8_t *said, size_t n)
{
	struct phx_quoted got;
	struct phx_err err = {0};
	char sum[PHX_SHA256_HEX];
	size_t at = n < 80 ? 0 : 10u + said[7] % 64; /* behind the name of the key */
	uint8_t data[PHX_QUOTE_DATA_SIZE] = {0};
	memcpy(data, said + at, n - at < sizeof(data) ? n - at : sizeof(data));
	int r = phx_quote_verify(q, data, &got, &err);
	fuzz_never(r > 0 || (r < 0 && !err.text[0]));
	if (r < 0)
		return;
	/* the sum is that of the digits, whatever they are */
	fuzz_never(strlen(q->tpm_pcrs) != sizeof(q->tpm_pcrs) - 1);
	fuzz_never(phx_sha256_of("", 0, sum) < 0 || !strcmp(sum, got.pcrs));
	data[0] ^= 1;
	fuzz_never(phx_quote_verify(q, data, &got, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const uint8_t none[PHX_QUOTE_DATA_SIZE] = {0};
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	uint8_t said[PHX_QUOTE_SAID_MAX / 2];
	size_t n_said = 0;
	struct phx_quote q;
	struct phx_quoted got;
	struct phx_err err = {0};
	if (phx_json_text_to_record(&phx_quote_record, text, &q, NULL) < 0)
		return 0;
	int r = phx_quote_verify(&q, none, &got, &err);
	fuzz_never(r >= 0 || !err.text[0]);
	for (const char *c = q.tpm_said; c[0] && c[1] && n_said < sizeof(said); c += 2) {
		unsigned byte = 0;
		sscanf(c, "%2x", &byte);
		said[n_said++] = (uint8_t)byte;
	}
	if (!n_said)
		return 0;
	phx_hex(said, n_said, q.tpm_said);
	sign(&q, said, n_said);
	verify(&q, said, n_said);
	return 0;
}
