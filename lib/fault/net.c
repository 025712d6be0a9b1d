/* What agents and head say to each other: enrolment, registration, beats, orders, results. Beats
 * are not simulated one by one (line.c). Results leave by the queue of the real agent
 * (agent/result_queue.h); the network loses, doubles, delays and reorders them. Called by fault.c
 * when time has come. */
#include "fault/parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "state/node_sets.h"

enum { AGAIN_MS = 15 * SECOND, REFUSED_MS = 10 * SECOND, LOST_PER_MILLE = 15 };

/* ---- enrolment and registration ---- */

static void again(struct fault_sim *f, struct fault_machine *m, enum fault_what what,
		  int64_t most_ms)
{
	phx_fault_later(f, phx_fault_between(f, most_ms / 4, most_ms), what, m->i, m->gen, 0);
}

/* It was refused: it asks for the token of its start, as its firmware did, and makes a key for
 * that; or else it uses the key on its disk. Then it asks again. */
static void try_otherwise(struct fault_sim *f, struct fault_machine *m)
{
	struct phx_boot boot = {0};
	bool deploy = phx_fault_env(m) == PHX_ENV_DEPLOY;
	if (deploy)
		boot = phx_core_boot(f->head.s, m->mac, m->address);
	if (boot.start && boot.start != m->start) {
		m->start = boot.start;
		m->key = ++m->keys;
	} else if (deploy && !m->tries_disk && phx_fault_adopt_key(m)) {
		m->tries_disk = true;
	}
	again(f, m, m->certified ? WHAT_HELLO : WHAT_ENROL, REFUSED_MS);
}

void phx_fault_enrol(struct fault_sim *f, struct fault_machine *m)
{
	struct phx_outcome out = {0};
	if (!phx_fault_path(f, m)) {
		again(f, m, WHAT_ENROL, AGAIN_MS);
		return;
	}
	int r = phx_fault_ask_certificate(f, m, m->key, &out);
	bool lost = !f->calm && phx_fault_chance(f, 15); /* the answer */
	if (r == 0)
		PHX_STR_SET(m->node, out.node);
	if (r == 0 && !lost && out.enrol == PHX_ENROL_CERTIFY) {
		m->certified = true;
		m->tries_disk = false;
		again(f, m, WHAT_HELLO, SECOND);
	} else if (r == 0 && !lost && out.enrol == PHX_ENROL_REFUSED) {
		try_otherwise(f, m);
	} else {
		again(f, m, WHAT_ENROL, AGAIN_MS);
	}
	phx_outcome_fini(&out);
}

static void make_hello(const struct fault_sim *f, const struct fault_machine *m,
		       struct phx_event_hello *p)
{
	uint32_t version;
	bool run;
	int role = phx_fault_role_of(m, &version, &run);
	snprintf(p->boot_id, sizeof(p->boot_id), "boot-%u-%u", m->i, m->boots);
	PHX_STR_SET(p->address, m->address);
	p->env = phx_fault_env(m);
	p->healthy = m->serves;
	if (role >= 0 && run) {
		PHX_STR_SET(p->actual_role, phx_fault_role_names[role]);
		phx_fault_identity(f, m, p->actual_identity, sizeof(p->actual_identity));
	}
	PHX_STR_SET(p->system_digest, m->system_digest);
	PHX_STR_SET(p->system_image,
		    !m->system_digest[0]                 ? ""
			    : m->system_digest[0] == 'd' ? "debian-12"
							 : "hardened");
	phx_fault_facts(m, &p->facts);
}

/* What the head answers: enter the installed system, or start what the role wants. */
static void take_answer(struct fault_sim *f, struct fault_machine *m)
{
	const struct phx_node *n = phx_fault_node(f, m);
	uint32_t version;
	bool run;
	int role = phx_fault_role_of(m, &version, &run);
	if (!n)
		return;
	if (phx_fault_env(m) == PHX_ENV_DEPLOY) {
		m->boot_local = phx_node_boots_local(f->head.s, n);
		if (m->boot_local)
			phx_fault_later(f, phx_fault_between(f, SECOND, 3 * SECOND), WHAT_ENTER,
					m->i, m->gen, 0);
		return;
	}
	/* the head wants a role: here it is, and it is the same */
	struct phx_role store;
	const struct phx_role *wanted = phx_core_role_wanted(f->head.s, n, &store);
	if (wanted && role >= 0 && run && !m->serves &&
	    !strcmp(wanted->name, phx_fault_role_names[role]) && version == f->role_version[role])
		phx_fault_later(f, phx_fault_between(f, SECOND, 4 * SECOND), WHAT_SERVED, m->i,
				m->gen, 0);
}

void phx_fault_hello(struct fault_sim *f, struct fault_machine *m)
{
	struct phx_event ev = {.kind = PHX_EV_hello};
	if (!phx_fault_path(f, m)) {
		again(f, m, WHAT_HELLO, AGAIN_MS);
		return;
	}
	if (!phx_fault_key_holds(f, m) && !phx_fault_take_up(f, m)) {
		m->certified = false;
		again(f, m, WHAT_ENROL, AGAIN_MS);
		return;
	}
	PHX_STR_SET(ev.node, m->node);
	make_hello(f, m, &ev.hello);
	ev.hello.echoes = ev.hello.rekeys = true;
	ev.hello.scratches = ev.hello.protects = ev.hello.kernels = ev.hello.layouts =
		ev.hello.shares = true;
	ev.hello.checker = true;
	PHX_STR_SET(ev.hello.kernel_word, m->kernel.word);
	m->fresh = m->missing_told = false;
	m->reported[0] = '\0';
	int r = phx_fault_submit(f, &ev, NULL);
	phx_event_fini(&ev);
	if (r == -EACCES)
		m->certified = false;
	if (r < 0) {
		again(f, m, r == -EACCES ? WHAT_ENROL : WHAT_HELLO, AGAIN_MS);
		return;
	}
	m->registered = true;
	result_queue_open(&m->results);
	phx_fault_begin_sending(f, m);
	phx_fault_link(f, m);
	phx_fault_keeper_starts(f, m);
	take_answer(f, m);
	phx_fault_tells(f, m);
	phx_fault_later(f, phx_fault_between(f, 1, 100), WHAT_ORDERS, m->i, m->gen, 0);
}

/* ---- beats ---- */

static void tell_report(struct fault_sim *f, struct fault_machine *m)
{
	struct phx_event ev = {.kind = PHX_EV_report, .report.healthy = m->serves};
	char report[200];
	uint32_t version;
	bool run;
	int role = phx_fault_role_of(m, &version, &run);
	snprintf(report, sizeof(report), "%d %u %d %d", role, version, run, m->serves);
	if (!strcmp(report, m->reported))
		return;
	PHX_STR_SET(ev.node, m->node);
	if (role >= 0 && run) {
		PHX_STR_SET(ev.report.actual_role, phx_fault_role_names[role]);
		phx_fault_identity(f, m, ev.report.actual_identity,
				   sizeof(ev.report.actual_identity));
	}
	PHX_STR_SET(m->reported, report);
	if (phx_fault_submit(f, &ev, NULL) < 0)
		m->reported[0] = '\0';
}

void phx_fault_beat(struct fault_sim *f, struct fault_machine *m)
{
	const struct phx_node *n = phx_fault_node(f, m);
	char boot[40];
	if (!m->linked)
		return;
	snprintf(boot, sizeof(boot), "boot-%u-%u", m->i, m->boots);
	if (!n || !phx_fault_key_holds(f, m) || strcmp(n->boot_id, boot) ||
	    n->env != phx_fault_env(m)) {
		m->registered = false;
		phx_fault_link(f, m);
		again(f, m, WHAT_HELLO, 2 * SECOND);
		return;
	}
	if (m->missing_told || m->fresh || !n->up) {
		struct phx_event ev = {.kind = PHX_EV_back};
		PHX_STR_SET(ev.node, m->node);
		m->missing_told = m->fresh = false;
		if (phx_fault_submit(f, &ev, NULL) < 0)
			m->fresh = true;
	}
	if (m->linked)
		tell_report(f, m);
	if (!m->linked)
		return;
	if (m->fresh || !m->reported[0]) /* the head could not take it: the next one */
		phx_fault_later(f, FAULT_BEAT_MS, WHAT_BEAT, m->i, m->link_gen, 0);
	phx_fault_orders(f, m);
}

void phx_fault_silence(struct fault_sim *f, struct fault_machine *m)
{
	struct phx_event ev = {.kind = PHX_EV_missing};
	if (!f->head.up || m->linked || m->missing_told)
		return;
	PHX_STR_SET(ev.node, m->node);
	m->missing_told = true;
	if (phx_fault_node(f, m) && phx_fault_submit(f, &ev, NULL) == -EROFS) {
		m->missing_told = false;
		phx_fault_later(f, SILENT_MS, WHAT_SILENCE, m->i, m->link_gen, 0);
	}
}

/* ---- orders ---- */

static void task_of(const struct phx_order *o, struct fault_task *ret)
{
	*ret = (struct fault_task){.id = o->id,
				   .epoch = o->epoch,
				   .attempt = o->step.attempt,
				   .nonce = o->step.nonce,
				   .kind = o->step.kind,
				   .method = o->step.method};
	ret->role = (int8_t)phx_fault_role_index(o->role.name);
	phx_str_copy(ret->disk, sizeof(ret->disk), o->step.disk);
	PHX_STR_SET(ret->key_id, o->step.key_id);
	phx_str_copy(ret->digest, sizeof(ret->digest), o->role.image_digest);
	uint64_t version = 0;
	if (o->role.packages.n)
		phx_u64_parse(PHX_LIST_AT(&o->role.packages, struct phx_package_ref, 0)->version, 0,
			      UINT32_MAX, &version);
	ret->role_version = (uint32_t)version;
}

/* The network holds a copy up that arrives when the order is long of the past. */
static void hold_up(struct fault_sim *f, struct fault_machine *m, const struct fault_late *late,
		    int64_t most_ms)
{
	uint32_t i = 0;
	while (i < f->lates.n && PHX_LIST_AT(&f->lates, struct fault_late, i)->used)
		i++;
	struct fault_late *l = i < f->lates.n ? PHX_LIST_AT(&f->lates, struct fault_late, i)
					      : phx_list_push(&f->lates, sizeof(*l));
	if (!l)
		return;
	*l = *late;
	l->used = true;
	l->link_gen = m->link_gen;
	phx_fault_later(f, phx_fault_between(f, SECOND, most_ms), WHAT_LATE, m->i, m->gen, i);
}

/* Does the running system have a role that is to run? Each may have jobs here. */
static bool runs_jobs(const struct fault_machine *m)
{
	uint32_t version;
	bool run;
	return phx_fault_role_of(m, &version, &run) >= 0 && run;
}

/* Steps have epochs, and jobs have none: a copy of an order about one comes by the line that the
 * order came by, if it comes. */

void phx_fault_late(struct fault_sim *f, struct fault_machine *m, uint64_t slot)
{
	struct fault_late l = *PHX_LIST_AT(&f->lates, struct fault_late, slot);
	PHX_LIST_AT(&f->lates, struct fault_late, slot)->used = false;
	if (!l.is_job)
		phx_fault_take_order(f, m, &l.task);
	else if (m->linked && m->link_gen == l.link_gen && runs_jobs(m))
		phx_fault_take_job(f, m, &l.job);
}

static void answer_inspect(struct fault_sim *f, struct fault_machine *m)
{
	struct phx_event ev = {.kind = PHX_EV_inventory};
	PHX_STR_SET(ev.node, m->node);
	phx_fault_facts(m, &ev.inventory.facts);
	if (phx_fault_submit(f, &ev, NULL) == -EROFS)
		phx_fault_later(f, 5 * SECOND, WHAT_ORDERS, m->i, m->gen, 0);
	phx_event_fini(&ev);
}

static void take_step(struct fault_sim *f, struct fault_machine *m, const struct phx_order *o)
{
	struct fault_task t;
	task_of(o, &t);
	t.kernel = phx_fault_kernel(f, phx_fault_node(f, m));
	if (o->step.role[0] && t.role < 0)
		phx_fault_violated(
			f, "order",
			"%s: step %s is about role '%s', and the order does not carry it", m->node,
			phx_enum_name(&phx_step_kind_names, o->step.kind), o->step.role);
	if (!f->calm && f->now < m->lose_answers_until)
		hold_up(f, m, &(struct fault_late){.task = t}, 3 * HOUR);
	phx_fault_take_order(f, m, &t);
}

/* The network copies an order that the agent has followed. */
static void copy_job(struct fault_sim *f, struct fault_machine *m, const struct job_order *o)
{
	bool wanted = f->now < m->lose_answers_until || f->now < m->seen.stale_at;
	const struct fault_run *r = phx_fault_find_run(phx_fault_memory(m), o->run.id);
	if (r && r->rec.run == o->run.run && !f->calm && (wanted || phx_fault_chance(f, 20)))
		hold_up(f, m, &(struct fault_late){.is_job = true, .job = *o}, 30 * MINUTE);
}

static void take_job(struct fault_sim *f, struct fault_machine *m, const struct phx_order *o)
{
	bool ends = o->kind == PHX_ORDER_kill;
	const struct job_order order = {.run = {o->id, o->run},
					.submitted_ms = ends ? 0 : o->job.submitted_ms,
					.ends = ends};
	if (!ends && !runs_jobs(m)) {
		phx_fault_refuse_job(f, m, order.run);
		return;
	}
	phx_fault_take_job(f, m, &order);
	copy_job(f, m, &order);
}

static void take_one(struct fault_sim *f, struct fault_machine *m, const struct phx_order *o)
{
	switch ((enum phx_order_kind)o->kind) {
	case PHX_ORDER_step:
		take_step(f, m, o);
		return;
	case PHX_ORDER_job:
	case PHX_ORDER_kill:
		take_job(f, m, o);
		return;
	case PHX_ORDER_inspect:
		answer_inspect(f, m);
		return;
	case PHX_ORDER_prefetch: /* packages cost it no time anyway */
	case PHX_ORDER_ahead:
	case PHX_ORDER_table: /* no machine directs */
	case PHX_ORDER_tasks: /* these are phxd's own */
	case PHX_ORDER_accounts:
	case PHX_ORDER_site:
	case PHX_ORDER_logs:
	case PHX_ORDER_output:
	case PHX_ORDER_anchor:
	case PHX_ORDER_ca:
	case PHX_ORDER_NONE:
	case PHX_ORDER_KIND_COUNT_:
		return;
	}
}

void phx_fault_orders(struct fault_sim *f, struct fault_machine *m)
{
	struct phx_list orders = {0};
	if (!m->linked)
		return;
	phx_core_orders(f->head.s, m->node, &orders);
	PHX_LIST_EACH(struct phx_order, o, &orders) {
		if (m->linked && !f->failed)
			take_one(f, m, o);
		phx_record_fini(&phx_order_record, o);
	}
	phx_list_fini(&orders);
	if (m->linked && !f->failed)
		phx_fault_task_orders(f, m);
}

/* ---- results ---- */

/* Whoever sends a result is heard; its silence begins anew. */
static void heard(struct fault_sim *f, struct fault_machine *m)
{
	if (!m->missing_told)
		return;
	m->missing_told = false;
	if (!m->linked)
		phx_fault_later(f, SILENT_MS, WHAT_SILENCE, m->i, m->link_gen, 0);
}

static int deliver_end(struct fault_sim *f, const struct fault_machine *m,
		       const struct fault_message *msg)
{
	struct phx_event ev = {
		.kind = PHX_EV_job_result,
		.job_result = {.job = msg->about.id, .run = msg->about.run, .result = msg->status}};
	PHX_STR_SET(ev.node, m->node);
	return phx_fault_submit(f, &ev, NULL);
}

static int deliver_rows(struct fault_sim *f, const struct fault_machine *m,
			const struct fault_message *msg)
{
	struct phx_event ev = {.kind = PHX_EV_task_results, .task_results.rows = msg->rows};
	PHX_STR_SET(ev.node, m->node);
	return phx_fault_submit(f, &ev, NULL);
}

static int deliver_step(struct fault_sim *f, const struct fault_machine *m,
			const struct fault_message *msg)
{
	const struct fault_done *d = &msg->done;
	struct phx_event ev = {.kind = PHX_EV_step_result,
			       .answer = {.step_id = d->id,
					  .epoch = d->task.epoch,
					  .attempt = d->attempt,
					  .nonce = d->task.nonce,
					  .result = d->result}};
	PHX_STR_SET(ev.node, m->node);
	PHX_STR_SET(ev.text, d->result ? "it did not work" : "");
	if (d->task.kind == PHX_STEP_wipe) {
		PHX_STR_SET(ev.answer.erased_disk, d->task.disk);
		ev.answer.setup.method = d->task.method;
		ev.answer.used = ev.answer.setup.method;
		PHX_STR_SET(ev.answer.read_sha256, "sum");
		PHX_STR_SET(ev.answer.signature, d->seal == FAULT_SEAL_NONE ? "" : "of a key");
		PHX_STR_SET(ev.answer.signer, d->seal == FAULT_SEAL_ITS ? "its key" : "");
		PHX_STR_SET(ev.answer.image, "deploy 1");
		ev.answer.erased_bytes = d->bytes;
		ev.answer.verified_bytes = d->verified;
	}
	return phx_fault_submit(f, &ev, NULL);
}

static int deliver(struct fault_sim *f, struct fault_machine *m, const struct fault_message *msg)
{
	heard(f, m);
	if (msg->about.is_tasks)
		return deliver_rows(f, m, msg);
	return msg->about.is_job ? deliver_end(f, m, msg) : deliver_step(f, m, msg);
}

/* What the agent gets for the message. */
static int exchange(struct fault_sim *f, struct fault_machine *m, const struct fault_message *msg)
{
	if (!phx_fault_path(f, m))
		return -EHOSTUNREACH;
	if (!phx_fault_key_holds(f, m))
		return -EACCES;
	if (!f->calm && phx_fault_chance(f, LOST_PER_MILLE))
		return -ETIMEDOUT; /* on its way there, */
	if (!msg->about.is_job && !msg->about.is_tasks)
		phx_fault_check_told(f, m, &msg->done);
	int r = deliver(f, m, msg);
	if (!f->calm && phx_fault_chance(f, LOST_PER_MILLE))
		return -ETIMEDOUT; /* or on its way back */
	return r;
}

void phx_fault_send(struct fault_sim *f, struct fault_machine *m, bool due)
{
	struct result_item it;
	if (due) {
		result_queue_due(&m->results);
		phx_fault_begin_sending(f, m);
		return;
	}
	if (!result_queue_first(&m->results, &it))
		return;
	const struct fault_message *msg = it.body;
	int r = exchange(f, m, msg);
	uint32_t wait_ms = result_queue_answered(&m->results, r);
	if (wait_ms) {
		phx_fault_later(f, wait_ms, WHAT_SEND, m->i, m->gen, 1);
		return;
	}
	if (msg->about.is_tasks)
		phx_fault_task_rows_said(f, m, msg->about.run, &msg->rows);
	phx_fault_copy_by_chance(f, m, msg);
	bool is_end = msg->about.is_job && !msg->refused;
	struct job_run run = {msg->about.id, msg->about.run};
	phx_fault_drop_result(m);
	if (is_end)
		phx_fault_job_reported(f, m, run);
	phx_fault_later(f, phx_fault_between(f, 1, 100), WHAT_SEND, m->i, m->gen, 0);
}

void phx_fault_copy(struct fault_sim *f, uint64_t slot)
{
	struct fault_copy c = *PHX_LIST_AT(&f->copies, struct fault_copy, slot);
	if (f->head.up)
		deliver(f, &f->m[c.m], &c.message);
	phx_fault_copy_fini(PHX_LIST_AT(&f->copies, struct fault_copy, slot));
}
