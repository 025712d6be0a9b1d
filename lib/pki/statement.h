/* What a deploy environment says of an erase that it has done, signed with the key that the node
 * has of this boot: how the disk was erased and what it read back, for which attempt of which step,
 * and what runs there. Made by the agent; the head makes the same text of what it knows itself, and
 * whoever reads an attestation (attestation.h) makes it once more. */
#ifndef PHX_PKI_STATEMENT_H
#define PHX_PKI_STATEMENT_H

#include "base/record.h"
#include "pki/quote.h"
#include "types/erased.h"

#define PHX_STATEMENT_FIELDS(F, S) \
	F(S, node, STR(PHX_NAME_MAX)) \
	F(S, step_id, U64) \
	F(S, epoch, U64) \
	F(S, nonce, U64) /* the head's random number of the attempt */ \
	PHX_ERASED_WHERE_FIELDS(F, S) \
	F(S, disk_id, STR(160)) \
	F(S, method, STR(16)) /* as ordered */ \
	F(S, used, STR(16))   /* that erased it */ \
	PHX_ERASED_BESIDES_FIELDS(F, S) \
	F(S, size_bytes, U64) \
	F(S, verified_bytes, U64) /* read back */ \
	PHX_ERASED_READ_FIELDS(F, S) \
	F(S, detail, STR(256))
PHX_RECORD_STRUCT(phx_statement, PHX_STATEMENT_FIELDS);

/** Sign with the private key in this file: P-256 or Ed25519. */
int phx_statement_sign(const struct phx_statement *s, const char *key_pem_path,
		       struct phx_seal *ret, struct phx_err *err);
/** Show whose key it was: the certificate in this file. -EINVAL: there is none, or one that is too
 * long for a node's. */
int phx_seal_certify(const char *cert_pem_path, struct phx_seal *seal, struct phx_err *err);
/** What the TPM of the machine quotes it by. -ENOMEM. */
int phx_statement_digest(const struct phx_statement *s, uint8_t ret[PHX_QUOTE_DATA_SIZE]);
/** Is the statement signed with this key? ret_fp: the key's fingerprint, as certificates have it.
 * -EINVAL: that is no such key; -EKEYREJECTED: it is not. */
int phx_statement_verify(const struct phx_statement *s, const char *key, const char *signature,
			 char ret_fp[PHX_FINGERPRINT_MAX], struct phx_err *err);

#endif
