/* What differs between two reports: only that is journalled. Pure. See slurm.h. */
#include <errno.h>
#include <string.h>

#include "slurm/internal.h"

static int add_job(struct phx_list *to, const struct phx_engine_job *job, bool gone)
{
	struct phx_engine_job *j = phx_list_push(to, sizeof(*j));
	if (!j)
		return -ENOMEM;
	int r = phx_record_copy(&phx_engine_job_record, j, job);
	if (r < 0) {
		to->n--;
		return r;
	}
	if (gone) {
		phx_list_fini(&j->hosts);
		j->state = PHX_ENGINE_JOB_DONE;
	}
	return 0;
}

static int job_changes(const struct phx_list *known, const struct phx_list *now,
		       struct phx_list *to)
{
	uint32_t i = 0, k = 0;
	int r = 0;
	while (r == 0 && (i < known->n || k < now->n)) {
		const struct phx_engine_job *old =
			i < known->n ? PHX_LIST_AT(known, struct phx_engine_job, i) : NULL;
		const struct phx_engine_job *new =
			k < now->n ? PHX_LIST_AT(now, struct phx_engine_job, k) : NULL;
		int c = !old ? 1 : !new ? -1 : strcmp(old->id, new->id);
		if (c < 0)
			r = add_job(to, old, true);
		else if (c > 0 || !phx_record_equal(&phx_engine_job_record, old, new))
			r = add_job(to, new, false);
		i += c <= 0;
		k += c >= 0;
	}
	return r;
}

static int add_node(struct phx_list *to, const struct phx_engine_node *node, bool gone)
{
	struct phx_engine_node *n = phx_list_push(to, sizeof(*n));
	if (!n)
		return -ENOMEM;
	*n = *node;
	if (gone) {
		n->state = PHX_ENGINE_NODE_ABSENT;
		n->ours = false;
	}
	return 0;
}

static int node_changes(const struct phx_list *known, const struct phx_list *now,
			struct phx_list *to)
{
	uint32_t i = 0, k = 0;
	int r = 0;
	while (r == 0 && (i < known->n || k < now->n)) {
		const struct phx_engine_node *old =
			i < known->n ? PHX_LIST_AT(known, struct phx_engine_node, i) : NULL;
		const struct phx_engine_node *new =
			k < now->n ? PHX_LIST_AT(now, struct phx_engine_node, k) : NULL;
		int c = !old ? 1 : !new ? -1 : strcmp(old->name, new->name);
		if (c < 0)
			r = add_node(to, old, true);
		else if (c > 0 || !phx_record_equal(&phx_engine_node_record, old, new))
			r = add_node(to, new, false);
		i += c <= 0;
		k += c >= 0;
	}
	return r;
}

static void forget(struct phx_list *nodes, const char *name)
{
	for (uint32_t i = 0; i < nodes->n; i++)
		if (!strcmp(PHX_LIST_AT(nodes, struct phx_engine_node, i)->name, name)) {
			phx_list_remove(nodes, sizeof(struct phx_engine_node), i);
			return;
		}
}

void phx_slurm_forget(struct phx_slurm_report *known, const struct phx_engine_order *order)
{
	switch ((enum phx_engine_act)order->kind) {
	case PHX_ENGINE_CLOSE:
	case PHX_ENGINE_OPEN:
		forget(&known->nodes, order->target);
		return;
	case PHX_ENGINE_REFUSE:
	case PHX_ENGINE_ADMIT:
		forget(&known->partitions, order->target);
		return;
	case PHX_ENGINE_REQUEUE:
	case PHX_ENGINE_CANCEL:
	case PHX_ENGINE_EXPEDITE:
		return;
	}
}

int phx_slurm_changes(const struct phx_slurm_report *known, const struct phx_slurm_report *now,
		      struct phx_event *ret)
{
	static const struct phx_slurm_report nothing = {0};
	const struct phx_slurm_report *base = known ? known : &nothing;
	*ret = (struct phx_event){.kind = PHX_EV_re_queue, .re_queue.whole = !known};
	int r = job_changes(&base->jobs, &now->jobs, &ret->re_queue.engine_jobs);
	r = r ? r : node_changes(&base->nodes, &now->nodes, &ret->re_queue.engine_nodes);
	r = r ? r
	      : node_changes(&base->partitions, &now->partitions, &ret->re_queue.engine_partitions);
	if (r < 0)
		phx_event_fini(ret);
	return r;
}
