/* A new key for a node that goes to another owner without a start (NOOP, in place): whoever was
 * root on it may have a copy of its present key.
 *
 *   step rekey issued ──event rekey: certified──▶ the former key is dead ──answer──▶ step done
 *
 * The agent makes the key, and asks for its certificate under the former one, with the nonce of the
 * attempt, from the node's own address: a copy of the former key elsewhere cannot get a
 * certificate. Once the event is committed the new key is the node's, so that it is certified again
 * (enrol.c) if the answer was lost. Called by the table of events and result.c. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <string.h>

static int need_step(struct phx_apply *a, const struct phx_event_rekey *p, struct phx_node *n,
		     const struct phx_step **ret)
{
	const struct phx_step *step = phx_node_step(n);
	bool current = step && step->kind == PHX_STEP_rekey && step->status == PHX_STEP_ISSUED &&
		step->id == p->step_id && n->plan.epoch == p->epoch;
	if (!current || !p->nonce || p->nonce != step->nonce)
		return phx_err_set(a->err, -ESTALE, "%s: it is not told to have a new key%s",
				   n->name, current ? " by an order with that number" : "");
	*ret = step;
	return 0;
}

static int refuse_place(struct phx_apply *a, struct phx_node *n, const struct phx_event_rekey *p)
{
	return phx_err_set(a->err, -EACCES,
			   "%s: another key is asked for from %.60s, and that is not its address",
			   n->name, p->address);
}

int phx_apply_rekey(struct phx_apply *a, const struct phx_event_rekey *p)
{
	const struct phx_step *step = NULL;
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	r = r ? r : need_step(a, p, n, &step);
	if (r < 0)
		return r;
	if (strcmp(n->ip[0] ? n->ip : n->address, p->address))
		return refuse_place(a, n, p);
	bool same = !strcmp(n->key_fp, p->key_fp);
	if (!p->key_fp[0] || (same && n->rekeyed != step->id))
		return phx_err_set(a->err, -EINVAL, "%s: key_fp: the node has that key already",
				   n->name);
	PHX_STR_SET(a->out->node, n->name);
	if (same)
		return 0;
	PHX_STR_SET(n->key_fp, p->key_fp);
	n->rekeyed = step->id;
	phx_start_close(n); /* a start that was awaited has happened */
	a->out->changed = true;
	return 0;
}

const char *phx_rekey_fault(const struct phx_node *n, const struct phx_step *step)
{
	return n->rekeyed == step->id ? NULL : "it has not asked for a certificate for a new key";
}
