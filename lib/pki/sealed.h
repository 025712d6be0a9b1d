/* The key of a disk on its way to the node: asked for with the node's key, and sealed so that the
 * node alone can open it. Asked by the agent; answered by the process that holds the keys; the head
 * between them sees neither the key nor anything that opens it, then or later: what it may have
 * kept and asks again is answered to a machine that does not run any more.
 *
 * Sealed with X25519 between a key of that question and one of that answer, and AES-256-GCM with
 * the SHA-256 of what they have in common and of what was asked. */
#ifndef PHX_PKI_SEALED_H
#define PHX_PKI_SEALED_H

#include "base/record.h"
#include "pki/pki.h"

enum {
	PHX_SEALED_PUBLIC_SIZE = 32,
	PHX_SEALED_SIZE = PHX_DISK_KEY_SIZE + 16,
	PHX_ASK_SIGNATURE_MAX = 160,
	PHX_ASK_BOOT_MAX = 40,
};

/** A question. */
#define PHX_KEY_ASK_FIELDS(F, S) \
	F(S, boot_id, STR(PHX_ASK_BOOT_MAX))          /* of the kernel that asks */ \
	F(S, to, STR(2 * PHX_SEALED_PUBLIC_SIZE + 1)) /* public key of this question, hex */ \
	F(S, signature, STR(PHX_ASK_SIGNATURE_MAX))   /* of all that, by the node's key */ \
	F(S, cert, TEXT)                              /* of the node's key, PEM */
PHX_RECORD_STRUCT(phx_key_ask, PHX_KEY_ASK_FIELDS);

/** An answer; hexadecimal digits. */
#define PHX_KEY_SEALED_FIELDS(F, S) \
	F(S, from, STR(2 * PHX_SEALED_PUBLIC_SIZE + 1)) /* public key of this answer */ \
	F(S, sealed, STR(2 * PHX_SEALED_SIZE + 1))
PHX_RECORD_STRUCT(phx_key_sealed, PHX_KEY_SEALED_FIELDS);

/** Ask for `key_id`: key and certificate of the node are those files. The caller: phx_record_fini()
 * of `ret`, and explicit_bzero() of `ret_private`, which opens the answer. */
int phx_key_ask_make(const char *key_id, const char *boot_id, const char *key_pem_path,
		     const char *cert_pem_path, struct phx_key_ask *ret,
		     uint8_t ret_private[PHX_SEALED_PUBLIC_SIZE], struct phx_err *err);
/** Does a node ask that has a certificate of this CA, and for that key? ret_node: who it is.
 * -EINVAL: that is no question; -EKEYREJECTED: nobody who may has signed it. */
int phx_key_ask_verify(const struct phx_key_ask *ask, const char *key_id, const char *ca_pem,
		       struct phx_cert_info *ret_node, struct phx_err *err);
/** Seal the key for who asked. */
int phx_key_seal(const struct phx_key_ask *ask, const char *key_id,
		 const uint8_t key[PHX_DISK_KEY_SIZE], struct phx_key_sealed *ret,
		 struct phx_err *err);
/** Open the answer to one's own question. -EBADMSG: it is none, or was altered. */
int phx_key_open(const struct phx_key_ask *ask, const char *key_id,
		 const uint8_t private[PHX_SEALED_PUBLIC_SIZE], const struct phx_key_sealed *sealed,
		 uint8_t ret_key[PHX_DISK_KEY_SIZE], struct phx_err *err);

#endif
