/* Attestations of erases. What is taken is written and read back the same, nothing that the head
 * did not sign is believed, and, whatever the head signs, each disk of what is believed was signed
 * for by a node, for the head's own attempt.
 * Parsers: lib/pki/attestation.c lib/pki/statement.c */
#include "fuzz/fuzz.h"
#include "fake/tpm.h"
#include "pki/attestation.h"

#include <errno.h>
#include <string.h>

enum { NOW_MS = 1000 };

static char pub[128], key[128], node_key[128];
static struct phx_pki *site;
static char *node_csr;

static int sign(void *arg, const char *text, char ret[PHX_ANCHOR_SIGNATURE_MAX],
		struct phx_err *err)
{
	uint8_t sig[PHX_SIG_SIZE];
	(void)arg;
	fuzz_never(phx_sign(key, text, strlen(text), sig, err) < 0);
	phx_hex(sig, sizeof(sig), ret);
	return 0;
}

/* A site's keys, and a node's. */
static void make_keys(void)
{
	PHX_AUTO_FREE char *pem = NULL;
	if (pub[0])
		return;
	fuzz_never(phx_pki_open(fuzz_dir(), NULL, 0, &site, NULL) < 0);
	fuzz_never(phx_csr_make("node", &pem, &node_csr, NULL) < 0);
	snprintf(node_key, sizeof(node_key), "%s", fuzz_file("node.key", pem, strlen(pem)));
	snprintf(key, sizeof(key), "%s/attest.key", fuzz_dir());
	snprintf(pub, sizeof(pub), "%s/attest.pub", fuzz_dir());
}

/* Any erase reads back something, and one that was to read all has. */
static bool too_little(const struct phx_attested_disk *d)
{
	bool all = d->verify == PHX_VERIFY_FULL && strcmp(d->said.used, "crypto") != 0;
	return !d->said.verified_bytes || (all && d->said.verified_bytes < d->said.size_bytes);
}

static void must_be_proven(const struct phx_attestation *a)
{
	fuzz_never(!a->disks.n || NOW_MS > a->until_ms);
	PHX_LIST_EACH(struct phx_attested_disk, d, &a->disks)
		fuzz_never(!d->nonce || d->said.nonce != d->nonce ||
			   strcmp(d->said.disk_id, d->id) || strcmp(d->said.node, a->node) ||
			   d->said.epoch != a->epoch || too_little(d) || !d->said.read_sha256[0]);
}

static int verify(const char *text, size_t n)
{
	struct phx_attestation a = {0};
	struct phx_err err = {0};
	int r = phx_attestation_verify(text, n, pub, phx_pki_ca_pem(site), NOW_MS, &a, &err);
	fuzz_never(r > 0 || (r < 0 && !err.text[0]));
	if (r == 0)
		must_be_proven(&a);
	phx_record_fini(&phx_attestation_record, &a);
	return r;
}

static void signed_by_the_head(struct phx_attestation *a)
{
	const struct phx_signer signer = {.sign = sign, .arg = NULL};
	PHX_AUTO_FREE char *text = NULL;
	char digest[PHX_SHA256_HEX];
	fuzz_never(phx_pub_fingerprint(pub, a->key, NULL) < 0);
	fuzz_never(phx_attestation_text(a, &signer, &text, NULL) < 0);
	int r = verify(text, strlen(text));
	fuzz_never(r == -EKEYREJECTED && !a->disks.n);
	fuzz_never(phx_attestation_digest(text, strlen(text), digest) < 0);
	/* none is its own successor: its digest would have to be in it */
	fuzz_never(phx_attestation_follows(a, digest, a, NULL) == 0);
	PHX_STR_SET(a->previous, digest);
	fuzz_never(phx_attestation_follows(a, digest, a, NULL) < 0);
}

static void signed_by_the_node(struct phx_attestation *a)
{
	struct phx_seal seal;
	PHX_AUTO_FREE char *cert = NULL;
	if (phx_name_valid(a->node))
		fuzz_never(phx_cert_issue(site, node_csr, PHX_CERT_NODE, a->node, 30, &cert, NULL) <
			   0);
	const char *node_cert = cert ? fuzz_file("node.pem", cert, strlen(cert)) : NULL;
	PHX_LIST_EACH(struct phx_attested_disk, d, &a->disks) {
		fuzz_never(phx_statement_sign(&d->said, node_key, &seal, NULL) < 0);
		PHX_STR_SET(d->key, seal.key);
		PHX_STR_SET(d->signature, seal.signature);
		if (cert)
			fuzz_never(phx_seal_certify(node_cert, &seal, NULL) < 0);
		PHX_STR_SET(d->cert, seal.cert);
		fuzz_never(phx_statement_verify(&d->said, d->key, d->signature, d->signer, NULL) <
			   0);
	}
}

/* All but the last disk, if there is more than one: then it is not proven. */
static void signed_by_the_tpm(struct phx_attestation *a)
{
	static struct fake_tpm tpm;
	uint8_t data[PHX_QUOTE_DATA_SIZE];
	struct phx_quoted quoted;
	if (!tpm.key)
		fake_tpm_init(&tpm);
	a->format = PHX_ATTESTATION_FORMAT;
	PHX_STR_SET(a->tpm, "quoted");
	PHX_LIST_EACH(struct phx_attested_disk, d, &a->disks) {
		fuzz_never(phx_statement_digest(&d->said, data) < 0);
		if (d == PHX_LIST_AT(&a->disks, struct phx_attested_disk, a->disks.n - 1) &&
		    a->disks.n > 1)
			continue;
		fuzz_never(fake_tpm_quote(&tpm, data, &d->quote) < 0);
		fuzz_never(phx_quote_verify(&d->quote, data, &quoted, NULL) < 0);
		PHX_STR_SET(a->tpm_key, quoted.key);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct phx_signer none = {.sign = sign, .arg = NULL};
	char signature[PHX_ANCHOR_SIGNATURE_MAX];
	PHX_AUTO_FREE char *text = fuzz_text(data, n), *again = NULL;
	struct phx_attestation a;
	struct phx_err err = {0};
	make_keys();
	fuzz_never(verify(text, n) == 0);
	int r = phx_attestation_parse(text, n, &a, signature, &err);
	fuzz_never(r < 0 && !err.text[0]);
	if (r < 0)
		return 0;
	fuzz_never(strlen(signature) != 2 * PHX_SIG_SIZE);
	fuzz_never(phx_attestation_text(&a, &none, &again, NULL) < 0);
	fuzz_never(strlen(again) != n || memcmp(again, text, n - 2 * PHX_SIG_SIZE - 3));
	signed_by_the_head(&a);
	signed_by_the_node(&a);
	signed_by_the_head(&a);
	signed_by_the_tpm(&a);
	signed_by_the_head(&a);
	phx_record_fini(&phx_attestation_record, &a);
	return 0;
}
