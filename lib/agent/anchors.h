/* Anchors of the head's journal, in a file of the agent's state, so that the head cannot take them
 * back (pki/anchor.h). Called by the link and, for people, by main. Checks no signature: readers
 * do. */
#ifndef PHX_AGENT_ANCHORS_H
#define PHX_AGENT_ANCHORS_H

#include "base/util.h"

enum {
	ANCHORS_KEPT = 300,
	ANCHORS_FORM = 1, /* told the head: lines may say how far the vault's log is */
};

/** Add a line; the file keeps at least the last ANCHORS_KEPT. *ret_seq: the event of the anchor.
 * -EINVAL: the line is no anchor. */
int anchors_keep(const char *state_dir, const char *line, uint64_t *ret_seq, struct phx_err *err);
/** The event of the last anchor; 0: there is none. */
uint64_t anchors_last(const char *state_dir);
/** The last ANCHORS_KEPT anchors as lines of text, malloc'd; "" if there are none. */
int anchors_text(const char *state_dir, char **ret, struct phx_err *err);

#endif
