/* The faults of fault.def, one function a row: each does its harm to one machine
 * or to the head, now or at the next chance, and says so in the event list.
 * Called by fault.c when a row's time has come. */
#include "fault/parts.h"

#include <stdio.h>
#include <string.h>

static const struct phx_fault_info infos[] = {
#define FAULT(number, name, every_s, what, holds) {number, #name, what, holds, false},
#define FAULT_OF_FLOWS(number, name, every_s, what, holds) {number, #name, what, holds, true},
#include "fault/fault.def"
#undef FAULT_OF_FLOWS
#undef FAULT
};
_Static_assert(PHX_ARRAY_SIZE(infos) <= PHX_FAULTS_MAX, "the counters hold every row");

const struct phx_fault_info *phx_fault_infos(uint32_t *ret_n)
{
	*ret_n = PHX_ARRAY_SIZE(infos);
	return infos;
}

/* A machine whose node follows a plan, if there is one; else any. */
static struct fault_machine *in_plan(struct fault_sim *f)
{
	uint32_t at = (uint32_t)phx_rng_below(&f->rng, f->n);
	for (uint32_t i = 0; i < f->n; i++) {
		struct fault_machine *m = &f->m[(at + i) % f->n];
		if (m->seen.plan)
			return m;
	}
	return &f->m[at];
}

/* A machine that is, or soon will be, in the hands of its BMC. */
static struct fault_machine *at_its_bmc(struct fault_sim *f)
{
	uint32_t at = (uint32_t)phx_rng_below(&f->rng, f->n);
	for (uint32_t i = 0; i < f->n; i++) {
		struct fault_machine *m = &f->m[(at + i) % f->n];
		const struct phx_node *n = phx_fault_node(f, m);
		if (m->bmc && m->seen.plan && n && n->plan.tier == PHX_TIER_POWER)
			return m;
	}
	return in_plan(f);
}

/* A machine that may ask for a certificate just now. */
static struct fault_machine *with_window(struct fault_sim *f)
{
	uint32_t at = (uint32_t)phx_rng_below(&f->rng, f->n);
	for (uint32_t i = 0; i < f->n; i++) {
		struct fault_machine *m = &f->m[(at + i) % f->n];
		const struct phx_node *n = phx_fault_node(f, m);
		if (n && n->window && !n->up)
			return m;
	}
	return &f->m[at];
}

static struct fault_machine *serving(struct fault_sim *f)
{
	uint32_t at = (uint32_t)phx_rng_below(&f->rng, f->n);
	for (uint32_t i = 0; i < f->n; i++)
		if (f->m[(at + i) % f->n].serves)
			return &f->m[(at + i) % f->n];
	return &f->m[at];
}

static void sick_until(struct fault_machine *m, int64_t until)
{
	if (m->seen.cause_at < until)
		m->seen.cause_at = until;
}

/* ---- machines ---- */

static void inject_boot_storm(struct fault_sim *f)
{
	uint32_t at = (uint32_t)phx_rng_below(&f->rng, f->n);
	for (uint32_t i = 0; i < 16 && i < f->n; i++) {
		struct fault_machine *m = &f->m[(at + i) % f->n];
		m->fetch_fails = phx_fault_chance(f, 100) ? (int)phx_fault_between(f, 1, 4) : 0;
		phx_fault_cause(f, m);
		if (phx_fault_on(m))
			phx_fault_reset(f, m);
	}
}

static void inject_bad_uuid(struct fault_sim *f)
{
	struct fault_machine *m = phx_fault_any(f), *twin = phx_fault_any(f);
	uint64_t way = phx_rng_below(&f->rng, 3);
	phx_fault_cause(f, m);
	phx_fault_cause(f, twin);
	if (way == 0)
		PHX_STR_SET(m->shown_uuid, twin->shown_uuid);
	else if (way == 1)
		PHX_STR_SET(m->shown_uuid, "00000000-0000-0000-0000-000000000000");
	else
		snprintf(m->shown_uuid, sizeof(m->shown_uuid), "00000000-0000-4000-9000-%012u",
			 (uint32_t)phx_rng_below(&f->rng, 1000000));
	if (phx_fault_chance(f, 500) && phx_fault_on(m))
		phx_fault_reset(f, m);
	else
		phx_fault_order(f, PHX_EV_inspect, m, NULL, NULL, NULL);
}

/* Anybody can say a node's MAC address; without its serial number, or from elsewhere, nothing
 * happens to it. */
static void claim_to_be(struct fault_sim *f, struct fault_machine *m)
{
	struct phx_event ev = {.kind = PHX_EV_enrol,
			       .enrol = {.key_fp = "key-of-a-claimant", .address = "10.10.10.10"}};
	struct phx_outcome out = {0};
	struct phx_mac *mac = phx_list_push(&ev.enrol.macs, sizeof(*mac));
	const struct phx_node *n = phx_fault_node(f, m);
	int before = n ? n->state : -1;
	bool reserved = n && n->ip[0];
	if (!mac || !n || !n->serial[0])
		goto out;
	PHX_STR_SET(mac->mac, m->mac);
	PHX_STR_SET(ev.enrol.serial, reserved ? m->serial : "serial-of-a-claimant");
	int r = phx_fault_submit(f, &ev, &out);
	n = phx_fault_node(f, m);
	if (r == 0 &&
	    (!n || n->state != before || out.enrol != PHX_ENROL_REFUSED ||
	     !strcmp(n->key_fp, ev.enrol.key_fp)))
		phx_fault_violated(f, "identity", "somebody with the MAC address of %s changed it",
				   m->node);
out:
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
}

static void inject_shared_mac(struct fault_sim *f)
{
	claim_to_be(f, phx_fault_any(f));
	struct fault_machine *a = with_window(f), *b = phx_fault_any(f);
	bool announce = phx_fault_chance(f, 300);
	struct phx_event ev = {.kind = announce ? PHX_EV_node_add : PHX_EV_enrol};
	struct phx_outcome out = {0};
	struct phx_list *macs = announce ? &ev.node_add.macs : &ev.enrol.macs;
	struct phx_mac *mac = phx_list_push(macs, 2 * sizeof(*mac));
	if (!mac)
		return;
	macs->n = macs->cap = 2;
	/* of two nodes: whatever else fits, it is neither */
	bool known = a != b && phx_fault_node(f, a) && phx_fault_node(f, b);
	PHX_STR_SET(mac[0].mac, a->mac);
	PHX_STR_SET(mac[1].mac, a == b ? "52:54:ff:00:00:01" : b->mac);
	const char *serial = known && phx_fault_chance(f, 700) ? a->serial : "serial-of-a-stranger";
	if (announce) {
		PHX_STR_SET(ev.node, "intruder");
		PHX_STR_SET(ev.node_add.serial, serial);
	} else {
		PHX_STR_SET(ev.enrol.key_fp, "key-of-a-stranger");
		PHX_STR_SET(ev.enrol.address, "10.10.10.11");
		PHX_STR_SET(ev.enrol.serial, serial);
	}
	phx_fault_cause(f, a);
	phx_fault_cause(f, b);
	int r = phx_fault_submit(f, &ev, &out);
	if (r == 0 && known && (announce || out.enrol == PHX_ENROL_CERTIFY))
		phx_fault_violated(
			f, "identity",
			"a stranger with the MAC addresses of %s and %s is taken for one of them",
			a->node, b->node);
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
}

static void inject_twin_disks(struct fault_sim *f)
{
	struct fault_machine *m = phx_fault_any(f);
	if (m->n_disks < 2 || phx_fault_hides(m))
		return;
	m->twins = true;
	phx_fault_cause(f, m);
	if (phx_fault_chance(f, 500) && phx_fault_on(m))
		phx_fault_reset(f, m);
	else
		phx_fault_order(f, PHX_EV_inspect, m, NULL, NULL, NULL);
}

static void inject_reboot_in_step(struct fault_sim *f)
{
	struct fault_machine *m = in_plan(f);
	phx_fault_cause(f, m);
	if (phx_fault_chance(f, 300) && phx_fault_env(m) != PHX_ENV_NONE)
		phx_fault_quick_start(f, m);
	else if (phx_fault_on(m))
		phx_fault_reset(f, m);
}

static void inject_hung_agent(struct fault_sim *f)
{
	in_plan(f)->hang_next = f->now + 10 * MINUTE;
}

static void inject_failed_cleaning(struct fault_sim *f)
{
	struct fault_machine *m = phx_fault_any(f);
	m->disks[phx_rng_below(&f->rng, m->n_disks)].erase_fails =
		(uint8_t)phx_fault_between(f, 1, 3);
	phx_fault_order(f, PHX_EV_release, m, NULL, NULL, NULL);
}

static void inject_lost_answer(struct fault_sim *f)
{
	struct fault_machine *m = in_plan(f);
	m->lose_answers_until = f->now + 5 * MINUTE;
	phx_fault_cause(f, m);
	phx_fault_cut(f, m, phx_fault_between(f, SECOND, MINUTE));
	if (phx_fault_chance(f, 500) && phx_fault_on(m))
		phx_fault_reset(f, m);
}

static void inject_net_boot_loop(struct fault_sim *f)
{
	struct fault_machine *m = serving(f);
	m->loop_until = f->now + phx_fault_between(f, MINUTE, 15 * MINUTE);
	phx_fault_cause(f, m);
	if (phx_fault_on(m))
		phx_fault_reset(f, m);
}

static void inject_erase_ignored(struct fault_sim *f)
{
	struct fault_machine *m = phx_fault_any(f);
	m->disks[phx_rng_below(&f->rng, m->n_disks)].erase_ignored =
		(uint8_t)phx_fault_between(f, 1, 2);
	phx_fault_order(f, PHX_EV_release, m, NULL, NULL, NULL);
}

/* An agent that is none of ours, or was altered: it reads back what it never erased. */
static void inject_unsigned_erase(struct fault_sim *f)
{
	struct fault_machine *m = phx_fault_any(f);
	m->disks[phx_rng_below(&f->rng, m->n_disks)].erase_claimed =
		(uint8_t)phx_fault_between(f, 1, 2);
	phx_fault_order(f, PHX_EV_release, m, NULL, NULL, NULL);
}

/* The owner of a machine has root on it, and something to hide from the next one. */
static void inject_hidden_disk(struct fault_sim *f)
{
	static const enum fault_hides ways[] = {FAULT_HIDES_IN_SYSTEM, FAULT_HIDES_EVERYWHERE,
						FAULT_HIDES_REMOVABLE};
	struct fault_machine *m = serving(f);
	struct fault_disk *d = &m->disks[phx_rng_below(&f->rng, m->n_disks)];
	/* a twin that hides is one disk that grew: nobody can tell */
	if (!m->serves || m->twins || (m->entered >= 0 && d == &m->disks[m->entered]))
		return;
	d->hides = ways[phx_rng_below(&f->rng, PHX_ARRAY_SIZE(ways))];
	/* by what is no draw, so that worlds stay what they were */
	if (d->hides == FAULT_HIDES_REMOVABLE && f->now / SECOND % 2)
		d->hides = FAULT_HIDES_REMOTE;
	phx_fault_cause(f, m);
	for (int i = 0; i < 6; i++)
		phx_fault_tenant_writes(f, m);
	phx_fault_order(f, PHX_EV_inspect, m, NULL, NULL, NULL);
	phx_fault_later(f, phx_fault_between(f, SECOND, MINUTE), WHAT_LEAVES, m->i, m->gen, 0);
}

/* He would rather keep it. */
static void inject_unwilling_owner(struct fault_sim *f)
{
	struct fault_machine *m = serving(f);
	m->refuses_until = f->now + phx_fault_between(f, 5 * MINUTE, 30 * MINUTE);
	phx_fault_order(f, PHX_EV_release, m, NULL, NULL, NULL);
}

/* ---- BMCs ---- */

static void inject_dead_bmc(struct fault_sim *f)
{
	struct fault_machine *m = phx_fault_chance(f, 500) ? in_plan(f) : phx_fault_any(f);
	int64_t for_ms =
		phx_fault_between(f, MINUTE, phx_fault_chance(f, 300) ? 3 * HOUR : 15 * MINUTE);
	if (m->bmc_dead_until < f->now + for_ms)
		m->bmc_dead_until = f->now + for_ms;
	sick_until(m, f->now + for_ms);
}

static void inject_early_off(struct fault_sim *f)
{
	struct fault_machine *m = phx_fault_any(f);
	m->early_off_until = f->now + phx_fault_between(f, MINUTE, 20 * MINUTE);
	sick_until(m, m->early_off_until);
	struct phx_event ev = {.kind = PHX_EV_assign, .order.power_cycle = true};
	PHX_STR_SET(ev.node, m->node);
	PHX_STR_SET(ev.order.role, phx_fault_role_names[phx_rng_below(&f->rng, FAULT_ROLES)]);
	phx_fault_submit(f, &ev, NULL);
}

static void inject_busy_bmc(struct fault_sim *f)
{
	struct fault_machine *m = at_its_bmc(f);
	m->bmc_busy_until = f->now + phx_fault_between(f, SECOND, 45 * SECOND);
}

/* ---- network ---- */

static void inject_short_outage(struct fault_sim *f)
{
	struct fault_machine *m = phx_fault_chance(f, 500) ? in_plan(f) : phx_fault_any(f);
	phx_fault_cut(f, m, phx_fault_between(f, SECOND, 15 * SECOND));
}

static void inject_cut_in_handover(struct fault_sim *f)
{
	struct fault_machine *m = in_plan(f);
	int64_t for_ms = phx_fault_between(f, 20 * SECOND, 30 * MINUTE);
	phx_fault_cut(f, m, for_ms);
	sick_until(m, f->now + for_ms);
}

/* One that serves an RE, if there is one; else any that serves. */
static struct fault_machine *of_an_re(struct fault_sim *f)
{
	uint32_t at = (uint32_t)phx_rng_below(&f->rng, f->n);
	for (uint32_t i = 0; i < f->n; i++) {
		struct fault_machine *m = &f->m[(at + i) % f->n];
		if (m->serves && m->serves_pool >= FAULT_PUT_POOLS)
			return m;
	}
	return serving(f);
}

/* Somebody trips over its plug, and puts it back. */
static void inject_short_off(struct fault_sim *f)
{
	struct fault_machine *m = of_an_re(f);
	phx_fault_cause(f, m);
	phx_fault_power_off(f, m);
	phx_fault_later(f, phx_fault_between(f, 2 * SECOND, MINUTE), WHAT_COMES_ON, m->i, m->gen,
			0);
}

static void inject_stale_answer(struct fault_sim *f)
{
	in_plan(f)->seen.stale_at = f->now + 5 * MINUTE;
}

/* ---- people ---- */

static void inject_two_orders(struct fault_sim *f)
{
	static const int kinds[] = {PHX_EV_resume, PHX_EV_assign, PHX_EV_release, PHX_EV_wipe,
				    PHX_EV_drain};
	uint32_t at = (uint32_t)phx_rng_below(&f->rng, f->n);
	struct fault_machine *m = &f->m[at];
	for (uint32_t i = 0; i < f->n && m->seen.state != PHX_NODE_QUARANTINED; i++)
		m = &f->m[(at + i) % f->n];
	phx_fault_order(f, PHX_EV_resume, m, NULL, NULL, NULL);
	for (int i = 0; i < 3; i++)
		phx_fault_order(f, kinds[phx_rng_below(&f->rng, PHX_ARRAY_SIZE(kinds))], m,
				phx_fault_role_names[phx_rng_below(&f->rng, FAULT_ROLES)], NULL,
				NULL);
}

static void inject_role_in_use(struct fault_sim *f)
{
	struct fault_machine *m = phx_fault_chance(f, 500) ? in_plan(f) : serving(f);
	const struct phx_node *n = phx_fault_node(f, m);
	bool role = phx_fault_chance(f, 500);
	struct phx_event ev = {.kind = role ? PHX_EV_role_remove : PHX_EV_pool_remove};
	if (!n || !n->role[0] || !n->pool[0])
		return;
	PHX_STR_SET(ev.named.name, role ? n->role : n->pool);
	if (phx_fault_submit(f, &ev, NULL) == 0)
		phx_fault_violated(f, "in_use", "%s '%s' is deleted, and %s uses it",
				   role ? "role" : "pool", ev.named.name, m->node);
}

static void inject_hasty_move(struct fault_sim *f)
{
	static const struct phx_setup noop = {0};
	static const char *const strict[] = {"guest", "vault", "secure", "intake"};
	struct fault_machine *m = serving(f);
	phx_fault_order(f, PHX_EV_assign, m, strict[phx_rng_below(&f->rng, PHX_ARRAY_SIZE(strict))],
			NULL, &noop);
	phx_fault_order(f, PHX_EV_assign, m,
			phx_fault_role_names[phx_rng_below(&f->rng, FAULT_ROLES)], "batch", NULL);
}

/* ---- the head ---- */

/* It happens at a later instant, and is counted then. */
static uint32_t arm(struct fault_sim *f)
{
	f->armed = true;
	return f->row;
}

static void fate(struct fault_sim *f, enum phx_memory_fate fate, uint32_t writes)
{
	f->head.fate = fate;
	f->head.fate_writes = writes;
	f->head.fate_in = (int32_t)phx_fault_between(f, 0, 20);
	f->head.fate_row = arm(f);
}

static void inject_crash_in_step(struct fault_sim *f)
{
	f->head.crash = (enum fault_crash)phx_fault_between(f, CRASH_APPLY, CRASH_ACT);
	f->head.crash_in = (int32_t)phx_fault_between(f, 0, 5);
	f->head.crash_in_plan = true;
	f->head.crash_in_flow = false;
	f->head.crash_row = arm(f);
}

static void inject_crash_in_flow(struct fault_sim *f)
{
	f->head.crash = (enum fault_crash)phx_fault_between(f, CRASH_APPLY, CRASH_ACT);
	f->head.crash_in = (int32_t)phx_fault_between(f, 0, 5);
	f->head.crash_in_plan = false;
	f->head.crash_in_flow = true;
	f->head.crash_row = arm(f);
}

/* A row about a task that the node does not have: of any run, or of none. */
static void make_false_row(struct fault_sim *f, const struct phx_node *n,
			   struct phx_task_result *row)
{
	const struct phx_list *all = &f->head.s->workflows;
	const struct phx_flowrun *w = all->n
		? PHX_LIST_AT(all, struct phx_flowrun, phx_rng_below(&f->rng, all->n))
		: NULL;
	bool knows = w && phx_fault_chance(f, 900);
	*row = (struct phx_task_result){
		.run = knows ? w->id : f->head.s->last_workflow_id + 1,
		.submitted_ms = knows && phx_fault_chance(f, 900) ? w->submitted_ms : 1,
		.task = (uint32_t)phx_rng_below(&f->rng, knows ? w->n_tasks + 1 : 4),
		.outcome = (int)phx_rng_below(&f->rng, PHX_TASK_OUTCOMES),
		.begin_ms = 1,
		.end_ms = 2,
		.cpu_ms = UINT64_MAX};
	const struct phx_flow_place *at =
		knows && w->live && row->task < w->n_tasks ? &w->live->at[row->task] : NULL;
	row->attempt = at ? at->n_runs : 1;
	/* it may say what it likes of the attempt that it has */
	if (!at || at->node == n->number)
		row->attempt += phx_fault_chance(f, 500) ? 1 : UINT32_MAX;
}

static void inject_false_tasks(struct fault_sim *f)
{
	const struct fault_machine *m = phx_fault_any(f);
	const struct phx_node *n = phx_fault_node(f, m);
	struct phx_event ev = {.kind = PHX_EV_task_results};
	uint64_t told = phx_fault_flows_told(f);
	for (int i = 0; n && i < 8; i++) {
		struct phx_task_result *row = phx_list_push(&ev.task_results.rows, sizeof(*row));
		if (row)
			make_false_row(f, n, row);
	}
	PHX_STR_SET(ev.node, m->node);
	if (n && phx_fault_submit(f, &ev, NULL) == 0 && phx_fault_flows_told(f) != told)
		phx_fault_violated(f, "believed",
				   "%s tells of tasks that it does not have, and it counts",
				   m->node);
	phx_event_fini(&ev);
}

static void inject_keeper_dies(struct fault_sim *f)
{
	uint32_t at = (uint32_t)phx_rng_below(&f->rng, f->n);
	for (uint32_t i = 0; i < f->n; i++) {
		struct fault_machine *m = &f->m[(at + i) % f->n];
		if (!m->keeper.up || !m->keeper.book.n[TASK_RUNS])
			continue;
		phx_fault_keeper_dies(f, m);
		return;
	}
}

/* By hours, forward or back; or by months, until somebody sets it right: that is not believed. */
static void inject_clock_step(struct fault_sim *f)
{
	const int64_t day = 24 * (int64_t)HOUR;
	if (f->head.wall_wrong)
		f->head.wall_ahead_ms -= f->head.wall_wrong_ms;
	f->head.wall_wrong = !f->head.wall_wrong && phx_fault_chance(f, 300);
	f->head.wall_wrong_ms = f->head.wall_wrong ? phx_fault_between(f, 30 * day, 400 * day) : 0;
	f->head.wall_ahead_ms += f->head.wall_wrong_ms;
	if (!f->head.wall_wrong)
		f->head.wall_ahead_ms += phx_fault_between(
			f, -2 * HOUR, phx_fault_chance(f, 300) ? 8 * HOUR : 10 * MINUTE);
	phx_fault_head_crash(f, phx_fault_between(f, SECOND, MINUTE));
}

static void inject_shutdown(struct fault_sim *f)
{
	for (int i = 0; i < 5; i++)
		phx_fault_order(f, PHX_EV_assign, phx_fault_any(f),
				phx_fault_role_names[phx_rng_below(&f->rng, FAULT_ROLES)], NULL,
				NULL);
	f->head.crash = (enum fault_crash)phx_fault_between(f, CRASH_APPLY, CRASH_ACT);
	f->head.crash_in = (int32_t)phx_fault_between(f, 0, 3);
	f->head.crash_in_plan = f->head.crash_in_flow = false;
	f->head.crash_row = arm(f);
}

static void inject_disk_full(struct fault_sim *f)
{
	f->head.full_until = f->now + phx_fault_between(f, SECOND, 3 * MINUTE);
	f->head_cause_at = f->head.full_until;
	f->head.full_in = (int32_t)phx_fault_between(f, 0, 5);
}

/* Between the row of an event and its commit, and nowhere else. */
static void inject_full_between(struct fault_sim *f)
{
	fate(f, PHX_MEMORY_FULL, 1u << PHX_MEMORY_COMMIT);
}

static void inject_commit_lasts(struct fault_sim *f)
{
	fate(f, PHX_MEMORY_LASTS, 1u << PHX_MEMORY_COMMIT);
}

static void inject_failed_fsync(struct fault_sim *f)
{
	fate(f, PHX_MEMORY_LOST, 1u << PHX_MEMORY_COMMIT);
}

static void inject_short_write(struct fault_sim *f)
{
	static const enum phx_memory_write writes[] = {PHX_MEMORY_ROW, PHX_MEMORY_RECORD,
						       PHX_MEMORY_COMMIT};
	fate(f, PHX_MEMORY_CUT, 1u << writes[phx_rng_below(&f->rng, PHX_ARRAY_SIZE(writes))]);
}

static void inject_lost_action(struct fault_sim *f)
{
	f->head.lose_action = true;
	f->head.lose_row = arm(f);
}

void (*const phx_fault_injections[])(struct fault_sim *f) = {
#define FAULT(number, name, every_s, what, holds) inject_##name,
#define FAULT_OF_FLOWS FAULT
#include "fault/fault.def"
#undef FAULT_OF_FLOWS
#undef FAULT
};
