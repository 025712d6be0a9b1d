/* The key that a process serves TLS with: in memory that is never swapped nor in a dump, and signed
 * with there, so that no library for TLS has a copy of its own. Called by lib/http, and at the
 * start of the process that serves. */
#ifndef PHX_PKI_TLS_KEY_H
#define PHX_PKI_TLS_KEY_H

#include "pki/pki.h"

/** From now on keys that this process reads lie in memory that is locked, and what OpenSSL gives
 * back is wiped. Once, in the thread that is the only one, before anything else of OpenSSL. 1: it
 * is not locked (RLIMIT_MEMLOCK), or not wiped (OpenSSL was used before). -ENOMEM. */
int phx_pki_lock_keys(void);

struct phx_tls_key;
/** The key of the server's certificate of `p`. -EINVAL: there is none, or it is of another kind
 * than P-256 and Ed25519. */
int phx_tls_key_new(const struct phx_pki *p, struct phx_tls_key **ret);
/** Safe on NULL. */
void phx_tls_key_free(struct phx_tls_key *k);

enum { PHX_TLS_SIGNATURE_MAX = 128 };
/** Signs a digest, or with Ed25519 what is to be signed itself: the length of the signature, or a
 * negative errno. Any thread, as many at once as like. */
int phx_tls_key_sign(const struct phx_tls_key *k, const void *data, size_t n,
		     uint8_t ret[PHX_TLS_SIGNATURE_MAX]);

#endif
