/* Makes and frees a ledger; finds an RE in it, sets it up by its agreement, counts its nodes.
 * Called by every other file of the room. Decides nothing. Pure. */
#include <errno.h>
#include <string.h>

#include "ledger/internal.h"

void *phx_ledger_push(struct phx_ledger *l, struct phx_list *list, size_t item_size)
{
	void *item = phx_list_push(list, item_size);

	if (!item)
		l->error = -ENOMEM;
	return item;
}

int phx_ledger_equip(struct re *re)
{
	const struct phx_agreement *a = &re->r.agreement;
	struct phx_batch_config config = {.scheduler = a->scheduler,
					  .kill_order = a->kill_order,
					  .external = a->engine != PHX_RE_ENGINE_BUILTIN};

	re->kind = phx_re_kind(a);
	re->policy = phx_policy((enum phx_policy_id)a->model);
	re->params = phx_agreement_params(a);
	re->scoped = re->policy->lease_end && !re->params.release_pool;
	return re->kind->has_jobs ? phx_batch_new(&config, &re->batch) : 0;
}

void phx_ledger_fini(struct re *re)
{
	phx_batch_free(re->batch);
	phx_record_fini(&phx_ledger_re_record, &re->r);
	memset(re, 0, sizeof(*re));
}

int phx_ledger_new(const struct phx_ledger_config *config, struct phx_ledger **ret)
{
	struct phx_ledger *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->unlimited = config->unlimited;
	l->nodes = l->free = config->unlimited ? 0 : config->nodes;
	l->now_ms = INT64_MIN;
	*ret = l;
	return 0;
}

int phx_ledger_error(const struct phx_ledger *l)
{
	return l->error;
}

void phx_ledger_free(struct phx_ledger *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->res.n; i++)
		phx_ledger_fini(re_at(l, i));
	phx_list_fini(&l->res);
	phx_list_fini(&l->ids);
	free(l);
}

struct re *phx_ledger_get(const struct phx_ledger *l, int i)
{
	struct re *re = i >= 0 && (uint32_t)i < l->res.n ? re_at(l, (uint32_t)i) : NULL;

	return re && re->r.state != RE_GONE ? re : NULL;
}

struct re *phx_ledger_get_batch(const struct phx_ledger *l, int i)
{
	struct re *re = phx_ledger_get(l, i);

	return re && re->batch ? re : NULL;
}

uint32_t phx_ledger_idle(const struct re *re)
{
	struct phx_batch_counts c;

	if (!re->batch)
		return re->r.idle;
	phx_batch_counts(re->batch, &c);
	return c.idle + re->r.kept;
}

uint32_t phx_ledger_owned(const struct re *re)
{
	struct phx_batch_counts c;

	if (!re->batch)
		return re->r.idle + re->r.away;
	phx_batch_counts(re->batch, &c);
	return c.idle + c.busy + re->r.kept + re->r.away;
}

uint32_t phx_ledger_free_to_owe(const struct re *re)
{
	uint32_t has = phx_ledger_owned(re) - re->r.away + re->r.coming;

	return has > re->r.owed ? has - re->r.owed : 0;
}
