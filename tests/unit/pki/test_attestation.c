/* Attestations of erases: whole ones are believed, and nothing else: no altered bit, no disk
 * without evidence, no evidence of another attempt, no gap between two of a node, and none that is
 * too old or of another key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <time.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/file.h"
#include "fake/key_signer.h"
#include "fake/tpm.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/tree.h"
#include "pki/attestation.h"
#include "types/readback.h"

#define SUM "5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f"

enum { NOW_MS = 1000000, UNTIL_MS = 2000000, FLIPS = 1000 };

static char dir[64], key[96], pub[96], node_key[96], other_key[96];
static struct phx_pki *site;
static struct phx_attestation a;
static struct phx_err err;

static const struct phx_signer signer = {.sign = fake_key_sign, .arg = key};

static struct phx_attested_disk *disk(uint32_t i)
{
	return PHX_LIST_AT(&a.disks, struct phx_attested_disk, i);
}

/* The deploy environment signs what stands in `said`, and shows its certificate. */
static void seal(struct phx_attested_disk *d, const char *with)
{
	struct phx_seal s;
	PHX_AUTO_FREE char *cert = phx_path("%s.pem", with);
	assert_int_equal(phx_statement_sign(&d->said, with, &s, &err), 0);
	PHX_STR_SET(d->key, s.key);
	PHX_STR_SET(d->signature, s.signature);
	assert_int_equal(phx_seal_certify(cert, &s, &err), 0);
	PHX_STR_SET(d->cert, s.cert);
	assert_int_equal(phx_statement_verify(&d->said, d->key, d->signature, d->signer, &err), 0);
}

static void add_disk(const char *id, uint64_t nonce)
{
	struct phx_attested_disk *d = phx_list_push(&a.disks, sizeof(*d));
	PHX_STR_SET(d->id, id);
	PHX_STR_SET(d->image, "deploy 1");
	d->size_bytes = 4096;
	d->nonce = nonce;
	d->said = (struct phx_statement){.node = "n1",
					 .step_id = 7,
					 .epoch = 5,
					 .nonce = nonce,
					 .boot_id = "boot",
					 .image_sha256 = "image",
					 .method = "overwrite",
					 .used = "overwrite",
					 .size_bytes = 4096,
					 .verified_bytes = 4096,
					 .places = 1,
					 .read_sha256 = SUM,
					 .detail = "zeros"};
	PHX_STR_SET(d->said.disk_id, id);
	seal(d, node_key);
}

/* A certificate for the key in that file. */
static char *certify(struct phx_pki *by, const char *path, enum phx_cert_kind kind,
		     const char *name)
{
	PHX_AUTO_FREE char *pem = NULL, *csr = NULL;
	char *cert = NULL;
	assert_int_equal(phx_file_read(path, 1 << 16, &pem, NULL, &err), 0);
	assert_int_equal(phx_csr_from_key(pem, "node", &csr, &err), 0);
	assert_int_equal(phx_cert_issue(by, csr, kind, name, 30, &cert, &err), 0);
	return cert;
}

static void write_node_key(const char *path)
{
	PHX_AUTO_FREE char *pem = NULL, *csr = NULL, *to = phx_path("%s.pem", path);
	assert_int_equal(phx_csr_make("node", &pem, &csr, &err), 0);
	assert_int_equal(phx_file_write(path, pem, strlen(pem), 0600, &err), 0);
	PHX_AUTO_FREE char *cert = certify(site, path, PHX_CERT_NODE, "n1");
	assert_int_equal(phx_file_write(to, cert, strlen(cert), 0600, &err), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-attest.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(key, sizeof(key), "%s/attest.key", dir);
	snprintf(pub, sizeof(pub), "%s/attest.pub", dir);
	snprintf(node_key, sizeof(node_key), "%s/node.key", dir);
	snprintf(other_key, sizeof(other_key), "%s/other.key", dir);
	phx_err_clear(&err);
	int r = phx_pki_open(dir, NULL, 0, &site, &err);
	write_node_key(node_key);
	write_node_key(other_key);
	a = (struct phx_attestation){.format = PHX_ATTESTATION_FORMAT,
				     .id = 7,
				     .node = "n1",
				     .from_owner = "hpc",
				     .to_owner = "bank",
				     .epoch = 5,
				     .reset = "kexec",
				     .tpm = "none",
				     .made_ms = NOW_MS - 1,
				     .until_ms = UNTIL_MS};
	assert_int_equal(phx_pub_fingerprint(pub, a.key, &err), 0);
	add_disk("serial-1", 4711);
	add_disk("serial-2", 4712);
	return r;
}

static int teardown(void **state)
{
	(void)state;
	phx_record_fini(&phx_attestation_record, &a);
	phx_pki_free(site);
	site = NULL;
	return phx_dir_remove(dir, NULL);
}

__attribute__((noinline)) static char *text_of(void)
{
	char *text = NULL;
	assert_int_equal(phx_attestation_text(&a, &signer, &text, &err), 0);
	return text;
}

static int verify_text(const char *text, size_t n, const char *with, int64_t now_ms)
{
	struct phx_attestation got = {0};
	phx_err_clear(&err);
	int r = phx_attestation_verify(text, n, with, phx_pki_ca_pem(site), now_ms, &got, &err);
	assert_true(r == 0 || err.text[0]);
	/* a document of before has not all of it */
	if (r == 0 && a.format == PHX_ATTESTATION_FORMAT)
		assert_true(phx_record_equal(&phx_attestation_record, &got, &a));
	phx_record_fini(&phx_attestation_record, &got);
	return r;
}

/* What is said of it as it is now, the head having signed all of it. */
static int verify(void)
{
	PHX_AUTO_FREE char *text = text_of();
	return verify_text(text, strlen(text), pub, NOW_MS);
}

static void a_whole_one_is_believed(void **state)
{
	(void)state;
	assert_int_equal(verify(), 0);
}

static void any_altered_bit_is_found(void **state)
{
	PHX_AUTO_FREE char *text = text_of();
	size_t n = strlen(text);
	struct phx_rng rng = {20260801};
	(void)state;
	for (int i = 0; i < FLIPS; i++) {
		size_t at = phx_rng_below(&rng, n);
		char bit = (char)(1 << phx_rng_below(&rng, 8));
		text[at] ^= bit;
		if (verify_text(text, n, pub, NOW_MS) == 0)
			fail_msg("bit %d of byte %zu can be altered", bit, at);
		text[at] ^= bit;
	}
	assert_int_equal(verify_text(text, n, pub, NOW_MS), 0);
}

static void what_is_cut_off_or_added_is_found(void **state)
{
	PHX_AUTO_FREE char *text = text_of();
	PHX_AUTO_FREE char *more = phx_path("%s ", text);
	size_t n = strlen(text);
	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(verify_text(text, i, pub, NOW_MS), -EINVAL);
	assert_int_equal(verify_text(more, n + 1, pub, NOW_MS), -EINVAL);
	assert_int_equal(verify_text(text, n + 1, pub, NOW_MS), -EINVAL); /* its end */
	/* of which every byte counts */
	for (size_t i = 1; i <= 8; i++) {
		text[n - i] ^= 1;
		assert_true(verify_text(text, n, pub, NOW_MS) < 0);
		text[n - i] ^= 1;
	}
}

/* What somebody shows as a node's key is one of ours, and nothing else. */
static void a_key_that_is_none_signs_nothing(void **state)
{
	struct phx_attested_disk *d = disk(0);
	char fp[PHX_FINGERPRINT_MAX], key_hex[PHX_STATEMENT_KEY_MAX + 2];
	EVP_PKEY *weak = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)512);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	PHX_AUTO_FREE char *said = phx_json_record_text(&phx_statement_record, &d->said);
	unsigned char *der = NULL, sig[64];
	size_t n_sig = sizeof(sig);
	(void)state;
	int n = weak ? i2d_PUBKEY(weak, &der) : 0;
	assert_in_range(n, 1, sizeof(key_hex) / 2 - 1);
	phx_hex(der, (size_t)n, key_hex);
	assert_int_equal(EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, weak), 1);
	assert_int_equal(EVP_DigestSign(ctx, sig, &n_sig, (unsigned char *)said, strlen(said)), 1);
	phx_hex(sig, n_sig, d->signature);
	assert_int_equal(phx_statement_verify(&d->said, key_hex, d->signature, fp, &err), -EINVAL);
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(weak);
	OPENSSL_free(der);
	/* a right one, and bytes behind it */
	seal(d, node_key);
	snprintf(key_hex, sizeof(key_hex), "%s00", d->key);
	assert_int_equal(phx_statement_verify(&d->said, key_hex, d->signature, fp, &err), -EINVAL);
	assert_int_equal(phx_statement_verify(&d->said, d->key, d->signature, fp, &err), 0);
}

/* The same object, written in another way, or with more in it. */
static void there_is_one_way_to_write_it(void **state)
{
	PHX_AUTO_FREE char *text = text_of();
	static const char *const ways[][2] = {{"{\"format\":4,", "{\"format\": 4,"},
					      {"{\"format\":4,", "{\"format\":04,"},
					      {"{\"format\":4,", "{\"more\":1,\"format\":4,"},
					      {"{\"format\":4,", "{\"format\":2,"},
					      {"{\"format\":4,", "{\"format\":3,"},
					      {"{\"format\":4,", "{\"format\":5,"},
					      {"\"kexec\"", "\"\\u006bexec\""}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ways); i++) {
		assert_non_null(strstr(text, ways[i][0]));
		size_t at = (size_t)(strstr(text, ways[i][0]) - text);
		PHX_AUTO_FREE char *other = phx_path("%.*s%s%s", (int)at, text, ways[i][1],
						     text + at + strlen(ways[i][0]));
		assert_int_equal(verify_text(other, strlen(other), pub, NOW_MS), -EINVAL);
	}
}

static void a_list_of_nothing_is_not_stored(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	(void)state;
	phx_buf_addf(&b, "{\"attestation\":{\"disks\":[");
	for (int i = 0; i < 10000; i++)
		phx_buf_addf(&b, "%s{}", i ? "," : "");
	phx_buf_addf(&b, "]},\"signature\":\"%0128d\"}\n", 0);
	assert_int_equal(verify_text(b.data, b.n, pub, NOW_MS), -EINVAL);
	assert_non_null(strstr(err.text, "more than 512"));
}

static void a_disk_without_evidence_is_named(void **state)
{
	(void)state;
	struct phx_attested_disk d = {.id = "serial-2"};
	*disk(1) = d;
	assert_int_equal(verify(), -ENODATA);
	assert_non_null(strstr(err.text, "serial-2"));
	phx_list_remove(&a.disks, sizeof(struct phx_attested_disk), 1);
	assert_int_equal(verify(), 0);
	phx_list_remove(&a.disks, sizeof(struct phx_attested_disk), 0);
	assert_int_equal(verify(), -ENODATA);
}

static void no_number(struct phx_attested_disk *d)
{
	d->nonce = d->said.nonce = 0;
}

static void nothing_read(struct phx_attested_disk *d)
{
	d->said.verified_bytes = 0;
}

static void no_digest(struct phx_attested_disk *d)
{
	d->said.read_sha256[0] = '\0';
}

static void no_image(struct phx_attested_disk *d)
{
	d->said.image_sha256[0] = '\0';
}

/* Though the node has signed what is left. */
static void each_piece_of_evidence_is_needed(void **state)
{
	static void (*const missing[])(struct phx_attested_disk * d) = {no_number, nothing_read,
									no_digest, no_image};
	(void)state;
	for (uint32_t i = 0; i < a.disks.n; i++) {
		struct phx_attested_disk was = *disk(i);
		for (size_t k = 0; k < PHX_ARRAY_SIZE(missing); k++) {
			missing[k](disk(i));
			seal(disk(i), node_key);
			assert_int_equal(verify(), -ENODATA);
			*disk(i) = was;
		}
		disk(i)->signature[0] = '\0';
		assert_int_equal(verify(), -ENODATA);
		*disk(i) = was;
		assert_int_equal(verify(), 0);
	}
}

/* Root on the head signs what he likes with the head's key; the nodes' keys he does not have. */
static void what_the_node_signed_cannot_be_altered(void **state)
{
	(void)state;
	disk(1)->said.verified_bytes++;
	assert_int_equal(verify(), -EKEYREJECTED);
	assert_non_null(strstr(err.text, "serial-2"));
	disk(1)->said.verified_bytes--;
	assert_int_equal(verify(), 0);
	struct phx_attested_disk was = *disk(1);
	seal(disk(1), other_key);
	PHX_STR_SET(disk(1)->signer, was.signer);
	assert_int_equal(verify(), -EKEYREJECTED);
}

static void evidence_is_of_this_attempt(void **state)
{
	static const char *const words[] = {"another attempt", "another disk", "another node",
					    "another plan",    "a step after", "less than"};
	struct phx_attested_disk was = *disk(0);
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++) {
		struct phx_attested_disk *d = disk(0);
		*d = was;
		switch (i) {
		case 0:
			d->said.nonce++;
			break;
		case 1:
			PHX_STR_SET(d->said.disk_id, "serial-3");
			break;
		case 2:
			PHX_STR_SET(d->said.node, "n2");
			break;
		case 3:
			d->said.epoch--;
			break;
		case 4:
			d->said.step_id = a.id + 1;
			break;
		default:
			d->said.size_bytes--;
		}
		seal(d, node_key);
		assert_int_equal(verify(), -ESTALE);
		assert_non_null(strstr(err.text, words[i]));
	}
}

static void another_key_is_named(void **state)
{
	struct phx_pki *pki = NULL;
	PHX_AUTO_FREE char *there = phx_path("%s/other", dir), *with = NULL;
	PHX_AUTO_FREE char *text = text_of();
	(void)state;
	assert_int_equal(phx_pki_open(there, NULL, 0, &pki, &err), 0);
	phx_pki_free(pki);
	with = phx_path("%s/attest.pub", there);
	assert_int_equal(verify_text(text, strlen(text), with, NOW_MS), -ENOKEY);
	/* it says of itself that it is of that key */
	assert_int_equal(phx_pub_fingerprint(with, a.key, &err), 0);
	PHX_AUTO_FREE char *lies = text_of();
	assert_int_equal(verify_text(lies, strlen(lies), with, NOW_MS), -EKEYREJECTED);
	assert_int_equal(verify_text(text, strlen(text), "/nonexistent", NOW_MS), -ENOENT);
}

/* ---- whose key it was ---- */

/* The object that the head has signed, as it is now. */
static int check(const char *ca_pem)
{
	PHX_AUTO_FREE char *text = text_of();
	char *body = strchr(text, ':') + 1, *end = strstr(body, ",\"signature\":\"");
	/* the disks have such members, too: the last one ends it */
	for (char *next = end; next; next = strstr(next + 1, ",\"signature\":\""))
		end = next;
	*end = '\0';
	phx_err_clear(&err);
	return phx_attestation_check(body, ca_pem, &err);
}

static int verify_without_ca(void)
{
	struct phx_attestation got = {0};
	PHX_AUTO_FREE char *text = text_of();
	int r = phx_attestation_verify(text, strlen(text), pub, NULL, NOW_MS, &got, &err);
	phx_record_fini(&phx_attestation_record, &got);
	return r;
}

static void shows(struct phx_pki *by, const char *path, enum phx_cert_kind kind, const char *name)
{
	PHX_AUTO_FREE char *cert = certify(by, path, kind, name);
	PHX_STR_SET(disk(1)->cert, cert);
}

/* Who has the head makes a key on the spot, and signs with it and with the head's. */
static void a_key_that_the_site_did_not_certify_proves_nothing(void **state)
{
	PHX_AUTO_FREE char *there = phx_path("%s/other", dir);
	struct phx_pki *other = NULL;
	(void)state;
	assert_int_equal(phx_pki_open(there, NULL, 0, &other, &err), 0);
	assert_int_equal(check(phx_pki_ca_pem(site)), 0);
	shows(other, node_key, PHX_CERT_NODE, "n1");
	assert_int_equal(verify(), -EPERM);
	assert_non_null(strstr(err.text, "disk serial-2: nothing proves whose key"));
	assert_int_equal(check(phx_pki_ca_pem(site)), -EPERM);
	/* who has no CA is not told */
	assert_int_equal(verify_without_ca(), 0);
	disk(1)->cert[0] = '\0';
	assert_int_equal(verify(), -EPERM);
	assert_int_equal(verify_without_ca(), -EPERM);
	assert_int_equal(check(phx_pki_ca_pem(site)), -EPERM);
	phx_pki_free(other);
}

static void the_certificate_is_of_that_key_that_node_and_that_time(void **state)
{
	(void)state;
	shows(site, node_key, PHX_CERT_NODE, "n1");
	assert_int_equal(verify(), 0);
	shows(site, other_key, PHX_CERT_NODE, "n1");
	assert_int_equal(verify(), -EPERM);
	assert_int_equal(verify_without_ca(), -EPERM);
	shows(site, node_key, PHX_CERT_NODE, "n2");
	assert_int_equal(verify(), -EPERM);
	shows(site, node_key, PHX_CERT_USER, "n1");
	assert_int_equal(verify(), -EPERM);
	shows(site, node_key, PHX_CERT_NODE, "n1");
	disk(1)->erased_ms = (time(NULL) + 31 * 24 * 3600) * 1000;
	assert_int_equal(verify(), -EPERM);
	assert_int_equal(check(phx_pki_ca_pem(site)), -EPERM);
	disk(1)->erased_ms = (time(NULL) + 29 * 24 * 3600) * 1000;
	assert_int_equal(verify(), 0);
}

/* What is signed anew shows whose keys they were; what was signed before does not. */
static void documents_of_before_are_not_signed_again(void **state)
{
	(void)state;
	assert_true(phx_attestation_shows_signers(&a));
	assert_int_equal(check(phx_pki_ca_pem(site)), 0);
	for (a.format = 1; a.format < PHX_ATTESTATION_FORMAT; a.format++) {
		assert_int_equal(check(phx_pki_ca_pem(site)), -EINVAL);
		assert_int_equal(verify(), 0);
		assert_int_equal(phx_attestation_shows_signers(&a), a.format == 3);
	}
	/* nor is one that proves nothing */
	disk(0)->said.nonce++;
	seal(disk(0), node_key);
	assert_int_equal(check(phx_pki_ca_pem(site)), -ESTALE);
	assert_int_equal(phx_attestation_check("{\"format\":3}", phx_pki_ca_pem(site), &err),
			 -EINVAL);
}

/* What the node signed is that it read less than it had to. */
static void too_little_read_proves_nothing(void **state)
{
	struct phx_attested_disk *d = disk(1);
	(void)state;
	d->size_bytes = d->said.size_bytes = 4ULL << 30;
	uint64_t least =
		phx_readback_least(d->said.size_bytes, PHX_WIPE_OVERWRITE, PHX_VERIFY_SAMPLE);
	d->said.verified_bytes = least - 1;
	seal(d, node_key);
	assert_int_equal(verify(), -ENODATA);
	assert_non_null(strstr(err.text, "disk serial-2: "));
	assert_non_null(strstr(err.text, "its ends and 1 % of it are"));
	d->said.verified_bytes = least;
	seal(d, node_key);
	assert_int_equal(verify(), 0);
	/* all of it was ordered */
	d->verify = PHX_VERIFY_FULL;
	assert_int_equal(verify(), -ENODATA);
	assert_non_null(strstr(err.text, "all of them are 4294967296"));
	d->said.verified_bytes = d->said.size_bytes;
	seal(d, node_key);
	assert_int_equal(verify(), 0);
	/* of a destroyed key its tables, whatever was ordered */
	PHX_STR_SET(d->said.used, "crypto");
	d->said.verified_bytes = 2 << 20;
	seal(d, node_key);
	assert_int_equal(verify(), 0);
	d->said.verified_bytes--;
	seal(d, node_key);
	assert_int_equal(verify(), -ENODATA);
}

static void an_old_one_does_not_count(void **state)
{
	PHX_AUTO_FREE char *text = text_of();
	struct phx_attestation got = {0};
	(void)state;
	assert_int_equal(verify_text(text, strlen(text), pub, UNTIL_MS), 0);
	int r = phx_attestation_verify(text, strlen(text), pub, NULL, UNTIL_MS + 1, &got, &err);
	assert_int_equal(r, -ETIME);
	assert_non_null(strstr(err.text, "1970-01-01"));
	assert_string_equal(got.node, "n1");
	phx_record_fini(&phx_attestation_record, &got);
}

static void one_follows_the_other(void **state)
{
	char digest[PHX_SHA256_HEX];
	PHX_AUTO_FREE char *text = text_of();
	struct phx_attestation next = {.id = 9, .node = "n1"};
	(void)state;
	assert_int_equal(phx_attestation_digest(text, strlen(text), digest), 0);
	PHX_STR_SET(next.previous, digest);
	assert_int_equal(phx_attestation_follows(&a, digest, &next, &err), 0);
	PHX_STR_SET(next.node, "n2");
	assert_int_equal(phx_attestation_follows(&a, digest, &next, &err), -EXDEV);
	PHX_STR_SET(next.node, "n1");
	next.previous[3] ^= 1;
	assert_int_equal(phx_attestation_follows(&a, digest, &next, &err), -EXDEV);
	next.previous[0] = '\0';
	phx_err_clear(&err);
	assert_int_equal(phx_attestation_follows(&a, digest, &next, &err), -EXDEV);
	assert_non_null(strstr(err.text, "attestation 9 of n1 does not follow 7"));
}

/* ---- the machine's TPM ---- */

static struct fake_tpm tpm;

/* The machine has one, which signs every erase. */
static int setup_with_tpm(void **state)
{
	uint8_t data[PHX_QUOTE_DATA_SIZE];
	struct phx_quoted quoted;
	int r = setup(state);
	fake_tpm_init(&tpm);
	PHX_STR_SET(a.tpm, "quoted");
	PHX_LIST_EACH(struct phx_attested_disk, d, &a.disks) {
		assert_int_equal(phx_statement_digest(&d->said, data), 0);
		assert_int_equal(fake_tpm_quote(&tpm, data, &d->quote), 0);
		assert_int_equal(phx_quote_verify(&d->quote, data, &quoted, &err), 0);
	}
	PHX_STR_SET(a.tpm_key, quoted.key);
	return r;
}

static int teardown_with_tpm(void **state)
{
	fake_tpm_fini(&tpm);
	return teardown(state);
}

static void what_the_tpm_signed_is_believed(void **state)
{
	(void)state;
	assert_int_equal(verify(), 0);
}

static void a_disk_that_the_tpm_did_not_sign_is_told(void **state)
{
	(void)state;
	disk(1)->quote = (struct phx_quote){0};
	assert_int_equal(verify(), -EKEYREJECTED);
	assert_non_null(strstr(err.text, "disk serial-2: the machine's TPM"));
}

static void the_quote_of_another_disk_is_told(void **state)
{
	(void)state;
	disk(1)->quote = disk(0)->quote;
	assert_int_equal(verify(), -EKEYREJECTED);
}

static void the_quote_of_another_tpm_is_told(void **state)
{
	uint8_t data[PHX_QUOTE_DATA_SIZE];
	struct fake_tpm other;
	(void)state;
	fake_tpm_init(&other);
	assert_int_equal(phx_statement_digest(&disk(1)->said, data), 0);
	assert_int_equal(fake_tpm_quote(&other, data, &disk(1)->quote), 0);
	fake_tpm_fini(&other);
	assert_int_equal(verify(), -ESTALE);
}

static void who_names_no_tpm_says_so(void **state)
{
	(void)state;
	a.tpm_key[0] = '\0';
	assert_int_equal(verify(), -EINVAL);
	PHX_STR_SET(a.tpm, "none");
	assert_int_equal(verify(), 0);
}

/* Format 1 knows of no TPMs, nor 2 of how much was to be read; each is as it was written. */
static void a_document_of_before_is_believed(void **state)
{
	(void)state;
	a.format = 1;
	assert_int_equal(verify(), 0);
	PHX_AUTO_FREE char *text = text_of();
	assert_null(strstr(text, "quote"));
	assert_null(strstr(text, "tpm_key"));
	assert_null(strstr(text, "\"cert\""));
	assert_null(strstr(text, "\"verify\""));
	a.format = 2;
	assert_int_equal(verify(), 0);
	PHX_AUTO_FREE char *second = text_of();
	assert_non_null(strstr(second, "quote"));
	assert_null(strstr(second, "\"cert\""));
	assert_null(strstr(second, "\"verify\""));
	/* what they do not say is not asked for; what is read by samples is */
	disk(1)->size_bytes = disk(1)->said.size_bytes = 8192;
	seal(disk(1), node_key);
	assert_int_equal(verify(), -ENODATA);
	disk(1)->said.verified_bytes = 8192;
	seal(disk(1), node_key);
	assert_int_equal(verify(), 0);
	a.format = 3;
	assert_int_equal(verify(), 0);
	PHX_AUTO_FREE char *third = text_of();
	assert_non_null(strstr(third, "\"cert\""));
	assert_null(strstr(third, "\"left\""));
	a.format = PHX_ATTESTATION_FORMAT + 1;
	assert_int_equal(verify(), -EINVAL);
}

/* ---- disks that were left ---- */

static void leave(uint32_t i)
{
	struct phx_attested_disk d = {.size_bytes = 4096, .left = "remote (fc)"};
	PHX_STR_SET(d.id, disk(i)->id);
	*disk(i) = d;
}

static void a_disk_that_was_left_needs_no_evidence(void **state)
{
	(void)state;
	assert_int_equal(phx_attestation_left(&a), 0);
	leave(1);
	assert_int_equal(phx_attestation_left(&a), 1);
	assert_int_equal(verify(), 0);
	assert_int_equal(check(phx_pki_ca_pem(site)), 0);
	/* the other one needs its own all the same */
	disk(0)->said.nonce++;
	seal(disk(0), node_key);
	assert_int_equal(verify(), -ESTALE);
}

static void a_disk_that_was_left_does_not_look_erased(void **state)
{
	(void)state;
	PHX_STR_SET(disk(1)->left, "remote (fc)");
	assert_int_equal(verify(), -EINVAL);
	assert_non_null(strstr(err.text, "that it was left, and that it was erased"));
	leave(1);
	disk(1)->nonce = 1;
	assert_int_equal(verify(), -EINVAL);
	leave(1);
	disk(1)->erased_ms = 1;
	assert_int_equal(verify(), -EINVAL);
}

static void nothing_but_left_disks_proves_nothing(void **state)
{
	(void)state;
	leave(0);
	leave(1);
	assert_int_equal(verify(), -ENODATA);
	assert_non_null(strstr(err.text, "no disk that was erased"));
	assert_int_equal(check(phx_pki_ca_pem(site)), -ENODATA);
}

/* Documents of before know of none: the word would not be signed. */
static void none_was_left_before(void **state)
{
	(void)state;
	leave(1);
	a.format = 3;
	assert_int_equal(verify(), -ENODATA);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_whole_one_is_believed),
		T(any_altered_bit_is_found),
		T(what_is_cut_off_or_added_is_found),
		T(there_is_one_way_to_write_it),
		T(a_list_of_nothing_is_not_stored),
		T(a_disk_without_evidence_is_named),
		T(each_piece_of_evidence_is_needed),
		T(a_key_that_is_none_signs_nothing),
		T(what_the_node_signed_cannot_be_altered),
		T(evidence_is_of_this_attempt),
		T(another_key_is_named),
		T(a_key_that_the_site_did_not_certify_proves_nothing),
		T(the_certificate_is_of_that_key_that_node_and_that_time),
		T(documents_of_before_are_not_signed_again),
		T(too_little_read_proves_nothing),
		T(an_old_one_does_not_count),
		T(one_follows_the_other),
		T(a_disk_that_was_left_needs_no_evidence),
		T(a_disk_that_was_left_does_not_look_erased),
		T(nothing_but_left_disks_proves_nothing),
		T(none_was_left_before),
#undef T
#define T(f) cmocka_unit_test_setup_teardown(f, setup_with_tpm, teardown_with_tpm)
		T(what_the_tpm_signed_is_believed),
		T(a_disk_that_the_tpm_did_not_sign_is_told),
		T(the_quote_of_another_disk_is_told),
		T(the_quote_of_another_tpm_is_told),
		T(who_names_no_tpm_says_so),
		T(any_altered_bit_is_found),
#undef T
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(a_document_of_before_is_believed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
