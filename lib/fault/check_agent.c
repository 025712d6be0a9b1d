/* The observer of agents: what they do with orders, and what they tell, whatever the head makes of
 * that. Called by agents when they take orders, begin steps and end them. Changes nothing but its
 * own memory. */
#include "fault/parts.h"

#include "base/mix.h"

static void check_destroys(struct fault_sim *f, struct fault_machine *m, const struct fault_task *t)
{
	const struct phx_node *n = phx_fault_node(f, m);
	if ((t->kind != PHX_STEP_wipe && t->kind != PHX_STEP_image) || !n)
		return;
	bool idle = n->state == PHX_NODE_READY || n->state == PHX_NODE_ACTIVE ||
		n->state == PHX_NODE_MAINTENANCE;
	if (idle && !phx_node_step(n))
		phx_fault_violated(
			f, "destroy",
			"%s: step %s of epoch %llu begins, and the node is %s and follows no plan",
			m->node, phx_enum_name(&phx_step_kind_names, t->kind),
			(unsigned long long)t->epoch,
			phx_enum_name(&phx_node_state_names, n->state));
}

void phx_fault_check_ordered(struct fault_machine *m, const struct fault_task *t)
{
	if (t->epoch <= m->seen.ordered)
		return;
	m->seen.ordered = t->epoch;
	m->seen.n_done = 0;
}

void phx_fault_check_copied(struct fault_machine *m, int pool)
{
	for (int i = 0; i < FAULT_POOLS; i++)
		if (phx_fault_owner_bit(i) == phx_fault_owner_bit(pool))
			m->seen.copied[i] = m->key;
}

/* Before it does the first thing for an owner, all keys are dead that others may have. */
static void check_copies(struct fault_sim *f, const struct fault_machine *m,
			 const struct fault_task *t)
{
	const struct phx_node *n = phx_fault_node(f, m);
	int pool = n ? phx_fault_pool_index(n->pool) : -1;
	if (t->kind != PHX_STEP_activate || pool <= 0)
		return;
	for (int i = 0; i < FAULT_POOLS; i++)
		if (phx_fault_owner_bit(i) != phx_fault_owner_bit(pool) &&
		    m->seen.copied[i] >= m->key)
			phx_fault_violated(f, "copy",
					   "%s begins to serve %s under key %u, which %s may have",
					   m->node, n->pool, m->key, phx_fault_pool_names[i]);
}

/* Not if it has heard of a newer epoch, and not a second time. */
void phx_fault_check_begins(struct fault_sim *f, struct fault_machine *m,
			    const struct fault_task *t)
{
	const char *kind = phx_enum_name(&phx_step_kind_names, t->kind);
	if (t->epoch < m->seen.ordered)
		phx_fault_violated(
			f, "past",
			"%s: the agent begins step %s of epoch %llu, and was given orders of %llu",
			m->node, kind, (unsigned long long)t->epoch,
			(unsigned long long)m->seen.ordered);
	for (uint32_t i = 0; i < m->seen.n_done; i++)
		if (t->epoch == m->seen.ordered && m->seen.done[i] == (t->id ^ t->nonce))
			phx_fault_violated(
				f, "twice",
				"%s: the agent begins step %s, number %llu, that it has done",
				m->node, kind, (unsigned long long)t->id);
	check_destroys(f, m, t);
	check_copies(f, m, t);
}

void phx_fault_check_told(struct fault_sim *f, struct fault_machine *m, const struct fault_done *d)
{
	const struct fault_done *kept = phx_fault_find_done(phx_fault_memory(m), d->id);
	if (d->result == 0 && (!kept || kept->result != 0))
		phx_fault_violated(
			f, "kept", "%s: the agent tells that step %s, number %llu, is done, and %s",
			m->node, phx_enum_name(&phx_step_kind_names, d->task.kind),
			(unsigned long long)d->id,
			kept ? "has written down that it failed" : "has not written that down");
}

void phx_fault_check_done(struct fault_machine *m, const struct fault_task *t)
{
	if (t->epoch == m->seen.ordered && m->seen.n_done < FAULT_DONE)
		m->seen.done[m->seen.n_done++] = t->id ^ t->nonce;
}

/* Not a second time on this machine, whatever became of it, of the agent and of the head since. */
void phx_fault_check_starts(struct fault_sim *f, const struct fault_machine *m,
			    const struct job_order *o)
{
	const struct fault_begun now = {FAULT_RUN(o->run.id, o->run.run), o->submitted_ms, m->i};
	uint32_t i, hash = (uint32_t)phx_mix_number(phx_mix_number(PHX_MIX_NONE, now.run), now.m);
	for (uint32_t at = hash; phx_hash_next(&f->begun_index, hash, &at, &i);) {
		const struct fault_begun *b = PHX_LIST_AT(&f->begun, struct fault_begun, i);
		if (b->run == now.run && b->submitted_ms == now.submitted_ms && b->m == now.m)
			phx_fault_violated(f, "begins", "%s starts run %u of job %llu again",
					   m->node, o->run.run, (unsigned long long)o->run.id);
	}
	struct fault_begun *b = phx_list_push(&f->begun, sizeof(*b));
	if (!b || phx_hash_put(&f->begun_index, hash, f->begun.n - 1) < 0)
		phx_fault_violated(f, "model", "out of memory");
	else
		*b = now;
}
