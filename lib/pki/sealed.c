/* Keys of disks on their way: see sealed.h. Called by the agent and by lib/vault. Keeps nothing. */
#include "pki/sealed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "pki/internal.h"

PHX_RECORD_TABLE(phx_key_ask, PHX_KEY_ASK_FIELDS);
PHX_RECORD_TABLE(phx_key_sealed, PHX_KEY_SEALED_FIELDS);

enum {
	PUBLIC = PHX_SEALED_PUBLIC_SIZE,
	TAG = PHX_SEALED_SIZE - PHX_DISK_KEY_SIZE,
	SHARED = 32,
	ASKED_MAX = 256
};

_Static_assert((int)PHX_ASK_SIGNATURE_MAX == PHX_PKI_TEXT_SIGNATURE_MAX, "it has room");

#define AUTO_CIPHER PHX_AUTO(free_cipher)
#define AUTO_AGREE PHX_AUTO(free_agree)

static void free_cipher(EVP_CIPHER_CTX **c)
{
	EVP_CIPHER_CTX_free(*c);
}

static void free_agree(EVP_PKEY_CTX **c)
{
	EVP_PKEY_CTX_free(*c);
}

/* What is signed; no member can hold a blank. */
static int asked_text(const struct phx_key_ask *ask, const char *key_id, char ret[ASKED_MAX],
		      struct phx_err *err)
{
	uint8_t to[PUBLIC];
	if (!phx_name_valid(key_id) || !phx_name_valid(ask->boot_id) ||
	    phx_pki_unhex(ask->to, to, sizeof(to)) != PUBLIC)
		return phx_err_set(err, -EINVAL, "that does not ask for the key of a disk");
	snprintf(ret, ASKED_MAX, "phoenix disk key %s boot %s to %s", key_id, ask->boot_id,
		 ask->to);
	return 0;
}

/* ---- sealing ---- */

static int agree(EVP_PKEY *own, EVP_PKEY *other, uint8_t ret[SHARED])
{
	size_t n = SHARED;
	AUTO_AGREE EVP_PKEY_CTX *ctx = own && other ? EVP_PKEY_CTX_new(own, NULL) : NULL;
	return ctx && EVP_PKEY_derive_init(ctx) == 1 && EVP_PKEY_derive_set_peer(ctx, other) == 1 &&
			EVP_PKEY_derive(ctx, ret, &n) == 1 && n == SHARED
		? 0
		: -EBADMSG;
}

/* The one-step derivation of NIST SP 800-56C: counter, what both have, what it is for. */
static int derive(EVP_PKEY *own, const uint8_t other[PUBLIC], const char *from, const char *asked,
		  uint8_t ret[32])
{
	PHX_AUTO_KEY EVP_PKEY *peer =
		EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, other, PUBLIC);
	uint8_t text[4 + SHARED + 2 * PUBLIC + ASKED_MAX] = {0, 0, 0, 1};
	size_t n = 4 + SHARED, n_ret = 0;
	int r = agree(own, peer, text + 4);
	memcpy(text + n, from, 2 * PUBLIC);
	n += 2 * PUBLIC;
	memcpy(text + n, asked, strlen(asked));
	n += strlen(asked);
	if (r == 0 && EVP_Q_digest(NULL, "SHA256", NULL, text, n, ret, &n_ret) != 1)
		r = -EIO;
	explicit_bzero(text, sizeof(text));
	return r;
}

/* The key is of this one text: its nonce is 0. */
static int encrypt(const uint8_t with[32], const uint8_t key[PHX_DISK_KEY_SIZE],
		   uint8_t ret[PHX_SEALED_SIZE])
{
	static const uint8_t nonce[12];
	AUTO_CIPHER EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n = 0, n_end = 0;
	return ctx && EVP_EncryptInit_ex2(ctx, EVP_aes_256_gcm(), with, nonce, NULL) == 1 &&
			EVP_EncryptUpdate(ctx, ret, &n, key, PHX_DISK_KEY_SIZE) == 1 &&
			EVP_EncryptFinal_ex(ctx, ret + n, &n_end) == 1 &&
			EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG,
					    ret + PHX_DISK_KEY_SIZE) == 1
		? 0
		: -EIO;
}

static int decrypt(const uint8_t with[32], uint8_t sealed[PHX_SEALED_SIZE],
		   uint8_t ret[PHX_DISK_KEY_SIZE])
{
	static const uint8_t nonce[12];
	AUTO_CIPHER EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n = 0, n_end = 0;
	return ctx && EVP_DecryptInit_ex2(ctx, EVP_aes_256_gcm(), with, nonce, NULL) == 1 &&
			EVP_DecryptUpdate(ctx, ret, &n, sealed, PHX_DISK_KEY_SIZE) == 1 &&
			EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG,
					    sealed + PHX_DISK_KEY_SIZE) == 1 &&
			EVP_DecryptFinal_ex(ctx, ret + n, &n_end) == 1
		? 0
		: -EBADMSG;
}

static bool put_public(EVP_PKEY *key, char ret[2 * PUBLIC + 1])
{
	uint8_t raw[PUBLIC];
	size_t n = sizeof(raw);
	if (!key || EVP_PKEY_get_raw_public_key(key, raw, &n) != 1 || n != PUBLIC)
		return false;
	phx_hex(raw, PUBLIC, ret);
	return true;
}

int phx_key_seal(const struct phx_key_ask *ask, const char *key_id,
		 const uint8_t key[PHX_DISK_KEY_SIZE], struct phx_key_sealed *ret,
		 struct phx_err *err)
{
	char asked[ASKED_MAX];
	uint8_t to[PUBLIC], with[32], sealed[PHX_SEALED_SIZE];
	struct phx_key_sealed answer = {0};
	int r = asked_text(ask, key_id, asked, err);
	if (r < 0)
		return r;
	PHX_AUTO_KEY EVP_PKEY *own = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
	phx_pki_unhex(ask->to, to, sizeof(to));
	r = put_public(own, answer.from) ? derive(own, to, answer.from, asked, with) : -EIO;
	r = r ? r : encrypt(with, key, sealed);
	explicit_bzero(with, sizeof(with));
	if (r < 0)
		return phx_pki_fail(err, r, "the key of a disk cannot be sealed");
	phx_hex(sealed, sizeof(sealed), answer.sealed);
	*ret = answer;
	return 0;
}

int phx_key_open(const struct phx_key_ask *ask, const char *key_id,
		 const uint8_t private[PHX_SEALED_PUBLIC_SIZE], const struct phx_key_sealed *sealed,
		 uint8_t ret_key[PHX_DISK_KEY_SIZE], struct phx_err *err)
{
	char asked[ASKED_MAX];
	uint8_t from[PUBLIC], with[32], bytes[PHX_SEALED_SIZE], key[PHX_DISK_KEY_SIZE];
	int r = asked_text(ask, key_id, asked, err);
	if (r < 0)
		return r;
	PHX_AUTO_KEY EVP_PKEY *own =
		EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, private, PUBLIC);
	bool whole = own && phx_pki_unhex(sealed->from, from, sizeof(from)) == PUBLIC &&
		phx_pki_unhex(sealed->sealed, bytes, sizeof(bytes)) == PHX_SEALED_SIZE;
	r = whole ? derive(own, from, sealed->from, asked, with) : -EBADMSG;
	r = r ? r : decrypt(with, bytes, key);
	if (r == 0)
		memcpy(ret_key, key, sizeof(key));
	explicit_bzero(with, sizeof(with));
	explicit_bzero(key, sizeof(key));
	return r < 0 ? phx_pki_fail(err, -EBADMSG, "the answer holds no key for this question") : 0;
}

/* ---- asking ---- */

static int sign(const struct phx_key_ask *ask, const char *key_id, const char *key_pem_path,
		char ret[PHX_ASK_SIGNATURE_MAX], struct phx_err *err)
{
	char asked[ASKED_MAX];
	PHX_AUTO_SECRET char *pem = NULL;
	int r = asked_text(ask, key_id, asked, err);
	r = r ? r : phx_file_read(key_pem_path, PHX_PEM_MAX, &pem, NULL, err);
	PHX_AUTO_KEY EVP_PKEY *key = r == 0 ? phx_pki_key_parse(pem, key_pem_path, err) : NULL;
	if (!key)
		return r < 0 ? r : -EINVAL;
	return phx_pki_sign_text(key, asked, ret) < 0
		? phx_pki_fail(err, -EIO, "the question for a disk's key cannot be signed")
		: 0;
}

static int make_pair(struct phx_key_ask *ask, uint8_t ret_private[PUBLIC], struct phx_err *err)
{
	size_t n = PUBLIC;
	PHX_AUTO_KEY EVP_PKEY *own = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
	if (!put_public(own, ask->to) || EVP_PKEY_get_raw_private_key(own, ret_private, &n) != 1)
		return phx_pki_fail(err, -EIO, "cannot make a key");
	return 0;
}

int phx_key_ask_make(const char *key_id, const char *boot_id, const char *key_pem_path,
		     const char *cert_pem_path, struct phx_key_ask *ret,
		     uint8_t ret_private[PHX_SEALED_PUBLIC_SIZE], struct phx_err *err)
{
	struct phx_key_ask ask = {0};
	if (PHX_STR_SET(ask.boot_id, boot_id) < 0)
		return phx_err_set(err, -EINVAL, "'%s' is no boot id", boot_id);
	int r = make_pair(&ask, ret_private, err);
	r = r ? r : sign(&ask, key_id, key_pem_path, ask.signature, err);
	r = r ? r : phx_file_read(cert_pem_path, PHX_PEM_MAX, &ask.cert, NULL, err);
	if (r == 0)
		*ret = ask;
	else
		explicit_bzero(ret_private, PHX_SEALED_PUBLIC_SIZE);
	return r;
}

/* Issued here, for a node, and good. */
static int check_node(X509 *cert, const char *ca_pem, struct phx_cert_info *ret,
		      struct phx_err *err)
{
	int r = phx_cas_check_node(cert, ca_pem, ret, err);
	if (r == 0 && ret->expires_s < phx_wall_ms() / 1000)
		r = phx_err_set(err, -EKEYREJECTED,
				"it is the certificate of a node that has ended");
	return r;
}

int phx_key_ask_verify(const struct phx_key_ask *ask, const char *key_id, const char *ca_pem,
		       struct phx_cert_info *ret_node, struct phx_err *err)
{
	char asked[ASKED_MAX];
	struct phx_cert_info info;
	int r = asked_text(ask, key_id, asked, err);
	if (r < 0)
		return r;
	PHX_AUTO_CERT X509 *cert =
		phx_cert_parse(ask->cert ? ask->cert : "", "the node's certificate", err);
	if (!cert)
		return -EINVAL;
	r = check_node(cert, ca_pem, &info, err);
	if (r < 0)
		return r;
	if (phx_pki_check_text(X509_get0_pubkey(cert), asked, ask->signature) < 0)
		return phx_pki_fail(err, -EKEYREJECTED, "%s's key has not signed it", info.name);
	*ret_node = info;
	return 0;
}
