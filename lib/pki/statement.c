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

enum { KEY_BYTES_MAX = (PHX_STATEMENT_KEY_MAX - 1) / 2 };
_Static_assert((int)PHX_STATEMENT_SIGNATURE_MAX == PHX_PKI_TEXT_SIGNATURE_MAX, "it has room");
#define SEAL_SIZE(m) sizeof(((struct phx_seal *)0)->m)
_Static_assert(SEAL_SIZE(key) == PHX_STATEMENT_KEY_MAX, "a key");
_Static_assert(SEAL_SIZE(signature) == PHX_STATEMENT_SIGNATURE_MAX, "a signature");
#undef SEAL_SIZE

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
	if (!phx_pki_key_fits(key))
		return phx_err_set(err, -EINVAL, "%s: neither P-256 nor Ed25519", key_pem_path);
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_statement_record, s);
	r = text ? put_public(key, seal.key, err) : -ENOMEM;
	if (r == 0 && phx_pki_sign_text(key, text, seal.signature) < 0)
		r = phx_pki_fail(err, -EIO, "the erase cannot be signed");
	if (r < 0)
		return r;
	PHX_MEMBERS_COPY(PHX_ERASED_WHERE_FIELDS, &seal, s);
	*ret = seal;
	return 0;
}

int phx_seal_certify(const char *cert_pem_path, struct phx_seal *seal, struct phx_err *err)
{
	PHX_AUTO_FREE char *pem = NULL;
	struct phx_cert_info info;
	int r = phx_file_read(cert_pem_path, PHX_PEM_MAX, &pem, NULL, err);
	if (r == 0)
		r = phx_cert_of_node(pem, NULL, &info, err);
	if (r == 0 && strlen(pem) >= sizeof(seal->cert))
		r = phx_err_set(err, -EINVAL, "%s: longer than a node's certificate",
				cert_pem_path);
	if (r == 0)
		PHX_STR_SET(seal->cert, pem);
	return r;
}

/* ---- verifying ---- */

int phx_statement_digest(const struct phx_statement *s, uint8_t ret[PHX_QUOTE_DATA_SIZE])
{
	char hex[PHX_SHA256_HEX];
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_statement_record, s);
	int r = text ? phx_sha256_of(text, strlen(text), hex) : -ENOMEM;
	if (r == 0)
		phx_pki_unhex(hex, ret, PHX_QUOTE_DATA_SIZE);
	return r;
}

int phx_statement_verify(const struct phx_statement *s, const char *key, const char *signature,
			 char ret_fp[PHX_FINGERPRINT_MAX], struct phx_err *err)
{
	PHX_AUTO_KEY EVP_PKEY *public = phx_pki_public_parse(key);
	if (!public)
		return phx_pki_fail(err, -EINVAL, "the deploy environment shows no public key");
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_statement_record, s);
	int r = text ? phx_pki_check_text(public, text, signature) : -ENOMEM;
	if (r == -ENOMEM)
		return phx_pki_fail(err, r, "out of memory");
	if (r < 0)
		return phx_pki_fail(err, -EKEYREJECTED,
				    "what is said is not what the deploy environment has signed");
	return phx_pki_fingerprint(public, ret_fp, err);
}
