/* Triggers: what has one workflow submitted again and again, because a file came, time has passed,
 * a command printed something new, or somebody called. Here is what one is, as people write it and
 * as the core keeps it, and what its firing brings about: a run at once, or, while as many runs as
 * it may have are not over, what it asks for. Who submits the run, and who may what, is
 * job/triggers.c. Used by lib/state, lib/job, phxd and the command line. Pure.
 *
 *	fire ─▶ phx_trigger_fire() ──▶ waiting ──▶ phx_trigger_next() ─▶ phx_trigger_begun()
 *	                 │                 ▲                                    │
 *	                 ├ coalesced ──────┘        phx_trigger_over() ◀────────┘ its run ended
 *	                 └ skipped
 */
#ifndef PHX_FLOW_TRIGGER_H
#define PHX_FLOW_TRIGGER_H

#include "base/identity.h"
#include "base/key.h"
#include "flow/seen.h"

enum phx_trigger_kind { PHX_TRIGGER_FILE, PHX_TRIGGER_TIME, PHX_TRIGGER_COMMAND, PHX_TRIGGER_HTTP };
extern const struct phx_enum phx_trigger_kind_names;

/** States: flow/trigger_life.def. */
enum phx_trigger_state {
	PHX_TRIGGER_ACTIVE,
	PHX_TRIGGER_PAUSED,  /* by a person */
	PHX_TRIGGER_STOPPED, /* its user may not submit there any more */
};
extern const struct phx_enum phx_trigger_state_names;
/** Does the life of a trigger have this step? */
bool phx_trigger_may(enum phx_trigger_state from, enum phx_trigger_state to);

/** What becomes of a firing while as many runs as there may be are not over. */
enum phx_trigger_busy {
	PHX_TRIGGER_COALESCE, /* one run for all of them, when one is over */
	PHX_TRIGGER_QUEUE,    /* a run each, one after the other */
	PHX_TRIGGER_SKIP,
};
extern const struct phx_enum phx_trigger_busy_names;

/** What became of one. */
enum phx_trigger_came {
	PHX_TRIGGER_CAME_WAITS, /* a run of its own is to begin, at once or later */
	PHX_TRIGGER_CAME_COALESCED,
	PHX_TRIGGER_CAME_SKIPPED,
	PHX_TRIGGER_CAME_BEGUN,
};
extern const struct phx_enum phx_trigger_came_names;

#define PHX_TRIGGER_HOOK "/hook/"
#define PHX_TRIGGER_WORDS_MAX 64
#define PHX_TRIGGER_QUEUE_MAX 10000
#define PHX_TRIGGER_RUNS_MAX 100
#define PHX_TRIGGER_LAST 16           /* firings that are told of */
#define PHX_TRIGGER_PATH_MAX 160      /* bytes of a file's path from the RE's directory on */
#define PHX_TRIGGER_EVERY_MIN_MS 1000 /* of a command: five times as long */

/* ---- as people write it ---- */

#define PHX_TRIGGER_WHEN_FIELDS(F, S) \
	F(S, file, STR(256), \
	  KEY(file, LINE, "", \
	      "When a file that meets this pattern is written and closed, or moved there: a path " \
	      "below the directory of its user in the RE's data directory (users/NAME), or below " \
	      "that directory itself where the user owns the RE. *, ? and [a-z] stand for what " \
	      "they do in a shell, within one part of the path.")) \
	F(S, stable_ms, I64, \
	  KEY(stable, SPAN, "0", "With file: only when it has not changed for so long, \"5s\".")) \
	F(S, every_ms, I64, \
	  KEY(every, SPAN, "0", \
	      "Whenever so much time has passed, \"15m\"; at least a second. With command: how " \
	      "often that runs; at least 5 seconds.")) \
	F(S, command, LIST(phx_word), \
	  KEY(command, WORDS(64), "", \
	      "When this command, which runs as a task of the RE with one core, ends with exit " \
	      "status 0 and has printed something else than the last time that it did.")) \
	F(S, http, STR(80), \
	  KEY(http, LINE, "", \
	      "When somebody calls this path of phxd (HTTPS) with the trigger's token: /hook/ " \
	      "and " \
	      "the trigger's name."))
PHX_RECORD_STRUCT(phx_trigger_when, PHX_TRIGGER_WHEN_FIELDS);

#define PHX_TRIGGER_HOW_FIELDS(F, S) \
	F(S, when, REC(phx_trigger_when), \
	  KEY(when, GROUP, PHX_REQUIRED, \
	      "What fires it: exactly one of file, every, command (with every) and http.")) \
	F(S, existing, BOOL, \
	  KEY(existing, YES, "false", \
	      "Fire also for files that are there when the trigger is made, and for the first " \
	      "that " \
	      "the command prints.")) \
	F(S, when_busy, ENUM(phx_trigger_busy), \
	  KEY(when_busy, CHOICE, "coalesce", \
	      "What becomes of a firing while at_once runs are not over: coalesce (one run for " \
	      "all " \
	      "that come until then), queue (a run each) or skip.")) \
	F(S, queue_max, U32, \
	  KEY(queue_max, NUMBER(1, 10000), "1000", \
	      "With queue: so many wait; those beyond are skipped, and counted.")) \
	F(S, at_once, U32, \
	  KEY(at_once, NUMBER(1, 100), "1", "Runs of it that may be open at once."))

#define PHX_TRIGGER_SPEC_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), \
	  KEY(name, NAME, PHX_REQUIRED, "Of the trigger: one name on the whole head.")) \
	F(S, re, STR(PHX_NAME_MAX), \
	  KEY(re, LINE, "", "The RE, of type many_tasks; --re says it instead.")) \
	F(S, workflow, STR(256), \
	  KEY(workflow, TEXT(1, 255), PHX_REQUIRED, \
	      "The file of the workflow, in any form, from this file's directory on. It is kept " \
	      "as " \
	      "it is now.")) \
	PHX_TRIGGER_HOW_FIELDS(F, S)
PHX_RECORD_STRUCT(phx_trigger_spec, PHX_TRIGGER_SPEC_FIELDS);

/** Is it whole, and of which kind? -EINVAL "MEMBER: what would be right". */
int phx_trigger_spec_check(const struct phx_trigger_spec *spec, enum phx_trigger_kind *ret,
			   struct phx_err *err);

/* ---- as the core keeps it ---- */

/** What fired: `what` the path of a file, from the RE's directory on, the time, the caller. */
#define PHX_TRIGGER_CAUSE_FIELDS(F, S) \
	F(S, at_ms, I64) \
	F(S, what, TEXT) \
	/* SHA-256 of what fired: of a file its path, size, time and number; of a command what it \
	 * printed; of a call its body; of time the moment, in milliseconds */ \
	F(S, digest, STR(65)) \
	F(S, n, U32) /* firings that it stands for */
PHX_RECORD_STRUCT(phx_trigger_cause, PHX_TRIGGER_CAUSE_FIELDS);

/** One of the last firings, for people. */
#define PHX_TRIGGER_FIRING_FIELDS(F, S) \
	F(S, at_ms, I64) \
	F(S, what, TEXT) \
	F(S, digest, STR(65)) \
	F(S, came, ENUM(phx_trigger_came)) \
	F(S, run, U64) /* BEGUN: its run */
PHX_RECORD_STRUCT(phx_trigger_firing, PHX_TRIGGER_FIRING_FIELDS);

/** As whom its runs are submitted, and by which right: asked for at each of them. */
#define PHX_TRIGGER_USER_FIELDS(F, S) \
	F(S, owner, STR(PHX_IDENTITY_MAX)) /* who made it */ \
	F(S, uid, U32) \
	F(S, gid, U32) \
	F(S, user, STR(PHX_NAME_MAX)) \
	F(S, must_be_member, BOOL) /* as with workflow_submit */ \
	F(S, group, STR(PHX_NAME_MAX))

/** A workflow as phxd keeps it: its digest, and its shape, which was checked. */
#define PHX_TRIGGER_FLOW_FIELDS(F, S) \
	F(S, digest, STR(65)) \
	F(S, n_tasks, U32) \
	F(S, shape, LIST(phx_text))
PHX_RECORD_STRUCT(phx_trigger_flow, PHX_TRIGGER_FLOW_FIELDS);

#define PHX_TRIGGER_FIELDS(F, S) \
	F(S, id, U64) \
	F(S, name, STR(PHX_NAME_MAX)) \
	F(S, re, STR(PHX_NAME_MAX)) \
	F(S, kind, ENUM(phx_trigger_kind)) \
	F(S, state, ENUM(phx_trigger_state)) \
	PHX_TRIGGER_USER_FIELDS(F, S) \
	PHX_TRIGGER_HOW_FIELDS(F, S) \
	F(S, whole, BOOL) /* file: below all of the RE's directory, whose owner its user is */ \
	F(S, workflow, STR(PHX_NAME_MAX)) /* as its file has it; may be "" */ \
	F(S, flow, REC(phx_trigger_flow)) \
	F(S, look, REC(phx_trigger_flow)) /* command: the workflow of that one task */ \
	F(S, token_sha256, STR(65))       /* http */ \
	F(S, created_ms, I64) \
	F(S, next_ms, I64)  /* every: when it is due */ \
	F(S, again_ms, I64) /* a run could not begin: when it is tried again */ \
	F(S, why, TEXT)     /* why; or why it is STOPPED; NULL */ \
	F(S, paused_by, STR(PHX_NAME_MAX)) \
	F(S, seen, LIVE(struct phx_seen, phx_seen_live)) /* file; NULL until there is one */ \
	F(S, printed_sha256, \
	  STR(65))               /* command: by its last run that ended with 0; "" none did */ \
	F(S, look_run, U64)      /* command: its run that is not over; 0 none */ \
	F(S, look_news, STR(65)) /* what that one has printed; "" it has not ended with 0 */ \
	F(S, forget_run, U64)    /* a run of the command that is over and not wanted */ \
	F(S, n_open, U32)        /* runs that are not over */ \
	F(S, n_fired, U64) \
	F(S, n_begun, U64) \
	F(S, n_coalesced, U64) \
	F(S, n_skipped, U64) \
	F(S, n_looks, U64) \
	F(S, waiting, LIST(phx_trigger_cause)) /* the first `n_taken` of them are begun */ \
	F(S, n_taken, U32) \
	F(S, last, LIST(phx_trigger_firing)) /* the last at the end */
PHX_RECORD_STRUCT(phx_trigger, PHX_TRIGGER_FIELDS);

/** Causes that wait for their run. */
static inline uint32_t phx_trigger_n_waiting(const struct phx_trigger *t)
{
	return t->waiting.n - t->n_taken;
}

/** It fires; of `what` and `digest` copies are kept. What became of it, or -ENOMEM: it did not. */
int phx_trigger_fire(struct phx_trigger *t, const struct phx_trigger_cause *cause);
/** The cause whose run begins now; NULL: none does. Borrowed until phx_trigger_begun(). */
const struct phx_trigger_cause *phx_trigger_next(const struct phx_trigger *t, int64_t now_ms);
/** It began, as `run`. */
void phx_trigger_begun(struct phx_trigger *t, uint64_t run);
/** One of its runs is over, or, resumed, open again. */
void phx_trigger_over(struct phx_trigger *t);
void phx_trigger_reopened(struct phx_trigger *t);
/** Did a firing with that digest come lately? */
bool phx_trigger_had(const struct phx_trigger *t, const char *digest);

/** Its moment has come: the next is the first of its row that lies ahead. What was missed is not
 * made up. */
void phx_trigger_moment(struct phx_trigger *t, int64_t now_ms);
/** When something of it is due; INT64_MAX never. */
int64_t phx_trigger_due(const struct phx_trigger *t);

/** What tasks of the run of a cause find in their environment, "NAME=value", appended to a list of
 * struct phx_text. -ENOMEM. */
int phx_trigger_vars(const struct phx_trigger *t, const struct phx_trigger_cause *c,
		     struct phx_list *ret);
/** A word of a workflow with what those say in it: "{trigger.file}" the path, "{trigger.name}" its
 * last part, "{trigger.stem}" that without what follows its last dot, "{trigger.digest}". malloc'd;
 * NULL: no memory. */
char *phx_trigger_fill(const char *word, const struct phx_list *vars);
/** So long may the path of a file be, from the directory on that is watched. */
size_t phx_trigger_path_max(const struct phx_trigger *t);
/** May it wait for a file of that path, from the same directory on? */
bool phx_trigger_awaits(const struct phx_trigger *t, const char *path);
/** Does a word ask for one? For one that only a file has? */
bool phx_trigger_asks(const char *word);
bool phx_trigger_asks_file(const char *word);

#endif
