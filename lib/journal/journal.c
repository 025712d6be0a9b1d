/* The rule of a crash: see journal.h. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "journal/internal.h"
#include "journal/replay.h"
#include "journal/row.h"

enum { DAY_MS = 24 * 3600 * 1000 };
enum { RETRY_MS = 2000 }; /* between two tries to write while the store refuses */

static void begin_change(struct phx_journal *j)
{
	pthread_mutex_lock(&j->changes);
	pthread_mutex_lock(&j->lock);
}

static void end_change(struct phx_journal *j)
{
	pthread_mutex_unlock(&j->lock);
	pthread_mutex_unlock(&j->changes);
}

/* ---- what is wrong ---- */

static int trouble_text(const struct phx_journal *j, struct phx_err *err)
{
	if (!j->trouble)
		return 0;
	return phx_err_set(err, j->trouble,
			   j->trouble == -EROFS ? "read-only: %s"
						: "phxd ends and starts again: %s",
			   j->why.text);
}

/* The state in memory may differ from the store: only a new start can be trusted. */
static void end(struct phx_journal *j, const char *why)
{
	if (j->trouble == -EAGAIN)
		return;
	j->trouble = -EAGAIN;
	phx_todo_close(&j->todo);
	phx_err_clear(&j->why);
	phx_err_set(&j->why, 0, "%s", why);
}

static void begin_readonly(struct phx_journal *j, const struct phx_err *why)
{
	j->trouble = -EROFS;
	j->why = *why;
	j->retry_ms = phx_journal_now_locked(j) + RETRY_MS;
}

/* Loads the state that the store has; the old state is kept on failure. */
static int reload(struct phx_journal *j, struct phx_err *ret_damage, struct phx_err *err)
{
	struct phx_recalled rc;
	int r = phx_journal_recall(&j->store, &rc, err);
	if (r < 0)
		return r;
	phx_state_fini(&j->state);
	j->state = rc.state;
	j->snapshot_seq = rc.snapshot_seq;
	if (ret_damage)
		*ret_damage = rc.damage;
	return 0;
}

/* ---- opening ---- */

/* A number above the last incarnation, whatever the clock says. Normally it follows from the clock,
 * so that a head that continues from an older journal is above incarnations that this journal does
 * not contain. */
static uint64_t draw_incarnation(const struct phx_journal *j)
{
	enum { DRAW_BITS = 7, YEAR_2026_S = 1767225600 };
	uint32_t draw = (uint32_t)j->config.draw(j->config.arg);
	int64_t s = phx_journal_now_locked(j) / 1000 - YEAR_2026_S;
	uint64_t of_clock = s > 0 ? (uint64_t)s << DRAW_BITS | (draw & ((1 << DRAW_BITS) - 1)) : 0;
	uint64_t next = j->state.incarnation + 1 + (draw >> 12);
	return of_clock > j->state.incarnation ? of_clock : next;
}

int phx_journal_open(const struct phx_journal_config *config, struct phx_journal **ret,
		     struct phx_err *ret_damage, struct phx_err *err)
{
	struct phx_journal *j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->config = *config;
	j->store = config->store;
	phx_turns_init(&j->turns);
	phx_todo_init(&j->todo);
	pthread_mutex_init(&j->changes, NULL);
	pthread_mutex_init(&j->lock, NULL);
	int r = reload(j, ret_damage, err);
	if (r < 0) {
		phx_journal_close(j, false);
		return r;
	}
	phx_core_clock_begin(&j->clock, &config->clock, j->state.seq ? j->state.now_ms : 0,
			     config->accept_clock);
	j->incarnation = draw_incarnation(j);
	*ret = j;
	return 0;
}

/* ---- snapshots ---- */

char *phx_journal_state_text(struct phx_journal *j, uint64_t *ret_seq)
{
	*ret_seq = j->state.seq;
	return phx_json_record_text_least(&phx_state_record, &j->state);
}

void phx_journal_snapshotted(struct phx_journal *j, uint64_t seq)
{
	j->snapshot_seq = seq;
}

/* Called with both locks held, after a snapshot was written. *ret_before_ms: older events may be
 * forgotten; false: none may. */
static bool note_snapshot(struct phx_journal *j, uint64_t seq, int64_t *ret_before_ms)
{
	j->snapshot_seq = seq > j->snapshot_seq ? seq : j->snapshot_seq;
	*ret_before_ms = j->state.now_ms - (int64_t)j->config.keep_days * DAY_MS;
	return j->config.keep_days && j->store.forget && phx_core_clock_settled(&j->clock);
}

/* Threads that change the state wait while it is turned into text and written; threads that read it
 * do not. */
void phx_journal_snapshot(struct phx_journal *j)
{
	uint64_t seq = 0;
	int64_t before_ms;
	struct phx_store_packed packed = {0};
	pthread_mutex_lock(&j->changes);
	PHX_AUTO_FREE char *text =
		phx_journal_status(j, NULL) ? NULL : phx_journal_state_text(j, &seq);
	pthread_mutex_unlock(&j->changes);
	int r = !text ? -EAGAIN : j->store.pack ? j->store.pack(seq, text, &packed) : 0;
	pthread_mutex_lock(&j->changes);
	r = r ? r : j->store.snapshot(j->store.arg, seq, text, &packed, NULL);
	pthread_mutex_lock(&j->lock);
	j->snapshot_asked = false;
	/* the state was committed when it was turned into text, whatever was refused since */
	bool forgets = r == 0 && note_snapshot(j, seq, &before_ms);
	pthread_mutex_unlock(&j->lock);
	if (forgets)
		j->store.forget(j->store.arg, before_ms);
	pthread_mutex_unlock(&j->changes);
	free(packed.bytes);
}

/* Called with both locks held, after a commit. True: ask for a snapshot. */
static bool snapshot_is_due(struct phx_journal *j)
{
	bool due = !j->snapshot_asked && j->state.seq - j->snapshot_seq >= j->config.snapshot_every;
	j->snapshot_asked = j->snapshot_asked || due;
	return due;
}

void phx_journal_close(struct phx_journal *j, bool last_snapshot)
{
	if (!j)
		return;
	if (last_snapshot && j->state.seq > j->snapshot_seq && !j->trouble)
		phx_journal_snapshot(j);
	phx_state_fini(&j->state);
	phx_todo_fini(&j->todo);
	pthread_mutex_destroy(&j->lock);
	pthread_mutex_destroy(&j->changes);
	phx_turns_fini(&j->turns);
	free(j);
}

/* ---- committing ---- */

/* What one thread submits. */
struct submission {
	struct phx_turn turn; /* the first member: a turn is cast to what has it */
	struct phx_event *ev;
	struct phx_each *each;
	uint32_t n;
	int r; /* 1: something was committed; 0: nothing had to change; or negative */
	/* r is -EPROTO: the node to which something happened that no table allows, and what */
	char never[PHX_NAME_MAX];
	struct phx_err why;
};

static struct submission *next_of(const struct submission *s)
{
	return (struct submission *)s->turn.next;
}

/* What one transaction writes, and the actions to carry out after it. */
struct transaction {
	/* struct phx_store_row; their texts are owned, the names of nodes are not */
	struct phx_list rows;
	struct phx_todo_batch *batch;
	bool portion; /* more than one event */
	/* the node to which something happened that no table allows, and what */
	char never[PHX_NAME_MAX];
	struct phx_err why;
};

static void transaction_fini(struct transaction *t)
{
	PHX_LIST_EACH(struct phx_store_row, row, &t->rows)
		phx_journal_row_fini(row);
	phx_list_fini(&t->rows);
	phx_todo_free(t->batch);
}

/* The copies are made before the commit: lack of memory must not lose actions of a committed
 * event. */
static int add_event(const struct phx_journal *j, const struct phx_event *ev,
		     const struct phx_each *e, struct transaction *t, struct phx_err *err)
{
	struct phx_store_row *row = phx_list_push(&t->rows, sizeof(*row));
	int r = row ? phx_journal_row(&j->config, &j->state, ev, e, row, err) : -ENOMEM;
	PHX_LIST_EACH(struct phx_action, act, &e->out.actions) {
		struct phx_action *to =
			r == 0 ? phx_list_push(&t->batch->actions, sizeof(*to)) : NULL;
		if (!to)
			return r < 0 ? r : -ENOMEM;
		*to = *act;
	}
	return r;
}

/* The core was about to do what it must not, and the state in memory may have half of it: what the
 * store has is loaded anew, and other events are served. */
static int go_back(struct phx_journal *j, const struct phx_err *why, struct phx_err *err)
{
	struct phx_err lost = {0};
	if (reload(j, NULL, &lost) < 0)
		end(j, lost.text[0] ? lost.text : "out of memory");
	return phx_err_set(err, -EPROTO, "nothing was done, because of an error in phxd: %s",
			   why->text);
}

/* The store refused the applied event, so the state is loaded anew. No event is acknowledged until
 * the store takes events again. */
static int refuse(struct phx_journal *j, int code, const struct phx_err *why, struct phx_err *err)
{
	struct phx_err lost = {0};
	if (code == PHX_STORE_DOUBT) {
		end(j, why->text);
		return phx_err_set(err, -EIO,
				   "it is not known whether this was done: %s; phxd ends and "
				   "starts again: look whether it was done before you repeat it",
				   why->text);
	}
	if (code == -EPROTO)
		return go_back(j, why, err);
	begin_readonly(j, why);
	if (code == -ENOMEM || reload(j, NULL, &lost) < 0)
		end(j, lost.text[0] ? lost.text : "out of memory");
	if (j->trouble == -EAGAIN)
		return phx_err_set(err, -EAGAIN, "nothing was done, phxd ends and starts again: %s",
				   j->why.text);
	return phx_err_set(err, -EROFS,
			   code == -ESTALE
				   ? "it is not known whether this will survive a restart: %s"
				   : "nothing was done, the journal cannot be written: %s",
			   why->text);
}

static bool dies_at(struct phx_journal *j, enum phx_journal_point point, const struct phx_event *ev,
		    const struct phx_each *e)
{
	if (!e->seq || !j->config.at || !j->config.at(j->config.arg, point, e->seq, ev, &e->out))
		return false;
	end(j, "dead");
	return true;
}

/* Issues again the actions that were under way: their ids make a repetition safe. */
static int queue_pending(struct phx_journal *j)
{
	struct phx_todo_batch *b = calloc(1, sizeof(*b));
	int r = b ? phx_core_pending(&j->state, &b->actions) : -ENOMEM;
	if (r == 0) {
		phx_todo_put(&j->todo, b);
		return 0;
	}
	phx_todo_free(b);
	end(j, "out of memory");
	return -ENOMEM;
}

/* Asks a store that has refused whether it takes events again, every RETRY_MS. */
static void try_again(struct phx_journal *j)
{
	struct phx_err why = {0};
	int64_t now = phx_journal_now_locked(j);
	if (j->trouble != -EROFS || now < j->retry_ms)
		return;
	if (j->store.ready(j->store.arg, true, &why) < 0) {
		begin_readonly(j, &why);
		return;
	}
	/* the store may hold an event that was in doubt; none of its actions was carried out */
	j->trouble = 0;
	if (j->state.seq != j->store.last(j->store.arg) && reload(j, NULL, &why) < 0)
		end(j, why.text);
	else
		queue_pending(j);
}

/* A submission for a single node passes ev->node itself. */
static void set_node(struct phx_event *ev, const struct phx_each *e)
{
	if (e->node != ev->node)
		PHX_STR_SET(ev->node, e->node);
}

static struct phx_event *event_of(const struct submission *s, const struct phx_each *e)
{
	return e->ev ? e->ev : s->ev;
}

/* Nodes that have failed already keep their own reason. */
static int refuse_each(struct phx_each *each, uint32_t n, int code, const struct phx_err *err)
{
	for (struct phx_each *e = each; e < each + n; e++) {
		if (e->result < 0)
			continue;
		phx_outcome_fini(&e->out);
		e->result = code;
		e->err = *err;
		e->seq = 0;
	}
	return code;
}

/* Negative: the whole transaction has failed. An event that the core refuses only fails itself. */
static int apply_one(struct phx_journal *j, struct phx_event *ev, struct phx_each *e,
		     struct transaction *t, struct phx_err *why)
{
	uint64_t before = j->state.seq;
	set_node(ev, e);
	ev->now_ms = phx_journal_now_locked(j);
	ev->incarnation = j->state.incarnation == j->incarnation ? 0 : j->incarnation;
	ev->random = j->config.draw(j->config.arg) >> 1 | 1;
	e->result = t->portion ? phx_core_apply_in_portion(&j->state, ev, &e->out, &e->err)
			       : phx_core_apply(&j->state, ev, &e->out, &e->err);
	if (e->result == -ENOMEM || e->result == -EPROTO) { /* the state is of no use */
		int r = e->result;
		*why = e->err;
		PHX_STR_SET(t->never, e->out.never);
		*e = (struct phx_each){.node = e->node, .ev = e->ev};
		return r;
	}
	if (e->result < 0 || j->state.seq == before)
		return 0;
	e->seq = j->state.seq;
	if (dies_at(j, PHX_JOURNAL_APPLIED, ev, e))
		return -EAGAIN;
	return add_event(j, ev, e, t, why);
}

static int apply_each(struct phx_journal *j, struct submission *s, struct transaction *t,
		      struct phx_err *why)
{
	uint32_t n_rows = t->rows.n;
	int r = 0;
	t->portion = s->n > 1;
	for (struct phx_each *e = s->each; r == 0 && e < s->each + s->n; e++)
		r = e->result < 0 ? 0 : apply_one(j, event_of(s, e), e, t, why);
	if (t->portion && j->state.n_gone)
		phx_core_portion_end(&j->state);
	s->r = t->rows.n > n_rows;
	return r;
}

static int apply_group(struct phx_journal *j, struct submission *group, struct transaction *t,
		       struct phx_err *why)
{
	t->batch = calloc(1, sizeof(*t->batch));
	int r = t->batch ? 0 : -ENOMEM;
	for (struct submission *s = group; r == 0 && s; s = next_of(s))
		r = apply_each(j, s, t, why);
	return r;
}

static int commit(struct phx_journal *j, struct transaction *t, struct phx_err *err)
{
	int r = t->rows.n ? j->store.append(j->store.arg, t->rows.items, t->rows.n, err) : 0;
	if (r == 0 && t->rows.n)
		phx_todo_put(&j->todo, PHX_TAKE(t->batch));
	return r;
}

static bool dies_at_any(struct phx_journal *j, enum phx_journal_point point,
			const struct submission *s)
{
	for (struct phx_each *e = s->each; e < s->each + s->n; e++) {
		set_node(event_of(s, e), e);
		if (dies_at(j, point, event_of(s, e), e))
			return true;
	}
	return false;
}

/* One transaction for all of the group. */
static int write_group(struct phx_journal *j, struct submission *group, struct transaction *t,
		       struct phx_err *err)
{
	int r = apply_group(j, group, t, &t->why);
	r = r ? r : commit(j, t, &t->why);
	if (r != 0)
		return j->trouble ? r : refuse(j, r, &t->why, err);
	for (struct submission *s = group; r == 0 && s; s = next_of(s))
		r = dies_at_any(j, PHX_JOURNAL_COMMITTED, s) ? -EAGAIN : 0;
	return r;
}

static void refuse_group(struct submission *group, const struct transaction *t, int code,
			 const struct phx_err *err)
{
	for (struct submission *s = group; s; s = next_of(s)) {
		s->r = refuse_each(s->each, s->n, code, err);
		PHX_STR_SET(s->never, t->never);
		s->why = t->why;
	}
}

static void write_apart(struct phx_journal *j, struct submission *group);

static void write_together(struct phx_journal *j, struct submission *group)
{
	PHX_AUTO(transaction_fini) struct transaction t = {0};
	struct phx_err err = {0};
	try_again(j);
	int r = j->trouble ? trouble_text(j, &err) : write_group(j, group, &t, &err);
	if (r < 0)
		refuse_group(group, &t, r, &err);
	if (r == -EPROTO && next_of(group))
		write_apart(j, group);
}

/* One of them was about to bring a node into a state that no table lists, and nothing was
 * committed: each has a transaction of its own, so that the others are served. */
static void write_apart(struct phx_journal *j, struct submission *group)
{
	for (struct submission *s = group, *next; s; s = next) {
		next = next_of(s);
		s->turn.next = NULL;
		*s->each = (struct phx_each){.node = s->each->node}; /* more than one are alone */
		write_together(j, s);
		s->turn.next = next ? &next->turn : NULL;
	}
}

/* ---- carrying out ---- */

static void act_on(struct phx_journal *j, const struct phx_todo_batch *b)
{
	PHX_LIST_EACH(struct phx_action, action, &b->actions) {
		if (j->config.act(j->config.arg, action) == 0)
			continue;
		pthread_mutex_lock(&j->lock);
		end(j, "an action cannot be carried out: out of memory");
		pthread_mutex_unlock(&j->lock);
		return;
	}
}

/* An 'off' that follows a 'boot' must not overtake it: one thread at a time, in the order of the
 * commits. No lock is held meanwhile: an action may submit another event, whose actions come
 * later. */
static void carry_out(struct phx_journal *j)
{
	if (!phx_todo_begin(&j->todo))
		return;
	for (struct phx_todo_batch *b; (b = phx_todo_next(&j->todo));) {
		act_on(j, b);
		phx_todo_free(b);
	}
}

/* Would the event come again by itself? Its node is quarantined then, unless that has failed. */
static bool comes_again(const struct phx_event *ev)
{
	bool of_person = ev->by[0] && strcmp(ev->by, "phxd") && !phx_str_starts(ev->by, "node:");
	return !of_person && ev->kind != PHX_EV_quarantine;
}

static void isolate(struct phx_journal *j, const struct submission *s)
{
	struct phx_event ev = {.kind = PHX_EV_quarantine, .order.jobs = PHX_JOBS_ANY};
	PHX_STR_SET(ev.by, "phxd");
	PHX_STR_SET(ev.node, s->never);
	snprintf(ev.text, sizeof(ev.text), "an error in phxd: %.200s", s->why.text);
	phx_journal_submit(j, &ev, NULL, NULL);
}

/* For all whose turn it is. Returns the number of the last event, 0 = none was committed. */
static uint64_t work(struct phx_journal *j)
{
	bool any = false;
	begin_change(j);
	struct submission *group = (struct submission *)phx_turns_take(&j->turns);
	write_together(j, group);
	for (const struct submission *s = group; s; s = next_of(s))
		any = any || s->r == 1;
	uint64_t seq = any ? j->state.seq : 0;
	bool due = any && snapshot_is_due(j);
	end_change(j);
	phx_turns_over(&j->turns, &group->turn);
	if (due && j->config.snapshot_due)
		j->config.snapshot_due(j->config.arg);
	else if (due)
		phx_journal_snapshot(j);
	return seq;
}

void phx_journal_submit_each(struct phx_journal *j, struct phx_event *ev, struct phx_each *each,
			     uint32_t n)
{
	struct submission s = {.turn.alone = n != 1, .ev = ev, .each = each, .n = n};
	uint64_t seq = phx_turns_begin(&j->turns, &s.turn) ? work(j) : 0;
	if (s.r >= 0)
		carry_out(j);
	bool dies = s.r == 1 && dies_at_any(j, PHX_JOURNAL_ACTED, &s);
	if (dies)
		refuse_each(each, n, -EAGAIN, &(struct phx_err){0});
	if (seq && !dies && j->config.committed)
		j->config.committed(j->config.arg, seq);
	if (s.r == -EPROTO && s.never[0] && ev && comes_again(ev))
		isolate(j, &s);
}

int phx_journal_submit(struct phx_journal *j, struct phx_event *ev, struct phx_outcome *ret,
		       struct phx_err *err)
{
	struct phx_each one = {.node = ev->node};
	phx_journal_submit_each(j, ev, &one, 1);
	if (one.result < 0 && err)
		*err = one.err;
	if (ret && one.result == 0)
		*ret = one.out;
	else
		phx_outcome_fini(&one.out);
	return one.result;
}

int phx_journal_resume(struct phx_journal *j)
{
	pthread_mutex_lock(&j->lock);
	int r = queue_pending(j);
	pthread_mutex_unlock(&j->lock);
	carry_out(j);
	return r;
}

void phx_journal_probe(struct phx_journal *j)
{
	struct phx_err why = {0};
	begin_change(j);
	if (!j->trouble && j->store.ready(j->store.arg, false, &why) < 0)
		begin_readonly(j, &why);
	try_again(j);
	end_change(j);
	carry_out(j);
}
