/* Checks what a deploy environment has signed of an erase, before the core hears of the erase.
 * Called with each result of an agent. The core is told whose signature it is and which image it
 * speaks of; if the signature does not hold the core is told neither, and says what is wrong with
 * the erase. */
#include "phxd/daemon.h"

#include <stdio.h>
#include <string.h>

#include "pki/statement.h"

/* Fills in what the agent must have signed: what its answer says, of the attempt that it
 * answers. */
static void expect(const struct phx_event *ev, const struct phx_seal *seal,
		   struct phx_statement *ret)
{
	PHX_CARRIES(ev, answer);
	const struct phx_event_answer *p = &ev->answer;
	*ret = (struct phx_statement){.step_id = p->step_id,
				      .epoch = p->epoch,
				      .nonce = p->nonce,
				      .size_bytes = p->erased_bytes};
	PHX_MEMBERS_COPY(PHX_ERASED_SAID_FIELDS, ret, p);
	PHX_MEMBERS_COPY(PHX_ERASED_WHERE_FIELDS, ret, seal);
	PHX_STR_SET(ret->node, ev->node);
	PHX_STR_SET(ret->disk_id, p->erased_disk);
	PHX_STR_SET(ret->method, phx_enum_name(&phx_wipe_method_names, p->setup.method));
	PHX_STR_SET(ret->used, phx_enum_name(&phx_wipe_method_names, p->used));
	PHX_STR_SET(ret->detail, ev->text);
}

/* Checks the quote of the TPM. The core is told which TPM made it; if the quote is not about this
 * statement the core is told of no TPM. */
static void take_quote(const struct phx_quote *quote, const struct phx_statement *said,
		       struct phx_event_answer *p)
{
	uint8_t data[PHX_QUOTE_DATA_SIZE];
	struct phx_quoted q;
	PHX_MEMBERS_COPY(PHX_ERASED_QUOTE_FIELDS, p, quote);
	if (phx_statement_digest(said, data) < 0 || phx_quote_verify(quote, data, &q, NULL) < 0)
		return;
	PHX_STR_SET(p->tpm, q.key);
	PHX_STR_SET(p->tpm_sum, q.pcrs);
	p->tpm_resets = q.resets;
}

/* Has this site certified the key, for that node? A reader of the attestation asks the same. */
static bool is_certified(const struct daemon *d, const char *node, const char *fp,
			 const struct phx_seal *seal)
{
	struct phx_cert_info info;
	return phx_cert_of_node(seal->cert, phx_pki_ca_pem(d->pki), &info, NULL) == 0 &&
		!strcmp(info.name, node) && !strcmp(info.fingerprint, fp);
}

void seal_take(struct daemon *d, const struct phx_http_request *q, const struct phx_seal *seal,
	       const struct phx_quote *quote, struct phx_event *ev)
{
	struct phx_statement expected;
	char fp[PHX_FINGERPRINT_MAX] = "";
	PHX_CARRIES(ev, answer);
	struct phx_event_answer *p = &ev->answer;
	if (!seal->signature[0])
		return;
	PHX_MEMBERS_COPY(PHX_ERASED_WHERE_FIELDS, p, seal);
	PHX_MEMBERS_COPY(PHX_ERASED_SEAL_FIELDS, p, seal);
	catalog_deploy_of(d, seal->image_sha256, p->image, sizeof(p->image));
	expect(ev, seal, &expected);
	/* it must be the key by which the node speaks to us: another one proves nothing */
	if (phx_statement_verify(&expected, seal->key, seal->signature, fp, NULL) == 0 &&
	    !strcmp(fp, phx_http_peer(q)->cert.fingerprint) &&
	    is_certified(d, ev->node, fp, seal) && (p->cert = strdup(seal->cert)))
		PHX_STR_SET(p->signer, fp);
	if (quote->tpm_said[0])
		take_quote(quote, &expected, p);
}
