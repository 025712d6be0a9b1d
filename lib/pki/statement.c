/* Statements of erases: see statement.h. Called by the agent, which makes them, and by the head and
 * attestation.c, which do not believe them before. Reads the key's file, writes nothing. */
#include "pki/statement.h"

#include <errno.h>
#include <string.h>

#include <openssl/x509.h>

#include "base/file.h"
#include "base/json.h"
#include "pki/internal.h"

PHX_RECORD_TABLE(phx_statement, PHX_STATEMENT_FIELDS);
PHX_RECORD_TABLE(phx_seal, PHX_SEAL_FIELDS);

enum {
	KEY_BYTES_MAX = (PHX_STATEMENT_KEY_MAX - 1) / 2,
	SIGNATURE_BYTES_MAX = (PHX_STATEMENT_SIGNATURE_MAX - 1) / 2
};

static bool is_fit(EVP_PKEY *key)
{
	return (EVP_PKEY_is_a(key, "EC") || EVP_PKEY_is_a(key, "ED25519")) &&
		EVP_PKEY_get_security_bits(key) >= 112;
}

/* ---- signing ---- */

static int put_public(EVP_PKEY *key, char ret[PHX_STATEMENT_KEY_MAX], struct phx_err *err)
{
	unsigned char *der = NULL;
	int n = i2d_PUBKEY(key, &der);
	bool fits = n > 0 && n <= KEY_BYTES_MAX;
	if (fits)
		phx_hex(der, (size_t)n, ret);
	OPENSSL_free(der);
	return fits ? 0 : phx_pki_fail(err, -EINVAL, "the node's key is none of P-256 or Ed25519");
}

static int sign_text(EVP_PKEY *key, const char *text, char ret[PHX_STATEMENT_SIGNATURE_MAX],
		     struct phx_err *err)
{
	PHX_AUTO_MD EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t sig[SIGNATURE_BYTES_MAX];
	size_t n = sizeof(sig);
	if (!ctx || EVP_DigestSignInit(ctx, NULL, phx_cert_digest(key), NULL, key) != 1 ||
	    EVP_DigestSign(ctx, sig, &n, (const unsigned char *)text, strlen(text)) != 1)
		return phx_pki_fail(err, -EIO, "the erase cannot be signed");
	phx_hex(sig, n, ret);
	return 0;
}

int phx_statement_sign(const struct phx_statement *s, const char *key_pem_path,
		       struct phx_seal *ret, struct phx_err *err)
{
	PHX_AUTO_SECRET char *pem = NULL;
	struct phx_seal seal = {0};
	int r = phx_file_read(key_pem_path, PHX_PEM_MAX, &pem, NULL, err);
	if (r < 0)
		return r;
	PHX_AUTO_KEY EVP_PKEY *key = phx_pki_key_parse(pem, key_pem_path, err);
	if (!key)
		return -EINVAL;
	if (!is_fit(key))
		return phx_err_set(err, -EINVAL, "%s: neither P-256 nor Ed25519", key_pem_path);
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_statement_record, s);
	r = text ? put_public(key, seal.key, err) : -ENOMEM;
	if (r == 0)
		r = sign_text(key, text, seal.signature, err);
	if (r < 0)
		return r;
	PHX_STR_SET(seal.boot_id, s->boot_id);
	PHX_STR_SET(seal.image_sha256, s->image_sha256);
	*ret = seal;
	return 0;
}

/* ---- verifying ---- */

static EVP_PKEY *read_public(const char *hex)
{
	uint8_t der[KEY_BYTES_MAX];
	const unsigned char *at = der;
	int n = phx_pki_unhex(hex, der, sizeof(der));
	EVP_PKEY *key = n > 0 ? d2i_PUBKEY(NULL, &at, n) : NULL;
	if (key && at == der + n && is_fit(key))
		return key;
	EVP_PKEY_free(key);
	return NULL;
}

int phx_statement_verify(const struct phx_statement *s, const char *key, const char *signature,
			 char ret_fp[PHX_FINGERPRINT_MAX], struct phx_err *err)
{
	uint8_t sig[SIGNATURE_BYTES_MAX];
	int n = phx_pki_unhex(signature, sig, sizeof(sig));
	PHX_AUTO_KEY EVP_PKEY *public = read_public(key);
	if (!public)
		return phx_pki_fail(err, -EINVAL, "the deploy environment shows no public key");
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_statement_record, s);
	PHX_AUTO_MD EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	if (!text || !ctx ||
	    EVP_DigestVerifyInit(ctx, NULL, phx_cert_digest(public), NULL, public) != 1)
		return phx_pki_fail(err, -ENOMEM, "out of memory");
	if (n <= 0 ||
	    EVP_DigestVerify(ctx, sig, (size_t)n, (const unsigned char *)text, strlen(text)) != 1)
		return phx_pki_fail(err, -EKEYREJECTED,
				    "what is said is not what the deploy environment has signed");
	return phx_pki_fingerprint(public, ret_fp, err);
}
