/* What people do: orders for nodes, jobs, changes of roles, pools and settings,
 * machines that come and go. One row a source in a table; each draws from the
 * one generator. Called by fault.c when a source's time has come. */
#include "fault/parts.h"

#include <stdio.h>

/* Most say that jobs may end, some spare them, some are from before that was asked. */
static void say_of_jobs(struct fault_sim *f, struct phx_event_order *p)
{
	static const int says[] = {PHX_JOBS_ANY, PHX_JOBS_ANY, PHX_JOBS_ANY, PHX_JOBS_SPARE,
				   PHX_JOBS_UNSAID};
	p->jobs = says[phx_rng_below(&f->rng, PHX_ARRAY_SIZE(says))];
	p->has_grace = phx_fault_chance(f, 500);
	p->grace_ms = p->has_grace ? (uint32_t)phx_rng_below(&f->rng, 600 * SECOND) : 0;
}

int phx_fault_order(struct fault_sim *f, int kind, const struct fault_machine *m, const char *role,
		    const char *pool, const struct phx_setup *setup)
{
	struct phx_event ev = {.kind = kind};
	struct phx_event_order order = {.has_setup = setup};
	PHX_STR_SET(ev.by, "uid:0");
	PHX_STR_SET(ev.node, m->node);
	PHX_STR_SET(order.role, role ? role : "");
	PHX_STR_SET(order.pool, pool ? pool : "");
	if (setup)
		order.setup = *setup;
	say_of_jobs(f, &order); /* of every kind: a seed draws the same */
	if (phx_event_payload((enum phx_event_kind)kind) == PHX_PAYLOAD_order)
		ev.order = order;
	return phx_fault_submit(f, &ev, NULL);
}

static const char *any_role(struct fault_sim *f)
{
	return phx_fault_role_names[phx_rng_below(&f->rng, FAULT_ROLES)];
}

void phx_fault_by_hand(struct fault_sim *f, struct fault_machine *m)
{
	phx_fault_note(f, m->i, "somebody starts %s", m->node);
	phx_fault_cause(f, m);
	phx_fault_reset(f, m);
}

void phx_fault_power_by_hand(struct fault_sim *f, struct fault_machine *m, enum phx_power_op op)
{
	struct phx_event ev = {.kind = PHX_EV_power, .order.op = (int)op};
	PHX_STR_SET(ev.node, m->node);
	if (phx_fault_submit(f, &ev, NULL) < 0)
		phx_fault_by_hand(f, m);
}

void phx_fault_let_in(struct fault_sim *f, struct fault_machine *m)
{
	if (m->bmc)
		phx_fault_power_by_hand(f, m, PHX_POWER_CYCLE);
	else if (phx_fault_order(f, PHX_EV_node_accept, m, NULL, NULL, NULL) == 0)
		phx_fault_by_hand(f, m);
}

/* ---- nodes ---- */

/* Some nodes at once: one transaction. */
static void assign_many(struct fault_sim *f, struct phx_event *ev)
{
	struct phx_each each[6] = {0};
	uint32_t n = (uint32_t)phx_fault_between(f, 2, PHX_ARRAY_SIZE(each)),
		 at = (uint32_t)phx_rng_below(&f->rng, f->n);
	for (uint32_t i = 0; i < n; i++)
		each[i].node = f->m[(at + i) % f->n].node;
	if (f->head.up)
		phx_fault_submit_each(f, ev, each, n);
	for (uint32_t i = 0; i < n; i++)
		phx_outcome_fini(&each[i].out);
}

static void assign(struct fault_sim *f)
{
	struct fault_machine *m = phx_fault_any(f);
	struct phx_event ev = {.kind = PHX_EV_assign,
			       .order = {.has_setup = phx_fault_chance(f, 150),
					 .encrypt = phx_fault_chance(f, 150),
					 .power_cycle = phx_fault_chance(f, 100),
					 .setup = {phx_fault_chance(f, 500), PHX_WIPE_AUTO, 0}}};
	PHX_STR_SET(ev.node, m->node);
	PHX_STR_SET(ev.order.role, any_role(f));
	if (phx_fault_chance(f, 150))
		assign_many(f, &ev);
	else
		phx_fault_submit(f, &ev, NULL);
}

static void release(struct fault_sim *f)
{
	phx_fault_order(f, PHX_EV_release, phx_fault_any(f), NULL, NULL, NULL);
}

static void rebuild(struct fault_sim *f)
{
	phx_fault_order(f, PHX_EV_rebuild, phx_fault_any(f), NULL, NULL, NULL);
}

static void wipe(struct fault_sim *f)
{
	struct phx_setup setup = {.mode = PHX_SETUP_WIPE, .method = (int)phx_rng_below(&f->rng, 5)};
	phx_fault_order(f, PHX_EV_wipe, phx_fault_any(f), NULL, NULL, &setup);
}

/* Somebody thinks better of it. */
static void cancel(struct fault_sim *f)
{
	uint32_t at = (uint32_t)phx_rng_below(&f->rng, f->n);
	for (uint32_t i = 0; i < f->n; i++) {
		const struct fault_machine *m = &f->m[(at + i) % f->n];
		const struct phx_node *n = phx_fault_node(f, m);
		if (!n || !phx_node_step(n))
			continue;
		phx_fault_order(f, PHX_EV_cancel, m, NULL, NULL, NULL);
		return;
	}
}

static void drain(struct fault_sim *f)
{
	phx_fault_order(f, PHX_EV_drain, phx_fault_any(f), NULL, NULL, NULL);
}

/* Somebody looks after what fell out. */
static void resume(struct fault_sim *f)
{
	uint32_t at = (uint32_t)phx_rng_below(&f->rng, f->n);
	for (uint32_t i = 0; i < f->n; i++) {
		struct fault_machine *m = &f->m[(at + i) % f->n];
		const struct phx_node *n = phx_fault_node(f, m);
		if (!n || (n->state != PHX_NODE_QUARANTINED && n->state != PHX_NODE_MAINTENANCE))
			continue;
		if (!m->bmc &&
		    (m->stage == STAGE_OFF || m->stage == STAGE_DEAD || m->hung || n->awaited))
			phx_fault_by_hand(f, m);
		phx_fault_order(f, PHX_EV_resume, m, NULL, NULL, NULL);
		return;
	}
}

static void power(struct fault_sim *f)
{
	struct fault_machine *m = phx_fault_any(f);
	struct phx_event ev = {.kind = PHX_EV_power, .order.force = phx_fault_chance(f, 100)};
	PHX_STR_SET(ev.node, m->node);
	ev.order.op = PHX_POWER_NONE + 1 + (int)phx_rng_below(&f->rng, PHX_POWER_STATUS);
	say_of_jobs(f, &ev.order);
	ev.order.has_grace = false;
	if (phx_fault_submit(f, &ev, NULL) == 0)
		phx_fault_cause(f, m);
}

/* Machines that are off are wanted on again. */
static void switch_on(struct fault_sim *f)
{
	struct fault_machine *m = phx_fault_any(f);
	const struct phx_node *n = phx_fault_node(f, m);
	struct phx_event ev = {.kind = PHX_EV_power};
	if (m->stage != STAGE_OFF && m->stage != STAGE_DEAD)
		return;
	if (!m->bmc) {
		phx_fault_by_hand(f, m);
		return;
	}
	if (!n || n->state == PHX_NODE_QUARANTINED)
		return;
	PHX_STR_SET(ev.node, m->node);
	ev.order.op = m->stage == STAGE_OFF ? PHX_POWER_ON : PHX_POWER_CYCLE;
	phx_fault_submit(f, &ev, NULL);
}

/* Somebody reads which silent nodes are claimed. */
static void answer_claim(struct fault_sim *f)
{
	uint32_t at = (uint32_t)phx_rng_below(&f->rng, f->n);
	for (uint32_t i = 0; i < f->n; i++) {
		struct fault_machine *m = &f->m[(at + i) % f->n];
		const struct phx_node *n = phx_fault_node(f, m);
		if (!n || !n->claimed_ms || phx_node_step(n))
			continue;
		phx_fault_let_in(f, m);
		return;
	}
}

/* Alone, or some of a line: the nodes of one order, one or two away at once. */
static void reboot(struct fault_sim *f)
{
	struct phx_each each[6] = {0};
	uint32_t n = phx_fault_chance(f, 500)
		? 1
		: (uint32_t)phx_fault_between(f, 2, PHX_ARRAY_SIZE(each)),
		 at = (uint32_t)phx_rng_below(&f->rng, f->n);
	struct phx_event ev = {.kind = PHX_EV_reboot,
			       .order = {.when_idle = phx_fault_chance(f, 300),
					 .power_cycle = phx_fault_chance(f, 300)}};
	say_of_jobs(f, &ev.order);
	if (n > 1) {
		ev.order.line = ++f->last_line;
		ev.order.line_most = (uint32_t)phx_fault_between(f, 1, 2);
	}
	for (uint32_t i = 0; i < n; i++)
		each[i].node = f->m[(at + i) % f->n].node;
	if (f->head.up)
		phx_fault_submit_each(f, &ev, each, n);
	for (uint32_t i = 0; i < n; i++)
		phx_outcome_fini(&each[i].out);
}

static void quarantine(struct fault_sim *f)
{
	phx_fault_order(f, PHX_EV_quarantine, phx_fault_any(f), NULL, NULL, NULL);
}

static void inspect(struct fault_sim *f)
{
	phx_fault_order(f, PHX_EV_inspect, phx_fault_any(f), NULL, NULL, NULL);
}

static void tell_bmc(struct fault_sim *f, const struct fault_machine *m)
{
	struct phx_event ev = {.kind = PHX_EV_node_bmc};
	PHX_STR_SET(ev.node, m->node);
	PHX_STR_SET(ev.node_bmc.bmc.driver, "ipmi");
	phx_fault_submit(f, &ev, NULL);
}

void phx_fault_accept_all(struct fault_sim *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		const struct phx_node *n = phx_fault_node(f, &f->m[i]);
		if (n && n->state == PHX_NODE_NEW && (!n->accepted || n->hold))
			phx_fault_order(f, PHX_EV_node_accept, &f->m[i], NULL, NULL, NULL);
		n = phx_fault_node(f, &f->m[i]);
		if (n && f->m[i].bmc && !n->bmc.driver[0])
			tell_bmc(f, &f->m[i]);
	}
}

/* A node is forgotten; its machine asks again as a stranger, or is announced again. */
static void forget(struct fault_sim *f)
{
	struct fault_machine *m = phx_fault_any(f);
	struct phx_event ev = {.kind = PHX_EV_node_remove};
	PHX_STR_SET(ev.node, m->node);
	if (phx_fault_submit(f, &ev, NULL) < 0)
		return;
	m->registered = m->certified = false;
	phx_fault_link(f, m);
	phx_fault_cause(f, m);
	/* it asks as a stranger */
	if (phx_fault_env(m) == PHX_ENV_NONE || phx_fault_chance(f, 500))
		phx_fault_reset(f, m);
	else
		phx_fault_later(f, 5 * SECOND, WHAT_ENROL, m->i, m->gen, 0);
}

/* ---- jobs ---- */

static void submit_job(struct fault_sim *f)
{
	struct phx_event ev = {.kind = PHX_EV_job_submit, .job_submit = {.uid = 1000, .gid = 1000}};
	ev.job_submit.job_nodes = (uint32_t)phx_fault_between(f, 1, 4);
	phx_text_push(&ev.job_submit.argv, "true");
	phx_fault_submit(f, &ev, NULL);
	phx_event_fini(&ev);
}

static void cancel_job(struct fault_sim *f)
{
	struct phx_event ev = {.kind = PHX_EV_job_cancel};
	uint64_t last = f->head.s->last_job_id;
	ev.job_order.job = last > 8 ? last - phx_rng_below(&f->rng, 8) : last;
	phx_fault_submit(f, &ev, NULL);
}

/* ---- the site changes ---- */

static void new_version(struct fault_sim *f)
{
	struct phx_event ev = {0};
	int role = (int)phx_rng_below(&f->rng, FAULT_ROLES);
	f->role_version[role]++;
	phx_fault_role_event(f, role, &ev);
	if (phx_fault_submit(f, &ev, NULL) < 0)
		f->role_version[role]--;
	phx_event_fini(&ev);
}

static void settings(struct fault_sim *f)
{
	struct phx_event ev = {.kind = PHX_EV_settings, .site.settings = f->head.s->settings};
	ev.site.settings.auto_assign = !ev.site.settings.auto_assign && phx_fault_chance(f, 300);
	phx_fault_submit(f, &ev, NULL);
}

static void rules(struct fault_sim *f)
{
	struct phx_event ev = {.kind = PHX_EV_rules_put};
	struct phx_rule *rule = phx_list_push(&ev.rules_put.rules, sizeof(*rule));
	if (rule)
		PHX_STR_SET(rule->role, any_role(f));
	phx_fault_submit(f, &ev, NULL);
	phx_event_fini(&ev);
}

/* ---- the table ---- */

const struct fault_load phx_fault_loads[] = {
	{"assign", 50 * SECOND, false, false, assign},
	{"release", 3 * MINUTE, false, false, release},
	{"rebuild", 15 * MINUTE, false, false, rebuild},
	{"wipe", 15 * MINUTE, false, false, wipe},
	{"drain", 10 * MINUTE, false, false, drain},
	{"cancel", 7 * MINUTE, false, false, cancel},
	{"resume", 90 * SECOND, false, false, resume},
	{"power", 15 * MINUTE, false, false, power},
	{"switch_on", MINUTE, false, false, switch_on},
	{"answer_claim", 5 * MINUTE, false, false, answer_claim},
	{"reboot", 10 * MINUTE, false, false, reboot},
	{"quarantine", 2 * HOUR, false, false, quarantine},
	{"inspect", 20 * MINUTE, false, false, inspect},
	{"accept", 30 * MINUTE, false, false, phx_fault_accept_all},
	{"forget", HOUR, false, false, forget},
	{"submit_job", 3 * MINUTE, false, false, submit_job},
	{"cancel_job", 20 * MINUTE, false, false, cancel_job},
	{"new_version", 2 * HOUR, false, false, new_version},
	{"settings", 3 * HOUR, false, false, settings},
	{"rules", 4 * HOUR, false, false, rules},
	{"re_live", 15 * MINUTE, true, false, phx_fault_re_live},
	{"re_job", 3 * MINUTE, true, false, phx_fault_re_job},
	{"re_use", 45 * SECOND, true, false, phx_fault_re_use},
	{"re_of_flows", 5 * MINUTE, true, true, phx_fault_re_of_flows},
	{"flow_submit", 4 * MINUTE, true, true, phx_fault_flow_submit},
	{"flow_order", 6 * MINUTE, true, true, phx_fault_flow_order},
	{"flow_timeout", 10 * MINUTE, true, true, phx_fault_flow_timeout},
};
const uint32_t phx_fault_n_loads = PHX_ARRAY_SIZE(phx_fault_loads);
