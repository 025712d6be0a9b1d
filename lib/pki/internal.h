/* What the files of this room share: OpenSSL's errors as text, PEM in memory, pointers freed at
 * scope exit. */
#ifndef PHX_PKI_INTERNAL_H
#define PHX_PKI_INTERNAL_H

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "pki/pki.h"

/* ECDSA on P-256. Measured with 1,000 mutual handshakes, libcurl against our server: 1.2 to 1.6 ms
 * of the server's CPU each, with Ed25519 1.2: no difference that counts, and browsers take only the
 * former from a server. Packages and records, which no browser reads, are signed with Ed25519. */
#define PHX_TLS_KEY_TYPE "EC"
#define PHX_PEM_MAX 16384 /* bytes of any PEM text taken from a file or a peer */

/** Set the text, followed by OpenSSL's reason for the last failure, empty OpenSSL's queue, return
 * `code`. */
int phx_pki_fail(struct phx_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** New key: "EC" (P-256) or "ED25519". NULL with a text on failure. */
EVP_PKEY *phx_pki_key_new(const char *type, struct phx_err *err);
/** Read a private key from PEM text; `what` names it in errors. */
EVP_PKEY *phx_pki_key_parse(const char *pem, const char *what, struct phx_err *err);
/** malloc'd PEM of a private key; the caller wipes it (phx_pki_wipe_free). NULL on failure. */
char *phx_pki_key_pem(EVP_PKEY *key);
/** The text in a memory BIO, malloc'd. */
char *phx_pki_bio_text(BIO *bio);
/** Wipe and free a malloc'd string; NULL is fine. */
void phx_pki_wipe_free(char *text);

/** "sha256:" and the hex digest of the public key's SubjectPublicKeyInfo. */
int phx_pki_fingerprint(EVP_PKEY *key, char ret_fp[PHX_FINGERPRINT_MAX], struct phx_err *err);

/** The bytes of a text of phx_hex(): how many, at most `max`; -1: it is no such text, or too
 * long. */
int phx_pki_unhex(const char *hex, uint8_t *ret, size_t max);

/** What goes into a certificate. */
struct phx_cert_spec {
	EVP_PKEY *subject_key;
	const X509 *issuer; /* NULL: signed by itself, a CA */
	EVP_PKEY *issuer_key;
	const char *unit, *name; /* OU (may be NULL) and CN */
	const char *usage;       /* extended key usage, or NULL */
	const char *san;         /* subjectAltName in OpenSSL's notation, or NULL */
	uint32_t days;           /* from now; 0: never expires */
};
/** O=phoenix, OU=`unit` (may be NULL), CN=`common_name`. False when OpenSSL refuses. */
bool phx_cert_set_subject(X509_NAME *name, const char *unit, const char *common_name);
/** What `key` signs by: NULL for Ed25519, which brings its own. */
const EVP_MD *phx_cert_digest(EVP_PKEY *key);
/** Make and sign a certificate; NULL with a text on failure. */
X509 *phx_cert_make(const struct phx_cert_spec *spec, struct phx_err *err);
/** Certificate as malloc'd PEM and back. */
char *phx_cert_pem(X509 *cert);
X509 *phx_cert_parse(const char *pem, const char *what, struct phx_err *err);
/** What the open PKI issues with; borrowed. */
EVP_PKEY *phx_pki_ca_key(const struct phx_pki *p);
X509 *phx_pki_ca_cert(const struct phx_pki *p);

static inline void phx_pki_free_key(EVP_PKEY **k)
{
	EVP_PKEY_free(*k);
}
static inline void phx_pki_free_cert(X509 **x)
{
	X509_free(*x);
}
static inline void phx_pki_free_req(X509_REQ **r)
{
	X509_REQ_free(*r);
}
static inline void phx_pki_free_bio(BIO **b)
{
	BIO_free(*b);
}
static inline void phx_pki_free_md(EVP_MD_CTX **c)
{
	EVP_MD_CTX_free(*c);
}
static inline void phx_pki_free_secret(char **s)
{
	phx_pki_wipe_free(*s);
}
#define PHX_AUTO_KEY PHX_AUTO(phx_pki_free_key)
#define PHX_AUTO_CERT PHX_AUTO(phx_pki_free_cert)
#define PHX_AUTO_REQ PHX_AUTO(phx_pki_free_req)
#define PHX_AUTO_BIO PHX_AUTO(phx_pki_free_bio)
#define PHX_AUTO_MD PHX_AUTO(phx_pki_free_md)
#define PHX_AUTO_SECRET PHX_AUTO(phx_pki_free_secret)

#endif
