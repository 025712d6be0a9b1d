/* The next key of a node that stays up: signed for with the one that it has, so that the vault,
 * which certifies it, need not believe the head. Made by the agent in the step rekey. */
#ifndef PHX_PKI_NEXT_KEY_H
#define PHX_PKI_NEXT_KEY_H

#include "pki/pki.h"
#include "pki/statement.h"
#include "types/told.h"

/** Sign for the key of the request; key and certificate that the node has are those files. */
int phx_next_key_prove(const char *csr_pem, const char *key_pem_path, const char *cert_pem_path,
		       struct phx_next_key *ret, struct phx_err *err);
/** Has this node, with the key of that fingerprint, signed for the key of the request? -EINVAL:
 * that is no proof; -EKEYREJECTED: it is another's. Looks at no clock. */
int phx_next_key_verify(const struct phx_next_key *k, const char *csr_pem, const char *node,
			const char *key_fp, struct phx_err *err);

#endif
