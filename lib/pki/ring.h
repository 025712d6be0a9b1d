/* Rings of keys: the public keys by which packages and images are believed, several at once, so
 * that a key can be changed while what the former one signed is still in use. */
#ifndef PHX_PKI_RING_H
#define PHX_PKI_RING_H

#include "base/record.h"
#include "pki/pki.h"

/** A public key (Ed25519) of a ring. */
#define PHX_RING_KEY_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX)) /* of its file without .pub; in one file: its number */ \
	F(S, id, STR(PHX_FINGERPRINT_MAX)) \
	F(S, pem, STR(256))
PHX_RECORD_STRUCT(phx_ring_key, PHX_RING_KEY_FIELDS);
enum { PHX_RING_MAX = 64 }; /* keys of one ring */

/** The keys at `path`: of a directory those in its files NAME.pub, one each, by name; of a file
 * those that it holds, one behind the other. None is no error: nothing is believed then. A
 * directory, or a file in it, that others than root and who we are could change is -EPERM.
 * ret_keys: struct phx_ring_key. */
int phx_ring_read(const char *path, struct phx_list *ret_keys, struct phx_err *err);
/** The keys as one text in PEM, which phx_ring_read() reads; malloc'd, "" of none. NULL on
 * ENOMEM. */
char *phx_ring_text(const struct phx_list *keys);
/** As phx_verify() with any of the keys at `path`; ret_name (may be NULL): which of them.
 * -EKEYREJECTED: by none of them. */
int phx_ring_verify(const char *path, const void *data, size_t n, const uint8_t sig[PHX_SIG_SIZE],
		    char ret_name[PHX_NAME_MAX], struct phx_err *err);

/** The same of a text and a signature in hexadecimal digits, as phx_ring_sign() makes it.
 * -EKEYREJECTED also for what is no signature. */
int phx_ring_verify_text(const char *path, const char *text, const char *hex,
			 char ret_name[PHX_NAME_MAX], struct phx_err *err);
enum { PHX_SIG_HEX = 2 * PHX_SIG_SIZE + 1 };
/** Sign a text with the key of a PEM file. */
int phx_ring_sign(const char *key_pem_path, const char *text, char ret_hex[PHX_SIG_HEX],
		  struct phx_err *err);

/** New Ed25519 key: `path` (0600) and its public half, `path` with .pub in place of a .key at its
 * end, or behind it. -EEXIST: one of the two is there. ret_pub_path is malloc'd. */
int phx_sign_key_new(const char *path, char **ret_pub_path, struct phx_err *err);

#endif
