/* A quote of a TPM 2.0: what the chip of a machine signs of how the machine was started, for data
 * that the asker chose. Made by lib/tpm on the machine; verified by the head, which then knows that
 * what it was told comes from that machine, and by whoever reads an attestation (attestation.h).
 *
 * It rests on the key being one of a TPM, which the first quote of a machine is believed to say. */
#ifndef PHX_PKI_QUOTE_H
#define PHX_PKI_QUOTE_H

#include "base/record.h"
#include "pki/pki.h"
#include "types/erased.h"

/* with the sizes of the texts of struct phx_quote */
enum {
	PHX_QUOTE_DATA_SIZE = 32, /* a SHA-256 */
	PHX_QUOTE_PCRS = 10,      /* the first ones: firmware, its settings, what it loaded */
	PHX_QUOTE_KEY_MAX = 256,
	PHX_QUOTE_SAID_MAX = 512,
	PHX_QUOTE_SIGNATURE_MAX = 160,
	PHX_QUOTE_PCRS_MAX = PHX_QUOTE_PCRS * 64 + 1,
};

/** What a quote proves. */
struct phx_quoted {
	char key[PHX_FINGERPRINT_MAX]; /* of the TPM's key */
	uint32_t resets;               /* of the machine, as the TPM counts them */
	char pcrs[PHX_SHA256_HEX];     /* SHA-256 of the registers' values */
};

/** Did the TPM of that key sign just these registers, for this data? -EINVAL: that is no quote;
 * -EKEYREJECTED: it is not signed with its key; -ESTALE: it is for other data; -ERANGE: the
 * registers are not those, or not all that are asked for. */
int phx_quote_verify(const struct phx_quote *q, const uint8_t data[PHX_QUOTE_DATA_SIZE],
		     struct phx_quoted *ret, struct phx_err *err);

#endif
