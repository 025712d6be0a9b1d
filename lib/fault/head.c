/* The head: phxd as far as its state is concerned, on a store in memory. An
 * event is applied, checked by the observer, appended, and only then answered
 * and acted on, as the daemon's engine does it; what was not committed is lost
 * with the process, what was is read back through JSON or record copies and
 * applied again. Called by everything that tells the core. Never decides. */
#include "fault/world.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"

enum { SNAPSHOT_EVERY = 256, RETRY_MS = 5000, TICK_LATE_MS = 10, JSON_PER_MILLE = 150 };

int64_t phx_fault_core_now(const struct fault_sim *f)
{
	int64_t now = f->now + f->head.offset_ms;
	return now > f->head.s.now_ms ? now : f->head.s.now_ms;
}

/* ---- digests ---- */

static uint64_t mix_text(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
	return (h ^ 0xff) * 0x100000001b3ULL;
}

static uint64_t digest_actions(const struct phx_list *actions)
{
	uint64_t h = 0xcbf29ce484222325ULL;
	PHX_LIST_EACH(struct phx_action, act, actions)
	{
		h = mix_text(h, act->node);
		h = mix_text(h, act->key_id);
		h = mix_text(h, act->text);
		h = (h ^ (uint64_t)act->kind) * 0x100000001b3ULL;
		h = (h ^ act->step_id) * 0x100000001b3ULL;
		h = (h ^ act->epoch) * 0x100000001b3ULL;
		h = (h ^ act->verified_bytes) * 0x100000001b3ULL;
	}
	return h;
}

/* ---- the store ---- */

static void drop_journal(struct fault_head *h)
{
	for (uint32_t i = 0; i < h->n_journal; i++)
		phx_event_fini(&h->journal[i].ev);
	h->n_journal = 0;
}

int phx_fault_snapshot(struct fault_sim *f)
{
	struct fault_head *h = &f->head;
	struct phx_state copy;
	int r = phx_record_copy(&phx_state_record, &copy, &h->s);
	if (r == 0 && !h->journal)
		h->journal = calloc(SNAPSHOT_EVERY, sizeof(*h->journal));
	if (r < 0 || !h->journal)
		return -ENOMEM;
	phx_state_fini(&h->snapshot);
	h->snapshot = copy;
	drop_journal(h);
	return 0;
}

static int append(struct fault_sim *f, const struct phx_event *ev, const struct phx_outcome *out)
{
	struct fault_head *h = &f->head;
	struct fault_entry *e = &h->journal[h->n_journal];
	int r = phx_record_copy(&phx_event_record, &e->ev, ev);
	if (r < 0)
		return r;
	e->actions = digest_actions(&out->actions);
	h->n_journal++;
	h->committed = h->s.seq;
	return h->n_journal < SNAPSHOT_EVERY ? 0 : phx_fault_snapshot(f);
}

/* What comes back of a record that was written as JSON text. */
static int through_json(const struct phx_record *rec, const void *src, bool sparse, void *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = sparse ? phx_json_record_text_sparse(rec, src) : phx_json_record_text(rec, src);
	PHX_AUTO_JSON json_t *back = NULL;
	int r = text ? phx_json_parse(text, strlen(text), &back, err) : -ENOMEM;
	return r ? r : phx_json_to_record(rec, back, ret, err);
}

static int replay_one(struct phx_state *s, const struct fault_entry *e, bool json, struct phx_err *err)
{
	struct phx_event ev;
	struct phx_outcome out = { 0 };
	int r = json ? through_json(&phx_event_record, &e->ev, true, &ev, err) :
		       phx_record_copy(&phx_event_record, &ev, &e->ev);
	if (r < 0)
		return r;
	r = phx_core_apply(s, &ev, &out, err);
	if (r == 0 && digest_actions(&out.actions) != e->actions)
		r = phx_err_set(err, -EPROTO, "its actions are not those that were recorded");
	if (r < 0)
		phx_err_prefix(err, r, "replay of %s of %s", phx_enum_name(&phx_event_kind_names, ev.kind), ev.node);
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return r;
}

/* The state that the store has; through JSON now and then, since that costs the most. */
static int read_store(struct fault_sim *f, bool json, struct phx_state *ret, struct phx_err *err)
{
	struct fault_head *h = &f->head;
	int r = json ? through_json(&phx_state_record, &h->snapshot, false, ret, err) :
		       phx_record_copy(&phx_state_record, ret, &h->snapshot);
	for (uint32_t i = 0; r == 0 && i < h->n_journal; i++)
		r = replay_one(ret, &h->journal[i], json, err);
	f->ret->replays_json += json;
	return r;
}

/* Back to what was committed. What was answered must be in it: `same` says that nothing else was in memory. */
static void reload(struct fault_sim *f, bool same)
{
	struct fault_head *h = &f->head;
	struct phx_state fresh = { 0 };
	struct phx_err err = { 0 };
	int r = read_store(f, !f->head.readonly && phx_fault_chance(f, JSON_PER_MILLE), &fresh, &err);
	if (r < 0)
		phx_fault_violated(f, "replay", "the store cannot be read back: %s", err.text);
	fresh.now_ms = same ? h->s.now_ms : fresh.now_ms;
	if (r == 0 && fresh.seq < f->last_ok_seq)
		phx_fault_violated(f, "answered", "event %llu was answered, the store ends at %llu",
				   (unsigned long long)f->last_ok_seq, (unsigned long long)fresh.seq);
	if (r == 0 && same && !phx_record_equal(&phx_state_record, &fresh, &h->s))
		phx_fault_violated(f, "replay", "the state that comes back is not the one that was left");
	if (r == 0 && phx_state_check(&fresh, &err) < 0)
		phx_fault_violated(f, "state", "after a start: %s", err.text);
	phx_state_fini(&h->s);
	h->s = fresh;
	phx_fault_check_reset(f);
}

/* ---- one event ---- */

static bool crashes_here(struct fault_sim *f, const struct phx_event *ev)
{
	struct fault_head *h = &f->head;
	if (h->crash == CRASH_NONE)
		return false;
	const struct phx_node *n = h->crash_in_plan ? phx_state_node(&h->s, ev->node) : NULL;
	if (h->crash_in_plan && (!n || n->plan.cursor >= n->plan.steps.n))
		return false;
	return h->crash_in-- <= 0;
}

static int die(struct fault_sim *f)
{
	phx_fault_head_crash(f, phx_fault_between(f, SECOND, phx_fault_chance(f, 200) ? 10 * MINUTE : 30 * SECOND));
	return -ENOTCONN;
}

/* The journal refuses: what was applied is not to be believed. */
static int refuse(struct fault_sim *f)
{
	f->head.readonly = true;
	f->head.retry_at = f->now + RETRY_MS;
	reload(f, false);
	return -EROFS;
}

static int commit(struct fault_sim *f, const struct phx_event *ev, const struct phx_outcome *out)
{
	struct fault_head *h = &f->head;
	if (f->now < h->full_until)
		return refuse(f);
	h->readonly = false;
	enum fault_crash crash = crashes_here(f, ev) ? h->crash : CRASH_NONE;
	if (crash != CRASH_NONE)
		h->crash = CRASH_NONE;
	if (crash == CRASH_APPLY)
		return die(f);
	int r = append(f, ev, out);
	if (r < 0)
		return r;
	f->ret->journalled++;
	if (crash == CRASH_COMMIT)
		return die(f);
	PHX_LIST_EACH(struct phx_action, act, &out->actions)
		phx_fault_act(f, act);
	return crash == CRASH_ACT ? die(f) : 0;
}

static void mix_event(struct fault_sim *f, const struct phx_event *ev, int r, const struct phx_outcome *out)
{
	phx_fault_mix(f, (uint64_t)f->now);
	phx_fault_mix(f, (uint64_t)ev->kind << 32 | (uint32_t)r);
	phx_fault_mix(f, mix_text(f->head.s.seq, ev->node));
	if (r == 0 && out->actions.n)
		phx_fault_mix(f, digest_actions(&out->actions));
}

int phx_fault_submit(struct fault_sim *f, struct phx_event *ev, struct phx_outcome *ret)
{
	struct fault_head *h = &f->head;
	struct phx_outcome out = { 0 };
	struct phx_err err = { 0 };
	struct fault_before before;
	if (!h->up)
		return -ENOTCONN;
	if (h->readonly && f->now < h->retry_at)
		return -EROFS;
	ev->now_ms = phx_fault_core_now(f);
	ev->incarnation = h->s.incarnation == h->incarnation ? 0 : h->incarnation;
	phx_fault_check_before(f, ev, &before);
	int r = phx_core_apply(&h->s, ev, &out, &err);
	f->ret->events++;
	f->ret->refused += r < 0;
	mix_event(f, ev, r, &out);
	phx_fault_check_after(f, ev, r, &out, &before);
	if (r == 0 && h->s.seq != before.seq)
		r = commit(f, ev, &out);
	if (h->up && r == 0) {
		f->last_ok_seq = h->s.seq;
		phx_fault_head_plan_tick(f);
	}
	if (ret && r == 0)
		*ret = out;
	else
		phx_outcome_fini(&out);
	return r;
}

/* ---- time ---- */

void phx_fault_head_plan_tick(struct fault_sim *f)
{
	struct fault_head *h = &f->head;
	int64_t next = phx_core_next_deadline(&h->s);
	if (next == INT64_MAX)
		return;
	int64_t at = next - h->offset_ms + TICK_LATE_MS;
	if (at < f->now + TICK_LATE_MS)
		at = f->now + TICK_LATE_MS;
	if (h->readonly && at < h->retry_at)
		at = h->retry_at;
	if (at >= h->tick_at)
		return;
	h->tick_at = at;
	phx_fault_later(f, at - f->now, WHAT_TICK, 0, ++h->tick_gen, 0);
}

void phx_fault_head_tick(struct fault_sim *f, uint32_t gen)
{
	struct fault_head *h = &f->head;
	struct phx_event ev = { .kind = PHX_EV_tick };
	if (!h->up || gen != h->tick_gen)
		return;
	h->tick_at = INT64_MAX;
	if (phx_core_next_deadline(&h->s) <= phx_fault_core_now(f))
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
	h->up = h->readonly = false;
	h->incarnation++;
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
	phx_fault_later(f, down_ms, WHAT_HEAD_UP, 0, h->incarnation, 0);
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

void phx_fault_head_up(struct fault_sim *f)
{
	struct fault_head *h = &f->head;
	struct phx_list pending = { 0 };
	bool lost = h->s.seq != h->committed;
	if (h->up)
		return;
	reload(f, !lost);
	int64_t wall = f->now + h->offset_ms + h->clock_step_ms;
	h->clock_step_ms = 0;
	h->offset_ms = (wall > h->s.now_ms ? wall : h->s.now_ms) - f->now;
	h->up = true;
	h->up_at = f->now;
	f->last_ok_seq = h->s.seq;
	phx_fault_note(f, -1, "phxd starts with event %llu", (unsigned long long)h->s.seq);
	phx_fault_cause(f, NULL);
	for (uint32_t i = 0; i < f->n; i++)
		adopt(f, &f->m[i]);
	phx_core_pending(&h->s, &pending);
	PHX_LIST_EACH(struct phx_action, act, &pending)
		phx_fault_act(f, act);
	phx_list_fini(&pending);
	phx_fault_head_plan_tick(f);
	phx_fault_check_all(f);
}

void phx_fault_head_fini(struct fault_sim *f)
{
	struct fault_head *h = &f->head;
	drop_journal(h);
	free(h->journal);
	phx_state_fini(&h->s);
	phx_state_fini(&h->snapshot);
	phx_list_fini(&h->keys);
	phx_list_fini(&h->key_ops);
}
