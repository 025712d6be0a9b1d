/* The engine: see engine.h. Called by the API's threads, the loop and the
 * drivers' callbacks. */
#include "phxd/engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/utf8.h"

enum { DAY_MS = 24 * 3600 * 1000, TICK_AGAIN_MS = 10, TICK_MOST_MS = 10000 };

struct engine {
	struct engine_config config;
	struct phx_store *store;
	struct phx_signer signer, attests;
	char attest_fp[PHX_FINGERPRINT_MAX];
	struct phx_journal *journal;
	_Atomic(pthread_t) looker;
	/* of what follows; the journal's own lock may be taken before this one */
	pthread_mutex_t lock;
	struct phx_list notices; /* struct notice: to be journalled when possible */
	bool telling;
	_Atomic bool resumed; /* looked at by any thread */
	pthread_t snapshots;  /* takes snapshots, so that nobody waits for them */
	bool taking, closed;
	unsigned n_due, n_taken; /* snapshots requested, and taken */
	pthread_cond_t wanted;
	int trouble;                   /* the journal's trouble that was told last */
	int64_t again_ms, again_at_ms; /* after a tick that failed: how long to wait, until when */
	uint64_t verified, uncovered;
};

int64_t engine_now(struct engine *e)
{
	return phx_journal_now(e->journal);
}

/* ---- notices: at once on standard error, and in the journal ---- */

struct notice {
	char re[PHX_NAME_MAX], text[256];
	uint64_t skip_jobs;
};

/* Before the engine is open no event can be submitted, so the notice is only kept: engine_resume()
 * journals it. */
static int notice(struct engine *e, const char *re, uint64_t skip_jobs, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static int notice(struct engine *e, const char *re, uint64_t skip_jobs, const char *fmt, ...)
{
	struct notice n = {.skip_jobs = skip_jobs};
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
	return to ? 0 : -ENOMEM;
}

/* The first waiting notice, which stays in the list until it is journalled. False for a second
 * thread, which would journal it twice. */
static bool begin_telling(struct engine *e, struct notice *ret)
{
	pthread_mutex_lock(&e->lock);
	bool mine = !e->telling && e->notices.n;
	if (mine)
		*ret = *PHX_LIST_AT(&e->notices, struct notice, 0);
	e->telling = e->telling || mine;
	pthread_mutex_unlock(&e->lock);
	return mine;
}

static void end_telling(struct engine *e, bool told)
{
	pthread_mutex_lock(&e->lock);
	if (told)
		phx_list_remove(&e->notices, sizeof(struct notice), 0);
	e->telling = false;
	pthread_mutex_unlock(&e->lock);
}

int engine_tell(struct engine *e)
{
	struct notice n;
	bool later = false;
	int r = 0;
	while (!later && begin_telling(e, &n)) {
		struct phx_event ev = {
			.kind = PHX_EV_notice, .by = "phxd", .notice.skip_jobs = n.skip_jobs};
		PHX_STR_SET(ev.re, n.re);
		PHX_STR_SET(ev.text, n.text);
		r = engine_submit(e, &ev, NULL, NULL);
		later = r == -EROFS || r == -EAGAIN || r == -EIO;
		end_telling(e, !later);
	}
	return r;
}

void engine_notice(struct engine *e, const char *re, const char *text)
{
	notice(e, re, 0, "%s", text);
	if (e->resumed)
		engine_tell(e);
}

/* ---- opening ---- */

/* Rebuilds damaged parts that hold no event, once; a failure is told, and the next start tries
 * again. */
static void mend(struct engine *e, const char *what)
{
	struct phx_err err = {0};
	uint64_t seq;
	PHX_AUTO_FREE char *text = phx_journal_state_text(e->journal, &seq);
	int r = text ? phx_store_rebuild(e->store, seq, text, &err) : -ENOMEM;
	if (r == 0)
		phx_journal_snapshotted(e->journal, seq);
	notice(e, "", 0, "%s: damaged (%.100s); all events are whole: %s%.60s", "journal", what,
	       r < 0 ? "it could not be made anew: " : "going on with a new snapshot",
	       r < 0 ? err.text : "");
}

/* Tells findings of the start that are no reason to stop. */
static void tell_findings(struct engine *e, const struct phx_store_findings *f,
			  const struct phx_err *damage)
{
	if (damage->text[0] || f->damage[0])
		mend(e, damage->text[0] ? damage->text : f->damage);
	if (f->mark_trouble[0])
		notice(e, "", 0, "%.120s: whether events are missing at the end is not known",
		       f->mark_trouble);
	else if (f->no_mark && phx_store_last(e->store) > f->uncovered)
		notice(e, "", 0,
		       "%.150s.mark is not there: whether events are missing at the end is not "
		       "known",
		       e->config.journal);
	int64_t held_ms = phx_journal_clock_held(e->journal);
	if (held_ms)
		notice(e, "", 0,
		       "the clock is %lld days ahead of the last event and nobody keeps it "
		       "synchronised: time goes on "
		       "from the last event, nothing is forgotten; when it is right, end phxd and "
		       "run phxd "
		       "--accept-clock",
		       (long long)held_ms / DAY_MS);
}

static int accept_journal(struct engine *e, struct phx_err *err)
{
	uint64_t missing;
	int r = phx_store_accept(e->store, &missing, err);
	if (r == 0 && (missing || phx_store_last(e->store))) /* no more jobs than events are lost */
		r = notice(e, "", missing,
			   "the journal was accepted as it is, up to event %llu; %llu acknowledged "
			   "events are missing",
			   (unsigned long long)phx_store_last(e->store),
			   (unsigned long long)missing);
	return r;
}

static const char damaged_advice[] =
	"restore it, or go on with what is there: phxd --accept-journal";
/* after a clean end there is a snapshot of everything, and the next version decides no event again
 */
static const char replay_advice[] = "if phxd was upgraded without a clean end: start the version "
				    "that wrote the journal, end it "
				    "with systemctl stop phxd, then upgrade";

static void add_advice(const struct engine *e, int code, const char *advice, struct phx_err *err)
{
	struct phx_err why = *err;
	phx_err_clear(err);
	phx_err_set(err, code, "%s: %s; %s", e->config.journal, why.text, advice);
}

static void add_replay_advice(const struct engine *e, struct phx_err *err)
{
	char advice[400], version[PHX_STORE_VERSION_MAX];
	phx_store_version_of(e->store, INT64_MAX, version);
	snprintf(advice, sizeof(advice), "%s%s%s", replay_advice,
		 version[0] ? "; this is " PHX_VERSION ", and it was written by " : "", version);
	add_advice(e, -EPROTO, advice, err);
}

/* A disk that is full now will tell by itself. */
static void note_version(struct engine *e)
{
	struct phx_err err = {0};
	if (phx_store_note_version(e->store, PHX_VERSION, &err) < 0)
		notice(e, "", 0, "which version decides is not recorded: %.150s", err.text);
}

/* ---- what the journal calls ---- */

static uint64_t draw(void *arg)
{
	uint64_t number = 0;
	(void)arg;
	(void)!getrandom(&number, sizeof(number), 0);
	return number;
}

static int act(void *arg, const struct phx_action *action)
{
	struct engine *e = arg;
	return e->config.act(e->config.arg, action);
}

static void committed(void *arg, uint64_t seq)
{
	struct engine *e = arg;
	e->config.committed(e->config.arg, seq);
}

static void snapshot_due(void *arg)
{
	struct engine *e = arg;
	pthread_mutex_lock(&e->lock);
	e->n_due++;
	pthread_cond_signal(&e->wanted);
	pthread_mutex_unlock(&e->lock);
}

static void *take_snapshots(void *arg)
{
	struct engine *e = arg;
	pthread_mutex_lock(&e->lock);
	while (!e->closed) {
		unsigned n = e->n_due;
		if (n == e->n_taken) {
			pthread_cond_wait(&e->wanted, &e->lock);
			continue;
		}
		pthread_mutex_unlock(&e->lock);
		phx_journal_snapshot(e->journal);
		pthread_mutex_lock(&e->lock);
		e->n_taken = n;
	}
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

static int sign(void *arg, const char *record, char ret[PHX_JOURNAL_SIGNATURE_MAX],
		struct phx_err *err)
{
	const struct engine *e = arg;
	_Static_assert((int)PHX_ANCHOR_SIGNATURE_MAX == (int)PHX_JOURNAL_SIGNATURE_MAX, "one size");
	return e->signer.sign(e->signer.arg, record, ret, err);
}

int engine_attests(struct engine *e, const char *pub_pem_path, struct phx_err *err)
{
	return phx_pub_fingerprint(pub_pem_path, e->attest_fp, err);
}

uint64_t engine_verified(const struct engine *e, uint64_t *ret_uncovered)
{
	*ret_uncovered = e->uncovered;
	return e->verified;
}

const char *engine_attest_key(const struct engine *e)
{
	return e->attest_fp;
}

static int bring_back(struct engine *e, struct phx_err *ret_damage, struct phx_err *err)
{
	struct phx_journal_config config = {.store = phx_journal_on_sqlite(e->store),
					    .clock = e->config.clock,
					    .accept_clock = e->config.accept_clock,
					    .snapshot_every = e->config.snapshot_every,
					    .keep_days = e->config.keep_days,
					    .draw = draw,
					    .act = act,
					    .sign = e->signer.sign ? sign : NULL,
					    .attester = {e->attests.sign ? &e->attests : NULL,
							 e->attest_fp, e->config.attestation_days},
					    .snapshot_due = snapshot_due,
					    .committed = committed,
					    .arg = e};
	return phx_journal_open(&config, &e->journal, ret_damage, err);
}

/* Signs where the chain of hashes begins, so that nobody can move that later. Events before it are
 * told once. */
static void seal(struct engine *e, enum phx_anchor_kind kind, const struct phx_store_findings *f)
{
	struct phx_err err = {0};
	int r = phx_store_seal(e->store, kind, &err);
	if (r < 0)
		notice(e, "", 0, "where the journal's chain begins is not signed: %.150s",
		       err.text);
	else if (r > 0 && kind == PHX_ANCHOR_BEGUN)
		notice(e, "", 0,
		       "the journal's chain begins after event %llu: no hash says that what was "
		       "before is as it was written",
		       (unsigned long long)f->uncovered);
}

static int open_journal(struct engine *e, struct phx_err *err)
{
	struct phx_store_findings found;
	struct phx_err damage = {0};
	int r = phx_store_open(e->config.journal, &e->store, err);
	if (r == 0 && e->config.accept_journal)
		r = accept_journal(e, err);
	if (r == 0)
		phx_store_sign_with(e->store, &e->signer);
	r = r ? r : phx_store_verify(e->store, &found, err);
	if (r == -EBADMSG || r == -ENODATA)
		add_advice(e, r, damaged_advice, err);
	if (r < 0)
		return r;
	e->verified = phx_store_last(e->store);
	e->uncovered = found.uncovered;
	r = bring_back(e, &damage, err);
	if (r == -EPROTO)
		add_replay_advice(e, err);
	if (r == 0)
		tell_findings(e, &found, &damage);
	if (r == 0)
		seal(e, e->config.accept_journal ? PHX_ANCHOR_ACCEPTED : PHX_ANCHOR_BEGUN, &found);
	if (r == 0)
		note_version(e);
	return r;
}

int engine_open(const struct engine_config *config, struct engine **ret, struct phx_err *err)
{
	struct engine *e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->config = *config;
	e->signer = config->signer;
	e->attests = config->attester;
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->wanted, NULL);
	int r = open_journal(e, err);
	r = r ? r : -pthread_create(&e->snapshots, NULL, take_snapshots, e);
	e->taking = r == 0;
	if (r < 0) {
		engine_close(e);
		return r;
	}
	*ret = e;
	return 0;
}

void engine_close(struct engine *e)
{
	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	e->closed = true;
	pthread_cond_signal(&e->wanted);
	pthread_mutex_unlock(&e->lock);
	if (e->taking)
		pthread_join(e->snapshots, NULL);
	phx_journal_close(e->journal, true);
	phx_store_close(e->store);
	phx_list_fini(&e->notices);
	pthread_cond_destroy(&e->wanted);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

/* ---- events ---- */

/* Tells on standard error, once, that trouble with the journal begins or ends. Returns it. */
static int tell_trouble(struct engine *e)
{
	struct phx_err why = {0};
	int trouble = phx_journal_status(e->journal, &why);
	pthread_mutex_lock(&e->lock);
	bool news = trouble != e->trouble;
	e->trouble = trouble;
	pthread_mutex_unlock(&e->lock);
	if (news && trouble)
		fprintf(stderr, "phxd: %s: %s\n",
			trouble == -EROFS ? "read-only, nothing is acknowledged"
					  : "it ends, to be started again",
			why.text);
	else if (news)
		fprintf(stderr, "phxd: the journal takes events again\n");
	return trouble;
}

static void tell_ended(struct engine *e, int r, const struct phx_outcome *out)
{
	if (r == 0 && out->ended.n && e->config.ended)
		e->config.ended(e->config.arg, &out->ended);
}

int engine_submit(struct engine *e, struct phx_event *ev, struct phx_outcome *ret,
		  struct phx_err *err)
{
	struct phx_outcome out = {0};
	int r = phx_journal_submit(e->journal, ev, &out, err);
	tell_ended(e, r, &out);
	if (r == 0 && ret)
		*ret = out;
	else
		phx_outcome_fini(&out);
	if (r < 0)
		tell_trouble(e);
	return r;
}

void engine_submit_each(struct engine *e, struct phx_event *ev, struct phx_each *each, uint32_t n)
{
	phx_journal_submit_each(e->journal, ev, each, n);
	for (uint32_t i = 0; i < n; i++)
		tell_ended(e, each[i].result, &each[i].out);
	tell_trouble(e);
}

void engine_resume(struct engine *e)
{
	phx_journal_resume(e->journal);
	e->resumed = true;
	engine_tell(e);
}

const struct phx_state *engine_lock(struct engine *e)
{
	const struct phx_state *s = phx_journal_lock(e->journal);
	e->looker = pthread_self();
	return s;
}

void engine_unlock(struct engine *e)
{
	e->looker = 0; /* nobody */
	phx_journal_unlock(e->journal);
}

bool engine_is_locked(const struct engine *e)
{
	return e->looker == pthread_self();
}

/* A tick that cannot be carried out at all (-EPROTO, an error of the program) is tried more and
 * more rarely, so that the head has time for all else. Returns when to tick again, in ms. */
static int64_t tick(struct engine *e)
{
	struct phx_event ev = {.kind = PHX_EV_tick, .by = "phxd"};
	struct phx_err err = {0};
	int64_t left = e->again_at_ms - engine_now(e);
	if (left > 0)
		return left;
	if (engine_submit(e, &ev, NULL, &err) != -EPROTO) {
		e->again_ms = e->again_at_ms = 0;
		return TICK_AGAIN_MS;
	}
	if (!e->again_ms)
		fprintf(stderr, "phxd: %s\n", err.text);
	e->again_ms = e->again_ms ? 2 * e->again_ms : TICK_AGAIN_MS;
	if (e->again_ms > TICK_MOST_MS)
		e->again_ms = TICK_MOST_MS;
	e->again_at_ms = engine_now(e) + e->again_ms;
	return e->again_ms;
}

int engine_tick(struct engine *e, int max_ms)
{
	phx_journal_probe(e->journal);
	int trouble = tell_trouble(e);
	if (trouble == -EAGAIN)
		return -EIO;
	if (phx_journal_clock_believe(e->journal))
		engine_notice(e, "",
			      "the clock is kept synchronised: it is believed again, and time is "
			      "what it says");
	if (!trouble && e->resumed)
		engine_tell(e);
	int64_t next = phx_core_next_deadline(engine_lock(e));
	engine_unlock(e);
	int64_t left = next - engine_now(e);
	if (left <= 0)
		left = tick(e);
	/* while the store refuses, a deadline that has passed stays so */
	int64_t retry = phx_journal_retry_in(e->journal);
	left = left > retry ? left : retry;
	return left < max_ms ? (int)left : max_ms;
}

const struct phx_signer *engine_signer(const struct engine *e)
{
	return &e->signer;
}

struct phx_store *engine_store(struct engine *e)
{
	return e->store;
}

bool engine_readonly(struct engine *e, struct phx_err *ret)
{
	return phx_journal_status(e->journal, ret) < 0;
}
