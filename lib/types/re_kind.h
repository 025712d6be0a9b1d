/* What a kind of RE is. Code that depends on what an RE has or may do asks the row of its kind, and
 * compares no kind. re_kind.def lists the kinds, lib/types/re_NAME.c has each row. Pure. */
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
	 * jobs are those of the head that keep the nodes, and nobody else submits any. */
	bool has_tasks;
	/* its model, and how often that looks, where an agreement names none */
	enum phx_policy_id model;
	uint32_t cycle_s;
	/* what its nodes run where an agreement names no role, by enum phx_re_engine */
	enum phx_policy_place side; /* as which side of a pair policies see it */
	const char *roles[2];
	/* NULL-terminated: the keys of agreements that this kind has. An agreement of a kind that
	 * does not list one of them leaves that key at its default. */
	const char *const *keys;
	/** Finds what is wrong with the values of the keys of this kind. */
	void (*check)(struct phx_agreement_findings *f);
};

/** The row of the agreement's kind; the first row where `type` is out of its table. */
const struct phx_re_kind *phx_re_kind(const struct phx_agreement *a);

/** Does the kind have this key? */
bool phx_re_kind_has_key(const struct phx_re_kind *kind, const char *key);

/** Has an agreement of the kind this key: its own, or one that no kind has for itself? */
bool phx_re_kind_may_have(const struct phx_re_kind *kind, const char *key);

/** The rows, by enum phx_re_type. */
extern const struct phx_re_kind *const phx_re_kinds[PHX_RE_TYPE_COUNT_];

#endif
