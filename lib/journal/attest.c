/* The attestation document of a hand-over: see attest.h. Called when an event is committed. The
 * proof of an erase is in its record; nothing is concluded here. */
#include "journal/attest.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "journal/erasure.h"
#include "pki/attestation.h"

enum { DAY_MS = 24 * 3600 * 1000 };

/* ---- evidence ---- */

static void take_said(const struct phx_erasure *e, struct phx_statement *s)
{
	PHX_MEMBERS_COPY(PHX_ERASED_SAID_FIELDS, s, e);
	PHX_MEMBERS_COPY(PHX_ERASED_WHERE_FIELDS, s, e);
	PHX_STR_SET(s->node, e->node);
	s->step_id = e->step_id;
	s->epoch = e->epoch;
	s->nonce = e->nonce;
	PHX_STR_SET(s->disk_id, e->disk);
	PHX_STR_SET(s->method, phx_enum_name(&phx_wipe_method_names, e->method));
	PHX_STR_SET(s->used, e->used);
	s->size_bytes = e->size_bytes;
	PHX_STR_SET(s->detail, e->text);
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

static int take_evidence(const struct phx_erasure *e, struct phx_attestation *a)
{
	if (e->epoch != a->epoch)
		return 0;
	struct phx_attested_disk *d = find_disk(a, e->disk);
	if (!d)
		return -ENOMEM;
	d->nonce = e->nonce;
	d->verify = e->verify;
	d->erased_ms = e->time_ms;
	PHX_STR_SET(d->image, e->image);
	PHX_STR_SET(d->signer, e->signer);
	PHX_STR_SET(d->key, e->signer_key);
	PHX_STR_SET(d->signature, e->signer_signature);
	PHX_STR_SET(d->cert, e->signer_cert);
	PHX_MEMBERS_COPY(PHX_ERASED_QUOTE_FIELDS, &d->quote, e);
	take_said(e, &d->said);
	return 0;
}

/* Of several erases of a disk, the last one counts. */
static int add_evidence(void *arg, const struct phx_store_erasure *e)
{
	struct phx_erasure read;
	int r = phx_json_text_to_record(&phx_erasure_record, e->record, &read, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0; /* it proves nothing: its disk has no evidence */
	r = take_evidence(&read, arg);
	phx_record_fini(&phx_erasure_record, &read);
	return r;
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
		PHX_STR_SET(d->left, phx_text(k->left));
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
		all = all && (d->left[0] || quoted_by(d, key));
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
