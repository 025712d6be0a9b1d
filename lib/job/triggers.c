/* Triggers: create, pause, resume, delete, fire; and the runs of workflows that they begin, as if
 * the owner had submitted each at that moment: he must still be a member of the RE, and have room.
 * A firing and the run that it begins are one event, so that no crash can separate them.
 * flow/trigger.h has what concerns one trigger alone. Called by the table of events and the
 * dispatcher. Pure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "job/internal.h"

enum {
	TRIGGERS_MAX = 1000,
	WATCHED_MAX = 100,               /* triggers of kind file: each has a watcher process */
	WATCHED_SHARE = WATCHED_MAX / 4, /* of one user, who must not take all */
	QUEUES_MAX = 100000,             /* waiting firings of all triggers of a user */
	AGAIN_MS = 10000,
	AGAIN_MAX_MS = 600000,
	WHAT_MAX = 512,
};

/* ---- making one ---- */

/* The submission of a run of the trigger; borrows the lists of `f`. */
static struct phx_event_workflow_submit submission(const struct phx_trigger *t,
						   const struct phx_trigger_flow *f)
{
	struct phx_event_workflow_submit p = {.n_tasks = f->n_tasks,
					      .shape = f->shape,
					      .must_be_member = t->must_be_member,
					      .uid = t->uid,
					      .gid = t->gid};
	PHX_STR_SET(p.name, t->workflow);
	PHX_STR_SET(p.digest, f->digest);
	PHX_STR_SET(p.group, t->group);
	PHX_STR_SET(p.identity, t->owner);
	PHX_STR_SET(p.user, t->user);
	return p;
}

static int check_words(struct phx_apply *a, const struct phx_event_trigger_create *p)
{
	struct phx_trigger_spec spec = {.when = p->when,
					.existing = p->existing,
					.when_busy = p->when_busy,
					.queue_max = p->queue_max,
					.at_once = p->at_once};
	enum phx_trigger_kind kind;
	PHX_STR_SET(spec.name, p->name);
	int r = phx_trigger_spec_check(&spec, &kind, a->err);
	if (r < 0)
		return r;
	if ((int)kind != p->trigger_kind)
		return phx_err_set(a->err, -EINVAL, "kind: it is of kind %s",
				   phx_enum_name(&phx_trigger_kind_names, (int)kind));
	if (kind == PHX_TRIGGER_HTTP && !phx_is_sha256(p->token_sha256))
		return phx_err_set(a->err, -EINVAL, "token_sha256: must be a SHA-256");
	return phx_state_trigger_named(a->s, p->name)
		? phx_err_set(a->err, -EEXIST,
			      "a trigger is called '%s' already: choose another name", p->name)
		: 0;
}

static int check_flow(struct phx_apply *a, const struct phx_trigger_flow *f)
{
	struct phx_flow flow = {0};
	if (!phx_is_sha256(f->digest))
		return phx_err_set(a->err, -EINVAL, "digest: must be a SHA-256");
	int r = phx_flow_shape_read(&f->shape, f->n_tasks, &flow, a->err);
	r = r ? r : phx_flowrun_check_fit(a, a->ev->re, &flow);
	phx_flow_fini(&flow);
	return r;
}

static int check_room(struct phx_apply *a, const struct phx_event_trigger_create *p)
{
	uint32_t n_own = 0, n_watched = 0, n_own_watched = 0,
		 n_queue = p->when_busy == PHX_TRIGGER_QUEUE ? p->queue_max : 0,
		 max = a->s->settings.triggers_per_user;
	PHX_LIST_EACH(struct phx_trigger, t, &a->s->triggers) {
		n_watched += t->kind == PHX_TRIGGER_FILE;
		if (t->uid != p->uid)
			continue;
		n_own++;
		n_own_watched += t->kind == PHX_TRIGGER_FILE;
		n_queue += t->when_busy == PHX_TRIGGER_QUEUE ? t->queue_max : 0;
	}
	if (max && n_own >= max)
		return phx_err_set(a->err, -EDQUOT,
				   "user %s has %u triggers, as many as one may have "
				   "(triggers_per_user): delete one first",
				   p->user, n_own);
	if (n_queue > QUEUES_MAX)
		return phx_err_set(a->err, -EDQUOT,
				   "queue_max: the queues of user %s would have room for %u "
				   "firings, and %d is what one user may have",
				   p->user, n_queue, QUEUES_MAX);
	if (p->trigger_kind == PHX_TRIGGER_FILE && a->s->settings.shares_triggers &&
	    n_own_watched >= WATCHED_SHARE)
		return phx_err_set(a->err, -EDQUOT,
				   "user %s has %u triggers that wait for files, and %d of %d is "
				   "what one user may have: delete one first",
				   p->user, n_own_watched, WATCHED_SHARE, WATCHED_MAX);
	if (p->trigger_kind == PHX_TRIGGER_FILE && n_watched >= WATCHED_MAX)
		return phx_err_set(a->err, -EAGAIN, "%d triggers wait for files: no more are taken",
				   WATCHED_MAX);
	if (a->s->triggers.n >= TRIGGERS_MAX)
		return phx_err_set(a->err, -EAGAIN, "there are %d triggers: no more are taken",
				   TRIGGERS_MAX);
	return 0;
}

/* Borrows the lists of `p`. */
static struct phx_trigger trigger_of(const struct phx_event_trigger_create *p)
{
	struct phx_trigger t = {.kind = p->trigger_kind,
				.uid = p->uid,
				.gid = p->gid,
				.must_be_member = p->must_be_member,
				.when = p->when,
				.existing = p->existing,
				.when_busy = p->when_busy,
				.queue_max = p->queue_max,
				.at_once = p->at_once,
				.flow = p->flow,
				.look = p->look};
	PHX_STR_SET(t.name, p->name);
	PHX_STR_SET(t.owner, p->owner);
	PHX_STR_SET(t.user, p->user);
	PHX_STR_SET(t.group, p->group);
	PHX_STR_SET(t.workflow, p->workflow);
	PHX_STR_SET(t.token_sha256, p->token_sha256);
	return t;
}

static int check_create(struct phx_apply *a, const struct phx_event_trigger_create *p,
			const struct phx_re **ret)
{
	const struct phx_trigger t = trigger_of(p);
	const struct phx_event_workflow_submit s = submission(&t, &p->flow);
	int r = phx_flowrun_may(a, a->ev->re, &s, ret);
	if (r == 0 && (*ret)->state == PHX_RE_STATE_NONE)
		return phx_err_set(a->err, -EBUSY, "RE '%s' is only asked for", (*ret)->name);
	r = r ? r : check_words(a, p);
	r = r ? r : check_flow(a, &p->flow);
	r = r || p->trigger_kind != PHX_TRIGGER_COMMAND ? r : check_flow(a, &p->look);
	return r ? r : check_room(a, p);
}

int phx_apply_trigger_create(struct phx_apply *a, const struct phx_event_trigger_create *p)
{
	const struct phx_re *re;
	struct phx_trigger from = trigger_of(p), copy;
	int r = phx_stick(a, check_create(a, p, &re));
	if (r < 0)
		return r;
	from.id = a->s->last_trigger_id + 1;
	PHX_STR_SET(from.re, re->name);
	from.whole = p->trigger_kind == PHX_TRIGGER_FILE &&
		phx_agreement_is_of_user(&re->agreement, p->user);
	from.created_ms = a->s->now_ms;
	from.next_ms = p->when.every_ms ? a->s->now_ms + p->when.every_ms : 0;
	r = phx_stick(a, phx_record_copy(&phx_trigger_record, &copy, &from));
	struct phx_trigger *t = r == 0 ? phx_grow(a, &a->s->triggers, sizeof(*t)) : NULL;
	if (!t) {
		if (r == 0)
			phx_record_fini(&phx_trigger_record, &copy);
		return -ENOMEM;
	}
	*t = copy;
	phx_timed_set(a->s, PHX_TIMED_TRIGGER, t);
	a->out->trigger = ++a->s->last_trigger_id;
	a->out->changed = true;
	phx_note_re(a, NULL, t->re, NULL, "trigger %s of RE %s is made by %s", t->name, t->re,
		    a->ev->by);
	return 0;
}

/* ---- runs ---- */

/* When to try again: after as long as the first firing has waited already, within bounds. */
static int64_t again_of(const struct phx_apply *a, const struct phx_trigger *t)
{
	const struct phx_trigger_cause *c = phx_trigger_n_waiting(t)
		? PHX_LIST_AT(&t->waiting, struct phx_trigger_cause, t->n_taken)
		: NULL;
	int64_t waited = c ? a->s->now_ms - c->at_ms : 0;
	return a->s->now_ms +
		(waited < AGAIN_MS               ? AGAIN_MS
			 : waited > AGAIN_MAX_MS ? AGAIN_MAX_MS
						 : waited);
}

/* An error that cannot go away by itself stops the trigger; after others it is tried again. */
static void refused(struct phx_apply *a, struct phx_trigger *t, int r, const char *why)
{
	bool for_good = r == -ENOENT || r == -EPERM || r == -EINVAL || r == -E2BIG;
	phx_put_text(a, &t->why, "%s", why);
	t->again_ms = again_of(a, t);
	if (!for_good || !phx_trigger_may((enum phx_trigger_state)t->state, PHX_TRIGGER_STOPPED))
		return;
	t->state = PHX_TRIGGER_STOPPED;
	phx_note_re(a, NULL, t->re, NULL, "trigger %s of RE %s is stopped: %s", t->name, t->re,
		    why);
}

/* Returns the number of the run; 0: it could not begin, and t->why says why. */
static uint64_t begin_run(struct phx_apply *a, struct phx_trigger *t,
			  const struct phx_trigger_flow *f, const struct phx_flowrun_cause *c)
{
	const struct phx_event_workflow_submit p = submission(t, f);
	const struct phx_re *re;
	struct phx_err why = {0}, *err = a->err;
	a->err = &why;
	int r = phx_flowrun_may(a, t->re, &p, &re);
	r = r ? r : phx_submit_re_runs(a, re);
	r = r ? r : phx_flowrun_begin(a, re->name, &p, c);
	a->err = err;
	if (r < 0 && r != -ENOMEM)
		refused(a, t, r, why.text);
	return r < 0 ? 0 : a->out->workflow;
}

static uint64_t begin_for(struct phx_apply *a, struct phx_trigger *t,
			  const struct phx_trigger_cause *cause)
{
	struct phx_list vars = {0};
	int r = phx_stick(a, phx_trigger_vars(t, cause, &vars));
	const struct phx_flowrun_cause c = {.trigger = t->id, .vars = &vars};
	uint64_t run = r == 0 ? begin_run(a, t, &t->flow, &c) : 0;
	for (uint32_t i = 0; i < vars.n; i++)
		free(PHX_LIST_AT(&vars, struct phx_text, i)->text);
	phx_list_fini(&vars);
	return run;
}

/* Begins as many of the waiting runs as may begin. */
static void begin_waiting(struct phx_apply *a, struct phx_trigger *t)
{
	const struct phx_trigger_cause *c;
	while ((c = phx_trigger_next(t, a->s->now_ms))) {
		uint64_t run = begin_for(a, t, c);
		a->out->changed = true;
		if (!run)
			return;
		phx_trigger_begun(t, run);
	}
}

static int fire(struct phx_apply *a, struct phx_trigger *t, char *what, const char *digest)
{
	struct phx_trigger_cause c = {.at_ms = a->s->now_ms, .what = what};
	PHX_STR_SET(c.digest, digest);
	int r = phx_trigger_fire(t, &c);
	if (r < 0)
		return phx_stick(a, r);
	a->out->changed = true;
	begin_waiting(a, t);
	phx_timed_set(a->s, PHX_TIMED_TRIGGER, t);
	return 0;
}

/* ---- time ---- */

static void forget_run(struct phx_apply *a, struct phx_trigger *t)
{
	struct phx_list *all = &a->s->workflows;
	struct phx_flowrun *w = phx_state_flowrun(a->s, t->forget_run);
	t->forget_run = 0;
	a->out->changed = true;
	if (!w || phx_flowrun_is_open(w))
		return;
	phx_record_fini(&phx_flowrun_record, w);
	phx_list_remove(all, sizeof(*w), (uint32_t)(w - PHX_LIST_AT(all, struct phx_flowrun, 0)));
}

/* Runs the trigger's command, unless its last run has not ended yet. */
static void begin_look(struct phx_apply *a, struct phx_trigger *t)
{
	const struct phx_flowrun_cause c = {.trigger = t->id, .looks = true};
	if (t->look_run)
		return;
	t->look_run = begin_run(a, t, &t->look, &c);
	t->n_looks += t->look_run != 0;
}

static void moment(struct phx_apply *a, struct phx_trigger *t)
{
	char what[] = "time", digest[24];
	snprintf(digest, sizeof(digest), "%lld", (long long)t->next_ms);
	phx_trigger_moment(t, a->s->now_ms);
	a->out->changed = true;
	if (t->kind == PHX_TRIGGER_COMMAND)
		begin_look(a, t);
	else
		fire(a, t, what, digest);
}

static uint32_t place_of(const struct phx_apply *a, const struct phx_trigger *t)
{
	return (uint32_t)(t - PHX_LIST_AT(&a->s->triggers, struct phx_trigger, 0));
}

void phx_triggers_tick(struct phx_apply *a)
{
	struct phx_trigger *t;
	for (uint32_t at = 0; (t = phx_timed_next(a->s, PHX_TIMED_TRIGGER, at));
	     at = place_of(a, t) + 1) {
		if (t->forget_run)
			forget_run(a, t);
		if (t->state == PHX_TRIGGER_ACTIVE && t->when.every_ms &&
		    t->next_ms <= a->s->now_ms)
			moment(a, t);
		begin_waiting(a, t);
		phx_timed_set(a->s, PHX_TIMED_TRIGGER, t);
	}
}

/* ---- orders ---- */

static int need(struct phx_apply *a, uint64_t id, struct phx_trigger **ret)
{
	*ret = phx_state_trigger(a->s, id);
	return *ret ? 0 : phx_err_set(a->err, -ENOENT, "there is no such trigger");
}

static void drop(struct phx_apply *a, struct phx_trigger *t)
{
	phx_record_fini(&phx_trigger_record, t);
	phx_list_remove(&a->s->triggers, sizeof(*t), place_of(a, t));
	phx_timed_moved(a->s, PHX_TIMED_TRIGGER);
	a->out->changed = true;
}

/* Its runs go on. */
int phx_apply_trigger_delete(struct phx_apply *a, const struct phx_event_trigger_order *p)
{
	struct phx_trigger *t;
	int r = need(a, p->trigger, &t);
	if (r < 0)
		return r;
	phx_note_re(a, NULL, t->re, NULL, "trigger %s of RE %s is deleted by %s", t->name, t->re,
		    a->ev->by);
	drop(a, t);
	return 0;
}

static bool become(struct phx_apply *a, struct phx_trigger *t, enum phx_trigger_state to)
{
	if (!phx_trigger_may((enum phx_trigger_state)t->state, to))
		return false; /* it is so already */
	t->state = (int)to;
	phx_timed_set(a->s, PHX_TIMED_TRIGGER, t);
	a->out->changed = true;
	phx_note_re(a, NULL, t->re, NULL, "trigger %s of RE %s is %s by %s", t->name, t->re,
		    to == PHX_TRIGGER_ACTIVE ? "resumed" : "paused", a->ev->by);
	return true;
}

int phx_apply_trigger_pause(struct phx_apply *a, const struct phx_event_trigger_order *p)
{
	struct phx_trigger *t;
	int r = need(a, p->trigger, &t);
	if (r == 0 && become(a, t, PHX_TRIGGER_PAUSED))
		phx_str_copy(t->paused_by, sizeof(t->paused_by), a->ev->by);
	return r;
}

int phx_apply_trigger_resume(struct phx_apply *a, const struct phx_event_trigger_order *p)
{
	struct phx_trigger *t;
	int r = need(a, p->trigger, &t);
	if (r < 0 || !become(a, t, PHX_TRIGGER_ACTIVE))
		return r;
	t->paused_by[0] = '\0';
	free(PHX_TAKE(t->why));
	t->again_ms = 0;
	if (t->when.every_ms)
		phx_trigger_moment(t, a->s->now_ms);
	begin_waiting(a, t);
	phx_timed_set(a->s, PHX_TIMED_TRIGGER, t);
	return 0;
}

static int need_active(struct phx_apply *a, uint64_t id, struct phx_trigger **ret)
{
	int r = need(a, id, ret);
	if (r < 0 || (*ret)->state == PHX_TRIGGER_ACTIVE)
		return r;
	return phx_err_set(a->err, -EBUSY, "trigger %s is %s: phx trigger resume %s", (*ret)->name,
			   phx_enum_name(&phx_trigger_state_names, (*ret)->state), (*ret)->name);
}

/* If the order names no digest, the number of the event tells this firing from others. */
int phx_apply_trigger_fire(struct phx_apply *a, const struct phx_event_trigger_order *p)
{
	struct phx_trigger *t;
	char what[WHAT_MAX], digest[PHX_NAME_MAX + 2];
	int r = need_active(a, p->trigger, &t);
	if (r < 0)
		return r;
	if (p->digest[0] && !phx_is_sha256(p->digest))
		return phx_err_set(a->err, -EINVAL, "digest: must be a SHA-256");
	if (p->digest[0] && p->once && phx_trigger_had(t, p->digest))
		return 0;
	snprintf(what, sizeof(what), "%s", p->what[0] ? p->what : a->ev->by);
	snprintf(digest, sizeof(digest), "%llu", (unsigned long long)a->s->seq + 1);
	return fire(a, t, what, p->digest[0] ? p->digest : digest);
}

/* ---- files ---- */

static int check_row(struct phx_apply *a, const struct phx_trigger *t,
		     const struct phx_trigger_file *row)
{
	uint64_t key;
	const char *path = phx_text(row->path);
	if (row->gone[0])
		return phx_seen_parse(row->gone, &key) < 0
			? phx_err_set(a->err, -EINVAL, "gone: must be the key of a path")
			: 0;
	int r = phx_beneath_check(path, a->err);
	bool meets = r == 0 && phx_is_sha256(row->digest) && phx_trigger_awaits(t, path);
	if (r == 0 && !meets)
		r = phx_err_set(a->err, -EINVAL, "rows: '%.80s' is no file that %s waits for", path,
				t->name);
	return r;
}

static void take_file(struct phx_apply *a, struct phx_trigger *t,
		      const struct phx_trigger_file *row)
{
	char what[WHAT_MAX];
	int r = phx_seen_put(t->seen, phx_seen_path(row->path), row->digest);
	a->out->changed = a->out->changed || r == 1;
	if (r == -ENOSPC) {
		t->n_skipped++;
		a->out->changed = true;
		phx_put_text(a, &t->why,
			     "more than %d files are there: those beyond do not fire it",
			     PHX_SEEN_MAX);
		return;
	}
	if (phx_stick(a, r) != 1 || (row->old && !t->existing))
		return;
	if (t->whole)
		snprintf(what, sizeof(what), "%s", row->path);
	else
		snprintf(what, sizeof(what), "users/%s/%s", t->user, row->path);
	fire(a, t, what, row->digest);
}

static void take_row(struct phx_apply *a, struct phx_trigger *t, const struct phx_trigger_file *row)
{
	uint64_t key;
	if (!row->gone[0])
		take_file(a, t, row);
	else if (phx_seen_parse(row->gone, &key) == 0 && phx_seen_drop(t->seen, key))
		a->out->changed = true;
}

/* Refused while the trigger is paused: the watcher reports the files again when it is resumed. */
int phx_apply_trigger_files(struct phx_apply *a, const struct phx_event_trigger_files *p)
{
	struct phx_trigger *t;
	int r = need_active(a, p->trigger, &t);
	if (r == 0 && t->kind != PHX_TRIGGER_FILE)
		r = phx_err_set(a->err, -EINVAL, "trigger %s waits for no files", t->name);
	if (r == 0 && p->rows.n > PHX_TRIGGER_ROWS_MAX)
		r = phx_err_set(a->err, -E2BIG, "rows: there are %u, and can be at most %d",
				p->rows.n, PHX_TRIGGER_ROWS_MAX);
	PHX_LIST_EACH(struct phx_trigger_file, row, &p->rows)
		r = r ? r : check_row(a, t, row);
	if (r < 0)
		return r;
	if (!t->seen && !(t->seen = phx_seen_new()))
		return phx_stick(a, -ENOMEM);
	PHX_LIST_EACH(struct phx_trigger_file, row, &p->rows)
		take_row(a, t, row);
	return 0;
}

void phx_triggers_go_on(struct phx_apply *a, const struct phx_re *re)
{
	PHX_LIST_EACH(struct phx_trigger, t, &a->s->triggers)
		if (!strcmp(t->re, re->name)) {
			t->again_ms = 0;
			phx_timed_set(a->s, PHX_TIMED_TRIGGER, t);
		}
}

void phx_triggers_end_of_re(struct phx_apply *a, const struct phx_re *re)
{
	for (uint32_t i = a->s->triggers.n; i-- > 0;) {
		struct phx_trigger *t = PHX_LIST_AT(&a->s->triggers, struct phx_trigger, i);
		if (!strcmp(t->re, re->name))
			drop(a, t);
	}
}
