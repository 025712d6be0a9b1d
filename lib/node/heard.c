/* What the head hears of a node, and that it hears nothing: registrations, reports, silence, and
 * deadlines that pass. This file decides what these mean for the node's plan. The table of events
 * calls it. Pure. */
#include "node/internal.h"
#include "node/wipes.h"

#include <errno.h>
#include <string.h>

/* How long the head waits for a silent node before it tries the node's step another way: a machine
 * behind a busy network, or under load, is not a dead machine (faults.md 22). */
enum { SILENCE_GRACE_MS = 15000, SILENCES_MAX = 10, SILENCES_OF_ONE_WHO_GOES = 2 };
enum { HEALTH_TEXT_MAX = 160 }; /* with its end; a longer one, of an older journal, is not kept */

/* Somebody who is new reports the UUID of a known node: that can be read from the network, so only
 * older journals have both quarantined. */
static void tell_twin(struct phx_apply *a, const struct phx_node *n, struct phx_node *twin)
{
	if (a->s->settings.doubts_uuids)
		phx_note(a, twin,
			 "%s reports the system UUID of %s, and is quarantined: %s goes on",
			 n->name, twin->name, twin->name);
	else if (twin->state != PHX_NODE_QUARANTINED)
		phx_quarantine(a, twin, "another node reports the same system UUID");
}

/* Commissioning ends when the facts are sound. */
static void commission(struct phx_apply *a, struct phx_node *n)
{
	struct phx_err why = {0};
	if (n->state != PHX_NODE_COMMISSIONING)
		return;
	a->out->changed = true;
	if (phx_facts_unsound(a, n, &why)) {
		struct phx_node *twin = phx_facts_twin(a->s, n);
		if (twin)
			tell_twin(a, n, twin);
		phx_quarantine(a, n, why.text);
		return;
	}
	const struct phx_node *claimant = phx_facts_claimant(a->s, n);
	if (claimant)
		phx_note(a, n,
			 "%s reports the same system UUID as %s: nothing has proven whose it is",
			 n->name, claimant->name);
	phx_node_must_become(a, n, PHX_NODE_READY);
	PHX_STR_SET(n->pool, PHX_POOL_FREE);
	phx_auto_assign(a, n);
}

/* Does this registration end the step that waited for it? A machine that started by itself before
 * the BMC was done has not arrived: its power is still to be cut. */
static bool step_arrived(const struct phx_apply *a, const struct phx_node *n, struct phx_step *step,
			 bool new_boot)
{
	/* the BMC's answer may come late: by then the machine has turned up already, and has shown
	 * the token that is given only after its power was cut */
	bool showed = a->s->settings.tokens && step->started && step->turned_up &&
		!phx_start_wants_key(n);
	bool new_deploy = n->env == PHX_ENV_DEPLOY && (new_boot || showed);
	if (step->kind == PHX_STEP_boot && new_deploy && !step->started)
		step->turned_up = true;
	if (phx_step_starts(step->kind))
		return new_deploy && (step->kind != PHX_STEP_boot || step->started);
	return step->kind == PHX_STEP_enter && n->env == PHX_ENV_OS;
}

/* Advances a plan after a registration. */
static void plan_after_hello(struct phx_apply *a, struct phx_node *n, bool new_boot, bool new_env)
{
	struct phx_step *step = phx_node_step(n);
	if (!step)
		return;
	if (step->status == PHX_STEP_ISSUED && step_arrived(a, n, step, new_boot)) {
		phx_handover_done(a, n);
		return;
	}
	if (phx_step_info((enum phx_step_kind)step->kind)->executor == PHX_EXEC_AGENT &&
	    step->status == PHX_STEP_ISSUED && (new_boot || new_env)) {
		phx_handover_failed(a, n, "the node started again in the middle of the step");
		return;
	}
	if (step->status == PHX_STEP_PENDING &&
	    phx_step_info((enum phx_step_kind)step->kind)->executor == PHX_EXEC_AGENT) {
		step->deadline_ms = a->s->now_ms; /* the step waited for the node */
		if (new_boot && step->nonce)
			phx_step_renew(a, step);
		a->out->changed = true;
	}
	phx_handover_advance(a, n);
}

static void note_system(struct phx_apply *a, struct phx_node *n, const struct phx_event_hello *p)
{
	if (phx_known_take(a, n))
		a->out->changed = true;
	PHX_STR_SET(n->actual_role, p->actual_role);
	PHX_STR_SET(n->actual_identity, p->actual_identity);
	if (strcmp(n->system_digest, p->system_digest))
		n->system_version[0] = n->system_kernel[0] = '\0';
	PHX_STR_SET(n->system_image, p->system_image);
	PHX_STR_SET(n->system_digest, p->system_digest);
	if (!p->system_digest[0])
		n->system_disk[0] = '\0';
	n->healthy = p->healthy;
	/* a role that was not stopped is started by the answer to a registration */
	n->unserved = n->unserved && a->s->settings.serves_late && !p->actual_role[0];
}

/* Does the node run a role other than its own? Then it was started without us, from a disk with an
 * older system. */
static bool came_as_another(const struct phx_node *n, bool new_boot)
{
	return new_boot && n->env == PHX_ENV_OS && n->state == PHX_NODE_ACTIVE &&
		!phx_node_step(n) && !n->unserved && strcmp(n->actual_role, n->role) != 0;
}

/* Does the registration change anything? An agent that lost the answer registers again. */
static bool tells_news(const struct phx_node *n, const struct phx_event_hello *p)
{
	return !n->up || n->inspect || n->echoes != p->echoes || n->rekeys != p->rekeys ||
		n->scratches != p->scratches || n->protects != p->protects ||
		n->kernels != p->kernels || n->layouts != p->layouts || n->shares != p->shares ||
		n->checker != p->checker || n->power != PHX_POWER_IS_ON || n->env != p->env ||
		n->healthy != p->healthy || strcmp(n->boot_id, p->boot_id) ||
		strcmp(phx_text(n->kernel_word), p->kernel_word) ||
		strcmp(n->address, p->address) || strcmp(n->actual_role, p->actual_role) ||
		strcmp(n->actual_identity, p->actual_identity) ||
		strcmp(n->system_image, p->system_image) ||
		strcmp(n->system_digest, p->system_digest) ||
		(n->system_disk[0] && !p->system_digest[0]) ||
		!phx_record_equal(&phx_facts_record, &n->facts, &p->facts);
}

/* Is it still where it was told to leave for the start? It registers anew to get that order. */
static bool has_not_left(const struct phx_node *n, const struct phx_event_hello *p)
{
	const struct phx_step *step = phx_node_step(n);
	return step && phx_step_leaves(step->kind) && n->env == PHX_ENV_DEPLOY &&
		!strcmp(n->boot_id, p->boot_id);
}

static int check_hello(struct phx_apply *a, const struct phx_node *n,
		       const struct phx_event_hello *p)
{
	if (!p->boot_id[0] || p->env == PHX_ENV_NONE)
		return phx_err_set(a->err, -EINVAL, "hello: boot_id and env must be given");
	if (n->state == PHX_NODE_NEW)
		return phx_err_set(a->err, -EPERM, "%s is not accepted", n->name);
	if (p->env == PHX_ENV_DEPLOY && phx_start_wants_key(n) && !has_not_left(n, p))
		return phx_err_set(
			a->err, -EACCES,
			"%s was started to come with a new key: enrol with the token of "
			"that start (an older deploy image knows of none: build it anew)",
			n->name);
	return phx_facts_bounds(&p->facts, a->err);
}

static void is_up(struct phx_apply *a, struct phx_node *n)
{
	n->up = true;
	n->missing_since_ms = 0;
	n->power = PHX_POWER_IS_ON;
	phx_lost_over(a, n);
	phx_fence_over(a, n);
	phx_line_look(a, n);
}

/* The node is in its system after a restart. If its plan waits for its health, its services are
 * started again first. */
static void restarted(struct phx_apply *a, struct phx_node *n)
{
	struct phx_step *step = phx_node_step(n);
	uint32_t at = n->plan.cursor;
	if (step && step->kind == PHX_STEP_enter)
		at++;
	if (!step || at >= n->plan.steps.n ||
	    PHX_LIST_AT(&n->plan.steps, struct phx_step, at)->kind != PHX_STEP_health)
		return;
	if (at == n->plan.cursor) { /* the head asks again as soon as the services are started */
		step->status = PHX_STEP_PENDING;
		if (!phx_of_before(a->s))
			step->deadline_ms = a->s->now_ms;
	}
	bool former = PHX_LIST_AT(&n->plan.steps, struct phx_step, at)->former;
	if ((step = phx_steps_insert(a, n, at, PHX_STEP_start)))
		step->former = former;
}

int phx_apply_hello(struct phx_apply *a, const struct phx_event_hello *p)
{
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r < 0)
		return r;
	r = check_hello(a, n, p);
	if (r < 0)
		return r;
	a->out->changed = tells_news(n, p);
	bool another = phx_facts_of_another(n, &p->facts);
	r = phx_facts_take(a, n, &p->facts);
	if (r < 0)
		return r;
	bool new_boot = strcmp(n->boot_id, p->boot_id) != 0;
	bool new_env = n->env != p->env;
	if (new_boot)
		phx_jobs_lost(a, n, 255);
	else
		phx_jobs_heard(a, n);
	if (!n->up || new_boot)
		n->up_since_ms = a->s->now_ms;
	is_up(a, n);
	phx_quiet_over(n);
	n->inspect = false; /* a registration brings the facts along */
	n->env = p->env;
	PHX_STR_SET(n->boot_id, p->boot_id);
	phx_put_text(a, &n->kernel_word, "%s", p->kernel_word);
	PHX_STR_SET(n->address, p->address);
	PHX_MEMBERS_COPY(PHX_TOLD_SKILLS_FIELDS, n, p);
	if (new_boot && !a->s->settings.tokens)
		n->window = false; /* the start that the window was opened for is over */
	phx_start_registered(n, new_boot);
	if (!another)
		phx_facts_prove(a, n);
	note_system(a, n, p);
	if (new_boot)
		phx_ram_system_reset(a, n);
	if (another || came_as_another(n, new_boot)) {
		phx_quarantine(
			a, n,
			another ? "it reports another system UUID than before: is this another "
				  "machine?"
				: "it came back with another system than the one it serves by");
		return 0;
	}
	if (n->env == PHX_ENV_OS && (new_boot || new_env))
		restarted(a, n);
	/* first the step that the restart interrupted, then new steps */
	plan_after_hello(a, n, new_boot, new_env);
	commission(a, n);
	phx_resume_awaited(a, n);
	phx_restore_system(a, n);
	phx_read_back(a, n);
	if (new_boot || new_env)
		phx_start_arrived(a, n);
	return phx_resume_unserved(a, n);
}

int phx_apply_missing(struct phx_apply *a, const struct phx_event_none *p)
{
	(void)p;
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r < 0 || !n->up)
		return r;
	n->up = false;
	phx_quiet_over(n);
	phx_lost_missing(a, n);
	n->missing_since_ms = a->s->now_ms;
	a->out->changed = true;
	phx_jobs_silent(a, n);
	struct phx_step *step = phx_node_step(n);
	if (step && step->status == PHX_STEP_ISSUED) {
		const struct phx_step_info *info = info_of(step);
		bool leaves = phx_step_leaves(step->kind);
		/* an owner who does not want to leave could have the node come and go for ever */
		bool goes = info->on_fail == PHX_ON_FAIL_CUT && phx_cut_follows(a->s, n);
		uint32_t most = goes ? SILENCES_OF_ONE_WHO_GOES : SILENCES_MAX;
		if (info->executor == PHX_EXEC_AGENT && !leaves && step->silences < most) {
			step->status = PHX_STEP_PENDING;
			step->deadline_ms = a->s->now_ms + SILENCE_GRACE_MS;
			step->silences++;
		} else if (info->executor == PHX_EXEC_AGENT && !leaves) {
			step->silences = 0; /* too many: each silence is a failed attempt now */
			phx_handover_failed(a, n, "the node comes and goes");
		}
	}
	/* if the node is seen off, its jobs need not wait for their heartbeat timeout */
	if ((step || n->jobs_running) && phx_node_has_bmc(n))
		phx_act_power(a, n, PHX_POWER_STATUS);
	return 0;
}

void phx_quiet_over(struct phx_node *n)
{
	n->quiet = false;
	n->rests_until_ms = 0;
}

/* A node is quiet. The head may have been slow to listen, so connections to the node go on for a
 * while. */
int phx_apply_quiet(struct phx_apply *a, const struct phx_event_none *p)
{
	(void)p;
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r < 0 || !n->up || n->quiet || !phx_node_is_balanced(a->s, n))
		return r;
	n->quiet = a->out->changed = true;
	n->rests_until_ms =
		a->s->settings.balance_rest_ms ? a->s->now_ms + a->s->settings.balance_rest_ms : 0;
	return 0;
}

/* Ends the grace of a quiet node: from now on the balancers take it out. */
static void end_rest(struct phx_apply *a, struct phx_node *n)
{
	if (!n->rests_until_ms || n->rests_until_ms > a->s->now_ms)
		return;
	n->rests_until_ms = 0;
	a->out->changed = true;
}

int phx_apply_back(struct phx_apply *a, const struct phx_event_none *p)
{
	(void)p;
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r < 0)
		return r;
	a->out->changed = n->quiet;
	phx_quiet_over(n);
	if (n->up)
		return 0;
	is_up(a, n);
	a->out->changed = true;
	phx_jobs_heard(a, n);
	struct phx_step *step = phx_node_step(n);
	/* the node is heard after the BMC was done: this is the ordered start */
	if (step && step->status == PHX_STEP_ISSUED && step->started && step->turned_up &&
	    n->env == PHX_ENV_DEPLOY && !phx_start_wants_key(n)) {
		phx_handover_done(a, n);
		phx_read_back(a, n);
		return 0;
	}
	/* the order goes out again under the same id: the agent does it once */
	if (step && step->status == PHX_STEP_PENDING)
		step->deadline_ms = a->s->now_ms;
	phx_handover_advance(a, n);
	phx_read_back(a, n);
	return phx_resume_unserved(a, n);
}

int phx_apply_report(struct phx_apply *a, const struct phx_event_report *p)
{
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r < 0)
		return r;
	a->out->changed = strcmp(n->actual_role, p->actual_role) ||
		strcmp(n->actual_identity, p->actual_identity) || n->healthy != p->healthy ||
		strcmp(phx_text(n->health_text), a->ev->text) || (p->ca[0] && strcmp(n->ca, p->ca));
	PHX_STR_SET(n->actual_role, p->actual_role);
	PHX_STR_SET(n->actual_identity, p->actual_identity);
	if (strlen(a->ev->text) < HEALTH_TEXT_MAX)
		phx_put_text(a, &n->health_text, "%s", a->ev->text);
	n->healthy = p->healthy;
	if (p->ca[0])
		PHX_STR_SET(n->ca, p->ca);
	return 0;
}

int phx_apply_inventory(struct phx_apply *a, const struct phx_event_inventory *p)
{
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	r = r ? r : phx_facts_check(&p->facts, a->err);
	if (r < 0)
		return r;
	a->out->changed = n->inspect || !phx_record_equal(&phx_facts_record, &n->facts, &p->facts);
	bool another = phx_facts_of_another(n, &p->facts);
	r = phx_facts_take(a, n, &p->facts);
	if (r == 0)
		n->inspect = false;
	if (r == 0 && !another)
		phx_facts_prove(a, n);
	if (r == 0 && phx_known_take(a, n))
		a->out->changed = true;
	if (r == 0 && another)
		phx_quarantine(
			a, n,
			"it reports another system UUID than before: is this another machine?");
	return r;
}

/* Asks a node for its facts. The order stands until the agent has answered. */
int phx_apply_inspect(struct phx_apply *a, const struct phx_event_none *p)
{
	(void)p;
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r < 0)
		return r;
	if (!n->up)
		return phx_err_set(a->err, -EHOSTUNREACH,
				   "%s is not up: it reports its facts when it boots", n->name);
	if (n->inspect)
		return 0;
	n->inspect = true;
	a->out->changed = true;
	phx_act(a, PHX_ACT_ORDER, n);
	return 0;
}

/* ---- time ---- */

static void close_window(struct phx_apply *a, struct phx_node *n)
{
	if (!n->window || n->window_until_ms > a->s->now_ms)
		return;
	bool came = n->up && a->s->settings.tokens;
	phx_start_close(n);
	n->awaited = false;
	a->out->changed = true;
	if (!came)
		phx_note(a, n,
			 "%s has not come back for a new certificate: that is no longer possible",
			 n->name);
}

void phx_node_tick(struct phx_apply *a, struct phx_node *n)
{
	phx_touch(a->s, n);
	close_window(a, n);
	end_rest(a, n);
	phx_away_tick(a, n);
	phx_lost_tick(a, n);
	if (n->off_wanted && n->off_again_ms <= a->s->now_ms) {
		phx_power_off(a, n);
		a->out->changed = true;
	}
	phx_soft_tick(a, n);
	phx_maintenance_tick(a, n);
	struct phx_step *step = phx_node_step(n);
	if (!step || step->deadline_ms > a->s->now_ms)
		return;
	if (step->status == PHX_STEP_ISSUED &&
	    phx_step_info((enum phx_step_kind)step->kind)->executor == PHX_EXEC_DIRECTOR) {
		phx_note(a, n,
			 "%s: no director has confirmed step %s in its time: it goes on without",
			 n->name, phx_step_info((enum phx_step_kind)step->kind)->name);
		phx_handover_done(a, n);
	} else if (step->status == PHX_STEP_ISSUED)
		phx_handover_failed(a, n,
				    phx_start_wants_key(n)
					    ? "it has not come with the token of this start before "
					      "the deadline"
					    : "no answer before the deadline");
	else
		phx_handover_advance(a, n);
	a->out->changed = true;
}
