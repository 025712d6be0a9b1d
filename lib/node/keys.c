/* Disk keys that belong to no node any more: their destruction is ordered again and
 * again until the key store confirms it. Called where a node is forgotten or a plan
 * is given up; keys of other plans are destroyed by steps. Pure. */
#include "node/internal.h"
#include "state/doomed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { KEY_AGAIN_MS = 300 * 1000 };

static void tell(struct phx_apply *a, struct phx_doomed_key *k)
{
	struct phx_action *act = phx_act(a, PHX_ACT_KEY_DESTROY, NULL);
	if (act)
		PHX_STR_SET(act->key_id, k->key_id);
	k->again_ms = a->s->now_ms + KEY_AGAIN_MS;
	phx_timed_set(a->s, PHX_TIMED_KEY, k);
	a->out->changed = true;
}

void phx_key_name(const struct phx_node *n, struct phx_step *step)
{
	if (strcmp(step->key_id, "new"))
		return;
	snprintf(step->key_id, sizeof(step->key_id), "%.40s-%llu", n->name,
		 (unsigned long long)n->plan.epoch);
}

void phx_key_doom(struct phx_apply *a, const char *key_id)
{
	if (!key_id[0] || phx_doomed_find(a->s, key_id))
		return;
	struct phx_doomed_key *k = phx_grow(a, &a->s->doomed_keys, sizeof(*k));
	if (!k)
		return;
	PHX_STR_SET(k->key_id, key_id);
	phx_doomed_named(a->s, k);
	tell(a, k);
}

void phx_key_doom_unsure(struct phx_apply *a, const struct phx_node *n)
{
	const struct phx_step *step = phx_node_step(n);
	if (step && step->kind == PHX_STEP_make_key && step->attempt)
		phx_key_doom(a, step->key_id);
}

int phx_key_gone(struct phx_apply *a, const struct phx_event_answer *p)
{
	struct phx_doomed_key *k = phx_doomed_find(a->s, p->name);
	if (!k)
		return phx_err_set(a->err, -ESTALE, "no key '%s' is waiting to be destroyed",
				   p->name);
	if (p->result < 0) {
		phx_note(a, NULL, "disk key %s is not destroyed yet: %.150s", k->key_id,
			 a->ev->text);
		return 0;
	}
	phx_doomed_gone(a->s, k);
	a->out->changed = true;
	return 0;
}

void phx_keys_tick(struct phx_apply *a)
{
	struct phx_doomed_key *k;
	while ((k = phx_timed_next(a->s, PHX_TIMED_KEY, 0)))
		tell(a, k);
}

bool phx_key_may_have(const struct phx_node *n, const char *key_id)
{
	if (n->state == PHX_NODE_QUARANTINED || !key_id[0])
		return false;
	if (!strcmp(n->disk_key_id, key_id))
		return true;
	PHX_LIST_EACH(struct phx_step, step, &n->plan.steps)
		if (step->kind == PHX_STEP_image && step->status == PHX_STEP_ISSUED &&
		    !strcmp(step->key_id, key_id))
			return true;
	return false;
}
