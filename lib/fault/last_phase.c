/* How a life ends: faults and orders stop, everything that was broken is whole
 * again, and the cluster must come to rest; then an administrator brings back
 * what fell out, and must succeed; then wanted is what is. Called by fault.c. */
#include "fault/parts.h"

#include <errno.h>
#include <string.h>

/* ---- all is whole again ---- */

static void heal(struct fault_sim *f, struct fault_machine *m)
{
	m->cut_until = m->bmc_dead_until = m->bmc_busy_until = m->early_off_until = 0;
	m->lose_answers_until = m->loop_until = m->hang_next = m->seen.stale_at = 0;
	m->refuses_until = 0;
	m->fetch_fails = 0;
	bool news = m->twins || strcmp(m->shown_uuid, m->uuid);
	for (uint32_t i = 0; i < m->n_disks; i++) {
		news = news || m->disks[i].hides;
		m->disks[i].hides = FAULT_HIDES_NOT;
	}
	m->twins = false;
	PHX_STR_SET(m->shown_uuid, m->uuid);
	if (news && m->registered) { /* an agent whose facts have changed registers again */
		m->registered = false;
		phx_fault_later(f, phx_fault_between(f, SECOND, 10 * SECOND), WHAT_HELLO, m->i,
				m->gen, 0);
	}
	for (uint32_t i = 0; i < m->n_disks; i++)
		m->disks[i].erase_fails = m->disks[i].erase_ignored = 0;
	phx_fault_link(f, m);
	if (m->registered)
		phx_fault_later(f, phx_fault_between(f, SECOND, 10 * SECOND), WHAT_ORDERS, m->i,
				m->gen, 0);
}

/* A full queue would keep the cluster busy for a day. */
static void end_jobs(struct fault_sim *f)
{
	for (uint32_t i = 0; i < f->head.s->jobs.n; i++) {
		const struct phx_job *j = PHX_LIST_AT(&f->head.s->jobs, struct phx_job, i);
		struct phx_event ev = {.kind = PHX_EV_job_cancel, .job_order.job = j->id};
		bool open = j->state == PHX_JOB_QUEUED || j->state == PHX_JOB_RUNNING;
		int r = open && !j->worker ? phx_fault_submit(f, &ev, NULL) : 0;
		/* with a job left the cluster may work for a day, and rest would be missed for no
		 * fault of the core's */
		if (r == -EROFS || r == -ENOTCONN)
			phx_fault_violated(
				f, "model",
				"faults have stopped, and job %llu cannot be cancelled: %s",
				(unsigned long long)ev.job_order.job, strerror(-r));
	}
}

void phx_fault_calm(struct fault_sim *f)
{
	f->calm = true;
	phx_fault_note(f, -1, "faults and orders stop");
	f->head.crash = CRASH_NONE;
	f->head.fate = PHX_MEMORY_WRITTEN;
	f->head.lose_action = false;
	if (f->head.full_until >
	    f->now) /* somebody makes room, and starts phxd anew to be heard at once */
		f->head.full_until = f->now;
	if (f->head.readonly)
		phx_fault_head_crash(f, SECOND);
	phx_fault_cause(f, NULL);
	for (uint32_t i = 0; i < f->n; i++)
		heal(f, &f->m[i]);
	if (!f->head.up)
		phx_fault_head_up(f);
	end_jobs(f);
	phx_fault_engine_calm(f);
	phx_fault_head_plan_tick(f);
}

/* ---- rest ---- */

/* Parts on machines that are off end when they are on again. */
static bool runs_jobs(const struct fault_sim *f)
{
	PHX_NODES_EACH(n, f->head.s)
		if (n->jobs_running && n->up)
			return true;
	return false;
}

static void tell_unrest(struct fault_sim *f)
{
	PHX_NODES_EACH(n, f->head.s)
		if (n->plan.cursor < n->plan.steps.n || n->state == PHX_NODE_COMMISSIONING ||
		    n->off_wanted)
			phx_fault_note(
				f, -1, "%s is %s, up %d, off wanted %d, step %u of %u: %.40s",
				n->name, phx_enum_name(&phx_node_state_names, n->state), n->up,
				n->off_wanted, n->plan.cursor, n->plan.steps.n, n->reason);
	PHX_LIST_EACH(struct phx_job, j, &f->head.s->jobs)
		PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
			if (j->state == PHX_JOB_RUNNING && !p->ended)
				phx_fault_note(f, -1, "job %llu runs on %s",
					       (unsigned long long)j->id, p->node);
	phx_fault_violated(f, "rest", "faults have stopped, and something is still under way");
}

void phx_fault_rest_or_fail(struct fault_sim *f)
{
	if (!f->failed && !phx_fault_at_rest(f))
		tell_unrest(f);
}

bool phx_fault_at_rest(struct fault_sim *f)
{
	if (!f->head.up || f->head.readonly)
		return false;
	PHX_NODES_EACH(n, f->head.s)
		if (n->plan.cursor < n->plan.steps.n || n->state == PHX_NODE_COMMISSIONING ||
		    n->off_wanted)
			return false;
	return !runs_jobs(f) && !(f->flows_must_end && phx_fault_flows_open(f));
}

/* ---- what an administrator does then ---- */

/* It is on, and does nothing by which it could be heard; so does an old system whose key is of the
 * past. */
static bool stands(const struct fault_machine *m)
{
	return m->stage == STAGE_DEAD || m->hung || (m->stage == STAGE_OS && !m->linked);
}

/* A machine that is not heard of: on, or from reset when it stands. */
static void wake(struct fault_sim *f, struct fault_machine *m, const struct phx_node *n)
{
	if (n->up && !stands(m))
		return;
	if (m->stage == STAGE_OFF)
		phx_fault_power_by_hand(f, m, PHX_POWER_ON);
	else if (stands(m))
		phx_fault_power_by_hand(f, m, PHX_POWER_CYCLE);
	else if (n->claimed_ms)
		phx_fault_let_in(f, m);
}

static void bring_back(struct fault_sim *f, struct fault_machine *m)
{
	const struct phx_node *n = phx_fault_node(f, m);
	if (!n) {
		if (!phx_fault_on(m))
			phx_fault_power_on(f, m);
		return;
	}
	if (n->plan.cursor < n->plan.steps.n)
		return;
	if (n->state == PHX_NODE_QUARANTINED) {
		if (!m->bmc && (!phx_fault_on(m) || stands(m) || n->awaited))
			phx_fault_by_hand(f, m);
		int r = phx_fault_order(f, PHX_EV_resume, m, NULL, NULL, NULL);
		phx_fault_note(f, m->i, "%s: resume: %d", m->node, r);
	} else if (n->state == PHX_NODE_MAINTENANCE) {
		phx_fault_order(f, PHX_EV_resume, m, NULL, NULL, NULL);
	}
	n = phx_fault_node(f, m);
	if (n && n->plan.cursor >= n->plan.steps.n && n->state != PHX_NODE_QUARANTINED)
		wake(f, m, n);
}

/* Some of the nodes that others have are free again, and no rule gives them away: the RE asks for
 * them. */
static void give_back(struct fault_sim *f)
{
	struct phx_event ev = {.kind = PHX_EV_settings, .site.settings = f->head.s->settings};
	uint32_t n_given = 0;
	ev.site.settings.auto_assign = false;
	phx_fault_submit(f, &ev, NULL);
	for (uint32_t i = 0; i < f->n && n_given < 4; i++) {
		const struct phx_node *n = phx_fault_node(f, &f->m[i]);
		if (n && n->state == PHX_NODE_ACTIVE && !n->allocated_to[0])
			n_given +=
				phx_fault_order(f, PHX_EV_release, &f->m[i], NULL, NULL, NULL) == 0;
	}
}

void phx_fault_bring_back(struct fault_sim *f)
{
	end_jobs(f);
	phx_fault_accept_all(f);
	phx_fault_flows_go_on(f);
	if (f->flows_must_end && phx_fault_flows_open(f))
		give_back(f);
	for (uint32_t i = 0; i < f->n; i++)
		bring_back(f, &f->m[i]);
}

/* ---- wanted is what is ---- */

static void check_serving(struct fault_sim *f, struct fault_machine *m, const struct phx_node *n)
{
	uint32_t version;
	bool run;
	int role = phx_fault_role_of(m, &version, &run), wanted = phx_fault_role_index(n->role);
	if (role != wanted || !run)
		phx_fault_violated(f, "wanted", "%s is to serve as %s, and runs %s", m->node,
				   n->role, role < 0 ? "nothing" : phx_fault_role_names[role]);
	else if (strcmp(n->actual_role, n->role))
		phx_fault_violated(f, "wanted", "%s serves as %s, and the head knows of '%s'",
				   m->node, n->role, n->actual_role);
	else if (version == f->role_version[role] && (!m->serves || !n->healthy))
		phx_fault_violated(f, "wanted",
				   "%s has role %s as it is wanted, and its services do not run",
				   m->node, n->role);
	if (m->entered >= 0 && m->disks[m->entered].key_id[0] &&
	    !phx_fault_find_key(f, m->disks[m->entered].key_id))
		phx_fault_violated(f, "keys", "%s serves, and the key of its disk is destroyed",
				   m->node);
}

static void check_node(struct fault_sim *f, struct fault_machine *m)
{
	const struct phx_node *n = phx_fault_node(f, m);
	if (!n) {
		phx_fault_violated(f, "rest", "a machine (%s) asks, and there is no node for it",
				   m->mac);
		return;
	}
	const char *state = phx_enum_name(&phx_node_state_names, n->state);
	if (n->state != PHX_NODE_READY && n->state != PHX_NODE_ACTIVE)
		phx_fault_violated(f, "rest", "%s cannot be brought back, it is %s: %s", m->node,
				   state, n->reason);
	else if (n->plan.cursor < n->plan.steps.n)
		phx_fault_violated(f, "rest", "%s is %s and follows a plan", m->node, state);
	else if (!n->up || n->env != phx_fault_env(m) || !m->linked)
		phx_fault_violated(
			f, "rest", "%s is %s, up %d in %s, and the machine is in %s, line %d",
			m->node, state, n->up, phx_enum_name(&phx_node_env_names, n->env),
			phx_enum_name(&phx_node_env_names, phx_fault_env(m)), m->linked);
	else if (n->inspect || n->jobs_running)
		phx_fault_violated(f, "rest",
				   "%s: its facts are waited for (%d), %u parts of jobs are open",
				   m->node, n->inspect, n->jobs_running);
	else if (n->state == PHX_NODE_ACTIVE)
		check_serving(f, m, n);
}

/* A key that no node has any more is nowhere. */
static void check_keys(struct fault_sim *f)
{
	PHX_LIST_EACH(struct fault_key, k, &f->head.keys) {
		bool held = false;
		PHX_NODES_EACH(n, f->head.s)
			held = held || !strcmp(n->disk_key_id, k->id);
		if (!held)
			phx_fault_violated(f, "keys",
					   "disk key %s belongs to no node and is still there",
					   k->id);
	}
}

void phx_fault_check_quarantined(struct fault_sim *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		const struct phx_node *n = phx_fault_node(f, &f->m[i]);
		if (!n || n->state != PHX_NODE_QUARANTINED)
			continue;
		if (!n->reason[0])
			phx_fault_violated(f, "rest", "%s is quarantined without a reason",
					   n->name);
		if (f->m[i].seen.cleaning_failed && phx_fault_on(&f->m[i]))
			phx_fault_violated(f, "off", "%s was not cleaned, and it is on", n->name);
	}
}

void phx_fault_check_rest(struct fault_sim *f)
{
	phx_fault_check_all(f);
	for (uint32_t i = 0; i < f->n; i++)
		check_node(f, &f->m[i]);
	check_keys(f);
	phx_fault_flows_check_rest(f);
	phx_fault_engine_check_rest(f);
}
