/* The TPM of a machine proves to the head that an erase was done by that machine, and after which
 * start. The first TPM that is believed stays the node's until somebody says that it was replaced.
 * Its quotes are verified before the core hears of them (phxd/seal.c). Called by result.c and
 * wipes.c. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <string.h>

static struct phx_node_tpm *tpm_of(const struct phx_node *n)
{
	return n->tpms.n ? PHX_LIST_AT(&n->tpms, struct phx_node_tpm, 0) : NULL;
}

const char *phx_tpm_fault(const struct phx_node *n, const struct phx_event_answer *p)
{
	const struct phx_node_tpm *t = tpm_of(n);
	if (p->tpm_said[0] && !p->tpm[0])
		return "what the machine's TPM is said to have signed is not of this erase, or not "
		       "signed by it";
	if (!t)
		return NULL;
	if (!p->tpm[0])
		return "the machine's TPM did not sign the erase, and has before: switch it on in "
		       "the firmware's settings, or say phx node forget-tpm if it was taken out";
	if (strcmp(p->tpm, t->key))
		return "another TPM signs for this machine than before: say phx node forget-tpm if "
		       "its board was replaced";
	if (t->epoch != n->plan.epoch && p->tpm_resets == t->resets && phx_was_power_cycled(n))
		return "the machine was not started anew: its TPM has counted no reset since the "
		       "erase before";
	return NULL;
}

/* Has the TPM measured another start than before? Only a power cycle counts: a kexec leaves the
 * registers of what ran before. */
static bool starts_otherwise(const struct phx_node *n, const struct phx_node_tpm *t,
			     const struct phx_event_answer *p)
{
	return t->pcrs[0] && strcmp(t->pcrs, p->tpm_sum) && phx_was_power_cycled(n);
}

void phx_tpm_keep(struct phx_apply *a, const struct phx_event_answer *p, struct phx_node *n)
{
	struct phx_node_tpm *t = tpm_of(n);
	if (!p->tpm[0])
		return;
	if (!t) {
		t = phx_grow(a, &n->tpms, sizeof(*t));
		if (!t)
			return;
		phx_note(a, n, "%s: its TPM signs what it says of erases from now on", n->name);
	}
	if (starts_otherwise(n, t, p))
		phx_note(a, n,
			 "%s: its TPM has measured another start than before: firmware, its "
			 "settings or what it loads have changed",
			 n->name);
	PHX_STR_SET(t->key, p->tpm);
	PHX_STR_SET(t->pcrs, p->tpm_sum);
	t->resets = p->tpm_resets;
	t->epoch = n->plan.epoch;
}

int phx_apply_tpm_forget(struct phx_apply *a, const struct phx_event_none *p)
{
	(void)p;
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r < 0)
		return r;
	if (!n->tpms.n)
		return phx_err_set(a->err, -ENOENT, "no TPM has signed for %s", n->name);
	phx_touch(a->s, n);
	phx_list_fini(&n->tpms);
	phx_note(a, n, "%s: its TPM is gone, says %.40s: the next one is believed", n->name,
		 a->ev->by[0] ? a->ev->by : "phxd");
	a->out->changed = true;
	return 0;
}
