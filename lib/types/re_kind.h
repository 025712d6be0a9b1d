/* Kinds of RE. Code that depends on what an RE has or may do asks the row of its kind; it never
 * compares kinds. re_kind.def lists the kinds, each lib/types/re_NAME.c has a row. Pure. */
#ifndef PHX_TYPES_RE_KIND_H
#define PHX_TYPES_RE_KIND_H

#include "types/agreement.h"

struct phx_agreement_findings;

struct phx_re_kind {
	const char *text; /* for people: "is for batch jobs, not for a web service" */
	/* An RE of this kind has a queue (lib/batch): jobs are submitted to it, wait, are
	 * scheduled and killed. Its nodes run jobs. */
	bool has_jobs;
	/* An RE of this kind has instances behind an address, as many as their measured use
	 * demands (lib/web). It is served before REs with jobs. */
	bool has_demand;
	/* An RE of this kind carries out workflows, whose tasks run side by side on its nodes. Its
	 * only jobs are the head's own, which keep the nodes. */
	bool has_tasks;
	/* the defaults of an agreement's model, and of its cycle */
	enum phx_policy_id model;
	uint32_t cycle_s;
	enum phx_policy_place side; /* which side of a pair it is for policies */
	/* what its nodes run if an agreement names no role, by enum phx_re_engine */
	const char *roles[2];
	/* NULL-terminated: the keys of agreements that this kind has. An agreement of a kind that
	 * does not list one of them leaves that key at its default. */
	const char *const *keys;
	/** Finds what is wrong with the values of the keys of this kind. */
	void (*check)(struct phx_agreement_findings *f);
};

/** The row of the agreement's kind; the first row if `type` is out of range. */
const struct phx_re_kind *phx_re_kind(const struct phx_agreement *a);

/** Does the kind have this key? */
bool phx_re_kind_has_key(const struct phx_re_kind *kind, const char *key);

/** May an agreement of this kind have the key: one of its own, or one that no kind has as its
 * own? */
bool phx_re_kind_may_have(const struct phx_re_kind *kind, const char *key);

/** The rows, by enum phx_re_type. */
extern const struct phx_re_kind *const phx_re_kinds[PHX_RE_TYPE_COUNT_];

#endif
