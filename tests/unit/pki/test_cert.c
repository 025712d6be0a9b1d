/* The site's PKI: what is made, kept, re-issued; requests, certificates, and what is refused. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/file.h"
#include "base/tree.h"
#include "pki/pki.h"

static const char *const names[] = {"10.77.0.1", "fd77::1", "head.example"};

struct place {
	char dir[64];
	char pki_dir[80];
	struct phx_pki *pki;
};

static int setup(void **state)
{
	struct place *t = calloc(1, sizeof(*t));
	struct phx_err err = {0};
	strcpy(t->dir, "/tmp/phx-test-pki-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	snprintf(t->pki_dir, sizeof(t->pki_dir), "%s/pki", t->dir);
	int r = phx_pki_open(t->pki_dir, names, 3, &t->pki, &err);
	if (r < 0)
		print_error("%s\n", err.text);
	assert_int_equal(r, 0);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct place *t = *state;
	phx_pki_free(t->pki);
	phx_dir_remove(t->dir, NULL);
	free(t);
	return 0;
}

static void reopen(struct place *t, const char *const *with, size_t n)
{
	struct phx_err err = {0};
	phx_pki_free(PHX_TAKE(t->pki));
	int r = phx_pki_open(t->pki_dir, with, n, &t->pki, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
}

static X509 *parse(const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	BIO_free(bio);
	assert_non_null(x);
	return x;
}

/* OpenSSL's own verifier says X509_V_OK or why not, at a time of our choosing. */
static int verify(const char *ca_pem, const char *pem, int purpose, time_t when)
{
	X509 *ca = parse(ca_pem), *x = parse(pem);
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	X509_STORE_add_cert(store, ca);
	X509_STORE_CTX_init(ctx, store, x, NULL);
	X509_STORE_CTX_set_purpose(ctx, purpose);
	X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), when);
	X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(ctx), X509_V_FLAG_X509_STRICT);
	X509_verify_cert(ctx);
	int code = X509_STORE_CTX_get_error(ctx);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	X509_free(ca);
	X509_free(x);
	return code;
}

static int info_of(const char *pem, struct phx_cert_info *ret, struct phx_err *err)
{
	X509 *x = parse(pem);
	unsigned char *der = NULL;
	int n = i2d_X509(x, &der);
	int r = phx_cert_info(der, (size_t)n, ret, err);
	OPENSSL_free(der);
	X509_free(x);
	return r;
}

static mode_t mode_of(const struct place *t, const char *name)
{
	char path[128];
	struct stat st;
	snprintf(path, sizeof(path), "%s/%s", t->pki_dir, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static char *slurp(const struct place *t, const char *name)
{
	char path[128];
	char *text = NULL;
	snprintf(path, sizeof(path), "%s/%s", t->pki_dir, name);
	assert_int_equal(phx_file_read(path, 65536, &text, NULL, NULL), 0);
	return text;
}

static void spoil(const struct place *t, const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", t->pki_dir, name);
	if (text)
		assert_int_equal(phx_file_write(path, text, strlen(text), 0600, NULL), 0);
	else
		assert_int_equal(unlink(path), 0);
}

static void test_files_and_modes(void **state)
{
	struct place *t = *state;
	struct stat st;
	assert_int_equal(stat(t->pki_dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(mode_of(t, "ca.key"), 0600);
	assert_int_equal(mode_of(t, "server.key"), 0600);
	assert_int_equal(mode_of(t, "site.key"), 0600);
	assert_int_equal(mode_of(t, "ca.pem"), 0644);
	PHX_AUTO_FREE char *ca = slurp(t, "ca.pem");
	assert_string_equal(ca, phx_pki_ca_pem(t->pki));
	PHX_AUTO_FREE char *pub = slurp(t, "site.pub");
	assert_string_equal(pub, phx_pki_site_pub_pem(t->pki));
	assert_non_null(strstr(phx_pki_server_key_pem(t->pki), "PRIVATE KEY"));
}

static void test_reopen_keeps_everything(void **state)
{
	struct place *t = *state;
	PHX_AUTO_FREE char *ca = strdup(phx_pki_ca_pem(t->pki));
	PHX_AUTO_FREE char *server = strdup(phx_pki_server_pem(t->pki));
	PHX_AUTO_FREE char *pub = strdup(phx_pki_site_pub_pem(t->pki));
	reopen(t, names, 3);
	assert_string_equal(ca, phx_pki_ca_pem(t->pki));
	assert_string_equal(server, phx_pki_server_pem(t->pki));
	assert_string_equal(pub, phx_pki_site_pub_pem(t->pki));
}

static void test_server_cert_names(void **state)
{
	struct place *t = *state;
	X509 *x = parse(phx_pki_server_pem(t->pki));
	assert_int_equal(X509_check_ip_asc(x, "10.77.0.1", 0), 1);
	assert_int_equal(X509_check_ip_asc(x, "fd77::1", 0), 1);
	assert_int_equal(X509_check_host(x, "head.example", 0, 0, NULL), 1);
	assert_int_equal(X509_check_host(x, "other.example", 0, 0, NULL), 0);
	X509_free(x);
	time_t now = time(NULL);
	assert_int_equal(verify(phx_pki_ca_pem(t->pki), phx_pki_server_pem(t->pki),
				X509_PURPOSE_SSL_SERVER, now),
			 X509_V_OK);
	assert_int_not_equal(verify(phx_pki_ca_pem(t->pki), phx_pki_server_pem(t->pki),
				    X509_PURPOSE_SSL_CLIENT, now),
			     X509_V_OK);
}

static void test_server_cert_reissued_when_names_change(void **state)
{
	struct place *t = *state;
	static const char *const other[] = {"10.77.0.2", "fd77::1", "head.example"};
	PHX_AUTO_FREE char *before = strdup(phx_pki_server_pem(t->pki));
	PHX_AUTO_FREE char *ca = strdup(phx_pki_ca_pem(t->pki));
	reopen(t, other, 3);
	assert_string_not_equal(before, phx_pki_server_pem(t->pki));
	assert_string_equal(ca, phx_pki_ca_pem(t->pki));
	X509 *x = parse(phx_pki_server_pem(t->pki));
	assert_int_equal(X509_check_ip_asc(x, "10.77.0.2", 0), 1);
	assert_int_equal(X509_check_ip_asc(x, "10.77.0.1", 0), 0);
	X509_free(x);
	/* fewer names is a change too */
	PHX_AUTO_FREE char *three = strdup(phx_pki_server_pem(t->pki));
	reopen(t, other, 2);
	assert_string_not_equal(three, phx_pki_server_pem(t->pki));
}

static void test_server_cert_reissued_when_broken_or_foreign(void **state)
{
	struct place *t = *state;
	spoil(t, "server.pem", "rubbish\n");
	reopen(t, names, 3);
	assert_int_equal(verify(phx_pki_ca_pem(t->pki), phx_pki_server_pem(t->pki),
				X509_PURPOSE_SSL_SERVER, time(NULL)),
			 X509_V_OK);
	/* a certificate that expires in 20 days */
	char *key = NULL, *csr = NULL, *cert = NULL;
	assert_int_equal(phx_csr_from_key(phx_pki_server_key_pem(t->pki), "phxd", &csr, NULL), 0);
	assert_int_equal(phx_cert_issue(t->pki, csr, PHX_CERT_SERVER, "phxd", 20, &cert, NULL), 0);
	spoil(t, "server.pem", cert);
	reopen(t, names, 3);
	assert_string_not_equal(cert, phx_pki_server_pem(t->pki));
	free(key);
	free(csr);
	free(cert);
}

static void test_no_names_no_server_cert(void **state)
{
	struct place *t = *state;
	struct phx_pki *p = NULL;
	char dir[96];
	snprintf(dir, sizeof(dir), "%s/other", t->dir);
	assert_int_equal(phx_pki_open(dir, NULL, 0, &p, NULL), 0);
	assert_null(phx_pki_server_pem(p));
	assert_null(phx_pki_server_key_pem(p));
	phx_pki_free(p);
}

static void refuses_open(struct place *t, const char *in_text)
{
	struct phx_err err = {0};
	struct phx_pki *p = (void *)t;
	assert_true(phx_pki_open(t->pki_dir, names, 3, &p, &err) < 0);
	assert_ptr_equal(p, t);
	if (!strstr(err.text, in_text))
		fail_msg("'%s' not in '%s'", in_text, err.text);
}

static void test_lost_keys_are_errors(void **state)
{
	struct place *t = *state;
	PHX_AUTO_FREE char *ca_key = slurp(t, "ca.key");
	PHX_AUTO_FREE char *site_key = slurp(t, "site.key");
	PHX_AUTO_FREE char *server_key = slurp(t, "server.key");
	spoil(t, "ca.key", NULL);
	refuses_open(t, "ca.key: missing");
	spoil(t, "ca.key", "not a key\n");
	refuses_open(t, "ca.key: not an unencrypted private key");
	spoil(t, "ca.key", server_key);
	refuses_open(t, "ca.pem and ca.key do not belong together");
	spoil(t, "ca.key", ca_key);
	spoil(t, "site.key", NULL);
	refuses_open(t, "site.key: missing");
	spoil(t, "site.key", server_key);
	refuses_open(t, "site.pub and site.key do not belong together");
	spoil(t, "site.key", site_key);
	reopen(t, names, 3);
}

static void test_crash_between_key_and_cert_heals(void **state)
{
	struct place *t = *state;
	spoil(t, "ca.pem", NULL);
	spoil(t, "site.pub", NULL);
	reopen(t, names, 3);
	assert_int_equal(verify(phx_pki_ca_pem(t->pki), phx_pki_server_pem(t->pki),
				X509_PURPOSE_SSL_SERVER, time(NULL)),
			 X509_V_OK);
}

static void *open_once(void *arg)
{
	struct phx_pki *p = NULL;
	return phx_pki_open(arg, names, 3, &p, NULL) == 0 ? p : NULL;
}

static void test_two_openers_find_one_site(void **state)
{
	struct place *t = *state;
	pthread_t threads[4];
	struct phx_pki *pkis[4];
	char dir[96];
	snprintf(dir, sizeof(dir), "%s/race", t->dir);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, open_once, dir), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(threads); i++) {
		void *p = NULL;
		pthread_join(threads[i], &p);
		pkis[i] = p;
		assert_non_null(p);
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(threads); i++) {
		assert_string_equal(phx_pki_ca_pem(pkis[0]), phx_pki_ca_pem(pkis[i]));
		assert_string_equal(phx_pki_server_pem(pkis[0]), phx_pki_server_pem(pkis[i]));
		assert_string_equal(phx_pki_site_pub_pem(pkis[0]), phx_pki_site_pub_pem(pkis[i]));
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(threads); i++)
		phx_pki_free(pkis[i]);
}

static void test_bad_server_names(void **state)
{
	struct place *t = *state;
	static const char *const bad[] = {"", "a,DNS:evil", "two words", "x:y", "10.77.0.1/24"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_err err = {0};
		struct phx_pki *p = NULL;
		assert_int_equal(phx_pki_open(t->pki_dir, &bad[i], 1, &p, &err), -EINVAL);
		assert_null(p);
		assert_non_null(strstr(err.text, "neither an IP address nor a DNS name"));
	}
}

static void test_unwritable_place(void **state)
{
	struct place *t = *state;
	struct phx_pki *p = NULL;
	struct phx_err err = {0};
	char path[128];
	snprintf(path, sizeof(path), "%s/ca.pem/pki", t->pki_dir);
	assert_true(phx_pki_open(path, names, 3, &p, &err) < 0);
	assert_null(p);
	assert_true(err.text[0]);
}

/* ---- requests and certificates ---- */

static void test_issue_and_read_back(void **state)
{
	struct place *t = *state;
	for (int kind = 0; kind < phx_cert_kind_names.n_names; kind++) {
		char *key = NULL, *csr = NULL, *cert = NULL;
		char fp[PHX_FINGERPRINT_MAX];
		struct phx_cert_info info;
		/* the request asks for another name: ours counts */
		assert_int_equal(phx_csr_make("ask-for-admin", &key, &csr, NULL), 0);
		assert_int_equal(phx_csr_fingerprint(csr, fp, NULL), 0);
		assert_int_equal(strlen(fp), 7 + 64);
		assert_int_equal(phx_cert_issue(t->pki, csr, (enum phx_cert_kind)kind, "node-1",
						3650, &cert, NULL),
				 0);
		assert_int_equal(info_of(cert, &info, NULL), 0);
		assert_int_equal(info.kind, kind);
		assert_string_equal(info.name, "node-1");
		assert_string_equal(info.fingerprint, fp);
		free(key);
		free(csr);
		free(cert);
	}
}

static void test_wrong_clocks(void **state)
{
	struct place *t = *state;
	char *key = NULL, *csr = NULL, *cert = NULL;
	assert_int_equal(phx_csr_make("n1", &key, &csr, NULL), 0);
	assert_int_equal(phx_cert_issue(t->pki, csr, PHX_CERT_NODE, "n1", 7300, &cert, NULL), 0);
	static const time_t clocks[] = {60, 946684800 /* 2000-01-01 */, 1262304000 /* 2010 */};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(clocks); i++) {
		assert_int_equal(
			verify(phx_pki_ca_pem(t->pki), cert, X509_PURPOSE_SSL_CLIENT, clocks[i]),
			X509_V_OK);
		assert_int_equal(verify(phx_pki_ca_pem(t->pki), phx_pki_server_pem(t->pki),
					X509_PURPOSE_SSL_SERVER, clocks[i]),
				 X509_V_OK);
	}
	time_t now = time(NULL);
	assert_int_equal(
		verify(phx_pki_ca_pem(t->pki), cert, X509_PURPOSE_SSL_CLIENT, now + 7299L * 86400),
		X509_V_OK);
	assert_int_equal(
		verify(phx_pki_ca_pem(t->pki), cert, X509_PURPOSE_SSL_CLIENT, now + 7301L * 86400),
		X509_V_ERR_CERT_HAS_EXPIRED);
	assert_int_not_equal(verify(phx_pki_ca_pem(t->pki), cert, X509_PURPOSE_SSL_SERVER, now),
			     X509_V_OK);
	free(key);
	free(csr);
	free(cert);
}

static void test_from_key_keeps_fingerprint(void **state)
{
	(void)state;
	char *key = NULL, *csr = NULL, *again = NULL;
	char fp[PHX_FINGERPRINT_MAX], fp_again[PHX_FINGERPRINT_MAX];
	struct phx_err err = {0};
	assert_int_equal(phx_csr_make("n1", &key, &csr, NULL), 0);
	assert_int_equal(phx_csr_from_key(key, "n2", &again, NULL), 0);
	assert_int_equal(phx_csr_fingerprint(csr, fp, NULL), 0);
	assert_int_equal(phx_csr_fingerprint(again, fp_again, NULL), 0);
	assert_string_equal(fp, fp_again);
	char *none = NULL;
	assert_int_equal(phx_csr_from_key("rubbish", "n1", &none, &err), -EINVAL);
	assert_null(none);
	assert_non_null(strstr(err.text, "not an unencrypted private key"));
	free(key);
	free(csr);
	free(again);
}

static void test_tampered_request(void **state)
{
	struct place *t = *state;
	char *key = NULL, *csr = NULL, *cert = NULL;
	struct phx_err err = {0};
	char fp[PHX_FINGERPRINT_MAX] = "unchanged";
	assert_int_equal(phx_csr_make("n1", &key, &csr, NULL), 0);
	/* decode, flip the last byte of the signature, encode */
	BIO *bio = BIO_new_mem_buf(csr, -1);
	X509_REQ *req = PEM_read_bio_X509_REQ(bio, NULL, NULL, NULL);
	BIO_free(bio);
	unsigned char *der = NULL;
	int n = i2d_X509_REQ(req, &der);
	der[n - 1] ^= 1;
	bio = BIO_new(BIO_s_mem());
	PEM_write_bio(bio, "CERTIFICATE REQUEST", "", der, n);
	char *text = NULL;
	long n_text = BIO_get_mem_data(bio, &text);
	PHX_AUTO_FREE char *bad = strndup(text, (size_t)n_text);
	assert_int_equal(phx_csr_fingerprint(bad, fp, &err), -EINVAL);
	assert_string_equal(fp, "unchanged");
	assert_non_null(strstr(err.text, "signature is wrong"));
	assert_int_equal(phx_cert_issue(t->pki, bad, PHX_CERT_NODE, "n1", 10, &cert, NULL),
			 -EINVAL);
	assert_null(cert);
	BIO_free(bio);
	OPENSSL_free(der);
	X509_REQ_free(req);
	free(key);
	free(csr);
}

static void test_cut_request(void **state)
{
	(void)state;
	char *key = NULL, *csr = NULL;
	char fp[PHX_FINGERPRINT_MAX];
	assert_int_equal(phx_csr_make("n1", &key, &csr, NULL), 0);
	for (size_t n = 0; n + 30 < strlen(csr); n += 7) {
		PHX_AUTO_FREE char *cut = strndup(csr, n);
		assert_int_equal(phx_csr_fingerprint(cut, fp, NULL), -EINVAL);
	}
	PHX_AUTO_FREE char *huge = malloc(70000);
	memset(huge, 'A', 69999);
	huge[69999] = '\0';
	struct phx_err err = {0};
	assert_int_equal(phx_csr_fingerprint(huge, fp, &err), -EINVAL);
	assert_non_null(strstr(err.text, "larger than"));
	assert_int_equal(phx_csr_fingerprint(NULL, fp, NULL), -EINVAL);
	assert_int_equal(ERR_peek_error(), 0);
	free(key);
	free(csr);
}

static char *request_with(EVP_PKEY *key)
{
	X509_REQ *req = X509_REQ_new();
	X509_REQ_set_pubkey(req, key);
	X509_REQ_sign(req, key, EVP_sha256());
	BIO *bio = BIO_new(BIO_s_mem());
	PEM_write_bio_X509_REQ(bio, req);
	char *text = NULL;
	long n = BIO_get_mem_data(bio, &text);
	char *pem = strndup(text, (size_t)n);
	BIO_free(bio);
	X509_REQ_free(req);
	EVP_PKEY_free(key);
	return pem;
}

/* One that costs whoever uses it seconds; of four primes, so that it is made sooner. */
static EVP_PKEY *monstrous_key(void)
{
	EVP_PKEY *key = NULL;
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
	assert_int_equal(EVP_PKEY_keygen_init(ctx), 1);
	assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_bits(ctx, 4104), 1);
	assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_primes(ctx, 4), 1);
	assert_int_equal(EVP_PKEY_generate(ctx, &key), 1);
	EVP_PKEY_CTX_free(ctx);
	return key;
}

static void test_key_kinds(void **state)
{
	struct place *t = *state;
	struct phx_err err = {0};
	char *cert = NULL;
	char *weak = request_with(EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)1024));
	assert_int_equal(phx_cert_issue(t->pki, weak, PHX_CERT_USER, "ann", 10, &cert, &err),
			 -EINVAL);
	assert_null(cert);
	assert_non_null(strstr(err.text, "key refused"));
	char *monstrous = request_with(monstrous_key());
	phx_err_clear(&err);
	assert_int_equal(phx_cert_issue(t->pki, monstrous, PHX_CERT_USER, "ann", 10, &cert, &err),
			 -EINVAL);
	assert_null(cert);
	assert_non_null(strstr(err.text, "key refused"));
	char *rsa = request_with(EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048));
	assert_int_equal(phx_cert_issue(t->pki, rsa, PHX_CERT_USER, "ann", 10, &cert, NULL), 0);
	struct phx_cert_info info;
	assert_int_equal(info_of(cert, &info, NULL), 0);
	assert_string_equal(info.name, "ann");
	free(weak);
	free(monstrous);
	free(rsa);
	free(cert);
}

static void test_bad_names_and_days(void **state)
{
	struct place *t = *state;
	char *key = NULL, *csr = NULL, *cert = NULL;
	assert_int_equal(phx_csr_make("n1", &key, &csr, NULL), 0);
	static const char *const bad[] = {"", "../x", "a b", "-n", "a/b", "a..b"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_err err = {0};
		assert_int_equal(
			phx_cert_issue(t->pki, csr, PHX_CERT_NODE, bad[i], 10, &cert, &err),
			-EINVAL);
		assert_non_null(strstr(err.text, "is not a name"));
		char *no_key = NULL, *no_csr = NULL;
		assert_int_equal(phx_csr_make(bad[i], &no_key, &no_csr, NULL), -EINVAL);
		assert_null(no_key);
	}
	assert_int_equal(phx_cert_issue(t->pki, csr, PHX_CERT_NODE, "n1", 0, &cert, NULL), -EINVAL);
	assert_int_equal(phx_cert_issue(t->pki, csr, PHX_CERT_NODE, "n1", 1000000, &cert, NULL),
			 -EINVAL);
	assert_null(cert);
	free(key);
	free(csr);
}

static void test_info_of_rubbish(void **state)
{
	struct place *t = *state;
	struct phx_cert_info info = {.name = "unchanged"};
	struct phx_err err = {0};
	assert_int_equal(phx_cert_info("", 0, &info, NULL), -EINVAL);
	assert_int_equal(phx_cert_info("0123456789", 10, &info, NULL), -EINVAL);
	/* the CA's own certificate is a certificate, but names nobody */
	assert_int_equal(info_of(phx_pki_ca_pem(t->pki), &info, &err), -EINVAL);
	assert_string_equal(info.name, "unchanged");
	assert_non_null(strstr(err.text, "O=phoenix, OU=KIND, CN=NAME"));
	X509 *x = parse(phx_pki_server_pem(t->pki));
	unsigned char *der = NULL;
	int n = i2d_X509(x, &der);
	for (int cut = 0; cut < n; cut += 5)
		assert_int_equal(phx_cert_info(der, (size_t)cut, &info, NULL), -EINVAL);
	assert_int_equal(phx_cert_info(der, (size_t)n, &info, NULL), 0);
	assert_string_equal(info.name, "phxd");
	assert_int_equal(info.kind, PHX_CERT_SERVER);
	OPENSSL_free(der);
	X509_free(x);
}

/* It is not the name that ends there, whatever a string does. */
static void test_a_name_with_a_nul_is_none(void **state)
{
	struct place *t = *state;
	struct phx_cert_info info = {.name = "unchanged"};
	struct phx_err err = {0};
	PHX_AUTO_FREE char *key = NULL;
	PHX_AUTO_FREE char *csr = NULL;
	PHX_AUTO_FREE char *cert = NULL;
	assert_int_equal(phx_csr_make("n1-elsewhere", &key, &csr, NULL), 0);
	assert_int_equal(phx_cert_issue(t->pki, csr, PHX_CERT_NODE, "n1-elsewhere", 1, &cert, NULL),
			 0);
	X509 *x = parse(cert);
	unsigned char *der = NULL;
	int n = i2d_X509(x, &der);
	unsigned char *name = memmem(der, (size_t)n, "n1-elsewhere", 12);
	assert_non_null(name);
	name[2] = '\0';
	assert_int_equal(phx_cert_info(der, (size_t)n, &info, &err), -EINVAL);
	assert_non_null(strstr(err.text, "O=phoenix, OU=KIND, CN=NAME"));
	assert_string_equal(info.name, "unchanged");
	name[2] = '-';
	assert_int_equal(phx_cert_info(der, (size_t)n, &info, &err), 0);
	assert_string_equal(info.name, "n1-elsewhere");
	OPENSSL_free(der);
	X509_free(x);
}

static void test_two_names_are_none(void **state)
{
	struct place *t = *state;
	struct phx_cert_info info = {.name = "unchanged"};
	struct phx_err err = {0};
	unsigned char *der = NULL;
	X509 *x = parse(phx_pki_server_pem(t->pki));
	X509_NAME *subject = X509_NAME_dup(X509_get_subject_name(x));
	assert_int_equal(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
						    (const unsigned char *)"n1", -1, -1, 0),
			 1);
	assert_int_equal(X509_set_subject_name(x, subject), 1);
	i2d_re_X509_tbs(x, NULL); /* not as it was read */
	int n = i2d_X509(x, &der);
	assert_int_equal(phx_cert_info(der, (size_t)n, &info, &err), -EINVAL);
	assert_non_null(strstr(err.text, "O=phoenix, OU=KIND, CN=NAME"));
	assert_string_equal(info.name, "unchanged");
	OPENSSL_free(der);
	X509_NAME_free(subject);
	X509_free(x);
}

static void test_other_site_does_not_verify(void **state)
{
	struct place *t = *state;
	struct phx_pki *other = NULL;
	char dir[96];
	char *key = NULL, *csr = NULL, *cert = NULL;
	snprintf(dir, sizeof(dir), "%s/other", t->dir);
	assert_int_equal(phx_pki_open(dir, names, 1, &other, NULL), 0);
	assert_int_equal(phx_csr_make("n1", &key, &csr, NULL), 0);
	assert_int_equal(phx_cert_issue(other, csr, PHX_CERT_NODE, "n1", 10, &cert, NULL), 0);
	assert_int_equal(verify(phx_pki_ca_pem(other), cert, X509_PURPOSE_SSL_CLIENT, time(NULL)),
			 X509_V_OK);
	assert_int_not_equal(
		verify(phx_pki_ca_pem(t->pki), cert, X509_PURPOSE_SSL_CLIENT, time(NULL)),
		X509_V_OK);
	phx_pki_free(other);
	free(key);
	free(csr);
	free(cert);
}

/* What who was given it looks at before he keeps it. */
static void test_check(void **state)
{
	struct place *t = *state;
	struct phx_err err = {0};
	PHX_AUTO_FREE char *key = NULL, *csr = NULL, *other = NULL, *other_csr = NULL, *cert = NULL,
			   *person = NULL;
	const char *ca = phx_pki_ca_pem(t->pki);
	assert_int_equal(phx_csr_make("n1", &key, &csr, &err), 0);
	assert_int_equal(phx_csr_make("n1", &other, &other_csr, &err), 0);
	assert_int_equal(phx_cert_issue(t->pki, csr, PHX_CERT_NODE, "n1", 10, &cert, &err), 0);
	assert_int_equal(phx_cert_issue(t->pki, csr, PHX_CERT_USER, "n1", 10, &person, &err), 0);
	assert_int_equal(phx_cert_check(cert, PHX_CERT_NODE, key, ca, &err), 0);
	assert_int_equal(phx_cert_check(cert, PHX_CERT_NODE, other, ca, NULL), -EKEYREJECTED);
	assert_int_equal(phx_cert_check(person, PHX_CERT_NODE, key, ca, &err), -EKEYREJECTED);
	assert_string_equal(err.text, "it is the certificate of a user");
	phx_err_clear(&err);
	assert_int_equal(phx_cert_check(cert, PHX_CERT_NODE, key, phx_pki_server_pem(t->pki), &err),
			 -EKEYREJECTED);
	assert_non_null(strstr(err.text, "CA"));
	assert_int_equal(phx_cert_check("", PHX_CERT_NODE, key, ca, NULL), -EINVAL);
	assert_int_equal(phx_cert_check(cert, PHX_CERT_NODE, "", ca, NULL), -EINVAL);
	cert[strlen(cert) / 2] = '\0';
	assert_int_equal(phx_cert_check(cert, PHX_CERT_NODE, key, ca, NULL), -EINVAL);
}

#define PLACE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACE_TEST(test_files_and_modes),
		PLACE_TEST(test_reopen_keeps_everything),
		PLACE_TEST(test_server_cert_names),
		PLACE_TEST(test_server_cert_reissued_when_names_change),
		PLACE_TEST(test_server_cert_reissued_when_broken_or_foreign),
		PLACE_TEST(test_no_names_no_server_cert),
		PLACE_TEST(test_lost_keys_are_errors),
		PLACE_TEST(test_crash_between_key_and_cert_heals),
		PLACE_TEST(test_two_openers_find_one_site),
		PLACE_TEST(test_bad_server_names),
		PLACE_TEST(test_unwritable_place),
		PLACE_TEST(test_issue_and_read_back),
		PLACE_TEST(test_wrong_clocks),
		PLACE_TEST(test_from_key_keeps_fingerprint),
		PLACE_TEST(test_tampered_request),
		PLACE_TEST(test_cut_request),
		PLACE_TEST(test_key_kinds),
		PLACE_TEST(test_bad_names_and_days),
		PLACE_TEST(test_info_of_rubbish),
		PLACE_TEST(test_a_name_with_a_nul_is_none),
		PLACE_TEST(test_two_names_are_none),
		PLACE_TEST(test_other_site_does_not_verify),
		PLACE_TEST(test_check),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
