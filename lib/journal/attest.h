/* Makes the attestation of a hand-over (pki/attestation.h) from the erase records of its plan. */
#ifndef PHX_JOURNAL_ATTEST_H
#define PHX_JOURNAL_ATTEST_H

#include "core/core.h"
#include "journal/store.h"

/** Who attests. All members are borrowed. */
struct phx_attester {
	const struct phx_signer *signer; /* NULL: attestations are not signed, for tests */
	const char *key;                 /* fingerprint of the signer's public key */
	uint32_t days;                   /* validity of an attestation */
};

/** Makes the attestation that `act` (kind ATTEST) of event `ev` asks for, in the state after it.
 * `now`: the erase record of the same event, which is not in the store yet. It lists each disk that
 * the node is known to have, with or without evidence; without, nobody takes it for a proof. The
 * TPM that `act` names is named only if every disk has a quote of it. The caller frees ret->text;
 * the rest is borrowed from `act`. */
int phx_attest_make(const struct phx_attester *by, const struct phx_journal_store *store,
		    const struct phx_state *s, const struct phx_event *ev,
		    const struct phx_action *act, const struct phx_store_erasure *now,
		    struct phx_store_attestation *ret, struct phx_err *err);

#endif
