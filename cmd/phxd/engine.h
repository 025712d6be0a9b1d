/* The engine: all events go through it. Opens the daemon's journal (lib/journal on SQLite, the
 * clocks of this machine), tells people what it finds, and keeps notices until they can be
 * journalled. Thread-safe. */
#ifndef PHXD_ENGINE_H
#define PHXD_ENGINE_H

#include "core/core.h"
#include "journal/journal.h"
#include "pki/pki.h"
#include "store/store.h"

struct engine;

/** Carries out one action, as phx_journal_config.act. */
typedef int (*engine_act_fn)(void *arg, const struct phx_action *act);
/** Called after each commit; `seq` is the number of the last event. */
typedef void (*engine_commit_fn)(void *arg, uint64_t seq);
/** Called with the steps that ended in a committed event (struct phx_step_end), for metrics; must
 * return at once. */
typedef void (*engine_ended_fn)(void *arg, const struct phx_list *ended);

struct engine_config {
	const char *journal;
	uint32_t snapshot_every;
	uint32_t keep_days; /* older events are removed after a snapshot; 0: none are */
	/* signs erase records, anchors and where the journal begins; `sign` NULL: these stay
	 * unsigned */
	struct phx_signer signer;
	/* likewise signs attestations of erases, which are valid for so many days */
	struct phx_signer attester;
	uint32_t attestation_days;
	engine_act_fn act;
	engine_commit_fn committed;
	engine_ended_fn ended; /* may be NULL */
	void *arg;
	bool accept_journal; /* accept it as it is, whatever is missing or changed in it */
	struct phx_clock_source clock;
	bool accept_clock; /* accept it, however far it is ahead of the last event */
};

struct launch;
/** The clocks of this machine (clock.c). The launcher (borrowed) says whether they are
 * synchronised. */
struct phx_clock_source clock_source(struct launch *l);
/** For the launcher: are they synchronised? */
bool clock_is_kept(void);

/** Opens the journal, verifies it and restores the state: the newest snapshot, then the events
 * after it, which must result in the recorded actions (-EPROTO otherwise, naming the event).
 * -EBADMSG, -ENODATA: see phx_store_verify(), phx_journal_recall(). Findings that are no reason to
 * stop become notices. */
int engine_open(const struct engine_config *config, struct engine **ret, struct phx_err *err);
/** The key that signs attestations exists, and its public half is the file `pub_pem_path`. Call it
 * before the first event that changes something. */
int engine_attests(struct engine *e, const char *pub_pem_path, struct phx_err *err);
/** The last event of the journal when it was opened; up to there its chain of hashes was verified
 * then. Events up to ret_uncovered have no hash. */
uint64_t engine_verified(const struct engine *e, uint64_t *ret_uncovered);
/** Fingerprint of the key that signs attestations; "": none yet. Borrowed. */
const char *engine_attest_key(const struct engine *e);
/** Takes a last snapshot. Safe on NULL. */
void engine_close(struct engine *e);

/** Tells people: on standard error at once, and by an event (of RE `re`, or "") as soon as
 * possible. Not under the engine's lock. */
void engine_notice(struct engine *e, const char *re, const char *text);

/** Journals the notices that wait; engine_resume() does it too. Notices that cannot be journalled
 * now are kept for a later call. Returns the last error. */
int engine_tell(struct engine *e);

/** Core time in milliseconds: see journal/core_clock.h. */
int64_t engine_now(struct engine *e);

/** As phx_journal_submit(). */
int engine_submit(struct engine *e, struct phx_event *ev, struct phx_outcome *ret,
		  struct phx_err *err);

/** As phx_journal_submit_each(). */
void engine_submit_each(struct engine *e, struct phx_event *ev, struct phx_each *each, uint32_t n);

/** Issues the actions again that were under way when the daemon ended. Call it once, when all parts
 * are ready. */
void engine_resume(struct engine *e);

/** Locks the engine. The state, borrowed until engine_unlock(). */
const struct phx_state *engine_lock(struct engine *e);
void engine_unlock(struct engine *e);
/** Does this thread hold the lock? For asserts of functions that take too long to run under it. */
bool engine_is_locked(const struct engine *e);

/** Submits a tick if one is due; returns milliseconds until the next, at most `max_ms`. Negative:
 * the journal has ended, so the daemon must end. */
int engine_tick(struct engine *e, int max_ms);

/** Signs with the site's key, which the vault has. Borrowed. */
const struct phx_signer *engine_signer(const struct engine *e);
struct phx_store *engine_store(struct engine *e);
/** Is the journal read-only? Copies the reason into `ret`. */
bool engine_readonly(struct engine *e, struct phx_err *ret);

#endif
