/* An administrator cancels a hand-over that is under way, as far as that is still possible:
 *
 *   nothing was touched yet ───────────────────▶ the plan is dropped, all is as it was
 *   its work was drained ──────────────────────▶ its services are started again
 *   its services stopped, its packages removed ▶ and unpacked before that
 *   its system was left (kexec, boot) ─────────▶ and entered before that
 *   a key, disk or scratch was erased, an image written,
 *   a system entered for another role, its
 *   packages activated ────────────────────────▶ refused: it goes on to its end
 *
 * In all cases but the last, the node keeps its role, pool and data. Called by the table of events.
 * Pure. */
#include "node/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct phx_step *step_at(const struct phx_plan *p, uint32_t i)
{
	return PHX_LIST_AT(&p->steps, struct phx_step, i);
}

static bool begun(const struct phx_plan *p, uint32_t i)
{
	return i < p->cursor || step_at(p, i)->attempt;
}

/* The last begun step of one of `kinds` (ended by COUNT_); NULL: none. */
static const struct phx_step *last_begun(const struct phx_plan *p, const enum phx_step_kind *kinds)
{
	const struct phx_step *last = NULL;
	for (uint32_t i = 0; i < p->steps.n && begun(p, i); i++)
		for (const enum phx_step_kind *k = kinds; *k != PHX_STEP_COUNT_; k++)
			if (step_at(p, i)->kind == (int)*k)
				last = step_at(p, i);
	return last;
}

static bool has_begun(const struct phx_plan *p, enum phx_step_kind kind)
{
	const enum phx_step_kind kinds[] = {kind, PHX_STEP_COUNT_};
	return last_begun(p, kinds) != NULL;
}

/* The last begun step that cannot be taken back; NULL: none. */
static const struct phx_step *point_of_no_return(const struct phx_plan *p)
{
	static const enum phx_step_kind kinds[] = {
		PHX_STEP_destroy_key, PHX_STEP_wipe,  PHX_STEP_make_key, PHX_STEP_image,
		PHX_STEP_ram,         PHX_STEP_enter, PHX_STEP_activate, PHX_STEP_COUNT_};
	static const enum phx_step_kind early[] = {PHX_STEP_scratch, PHX_STEP_layout,
						   PHX_STEP_COUNT_};
	const struct phx_step *last = last_begun(p, kinds);
	return last ? last : last_begun(p, early);
}

/* Is the plan the way back from another one? So is a plan that began in the middle of another; if
 * its request is a drain it leads back to maintenance. */
static bool is_way_back(const struct phx_plan *p)
{
	return p->request == PHX_REQUEST_resume || p->request == PHX_REQUEST_cancel ||
		phx_node_state_transient((enum phx_node_state)p->from_state);
}

static int check(struct phx_apply *a, const struct phx_node *n)
{
	const struct phx_plan *p = &n->plan;
	const struct phx_step *done = point_of_no_return(p);
	const struct phx_re *full =
		p->from_state == PHX_NODE_ACTIVE ? phx_holding_full(a, n) : NULL;
	if (is_way_back(p))
		return phx_err_set(a->err, -EPERM,
				   "%s is being brought back: nothing of that can be cancelled; "
				   "drain or quarantine it",
				   n->name);
	if (n->allocation == PHX_ALLOCATION_COMING)
		return phx_err_set(a->err, -EPERM,
				   "%s goes to %s by the policy of an RE, which would send it "
				   "again: pin it, or suspend the RE",
				   n->name, p->to_pool);
	if (phx_node_is_given_up(a->s, n) && p->from_state != PHX_NODE_MAINTENANCE)
		return phx_err_set(a->err, -EPERM, "%s would be released again at once: %s",
				   n->name, phx_text(n->gave_up));
	if (full && !done)
		return phx_err_set(a->err, -EPERM,
				   "%s: RE %s has others in its place: in service again it would "
				   "be %s; %s goes on to its end",
				   n->name, full->name, phx_release_words(a->s, n),
				   phx_request_name(p));
	if (done)
		return phx_err_set(a->err, -EPERM,
				   "%s: %s is past step %s, which cannot be taken back: it goes on "
				   "to its end, or into quarantine",
				   n->name, phx_request_name(p),
				   phx_step_info((enum phx_step_kind)done->kind)->name);
	return 0;
}

/* Is the node still as it was? At most, packages were fetched and balancers were told. */
static bool untouched(const struct phx_plan *p)
{
	static const enum phx_step_kind kinds[] = {PHX_STEP_drain, PHX_STEP_stop, PHX_STEP_leave,
						   PHX_STEP_kexec, PHX_STEP_boot, PHX_STEP_COUNT_};
	return !last_begun(p, kinds);
}

/* ---- the way back ---- */

struct way {
	enum phx_step_kind kinds[8];
	uint32_t n;
};

static void add(struct way *w, enum phx_step_kind kind)
{
	w->kinds[w->n++] = kind;
}

/* The steps after which the node serves its old role again. */
static struct way way_back(const struct phx_node *n)
{
	bool left = has_begun(&n->plan, PHX_STEP_kexec) || has_begun(&n->plan, PHX_STEP_boot);
	bool in_memory = !n->system_disk[0];
	struct way w = {.n = 0};
	if (!n->role[0])
		return w;
	if (left && in_memory)
		add(&w, PHX_STEP_ram);
	if (left)
		add(&w, PHX_STEP_enter);
	if (has_begun(&n->plan, PHX_STEP_stop) || left)
		add(&w, PHX_STEP_activate); /* unpacks only packages that were removed */
	add(&w, PHX_STEP_start);
	add(&w, PHX_STEP_health);
	add(&w, PHX_STEP_join);
	return w;
}

static int add_steps(struct phx_apply *a, struct phx_plan *plan, const struct way *w,
		     const char *role)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < w->n; i++) {
		r = phx_steps_add(a, plan, w->kinds[i], role);
		plan->expected_ms += phx_step_info(w->kinds[i])->expected_ms;
	}
	return r;
}

/* Begins a new plan, so that answers to the step under way are stale. If the new plan's first step
 * needs the deploy environment, a node on its way there arrives by itself, or is brought there by a
 * repair. */
static int go_back(struct phx_apply *a, struct phx_node *n)
{
	struct phx_plan plan = {.tier = n->plan.tier};
	struct way w = way_back(n);
	bool rests = n->plan.from_state == PHX_NODE_MAINTENANCE;
	PHX_STR_SET(plan.to_role, n->role);
	PHX_STR_SET(plan.to_pool, n->role[0] ? n->pool : PHX_POOL_FREE);
	PHX_STR_SET(plan.from_pool, n->pool);
	PHX_STR_SET(plan.by, a->ev->by);
	snprintf(plan.reason, sizeof(plan.reason), "%s was cancelled", phx_request_name(&n->plan));
	if (add_steps(a, &plan, &w, n->role) < 0) {
		phx_record_fini(&phx_plan_record, &plan);
		return -ENOMEM;
	}
	int r = phx_handover_begin(a, n, &plan, rests ? PHX_REQUEST_drain : PHX_REQUEST_cancel);
	if (rests)
		PHX_STR_SET(n->reason, "its hand-over was cancelled");
	return r;
}

int phx_apply_cancel(struct phx_apply *a, const struct phx_event_none *p)
{
	(void)p;
	char why[128];
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r == 0 && !n->line_waits && phx_node_step(n))
		r = check(a, n); /* what is refused stays in its line, too */
	if (r < 0 || phx_line_leave(a, n) || !phx_node_step(n))
		return r;
	phx_note(a, n, "%s: %s is cancelled at step %s", n->name, phx_request_name(&n->plan),
		 phx_step_info((enum phx_step_kind)phx_node_step(n)->kind)->name);
	if (!untouched(&n->plan))
		return go_back(a, n);
	bool rests = n->plan.from_state == PHX_NODE_MAINTENANCE;
	snprintf(why, sizeof(why), "cancelled by %s", a->ev->by[0] ? a->ev->by : "phxd");
	phx_handover_abort(a, n, why);
	if (!rests)
		n->reason[0] = '\0'; /* nothing is wrong with the node */
	return 0;
}
