/* The head: phxd as far as its state is concerned, which is lib/journal, as in
 * the daemon itself, on a store in memory. Here are its clocks, the fates of
 * what it writes, the instants at which it dies, and the observer, who looks at
 * each event between its application and its commit. Called by everything that
 * tells the core. Never decides. */
#include "fault/parts.h"

#include <errno.h>

enum { SNAPSHOT_EVERY = 256, TICK_LATE_MS = 10 };

/* ---- digests ---- */

static uint64_t digest_actions(const struct phx_list *actions)
{
	uint64_t h = PHX_MIX_NONE;
	PHX_LIST_EACH(struct phx_action, act, actions) {
		h = phx_mix_text(h, act->node);
		h = phx_mix_text(h, act->key_id);
		h = phx_mix_text(h,
				 act->kind == PHX_ACT_POWER
					 ? phx_enum_name(&phx_power_op_names, act->op)
					 : act->text);
		h = phx_mix_number(h, (uint64_t)act->kind);
		h = phx_mix_number(h, act->step_id);
		h = phx_mix_number(h, act->epoch);
		h = phx_mix_number(h, act->verified_bytes);
	}
	return h;
}

static void mix_event(struct fault_sim *f, const struct phx_event *ev, int r,
		      const struct phx_outcome *out)
{
	phx_fault_mix(f, (uint64_t)f->now);
	phx_fault_mix(f, (uint64_t)ev->kind << 32 | (uint32_t)r);
	phx_fault_mix(f, phx_mix_text(f->head.s->seq, ev->node));
	if (r == 0 && out->actions.n)
		phx_fault_mix(f, digest_actions(&out->actions));
}

/* ---- clocks ---- */

static int64_t wall_ms(void *arg)
{
	const struct fault_sim *f = arg;
	return f->now + f->head.wall_ahead_ms;
}

static int64_t mono_ms(void *arg)
{
	const struct fault_sim *f = arg;
	return f->now;
}

static bool is_synchronised(void *arg)
{
	(void)arg;
	return false;
}

static uint64_t draw(void *arg)
{
	struct fault_sim *f = arg;
	return phx_rng_next(&f->rng);
}

/* ---- what the journal writes, and what it has done ---- */

static enum phx_memory_fate fate_of(void *arg, enum phx_memory_write write)
{
	struct fault_sim *f = arg;
	struct fault_head *h = &f->head;
	if (f->now < h->full_until && h->full_in-- <= 0)
		return PHX_MEMORY_FULL;
	if (h->fate == PHX_MEMORY_WRITTEN || !(h->fate_writes & 1u << write) || h->fate_in-- > 0)
		return PHX_MEMORY_WRITTEN;
	f->ret->injected[h->fate_row]++;
	f->head_cause_at = f->now;
	phx_fault_note(f, -1, "the store: write %d has fate %d", (int)write, (int)h->fate);
	enum phx_memory_fate fate = h->fate;
	h->fate = PHX_MEMORY_WRITTEN;
	return fate;
}

static int act(void *arg, const struct phx_action *action)
{
	struct fault_sim *f = arg;
	bool matters = action->kind != PHX_ACT_NOTE && action->kind != PHX_ACT_ERASED &&
		action->kind != PHX_ACT_ATTEST && action->kind != PHX_ACT_DHCP;
	if (f->head.lose_action && matters) {
		f->head.lose_action = false;
		f->ret->injected[f->head.lose_row]++;
		phx_fault_note(f, -1, "an action for %s cannot be queued", action->node);
		return -ENOMEM;
	}
	phx_fault_act(f, action);
	return 0;
}

/* ---- one event ---- */

static bool is_of_flows(const struct phx_event *ev)
{
	enum phx_payload payload = phx_event_payload((enum phx_event_kind)ev->kind);
	return payload == PHX_PAYLOAD_task_results || payload == PHX_PAYLOAD_workflow_submit ||
		payload == PHX_PAYLOAD_workflow_order;
}

static bool crashes_here(struct fault_sim *f, const struct phx_event *ev)
{
	struct fault_head *h = &f->head;
	if (h->crash == CRASH_NONE)
		return false;
	if (h->crash_in_flow && !is_of_flows(ev))
		return false;
	const struct phx_node *n = h->crash_in_plan ? phx_state_node(h->s, ev->node) : NULL;
	if (h->crash_in_plan && (!n || n->plan.cursor >= n->plan.steps.n))
		return false;
	return h->crash_in-- <= 0;
}

/* The observer sees what was applied before it is committed. */
static void observe(struct fault_sim *f, const struct phx_event *ev, const struct phx_outcome *out,
		    uint64_t seq)
{
	struct fault_head *h = &f->head;
	mix_event(f, ev, 0, out);
	phx_fault_check_after(f, ev, 0, out, &h->before);
	phx_fault_check_before(f, ev, &h->before); /* the next one, where there are many */
	h->observed = true;
	h->whole_to = seq;
	if (ev->now_ms < h->time_ms)
		phx_fault_violated(f, "time",
				   "an event is of %lld ms, and one before it was of %lld ms",
				   (long long)ev->now_ms, (long long)h->time_ms);
	h->crash_now = crashes_here(f, ev) ? h->crash : CRASH_NONE;
}

static bool at(void *arg, enum phx_journal_point point, uint64_t seq, const struct phx_event *ev,
	       const struct phx_outcome *out)
{
	static const enum fault_crash crash_at[] = {CRASH_APPLY, CRASH_COMMIT, CRASH_ACT};
	struct fault_sim *f = arg;
	if (point == PHX_JOURNAL_APPLIED)
		observe(f, ev, out, seq);
	if (point == PHX_JOURNAL_COMMITTED) {
		f->ret->journalled++;
		f->head.time_ms = ev->now_ms;
	}
	if (f->head.crash_now != crash_at[point])
		return false;
	f->ret->injected[f->head.crash_row]++;
	f->head.crash = f->head.crash_now = CRASH_NONE;
	return true;
}

/* The journal has ended, and with it the process; whoever starts it again does so soon. */
static void die(struct fault_sim *f, int r)
{
	bool killed = r == -EAGAIN;
	int64_t most = killed && phx_fault_chance(f, 200) ? 10 * MINUTE : 30 * SECOND;
	phx_fault_head_crash(f, phx_fault_between(f, SECOND, killed ? most : 5 * SECOND));
}

/* What came of it, where the observer did not see it yet: it was refused, or changed nothing. */
static void look_back(struct fault_sim *f, struct phx_event *ev, const struct phx_each *e)
{
	f->ret->events++;
	f->ret->refused += e->result < 0;
	if (e->seq || (f->head.observed && phx_journal_status(f->head.journal, NULL)))
		return;
	if (e->node != ev->node)
		PHX_STR_SET(ev->node, e->node);
	mix_event(f, ev, e->result, &e->out);
	phx_fault_check_after(f, ev, e->result, &e->out, &f->head.before);
}

/* What was answered is in what came back from the store, and what was one transaction is there
 * whole, or not at all. */
static void check_answered(struct fault_sim *f)
{
	const struct fault_head *h = &f->head;
	if (h->s->seq > h->whole_from && h->s->seq < h->whole_to)
		phx_fault_violated(
			f, "whole",
			"of one transaction, events %llu to %llu, the store has those up to %llu",
			(unsigned long long)h->whole_from + 1, (unsigned long long)h->whole_to,
			(unsigned long long)h->s->seq);
	if (f->head.s->seq < f->last_ok_seq)
		phx_fault_violated(f, "answered", "event %llu was answered, the store ends at %llu",
				   (unsigned long long)f->last_ok_seq,
				   (unsigned long long)f->head.s->seq);
}

void phx_fault_submit_each(struct fault_sim *f, struct phx_event *ev, struct phx_each *each,
			   uint32_t n)
{
	struct fault_head *h = &f->head;
	if (h->snapshot_due)
		phx_journal_snapshot(h->journal);
	h->snapshot_due = h->observed = false;
	h->whole_from = h->whole_to = h->s->seq;
	phx_fault_check_before(f, ev, &h->before);
	phx_journal_submit_each(h->journal, ev, each, n);
	int status = phx_journal_status(h->journal, NULL), worst = 0;
	bool done = false;
	h->readonly = status == -EROFS;
	for (const struct phx_each *e = each; e < each + n; e++) {
		if (h->observed || !h->readonly)
			look_back(f, ev, e);
		done = done || e->result == 0;
		if (e->result == -EPROTO)
			phx_fault_violated(f, "life", "%s", e->err.text);
		worst = e->result == -EAGAIN || e->result == -EIO ? e->result : worst;
	}
	if (h->readonly && h->observed) { /* it went back to what was committed */
		check_answered(f);
		phx_fault_check_reset(f);
	}
	if (done)
		f->last_ok_seq = h->s->seq;
	if (status == -EAGAIN)
		die(f, worst);
	else if (done)
		phx_fault_head_plan_tick(f);
}

int phx_fault_submit(struct fault_sim *f, struct phx_event *ev, struct phx_outcome *ret)
{
	struct phx_each one = {.node = ev->node};
	if (!f->head.up)
		return -ENOTCONN;
	phx_fault_submit_each(f, ev, &one, 1);
	if (ret && one.result == 0)
		*ret = one.out;
	else
		phx_outcome_fini(&one.out);
	bool ended = one.result == -EAGAIN || one.result == -EIO;
	return ended ? -ENOTCONN : one.result;
}

/* ---- time ---- */

void phx_fault_head_plan_tick(struct fault_sim *f)
{
	struct fault_head *h = &f->head;
	int64_t next = phx_core_next_deadline(h->s);
	if (next == INT64_MAX)
		return;
	int64_t left = next - phx_fault_core_now(f), least = phx_journal_retry_in(h->journal);
	int64_t at = f->now + (left > least ? left : least) + TICK_LATE_MS;
	if (at >= h->tick_at)
		return;
	h->tick_at = at;
	phx_fault_later(f, at - f->now, WHAT_TICK, 0, ++h->tick_gen, 0);
}

void phx_fault_head_tick(struct fault_sim *f, uint32_t gen)
{
	struct fault_head *h = &f->head;
	struct phx_event ev = {.kind = PHX_EV_tick};
	if (!h->up || gen != h->tick_gen)
		return;
	h->tick_at = INT64_MAX;
	if (phx_core_next_deadline(h->s) <= phx_fault_core_now(f))
		phx_fault_submit(f, &ev, NULL);
	if (h->up)
		phx_fault_head_plan_tick(f);
}

/* ---- death and birth ---- */

void phx_fault_head_crash(struct fault_sim *f, int64_t down_ms)
{
	struct fault_head *h = &f->head;
	if (!h->up)
		return;
	h->up = h->readonly = h->lose_action = false;
	h->starts++;
	h->crash = CRASH_NONE;
	h->tick_gen++;
	h->tick_at = INT64_MAX;
	f->ret->crashes++;
	phx_fault_note(f, -1, "phxd dies, for %lld ms", (long long)down_ms);
	phx_fault_cause(f, NULL);
	phx_fault_drivers_drop(f);
	phx_fault_engine_head_died(f);
	for (uint32_t i = 0; i < f->n; i++)
		phx_fault_link(f, &f->m[i]);
	phx_fault_later(f, down_ms, WHAT_HEAD_UP, 0, h->starts, 0);
}

/* What a daemon that starts believes of its nodes: nothing was heard yet. */
static void adopt(struct fault_sim *f, struct fault_machine *m)
{
	const struct phx_node *n = phx_fault_node(f, m);
	m->fresh = true;
	m->missing_told = false;
	m->reported[0] = '\0';
	phx_fault_link(f, m);
	if (n && n->up && !m->linked)
		phx_fault_later(f, SILENT_MS, WHAT_SILENCE, m->i, ++m->link_gen, 0);
}

/* It is written before the next event, as by a thread of its own: a head that dies until then has
 * none. */
static void snapshot_due(void *arg)
{
	struct fault_sim *f = arg;
	f->head.snapshot_due = true;
}

int phx_fault_head_open(struct fault_sim *f)
{
	struct fault_head *h = &f->head;
	struct phx_err err = {0}, damage = {0};
	struct phx_journal_config config = {.store = phx_journal_on_memory(&h->memory),
					    .clock = {wall_ms, mono_ms, is_synchronised, f},
					    .snapshot_every = SNAPSHOT_EVERY,
					    .draw = draw,
					    .act = act,
					    .snapshot_due = snapshot_due,
					    .at = at,
					    .arg = f};
	h->snapshot_due = false;
	h->memory.fate = fate_of;
	h->memory.fate_arg = f;
	int r = phx_journal_open(&config, &h->journal, &damage, &err);
	if (r < 0) {
		phx_fault_violated(f, "replay", "the store cannot be read back: %s", err.text);
		return r;
	}
	h->s = phx_journal_state(h->journal);
	h->core_ahead_ms = phx_journal_now(h->journal) - f->now;
	h->up = true;
	h->up_at = f->now;
	h->tick_at = INT64_MAX;
	return 0;
}

/* What came back is what was left, where nothing else was in memory. The clock is no part of it:
 * events that change nothing move it and are not journalled. */
static void check_came_back(struct fault_sim *f, const struct phx_state *left)
{
	const struct phx_state *s = f->head.s;
	struct phx_state then = *left; /* borrows */
	struct phx_err err = {0};
	then.now_ms = s->now_ms;
	check_answered(f);
	if (s->seq == left->seq && !phx_record_equal(&phx_state_record, s, &then))
		phx_fault_violated(f, "replay",
				   "the state that comes back is not the one that was left");
	if (phx_state_check(s, &err) < 0)
		phx_fault_violated(f, "state", "after a start: %s", err.text);
}

void phx_fault_head_up(struct fault_sim *f)
{
	struct fault_head *h = &f->head;
	struct phx_journal *dead = h->journal;
	const struct phx_state *left = h->s;
	if (h->up)
		return;
	if (phx_fault_head_open(f) == 0)
		check_came_back(f, left);
	if (h->journal != dead)
		phx_journal_close(dead, false);
	phx_fault_check_reset(f);
	f->last_ok_seq = h->s->seq;
	phx_fault_note(f, -1, "phxd starts with event %llu", (unsigned long long)h->s->seq);
	phx_fault_cause(f, NULL);
	for (uint32_t i = 0; i < f->n; i++)
		adopt(f, &f->m[i]);
	phx_journal_resume(h->journal);
	phx_fault_head_plan_tick(f);
	phx_fault_check_all(f);
}

void phx_fault_head_fini(struct fault_sim *f)
{
	struct fault_head *h = &f->head;
	phx_journal_close(h->journal, false);
	phx_memory_fini(&h->memory);
	phx_list_fini(&h->keys);
	phx_list_fini(&h->key_ops);
}
