/* The engine: see engine.h. Called by the API's threads, the loop and the
 * drivers' callbacks. */
#include "phxd/engine.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"

enum { DAY_MS = 24 * 3600 * 1000 };
enum { RETRY_MS = 2000 }; /* between two tries to write while the journal refuses */

struct engine {
	struct engine_config config;
	struct phx_state state;
	struct phx_store *store;
	pthread_mutex_t lock;
	struct phx_list todo; /* struct phx_action: of committed events, in their order */
	bool acting;	      /* a thread is carrying them out */
	int64_t base_ms; /* core time = base + monotonic */
	uint64_t snapshot_seq;
	struct phx_err readonly; /* text set = read-only */
	int64_t retry_ms;
	const char *crash_at; /* test fault: "STAGE:SEQ" in the environment */
};

static int64_t clock_ms(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int64_t now_locked(struct engine *e)
{
	int64_t now = e->base_ms + clock_ms(CLOCK_MONOTONIC);
	return now > e->state.now_ms ? now : e->state.now_ms;
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

/* ---- bringing the state back ---- */

static char *actions_text(const struct phx_list *actions)
{
	PHX_AUTO_JSON json_t *a = json_array();
	PHX_LIST_EACH(struct phx_action, act, actions)
	{
		json_t *j = phx_json_from_record_sparse(&phx_action_record, act);
		if (!j || json_array_append_new(a, j))
			return NULL;
	}
	return phx_json_text(a);
}

struct replay {
	struct phx_state *state;
	struct phx_err *err;
};

static int replay_event(void *arg, const struct phx_store_event *stored)
{
	struct replay *rp = arg;
	PHX_AUTO_JSON json_t *j = NULL;
	struct phx_event ev;
	struct phx_outcome out = { 0 };
	int r = phx_json_parse(stored->event, strlen(stored->event), &j, rp->err);
	r = r ? r : phx_json_to_record(&phx_event_record, j, &ev, rp->err);
	if (r < 0)
		return phx_err_prefix(rp->err, -EPROTO, "event %llu", (unsigned long long)stored->seq);
	r = phx_core_apply(rp->state, &ev, &out, rp->err);
	PHX_AUTO_FREE char *actions = r == 0 ? actions_text(&out.actions) : NULL;
	if (r == 0 && (rp->state->seq != stored->seq || !actions || strcmp(actions, stored->actions)))
		r = phx_err_set(rp->err, -EPROTO, "its actions are not those that were recorded");
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return r < 0 ? phx_err_prefix(rp->err, -EPROTO, "replay of event %llu", (unsigned long long)stored->seq) : 0;
}

/* The newest snapshot below `seq`, or the state before the first event. -EBADMSG: it is damaged. */
static int load_snapshot(struct engine *e, uint64_t seq, struct phx_state *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	PHX_AUTO_JSON json_t *j = NULL;
	int r = phx_store_latest_before(e->store, seq, &e->snapshot_seq, &text, err);
	if (r < 0)
		return r;
	if (!text)
		return phx_state_init(ret);
	r = phx_json_parse(text, strlen(text), &j, err);
	r = r ? r : phx_json_to_record(&phx_state_record, j, ret, err);
	return r < 0 ? phx_err_prefix(err, -EBADMSG, "snapshot %llu", (unsigned long long)e->snapshot_seq) : 0;
}

/* A snapshot only saves time: where one is damaged the events lead there from the one before. */
static int load_state(struct engine *e, struct phx_state *ret, struct phx_err *err)
{
	int r = load_snapshot(e, INT64_MAX, ret, err);
	while (r == -EBADMSG) {
		fprintf(stderr, "phxd: %s; going on from an older one\n", err->text);
		phx_err_clear(err);
		*ret = (struct phx_state){ 0 };
		r = load_snapshot(e, e->snapshot_seq, ret, err);
	}
	return r;
}

/* Events that were forgotten are in the snapshots; without those nothing leads to what is there. */
static int check_reach(struct engine *e, const struct phx_state *s, struct phx_err *err)
{
	uint64_t first;
	int64_t time_ms;
	int r = phx_store_first(e->store, &first, &time_ms, err);
	if (r == 0 && first > s->seq + 1)
		r = phx_err_set(err, -EPROTO, "the journal begins with event %llu, and no sound snapshot reaches there",
				(unsigned long long)first);
	return r;
}

/* Fills e->state from the store; the old state is kept on failure. */
static int reload(struct engine *e, struct phx_err *err)
{
	struct phx_state fresh = { 0 };
	int r = load_state(e, &fresh, err);
	struct replay rp = { &fresh, err };
	r = r ? r : check_reach(e, &fresh, err);
	r = r ? r : phx_store_events(e->store, fresh.seq, 0, NULL, replay_event, &rp, err);
	r = r ? r : phx_state_check(&fresh, err);
	if (r < 0) {
		phx_state_fini(&fresh);
		return r;
	}
	phx_state_fini(&e->state);
	e->state = fresh;
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
	int r = phx_store_open(config->journal, &e->store, err);
	r = r ? r : reload(e, err);
	if (r < 0) {
		phx_store_close(e->store);
		pthread_mutex_destroy(&e->lock);
		free(e);
		return r;
	}
	int64_t wall = clock_ms(CLOCK_REALTIME);
	e->base_ms = (wall > e->state.now_ms ? wall : e->state.now_ms) - clock_ms(CLOCK_MONOTONIC);
	*ret = e;
	return 0;
}

static int snapshot(struct engine *e, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&phx_state_record, &e->state);
	PHX_AUTO_FREE char *text = j ? phx_json_text(j) : NULL;
	int r = text ? phx_store_snapshot(e->store, e->state.seq, text, err) : -ENOMEM;
	if (r < 0)
		return r;
	e->snapshot_seq = e->state.seq;
	/* what cannot be forgotten now is tried again after the next one */
	if (e->config.keep_days)
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
	PHX_AUTO_JSON json_t *j = phx_json_from_record_sparse(&phx_event_record, ev);
	PHX_AUTO_FREE char *event = j ? phx_json_text(j) : NULL;
	PHX_AUTO_FREE char *actions = actions_text(&out->actions);
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

/* The journal refused: what was applied is not to be believed. Nothing is acknowledged until it writes again. */
static int refuse(struct engine *e, int code, const struct phx_err *why)
{
	struct phx_err lost = { 0 };
	e->readonly = *why;
	e->retry_ms = now_locked(e) + RETRY_MS;
	if (reload(e, &lost) < 0)
		phx_err_prefix(&e->readonly, code, "%s", lost.text);
	return -EROFS;
}

static int apply_locked(struct engine *e, struct phx_event *ev, struct phx_outcome *out, struct phx_err *err)
{
	struct phx_err why = { 0 };
	ev->now_ms = now_locked(e);
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
}

const struct phx_state *engine_lock(struct engine *e)
{
	pthread_mutex_lock(&e->lock);
	return &e->state;
}

void engine_unlock(struct engine *e)
{
	pthread_mutex_unlock(&e->lock);
}

/* Nobody may order anything while the journal refuses: it is found out here that it takes again. */
static void probe(struct engine *e)
{
	int64_t now = now_locked(e);
	struct phx_err why = { 0 };
	if (!e->readonly.text[0] || now < e->retry_ms)
		return;
	e->retry_ms = now + RETRY_MS;
	int r = e->state.seq == phx_store_last(e->store) ? 0 : reload(e, &why);
	r = r ? r : snapshot(e, &why);
	e->readonly = r < 0 ? why : (struct phx_err){ 0 };
}

int engine_tick(struct engine *e, int max_ms)
{
	pthread_mutex_lock(&e->lock);
	probe(e);
	int64_t left = phx_core_next_deadline(&e->state) - now_locked(e);
	pthread_mutex_unlock(&e->lock);
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
