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
/** Of P-256 or Ed25519, by which nodes sign. */
bool phx_pki_key_fits(EVP_PKEY *key);
/** The public key of hexadecimal digits (SubjectPublicKeyInfo, DER); NULL: that is none which
 * fits. */
EVP_PKEY *phx_pki_public_parse(const char *hex);
/** The text in a memory BIO, malloc'd. */
char *phx_pki_bio_text(BIO *bio);
/** A copy of the PEM of a private key, in memory that is locked where phx_pki_lock_keys() was
 * called; NULL: there is none left. */
char *phx_pki_keep_key(const char *pem);
/** Wipe and free it; NULL is fine. */
void phx_pki_forget_key(char *pem);
/** Wipe and free a malloc'd string; NULL is fine. */
void phx_pki_wipe_free(char *text);

/** "sha256:" and the hex digest of the public key's SubjectPublicKeyInfo. */
int phx_pki_fingerprint(EVP_PKEY *key, char ret_fp[PHX_FINGERPRINT_MAX], struct phx_err *err);

/** Is the signature of this Ed25519 key? 0, -EKEYREJECTED, -EIO. */
int phx_pki_verify(EVP_PKEY *key, const void *data, size_t n, const uint8_t sig[PHX_SIG_SIZE]);

/** What `key` signs by: NULL for Ed25519, which brings its own. */
const EVP_MD *phx_pki_digest_of(EVP_PKEY *key);
enum { PHX_PKI_TEXT_SIGNATURE_MAX = 160 };
/** Sign with a node's key: hexadecimal digits. 0, -EIO. */
int phx_pki_sign_text(EVP_PKEY *key, const char *text, char ret[PHX_PKI_TEXT_SIGNATURE_MAX]);
/** Is it that? 0, -EKEYREJECTED, -ENOMEM. */
int phx_pki_check_text(EVP_PKEY *key, const char *text, const char *signature);

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
/** Make and sign a certificate; NULL with a text on failure. */
X509 *phx_cert_make(const struct phx_cert_spec *spec, struct phx_err *err);
/** Certificate as malloc'd PEM and back. */
char *phx_cert_pem(X509 *cert);
X509 *phx_cert_parse(const char *pem, const char *what, struct phx_err *err);
/** phx_cert_info() of a certificate that was read. */
int phx_cert_info_of(X509 *cert, struct phx_cert_info *ret, struct phx_err *err);
/** The moment, since 1970; 0 when it is none. */
int64_t phx_cert_time(const ASN1_TIME *at);

/** The CAs that are believed: the one that signs first. */
struct phx_cas {
	X509 *certs[PHX_CAS_MAX];
	char ids[PHX_CAS_MAX][PHX_FINGERPRINT_MAX];
	size_t n;
	uint64_t number; /* phx_ca_number() */
};
/** Those of a text in PEM; the caller: phx_cas_fini(). -EINVAL, -E2BIG; `what` names it. */
int phx_cas_parse(const char *pem, const char *what, struct phx_cas *ret, struct phx_err *err);
/** Safe on a zeroed one. */
void phx_cas_fini(struct phx_cas *cas);
/** Which of them has signed it, whatever the clock says; -1: none. */
int phx_cas_signed(const struct phx_cas *cas, X509 *x);
/** phx_cert_of_node() of one that was read. */
int phx_cas_check_node(X509 *x, const char *ca_pem, struct phx_cert_info *ret, struct phx_err *err);

/** The open PKI. */
struct phx_pki {
	EVP_PKEY *ca_key; /* of the CA that signs; NULL: it issues nothing */
	struct phx_cas cas;
	char *ca_pem, *server_pem, *server_key_pem, *site_pub_pem, *attest_pub_pem;
	uint8_t start_key[PHX_DISK_KEY_SIZE];
};
static inline void phx_pki_free_whole(struct phx_pki **p)
{
	phx_pki_free(*p);
}
#define PHX_AUTO_PKI PHX_AUTO(phx_pki_free_whole)

/* ---- site.c, ca.c: files of a PKI's directory, which is locked ---- */

/** Make the directory, and lock it until the descriptor is closed. */
int phx_pki_lock(const char *dir, struct phx_err *err);
/** The text of DIR/NAME, malloc'd; 1 when there is no such file. */
int phx_pki_read_pem(const char *dir, const char *name, char **ret_pem, struct phx_err *err);
/** -ENOMEM where `pem` is NULL. */
int phx_pki_write_pem(const char *dir, const char *name, const char *pem, mode_t mode,
		      struct phx_err *err);
/** The key in DIR/NAME; where there is none, a new one of that type is made and stored. Type NULL:
 * none is made, -ENOENT. */
int phx_pki_open_key(const char *dir, const char *name, const char *type, EVP_PKEY **ret_key,
		     struct phx_err *err);
/** Find or make the CAs and the key of the one that signs, and bring a change to its end that was
 * cut off. */
int phx_pki_open_cas(const char *dir, struct phx_pki *p, struct phx_err *err);
/** Under which CA the head's own certificate is; borrowed. */
X509 *phx_pki_server_ca(const struct phx_pki *p);
/** And its key; the caller frees it. */
int phx_pki_server_issuer(const char *dir, const struct phx_pki *p, EVP_PKEY **ret_key,
			  struct phx_err *err);

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
