/* The identity of this node: its key, which is made here and never leaves it, and
 * the certificate that the head gives for the key. */
#ifndef PHX_AGENT_ENROL_H
#define PHX_AGENT_ENROL_H

#include "agent/agent.h"
#include "types/told.h"

/** Make sure that there is a key (STATE/agent.key) and a certificate for it (STATE/agent.pem). Asks
 * the head until it gives a certificate, or the agent stops (-ECANCELED). If the head refuses in
 * the deploy environment, the agent asks for the token of this start and makes a key for it, or
 * else uses the key of the installed system. */
int enrol(struct agent *a, struct phx_err *err);

/** Ask once for a certificate for this request, over a connection without a client certificate;
 * `next` is what the node's key has signed for it, NULL: nothing. Stores nothing; the caller frees
 * *ret by enrol_certified_fini(). -EPERM: refused; -EAGAIN, -EBADMSG and errors of the call: ask
 * again. */
int enrol_for(struct agent *a, const char *csr, const struct phx_next_key *next,
	      struct phx_told_certified *ret, struct phx_err *err);
/** Read such an answer of the head, to be freed likewise. -EBADMSG: it has no certificate. */
int enrol_certified(const json_t *answer, struct phx_told_certified *ret, struct phx_err *err);
/** Safe on a zeroed one. */
void enrol_certified_fini(struct phx_told_certified *c);

/** Is there a key in the state directory? */
bool enrol_has_key(const struct agent *a);

/** The head does not know the node's certificate: remove it, so that enrol() asks again. The key
 * stays. */
void enrol_forget(struct agent *a);

/** Renewal of the certificate while the agent runs; zeroed at first. Times are of
 * phx_clock_boot_ms(). */
struct renewal {
	int64_t got_ms; /* when the agent started, or had its last certificate */
	int64_t due_ms; /* no renewal before then */
	/* the head asked for a renewal: it is tried within this time, until it succeeds; 0: it did
	 * not ask */
	uint32_t within_ms;
	uint64_t ca; /* trust_number(), or the number of the CAs for which the head asked */
};
/** The head asks for a new certificate because its CAs now have the number `ca`. It is obtained at
 * a random moment within thirty heartbeats, since all nodes are asked at once. */
void enrol_renew_soon(struct renewal *r, uint64_t ca, uint32_t beat_ms);
/** Renews the certificate, for the same key, if it is time. True: there is a new one, and
 * connections under the old one must be made anew. After a failure the next try is within two
 * hours, after a success not for half a day, whatever the clock says. */
bool enrol_renew(struct agent *a, struct renewal *r);

#endif
