/* The identity of this node: its key, which is made here and never leaves it, and
 * the certificate that the head gives for the key. */
#ifndef PHX_AGENT_ENROL_H
#define PHX_AGENT_ENROL_H

#include "agent/agent.h"

/** Make sure that there is a key (STATE/agent.key) and a certificate for it (STATE/agent.pem). Asks
 * the head until it gives a certificate, or the agent stops (-ECANCELED). Where it is refused in
 * the deploy environment, it asks for the token of its start and makes a key for that, or else uses
 * the key of the installed system. */
int enrol(struct agent *a, struct phx_err *err);

/** What the head gave: texts in PEM, malloc'd. */
struct certified {
	char *cert;
	char *ca; /* "": it does not say */
};
/** Safe on a zeroed one. */
void certified_fini(struct certified *c);

/** Ask once for a certificate for that request, showing none: the caller certified_fini(); nothing
 * is kept. -EPERM: refused; -EAGAIN, -EBADMSG and errors of the call: ask again. */
int enrol_for(struct agent *a, const char *csr, struct certified *ret, struct phx_err *err);
/** The members of such an answer. -EBADMSG: it has no certificate. */
int enrol_certified(const json_t *answer, struct certified *ret, struct phx_err *err);

/** Is there a key in the state directory? */
bool enrol_has_key(const struct agent *a);

/** The head does not know the node's certificate: remove it, so that enrol() asks again. The key
 * stays. */
void enrol_forget(struct agent *a);

/** Renewal of the certificate while the agent runs; zeroed at first. Times are of
 * phx_clock_boot_ms(). */
struct renewal {
	int64_t got_ms; /* when the agent started, or had its last certificate */
	int64_t due_ms; /* not before then */
	/* the head asked for it: until it succeeds it is tried within so long; 0: it did not */
	uint32_t within_ms;
	uint64_t ca; /* as of trust_number(), or what the head asked for */
};
/** The head asks for another certificate, since its CAs have the number `ca`: it is got at a moment
 * that is drawn, within thirty heartbeats, since all nodes are asked at once. */
void enrol_renew_soon(struct renewal *r, uint64_t ca, uint32_t beat_ms);
/** Has the certificate renewed, for the same key, if it is time to. True: there is a new one, and
 * connections of the old one are to be made anew. After a failure it is tried again within two
 * hours, after a success not for half a day, whatever the clock says. */
bool enrol_renew(struct agent *a, struct renewal *r);

#endif
