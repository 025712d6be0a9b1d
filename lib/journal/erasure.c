/* The text of an erase record: see erasure.h. Called when an event is committed; signs nothing. */
#include "journal/erasure.h"

#include <errno.h>

PHX_RECORD_TABLE(phx_erasure_disk, PHX_ERASURE_DISK_FIELDS);
PHX_RECORD_TABLE(phx_erasure, PHX_ERASURE_FIELDS);

/* A member of the run that nobody copies is no member that is lost: the record has it, or it does
 * not compile; those of other names are the only ones by hand. */
#define COUNT(S, m, ...) +1
_Static_assert(0 PHX_ERASED_FIELDS(COUNT, ) ==
		       0 PHX_ERASURE_SAME_FIELDS(COUNT, ) PHX_ERASED_SEAL_FIELDS(COUNT, ) + 1,
	       "an erase record carries all of an erase");
#undef COUNT

/* Every disk with which the node was ever seen, as known after the erase. */
static int put_disks(const struct phx_state *s, const char *node, struct phx_erasure *ret)
{
	const struct phx_node *n = phx_state_node(s, node);
	for (uint32_t i = 0; n && i < n->known_disks.n; i++) {
		const struct phx_known_disk *d =
			PHX_LIST_AT(&n->known_disks, struct phx_known_disk, i);
		struct phx_erasure_disk *to = phx_list_push(&ret->disks, sizeof(*to));
		if (!to)
			return -ENOMEM;
		PHX_STR_SET(to->id, d->id);
		to->size_bytes = d->size_bytes;
		PHX_STR_SET(to->left, phx_text(d->left));
	}
	return 0;
}

json_t *phx_erasure_json(const struct phx_state *s, const struct phx_event *ev,
			 const struct phx_action *act)
{
	struct phx_erasure e = {.time_ms = ev->now_ms,
				.method = act->method,
				.size_bytes = act->size_bytes,
				.verified_bytes = act->verified_bytes,
				.verify = act->verify,
				.step_id = act->step_id,
				.epoch = act->epoch,
				.nonce = act->nonce};
	PHX_MEMBERS_COPY(PHX_ERASURE_SAME_FIELDS, &e, act);
	PHX_STR_SET(e.node, act->node);
	PHX_STR_SET(e.disk, act->disk);
	PHX_STR_SET(e.key_id, act->key_id);
	PHX_STR_SET(e.text, act->text);
	PHX_STR_SET(e.from_owner, act->from_owner);
	PHX_STR_SET(e.to_owner, act->to_owner);
	if (act->used)
		PHX_STR_SET(e.used, phx_enum_name(&phx_wipe_method_names, act->used));
	PHX_STR_SET(e.signer_key, act->key);
	PHX_STR_SET(e.signer_signature, act->signature);
	if (ev->kind == PHX_EV_step_result)
		PHX_STR_SET(e.signer_cert, phx_text(ev->answer.cert));
	json_t *j = put_disks(s, act->node, &e) < 0 ? NULL
						    : phx_json_from_record(&phx_erasure_record, &e);
	phx_record_fini(&phx_erasure_record, &e);
	return j;
}
