/* The key that TLS is served with (lib/pki/tls_key.c): where it lies, and what is signed with it.
 * That a process has no other copy of it: tests/trust/operator/keys_apart.sh. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/tree.h"
#include "pki/tls_key.h"

enum { THREADS = 64, TIMES = 50 };

static int locked; /* what phx_pki_lock_keys() said */
static char dir[64];
static struct phx_pki *pki;

static int setup(void **state)
{
	static const char *const names[] = {"127.0.0.1"};
	char path[80];
	struct phx_err err = {0};
	(void)state;
	strcpy(dir, "/tmp/phx-tls-key.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/pki", dir);
	if (phx_pki_open(path, names, 1, &pki, &err) < 0)
		fail_msg("%s", err.text);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_pki_free(pki);
	return phx_dir_remove(dir, NULL);
}

/* Is that address in memory that is neither swapped nor in a dump? */
static bool is_safe(const void *at)
{
	char line[256];
	unsigned long from = 0, to = 0, n, m;
	bool is = false;
	FILE *f = fopen("/proc/self/smaps", "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx ", &n, &m) == 2) {
			from = n;
			to = m;
		} else if (!strncmp(line, "VmFlags:", 8) && (uintptr_t)at - from < to - from) {
			is = strstr(line, " lo ") && strstr(line, " dd ");
		}
	fclose(f);
	return is;
}

/* Somebody who serves: he has the texts from another process. */
static struct phx_pki *public_with(const char *key)
{
	struct phx_pki *p = NULL;
	const struct phx_pki_texts texts = {phx_pki_ca_pem(pki), phx_pki_server_pem(pki), key,
					    phx_pki_site_pub_pem(pki), phx_pki_attest_pub_pem(pki)};
	assert_int_equal(phx_pki_public(&texts, &p), 0);
	return p;
}

static void its_text_is_never_swapped(void **state)
{
	char *common = malloc(100);
	(void)state;
	if (locked)
		skip();
	struct phx_pki *p = public_with(phx_pki_server_key_pem(pki));
	assert_true(is_safe(phx_pki_server_key_pem(p)));
	assert_true(is_safe(phx_pki_server_key_pem(pki)));
	assert_false(is_safe(common)); /* else this says nothing */
	phx_pki_free(p);
	free(common);
}

static EVP_PKEY *public_key(void)
{
	BIO *bio = BIO_new_mem_buf(phx_pki_server_pem(pki), -1);
	X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	EVP_PKEY *key = X509_get_pubkey(x);
	X509_free(x);
	BIO_free(bio);
	assert_non_null(key);
	return key;
}

static void a_digest_is_signed_with_it(void **state)
{
	static const uint8_t digest[32] = "a digest";
	uint8_t signature[PHX_TLS_SIGNATURE_MAX];
	struct phx_tls_key *k = NULL;
	(void)state;
	assert_int_equal(phx_tls_key_new(pki, &k), 0);
	int n = phx_tls_key_sign(k, digest, sizeof(digest), signature);
	assert_in_range(n, 60, PHX_TLS_SIGNATURE_MAX);
	EVP_PKEY *key = public_key();
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
	assert_int_equal(EVP_PKEY_verify_init(ctx), 1);
	assert_int_equal(EVP_PKEY_verify(ctx, signature, (size_t)n, digest, sizeof(digest)), 1);
	EVP_PKEY_CTX_free(ctx);
	EVP_PKEY_free(key);
	phx_tls_key_free(k);
	phx_tls_key_free(NULL);
}

/* The PEM of a key, in a text of the test's. */
static const char *pem_of(EVP_PKEY *key)
{
	static char text[4096];
	BIO *bio = BIO_new(BIO_s_mem());
	assert_int_equal(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
	int n = BIO_read(bio, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	BIO_free(bio);
	return text;
}

static void one_of_ed25519_signs_what_it_is_given(void **state)
{
	uint8_t signature[PHX_TLS_SIGNATURE_MAX];
	struct phx_tls_key *k = NULL;
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	(void)state;
	struct phx_pki *p = public_with(pem_of(key));
	assert_int_equal(phx_tls_key_new(p, &k), 0);
	assert_int_equal(phx_tls_key_sign(k, "a handshake", 11, signature), 64);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	assert_int_equal(EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key), 1);
	assert_int_equal(EVP_DigestVerify(ctx, signature, 64, (const uint8_t *)"a handshake", 11),
			 1);
	EVP_MD_CTX_free(ctx);
	phx_tls_key_free(k);
	phx_pki_free(p);
	EVP_PKEY_free(key);
}

static void another_kind_of_key_is_refused(void **state)
{
	struct phx_tls_key *k = NULL;
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
	(void)state;
	struct phx_pki *rsa = public_with(pem_of(key)), *none = public_with("no key");
	assert_int_equal(phx_tls_key_new(rsa, &k), -EINVAL);
	assert_int_equal(phx_tls_key_new(none, &k), -EINVAL);
	assert_null(k);
	phx_pki_free(rsa);
	phx_pki_free(none);
	EVP_PKEY_free(key);
}

static void *sign_often(void *arg)
{
	uint8_t digest[32] = {0}, signature[PHX_TLS_SIGNATURE_MAX];
	uintptr_t failed = 0;
	for (int i = 0; i < TIMES; i++)
		failed += phx_tls_key_sign(arg, digest, sizeof(digest), signature) <= 0;
	return (void *)failed;
}

/* As many threads as phxd may be told to have: there is room for what they sign with. */
static void many_sign_at_once(void **state)
{
	pthread_t threads[THREADS];
	struct phx_tls_key *k = NULL;
	void *failed;
	(void)state;
	assert_int_equal(phx_tls_key_new(pki, &k), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, sign_often, k), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	phx_tls_key_free(k);
}

int main(void)
{
	/* as phxd does, before anything else of OpenSSL */
	locked = phx_pki_lock_keys();
	if (locked < 0)
		return 1;
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(its_text_is_never_swapped),
		TEST(a_digest_is_signed_with_it),
		TEST(one_of_ed25519_signs_what_it_is_given),
		TEST(another_kind_of_key_is_refused),
		TEST(many_sign_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
