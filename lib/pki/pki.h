/* Keys and certificates: the site's CA, node and administrator certificates,
 * package and erase-record signatures, the disk-key store. OpenSSL 3. */
#ifndef PHX_PKI_PKI_H
#define PHX_PKI_PKI_H

#include "base/record.h"

#define PHX_SERIAL_MAX 64      /* RFC 5280: 20 bytes at most */
#define PHX_FINGERPRINT_MAX 72 /* "sha256:" + 64 hex digits + NUL */

/** What a certificate says about its holder: the subject is O=phoenix, OU=KIND, CN=NAME. */
enum phx_cert_kind {
	PHX_CERT_SERVER,
	PHX_CERT_NODE,
	PHX_CERT_PROVIDER,
	PHX_CERT_SERVICE_PROVIDER,
	PHX_CERT_USER
};
/* "server","node","provider","service-provider","user" */
extern const struct phx_enum phx_cert_kind_names;

/** Open DIR as the site's PKI, making what is missing: ca.key (0600), ca.pem, server.key/server.pem
 * (SANs: the addresses and names given; re-issued when they change or expire within 30 days;
 * without names none is made and phx_pki_server_pem() is NULL), site.key/site.pub (Ed25519, signs
 * packages, images and erase records), attest.key/attest.pub (Ed25519, signs attestations of erases
 * and nothing else), start.key (pki/token.h). A change of the CA that was cut off is
 * brought to an end. Keys 0600, dir 0700. A lost ca.key, site.key or
 * attest.key whose public half is still there is an error, never replaced. */
struct phx_pki;
int phx_pki_open(const char *dir, const char *const *server_names, size_t n_names,
		 struct phx_pki **ret, struct phx_err *err);
/** The same of texts that somebody else has opened, copied: it serves, and issues nothing. */
struct phx_pki_texts {
	const char *ca, *server, *server_key, *site_pub, *attest_pub;
};
int phx_pki_public(const struct phx_pki_texts *texts, struct phx_pki **ret);
/** Wipes the keys. NULL is fine. */
void phx_pki_free(struct phx_pki *p);
/** PEM texts, borrowed until phx_pki_free(). The CA's: of all that are believed, the one that signs
 * first. */
const char *phx_pki_ca_pem(const struct phx_pki *p);
const char *phx_pki_server_pem(const struct phx_pki *p);
const char *phx_pki_server_key_pem(const struct phx_pki *p);
const char *phx_pki_site_pub_pem(const struct phx_pki *p);
const char *phx_pki_attest_pub_pem(const struct phx_pki *p);
/** What the tokens of starts are made with (pki/token.h): PHX_DISK_KEY_SIZE bytes, likewise; of
 * phx_pki_public() zeros. */
const uint8_t *phx_pki_start_key(const struct phx_pki *p);

/** New private key (PEM) and certificate request (PEM) for `name`; malloc'd. */
int phx_csr_make(const char *name, char **ret_key_pem, char **ret_csr_pem, struct phx_err *err);
/** As phx_csr_make() with an existing key. */
int phx_csr_from_key(const char *key_pem, const char *name, char **ret_csr_pem,
		     struct phx_err *err);
/** Check the request's self-signature and give the fingerprint of its public key. */
int phx_csr_fingerprint(const char *csr_pem, char ret_fp[PHX_FINGERPRINT_MAX], struct phx_err *err);
/** Issue a certificate for the request's key under OUR choice of kind and name (what the
 * request asks for is ignored). Thread-safe. malloc'd PEM. -EKEYEXPIRED: the CA has ended, or by
 * this clock not begun. */
int phx_cert_issue(struct phx_pki *p, const char *csr_pem, enum phx_cert_kind kind,
		   const char *name, uint32_t days, char **ret_cert_pem, struct phx_err *err);
/** Days for which the certificate of a node is issued, and how many of them are left when its agent
 * has it renewed. */
#define PHX_NODE_CERT_DAYS 30
#define PHX_NODE_CERT_RENEW_DAYS 10
/** Read kind, name and public-key fingerprint of a certificate (verified against nothing). */
struct phx_cert_info {
	enum phx_cert_kind kind;
	char name[PHX_NAME_MAX];
	char fingerprint[PHX_FINGERPRINT_MAX];
	char serial[PHX_SERIAL_MAX];  /* lower-case hexadecimal digits, in pairs */
	int64_t expires_s;            /* since 1970 */
	char ca[PHX_FINGERPRINT_MAX]; /* that has signed it, by phx_pki_believe(); else "" */
};
int phx_cert_info(const void *der, size_t n_der, struct phx_cert_info *ret, struct phx_err *err);
/** The same of a certificate in PEM; `what` names it in errors. */
int phx_cert_info_pem(const char *pem, const char *what, struct phx_cert_info *ret,
		      struct phx_err *err);

/** The same of a certificate that must be a node's, and that a CA of this text must have signed
 * (NULL: whoever). -EKEYREJECTED: it is another's, or nobody's that is believed. Looks at no
 * clock. */
int phx_cert_of_node(const char *pem, const char *ca_pem, struct phx_cert_info *ret,
		     struct phx_err *err);

/** Fingerprint of the key of any certificate in PEM, the CA's too, and its end (since 1970). */
int phx_cert_brief(const char *pem, const char *what, char ret_fp[PHX_FINGERPRINT_MAX],
		   int64_t *ret_expires_s, struct phx_err *err);

/** Can it be used as what was asked for: of this kind, for this private key, signed by a CA of this
 * text: 0 by the first, or PHX_CERT_OF_FORMER by another. -EKEYREJECTED says which it is not,
 * -EINVAL that it is no certificate. Looks at no clock. */
int phx_cert_check(const char *cert_pem, enum phx_cert_kind kind, const char *key_pem,
		   const char *ca_pem, struct phx_err *err);

/* ---- the site's CAs: one, and while it is changed the one before it, too ---- */

enum { PHX_CAS_MAX = 8, PHX_CERT_OF_FORMER = 1 };
struct phx_ca_info {
	char id[PHX_FINGERPRINT_MAX]; /* fingerprint of its key */
	int64_t begins_s, expires_s;  /* since 1970 */
};
/** The CAs of a text in PEM, the one that signs first: how many, or -EINVAL, -E2BIG. `what` names
 * it in errors. */
int phx_ca_list(const char *pem, const char *what, struct phx_ca_info ret[PHX_CAS_MAX],
		struct phx_err *err);

/** Where a clock stands in the life of a CA. */
enum phx_ca_when {
	PHX_CA_GOOD,
	PHX_CA_SOON, /* it ends within 90 days */
	PHX_CA_LATE, /* within 30 */
	PHX_CA_ENDED,
	PHX_CA_NOT_YET, /* it has not begun: the clock is wrong */
};
enum { PHX_CA_TEXT_MAX = 256 };
/** Where `now_s` is; `ret` says it, and what to do; "" while it is good. */
enum phx_ca_when phx_ca_when(const struct phx_ca_info *ca, int64_t now_s,
			     char ret[PHX_CA_TEXT_MAX]);

/** Make another CA: it signs from the next phx_pki_open() on, and the one before it is believed
 * beside it (phx_pki_ca_pem() has both); the head goes on showing a certificate of the former one.
 * Cut off at any moment it has happened whole, or not at all. -EBUSY: it is being changed
 * already. */
int phx_pki_rotate(const char *dir, struct phx_err *err);
/** From the next phx_pki_open() on the former CA is believed no more: its key is destroyed, and the
 * head's certificate is of the one that signs. -ENOENT: there is none. */
int phx_pki_retire(const char *dir, struct phx_err *err);
/** Is the CA being changed? */
bool phx_pki_rolls(const struct phx_pki *p);
/** Fingerprint of the CA that signs; borrowed. */
const char *phx_pki_ca_id(const struct phx_pki *p);
/** Is this the fingerprint of a CA that is believed? */
bool phx_pki_has_ca(const struct phx_pki *p, const char *id);
/** Read the certificate (DER) that a client shows, which must be signed by a CA that is believed,
 * in time, and meant for clients: -EKEYREJECTED. Thread-safe. */
int phx_pki_believe(const struct phx_pki *p, const void *der, size_t n, struct phx_cert_info *ret,
		    struct phx_err *err);
/** Read a certificate (DER) that phx_pki_believe() refuses for its dates alone; the text of `err`
 * says which of them it is then. -EKEYREJECTED: for anything else, or not at all. Thread-safe. */
int phx_pki_undated(const struct phx_pki *p, const void *der, size_t n, struct phx_cert_info *ret,
		    struct phx_err *err);

/** A number for the CAs of a text and their order, the same on the head and on its nodes; 0: it is
 * none. Reads the certificates, which takes half a millisecond. */
uint64_t phx_ca_number(const char *pem);
/** That of the CAs that are believed. */
uint64_t phx_pki_ca_number(const struct phx_pki *p);

/** A certificate of a person that was issued here: DIR/people/NUMBER.pem has a copy of it. */
#define PHX_ISSUED_FIELDS(F, S) \
	F(S, serial, STR(PHX_SERIAL_MAX)) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, kind, STR(32)) \
	F(S, expires_s, I64) \
	F(S, ca, STR(PHX_FINGERPRINT_MAX)) /* that has signed it; "" none that is believed */
PHX_RECORD_STRUCT(phx_issued, PHX_ISSUED_FIELDS);
/** All of them, by number; files that hold none are passed over. The caller: phx_list_fini(). `p`
 * NULL: `ca` stays empty. */
int phx_pki_people(const char *dir, const struct phx_pki *p, struct phx_list *ret,
		   struct phx_err *err);

/* ---- signatures (Ed25519) and digests ---- */
#define PHX_SIG_SIZE 64
/** Sign with the Ed25519 key of a PEM file. */
int phx_sign(const char *key_pem_path, const void *data, size_t n, uint8_t ret_sig[PHX_SIG_SIZE],
	     struct phx_err *err);
/** 0, or -EKEYREJECTED when the signature is not of this key; other errors are about the key's
 * file. */
int phx_verify(const char *pub_pem_path, const void *data, size_t n,
	       const uint8_t sig[PHX_SIG_SIZE], struct phx_err *err);

/** Fingerprint of the Ed25519 public key in a PEM file, as certificates have it. */
int phx_pub_fingerprint(const char *pub_pem_path, char ret_fp[PHX_FINGERPRINT_MAX],
			struct phx_err *err);

#define PHX_SHA256_HEX 65
/** A digest that takes its data in pieces. */
struct phx_sha256;
int phx_sha256_new(struct phx_sha256 **ret);
/** -EIO after phx_sha256_hex(). */
int phx_sha256_add(struct phx_sha256 *d, const void *data, size_t n);
/** Ends it; a second call gives "". */
void phx_sha256_hex(struct phx_sha256 *d, char ret_hex[PHX_SHA256_HEX]);
void phx_sha256_free(struct phx_sha256 *d);
/** Digest of what lies in memory. */
int phx_sha256_of(const void *data, size_t n, char ret_hex[PHX_SHA256_HEX]);
/** Digest and size (may be NULL) of a whole file. */
int phx_sha256_file(const char *path, char ret_hex[PHX_SHA256_HEX], uint64_t *ret_size,
		    struct phx_err *err);

/* ---- disk keys: one file a key below DIR (0700), outside journal, snapshots and backups ---- */
#define PHX_DISK_KEY_SIZE 64
/** New random key under `key_id` (a valid name). -EEXIST when there is one: idempotent makers read
 * instead. */
int phx_diskkey_make(const char *dir, const char *key_id, struct phx_err *err);
/** -ENOENT when it was never made or is destroyed. The caller wipes ret_key (explicit_bzero). */
int phx_diskkey_read(const char *dir, const char *key_id, uint8_t ret_key[PHX_DISK_KEY_SIZE],
		     struct phx_err *err);
/** Overwrite in place, sync, unlink, sync the directory. A missing key is no error (already
 * destroyed). The keys are themselves stored so that their bytes are nowhere else on the head (no
 * temporary copies, O_SYNC, memory cleansed). */
int phx_diskkey_destroy(const char *dir, const char *key_id, struct phx_err *err);

#endif
