/* The engine: see engine.h. Called by the API's threads, the loop and the
 * drivers' callbacks. */
#include "phxd/engine.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/json.h"
#include "base/utf8.h"
#include "phxd/clock.h"
#include "phxd/recall.h"

enum { DAY_MS = 24 * 3600 * 1000 };
enum { RETRY_MS = 2000 }; /* between two tries to write while the journal refuses */

struct engine {
	struct engine_config config;
	struct phx_state state;
	struct phx_store *store;
	pthread_mutex_t lock;
	_Atomic(pthread_t) looker;
	struct phx_list todo; /* struct phx_action: of committed events, in their order */
	bool acting;	      /* a thread is carrying them out */
	struct core_clock clock;
	uint64_t incarnation; /* of this start; the next event that changes something brings it in */
	struct phx_list notices; /* struct notice: to be told by an event when that can be */
	bool resumed;
	uint64_t snapshot_seq;
	struct phx_err readonly; /* text set = read-only */
	int64_t retry_ms;
	const char *crash_at; /* test fault: "STAGE:SEQ" in the environment */
};

static int64_t now_locked(struct engine *e)
{
	return core_clock_now(&e->clock, e->state.now_ms);
}

int64_t engine_now(struct engine *e)
{
	pthread_mutex_lock(&e->lock);
	int64_t now = now_locked(e);
	pthread_mutex_unlock(&e->lock);
	return now;
}

/* The crash tests end the daemon by SIGKILL at a chosen commit: nothing else can hit that instant. */
static void maybe_crash(const struct engine *e, const char *stage, uint64_t seq)
{
	char here[64];
	if (!e->crash_at)
		return;
	snprintf(here, sizeof(here), "%s:%llu", stage, (unsigned long long)seq);
	if (!strcmp(here, e->crash_at))
		kill(getpid(), SIGKILL);
}

/* ---- what is told: at once on standard error, and in the journal ---- */

struct notice {
	char re[PHX_NAME_MAX], text[256];
	uint64_t skip_jobs;
};

/* Before anything stands nobody can be told by an event: engine_resume() does. */
static void notice(struct engine *e, const char *re, uint64_t skip_jobs, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void notice(struct engine *e, const char *re, uint64_t skip_jobs, const char *fmt, ...)
{
	struct notice n = { .skip_jobs = skip_jobs };
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(n.text, sizeof(n.text), fmt, ap);
	va_end(ap);
	phx_utf8_repair(n.text);
	PHX_STR_SET(n.re, re);
	fprintf(stderr, "phxd: %s\n", n.text);
	pthread_mutex_lock(&e->lock);
	struct notice *to = phx_list_push(&e->notices, sizeof(*to));
	if (to)
		*to = n;
	pthread_mutex_unlock(&e->lock);
}

void engine_tell(struct engine *e)
{
	pthread_mutex_lock(&e->lock);
	struct phx_list notices = e->notices;
	e->notices = (struct phx_list){ 0 };
	pthread_mutex_unlock(&e->lock);
	PHX_LIST_EACH(struct notice, n, &notices)
	{
		struct phx_event ev = { .kind = PHX_EV_notice, .by = "phxd", .skip_jobs = n->skip_jobs };
		PHX_STR_SET(ev.re, n->re);
		PHX_STR_SET(ev.text, n->text);
		engine_submit(e, &ev, NULL, NULL);
	}
	phx_list_fini(&notices);
}

void engine_notice(struct engine *e, const char *re, const char *text)
{
	notice(e, re, 0, "%s", text);
	if (e->resumed)
		engine_tell(e);
}

/* ---- opening ---- */

/* Fills e->state from the store; the old state is kept on failure. */
static int reload(struct engine *e, struct phx_err *ret_damage, struct phx_err *err)
{
	struct recalled rc;
	int r = recall_state(e->store, &rc, err);
	if (r < 0)
		return r;
	phx_state_fini(&e->state);
	e->state = rc.state;
	e->snapshot_seq = rc.snapshot_seq;
	if (ret_damage)
		*ret_damage = rc.damage;
	return 0;
}

/* What is damaged and holds no event is made anew, once; where that fails it is told, and tried at the next start. */
static void mend(struct engine *e, const char *what)
{
	struct phx_err err = { 0 };
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_state_record, &e->state);
	int r = text ? phx_store_rebuild(e->store, e->state.seq, text, &err) : -ENOMEM;
	if (r == 0)
		e->snapshot_seq = e->state.seq;
	notice(e, "", 0, "%s: damaged (%.100s); all events are whole: %s%.60s", "journal", what,
	       r < 0 ? "it could not be made anew: " : "going on with a new snapshot", r < 0 ? err.text : "");
}

/* What a start found out that is no reason to stop. */
static void tell_findings(struct engine *e, const struct phx_store_findings *f, const struct phx_err *damage)
{
	if (damage->text[0] || f->damage[0])
		mend(e, damage->text[0] ? damage->text : f->damage);
	if (f->mark_trouble[0])
		notice(e, "", 0, "%.120s: whether events are missing at the end is not known", f->mark_trouble);
	else if (f->no_mark && phx_store_last(e->store) > f->uncovered)
		notice(e, "", 0, "%.150s.mark is not there: whether events are missing at the end is not known", e->config.journal);
	if (e->clock.held_ms)
		notice(e, "", 0, "the clock is %lld days ahead of the last event and nobody keeps it synchronised: time goes on "
		       "from the last event, nothing is forgotten; when it is right, end phxd and run phxd --accept-clock",
		       (long long)e->clock.held_ms / DAY_MS);
}

static int accept_journal(struct engine *e, struct phx_err *err)
{
	uint64_t missing;
	int r = phx_store_accept(e->store, &missing, err);
	if (r == 0 && (missing || phx_store_last(e->store))) /* no more jobs are lost than events */
		notice(e, "", missing, "the journal was accepted as it is, up to event %llu; %llu acknowledged events are missing",
		       (unsigned long long)phx_store_last(e->store), (unsigned long long)missing);
	return r;
}

/* Above the last one, whatever the clock says; of the clock, so that a head that goes on from an older journal is above
 * what it does not know of. */
static uint64_t draw_incarnation(const struct engine *e)
{
	enum { DRAW_BITS = 7, YEAR_2026_S = 1767225600 };
	uint32_t draw = 0;
	(void)!getrandom(&draw, sizeof(draw), 0);
	int64_t s = core_clock_now(&e->clock, e->state.now_ms) / 1000 - YEAR_2026_S;
	uint64_t of_clock = s > 0 ? (uint64_t)s << DRAW_BITS | (draw & ((1 << DRAW_BITS) - 1)) : 0;
	uint64_t next = e->state.incarnation + 1 + (draw >> 12);
	return of_clock > e->state.incarnation ? of_clock : next;
}

static const char damaged_advice[] = "restore it, or go on with what is there: phxd --accept-journal";
/* a clean end leaves a snapshot of everything: the version after it has nothing to decide again */
static const char replay_advice[] = "if phxd was upgraded without a clean end: start the version that wrote the journal, end it "
				    "with systemctl stop phxd, then upgrade";

static void add_advice(const struct engine *e, int code, const char *advice, struct phx_err *err)
{
	struct phx_err why = *err;
	phx_err_clear(err);
	phx_err_set(err, code, "%s: %s; %s", e->config.journal, why.text, advice);
}

static int open_journal(struct engine *e, struct phx_err *err)
{
	struct phx_store_findings found;
	struct phx_err damage = { 0 };
	int r = phx_store_open(e->config.journal, &e->store, err);
	if (r == 0 && e->config.accept_journal)
		r = accept_journal(e, err);
	r = r ? r : phx_store_verify(e->store, &found, err);
	if (r == -EBADMSG || r == -ENODATA)
		add_advice(e, r, damaged_advice, err);
	if (r < 0)
		return r;
	r = reload(e, &damage, err);
	if (r == -EPROTO)
		add_advice(e, r, replay_advice, err);
	if (r < 0)
		return r;
	core_clock_begin(&e->clock, e->state.seq ? e->state.now_ms : 0, e->config.accept_clock);
	e->incarnation = draw_incarnation(e);
	tell_findings(e, &found, &damage);
	return 0;
}

int engine_open(const struct engine_config *config, struct engine **ret, struct phx_err *err)
{
	struct engine *e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->config = *config;
	e->crash_at = getenv("PHXD_TEST_CRASH_AT");
	pthread_mutex_init(&e->lock, NULL);
	int r = open_journal(e, err);
	if (r < 0) {
		phx_store_close(e->store);
		phx_list_fini(&e->notices);
		pthread_mutex_destroy(&e->lock);
		free(e);
		return r;
	}
	*ret = e;
	return 0;
}

static int snapshot(struct engine *e, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_state_record, &e->state);
	int r = text ? phx_store_snapshot(e->store, e->state.seq, text, err) : -ENOMEM;
	if (r < 0)
		return r;
	e->snapshot_seq = e->state.seq;
	/* what cannot be forgotten now is tried again after the next one */
	if (e->config.keep_days && core_clock_settled(&e->clock))
		phx_store_prune(e->store, e->state.now_ms - (int64_t)e->config.keep_days * DAY_MS, NULL);
	return 0;
}

void engine_close(struct engine *e)
{
	if (!e)
		return;
	if (e->state.seq > e->snapshot_seq && !e->readonly.text[0])
		snapshot(e, NULL);
	phx_store_close(e->store);
	phx_state_fini(&e->state);
	phx_list_fini(&e->todo);
	phx_list_fini(&e->notices);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

/* ---- committing ---- */

struct signed_erasure {
	struct phx_store_erasure e;
	char *record;
	char signature[PHX_SIG_SIZE * 2 + 1];
};

static json_t *erasure_json(const struct phx_event *ev, const struct phx_action *act)
{
	return json_pack("{s:I,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:s}", "time_ms", (json_int_t)ev->now_ms, "node",
			 act->node, "disk", act->disk, "method", phx_enum_name(&phx_wipe_method_names, act->method),
			 "key_id", act->key_id, "size_bytes", (json_int_t)act->size_bytes, "verified_bytes",
			 (json_int_t)act->verified_bytes, "step_id", (json_int_t)act->step_id, "epoch",
			 (json_int_t)act->epoch, "text", act->text);
}

/* The signed record of the erase among the actions, if there is one. 1 = there is. */
static int make_erasure(struct engine *e, const struct phx_event *ev, const struct phx_list *actions,
			struct signed_erasure *ret, struct phx_err *err)
{
	PHX_LIST_EACH(struct phx_action, act, actions)
	{
		uint8_t sig[PHX_SIG_SIZE];
		if (act->kind != PHX_ACT_ERASED)
			continue;
		PHX_AUTO_JSON json_t *j = erasure_json(ev, act);
		ret->record = j ? phx_json_text(j) : NULL;
		if (!ret->record)
			return -ENOMEM;
		int r = phx_sign(e->config.site_key_path, ret->record, strlen(ret->record), sig, err);
		if (r < 0)
			return r;
		for (size_t i = 0; i < sizeof(sig); i++)
			snprintf(ret->signature + i * 2, 3, "%02x", sig[i]);
		ret->e = (struct phx_store_erasure){ act->step_id, act->node, ret->record, ret->signature };
		return 1;
	}
	return 0;
}

static int commit(struct engine *e, const struct phx_event *ev, const struct phx_outcome *out, struct phx_err *err)
{
	struct phx_event told = *ev; /* borrows */
	if (ev->kind == PHX_EV_job_submit)
		told.job = out->job; /* for people: the core numbers it again at a replay */
	PHX_AUTO_FREE char *event = phx_json_record_text_sparse(&phx_event_record, &told);
	PHX_AUTO_FREE char *actions = phx_json_list_text(&phx_action_record, &out->actions);
	if (!event || !actions)
		return -ENOMEM;
	struct signed_erasure erasure = { 0 };
	int r = make_erasure(e, ev, &out->actions, &erasure, err);
	const struct phx_store_erasure *record = r == 1 ? &erasure.e : NULL;
	if (r >= 0)
		r = phx_store_append(e->store, e->state.seq, ev->now_ms, phx_enum_name(&phx_event_kind_names, ev->kind),
				     ev->node[0] ? ev->node : out->node, event, actions, record, err);
	free(erasure.record);
	return r;
}

static void begin_readonly(struct engine *e, const struct phx_err *why)
{
	if (!e->readonly.text[0])
		fprintf(stderr, "phxd: read-only, nothing is acknowledged: %s\n", why->text);
	e->readonly = *why;
	e->retry_ms = now_locked(e) + RETRY_MS;
}

/* The journal refused: what was applied is not to be believed. Nothing is acknowledged until it writes again. */
static int refuse(struct engine *e, int code, const struct phx_err *why)
{
	struct phx_err lost = { 0 };
	begin_readonly(e, why);
	if (reload(e, NULL, &lost) < 0)
		phx_err_prefix(&e->readonly, code, "%s", lost.text);
	return -EROFS;
}

static int apply_locked(struct engine *e, struct phx_event *ev, struct phx_outcome *out, struct phx_err *err)
{
	struct phx_err why = { 0 };
	ev->now_ms = now_locked(e);
	ev->incarnation = e->state.incarnation == e->incarnation ? 0 : e->incarnation;
	if (e->readonly.text[0] && ev->now_ms < e->retry_ms)
		return phx_err_set(err, -EROFS, "read-only: %s", e->readonly.text);
	uint64_t before = e->state.seq;
	int r = phx_core_apply(&e->state, ev, out, err);
	if (r < 0 || e->state.seq == before)
		return r;
	maybe_crash(e, "apply", e->state.seq);
	r = commit(e, ev, out, &why);
	if (r < 0) {
		phx_outcome_fini(out);
		r = refuse(e, r, &why);
		return phx_err_set(err, r, "nothing was done, the journal cannot be written: %s", why.text);
	}
	phx_err_clear(&e->readonly);
	maybe_crash(e, "commit", e->state.seq);
	if (e->state.seq - e->snapshot_seq >= e->config.snapshot_every)
		snapshot(e, NULL);
	return 1;
}

/* With the lock held. */
static void queue_actions(struct engine *e, const struct phx_list *actions)
{
	PHX_LIST_EACH(struct phx_action, act, actions)
	{
		struct phx_action *to = phx_list_push(&e->todo, sizeof(*to));
		if (to)
			*to = *act;
	}
}

/* One thread at a time, in the order of the commits: an 'off' that follows a 'boot' must not come before it. An
 * action that brings another event about finds the door open, its actions come after. */
static void carry_out(struct engine *e)
{
	pthread_mutex_lock(&e->lock);
	bool mine = !e->acting;
	e->acting = true;
	while (mine && e->todo.n) {
		struct phx_list now = e->todo;
		e->todo = (struct phx_list){ 0 };
		pthread_mutex_unlock(&e->lock);
		PHX_LIST_EACH(struct phx_action, act, &now)
			e->config.act(e->config.arg, act);
		phx_list_fini(&now);
		pthread_mutex_lock(&e->lock);
	}
	if (mine)
		e->acting = false;
	pthread_mutex_unlock(&e->lock);
}

int engine_submit(struct engine *e, struct phx_event *ev, struct phx_outcome *ret, struct phx_err *err)
{
	struct phx_outcome out = { 0 };
	pthread_mutex_lock(&e->lock);
	int r = apply_locked(e, ev, &out, err);
	uint64_t seq = e->state.seq;
	if (r == 1)
		queue_actions(e, &out.actions);
	pthread_mutex_unlock(&e->lock);
	if (r == 1) {
		carry_out(e);
		maybe_crash(e, "act", seq);
		e->config.committed(e->config.arg, seq);
	}
	if (ret && r >= 0)
		*ret = out;
	else
		phx_outcome_fini(&out);
	return r < 0 ? r : 0;
}

void engine_resume(struct engine *e)
{
	struct phx_list actions = { 0 };
	pthread_mutex_lock(&e->lock);
	phx_core_pending(&e->state, &actions);
	queue_actions(e, &actions);
	pthread_mutex_unlock(&e->lock);
	phx_list_fini(&actions);
	carry_out(e);
	e->resumed = true;
	engine_tell(e);
}

const struct phx_state *engine_lock(struct engine *e)
{
	pthread_mutex_lock(&e->lock);
	e->looker = pthread_self();
	return &e->state;
}

void engine_unlock(struct engine *e)
{
	e->looker = 0; /* nobody */
	pthread_mutex_unlock(&e->lock);
}

bool engine_is_locked(const struct engine *e)
{
	return e->looker == pthread_self();
}

/* Nobody may order anything while the journal refuses: it is found out here that it takes again. */
static void probe(struct engine *e)
{
	int64_t now = now_locked(e);
	struct phx_err why = { 0 };
	if (!e->readonly.text[0] && phx_store_watch(e->store, &why) < 0)
		begin_readonly(e, &why);
	if (!e->readonly.text[0] || now < e->retry_ms)
		return;
	e->retry_ms = now + RETRY_MS;
	int r = phx_store_watch(e->store, &why);
	if (r == 0 && e->state.seq != phx_store_last(e->store))
		r = reload(e, NULL, &why);
	r = r ? r : snapshot(e, &why);
	if (r == 0)
		fprintf(stderr, "phxd: the journal takes events again\n");
	e->readonly = r < 0 ? why : (struct phx_err){ 0 };
}

int engine_tick(struct engine *e, int max_ms)
{
	pthread_mutex_lock(&e->lock);
	probe(e);
	bool stepped = core_clock_believe(&e->clock);
	int64_t left = phx_core_next_deadline(&e->state) - now_locked(e);
	pthread_mutex_unlock(&e->lock);
	if (stepped)
		engine_notice(e, "", "the clock is kept synchronised: it is believed again, and time is what it says");
	if (left > 0)
		return left < max_ms ? (int)left : max_ms;
	struct phx_event ev = { .kind = PHX_EV_tick };
	PHX_STR_SET(ev.by, "phxd");
	engine_submit(e, &ev, NULL, NULL);
	return 10;
}

struct phx_store *engine_store(struct engine *e)
{
	return e->store;
}

bool engine_readonly(struct engine *e, struct phx_err *ret)
{
	pthread_mutex_lock(&e->lock);
	*ret = e->readonly;
	pthread_mutex_unlock(&e->lock);
	return ret->text[0];
}
