/* What a deploy environment signed of an erase (cmd/phxd/seal.c): whose signature it is, and for
 * which erase; what is about another one, or was made by another key, is nobody's. Keys, statements
 * and quotes are real. */
#include <errno.h>
#include "fake/request.h"

#include "base/file.h"
#include "base/tree.h"
#include "fake/tpm.h"
#include "phxd/seal.c" /* a part of a program, not of the library */

static struct phx_pki *site;
static struct daemon d; /* with the CA of `site` */
static char *cert, *other_cert;
static char dir[64], key[96], other_key[96], fp[PHX_FINGERPRINT_MAX], other_fp[PHX_FINGERPRINT_MAX];
static struct phx_statement said; /* what the agent signs */
static struct phx_event ev;       /* what it answers beside */
static struct phx_http_request q;

void catalog_deploy_of(const struct daemon *of, const char *sha256, char *ret, size_t size)
{
	(void)of;
	snprintf(ret, size, "%s", !strcmp(sha256, "its digest") ? "deploy 1" : "");
}

/* A key of n1, and its certificate. */
static int make_key(const char *path, char ret_fp[PHX_FINGERPRINT_MAX], char **ret_cert)
{
	PHX_AUTO_FREE char *pem = NULL, *csr = NULL;
	int r = phx_csr_make("n1", &pem, &csr, NULL);
	r = r ? r : phx_file_write(path, pem, strlen(pem), 0600, NULL);
	r = r ? r : phx_cert_issue(site, csr, PHX_CERT_NODE, "n1", 30, ret_cert, NULL);
	return r ? r : phx_csr_fingerprint(csr, ret_fp, NULL);
}

/* A certificate of this CA, of `kind`, for `name`, of the key in the file. */
static char *certified(struct phx_pki *by, enum phx_cert_kind kind, const char *name)
{
	PHX_AUTO_FREE char *pem = NULL, *csr = NULL;
	char *made = NULL;
	assert_int_equal(phx_file_read(key, 1 << 16, &pem, NULL, NULL), 0);
	assert_int_equal(phx_csr_from_key(pem, "n1", &csr, NULL), 0);
	assert_int_equal(phx_cert_issue(by, csr, kind, name, 30, &made, NULL), 0);
	return made;
}

static int setup(void **state)
{
	(void)state;
	fake_requests_begin();
	strcpy(dir, "/tmp/phx-seal.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(key, sizeof(key), "%s/node.key", dir);
	snprintf(other_key, sizeof(other_key), "%s/other.key", dir);
	said = (struct phx_statement){.node = "n1",
				      .step_id = 7,
				      .epoch = 3,
				      .nonce = 4711,
				      .boot_id = "boot",
				      .image_sha256 = "its digest",
				      .disk_id = "serial-1",
				      .method = "overwrite",
				      .used = "overwrite",
				      .size_bytes = 4096,
				      .verified_bytes = 4096,
				      .places = 1,
				      .read_sha256 = "sum",
				      .detail = "zeros"};
	ev = (struct phx_event){.kind = PHX_EV_step_result,
				.node = "n1",
				.text = "zeros",
				.answer = {.step_id = 7,
					   .epoch = 3,
					   .nonce = 4711,
					   .erased_disk = "serial-1",
					   .used = PHX_WIPE_OVERWRITE,
					   .setup.method = PHX_WIPE_OVERWRITE,
					   .erased_bytes = 4096,
					   .verified_bytes = 4096,
					   .places = 1,
					   .read_sha256 = "sum"}};
	int r = phx_pki_open(dir, NULL, 0, &site, NULL);
	d.pki = site;
	r = r ? r : make_key(key, fp, &cert);
	r = r ? r : make_key(other_key, other_fp, &other_cert);
	q = (struct phx_http_request){0};
	PHX_STR_SET(q.peer.cert.fingerprint, fp); /* by which it speaks to us */
	return r;
}

static int teardown(void **state)
{
	(void)state;
	phx_event_fini(&ev);
	free(PHX_TAKE(cert));
	free(PHX_TAKE(other_cert));
	phx_pki_free(PHX_TAKE(site));
	return phx_dir_remove(dir, NULL);
}

static struct phx_seal sealed(const char *with)
{
	struct phx_seal s;
	assert_int_equal(phx_statement_sign(&said, with, &s, NULL), 0);
	PHX_STR_SET(s.cert, with == key ? cert : other_cert);
	return s;
}

static void take(const struct phx_seal *seal, const struct phx_quote *quote)
{
	static const struct phx_quote none;
	seal_take(&d, &q, seal, quote ? quote : &none, &ev);
}

static void what_the_node_signed_of_this_erase_is_known_for_its_own(void **state)
{
	struct phx_seal s = sealed(key);
	(void)state;
	take(&s, NULL);
	assert_string_equal(ev.answer.signer, fp);
	assert_string_equal(ev.answer.image, "deploy 1");
	assert_string_equal(ev.answer.boot_id, "boot");
	assert_string_equal(ev.answer.signature, s.signature);
	assert_string_equal(ev.answer.tpm_key, "");
	assert_string_equal(ev.answer.tpm, "");
}

/* Each of them alone: the signature is kept for the journal, and is nobody's. */
static void a_signature_about_anything_else_is_nobodys(void **state)
{
	const struct phx_event sound = ev;
	struct phx_seal s = sealed(key);
	(void)state;
#define DIFFERS(member, value) \
	do { \
		ev = sound; \
		ev.member = (value); \
		take(&s, NULL); \
		assert_string_equal(ev.answer.signer, ""); \
		assert_string_equal(ev.answer.signature, s.signature); \
	} while (0)
	DIFFERS(answer.step_id, 8);
	DIFFERS(answer.epoch, 4);
	DIFFERS(answer.nonce, 4712);
	DIFFERS(answer.erased_bytes, 8192);
	DIFFERS(answer.verified_bytes, 4095);
	DIFFERS(answer.places, 2);
	DIFFERS(answer.used, PHX_WIPE_DISCARD);
	DIFFERS(answer.setup.method, PHX_WIPE_AUTO);
	DIFFERS(node[1], '2');
	DIFFERS(text[0], 'Z');
	DIFFERS(answer.erased_disk[0], 'S');
	DIFFERS(answer.tried[0], 'd');
	DIFFERS(answer.hidden[0], 'H');
	DIFFERS(answer.read_sha256[0], 'S');
	ev = sound;
	s.boot_id[0] = 'B';
	take(&s, NULL);
	assert_string_equal(ev.answer.signer, "");
}

static void a_key_that_is_not_that_of_the_connection_is_nobodys(void **state)
{
	struct phx_seal s = sealed(other_key);
	(void)state;
	take(&s, NULL);
	assert_string_equal(ev.answer.signer, "");
	/* nor is a signature that is shown with a key that did not make it */
	struct phx_seal own = sealed(key);
	PHX_STR_SET(s.key, own.key);
	take(&s, NULL);
	assert_string_equal(ev.answer.signer, "");
}

/* Whoever reads the attestation has to believe the key: this site certified it, for this node. */
static void a_key_that_this_site_did_not_certify_is_nobodys(void **state)
{
	struct phx_seal s = sealed(key);
	struct phx_pki *other = NULL;
	char there[96];
	(void)state;
	snprintf(there, sizeof(there), "%s/other", dir);
	assert_int_equal(phx_pki_open(there, NULL, 0, &other, NULL), 0);
	char *certs[] = {certified(other, PHX_CERT_NODE, "n1"),
			 certified(site, PHX_CERT_NODE, "n2"), certified(site, PHX_CERT_USER, "n1"),
			 strdup(other_cert), strdup("")};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(certs); i++) {
		PHX_STR_SET(s.cert, certs[i]);
		ev.answer.signer[0] = '\0';
		take(&s, NULL);
		assert_string_equal(ev.answer.signer, "");
		assert_null(ev.answer.cert);
		free(certs[i]);
	}
	phx_pki_free(other);
	PHX_STR_SET(s.cert, cert);
	take(&s, NULL);
	assert_string_equal(ev.answer.signer, fp);
	assert_string_equal(ev.answer.cert, cert);
}

static void an_image_that_the_head_does_not_have_is_none(void **state)
{
	(void)state;
	PHX_STR_SET(said.image_sha256, "another digest");
	struct phx_seal s = sealed(key);
	take(&s, NULL);
	assert_string_equal(ev.answer.signer, fp);
	assert_string_equal(ev.answer.image, "");
}

static void a_result_without_a_seal_has_none(void **state)
{
	const struct phx_event before = ev;
	(void)state;
	take(&(struct phx_seal){.boot_id = "of somebody"}, NULL);
	assert_memory_equal(&ev, &before, sizeof(ev));
}

static void a_seal_without_a_quote_has_none(void **state)
{
	struct phx_seal s = sealed(key);
	(void)state;
	take(&s, NULL);
	assert_string_equal(ev.answer.signer, fp);
	assert_string_equal(ev.answer.tpm_key, "");
	assert_string_equal(ev.answer.tpm_said, "");
}

/* ---- the TPM ---- */

static struct phx_quote quoted(struct fake_tpm *tpm)
{
	struct phx_quote quote;
	uint8_t data[PHX_QUOTE_DATA_SIZE];
	assert_int_equal(phx_statement_digest(&said, data), 0);
	assert_int_equal(fake_tpm_quote(tpm, data, &quote), 0);
	return quote;
}

static void a_quote_of_this_statement_says_which_tpm(void **state)
{
	struct fake_tpm tpm;
	struct phx_seal s = sealed(key);
	(void)state;
	fake_tpm_init(&tpm);
	tpm.resets = 12;
	struct phx_quote quote = quoted(&tpm);
	take(&s, &quote);
	assert_true(phx_str_starts(ev.answer.tpm, "sha256:"));
	assert_int_equal(ev.answer.tpm_resets, 12);
	assert_int_equal(strlen(ev.answer.tpm_sum), 64);
	assert_string_equal(ev.answer.tpm_said, quote.tpm_said);
	fake_tpm_fini(&tpm);
}

/* It is kept as it came, so that somebody can look at it; it proves nothing. */
static void a_quote_of_another_statement_is_no_tpms(void **state)
{
	struct fake_tpm tpm;
	struct phx_seal s = sealed(key);
	(void)state;
	fake_tpm_init(&tpm);
	tpm.resets = 12;
	said.nonce++;
	struct phx_quote quote = quoted(&tpm);
	take(&s, &quote);
	assert_string_equal(ev.answer.signer, fp);
	assert_string_equal(ev.answer.tpm, "");
	assert_string_equal(ev.answer.tpm_sum, "");
	assert_int_equal(ev.answer.tpm_resets, 0);
	assert_string_equal(ev.answer.tpm_said, quote.tpm_said);
	fake_tpm_fini(&tpm);
}

static void a_quote_without_a_seal_is_of_nothing(void **state)
{
	struct fake_tpm tpm;
	(void)state;
	fake_tpm_init(&tpm);
	struct phx_quote quote = quoted(&tpm);
	const struct phx_event before = ev;
	take(&(struct phx_seal){0}, &quote);
	assert_memory_equal(&ev, &before, sizeof(ev));
	fake_tpm_fini(&tpm);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_the_node_signed_of_this_erase_is_known_for_its_own),
		TEST(a_signature_about_anything_else_is_nobodys),
		TEST(a_key_that_is_not_that_of_the_connection_is_nobodys),
		TEST(a_key_that_this_site_did_not_certify_is_nobodys),
		TEST(an_image_that_the_head_does_not_have_is_none),
		TEST(a_result_without_a_seal_has_none),
		TEST(a_seal_without_a_quote_has_none),
		TEST(a_quote_of_this_statement_says_which_tpm),
		TEST(a_quote_of_another_statement_is_no_tpms),
		TEST(a_quote_without_a_seal_is_of_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
