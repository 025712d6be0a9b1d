/* Setup policies: what is done to a node at a hand-over (003 3.4;
 * NOOP and wipe of the PhoenixCloud agreement, 000 4.1). Pure. */
#ifndef PHX_TYPES_SETUP_H
#define PHX_TYPES_SETUP_H

#include "base/key.h"

/** What a setup policy does, as flags of its row. */
enum {
	/* data that jobs and their users left is destroyed, by the agent if the node stays up */
	PHX_SETUP_SCRATCH = 4,
	PHX_SETUP_SYSTEM = 1, /* the next system is written anew: nothing stays in place */
	PHX_SETUP_DISKS = 2,  /* every disk is erased, read back, and attested */
};

/** The setup policies, one row each, from the least to the strictest, which does everything: K(ID,
 * "name", flags, text). */
#define PHX_SETUP_MODES(K) \
	K(NOOP, "noop", 0, "nothing") \
	K(DATA, "data", PHX_SETUP_SCRATCH, "its scratch is destroyed, or else it is wiped") \
	K(REIMAGE, "reimage", PHX_SETUP_SYSTEM, "its image is written anew, other disks stay") \
	K(WIPE, "wipe", PHX_SETUP_SCRATCH | PHX_SETUP_SYSTEM | PHX_SETUP_DISKS, \
	  "its disks are erased")

enum phx_setup_mode {
#define K(id, ...) PHX_SETUP_##id,
	PHX_SETUP_MODES(K)
#undef K
};
extern const struct phx_enum phx_setup_mode_names;

enum phx_wipe_method {
	PHX_WIPE_AUTO, /* the plan picks the disk's best method; never reaches a driver */
	PHX_WIPE_CRYPTO,
	PHX_WIPE_DISCARD,
	PHX_WIPE_OVERWRITE,
	PHX_WIPE_SECURE_ERASE,
};
extern const struct phx_enum phx_wipe_method_names;

/** When a pool's policy acts: when the node leaves the pool, when it enters, or both. */
enum phx_setup_when { PHX_WHEN_RELEASE, PHX_WHEN_ASSIGN, PHX_WHEN_BOTH };
extern const struct phx_enum phx_setup_when_names;

/** How much of an erased disk is read back: places that cannot be predicted, or everything. */
enum phx_verify { PHX_VERIFY_SAMPLE, PHX_VERIFY_FULL };
extern const struct phx_enum phx_verify_names;

/** Whether a machine is reset when it leaves its tenant's system for an erase. */
enum phx_setup_start {
	PHX_SETUP_START_AUTO,  /* reset between two owners, if it has a BMC */
	PHX_SETUP_START_KEXEC, /* no reset, if the other agreement says so, too */
	PHX_SETUP_START_POWER, /* always reset; a machine without a BMC is not erased */
};
extern const struct phx_enum phx_setup_start_names;

#define PHX_SETUP_SAY_(id, name, does, text) name ": " text "; "
#define PHX_SETUP_FIELDS(F, S) \
	F(S, mode, ENUM(phx_setup_mode), \
	  KEY(mode, CHOICE, PHX_REQUIRED, \
	      PHX_SETUP_MODES(PHX_SETUP_SAY_) "what both pools want is done.")) \
	F(S, method, ENUM(phx_wipe_method), \
	  KEY(method, CHOICE, "auto", "How wipe erases; auto: the best that the disk can do.")) \
	F(S, when, ENUM(phx_setup_when), \
	  KEY(when, CHOICE, "release", \
	      "When: release, as nodes leave; assign, as they come; both.")) \
	F(S, verify, ENUM(phx_verify), \
	  KEY(verify, CHOICE, "sample", \
	      "What of an erased disk is read back: its ends and 1 % of it at places that are " \
	      "drawn for each erase, or all of it (full), which takes as long as overwriting " \
	      "it.")) \
	F(S, start, ENUM(phx_setup_start), \
	  KEY(start, CHOICE, "auto", \
	      "How an erase, or a system written anew, begins. auto: with a power cycle where " \
	      "the node comes from another " \
	      "owner and has a BMC, else by kexec; kexec: by kexec, where the pools of both " \
	      "owners say so; power: always with a power cycle, and a node without a BMC is not " \
	      "taken."))
PHX_RECORD_STRUCT(phx_setup, PHX_SETUP_FIELDS);

/** Does the policy do all of the flags `what`? */
bool phx_setup_does(const struct phx_setup *s, unsigned what);
/** Does it do anything at `moment` (RELEASE or ASSIGN)? */
bool phx_setup_acts(const struct phx_setup *s, enum phx_setup_when moment);
/** Does it require an erase of all disks at `moment`? */
bool phx_setup_wipes(const struct phx_setup *s, enum phx_setup_when moment);
/** Does it require that the scratch, but no other data, is destroyed at release? */
bool phx_setup_clears(const struct phx_setup *s);
/** Does it do all that `other` does? */
bool phx_setup_covers(const struct phx_setup *s, const struct phx_setup *other);
/** The weakest mode that covers both: enum phx_setup_mode. */
int phx_setup_both(const struct phx_setup *a, const struct phx_setup *b);
/** The mode that does everything. */
int phx_setup_strictest(void);

#endif
