/* Is a copy of a journal the one that was written? Asked away from the head, with
 * nothing but the copy, the site's public key, and anchors that left the head
 * while it was to be trusted (pki/anchor.h). Writes nothing. */
#ifndef PHX_STORE_AUDIT_H
#define PHX_STORE_AUDIT_H

#include "pki/anchor.h"

enum { PHX_AUDIT_TEXT_MAX = 400 };

/** What phx_store_audit() found beside OK. */
#define PHX_AUDIT_ROW 1    /* an event is not as it was written, or not there */
#define PHX_AUDIT_ANCHOR 2 /* the events fit each other, and an anchor says that they were others */

struct phx_audit {
	uint64_t first, last; /* event that the copy holds; 0 none */
	/* The last event that an anchor proves to have been there and to be the same, with all
	 * before it; 0: none. What came after it and was taken away leaves no trace. */
	uint64_t proven;
	int64_t proven_ms;
	uint32_t n_proofs;    /* anchors that fit */
	uint32_t n_forgotten; /* anchors of events that the journal has forgotten */
	uint64_t uncovered;   /* up to this event there was no chain yet; 0 = all are covered */
	uint64_t forgotten;   /* up to this event they were forgotten */
	int64_t forgotten_ms; /* when */
	uint64_t unfit;       /* the first event that does not fit; 0 none */
	uint64_t accepted;    /* up to this event somebody took the journal as it was */
	int64_t accepted_ms;  /* when */
	char text[PHX_AUDIT_TEXT_MAX]; /* what is wrong */
};

/** Look at the journal in the file `path`. `anchors` (struct phx_anchor, in any order; reordered
 * here) are those from elsewhere, their signatures checked; what the journal itself says about its
 * beginning is checked with the public key in `pub`, which may be missing where there is none to
 * check. 0, PHX_AUDIT_ROW, PHX_AUDIT_ANCHOR; negative: it cannot be looked at. */
int phx_store_audit(const char *path, struct phx_list *anchors, const char *pub,
		    struct phx_audit *ret, struct phx_err *err);

#endif
