/* Triggers: a trigger submits one workflow again and again, because a file came, time has passed, a
 * command printed something new, or somebody called. Defines a trigger as people write it and as
 * the core keeps it, and decides what a firing leads to: a run at once, or, while the allowed
 * number of runs is open, what when_busy says. job/triggers.c submits the runs and checks the
 * rights. Used by lib/state, lib/job, phxd and the command line. Pure.
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
/** May `to` follow `from` in the life of a trigger? */
bool phx_trigger_may(enum phx_trigger_state from, enum phx_trigger_state to);

/** What happens to a firing while as many runs are open as may be. */
enum phx_trigger_busy {
	PHX_TRIGGER_COALESCE, /* one run for all of them, when a run has ended */
	PHX_TRIGGER_QUEUE,    /* a run for each, one after the other */
	PHX_TRIGGER_SKIP,
};
extern const struct phx_enum phx_trigger_busy_names;

/** What happened to a firing. */
enum phx_trigger_came {
	PHX_TRIGGER_CAME_WAITS, /* it gets a run of its own, at once or later */
	PHX_TRIGGER_CAME_COALESCED,
	PHX_TRIGGER_CAME_SKIPPED,
	PHX_TRIGGER_CAME_BEGUN,
};
extern const struct phx_enum phx_trigger_came_names;

#define PHX_TRIGGER_HOOK "/hook/"
#define PHX_TRIGGER_WORDS_MAX 64
#define PHX_TRIGGER_QUEUE_MAX 10000
#define PHX_TRIGGER_RUNS_MAX 100
#define PHX_TRIGGER_LAST 16           /* firings that are kept for display */
#define PHX_TRIGGER_PATH_MAX 160      /* bytes of a file's path, relative to the RE's directory */
#define PHX_TRIGGER_EVERY_MIN_MS 1000 /* for a command: five times as long */

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

/** Checks a specification and finds its kind. -EINVAL "MEMBER: what would be right". */
int phx_trigger_spec_check(const struct phx_trigger_spec *spec, enum phx_trigger_kind *ret,
			   struct phx_err *err);

/* ---- as the core keeps it ---- */

/** What fired; `what`: the path of a file, relative to the RE's directory, the time, or the
 * caller. */
#define PHX_TRIGGER_CAUSE_FIELDS(F, S) \
	F(S, at_ms, I64) \
	F(S, what, TEXT) \
	/* SHA-256 of what fired: for a file its path, size, time and inode number; for a command \
	 * its output; for a call its body; for time the moment, in milliseconds */ \
	F(S, digest, STR(65)) \
	F(S, n, U32) /* number of firings that it stands for */
PHX_RECORD_STRUCT(phx_trigger_cause, PHX_TRIGGER_CAUSE_FIELDS);

/** One of the last firings, for people. */
#define PHX_TRIGGER_FIRING_FIELDS(F, S) \
	F(S, at_ms, I64) \
	F(S, what, TEXT) \
	F(S, digest, STR(65)) \
	F(S, came, ENUM(phx_trigger_came)) \
	F(S, run, U64) /* BEGUN: its run */
PHX_RECORD_STRUCT(phx_trigger_firing, PHX_TRIGGER_FIRING_FIELDS);

/** The user as whom its runs are submitted, and by which right, which is checked at each
 * submission. */
#define PHX_TRIGGER_USER_FIELDS(F, S) \
	F(S, owner, STR(PHX_IDENTITY_MAX)) /* who made it */ \
	F(S, uid, U32) \
	F(S, gid, U32) \
	F(S, user, STR(PHX_NAME_MAX)) \
	F(S, must_be_member, BOOL) /* as with workflow_submit */ \
	F(S, group, STR(PHX_NAME_MAX))

/** A workflow as phxd keeps it: its digest, and its shape, which was checked when it was
 * submitted. */
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
	F(S, whole, BOOL) /* file: watches all of the RE's directory, for its user owns the RE */ \
	F(S, workflow, STR(PHX_NAME_MAX)) /* its name in its file; may be "" */ \
	F(S, flow, REC(phx_trigger_flow)) \
	F(S, look, REC(phx_trigger_flow)) /* command: a workflow of that one task */ \
	F(S, token_sha256, STR(65))       /* http */ \
	F(S, created_ms, I64) \
	F(S, next_ms, I64)  /* every: when it is due */ \
	F(S, again_ms, I64) /* when a run that could not begin is tried again */ \
	F(S, why, TEXT)     /* why it could not, or why it is STOPPED; NULL */ \
	F(S, paused_by, STR(PHX_NAME_MAX)) \
	F(S, seen, LIVE(struct phx_seen, phx_seen_live)) /* file; NULL until the first one */ \
	F(S, printed_sha256, \
	  STR(65))               /* command: of its last run that ended with 0; "" none did */ \
	F(S, look_run, U64)      /* command: its open run; 0 none */ \
	F(S, look_news, STR(65)) /* digest of that run's output; "" it has not ended with 0 */ \
	F(S, forget_run, U64)    /* an ended run of the command, to be forgotten */ \
	F(S, n_open, U32)        /* open runs */ \
	F(S, n_fired, U64) \
	F(S, n_begun, U64) \
	F(S, n_coalesced, U64) \
	F(S, n_skipped, U64) \
	F(S, n_looks, U64) \
	F(S, waiting, LIST(phx_trigger_cause)) /* the first `n_taken` of them have begun */ \
	F(S, n_taken, U32) \
	F(S, last, LIST(phx_trigger_firing)) /* oldest first */
PHX_RECORD_STRUCT(phx_trigger, PHX_TRIGGER_FIELDS);

/** Number of causes that wait for a run. */
static inline uint32_t phx_trigger_n_waiting(const struct phx_trigger *t)
{
	return t->waiting.n - t->n_taken;
}

/** The trigger fires; `what` and `digest` are copied. Returns enum phx_trigger_came, or -ENOMEM: it
 * did not fire. */
int phx_trigger_fire(struct phx_trigger *t, const struct phx_trigger_cause *cause);
/** The cause whose run may begin now; NULL: none. Borrowed until phx_trigger_begun(). */
const struct phx_trigger_cause *phx_trigger_next(const struct phx_trigger *t, int64_t now_ms);
/** The run of that cause began, as number `run`. */
void phx_trigger_begun(struct phx_trigger *t, uint64_t run);
/** One of its runs has ended; or a resumed one is open again. */
void phx_trigger_over(struct phx_trigger *t);
void phx_trigger_reopened(struct phx_trigger *t);
/** Does one of the last firings have this digest? */
bool phx_trigger_had(const struct phx_trigger *t, const char *digest);

/** The time next_ms has come: sets it to the next multiple of the period that lies ahead. Missed
 * moments are not made up for. */
void phx_trigger_moment(struct phx_trigger *t, int64_t now_ms);
/** When it needs attention next; INT64_MAX never. */
int64_t phx_trigger_due(const struct phx_trigger *t);

/** Appends the environment of tasks of a cause's run, "NAME=value", to a list of struct phx_text.
 * -ENOMEM. */
int phx_trigger_vars(const struct phx_trigger *t, const struct phx_trigger_cause *c,
		     struct phx_list *ret);
/** Replaces placeholders in a word of a workflow by those variables: "{trigger.file}" the path,
 * "{trigger.name}" its last part, "{trigger.stem}" the name without its last dot and what follows
 * (whole if it begins with a dot), "{trigger.digest}". malloc'd; NULL: out of memory. */
char *phx_trigger_fill(const char *word, const struct phx_list *vars);
/** The longest path of a file, relative to the watched directory, in bytes. */
size_t phx_trigger_path_max(const struct phx_trigger *t);
/** Does it wait for a file of this path, relative to that directory? */
bool phx_trigger_awaits(const struct phx_trigger *t, const char *path);
/** Does a word contain a placeholder? One that only a file trigger can fill? */
bool phx_trigger_asks(const char *word);
bool phx_trigger_asks_file(const char *word);

#endif
