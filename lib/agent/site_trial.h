/* A change of the node's network that is tried: the head must be heard from over it, or it is taken
 * back. Decides alone; site_net.c acts. What is decided here is the same after a crash of the agent
 * and after a start of the machine: the record is kept on the disk before a file is touched.
 *
 *	none ──begin──▶ pending ──heard──────────▶ none
 *	                   │  ▲ another start of the machine, once: the time begins anew
 *	                   └──time is up, or it failed──▶ refused: not tried again, until it is
 *	                                                  another one or a person says so */
#ifndef PHX_AGENT_SITE_TRIAL_H
#define PHX_AGENT_SITE_TRIAL_H

#include "site/site.h"

enum site_trial_phase { SITE_TRIAL_NONE, SITE_TRIAL_PENDING, SITE_TRIAL_REFUSED };

/** A file as it was before. */
#define SITE_FORMER_FIELDS(F, S) \
	F(S, there, BOOL) \
	F(S, file, REC(phx_site_out))
PHX_RECORD_STRUCT(site_former, SITE_FORMER_FIELDS);

#define SITE_TRIAL_FIELDS(F, S) \
	F(S, phase, U32)    /* enum site_trial_phase */ \
	F(S, id, U64)       /* of the files that are tried, or refused */ \
	F(S, again, U32)    /* how often people had said that it be tried again */ \
	F(S, boot, STR(40)) /* the start of the machine that the times are of */ \
	F(S, boots, U32)    /* others since it began */ \
	F(S, from_ms, I64)  /* since when the head counts as heard: phx_clock_boot_ms() */ \
	F(S, until_ms, I64) \
	F(S, why, STR(160)) /* of refused files */ \
	F(S, former, LIST(site_former))
PHX_RECORD_STRUCT(site_trial, SITE_TRIAL_FIELDS);

/** How long the head may be silent, and how long after the change what is heard may still have come
 * the old way. */
struct site_trial_times {
	int64_t silence_ms, settle_ms;
};

/** The id of the network's files of a bundle; 0: it has none. */
uint64_t site_trial_id(const struct phx_site_bundle *b);
/** Is it refused? */
bool site_trial_refuses(const struct site_trial *t, uint64_t id, uint32_t again);
/** The trial begins; `former` is taken and left empty. */
void site_trial_begin(struct site_trial *t, uint64_t id, uint32_t again, struct phx_list *former,
		      const char *boot, int64_t now_ms, const struct site_trial_times *times);
/** The agent has started, maybe with the machine. True: the record has changed. */
bool site_trial_start(struct site_trial *t, const char *boot, int64_t now_ms,
		      const struct site_trial_times *times);

enum site_trial_act { SITE_TRIAL_NOTHING, SITE_TRIAL_WAIT, SITE_TRIAL_KEEP, SITE_TRIAL_BACK };
/** What to do now; heard: the head has just answered. */
enum site_trial_act site_trial_judge(const struct site_trial *t, bool heard, int64_t now_ms,
				     const struct site_trial_times *times);
/** It is kept: nothing is left of it. */
void site_trial_keep(struct site_trial *t);
/** It has been taken back: the files are refused, because of `why`. */
void site_trial_refuse(struct site_trial *t, const char *why);

#endif
