/* The CAs that this node trusts to identify the head: the file `ca` of its configuration. Whoever
 * deployed the node put it there. The head changes it over a connection that is trusted already, in
 * the answer to a request for a certificate. */
#ifndef PHX_AGENT_TRUST_H
#define PHX_AGENT_TRUST_H

#include "agent/agent.h"

/** The head gave a certificate for `key_pem`, and names the CAs to trust from now on (PEM; "": an
 * older head, which names none): stores them if they differ from the present ones. First makes sure
 * that the head can be verified by them, too. -EBADMSG: the certificate is signed by none of them,
 * or they are no CAs; others: the head could not be asked, or nothing be written. On failure the
 * present ones stay. */
int trust_take(struct agent *a, const char *ca, const char *cert, const char *key_pem,
	       struct phx_err *err);

/** The number that the head is told: that of the trusted CAs (phx_ca_number()), or 0 if the node's
 * certificate is not signed by the one that signs. */
uint64_t trust_number(const struct agent *a);

/** Log why the head could not be asked and, if so, that the CAs are not valid by this node's
 * clock. */
void trust_log(const struct agent *a, const struct phx_err *err);

#endif
