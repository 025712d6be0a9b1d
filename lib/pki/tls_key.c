/* See tls_key.h. OpenSSL has a heap of its own for keys, whose pages it locks and keeps out of
 * dumps: numbers of private keys are put there by it, texts of them by texts.c. What it decodes a
 * key with lies in the common heap for a moment, and is wiped when it is given back. */
#include "pki/tls_key.h"

#include <errno.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <string.h>

#include "pki/internal.h"

/* Powers of two: room for some hundred keys, and for what signing with them takes, in each of some
 * hundred threads. */
enum { HEAP_BYTES = 256 << 10, PIECE_BYTES = 32 };

struct phx_tls_key {
	EVP_PKEY *key;
};

/* ---- memory ---- */

static void *take(size_t n, const char *file, int line)
{
	(void)file, (void)line;
	return malloc(n);
}

static void give_back(void *p, const char *file, int line)
{
	(void)file, (void)line;
	if (p)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

/* What it leaves behind where it moves is wiped, too. */
static void *resize(void *p, size_t n, const char *file, int line)
{
	size_t had = p ? malloc_usable_size(p) : 0;
	void *to = malloc(n);
	if (to && p) {
		memcpy(to, p, had < n ? had : n);
		give_back(p, file, line);
	}
	return to;
}

int phx_pki_lock_keys(void)
{
	bool wiped = CRYPTO_set_mem_functions(take, resize, give_back) == 1;
	int r = CRYPTO_secure_malloc_init(HEAP_BYTES, PIECE_BYTES);
	return !r ? -ENOMEM : r == 1 && wiped ? 0 : 1;
}

/* ---- the key ---- */

int phx_tls_key_new(const struct phx_pki *p, struct phx_tls_key **ret)
{
	PHX_AUTO_KEY EVP_PKEY *key = phx_pki_server_key_pem(p)
		? phx_pki_key_parse(phx_pki_server_key_pem(p), "server.key", NULL)
		: NULL;
	if (!key || !phx_pki_key_fits(key))
		return -EINVAL;
	struct phx_tls_key *k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->key = PHX_TAKE(key);
	*ret = k;
	return 0;
}

void phx_tls_key_free(struct phx_tls_key *k)
{
	if (!k)
		return;
	EVP_PKEY_free(k->key);
	free(k);
}

static int sign_itself(EVP_PKEY *key, const void *data, size_t n, uint8_t *ret, size_t *ret_n)
{
	PHX_AUTO_MD EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	return ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1 &&
			EVP_DigestSign(ctx, ret, ret_n, data, n) == 1
		? 0
		: -EIO;
}

static int sign_digest(EVP_PKEY *key, const void *data, size_t n, uint8_t *ret, size_t *ret_n)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
	bool is =
		ctx && EVP_PKEY_sign_init(ctx) == 1 && EVP_PKEY_sign(ctx, ret, ret_n, data, n) == 1;
	EVP_PKEY_CTX_free(ctx);
	return is ? 0 : -EIO;
}

int phx_tls_key_sign(const struct phx_tls_key *k, const void *data, size_t n,
		     uint8_t ret[PHX_TLS_SIGNATURE_MAX])
{
	size_t n_ret = PHX_TLS_SIGNATURE_MAX;
	int r = EVP_PKEY_is_a(k->key, "ED25519") ? sign_itself(k->key, data, n, ret, &n_ret)
						 : sign_digest(k->key, data, n, ret, &n_ret);
	return r < 0 ? r : (int)n_ret;
}
