/* Checks the invariants of a state, which hold after every event (faults.md). Called by tests, by
 * the fault simulation and at the daemon's start. Changes nothing. Pure. */
#include "state/crew.h"
#include "state/index.h"

#include <errno.h>
#include <string.h>

#include "state/known.h"
#include "state/members.h"
#include "state/named.h"

static int check_place(const struct phx_state *s, const struct phx_node *n, struct phx_err *err)
{
	if (n->pool[0] && !phx_state_pool(s, n->pool))
		return phx_err_set(err, -EPROTO, "%s is in pool '%s', which does not exist",
				   n->name, n->pool);
	if (n->state == PHX_NODE_QUARANTINED && n->pool[0])
		return phx_err_set(err, -EPROTO, "%s is quarantined and counted in pool '%s'",
				   n->name, n->pool);
	if (n->state == PHX_NODE_ACTIVE && (!n->pool[0] || !n->role[0]))
		return phx_err_set(err, -EPROTO, "%s is active without a pool or a role", n->name);
	return 0;
}

/* A transient state has a step, and the step has a live deadline. */
static int check_deadline(const struct phx_node *n, struct phx_err *err)
{
	const struct phx_step *step = phx_node_step(n);
	if (phx_node_state_transient((enum phx_node_state)n->state) && !step)
		return phx_err_set(err, -EPROTO, "%s is %s and follows no plan", n->name,
				   phx_enum_name(&phx_node_state_names, n->state));
	if (!step)
		return 0;
	if (n->state == PHX_NODE_QUARANTINED || n->state == PHX_NODE_NEW)
		return phx_err_set(err, -EPROTO, "%s is %s and follows a plan", n->name,
				   phx_enum_name(&phx_node_state_names, n->state));
	if (step->deadline_ms <= 0)
		return phx_err_set(err, -EPROTO, "%s: step %s has no deadline", n->name,
				   phx_enum_name(&phx_step_kind_names, step->kind));
	return 0;
}

/* No node reaches another tenant with data that an agreement wants erased. */
static int check_tenant(const struct phx_state *s, const struct phx_node *n, struct phx_err *err)
{
	const struct phx_pool *to = phx_state_pool(s, n->pool);
	if (!n->dirty || !to || !strcmp(n->tenant, to->owner))
		return 0;
	/* the disk key is destroyed, and no RE gets the node before its disk is read back */
	bool unread = n->key_unread && !strcmp(to->name, PHX_POOL_FREE);
	if ((n->owes_wipe || n->owes_data) && !unread)
		return phx_err_set(err, -EPROTO,
				   "%s is in pool %s and holds data of %s that had to be erased",
				   n->name, to->name, n->tenant);
	if (n->state == PHX_NODE_ACTIVE)
		return phx_err_set(err, -EPROTO,
				   "%s serves '%s', but its data is marked as that of '%s'",
				   n->name, to->owner, n->tenant);
	return 0;
}

static int check_macs(const struct phx_state *s, const struct phx_node *n, struct phx_err *err)
{
	PHX_LIST_EACH(struct phx_mac, m, &n->macs)
		if (phx_known_next(s, PHX_KNOWN_MAC, m->mac, 0) != n)
			return phx_err_set(err, -EPROTO, "MAC %s belongs to two nodes", m->mac);
	return 0;
}

/* Of nodes that are rebooted in turn no more are away than were allowed, and each knows of it. */
static int check_line(const struct phx_state *s, const struct phx_line *line, struct phx_err *err)
{
	uint32_t n_away = 0;
	PHX_LIST_EACH(struct phx_line_node, e, &line->nodes) {
		const struct phx_node *n = phx_state_node(s, e->name);
		n_away += e->stage == PHX_LINE_AWAY;
		if (n && (n->line != line->id || n->line_waits != (e->stage == PHX_LINE_WAITS)))
			return phx_err_set(err, -EPROTO, "%s does not know its turn to be rebooted",
					   n->name);
	}
	if (n_away > line->most)
		return phx_err_set(err, -EPROTO, "%u nodes are rebooted at once, not %u", n_away,
				   line->most);
	return 0;
}

static int check_lines(const struct phx_state *s, struct phx_err *err)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_line, line, &s->lines)
		r = r ? r : check_line(s, line, err);
	return r;
}

static int check_order(const struct phx_state *s, struct phx_err *err)
{
	for (uint32_t i = 1; i < s->jobs.n; i++)
		if (PHX_LIST_AT(&s->jobs, struct phx_job, i - 1)->id >=
		    PHX_LIST_AT(&s->jobs, struct phx_job, i)->id)
			return phx_err_set(
				err, -EPROTO, "job %llu is not in the order of numbers",
				(unsigned long long)PHX_LIST_AT(&s->jobs, struct phx_job, i)->id);
	return 0;
}

/* Counts the open parts of jobs on each node, by its place. */
static void count_parts(const struct phx_state *s, uint32_t *counts)
{
	PHX_LIST_EACH(struct phx_job, j, &s->jobs) {
		if (j->state != PHX_JOB_RUNNING)
			continue;
		PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
			const struct phx_node *n = p->ended ? NULL : phx_state_node(s, p->node);
			if (n)
				counts[phx_index_place(s, n)]++;
		}
	}
}

/* Each node's count of parts is the number of open parts that jobs have on it. */
static int check_jobs(const struct phx_state *s, struct phx_err *err)
{
	uint32_t *counts = calloc(s->nodes.n + 1, sizeof(*counts));
	int r = counts ? 0 : -ENOMEM;
	if (counts)
		count_parts(s, counts);
	for (uint32_t i = 0; r == 0 && i < s->nodes.n; i++) {
		const struct phx_node *n = PHX_LIST_AT(&s->nodes, struct phx_node, i);
		if (counts[i] != n->jobs_running)
			r = phx_err_set(err, -EPROTO, "%s runs %u parts of jobs and counts %u",
					n->name, counts[i], n->jobs_running);
	}
	free(counts);
	return r;
}

/* ---- the ledger and the jobs agree ---- */

/* A queued job is in the queue of its active RE, or its RE is deactivated and keeps the job: no job
 * is lost, and none is there twice. Jobs of an external engine wait in that engine. */
static int check_waiting(const struct phx_state *s, const struct phx_job *j, struct phx_err *err)
{
	const struct phx_re *re = j->re[0] ? phx_state_re(s, j->re) : NULL;
	const struct phx_batch *queue =
		re && re->active ? phx_ledger_batch(s->ledger, (int)re->number) : NULL;
	if (!j->re[0] || j->engine_id[0] || j->state != PHX_JOB_QUEUED)
		return 0;
	if (j->kept == (queue && phx_batch_job(queue, j->id)))
		return phx_err_set(err, -EPROTO, "job %llu is queued, and %s by RE %s",
				   (unsigned long long)j->id,
				   j->kept ? "both kept and waited for"
					   : "neither kept nor waited for",
				   j->re);
	if (j->kept && (!re || re->state != PHX_RE_STATE_DEACTIVATED))
		return phx_err_set(err, -EPROTO,
				   "job %llu is kept by RE %s, which is not deactivated",
				   (unsigned long long)j->id, j->re);
	return 0;
}

static int check_queues(const struct phx_state *s, struct phx_err *err)
{
	PHX_LIST_EACH(struct phx_job, j, &s->jobs) {
		int r = check_waiting(s, j, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Each trigger's count of open runs is right. */
static int check_triggers(const struct phx_state *s, struct phx_err *err)
{
	PHX_LIST_EACH(struct phx_trigger, t, &s->triggers) {
		uint32_t n = 0;
		PHX_LIST_EACH(struct phx_flowrun, w, &s->workflows)
			n += w->trigger == t->id && !w->looks && phx_flowrun_is_open(w);
		if (n != t->n_open || t->n_taken > t->waiting.n)
			return phx_err_set(
				err, -EPROTO,
				"trigger %s has %u runs that are not over, and counts %u", t->name,
				n, t->n_open);
	}
	return 0;
}

/* ---- the ledger and the nodes agree ---- */

static int check_re(const struct phx_state *s, const struct phx_re *re, struct phx_err *err)
{
	struct phx_ledger_counts c;
	uint32_t held = phx_members_count(s, PHX_MEMBERS_HELD, re->name),
		 coming = phx_members_count(s, PHX_MEMBERS_COMING, re->name),
		 away = phx_members_count(s, PHX_MEMBERS_AWAY, re->name);
	phx_ledger_counts(s->ledger, (int)re->number, &c);
	if (held != c.idle + c.busy || coming != c.coming || away != c.away)
		return phx_err_set(err, -EPROTO,
				   "RE %s holds %u nodes, %u are coming and %u away, the ledger "
				   "says %u, %u and %u",
				   re->name, held, coming, away, c.idle + c.busy, c.coming, c.away);
	return 0;
}

static int check_ledger(struct phx_state *s, struct phx_err *err)
{
	if (!s->ledger)
		return 0;
	uint32_t n_free = phx_index_count(s, PHX_SET_FREE);
	if (n_free != phx_ledger_free_nodes(s->ledger))
		return phx_err_set(err, -EPROTO, "%u nodes are free, the ledger says %u", n_free,
				   phx_ledger_free_nodes(s->ledger));
	PHX_LIST_EACH(struct phx_re, re, &s->res) {
		int r = re->active ? check_re(s, re, err) : 0;
		if (r < 0)
			return r;
	}
	return phx_ledger_check(s->ledger, err);
}

static int check_node(const struct phx_state *s, const struct phx_node *n, struct phx_err *err)
{
	int r = check_place(s, n, err);
	r = r ? r : check_deadline(n, err);
	r = r ? r : check_tenant(s, n, err);
	r = r ? r : check_macs(s, n, err);
	if (!r && phx_state_node(s, n->name) != n)
		r = phx_err_set(err, -EPROTO, "two nodes are called %s", n->name);
	return r;
}

/* Checks the state through a fresh index, and compares its own index with that one. */
int phx_state_check(const struct phx_state *s, struct phx_err *err)
{
	struct phx_state fresh = *s; /* borrows all but what phx_index_ready() makes */
	fresh.index = NULL;
	fresh.named = NULL;
	int r = phx_index_ready(&fresh);
	if (r < 0) {
		phx_named_free(fresh.named);
		return r;
	}
	phx_index_settle(&fresh);
	PHX_NODES_EACH(n, s)
		r = r ? r : check_node(&fresh, n, err);
	r = r ? r : check_jobs(&fresh, err);
	r = r ? r : check_queues(s, err);
	r = r ? r : check_triggers(s, err);
	r = r ? r : check_order(s, err);
	r = r ? r : check_lines(s, err);
	r = r ? r : phx_index_check(s, &fresh, err);
	r = r ? r : check_ledger(&fresh, err);
	r = r ? r : phx_crew_check(s, err);
	phx_index_drop(&fresh);
	phx_named_free(fresh.named);
	return r;
}
