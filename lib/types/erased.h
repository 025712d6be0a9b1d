/* What is known of the erase of one disk. The agent finds it out (disk/disk.h), the deploy
 * environment and the machine's TPM sign it (pki/statement.h, pki/quote.h), the journal keeps it
 * (state/event.h, journal/erasure.h), and whoever reads an attestation checks it. Each of them has
 * a table of its own, in an order of its own, which is signed or stored and so cannot change. The
 * members that several of them have are typed here, once, in runs that all have in the same order;
 * between tables they are copied by the run (PHX_MEMBERS_COPY), never one by one: a member that is
 * added to a run is carried everywhere, or does not compile. Pure: tables. */
#ifndef PHX_TYPES_ERASED_H
#define PHX_TYPES_ERASED_H

#include "base/record.h"
#include "types/setup.h"

/** What was read back. */
#define PHX_ERASED_READ_FIELDS(F, S) \
	F(S, places, U32)          /* that were read; they follow from the nonce */ \
	F(S, read_sha256, STR(65)) /* of these places and what was read there */

/** What else happened to the disk. */
#define PHX_ERASED_BESIDES_FIELDS(F, S) \
	F(S, tried, STR(200)) /* the method before, and why it did not do; "" none */ \
	F(S, hidden, STR(96)) /* areas that were hidden, and are erased, too; "" none */

/** Where it was done. */
#define PHX_ERASED_WHERE_FIELDS(F, S) \
	F(S, boot_id, STR(40))      /* of the kernel that runs */ \
	F(S, image_sha256, STR(65)) /* manifest of the deploy image that it was started with */

/** By which key it is signed: hexadecimal digits. */
#define PHX_ERASED_SEAL_FIELDS(F, S) \
	F(S, key, STR(256)) /* the node's public key: SubjectPublicKeyInfo, DER */ \
	F(S, signature, STR(160))

/** The TPM's quote for it: hexadecimal digits; all empty: the machine has no TPM. */
#define PHX_ERASED_QUOTE_FIELDS(F, S) \
	F(S, tpm_key, STR(256))       /* public: SubjectPublicKeyInfo, DER */ \
	F(S, tpm_said, STR(512))      /* TPMS_ATTEST, as the TPM signed it */ \
	F(S, tpm_signature, STR(160)) /* ECDSA, DER */ \
	/* the SHA-256 registers that it speaks of, one after the other */ \
	F(S, tpm_pcrs, STR(641))

/** What the deploy environment says of the erase, and all others repeat. No table has just this
 * run: it is for copying. */
#define PHX_ERASED_SAID_FIELDS(F, S) \
	F(S, verified_bytes, U64) /* read back */ \
	PHX_ERASED_READ_FIELDS(F, S) \
	PHX_ERASED_BESIDES_FIELDS(F, S)

/** The whole of it, as the answer of an agent and the action that follows from it have it. phxd
 * sets `image` if it has a deploy image with this digest, `signer` if the signature is that of the
 * key which the node showed and this site certified, and the quote and `tpm` if the TPM signed just
 * this; otherwise, or without a quote, they are "". */
#define PHX_ERASED_FIELDS(F, S) \
	F(S, used, ENUM(phx_wipe_method)) /* the method that erased it at last */ \
	PHX_ERASED_READ_FIELDS(F, S) \
	PHX_ERASED_BESIDES_FIELDS(F, S) \
	PHX_ERASED_WHERE_FIELDS(F, S) \
	F(S, image, STR(128)) \
	F(S, signer, STR(72)) \
	PHX_ERASED_SEAL_FIELDS(F, S) \
	PHX_ERASED_QUOTE_FIELDS(F, S) \
	F(S, tpm, STR(72)) /* fingerprint of the TPM's key */

/* ---- what the agent tells of it, with the result of the step (types/told.h) ---- */

enum {
	PHX_STATEMENT_KEY_MAX = 256,       /* a public key of P-256 or Ed25519, as hexadecimal */
	PHX_STATEMENT_SIGNATURE_MAX = 160, /* the same of a signature */
	PHX_STATEMENT_CERT_MAX = 2048,     /* a node's certificate in PEM */
};

/** What a finished wipe is known to have done; all of it goes into the erase record. */
#define PHX_WIPE_RESULT_FIELDS(F, S) \
	F(S, disk_id, STR(160)) \
	F(S, method, ENUM(phx_wipe_method)) /* as ordered */ \
	F(S, used, ENUM(phx_wipe_method))   /* that erased it; AUTO: an agent of before */ \
	F(S, size_bytes, U64)               /* with what was hidden */ \
	F(S, verified_bytes, U64)           /* read back after the wipe */ \
	PHX_ERASED_READ_FIELDS(F, S) \
	F(S, seconds, U64) \
	F(S, verified, BOOL) \
	F(S, detail, STR(160)) /* "discard, reads zero"; key slots seen; ... */ \
	PHX_ERASED_BESIDES_FIELDS(F, S)
PHX_RECORD_STRUCT(phx_wipe_result, PHX_WIPE_RESULT_FIELDS);

/** What lets the head make the statement that was signed: pki/statement.h. */
#define PHX_SEAL_FIELDS(F, S) \
	PHX_ERASED_WHERE_FIELDS(F, S) \
	PHX_ERASED_SEAL_FIELDS(F, S) \
	F(S, cert, STR(PHX_STATEMENT_CERT_MAX)) /* the node's, of that key; agents of before: "" */
PHX_RECORD_STRUCT(phx_seal, PHX_SEAL_FIELDS);

/** What the TPM signed of that: pki/quote.h. */
#define PHX_QUOTE_FIELDS(F, S) PHX_ERASED_QUOTE_FIELDS(F, S)
PHX_RECORD_STRUCT(phx_quote, PHX_QUOTE_FIELDS);

#endif
