/* Who keeps a virtual address that two machines have: what a director does about the other one, in
 * the manner of RFC 5227. Pure: time and what was seen are arguments.
 *
 * The head says who has the addresses. A director that hears the head and sees another holder tells
 * the network anew that it is here. One that has lost the head goes on serving, asks the network
 * every second whether there is another holder, and gives the address up to one that stays: the
 * head has appointed it meanwhile. Of several that all have lost the head one keeps it: that of
 * the lowest hardware address. */
#ifndef PHX_WEB_CLAIM_H
#define PHX_WEB_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

/** How this director stands with the head. */
struct phx_web_head {
	int64_t heard_ms; /* its last answer */
	uint32_t beat_ms; /* how often it answers */
};

/** Has the head been lost: no answer for more than one and a half of its beats? Sooner than it may
 * appoint another. */
bool phx_web_head_lost(const struct phx_web_head *head, int64_t now_ms);

/** What was seen of other machines since the last look. */
struct phx_web_sight {
	bool holds; /* one says that it has the address */
	bool asks;  /* one asks who has it: a holder that has lost the head */
	bool lower; /* one of those that ask has a lower hardware address than this machine */
};

/** An address that this director holds; zeroed when it is taken, and told to the network at
 * once. */
struct phx_web_hold {
	int64_t seen_ms, again_ms; /* another holder: first and last seen; 0 none */
	int64_t asked_ms;          /* when one that asks was last seen; 0 never */
	int64_t lower_ms;          /* the same of one that is lower */
	int64_t probe_ms;          /* not before then */
	int64_t announce_ms;
	uint32_t announced;
};

/** What to do now. */
struct phx_web_acts {
	bool yield;    /* give the address up; the rest is false */
	bool probe;    /* ask the network who has it */
	bool announce; /* tell the network that it is here */
};

/** Called when something was seen, when phx_web_hold_due_ms() has come, and when the head is heard
 * after it was lost. */
struct phx_web_acts phx_web_hold_look(struct phx_web_hold *h, const struct phx_web_head *head,
				      const struct phx_web_sight *seen, int64_t now_ms);

/** When the next look would do something although nothing was seen; may be in the past. */
int64_t phx_web_hold_due_ms(const struct phx_web_hold *h, const struct phx_web_head *head);

#endif
