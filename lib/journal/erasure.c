/* The text of an erase record: see erasure.h. Called when an event is committed; signs nothing. */
#include "journal/erasure.h"

/* Every disk with which the node was ever seen, as known after the erase. */
static json_t *disks_json(const struct phx_state *s, const char *node)
{
	const struct phx_node *n = phx_state_node(s, node);
	json_t *list = json_array();
	for (uint32_t i = 0; n && i < n->known_disks.n; i++) {
		const struct phx_known_disk *d =
			PHX_LIST_AT(&n->known_disks, struct phx_known_disk, i);
		json_array_append_new(list,
				      json_pack("{s:s,s:I}", "id", d->id, "size_bytes",
						(json_int_t)d->size_bytes));
	}
	return list;
}

json_t *phx_erasure_json(const struct phx_state *s, const struct phx_event *ev,
			 const struct phx_action *act)
{
	const char *used = act->used ? phx_enum_name(&phx_wipe_method_names, act->used) : "";
	return json_pack("{s:I,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:s,"
			 "s:s,s:s,s:s,s:s,s:I,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,"
			 "s:o}",
			 "time_ms", (json_int_t)ev->now_ms, "node", act->node, "disk", act->disk,
			 "method", phx_enum_name(&phx_wipe_method_names, act->method), "key_id",
			 act->key_id, "size_bytes", (json_int_t)act->size_bytes, "verified_bytes",
			 (json_int_t)act->verified_bytes, "step_id", (json_int_t)act->step_id,
			 "epoch", (json_int_t)act->epoch, "nonce", (json_int_t)act->nonce, "text",
			 act->text, "from_owner", act->from_owner, "to_owner", act->to_owner,
			 "used", used, "tried", act->tried, "places", (json_int_t)act->places,
			 "read_sha256", act->read_sha256, "hidden", act->hidden, "boot_id",
			 act->boot_id, "image", act->image, "image_sha256", act->image_sha256,
			 "signer", act->signer, "signer_key", act->key, "signer_signature",
			 act->signature, "tpm", act->tpm, "tpm_key", act->tpm_key, "tpm_said",
			 act->tpm_said, "tpm_signature", act->tpm_signature, "tpm_pcrs",
			 act->tpm_pcrs, "disks", disks_json(s, act->node));
}
