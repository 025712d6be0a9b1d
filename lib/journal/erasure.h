/* The erase record, which is signed: made when an erase counts, and read again by who makes the
 * attestation of the hand-over (attest.h). */
#ifndef PHX_JOURNAL_ERASURE_H
#define PHX_JOURNAL_ERASURE_H

#include "base/json.h"
#include "core/core.h"
#include "pki/statement.h"

/** A disk of the node. */
#define PHX_ERASURE_DISK_FIELDS(F, S) \
	F(S, id, STR(160)) \
	F(S, size_bytes, U64) \
	F(S, left, STR(96)) /* by which setting it is not erased; "" it is, or older records */
PHX_RECORD_STRUCT(phx_erasure_disk, PHX_ERASURE_DISK_FIELDS);

/** The record. Its order is that of the signed texts of before, so that runs of members that are
 * other tables' (types/erased.h) stand here one by one. */
#define PHX_ERASURE_FIELDS(F, S) \
	F(S, time_ms, I64) \
	F(S, node, STR(PHX_NAME_MAX)) \
	F(S, disk, STR(160)) \
	F(S, method, ENUM(phx_wipe_method)) /* as ordered */ \
	F(S, key_id, STR(PHX_NAME_MAX)) \
	F(S, size_bytes, U64) \
	F(S, verified_bytes, U64) \
	F(S, verify, ENUM(phx_verify)) /* how much was to be read back */ \
	F(S, step_id, U64) \
	F(S, epoch, U64) \
	F(S, nonce, U64) \
	F(S, text, STR(256)) \
	F(S, from_owner, STR(PHX_IDENTITY_MAX)) \
	F(S, to_owner, STR(PHX_IDENTITY_MAX)) \
	F(S, used, STR(16)) /* name of the method that erased it; "" not known */ \
	F(S, tried, STR(200)) \
	PHX_ERASED_READ_FIELDS(F, S) \
	F(S, hidden, STR(96)) \
	F(S, boot_id, STR(40)) \
	F(S, image, STR(128)) \
	F(S, image_sha256, STR(65)) \
	F(S, signer, STR(72)) \
	F(S, signer_key, STR(256)) \
	F(S, signer_signature, STR(160)) \
	F(S, signer_cert, STR(PHX_STATEMENT_CERT_MAX)) /* in PEM; "" in older records */ \
	F(S, tpm, STR(72)) \
	PHX_ERASED_QUOTE_FIELDS(F, S) \
	F(S, disks, LIST(phx_erasure_disk)) /* with which the node was ever seen */
PHX_RECORD_STRUCT(phx_erasure, PHX_ERASURE_FIELDS);

/** The runs of PHX_ERASED_FIELDS that the record has by the same names; the rest is `used` and the
 * seal. */
#define PHX_ERASURE_SAME_FIELDS(F, S) \
	PHX_ERASED_READ_FIELDS(F, S) \
	PHX_ERASED_BESIDES_FIELDS(F, S) \
	PHX_ERASED_WHERE_FIELDS(F, S) \
	F(S, image, STR(128)) \
	F(S, signer, STR(72)) \
	PHX_ERASED_QUOTE_FIELDS(F, S) \
	F(S, tpm, STR(72))

/** Makes the record of the erase of `act` (kind ERASED) of event `ev`, in the state after it: whose
 * disk, between which owners, how it was erased and read back, and every disk that the node is
 * known to have. The caller owns it; NULL: out of memory. */
json_t *phx_erasure_json(const struct phx_state *s, const struct phx_event *ev,
			 const struct phx_action *act);

#endif
