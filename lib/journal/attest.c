/* The attestation document of a hand-over: see attest.h. Called when an event is committed. The
 * proof of an erase is in its record; nothing is concluded here. */
#include "journal/attest.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "pki/attestation.h"

enum { DAY_MS = 24 * 3600 * 1000 };

/* ---- evidence ---- */

#define TAKE(to, j, name) PHX_STR_SET(to, phx_json_str(j, name, ""))

static void take_said(const json_t *j, struct phx_statement *s)
{
	TAKE(s->node, j, "node");
	s->step_id = (uint64_t)phx_json_int(j, "step_id", 0);
	s->epoch = (uint64_t)phx_json_int(j, "epoch", 0);
	s->nonce = (uint64_t)phx_json_int(j, "nonce", 0);
	TAKE(s->boot_id, j, "boot_id");
	TAKE(s->image_sha256, j, "image_sha256");
	TAKE(s->disk_id, j, "disk");
	TAKE(s->method, j, "method");
	TAKE(s->used, j, "used");
	TAKE(s->tried, j, "tried");
	TAKE(s->hidden, j, "hidden");
	s->size_bytes = (uint64_t)phx_json_int(j, "size_bytes", 0);
	s->verified_bytes = (uint64_t)phx_json_int(j, "verified_bytes", 0);
	s->places = (uint32_t)phx_json_int(j, "places", 0);
	TAKE(s->read_sha256, j, "read_sha256");
	TAKE(s->detail, j, "text");
}

static struct phx_attested_disk *find_disk(struct phx_attestation *a, const char *id)
{
	PHX_LIST_EACH(struct phx_attested_disk, d, &a->disks)
		if (!strcmp(d->id, id))
			return d;
	struct phx_attested_disk *d = phx_list_push(&a->disks, sizeof(*d));
	if (d)
		PHX_STR_SET(d->id, id);
	return d;
}

/* Of several erases of a disk, the last one counts. */
static int add_evidence(void *arg, const struct phx_store_erasure *e)
{
	struct phx_attestation *a = arg;
	PHX_AUTO_JSON json_t *j = NULL;
	if (phx_json_parse(e->record, strlen(e->record), &j, NULL) < 0)
		return 0; /* it proves nothing, and its disk has no evidence */
	if ((uint64_t)phx_json_int(j, "epoch", 0) != a->epoch)
		return 0;
	struct phx_attested_disk *d = find_disk(a, phx_json_str(j, "disk", ""));
	if (!d)
		return -ENOMEM;
	d->nonce = (uint64_t)phx_json_int(j, "nonce", 0);
	d->erased_ms = phx_json_int(j, "time_ms", 0);
	TAKE(d->image, j, "image");
	TAKE(d->signer, j, "signer");
	TAKE(d->key, j, "signer_key");
	TAKE(d->signature, j, "signer_signature");
	TAKE(d->quote.tpm_key, j, "tpm_key");
	TAKE(d->quote.tpm_said, j, "tpm_said");
	TAKE(d->quote.tpm_signature, j, "tpm_signature");
	TAKE(d->quote.tpm_pcrs, j, "tpm_pcrs");
	take_said(j, &d->said);
	return 0;
}

static int add_disks(const struct phx_node *n, struct phx_attestation *a)
{
	for (uint32_t i = 0; n && i < n->known_disks.n; i++) {
		const struct phx_known_disk *k =
			PHX_LIST_AT(&n->known_disks, struct phx_known_disk, i);
		struct phx_attested_disk *d = find_disk(a, k->id);
		if (!d)
			return -ENOMEM;
		PHX_STR_SET(d->serial, k->serial);
		d->size_bytes = k->size_bytes;
	}
	return 0;
}

/* ---- the chain ---- */

static int name_previous(void *arg, const struct phx_store_attestation *last)
{
	struct phx_attestation *a = arg;
	return phx_attestation_digest(last->text, strlen(last->text), a->previous);
}

/* ---- the machine's TPM ---- */

static bool quoted_by(const struct phx_attested_disk *d, const char *key)
{
	uint8_t data[PHX_QUOTE_DATA_SIZE];
	struct phx_quoted q;
	return phx_statement_digest(&d->said, data) == 0 &&
		phx_quote_verify(&d->quote, data, &q, NULL) == 0 && !strcmp(q.key, key);
}

/* Names the TPM that signed the last erase if it signed them all: a disk may have been erased
 * before the head knew of the TPM. Verifiers of the document check the same. */
static void name_tpm(const char *key, struct phx_attestation *a)
{
	bool all = key[0];
	PHX_LIST_EACH(struct phx_attested_disk, d, &a->disks)
		all = all && quoted_by(d, key);
	PHX_STR_SET(a->tpm, all ? "quoted" : "none");
	PHX_STR_SET(a->tpm_key, all ? key : "");
}

/* ---- the document ---- */

static void begin(const struct phx_attester *by, const struct phx_state *s,
		  const struct phx_event *ev, const struct phx_action *act,
		  struct phx_attestation *a)
{
	const struct phx_node *n = phx_state_node(s, act->node);
	a->format = PHX_ATTESTATION_FORMAT;
	a->id = act->step_id;
	a->epoch = act->epoch;
	a->made_ms = ev->now_ms;
	a->until_ms = ev->now_ms + (int64_t)by->days * DAY_MS;
	a->reset_ms = act->reset_ms;
	PHX_STR_SET(a->node, act->node);
	PHX_STR_SET(a->serial, n ? n->serial : "");
	PHX_STR_SET(a->from_owner, act->from_owner);
	PHX_STR_SET(a->to_owner, act->to_owner);
	PHX_STR_SET(a->ordered_by, act->ordered_by);
	PHX_STR_SET(a->reset, act->reset);
	PHX_STR_SET(a->key, by->key);
}

static int gather(const struct phx_journal_store *store, const struct phx_state *s,
		  const struct phx_action *act, const struct phx_store_erasure *now,
		  struct phx_attestation *a, struct phx_err *err)
{
	const struct phx_store_attestations last = {.node = act->node, .limit = 1};
	int r = add_disks(phx_state_node(s, act->node), a);
	if (r == 0 && store->erasures_from)
		r = store->erasures_from(store->arg, act->node, act->first_id, act->step_id,
					 add_evidence, a, err);
	if (r == 0 && now->record)
		r = add_evidence(a, now);
	if (r == 0 && store->attestations)
		r = store->attestations(store->arg, &last, name_previous, a, err);
	if (r == 0)
		name_tpm(act->tpm, a);
	return r;
}

int phx_attest_make(const struct phx_attester *by, const struct phx_journal_store *store,
		    const struct phx_state *s, const struct phx_event *ev,
		    const struct phx_action *act, const struct phx_store_erasure *now,
		    struct phx_store_attestation *ret, struct phx_err *err)
{
	struct phx_attestation a = {0};
	char *text = NULL;
	begin(by, s, ev, act, &a);
	int r = gather(store, s, act, now, &a, err);
	if (r == 0)
		r = phx_attestation_text(&a, by->signer, &text, err);
	phx_record_fini(&phx_attestation_record, &a);
	if (r == 0)
		*ret = (struct phx_store_attestation){act->step_id,    ev->now_ms,    act->node,
						      act->from_owner, act->to_owner, text};
	return r;
}
