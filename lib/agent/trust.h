/* The CAs by which this node believes the head: the file `ca` of its configuration. It was brought
 * by whoever deployed the node; the head changes it over a connection that is believed already,
 * with the answer to a request for a certificate. */
#ifndef PHX_AGENT_TRUST_H
#define PHX_AGENT_TRUST_H

#include "agent/agent.h"

/** The head gave a certificate for `key_pem`, and says which CAs are to be believed from now on
 * (PEM; "" of a head that does not say): keeps them, if they are others than before. Before, it
 * makes sure that the head is believed by them, too. -EBADMSG: the certificate is signed by none of
 * them, or they are none; others: the head could not be asked, or nothing be written. Then the
 * former ones stay. */
int trust_take(struct agent *a, const char *ca, const char *cert, const char *key_pem,
	       struct phx_err *err);

/** What the head is told: the number of the CAs that are believed (phx_ca_number()), or 0 where the
 * node's certificate is not of the one that signs. */
uint64_t trust_number(const struct agent *a);

/** Why the head could not be asked, and where that is so, that by this node's clock the CAs are not
 * good. */
void trust_log(const struct agent *a, const struct phx_err *err);

#endif
