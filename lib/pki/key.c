/* Keys in memory and as PEM, their fingerprints, OpenSSL's errors as text. Called by the
 * other files of this room; never touches a file and never prints. */
#include "pki/internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>

enum {
	PUBLIC_BYTES_MAX = 128, /* one of P-256 has 91, of Ed25519 44 */
	TEXT_SIGNATURE_BYTES_MAX = (PHX_PKI_TEXT_SIGNATURE_MAX - 1) / 2
};

int phx_pki_fail(struct phx_err *err, int code, const char *fmt, ...)
{
	char text[PHX_ERR_TEXT_MAX];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	unsigned long e = ERR_peek_last_error();
	const char *reason = e ? ERR_reason_error_string(e) : NULL;
	ERR_clear_error();
	return reason ? phx_err_set(err, code, "%s (%s)", text, reason)
		      : phx_err_set(err, code, "%s", text);
}

EVP_PKEY *phx_pki_key_new(const char *type, struct phx_err *err)
{
	EVP_PKEY *key = strcmp(type, "EC") ? EVP_PKEY_Q_keygen(NULL, NULL, type)
					   : EVP_PKEY_Q_keygen(NULL, NULL, type, "P-256");
	if (!key)
		phx_pki_fail(err, -EIO, "cannot make a key");
	return key;
}

/* A program without a terminal must not be asked for a passphrase. */
static int no_passphrase(char *buf, int size, int rwflag, void *arg)
{
	(void)buf, (void)size, (void)rwflag, (void)arg;
	return -1;
}

EVP_PKEY *phx_pki_key_parse(const char *pem, const char *what, struct phx_err *err)
{
	PHX_AUTO_BIO BIO *bio = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;
	if (!key)
		phx_pki_fail(err, -EINVAL, "%s: not an unencrypted private key in PEM", what);
	return key;
}

bool phx_pki_key_fits(EVP_PKEY *key)
{
	return (EVP_PKEY_is_a(key, "EC") || EVP_PKEY_is_a(key, "ED25519")) &&
		EVP_PKEY_get_security_bits(key) >= 112;
}

EVP_PKEY *phx_pki_public_parse(const char *hex)
{
	uint8_t der[PUBLIC_BYTES_MAX];
	const unsigned char *at = der;
	int n = phx_pki_unhex(hex, der, sizeof(der));
	EVP_PKEY *key = n > 0 ? d2i_PUBKEY(NULL, &at, n) : NULL;
	if (key && at == der + n && phx_pki_key_fits(key))
		return key;
	EVP_PKEY_free(key);
	return NULL;
}

char *phx_pki_bio_text(BIO *bio)
{
	char *data = NULL;
	long n = BIO_get_mem_data(bio, &data);
	return n > 0 ? strndup(data, (size_t)n) : NULL;
}

char *phx_pki_key_pem(EVP_PKEY *key)
{
	/* BUF_MEM wipes what it frees, so that no copy of the key stays in the heap */
	PHX_AUTO_BIO BIO *bio = BIO_new(BIO_s_secmem());
	if (!bio || !PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL))
		return NULL;
	return phx_pki_bio_text(bio);
}

void phx_pki_wipe_free(char *text)
{
	if (text)
		OPENSSL_cleanse(text, strlen(text));
	free(text);
}

int phx_pki_fingerprint(EVP_PKEY *key, char ret_fp[PHX_FINGERPRINT_MAX], struct phx_err *err)
{
	unsigned char *der = NULL;
	int n = i2d_PUBKEY(key, &der);
	if (n <= 0)
		return phx_pki_fail(err, -EINVAL, "cannot encode the public key");
	unsigned char digest[32];
	size_t n_digest = 0;
	bool ok = EVP_Q_digest(NULL, "SHA256", NULL, der, (size_t)n, digest, &n_digest) == 1;
	OPENSSL_free(der);
	if (!ok)
		return phx_pki_fail(err, -EIO, "cannot digest the public key");
	phx_hex(digest, n_digest, stpcpy(ret_fp, "sha256:"));
	return 0;
}

/* Ed25519 brings its own digest. */
const EVP_MD *phx_pki_digest_of(EVP_PKEY *key)
{
	return EVP_PKEY_is_a(key, "ED25519") ? NULL : EVP_sha256();
}

int phx_pki_sign_text(EVP_PKEY *key, const char *text, char ret[PHX_PKI_TEXT_SIGNATURE_MAX])
{
	PHX_AUTO_MD EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t sig[TEXT_SIGNATURE_BYTES_MAX];
	size_t n = sizeof(sig);
	if (!ctx || EVP_DigestSignInit(ctx, NULL, phx_pki_digest_of(key), NULL, key) != 1 ||
	    EVP_DigestSign(ctx, sig, &n, (const unsigned char *)text, strlen(text)) != 1)
		return -EIO;
	phx_hex(sig, n, ret);
	return 0;
}

int phx_pki_check_text(EVP_PKEY *key, const char *text, const char *signature)
{
	PHX_AUTO_MD EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t sig[TEXT_SIGNATURE_BYTES_MAX];
	int n = phx_pki_unhex(signature, sig, sizeof(sig));
	if (!ctx || EVP_DigestVerifyInit(ctx, NULL, phx_pki_digest_of(key), NULL, key) != 1)
		return -ENOMEM;
	if (n <= 0 ||
	    EVP_DigestVerify(ctx, sig, (size_t)n, (const unsigned char *)text, strlen(text)) != 1)
		return -EKEYREJECTED;
	return 0;
}

int phx_pki_unhex(const char *hex, uint8_t *ret, size_t max)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = strlen(hex);
	if (n % 2 || n / 2 > max || strspn(hex, digits) != n)
		return -1;
	for (size_t i = 0; i < n / 2; i++)
		ret[i] = (uint8_t)((strchr(digits, hex[2 * i]) - digits) << 4 |
				   (strchr(digits, hex[2 * i + 1]) - digits));
	return (int)(n / 2);
}
