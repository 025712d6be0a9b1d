/* The observer: after every event, is what was promised still true? It looks at
 * the machines as they are (whose data is on which disk, whose services run) and
 * at what it remembers of earlier events, and believes the core's own flags only
 * where nothing else can be known. Called by head.c around every event.
 * Changes nothing but its own memory. */
#include "fault/parts.h"

#include <string.h>

#include "types/readback.h"

enum {
	FULL_EVERY = 256,
	LATE_MS = 15 * SECOND,
	DEADLINE_MOST_MS = 3 * HOUR,
	CAUSE_MS = 40 * MINUTE,
	HEAD_CAUSE_MS = 10 * MINUTE
};

static bool same_owner(int a, int b)
{
	return a >= 0 && b >= 0 && !strcmp(phx_fault_pool_owners[a], phx_fault_pool_owners[b]);
}

/* The first pool of its owner. */
static int first_of(int pool)
{
	int first = 0;
	while (!same_owner(first, pool))
		first++;
	return first;
}

uint16_t phx_fault_owner_bit(int pool)
{
	return (uint16_t)(1u << first_of(pool));
}

static const struct phx_step *step_of(const struct phx_node *n)
{
	return n->plan.cursor < n->plan.steps.n
		? PHX_LIST_AT(&n->plan.steps, struct phx_step, n->plan.cursor)
		: NULL;
}

void phx_fault_cause(struct fault_sim *f, struct fault_machine *m)
{
	int64_t *at = m ? &m->seen.cause_at : &f->head_cause_at;
	if (*at < f->now)
		*at = f->now;
}

/* ---- whose data, whose services ---- */

/* Nothing unwiped reaches another tenant where the agreement says wipe. */
static void check_tenants(struct fault_sim *f, const struct fault_machine *m,
			  const struct phx_node *n, int pool)
{
	/* its key is gone, and it waits for its read-back */
	if (pool < 0 || (pool == 0 && n->key_unread))
		return;
	bool on_entry = phx_setup_wipes(&f->pool_setup[pool], PHX_WHEN_ASSIGN);
	for (uint32_t i = 0; i < m->n_disks; i++) {
		const struct fault_disk *d = &m->disks[i];
		for (uint32_t k = 0; k < d->n_residues; k++) {
			const struct fault_residue *r = &d->residues[k];
			/* who has had it by an agreement without wipe learns nothing new */
			bool known = r->known & phx_fault_owner_bit(pool);
			if (same_owner(r->pool, pool) || (!r->must_wipe && (!on_entry || known)) ||
			    (r->key_id[0] && !phx_fault_find_key(f, r->key_id)))
				continue;
			phx_fault_violated(
				f, "tenant",
				"%s is in pool %s, and %s holds unerased data of pool %s", m->node,
				n->pool, d->id, phx_fault_pool_names[r->pool]);
		}
	}
}

/* A node is in one pool at most: nobody has it while another's services run on it. */
static void check_one_pool(struct fault_sim *f, const struct fault_machine *m,
			   const struct phx_node *n, int pool)
{
	bool counted = n->state == PHX_NODE_READY || n->state == PHX_NODE_ACTIVE ||
		n->state == PHX_NODE_DEPLOYING;
	if (!m->serves || m->serves_pool < 0 || pool < 0 || !counted ||
	    (pool == 0 && n->key_unread))
		return;
	if (!same_owner(m->serves_pool, pool))
		phx_fault_violated(f, "pools", "%s is %s in pool %s, and still serves %s", m->node,
				   phx_enum_name(&phx_node_state_names, n->state), n->pool,
				   phx_fault_pool_names[m->serves_pool]);
}

/* ---- deadlines ---- */

static void check_deadlines(struct fault_sim *f, const struct fault_machine *m,
			    const struct phx_node *n)
{
	int64_t now = phx_fault_core_now(f);
	const struct phx_step *step = step_of(n);
	if (!f->head.up || f->head.readonly || f->now < f->head.full_until + LATE_MS ||
	    f->now < f->head.up_at + LATE_MS)
		return;
	if (step &&
	    (step->deadline_ms + LATE_MS < now || step->deadline_ms > now + DEADLINE_MOST_MS))
		phx_fault_violated(
			f, "deadline",
			"%s: step %s has a deadline %lld ms from now, and nothing happens", m->node,
			phx_enum_name(&phx_step_kind_names, step->kind),
			(long long)(step->deadline_ms - now));
	if (n->window && n->window_until_ms + LATE_MS < now)
		phx_fault_violated(f, "deadline",
				   "%s: the window for a new certificate does not close", m->node);
	if (n->off_wanted && n->off_again_ms + LATE_MS < now)
		phx_fault_violated(f, "deadline", "%s: it is to be off, and nobody tells it again",
				   m->node);
	bool transient = n->state == PHX_NODE_DRAINING || n->state == PHX_NODE_CLEANING ||
		n->state == PHX_NODE_DEPLOYING;
	if (transient && !step)
		phx_fault_violated(f, "deadline", "%s is %s without a step", m->node,
				   phx_enum_name(&phx_node_state_names, n->state));
}

/* ---- who ordered it ---- */

static bool is_order(int kind)
{
	return kind == PHX_EV_assign || kind == PHX_EV_release || kind == PHX_EV_rebuild ||
		kind == PHX_EV_wipe || kind == PHX_EV_drain || kind == PHX_EV_resume ||
		kind == PHX_EV_cancel;
}

static bool plan_has(const struct phx_node *n, enum phx_step_kind kind)
{
	PHX_LIST_EACH(struct phx_step, s, &n->plan.steps)
		if (s->kind == (int)kind)
			return true;
	return false;
}

/* A plan that nobody ordered just now: rules of automatic assignment, a system in memory that is
 * brought again, an ordered erase that is read back. Nothing else may destroy anything. */
static bool may_begin_itself(const struct fault_sim *f, const struct fault_seen *seen,
			     const struct phx_node *n)
{
	if (f->head.s->settings.auto_assign || phx_fault_re_moves(n))
		return true;
	if (seen->unread && !plan_has(n, PHX_STEP_image))
		return true;
	return !plan_has(n, PHX_STEP_image) && !plan_has(n, PHX_STEP_wipe) &&
		!plan_has(n, PHX_STEP_destroy_key);
}

static void see_plan(struct fault_sim *f, struct fault_machine *m, const struct phx_node *n,
		     int kind)
{
	struct fault_seen *seen = &m->seen;
	/* of a plan that erases only since something else failed it is told then */
	seen->told_epoch = seen->told ? n->plan.epoch : seen->told_epoch;
	if (n->plan.epoch == seen->epoch)
		return;
	if (n->plan.epoch < seen->epoch)
		phx_fault_violated(f, "epoch", "%s: epoch %llu comes after %llu", m->node,
				   (unsigned long long)n->plan.epoch,
				   (unsigned long long)seen->epoch);
	if (seen->plan && is_order(kind) && kind != PHX_EV_cancel)
		phx_fault_violated(f, "owner",
				   "%s: an order takes it out of the middle of another plan",
				   m->node);
	if (is_order(kind) || seen->awaited || may_begin_itself(f, seen, n))
		seen->granted = n->plan.epoch;
	seen->plan_since = f->now;
	f->ret->plans++;
}

static void check_disk(struct fault_sim *f, const struct fault_machine *m, const struct phx_node *n,
		       const struct phx_step *step)
{
	int n_same = 0;
	PHX_LIST_EACH(struct phx_disk_facts, d, &n->facts.disks)
		n_same += !strcmp(d->id, step->disk);
	if (n_same > 1)
		phx_fault_violated(f, "disk",
				   "%s: step %s is ordered for %s, and %d disks call themselves so",
				   m->node, phx_enum_name(&phx_step_kind_names, step->kind),
				   step->disk, n_same);
}

static void check_grant(struct fault_sim *f, struct fault_machine *m, const struct phx_node *n)
{
	struct fault_seen *seen = &m->seen;
	const struct phx_step *step = step_of(n);
	if (!step || step->status != PHX_STEP_ISSUED || step->id == seen->step_id)
		return;
	if (step->kind == PHX_STEP_wipe || step->kind == PHX_STEP_image)
		check_disk(f, m, n, step);
	if (step->kind != PHX_STEP_wipe && step->kind != PHX_STEP_image &&
	    step->kind != PHX_STEP_destroy_key)
		return;
	if (n->plan.epoch != seen->told_epoch)
		phx_fault_violated(
			f, "named",
			"%s: step %s of epoch %llu begins, and no event says who or what wants it",
			m->node, phx_enum_name(&phx_step_kind_names, step->kind),
			(unsigned long long)n->plan.epoch);
	if (n->plan.epoch != seen->granted)
		phx_fault_violated(f, "grant", "%s: step %s of epoch %llu, which nobody ordered",
				   m->node, phx_enum_name(&phx_step_kind_names, step->kind),
				   (unsigned long long)n->plan.epoch);
	if (step->kind != PHX_STEP_image)
		return;
	if (seen->image_epoch == n->plan.epoch && seen->image_step != step->id)
		phx_fault_violated(f, "once", "%s: one order installs it twice", m->node);
	seen->image_epoch = n->plan.epoch;
	seen->image_step = step->id;
}

/* ---- quarantine ---- */

/* A fault that stays: it stands, names itself wrongly, another names itself like it, or no image is
 * written beside the system of another disk. */
static bool stays_sick(const struct fault_sim *f, const struct fault_machine *m,
		       const struct phx_node *n)
{
	if (phx_fault_hides(m) || m->twins || m->hung || m->stage == STAGE_DEAD ||
	    strcmp(m->shown_uuid, m->uuid))
		return true;
	if (strstr(n->reason, "step image failed") && phx_fault_system_beside(m))
		return true;
	PHX_NODES_EACH(o, f->head.s)
		if (strcmp(o->name, m->node) && !strcmp(o->facts.uuid, m->shown_uuid))
			return true;
	return false;
}

static void check_quarantine(struct fault_sim *f, struct fault_machine *m, const struct phx_node *n,
			     int kind)
{
	struct fault_seen *seen = &m->seen;
	bool was = seen->state == PHX_NODE_QUARANTINED, is = n->state == PHX_NODE_QUARANTINED;
	if (was && !is && kind != PHX_EV_resume && !seen->awaited)
		phx_fault_violated(f, "quarantine", "%s leaves quarantine by event %s", m->node,
				   phx_enum_name(&phx_event_kind_names, kind));
	if (is && n->pool[0])
		phx_fault_violated(f, "quarantine", "%s is quarantined and counted in pool %s",
				   m->node, n->pool);
	if (was || !is)
		return;
	f->ret->quarantines++;
	int64_t since = seen->plan && seen->plan_since < f->now - CAUSE_MS ? seen->plan_since
									   : f->now - CAUSE_MS;
	/* the head's death explains what was under way then, not what comes half an hour later */
	int64_t since_head = (seen->plan ? seen->plan_since : f->now) - HEAD_CAUSE_MS;
	if (kind != PHX_EV_quarantine && seen->cause_at < since && f->head_cause_at < since_head &&
	    !stays_sick(f, m, n))
		phx_fault_violated(f, "cause",
				   "%s is quarantined, and nothing had happened to it: %s", m->node,
				   n->reason);
	seen->cleaning_failed = seen->state == PHX_NODE_CLEANING &&
		n->plan.steps.n < seen->n_steps && n->bmc.driver[0];
}

/* A machine does not change its UUID, but to the one that is proven to be its own; and no two have
 * the same. */
static void check_uuid(struct fault_sim *f, struct fault_machine *m, const struct phx_node *n,
		       const struct phx_event *ev)
{
	struct fault_seen *seen = &m->seen;
	if (ev->kind != PHX_EV_hello && ev->kind != PHX_EV_inventory)
		return;
	const char *uuid =
		ev->kind == PHX_EV_hello ? ev->hello.facts.uuid : ev->inventory.facts.uuid;
	bool changed = seen->uuid[0] && uuid[0] && strcmp(seen->uuid, uuid) &&
		strcmp(uuid, n->proven_uuid);
	if (changed && seen->state != PHX_NODE_QUARANTINED && n->state != PHX_NODE_QUARANTINED)
		phx_fault_violated(f, "identity",
				   "%s reports another UUID than before and stays %s", m->node,
				   phx_enum_name(&phx_node_state_names, n->state));
	PHX_STR_SET(seen->uuid, uuid);
	if (changed)
		phx_fault_cause(f, m);
	if (n->state != PHX_NODE_READY || seen->state != PHX_NODE_COMMISSIONING ||
	    !n->facts.uuid[0])
		return;
	PHX_NODES_EACH(o, f->head.s)
		if (o != n && o->state != PHX_NODE_NEW && o->state != PHX_NODE_QUARANTINED &&
		    !strcmp(o->proven_uuid, n->facts.uuid) && !strcmp(o->facts.uuid, n->facts.uuid))
			phx_fault_violated(f, "identity", "%s is let in with the UUID of %s",
					   m->node, o->name);
}

/* The key that a node is known by is one of this very machine. */
static void check_key(struct fault_sim *f, const struct fault_machine *m, const struct phx_node *n)
{
	if (!n->key_fp[0] || !phx_str_starts(n->key_fp, "key-"))
		return;
	if (strtoul(n->key_fp + 4, NULL, 10) != m->i)
		phx_fault_violated(f, "identity", "%s passes for another machine's: its key is %s",
				   m->node, n->key_fp);
}

/* Nor does it get another key without the token of a start of this very machine. */
static void check_token(struct fault_sim *f, const struct fault_machine *m,
			const struct phx_node *n, const struct phx_event *ev)
{
	const struct fault_seen *seen = &m->seen;
	if (!seen->key[0] || !strcmp(seen->key, n->key_fp) || ev->kind != PHX_EV_enrol)
		return;
	if (!ev->enrol.start || ev->enrol.start != m->start)
		phx_fault_violated(f, "token",
				   "%s gets another key, and shows the token of start %llu",
				   m->node, (unsigned long long)ev->enrol.start);
}

/* ---- one node ---- */

static void remember(struct fault_machine *m, const struct phx_node *n)
{
	struct fault_seen *seen = &m->seen;
	const struct phx_step *step = n ? step_of(n) : NULL;
	seen->state = n ? n->state : PHX_NODE_NEW;
	seen->plan = step;
	seen->epoch = n ? n->plan.epoch : 0;
	seen->step_id = step ? step->id : 0;
	seen->n_steps = n ? n->plan.steps.n : 0;
	seen->unread = n && n->key_unread;
	seen->awaited = n && n->awaited;
	PHX_STR_SET(seen->key, n ? n->key_fp : "");
	if (!n) /* forgotten; whoever comes next is new */
		seen->uuid[0] = '\0';
}

static void look_at(struct fault_sim *f, struct fault_machine *m, const struct phx_node *n,
		    const struct phx_event *ev)
{
	int kind = ev ? ev->kind : PHX_EV_COUNT_;
	int pool = phx_fault_pool_index(n->pool);
	f->ret->checks++;
	see_plan(f, m, n, kind);
	check_grant(f, m, n);
	if (ev && !strcmp(ev->node, m->node))
		check_uuid(f, m, n, ev);
	check_quarantine(f, m, n, kind);
	check_key(f, m, n);
	if (ev)
		check_token(f, m, n, ev);
	check_tenants(f, m, n, pool);
	check_one_pool(f, m, n, pool);
	check_deadlines(f, m, n);
	phx_fault_re_check(f, m, n);
	phx_fault_re_check_away(f, m, n,
				ev && !strcmp(ev->node, m->node) &&
					(is_order(kind) || kind == PHX_EV_quarantine));
	m->seen.told = false;
	/* from then on somebody wants it on */
	if (kind == PHX_EV_resume || (kind == PHX_EV_power && ev->order.op != PHX_POWER_STATUS))
		m->seen.cleaning_failed = false;
	remember(m, n);
}

static void look(struct fault_sim *f, const char *node, const struct phx_event *ev)
{
	struct fault_machine *m = phx_fault_machine(f, node);
	const struct phx_node *n = m ? phx_fault_node(f, m) : NULL;
	if (m && n)
		look_at(f, m, n, ev);
	else if (m)
		remember(m, NULL);
}

/* ---- everything ---- */

/* Each node is in one pool that exists, or in none. */
static void check_ledger(struct fault_sim *f)
{
	const struct phx_state *s = f->head.s;
	uint32_t count = 0, none = 0;
	PHX_LIST_EACH(struct phx_pool, p, &s->pools)
		PHX_NODES_EACH(n, s)
			count += n->pool[0] && !strcmp(n->pool, p->name);
	PHX_NODES_EACH(n, s)
		none += !n->pool[0];
	if (count + none != phx_nodes_count(s))
		phx_fault_violated(f, "ledger", "%u nodes in pools and %u in none are not %u",
				   count, none, phx_nodes_count(s));
}

static void look_at_all(struct fault_sim *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		look(f, f->m[i].node, NULL);
}

void phx_fault_check_all(struct fault_sim *f)
{
	struct phx_err why = {0};
	f->full_check_in = f->o.whole_every ? f->o.whole_every - 1 : FULL_EVERY;
	if (phx_state_check(f->head.s, &why) < 0)
		phx_fault_violated(f, "state", "%s", why.text);
	look_at_all(f);
	check_ledger(f);
	phx_fault_flows_check(f);
}

void phx_fault_check_reset(struct fault_sim *f)
{
	phx_fault_flows_reset(f);
	for (uint32_t i = 0; i < f->n; i++) {
		struct fault_machine *m = &f->m[i];
		const struct phx_node *n = phx_fault_node(f, m);
		remember(m, n);
		m->seen.granted = m->seen.told_epoch = m->seen.epoch;
		m->seen.told = false;
		phx_fault_re_adopt(m, n);
		if (m->seen.image_epoch > m->seen.epoch)
			m->seen.image_epoch = 0;
		PHX_STR_SET(m->seen.uuid, n ? n->facts.uuid : "");
	}
}

/* ---- around an event ---- */

/* What it says came of a step; nothing where it is no answer. */
static struct phx_event_answer answer_of(const struct phx_event *ev)
{
	bool answers = phx_event_payload((enum phx_event_kind)ev->kind) == PHX_PAYLOAD_answer;
	return answers ? ev->answer : (struct phx_event_answer){0};
}

void phx_fault_check_before(struct fault_sim *f, const struct phx_event *ev,
			    struct fault_before *ret)
{
	struct fault_machine *m = phx_fault_machine(f, ev->node);
	*ret = (struct fault_before){.seq = f->head.s->seq, .kind = ev->kind};
	const struct phx_event_answer p = answer_of(ev);
	ret->is_current =
		m && m->seen.plan && p.step_id == m->seen.step_id && p.epoch == m->seen.epoch;
}

static void note_event(struct fault_sim *f, const struct phx_event *ev, int r)
{
	struct fault_machine *m = phx_fault_machine(f, ev->node);
	bool orders = phx_event_payload((enum phx_event_kind)ev->kind) == PHX_PAYLOAD_order;
	const char *role = orders ? ev->order.role : "";
	const struct phx_event_answer p = answer_of(ev);
	if (f->notes_cap)
		phx_fault_note(f, m ? (int)m->i : -1,
			       "%s %s %s%s%s step %llu.%llu result %lld -> %d",
			       phx_enum_name(&phx_event_kind_names, ev->kind), ev->node, role,
			       role[0] ? " " : "", ev->text, (unsigned long long)p.epoch,
			       (unsigned long long)p.step_id, (long long)p.result, r);
}

/* An answer of the past is refused and changes nothing. */
static void check_stale(struct fault_sim *f, const struct phx_event *ev, int r,
			const struct fault_before *b)
{
	const struct phx_event_answer p = answer_of(ev);
	if (!p.step_id || b->is_current)
		return;
	bool answers = ev->kind == PHX_EV_step_result || ev->kind == PHX_EV_key_result;
	if (answers && (r == 0 || f->head.s->seq != b->seq))
		phx_fault_violated(
			f, "stale",
			"%s: the answer to step %llu of epoch %llu is of the past, and counts",
			ev->node, (unsigned long long)p.step_id, (unsigned long long)p.epoch);
}

/* "n1 is erased: WHY", and whoever reads it knows who or what wanted it. */
static void hear_why(struct fault_sim *f, const struct phx_outcome *out)
{
	static const char *const says[] = {" is erased: ", " is installed anew: "};
	PHX_LIST_EACH(struct phx_action, act, &out->actions) {
		struct fault_machine *m =
			act->kind == PHX_ACT_NOTE ? phx_fault_machine(f, act->node) : NULL;
		for (size_t i = 0; m && i < PHX_ARRAY_SIZE(says); i++) {
			const char *at = strstr(act->text, says[i]);
			m->seen.told = m->seen.told || (at && at[strlen(says[i])]);
		}
	}
}

static uint64_t least_read(const struct phx_action *act)
{
	return phx_readback_least(act->size_bytes, (enum phx_wipe_method)act->used,
				  (enum phx_verify)act->verify);
}

/* An erase without proof does not count. */
static void check_proof(struct fault_sim *f, const struct phx_event *ev,
			const struct phx_outcome *out)
{
	PHX_LIST_EACH(struct phx_action, act, &out->actions)
		if (act->kind == PHX_ACT_ERASED && ev->kind == PHX_EV_step_result &&
		    (ev->answer.verified_bytes < least_read(act) || !ev->answer.signer[0] ||
		     strcmp(ev->answer.erased_disk, act->disk) ||
		     ev->answer.setup.method != act->method))
			phx_fault_violated(f, "proof", "%s: an erase counts that was not proven",
					   ev->node);
}

void phx_fault_check_after(struct fault_sim *f, const struct phx_event *ev, int r,
			   const struct phx_outcome *out, const struct fault_before *b)
{
	note_event(f, ev, r);
	check_stale(f, ev, r, b);
	if (r < 0 && f->head.s->seq != b->seq)
		phx_fault_violated(f, "refused", "%s is refused and changes the state",
				   phx_enum_name(&phx_event_kind_names, ev->kind));
	if (r < 0)
		return;
	check_proof(f, ev, out);
	phx_fault_re_check_kept(f, ev);
	hear_why(f, out);
	look(f, ev->node[0] ? ev->node : out->node, ev);
	PHX_LIST_EACH(struct phx_action, act, &out->actions)
		if (act->node[0] && strcmp(act->node, ev->node))
			look(f, act->node, ev);
	/* a tick may be about any; and now and then everything, as the daemon does it at its
	 * start */
	if (ev->kind == PHX_EV_tick)
		look_at_all(f);
	phx_fault_flows_check(f);
	if (!f->full_check_in--)
		phx_fault_check_all(f);
}
