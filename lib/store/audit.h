/* Verifies a copy of a journal away from the head, with only the copy, the site's public key, and
 * anchors that left the head while it could be trusted (pki/anchor.h). Writes nothing. */
#ifndef PHX_STORE_AUDIT_H
#define PHX_STORE_AUDIT_H

#include "pki/anchor.h"

enum { PHX_AUDIT_TEXT_MAX = 400 };

/** What phx_store_audit() finds other than OK. */
#define PHX_AUDIT_ROW 1    /* an event is changed or missing */
#define PHX_AUDIT_ANCHOR 2 /* the events are consistent, but an anchor says that they were others */

struct phx_audit {
	uint64_t first, last; /* events in the copy; 0 none */
	/* The last event that an anchor proves to be unchanged, with all before it; 0: none. Later
	 * events that were removed leave no trace. */
	uint64_t proven;
	int64_t proven_ms;
	uint32_t n_proofs;    /* anchors that fit */
	uint32_t n_forgotten; /* anchors of events that were forgotten */
	uint64_t uncovered;   /* up to this event there was no chain; 0 = all are covered */
	uint64_t forgotten;   /* events up to this one were forgotten */
	int64_t forgotten_ms; /* when */
	uint64_t unfit;       /* the first event that does not fit; 0 none */
	uint64_t accepted;    /* up to this event somebody accepted the journal as it was */
	int64_t accepted_ms;  /* when */
	char text[PHX_AUDIT_TEXT_MAX]; /* what is wrong */
};

/** Verifies the journal in the file `path`. `anchors` (struct phx_anchor, in any order; reordered
 * here) come from elsewhere, with checked signatures. Signed lines of the journal about its
 * beginning are checked with the public key in `pub`, which may be missing if there are none. 0,
 * PHX_AUDIT_ROW, PHX_AUDIT_ANCHOR; negative: the journal cannot be read. */
int phx_store_audit(const char *path, struct phx_list *anchors, const char *pub,
		    struct phx_audit *ret, struct phx_err *err);

#endif
