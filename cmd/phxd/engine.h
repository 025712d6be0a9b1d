/* The engine: the one door through which events come in. Opens the journal of
 * the daemon (lib/journal on SQLite, the clocks of this machine), tells people
 * what it finds, and keeps what is to be told. Thread-safe. */
#ifndef PHXD_ENGINE_H
#define PHXD_ENGINE_H

#include "core/core.h"
#include "journal/journal.h"
#include "pki/pki.h"
#include "store/store.h"

struct engine;

/** Carries out one action, as phx_journal_config.act. */
typedef int (*engine_act_fn)(void *arg, const struct phx_action *act);
/** Told after each commit; `seq` is the last event's. */
typedef void (*engine_commit_fn)(void *arg, uint64_t seq);

struct engine_config {
	const char *journal;
	uint32_t snapshot_every;
	uint32_t keep_days; /* older events go after a snapshot; 0 = none */
	/* signs erase records, and what is said of the journal; `sign` NULL: that is not signed */
	struct phx_signer signer;
	/* signs attestations of erases, which count for so many days; likewise */
	struct phx_signer attester;
	uint32_t attestation_days;
	engine_act_fn act;
	engine_commit_fn committed;
	void *arg;
	bool accept_journal; /* as it is, whatever is missing or changed in it */
	struct phx_clock_source clock;
	bool accept_clock; /* however far it is ahead of the last event */
};

struct launch;
/** The clocks of this machine (clock.c), of which the launcher (borrowed) says whether they are
 * kept right. */
struct phx_clock_source clock_source(struct launch *l);
/** By the launcher: are they? */
bool clock_is_kept(void);

/** Open the journal, verify it and bring the state back: newest snapshot, then the events after it,
 * whose actions must come out as they were recorded (-EPROTO otherwise, naming the event).
 * -EBADMSG, -ENODATA: phx_store_verify(), phx_journal_recall(). What is no reason to stop is
 * told. */
int engine_open(const struct engine_config *config, struct engine **ret, struct phx_err *err);
/** The key that signs attestations is there, and its public half is that file: before the first
 * event that changes something. */
int engine_attests(struct engine *e, const char *pub_pem_path, struct phx_err *err);
/** The last event of the journal when it was opened: up to there its chain was verified then. Up to
 * ret_uncovered no hash says that events are as they were written. */
uint64_t engine_verified(const struct engine *e, uint64_t *ret_uncovered);
/** Fingerprint of that key; "" there is none yet. Borrowed. */
const char *engine_attest_key(const struct engine *e);
/** Takes a last snapshot. Safe on NULL. */
void engine_close(struct engine *e);

/** Tell people: on standard error now, and by an event (of RE `re`, or "") as soon as that can be.
 * Not with the lock. */
void engine_notice(struct engine *e, const char *re, const char *text);

/** Journal what engine_notice() was told before anything stood; engine_resume() does it too. What
 * the journal refuses now is kept, and told by a later call; the first error. */
int engine_tell(struct engine *e);

/** Core time, milliseconds: see journal/core_clock.h. */
int64_t engine_now(struct engine *e);

/** As phx_journal_submit(). */
int engine_submit(struct engine *e, struct phx_event *ev, struct phx_outcome *ret,
		  struct phx_err *err);

/** As phx_journal_submit_each(). */
void engine_submit_each(struct engine *e, struct phx_event *ev, struct phx_each *each, uint32_t n);

/** Issue again what was under way when the daemon ended. Call once, after everything stands. */
void engine_resume(struct engine *e);

/** Look at the state under the lock. */
const struct phx_state *engine_lock(struct engine *e);
void engine_unlock(struct engine *e);
/** Is this thread between the two? For asserts of what takes longer than everybody may be kept
 * waiting. */
bool engine_is_locked(const struct engine *e);

/** Submit a tick if one is due; returns milliseconds until the next, at most `max_ms`. Negative:
 * the journal has ended, and the daemon must. */
int engine_tick(struct engine *e, int max_ms);

/** Signs with the site's key, wherever that is; borrowed. */
const struct phx_signer *engine_signer(const struct engine *e);
struct phx_store *engine_store(struct engine *e);
/** Why nothing can be journalled, copied into `ret`; false when all is well. */
bool engine_readonly(struct engine *e, struct phx_err *ret);

#endif
