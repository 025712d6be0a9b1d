/* The attestation of an erase: one document for a node and a hand-over, which anybody can verify
 * with the head's public key alone. It says whose data was there, who has the node next, every disk
 * that the node was ever seen with, and for each what the deploy environment signed (statement.h);
 * the head signs the whole with a key that it uses for nothing else. Each names the one before it
 * of the same node by its digest. Made by lib/journal when the last erase of a hand-over counts;
 * exported and verified by phx erasure.
 *
 * As a file it is one line: {"attestation":{...},"signature":"HEX"}. Signed is the text of the
 * object "attestation" as it stands there, and there is one way to write it: what differs in one
 * bit is another text. */
#ifndef PHX_PKI_ATTESTATION_H
#define PHX_PKI_ATTESTATION_H

#include "pki/anchor.h"
#include "pki/statement.h"
#include "base/identity.h"

enum {
	/* 1 has no quotes of TPMs; 1 and 2 do not say how much was to be read back, and do not
	 * prove whose key signed an erase; in 1 to 3 all disks are erased */
	PHX_ATTESTATION_FORMAT = 4,
	PHX_ATTESTATION_TEXT_MAX = 1 << 20, /* bytes of a file that is looked at */
	PHX_ATTESTATION_RESET_MAX = 16,
};

#define PHX_ATTESTED_DISK_FIELDS(F, S) \
	F(S, id, STR(160)) \
	F(S, serial, STR(64)) \
	F(S, size_bytes, U64) /* with what it hides; the most that it was ever seen with */ \
	F(S, nonce, U64)      /* that the head drew for the attempt; 0: no erase is known of it */ \
	F(S, erased_ms, I64) \
	/* how much of it was to be read back, by types/readback.h: what is said is judged by it; \
	 * in documents that do not say it, by samples */ \
	F(S, verify, ENUM(phx_verify)) \
	F(S, image, STR(128))                  /* name and version of that deploy image */ \
	F(S, signer, STR(PHX_FINGERPRINT_MAX)) /* fingerprint of the node's key of that boot */ \
	F(S, key, STR(PHX_STATEMENT_KEY_MAX)) \
	F(S, cert, STR(PHX_STATEMENT_CERT_MAX)) /* of that key, by the site's CA: PEM */ \
	F(S, said, REC(phx_statement)) \
	F(S, signature, STR(PHX_STATEMENT_SIGNATURE_MAX)) /* of what is said, by `key` */ \
	F(S, quote, REC(phx_quote))                       /* of the same, by the machine's TPM */ \
	/* it was not erased, for it is protected: by which setting, by the word of the head; "" \
	 * it was. What is on it is there for the next owner, too */ \
	F(S, left, STR(96))
PHX_RECORD_STRUCT(phx_attested_disk, PHX_ATTESTED_DISK_FIELDS);

#define PHX_ATTESTATION_FIELDS(F, S) \
	F(S, format, U32) \
	F(S, id, U64) /* of the step by which the last disk was erased */ \
	F(S, node, STR(PHX_NAME_MAX)) \
	F(S, serial, STR(64)) /* the machine's */ \
	F(S, from_owner, \
	  STR(PHX_IDENTITY_MAX)) /* whose data was there; "" nobody's that is known */ \
	F(S, to_owner, STR(PHX_IDENTITY_MAX))   /* who has it next; "" nobody yet */ \
	F(S, epoch, U64)                        /* the plan */ \
	F(S, ordered_by, STR(PHX_IDENTITY_MAX)) /* the plan; "" the head by itself */ \
	/* how the machine left what ran there: kexec, power-cycle, or none: it was in the deploy \
	 * environment already */ \
	F(S, reset, STR(PHX_ATTESTATION_RESET_MAX)) \
	F(S, reset_ms, I64) \
	/* quoted: the machine's TPM signed each erase, too; none: it has not, and nothing but the \
	 * deploy environment itself says which machine that was */ \
	F(S, tpm, STR(16)) \
	F(S, tpm_key, STR(PHX_FINGERPRINT_MAX)) /* fingerprint of the TPM's key; "" none */ \
	F(S, made_ms, I64) \
	F(S, until_ms, I64)                 /* it counts until then */ \
	F(S, key, STR(PHX_FINGERPRINT_MAX)) /* fingerprint of the key that signs it */ \
	F(S, previous, STR(65))             /* SHA-256 of the node's one before; "" the first */ \
	F(S, disks, LIST(phx_attested_disk))
PHX_RECORD_STRUCT(phx_attestation, PHX_ATTESTATION_FIELDS);

/** The document: malloc'd, with its line end. `signer` NULL: it is not signed, for tests. */
int phx_attestation_text(const struct phx_attestation *a, const struct phx_signer *signer,
			 char **ret_text, struct phx_err *err);
/** How the next one of the node names this document. */
int phx_attestation_digest(const char *text, size_t n, char ret[PHX_SHA256_HEX]);

/** -EINVAL: it is no attestation, or not as one is written. Believes nothing of it. The caller:
 * phx_record_fini(&phx_attestation_record, ret). ret_signature: hexadecimal digits. */
int phx_attestation_parse(const char *text, size_t n, struct phx_attestation *ret,
			  char ret_signature[PHX_ANCHOR_SIGNATURE_MAX], struct phx_err *err);

/** What who signs with the attestation's key asks of the object "attestation" before, since who has
 * it made is not believed: is it of the present format, and does it prove the erase of every disk
 * that it does not say was left, each signed with a key that a CA of `ca_pem` certified for that
 * node? Errors as of phx_attestation_verify(). */
int phx_attestation_check(const char *body, const char *ca_pem, struct phx_err *err);

/** How many of its disks were left as they are. */
uint32_t phx_attestation_left(const struct phx_attestation *a);

/** Is it proven whose keys signed its erases? Documents of older formats do not show it. */
bool phx_attestation_shows_signers(const struct phx_attestation *a);

/** Does it prove the erase of every disk that it names, but for those that it says were left, to
 * whom trusts the public key in that file, and that CA's certificates (`ca_pem`; NULL: whose keys
 * the nodes' were is left to who signed the document)? 0, and `ret` as of phx_attestation_parse();
 * else `ret` is untouched, but for -ETIME, and the text says what is wrong: -EINVAL no
 * attestation, or altered so that it is none; -ENOKEY made with another key; -EKEYREJECTED
 * altered; -ENODATA a disk without evidence, or of which too little was read back; -EPERM a key
 * that is not certified for the node; -ESTALE evidence of another attempt, disk, node, plan or
 * TPM; -ETIME it counted until before `now_ms`. Others are about the file. */
int phx_attestation_verify(const char *text, size_t n, const char *pub_pem_path, const char *ca_pem,
			   int64_t now_ms, struct phx_attestation *ret, struct phx_err *err);

/** Is `next` the one that the node had after `before`, whose document has this digest? -EXDEV: one
 * is missing between them, or altered. Both were verified. */
int phx_attestation_follows(const struct phx_attestation *before, const char *digest,
			    const struct phx_attestation *next, struct phx_err *err);

#endif
